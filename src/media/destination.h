/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets go to: an address that may change while others send there.
 * Written seldom, by any thread under a lock of its own; read by those who send
 * without a lock (a seqlock).
 *
 * A way may be *held*: it leads where it did, but who sends by it keeps what he
 * has. Its address may change meanwhile.
 */
#ifndef MEDIA_DESTINATION_H
#define MEDIA_DESTINATION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/** Words that hold an address: that of IPv6 is the longest. */
#define DESTINATION_WORDS 4u

struct destination {
	pthread_mutex_t lock; /**< of those who write */
	/** Odd while it is written; 0: never was. */
	atomic_uint version;
	_Atomic uint64_t word[DESTINATION_WORDS];
	atomic_bool held; /**< changes with the version */
};

void destination_init(struct destination *w);
void destination_fini(struct destination *w);

/** From now on packets go to @to; family 0: nowhere. Any thread. */
void destination_set(struct destination *w, const struct sockaddr_storage *to);

/** From now on nothing is sent by it, or (@held false) again. Any thread. */
void destination_hold(struct destination *w, bool held);

/** Its address, held or not, family 0 if there is none, and the version of it.
 * Any thread; waits for who writes. */
unsigned destination_read(const struct destination *w,
			  struct sockaddr_storage *to);

/** What there is to send to, without waiting: for threads that may keep the
 * writer from its CPU. *@to has family 0 if there is no address, or *@held.
 * False, and nothing is read, while it is written. */
bool destination_try(const struct destination *w, unsigned *version, bool *held,
		     struct sockaddr_storage *to);

/** Has it changed since @version of it was read? Any thread. */
static inline bool destination_changed(const struct destination *w,
				       unsigned version)
{
	return atomic_load_explicit(&w->version, memory_order_acquire) !=
	       version;
}

#endif
