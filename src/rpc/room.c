/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has been silent for longest comes first in the list of peers.
 */
#include "rpc/room.h"

#include <string.h>

#include "base/clock.h"
#include "rpc/fair_queue.h"

enum { STRANGERS_MAX = 64 };

void room_enter(struct peer *p)
{
	p->heard = clock_now();
	TAILQ_INSERT_TAIL(&p->server->peers, p, all);
}

void room_heard(struct peer *p)
{
	if (p->pub.stranger)
		return;
	TAILQ_REMOVE(&p->server->peers, p, all);
	room_enter(p);
	p->asked = true;
}

void room_bound_strangers(struct rpc_server *s)
{
	struct peer *p, *first = NULL;
	unsigned n = 0;

	TAILQ_FOREACH (p, &s->peers, all) {
		if (!p->pub.stranger || p->gone)
			continue;
		if (!n++)
			first = p;
	}
	if (n <= STRANGERS_MAX)
		return;
	s->count.peers_silent++;
	peer_kill(first, "silent");
}

static bool may_go(const struct peer *p)
{
	const struct rpc_server_config *cfg = &p->server->cfg;

	if (p->gone || p->pending || !fair_queue_idle(p))
		return false;
	if (p->asked && transport_sees_ends(p->transport))
		return false;
	return cfg->peer_idle && cfg->peer_idle(cfg->arg, &p->pub);
}

bool room_make(struct rpc_server *s, const struct transport *t,
	       const char *host)
{
	cr_ns since = clock_now() - s->cfg.silence;
	struct peer *p;

	TAILQ_FOREACH (p, &s->peers, all) {
		if (p->heard > since)
			return false; /* and so are those behind it */
		if ((t && p->transport != t) ||
		    (host && strcmp(p->host, host) != 0) || !may_go(p))
			continue;
		s->count.peers_silent++;
		peer_kill(p, "silent");
		peers_reap(s);
		return true;
	}
	return false;
}
