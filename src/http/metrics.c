/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics out of node_stats(): one table row per series.
 */
#include "http/metrics.h"

#include <inttypes.h>
#include <string.h>

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

/* A series that is one number of node_stats(). Rows of one metric follow each
 * other; those after the first have no help. */
struct row {
	const char *name, *type, *help;
	const char *labels;  /* "{...}" or "" */
	const char *path[3]; /* members, from the outside in */
	double scale;
};

static const struct row rows[] = {
	{ "uptime_seconds",
	  "gauge",
	  "Time since the node started.",
	  "",
	  { "uptime_s" },
	  1 },
	{ "calls", "gauge", "Calls that are up.", "", { "calls" }, 1 },
	{ "calls_started_total",
	  "counter",
	  "Calls that were started.",
	  "",
	  { "calls_started" },
	  1 },
	{ "calls_refused_total",
	  "counter",
	  "Calls that were refused.",
	  "",
	  { "calls_refused" },
	  1 },
	{ "queued_frames",
	  "gauge",
	  "Frames in the scheduler's hands.",
	  "",
	  { "queued" },
	  1 },
	{ "load_ratio",
	  "gauge",
	  "Load of the admitted calls, as declared; 1 is one CPU.",
	  "",
	  { "load" },
	  1 },
	{ "measured_load_ratio",
	  "gauge",
	  "Load of the admitted calls, as measured; 1 is one CPU.",
	  "",
	  { "measured_load" },
	  1 },
	{ "load_bound_ratio",
	  "gauge",
	  "Load that admission takes; 1 is one CPU.",
	  "",
	  { "bound" },
	  1 },
	{ "scheduler_faults_total",
	  "counter",
	  "Times that a scheduler broke its contract.",
	  "",
	  { "scheduler_faults", "count" },
	  1 },
	{ "watchdog_total",
	  "counter",
	  "What the watchdog found: calls that were not woken, that the "
	  "scheduler forgot, whose worker was stuck.",
	  "{found=\"stalled\"}",
	  { "watchdog", "stalled" },
	  1 },
	{ "watchdog_total",
	  NULL,
	  NULL,
	  "{found=\"forgotten\"}",
	  { "watchdog", "forgotten" },
	  1 },
	{ "watchdog_total",
	  NULL,
	  NULL,
	  "{found=\"hung\"}",
	  { "watchdog", "hung" },
	  1 },
	{ "stuck_threads",
	  "gauge",
	  "Threads that do not come back from a codec.",
	  "",
	  { "watchdog", "stuck_now" },
	  1 },
	{ "frames_total",
	  "counter",
	  "Frames by what became of them.",
	  "{outcome=\"done\"}",
	  { "totals", "done" },
	  1 },
	{ "frames_total",
	  NULL,
	  NULL,
	  "{outcome=\"overwritten\"}",
	  { "totals", "overwritten" },
	  1 },
	{ "frames_total",
	  NULL,
	  NULL,
	  "{outcome=\"stale\"}",
	  { "totals", "stale" },
	  1 },
	{ "frames_total",
	  NULL,
	  NULL,
	  "{outcome=\"concealed\"}",
	  { "totals", "concealed" },
	  1 },
	{ "frames_total",
	  NULL,
	  NULL,
	  "{outcome=\"malformed\"}",
	  { "totals", "malformed" },
	  1 },
	{ "frames_total",
	  NULL,
	  NULL,
	  "{outcome=\"cancelled\"}",
	  { "totals", "cancelled" },
	  1 },
	{ "frames_late_total",
	  "counter",
	  "Frames sent after their deadline.",
	  "",
	  { "totals", "late" },
	  1 },
	{ "packets_received_total",
	  "counter",
	  "Packets accepted.",
	  "",
	  { "totals", "packets_in" },
	  1 },
	{ "packets_sent_total",
	  "counter",
	  "Packets sent.",
	  "",
	  { "totals", "packets_out" },
	  1 },
	{ "packets_unsent_total",
	  "counter",
	  "Packets the socket refused.",
	  "",
	  { "totals", "send_failed" },
	  1 },
	{ "payload_received_bytes_total",
	  "counter",
	  "Payload accepted.",
	  "",
	  { "totals", "octets_in" },
	  1 },
	{ "payload_sent_bytes_total",
	  "counter",
	  "Payload sent.",
	  "",
	  { "totals", "octets_out" },
	  1 },
	{ "packets_rejected_total",
	  "counter",
	  "Packets of calls that were not taken, by why.",
	  "{reason=\"duplicate\"}",
	  { "totals", "duplicates" },
	  1 },
	{ "packets_rejected_total",
	  NULL,
	  NULL,
	  "{reason=\"reordered\"}",
	  { "totals", "reordered" },
	  1 },
	{ "packets_rejected_total",
	  NULL,
	  NULL,
	  "{reason=\"stray\"}",
	  { "totals", "strays" },
	  1 },
	{ "packets_rejected_total",
	  NULL,
	  NULL,
	  "{reason=\"source\"}",
	  { "totals", "wrong_source" },
	  1 },
	{ "packets_rejected_total",
	  NULL,
	  NULL,
	  "{reason=\"payload type\"}",
	  { "totals", "wrong_pt" },
	  1 },
	{ "packets_rejected_total",
	  NULL,
	  NULL,
	  "{reason=\"size\"}",
	  { "totals", "too_big" },
	  1 },
	{ "codec_seconds_total",
	  "counter",
	  "Time inside the codecs.",
	  "",
	  { "totals", "codec_ns" },
	  NS },
	{ "receiver_cpu_seconds_total",
	  "counter",
	  "CPU time of the receiving thread.",
	  "",
	  { "rx", "cpu_ns" },
	  NS },
	{ "cpu_seconds_total",
	  "counter",
	  "CPU time of the process.",
	  "",
	  { "cpu_ns" },
	  NS },
};

/* A number of every worker. */
static const struct row worker_rows[] = {
	{ "worker_busy_seconds_total",
	  "counter",
	  "Time that a worker was at a frame.",
	  NULL,
	  { "busy_ns" },
	  NS },
	{ "worker_cpu_seconds_total",
	  "counter",
	  "CPU time of a worker.",
	  NULL,
	  { "cpu_ns" },
	  NS },
	{ "worker_frames_total",
	  "counter",
	  "Frames that a worker did.",
	  NULL,
	  { "jobs" },
	  1 },
	{ "worker_wakeups_total",
	  "counter",
	  "Times that a worker slept.",
	  NULL,
	  { "wakeups" },
	  1 },
	{ "worker_steals_total",
	  "counter",
	  "Frames taken from other run queues.",
	  NULL,
	  { "steals" },
	  1 },
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void head(struct evbuffer *out, const struct row *r)
{
	if (r->help)
		(void)evbuffer_add_printf(out,
					  "# HELP codec_runner_%s %s\n"
					  "# TYPE codec_runner_%s %s\n",
					  r->name, r->help, r->name, r->type);
}

static double value_of(const struct row *r, const json_t *o)
{
	for (unsigned i = 0; i < 3 && r->path[i]; i++)
		o = json_object_get(o, r->path[i]);
	return json_number_value(o) * r->scale;
}

static void write_workers(struct evbuffer *out, const json_t *stats)
{
	const json_t *workers = json_object_get(stats, "workers");

	for (unsigned i = 0; i < COUNT(worker_rows); i++) {
		const struct row *r = &worker_rows[i];

		head(out, r);
		for (size_t w = 0; w < json_array_size(workers); w++)
			(void)evbuffer_add_printf(
				out, "codec_runner_%s{worker=\"%zu\"} %.15g\n",
				r->name, w,
				value_of(r, json_array_get(workers, w)));
	}
}

static void write_histogram(struct evbuffer *out, const char *name,
			    const char *help, const struct histogram *h)
{
	uint64_t below[METRICS_BOUNDS];
	uint64_t all = histogram_count(h);

	metrics_cumulate(h, below);
	(void)evbuffer_add_printf(out,
				  "# HELP codec_runner_%s %s\n"
				  "# TYPE codec_runner_%s histogram\n",
				  name, help, name);
	for (unsigned i = 0; i < METRICS_BOUNDS; i++)
		(void)evbuffer_add_printf(
			out, "codec_runner_%s_bucket{le=\"%g\"} %" PRIu64 "\n",
			name, (double)metrics_bounds[i] * NS, below[i]);
	(void)evbuffer_add_printf(
		out,
		"codec_runner_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n"
		"codec_runner_%s_sum %.9f\n"
		"codec_runner_%s_count %" PRIu64 "\n",
		name, all, name, (double)histogram_sum(h) * NS, name, all);
}

/* The policy's name only: its options may be anything. */
static void write_info(struct evbuffer *out, const json_t *stats)
{
	const char *spec =
		json_string_value(json_object_get(stats, "scheduler"));
	int name = spec ? (int)strcspn(spec, ",\"\\") : 0;

	(void)evbuffer_add_printf(out,
				  "# HELP codec_runner_info Version and "
				  "scheduler in use.\n"
				  "# TYPE codec_runner_info gauge\n"
				  "codec_runner_info{version=\"%s\","
				  "scheduler=\"%.*s\"} 1\n",
				  CR_VERSION, name, spec ? spec : "");
}

void metrics_write(struct evbuffer *out, struct node *n, const json_t *stats)
{
	static struct histogram delay, jitter; /* 15 KiB each */

	write_info(out, stats);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		head(out, &rows[i]);
		(void)evbuffer_add_printf(out, "codec_runner_%s%s %.15g\n",
					  rows[i].name, rows[i].labels,
					  value_of(&rows[i], stats));
	}
	write_workers(out, stats);
	node_histograms(n, &delay, &jitter);
	write_histogram(out, "frame_delay_seconds",
			"Time from a frame's arrival to its being sent.",
			&delay);
	write_histogram(out, "frame_jitter_seconds",
			"How much the time between two frames of a call that "
			"were sent differs from the frame duration.",
			&jitter);
}
