/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics of the NG service: what came, what became of it, how calls ended.
 */
#include "http/metrics.h"

#define NAME "codec_runner_ng_%s"

static void head(struct evbuffer *out, const char *name, const char *type,
		 const char *help)
{
	(void)evbuffer_add_printf(out,
				  "# HELP " NAME " %s\n"
				  "# TYPE " NAME " %s\n",
				  name, help, name, type);
}

static void alone(struct evbuffer *out, const char *name, const char *type,
		  const char *help, unsigned long long value)
{
	head(out, name, type, help);
	(void)evbuffer_add_printf(out, NAME " %llu\n", name, value);
}

static void labelled(struct evbuffer *out, const char *name, const char *label,
		     const char *is, unsigned long long value)
{
	(void)evbuffer_add_printf(out, NAME "{%s=\"%s\"} %llu\n", name, label,
				  is, value);
}

static void write_calls(struct evbuffer *out, const struct ng_service_stats *s)
{
	const struct ng_counts *c = &s->count;
	static const char ended[] = "dialogs_ended_total";

	alone(out, "calls", "gauge", "Calls by NG.", s->calls);
	alone(out, "lines", "gauge", "Media lines that they may have.",
	      s->lines);
	alone(out, "dialogs_total", "counter", "Dialogs that were begun.",
	      c->dialogs);
	head(out, ended, "counter",
	     "Dialogs by why they ended; calls that were silent or not "
	     "answered.");
	labelled(out, ended, "why", "deleted", c->deleted);
	labelled(out, ended, "why", "silent", c->silent);
	labelled(out, ended, "why", "unanswered", c->unanswered);
}

static void write_requests(struct evbuffer *out, const struct ng_counts *c)
{
	static const char asked[] = "requests_total", no[] = "refused_total";

	head(out, asked, "counter", "Requests that were read, by command.");
	for (unsigned i = 0; i < NG_COMMANDS; i++)
		labelled(out, asked, "command", ng_command_names[i],
			 c->asked[i]);
	head(out, no, "counter", "Requests that were refused.");
	labelled(out, no, "why", "error", c->errors);
	labelled(out, no, "why", "load_limit", c->load_limits);
}

static void write_messages(struct evbuffer *out,
			   const struct ng_listener_stats *l)
{
	static const char came[] = "messages_total", went[] = "answers_total";

	alone(out, "denied_total", "counter",
	      "Datagrams and connections of hosts that may not ask.",
	      l->denied);
	head(out, came, "counter", "Messages that came, by what they were.");
	labelled(out, came, "outcome", "limited", l->limited);
	labelled(out, came, "outcome", "malformed", l->malformed);
	labelled(out, came, "outcome", "repeated", l->repeated);
	labelled(out, came, "outcome", "ignored", l->ignored);
	labelled(out, came, "outcome", "overloaded", l->overloaded);
	labelled(out, came, "outcome", "asked", l->asked);
	head(out, went, "counter", "Answers to what was asked.");
	labelled(out, went, "outcome", "sent", l->answered);
	labelled(out, went, "outcome", "unsent", l->unsent);
	labelled(out, went, "outcome", "unwanted", l->unwanted);
	alone(out, "dropped_total", "counter",
	      "Datagrams that the kernel has dropped.", l->dropped);
	alone(out, "waiting", "gauge", "Requests that wait for answers.",
	      l->waiting);
}

static void write_connections(struct evbuffer *out,
			      const struct ng_listener_stats *l)
{
	static const char all[] = "connections_total";

	alone(out, "open_connections", "gauge", "Connections by TCP.",
	      l->connections);
	head(out, all, "counter", "Connections by what became of them.");
	labelled(out, all, "outcome", "accepted", l->accepted);
	labelled(out, all, "outcome", "refused", l->refused);
	labelled(out, all, "outcome", "cut", l->cut);
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
