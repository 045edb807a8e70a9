/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What policies say that admit by worst cases.
 */
#ifndef SCHEDULERS_WORST_CASE_H
#define SCHEDULERS_WORST_CASE_H

#include "cr/promise.h"
#include "cr/sched.h"

/** Into @p: all jobs of @t are in time if the test says so, by the worst case
 * of everybody; else why not. */
static inline void promise_by_worst_case(const struct cr_task *t, bool in_time,
					 struct cr_promise *p)
{
	if (in_time) {
		p->kind = CR_PROMISE_LATENESS;
		p->rule = "admission by the worst case: no frame is late";
		p->cost = cr_task_worst(t);
	} else if (t->cls == CR_SOFT) {
		p->rule = "by the worst case there are too many calls; a soft "
			  "one is admitted by its mean cost, class hard has a "
			  "bound";
	} else {
		p->rule = "there are more calls than its admission test allows";
	}
}

#endif
