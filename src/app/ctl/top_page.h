/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "codec-ctl top" shows: a page of the results of stats and call.top.
 * Knows neither connections nor terminals.
 */
#ifndef APP_CTL_TOP_PAGE_H
#define APP_CTL_TOP_PAGE_H

#include <jansson.h>
#include <stdio.h>

/** Lines of a page above its calls. */
enum { CTL_TOP_HEAD = 4 };

/** Write it, lines with marks (page.h). @keys: what keys do, or NULL: none are
 * read. */
void ctl_top_page(const json_t *stats, const json_t *top, const char *keys,
		  FILE *out);

#endif
