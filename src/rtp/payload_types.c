/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An endpoint's payload types, and the packets of those that nobody named. SDP
 * is not read here, and no codec is opened.
 */
#include "rtp/payload_types.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int payload_types_add_speech(struct payload_types *t, unsigned pt,
			     unsigned codec, struct cr_err *e)
{
	if (pt > 127)
		return cr_fail(e, -ERANGE,
			       "payload type %u is too large: use 0 to 63 or "
			       "96 to 127",
			       pt);
	if (pt >= 64 && pt <= 95)
		return cr_fail(e, -EINVAL,
			       "payload type %u cannot be told from RTCP (RFC "
			       "5761): use 0 to 63 or 96 to 127",
			       pt);
	if (t->what[pt])
		return cr_fail(e, -EEXIST,
			       "payload type %u is given twice: it is codec %u "
			       "of the list already",
			       pt, payload_type_codec(t->what[pt]));
	if (codec >= PAYLOAD_TYPES_CODECS)
		return cr_fail(
			e, -ERANGE,
			"payload type %u: an endpoint has at most %u codecs",
			pt, PAYLOAD_TYPES_CODECS);
	t->what[pt] = (uint8_t)((unsigned)PAYLOAD_TYPE_SPEECH << 6 | codec);
	return 0;
}

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
