/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What threads work with: one context a place, and spares for those in the
 * place of stuck ones, made when they are needed.
 */
#include <errno.h>
#include <stdlib.h>

#include "recovery/state.h"

static struct recovery_context *context(const struct recovery *r, unsigned i)
{
	/* acquire, pairs with make() */
	return atomic_load_explicit(&r->context[i], memory_order_acquire);
}

static int make(struct recovery *r, unsigned i)
{
	const struct recovery_client *client = &r->cfg.client;
	struct recovery_context *c = client->context_new(client->arg);

	if (!c)
		return -ENOMEM;
	atomic_store_explicit(&r->context[i], c, memory_order_release);
	return 0;
}

static void put(struct recovery *r, unsigned place, unsigned i,
		const struct recovery_context *before)
{
	const struct recovery_client *client = &r->cfg.client;
	struct recovery_context *c = context(r, i);

	client->context_for(client->arg, c, place, before);
	r->at[place] = i;
	atomic_store_explicit(&c->busy, true, memory_order_relaxed);
}

int contexts_open(struct recovery *r)
{
	unsigned places = r->cfg.places;

	r->ncontexts = places + r->cfg.spares;
	r->context = calloc(r->ncontexts, sizeof(*r->context));
	r->at = calloc(places, sizeof(*r->at));
	if (!r->context || !r->at)
		return -ENOMEM;
	for (unsigned i = 0; i < places; i++) {
		if (make(r, i))
			return -ENOMEM;
		put(r, i, i, NULL);
	}
	return 0;
}

void contexts_close(struct recovery *r)
{
	const struct recovery_client *client = &r->cfg.client;

	for (unsigned i = 0; r->context && i < r->ncontexts; i++)
		if (context(r, i))
			client->context_free(client->arg, context(r, i));
	free(r->context);
	free(r->at);
}

int contexts_spare(struct recovery *r)
{
	for (unsigned i = 0; i < r->ncontexts; i++) {
		const struct recovery_context *c = context(r, i);

		/* acquire, pairs with recovery_leave() */
		if (c && !atomic_load_explicit(&c->busy, memory_order_acquire))
			return (int)i;
	}
	for (unsigned i = 0; i < r->ncontexts; i++)
		if (!context(r, i))
			return make(r, i) ? -ENOMEM : (int)i;
	return -EAGAIN;
}

void contexts_put(struct recovery *r, unsigned place, unsigned i)
{
	put(r, place, i, recovery_context(r, place));
}

struct recovery_context *recovery_context(const struct recovery *r,
					  unsigned place)
{
	return context(r, r->at[place]);
}

struct recovery_context *recovery_sit(struct recovery *r, unsigned place)
{
	struct recovery_context *c = recovery_context(r, place);

	/* a thread per task takes a place anew, on which another has sat */
	atomic_store_explicit(&c->busy, true, memory_order_relaxed);
	atomic_store_explicit(&c->used, true, memory_order_relaxed);
	return c;
}

void recovery_leave(struct recovery_context *c)
{
	/* release, pairs with contexts_spare() */
	atomic_store_explicit(&c->busy, false, memory_order_release);
}

struct recovery_context *recovery_used(const struct recovery *r, unsigned i)
{
	struct recovery_context *c = context(r, i);

	return c && atomic_load_explicit(&c->used, memory_order_relaxed) ? c
									 : NULL;
}

unsigned recovery_ncontexts(const struct recovery *r)
{
	return r->ncontexts;
}
