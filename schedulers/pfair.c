/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pfair: pf, pd, pd2. Time is cut into slots of one quantum, the same for all
 * CPUs; a task of weight e/p (cost and period in quanta) gets its i-th quantum
 * within window i of pfair.h, so that in every slot it is less than one
 * quantum away from e/p of a CPU (its lag). In every slot the M eligible
 * subtasks run that come first by the policy's rule, pfair_order.h.
 *
 * Source: thesis 4.3 and 5.2; PF: Baruah, Cohen, Plaxton, Varvel; PD: Baruah,
 * Gehrke, Plaxton; PD2, early release, IS: Anderson and Srinivasan. Errata of
 * the thesis: b and the group deadline in pfair.h, Compare in pfair_order.h.
 *
 *   mode=pfair   a subtask waits for its window: -1 < lag < 1. Not
 *                work-conserving: what a job leaves of its last slot stays
 *                idle, too.
 *   mode=erfair  a subtask is eligible as soon as the one before it is done:
 *                lag < 1, no CPU idles while something waits. What is left of
 *                a slot is a gift to the first in order: it is not counted.
 *   mode=mixed   each task by its nice level: above 0 it waits for its windows,
 *                else it does not (Anderson and Srinivasan 2000 prove PD2 for
 *                such sets, too). A nice task is served evenly and takes
 *                nothing in advance, and leaves what idles to others.
 *
 * Releases are intra-sporadic: a job that comes late (by its logical arrival,
 * job.eligible, rounded up to a slot) moves its windows to the right; one that
 * comes early keeps the windows it would have had on time, so a burst does not
 * take from others. A job that takes longer than its cost goes on with the
 * windows of its own next period; of one that takes less the rest lapses.
 * Best-effort tasks have weight 0: in turn, a slot each, where nobody else may
 * run.
 *
 * Good: the only family here that fills M CPUs to the last quantum with no job
 * a quantum late, whatever the weights; a task that breaks its promise hurts
 * itself alone. Bad: up to one preemption and migration per CPU and slot; the
 * cost is rounded up and the period (or the deadline, if shorter) down to whole
 * quanta, so a coarse quantum wastes capacity, and a fine one time for
 * decisions.
 *
 * Promises: a job released between two slots counts from the next. So it may
 * end up to a quantum late, less what rounding the window down has put aside:
 * never, when the deadline is a quantum after the period. A guarantee for all
 * would make every window a quantum shorter, also for tasks that are always
 * released at the begin of a slot; no test at admission can tell which are.
 *
 * Live mode: no frame is cut, so windows order the frames, and no more: a
 * frame starts when a CPU is free, slot or not, runs to its end, and is
 * counted by the quanta it took, rounded up. A frame is held only until the
 * slot before its window is under way. Nothing is promised of lag or lateness
 * then; admission is the same.
 *
 * Admission, per run queue of M CPUs: sum of weights <= M, exact; how, and how
 * it stays sound, see pfair_share.h. Hard tasks count their worst case, soft
 * ones their mean. The proofs need every CPU for every task, so a mask has to
 * hold all CPUs of the run queue or the task is not taken there. The weight of
 * a task that leaves counts until the window of its last quantum is over
 * (light tasks, one slot more if b is 1) or its group deadline (heavy ones):
 * Srinivasan and Anderson's rule for dynamic task systems.
 */
#include <errno.h>

#include "schedulers/admission.h"
#include "schedulers/pfair_queue.h"
#include "schedulers/policies.h"

static const char *const mode_names[] = { "pfair", "erfair", "mixed", NULL };

static const struct cr_opt pfair_options[] = {
	{ .name = "quantum",
	  .help = "length of a slot; costs round up to it, periods down",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct pfair_opts, quantum),
	  .min = CR_US,
	  .max = CR_SEC,
	  .dflt = 100 * CR_US },
	{ .name = "mode",
	  .help = "pfair: subtasks wait for their windows; erfair: never; "
		  "mixed: those of tasks with nice above 0 do",
	  .kind = CR_OPT_ENUM,
	  .offset = offsetof(struct pfair_opts, mode),
	  .min = MODE_PFAIR,
	  .max = MODE_MIXED,
	  .dflt = MODE_PFAIR,
	  .names = mode_names },
	{ .name = NULL },
};

/* --- admission --- */

/* Best effort has a weight, too: one that lets each of its jobs end in time. */
static cr_ns cost_of(const struct cr_task *t)
{
	return t->cls == CR_BE ? cr_task_worst(t) : cr_task_demand(t);
}

/* Not limited to what can be served: see obstacle() and served_weight(). */
static struct pfair_weight weight_of(const struct cr_rq *rq,
				     const struct cr_task *t)
{
	cr_ns q = quantum_of(rq);

	return (struct pfair_weight){
		.cost = cr_ns_max(pfair_div_up(cost_of(t), q), 1),
		.period = cr_ns_min(cr_ns_min(t->period, t->rel_deadline) / q,
				    PFAIR_MAX_PERIOD),
	};
}

/* Without admission anything comes: a weight of 1 is the most there is. */
static struct pfair_weight served_weight(const struct cr_rq *rq,
					 const struct cr_task *t)
{
	struct pfair_weight w = weight_of(rq, t);

	w.period = cr_ns_max(w.period, 1);
	w.cost = cr_ns_min(w.cost, w.period);
	return w;
}

static struct pfair_share room_of(const struct cr_rq *rq)
{
	struct pfair_share all = pfair_cpus(rq->ncpu);
	struct pfair_share total = CR_RQ(rq, struct pfair_rq)->total;

	all.parts = all.parts > total.parts ? all.parts - total.parts : 0;
	return all;
}

static bool is_roomier(const struct cr_rq *a, const struct cr_rq *b)
{
	return room_of(a).parts > room_of(b).parts;
}

/* Of those that @t may use the run queue with most room, or for best effort,
 * which takes none, with least load; -1: none. */
static int roomiest(const struct cr_sched *s, const struct cr_task *t)
{
	bool be = t->cls == CR_BE;
	int best = -1;

	for (unsigned i = 0; i < s->nrq; i++) {
		const struct cr_rq *rq = &s->rq[i];
		unsigned n = cpus_allowed(rq, t);

		if (be ? !n : n < rq->ncpu)
			continue;
		if (best < 0 || (be ? cr_lighter(rq, &s->rq[best])
				    : is_roomier(rq, &s->rq[best])))
			best = (int)i;
	}
	return best;
}

/* The proofs are about tasks with a whole weight of 1 at most that may run on
 * every CPU: all that admission lets in. */
static bool pfair_fits(const struct cr_rq *rq, const struct cr_task *t)
{
	struct pfair_weight w = weight_of(rq, t);

	return t->cls == CR_BE || (w.period >= 1 && w.cost <= w.period &&
				   cpus_allowed(rq, t) == rq->ncpu);
}

static int64_t need_ppm(struct pfair_weight w)
{
	if (w.cost > w.period)
		return CR_PPM;
	return pfair_div_up(w.cost * CR_PPM, w.period);
}

/* The rule that weight @w breaks in @rq with room for @room, or NULL. */
static const char *obstacle(struct pfair_weight w, struct pfair_share room)
{
	if (w.period < 1)
		return "a quantum within the period and the deadline";
	if (w.cost > w.period)
		return "cost <= period in whole quanta";
	if (pfair_share(w).parts > room.parts)
		return "sum of cost / period in whole quanta <= CPUs";
	return NULL;
}

static int pfair_admit(const struct cr_sched *s, const struct cr_task *t,
		       struct cr_verdict *v)
{
	int best = roomiest(s, t);
	const struct cr_rq *rq = &s->rq[best < 0 ? 0 : best];
	struct pfair_weight w = weight_of(rq, t);
	const char *why;

	v->bound_ppm = rq->ncpu * CR_PPM;
	v->free_ppm = best < 0 ? 0 : pfair_ppm(room_of(rq));
	v->need_ppm = t->cls == CR_BE ? 0 : need_ppm(w);
	v->rule = "sum of cost / period in whole quanta <= CPUs";
	if (best < 0) {
		v->rule = "all CPUs of a run queue in its CPU mask";
		return -ENOSPC;
	}
	if (t->cls == CR_BE)
		return best;
	why = obstacle(w, room_of(rq));
	if (!why)
		return best;
	v->rule = why;
	return -ENOSPC;
}

/* --- tasks --- */

static int pfair_rq_init(struct cr_rq *rq)
{
	TAILQ_INIT(&CR_RQ(rq, struct pfair_rq)->background);
	return 0;
}

/* A task that runs was picked by another policy, maybe without a slice: it
 * gives up its CPU, to come back with the others. */
static void pfair_join(struct cr_rq *rq, struct cr_task *t,
		       enum pfair_rule rule, cr_ns now)
{
	struct pfair_rq *p = CR_RQ(rq, struct pfair_rq);
	struct pfair_task *x = CR_TASK(t, struct pfair_task);

	x->rule = rule;
	x->w = served_weight(rq, t);
	x->chain = (struct pfair_chain){ slot_up(rq, now), 1 };
	if (t->cls != CR_BE)
		x->share = pfair_share(x->w);
	p->total.parts += x->share.parts;
	p->misfits += !pfair_fits(rq, t);
	if (t->state == CR_RUNNING && rq->sched->preemptible)
		cr_cpus_add(&rq->kick, (unsigned)t->cpu);
}

static void pf_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	pfair_join(rq, t, PFAIR_PF, now);
}

static void pd_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	pfair_join(rq, t, PFAIR_PD, now);
}

static void pd2_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	pfair_join(rq, t, PFAIR_PD2, now);
}

/* A task that was served ahead of its fluid share is not forgotten before the
 * others have caught up; all that leave by the last of them. */
static void pfair_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct pfair_rq *p = CR_RQ(rq, struct pfair_rq);
	const struct pfair_task *x = CR_TASK(t, struct pfair_task);

	p->misfits -= !pfair_fits(rq, t);
	p->leaving.parts += x->share.parts;
	p->gone = cr_ns_max(p->gone, x->bound);
	queue_forget(rq, now);
}

/* --- order --- */

static void pfair_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			  cr_ns now)
{
	struct pfair_task *x = CR_TASK(t, struct pfair_task);

	if (t->cls == CR_BE) {
		TAILQ_INSERT_TAIL(&CR_RQ(rq, struct pfair_rq)->background, x,
				  link);
		return;
	}
	if (why != CR_ENQ_REQUEUE)
		pfair_release(&x->chain, x->w, slot_up(rq, t->job.eligible));
	queue_place(rq, x, now);
}

static void pfair_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	queue_remove(rq, t);
}

/* A task that waits for windows takes a slot from its begin, or none of it. */
static struct cr_task *pfair_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	cr_ns left = quantum_of(rq) - now % quantum_of(rq);
	bool late = left != quantum_of(rq) && rq->sched->preemptible;
	bool missed = false;
	struct cr_task *t;

	queue_promote(rq, now);
	t = queue_first_ready(rq, cpu, late, &missed);
	if (missed && !t)
		rq->next_tick = cr_ns_min(rq->next_tick, cr_ns_add(now, left));
	if (!t)
		t = queue_first_background(rq, cpu);
	if (!t)
		return NULL;
	queue_remove(rq, t);
	t->slice = rq->sched->preemptible ? left : CR_NEVER;
	return t;
}

static void pfair_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		       cr_ns ran, enum cr_stop why, cr_ns now)
{
	struct pfair_task *x = CR_TASK(t, struct pfair_task);

	int64_t n = served(rq, ran, now);

	(void)cpu, (void)why;
	if (t->cls == CR_BE || !n)
		return;
	x->bound = x->key.group ? x->key.group
				: x->key.end + (x->key.overlap != 0);
	pfair_advance(&x->chain, x->w, n);
}

static void pfair_tick(struct cr_rq *rq, cr_ns now)
{
	queue_promote(rq, now);
	queue_forget(rq, now);
}

/* --- to look at --- */

static unsigned pfair_explain(const struct cr_task *t, struct cr_kv *kv,
			      unsigned max)
{
	const struct pfair_task *x = CR_TASK_CONST(t, struct pfair_task);
	const struct cr_rq *rq = t->rq;
	bool weightless = t->cls == CR_BE;
	const struct cr_kv all[] = {
		{ "cost_quanta", weightless ? 0 : x->w.cost, CR_KV_COUNT },
		{ "period_quanta", weightless ? 0 : x->w.period, CR_KV_COUNT },
		{ "subtask", x->chain.subtask, CR_KV_COUNT },
		{ "window_begin", slot_time(rq, x->begin), CR_KV_CLOCK_NS },
		{ "window_end", slot_time(rq, x->key.end), CR_KV_CLOCK_NS },
		{ "b", x->key.overlap != 0, CR_KV_COUNT },
		{ "group_deadline", slot_time(rq, x->key.group),
		  CR_KV_CLOCK_NS },
		{ "held", x->held, CR_KV_COUNT },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool has_room(const struct cr_rq *rq)
{
	const struct pfair_rq *p = CR_RQ(rq, struct pfair_rq);

	return !p->misfits && p->total.parts <= pfair_cpus(rq->ncpu).parts;
}

/* Slots are counted from a release rounded up to one. */
static void pfair_promise(const struct cr_task *t, struct cr_promise *p)
{
	const struct pfair_task *x = CR_TASK_CONST(t, struct pfair_task);
	cr_ns q = quantum_of(t->rq);

	p->cost = x->w.cost * q;
	if (!t->rq->sched->preemptible) {
		p->rule = "frames are not cut here, so windows only order them";
	} else if (!has_room(t->rq)) {
		p->rule = "there are more calls than its admission test allows";
	} else if (cr_task_worst(t) > p->cost) {
		p->rule = "a soft call is admitted by its mean cost, class "
			  "hard has a bound";
	} else {
		p->kind = CR_PROMISE_LATENESS;
		p->rule = "Pfair: every quantum within its window, in slots "
			  "from the first that begins after the release";
		p->bound =
			cr_ns_max(0, x->w.period * q + q - 1 - t->rel_deadline);
	}
}

#define PFAIR_OPS(policy, says)                                                \
	const struct cr_sched_ops cr_sched_##policy = {                        \
		.abi = CR_SCHED_ABI,                                           \
		.flags = CR_F_SLICED | CR_F_IDLES,                             \
		.name = #policy,                                               \
		.help = (says),                                                \
		.rq_size = sizeof(struct pfair_rq),                            \
		.task_size = sizeof(struct pfair_task),                        \
		.opts_size = sizeof(struct pfair_opts),                        \
		.opts = pfair_options,                                         \
		.rq_init = pfair_rq_init,                                      \
		.admit = pfair_admit,                                          \
		.task_add = policy##_task_add,                                 \
		.task_del = pfair_task_del,                                    \
		.enqueue = pfair_enqueue,                                      \
		.dequeue = pfair_dequeue,                                      \
		.pick = pfair_pick,                                            \
		.stop = pfair_stop,                                            \
		.tick = pfair_tick,                                            \
		.explain = pfair_explain,                                      \
		.promise = pfair_promise,                                      \
		.check = queue_check,                                          \
	}

PFAIR_OPS(pf, "proportionate fair, ties by all windows that follow");
PFAIR_OPS(pd, "proportionate fair, ties by group deadline and weight");
PFAIR_OPS(pd2, "proportionate fair, ties by group deadline");
