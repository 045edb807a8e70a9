/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where packets go to.
 */
#include "media/way.h"

#include <netinet/in.h>
#include <string.h>

#include "base/address.h"

_Static_assert(WAY_WORDS * sizeof(uint64_t) >= sizeof(struct sockaddr_in6),
	       "an address fits");

void way_init(struct way *w)
{
	memset(w, 0, sizeof(*w));
	(void)pthread_mutex_init(&w->lock, NULL);
}

void way_fini(struct way *w)
{
	(void)pthread_mutex_destroy(&w->lock);
}

void way_set(struct way *w, const struct sockaddr_storage *to)
{
	uint64_t word[WAY_WORDS] = { 0 };
	unsigned version;

	if (to->ss_family)
		memcpy(word, to, address_length(to));
	(void)pthread_mutex_lock(&w->lock);
	version = atomic_load_explicit(&w->version, memory_order_relaxed);
	atomic_store_explicit(&w->version, version + 1, memory_order_relaxed);
	/* odd before the words change */
	atomic_thread_fence(memory_order_release);
	for (unsigned i = 0; i < WAY_WORDS; i++)
		atomic_store_explicit(&w->word[i], word[i],
				      memory_order_relaxed);
	/* release, pairs with way_read() */
	atomic_store_explicit(&w->version, version + 2, memory_order_release);
	(void)pthread_mutex_unlock(&w->lock);
}

bool way_try(const struct way *w, unsigned *version,
	     struct sockaddr_storage *to)
{
	uint64_t word[WAY_WORDS];
	unsigned before, after;

	before = atomic_load_explicit(&w->version, memory_order_acquire);
	for (unsigned i = 0; i < WAY_WORDS; i++)
		word[i] =
			atomic_load_explicit(&w->word[i], memory_order_relaxed);
	/* the words before the second look */
	atomic_thread_fence(memory_order_acquire);
	after = atomic_load_explicit(&w->version, memory_order_relaxed);
	if (before != after || before % 2)
		return false;
	memset(to, 0, sizeof(*to));
	memcpy(to, word, sizeof(word));
	*version = before;
	return true;
}

unsigned way_read(const struct way *w, struct sockaddr_storage *to)
{
	unsigned version;

	while (!way_try(w, &version, to))
		;
	return version;
}
