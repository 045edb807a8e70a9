/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of others, shown to people: characters that do more than stand there.
 * Pure.
 */
#ifndef BASE_DISARM_H
#define BASE_DISARM_H

#include <stdbool.h>
#include <stddef.h>

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
