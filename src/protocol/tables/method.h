/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All methods and notifications of the protocol, with tables of what goes in
 * and what comes out. What they do is elsewhere: whoever shows them does not
 * need that.
 */
#ifndef PROTOCOL_TABLES_METHOD_H
#define PROTOCOL_TABLES_METHOD_H

#include "base/field.h"

/** Every method but "bye", which the JSON-RPC server answers: id, name, does it
 * change something (CHANGES, READS), tables of parameters and result, help. */
#define METHODS(X)                                                             \
	X(hello, "hello", READS, hello, hello_result,                          \
	  "introduce the client; returns the session's id, and the node's "    \
	  "version, codecs, schedulers and capacity")                          \
	X(call_start, "call.start", CHANGES, call_start, call_started,         \
	  "start a call: of one stream, with in and out; or of two, between "  \
	  "two parties, with a and b. Returns the addresses to send packets "  \
	  "to")                                                                \
	X(call_stop, "call.stop", CHANGES, call_reference, call_info,          \
	  "end a call; returns the counters of its streams")                   \
	X(call_change, "call.change", CHANGES, call_change, call_info,         \
	  "change a running call: the terms of one stream, which is then "     \
	  "admitted again, null sets the default; or a party's address, "      \
	  "codecs, hold and so on. Other members stay unchanged")              \
	X(call_export, "call.export", READS, call_reference, call_state,       \
	  "return what another node needs to go on with a call, for "          \
	  "call.take")                                                         \
	X(call_take, "call.take", CHANGES, call_state, call_info,              \
	  "go on with a call of another node, at ports and with ids of this "  \
	  "one; returns the addresses to send packets to. Until call.keep it " \
	  "belongs to the session that has asked. A call that is here "        \
	  "already "                                                           \
	  "is returned; one that nobody has kept begins anew")                 \
	X(call_keep, "call.keep", CHANGES, call_reference, call_info,          \
	  "let a call belong to no session: it goes on when its client ends")  \
	X(call_moved, "call.moved", CHANGES, call_reference, call_info,        \
	  "end a call that another node has taken, reason moved; returns the " \
	  "counters of its streams")                                           \
	X(call_query, "call.query", READS, call_reference, call_info,          \
	  "return a call, its streams with their parameters and counters, "    \
	  "and its parties")                                                   \
	X(call_list, "call.list", READS, page, call_list,                      \
	  "list the calls, page by page")                                      \
	X(stream_change, "stream.change", CHANGES, stream_change, stream_info, \
	  "change the terms of one stream, as call.change does of a call "     \
	  "that has one")                                                      \
	X(stream_query, "stream.query", READS, stream_reference, stream_info,  \
	  "return one stream's parameters and counters")                       \
	X(stream_list, "stream.list", READS, page, stream_list,                \
	  "list the streams, page by page")                                    \
	X(stream_top, "stream.top", READS, stream_top, stream_top_result,      \
	  "return the streams that lose, cost or wait most, with their "       \
	  "latest figures")                                                    \
	X(endpoint_open, "endpoint.open", CHANGES, endpoint_open,              \
	  endpoint_info,                                                       \
	  "open an endpoint towards a party before it talks; returns the "     \
	  "address to send to. From then on the party is learned and its "     \
	  "packets are counted")                                               \
	X(endpoint_change, "endpoint.change", CHANGES, endpoint_change,        \
	  endpoint_info,                                                       \
	  "change the party of an endpoint, also of a call's; other "          \
	  "members stay unchanged")                                            \
	X(endpoint_query, "endpoint.query", READS, endpoint_reference,         \
	  endpoint_info, "return the known facts about an endpoint's party")   \
	X(endpoint_list, "endpoint.list", READS, page, endpoint_list,          \
	  "list the endpoints, those of calls, too, page by page")             \
	X(endpoint_close, "endpoint.close", CHANGES, endpoint_reference,       \
	  endpoint_info,                                                       \
	  "close an endpoint that no call has; returns its counters")          \
	X(convert_start, "convert.start", CHANGES, convert_start,              \
	  conversion_info, "convert a file in the spool folder")               \
	X(convert_query, "convert.query", READS, conversion_reference,         \
	  conversion_info, "return one conversion's state and progress")       \
	X(convert_cancel, "convert.cancel", CHANGES, conversion_reference,     \
	  conversion_info, "cancel a conversion; its output is removed")       \
	X(convert_list, "convert.list", READS, page, convert_list,             \
	  "list the conversions, page by page")                                \
	X(stats, "stats", READS, nothing, stats,                               \
	  "return the node's counters and state")                              \
	X(codecs, "codecs", READS, nothing, codecs,                            \
	  "list the codecs and their modes")                                   \
	X(schedulers, "schedulers", READS, nothing, schedulers,                \
	  "list the schedulers and their options")                             \
	X(scheduler_set, "scheduler.set", CHANGES, scheduler_set,              \
	  scheduler_result, "switch to another scheduler while calls run")     \
	X(scheduler_tune, "scheduler.tune", CHANGES, scheduler_tune,           \
	  scheduler_result, "change options of the scheduler in use")          \
	X(trace_start, "trace.start", CHANGES, trace_begin, trace_begun,       \
	  "begin to write a trace file")                                       \
	X(trace_stop, "trace.stop", CHANGES, nothing, trace_result,            \
	  "stop the trace; the reply comes when the disk has its file")        \
	X(takeover, "takeover", CHANGES, takeover, takeover_result,            \
	  "go on with all calls of the node that this one is a standby of, "   \
	  "at the same ports and with the same ids. The reply comes when "     \
	  "they "                                                              \
	  "run")                                                               \
	X(upgrade, "upgrade", CHANGES, upgrade, upgrade_result,                \
	  "have a new process of the program take over all calls and "         \
	  "addresses while they go on. By the Unix socket only, of the same "  \
	  "user or root; the node runs under codec-runner --supervise")        \
	X(drain, "drain", CHANGES, drain, drain_result,                        \
	  "accept no new calls, and exit when the last one has ended; calls "  \
	  "that last longer than the limit are ended")                         \
	X(drain_cancel, "drain.cancel", CHANGES, nothing, drain_result,        \
	  "take a drain back: accept new calls again. Impossible after a "     \
	  "signal to end")

struct method {
	const char *name, *help;
	const struct field *params, *result;
};

/** All, "bye" too; ends with name NULL. */
extern const struct method methods[];

/** Notifications, which have params only. Ends with name NULL. */
extern const struct method notifications[];

/** An object that several results contain. */
struct object {
	const char *name, *help;
	const struct field *members;
};

/** Ends with name NULL. */
extern const struct object objects[];

/** The object whose members are @table, or NULL. */
const struct object *object_of(const struct field *table);

/** The method called @name, or NULL. */
const struct method *method_find(const char *name);

#endif
