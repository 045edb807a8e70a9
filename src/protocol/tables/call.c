/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parameters of the methods of calls.
 */
#include "protocol/tables/call.h"

#include "engine/release.h"
#include "rtp/jitter.h"

static const char *const classes[] = { CALL_CLASS_NAMES };
static const char *const learns[] = { CALL_LEARN_NAMES };
static const char *const losses[] = { CALL_LOSS_NAMES };
static const char *const jitters[] = { CALL_JITTER_NAMES };
static const char *const fills[] = { CALL_FILL_NAMES };
static const char *const models[] = { CALL_MODEL_NAMES };
static const char *const rtcps[] = { CALL_RTCP_NAMES };
static const char *const tops[] = { NODE_TOP_NAMES };
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
	{ ROW_INT(codec_use, "pt", pt), .max = 127, .dflt = -1,
	  .without = "the static one of RFC 3551, else 96",
	  .help = "RTP payload type" },
	{ ROW_INT(codec_use, "rate", rate), .min = 8000, .max = 48000,
	  .unit = "Hz", .without = "the codec's; of opus the other side's",
	  .help = "sampling rate, 8000, 16000 or 48000; only for codecs "
		  "without a fixed rate" },
	{ ROW_BOOL(codec_use, "octet_align", octet_align),
	  .help = "AMR and AMR-WB: use the octet-aligned payload format of "
		  "RFC 4867, not the bandwidth-efficient one" },
	{ ROW_INT(codec_use, "mode_set", mode_set), .max = 511,
	  .without = "all modes",
	  .help = "AMR and AMR-WB: the modes that may be used, as the sum of "
		  "2^mode: mode-set=0,2,4,7 in SDP is 149. Without a mode the "
		  "best of them that is not better than the codec's own" },
	{ ROW_BOOL(codec_use, "mode_second", mode_second),
	  .help = "AMR and AMR-WB: the mode changes every second frame at most "
		  "(mode-change-period=2 in SDP)" },
	{ ROW_BOOL(codec_use, "mode_next", mode_next),
	  .help = "AMR and AMR-WB: it changes to the next mode of mode_set "
		  "only "
		  "(mode-change-neighbor=1 in SDP)" },
	{ ROW_BOOL(codec_use, "dtx", dtx),
	  .help = "discontinuous transmission, if the codec supports it" },
	{ ROW_INT(codec_use, "complexity", complexity), .max = 10, .dflt = -1,
	  .without = "the codec's",
	  .help = "opus: how much the encoder tries; more takes more CPU "
		  "time" },
	{ ROW_INT(codec_use, "fec", fec), .max = 100, .unit = "%",
	  .help = "opus: packet loss that the encoder protects from by "
		  "repeating speech in the next packet" },
	{ ROW_TIME(codec_use, "spin", spin, "us"), .max = CALL_SPIN_MAX,
	  .help = "codec spin only: CPU time to use for each frame" },
	{ 0 },
};

const struct field call_side_fields[] = {
	{ ROW_CODEC(call_side, "codec", codec), .required = "",
	  .help = "name of the codec, as the method codecs lists it" },
	{ ROW_SHARED(call_side, codec_use) },
	{ 0 },
};

const struct field call_types_fields[] = {
	{ ROW_INT(call_types, "events", events), .max = 127, .without = "none",
	  .help = "RTP payload type of telephone events (RFC 4733), such as "
		  "DTMF; they are passed on if both sides have one, and speech "
		  "is not heard meanwhile" },
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
	  .help = "packets that never came; number: they show in the sequence "
		  "numbers of what is sent on, and whoever hears that conceals "
		  "them; conceal: the decoder does, up to 60 ms. A jitter "
		  "buffer always conceals" },
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
	  .without = "signalled in a conversation, never in a call",
	  .help = "send noise every ptime while the sender is silent; told: "
		  "when it says so by SID or comfort noise; always: also when "
		  "nothing has come for 60 ms. A codec with silence of its own "
		  "makes SIDs of it" },
	{ 0 },
};

const struct field call_in_fields[] = {
	{ ROW_INLINE(call_in, side, call_side) },
	{ ROW_ADDRESS(call_in, "source", source), .without = "who sends first",
	  .help = "address that packets come from; packets from other "
		  "addresses are refused" },
	{ ROW_CHOICE(call_in, "learn", learn, learns), .dflt = -1,
	  .without = "strict where source is given, else immediate",
	  .help = "at a port of its own: who is taken for the sender; strict: "
		  "only source; immediate: the first one; delayed: of several "
		  "in the first 3 s the one heard for longest, as with "
		  "asymmetric. Each may change its SSRC; none takes the call "
		  "over while another speaks, and who was heard for a second "
		  "is followed by nobody but a sender with its SSRC and "
		  "numbers" },
	{ ROW_INT(call_in, "ts_first", ts_first), .max = UINT32_MAX, .dflt = -1,
	  .without = "that of the first packet",
	  .help = "RTP timestamp of the input at which the output's "
		  "timestamps begin" },
	{ ROW_INLINE(call_in, types, call_types) },
	{ ROW_INLINE(call_in, reception, call_reception) },
	{ 0 },
};

const struct field call_out_fields[] = {
	{ ROW_INLINE(call_out, side, call_side) },
	{ ROW_ADDRESS(call_out, "address", address),
	  .required = "where shall the frames go to?",
	  .help = "address to send the packets to" },
	{ ROW_INT(call_out, "ssrc", ssrc), .min = 1, .max = UINT32_MAX,
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
	  .help = "what the call promises; declared values are used in "
		  "place of measured ones" },
	{ 0 },
};

const struct field call_start_fields[] = {
	{ ROW_OBJECT(call_start, "in", in, call_in), .help = "the input" },
	{ ROW_OBJECT(call_start, "out", out, call_out), .help = "the output" },
	{ ROW_TIME(call_start, "ptime", ptime, "ms"), .min = CALL_PTIME_MIN,
	  .max = CALL_PTIME_MAX,
	  .without = "a frame of the input; of PCM one of the output, or 20 "
		     "ms",
	  .help = "duration of the speech in an input packet" },
	{ ROW_INLINE(call_start, terms, call_terms) },
	{ ROW_OBJECT(call_start, "release", release, call_release),
	  .help = "when packets are released" },
	{ ROW_CHOICE(call_start, "port", port, ports),
	  .help = "use the RTP port that the node's calls share, or a port "
		  "of the call's own" },
	{ ROW_TEXT(call_start, "interface", interface),
	  .without = "the first whose address is of the family of "
		     "out.address",
	  .help = "name of the interface, as hello lists them, that a port of "
		  "the call's own is opened at" },
	{ ROW_CHOICE(call_start, "rtcp", rtcp, rtcps),
	  .help = "RTCP with who sends and with who is at out.address, at a "
		  "port of the call's own: on the port above it, or mux: on "
		  "the same one (RFC 5761)" },
	{ ROW_INT(call_start, "ssrc", ssrc), .min = 1, .max = UINT32_MAX,
	  .without = "a random one; at a port of its own, what the sender has",
	  .help = "SSRC of the packets that the node receives" },
	{ ROW_INT(call_start, "pair", pair), .min = 1, .max = UINT32_MAX,
	  .help = "id of the call in the other direction; codec mode "
		  "requests (CMR) pass between the two" },
	{ ROW_BOOL(call_start, "keep", keep),
	  .help = "the call belongs to no session; only call.stop ends it" },
	{ 0 },
};

#define FIXED "cannot change while the call runs: stop it and start another"

const struct field call_change_out_fields[] = {
	{ ROW_MODE(call_change_out, "mode", mode), .without = "as it is",
	  .help = "bit rate of the output, by name" },
	{ ROW_TIME(call_change_out, "ptime", out_ptime, "ms"),
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

const struct field call_change_fields[] = {
	{ ROW_INT(call_change, "call", call), .min = 1, .max = UINT32_MAX,
	  .required = "which call?", .help = "id of the call" },
	{ ROW_INLINE(call_change, terms, call_terms) },
	{ ROW_WHOLE(call_change, "out", call_change_out),
	  .help = "the output" },
	{ ROW_FIXED("in", FIXED) },
	{ ROW_TIME(call_change, "ptime", ptime, "ms"), .min = CALL_PTIME_MIN,
	  .max = CALL_PTIME_MAX,
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

const struct field call_reference_fields[] = {
	{ ROW_INT(call_reference, "call", call), .min = 1, .max = UINT32_MAX,
	  .required = "which call?", .help = "id of the call" },
	{ 0 },
};

const struct field page_fields[] = {
	{ ROW_INT(page, "after", after), .max = UINT32_MAX,
	  .help = "list only entries with an id greater than this" },
	{ ROW_INT(page, "limit", limit), .min = 1, .max = PAGE_MAX, .dflt = 50,
	  .help = "largest number of entries in the reply" },
	{ 0 },
};

const struct field call_top_fields[] = {
	{ ROW_CHOICE(call_top, "sort", sort, tops),
	  .help = "which calls come first; loss: who lose most frames for lack "
		  "of time; missing: of whom most packets do not come, or are "
		  "dropped; cost: who take most time of workers; delay: whose "
		  "frames take longest through the node. Of equal ones first "
		  "who cost "
		  "more" },
	{ ROW_INT(call_top, "limit", limit), .min = 1, .max = PAGE_MAX,
	  .dflt = 20, .help = "largest number of calls in the reply" },
	{ 0 },
};
