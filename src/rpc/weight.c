/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sum over all peers. What a Unix socket has sent on since the last look is
 * in it until the next one, so before anybody is let go all are looked at.
 */
#include "rpc/weight.h"

#include "rpc/replies.h"
#include "rpc/fair_queue.h"

/* Who is gone is freed when the event is done: that is no more to wait for. */
static size_t held_by(const struct peer *p)
{
	size_t bytes = p->in.size + p->waiting_bytes + p->batch.weight +
		       replies_weight(p) + p->out.bytes;

	if (p->gone)
		return 0;
	return p->left ? bytes
		       : bytes + transport_queued(p->transport, p->assoc);
}

static void weigh(struct peer *p)
{
	size_t now = held_by(p);

	p->server->weight += now - p->weight;
	p->weight = now;
}

static struct peer *heaviest(const struct rpc_server *s)
{
	struct peer *p, *most = NULL;

	TAILQ_FOREACH (p, &s->peers, all)
		if (!p->gone && p->weight &&
		    (!most || p->weight > most->weight))
			most = p;
	return most;
}

/* It may be in the middle of a request: it is freed when that is done. */
static void let_go(struct peer *p)
{
	p->server->count.peers_crowded++;
	peer_kill(p, "crowded");
	weigh(p);
	fair_queue_reap_soon(p->server);
}

size_t weight_of_all(struct rpc_server *s)
{
	struct peer *p;

	TAILQ_FOREACH (p, &s->peers, all)
		weigh(p);
	return s->weight;
}

void weight_look(struct peer *p)
{
	struct rpc_server *s = p->server;
	struct peer *each;

	weigh(p);
	if (s->weight <= s->cfg.total_max ||
	    weight_of_all(s) <= s->cfg.total_max)
		return;
	while (s->weight > s->cfg.total_max && (each = heaviest(s)))
		let_go(each);
}

void weight_forget(struct peer *p)
{
	p->server->weight -= p->weight;
	p->weight = 0;
}
