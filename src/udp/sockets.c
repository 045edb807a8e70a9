/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of an inlet by key. Places lie in chunks that never move. A place
 * is written like a seqlock's data: its generation is odd while it is taken,
 * and a reader that saw it change has read nothing.
 */
#include "udp/sockets.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assert.h"

struct sockets_place {
	atomic_uint generation; /* odd: taken */
	atomic_int fd;
	_Atomic uint64_t tag;
	uint32_t next; /* of the free ones, plus one; who adds */
};

static struct sockets_place *socket_place_at(const struct sockets *s,
					     uint32_t index)
{
	/* acquire, pairs with fresh() */
	struct sockets_place *chunk = atomic_load_explicit(
		&s->chunk[index / SOCKETS_CHUNK], memory_order_acquire);

	return &chunk[index % SOCKETS_CHUNK];
}

/* A place that was never taken. */
static struct sockets_place *fresh(struct sockets *s, uint32_t *index)
{
	uint32_t n = s->used / SOCKETS_CHUNK;

	if (n == SOCKETS_CHUNKS)
		return NULL;
	if (s->used % SOCKETS_CHUNK == 0) {
		struct sockets_place *chunk =
			calloc(SOCKETS_CHUNK, sizeof(*chunk));

		if (!chunk)
			return NULL;
		atomic_store_explicit(&s->chunk[n], chunk,
				      memory_order_release);
	}
	*index = s->used++;
	return socket_place_at(s, *index);
}

static struct sockets_place *take_socket_place(struct sockets *s,
					       uint32_t *index)
{
	struct sockets_place *p;

	if (!s->free)
		return fresh(s, index);
	*index = s->free - 1;
	p = socket_place_at(s, *index);
	s->free = p->next;
	return p;
}

int sockets_add(struct sockets *s, const struct sockets_entry *entry,
		uint64_t *key)
{
	uint32_t index;
	struct sockets_place *p = take_socket_place(s, &index);
	unsigned generation;

	if (!p)
		return -ENOMEM;
	generation =
		atomic_load_explicit(&p->generation, memory_order_relaxed) + 1;
	/* after the removal's store of the generation, for readers */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&p->fd, entry->fd, memory_order_relaxed);
	atomic_store_explicit(&p->tag, entry->tag, memory_order_relaxed);
	/* release, pairs with sockets_find() */
	atomic_store_explicit(&p->generation, generation, memory_order_release);
	*key = (uint64_t)generation << 32 | index;
	return 0;
}

void sockets_del(struct sockets *s, uint64_t key)
{
	uint32_t index = (uint32_t)key;
	struct sockets_place *p = socket_place_at(s, index);
	unsigned generation = (unsigned)(key >> 32);

	CR_ASSERT(atomic_load_explicit(&p->generation, memory_order_relaxed) ==
		  generation);
	atomic_store_explicit(&p->generation, generation + 1,
			      memory_order_relaxed);
	p->next = s->free;
	s->free = index + 1;
}

bool sockets_find(const struct sockets *s, uint64_t key,
		  struct sockets_entry *entry)
{
	const struct sockets_place *p = socket_place_at(s, (uint32_t)key);
	unsigned generation = (unsigned)(key >> 32);

	if (atomic_load_explicit(&p->generation, memory_order_acquire) !=
	    generation)
		return false;
	entry->fd = atomic_load_explicit(&p->fd, memory_order_relaxed);
	entry->tag = atomic_load_explicit(&p->tag, memory_order_relaxed);
	/* before the second look at the generation */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&p->generation, memory_order_relaxed) ==
	       generation;
}

void sockets_fini(struct sockets *s)
{
	for (unsigned i = 0; i < SOCKETS_CHUNKS; i++) {
		free(atomic_load_explicit(&s->chunk[i], memory_order_relaxed));
		atomic_store_explicit(&s->chunk[i], NULL, memory_order_relaxed);
	}
	s->used = 0;
	s->free = 0;
}
