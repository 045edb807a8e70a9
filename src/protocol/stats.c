/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters from where they are counted.
 */
#include "protocol/stats.h"

#include "observe/line_file.h"
#include "observe/log.h"
#include "protocol/results.h"
#include "protocol/service_impl.h"

void stats_collect(struct service *sv, struct stats_reported *to)
{
	struct stats_result *tell = &to->tell;

	*tell = (struct stats_result){ .draining = sv->draining,
				       .config = sv->cfg.config };
	node_stats(sv->node, &tell->node);
	if (node_conversions(sv->node, &to->conversions))
		tell->conversions = &to->conversions;
	if (sv->cfg.records) {
		lines_stats(sv->cfg.records, &to->records);
		tell->records = &to->records;
	}
	rpc_server_stats(sv->server, &tell->control);
	log_stats(&tell->log);
	result_capacity(sv->node, &tell->capacity);
	tell->places = result_places(sv->node);
}
