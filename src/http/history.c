/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of a node in a ring, and the timer that takes them.
 */
#include "http/history.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

struct sample {
	cr_ns at; /* since the node began */
	unsigned calls;
	unsigned long long lost;
	double busy;
};

struct history {
	struct service *service;
	struct event *timer;
	cr_ns at, busy; /* of the sample before */
	unsigned count; /* ever taken */
	struct sample ring[HISTORY_SAMPLES];
};

static cr_ns busy_of(const struct node_stats *s)
{
	cr_ns sum = 0;

	for (unsigned i = 0; i < s->nworkers; i++)
		sum += s->workers[i].busy;
	return sum;
}

static void take(evutil_socket_t fd, short what, void *arg)
{
	static struct node_stats s; /* no stack's */
	struct history *h = arg;
	cr_ns busy, passed;

	(void)fd, (void)what;
	node_stats(service_node(h->service), &s);
	busy = busy_of(&s);
	passed = (s.uptime - h->at) * s.nworkers;
	h->ring[h->count++ % HISTORY_SAMPLES] = (struct sample){
		.at = s.uptime,
		.calls = s.calls,
		.lost = s.lost,
		.busy = passed > 0 ? (double)(busy - h->busy) / (double)passed
				   : 0,
	};
	h->at = s.uptime;
	h->busy = busy;
}

int history_open(struct history **out, struct event_base *base,
		 struct service *service)
{
	const struct timeval step = { HISTORY_STEP / CR_SEC, 0 };
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->service = service;
	h->timer = event_new(base, -1, EV_PERSIST, take, h);
	if (!h->timer || event_add(h->timer, &step)) {
		history_close(h);
		return -ENOMEM;
	}
	*out = h;
	return 0;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	if (h->timer)
		event_free(h->timer);
	free(h);
}

json_t *history_json(const struct history *h)
{
	unsigned n = h->count < HISTORY_SAMPLES ? h->count : HISTORY_SAMPLES;
	json_t *list = json_array();

	for (unsigned i = h->count - n; i != h->count; i++) {
		const struct sample *s = &h->ring[i % HISTORY_SAMPLES];

		(void)json_array_append_new(
			list, json_pack("{s:f,s:I,s:I,s:f}", "at",
					(double)s->at / 1e9, "calls",
					(json_int_t)s->calls, "lost",
					(json_int_t)s->lost, "busy",
					s->busy < 1 ? s->busy : 1.0));
	}
	return list;
}
