/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload types of a party that a relay passes on, as both sides have
 * agreed on them, and what the other side knows them by. Signalling says them;
 * without it a relay goes by the types of the two codecs.
 */
#ifndef MEDIA_PASSED_H
#define MEDIA_PASSED_H

#include <stdbool.h>
#include <stdint.h>

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
