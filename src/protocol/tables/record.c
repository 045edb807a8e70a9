/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recorded of a call.
 */
#include "protocol/tables/record.h"

#include "protocol/tables/call.h"

static const char *const classes[] = { CALL_CLASS_NAMES };

const struct field record_in_fields[] = {
	{ ROW_INLINE(record_in, info.in, side_info) },
	{ ROW_INT(record_in, "ssrc", info.ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC that was named or chosen at the start" },
	{ ROW_TEXT(record_in, "rtp", info.rtp),
	  .help = "address that the peer was told to send to" },
	{ 0 },
};

const struct field record_out_fields[] = {
	{ ROW_INLINE(record_out, info.out, side_info) },
	{ ROW_INT(record_out, "ssrc", info.out_ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC; if missing, that of the input" },
	{ ROW_ADDRESS(record_out, "to", info.to),
	  .help = "address that was sent to" },
	{ 0 },
};

const struct field record_heard_fields[] = {
	{ ROW_TEXT(record_heard, "source", source),
	  .help = "address that the packets came from in the end; if missing, "
		  "none came" },
	{ ROW_INT(record_heard, "ssrc", ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "their SSRC in the end" },
	{ ROW_INT(record_heard, "ssrc_changes", ssrc_changes),
	  .help = "times that the SSRC changed" },
	{ ROW_INT(record_heard, "address_changes", address_changes),
	  .help = "times that the address changed" },
	{ ROW_INT(record_heard, "expected", expected), .unit = "packets",
	  .help = "packets that were sent, by their sequence numbers" },
	{ ROW_INT(record_heard, "lost", lost), .unit = "packets",
	  .help = "packets of these that never came" },
	{ ROW_TIME(record_heard, "jitter", jitter, "us"),
	  .help = "interarrival jitter (RFC 3550) at the end of the call, of "
		  "the packets that were transcoded" },
	{ 0 },
};

const struct field record_delay_fields[] = {
	{ ROW_INT(record_delay, "count", count), .unit = "frames",
	  .help = "number of frames that were transcoded" },
	{ ROW_TIME(record_delay, "p50", p50, "us"),
	  .help = "median, within 12.5 %" },
	{ ROW_TIME(record_delay, "p99", p99, "us"),
	  .help = "99 of 100 frames are below this, within 12.5 %" },
	{ ROW_TIME(record_delay, "max", max, "us"), .help = "longest time" },
	{ 0 },
};

const struct field record_quality_fields[] = {
	{ ROW_REAL(record_quality, "r", r),
	  .help = "rating R of ITU-T G.107, 0 to 93.2; wideband (G.107.1) to "
		  "129" },
	{ ROW_REAL(record_quality, "mos", mos),
	  .help = "mean opinion score that R stands for, 1 to 4.5" },
	{ ROW_BOOL(record_quality, "wideband", wideband),
	  .help = "the scale is that of G.107.1" },
	{ ROW_REAL(record_quality, "loss", loss),
	  .help = "share of the packets that the listener lacks, taken as "
		  "random and concealed: lost, behind a newer one, too late "
		  "for "
		  "the jitter buffer, overwritten, stale, shed but for pauses, "
		  "malformed" },
	{ ROW_TIME(record_quality, "delay", delay, "ms"),
	  .help = "delay that was assumed: a packet, the look-ahead of both "
		  "encoders, the mean wait in the jitter buffer, and the p99 "
		  "of delay. The network and the listener's buffer add to it" },
	{ 0 },
};

const struct field record_fields[] = {
	{ ROW_INT(record, "call", info.id), .help = "id of the call" },
	{ ROW_INT(record, "pair", info.pair),
	  .help = "id of the call in the other direction, or 0" },
	{ ROW_TEXT(record, "label", info.label),
	  .help = "what its conversation was told to be called; of a call of "
		  "NG the call-id" },
	{ ROW_BOOL(record, "relay", info.relay),
	  .help = "its packets were passed on without a codec" },
	{ ROW_TEXT(record, "start", start),
	  .help = "when the call was started, UTC" },
	{ ROW_TEXT(record, "end", end),
	  .help = "when it had ended and its last packet was sent, UTC" },
	{ ROW_TIME(record, "duration", info.age, "ms"),
	  .help = "time between the two, by a clock that is not set" },
	{ ROW_TEXT(record, "reason", why),
	  .help = "why it ended: stopped, lost, bye, drained or hung" },
	{ ROW_CHOICE(record, "class", info.terms.cls, classes),
	  .help = "how strict the deadline was" },
	{ ROW_TIME(record, "ptime", info.ptime, "ms"),
	  .help = "duration of the speech in an input packet" },
	{ ROW_TEXT(record, "scheduler", info.scheduler),
	  .help = "name of the scheduler at the end; missing of a relay" },
	{ ROW_TEXT(record, "interface", info.interface),
	  .help = "interface that the call's own port was at; if missing, it "
		  "used the shared port" },
	{ ROW_WHOLE(record, "in", record_in), .help = "the input" },
	{ ROW_WHOLE(record, "out", record_out), .help = "the output" },
	{ ROW_POINTER(record, "heard", heard, record_heard),
	  .help = "what came from the network; null if a thread is stuck in "
		  "the call" },
	{ ROW_POINTER(record, "rtcp", info.rtcp.is, rtcp_info),
	  .help = "RTCP with who was heard; far: with who was sent to. null if "
		  "there was none" },
	{ ROW_OBJECT(record, "count", info.count, call_counts),
	  .help = "counters" },
	{ ROW_INT(record, "lost", info.lost), .unit = "frames",
	  .help = "frames lost for lack of time: overwritten, stale, shed or "
		  "concealed" },
	{ ROW_OBJECT(record, "delay", delay, record_delay),
	  .help = "time from a frame's arrival to its being sent" },
	{ ROW_POINTER(record, "quality", quality, record_quality),
	  .help = "what the call was like, by the E-model; null if there is no "
		  "published value for its codecs with such a loss" },
	{ 0 },
};

static const struct field_metric records_metric[] = {
	{ .name = "records_total",
	  .type = "counter",
	  .help = "Records of calls by what became of them.",
	  .labels = "{outcome=\"written\"}" },
	{ .name = "records_total", .labels = "{outcome=\"dropped\"}" },
	{ .name = "records_total", .labels = "{outcome=\"failed\"}" },
};

const struct field lines_stats_fields[] = {
	{ ROW_INT(lines_stats, "written", written), .unit = "records",
	  .help = "written", .metric = &records_metric[0] },
	{ ROW_INT(lines_stats, "dropped", dropped), .unit = "records",
	  .help = "dropped because the disk was slow",
	  .metric = &records_metric[1] },
	{ ROW_INT(lines_stats, "failed", failed), .unit = "records",
	  .help = "that could not be written, see the log",
	  .metric = &records_metric[2] },
	{ ROW_INT(lines_stats, "reopened", reopened),
	  .help = "times that the file was opened again (SIGHUP)" },
	{ 0 },
};
