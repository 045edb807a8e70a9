/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packets of payload types that nobody named.
 */
#include "rtp/payload_types.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PACKETS_MASK ((UINT64_C(1) << 56) - 1)

static uint64_t get_unknown(const _Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

/* One thread writes. */
static void put_unknown(_Atomic uint64_t *n, uint64_t v)
{
	atomic_store_explicit(n, v, memory_order_relaxed);
}

void payload_unknown_count(struct payload_unknown *u, uint8_t pt)
{
	for (unsigned i = 0; i < PAYLOAD_UNKNOWN_TYPES; i++) {
		uint64_t n = get_unknown(&u->type[i]);

		if (!n)
			n = (uint64_t)(1u + (pt & 127u)) << 56;
		if (n >> 56 == 1u + (pt & 127u)) {
			put_unknown(&u->type[i], n + 1);
			return;
		}
	}
	put_unknown(&u->others, get_unknown(&u->others) + 1);
}

uint64_t payload_unknown_type(const struct payload_unknown *u, unsigned i,
			      uint8_t *pt)
{
	uint64_t n;

	if (i >= PAYLOAD_UNKNOWN_TYPES) {
		*pt = 255;
		return get_unknown(&u->others);
	}
	n = get_unknown(&u->type[i]);
	*pt = (uint8_t)((n >> 56) - 1);
	return n & PACKETS_MASK;
}

const char *payload_unknown_text(const struct payload_unknown *u, char *buf,
				 size_t size)
{
	size_t at = 0;
	uint8_t pt;

	buf[0] = '\0';
	for (unsigned i = 0; i <= PAYLOAD_UNKNOWN_TYPES && at < size; i++) {
		unsigned long long n = payload_unknown_type(u, i, &pt);
		const char *comma = at ? ", " : "";
		int more = 0;

		if (n && pt < 128)
			more = snprintf(buf + at, size - at,
					"%s%llu of type %u", comma, n, pt);
		else if (n)
			more = snprintf(buf + at, size - at, "%s%llu of others",
					comma, n);
		at += more > 0 ? (size_t)more : 0;
	}
	return buf;
}
