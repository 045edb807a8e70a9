/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of the node as a whole, of codecs, schedulers and traces; the result
 * of stats, and which of its members are metrics.
 */
#include "protocol/tables/node_fields.h"

const struct field nothing_fields[] = { { 0 } };

const struct field hello_fields[] = {
	{ ROW_TEXT(hello, "client", client),
	  .help = "name of the client, for the node's log" },
	{ ROW_TEXT(hello, "key", key),
	  .help = "the node's key (--control-key), which SCTP clients have to "
		  "show before anything else; by the Unix socket it is not "
		  "looked at" },
	{ ROW_TEXT(hello, "resume", resume),
	  .help = "id of a session whose association was lost; this session "
		  "takes over its calls" },
	{ 0 },
};

const struct field upgrade_fields[] = {
	{ ROW_TEXT(upgrade, "program", program),
	  .without = "the path of the program that runs",
	  .help = "absolute path of the new program; root's or the user's of "
		  "the supervisor, and nobody else may write to it or its "
		  "folder" },
	{ 0 },
};

const struct field drain_fields[] = {
	{ ROW_TIME(drain, "limit", limit, "s"), .max = 86400 * CR_SEC,
	  .dflt = -1, .without = "the node's --drain-timeout",
	  .help = "how long calls may still run" },
	{ 0 },
};

/* --- capacity --- */

const struct field cost_info_fields[] = {
	{ ROW_TEXT(cost_info, "transcoding", transcoding),
	  .help = "codecs, modes and packet, such as \"pcmu>amr/12.2@20ms\"" },
	{ ROW_INT(cost_info, "streams", streams),
	  .help = "number of such streams now" },
	{ ROW_TIME(cost_info, "mean", mean, "us"),
	  .help = "average CPU time of a packet" },
	{ ROW_TIME(cost_info, "stddev", stddev, "us"),
	  .help = "standard deviation of the CPU time of a packet" },
	{ ROW_TIME(cost_info, "p99", p99, "us"),
	  .help = "CPU time that 99 of 100 packets do not exceed" },
	{ ROW_TEXT(cost_info, "source", source),
	  .help = "the figures' source: \"measured\" (codecs alone, at the "
		  "first request for the transcoding), or \"learned\" (from "
		  "frames of streams); either is CPU time of a thread, which "
		  "no "
		  "other program adds to" },
	{ ROW_TIME(cost_info, "measured", measured, "us"),
	  .help = "average CPU time of a packet as it was measured first" },
	{ ROW_INT(cost_info, "learned_frames", learned_frames),
	  .unit = "frames",
	  .help = "frames of streams that the figures were learned from: one "
		  "in 16, and before there are 5000, the first 256 of each" },
	{ ROW_REAL(cost_info, "streams_per_core", streams_per_core),
	  .help = "largest number of such streams that one CPU can carry" },
	{ 0 },
};

const struct field capacity_fields[] = {
	{ ROW_INT(capacity, "workers", capacity.workers),
	  .help = "number of worker threads" },
	{ ROW_REAL(capacity, "bound", capacity.bound), .unit = "CPUs",
	  .help = "highest load that admission allows" },
	{ ROW_REAL(capacity, "used", capacity.used), .unit = "CPUs",
	  .help = "load of the calls: the declared or the measured load, "
		  "whichever is higher" },
	{ ROW_REAL(capacity, "free", capacity.free), .unit = "CPUs",
	  .help = "load that is still free" },
	{ ROW_INT(capacity, "calls", capacity.calls),
	  .help = "number of calls now" },
	{ ROW_INT(capacity, "max_calls", capacity.max_calls),
	  .help = "largest number of calls that the node accepts" },
	{ ROW_INT(capacity, "descriptors", capacity.descriptors),
	  .help = "largest number of file descriptors that the node may have; "
		  "a call with a port of its own takes one" },
	{ ROW_BOOL(capacity, "admission", capacity.admission),
	  .help = "calls are refused when there is no capacity for them" },
	{ ROW_EACH(capacity, "costs", costs, cost_info),
	  .help = "the costs of packets on this machine, by kind of "
		  "transcoding: first the kinds of present streams, then "
		  "those used last; at most 32" },
	{ 0 },
};

const struct field place_fields[] = {
	{ ROW_TEXT(place, "role", role),
	  .help = "the threads' role: receiver, worker or control (all "
		  "others); streams: with kernel:NAME each stream has a "
		  "thread" },
	{ ROW_INT(place, "threads", threads),
	  .help = "number of these threads; 0 for streams" },
	{ ROW_TEXT(place, "cpus", cpus),
	  .help = "CPUs that they run on, such as \"0,2-7\"" },
	{ ROW_INT(place, "cache", cache),
	  .help = "number of the last-level cache that these CPUs share; -1: "
		  "the threads are not pinned" },
	{ ROW_INT(place, "run_queue", run_queue),
	  .help = "number of the workers' run queue; -1: others have none" },
	{ 0 },
};

const struct field interface_place_fields[] = {
	{ ROW_TEXT(interface_place, "name", name),
	  .help = "name, which call.start takes" },
	{ ROW_TEXT(interface_place, "address", address),
	  .help = "local address, without a port" },
	{ ROW_TEXT(interface_place, "advertised", advertised),
	  .help = "advertised address" },
	{ 0 },
};

const struct field hello_result_fields[] = {
	{ ROW_TEXT(hello_result, "program", program),
	  .help = "name of the program: \"codec-runner\"" },
	{ ROW_TEXT(hello_result, "version", version),
	  .help = "version of the program" },
	{ ROW_INT(hello_result, "protocol", protocol),
	  .help = "version of the protocol: 1" },
	{ ROW_TEXT(hello_result, "session", session),
	  .help = "id of the session, for resume; keep it secret" },
	{ ROW_INT(hello_result, "calls", calls),
	  .help = "number of calls of this session" },
	{ ROW_TEXT(hello_result, "scheduler", scheduler),
	  .help = "the scheduler in use, with its options" },
	{ ROW_TEXT(hello_result, "transport", transport),
	  .help = "transport of the protocol: kernel or user (the two SCTP "
		  "stacks), or unix" },
	{ ROW_TEXT(hello_result, "kernels", kernels),
	  .help = "the codec kernels in use: functions that replace the "
		  "codec libraries' own" },
	{ ROW_TEXT(hello_result, "io", io),
	  .help = "how the node receives and sends: uring (io_uring) or epoll "
		  "(older system calls)" },
	{ ROW_BOOL(hello_result, "draining", draining),
	  .help = "the node accepts no new calls" },
	{ ROW_EACH(hello_result, "codecs", codecs, codec_info),
	  .help = "the codecs" },
	{ ROW_EACH(hello_result, "schedulers", schedulers, scheduler_info),
	  .help = "the schedulers" },
	{ ROW_OBJECT(hello_result, "capacity", capacity, capacity),
	  .help = "the node's capacity" },
	{ ROW_EACH(hello_result, "places", places, place),
	  .help = "the CPUs of the threads" },
	{ ROW_EACH(hello_result, "interfaces", interfaces, interface_place),
	  .help = "addresses for calls with ports of their own" },
	{ 0 },
};

const struct field takeover_fields[] = {
	{ ROW_TEXT(takeover, "node", node), .without = "that of --standby-of",
	  .help = "name of the node whose calls are to be taken over" },
	{ 0 },
};

const struct field takeover_result_fields[] = {
	{ ROW_TEXT(takeover_result, "node", node), .help = "name of the node" },
	{ ROW_INT(takeover_result, "calls", calls),
	  .help = "number of its calls that run here now" },
	{ ROW_INT(takeover_result, "dropped", dropped),
	  .help = "number of those that could not be restored, see the log" },
	{ ROW_BOOL(takeover_result, "alive", alive),
	  .help = "it was still there less than 2 s before" },
	{ 0 },
};

const struct field upgrade_result_fields[] = {
	{ ROW_INT(upgrade_result, "calls", calls),
	  .help = "number of calls that the new process has taken over" },
	{ 0 },
};

const struct field drain_result_fields[] = {
	{ ROW_BOOL(drain_result, "draining", draining),
	  .help = "the node accepts no new calls" },
	{ ROW_INT(drain_result, "calls", calls),
	  .help = "number of calls that still run" },
	{ 0 },
};

const struct field congestion_fields[] = {
	{ ROW_INT(congestion, "lost_per_s", lost_per_s), .unit = "frames",
	  .help = "frames lost for lack of time, per second" },
	{ ROW_OBJECT(congestion, "capacity", capacity, capacity),
	  .help = "the node's capacity" },
	{ 0 },
};

static const struct field_metric records_metric[] = {
	{ .name = "records_total",
	  .type = "counter",
	  .help = "Records of calls by outcome.",
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

const struct field codec_mode_fields[] = {
	{ ROW_TEXT(codec_mode, "name", name), .help = "name of the mode" },
	{ ROW_INT(codec_mode, "bit_rate", bit_rate), .unit = "bit/s",
	  .help = "bit rate of speech" },
	{ ROW_INT(codec_mode, "bytes", bytes), .unit = "bytes",
	  .help = "size of a frame of speech" },
	{ 0 },
};

const struct field codec_info_fields[] = {
	{ ROW_TEXT(codec_info, "name", name),
	  .help = "name of the codec in this protocol" },
	{ ROW_TEXT(codec_info, "rtp_name", rtp_name),
	  .help = "encoding name of the codec in SDP" },
	{ ROW_TEXT(codec_info, "help", help),
	  .help = "description of the codec" },
	{ ROW_INT(codec_info, "rate", rate), .unit = "Hz",
	  .help = "sampling rate" },
	{ ROW_INT(codec_info, "clock", clock), .unit = "Hz",
	  .help = "clock rate of RTP timestamps" },
	{ ROW_TIME(codec_info, "frame", frame, "ms"),
	  .help = "duration of a frame" },
	{ ROW_BOOL(codec_info, "decodes", decodes),
	  .help = "the codec can be a call's input" },
	{ ROW_BOOL(codec_info, "encodes", encodes),
	  .help = "the codec can be a call's output" },
	{ ROW_TEXT(codec_info, "default_mode", default_mode),
	  .help = "mode of a call that names none" },
	{ ROW_EACH(codec_info, "modes", modes, codec_mode),
	  .help = "the codec's modes" },
	{ 0 },
};

const struct field codecs_fields[] = {
	{ ROW_EACH(codecs, "codecs", codecs, codec_info),
	  .help = "the codecs" },
	{ 0 },
};

const struct field option_info_fields[] = {
	{ ROW_TEXT(option_info, "name", name), .help = "its name" },
	{ ROW_TEXT(option_info, "help", help),
	  .help = "description of the option, with its range and default" },
	{ 0 },
};

const struct field scheduler_info_fields[] = {
	{ ROW_TEXT(scheduler_info, "name", name), .help = "its name" },
	{ ROW_TEXT(scheduler_info, "help", help),
	  .help = "description of the scheduler" },
	{ ROW_TEXT(scheduler_info, "admission", admission),
	  .help = "the test by which the scheduler admits calls" },
	{ ROW_BOOL(scheduler_info, "in_use", in_use), .flags = FIELD_OMIT_ZERO,
	  .help = "the scheduler is in use; missing of the others" },
	{ ROW_EACH(scheduler_info, "options", options, option_info),
	  .help = "the scheduler's options" },
	{ 0 },
};

const struct field schedulers_fields[] = {
	{ ROW_TEXT(schedulers, "scheduler", scheduler),
	  .help = "the scheduler in use, with its options" },
	{ ROW_EACH(schedulers, "schedulers", schedulers, scheduler_info),
	  .help = "the schedulers that the node can switch to" },
	{ 0 },
};

const struct field scheduler_result_fields[] = {
	{ ROW_TEXT(scheduler_result, "scheduler", scheduler),
	  .help = "the scheduler now in use, with its options" },
	{ 0 },
};

const struct field scheduler_set_fields[] = {
	{ ROW_TEXT(scheduler_set, "scheduler", scheduler), .required = "",
	  .help = "name of the scheduler, then its options after commas: "
		  "\"NAME,OPTION=VALUE\"; or a file NAME.so in the "
		  "node's --plugin-dir" },
	{ 0 },
};

const struct field scheduler_tune_fields[] = {
	{ ROW_TEXT(scheduler_tune, "options", options), .required = "",
	  .help = "options, separated by commas, such as \"quantum=2ms\"" },
	{ 0 },
};

const struct field trace_begin_fields[] = {
	{ ROW_TEXT(trace_begin, "name", name),
	  .required = "a file in the node's trace folder",
	  .help = "name of a file in the node's --trace-dir, without a "
		  "folder" },
	{ ROW_BOOL(trace_begin, "overwrite", overwrite),
	  .help = "replace the file if it exists; a symbolic link, a "
		  "pipe or a device is refused" },
	{ 0 },
};

const struct field trace_begun_fields[] = {
	{ ROW_TEXT(trace_begun, "path", path),
	  .help = "path of the file on the node" },
	{ 0 },
};

const struct field trace_result_fields[] = {
	{ ROW_INT(trace_result, "records", totals.written),
	  .help = "records in the file" },
	{ ROW_INT(trace_result, "lost", totals.lost),
	  .help = "records lost because a ring was full" },
	{ ROW_INT(trace_result, "unwritten", totals.unwritten),
	  .help = "records that could not be written to the file" },
	{ ROW_INT(trace_result, "bytes", totals.bytes), .unit = "bytes",
	  .help = "length of the file" },
	{ ROW_TEXT(trace_result, "error", error),
	  .help = "the first error in writing; missing if there was none" },
	{ 0 },
};

#define COUNTER(n, h, ...)                                                     \
	.help = (h), .metric = &(const struct field_metric)                    \
	{                                                                      \
		.name = (n), .type = "counter", .help = h ".", __VA_ARGS__     \
	}
/* clang-format off */
#define HISTOGRAM(n, h)                                                        \
	.help = (h), .metric = &(const struct field_metric)                    \
	{                                                                      \
		.name = (n), .type = "histogram", .help = h "."                \
	}
#define GAUGE(n, h)                                                            \
	.help = (h), .metric = &(const struct field_metric)                    \
	{                                                                      \
		.name = (n), .type = "gauge", .help = h "."                    \
	}
/* clang-format on */

const struct field faults_fields[] = {
	{ ROW_INT(faults, "count", count),
	  COUNTER("scheduler_faults_total",
		  "Times that a scheduler broke its contract") },
	{ ROW_TEXT(faults, "last", last),
	  .help = "the scheduler's last fault" },
	{ 0 },
};

#define FOUND(what, ...)                                                       \
	.metric = &(const struct field_metric)                                 \
	{                                                                      \
		.name = "watchdog_total", .labels = "{found=\"" what "\"}",    \
		__VA_ARGS__                                                    \
	}

const struct field watch_info_fields[] = {
	{ ROW_TIME(watch_info, "limit", found.limit, "ms"),
	  .help = "how long a stream or worker may make no progress; 0 if "
		  "there is no watchdog" },
	{ ROW_INT(watch_info, "starved", found.starved),
	  .help = "streams that waited because others kept the workers busy, "
		  "at the last check" },
	{ ROW_INT(watch_info, "stalled", found.stalled),
	  .help = "streams that had not been woken",
	  FOUND("stalled", .type = "counter",
		.help = "Findings of the watchdog: streams that were not "
			"woken, "
			"that the scheduler forgot, whose worker was stuck.") },
	{ ROW_INT(watch_info, "forgotten", found.forgotten),
	  .help = "streams that the scheduler forgot", FOUND("forgotten") },
	{ ROW_INT(watch_info, "hung", found.hung),
	  .help = "streams whose worker was stuck", FOUND("hung") },
	{ ROW_INT(watch_info, "returned", returned),
	  .help = "hung streams whose thread returned later" },
	{ ROW_INT(watch_info, "stuck_now", found.away),
	  GAUGE("stuck_threads",
		"Threads that do not come back from a codec") },
	{ ROW_TEXT(watch_info, "last", last),
	  .help = "the watchdog's last finding" },
	{ 0 },
};

#define OUTCOME(what) .name = "frames_total", .labels = "{outcome=\"" what "\"}"
#define REJECTED(what)                                                         \
	.name = "packets_rejected_total", .labels = "{reason=\"" what "\"}"

/* Metrics of the counters; those without a name are not exported. */
static const struct field_metric total_metrics[STREAM_NCOUNTERS] = {
	[STREAM_COUNTER_done] = { OUTCOME("done"), .type = "counter",
				  .help = "Frames by outcome." },
	[STREAM_COUNTER_overwritten] = { OUTCOME("overwritten") },
	[STREAM_COUNTER_expired] = { OUTCOME("expired") },
	[STREAM_COUNTER_shed] = { OUTCOME("shed") },
	[STREAM_COUNTER_pauses] = { "frames_pause_total", "counter",
				    "Frames shed in pauses: the output's "
				    "numbers "
				    "continue without them.",
				    NULL, 0 },
	[STREAM_COUNTER_given_up] = { "frames_given_up_total", "counter",
				      "Frames shed because the scheduler gave "
				      "them up.",
				      NULL, 0 },
	[STREAM_COUNTER_concealed] = { OUTCOME("concealed") },
	[STREAM_COUNTER_malformed] = { OUTCOME("malformed") },
	[STREAM_COUNTER_cancelled] = { OUTCOME("cancelled") },
	[STREAM_COUNTER_relayed] = { OUTCOME("relayed") },
	[STREAM_COUNTER_late] = { "frames_late_total", "counter",
				  "Frames sent after their deadline.", NULL,
				  0 },
	[STREAM_COUNTER_packets_in] = { "packets_received_total", "counter",
					"Packets accepted.", NULL, 0 },
	[STREAM_COUNTER_packets_out] = { "packets_sent_total", "counter",
					 "Packets sent.", NULL, 0 },
	[STREAM_COUNTER_send_failed] = { "packets_unsent_total", "counter",
					 "Packets the socket refused.", NULL,
					 0 },
	[STREAM_COUNTER_on_hold] = { "packets_on_hold_total", "counter",
				     "Packets not sent, as the party was on "
				     "hold.",
				     NULL, 0 },
	[STREAM_COUNTER_excess] = { "packets_excess_total", "counter",
				    "Packets not sent or frames not "
				    "transcoded, "
				    "as there was more than one each packet "
				    "time.",
				    NULL, 0 },
	[STREAM_COUNTER_octets_in] = { "payload_received_bytes_total",
				       "counter", "Payload accepted.", NULL,
				       0 },
	[STREAM_COUNTER_octets_out] = { "payload_sent_bytes_total", "counter",
					"Payload sent.", NULL, 0 },
	[STREAM_COUNTER_duplicates] = { REJECTED("duplicate"),
					.type = "counter",
					.help = "Packets of calls that were "
						"not "
						"taken, by why." },
	[STREAM_COUNTER_reordered] = { REJECTED("reordered") },
	[STREAM_COUNTER_seq_jumps] = { REJECTED("sequence jump") },
	[STREAM_COUNTER_wrong_source] = { REJECTED("source") },
	[STREAM_COUNTER_wrong_pt] = { REJECTED("payload type") },
	[STREAM_COUNTER_surplus] = { REJECTED("too many") },
	[STREAM_COUNTER_too_big] = { REJECTED("size") },
	[STREAM_COUNTER_late_in] = { REJECTED("too late to be played") },
	[STREAM_COUNTER_overflowed] = { REJECTED("jitter buffer") },
	[STREAM_COUNTER_missing] = { "packets_missing_total", "counter",
				     "Packets that never came, or were "
				     "dropped: "
				     "missing between those transcoded.",
				     NULL, 0 },
	[STREAM_COUNTER_jitter_missed] = { "packets_jitter_missed_total",
					   "counter",
					   "Packets that had not come when a "
					   "jitter buffer "
					   "played one behind them.",
					   NULL, 0 },
	[STREAM_COUNTER_silences] = { "frames_silence_total", "counter",
				      "Frames of silence made while senders "
				      "saved packets.",
				      NULL, 0 },
	[STREAM_COUNTER_events] = { "events_received_total", "counter",
				    "Packets of telephone events received.",
				    NULL, 0 },
	[STREAM_COUNTER_events_out] = { "events_sent_total", "counter",
					"Packets of telephone events sent.",
					NULL, 0 },
	[STREAM_COUNTER_buffered_ns] = { "buffered_seconds_total", "counter",
					 "Time that packets waited in jitter "
					 "buffers.",
					 NULL, 1e-9 },
	[STREAM_COUNTER_codec_ns] = { "codec_seconds_total", "counter",
				      "Time inside the codecs, by the clock.",
				      NULL, 1e-9 },
};

#define TOTAL(n, u, head, h)                                                   \
	{ ROW_INT(totals, #n, n), .unit = (u), .label = (head), .help = (h),   \
	  .metric = &total_metrics[STREAM_COUNTER_##n] },

const struct field totals_fields[] = { STREAM_SUMS(TOTAL){ 0 } };

#define PACKET(n, u, head, h)                                                  \
	{ ROW_INT(rx_info, #n, n), .unit = (u), .help = (h) },

const struct field rx_info_fields[] = {
	PACKET_COUNTERS(PACKET){ ROW_TEXT(rx_info, "io", io),
				 .help = "how the node receives and sends: "
					 "uring or epoll" },
	{ ROW_TIME(rx_info, "cpu", cpu, "ns"),
	  .help = "CPU time of the receivers" },
	{ 0 },
};

/* Metrics of a receiver's counters. */
static const struct field_metric packet_metrics[PACKET_NCOUNTERS] = {
	[PACKET_COUNTER_packets] = { "receiver_packets_total", "counter",
				     "Datagrams that a receiver took.", NULL,
				     0 },
	[PACKET_COUNTER_rtcp] = { "receiver_rtcp_total", "counter",
				  "RTCP packets that a receiver took.", NULL,
				  0 },
	[PACKET_COUNTER_rtcp_refused] = { "receiver_rtcp_refused_total",
					  "counter",
					  "RTCP packets that are malformed.",
					  NULL, 0 },
	[PACKET_COUNTER_rtcp_foreign] = { "receiver_rtcp_foreign_total",
					  "counter",
					  "RTCP packets from a host that is "
					  "not the party's.",
					  NULL, 0 },
	[PACKET_COUNTER_socket_drops] = { "receiver_drops_total", "counter",
					  "Datagrams or trains lost because a "
					  "receiver's shared socket was full.",
					  NULL, 0 },
};

#define RECEIVED(n, u, head, h)                                                \
	{ ROW_INT(receiver_info, #n, n), .unit = (u), .help = (h),             \
	  .metric = &packet_metrics[PACKET_COUNTER_##n] },

const struct field receiver_info_fields[] = {
	{ ROW_INT(receiver_info, "streams", streams),
	  .help = "number of streams that are with the receiver" },
	PACKET_COUNTERS(RECEIVED){ ROW_TEXT(receiver_info, "io", io),
				   .help = "how the receiver receives: uring "
					   "or epoll" },
	{ ROW_TIME(receiver_info, "cpu", cpu, "ns"),
	  COUNTER("receiver_cpu_seconds_total", "CPU time of a receiver") },
	{ 0 },
};

const struct field interface_info_fields[] = {
	{ ROW_TEXT(interface_info, "name", name), .help = "name" },
	{ ROW_TEXT(interface_info, "address", address),
	  .help = "local address, without a port" },
	{ ROW_TEXT(interface_info, "advertised", advertised),
	  .help = "advertised address" },
	{ ROW_INT(interface_info, "ports", ports), .unit = "pairs",
	  .help = "pairs of ports in the range (--rtp-ports); 0 if there is "
		  "no range, and calls have any ports" },
	{ ROW_INT(interface_info, "used", used), .unit = "pairs",
	  GAUGE("rtp_ports_used", "Pairs of ports that calls have") },
	{ ROW_INT(interface_info, "available", available), .unit = "pairs",
	  GAUGE("rtp_ports_available",
		"Pairs of ports of the range that no call has") },
	{ ROW_INT(interface_info, "passed_over", passed_over),
	  COUNTER("rtp_ports_passed_over_total",
		  "Times that another program had a port of the range") },
	{ 0 },
};

const struct field codec_streams_fields[] = {
	{ ROW_TEXT(codec_streams, "codec", name), .help = "name of the codec" },
	{ ROW_INT(codec_streams, "from", from),
	  GAUGE("streams_from", "Streams that are up and receive this codec") },
	{ ROW_INT(codec_streams, "to", to),
	  GAUGE("streams_to", "Streams that are up and send this codec") },
	{ 0 },
};

const struct field worker_info_fields[] = {
	{ ROW_TIME(worker_info, "busy", busy, "ns"), .label = "BUSY",
	  COUNTER("worker_busy_seconds_total",
		  "Time that a worker was at a frame, by the clock") },
	{ ROW_TIME(worker_info, "cpu", cpu, "ns"),
	  COUNTER("worker_cpu_seconds_total", "CPU time of a worker") },
	{ ROW_INT(worker_info, "jobs", jobs), .label = "JOBS",
	  COUNTER("worker_frames_total", "Frames that a worker did") },
	{ ROW_INT(worker_info, "picks", picks),
	  .help = "jobs that the scheduler handed out" },
	{ ROW_INT(worker_info, "drops", drops),
	  .help = "jobs whose frame was gone or too old" },
	{ ROW_INT(worker_info, "wakeups", wakeups), .label = "WAKEUPS",
	  COUNTER("worker_wakeups_total",
		  "Times that a worker had nothing to do, slept, and woke") },
	{ ROW_INT(worker_info, "steals", steals), .label = "STEALS",
	  COUNTER("worker_steals_total",
		  "Frames taken from other run queues") },
	{ 0 },
};

const struct field histogram_fields[] = {
	{ ROW_INT(histogram, "count", count), .unit = "frames",
	  .help = "number of frames" },
	{ ROW_TIME(histogram, "mean", mean, "ns"), .help = "mean" },
	{ ROW_TIME(histogram, "p50", p50, "ns"), .help = "median" },
	{ ROW_TIME(histogram, "p90", p90, "ns"),
	  .help = "90 of 100 frames are below this" },
	{ ROW_TIME(histogram, "p99", p99, "ns"),
	  .help = "99 of 100 frames are below this" },
	{ ROW_TIME(histogram, "p999", p999, "ns"),
	  .help = "999 of 1000 frames are below this" },
	{ ROW_TIME(histogram, "max", max, "ns"), .help = "longest time" },
	{ 0 },
};

const struct field reported_fields[] = {
	{ ROW_INT(reported, "count", count), .unit = "reports",
	  .help = "number of reports" },
	{ ROW_TIME(reported, "mean", mean, "ns"), .help = "mean" },
	{ ROW_TIME(reported, "p50", p50, "ns"), .help = "median" },
	{ ROW_TIME(reported, "p90", p90, "ns"),
	  .help = "90 of 100 reports are below this" },
	{ ROW_TIME(reported, "p99", p99, "ns"),
	  .help = "99 of 100 reports are below this" },
	{ ROW_TIME(reported, "max", max, "ns"), .help = "longest time" },
	{ 0 },
};

const struct field rtcp_stats_fields[] = {
	{ ROW_INT(rtcp_stats, "sent", sent), .unit = "packets",
	  COUNTER("rtcp_sent_total", "RTCP reports sent") },
	{ ROW_INT(rtcp_stats, "reports", reports),
	  COUNTER("rtcp_reports_total",
		  "Reports of far sides on the node's packets") },
	{ ROW_REAL(rtcp_stats, "lost", lost),
	  COUNTER("rtcp_reported_loss_total",
		  "Shares of packets lost, 0 to 1, of these reports, added "
		  "up") },
	{ ROW_OBJECT(rtcp_stats, "round_trip", round_trip, reported),
	  HISTOGRAM("rtcp_round_trip_seconds",
		    "Round trips to far sides, by their reports") },
	{ ROW_OBJECT(rtcp_stats, "jitter", jitter, reported),
	  HISTOGRAM("rtcp_jitter_seconds",
		    "Interarrival jitter at far sides, by their reports") },
	{ 0 },
};

const struct field rpc_error_fields[] = {
	{ ROW_INT(rpc_error, "code", code) },
	{ ROW_INT(rpc_error, "count", count) },
	{ 0 },
};

static const struct field_metric cut_peers[] = {
	{ .name = "control_peers_cut_total",
	  .type = "counter",
	  .help = "Clients of the control protocol that were disconnected.",
	  .labels = "{why=\"not_reading\"}" },
	{ .name = "control_peers_cut_total", .labels = "{why=\"crowded\"}" },
	{ .name = "control_peers_cut_total", .labels = "{why=\"too_many\"}" },
	{ .name = "control_peers_cut_total", .labels = "{why=\"silent\"}" },
};

const struct field rpc_stats_fields[] = {
	{ ROW_TEXT(rpc_stats, "transport", transport),
	  .help = "the SCTP stack in use: kernel or user" },
	{ ROW_INT(rpc_stats, "associations", associations),
	  GAUGE("control_peers", "Clients of the control protocol, now") },
	{ ROW_INT(rpc_stats, "messages_in", messages_in),
	  .help = "messages received" },
	{ ROW_INT(rpc_stats, "messages_out", messages_out),
	  .help = "messages sent" },
	{ ROW_INT(rpc_stats, "requests", requests),
	  .help = "requests received" },
	{ ROW_INT(rpc_stats, "notifications", notifications),
	  .help = "notifications received" },
	{ ROW_INT(rpc_stats, "notifications_dropped", notifications_dropped),
	  COUNTER("control_notifications_dropped_total",
		  "Notifications dropped because the peer did not read") },
	{ ROW_INT(rpc_stats, "replies_lost", replies_lost),
	  .help = "replies lost because the peer had gone, or for want of "
		  "memory" },
	{ ROW_INT(rpc_stats, "slow_peers", slow_peers),
	  .help = "peers disconnected because they did not read, or had too "
		  "many requests without a reply",
	  .metric = &cut_peers[0] },
	{ ROW_INT(rpc_stats, "peers_crowded", peers_crowded),
	  .help = "peers disconnected because all together had too much "
		  "queued, and they had the most",
	  .metric = &cut_peers[1] },
	{ ROW_INT(rpc_stats, "peers_refused", peers_refused),
	  .help = "peers turned away because there were too many",
	  .metric = &cut_peers[2] },
	{ ROW_INT(rpc_stats, "peers_silent", peers_silent),
	  .help = "peers without calls, endpoints and conversions, "
		  "disconnected as the most silent ones of too many",
	  .metric = &cut_peers[3] },
	{ ROW_INT(rpc_stats, "queued", queued), .unit = "bytes",
	  GAUGE("control_queued_bytes",
		"Data that waits for clients that do not read, or for the rest "
		"of a batch; incomplete messages and requests without a "
		"reply, too") },
	{ ROW_MAP(rpc_stats, "errors", errors, nerrors, rpc_error),
	  .help = "number of errors, by code" },
	{ 0 },
};

/* A line of the log by what became of it. */
#define LOG_LINES(what, ...)                                                   \
	.metric = &(const struct field_metric)                                 \
	{                                                                      \
		.name = "log_lines_total", .labels = "{outcome=\"" what "\"}", \
		__VA_ARGS__                                                    \
	}

const struct field log_stats_fields[] = {
	{ ROW_INT(log_stats, "written", written), .unit = "lines",
	  .help = "written",
	  LOG_LINES("written", .type = "counter",
		    .help = "Lines of the log by outcome.") },
	{ ROW_INT(log_stats, "dropped", dropped), .unit = "lines",
	  .help = "dropped because their reader was too slow",
	  LOG_LINES("dropped") },
	{ ROW_INT(log_stats, "failed", failed), .unit = "lines",
	  .help = "that could not be written: a full disk, no reader",
	  LOG_LINES("failed") },
	{ ROW_INT(log_stats, "suppressed", suppressed), .unit = "lines",
	  .help = "not written because there were more than 10 of their kind "
		  "in a second",
	  LOG_LINES("suppressed") },
	{ 0 },
};

static const struct field_metric info_metric = {
	.name = "info",
	.type = "gauge",
	.help = "Version and scheduler in use.",
};

const struct field node_stats_fields[] = {
	{ ROW_TIME(node_stats, "uptime", uptime, "s"),
	  GAUGE("uptime_seconds", "Time since the node started") },
	{ ROW_TEXT(node_stats, "scheduler", scheduler),
	  .help = "the scheduler in use, with its options",
	  .metric = &info_metric },
	{ ROW_INT(node_stats, "calls", calls), .label = "CALLS",
	  GAUGE("calls", "Calls that are up") },
	{ ROW_INT(node_stats, "streams", streams),
	  GAUGE("streams", "Streams of these: a call of two parties has two") },
	{ ROW_INT(node_stats, "relays", relays),
	  GAUGE("relays",
		"Streams of these that are relayed without a codec") },
	{ ROW_INT(node_stats, "calls_started", calls_started),
	  COUNTER("calls_started_total", "Calls that were started") },
	{ ROW_INT(node_stats, "calls_refused", calls_refused),
	  .label = "REFUSED",
	  COUNTER("calls_refused_total", "Calls that were refused") },
	{ ROW_INT(node_stats, "queued", queued), .unit = "tasks",
	  GAUGE("queued_frames",
		"Tasks that wait for a worker, each with a frame or more") },
	{ ROW_REAL(node_stats, "load", load), .unit = "CPUs", .label = "LOAD",
	  GAUGE("load_ratio",
		"Load of the admitted calls, as declared; 1 is one CPU") },
	{ ROW_REAL(node_stats, "measured_load", measured_load), .unit = "CPUs",
	  .label = "MEASURED_LOAD",
	  GAUGE("measured_load_ratio",
		"Load of the admitted calls, as measured; 1 is one CPU") },
	{ ROW_REAL(node_stats, "bound", bound), .unit = "CPUs",
	  .label = "BOUND",
	  GAUGE("load_bound_ratio", "Load that admission takes; 1 is one "
				    "CPU") },
	{ ROW_OBJECT(node_stats, "scheduler_faults", faults, faults),
	  .help = "how the scheduler broke its contract" },
	{ ROW_OBJECT(node_stats, "watchdog", watchdog, watch_info),
	  .help = "the watchdog's findings" },
	{ ROW_OBJECT(node_stats, "totals", totals, totals),
	  .help = "counters of all calls, past and present" },
	{ ROW_INT(node_stats, "lost", lost), .unit = "frames", .label = "LOST",
	  .help = "frames lost for lack of time: overwritten, expired, shed or "
		  "concealed" },
	{ ROW_OBJECT(node_stats, "rx", rx, rx_info),
	  .help = "the sums of the receivers" },
	{ ROW_LIST(node_stats, "receivers", receivers, nreceivers,
		   receiver_info),
	  .help = "the receivers; the SSRC modulo their number is the receiver "
		  "of a call at the shared port, unless the log says "
		  "port-not-shared: then the first has all" },
	{ ROW_LIST(node_stats, "interfaces", interfaces, ninterfaces,
		   interface_info),
	  .help = "addresses for calls with ports of their own, and these "
		  "ports" },
	{ ROW_LIST(node_stats, "codecs", codecs, ncodecs, codec_streams),
	  .help = "streams by the codecs that they receive and "
		  "send" },
	{ ROW_TIME(node_stats, "cpu", cpu, "ns"),
	  COUNTER("cpu_seconds_total", "CPU time of the process") },
	{ ROW_LIST(node_stats, "workers", workers, nworkers, worker_info),
	  .label = "WORKER", .help = "the workers" },
	{ ROW_OBJECT(node_stats, "delay", delay, histogram), .label = "DELAY",
	  HISTOGRAM("frame_delay_seconds",
		    "Time from a frame's arrival to its being sent") },
	{ ROW_OBJECT(node_stats, "jitter", jitter, histogram),
	  HISTOGRAM(
		  "frame_jitter_seconds",
		  "How much the time between two frames of a stream that were "
		  "sent differs from the frame duration") },
	{ ROW_OBJECT(node_stats, "rtcp", rtcp, rtcp_stats),
	  .help = "RTCP of all endpoints" },
	{ 0 },
};

const struct field config_state_fields[] = {
	{ ROW_TEXT(config_state, "file", file), .flags = FIELD_NULL,
	  .help = "the file of options; null if there was none at the start" },
	{ ROW_BOOL(config_state, "accepted", accepted),
	  GAUGE("config_accepted",
		"1: the file that was read last holds, except options that "
		"need a restart; 0: it was wrong, and nothing has changed") },
	{ ROW_INT(config_state, "read", read),
	  COUNTER("config_reads_total",
		  "Times that the options were read again (SIGHUP)") },
	{ ROW_INT(config_state, "refused", refused),
	  COUNTER("config_refused_total",
		  "Times of these that something was wrong with them") },
	{ ROW_INT(config_state, "needs_restart", needs_restart),
	  .unit = "options",
	  GAUGE("config_needs_restart",
		"Options whose new values need a restart") },
	{ ROW_TEXT(config_state, "why", why.text),
	  .help = "the error of the last reading, if any" },
	{ 0 },
};

const struct field replicate_stats_fields[] = {
	{ ROW_BOOL(replicate_stats, "up", up),
	  GAUGE("replica_up",
		"1: the store of calls has answered the last time") },
	{ ROW_INT(replicate_stats, "taken_over", taken_over),
	  GAUGE("replica_taken_over_calls", "Calls that run here although "
					    "another node has taken them over: "
					    "nothing more is copied of them") },
	{ ROW_BOOL(replicate_stats, "silent", silent),
	  GAUGE("replica_other_silent",
		"1: the node that this one is a standby of has not been heard "
		"of for 2 s") },
	{ ROW_INT(replicate_stats, "calls", calls),
	  GAUGE("replica_calls",
		"Calls that the store has, and endpoints that were "
		"opened by themselves") },
	{ ROW_INT(replicate_stats, "batches", batches),
	  COUNTER("replica_batches_total", "Batches that the store has "
					   "taken") },
	{ ROW_INT(replicate_stats, "failures", failures),
	  COUNTER("replica_failures_total",
		  "Times that the store was away, slow, full or answered "
		  "something else") },
	{ ROW_INT(replicate_stats, "calls_restored", calls_restored),
	  COUNTER("replica_calls_restored_total",
		  "Calls of another node that were restored here") },
	{ ROW_INT(replicate_stats, "calls_dropped", calls_dropped),
	  COUNTER("replica_calls_dropped_total",
		  "Calls of another node that could not be restored") },
	{ ROW_TEXT(replicate_stats, "why", why),
	  .help = "why the store is not up, if it is not" },
	{ 0 },
};

const struct field stats_fields[] = {
	{ ROW_INLINE(stats, node, node_stats) },
	{ ROW_BOOL(stats, "draining", draining),
	  GAUGE("draining", "1: the node accepts no new calls, and ends with "
			    "the last one") },
	{ ROW_POINTER(stats, "conversions", conversions, conversions),
	  .help = "conversions of files; null if the node has no spool "
		  "folder" },
	{ ROW_POINTER(stats, "records", records, lines_stats),
	  .help = "records of calls (--records); null if none are written" },
	{ ROW_POINTER(stats, "config", config, config_state),
	  .help = "the state of the file of options" },
	{ ROW_POINTER(stats, "replicate", replicate, replicate_stats),
	  .help = "the copy of calls in a store (--replicate); null if there "
		  "is "
		  "none" },
	{ ROW_OBJECT(stats, "control", control, rpc_stats),
	  .help = "counters of the control protocol" },
	{ ROW_OBJECT(stats, "log", log, log_stats),
	  .help = "lines of the log" },
	{ ROW_OBJECT(stats, "capacity", capacity, capacity),
	  .help = "the node's capacity" },
	{ ROW_EACH(stats, "places", places, place),
	  .help = "the CPUs of the threads" },
	{ 0 },
};
