/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker's thread works with: scratch memory, packets that wait, the
 * trace ring of its place. A thread that is stuck in a codec keeps its own
 * until it ends; the one in its place gets a spare. They are never freed while
 * the node lives: the histograms in them count.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/node_impl.h"

static struct node_context *context(const struct node *n, unsigned i)
{
	/* acquire, pairs with make() */
	return atomic_load_explicit(&n->context[i], memory_order_acquire);
}

static int make(struct node *n, unsigned i)
{
	struct node_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return -ENOMEM;
	turn_init(&ctx->turn);
	ctx->turn.fd = n->fd;
	ctx->turn.table = n->table;
	atomic_store_explicit(&n->context[i], ctx, memory_order_release);
	return 0;
}

static void sit_down(struct node *n, unsigned worker, unsigned i)
{
	struct node_context *ctx = context(n, i);

	n->at[worker] = i;
	ctx->turn.trace = trace_ring(n->trace, worker);
	ctx->turn.state = TURN_AT_WORK;
	atomic_store_explicit(&ctx->busy, true, memory_order_relaxed);
}

int node_open_contexts(struct node *n, struct cr_err *e)
{
	n->ncontexts = n->nplaces + NODE_SPARES;
	n->context = calloc(n->ncontexts, sizeof(*n->context));
	n->at = calloc(n->nplaces, sizeof(*n->at));
	if (!n->context || !n->at)
		return cr_fail(e, -ENOMEM, "out of memory for workers");
	for (unsigned w = 0; w < n->nplaces; w++) {
		if (make(n, w))
			return cr_fail(e, -ENOMEM, "out of memory for workers");
		sit_down(n, w, w);
	}
	return 0;
}

void node_close_contexts(struct node *n)
{
	for (unsigned i = 0; n->context && i < n->ncontexts; i++) {
		struct node_context *ctx = context(n, i);

		if (ctx)
			turn_fini(&ctx->turn);
		free(ctx);
	}
	free(n->context);
	free(n->at);
}

struct node_context *node_context_at(struct node *n, unsigned worker)
{
	return context(n, n->at[worker]);
}

void node_context_free(struct node_context *ctx)
{
	/* release, pairs with node_spare() */
	atomic_store_explicit(&ctx->busy, false, memory_order_release);
}

int node_spare(struct node *n)
{
	for (unsigned i = 0; i < n->ncontexts; i++) {
		const struct node_context *ctx = context(n, i);

		if (ctx &&
		    !atomic_load_explicit(&ctx->busy, memory_order_acquire))
			return (int)i;
	}
	for (unsigned i = 0; i < n->ncontexts; i++)
		if (!context(n, i))
			return make(n, i) ? -ENOMEM : (int)i;
	return -EAGAIN;
}

void node_context_replace(struct node *n, unsigned worker, unsigned spare)
{
	/* control's alone to write */
	bool batching = node_context_at(n, worker)->turn.batching;

	sit_down(n, worker, spare);
	node_context_at(n, worker)->turn.batching = batching;
}

void node_histograms(const struct node *n, struct histogram *delay,
		     struct histogram *jitter)
{
	memset(delay, 0, sizeof(*delay));
	memset(jitter, 0, sizeof(*jitter));
	for (unsigned i = 0; i < n->ncontexts; i++) {
		const struct node_context *ctx = context(n, i);

		if (!ctx ||
		    !atomic_load_explicit(&ctx->used, memory_order_relaxed))
			continue;
		histogram_merge(delay, &ctx->turn.delay);
		histogram_merge(jitter, &ctx->turn.jitter);
	}
}
