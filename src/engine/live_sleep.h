/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a task of a live driver goes to sleep without missing a frame.
 *
 * The rx thread pushes, then exchanges active to true (and releases if it was
 * false); who serves the task exchanges it to false, then looks again.
 * Whichever exchange comes second sees what was done before the first: either
 * the rx thread reads our false and releases, or we read its true and our
 * second look finds the frame, and then the exchange in live_task_wake()
 * settles who goes on.
 */
#ifndef ENGINE_LIVE_SLEEP_H
#define ENGINE_LIVE_SLEEP_H

#include "engine/live.h"

/** The oldest frame of @lt by @backlog. False: nothing waits, the task sleeps,
 * and the next frame releases it. Who serves the task, and nobody else. */
static inline bool live_peek_or_sleep(const struct core_backlog *backlog,
				      struct live_task *lt, struct cr_job *job)
{
	if (backlog->peek(&lt->core, job))
		return true;
	(void)atomic_exchange_explicit(&lt->active, false,
				       memory_order_seq_cst);
	return backlog->peek(&lt->core, job) && live_task_wake(lt);
}

#endif
