/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets go to.
 */
#include "media/destination.h"

#include <netinet/in.h>
#include <string.h>

#include "base/address.h"

_Static_assert(DESTINATION_WORDS * sizeof(uint64_t) >=
		       sizeof(struct sockaddr_in6),
	       "an address fits");

void destination_init(struct destination *w)
{
	memset(w, 0, sizeof(*w));
	(void)pthread_mutex_init(&w->lock, NULL);
}

void destination_fini(struct destination *w)
{
	(void)pthread_mutex_destroy(&w->lock);
}

/* Lock held: readers wait, or do not believe what they read. */
static unsigned begin_change(struct destination *w)
{
	unsigned version =
		atomic_load_explicit(&w->version, memory_order_relaxed);

	atomic_store_explicit(&w->version, version + 1, memory_order_relaxed);
	/* odd before the words change */
	atomic_thread_fence(memory_order_release);
	return version;
}

static void end_change(struct destination *w, unsigned version)
{
	/* release, pairs with look() */
	atomic_store_explicit(&w->version, version + 2, memory_order_release);
}

void destination_set(struct destination *w, const struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS] = { 0 };
	unsigned version;

	if (to->ss_family)
		memcpy(word, to, address_length(to));
	(void)pthread_mutex_lock(&w->lock);
	version = begin_change(w);
	for (unsigned i = 0; i < DESTINATION_WORDS; i++)
		atomic_store_explicit(&w->word[i], word[i],
				      memory_order_relaxed);
	end_change(w, version);
	(void)pthread_mutex_unlock(&w->lock);
}

void destination_hold(struct destination *w, bool held)
{
	unsigned version;

	(void)pthread_mutex_lock(&w->lock);
	version = begin_change(w);
	atomic_store_explicit(&w->held, held, memory_order_relaxed);
	end_change(w, version);
	(void)pthread_mutex_unlock(&w->lock);
}

/* What is there, as a whole. False: it is written. */
static bool look(const struct destination *w, unsigned *version, bool *held,
		 uint64_t word[DESTINATION_WORDS])
{
	unsigned before =
		atomic_load_explicit(&w->version, memory_order_acquire);
	bool is_held;

	for (unsigned i = 0; i < DESTINATION_WORDS; i++)
		word[i] =
			atomic_load_explicit(&w->word[i], memory_order_relaxed);
	is_held = atomic_load_explicit(&w->held, memory_order_relaxed);
	/* the words before the second look */
	atomic_thread_fence(memory_order_acquire);
	if (before % 2 ||
	    before != atomic_load_explicit(&w->version, memory_order_relaxed))
		return false;
	*version = before;
	*held = is_held;
	return true;
}

bool destination_try(const struct destination *w, unsigned *version, bool *held,
		     struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS];

	if (!look(w, version, held, word))
		return false;
	memset(to, 0, sizeof(*to));
	if (!*held)
		memcpy(to, word, sizeof(word));
	return true;
}

unsigned destination_read(const struct destination *w,
			  struct sockaddr_storage *to)
{
	uint64_t word[DESTINATION_WORDS];
	unsigned version;
	bool held;

	while (!look(w, &version, &held, word))
		;
	memset(to, 0, sizeof(*to));
	memcpy(to, word, sizeof(word));
	return version;
}
