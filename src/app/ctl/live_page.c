/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of "codec-ctl watch" and "top": which members they show, and the
 * loop that shows them anew; the terminal, where keys come one by one and are
 * not shown meanwhile; and "codec-ctl convert", which follows a conversion to
 * its end by asking: that works however the server's notifications fare.
 *
 * Of top the first answer is about the time since somebody asked before, which
 * may be long: it is shown only where the next one replaces it.
 */

#include "app/ctl/ctl.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "node/info.h"
#include "protocol/tables/call_fields.h"
#include "protocol/tables/convert_fields.h"
#include "protocol/tables/node_fields.h"
#include "rpc/jsonrpc.h"

/* --- pages --- */

/* Lines of a page of top above its streams; streams where no terminal limits
 * them; of watch the streams that lose most. */
enum { TOP_HEAD = 4, TOP_CALLS = 20, WORST = 10 };

#define NODE_VIEW                                                              \
	"{scheduler}  {calls} calls  load {load#} of {bound} (measured "       \
	"{measured_load#})  queued {queued#}  up {uptime}[draining?  "         \
	"draining]\n"

#define CODECS_COLUMNS "in={in.codec}/{in.mode} out={out.codec}/{out.mode} "

void ctl_sample_free(struct ctl_sample *s)
{
	json_decref(s->stats);
	json_decref(s->calls);
	*s = (struct ctl_sample){ 0 };
}

static void put_workers(const struct ctl_shown *stats, FILE *out)
{
	const json_t *list = json_object_get(stats->now, "workers");
	struct ctl_shown *rows =
		ctl_rows(list, json_object_get(stats->before, "workers"), NULL,
			 stats->seconds, worker_info_fields);
	json_t *w;
	size_t i;

	json_array_foreach (list, i, w)
		(void)json_object_set_new(w, "WORKER",
					  json_integer((json_int_t)i));
	(void)fputc('\n', out);
	ctl_table(rows, i, "#WORKER busy/s jobs/s wakeups/s steals/s", false,
		  out);
	free(rows);
}

static void add_up_calls(json_t *sums, const char *key, double more)
{
	(void)json_object_set_new(sums, key,
				  json_real(ctl_real(sums, key) + more));
}

/* The growth of @n calls, added up by class and codecs. */
static void put_groups(const struct ctl_shown *calls, size_t n, FILE *out)
{
	static const char *const counts[] = { "count.packets_in",
					      "count.packets_out",
					      "count.late" };
	json_t *by = json_object(), *list = json_array(), *group, *count;
	struct ctl_shown *rows;

	for (size_t i = 0; i < n; i++) {
		const json_t *call = calls[i].now;
		json_t *in = json_object_get(call, "in");
		json_t *to = json_object_get(call, "out");
		char name[256];

		(void)snprintf(name, sizeof(name), "%s %s/%s %s/%s",
			       ctl_text(call, "class"), ctl_text(in, "codec"),
			       ctl_text(in, "mode"), ctl_text(to, "codec"),
			       ctl_text(to, "mode"));
		group = json_object_get(by, name);
		if (!group) {
			group = json_pack("{s:s, s:O*, s:O*, s:{}}", "class",
					  ctl_text(call, "class"), "in", in,
					  "out", to, "count");
			(void)json_object_set_new(by, name, group);
			(void)json_array_append(list, group);
		}
		count = json_object_get(group, "count");
		add_up_calls(group, "STREAMS", 1);
		add_up_calls(group, "lost", ctl_growth(&calls[i], "lost"));
		for (unsigned k = 0; k < 3; k++)
			add_up_calls(count, counts[k] + sizeof("count"),
				     ctl_growth(&calls[i], counts[k]));
	}
	rows = ctl_rows(list, NULL, NULL, calls->seconds, stream_info_fields);
	(void)fputc('\n', out);
	ctl_table(rows, json_array_size(list),
		  "class " CODECS_COLUMNS "#STREAMS count.packets_in/s "
		  "count.packets_out/s lost/s count.late/s",
		  false, out);
	free(rows);
	json_decref(list);
	json_decref(by);
}

/* By what they lose now, then by what they have lost. */
static int compare_loss(const void *x, const void *y)
{
	const struct ctl_shown *a = x, *b = y;
	double now = ctl_growth(b, "lost") - ctl_growth(a, "lost");
	double all = ctl_real(b->now, "lost") - ctl_real(a->now, "lost");
	double id = ctl_real(a->now, "stream") - ctl_real(b->now, "stream");
	double first = now != 0 ? now : all != 0 ? all : id;

	return (first > 0) - (first < 0);
}

/* By class and codecs, and those that lose most. */
static void put_calls(const json_t *before, const json_t *now, double seconds,
		      FILE *out)
{
	struct ctl_shown *rows =
		ctl_rows(now, before, "stream", seconds, stream_info_fields);
	size_t n = json_array_size(now), worst = 0;

	if (n)
		put_groups(rows, n, out);
	for (size_t i = 0; i < n; i++)
		if (ctl_real(rows[i].now, "lost") > 0)
			rows[worst++] = rows[i];
	qsort(rows, worst, sizeof(*rows), compare_loss);
	if (worst) {
		(void)fputc('\n', out);
		ctl_table(rows, worst < WORST ? worst : WORST,
			  "stream class " CODECS_COLUMNS
			  "lost/s lost count.late count.packets_in "
			  "count.delay_max_ns",
			  false, out);
	}
	free(rows);
}

void ctl_watch_page(const struct ctl_sample *before,
		    const struct ctl_sample *now, FILE *out)
{
	const struct ctl_shown s = {
		.table = stats_fields,
		.now = now->stats,
		.before = before->stats,
		.seconds = ctl_real(now->stats, "uptime_s") -
			   ctl_real(before->stats, "uptime_s"),
	};

	ctl_view(NODE_VIEW
		 "frames: in {totals.packets_in/s}  done {totals.done/s}  late "
		 "{totals.late/s}  lost {lost/s}   since the start: in "
		 "{totals.packets_in#}  late {totals.late#}  lost {lost#}\n"
		 "delay since the start: p50 {delay.p50}, p99 {delay.p99}, "
		 "p99.9 {delay.p999}, max {delay.max}\n"
		 "[scheduler_faults.count?scheduler faults: "
		 "{scheduler_faults.count}, last: {scheduler_faults.last}\n]",
		 &s, out);
	put_workers(&s, out);
	put_calls(json_object_get(before->calls, "streams"),
		  json_object_get(now->calls, "streams"), s.seconds, out);
}

void ctl_top_page(const struct ctl_sample *now, bool keys, FILE *out)
{
	const struct ctl_shown stats = { .table = stats_fields,
					 .now = now->stats };
	const struct ctl_shown top = { .table = stream_top_result_fields,
				       .now = now->calls };

	ctl_view(NODE_VIEW, &stats, out);
	ctl_view("by {sort}, over {window}", &top, out);
	ctl_view("   lost since the start: {lost}", &stats, out);
	(void)fputs(keys ? "   keys: l loss, m missing, c cost, d delay, q "
			   "quit\n\n"
			 : "\n\n",
		    out);
	ctl_list(json_object_get(now->calls, "top"), stream_top_entry_fields,
		 CTL_TOP_COLUMNS, true, out);
}

/* --- events: each ends the wait --- */

const char *const ctl_sorts[] = { NODE_TOP_NAMES };

/* Each but the last two would end the program by itself, too, but leave the
 * terminal as it is. */
static const int signals[] = { SIGINT, SIGTERM, SIGQUIT,
			       SIGHUP, SIGCONT, SIGWINCH };

enum {
	NSIGNALS = sizeof(signals) / sizeof(*signals),
	TIMER = NSIGNALS,
	KEY,
	EVENTS
};

struct waiting {
	struct ctl_live *live;
	struct event *event[EVENTS];
	struct termios before;
	unsigned stops; /* signals or keys that mean it */
	bool keys;	/* are read */
	bool shown;
};

static void read_keys(struct waiting *w)
{
	struct termios raw = w->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct waiting *w = arg;

	if (what & EV_SIGNAL && (fd == SIGCONT || fd == SIGWINCH))
		w->shown = false;
	else if (what & EV_SIGNAL)
		w->stops++;
	if (what & EV_SIGNAL && fd == SIGCONT && w->keys)
		read_keys(w); /* the shell has taken it back */
	(void)event_base_loopbreak(w->live->base);
}

static void on_key(evutil_socket_t fd, short what, void *arg)
{
	struct waiting *w = arg;
	char key[16];
	ssize_t n = read(fd, key, sizeof(key));

	(void)what;
	if (n <= 0) /* the terminal has gone */
		w->stops++;
	for (ssize_t i = 0; i < n; i++) {
		w->stops += key[i] == 'q' || key[i] == 'Q';
		for (int s = 0; ctl_sorts[s]; s++)
			if (key[i] == ctl_sorts[s][0])
				w->live->sort = s;
	}
	(void)event_base_loopbreak(w->live->base);
}

/* A conversion is ended by two signals only. */
static bool open_events(struct waiting *w, unsigned nsignals)
{
	struct event_base *base = w->live->base;
	bool ok = true;

	for (unsigned i = 0; i < nsignals; i++)
		w->event[i] = evsignal_new(base, signals[i], on_event, w);
	w->event[TIMER] = evtimer_new(base, on_event, w);
	if (w->keys)
		w->event[KEY] = event_new(base, STDIN_FILENO,
					  EV_READ | EV_PERSIST, on_key, w);
	for (unsigned i = 0; i < EVENTS; i++)
		if (i < nsignals || (i == KEY && w->keys))
			ok &= w->event[i] && !event_add(w->event[i], NULL);
	return ok && w->event[TIMER];
}

static void close_events(struct waiting *w)
{
	for (unsigned i = 0; i < EVENTS; i++)
		if (w->event[i])
			event_free(w->event[i]);
}

static void wait_for_event(struct waiting *w, cr_ns t)
{
	const struct timeval tv = { t / CR_SEC, t % CR_SEC / CR_US };

	(void)evtimer_add(w->event[TIMER], &tv);
	(void)event_base_dispatch(w->live->base);
	(void)evtimer_del(w->event[TIMER]);
}

/* --- watch and top --- */

static unsigned calls_of_page(const struct ctl_live *l)
{
	unsigned lines, columns, limit = l->limit;

	if (limit)
		return limit;
	if (l->json || !ctl_page_size(&lines, &columns))
		return TOP_CALLS;
	/* the last line is the cursor's */
	limit = lines > TOP_HEAD + 2 ? lines - TOP_HEAD - 1 : 1;
	return limit < PAGE_MAX ? limit : PAGE_MAX;
}

/* Only what is shown. Returns an exit code. */
static int take_sample(const struct ctl_live *l, struct ctl_sample *s)
{
	int rc = 0;

	if (l->top)
		rc = l->ask(l->client, "stream.top",
			    json_pack("{s:s, s:i}", "sort", ctl_sorts[l->sort],
				      "limit", (int)calls_of_page(l)),
			    &s->calls);
	if (!rc && !(l->top && l->json))
		rc = l->ask(l->client, "stats", NULL, &s->stats);
	if (!rc && !l->top && !l->json)
		rc = l->ask(l->client, "stream.list", NULL, &s->calls);
	return rc;
}

static int show_sample(struct waiting *w, const struct ctl_sample *before,
		       const struct ctl_sample *now)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f;
	int rc;

	if (w->live->json) {
		(void)json_dumpf(w->live->top ? now->calls : now->stats, stdout,
				 JSONRPC_DUMP);
		(void)putchar('\n');
		return cli_written();
	}
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	if (w->live->top)
		ctl_top_page(now, w->keys, f);
	else
		ctl_watch_page(before, now, f);
	rc = fclose(f) ? -ENOMEM : ctl_page(text, !w->shown);
	free(text);
	w->shown = true;
	return rc;
}

static int show_pages(struct waiting *w)
{
	const struct ctl_live *l = w->live;
	struct ctl_sample before = { 0 }, now = { 0 };
	bool show = l->top && w->keys && !l->times;
	int rc = take_sample(l, &now), err = 0;

	for (unsigned n = 0; !rc && !err; n++) {
		if (show)
			err = show_sample(w, &before, &now);
		if (err || (l->times && n == l->times))
			break;
		show = true;
		ctl_sample_free(&before);
		before = now;
		now = (struct ctl_sample){ 0 };
		wait_for_event(w, l->interval);
		if (w->stops)
			break;
		rc = take_sample(l, &now);
	}
	ctl_sample_free(&before);
	ctl_sample_free(&now);
	if (err)
		(void)fprintf(stderr, "codec-ctl: %s\n", strerror(-err));
	/* interrupted while it asked */
	return err ? CTL_REFUSED : w->stops && rc == CTL_UNREACHABLE ? 0 : rc;
}

int ctl_live(struct ctl_live *l)
{
	struct waiting w = { .live = l };
	int rc = CTL_UNREACHABLE;

	w.keys = l->top && !l->json && isatty(STDIN_FILENO) == 1 &&
		 isatty(STDOUT_FILENO) == 1 &&
		 !tcgetattr(STDIN_FILENO, &w.before);
	if (w.keys)
		read_keys(&w);
	/* without keys the terminal stays as it is: SIGINT and SIGTERM are
	 * enough */
	if (open_events(&w, w.keys ? NSIGNALS : 2))
		rc = show_pages(&w);
	close_events(&w);
	if (w.keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &w.before);
	return rc;
}

/* --- a conversion --- */

#define ASK_EVERY (100 * CR_MS)

static bool is_over(const json_t *conversion)
{
	const char *state = ctl_text(conversion, "state");

	return !strcmp(state, "done") || !strcmp(state, "failed") ||
	       !strcmp(state, "cancelled");
}

static void show_conversion(const json_t *conversion, const char *view)
{
	ctl_view(view,
		 &(struct ctl_shown){ .table = conversion_info_fields,
				      .now = conversion },
		 stderr);
	(void)fflush(stderr);
}

/* The answer of @method about @conversion takes its place. */
static int ask_conversion(const struct ctl_live *l, const char *method,
			  json_t **conversion)
{
	json_t *now = NULL;
	int rc = l->ask(l->client, method,
			json_pack("{s:O}", "conversion",
				  json_object_get(*conversion, "conversion")),
			&now);

	if (rc)
		return rc;
	json_decref(*conversion);
	*conversion = now;
	if (isatty(STDERR_FILENO) == 1)
		show_conversion(now, is_over(now) ? "\r\033[K{out}: {state} "
						    "{progress}\n"
						  : "\r\033[K{out}: {state} "
						    "{progress}");
	return 0;
}

static int wait_for_end(struct waiting *w, json_t **conversion)
{
	const struct ctl_live *l = w->live;
	bool cancelled = false;
	int rc = ask_conversion(l, "convert.query", conversion);

	while (!rc && !is_over(*conversion)) {
		wait_for_event(w, ASK_EVERY);
		if (w->stops > 1)
			return CTL_REFUSED;
		if (!w->stops || cancelled) {
			rc = ask_conversion(l, "convert.query", conversion);
			continue;
		}
		/* it may have ended meanwhile: then the refusal is no news */
		cancelled = true;
		rc = ask_conversion(l, "convert.cancel", conversion);
		rc = rc == CTL_UNREACHABLE ? rc : 0;
	}
	return rc;
}

int ctl_follow(struct ctl_live *l, json_t *params, json_t **result)
{
	struct waiting w = { .live = l };
	json_t *last = NULL;
	int rc = l->ask(l->client, "convert.start", params, &last);

	if (rc)
		return rc;
	rc = open_events(&w, 2) ? wait_for_end(&w, &last) : CTL_UNREACHABLE;
	close_events(&w);
	if (!rc && strcmp(ctl_text(last, "state"), "done") != 0) {
		show_conversion(last, "codec-ctl: conversion {conversion}: "
				      "{state}[why?: {why}]\n");
		rc = CTL_REFUSED;
	}
	if (rc)
		json_decref(last);
	else
		*result = last;
	return rc;
}
