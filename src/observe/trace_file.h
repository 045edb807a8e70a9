/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing and reading a trace file (cr/trace.h): header, then records through
 * one large buffer. Knows no rings and no threads; the simulator uses it
 * directly.
 *
 * The file has its final name from the start and only grows, so that after a
 * crash everything but the last buffer can be read; readers tolerate a last
 * record that is cut short. One thread at a time.
 */
#ifndef OBSERVE_TRACE_FILE_H
#define OBSERVE_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cr/error.h"
#include "cr/time.h"
#include "cr/trace.h"

/** The kinds of files that a new trace may replace. */
enum trace_over {
	TRACE_OVER_NOTHING, /**< an existing file is -EEXIST, and stays  */
	TRACE_OVER_FILE,    /**< a file; a symbolic link there is -ELOOP */
	TRACE_OVER_ANY,	    /**< also what a symbolic link leads to, and
			     * a device                                */
	TRACE_OVER_PIPE	    /**< also a pipe, which may have to wait     */
};

/** An open trace file. Zero is "closed". */
struct trace_file {
	int fd;			     /**< valid while @buf is set          */
	int error;		     /**< first write error, errno; 0: none */
	union cr_trace_record *buf;  /**< [TRACE_FILE_BUFFER]              */
	size_t used;		     /**< records in @buf                  */
	uint64_t written, unwritten; /**< records in the file; refused     */
	int64_t bytes;		     /**< length of the file               */
};

/** Records collected before a write: 352 KiB. */
#define TRACE_FILE_BUFFER 4096u

/**
 * Create @path. Returns 0, or -errno with @e: then no file is made, none is
 * replaced, and @f is closed. Waits for nobody, but for TRACE_OVER_PIPE;
 * -ENXIO: what is there is nothing that @over allows.
 */
int trace_file_create(struct trace_file *f, const char *path,
		      enum trace_over over, struct cr_err *e);

/**
 * Write the header with @json, the text of a JSON object; first thing after
 * creation. NULL: there was no memory for it.
 *
 * @realtime_offset: CLOCK_REALTIME - CLOCK_MONOTONIC in ns; 0 in the simulator.
 * Returns 0, or -errno with @e; the caller closes @f then.
 */
int trace_file_header(struct trace_file *f, const char *json,
		      cr_ns realtime_offset, struct cr_err *e);

/**
 * Append a record. Never fails: after a write error (disk full) records are
 * counted in @f->unwritten, and what did reach the file stays readable.
 */
void trace_file_put(struct trace_file *f, const union cr_trace_record *r);

/** Hand the buffer to the kernel. */
void trace_file_flush(struct trace_file *f);

/** Flush, fsync and close. The counters stay. Closing twice is fine. Waits for
 * the disk. */
void trace_file_close(struct trace_file *f);

/** Close a file that is of no use: what is in the buffer goes nowhere, and
 * nobody waits for the disk. As above. */
void trace_file_drop(struct trace_file *f);

/** Most bytes of JSON a header may have. */
#define TRACE_JSON_MAX (16u << 20)

/* --- reading: whatever the file holds, the answer is a checked record or an
 * error --- */

struct trace_reader;

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

/**
 * The next record. Returns 1 with *@out, whose kind and outcome are known and
 * whose strings end; 0 at the end, and for a last record that was cut short
 * (the writer crashed); -EPROTO or -EIO with @e.
 */
int trace_reader_next(struct trace_reader *r, union cr_trace_record *out,
		      struct cr_err *e);

#endif
