/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker's thread works with: scratch memory, packets that wait, the
 * trace ring of its place. Who has which is src/recovery's business. They are
 * never freed while the node lives: the histograms in them count.
 */
#include <stdlib.h>
#include <string.h>

#include "node/node_impl.h"

struct recovery_context *node_context_new(void *arg)
{
	const struct node *n = arg;
	struct node_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	transcode_init(&ctx->turn, n->send_io);
	ctx->turn.table = n->table;
	if (n->cfg.quota_burst)
		ctx->turn.quota_burst = n->cfg.quota_burst;
	return &ctx->seat;
}

void node_context_free(void *arg, struct recovery_context *seat)
{
	struct node_context *ctx = node_context_of(seat);

	(void)arg;
	transcode_fini(&ctx->turn);
	free(ctx);
}

/* Whether its packets may wait is as it was; control alone writes that. */
void node_context_for(void *arg, struct recovery_context *seat, unsigned place,
		      const struct recovery_context *before)
{
	const struct node *n = arg;
	const struct node_context *was = (const void *)before;
	struct transcode_worker *w = &node_context_of(seat)->turn;

	w->fd = n->fd[place % n->nfd]; /* any has the address */
	w->trace = trace_ring(n->trace, place);
	w->state = TRANSCODE_AT_WORK;
	w->batching = was && was->turn.batching;
}

void node_histograms(const struct node *n, struct histogram *delay,
		     struct histogram *jitter)
{
	memset(delay, 0, sizeof(*delay));
	memset(jitter, 0, sizeof(*jitter));
	for (unsigned i = 0; i < recovery_ncontexts(n->recovery); i++) {
		struct recovery_context *seat = recovery_used(n->recovery, i);

		if (!seat)
			continue;
		histogram_merge(delay, &node_context_of(seat)->turn.delay);
		histogram_merge(jitter, &node_context_of(seat)->turn.jitter);
	}
}
