/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of "codec-ctl watch".
 */
#include "app/ctl/watch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ctl/page.h"
#include "app/ctl/watch_page.h"
#include "base/cli.h"
#include "rpc/jsonrpc.h"

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
