/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a trace file (cr/trace.h) record by record. Whatever the file
 * holds, the answer is a checked record or an error. One thread at a time.
 */
#ifndef OBSERVE_TRACE_READ_H
#define OBSERVE_TRACE_READ_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cr/error.h"
#include "cr/trace.h"

struct trace_reader;

/** Most bytes of JSON a header may have. */
#define TRACE_JSON_MAX (16u << 20)

/**
 * Open the file at @path, or read from @f (which the reader then owns, also
 * when opening fails; @name is for messages). Returns 0 and sets *@r, or with
 * @e: -errno, -EPROTO (no trace, other format, no JSON object).
 */
int trace_reader_open(struct trace_reader **r, const char *path,
		      struct cr_err *e);
int trace_reader_open_stream(struct trace_reader **r, FILE *f, const char *name,
			     struct cr_err *e);

/** NULL is fine. */
void trace_reader_close(struct trace_reader *r);

/** The JSON object of the header as text, which ends; borrowed. Only its outer
 * braces have been looked at. */
const char *trace_reader_header(const struct trace_reader *r);

/** CLOCK_REALTIME - CLOCK_MONOTONIC of the run, ns. */
int64_t trace_reader_realtime_offset(const struct trace_reader *r);

/**
 * The next record. Returns 1 with *@out, whose kind and outcome are known and
 * whose strings end; 0 at the end; -EPROTO or -EIO with @e.
 */
int trace_reader_next(struct trace_reader *r, union cr_trace_record *out,
		      struct cr_err *e);

/** At the end: was the last record cut short (the writer crashed)? */
bool trace_reader_truncated(const struct trace_reader *r);

#endif
