/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of calls.
 */
#include "protocol/tables/call.h"

static const char *const classes[] = { CALL_CLASS_NAMES };

const struct field side_info_fields[] = {
	{ ROW_CODEC(side_info, "codec", codec), .label = "CODEC",
	  .help = "name of the codec" },
	{ ROW_MODE(side_info, "mode", mode), .label = "MODE",
	  .help = "the mode in use" },
	{ ROW_INT(side_info, "pt", pt), .help = "RTP payload type" },
	{ ROW_INT(side_info, "rate", rate), .unit = "Hz",
	  .help = "sampling rate" },
	{ ROW_BOOL(side_info, "octet_align", octet_align),
	  .help = "octet-aligned payload" },
	{ ROW_INT(side_info, "mode_set", mode_set), .flags = FIELD_OMIT_ZERO,
	  .help = "AMR and AMR-WB: the modes that may be used, as the sum of "
		  "2^mode; all if missing" },
	{ ROW_BOOL(side_info, "mode_second", mode_second),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "AMR and AMR-WB: the mode changes every second frame at "
		  "most" },
	{ ROW_BOOL(side_info, "mode_next", mode_next), .flags = FIELD_OMIT_ZERO,
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

#define COUNT(n, head, h)                                                      \
	{ ROW_INT(call_counts, #n, n), .label = (head), .help = (h) },

const struct field call_counts_fields[] = { CALL_COUNTERS(COUNT){ 0 } };

const struct field policy_number_fields[] = {
	{ ROW_TEXT(policy_number, "key", key) },
	{ ROW_INT(policy_number, "value", value) },
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

const struct field bound_result_fields[] = {
	{ ROW_POINTER(bound_result, "bound", bound, bound),
	  .help = "bound on how late packets can be, given the present "
		  "calls; null if nothing is promised" },
	{ ROW_TEXT(bound_result, "bound_why", why),
	  .help = "why nothing is promised" },
	{ 0 },
};

const struct field rtcp_far_fields[] = {
	{ ROW_INT(rtcp_far, "reports", reports),
	  .help = "reports so far; while there is none, the rest is 0" },
	{ ROW_REAL(rtcp_far, "lost_share", lost_share), .flags = FIELD_ROUND,
	  .help = "share of the packets that was lost, 0 to 1, by the last "
		  "one" },
	{ ROW_REAL(rtcp_far, "lost_mean", lost_mean), .flags = FIELD_ROUND,
	  .help = "the mean of that over all reports" },
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
	  .help = "times that the party said BYE, which ends nothing here" },
	{ ROW_INT(rtcp_info, "unsent", unsent),
	  .help = "RTCP packets that the socket refused" },
	{ ROW_WHOLE(rtcp_info, "far", rtcp_far),
	  .help = "what the far side reports of the packets that it is sent" },
	{ 0 },
};

const struct field call_info_fields[] = {
	{ ROW_INT(call_info, "call", id), .label = "CALL",
	  .help = "id of the call" },
	{ ROW_BOOL(call_info, "relay", relay),
	  .help = "its packets are passed on without a codec; what only "
		  "scheduled calls have is 0 or missing" },
	{ ROW_OBJECT(call_info, "in", in, side_info), .label = "IN",
	  .help = "the input" },
	{ ROW_OBJECT(call_info, "out", out, side_info), .label = "OUT",
	  .help = "the output" },
	{ ROW_CHOICE(call_info, "class", terms.cls, classes), .label = "CLASS",
	  .help = "how strict the deadline is" },
	{ ROW_TIME(call_info, "age", age, "s"), .label = "AGE_S",
	  .help = "time since the call was started" },
	{ ROW_TEXT(call_info, "rtp", rtp), .label = "RTP",
	  .help = "address that the call receives packets at, as peers are "
		  "told" },
	{ ROW_TEXT(call_info, "interface", interface),
	  .help = "interface that the call's own port is at; if missing, it "
		  "uses the shared port" },
	{ ROW_ADDRESS(call_info, "to", to), .label = "TO",
	  .help = "address that the call sends packets to" },
	{ ROW_INT(call_info, "ssrc", ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC of the input; if missing, it is relayed" },
	{ ROW_INT(call_info, "out_ssrc", out_ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC of the output; if missing, it is that of the input" },
	{ ROW_INT(call_info, "pair", pair),
	  .help = "id of the call in the other direction, or 0" },
	{ ROW_TIME(call_info, "ptime", ptime, "ms"),
	  .help = "duration of the speech in an input packet" },
	{ ROW_TIME(call_info, "deadline", terms.deadline, "ms"),
	  .help = "time from a packet's release until it should have been "
		  "sent" },
	{ ROW_TIME(call_info, "max_age", max_age, "ms"),
	  .flags = FIELD_OMIT_ZERO,
	  .help = "age at which a packet whose turn comes is not transcoded "
		  "any more (--max-age); if missing, there is none" },
	{ ROW_INT(call_info, "weight", terms.weight),
	  .help = "share of the CPU" },
	{ ROW_INT(call_info, "nice", terms.nice),
	  .help = "share of the CPU as a nice value, see nice(1)" },
	{ ROW_OBJECT(call_info, "contract", terms.contract, contract),
	  .help = "what the call promised; it can be sent back as a "
		  "parameter" },
	{ ROW_OBJECT(call_info, "admitted", admitted, admitted),
	  .help = "what admission counts for the call" },
	{ ROW_INT(call_info, "cmr_over", cmr_over),
	  .help = "number of mode requests from the peer that exceeded the "
		  "capacity" },
	{ ROW_TEXT(call_info, "transcoding", transcoding),
	  .help = "kind of transcoding that its cost is taken from: codecs, "
		  "modes, packet; or relay" },
	{ ROW_OBJECT(call_info, "count", count, call_counts),
	  .help = "counters" },
	{ ROW_INT(call_info, "lost", lost), .label = "LOST",
	  .help = "frames lost for lack of time: overwritten, expired, shed or "
		  "concealed" },
	{ ROW_INT(call_info, "waiting", waiting), .unit = "frames",
	  .help = "frames that wait for their turn" },
	{ ROW_INT(call_info, "bytes", bytes), .unit = "bytes",
	  .help = "memory that the call uses, not counting the codecs'" },
	{ ROW_TEXT(call_info, "scheduler", scheduler),
	  .help = "name of the scheduler" },
	{ ROW_MAP(call_info, "policy", policy, npolicy, policy_number),
	  .help = "the scheduler's own figures for the call" },
	{ ROW_TEXT(call_info, "unknown", unknown),
	  .help = "packets of payload types that nobody has agreed on: \"12 of "
		  "type 96, 3 of type 101\"" },
	{ ROW_POINTER(call_info, "rtcp", rtcp.is, rtcp_info),
	  .help = "RTCP with who is heard; far: with who is sent to. null if "
		  "there is none" },
	{ ROW_TIME(call_info, "now", now, "ns"),
	  .help = "the node's clock now; the scheduler's times are on this "
		  "clock" },
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
	{ ROW_INT(call_place, "call", id), .help = "id of the call" },
	{ ROW_WHOLE(call_place, "rtp", call_place_rtp),
	  .help = "the packets to send to the node" },
	{ ROW_WHOLE(call_place, "out", call_place_out),
	  .help = "the packets that the node sends" },
	{ ROW_REAL(call_place, "load", load), .unit = "CPUs",
	  .help = "load of the call, as its packets are measured" },
	{ 0 },
};

const struct field call_place_result_fields[] = {
	{ ROW_INLINE(call_place_result, place, call_place) },
	{ ROW_INLINE(call_place_result, bound, bound_result) },
	{ 0 },
};

const struct field call_result_fields[] = {
	{ ROW_INLINE(call_result, info, call_info) },
	{ ROW_INLINE(call_result, bound, bound_result) },
	{ 0 },
};

const struct field call_ended_fields[] = {
	{ ROW_INLINE(call_ended, call, call_result) },
	{ ROW_TEXT(call_ended, "reason", reason),
	  .help = "why the call ended: stopped, lost, bye, drained or hung" },
	{ 0 },
};

const struct field call_list_fields[] = {
	{ ROW_EACH(call_list, "calls", calls, call_result),
	  .help = "the calls, as call.query returns them" },
	{ ROW_BOOL(call_list, "more", more),
	  .help = "there are more calls: ask again, with after set to the "
		  "last id" },
	{ 0 },
};

const struct field call_top_entry_fields[] = {
	{ ROW_INT(call_top_entry, "call", info.id), .label = "CALL",
	  .help = "id of the call" },
	{ ROW_TEXT(call_top_entry, "label", info.label), .label = "LABEL",
	  .help = "what the client of its conversation calls it; missing if "
		  "it has no name" },
	{ ROW_CHOICE(call_top_entry, "class", info.terms.cls, classes),
	  .label = "CLASS", .help = "how strict the deadline is" },
	{ ROW_TEXT(call_top_entry, "transcoding", info.transcoding),
	  .label = "TRANSCODING", .help = "codecs, modes, packet; or relay" },
	{ ROW_ADDRESS(call_top_entry, "to", info.to), .label = "TO",
	  .help = "address that the call sends packets to" },
	{ ROW_TIME(call_top_entry, "age", info.age, "s"), .label = "AGE_S",
	  .help = "time since the call was started" },
	{ ROW_REAL(call_top_entry, "in_per_s", rates.in), .unit = "packets",
	  .label = "IN/S", .help = "packets accepted a second" },
	{ ROW_REAL(call_top_entry, "lost_per_s", rates.lost), .unit = "frames",
	  .label = "LOST/S",
	  .help = "frames lost a second for lack of time: overwritten, "
		  "expired, "
		  "shed or concealed" },
	{ ROW_REAL(call_top_entry, "missing_per_s", rates.missing),
	  .unit = "packets", .label = "MISSING/S",
	  .help = "packets a second that never came, or were dropped" },
	{ ROW_REAL(call_top_entry, "late_per_s", rates.late), .unit = "frames",
	  .label = "LATE/S",
	  .help = "frames a second that were sent after their deadline" },
	{ ROW_REAL(call_top_entry, "load", rates.load), .unit = "CPUs",
	  .label = "LOAD",
	  .help = "time of workers that it takes, as busy_ns has it: by the "
		  "clock" },
	{ ROW_TIME(call_top_entry, "delay", rates.delay, "ms"),
	  .label = "DELAY_MS",
	  .help = "time from arrival to sending of its frames, on average" },
	{ ROW_TIME(call_top_entry, "delay_max", info.count.delay_max_ns, "ms"),
	  .label = "MAX_DELAY_MS", .help = "the longest since its start" },
	{ ROW_INT(call_top_entry, "waiting", info.waiting), .unit = "frames",
	  .label = "WAITING", .help = "frames that wait for their turn" },
	{ 0 },
};

const struct field call_top_result_fields[] = {
	{ ROW_INT(call_top_result, "calls", calls),
	  .help = "number of calls, of which these are the first" },
	{ ROW_TEXT(call_top_result, "sort", sort),
	  .help = "what they are sorted by" },
	{ ROW_TIME(call_top_result, "window", window, "s"),
	  .help = "the time that rates and averages are of: between the last "
		  "two looks at all calls. A request looks if the last look is "
		  "400 ms old; the first time, it is since the node's start. "
		  "Of "
		  "a younger call since its start" },
	{ ROW_EACH(call_top_result, "top", top, call_top_entry),
	  .help = "the calls, in order" },
	{ 0 },
};
