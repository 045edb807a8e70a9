/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any stream, cut into pieces in any way: its messages are the same. What is
 * read as a message ends where framing says. The first octet is the length of
 * the pieces.
 */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "ng/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENDS_MAX = 1000 };

/* Where messages begin and end, and how it came out. */
struct seen {
	unsigned n;
	size_t begin[ENDS_MAX], end[ENDS_MAX];
	enum framing_is last;
	size_t bytes;
};

static void look(struct seen *s, const char *text, size_t size, size_t piece)
{
	struct framing f = { .state = FRAMING_BEFORE };
	size_t at = 0;

	*s = (struct seen){ .last = FRAMING_MORE };
	while (at < size && s->last != FRAMING_BROKEN && s->n < ENDS_MAX) {
		size_t n = size - at < piece ? size - at : piece, used;

		s->last = framing_feed(&f, text + at, n, &used);
		CR_ASSERT(used <= n && (used || s->last == FRAMING_BROKEN));
		CR_ASSERT(s->last != FRAMING_MORE || used == n);
		CR_ASSERT(f.bytes <= NG_BYTES_MAX + 1);
		CR_ASSERT((s->last == FRAMING_BROKEN) == (f.why != NULL));
		at += used;
		if (s->last != FRAMING_DONE)
			continue;
		CR_ASSERT(f.bytes <= at);
		s->begin[s->n] = at - f.bytes;
		s->end[s->n++] = at;
	}
	s->bytes = f.bytes;
}

static void check_same(const struct seen *a, const struct seen *b)
{
	CR_ASSERT(a->n == b->n && a->last == b->last && a->bytes == b->bytes);
	CR_ASSERT(!memcmp(a->begin, b->begin, a->n * sizeof(a->begin[0])));
	CR_ASSERT(!memcmp(a->end, b->end, a->n * sizeof(a->end[0])));
}

/* Behind JSON there may be blanks. */
static void check_message(const struct seen *s, const char *text, size_t size)
{
	struct ng_message m;

	if (ng_message_read(&m, text, size, NULL))
		return;
	CR_ASSERT(s->n == 1 && s->begin[0] == 0);
	for (size_t i = s->end[0]; i < size; i++)
		CR_ASSERT(m.encoding == NG_JSON && strchr(" \t\r\n", text[i]));
	ng_message_free(&m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seen whole, pieces;
	const char *text = (const char *)data + 1;

	if (!size)
		return 0;
	look(&whole, text, size - 1, size);
	look(&pieces, text, size - 1, (size_t)data[0] + 1);
	check_same(&whole, &pieces);
	check_message(&whole, text, size - 1);
	return 0;
}
