/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings that a campaign names.
 */
#include "feeder/recordings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATTERNS 256u /* what the loader of campaigns lets through */

/* Where an input is: relative names are meant from the campaign's folder. */
static char *resolve(const char *base, const char *name)
{
	const char *slash = strrchr(base, '/');
	size_t n = slash && name[0] != '/' ? (size_t)(slash - base) + 1 : 0;
	char *path = malloc(n + strlen(name) + 1);

	if (!path)
		return NULL;
	memcpy(path, base, n);
	memcpy(path + n, name, strlen(name) + 1);
	return path;
}

int recordings_open(struct speech_corpus **corpus, const struct recordings *r,
		    unsigned rate, struct cr_err *e)
{
	const char *patterns[MAX_PATTERNS + 1] = { NULL };
	unsigned n = 0;
	int rc = 0;

	for (; n < r->count && n < MAX_PATTERNS && !rc; n++) {
		patterns[n] = resolve(r->base, r->input[n]);
		if (!patterns[n])
			rc = cr_fail(e, -ENOMEM, "out of memory");
	}
	if (!rc)
		rc = speech_open(corpus, rate, n ? patterns : NULL, e);
	for (unsigned i = 0; i < n; i++)
		free((char *)(uintptr_t)patterns[i]);
	return rc;
}
