/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The meaning of the payload types of one endpoint (RTP/AVP, RFC 3551; given
 * out by SDP): speech of one of the endpoint's codecs, or nothing. And how many
 * packets came with types that stand for nothing.
 *
 * A table is made once, then it is constant: any thread may read it, and an
 * endpoint whose types change gets another one. It knows codecs by their place
 * in the endpoint's list only; how they are configured is said there.
 */
#ifndef RTP_PAYLOAD_TYPES_H
#define RTP_PAYLOAD_TYPES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"

/** Codecs of an endpoint. */
#define PAYLOAD_TYPES_CODECS 64u

enum payload_type_kind {
	PAYLOAD_TYPE_NOTHING,
	PAYLOAD_TYPE_SPEECH /**< index: in the endpoint's list of codecs */
};

/** Zero is "nothing". */
struct payload_types {
	uint8_t what[128]; /**< kind in the upper two bits, then index */
};

/**
 * Say what type @pt stands for. It is refused, with a text in @e and the table
 * as it was,
 *   -ERANGE  above 127, or a codec's place that is PAYLOAD_TYPES_CODECS or more
 *   -EINVAL  from 64 to 95: with a marker these look like RTCP, which uses 72
 *            to 76 (RFC 5761, 4)
 *   -EEXIST  when it stands for something already
 */
int payload_types_add_speech(struct payload_types *t, unsigned pt,
			     unsigned codec, struct cr_err *e);

/** The meaning of @pt (0..127), to be taken apart by the next two: 0 means
 * nothing. For every packet. */
static inline unsigned payload_types_find(const struct payload_types *t,
					  uint8_t pt)
{
	return t->what[pt & 127u];
}

static inline enum payload_type_kind payload_type_kind(unsigned what)
{
	return (enum payload_type_kind)(what >> 6);
}

/** Of speech: the place in the endpoint's list of codecs. */
static inline unsigned payload_type_codec(unsigned what)
{
	return what & 63u;
}

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
