/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RED: robust earliest deadline first (Buttazzo and Stankovic 1993). EDF over
 * the jobs that can all be in time; when a job comes and one of these would be
 * late, who is worth least gives way; when a job is done sooner than expected,
 * or goes, those that gave way come back, the most valuable first.
 *
 *   in time?	  now + what is left of all jobs due before and of it <= its
 *		  deadline + tolerance, costs being the worst case (hard) or
 *		  the estimate
 *   who gives	  among the jobs up to the first late one: the last class, then
 *   way	  the least value for what is left of it; of equal ones, whose
 *		  task has lost none for longest
 *   value	  weight x 1.25^-nice: of each frame (value=frame: a costly
 *		  frame gives way to two cheap ones), or of its time
 *		  (value=time)
 *
 * A rejected job that has no time left is dropped as soon as an accepted one
 * wants the CPU (cr_task.give_up): the frame after it may be in time. With
 * nothing else to do it is run, late; so is, then and there, one that must not
 * be given up, such as a digit. A lossless task's waits behind.
 *
 * Up to full load nobody gives way, and this is edf. Of jobs that come together
 * in order of their deadlines and are worth the same, as many as possible are
 * in time (Moore and Hodgson 1968: who gives way is the longest); in another
 * order there may be one fewer. What comes later is not known, so no
 * rule is best in every overload: none can be sure of more than a quarter of
 * the value that a seer would get (Baruah et al. 1991), which Koren and
 * Shasha's D-over (1992) reaches by value and latest start; this one promises
 * no share, but asks for less, and does better where jobs are alike.
 *
 * Good: in overload the least valuable frames are lost, early, and nothing is
 * spent on them; calls of equal value take turns; of what waits, soft jobs give
 * way before hard ones. Bad: estimates that are too high reject what would have
 * been in time (reclaiming makes good for some of it), those too low make late:
 * hard jobs whose worst cases do not fit together are rejected while soft ones
 * run; one CPU only; it decides by what is there: time that a soft job has had,
 * while all fitted, a hard one that comes later cannot get back.
 *
 * The paper rejects one task that is long enough, or the least valuable one by
 * one; here it is the latter, by value over time as in D-over. Its tolerance of
 * each task is one option for all.
 *
 * Live mode: no frame is cut; who runs is first, and what it still needs comes
 * before all others.
 *
 * Admission: as edf, by density and blocking (deadline_admit.h).
 */
#include "schedulers/policies.h"
#include "schedulers/red.h"

/* So many of the rejected are looked at when there is slack. */
#define TRIES 8u

static const char *const value_names[] = {
	[RED_FRAME] = "frame", [RED_TIME] = "time", [2] = NULL
};

static const struct cr_opt red_options[] = {
	DEADLINE_OPT_BOUND,
	{ .name = "value",
	  .help = "a call's weight and nice are the value of each frame, or of "
		  "the time that it takes",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct red_opts, value),
	  .min = RED_FRAME,
	  .max = RED_TIME,
	  .dflt = RED_FRAME,
	  .names = value_names },
	{ .name = "tolerance",
	  .help = "frames are of use for so long after their deadlines",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct red_opts, tolerance),
	  .min = 0,
	  .max = CR_SEC,
	  .dflt = 0 },
	{ .name = NULL },
};

static void red_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	red_task_of(t)->lost_at = now;
	deadline_add(&red_rq_of(rq)->admitted, t, &red_task_of(t)->admitted);
}

static void red_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_del(&red_rq_of(rq)->admitted, t, &red_task_of(t)->admitted);
}

/* --- giving way and coming back --- */

static void put_behind(struct red_rq *q, struct cr_task *t)
{
	red_task_of(t)->where = RED_BEHIND;
	red_task_of(t)->flow = (struct be_flow){ 0 };
	be_share_put(&q->share, &red_task_of(t)->flow, t->id);
}

static void refuse(struct cr_rq *rq, struct cr_task *t)
{
	if (t->lossless)
		put_behind(red_rq_of(rq), t);
	else
		red_reject(rq, t);
}

static void withdraw(struct cr_rq *rq, struct cr_task *t)
{
	red_unaccept(rq, t);
	if (red_task_of(t)->runs) /* it comes back when it has been stopped */
		cr_cpus_add(&rq->kick, 0);
	else
		refuse(rq, t);
}

/* The job that fits again without making others late. */
static void red_take_back(struct cr_rq *rq)
{
	struct cr_task *t = red_best(rq), *after;

	for (unsigned i = 0; t && i < TRIES; i++, t = after) {
		after = red_best_after(t);
		if (!red_has_time(rq, t))
			continue;
		red_unreject(rq, t);
		red_accept(rq, t);
		if (!red_victim(rq))
			continue;
		red_unaccept(rq, t);
		red_reject(rq, t);
	}
}

/* After something has changed: all accepted jobs are in time, and none is
 * rejected that could be. */
static void balance(struct cr_rq *rq, bool slack)
{
	struct cr_task *t;

	while ((t = red_victim(rq))) {
		withdraw(rq, t);
		slack = true;
	}
	if (slack)
		red_take_back(rq);
}

/* The first accepted job is to run. */
static void preempt(struct cr_rq *rq)
{
	const struct cr_task *first = red_first(rq), *r = rq->cpu[0].running;

	if (rq->sched->preemptible && first && r && first != r)
		cr_cpus_add(&rq->kick, 0);
}

/* --- the callbacks --- */

static void red_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct red_rq *q = red_rq_of(rq);
	struct red_task *x = red_task_of(t);

	red_look(rq, now);
	if (t->cls == CR_BE) {
		x->where = RED_BEHIND;
		be_share_put(&q->share, &x->flow, t->id);
		return;
	}
	if (why == CR_ENQ_REQUEUE ? x->where == RED_HELD : red_has_time(rq, t))
		red_accept(rq, t);
	else
		refuse(rq, t);
	balance(rq, false);
	preempt(rq);
}

static void red_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct red_task *x = red_task_of(t);

	red_look(rq, now);
	if (x->where == RED_ACCEPTED)
		red_unaccept(rq, t);
	else if (x->where == RED_REJECTED)
		red_unreject(rq, t);
	else
		be_share_remove(&red_rq_of(rq)->share, &x->flow);
	x->where = RED_OUT;
	balance(rq, true);
	preempt(rq);
}

/* The rejected @t, which nobody waits for any longer. */
static struct cr_task *start_rejected(struct cr_rq *rq, struct cr_task *t,
				      bool give_up)
{
	red_unreject(rq, t);
	red_task_of(t)->lost_at = red_rq_of(rq)->now;
	red_task_of(t)->runs = true;
	t->give_up = give_up;
	return t;
}

static struct cr_task *start_behind(struct cr_rq *rq)
{
	struct be_flow *f = be_share_take(&red_rq_of(rq)->share);
	struct red_task *x;

	if (!f)
		return NULL;
	x = CR_CONTAINER_OF(f, struct red_task, flow);
	x->where = RED_OUT;
	x->runs = true;
	return cr_task_of(x);
}

static struct cr_task *red_next(struct cr_rq *rq)
{
	struct cr_task *first = red_first(rq), *best = red_best(rq);
	struct cr_task *lost = first && best ? red_hopeless(rq) : NULL;

	if (lost)
		return start_rejected(rq, lost, true);
	if (!first)
		return best ? start_rejected(rq, best, false)
			    : start_behind(rq);
	if (!rq->sched->preemptible)
		red_unaccept(rq, first);
	red_task_of(first)->runs = true;
	return first;
}

static struct cr_task *red_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t;

	(void)cpu;
	red_look(rq, now);
	t = red_next(rq);
	if (t)
		t->slice = CR_NEVER;
	return t;
}

static void red_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct red_task *x = red_task_of(t);
	bool over = why == CR_STOP_DONE || why == CR_STOP_DROP;

	(void)cpu, (void)ran;
	red_look(rq, now);
	if (x->where == RED_ACCEPTED) {
		red_unaccept(rq, t);
		x->where = over ? RED_OUT : RED_HELD;
	}
	x->runs = false;
	if (!over)
		return;
	if (t->cls == CR_BE)
		be_share_done(&x->flow, t->weight, t->job.ran);
	balance(rq, true);
}

static unsigned red_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct red_task *x = CR_TASK_CONST(t, struct red_task);
	const struct cr_kv all[] = {
		{ "deadline", t->job.deadline, CR_KV_CLOCK_NS },
		{ "rejected", x->where == RED_REJECTED, CR_KV_COUNT },
		{ "last_lost_at", x->lost_at, CR_KV_CLOCK_NS },
		{ "density", x->admitted.util, CR_KV_PPM },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool red_check(const struct cr_rq *rq)
{
	const struct red_rq *q = red_rq_of(rq);

	return q->share.n <= rq->nqueued &&
	       red_queues_check(rq, rq->nqueued - q->share.n);
}

const struct cr_sched_ops cr_sched_red = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE | CR_F_ONE_CPU,
	.name = "red",
	.help = "earliest deadline first; in overload the least valuable "
		"frames give way",
	.rq_size = sizeof(struct red_rq),
	.task_size = sizeof(struct red_task),
	.opts_size = sizeof(struct red_opts),
	.opts = red_options,
	.admit = deadline_admit,
	.task_add = red_task_add,
	.task_del = red_task_del,
	.enqueue = red_enqueue,
	.dequeue = red_dequeue,
	.pick = red_pick,
	.stop = red_stop,
	.explain = red_explain,
	.promise = deadline_promise,
	.check = red_check,
};
