/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that the service counts: for the method stats, and for metrics.
 */
#ifndef PROTOCOL_STATS_H
#define PROTOCOL_STATS_H

#include "protocol/service.h"
#include "protocol/tables/node.h"

/** What stats_fields tells, and what it points to. */
struct stats_reported {
	struct stats_result tell;
	struct node_conversions conversions;
	struct lines_stats records;
};

/** The event base's thread. */
void stats_collect(struct service *sv, struct stats_reported *to);

#endif
