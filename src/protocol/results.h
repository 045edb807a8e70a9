/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of methods and notifications, gathered from the node into the
 * structs of protocol/tables/: calls, what is built in, and everything that the
 * service counts. Lists are made while they are written: write at once.
 *
 * Thread rule: the event base's thread.
 */
#ifndef PROTOCOL_RESULTS_H
#define PROTOCOL_RESULTS_H

#include <jansson.h>

#include "engine/scheduler.h"
#include "node/node.h"
#include "protocol/service.h"
#include "protocol/tables/call_fields.h"
#include "protocol/tables/convert_fields.h"
#include "protocol/tables/node_fields.h"

/** The capacity of @n; refers to it. */
void result_capacity(struct node *n, struct capacity_result *out);

/** The uses of the CPUs (struct node_place_info); refers to @n. */
struct field_each result_places(struct node *n);
/** The node's struct node_interface_info. */
struct field_each result_interfaces(struct node *n);

json_t *result_conversion_json(const struct conversion *cv);

/** All codecs (struct codec_info). */
extern const struct field_each describe_codecs;

/** The schedulers that a daemon can be switched to, without the kernel's
 * (struct scheduler_info). @in_use: the one in use with its options; borrowed.
 */
struct field_each describe_schedulers(const char *in_use);

/** Name, help, options, and the test that tasks are admitted by, as it says in
 * a verdict: the guard's where @s has none. */
void describe_scheduler(const struct scheduler *s, struct scheduler_info *out);

/** The result of stats_fields, and the structs that it points to. */
struct stats_reported {
	struct stats_result result;
	struct converter_counts conversions;
	struct lines_stats records;
	struct replicate_stats replicate;
};

/** The event base's thread. */
void stats_collect(struct service *sv, struct stats_reported *to);

#endif
