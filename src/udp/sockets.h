/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of an inlet by key. A key names a place and its generation, so
 * that what comes late for a socket that was removed finds nothing, not its
 * successor.
 *
 * Thread rule: one thread adds and removes, another one looks up, without a
 * lock.
 */
#ifndef UDP_SOCKETS_H
#define UDP_SOCKETS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define SOCKETS_CHUNK 1024u
#define SOCKETS_CHUNKS 1024u

struct sockets_place;

/** Zero is empty. */
struct sockets {
	struct sockets_place *_Atomic chunk[SOCKETS_CHUNKS];
	/* the thread that adds */
	uint32_t used; /**< places that were ever taken          */
	uint32_t free; /**< the first of the free ones, plus one */
};

/** What is known of a socket. */
struct sockets_entry {
	int fd;
	uint64_t tag;
};

/** 0 with *@key, which is never 0, or -ENOMEM. */
int sockets_add(struct sockets *s, const struct sockets_entry *entry,
		uint64_t *key);
/** @key was added and not removed. */
void sockets_del(struct sockets *s, uint64_t key);
/** False: it was removed. */
bool sockets_find(const struct sockets *s, uint64_t key,
		  struct sockets_entry *entry);
/** Free the memory. */
void sockets_fini(struct sockets *s);

#endif
