/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LIFO: the call released last runs first. A bad idea for calls, and the
 * smallest complete policy: copy it, rename it, change pick(). See
 * schedulers/README.md. Build and use:
 *
 *     make && codec-runner --scheduler ./lifo.so
 */
#include <sys/queue.h>

#include "cr/sched.h"

/* A task's private memory: a list node, nothing to allocate. */
struct lifo_task {
	LIST_ENTRY(lifo_task) link;
};

/* A run queue's private memory; zeroed, which is an empty list. */
LIST_HEAD(lifo_rq, lifo_task);

static void lifo_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			 cr_ns now)
{
	(void)why, (void)now;
	LIST_INSERT_HEAD(CR_RQ(rq, struct lifo_rq),
			 CR_TASK(t, struct lifo_task), link);
}

static void lifo_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)rq, (void)now;
	LIST_REMOVE(CR_TASK(t, struct lifo_task), link);
}

static struct cr_task *lifo_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct lifo_task *x;

	LIST_FOREACH(x, CR_RQ(rq, struct lifo_rq), link)
	{
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		lifo_dequeue(rq, t, now);
		t->slice = CR_NEVER;
		return t;
	}
	return NULL;
}

static void lifo_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		      cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

const struct cr_sched_ops cr_sched_plugin = {
	.abi = CR_SCHED_ABI,
	.name = "lifo",
	.help = "last released first",
	.rq_size = sizeof(struct lifo_rq),
	.task_size = sizeof(struct lifo_task),
	.enqueue = lifo_enqueue,
	.dequeue = lifo_dequeue,
	.pick = lifo_pick,
	.stop = lifo_stop,
};
