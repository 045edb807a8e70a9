/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of calls: requests and results.
 */
#include "protocol/tables/call_fields.h"

#include <errno.h>

#include "node/node.h"

#include "engine/release.h"
#include "protocol/tables/endpoint_fields.h"
#include "rtp/jitter.h"

static const char *const classes[] = { CALL_CLASS_NAMES };
static const char *const learns[] = { CALL_LEARN_NAMES };
static const char *const losses[] = { CALL_LOSS_NAMES };
static const char *const jitters[] = { CALL_JITTER_NAMES };
static const char *const fills[] = { CALL_FILL_NAMES };
static const char *const models[] = { CALL_MODEL_NAMES };
static const char *const rtcps[] = { CALL_RTCP_NAMES };
static const char *const tops[] = { NODE_TOP_NAMES };
static const char *const relays[] = { RELAY_REQUEST_NAMES };
static const char *const ports[] = { "shared", "own", NULL };

const struct field contract_fields[] = {
	{ ROW_RATE(contract, "rate", rate_ppm), .flags = FIELD_OMIT_ZERO,
	  .without = "one packet every ptime",
	  .help = "packets that the call sends, on average over a long time" },
	{ ROW_INT(contract, "burst", burst), .max = CALL_BURST_MAX,
	  .flags = FIELD_OMIT_ZERO, .unit = "packets",
	  .help = "number of packets that may arrive ahead of the rate" },
	{ ROW_RATE(contract, "peak", peak_ppm), .flags = FIELD_OMIT_ZERO,
	  .without = "no limit",
	  .help = "highest packet rate at any time, also within a burst" },
	{ ROW_TIME(contract, "mean", mean, "us"), .min = 1,
	  .max = CALL_COST_MAX, .flags = FIELD_OMIT_ZERO,
	  .without = "as measured", .help = "average CPU time of a packet" },
	{ ROW_TIME(contract, "p99", p99, "us"), .min = 1, .max = CALL_COST_MAX,
	  .flags = FIELD_OMIT_ZERO, .without = "as measured",
	  .help = "CPU time that 99 of 100 packets do not exceed" },
	{ ROW_TIME(contract, "worst", worst, "us"), .min = 1,
	  .max = CALL_COST_MAX, .flags = FIELD_OMIT_ZERO,
	  .without = "as measured", .help = "CPU time that no packet exceeds" },
	{ 0 },
};

const struct field codec_use_fields[] = {
	{ ROW_MODE(codec_use, "mode", mode), .without = "the codec's",
	  .help = "bit rate, by name, such as \"12.2\"" },
	{ ROW_INT(codec_use, "pt", pt), .max = 127, .dflt = CODEC_PT_UNSAID,
	  .without = "the static one of RFC 3551, else 96",
	  .help = "RTP payload type" },
	{ ROW_INT(codec_use, "rate", cfg.sample_rate), .min = 8000,
	  .max = 48000, .unit = "Hz",
	  .without = "the codec's; of opus the other side's",
	  .help = "sampling rate, 8000, 16000 or 48000; only for codecs "
		  "without a fixed rate" },
	{ ROW_BOOL(codec_use, "octet_align", amr.octet_align),
	  .help = "AMR and AMR-WB: use the octet-aligned payload format of "
		  "RFC 4867, not the bandwidth-efficient one" },
	{ ROW_INT(codec_use, "mode_set", amr.mode_set), .max = 511,
	  .without = "all modes",
	  .help = "AMR and AMR-WB: the modes that may be used, as the sum of "
		  "2^mode: mode-set=0,2,4,7 in SDP is 149. Without a mode the "
		  "best of them that is not better than the codec's own" },
	{ ROW_BOOL(codec_use, "mode_second", amr.mode_second),
	  .help = "AMR and AMR-WB: the mode changes every second frame at most "
		  "(mode-change-period=2 in SDP)" },
	{ ROW_BOOL(codec_use, "mode_next", amr.mode_next),
	  .help = "AMR and AMR-WB: it changes to the next mode of mode_set "
		  "only "
		  "(mode-change-neighbor=1 in SDP)" },
	{ ROW_BOOL(codec_use, "dtx", cfg.dtx),
	  .help = "discontinuous transmission, if the codec supports it" },
	{ ROW_INT(codec_use, "complexity", cfg.complexity), .max = 10,
	  .dflt = -1, .flags = FIELD_PLUS_ONE, .without = "the codec's",
	  .help = "opus: how much the encoder tries; more takes more CPU "
		  "time" },
	{ ROW_INT(codec_use, "fec", cfg.fec), .max = 100, .unit = "%",
	  .help = "opus: packet loss that the encoder protects from by "
		  "repeating speech in the next packet" },
	{ ROW_TIME(codec_use, "spin", cfg.spin, "us"), .max = CALL_SPIN_MAX,
	  .help = "codec spin only: CPU time to use for each frame" },
	{ 0 },
};

const struct field call_side_fields[] = {
	{ ROW_CODEC(call_side, "codec", name), .required = "",
	  .help = "name of the codec, as the method codecs lists it" },
	{ ROW_SHARED(call_side, codec_use) },
	{ 0 },
};

const struct field call_types_fields[] = {
	{ ROW_INT(call_types, "events", events), .max = 127, .without = "none",
	  .help = "RTP payload type of telephone events (RFC 4733), such as "
		  "DTMF; they are passed on, in place of speech, if both sides "
		  "have one" },
	{ ROW_INT(call_types, "events_clock", events_clock), .min = 8000,
	  .max = 48000, .unit = "Hz", .without = "the codec's",
	  .help = "clock of the durations of events, as the rtpmap of their "
		  "type has it: 8000, 16000, ... 48000 (RFC 4733, 2.3.5)" },
	{ ROW_INT(call_types, "noise", noise), .max = 127, .without = "none",
	  .help = "RTP payload type of comfort noise (RFC 3389), which is "
		  "usually 13; towards a codec with silence of its own it is "
		  "turned into that" },
	{ 0 },
};

const struct field call_reception_fields[] = {
	{ ROW_CHOICE(call_reception, "loss", loss, losses),
	  .help = "lost packets; number: they leave gaps in the output's "
		  "sequence numbers, and its receiver conceals them; conceal: "
		  "the decoder does, up to 60 ms. A jitter buffer always "
		  "conceals" },
	{ ROW_CHOICE(call_reception, "jitter", jitter, jitters),
	  .help = "jitter buffer; off: packets are frames as they come, and "
		  "one behind a newer one is dropped; fixed: each waits for "
		  "jitter_max; adaptive: as long as the network's jitter "
		  "asks for" },
	{ ROW_TIME(call_reception, "jitter_min", jitter_min, "ms"),
	  .max = JITTER_MOST_MAX, .without = "0",
	  .help = "jitter buffer: the shortest delay" },
	{ ROW_TIME(call_reception, "jitter_max", jitter_max, "ms"),
	  .min = JITTER_MOST_MIN, .max = JITTER_MOST_MAX,
	  .without = "60 ms fixed, 200 ms adaptive",
	  .help = "jitter buffer: the longest delay; up to a ptime more, for a "
		  "packet waits for the next one to come" },
	{ ROW_CHOICE(call_reception, "fill", fill, fills), .dflt = -1,
	  .without = "signalled where a call has two streams, else never",
	  .help = "send noise every ptime while the sender is silent; "
		  "signalled: after SID or comfort noise; always: also when "
		  "nothing has come for 60 ms. A codec with silence of its own "
		  "sends SIDs instead" },
	{ 0 },
};

const struct field call_in_fields[] = {
	{ ROW_INLINE(call_in, end[0].side, call_side) },
	{ ROW_ADDRESS(call_in, "source", end[0].address),
	  .without = "the first sender",
	  .help = "address that packets come from; packets from other "
		  "addresses are refused" },
	{ ROW_CHOICE(call_in, "learn", end[0].learn, learns), .dflt = -1,
	  .without = "strict where source is given, else immediate",
	  .help = "at a port of its own: how the sender is chosen; strict: "
		  "only source; immediate: the first one; delayed: of several "
		  "in the first 3 s the one heard for longest, as with "
		  "asymmetric. Each may change its SSRC; none takes the call "
		  "over while another speaks, and only a sender with the same "
		  "SSRC and numbers replaces one that was heard for a second" },
	{ ROW_INT(call_in, "ts_first", ts_first), .max = UINT32_MAX, .dflt = -1,
	  .without = "that of the first packet",
	  .help = "RTP timestamp of the input at which the output's "
		  "timestamps begin" },
	{ ROW_INLINE(call_in, end[0].types, call_types) },
	{ ROW_INLINE(call_in, end[0].reception, call_reception) },
	{ 0 },
};

const struct field call_out_fields[] = {
	{ ROW_INLINE(call_out, side, call_side) },
	{ ROW_ADDRESS(call_out, "address", address),
	  .required = "where shall the frames go to?",
	  .help = "address to send the packets to" },
	{ ROW_INT(call_out, "ssrc", out_ssrc), .min = 1, .max = UINT32_MAX,
	  .without = "a random one",
	  .help = "SSRC of the packets that the node sends" },
	{ ROW_TIME(call_out, "ptime", ptime, "ms"), .min = CALL_PTIME_MIN,
	  .max = CALL_PTIME_MAX,
	  .without = "of PCM and opus as the input's, else a frame",
	  .help = "duration of the speech in a packet: one or more frames; a "
		  "packet before a pause may have fewer" },
	{ ROW_INLINE(call_out, types, call_types) },
	{ 0 },
};

const struct field call_release_fields[] = {
	{ ROW_CHOICE(call_release, "model", model, models), .dflt = -1,
	  .without = "sporadic; lbap where the contract has a rate",
	  .help = "how release times and deadlines follow from arrival "
		  "times" },
	{ ROW_INT(call_release, "x", x), .min = 1, .max = RELEASE_MAX_X,
	  .dflt = 1, .unit = "packets",
	  .help = "model rate: number of packets in a window of length y" },
	{ ROW_TIME(call_release, "y", y, "ms"), .min = 1,
	  .max = CALL_WINDOW_MAX, .without = "x times ptime",
	  .help = "model rate: length of the window" },
	{ ROW_INT(call_release, "burst", burst), .max = CALL_BURST_MAX,
	  .dflt = -1, .unit = "packets", .without = "1",
	  .help = "model lbap: number of packets that may arrive early" },
	{ 0 },
};

const struct field call_terms_fields[] = {
	{ ROW_CHOICE(call_terms, "class", cls, classes), .dflt = CR_SOFT,
	  .help = "how strict the deadline is" },
	{ ROW_TIME(call_terms, "deadline", deadline, "ms"), .min = CR_US,
	  .max = CALL_DEADLINE_MAX, .without = "ptime",
	  .help = "time from a packet's release until it should have been "
		  "sent" },
	{ ROW_INT(call_terms, "weight", weight), .min = 1,
	  .max = CALL_WEIGHT_MAX, .dflt = CALL_WEIGHT,
	  .help = "share of the CPU, for schedulers that give shares" },
	{ ROW_INT(call_terms, "nice", nice), .min = -20, .max = 19,
	  .help = "share of the CPU as a nice value, see nice(1)" },
	{ ROW_OBJECT(call_terms, "contract", contract, contract),
	  .help = "the call's promises; declared values are used in place of "
		  "measured ones" },
	{ 0 },
};

/* Which calls have it: of one stream, of two, all. */
const struct field call_one_fields[] = {
	{ ROW_WHOLE(call_one, "in", call_in),
	  .help = "a call of one stream: the input" },
	{ ROW_OBJECT(call_one, "out", end[1], call_out),
	  .help = "a call of one stream: the output" },
	{ ROW_OBJECT(call_one, "release", release, call_release),
	  .help = "with in and out: when packets are released" },
	{ ROW_CHOICE(call_one, "port", port, ports),
	  .help = "with in and out: use the RTP port that the node's calls "
		  "share, or a port of the call's own" },
	{ ROW_TEXT(call_one, "interface", end[0].interface),
	  .without = "the first with an address of out.address's family",
	  .help = "name of the interface, as hello lists them, that a port of "
		  "the call's own is opened at" },
	{ ROW_CHOICE(call_one, "rtcp", end[0].rtcp, rtcps), .dflt = -1,
	  .without = "off",
	  .help = "RTCP with the sender and with out.address, at a port of the "
		  "call's own: on the port above it, or mux: on the same one "
		  "(RFC 5761)" },
	{ ROW_INT(call_one, "ssrc", end[0].ssrc), .min = 1, .max = UINT32_MAX,
	  .without = "a random one; at a port of its own, the sender's",
	  .help = "with in and out: SSRC of the packets that the node "
		  "receives" },
	{ ROW_INT(call_one, "pair", pair), .min = 1, .max = UINT32_MAX,
	  .help = "with in and out: id of the call in the other direction; "
		  "codec mode requests (CMR) pass between the two" },
	{ 0 },
};

const struct field call_two_fields[] = {
	{ ROW_OBJECT(call_two, "a", end[0], party),
	  .help = "a call of two streams: one party" },
	{ ROW_OBJECT(call_two, "b", end[1], party),
	  .help = "a call of two streams: the other party" },
	{ ROW_CHOICE(call_two, "relay", relay, relays),
	  .help = "with a and b; auto: where both parties have the same codec, "
		  "mode, rate and payload format, and neither names out_ssrc "
		  "or a loss to conceal, packets are passed on unchanged "
		  "except for the payload type: without a codec, a deadline or "
		  "a worker, also from a change during the call on; never: "
		  "they are decoded and encoded again" },
	{ 0 },
};

const struct field call_each_fields[] = {
	{ ROW_TIME(call_each, "ptime", ptime, "ms"), .min = CALL_PTIME_MIN,
	  .max = CALL_PTIME_MAX,
	  .without = "a frame of the input; of PCM one of the output, or 20 "
		     "ms",
	  .help = "duration of the speech in a packet that the node "
		  "receives" },
	{ ROW_INLINE(call_each, terms, call_terms) },
	{ ROW_TEXT(call_each, "label", label), .without = "none",
	  .help = "any text, by which you know it: in queries and records" },
	{ ROW_BOOL(call_each, "keep", keep),
	  .help = "the call belongs to no session; only call.stop ends it" },
	{ 0 },
};

const struct field call_start_fields[] = {
	{ ROW_SHARED(call_start, call_one) },
	{ ROW_SHARED(call_start, call_two) },
	{ ROW_SHARED(call_start, call_each) },
	{ 0 },
};

#define FIXED "cannot change while the call runs: stop it and start another"

const struct field call_change_out_fields[] = {
	{ ROW_MODE(call_change_out, "mode", side.mode), .without = "as it is",
	  .help = "bit rate of the output, by name" },
	{ ROW_TIME(call_change_out, "ptime", ptime, "ms"),
	  .min = CALL_PTIME_MIN, .max = CALL_PTIME_MAX,
	  .without = "of PCM and opus as the input's, else a frame",
	  .help = "duration of the speech in a packet of the output" },
	{ ROW_FIXED("codec", FIXED) },
	{ ROW_FIXED("pt", FIXED) },
	{ ROW_FIXED("rate", FIXED) },
	{ ROW_FIXED("octet_align", FIXED) },
	{ ROW_FIXED("mode_set", FIXED) },
	{ ROW_FIXED("mode_second", FIXED) },
	{ ROW_FIXED("mode_next", FIXED) },
	{ ROW_FIXED("dtx", FIXED) },
	{ ROW_FIXED("complexity", FIXED) },
	{ ROW_FIXED("fec", FIXED) },
	{ ROW_FIXED("address", FIXED) },
	{ ROW_FIXED("ssrc", FIXED) },
	{ ROW_FIXED("spin", FIXED) },
	{ 0 },
};

const struct field call_change_one_fields[] = {
	{ ROW_INLINE(call_change_one, terms, call_terms) },
	{ ROW_OBJECT(call_change_one, "out", end[1], call_change_out),
	  .help = "the output" },
	{ ROW_FIXED("in", FIXED) },
	{ ROW_TIME(call_change_one, "ptime", ptime, "ms"),
	  .min = CALL_PTIME_MIN, .max = CALL_PTIME_MAX,
	  .without = "a frame of the input; of PCM one of the output, or 20 "
		     "ms",
	  .help = "duration of the speech in an input packet from now on; a "
		  "deadline that was one packet's follows" },
	{ ROW_FIXED("release", FIXED) },
	{ ROW_FIXED("port", FIXED) },
	{ ROW_FIXED("interface", FIXED) },
	{ ROW_FIXED("rtcp", FIXED) },
	{ ROW_FIXED("ssrc", FIXED) },
	{ ROW_FIXED("keep", FIXED) },
	{ ROW_FIXED("pair", FIXED) },
	{ 0 },
};

const struct field call_change_two_fields[] = {
	{ ROW_OBJECT(call_change_two, "a", end[0], party_change),
	  .help = "a call of two streams: one party" },
	{ ROW_OBJECT(call_change_two, "b", end[1], party_change),
	  .help = "a call of two streams: the other party" },
	{ 0 },
};

const struct field call_change_fields[] = {
	{ ROW_INT(call_change, "call", id), .min = 1, .max = UINT32_MAX,
	  .required = "which call?", .help = "id of the call" },
	{ ROW_SHARED(call_change, call_change_one) },
	{ ROW_SHARED(call_change, call_change_two) },
	{ 0 },
};

const struct field stream_change_fields[] = {
	{ ROW_INT(stream_change, "stream", id), .min = 1, .max = UINT32_MAX,
	  .required = "which stream?", .help = "id of the stream" },
	{ ROW_SHARED(stream_change, call_change_one) },
	{ 0 },
};

const struct field call_reference_fields[] = {
	{ ROW_INT(call_reference, "call", call), .min = 1, .max = UINT32_MAX,
	  .required = "which call?", .help = "id of the call" },
	{ 0 },
};

const struct field call_state_fields[] = {
	{ ROW_TEXT(call_state, "state", state), .required = "of which call?",
	  .help = "the call: JSON, as a text" },
	{ ROW_TEXT(call_state, "records", records),
	  .required = "of its streams",
	  .help = "the last packets and the parties of its streams; times are "
		  "ages at the time of call.export" },
	{ 0 },
};

const struct field stream_reference_fields[] = {
	{ ROW_INT(stream_reference, "stream", stream), .min = 1,
	  .max = UINT32_MAX, .required = "which stream?",
	  .help = "id of the stream" },
	{ 0 },
};

const struct field page_fields[] = {
	{ ROW_INT(page, "after", after), .max = UINT32_MAX,
	  .help = "list only entries with an id greater than this" },
	{ ROW_INT(page, "limit", limit), .min = 1, .max = PAGE_MAX, .dflt = 50,
	  .help = "largest number of entries in the reply" },
	{ 0 },
};

const struct field stream_top_fields[] = {
	{ ROW_CHOICE(stream_top, "sort", sort, tops),
	  .help = "which streams come first; loss: most frames lost for lack "
		  "of "
		  "time; missing: most packets missing or dropped; cost: most "
		  "time of workers; delay: longest time of frames through the "
		  "node. Among equal ones, the higher cost" },
	{ ROW_INT(stream_top, "limit", limit), .min = 1, .max = PAGE_MAX,
	  .dflt = 20, .help = "largest number of streams in the reply" },
	{ 0 },
};

const struct field side_info_fields[] = {
	{ ROW_CODEC(side_info, "codec", codec), .label = "CODEC",
	  .help = "name of the codec" },
	{ ROW_MODE(side_info, "mode", mode), .label = "MODE",
	  .help = "the mode in use" },
	{ ROW_INT(side_info, "pt", pt), .help = "RTP payload type" },
	{ ROW_INT(side_info, "rate", rate), .unit = "Hz",
	  .help = "sampling rate" },
	{ ROW_BOOL(side_info, "octet_align", amr.octet_align),
	  .help = "octet-aligned payload" },
	{ ROW_INT(side_info, "mode_set", amr.mode_set),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "AMR and AMR-WB: the modes that may be used, as the sum of "
		  "2^mode; all if missing" },
	{ ROW_BOOL(side_info, "mode_second", amr.mode_second),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "AMR and AMR-WB: the mode changes every second frame at "
		  "most" },
	{ ROW_BOOL(side_info, "mode_next", amr.mode_next),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "AMR and AMR-WB: it changes to the next mode only" },
	{ ROW_BOOL(side_info, "dtx", dtx),
	  .help = "discontinuous transmission" },
	{ ROW_TIME(side_info, "ptime", ptime, "ms"), .flags = FIELD_OMIT_ZERO,
	  .help = "out: duration of the speech in a packet" },
	{ 0 },
};

const struct field admitted_fields[] = {
	{ ROW_REAL(admitted, "load", load), .unit = "CPUs",
	  .help = "load that admission counts for the call" },
	{ ROW_TIME(admitted, "cost", cost, "us"),
	  .help = "CPU time of a packet that admission uses for the call's "
		  "class" },
	{ ROW_TIME(admitted, "mean", mean, "us"),
	  .help = "average CPU time of a packet" },
	{ ROW_TIME(admitted, "p99", p99, "us"),
	  .help = "CPU time that 99 of 100 packets do not exceed" },
	{ ROW_TIME(admitted, "worst", worst, "us"),
	  .help = "CPU time that no packet exceeds" },
	{ 0 },
};

#define COUNT(n, u, head, h)                                                   \
	{ ROW_INT(stream_counts, #n, n), .unit = (u), .label = (head),         \
	  .help = (h) },

const struct field stream_counts_fields[] = { STREAM_COUNTERS(COUNT){ 0 } };

/* By enum cr_kv_unit. */
static const char *const kv_units[] = { "count", "ns", "clock_ns", "ppm",
					NULL };

const struct field policy_number_fields[] = {
	{ ROW_TEXT(policy_number, "name", key), .help = "name of the figure" },
	{ ROW_INT(policy_number, "value", value), .flags = FIELD_UNIT_MEMBER,
	  .help = "the present value; a time of 9223372036854775807 is never" },
	{ ROW_CHOICE(policy_number, "unit", unit, kv_units),
	  .help = "the value's unit; count: a number of something; ns: a time; "
		  "clock_ns: a point in time, on the clock of now_ns; 0 if "
		  "there is none yet; ppm: a share, in millionths" },
	{ 0 },
};

const struct field bound_fields[] = {
	{ ROW_TEXT(bound, "rule", rule),
	  .help = "the theorem or rule that the bound comes from" },
	{ ROW_TIME(bound, "tardiness", tardiness, "ms"),
	  .help = "longest time that a packet may be sent after the end of "
		  "its server's period" },
	{ ROW_TIME(bound, "lateness", lateness, "ms"),
	  .help = "longest time that a packet may be sent after its "
		  "deadline" },
	{ ROW_TIME(bound, "buffer", buffer, "ms"),
	  .help = "play-out buffer that the receiver needs to have every "
		  "packet in time" },
	{ ROW_INT(bound, "frames", frames), .unit = "frames",
	  .help = "length of the queue that late frames need" },
	{ ROW_TIME(bound, "cost", cost, "us"), .flags = FIELD_OMIT_ZERO,
	  .help = "the bound holds for packets that take no more CPU time "
		  "than this; if missing, for all" },
	{ 0 },
};

#define PROMISED(table)                                                        \
	{ ROW_POINTER(table, "bound", promised, bound),                        \
	  .help = "bound on how late packets can be, given the present "       \
		  "calls; null if nothing is promised" },                      \
	{                                                                      \
		ROW_TEXT(table, "bound_why", bound.why),                       \
			.help = "why nothing is promised"                      \
	}

const struct field rtcp_far_fields[] = {
	{ ROW_INT(rtcp_far, "reports", reports),
	  .help = "reports so far; while there is none, the rest is 0" },
	{ ROW_REAL(rtcp_far, "lost_share", lost_share), .flags = FIELD_ROUND,
	  .unit = "share",
	  .help = "share of the packets that was lost, by the last one" },
	{ ROW_REAL(rtcp_far, "lost_mean", lost_mean), .flags = FIELD_ROUND,
	  .unit = "share", .help = "the mean of that over all reports" },
	{ ROW_INT(rtcp_far, "lost", lost_total), .unit = "packets",
	  .help = "packets that were lost since the beginning; less than 0 if "
		  "more came twice" },
	{ ROW_TIME(rtcp_far, "jitter", far_jitter, "us"), .flags = FIELD_ROUND,
	  .help = "interarrival jitter, by the last one" },
	{ ROW_INT(rtcp_far, "round_trips", round_trips),
	  .help = "how often the round trip was measured; 0: the rest is "
		  "not known" },
	{ ROW_TIME(rtcp_far, "rtt", rtt, "us"), .flags = FIELD_ROUND,
	  .help = "round trip: the last one" },
	{ ROW_TIME(rtcp_far, "rtt_mean", rtt_mean, "us"), .flags = FIELD_ROUND,
	  .help = "their mean" },
	{ ROW_TIME(rtcp_far, "rtt_min", rtt_min, "us"), .flags = FIELD_ROUND,
	  .help = "the shortest one" },
	{ ROW_TIME(rtcp_far, "rtt_max", rtt_max, "us"), .flags = FIELD_ROUND,
	  .help = "the longest one" },
	{ 0 },
};

const struct field rtcp_info_fields[] = {
	{ ROW_INT(rtcp_info, "received", received), .unit = "packets",
	  .help = "RTP packets that came from the party, once each; up to two "
		  "seconds old, as all of these" },
	{ ROW_INT(rtcp_info, "lost", lost), .unit = "packets",
	  .help = "packets of the party that never came, by their sequence "
		  "numbers" },
	{ ROW_TIME(rtcp_info, "jitter", jitter, "us"), .flags = FIELD_ROUND,
	  .help = "their interarrival jitter (RFC 3550)" },
	{ ROW_INT(rtcp_info, "packets_in", packets_in),
	  .help = "RTCP packets that were believed" },
	{ ROW_INT(rtcp_info, "packets_out", packets_out),
	  .help = "RTCP packets sent to the party" },
	{ ROW_INT(rtcp_info, "refused", refused),
	  .help = "RTCP packets that are malformed" },
	{ ROW_INT(rtcp_info, "foreign", foreign),
	  .help = "RTCP packets from a host that is not the party's" },
	{ ROW_INT(rtcp_info, "byes", byes),
	  .help = "BYEs of the party, which end nothing here" },
	{ ROW_INT(rtcp_info, "unsent", unsent),
	  .help = "RTCP packets that the socket refused" },
	{ ROW_WHOLE(rtcp_info, "far", rtcp_far),
	  .help = "the far side's reports on the packets that it is sent" },
	{ 0 },
};

const struct field stream_info_fields[] = {
	{ ROW_INT(stream_info, "stream", id), .label = "STREAM",
	  .help = "id of the stream" },
	{ ROW_INT(stream_info, "call", call), .label = "CALL",
	  .help = "id of its call: that of the call's first stream" },
	{ ROW_BOOL(stream_info, "relay", relay),
	  .help = "its packets are passed on without a codec; values of "
		  "scheduled streams are 0 or missing" },
	{ ROW_OBJECT(stream_info, "in", in, side_info), .label = "IN",
	  .help = "the input" },
	{ ROW_OBJECT(stream_info, "out", out, side_info), .label = "OUT",
	  .help = "the output" },
	{ ROW_CHOICE(stream_info, "class", terms.cls, classes),
	  .label = "CLASS", .help = "how strict the deadline is" },
	{ ROW_TIME(stream_info, "age", age, "s"), .label = "AGE",
	  .help = "time since the stream was started" },
	{ ROW_TEXT(stream_info, "rtp", rtp), .label = "RTP",
	  .help = "advertised address that the stream receives packets at" },
	{ ROW_TEXT(stream_info, "interface", interface),
	  .help = "interface that its own port is at; if missing, it "
		  "uses the shared port" },
	{ ROW_ADDRESS(stream_info, "to", to), .label = "TO",
	  .help = "address that the stream sends packets to" },
	{ ROW_INT(stream_info, "ssrc", ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC of the input; if missing, it is relayed" },
	{ ROW_INT(stream_info, "out_ssrc", out_ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC of the output; if missing, it is that of the input" },
	{ ROW_INT(stream_info, "pair", pair),
	  .help = "id of the stream in the other direction, or 0" },
	{ ROW_TIME(stream_info, "ptime", ptime, "ms"),
	  .help = "duration of the speech in an input packet" },
	{ ROW_TIME(stream_info, "deadline", terms.deadline, "ms"),
	  .help = "time from a packet's release until it should have been "
		  "sent" },
	{ ROW_TIME(stream_info, "max_age", max_age, "ms"),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "age from which a packet is not transcoded any more "
		  "(--max-age); if missing, there is none" },
	{ ROW_INT(stream_info, "weight", terms.weight),
	  .help = "share of the CPU" },
	{ ROW_INT(stream_info, "nice", terms.nice),
	  .help = "share of the CPU as a nice value, see nice(1)" },
	{ ROW_OBJECT(stream_info, "contract", terms.contract, contract),
	  .help = "the stream's promises; they can be sent back as a "
		  "parameter" },
	{ ROW_OBJECT(stream_info, "admitted", admitted, admitted),
	  .help = "admission's figures for the stream" },
	{ ROW_INT(stream_info, "cmr_over", cmr_over),
	  .help = "number of mode requests from the peer that exceeded the "
		  "capacity" },
	{ ROW_TEXT(stream_info, "transcoding", transcoding),
	  .help = "kind of transcoding that its cost is taken from: codecs, "
		  "modes, packet; or relay" },
	{ ROW_OBJECT(stream_info, "count", count, stream_counts),
	  .help = "counters" },
	{ ROW_INT(stream_info, "lost", lost), .unit = "frames", .label = "LOST",
	  .help = "frames lost for lack of time: overwritten, expired, shed or "
		  "concealed" },
	{ ROW_INT(stream_info, "waiting", waiting), .unit = "frames",
	  .help = "frames that wait for their turn" },
	{ ROW_INT(stream_info, "bytes", bytes), .unit = "bytes",
	  .help = "memory that the stream uses, not counting the codecs'" },
	{ ROW_TEXT(stream_info, "scheduler", scheduler),
	  .help = "name of the scheduler" },
	{ ROW_LIST(stream_info, "policy", policy, npolicy, policy_number),
	  .help = "the scheduler's own figures for the stream" },
	{ ROW_TEXT(stream_info, "unknown", unknown),
	  .help = "packets of payload types that nobody has agreed on: \"12 of "
		  "type 96, 3 of type 101\"" },
	{ ROW_POINTER(stream_info, "rtcp", rtcp.is, rtcp_info),
	  .help = "RTCP with the sender; far: with the receiver. null if there "
		  "is none" },
	{ ROW_TIME(stream_info, "now", now, "ns"),
	  .help = "the node's clock now; the scheduler's times are on this "
		  "clock" },
	PROMISED(stream_info),
	{ 0 },
};

const struct field call_place_rtp_fields[] = {
	{ ROW_TEXT(call_place_rtp, "address", rtp),
	  .help = "address to send packets to" },
	{ ROW_INT(call_place_rtp, "ssrc", ssrc_in),
	  .help = "SSRC that these packets must have; at a port of its own "
		  "only if "
		  "the request named it" },
	{ ROW_INT(call_place_rtp, "pt", pt_in),
	  .help = "payload type that these packets must have" },
	{ 0 },
};

const struct field call_place_out_fields[] = {
	{ ROW_INT(call_place_out, "ssrc", ssrc_out),
	  .help = "SSRC of the packets that the node sends" },
	{ ROW_INT(call_place_out, "pt", pt_out),
	  .help = "payload type of the packets that the node sends" },
	{ ROW_INT(call_place_out, "ts_base", ts_base),
	  .help = "RTP timestamp that belongs to the first input packet" },
	{ ROW_INT(call_place_out, "clock", clock_out), .unit = "Hz",
	  .help = "clock rate of the output's RTP timestamps" },
	{ ROW_INT(call_place_out, "in_clock", clock_in), .unit = "Hz",
	  .help = "clock rate of the input's RTP timestamps" },
	{ 0 },
};

const struct field call_place_fields[] = {
	{ ROW_WHOLE(call_place, "rtp", call_place_rtp),
	  .help = "of one stream: the packets to send to the node" },
	{ ROW_WHOLE(call_place, "out", call_place_out),
	  .help = "of one stream: the packets that the node sends" },
	{ ROW_REAL(call_place, "load", load), .unit = "CPUs",
	  .help = "of one stream: its load, as its packets are measured" },
	PROMISED(call_place),
	{ 0 },
};

const struct field call_parties_fields[] = {
	{ ROW_BOOL(call_parties, "relay", relay),
	  .help = "of two streams: packets are passed on without a codec" },
	{ ROW_OBJECT(call_parties, "a", party[0], party_info),
	  .help = "of two streams: one party" },
	{ ROW_OBJECT(call_parties, "b", party[1], party_info),
	  .help = "of two streams: the other party" },
	{ 0 },
};

#define CALL_HEAD(table, stream)                                               \
	{ ROW_INT(table, "call", id), .help = "id of the call" },              \
		{ ROW_TEXT(table, "label", label),                             \
		  .help = "its label, if it has one" },                        \
	{                                                                      \
		ROW_EACH(table, "streams", streams, stream),                   \
			.help = "its streams: one; or two, from a and from b"  \
	}

const struct field call_started_fields[] = {
	CALL_HEAD(call_started, stream_reference),
	{ ROW_PART(call_started, place, call_place) },
	{ ROW_PART(call_started, parties, call_parties) },
	{ 0 },
};

const struct field call_info_fields[] = {
	CALL_HEAD(call_info, stream_info),
	{ ROW_PART(call_info, parties, call_parties) },
	{ 0 },
};

const struct field call_list_fields[] = {
	{ ROW_EACH(call_list, "calls", items, call_info),
	  .help = "the calls, as call.query returns them" },
	{ ROW_BOOL(call_list, "more", more),
	  .help = "there are more calls: ask again, with after set to the "
		  "last id" },
	{ 0 },
};

const struct field stream_ended_fields[] = {
	{ ROW_INLINE(stream_ended, info, stream_info) },
	{ ROW_TEXT(stream_ended, "reason", reason),
	  .help = "why the stream ended: stopped, lost, bye, drained, hung or "
		  "moved" },
	{ 0 },
};

const struct field stream_list_fields[] = {
	{ ROW_EACH(stream_list, "streams", items, stream_info),
	  .help = "the streams, as stream.query returns them" },
	{ ROW_BOOL(stream_list, "more", more),
	  .help = "there are more streams: ask again, with after set to the "
		  "last id" },
	{ 0 },
};

const struct field stream_top_entry_fields[] = {
	{ ROW_INT(stream_top_entry, "stream", info.id), .label = "STREAM",
	  .help = "id of the stream" },
	{ ROW_TEXT(stream_top_entry, "label", info.label), .label = "LABEL",
	  .help = "label of its call; missing without one" },
	{ ROW_CHOICE(stream_top_entry, "class", info.terms.cls, classes),
	  .label = "CLASS", .help = "how strict the deadline is" },
	{ ROW_TEXT(stream_top_entry, "transcoding", info.transcoding),
	  .label = "TRANSCODING", .help = "codecs, modes, packet; or relay" },
	{ ROW_ADDRESS(stream_top_entry, "to", info.to), .label = "TO",
	  .help = "address that the stream sends packets to" },
	{ ROW_TIME(stream_top_entry, "age", info.age, "s"), .label = "AGE",
	  .help = "time since the stream was started" },
	{ ROW_REAL(stream_top_entry, "in_per_s", rates.in), .unit = "packets",
	  .label = "IN/S", .help = "packets accepted a second" },
	{ ROW_REAL(stream_top_entry, "lost_per_s", rates.lost),
	  .unit = "frames", .label = "LOST/S",
	  .help = "frames lost a second for lack of time: overwritten, "
		  "expired, "
		  "shed or concealed" },
	{ ROW_REAL(stream_top_entry, "missing_per_s", rates.missing),
	  .unit = "packets", .label = "MISSING/S",
	  .help = "packets a second that never came, or were dropped" },
	{ ROW_REAL(stream_top_entry, "late_per_s", rates.late),
	  .unit = "frames", .label = "LATE/S",
	  .help = "frames a second that were sent after their deadline" },
	{ ROW_REAL(stream_top_entry, "load", rates.load), .unit = "CPUs",
	  .label = "LOAD",
	  .help = "time of workers that it takes, as busy_ns has it: by the "
		  "clock" },
	{ ROW_TIME(stream_top_entry, "delay", rates.delay, "ms"),
	  .label = "DELAY",
	  .help = "time from arrival to sending of its frames, on average" },
	{ ROW_TIME(stream_top_entry, "delay_max", info.count.delay_max_ns,
		   "ms"),
	  .label = "MAX_DELAY", .help = "the longest since its start" },
	{ ROW_INT(stream_top_entry, "waiting", info.waiting), .unit = "frames",
	  .label = "WAITING", .help = "frames that wait for their turn" },
	{ 0 },
};

const struct field stream_top_result_fields[] = {
	{ ROW_INT(stream_top_result, "streams", streams),
	  .help = "number of streams; the list has the first of them" },
	{ ROW_TEXT(stream_top_result, "sort", sort),
	  .help = "the order of the list" },
	{ ROW_TIME(stream_top_result, "window", window, "s"),
	  .help = "the time that rates and averages are of: between the last "
		  "two looks at all streams. A request looks if the last look "
		  "is "
		  "400 ms old; the first time, it is since the node's start. "
		  "Of "
		  "a younger stream since its start" },
	{ ROW_EACH(stream_top_result, "top", top, stream_top_entry),
	  .help = "the streams, in order" },
	{ 0 },
};

/* The first member of @params that is a row of @table, or NULL. */
static const char *first_given(const struct field *table, const json_t *params)
{
	const char *name = NULL;
	char wire[FIELD_NAME_MAX];

	for (const struct field *f = table; f->name && !name; f++)
		if (f->kind == FIELD_INLINE)
			name = first_given(f->members, params);
		else if (json_object_get(params, f->name) ||
			 json_object_get(params, field_wire_name(f, wire)))
			name = f->name;
	return name;
}

int call_params(struct call_spec *out, const json_t *params, struct cr_err *e)
{
	const char *one = first_given(call_one_fields, params);
	const char *two = first_given(call_two_fields, params);

	if (one && two)
		return cr_fail(
			e, -EINVAL,
			"%s: does not go with %s: in and out make a call "
			"of one stream, a and b one of two",
			two, one);
	*out = (struct call_spec)CALL_SPEC_UNSAID;
	field_defaults(call_start_fields, out);
	if (two)
		out->port = CALL_PORT_EACH;
	return field_read(call_start_fields, params, out, e);
}

int call_change_kind(const json_t *params, bool two, struct cr_err *e)
{
	const char *other = first_given(
		two ? call_change_one_fields : call_change_two_fields, params);

	if (other)
		return cr_fail(e, -EINVAL, "%s: the call has %s", other,
			       two ? "two streams: change a, b, or one of "
				     "these (stream.change)"
				   : "one stream: change out or its terms");
	if (json_object_size(params) < 2)
		return cr_fail(
			e, -EINVAL, "params: nothing to change: give %s",
			two ? "a or b"
			    : "class, deadline, weight, nice, contract, ptime, "
			      "out.mode or out.ptime");
	return 0;
}

int call_change_params(struct call_spec *out, const struct field *table,
		       const json_t *params, struct cr_err *e)
{
	static const struct call_spec unsaid = CALL_CHANGE_UNSAID;
	int err;

	*out = (struct call_spec){ 0 };
	field_defaults(table, out);
	out->terms = unsaid.terms;
	out->ptime = unsaid.ptime;
	if (!first_given(call_change_two_fields, params))
		out->end[1].ptime = unsaid.end[1].ptime;
	err = field_read(table, params, out, e);
	return err ? err : field_complete(table, out, e);
}
