/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the record of a call.
 */
#include "protocol/tables/record_fields.h"

#include "node/node.h"
#include "node/requests.h"
#include "protocol/tables/call_fields.h"

static const char *const classes[] = { CALL_CLASS_NAMES };
static const char *const types[] = { "end", "interim", NULL };
static const char *const ends[] = { NODE_END_NAMES };
static const char *const whose[] = { NODE_BY_NAMES };

const struct field record_in_fields[] = {
	{ ROW_INLINE(record_in, info.in, side_info) },
	{ ROW_INT(record_in, "ssrc", info.ssrc), .flags = FIELD_OMIT_ZERO,
	  .help = "SSRC that was named or chosen at the start" },
	{ ROW_TEXT(record_in, "rtp", info.rtp),
	  .help = "advertised address for the peer's packets" },
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
	{ ROW_TIME(record_heard, "jitter", jitter, "us"), .flags = FIELD_ROUND,
	  .help = "interarrival jitter (RFC 3550) at the end of the call, of "
		  "the packets that were transcoded" },
	{ 0 },
};

const struct field record_delay_fields[] = {
	{ ROW_INT(record_delay, "count", count), .unit = "frames",
	  .help = "number of frames that were transcoded" },
	{ ROW_TIME(record_delay, "p50", p50, "us"), .flags = FIELD_ROUND,
	  .help = "median, within 12.5 %" },
	{ ROW_TIME(record_delay, "p99", p99, "us"), .flags = FIELD_ROUND,
	  .help = "99 of 100 frames are below this, within 12.5 %" },
	{ ROW_TIME(record_delay, "max", max, "us"), .flags = FIELD_ROUND,
	  .help = "longest time" },
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
	{ ROW_REAL(record_quality, "loss", loss), .unit = "share",
	  .help = "share of the packets that the listener lacks, taken as "
		  "random and concealed: lost, behind a newer one, too late "
		  "for "
		  "the jitter buffer, overwritten, expired, shed but for "
		  "pauses, "
		  "malformed" },
	{ ROW_TIME(record_quality, "delay", delay, "ms"), .flags = FIELD_ROUND,
	  .help = "delay that was assumed: a packet, the look-ahead of both "
		  "encoders, the mean wait in the jitter buffer, and the p99 "
		  "of delay. The network and the listener's buffer add to it" },
	{ 0 },
};

const struct field record_stream_fields[] = {
	{ ROW_INT(record_stream, "stream", info.id),
	  .help = "id of the stream" },
	{ ROW_BOOL(record_stream, "relay", info.relay),
	  .help = "its packets were passed on without a codec" },
	{ ROW_CHOICE(record_stream, "class", info.terms.cls, classes),
	  .help = "how strict the deadline was" },
	{ ROW_TIME(record_stream, "ptime", info.ptime, "ms"),
	  .help = "duration of the speech in an input packet" },
	{ ROW_TEXT(record_stream, "scheduler", info.scheduler),
	  .help = "name of the scheduler at the end; missing of a relay" },
	{ ROW_TEXT(record_stream, "interface", info.interface),
	  .help = "interface that its own port was at; if missing, it used "
		  "the shared port" },
	{ ROW_WHOLE(record_stream, "in", record_in), .help = "the input" },
	{ ROW_WHOLE(record_stream, "out", record_out), .help = "the output" },
	{ ROW_POINTER(record_stream, "heard", heard, record_heard),
	  .help = "reception from the network; null while the call goes on, or "
		  "if a thread is stuck in it" },
	{ ROW_POINTER(record_stream, "rtcp", info.rtcp.is, rtcp_info),
	  .help = "RTCP with the sender; far: with the receiver. null if there "
		  "was none" },
	{ ROW_OBJECT(record_stream, "count", info.count, stream_counts),
	  .help = "counters" },
	{ ROW_INT(record_stream, "lost", info.lost), .unit = "frames",
	  .help = "frames lost for lack of time: overwritten, expired, shed or "
		  "concealed" },
	{ ROW_OBJECT(record_stream, "delay", delay, record_delay),
	  .help = "time from a frame's arrival to its being sent" },
	{ ROW_POINTER(record_stream, "quality", quality, record_quality),
	  .help = "quality by the E-model; null while the call goes on, or if "
		  "there is no published value for its codecs with such a "
		  "loss" },
	{ 0 },
};

const struct field record_fields[] = {
	{ ROW_TEXT(record, "id", id),
	  .help = "of the call: the node's name, when the node started (ms "
		  "since 1970), and the number of the first of its streams. No "
		  "other call has it; all records of this one do" },
	{ ROW_TEXT(record, "type", type), .names = types, .required = "",
	  .help = "end: the call is over; interim: it continues "
		  "(--records-interim), and a later record replaces this one" },
	{ ROW_TEXT(record, "node", node), .required = "",
	  .help = "name of the node (--node-name)" },
	{ ROW_INT(record, "call", call),
	  .help = "id of the call: that of its first stream. A node that was "
		  "started again begins with 1" },
	{ ROW_INT(record, "pair", pair), .flags = FIELD_OMIT_ZERO,
	  .help = "of a call of one stream: id of the call that it was paired "
		  "with; that one has a record of its own" },
	{ ROW_TEXT(record, "label", label),
	  .help = "label of the call; of NG the call-id" },
	{ ROW_TEXT(record, "from_tag", tag[0]),
	  .help = "NG: the caller's tag" },
	{ ROW_TEXT(record, "to_tag", tag[1]), .help = "NG: the callee's tag" },
	{ ROW_INT(record, "line", line), .flags = FIELD_OMIT_ZERO,
	  .help = "NG: which media line of the descriptions it is, from 1: "
		  "each has a record; they have label, from_tag and to_tag in "
		  "common" },
	{ ROW_TEXT(record, "start", start),
	  .help = "when the call was started, UTC" },
	{ ROW_TEXT(record, "end", end),
	  .help = "when it had ended and its last packet was sent, UTC; "
		  "interim: when this was written" },
	{ ROW_TIME(record, "duration", duration, "ms"), .flags = FIELD_ROUND,
	  .help = "time between the two, by a clock that is not set" },
	{ ROW_TEXT(record, "reason", why), .names = ends,
	  .help = "why it ended. stopped: by a request; lost: its client was "
		  "lost for longer than --grace; bye: its client left; "
		  "drained: the node ended; hung: a codec did not return; "
		  "silent: no packet came for too long (NG); crashed: the "
		  "process died in it, twice; moved: another node goes on with "
		  "it. Missing while it continues" },
	{ ROW_TEXT(record, "by", by), .names = whose,
	  .help = "who ended it: the client (JSON-RPC), the proxy (NG), or the "
		  "node" },
	{ ROW_TEXT(record, "peer", peer),
	  .help = "address of that client or proxy" },
	{ ROW_LIST(record, "streams", stream, nstreams, record_stream),
	  .help = "a call has one or two: from party a "
		  "(NG: the caller) to party b, and back" },
	{ 0 },
};
