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
	{ ROW_BOOL(side_info, "dtx", dtx),
	  .help = "discontinuous transmission" },
	{ 0 },
};

const struct field admitted_fields[] = {
	{ ROW_REAL(admitted, "load", load), .unit = "CPUs",
	  .help = "what the call counts as" },
	{ ROW_TIME(admitted, "cost", cost, "us"),
	  .help = "CPU time of a packet that its class counts by" },
	{ ROW_TIME(admitted, "mean", mean, "us"),
	  .help = "CPU time of a packet, on average" },
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
	{ ROW_TEXT(bound, "rule", rule), .help = "what says so" },
	{ ROW_TIME(bound, "tardiness", tardiness, "ms"),
	  .help = "most time behind the end of its server's period" },
	{ ROW_TIME(bound, "lateness", lateness, "ms"),
	  .help = "most time behind a packet's deadline" },
	{ ROW_TIME(bound, "buffer", buffer, "ms"),
	  .help = "play-out buffer that makes up for it" },
	{ ROW_INT(bound, "frames", frames), .unit = "frames",
	  .help = "queue that what is late needs" },
	{ ROW_TIME(bound, "cost", cost, "us"), .flags = FIELD_OMIT_ZERO,
	  .help = "it is about packets that take no longer; missing: all" },
	{ 0 },
};

const struct field bound_result_fields[] = {
	{ ROW_POINTER(bound_result, "bound", bound, bound),
	  .help = "what is promised beside the calls there are now; null: "
		  "nothing" },
	{ ROW_TEXT(bound_result, "bound_why", why),
	  .help = "why nothing is promised" },
	{ 0 },
};

const struct field call_info_fields[] = {
	{ ROW_INT(call_info, "call", id), .label = "CALL",
	  .help = "id of the call" },
	{ ROW_OBJECT(call_info, "in", in, side_info), .label = "IN",
	  .help = "what comes in" },
	{ ROW_OBJECT(call_info, "out", out, side_info), .label = "OUT",
	  .help = "what goes out" },
	{ ROW_CHOICE(call_info, "class", terms.cls, classes), .label = "CLASS",
	  .help = "what a late packet is worth" },
	{ ROW_TIME(call_info, "age", age, "s"), .label = "AGE_S",
	  .help = "since it was started" },
	{ ROW_TEXT(call_info, "rtp", rtp), .label = "RTP",
	  .help = "where its packets go to" },
	{ ROW_ADDRESS(call_info, "to", to), .label = "TO",
	  .help = "where it sends" },
	{ ROW_INT(call_info, "ssrc", ssrc), .help = "SSRC of what comes in" },
	{ ROW_INT(call_info, "out_ssrc", out_ssrc),
	  .help = "SSRC of what goes out" },
	{ ROW_INT(call_info, "pair", pair),
	  .help = "id of the other direction's call; 0: none" },
	{ ROW_TIME(call_info, "ptime", ptime, "ms"),
	  .help = "speech in an input packet" },
	{ ROW_TIME(call_info, "deadline", terms.deadline, "ms"),
	  .help = "from a packet's release to when it should have left" },
	{ ROW_INT(call_info, "weight", terms.weight),
	  .help = "share of the CPU" },
	{ ROW_INT(call_info, "nice", terms.nice),
	  .help = "the same, as nice(1)" },
	{ ROW_OBJECT(call_info, "contract", terms.contract, contract),
	  .help = "what was promised; can be sent again" },
	{ ROW_OBJECT(call_info, "admitted", admitted, admitted),
	  .help = "what it counts as" },
	{ ROW_INT(call_info, "cmr_over", cmr_over),
	  .help = "modes that its peer asked for beyond the capacity" },
	{ ROW_TEXT(call_info, "transcoding", transcoding),
	  .help = "whose cost it has: codecs, modes, packet" },
	{ ROW_OBJECT(call_info, "count", count, call_counts),
	  .help = "counters" },
	{ ROW_INT(call_info, "lost", lost), .label = "LOST",
	  .help = "frames lost for want of time: overwritten, stale or "
		  "concealed" },
	{ ROW_INT(call_info, "waiting", waiting), .unit = "frames",
	  .help = "frames that wait for their turn" },
	{ ROW_INT(call_info, "bytes", bytes), .unit = "bytes",
	  .help = "memory, without the codecs' own" },
	{ ROW_TEXT(call_info, "scheduler", scheduler),
	  .help = "name of the policy" },
	{ ROW_MAP(call_info, "policy", policy, npolicy, policy_number),
	  .help = "the policy's own numbers about the call" },
	{ ROW_TIME(call_info, "now", now, "ns"),
	  .help = "the node's clock, which policies' times are of" },
	{ 0 },
};

const struct field call_place_rtp_fields[] = {
	{ ROW_TEXT(call_place_rtp, "address", rtp),
	  .help = "where to send packets" },
	{ ROW_INT(call_place_rtp, "ssrc", ssrc_in), .help = "with this SSRC" },
	{ ROW_INT(call_place_rtp, "pt", pt_in),
	  .help = "and this payload type" },
	{ 0 },
};

const struct field call_place_out_fields[] = {
	{ ROW_INT(call_place_out, "ssrc", ssrc_out),
	  .help = "SSRC of what is sent" },
	{ ROW_INT(call_place_out, "pt", pt_out), .help = "payload type" },
	{ ROW_INT(call_place_out, "ts_base", ts_base),
	  .help = "RTP timestamp that belongs to the first input packet" },
	{ ROW_INT(call_place_out, "clock", clock_out), .unit = "Hz",
	  .help = "of its RTP timestamps" },
	{ ROW_INT(call_place_out, "in_clock", clock_in), .unit = "Hz",
	  .help = "of the input's RTP timestamps" },
	{ 0 },
};

const struct field call_place_fields[] = {
	{ ROW_INT(call_place, "call", id), .help = "id of the call" },
	{ ROW_WHOLE(call_place, "rtp", call_place_rtp),
	  .help = "where to send" },
	{ ROW_WHOLE(call_place, "out", call_place_out),
	  .help = "what is sent" },
	{ ROW_REAL(call_place, "load", load), .unit = "CPUs",
	  .help = "what its packets are measured to take" },
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
	  .help = "stopped, lost, bye, drained or hung" },
	{ 0 },
};

const struct field call_list_fields[] = {
	{ ROW_EACH(call_list, "calls", calls, call_result),
	  .help = "calls, as call.query tells them" },
	{ ROW_BOOL(call_list, "more", more),
	  .help = "there are calls behind these: ask again after the last" },
	{ 0 },
};
