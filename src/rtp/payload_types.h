/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload types of one endpoint (RTP/AVP, RFC 3551; given out by SDP): how many
 * packets came with types that stand for nothing, and which types are passed on
 * to another endpoint. What a type stands for: media/rtp_stream.h.
 */
#ifndef RTP_PAYLOAD_TYPES_H
#define RTP_PAYLOAD_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Types that are counted one by one; further ones are counted together. */
#define PAYLOAD_UNKNOWN_TYPES 8u

/** Packets of types that stand for nothing. Zero is none. One thread counts,
 * any thread reads. */
struct payload_unknown {
	/** 1 + type in the upper octet, then packets; 0: free. */
	_Atomic uint64_t type[PAYLOAD_UNKNOWN_TYPES];
	_Atomic uint64_t others;
};

void payload_unknown_count(struct payload_unknown *u, uint8_t pt);

/** The @i-th type, in the order in which they came first: returns its packets
 * and sets *@pt; 0: there is none. @i == PAYLOAD_UNKNOWN_TYPES: further ones
 * together, *@pt = 255. */
uint64_t payload_unknown_type(const struct payload_unknown *u, unsigned i,
			      uint8_t *pt);

/** Enough for any text of the next one. */
#define PAYLOAD_UNKNOWN_TEXT 384u

/** Write "12 of type 96, 3 of type 101, 2 of others" to @buf, cut at @size;
 * empty: none. Returns @buf. */
const char *payload_unknown_text(const struct payload_unknown *u, char *buf,
				 size_t size);

/* --- types that are passed on --- */

/** Types that one side passes on to the other, as both have agreed on them, and
 * what the other side knows them by. Signalling says them; without it one goes
 * by the types of the two codecs. */
#define PASSED_TYPES_MAX 64u

struct passed_types {
	unsigned n; /**< 0: nobody has said */
	struct passed_type {
		uint8_t pt, as;
		uint32_t clock; /**< of speech, Hz; 0: it travels among that */
	} one[PASSED_TYPES_MAX];
};

static inline bool passed_has(const struct passed_types *p, uint8_t pt)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->one[i].pt == pt)
			return true;
	return false;
}

#endif
