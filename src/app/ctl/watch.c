/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl watch": two samples of a server as a page of rates (differences of
 * counters over the time between them, as tables), and the loop that shows it.
 */
#include "app/ctl/watch.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ctl/show.h"
#include "base/cli.h"
#include "protocol/tables/call.h"
#include "protocol/tables/node.h"
#include "rpc/jsonrpc.h"

enum { TOP = 10 };

/* A key of a row made here, under the label that the protocol's has. */
/* clang-format off */
#define OF_WORKER(key, member, suffix)                                         \
	{ key, NULL, worker_info_fields, member, suffix }
#define OF_CALL(key, member, suffix)                                           \
	{ key, NULL, call_result_fields, member, suffix }
/* clang-format on */

static const struct ctl_column worker_columns[] = {
	{ "worker", NULL, node_stats_fields, "workers", NULL },
	OF_WORKER("busy", "busy_ns", "_%"),
	OF_WORKER("jobs", "jobs", "/S"),
	OF_WORKER("wakeups", "wakeups", "/S"),
	OF_WORKER("steals", "steals", "/S"),
	{ 0 },
};

static const struct ctl_column group_columns[] = {
	OF_CALL("class", "class", NULL),
	OF_CALL("in", "in", NULL),
	OF_CALL("out", "out", NULL),
	{ "calls", NULL, node_stats_fields, "calls", NULL },
	OF_CALL("in_s", "count.packets_in", "/S"),
	OF_CALL("out_s", "count.packets_out", "/S"),
	OF_CALL("lost_s", "lost", "/S"),
	OF_CALL("late_s", "count.late", "/S"),
	{ 0 },
};

/* Of a call or a group; not rounded before they are shown. */
static const char *const rates[] = { "in_s", "out_s", "lost_s", "late_s",
				     NULL };

static const struct ctl_column top_columns[] = {
	OF_CALL("call", "call", NULL),
	OF_CALL("class", "class", NULL),
	OF_CALL("in", "in", NULL),
	OF_CALL("out", "out", NULL),
	OF_CALL("lost_s", "lost", "/S"),
	OF_CALL("lost", "lost", NULL),
	OF_CALL("late", "count.late", NULL),
	OF_CALL("packets_in", "count.packets_in", NULL),
	OF_CALL("delay_ms", "count.delay_max_ns", "_MS"),
	{ 0 },
};

void ctl_sample_free(struct ctl_sample *s)
{
	json_decref(s->stats);
	json_decref(s->calls);
	*s = (struct ctl_sample){ 0 };
}

static double per_second(double difference, double seconds)
{
	return seconds > 0 ? difference / seconds : 0;
}

/* To one digit behind the point, as far as a table shows it. */
static json_t *rounded(double r)
{
	return json_real((double)(long long)(r * 10 + (r < 0 ? -0.5 : 0.5)) /
			 10);
}

static json_t *rate(double difference, double seconds)
{
	return rounded(per_second(difference, seconds));
}

/* --- totals --- */

static void print_delay(const json_t *delay, FILE *out)
{
	(void)fprintf(out,
		      "delay since the start: p50 %.3f ms, p99 %.3f ms, p99.9 "
		      "%.3f ms, max %.3f ms\n",
		      ctl_real(delay, "p50_ns") / 1e6,
		      ctl_real(delay, "p99_ns") / 1e6,
		      ctl_real(delay, "p999_ns") / 1e6,
		      ctl_real(delay, "max_ns") / 1e6);
}

static void print_totals(const json_t *before, const json_t *now,
			 double seconds, FILE *out)
{
	const json_t *b = json_object_get(before, "totals"),
		     *n = json_object_get(now, "totals"),
		     *faults = json_object_get(now, "scheduler_faults");
	double per = seconds > 0 ? 1 / seconds : 0;

	(void)fprintf(out,
		      "%s  %.0f calls  load %.2f of %.2f (measured %.2f)  "
		      "queued %.0f  up %.0f s%s\n",
		      ctl_text(now, "scheduler"), ctl_real(now, "calls"),
		      ctl_real(now, "load"), ctl_real(now, "bound"),
		      ctl_real(now, "measured_load"), ctl_real(now, "queued"),
		      ctl_real(now, "uptime_s"),
		      json_is_true(json_object_get(now, "draining"))
			      ? "  draining"
			      : "");
	(void)fprintf(out,
		      "frames/s: in %.1f  done %.1f  late %.1f  lost %.1f   "
		      "since the start: in %.0f  late %.0f  lost %.0f\n",
		      (ctl_real(n, "packets_in") - ctl_real(b, "packets_in")) *
			      per,
		      (ctl_real(n, "done") - ctl_real(b, "done")) * per,
		      (ctl_real(n, "late") - ctl_real(b, "late")) * per,
		      (ctl_real(now, "lost") - ctl_real(before, "lost")) * per,
		      ctl_real(n, "packets_in"), ctl_real(n, "late"),
		      ctl_real(now, "lost"));
	print_delay(json_object_get(now, "delay"), out);
	if (ctl_real(faults, "count") > 0)
		(void)fprintf(out, "scheduler faults: %.0f, last: %s\n",
			      ctl_real(faults, "count"),
			      ctl_text(faults, "last"));
}

/* --- workers --- */

static void print_workers(const json_t *before, const json_t *now,
			  double seconds, FILE *out)
{
	const json_t *old = json_object_get(before, "workers"), *w;
	json_t *rows = json_array();
	size_t i;

	json_array_foreach (json_object_get(now, "workers"), i, w) {
		const json_t *b = json_array_get(old, i);

		(void)json_array_append_new(
			rows, json_pack("{s:i,s:o,s:o,s:o,s:o}", "worker",
					(int)i, "busy",
					rate((ctl_real(w, "busy_ns") -
					      ctl_real(b, "busy_ns")) /
						     1e7,
					     seconds),
					"jobs",
					rate(ctl_real(w, "jobs") -
						     ctl_real(b, "jobs"),
					     seconds),
					"wakeups",
					rate(ctl_real(w, "wakeups") -
						     ctl_real(b, "wakeups"),
					     seconds),
					"steals",
					rate(ctl_real(w, "steals") -
						     ctl_real(b, "steals"),
					     seconds)));
	}
	(void)fputc('\n', out);
	ctl_table(rows, worker_columns, out);
	json_decref(rows);
}

/* --- calls --- */

static void side(const json_t *call, const char *which, char *buf, size_t size)
{
	const json_t *s = json_object_get(call, which);

	(void)snprintf(buf, size, "%s/%s", ctl_text(s, "codec"),
		       ctl_text(s, "mode"));
}

/* Calls by their number, to find those of the sample before. */
static json_t *index_of(const json_t *calls)
{
	json_t *by = json_object(), *c;
	char key[32];
	size_t i;

	json_array_foreach (calls, i, c) {
		(void)snprintf(key, sizeof(key), "%.0f", ctl_real(c, "call"));
		(void)json_object_set(by, key, c);
	}
	return by;
}

/* What @call did since: its row, with rates. */
static json_t *row_of(const json_t *call, const json_t *index, double seconds)
{
	const json_t *n = json_object_get(call, "count"), *old, *b;
	char key[32], in[64], out[64];

	(void)snprintf(key, sizeof(key), "%.0f", ctl_real(call, "call"));
	old = json_object_get(index, key);
	b = json_object_get(old, "count");
	side(call, "in", in, sizeof(in));
	side(call, "out", out, sizeof(out));
	return json_pack(
		"{s:I,s:s,s:s,s:s,s:i,s:f,s:f,s:f,s:f,s:I,s:I,s:I,s:f}", "call",
		(json_int_t)ctl_real(call, "call"), "class",
		ctl_text(call, "class"), "in", in, "out", out, "calls", 1,
		"in_s",
		per_second(ctl_real(n, "packets_in") -
				   ctl_real(b, "packets_in"),
			   seconds),
		"out_s",
		per_second(ctl_real(n, "packets_out") -
				   ctl_real(b, "packets_out"),
			   seconds),
		"lost_s",
		per_second(ctl_real(call, "lost") - ctl_real(old, "lost"),
			   seconds),
		"late_s",
		per_second(ctl_real(n, "late") - ctl_real(b, "late"), seconds),
		"lost", (json_int_t)ctl_real(call, "lost"), "late",
		(json_int_t)ctl_real(n, "late"), "packets_in",
		(json_int_t)ctl_real(n, "packets_in"), "delay_ms",
		ctl_real(n, "delay_max_ns") / 1e6);
}

/* Add the row of one call to that of its group. */
static void add_to(json_t *group, const json_t *row)
{
	(void)json_object_set_new(
		group, "calls",
		json_integer((json_int_t)ctl_real(group, "calls") + 1));
	for (const char *const *r = rates; *r; r++)
		(void)json_object_set_new(
			group, *r,
			json_real(ctl_real(group, *r) + ctl_real(row, *r)));
}

/* @rows are not needed again. */
static void print_rows(json_t *rows, const struct ctl_column *columns,
		       FILE *out)
{
	json_t *row;
	size_t i;

	json_array_foreach (rows, i, row)
		for (const char *const *r = rates; *r; r++)
			(void)json_object_set_new(row, *r,
						  rounded(ctl_real(row, *r)));
	(void)fputc('\n', out);
	ctl_table(rows, columns, out);
}

static void print_groups(const json_t *rows, FILE *out)
{
	json_t *by = json_object(), *list = json_array();
	const json_t *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		char key[256];
		json_t *group;

		(void)snprintf(key, sizeof(key), "%s %s %s",
			       ctl_text(row, "class"), ctl_text(row, "in"),
			       ctl_text(row, "out"));
		group = json_object_get(by, key);
		if (group) {
			add_to(group, row);
			continue;
		}
		group = json_copy((json_t *)row);
		(void)json_object_set_new(by, key, group);
		(void)json_array_append(list, group);
	}
	print_rows(list, group_columns, out);
	json_decref(list);
	json_decref(by);
}

static int more_lost(const void *x, const void *y)
{
	const json_t *a = *(json_t *const *)x, *b = *(json_t *const *)y;
	double now = ctl_real(b, "lost_s") - ctl_real(a, "lost_s");
	double all = ctl_real(b, "lost") - ctl_real(a, "lost");
	double id = ctl_real(a, "call") - ctl_real(b, "call");
	double first = now != 0 ? now : all != 0 ? all : id;

	return (first > 0) - (first < 0);
}

static void print_top(const json_t *rows, FILE *out)
{
	size_t n = json_array_size(rows);
	json_t **sorted = calloc(n ? n : 1, sizeof(json_t *));
	json_t *list = json_array();

	for (size_t i = 0; sorted && i < n; i++)
		sorted[i] = json_array_get(rows, i);
	if (sorted)
		qsort(sorted, n, sizeof(json_t *), more_lost);
	for (size_t i = 0; sorted && i < n && i < TOP; i++)
		if (ctl_real(sorted[i], "lost") > 0)
			(void)json_array_append(list, sorted[i]);
	if (json_array_size(list))
		print_rows(list, top_columns, out);
	json_decref(list);
	free(sorted);
}

void ctl_watch_page(const struct ctl_sample *before,
		    const struct ctl_sample *now, FILE *out)
{
	double seconds = ctl_real(now->stats, "uptime_s") -
			 ctl_real(before->stats, "uptime_s");
	json_t *index = index_of(before->calls), *rows = json_array();
	const json_t *call;
	size_t i;

	json_array_foreach (now->calls, i, call)
		(void)json_array_append_new(rows, row_of(call, index, seconds));
	print_totals(before->stats, now->stats, seconds, out);
	print_workers(before->stats, now->stats, seconds, out);
	if (json_array_size(rows))
		print_groups(rows, out);
	print_top(rows, out);
	json_decref(rows);
	json_decref(index);
}

enum { FAILED = 1, UNREACHABLE = 3 };

struct watching {
	struct ctl_watch *watch;
	struct event *interrupt, *terminate, *timer;
	bool stop;
};

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct watching *w = arg;

	(void)sig, (void)what;
	w->stop = true;
	(void)event_base_loopbreak(w->watch->base);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct watching *w = arg;

	(void)fd, (void)what;
	(void)event_base_loopbreak(w->watch->base);
}

static int sample(struct watching *w, struct ctl_sample *s)
{
	json_t *list = NULL;
	int rc = w->watch->ask(w->watch->client, "stats", NULL, &s->stats);

	if (!rc)
		rc = w->watch->ask_calls(w->watch->client, &list);
	if (!rc)
		s->calls = json_incref(json_object_get(list, "calls"));
	json_decref(list);
	return rc;
}

static int show_sample(const struct watching *w,
		       const struct ctl_sample *before,
		       const struct ctl_sample *now, bool first)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f;
	int rc;

	if (w->watch->json) {
		(void)json_dumpf(now->stats, stdout, JSONRPC_DUMP);
		(void)putchar('\n');
		return cli_written();
	}
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	ctl_watch_page(before, now, f);
	rc = fclose(f) ? -ENOMEM : ctl_page(text, first);
	free(text);
	return rc;
}

static void wait_interval(struct watching *w)
{
	const cr_ns t = w->watch->interval;
	const struct timeval tv = { t / CR_SEC, t % CR_SEC / CR_US };

	(void)evtimer_add(w->timer, &tv);
	(void)event_base_dispatch(w->watch->base);
	(void)evtimer_del(w->timer);
}

/* Returns an exit code. */
static int loop(struct watching *w)
{
	struct ctl_sample before = { 0 }, now = { 0 };
	int rc = sample(w, &before), err = 0;

	for (unsigned n = 0; !rc && !err; n++) {
		if (w->watch->times && n == w->watch->times)
			break;
		wait_interval(w);
		if (w->stop)
			break;
		rc = sample(w, &now);
		if (rc)
			break;
		err = show_sample(w, &before, &now, n == 0);
		ctl_sample_free(&before);
		before = now;
		now = (struct ctl_sample){ 0 };
	}
	ctl_sample_free(&before);
	ctl_sample_free(&now);
	if (w->stop && rc == UNREACHABLE)
		rc = 0; /* interrupted while it asked */
	if (err)
		(void)fprintf(stderr, "codec-ctl: %s\n", strerror(-err));
	return err ? FAILED : rc;
}

int ctl_watch(struct ctl_watch *watch)
{
	struct watching w = { .watch = watch };
	int rc = UNREACHABLE;

	w.interrupt = evsignal_new(watch->base, SIGINT, on_signal, &w);
	w.terminate = evsignal_new(watch->base, SIGTERM, on_signal, &w);
	w.timer = evtimer_new(watch->base, on_timer, &w);
	if (w.interrupt && w.terminate && w.timer &&
	    !event_add(w.interrupt, NULL) && !event_add(w.terminate, NULL))
		rc = loop(&w);
	if (w.timer)
		event_free(w.timer);
	if (w.interrupt)
		event_free(w.interrupt);
	if (w.terminate)
		event_free(w.terminate);
	return rc;
}
