/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/rate_limit.h"

#include <bsd/sys/tree.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/address.h"

struct host {
	RB_ENTRY(host) by_address;
	TAILQ_ENTRY(host) by_use;
	struct in6_addr address;
	cr_ns full; /* when its bucket is full again */
};

RB_HEAD(host_tree, host);
TAILQ_HEAD(host_list, host);

struct rate_limit {
	struct rate_limit_cfg cfg;
	cr_ns each; /* ns of one request */
	struct host_tree tree;
	struct host_list uses; /* who asked longest ago first */
	unsigned n;
	struct host hosts[];
};

static int host_cmp(struct host *a, struct host *b)
{
	return memcmp(&a->address, &b->address, sizeof(a->address));
}

RB_PROTOTYPE(host_tree, host, by_address, host_cmp)
RB_GENERATE(host_tree, host, by_address, host_cmp)

struct rate_limit *rate_limit_new(const struct rate_limit_cfg *cfg)
{
	struct rate_limit *a =
		calloc(1, sizeof(*a) + cfg->hosts * sizeof(a->hosts[0]));

	if (!a)
		return NULL;
	a->cfg = *cfg;
	a->each = CR_SEC / cfg->per_second;
	RB_INIT(&a->tree);
	TAILQ_INIT(&a->uses);
	return a;
}

void rate_limit_free(struct rate_limit *a)
{
	free(a);
}

static struct host *make_host_room(struct rate_limit *a)
{
	struct host *h;

	if (a->n < a->cfg.hosts)
		return &a->hosts[a->n++];
	h = TAILQ_FIRST(&a->uses);
	(void)RB_REMOVE(host_tree, &a->tree, h);
	TAILQ_REMOVE(&a->uses, h, by_use);
	return h;
}

static struct host *host_of(struct rate_limit *a,
			    const struct sockaddr_storage *from)
{
	struct host key = { .address = address_mapped(from) };
	struct host *h = RB_FIND(host_tree, &a->tree, &key);

	if (h) {
		TAILQ_REMOVE(&a->uses, h, by_use);
	} else {
		h = make_host_room(a);
		*h = (struct host){ .address = key.address };
		(void)RB_INSERT(host_tree, &a->tree, h);
	}
	TAILQ_INSERT_TAIL(&a->uses, h, by_use);
	return h;
}

cr_ns rate_limit_take(struct rate_limit *a, const struct sockaddr_storage *from,
		      cr_ns now)
{
	struct host *h = host_of(a, from);
	cr_ns full = cr_ns_max(h->full, now) + a->each;
	cr_ns wait = full - now - a->cfg.burst * a->each;

	if (wait > 0)
		return wait;
	h->full = full;
	return 0;
}
