/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers take turns. How a message or a member of a batch is answered is
 * answer.c's.
 */
#include "rpc/fair_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/replies.h"
#include "rpc/weight.h"

/** A message that waits. */
struct message {
	STAILQ_ENTRY(message) next;
	size_t bytes;
	bool too_long; /**< it was, and is not here */
	char text[];
};

bool fair_queue_idle(const struct peer *p)
{
	return !p->batch.to && STAILQ_EMPTY(&p->waiting);
}

/* Replies that wait for others of their batch, bytes. */
static size_t unsent(const struct peer *p)
{
	const struct replies *to;
	size_t bytes = 0;

	LIST_FOREACH(to, &p->replies, link)
	bytes += to->bytes;
	return bytes;
}

/* May another message be begun? At most LATER_MAX look at the list. */
static bool may_begin(const struct peer *p)
{
	return p->nlater < LATER_MAX &&
	       (!p->nlater || unsent(p) < p->server->cfg.queue_max / 2);
}

/* It is heard again when nothing of it waits. */
static void hold(struct peer *p)
{
	bool held = !fair_queue_idle(p) || !may_begin(p);

	if (p->held == held || p->left)
		return;
	p->held = held;
	transport_hold(p->transport, p->assoc, held);
}

/* At the end of the round, if it has something that can go on. */
static void line_up(struct peer *p)
{
	struct rpc_server *s = p->server;
	const struct timeval now = { 0, 0 };

	if (p->in_turn || p->gone || fair_queue_idle(p) ||
	    (!p->batch.to && !may_begin(p)))
		return;
	/* a timer: an event made active would come before what can be read */
	if (TAILQ_EMPTY(&s->turns))
		(void)evtimer_add(s->turn, &now);
	TAILQ_INSERT_TAIL(&s->turns, p, turn);
	p->in_turn = true;
}

static void begin(struct peer *p, const char *text, size_t bytes)
{
	if (!text)
		answer_too_long(p);
	else
		answer(p, text, bytes);
}

/* Whether there is no end to what it says. A message counts as what it takes.
 */
static bool too_much(struct peer *p, size_t bytes)
{
	p->waiting_bytes += sizeof(struct message) + bytes;
	return p->waiting_bytes > p->server->cfg.queue_max;
}

static void keep(struct peer *p, const char *text, size_t bytes)
{
	struct message *m;

	if (too_much(p, bytes)) {
		peer_kill(p, "flooding");
		return;
	}
	m = malloc(sizeof(*m) + bytes);
	if (!m) {
		p->waiting_bytes -= sizeof(*m) + bytes;
		peer_unanswered(p);
		return;
	}
	m->bytes = bytes;
	m->too_long = !text;
	if (text)
		memcpy(m->text, text, bytes);
	STAILQ_INSERT_TAIL(&p->waiting, m, next);
	p->pending++;
	weight_look(p);
}

static struct message *next_waiting(struct peer *p)
{
	struct message *m = STAILQ_FIRST(&p->waiting);

	if (m) {
		STAILQ_REMOVE_HEAD(&p->waiting, next);
		p->waiting_bytes -= sizeof(*m) + m->bytes;
	}
	return m;
}

void fair_queue_take(struct peer *p, const char *text, size_t bytes)
{
	if (fair_queue_idle(p) && may_begin(p))
		begin(p, text, bytes);
	else
		keep(p, text, text ? bytes : 0);
	if (p->gone)
		return;
	line_up(p);
	hold(p);
}

static void drop_waiting(struct peer *p)
{
	struct message *m;

	while ((m = next_waiting(p))) {
		p->pending--;
		free(m);
	}
}

/* The next member, or the next message. */
static void serve(struct peer *p)
{
	struct message *m;

	if (p->batch.to) {
		answer_member(p);
		return;
	}
	if (p->said_bye || p->leaving) {
		drop_waiting(p);
		return;
	}
	m = next_waiting(p);
	if (!m) /* it was woken in the middle of its only request */
		return;
	begin(p, m->too_long ? NULL : m->text, m->bytes);
	peer_settled(p);
	free(m);
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval now = { 0, 0 };
	struct rpc_server *s = arg;
	struct peer *p = TAILQ_FIRST(&s->turns);

	(void)fd;
	(void)what;
	if (p) {
		TAILQ_REMOVE(&s->turns, p, turn);
		p->in_turn = false;
		if (!TAILQ_EMPTY(&s->turns))
			(void)evtimer_add(s->turn, &now);
	}
	if (p && !p->gone)
		serve(p);
	if (p && !p->gone) {
		line_up(p);
		hold(p);
		peer_rested(p);
	}
	peers_reap(s);
}

void fair_queue_reap_soon(struct rpc_server *s)
{
	const struct timeval now = { 0, 0 };

	(void)evtimer_add(s->turn, &now);
}

void fair_queue_wake(struct peer *p)
{
	if (p->gone)
		return;
	line_up(p);
	hold(p);
}

void fair_queue_drop(struct peer *p)
{
	struct replies *to = p->batch.to;

	if (p->in_turn)
		TAILQ_REMOVE(&p->server->turns, p, turn);
	p->in_turn = false;
	drop_waiting(p);
	if (!to)
		return;
	jsonrpc_doc_free(&p->batch.doc);
	p->batch = (struct batch){ 0 };
	replies_settle(to);
}

int fair_queue_open(struct rpc_server *s, struct cr_err *e)
{
	TAILQ_INIT(&s->turns);
	s->turn = evtimer_new(s->cfg.base, on_turn, s);
	return s->turn ? 0 : cr_fail(e, -ENOMEM, "out of memory for events");
}

void fair_queue_close(struct rpc_server *s)
{
	if (s->turn)
		event_free(s->turn);
	s->turn = NULL;
}
