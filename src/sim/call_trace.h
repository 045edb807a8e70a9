/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace says of a simulated call; only for workloads that have one.
 *
 * Thread rule: the thread that serves the call's part.
 */
#ifndef SIM_CALL_TRACE_H
#define SIM_CALL_TRACE_H

#include "sim/workload.h"

/** @c joins at @now. */
void call_trace_begin(const struct sim_call *c, cr_ns now);

/** @job of @c ended at @now on engine CPU @cpu. */
void call_trace_done(struct sim_call *c, const struct cr_job *job, unsigned cpu,
		     cr_ns now);

/** @job of @c, which @waited in a jitter buffer, will not be done: @why. */
void call_trace_undone(struct sim_call *c, const struct cr_job *job,
		       cr_ns waited, enum cr_outcome why, cr_ns now);

#endif
