/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plug-in that wastes time: first come, first served by calls, and so many
 * rounds of a loop with each pick. tests/bench/self-comparison compares it,
 * wasting 5 % of a turn, with itself, wasting nothing.
 */
#include "cr/list.h"
#include "cr/sched.h"

struct waste_opts {
	int64_t loops;
};

static const struct cr_opt waste_options[] = {
	{ .name = "loops",
	  .help = "rounds of a loop with each pick",
	  .kind = CR_OPT_INT,
	  .offset = offsetof(struct waste_opts, loops),
	  .max = 1000000 },
	{ .name = NULL },
};

static int waste_rq_init(struct cr_rq *rq)
{
	TAILQ_INIT(CR_RQ(rq, struct cr_list));
	return 0;
}

static void waste_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			  cr_ns now)
{
	(void)why, (void)now;
	TAILQ_INSERT_TAIL(CR_RQ(rq, struct cr_list),
			  CR_TASK(t, struct cr_list_node), link);
}

static void waste_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	TAILQ_REMOVE(CR_RQ(rq, struct cr_list), CR_TASK(t, struct cr_list_node),
		     link);
}

static struct cr_task *waste_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	const int64_t loops = CR_OPTS(rq, struct waste_opts)->loops;
	struct cr_list_node *n;

	TAILQ_FOREACH (n, CR_RQ(rq, struct cr_list), link) {
		struct cr_task *t = cr_task_of(n);

		if (!cr_may_run(rq, t, cpu))
			continue;
		for (volatile int64_t i = 0; i < loops; i++)
			;
		waste_dequeue(rq, t, now);
		t->slice = CR_NEVER;
		return t;
	}
	return NULL;
}

static void waste_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		       cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

const struct cr_sched_ops cr_sched_plugin = {
	.abi = CR_SCHED_ABI,
	.name = "waste",
	.help = "first come, first served, and some time wasted",
	.opts = waste_options,
	.opts_size = sizeof(struct waste_opts),
	.rq_size = sizeof(struct cr_list),
	.task_size = sizeof(struct cr_list_node),
	.rq_init = waste_rq_init,
	.enqueue = waste_enqueue,
	.dequeue = waste_dequeue,
	.pick = waste_pick,
	.stop = waste_stop,
};
