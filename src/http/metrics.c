/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics out of the tables of stats (those rows that have one), of the HTTP
 * server itself (its connections), and of the NG service (what came, what
 * became of it, how calls ended), in the text format of Prometheus (0.0.4). One
 * thread at a time for each @out, to which they append.
 */
#include "http/metrics.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "protocol/results.h"

/** How all of ours are named, for printf(). */
#define METRICS_NAME "codec_runner_%s"

/* What @name is, before its series. @type: "counter", "gauge", "histogram". */
static void metrics_head(FILE *out, const char *name, const char *type,
			 const char *help)
{
	(void)fprintf(out,
		      "# HELP " METRICS_NAME " %s\n"
		      "# TYPE " METRICS_NAME " %s\n",
		      name, help, name, type);
}

/* A metric of one series, with its head. */
static void metrics_alone(FILE *out, const char *name, const char *type,
			  const char *help, uint64_t value)
{
	metrics_head(out, name, type, help);
	(void)fprintf(out, METRICS_NAME " %" PRIu64 "\n", name, value);
}

/* A metric of one series of the process, with its head: process_@name. */
static void metrics_process(FILE *out, const char *name, const char *type,
			    const char *help, double value)
{
	(void)fprintf(out,
		      "# HELP process_%s %s\n"
		      "# TYPE process_%s %s\n"
		      "process_%s %.15g\n",
		      name, help, name, type, name, value);
}

/* A series of @name, whose @label @is this. */
static void metrics_labelled(FILE *out, const char *name, const char *label,
			     const char *is, uint64_t value)
{
	(void)fprintf(out, METRICS_NAME "{%s=\"%s\"} %" PRIu64 "\n", name,
		      label, is, value);
}

void metrics_write_http(FILE *out, const struct http_stats *s)
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

static void write_calls(FILE *out, const struct ng_service_stats *s)
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

static void write_requests(FILE *out, const struct ng_counts *c)
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

static void write_messages(FILE *out, const struct ng_listener_stats *l)
{
	static const char came[] = "ng_messages_total",
			  went[] = "ng_answers_total";

	metrics_alone(out, "ng_denied_total", "counter",
		      "Datagrams and connections of hosts that may not ask.",
		      l->denied);
	metrics_head(out, came, "counter", "Messages received, by kind.");
	metrics_labelled(out, came, "outcome", "limited", l->limited);
	metrics_labelled(out, came, "outcome", "malformed", l->malformed);
	metrics_labelled(out, came, "outcome", "repeated", l->repeated);
	metrics_labelled(out, came, "outcome", "ignored", l->ignored);
	metrics_labelled(out, came, "outcome", "overloaded", l->overloaded);
	metrics_labelled(out, came, "outcome", "asked", l->asked);
	metrics_head(out, went, "counter", "Answers, by outcome.");
	metrics_labelled(out, went, "outcome", "sent", l->answered);
	metrics_labelled(out, went, "outcome", "unsent", l->unsent);
	metrics_labelled(out, went, "outcome", "unwanted", l->unwanted);
	metrics_alone(out, "ng_dropped_total", "counter",
		      "Datagrams that the kernel has dropped.", l->dropped);
	metrics_alone(out, "ng_waiting", "gauge",
		      "Requests that wait for answers.", l->waiting);
}

static void write_connections(FILE *out, const struct ng_listener_stats *l)
{
	static const char all[] = "ng_connections_total";

	metrics_alone(out, "ng_open_connections", "gauge",
		      "Connections by TCP.", l->connections);
	metrics_head(out, all, "counter", "Connections by outcome.");
	metrics_labelled(out, all, "outcome", "accepted", l->accepted);
	metrics_labelled(out, all, "outcome", "refused", l->refused);
	metrics_labelled(out, all, "outcome", "cut", l->cut);
}

void metrics_write_ng(FILE *out, const struct ng_service *sv)
{
	struct ng_service_stats s;

	ng_service_stats(sv, &s);
	write_calls(out, &s);
	write_requests(out, &s.count);
	write_messages(out, &s.listener);
	write_connections(out, &s.listener);
}

#define NS 1e-9

const cr_ns metrics_bounds[METRICS_BOUNDS] = {
	100 * CR_US, 200 * CR_US, 500 * CR_US,	1 * CR_MS,  2 * CR_MS,
	3 * CR_MS,   5 * CR_MS,	  7500 * CR_US, 10 * CR_MS, 15 * CR_MS,
	20 * CR_MS,  30 * CR_MS,  50 * CR_MS,	75 * CR_MS, 100 * CR_MS,
	200 * CR_MS, 500 * CR_MS, 1 * CR_SEC,
};

void metrics_cumulate(const struct histogram *h, uint64_t below[METRICS_BOUNDS])
{
	for (unsigned i = 0; i < METRICS_BOUNDS; i++)
		below[i] = histogram_below(h, metrics_bounds[i]);
}

/* --- the rows of stats that have a metric --- */

enum { SERIES_MAX = 160 };

struct series {
	const struct field *field;
	const void *base;
};

struct all_series {
	unsigned n;
	struct series one[SERIES_MAX];
	bool reported[SERIES_MAX];
};

/* Of a number: texts and histograms have another form. */
static const struct field_metric *metric_of(const struct field *f)
{
	return f->metric && f->metric->name && f->type != FIELD_TEXT ? f->metric
								     : NULL;
}

/* Seconds, whatever the unit of a time is in results. */
static double value_of(const struct field *f, const void *base)
{
	double scale = f->metric->scale != 0 ? f->metric->scale : 1;

	if (f->type == FIELD_TIME)
		scale = (double)field_unit_ns(f->unit) / 1e9;
	return field_number(f, base) * scale;
}

/* One of the rows of a metric has the help. */
static void head(FILE *out, const struct field_metric *m)
{
	if (m->help)
		metrics_head(out, m->name, m->type, m->help);
}

static void collect(void *arg, const char *path, const struct field *f,
		    const void *base)
{
	struct all_series *all = arg;

	(void)path;
	if (!base || !metric_of(f)) /* no base: this node has none */
		return;
	CR_ASSERT(all->n < SERIES_MAX);
	all->one[all->n++] = (struct series){ f, base };
}

/* The series of one metric, of which one has the help, follow each other. */
static void write_metric(FILE *out, struct all_series *all, const char *name)
{
	for (unsigned i = 0; i < all->n; i++)
		if (!strcmp(all->one[i].field->metric->name, name))
			head(out, all->one[i].field->metric);
	for (unsigned i = 0; i < all->n; i++) {
		const struct series *s = &all->one[i];
		const struct field_metric *m = s->field->metric;

		if (strcmp(m->name, name))
			continue;
		all->reported[i] = true;
		(void)fprintf(out, METRICS_NAME "%s %.15g\n", m->name,
			      m->labels ? m->labels : "",
			      value_of(s->field, s->base));
	}
}

static void write_numbers(FILE *out, const struct stats_result *stats)
{
	struct all_series all = { 0 };

	field_walk(stats_fields, stats, collect, &all);
	for (unsigned i = 0; i < all.n; i++)
		if (!all.reported[i])
			write_metric(out, &all, all.one[i].field->metric->name);
}

/* Threads of a kind, a label each: @n structs of @size octets from @first. */
struct threads {
	const struct field *fields;
	const char *kind;
	const void *first;
	size_t size;
	unsigned n;
};

static void write_threads(FILE *out, const struct threads *t)
{
	for (const struct field *f = t->fields; f->name; f++) {
		const struct field_metric *m = metric_of(f);

		if (!m)
			continue;
		head(out, m);
		for (unsigned i = 0; i < t->n; i++)
			(void)fprintf(out, METRICS_NAME "{%s=\"%u\"} %.15g\n",
				      m->name, t->kind, i,
				      value_of(f, (const char *)t->first +
							  i * t->size));
	}
}

static void write_all_threads(FILE *out, const struct node_stats *stats)
{
	write_threads(out, &(struct threads){ receiver_info_fields, "receiver",
					      stats->receivers,
					      sizeof(stats->receivers[0]),
					      stats->nreceivers });
	write_threads(out, &(struct threads){ worker_info_fields, "worker",
					      stats->workers,
					      sizeof(stats->workers[0]),
					      stats->nworkers });
}

/* Without a range nobody knows how many ports are left. */
static bool tells(const struct field *f, const struct node_interface_info *i)
{
	return i->ports || strcmp(f->name, "available") != 0;
}

static void write_interfaces(FILE *out, const struct node_stats *stats)
{
	for (const struct field *f = interface_info_fields; f->name; f++) {
		const struct field_metric *m = metric_of(f);

		if (!m || !tells(f, &stats->interfaces[0]))
			continue;
		head(out, m);
		for (unsigned i = 0; i < stats->ninterfaces; i++)
			(void)fprintf(out,
				      METRICS_NAME
				      "{interface=\"%s\",address=\"%s\"} "
				      "%.15g\n",
				      m->name, stats->interfaces[i].name,
				      stats->interfaces[i].address,
				      value_of(f, &stats->interfaces[i]));
	}
}

static void write_codecs(FILE *out, const struct node_stats *stats)
{
	for (const struct field *f = codec_calls_fields; f->name; f++) {
		const struct field_metric *m = metric_of(f);

		if (!m)
			continue;
		head(out, m);
		for (unsigned i = 0; i < stats->ncodecs; i++)
			(void)fprintf(out,
				      METRICS_NAME "{codec=\"%s\"} %.15g\n",
				      m->name, stats->codecs[i].name,
				      value_of(f, &stats->codecs[i]));
	}
}

/* --- others --- */

/* By the names that the exporters of all languages use. What cannot be seen is
 * left out. */
static void write_process(FILE *out, const struct node_stats *stats)
{
	uint64_t resident, addresses, descriptors;
	uint64_t most = descriptors_limit();

	metrics_process(out, "cpu_seconds_total", "counter",
			"CPU time of the process.", (double)stats->cpu * NS);
	metrics_process(out, "start_time_seconds", "gauge",
			"When it was started, in seconds since 1970.",
			(double)stats->started_utc * NS);
	if (!memory_used(&resident, &addresses)) {
		metrics_process(out, "resident_memory_bytes", "gauge",
				"Memory that it has.", (double)resident);
		metrics_process(out, "virtual_memory_bytes", "gauge",
				"Addresses that it uses.", (double)addresses);
	}
	if (!descriptors_used(&descriptors))
		metrics_process(out, "open_fds", "gauge",
				"Descriptors that it has, sockets among them.",
				(double)descriptors);
	if (most != UINT64_MAX)
		metrics_process(out, "max_fds", "gauge",
				"Descriptors that it may have.", (double)most);
}

static void write_histogram(FILE *out, const char *member,
			    const struct histogram *h)
{
	const struct field_metric *m =
		field_find_path(node_stats_fields, member)->metric;
	uint64_t below[METRICS_BOUNDS];
	uint64_t all = histogram_count(h);

	metrics_cumulate(h, below);
	head(out, m);
	for (unsigned i = 0; i < METRICS_BOUNDS; i++)
		(void)fprintf(
			out, METRICS_NAME "_bucket{le=\"%g\"} %" PRIu64 "\n",
			m->name, (double)metrics_bounds[i] * NS, below[i]);
	(void)fprintf(out,
		      METRICS_NAME "_bucket{le=\"+Inf\"} %" PRIu64
				   "\n" METRICS_NAME "_sum %.9f\n" METRICS_NAME
				   "_count %" PRIu64 "\n",
		      m->name, all, m->name, (double)histogram_sum(h) * NS,
		      m->name, all);
}

/* The policy's name only: its options may be anything. */
static void write_info(FILE *out, const char *spec)
{
	const struct field_metric *m =
		field_find(node_stats_fields, "scheduler")->metric;

	head(out, m);
	(void)fprintf(out,
		      METRICS_NAME "{version=\"%s\",scheduler=\"%.*s\"} 1\n",
		      m->name, CR_VERSION, (int)strcspn(spec, ",\"\\"), spec);
}

void metrics_write(FILE *out, struct service *sv)
{
	static struct histogram delay, jitter; /* 15 KiB each */
	struct node *n = service_node(sv);
	struct stats_reported all;
	const struct node_stats *stats = &all.tell.node;

	stats_collect(sv, &all);
	write_info(out, stats->scheduler);
	write_numbers(out, &all.tell);
	write_all_threads(out, stats);
	write_interfaces(out, stats);
	write_codecs(out, stats);
	write_process(out, stats);
	node_histograms(n, &delay, &jitter);
	write_histogram(out, "delay", &delay);
	write_histogram(out, "jitter", &jitter);
	node_rtcp_histograms(n, &delay, &jitter);
	write_histogram(out, "rtcp.round_trip", &delay);
	write_histogram(out, "rtcp.jitter", &jitter);
}
