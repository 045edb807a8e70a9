/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Round robin: runnable calls form a ring, each gets at most a quantum of CPU
 * time a turn (thesis 5.1).
 *
 * A turn belongs to the call, not to the frame: while its service in this turn
 * is below the quantum, its next frame goes back to the head of the ring. So
 * n backlogged calls get 1/n each of the CPU *time*, whatever a frame costs,
 * where fifo gives them 1/n of the *frames*. A call that sleeps ends its turn.
 *
 * Good: a costly codec cannot take more than its share. Bad: blind to
 * deadlines; bursts of one call delay the others by up to a quantum each.
 * Live mode: no frame is cut, so a turn ends with the first frame that reaches
 * the quantum, and may be longer by that frame. With a quantum below the
 * cheapest frame rr is fifo.
 */
#include "cr/list.h"
#include "schedulers/policies.h"

struct rr_opts {
	int64_t quantum;
};

struct rr_task {
	struct cr_list_node node; /* first: list.h sees a cr_list_node */
	cr_ns used;		  /* service in this turn */
};

static const struct cr_opt rr_options[] = {
	{ .name = "quantum",
	  .help = "CPU time of one turn",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct rr_opts, quantum),
	  .min = 1000,
	  .max = 10 * CR_SEC,
	  .dflt = CR_MS },
	{ .name = NULL },
};

static cr_ns rr_quantum_of(const struct cr_rq *rq)
{
	return CR_OPTS(rq, struct rr_opts)->quantum;
}

static int rr_rq_init(struct cr_rq *rq)
{
	TAILQ_INIT(CR_RQ(rq, struct cr_list));
	return 0;
}

/* Behind the turns that go on at the same instant: were they to swap CPUs, they
 * would also swap their places in the ring, again and again. */
static void go_on(struct cr_list *list, struct rr_task *r)
{
	struct cr_list_node *n = TAILQ_FIRST(list);

	while (n && ((const struct rr_task *)(void *)n)->used)
		n = TAILQ_NEXT(n, link);
	if (n)
		TAILQ_INSERT_BEFORE(n, &r->node, link);
	else
		TAILQ_INSERT_TAIL(list, &r->node, link);
}

static void rr_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
		       cr_ns now)
{
	struct cr_list *list = CR_RQ(rq, struct cr_list);
	struct rr_task *r = CR_TASK(t, struct rr_task);
	bool goes_on = why == CR_ENQ_NEXT || why == CR_ENQ_REQUEUE;

	(void)now;
	if (goes_on && r->used < rr_quantum_of(rq)) {
		go_on(list, r);
		return;
	}
	r->used = 0;
	TAILQ_INSERT_TAIL(list, &r->node, link);
}

static void rr_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	TAILQ_REMOVE(CR_RQ(rq, struct cr_list),
		     &CR_TASK(t, struct rr_task)->node, link);
}

static struct cr_task *rr_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = cr_list_first(rq, CR_RQ(rq, struct cr_list), cpu);

	if (!t)
		return NULL;
	rr_dequeue(rq, t, now);
	t->slice = rr_quantum_of(rq) - CR_TASK(t, struct rr_task)->used;
	return t;
}

static void rr_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		    cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)why, (void)now;
	CR_TASK(t, struct rr_task)->used += ran;
}

static unsigned rr_explain(const struct cr_task *t, struct cr_kv *kv,
			   unsigned max)
{
	const struct cr_kv all[] = {
		{ "turn_used", CR_TASK_CONST(t, struct rr_task)->used,
		  CR_KV_NS },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool rr_check(const struct cr_rq *rq)
{
	struct cr_list *list = CR_RQ(rq, struct cr_list);
	struct cr_list_node *n;

	TAILQ_FOREACH (n, list, link) {
		const struct rr_task *r = (const struct rr_task *)(void *)n;

		if (r->used < 0 || r->used >= rr_quantum_of(rq))
			return false;
	}
	return cr_list_check(rq, list);
}

const struct cr_sched_ops cr_sched_rr = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_SLICED,
	.name = "rr",
	.help = "ring of runnable calls, at most a quantum a turn",
	.rq_size = sizeof(struct cr_list),
	.task_size = sizeof(struct rr_task),
	.opts_size = sizeof(struct rr_opts),
	.opts = rr_options,
	.rq_init = rr_rq_init,
	.enqueue = rr_enqueue,
	.dequeue = rr_dequeue,
	.pick = rr_pick,
	.stop = rr_stop,
	.explain = rr_explain,
	.check = rr_check,
};
