/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the trace of a running node begins: who wrote it, where, and under which
 * scheduler. Any thread.
 */
#ifndef OBSERVE_TRACE_HEAD_H
#define OBSERVE_TRACE_HEAD_H

#include "observe/trace.h"

/** All borrowed. */
struct trace_head {
	const char *program, *version;
	const char *scheduler; /**< its name             */
	const char *options;   /**< "rr,quantum=2ms"     */
	unsigned workers, cpus_per_rq;
	unsigned ring_frames; /**< per call             */
	cr_ns max_age;	      /**< as core_config has it; -1: by deadlines */
	const char *shed;     /**< its name             */
	cr_ns shed_wait;
};

/** @h, and what the kernel says of the machine, as the text of a JSON object;
 * the caller frees it. NULL: out of memory. */
char *trace_head_text(const struct trace_head *h);

/** trace_start() with trace_head_text() as header. As trace_start(), or
 * -ENOMEM.
 */
int trace_start_live(struct trace *t, const char *path,
		     const struct trace_head *h, struct cr_err *e);

#endif
