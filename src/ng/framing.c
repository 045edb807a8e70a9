/* SPDX-License-Identifier: Apache-2.0 */
/*
 *   BEFORE -> COOKIE -> BEGIN -+-> ITEM <-> INTEGER, LENGTH -> OCTETS -+-> END
 *                              +-> JSON <-> STRING <-> ESCAPE ---------+
 *
 * and from all but END to LOST.
 */
#include "ng/framing.h"

#include <stdbool.h>
#include <string.h>

#include "ng/message.h"

static enum framing_state lose_framing(struct framing *f, const char *why)
{
	f->why = why;
	return FRAMING_LOST;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static enum framing_state end_one(struct framing *f, enum framing_state in)
{
	return --f->depth ? in : FRAMING_END;
}

static enum framing_state item(struct framing *f, char c)
{
	if (digit(c)) {
		f->left = (size_t)(c - '0');
		return FRAMING_LENGTH;
	}
	switch (c) {
	case 'd':
	case 'l':
		f->depth++;
		return FRAMING_ITEM;
	case 'i':
		return FRAMING_INTEGER;
	case 'e':
		return end_one(f, FRAMING_ITEM);
	default:
		return lose_framing(f,
				    "bencode: neither d, l, i, e nor a length");
	}
}

static enum framing_state json(struct framing *f, char c)
{
	switch (c) {
	case '"':
		return FRAMING_STRING;
	case '{':
	case '[':
		f->depth++;
		return FRAMING_JSON;
	case '}':
	case ']':
		return end_one(f, FRAMING_JSON);
	default:
		return FRAMING_JSON;
	}
}

static enum framing_state string(char c)
{
	if (c == '"')
		return FRAMING_JSON;
	return c == '\\' ? FRAMING_ESCAPE : FRAMING_STRING;
}

static enum framing_state next_state(struct framing *f, char c)
{
	switch (f->state) {
	case FRAMING_BEFORE:
	case FRAMING_COOKIE:
		if (c == ' ' && f->bytes > 1)
			return FRAMING_BEGIN;
		if (c <= ' ' || c > '~' || f->bytes > NG_COOKIE_MAX)
			return lose_framing(f, "no cookie and space");
		return FRAMING_COOKIE;
	case FRAMING_BEGIN:
		f->depth = 1;
		if (c == '{')
			return FRAMING_JSON;
		if (c == 'd')
			return FRAMING_ITEM;
		return lose_framing(f, "no dictionary behind the cookie");
	case FRAMING_ITEM:
		return item(f, c);
	case FRAMING_INTEGER:
		if (c == 'e')
			return FRAMING_ITEM;
		return c == '-' || digit(c)
			       ? FRAMING_INTEGER
			       : lose_framing(f, "bencode: no number behind i");
	case FRAMING_LENGTH:
		if (c == ':')
			return f->left ? FRAMING_OCTETS : FRAMING_ITEM;
		if (!digit(c))
			return lose_framing(
				f, "bencode: no colon behind a length");
		f->left = f->left * 10 + (size_t)(c - '0');
		return f->left <= NG_BYTES_MAX
			       ? FRAMING_LENGTH
			       : lose_framing(
					 f,
					 "bencode: a string that is too long");
	case FRAMING_OCTETS:
		return --f->left ? FRAMING_OCTETS : FRAMING_ITEM;
	case FRAMING_JSON:
		return json(f, c);
	case FRAMING_STRING:
		return string(c);
	case FRAMING_ESCAPE:
		return FRAMING_STRING;
	case FRAMING_END:
	case FRAMING_LOST:
		break;
	}
	return f->state;
}

enum framing_is framing_feed(struct framing *f, const char *text, size_t bytes,
			     size_t *used)
{
	size_t n = 0;

	if (f->state == FRAMING_END)
		*f = (struct framing){ .state = FRAMING_BEFORE };
	while (n < bytes && f->state == FRAMING_BEFORE && blank(text[n]))
		n++;
	while (n < bytes && f->state < FRAMING_END) {
		f->bytes++;
		f->state =
			f->bytes > NG_BYTES_MAX
				? lose_framing(f, "a message that is too long")
				: next_state(f, text[n]);
		n++;
	}
	*used = n;
	if (f->state == FRAMING_END)
		return FRAMING_DONE;
	return f->state == FRAMING_LOST ? FRAMING_BROKEN : FRAMING_MORE;
}
