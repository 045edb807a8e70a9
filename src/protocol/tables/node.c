/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the node as a whole, and what it tells.
 */
#include "protocol/tables/node.h"

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
	{ ROW_INT(cost_info, "calls", calls),
	  .help = "number of such calls now" },
	{ ROW_TIME(cost_info, "mean", mean, "us"),
	  .help = "average CPU time of a packet" },
	{ ROW_TIME(cost_info, "stddev", stddev, "us"),
	  .help = "standard deviation of the CPU time of a packet" },
	{ ROW_TIME(cost_info, "p99", p99, "us"),
	  .help = "CPU time that 99 of 100 packets do not exceed" },
	{ ROW_TEXT(cost_info, "source", source),
	  .help = "where these figures are from: \"measured\" (codecs alone, "
		  "when the transcoding was asked for first), or \"learned\" "
		  "(from frames of calls); either is CPU time of a thread, "
		  "which no other program adds to" },
	{ ROW_TIME(cost_info, "measured", measured, "us"),
	  .help = "average CPU time of a packet as it was measured first" },
	{ ROW_INT(cost_info, "learned_frames", learned_frames),
	  .unit = "frames",
	  .help = "frames of calls that the figures were learned from: one "
		  "in 16, and before there are 5000, the first 256 of each "
		  "call" },
	{ ROW_REAL(cost_info, "calls_per_core", calls_per_core),
	  .help = "largest number of such calls that one CPU can carry" },
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
	  .help = "what packets cost on this machine, by kind of "
		  "transcoding: first the kinds that calls have now, "
		  "then those used last; at most 32" },
	{ 0 },
};

const struct field place_fields[] = {
	{ ROW_TEXT(place, "role", role),
	  .help = "what the threads are: receiver, worker or control (all "
		  "others); calls: with kernel:NAME each call has a thread" },
	{ ROW_INT(place, "threads", threads),
	  .help = "number of these threads; 0 for calls" },
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
	  .help = "address that peers are told" },
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
	  .help = "what carries the protocol: kernel or user (the two SCTP "
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
	  .help = "which CPUs do what" },
	{ ROW_EACH(hello_result, "interfaces", interfaces, interface_place),
	  .help = "addresses for calls with ports of their own" },
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
