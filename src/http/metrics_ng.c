/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the NG service: what came, what became of it, how calls ended.
 */
#include "http/metrics.h"

#include "http/metrics_text.h"

static void write_calls(struct evbuffer *out, const struct ng_service_stats *s)
{
	const struct ng_counts *c = &s->count;
	static const char ended[] = "ng_dialogs_ended_total";

	metrics_alone(out, "ng_calls", "gauge", "Calls by NG.", s->calls);
	metrics_alone(out, "ng_lines", "gauge",
		      "Media lines that they may have.", s->lines);
	metrics_alone(out, "ng_dialogs_total", "counter",
		      "Dialogs that were begun.", c->dialogs);
	metrics_head(out, ended, "counter",
		     "Dialogs by why they ended; calls that were silent or not "
		     "answered.");
	metrics_labelled(out, ended, "why", "deleted", c->deleted);
	metrics_labelled(out, ended, "why", "silent", c->silent);
	metrics_labelled(out, ended, "why", "unanswered", c->unanswered);
}

static void write_requests(struct evbuffer *out, const struct ng_counts *c)
{
	static const char asked[] = "ng_requests_total",
			  no[] = "ng_refused_total";

	metrics_head(out, asked, "counter",
		     "Requests that were read, by command.");
	for (unsigned i = 0; i < NG_COMMANDS; i++)
		metrics_labelled(out, asked, "command", ng_command_names[i],
				 c->asked[i]);
	metrics_head(out, no, "counter", "Requests that were refused.");
	metrics_labelled(out, no, "why", "error", c->errors);
	metrics_labelled(out, no, "why", "load_limit", c->load_limits);
}

static void write_messages(struct evbuffer *out,
			   const struct ng_listener_stats *l)
{
	static const char came[] = "ng_messages_total",
			  went[] = "ng_answers_total";

	metrics_alone(out, "ng_denied_total", "counter",
		      "Datagrams and connections of hosts that may not ask.",
		      l->denied);
	metrics_head(out, came, "counter",
		     "Messages that came, by what they were.");
	metrics_labelled(out, came, "outcome", "limited", l->limited);
	metrics_labelled(out, came, "outcome", "malformed", l->malformed);
	metrics_labelled(out, came, "outcome", "repeated", l->repeated);
	metrics_labelled(out, came, "outcome", "ignored", l->ignored);
	metrics_labelled(out, came, "outcome", "overloaded", l->overloaded);
	metrics_labelled(out, came, "outcome", "asked", l->asked);
	metrics_head(out, went, "counter", "Answers to what was asked.");
	metrics_labelled(out, went, "outcome", "sent", l->answered);
	metrics_labelled(out, went, "outcome", "unsent", l->unsent);
	metrics_labelled(out, went, "outcome", "unwanted", l->unwanted);
	metrics_alone(out, "ng_dropped_total", "counter",
		      "Datagrams that the kernel has dropped.", l->dropped);
	metrics_alone(out, "ng_waiting", "gauge",
		      "Requests that wait for answers.", l->waiting);
}

static void write_connections(struct evbuffer *out,
			      const struct ng_listener_stats *l)
{
	static const char all[] = "ng_connections_total";

	metrics_alone(out, "ng_open_connections", "gauge",
		      "Connections by TCP.", l->connections);
	metrics_head(out, all, "counter",
		     "Connections by what became of them.");
	metrics_labelled(out, all, "outcome", "accepted", l->accepted);
	metrics_labelled(out, all, "outcome", "refused", l->refused);
	metrics_labelled(out, all, "outcome", "cut", l->cut);
}

void metrics_write_ng(struct evbuffer *out, const struct ng_service *sv)
{
	struct ng_service_stats s;

	ng_service_stats(sv, &s);
	write_calls(out, &s);
	write_requests(out, &s.count);
	write_messages(out, &s.listener);
	write_connections(out, &s.listener);
}
