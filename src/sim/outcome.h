/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of a simulated call's jobs, into its statistics.
 *
 * Thread rule: the one that serves the call's part of the workload.
 */
#ifndef SIM_OUTCOME_H
#define SIM_OUTCOME_H

#include "sim/workload.h"

/** @job of @c, which @waited in a jitter buffer, is not done: @why. It goes
 * into the trace, too. */
void outcome_undone(struct sim_call *c, const struct cr_job *job, cr_ns waited,
		    enum cr_outcome why, cr_ns now);

/** @job of @c, the claimed one, is done. */
void outcome_done(struct sim_call *c, const struct cr_job *job, cr_ns now);

#endif
