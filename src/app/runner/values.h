/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of codec-runner's options that the table of rows cannot check: words
 * beside numbers, addresses.
 *
 * 0; or -EINVAL with @e: what is wrong. Main thread.
 */
#ifndef APP_RUNNER_VALUES_H
#define APP_RUNNER_VALUES_H

#include "base/cli.h"
#include "cr/time.h"
#include "base/networks.h"
#include "node/node.h"
#include "observe/log.h"
#include "transport/transport.h"

/** --rtp. */
int values_rtp(const char *text, struct node_config *to, struct cr_err *e);

/** --interface, one of them. */
int values_interface(const char *text, struct interface_cfg *to,
		     struct cr_err *e);

/** --rtp-ports; NULL: no range. */
int values_rtp_ports(const char *text, struct port_range *to, struct cr_err *e);

/** --tos; NULL: 0. */
int values_tos(const char *text, unsigned *to, struct cr_err *e);

/** --control, but for the UDP port; off: no host. */
int values_control(const char *text, struct transport_addr *to,
		   struct cr_err *e);

/** --control-socket; NULL: none. */
int values_control_socket(const char *text, struct transport_addr *to,
			  struct cr_err *e);

/** --http; NULL is fine. */
int values_http(const char *text, struct cr_err *e);

/** --run-queues, as placement_request has it. */
int values_run_queues(const char *text, int *to, struct cr_err *e);

/** --rx-coalesce, as rx_config has it. */
int values_coalesce(const char *text, cr_ns *to, struct cr_err *e);

/** Does --scheduler name one of the kernel's? They give priorities to threads
 * of calls. */
bool values_of_kernel(const char *scheduler);

/** --realtime-workers, beside --scheduler. */
int values_realtime_workers(bool wanted, const char *scheduler,
			    struct cr_err *e);

/** --watchdog: 0, or no less than what its looks can tell apart. */
int values_watchdog(int64_t limit, cr_ns *to, struct cr_err *e);

/** --max-age, as core_config has it. */
int values_max_age(const char *text, cr_ns *to, struct cr_err *e);

/** --shed-wait, as shed_rule.wait has it. */
int values_shed_wait(const char *text, cr_ns *to, struct cr_err *e);

/** --records-interim: 0, or no more often than they are looked for. */
int values_records_interim(int64_t each, cr_ns *to, struct cr_err *e);

/** --node-name; NULL: the host's, which stays. */
int values_node_name(const char *text, const char **to, struct cr_err *e);

/** --log-format, beside --log-file; NULL: none. */
int values_log(const char *file, enum log_format format, struct cr_err *e);

#endif
