/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the protocol says of the node as a whole, of its schedulers and traces.
 */
#ifndef PROTOCOL_TABLES_NODE_FIELDS_H
#define PROTOCOL_TABLES_NODE_FIELDS_H

#include "cr/codec.h"
#include "convert/converter.h"
#include "node/info.h"
#include "node/replicate.h"
#include "observe/line_file.h"
#include "observe/log.h"
#include "observe/trace_writer.h"
#include "base/field.h"
#include "protocol/service.h"
#include "rpc/server.h"

/* --- parameters --- */

/** Nothing; structs cannot be empty. */
struct nothing {
	bool none;
};

struct hello_request {
	const char *client, *key, *resume;
};

struct drain_request {
	cr_ns limit; /**< -1: the node's own */
};

struct upgrade_request {
	const char *program; /**< NULL: that which runs */
};

FIELD_TABLE_DECLARE(nothing, struct nothing);
FIELD_TABLE_DECLARE(upgrade, struct upgrade_request);
FIELD_TABLE_DECLARE(hello, struct hello_request);
FIELD_TABLE_DECLARE(drain, struct drain_request);

/* --- results --- */

struct codec_info {
	const char *name, *rtp_name, *help;
	unsigned rate, clock;
	cr_ns frame;
	bool decodes, encodes;
	const char *default_mode;
	struct field_each modes; /**< struct cr_codec_mode */
};

struct codecs_result {
	struct field_each codecs; /**< struct codec_info */
};

struct option_info {
	const char *name;
	char help[256];
};

struct scheduler_info {
	const char *name, *help, *admission;
	bool in_use;
	struct field_each options; /**< struct option_info */
};

struct schedulers_result {
	char scheduler[NODE_SPEC_MAX];
	struct field_each schedulers; /**< struct scheduler_info */
};

struct scheduler_result {
	char scheduler[NODE_SPEC_MAX];
};

struct capacity_result {
	struct node_capacity capacity;
	struct field_each costs; /**< struct node_cost_info */
};

struct hello_result {
	const char *program, *version;
	unsigned protocol;
	const char *session;
	unsigned calls;
	char scheduler[NODE_SPEC_MAX];
	const char *transport, *kernels, *io;
	bool draining;
	struct field_each codecs, schedulers;
	struct capacity_result capacity;
	struct field_each places;     /**< struct node_place_info */
	struct field_each interfaces; /**< struct node_interface_info */
};

struct stats_result {
	struct node_stats node;
	bool draining;
	const struct converter_counts *conversions; /**< NULL: no spool */
	const struct lines_stats *records;	 /**< NULL: none are written */
	const struct config_state *config;	 /**< NULL: not known */
	const struct replicate_stats *replicate; /**< NULL: no store */
	struct rpc_stats control;
	struct log_stats log;
	struct capacity_result capacity;
	struct field_each places; /**< struct node_place_info */
};

struct takeover_request {
	const char *node; /**< NULL: that of --standby-of */
};

struct takeover_result {
	const char *node;
	unsigned calls, dropped;
	bool alive;
};

FIELD_TABLE_DECLARE(takeover, struct takeover_request);
FIELD_TABLE_DECLARE(takeover_result, struct takeover_result);

struct drain_result {
	bool draining;
	unsigned calls;
};

struct upgrade_result {
	unsigned calls; /**< streams that moved */
};

/** The notification congestion. */
struct congestion {
	unsigned long long lost_per_s;
	struct capacity_result capacity;
};

FIELD_TABLE_DECLARE(codec_mode, struct cr_codec_mode);
FIELD_TABLE_DECLARE(codec_info, struct codec_info);
FIELD_TABLE_DECLARE(codecs, struct codecs_result);
FIELD_TABLE_DECLARE(option_info, struct option_info);
FIELD_TABLE_DECLARE(scheduler_info, struct scheduler_info);
FIELD_TABLE_DECLARE(schedulers, struct schedulers_result);
FIELD_TABLE_DECLARE(scheduler_result, struct scheduler_result);
FIELD_TABLE_DECLARE(cost_info, struct node_cost_info);
FIELD_TABLE_DECLARE(capacity, struct capacity_result);
FIELD_TABLE_DECLARE(place, struct node_place_info);
FIELD_TABLE_DECLARE(interface_place, struct node_interface_info);
FIELD_TABLE_DECLARE(hello_result, struct hello_result);
FIELD_TABLE_DECLARE(faults, struct node_faults);
FIELD_TABLE_DECLARE(watch_info, struct node_watch_info);
FIELD_TABLE_DECLARE(totals, struct node_stream_counts);
FIELD_TABLE_DECLARE(rx_info, struct node_receiver_info);
FIELD_TABLE_DECLARE(receiver_info, struct node_receiver_info);
FIELD_TABLE_DECLARE(interface_info, struct node_interface_info);
FIELD_TABLE_DECLARE(codec_streams, struct node_codec_streams);
FIELD_TABLE_DECLARE(worker_info, struct live_worker_stats);
FIELD_TABLE_DECLARE(reported, struct histogram_summary);
FIELD_TABLE_DECLARE(rtcp_stats, struct node_rtcp_stats);
FIELD_TABLE_DECLARE(histogram, struct histogram_summary);
FIELD_TABLE_DECLARE(conversions, struct converter_counts);
FIELD_TABLE_DECLARE(rpc_error, struct rpc_error_count);
FIELD_TABLE_DECLARE(rpc_stats, struct rpc_stats);
FIELD_TABLE_DECLARE(log_stats, struct log_stats);
FIELD_TABLE_DECLARE(lines_stats, struct lines_stats);
FIELD_TABLE_DECLARE(replicate_stats, struct replicate_stats);
FIELD_TABLE_DECLARE(config_state, struct config_state);
FIELD_TABLE_DECLARE(node_stats, struct node_stats);
FIELD_TABLE_DECLARE(stats, struct stats_result);
FIELD_TABLE_DECLARE(upgrade_result, struct upgrade_result);
FIELD_TABLE_DECLARE(drain_result, struct drain_result);
FIELD_TABLE_DECLARE(congestion, struct congestion);

struct scheduler_set_request {
	const char *scheduler;
};

struct scheduler_tune_request {
	const char *options;
};

FIELD_TABLE_DECLARE(scheduler_set, struct scheduler_set_request);
FIELD_TABLE_DECLARE(scheduler_tune, struct scheduler_tune_request);

struct trace_start_request {
	const char *name;
	bool overwrite;
};

struct trace_start_result {
	const char *path;
};

struct trace_stop_result {
	struct trace_totals totals;
	const char *error; /**< NULL: none */
};

FIELD_TABLE_DECLARE(trace_begin, struct trace_start_request);
FIELD_TABLE_DECLARE(trace_begun, struct trace_start_result);
FIELD_TABLE_DECLARE(trace_result, struct trace_stop_result);

#endif
