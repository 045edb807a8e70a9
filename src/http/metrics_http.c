/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the HTTP server itself: its connections.
 */
#include "http/metrics.h"

#include <inttypes.h>

#define NAME "codec_runner_http_%s"

static void alone(struct evbuffer *out, const char *name, const char *type,
		  const char *help, uint64_t value)
{
	(void)evbuffer_add_printf(out,
				  "# HELP " NAME " %s\n"
				  "# TYPE " NAME " %s\n" NAME " %" PRIu64 "\n",
				  name, help, name, type, name, value);
}

void metrics_write_http(struct evbuffer *out, const struct gate_stats *s)
{
	alone(out, "connections", "gauge", "Connections of HTTP, now.",
	      s->open);
	alone(out, "accepted_total", "counter",
	      "Connections of HTTP that were accepted.", s->came);
	alone(out, "full_total", "counter",
	      "Times that there were as many connections as there may be.",
	      s->full);
	alone(out, "cut_total", "counter",
	      "Connections that were ended as others waited for a place.",
	      s->cut);
	alone(out, "paused_total", "counter",
	      "Times that there was no descriptor to accept with.", s->paused);
}
