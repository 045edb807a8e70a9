/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Edit distance with swaps of neighbours (optimal string alignment) over short
 * names; longer words get no hint rather than memory.
 */
#include "base/nearest.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#define MAX_WORD 48u

static int lower_letter(const char *s, unsigned i)
{
	return tolower((unsigned char)s[i]);
}

/* Both words are at most MAX_WORD letters. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[3][MAX_WORD + 1];
	unsigned *before = row[0], *last = row[1], *now = row[2], *spare;
	unsigned la = (unsigned)strlen(a), lb = (unsigned)strlen(b);

	for (unsigned j = 0; j <= lb; j++)
		last[j] = j;
	for (unsigned i = 1; i <= la; i++) {
		now[0] = i;
		for (unsigned j = 1; j <= lb; j++) {
			unsigned differs = lower_letter(a, i - 1) !=
					   lower_letter(b, j - 1);

			now[j] = last[j - 1] + differs;
			if (now[j] > last[j] + 1)
				now[j] = last[j] + 1;
			if (now[j] > now[j - 1] + 1)
				now[j] = now[j - 1] + 1;
			if (i > 1 && j > 1 && now[j] > before[j - 2] + 1 &&
			    lower_letter(a, i - 1) == lower_letter(b, j - 2) &&
			    lower_letter(a, i - 2) == lower_letter(b, j - 1))
				now[j] = before[j - 2] + 1;
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[lb];
}

const char *nearest_name(const char *word, const char *const *names)
{
	const char *best = NULL;
	unsigned least = UINT_MAX;
	size_t len = strlen(word);

	if (len > MAX_WORD)
		return NULL;
	for (; *names; names++) {
		size_t n = strlen(*names);
		unsigned d;

		if (n > MAX_WORD)
			continue;
		d = distance(word, *names);
		/* more than half of it different: something else was meant */
		if (d < least && 2 * d <= (n > len ? n : len)) {
			least = d;
			best = *names;
		}
	}
	return best;
}

const char *nearest_hint(const char *word, const char *const *names, char *buf,
			 size_t size)
{
	const char *near = nearest_name(word, names);
	size_t used;

	if (near) {
		(void)snprintf(buf, size, "did you mean '%s'?", near);
		return buf;
	}
	(void)snprintf(buf, size, "known:");
	for (const char *const *n = names; *n; n++) {
		used = strlen(buf);
		/* whole names, and that there are more */
		if (n != names &&
		    used + strlen(*n) +
				    (n[1] ? sizeof(", , ...") : sizeof(", ")) >
			    size) {
			(void)snprintf(buf + used, size - used, ", ...");
			break;
		}
		(void)snprintf(buf + used, size - used, "%s %s",
			       n == names ? "" : ",", *n);
	}
	return buf;
}
