/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's figures in the text format of Prometheus (0.0.4): seconds, ratios
 * and counts, no call ids, so that the number of series is constant.
 */
#ifndef HTTP_METRICS_H
#define HTTP_METRICS_H

#include <stdio.h>

#include "ng/ng_service.h"
#include "observe/histogram.h"
#include "protocol/service.h"

/** Upper bounds of the buckets in the output, ns, rising. */
#define METRICS_BOUNDS 18u
extern const cr_ns metrics_bounds[METRICS_BOUNDS];

/** Count the values of @h up to each bound (cumulative). */
void metrics_cumulate(const struct histogram *h,
		      uint64_t below[METRICS_BOUNDS]);

/** Append everything about @sv and its node to @out. */
void metrics_write(FILE *out, struct service *sv);

/** And about the NG service @s. */
void metrics_write_ng(FILE *out, const struct ng_service *s);

/** Connections of the HTTP server. */
struct http_stats {
	unsigned open;	 /**< now                                      */
	uint64_t came;	 /**< were accepted                            */
	uint64_t full;	 /**< times that there were as many as may be  */
	uint64_t cut;	 /**< were closed to make room for others      */
	uint64_t paused; /**< times that there was no descriptor       */
};

/** And about those. */
void metrics_write_http(FILE *out, const struct http_stats *s);

#endif
