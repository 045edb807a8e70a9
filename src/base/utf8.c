/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which octets are a character: the table of RFC 3629, section 4.
 */
#include "base/utf8.h"

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

unsigned utf8_code(const char *text, size_t octets)
{
	/* of the first octet, without the marks of how many there are */
	static const unsigned char bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned code = (unsigned char)*text & bits[octets];

	for (size_t i = 1; i < octets; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return code;
}
