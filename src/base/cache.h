/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Hints to the cache: memory that is about to be needed and was another core's,
 * or has been pushed out by what 1,000 calls need in between. Asked for
 * together, lines come together; met one by one, each is waited for.
 */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include <stddef.h>

/** Bytes that travel together, on x86-64 and most ARM. */
#define CACHE_LINE 64u

/** Fetch @bytes from @p on, to be written (or read). Never faults. */
static inline void cache_fetch(const void *p, size_t bytes)
{
	const char *end = (const char *)p + bytes;

	for (const char *at = p; at < end; at += CACHE_LINE)
		__builtin_prefetch(at, 1);
}

#endif
