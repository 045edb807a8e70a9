/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of octets as messages: each ends with a line feed. Pure.
 */
#ifndef TRANSPORT_LINES_H
#define TRANSPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>

/** Octets of one line; @end: its last ones. */
struct line_part {
	const char *data;
	size_t bytes;
	bool end;
};

/**
 * Take the next part of the @left octets at @*at, and move both past it.
 * @begun belongs to the stream: its line has begun already; zero at first.
 * Line feeds are not part of lines, and empty lines are skipped; the last part
 * of a line that came earlier may be empty. False: nothing is left.
 */
bool lines_next(bool *begun, const char **at, size_t *left,
		struct line_part *part);

#endif
