/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which characters do harm.
 */
#include "base/disarm.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

/* In order. */
static const struct {
	uint_least16_t first, last;
} harmful[] = {
	{ 0x0000, 0x001f }, /* C0 */
	{ 0x007f, 0x009f }, /* DEL, C1: U+009B begins a command */
	{ 0x061c, 0x061c }, /* Bidi_Control: a mark */
	{ 0x200e, 0x200f }, /* two more */
	{ 0x2028, 0x202e }, /* separators; embeddings, overrides */
	{ 0x2066, 0x2069 }, /* isolates */
};

bool disarm_is_harmless(const char *text, size_t n, size_t *octets)
{
	size_t len = utf8_length(text, n);
	unsigned code;

	*octets = len ? len : 1;
	if (!len)
		return false;
	code = utf8_code(text, len);
	for (unsigned i = 0; i < sizeof(harmful) / sizeof(harmful[0]); i++)
		if (code >= harmful[i].first && code <= harmful[i].last)
			return false;
	return true;
}

bool disarm_is_needless(const char *text)
{
	size_t n = strlen(text), octets;

	for (; n; text += octets, n -= octets)
		if (!disarm_is_harmless(text, n, &octets))
			return false;
	return true;
}

void disarm(char *text)
{
	size_t n = strlen(text), octets;
	char *to = text;

	for (; n; text += octets, n -= octets) {
		if (disarm_is_harmless(text, n, &octets)) {
			memmove(to, text, octets);
			to += octets;
		} else {
			*to++ = '?';
		}
	}
	*to = '\0';
}
