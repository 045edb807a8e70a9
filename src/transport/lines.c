/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a stream at its line feeds. Keeps nothing: whoever wants whole lines
 * puts the parts together.
 */
#include "transport/lines.h"

#include <string.h>

bool lines_next(bool *begun, const char **at, size_t *left,
		struct line_part *part)
{
	const char *feed;

	while (!*begun && *left && **at == '\n') {
		++*at;
		--*left;
	}
	if (!*left)
		return false;
	feed = memchr(*at, '\n', *left);
	part->data = *at;
	part->bytes = feed ? (size_t)(feed - *at) : *left;
	part->end = feed;
	*begun = !feed;
	*at += part->bytes + (feed ? 1 : 0);
	*left -= part->bytes + (feed ? 1 : 0);
	return true;
}
