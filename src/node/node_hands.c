/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker's thread works with: scratch memory, packets that wait, the
 * trace ring of its place. A thread that is stuck in a codec keeps its own
 * until it ends; the one in its place gets a spare. They are never freed while
 * the node lives, so that liburcu's thread may look at all of them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/node_impl.h"

static struct node_hand *hand(const struct node *n, unsigned i)
{
	/* acquire, pairs with make() */
	return atomic_load_explicit(&n->hand[i], memory_order_acquire);
}

static int make(struct node *n, unsigned i)
{
	struct node_hand *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->turn.fd = n->fd;
	h->turn.table = n->table;
	atomic_store_explicit(&n->hand[i], h, memory_order_release);
	return 0;
}

static void sit_down(struct node *n, unsigned worker, unsigned i)
{
	struct node_hand *h = hand(n, i);

	n->at[worker] = i;
	h->turn.trace = trace_ring(n->trace, worker);
	atomic_store_explicit(&h->turn.state, TURN_AT_WORK,
			      memory_order_relaxed);
	atomic_store_explicit(&h->busy, true, memory_order_relaxed);
}

int node_open_hands(struct node *n, struct cr_err *e)
{
	n->nhands = n->nplaces + NODE_SPARES;
	n->hand = calloc(n->nhands, sizeof(*n->hand));
	n->at = calloc(n->nplaces, sizeof(*n->at));
	if (!n->hand || !n->at)
		return cr_fail(e, -ENOMEM, "out of memory for workers");
	for (unsigned w = 0; w < n->nplaces; w++) {
		if (make(n, w))
			return cr_fail(e, -ENOMEM, "out of memory for workers");
		sit_down(n, w, w);
	}
	return 0;
}

void node_close_hands(struct node *n)
{
	for (unsigned i = 0; n->hand && i < n->nhands; i++)
		free(hand(n, i));
	free(n->hand);
	free(n->at);
}

struct node_hand *node_hand_at(struct node *n, unsigned worker)
{
	return hand(n, n->at[worker]);
}

void node_hand_free(struct node_hand *h)
{
	/* release, pairs with node_spare() */
	atomic_store_explicit(&h->busy, false, memory_order_release);
}

int node_spare(struct node *n)
{
	for (unsigned i = 0; i < n->nhands; i++) {
		const struct node_hand *h = hand(n, i);

		if (h && !atomic_load_explicit(&h->busy, memory_order_acquire))
			return (int)i;
	}
	for (unsigned i = 0; i < n->nhands; i++)
		if (!hand(n, i))
			return make(n, i) ? -ENOMEM : (int)i;
	return -EAGAIN;
}

void node_hand_over(struct node *n, unsigned worker, unsigned spare)
{
	bool together = atomic_load_explicit(
		&node_hand_at(n, worker)->turn.together, memory_order_relaxed);

	sit_down(n, worker, spare);
	turn_together(&node_hand_at(n, worker)->turn, together);
}

void node_forget_turns(struct node *n)
{
	for (unsigned i = 0; i < n->nhands; i++)
		if (hand(n, i))
			turn_forget(&hand(n, i)->turn);
}

void node_histograms(const struct node *n, struct histogram *delay,
		     struct histogram *jitter)
{
	memset(delay, 0, sizeof(*delay));
	memset(jitter, 0, sizeof(*jitter));
	for (unsigned i = 0; i < n->nhands; i++) {
		const struct node_hand *h = hand(n, i);

		if (!h || !atomic_load_explicit(&h->used, memory_order_relaxed))
			continue;
		histogram_merge(delay, &h->turn.delay);
		histogram_merge(jitter, &h->turn.jitter);
	}
}
