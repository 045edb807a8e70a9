/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics out of the tables of stats: those rows that have one.
 */
#include "http/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/assert.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "http/metrics_text.h"
#include "protocol/results.h"

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
	bool told[SERIES_MAX];
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
static void head(struct evbuffer *out, const struct field_metric *m)
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
static void write_metric(struct evbuffer *out, struct all_series *all,
			 const char *name)
{
	for (unsigned i = 0; i < all->n; i++)
		if (!strcmp(all->one[i].field->metric->name, name))
			head(out, all->one[i].field->metric);
	for (unsigned i = 0; i < all->n; i++) {
		const struct series *s = &all->one[i];
		const struct field_metric *m = s->field->metric;

		if (strcmp(m->name, name))
			continue;
		all->told[i] = true;
		(void)evbuffer_add_printf(out, METRICS_NAME "%s %.15g\n",
					  m->name, m->labels ? m->labels : "",
					  value_of(s->field, s->base));
	}
}

static void write_numbers(struct evbuffer *out,
			  const struct stats_result *stats)
{
	struct all_series all = { 0 };

	field_walk(stats_fields, stats, collect, &all);
	for (unsigned i = 0; i < all.n; i++)
		if (!all.told[i])
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

static void write_threads(struct evbuffer *out, const struct threads *t)
{
	for (const struct field *f = t->fields; f->name; f++) {
		const struct field_metric *m = metric_of(f);

		if (!m)
			continue;
		head(out, m);
		for (unsigned i = 0; i < t->n; i++)
			(void)evbuffer_add_printf(
				out, METRICS_NAME "{%s=\"%u\"} %.15g\n",
				m->name, t->kind, i,
				value_of(f,
					 (const char *)t->first + i * t->size));
	}
}

static void write_all_threads(struct evbuffer *out,
			      const struct node_stats *stats)
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

static void write_interfaces(struct evbuffer *out,
			     const struct node_stats *stats)
{
	for (const struct field *f = interface_info_fields; f->name; f++) {
		const struct field_metric *m = metric_of(f);

		if (!m || !tells(f, &stats->interfaces[0]))
			continue;
		head(out, m);
		for (unsigned i = 0; i < stats->ninterfaces; i++)
			(void)evbuffer_add_printf(
				out,
				METRICS_NAME
				"{interface=\"%s\",address=\"%s\"} "
				"%.15g\n",
				m->name, stats->interfaces[i].name,
				stats->interfaces[i].address,
				value_of(f, &stats->interfaces[i]));
	}
}

static void write_codecs(struct evbuffer *out, const struct node_stats *stats)
{
	for (const struct field *f = codec_calls_fields; f->name; f++) {
		const struct field_metric *m = metric_of(f);

		if (!m)
			continue;
		head(out, m);
		for (unsigned i = 0; i < stats->ncodecs; i++)
			(void)evbuffer_add_printf(
				out, METRICS_NAME "{codec=\"%s\"} %.15g\n",
				m->name, stats->codecs[i].name,
				value_of(f, &stats->codecs[i]));
	}
}

/* --- others --- */

/* By the names that the exporters of all languages use. What cannot be seen is
 * left out. */
static void write_process(struct evbuffer *out, const struct node_stats *stats)
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

static void write_histogram(struct evbuffer *out, const char *member,
			    const struct histogram *h)
{
	const struct field_metric *m =
		field_find_path(node_stats_fields, member)->metric;
	uint64_t below[METRICS_BOUNDS];
	uint64_t all = histogram_count(h);

	metrics_cumulate(h, below);
	head(out, m);
	for (unsigned i = 0; i < METRICS_BOUNDS; i++)
		(void)evbuffer_add_printf(
			out, METRICS_NAME "_bucket{le=\"%g\"} %" PRIu64 "\n",
			m->name, (double)metrics_bounds[i] * NS, below[i]);
	(void)evbuffer_add_printf(
		out,
		METRICS_NAME "_bucket{le=\"+Inf\"} %" PRIu64 "\n" METRICS_NAME
			     "_sum %.9f\n" METRICS_NAME "_count %" PRIu64 "\n",
		m->name, all, m->name, (double)histogram_sum(h) * NS, m->name,
		all);
}

/* The policy's name only: its options may be anything. */
static void write_info(struct evbuffer *out, const char *spec)
{
	const struct field_metric *m =
		field_find(node_stats_fields, "scheduler")->metric;

	head(out, m);
	(void)evbuffer_add_printf(
		out, METRICS_NAME "{version=\"%s\",scheduler=\"%.*s\"} 1\n",
		m->name, CR_VERSION, (int)strcspn(spec, ",\"\\"), spec);
}

void metrics_write(struct evbuffer *out, struct service *sv)
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
