/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys by deadline where frames are dropped.
 *
 * A dropped frame gives up its key: its task is ordered by the next one. But
 * a task that lost two in a row keeps the key of the second, until a frame
 * of it is done. By the rule alone it would go behind frames as old as the age
 * limit, meet that limit again a period later, and so on: in lasting overload
 * the same calls would lose every frame.
 */
#ifndef SCHEDULERS_DROPS_H
#define SCHEDULERS_DROPS_H

#include "cr/sched.h"

/** So many drops without a frame done, and a task keeps its key. */
#define DROPS_IN_A_ROW 2u

/** Count in *@drops, a task's, that it left its CPU for @why. */
static inline void drops_count(unsigned *drops, enum cr_stop why)
{
	if (why == CR_STOP_DROP)
		(*drops)++;
	else if (why == CR_STOP_DONE)
		*drops = 0;
}

/** The key of @t, which had @key and @drops, now that it is queued for
 * @why. */
static inline cr_ns drops_key(cr_ns key, unsigned drops,
			      const struct cr_task *t, enum cr_enq why)
{
	if (why == CR_ENQ_REQUEUE)
		return key;
	if (why == CR_ENQ_NEXT && drops >= DROPS_IN_A_ROW)
		return cr_ns_min(key, t->job.deadline);
	return t->job.deadline;
}

#endif
