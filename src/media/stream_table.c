/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls by SSRC. SSRCs are random numbers that peers may choose, so they
 * are mixed before they select a bucket.
 */
#include "media/stream_table.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"

enum { FEWEST = 1024, MOST = 1 << 20 };

struct stream_table {
	struct cds_lfht *ht;
	_Atomic uint64_t removals;
};

static unsigned long mix_ssrc(uint32_t ssrc)
{
	uint64_t h = ssrc;

	/* finaliser of splitmix64: every input bit reaches every output bit */
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (unsigned long)(h ^ (h >> 31));
}

static int match(struct cds_lfht_node *node, const void *key)
{
	struct transcoder *c = caa_container_of(node, struct transcoder, node);

	/* acquire, pairs with stream_table_add() */
	return atomic_load_explicit(&c->key, memory_order_acquire) ==
	       *(const uint32_t *)key;
}

struct stream_table *stream_table_new(unsigned calls)
{
	/* Of a size that stays: to grow, the library has a thread of its own,
	 * and aborts when there is no memory. A bucket has 16 bytes. */
	unsigned long n = FEWEST;
	struct stream_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	while (n < calls && n < MOST)
		n *= 2;
	if (memory_there(2 * n * sizeof(struct cds_lfht_node)))
		t->ht = cds_lfht_new(n, n, n, 0, NULL);
	if (!t->ht) {
		free(t);
		return NULL;
	}
	return t;
}

void stream_table_free(struct stream_table *t)
{
	if (!t)
		return;
	CR_ASSERT(!cds_lfht_destroy(t->ht, NULL));
	free(t);
}

int stream_table_add(struct stream_table *t, struct transcoder *c)
{
	struct cds_lfht_node *found;

	cds_lfht_node_init(&c->node);
	/* release, pairs with match() */
	atomic_store_explicit(&c->key, c->ssrc_in, memory_order_release);
	rcu_read_begin();
	found = cds_lfht_add_unique(t->ht, mix_ssrc(c->ssrc_in), match,
				    &c->ssrc_in, &c->node);
	rcu_read_end();
	return found == &c->node ? 0 : -EEXIST;
}

void stream_table_del(struct stream_table *t, struct transcoder *c)
{
	rcu_read_begin();
	CR_ASSERT(!cds_lfht_del(t->ht, &c->node));
	rcu_read_end();
	/* release, pairs with stream_table_removals(); before the caller's
	 * grace period */
	atomic_fetch_add_explicit(&t->removals, 1, memory_order_release);
}

uint64_t stream_table_removals(const struct stream_table *t)
{
	return atomic_load_explicit(&t->removals, memory_order_acquire);
}

struct transcoder *stream_table_find(struct stream_table *t, uint32_t ssrc)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(t->ht, mix_ssrc(ssrc), match, &ssrc, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? caa_container_of(node, struct transcoder, node) : NULL;
}
