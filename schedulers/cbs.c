/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBS: a constant-bandwidth server for each task, and EDF over the servers
 * (Abeni and Buttazzo 1998); what Linux calls SCHED_DEADLINE, so this is the
 * "EDF" that the thesis measured.
 *
 * The budget Q is the cost that a task is admitted by (the worst case of hard
 * ones, the mean of soft ones) and a margin, its period T the shorter of the
 * task's period and deadline. q is what is left, d the server's deadline; the
 * task runs at d's place in the order of deadlines, and not at its own:
 *
 *   a job comes to an idle server at r    q >= (d - r) Q / T: q = Q, d = r + T
 *					   else q and d stay
 *   the next job waits already		   q and d stay
 *   q is used up			   d = d + T, q = Q: at once (soft), or
 *					   when the old d has come (hard)
 *
 * As long as the sum of Q / T is at most 1 on a CPU, no server gets less than
 * its bandwidth, whatever the others ask for: a task whose jobs take up to Q
 * and come no closer than T ends each of them in time, with those of others as
 * long as they please (isolation; the paper's Theorem 1). On several CPUs of
 * one run queue that holds by the bound of deadline_admit.h.
 *
 * reserve=soft  is the paper's: it leaves no CPU idle. What a task gets beyond
 *		 its budget while nobody else wants it counts all the same: its
 *		 deadline moves ahead, and it stands back when others come.
 * reserve=hard  is that of SCHED_DEADLINE: nobody gets more than Q in a period.
 *
 * Best effort has no server: it shares what is left by weight (be_share.h).
 *
 * Good: a task that exceeds what it declared harms itself alone, in overload
 * too, where each gets its bandwidth in proportion. Bad: a budget of the mean
 * puts every second frame of a varying cost off by a period; early frames of a
 * burst have later deadlines than their own; with hard reservations CPUs idle
 * while frames wait.
 *
 * Live mode: no frame is cut. A budget is charged when a frame has ended and
 * may be overrun; the debt is paid by as many periods. So an overrun delays
 * others by the rest of that frame, and hard tasks are admitted beside the
 * worst case of soft ones. What is left of isolation: an overrun is not had
 * twice.
 *
 * Hard reservations are not in the paper; Linux's rule is followed, but for a
 * debt of more than a budget: Linux moves the deadline by as many periods and
 * lets the task run at the next, here it waits for all of them.
 */
#include "schedulers/cbs.h"
#include "schedulers/policies.h"

static const char *const reserve_names[] = { CBS_RESERVE_NAMES };

static const struct cr_opt cbs_options[] = {
	CBS_OPT_ROWS(reserve_names),
	{ .name = NULL },
};

/* Would what is left, used until the deadline, be more than the bandwidth? */
static bool outdated(const struct cr_task *t, cr_ns now)
{
	const struct cbs_task *x = CR_TASK_CONST(t, struct cbs_task);

	return (__int128)x->left * x->period >=
	       (__int128)(x->deadline - now) * (x->budget * CR_PPM);
}

static void cbs_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	bool comes = why == CR_ENQ_RELEASE || why == CR_ENQ_MIGRATE;

	if (comes && !CR_TASK(t, struct cbs_task)->be && outdated(t, now))
		cbs_renew(t, now);
	cbs_wait(rq, t, why, CR_PPM, now);
}

static struct cr_task *cbs_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = cbs_take(rq, cpu);

	(void)now;
	if (t && t->cls != CR_BE) /* whole ns, for no other is charged */
		t->slice = CR_TASK(t, struct cbs_task)->left / CR_PPM;
	return t;
}

static void cbs_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)now;
	if (t->cls == CR_BE)
		cbs_stop_be(t, why);
	else
		cbs_charge(t, ran, CR_PPM);
}

const struct cr_sched_ops cr_sched_cbs = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE | CR_F_IDLES,
	.name = "cbs",
	.help = "earliest deadline first over a constant-bandwidth server for "
		"each call",
	.rq_size = sizeof(struct cbs_rq),
	.task_size = sizeof(struct cbs_task),
	.opts_size = sizeof(struct cbs_opts),
	.opts = cbs_options,
	.rq_init = cbs_rq_init,
	.admit = deadline_admit,
	.task_add = cbs_task_add,
	.task_del = cbs_task_del,
	.enqueue = cbs_enqueue,
	.dequeue = cbs_dequeue,
	.pick = cbs_pick,
	.stop = cbs_stop,
	.tick = cbs_tick,
	.explain = cbs_explain,
	.promise = cbs_promise,
	.check = cbs_check,
};
