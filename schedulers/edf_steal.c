/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edf-steal: EDF for several run queues. A CPU that has nothing to do
 * takes the latest of the longest queue, which has most time to lose by coming
 * to cold caches, and which stays with it. So as long as somebody waits who
 * may run there, no CPU idles, and partitions cost no more than the frame that
 * another queue's CPU is at. The price: frames come into a queue late in their
 * windows, where admission counts whole ones. That is why hard tasks stay where
 * they were admitted, only best effort comes to them, if it fits, and no soft
 * task is promised anything.
 */
#include "cr/promise.h"
#include "schedulers/edf.h"
#include "schedulers/policies.h"

/* Is what was promised to hard tasks kept if @t comes to @to? */
static bool may_come(const struct cr_rq *to, const struct cr_task *t)
{
	if (t->cls == CR_HARD)
		return false;
	return !deadline_has_hard(to) ||
	       (t->cls == CR_BE && deadline_fits(to, t));
}

static struct cr_task *edf_steal(struct cr_rq *from, struct cr_rq *to,
				 unsigned cpu, cr_ns now)
{
	struct edf_rq *e = CR_RQ(from, struct edf_rq);
	struct keyed *x;

	(void)now;
	RB_FOREACH_REVERSE (x, key_queue, &e->queue) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(to, t, cpu) || !may_come(to, t))
			continue;
		RB_REMOVE(key_queue, &e->queue, x);
		deadline_move(from, to, t,
			      &CR_TASK(t, struct edf_task)->admitted);
		/* the virtual time there is another one */
		CR_TASK(t, struct edf_task)->flow.start = 0;
		return t;
	}
	return NULL;
}

static void edf_steal_promise(const struct cr_task *t, struct cr_promise *p)
{
	p->rule = "CPUs take frames from other queues; class hard has a bound";
	if (t->cls == CR_HARD)
		deadline_promise(t, p);
}

const struct cr_sched_ops cr_sched_edf_steal = {
	EDF_OPS,
	.name = "edf-steal",
	.help = "edf on several run queues: idle CPUs take from the longest",
	.steal = edf_steal,
	.promise = edf_steal_promise,
};
