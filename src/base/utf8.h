/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 (RFC 3629); and text of others, shown to people: characters that do
 * more than stand there. Pure.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/** Octets of the character that begins at @text, of which @n are left: 1 to 4;
 * or 0: what is there is none (a stray octet, a cut one, an overlong form, a
 * surrogate, or beyond U+10FFFF), or @n is 0. */
size_t utf8_length(const char *text, size_t n);

/** Each octet of @text that is no UTF-8 becomes '?'. */
void utf8_mark(char *text);

/** The code of the character of @octets octets (utf8_length()) at @text. */
unsigned utf8_code(const char *text, size_t octets);

/** Has text no use for the octet @c, as it is a control character of ASCII,
 * and no tab? Octets of longer characters are none. */
static inline bool utf8_is_control(char c)
{
	return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

/**
 * Is the character that begins at @text, of which @n > 0 octets are left,
 * harmless where lines are read, by people on terminals, too? No: C0 and C1
 * controls (a terminal acts on them), what ends a line or a paragraph, what
 * turns the direction of writing (Unicode's Bidi_Control, so that a line looks
 * like another one), and what is not UTF-8. *@octets: how many it has.
 */
bool disarm_is_harmless(const char *text, size_t n, size_t *octets);

/** Are all of @text? */
bool disarm_is_needless(const char *text);

/** Each of them that is not becomes '?'. */
void disarm(char *text);

#endif
