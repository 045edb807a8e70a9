/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A box of packets: a ring with one reader, and writers under a lock.
 */
#include "media/handover.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"

#define SLOTS 256u

struct slot {
	struct intake_packet packet; /* refers to the other two */
	struct sockaddr_storage from;
	uint8_t data[HANDOVER_BYTES];
};

struct handover {
	struct inlet *in;
	/* who puts */
	_Alignas(CACHE_LINE) pthread_mutex_t lock;
	atomic_uint head; /* release, pairs with handover_first() */
	/* the owner */
	_Alignas(CACHE_LINE) atomic_uint tail; /* release, with put() */
	_Alignas(CACHE_LINE) struct slot slot[SLOTS];
};

struct handover *handover_new(void)
{
	struct handover *h = aligned_alloc(CACHE_LINE, sizeof(*h));

	if (!h)
		return NULL;
	/* slots are written before they are read; untouched ones cost nothing
	 */
	memset(h, 0, offsetof(struct handover, slot));
	(void)pthread_mutex_init(&h->lock, NULL);
	return h;
}

void handover_free(struct handover *h)
{
	if (!h)
		return;
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
}

void handover_owned(struct handover *h, struct inlet *in)
{
	h->in = in;
}

static void copy(struct slot *s, const struct intake_packet *p)
{
	memcpy(s->data, p->data, p->bytes);
	s->from = *p->from;
	s->packet = *p;
	s->packet.data = s->data;
	s->packet.from = &s->from;
}

bool handover_put(struct handover *h, const struct intake_packet *p)
{
	unsigned head;
	bool room;

	(void)pthread_mutex_lock(&h->lock);
	head = atomic_load_explicit(&h->head, memory_order_relaxed);
	room = head - atomic_load_explicit(&h->tail, memory_order_acquire) <
	       SLOTS;
	if (room) {
		copy(&h->slot[head % SLOTS], p);
		atomic_store_explicit(&h->head, head + 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&h->lock);
	return room;
}

void handover_wake(struct handover *h)
{
	inlet_wake(h->in);
}

const struct intake_packet *handover_first(struct handover *h)
{
	unsigned tail = atomic_load_explicit(&h->tail, memory_order_relaxed);

	if (tail == atomic_load_explicit(&h->head, memory_order_acquire))
		return NULL;
	return &h->slot[tail % SLOTS].packet;
}

void handover_done(struct handover *h)
{
	unsigned tail = atomic_load_explicit(&h->tail, memory_order_relaxed);

	atomic_store_explicit(&h->tail, tail + 1, memory_order_release);
}
