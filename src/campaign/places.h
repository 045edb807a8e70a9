/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where things are in a campaign file. libcyaml says little of lines, so this
 * pass walks libyaml's events along the same schema first: it refuses what the
 * schema does not know, naming line and nearest key, and remembers the line of
 * every value for later messages. Private to src/campaign.
 */
#ifndef CAMPAIGN_PLACES_H
#define CAMPAIGN_PLACES_H

#include <cyaml/cyaml.h>
#include <stddef.h>

#include "cr/error.h"

#define PLACE_MAX 96u

struct place {
	char path[PLACE_MAX]; /**< "flows[2].network.loss" */
	unsigned line;	      /**< from 1 */
};

/** Zero is "none". */
struct places {
	const char *file;
	struct place *items;
	size_t count, room;
};

/** A file in memory. */
struct place_text {
	const char *file, *text;
	size_t bytes;
};

/**
 * Walk @t along @schema. Returns 0 and fills @p (places_fini() in any case);
 * -EINVAL or -ENOMEM with @e, which begins "file:line: ".
 */
int places_read(struct places *p, const struct place_text *t,
		const cyaml_schema_value_t *schema, struct cr_err *e);
void places_fini(struct places *p);

/** The line of @path, or of the nearest thing around it; at least 1. */
unsigned places_line(const struct places *p, const char *path);

#endif
