/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversion followed to its end, by asking: that works however the server's
 * notifications fare.
 */
#include "app/ctl/follow.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cr/time.h"

#define ASK_EVERY (100 * CR_MS)

enum { FAILED = 1, UNREACHABLE = 3 };

struct following {
	const struct ctl_follow *f;
	json_t *last; /* as it was told last */
	unsigned signals;
	bool terminal, cancelled;
};

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct following *w = arg;

	(void)sig, (void)what;
	w->signals++;
	(void)event_base_loopbreak(w->f->base);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct following *w = arg;

	(void)fd, (void)what;
	(void)event_base_loopbreak(w->f->base);
}

static const char *text(const struct following *w, const char *key)
{
	const char *s = json_string_value(json_object_get(w->last, key));

	return s ? s : "";
}

static bool is_over(const struct following *w)
{
	const char *state = text(w, "state");

	return !strcmp(state, "done") || !strcmp(state, "failed") ||
	       !strcmp(state, "cancelled");
}

static void show(const struct following *w)
{
	if (!w->terminal)
		return;
	(void)fprintf(
		stderr, "\r\033[K%s: %s %.0f %%", text(w, "out"),
		text(w, "state"),
		100 * json_number_value(json_object_get(w->last, "progress")));
	if (is_over(w))
		(void)fputc('\n', stderr);
	(void)fflush(stderr);
}

static json_t *reference(const struct following *w)
{
	return json_pack("{s:O}", "conversion",
			 json_object_get(w->last, "conversion"));
}

/* The answer of @method about the conversion becomes what was told last. */
static int ask(struct following *w, const char *method)
{
	json_t *now = NULL;
	int rc = w->f->ask(w->f->client, method, reference(w), &now);

	if (rc)
		return rc;
	json_decref(w->last);
	w->last = now;
	show(w);
	return 0;
}

/* It may have ended meanwhile: then the refusal is no news. */
static int cancel(struct following *w)
{
	int rc;

	w->cancelled = true;
	rc = ask(w, "convert.cancel");
	return rc == UNREACHABLE ? rc : 0;
}

static int follow(struct following *w, struct event *timer)
{
	const struct timeval tv = { 0, ASK_EVERY / CR_US };
	int rc = 0;

	while (!rc && !is_over(w)) {
		(void)evtimer_add(timer, &tv);
		(void)event_base_dispatch(w->f->base);
		(void)evtimer_del(timer);
		if (w->signals > 1)
			return FAILED;
		rc = w->signals && !w->cancelled ? cancel(w)
						 : ask(w, "convert.query");
	}
	return rc;
}

static int follow_with_signals(struct following *w)
{
	struct event_base *base = w->f->base;
	struct event *timer = evtimer_new(base, on_timer, w);
	struct event *interrupt = evsignal_new(base, SIGINT, on_signal, w);
	struct event *terminate = evsignal_new(base, SIGTERM, on_signal, w);
	int rc = UNREACHABLE;

	if (timer && interrupt && terminate && !event_add(interrupt, NULL) &&
	    !event_add(terminate, NULL))
		rc = follow(w, timer);
	if (timer)
		event_free(timer);
	if (interrupt)
		event_free(interrupt);
	if (terminate)
		event_free(terminate);
	return rc;
}

int ctl_follow(const struct ctl_follow *f, json_t *params, json_t **result)
{
	struct following w = { .f = f, .terminal = isatty(STDERR_FILENO) == 1 };
	int rc = f->ask(f->client, "convert.start", params, &w.last);

	if (rc)
		return rc;
	show(&w);
	rc = follow_with_signals(&w);
	if (!rc && strcmp(text(&w, "state"), "done")) {
		(void)fprintf(stderr, "codec-ctl: conversion %lld: %s%s%s\n",
			      (long long)json_integer_value(
				      json_object_get(w.last, "conversion")),
			      text(&w, "state"), *text(&w, "why") ? ": " : "",
			      text(&w, "why"));
		rc = FAILED;
	}
	if (rc)
		json_decref(w.last);
	else
		*result = w.last;
	return rc;
}
