/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of UDP addresses in a hash table, idle ones in order of age. Does no
 * input or output and does not know usrsctp.
 */
#include "transport/sctp_user_peers.h"

#include <netinet/in.h>
#include <stdlib.h>

#include "base/address.h"

enum { BUCKETS = 1024 };

LIST_HEAD(peer_chain, user_peer);
TAILQ_HEAD(peer_queue, user_peer);

static struct user_peer *table[PEERS_MAX + 1]; /* never freed: registered */
static unsigned used;
static struct peer_chain bucket[BUCKETS];
static struct peer_queue idle = TAILQ_HEAD_INITIALIZER(idle);
static unsigned nidle;

/* FNV-1a over address and port. */
static struct peer_chain *peer_bucket(const struct address *addr)
{
	const struct sockaddr_in6 *a6 = (const void *)&addr->sa;
	const struct sockaddr_in *a4 = (const void *)&addr->sa;
	bool v6 = addr->sa.ss_family == AF_INET6;
	const unsigned char *p =
		v6 ? (const void *)&a6->sin6_addr : (const void *)&a4->sin_addr;
	uint32_t h = UINT32_C(2166136261) ^ address_port(&addr->sa);

	for (unsigned i = 0; i < (v6 ? 16u : 4u); i++)
		h = (h ^ p[i]) * UINT32_C(16777619);
	return &bucket[h % BUCKETS];
}

struct user_peer *peers_find(const void *owner, const struct address *addr)
{
	struct user_peer *p;

	LIST_FOREACH(p, peer_bucket(addr), chain)
	{
		if (p->owner == owner && address_equal(&p->addr.sa, &addr->sa))
			return p;
	}
	return NULL;
}

static void idle_add(struct user_peer *p)
{
	TAILQ_INSERT_TAIL(&idle, p, idle);
	nidle++;
}

static void idle_del(struct user_peer *p)
{
	TAILQ_REMOVE(&idle, p, idle);
	nidle--;
}

struct user_peer *peers_get(void *owner, const struct address *addr,
			    bool *fresh)
{
	struct user_peer *p = peers_find(owner, addr);
	struct user_peer *oldest = TAILQ_FIRST(&idle);
	bool reuse = oldest && (!oldest->owner || nidle >= PEERS_IDLE_MAX ||
				used == PEERS_MAX);

	*fresh = false;
	if (p) {
		/* It shakes hands again: not the next one to lose its slot. */
		if (!p->held) {
			idle_del(p);
			idle_add(p);
		}
		return p;
	}
	if (!reuse && used == PEERS_MAX)
		return NULL;
	p = reuse ? oldest : calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	if (reuse) {
		idle_del(p);
		LIST_REMOVE(p, chain);
	} else {
		p->slot = ++used;
		table[p->slot] = p;
	}
	*fresh = !reuse;
	p->addr = *addr;
	p->owner = owner;
	LIST_INSERT_HEAD(peer_bucket(addr), p, chain);
	idle_add(p);
	return p;
}

struct user_peer *peers_at(unsigned slot)
{
	return slot >= 1 && slot <= used ? table[slot] : NULL;
}

void peers_hold(struct user_peer *p)
{
	if (!p->held++)
		idle_del(p);
}

void peers_release(struct user_peer *p)
{
	if (!--p->held)
		idle_add(p);
}

void peers_disown(const void *owner)
{
	for (unsigned i = 1; i <= used; i++) {
		struct user_peer *p = table[i];

		if (p->owner != owner)
			continue;
		if (!p->held)
			idle_del(p);
		p->held = 0;
		p->owner = NULL;
		TAILQ_INSERT_HEAD(&idle, p, idle);
		nidle++;
	}
}
