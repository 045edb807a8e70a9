/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text format of Prometheus (0.0.4): what comes before a metric's series,
 * and series of whole numbers. One thread at a time for each @out, to which
 * they append; where there is no memory, the text lacks something.
 */
#ifndef HTTP_METRICS_TEXT_H
#define HTTP_METRICS_TEXT_H

#include <event2/buffer.h>
#include <stdint.h>

/** How all of ours are named, for printf(). */
#define METRICS_NAME "codec_runner_%s"

/** What @name is, before its series. @type: "counter", "gauge", "histogram". */
void metrics_head(struct evbuffer *out, const char *name, const char *type,
		  const char *help);

/** A metric of one series, with its head. */
void metrics_alone(struct evbuffer *out, const char *name, const char *type,
		   const char *help, uint64_t value);

/** A metric of one series of the process, with its head: process_@name. */
void metrics_process(struct evbuffer *out, const char *name, const char *type,
		     const char *help, double value);

/** A series of @name, whose @label @is this. */
void metrics_labelled(struct evbuffer *out, const char *name, const char *label,
		      const char *is, uint64_t value);

#endif
