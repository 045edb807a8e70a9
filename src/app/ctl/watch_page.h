/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What "codec-ctl watch" shows: two samples of a server as a page of rates.
 * Knows neither connections nor terminals.
 */
#ifndef APP_CTL_WATCH_PAGE_H
#define APP_CTL_WATCH_PAGE_H

#include <jansson.h>
#include <stdio.h>

/** The results of stats and call.list at one moment. */
struct ctl_sample {
	json_t *stats;
	json_t *calls; /**< the array of call.list */
};

/** Release what @s holds; it may be empty. */
void ctl_sample_free(struct ctl_sample *s);

/** Totals, workers, calls by class and codecs, and the calls that lose most:
 * what happened from @before to @now, in rates. */
void ctl_watch_page(const struct ctl_sample *before,
		    const struct ctl_sample *now, FILE *out);

#endif
