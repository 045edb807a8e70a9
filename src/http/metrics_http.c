/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the HTTP server itself: its connections.
 */
#include "http/metrics.h"

#include "http/metrics_text.h"

void metrics_write_http(struct evbuffer *out, const struct gate_stats *s)
{
	metrics_alone(out, "http_connections", "gauge",
		      "Connections of HTTP, now.", s->open);
	metrics_alone(out, "http_accepted_total", "counter",
		      "Connections of HTTP that were accepted.", s->came);
	metrics_alone(
		out, "http_full_total", "counter",
		"Times that there were as many connections as there may be.",
		s->full);
	metrics_alone(
		out, "http_cut_total", "counter",
		"Connections that were ended as others waited for a place.",
		s->cut);
	metrics_alone(out, "http_paused_total", "counter",
		      "Times that there was no descriptor to accept with.",
		      s->paused);
}
