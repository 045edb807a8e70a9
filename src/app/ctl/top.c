/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "codec-ctl top": a page of the results of stats and call.top; the loop, and
 * the terminal: keys come one by one and are not shown meanwhile.
 *
 * The first answer is about the time since somebody asked before, which may be
 * long: it is shown only where the next one replaces it.
 */
#include "app/ctl/top.h"

#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "app/ctl/show.h"
#include "base/cli.h"
#include "node/info.h"
#include "protocol/tables/call.h"
#include "rpc/jsonrpc.h"

/** Lines of a page above its calls. */
enum { CTL_TOP_HEAD = 4 };

/* clang-format off */
#define COLUMN(path)                                                           \
	{ path, NULL, call_top_entry_fields, NULL, NULL }
/* clang-format on */

static const struct ctl_column call_columns[] = {
	COLUMN("call"),	      COLUMN("class"),	       COLUMN("in_per_s"),
	COLUMN("lost_per_s"), COLUMN("missing_per_s"), COLUMN("late_per_s"),
	COLUMN("load"),	      COLUMN("delay_ms"),      COLUMN("delay_max_ms"),
	COLUMN("waiting"),    COLUMN("age_s"),	       COLUMN("transcoding"),
	COLUMN("to"),	      COLUMN("label"),	       { 0 },
};

/* How many digits of each are of use to people. */
static const struct digits {
	const char *key;
	double scale;
} digits[] = {
	{ "in_per_s", 10 },	  { "lost_per_s", 10 }, { "missing_per_s", 10 },
	{ "late_per_s", 10 },	  { "load", 10000 },	{ "delay_ms", 1000 },
	{ "delay_max_ms", 1000 }, { "age_s", 1 },
};

static void put_head(const json_t *stats, const json_t *top, const char *keys,
		     FILE *out)
{
	(void)fprintf(out,
		      "%s  %.0f calls  load %.2f of %.2f (measured %.2f)  "
		      "lost since the start: %.0f  up %.0f s%s\n",
		      ctl_text(stats, "scheduler"), ctl_real(top, "calls"),
		      ctl_real(stats, "load"), ctl_real(stats, "bound"),
		      ctl_real(stats, "measured_load"), ctl_real(stats, "lost"),
		      ctl_real(stats, "uptime_s"),
		      json_is_true(json_object_get(stats, "draining"))
			      ? "  draining"
			      : "");
	(void)fprintf(out, "by %s, over %.1f s%s%s\n\n", ctl_text(top, "sort"),
		      ctl_real(top, "window_s"), keys ? "   keys: " : "",
		      keys ? keys : "");
}

/* A copy of @row, as it is shown. */
static json_t *rounded(json_t *row)
{
	json_t *copy = json_copy(row);

	for (size_t i = 0; i < sizeof(digits) / sizeof(*digits); i++) {
		const struct digits *d = &digits[i];
		double x = ctl_real(row, d->key) * d->scale + 0.5;

		if (json_object_get(row, d->key))
			(void)json_object_set_new(
				copy, d->key,
				json_real((double)(long long)x / d->scale));
	}
	return copy;
}

static enum ctl_mark mark_of(const json_t *row)
{
	if (ctl_real(row, "lost_per_s") > 0)
		return CTL_BAD;
	return ctl_real(row, "missing_per_s") > 0 ||
			       ctl_real(row, "late_per_s") > 0
		       ? CTL_WARN
		       : 0;
}

/* The lines of @table, the first of which is its head, with their marks. */
static void put_marked(const char *table, const json_t *rows, FILE *out)
{
	for (size_t i = 0; *table; i++) {
		enum ctl_mark mark =
			i ? mark_of(json_array_get(rows, i - 1)) : CTL_HEAD;
		int n = (int)strcspn(table, "\n");

		if (mark)
			(void)fputc((int)mark, out);
		(void)fprintf(out, "%.*s\n", n, table);
		table += n;
		table += *table == '\n';
	}
}

void ctl_top_page(const json_t *stats, const json_t *top, const char *keys,
		  FILE *out)
{
	json_t *shown = json_array(), *row;
	const json_t *rows = json_object_get(top, "top");
	char *table = NULL;
	size_t size = 0, i;
	FILE *f = open_memstream(&table, &size);

	put_head(stats, top, keys, out);
	json_array_foreach (rows, i, row)
		(void)json_array_append_new(shown, rounded(row));
	if (f) {
		ctl_table(shown, call_columns, f);
		if (!fclose(f))
			put_marked(table, shown, out);
	}
	free(table);
	json_decref(shown);
}

enum { FAILED = 1, UNREACHABLE = 3 };
enum { LIMIT = 20 };

#define KEYS "l loss, m missing, c cost, d delay, q quit"

static const char *const sorts[] = { NODE_TOP_NAMES };

/* What it waits for; from KEY on only where keys are read. */
enum {
	TIMER,
	INTERRUPT,
	TERMINATE,
	RESIZED,
	CONTINUED,
	KEY,
	QUIT,
	HANGUP,
	EVENTS
};

struct topping {
	struct ctl_top *top;
	struct event *event[EVENTS];
	bool keys; /* are read */
	struct termios before;
	bool stop, shown;
};

/* --- the terminal --- */

static void read_keys(struct topping *w)
{
	struct termios raw = w->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

static void begin_keys(struct topping *w)
{
	w->keys = !w->top->json && isatty(STDIN_FILENO) == 1 &&
		  isatty(STDOUT_FILENO) == 1 &&
		  !tcgetattr(STDIN_FILENO, &w->before);
	if (w->keys)
		read_keys(w);
}

static void end_keys(const struct topping *w)
{
	if (w->keys)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &w->before);
}

static void take_key(struct topping *w, char key)
{
	if (key == 'q' || key == 'Q')
		w->stop = true;
	for (int i = 0; sorts[i]; i++)
		if (key == sorts[i][0])
			w->top->sort = i;
}

/* --- events: each ends the wait --- */

/* Each would end the program by itself, too, but leave the terminal as it is.
 */
static bool ends(evutil_socket_t sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGQUIT ||
	       sig == SIGHUP;
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct topping *w = arg;

	(void)what;
	if (ends(fd))
		w->stop = true;
	if (fd == SIGCONT && w->keys)
		read_keys(w); /* the shell has taken it back */
	if (fd == SIGCONT || fd == SIGWINCH)
		w->shown = false;
	(void)event_base_loopbreak(w->top->base);
}

static void on_key(evutil_socket_t fd, short what, void *arg)
{
	struct topping *w = arg;
	char key[16];
	ssize_t n = read(fd, key, sizeof(key));

	(void)what;
	if (n <= 0) /* the terminal has gone */
		w->stop = true;
	for (ssize_t i = 0; i < n; i++)
		take_key(w, key[i]);
	(void)event_base_loopbreak(w->top->base);
}

static bool open_events(struct topping *w)
{
	struct event_base *base = w->top->base;
	bool ok = true;

	w->event[TIMER] = evtimer_new(base, on_event, w);
	w->event[INTERRUPT] = evsignal_new(base, SIGINT, on_event, w);
	w->event[TERMINATE] = evsignal_new(base, SIGTERM, on_event, w);
	w->event[QUIT] = evsignal_new(base, SIGQUIT, on_event, w);
	w->event[HANGUP] = evsignal_new(base, SIGHUP, on_event, w);
	w->event[RESIZED] = evsignal_new(base, SIGWINCH, on_event, w);
	w->event[CONTINUED] = evsignal_new(base, SIGCONT, on_event, w);
	w->event[KEY] =
		event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, on_key, w);
	for (unsigned i = 0; i < EVENTS; i++)
		ok &= w->event[i] && (i == TIMER || (i >= KEY && !w->keys) ||
				      !event_add(w->event[i], NULL));
	return ok;
}

static void close_events(struct topping *w)
{
	for (unsigned i = 0; i < EVENTS; i++)
		if (w->event[i])
			event_free(w->event[i]);
}

static void wait_interval(struct topping *w)
{
	const cr_ns t = w->top->interval;
	const struct timeval tv = { t / CR_SEC, t % CR_SEC / CR_US };

	(void)evtimer_add(w->event[TIMER], &tv);
	(void)event_base_dispatch(w->top->base);
	(void)evtimer_del(w->event[TIMER]);
}

/* --- pages --- */

static unsigned limit_of(const struct ctl_top *t)
{
	unsigned lines, columns, limit = t->limit;

	if (limit)
		return limit;
	if (t->json || !ctl_page_size(&lines, &columns))
		return LIMIT;
	/* the last line is the cursor's */
	limit = lines > CTL_TOP_HEAD + 2 ? lines - CTL_TOP_HEAD - 1 : 1;
	return limit < PAGE_MAX ? limit : PAGE_MAX;
}

static int show_json(const json_t *top)
{
	(void)json_dumpf(top, stdout, JSONRPC_DUMP);
	(void)putchar('\n');
	return cli_written();
}

static int show(struct topping *w, const json_t *stats, const json_t *top)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f;
	int rc;

	if (w->top->json)
		return show_json(top);
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	ctl_top_page(stats, top, w->keys ? KEYS : NULL, f);
	rc = fclose(f) ? -ENOMEM : ctl_page(text, !w->shown);
	free(text);
	w->shown = true;
	return rc;
}

/* Ask, and show it unless it is only the beginning. Returns an exit code. */
static int turn(struct topping *w, bool only_ask)
{
	struct ctl_top *t = w->top;
	json_t *stats = NULL, *top = NULL;
	int rc, err = 0;

	rc = t->ask(t->client, "call.top",
		    json_pack("{s:s, s:i}", "sort", sorts[t->sort], "limit",
			      (int)limit_of(t)),
		    &top);
	if (!rc && !only_ask && !t->json)
		rc = t->ask(t->client, "stats", NULL, &stats);
	if (!rc && !only_ask)
		err = show(w, stats, top);
	json_decref(top);
	json_decref(stats);
	if (err)
		(void)fprintf(stderr, "codec-ctl: %s\n", strerror(-err));
	return err ? FAILED : rc;
}

static int loop(struct topping *w)
{
	unsigned n = 0, times = w->top->times;
	int rc = turn(w, !w->keys || times);

	while (!rc && !w->stop && (!times || n < times)) {
		wait_interval(w);
		if (w->stop)
			break;
		rc = turn(w, false);
		n++;
	}
	/* interrupted while it asked */
	return w->stop && rc == UNREACHABLE ? 0 : rc;
}

int ctl_top(struct ctl_top *t)
{
	struct topping w = { .top = t };
	int rc = UNREACHABLE;

	begin_keys(&w);
	if (open_events(&w))
		rc = loop(&w);
	close_events(&w);
	end_keys(&w);
	return rc;
}
