/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics out of the tables of stats (those rows that have one), and of two
 * tables that are here, as no result has their rows: the HTTP server's
 * connections, and the NG service (what came, what became of it, how calls
 * ended); in the text format of Prometheus (0.0.4). One thread at a time for
 * each @out, to which they append.
 */
#include "http/metrics.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "protocol/results.h"

/** The name of each of ours, for printf(). */
#define METRICS_NAME "codec_runner_%s"

/* The help and type of the metric @name, before its series. */
static void metrics_head(FILE *out, const char *name, const char *type,
			 const char *help)
{
	(void)fprintf(out,
		      "# HELP " METRICS_NAME " %s\n"
		      "# TYPE " METRICS_NAME " %s\n",
		      name, help, name, type);
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
	return f->metric && f->metric->name && f->kind < FIELD_TEXT ? f->metric
								    : NULL;
}

/* Seconds, whatever the unit of a time is in results. */
static double value_of(const struct field *f, const void *base)
{
	double scale = f->metric->scale != 0 ? f->metric->scale : 1;

	if (f->kind == FIELD_TIME)
		scale = (double)field_unit_ns(f->unit) / 1e9;
	return field_number(f, base) * scale;
}

/* One of the rows of a metric has the help. */
static void head(FILE *out, const struct field_metric *m)
{
	if (m->help)
		metrics_head(out, m->name, m->type, m->help);
}

static bool collect(void *arg, const struct field *f, const char *path,
		    const char *name, const void *base)
{
	struct all_series *all = arg;

	(void)path;
	(void)name;
	if (!base) /* this node has none */
		return false;
	if (!metric_of(f))
		return true;
	CR_ASSERT(all->n < SERIES_MAX);
	all->one[all->n++] = (struct series){ f, base };
	return true;
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

static void write_numbers(FILE *out, const struct field *table,
			  const void *base)
{
	struct all_series all = { 0 };

	field_walk(table, base, collect, &all);
	for (unsigned i = 0; i < all.n; i++)
		if (!all.reported[i])
			write_metric(out, &all, all.one[i].field->metric->name);
}

/* Things of a kind, a series each: @n structs of @size octets from @first. */
struct items {
	const struct field *fields;
	const void *first;
	size_t size;
	unsigned n;
	const char *kind; /* the label of things that have a number */
	void (*label)(FILE *out, const void *item); /* of others */
	const char *without; /* a row that is not known; NULL: all are */
};

static void write_items(FILE *out, const struct items *t)
{
	for (const struct field *f = t->fields; f->name; f++) {
		const struct field_metric *m = metric_of(f);

		if (!m || (t->without && !strcmp(f->name, t->without)))
			continue;
		head(out, m);
		for (unsigned i = 0; i < t->n; i++) {
			const void *item = (const char *)t->first + i * t->size;

			(void)fprintf(out, METRICS_NAME "{", m->name);
			if (t->kind)
				(void)fprintf(out, "%s=\"%u\"", t->kind, i);
			else
				t->label(out, item);
			(void)fprintf(out, "} %.15g\n", value_of(f, item));
		}
	}
}

static void label_interface(FILE *out, const void *item)
{
	const struct node_interface_info *i = item;

	(void)fprintf(out, "interface=\"%s\",address=\"%s\"", i->name,
		      i->address);
}

static void label_codec(FILE *out, const void *item)
{
	(void)fprintf(out, "codec=\"%s\"",
		      ((const struct node_codec_streams *)item)->name);
}

#define ITEMS(table, of) table, of, sizeof((of)[0])

static void write_all_items(FILE *out, const struct node_stats *stats)
{
	const struct items all[] = {
		{ ITEMS(receiver_info_fields, stats->receivers),
		  stats->nreceivers, .kind = "receiver" },
		{ ITEMS(worker_info_fields, stats->workers), stats->nworkers,
		  .kind = "worker" },
		/* without a range nobody knows how many ports are left */
		{ ITEMS(interface_info_fields, stats->interfaces),
		  stats->ninterfaces, .label = label_interface,
		  .without = stats->interfaces[0].ports ? NULL : "available" },
		{ ITEMS(codec_streams_fields, stats->codecs), stats->ncodecs,
		  .label = label_codec },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		write_items(out, &all[i]);
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

void metrics_write(FILE *out, struct service *sv)
{
	static struct histogram delay, jitter; /* 15 KiB each */
	struct node *n = service_node(sv);
	struct stats_reported all;
	const struct node_stats *stats = &all.result.node;
	const struct field_metric *m;

	stats_collect(sv, &all);
	/* The policy's name only: its options may be anything. */
	m = field_find(node_stats_fields, "scheduler")->metric;
	head(out, m);
	(void)fprintf(
		out, METRICS_NAME "{version=\"%s\",scheduler=\"%.*s\"} 1\n",
		m->name, CR_VERSION, (int)strcspn(stats->scheduler, ",\"\\"),
		stats->scheduler);
	write_numbers(out, stats_fields, &all.result);
	write_all_items(out, stats);
	write_process(out, stats);
	node_histograms(n, &delay, &jitter);
	write_histogram(out, "delay", &delay);
	write_histogram(out, "jitter", &jitter);
	node_rtcp_histograms(n, &delay, &jitter);
	write_histogram(out, "rtcp.round_trip", &delay);
	write_histogram(out, "rtcp.jitter", &jitter);
}

/* --- connections, and NG --- */

FIELD_TABLE_DECLARE(http_stats, struct http_stats);
FIELD_TABLE_DECLARE(ng_stats, struct ng_service_stats);

#define SERIES(table, m, metric_name, ...)                                     \
	{                                                                      \
		ROW_INT(table, metric_name, m),                                \
			.metric = &(const struct field_metric)                 \
		{                                                              \
			.name = metric_name, __VA_ARGS__                       \
		}                                                              \
	}
#define BY(label, is) .labels = "{" label "=\"" is "\"}"
#define HEAD(of_type, says) .type = of_type, .help = says

const struct field http_stats_fields[] = {
	SERIES(http_stats, open, "http_connections",
	       HEAD("gauge", "Connections of HTTP, now.")),
	SERIES(http_stats, came, "http_accepted_total",
	       HEAD("counter", "Connections of HTTP that were accepted.")),
	SERIES(http_stats, full, "http_full_total",
	       HEAD("counter", "Times that there were as many connections as "
			       "there may be.")),
	SERIES(http_stats, cut, "http_cut_total",
	       HEAD("counter", "Connections that were ended as others waited "
			       "for a place.")),
	SERIES(http_stats, paused, "http_paused_total",
	       HEAD("counter", "Times that there was no descriptor to accept "
			       "with.")),
	{ 0 },
};

#define NG(m, metric_name, ...) SERIES(ng_stats, m, metric_name, __VA_ARGS__)

const struct field ng_stats_fields[] = {
	NG(calls, "ng_calls", HEAD("gauge", "Calls by NG.")),
	NG(lines, "ng_lines", HEAD("gauge", "Media lines that they may have.")),
	NG(count.dialogs, "ng_dialogs_total",
	   HEAD("counter", "Dialogs that were begun.")),
	NG(count.deleted, "ng_dialogs_ended_total", BY("why", "deleted"),
	   HEAD("counter", "Dialogs by why they ended; calls that were silent "
			   "or not answered.")),
	NG(count.silent, "ng_dialogs_ended_total", BY("why", "silent")),
	NG(count.unanswered, "ng_dialogs_ended_total", BY("why", "unanswered")),
	NG(count.errors, "ng_refused_total", BY("why", "error"),
	   HEAD("counter", "Requests that were refused.")),
	NG(count.load_limits, "ng_refused_total", BY("why", "load_limit")),
	NG(listener.denied, "ng_denied_total",
	   HEAD("counter",
		"Datagrams and connections of hosts that may not ask.")),
	NG(listener.limited, "ng_messages_total", BY("outcome", "limited"),
	   HEAD("counter", "Messages received, by kind.")),
	NG(listener.malformed, "ng_messages_total", BY("outcome", "malformed")),
	NG(listener.repeated, "ng_messages_total", BY("outcome", "repeated")),
	NG(listener.ignored, "ng_messages_total", BY("outcome", "ignored")),
	NG(listener.overloaded, "ng_messages_total",
	   BY("outcome", "overloaded")),
	NG(listener.asked, "ng_messages_total", BY("outcome", "asked")),
	NG(listener.answered, "ng_answers_total", BY("outcome", "sent"),
	   HEAD("counter", "Answers, by outcome.")),
	NG(listener.unsent, "ng_answers_total", BY("outcome", "unsent")),
	NG(listener.unwanted, "ng_answers_total", BY("outcome", "unwanted")),
	NG(listener.dropped, "ng_dropped_total",
	   HEAD("counter", "Datagrams that the kernel has dropped.")),
	NG(listener.waiting, "ng_waiting",
	   HEAD("gauge", "Requests that wait for answers.")),
	NG(listener.connections, "ng_open_connections",
	   HEAD("gauge", "Connections by TCP.")),
	NG(listener.accepted, "ng_connections_total", BY("outcome", "accepted"),
	   HEAD("counter", "Connections by outcome.")),
	NG(listener.refused, "ng_connections_total", BY("outcome", "refused")),
	NG(listener.cut, "ng_connections_total", BY("outcome", "cut")),
	{ 0 },
};

void metrics_write_http(FILE *out, const struct http_stats *s)
{
	write_numbers(out, http_stats_fields, s);
}

void metrics_write_ng(FILE *out, const struct ng_service *sv)
{
	static const char asked[] = "ng_requests_total";
	struct ng_service_stats s;

	ng_service_stats(sv, &s);
	metrics_head(out, asked, "counter",
		     "Requests that were read, by command.");
	for (unsigned i = 0; i < NG_COMMANDS; i++)
		(void)fprintf(out, METRICS_NAME "{command=\"%s\"} %llu\n",
			      asked, ng_command_names[i], s.count.asked[i]);
	write_numbers(out, ng_stats_fields, &s);
}
