/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler from outside that promises frames within 25 ms of the deadline.
 */
#define cr_sched_plugin lifo_plugin
#include "../../../schedulers/examples/lifo.c"
#include "cr/promise.h"
#undef cr_sched_plugin

static void promise(const struct cr_task *t, struct cr_promise *p)
{
	p->kind = CR_PROMISE_LATENESS;
	p->rule = "late by a constant";
	p->bound = 25 * CR_MS;
	p->cost = cr_task_worst(t);
}

const struct cr_sched_ops cr_sched_plugin = {
	.abi = CR_SCHED_ABI,
	.name = "late",
	.help = "a promise of lateness",
	.rq_size = sizeof(struct lifo_rq),
	.task_size = sizeof(struct lifo_task),
	.enqueue = lifo_enqueue,
	.dequeue = lifo_dequeue,
	.pick = lifo_pick,
	.stop = lifo_stop,
	.promise = promise,
};
