/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of codec-runner's options as the table writes them, and what they mean
 * to the parts of the daemon.
 *
 * Main thread.
 */
#ifndef APP_RUNNER_VALUES_H
#define APP_RUNNER_VALUES_H

#include "app/runner/options.h"

struct raw {
	const char *rtp, *rtp_ports, *tos, *control, *control_key, *socket,
		*scheduler, *pin, *rx_cpu, *run_queues, *coalesce;
	const char *trace, *trace_dir, *plugin_dir, *log_file, *records, *spool,
		*node_name;
	const char *http, *ng, *ng_allow, *send_to, *max_age, *shed_wait, *user,
		*plan;
	int64_t ng_silence, ng_patience, ng_lines, ng_host_lines;
	int64_t ng_call_lines, ng_host_offers;
	int64_t udp_port, sctp, workers, receivers, ring, expired, shed,
		capacity;
	int64_t watchdog, io, rtcp_interval;
	int64_t trace_records, max_calls, memory_mib, peer_timeout, grace,
		drain_timeout;
	int64_t http_connections, log_format, log_level, seconds, kernels;
	int64_t sandbox, records_interim;
	struct cli_list plugins;
	int64_t max_conversions, conversions, convert_mib, convert_floor;
	struct cli_list interfaces;
	bool http_control, poll, realtime, realtime_workers, send_each,
		admission, overwrite, codecs, schedulers, json;
	const char *config; /* looked up before the others */
	bool check_config, dump_config, example_config, config_page;
};

/** As rows_fill() and rows_load() of these values. */
void raw_fill(const struct raw *raw, struct runner_options *o);
void raw_load(const struct raw *raw, struct runner_options *o);

/** Does --scheduler name one of the kernel's? They give priorities to threads
 * of calls. */
bool values_of_kernel(const char *scheduler);

#endif
