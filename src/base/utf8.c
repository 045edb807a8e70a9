/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 (RFC 3629), and characters that do more than stand there. Pure.
 */
#include "base/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* First octets from @first to @last have @more behind them, the first of which
 * is from @low to @high; the others are from 0x80 to 0xbf. */
static const struct form {
	unsigned char first, last, more, low, high;
} forms[] = {
	{ 0x00, 0x7f, 0, 0, 0 },       { 0xc2, 0xdf, 1, 0x80, 0xbf },
	{ 0xe0, 0xe0, 2, 0xa0, 0xbf }, { 0xe1, 0xec, 2, 0x80, 0xbf },
	{ 0xed, 0xed, 2, 0x80, 0x9f }, { 0xee, 0xef, 2, 0x80, 0xbf },
	{ 0xf0, 0xf0, 3, 0x90, 0xbf }, { 0xf1, 0xf3, 3, 0x80, 0xbf },
	{ 0xf4, 0xf4, 3, 0x80, 0x8f },
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

static size_t length_as(const struct form *f, const unsigned char *s, size_t n)
{
	if (n <= f->more)
		return 0;
	if (f->more && (s[1] < f->low || s[1] > f->high))
		return 0;
	for (unsigned i = 2; i <= f->more; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return f->more + 1u;
}

size_t utf8_length(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;

	for (unsigned i = 0; n && i < FORMS; i++)
		if (s[0] >= forms[i].first && s[0] <= forms[i].last)
			return length_as(&forms[i], s, n);
	return 0;
}

void utf8_mark(char *text)
{
	size_t octets, left = strlen(text);

	for (; left; text += octets, left -= octets) {
		octets = utf8_length(text, left);
		if (octets)
			continue;
		*text = '?';
		octets = 1;
	}
}

unsigned utf8_code(const char *text, size_t octets)
{
	/* of the first octet, without the marks of how many there are */
	static const unsigned char bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned code = (unsigned char)*text & bits[octets];

	for (size_t i = 1; i < octets; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return code;
}

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
