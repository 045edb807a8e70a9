/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LLF: least laxity first (Mok 1983); laxity = deadline - now - what the job
 * still needs. Ties: earlier deadline, then task id. Best effort comes last.
 *
 * A waiting job loses laxity as time goes by, a running one keeps it. So the
 * waiting keep their order, by the instant their laxity is used up ("zero"),
 * and only a running job can be overtaken. Pure LLF would then switch between
 * two jobs of equal laxity without end. Here
 *
 *   - an arriving job with less laxity displaces at once;
 *   - a waiting job that gets less laxity *and* has the earlier deadline too;
 *   - one with a later deadline waits until the turn has lasted a whole
 *     multiple of the granularity.
 *
 * On one CPU this loses nothing, whatever the granularity. Let h(d) be the time
 * up to d minus the work due by d, least at d*. A job due after d* runs only
 * if it has no more laxity than every waiting job due by d*; but then the work
 * due by its own deadline leaves less than h(d*). So h(d*) never falls while
 * such work waits, and what is feasible stays so, as with EDF.
 *
 * Needs: hard jobs by their worst case, others by their estimate. A job that
 * runs beyond it has laxity deadline - now.
 *
 * Good: as EDF on one CPU; on several it also sees heavy jobs that must not
 * wait (Dhall's set, 3 x 2/3 on 2). Bad: many switches; not optimal there
 * either; in overload everybody is late. With an even load of equal jobs it
 * slices them all, and all of them end late in their windows.
 *
 * Live mode: no frame is cut, and zero is the latest start of a job. So llf is
 * edf for the deadline "start by zero", and hard tasks are admitted by that
 * test: with windows shorter by the job itself. Otherwise admission is edf's
 * (deadline_admit.h); its bound for hard tasks on several CPUs is proven for
 * EDF only, here it rests on the random sets of the tests.
 */
#include "schedulers/deadline_admit.h"
#include "schedulers/policies.h"

struct llf_task {
	RB_ENTRY(llf_task) by_zero;
	cr_ns zero; /* while queued: when its laxity is 0; beside the links, as
		     * walks read both */
	cr_ns soonest; /* least zero below it in the tree by deadline */
	RB_ENTRY(llf_task) by_deadline;
	struct deadline_task admitted;
};

_Static_assert(sizeof(struct llf_task) <= CR_TASK_PRIV, "room in a task");

RB_HEAD(zero_tree, llf_task);
RB_HEAD(due_tree, llf_task);

struct llf_rq {
	struct deadline_rq admitted; /* first: see deadline_admit.h */
	struct zero_tree queue;
	struct due_tree due; /* the same tasks; only where jobs are cut */
};

struct llf_opts {
	struct deadline_opts admitted; /* first */
	int64_t granularity;
};

static const struct cr_opt llf_options[] = {
	DEADLINE_OPT_BOUND,
	{ .name = "granularity",
	  .help = "a turn lasts so long against later deadlines",
	  .kind = CR_OPT_TIME,
	  .offset = offsetof(struct llf_opts, granularity),
	  .min = 1,
	  .max = CR_SEC,
	  .dflt = 100 * CR_US },
	{ .name = NULL },
};

/* --- order --- */

static cr_ns zero_of(const struct cr_task *t, cr_ns now)
{
	cr_ns need = t->cls == CR_HARD ? cr_task_worst(t) : t->job.cost;

	if (t->job.deadline == CR_NEVER)
		return CR_NEVER;
	return t->job.deadline - cr_ns_max(need - cr_task_ran(t, now), 0);
}

/* By deadline, id; best effort, which has none, as it came: by the id alone one
 * call or job would have all that is left. */
static int due_order(const struct cr_task *a, const struct cr_task *b)
{
	if (a->job.deadline != b->job.deadline)
		return cr_cmp(a->job.deadline, b->job.deadline);
	if (a->job.deadline == CR_NEVER && a->job.arrival != b->job.arrival)
		return cr_cmp(a->job.arrival, b->job.arrival);
	return cr_cmp(a->id, b->id);
}

/* By zero, deadline, id. */
static int order(cr_ns za, const struct cr_task *a, cr_ns zb,
		 const struct cr_task *b)
{
	return za != zb ? cr_cmp(za, zb) : due_order(a, b);
}

static bool llf_before(const struct cr_task *a, const struct cr_task *b,
		       cr_ns now)
{
	return order(zero_of(a, now), a, zero_of(b, now), b) < 0;
}

static int zero_cmp(struct llf_task *x, struct llf_task *y)
{
	return order(x->zero, cr_task_of(x), y->zero, cr_task_of(y));
}

CR_TREE(zero_tree, llf_task, by_zero, zero_cmp)

/* --- the waiting by deadline, with the least zero of every subtree --- */

static cr_ns llf_soonest_of(const struct llf_task *x)
{
	return x ? x->soonest : CR_NEVER;
}

static void llf_sum_up(struct llf_task *x)
{
	x->soonest = cr_ns_min(
		x->zero, cr_ns_min(llf_soonest_of(RB_LEFT(x, by_deadline)),
				   llf_soonest_of(RB_RIGHT(x, by_deadline))));
}

static int llf_due_cmp(struct llf_task *x, struct llf_task *y)
{
	return due_order(cr_task_of(x), cr_task_of(y));
}

/* rotations ask for it; the way up to the root is due_update()'s */
#undef RB_AUGMENT
#define RB_AUGMENT(x) llf_sum_up(x)
CR_TREE(due_tree, llf_task, by_deadline, llf_due_cmp)

static void due_update(struct llf_task *x)
{
	for (; x; x = RB_PARENT(x, by_deadline))
		llf_sum_up(x);
}

static void due_insert(struct due_tree *tree, struct llf_task *x)
{
	x->soonest = x->zero;
	RB_INSERT(due_tree, tree, x);
	due_update(x);
}

/* From the lowest place in the tree that changes, all above is wrong. */
static void due_remove(struct due_tree *tree, struct llf_task *x)
{
	struct llf_task *low = RB_RIGHT(x, by_deadline);

	if (!low || !RB_LEFT(x, by_deadline)) {
		low = RB_PARENT(x, by_deadline);
	} else {
		while (RB_LEFT(low, by_deadline))
			low = RB_LEFT(low, by_deadline);
		if (RB_PARENT(low, by_deadline) != x)
			low = RB_PARENT(low, by_deadline);
	}
	RB_REMOVE(due_tree, tree, x);
	due_update(low);
}

/* The least zero of those that wait with a deadline before @deadline. */
static cr_ns soonest_before(const struct due_tree *tree, cr_ns deadline)
{
	struct llf_task *x = tree->rbh_root;
	cr_ns least = CR_NEVER;

	while (x)
		if (cr_task_of(x)->job.deadline < deadline) {
			least = cr_ns_min(least, x->zero);
			least = cr_ns_min(
				least, llf_soonest_of(RB_LEFT(x, by_deadline)));
			x = RB_RIGHT(x, by_deadline);
		} else {
			x = RB_LEFT(x, by_deadline);
		}
	return least;
}

/* --- overtaking --- */

/* When a running job, its zero at @now being @zero, comes or came to @other;
 * a best-effort job was never before it. */
static cr_ns reaches(const struct cr_task *r, cr_ns zero, cr_ns other,
		     cr_ns now)
{
	if (other == CR_NEVER || other > r->job.deadline)
		return CR_NEVER;
	return zero == CR_NEVER ? now : now + (other - zero);
}

/* When a waiting task will overtake @r, running since @since. */
static cr_ns overtaken(const struct cr_rq *rq, const struct cr_task *r,
		       cr_ns since, cr_ns now)
{
	const struct llf_rq *q = CR_RQ(rq, struct llf_rq);
	const struct llf_task *first =
		RB_MIN(zero_tree, (struct zero_tree *)&q->queue);
	cr_ns grain = CR_OPTS(rq, struct llf_opts)->granularity;
	cr_ns zero = zero_of(r, now), urgent, any;

	if (!first)
		return CR_NEVER;
	any = reaches(r, zero, first->zero, now);
	if (any == CR_NEVER)
		return CR_NEVER;
	urgent =
		reaches(r, zero, soonest_before(&q->due, r->job.deadline), now);
	/* the first end of a grain at which the other has less */
	any = cr_ns_max(any, since);
	any = since + ((any - since) / grain + 1) * grain;
	return cr_ns_min(urgent, any);
}

/* Ask for a tick when the next running job is overtaken; at @again if that is
 * so already. */
static void llf_arm(struct cr_rq *rq, cr_ns again, cr_ns now)
{
	for (unsigned c = 0; c < rq->ncpu; c++) {
		const struct cr_cpu *cpu = &rq->cpu[c];
		cr_ns at;

		if (!cpu->running || cr_cpus_has(&rq->kick, c))
			continue;
		at = overtaken(rq, cpu->running, cpu->since, now);
		rq->next_tick = cr_ns_min(rq->next_tick, at > now ? at : again);
	}
}

/* May @w, waiting, take the CPU of @r, which runs since @since? */
static bool llf_overtakes(const struct cr_rq *rq, struct llf_task *w,
			  const struct cr_cpu *cpu, cr_ns now)
{
	cr_ns zero = zero_of(cpu->running, now);

	if (cr_task_of(w)->job.deadline < cpu->running->job.deadline)
		return w->zero <= zero;
	return w->zero < zero &&
	       now - cpu->since >= CR_OPTS(rq, struct llf_opts)->granularity;
}

/* The CPU that @w should have: the one with most laxity; or -1. */
static int victim_of(const struct cr_rq *rq, struct llf_task *w, cr_ns now)
{
	int worst = -1;

	for (unsigned c = 0; c < rq->ncpu; c++) {
		const struct cr_cpu *cpu = &rq->cpu[c];

		if (!cpu->running || cr_cpus_has(&rq->kick, c) ||
		    !cr_may_run(rq, cr_task_of(w), c) ||
		    !llf_overtakes(rq, w, cpu, now))
			continue;
		if (worst < 0 ||
		    llf_before(rq->cpu[worst].running, cpu->running, now))
			worst = (int)c;
	}
	return worst;
}

/* CPUs whose job is overtaken by a task whose mask allows them. */
static unsigned overtaken_now(const struct cr_rq *rq, cr_ns now)
{
	unsigned n = 0;

	for (unsigned c = 0; c < rq->ncpu; c++) {
		const struct cr_cpu *cpu = &rq->cpu[c];

		n += cpu->running && !cr_cpus_has(&rq->kick, c) &&
		     overtaken(rq, cpu->running, cpu->since, now) <= now;
	}
	return n;
}

static void llf_tick(struct cr_rq *rq, cr_ns now)
{
	unsigned left = overtaken_now(rq, now);
	struct llf_task *w;

	for (w = RB_MIN(zero_tree, &CR_RQ(rq, struct llf_rq)->queue); w && left;
	     w = RB_NEXT(zero_tree, NULL, w)) {
		int victim = victim_of(rq, w, now);

		if (victim < 0)
			continue;
		cr_cpus_add(&rq->kick, (unsigned)victim);
		left--;
	}
	/* who is overtaken still has a CPU that nobody before it may use */
	llf_arm(rq, now + CR_OPTS(rq, struct llf_opts)->granularity, now);
}

/* --- the queue --- */

static int llf_rq_init(struct cr_rq *rq)
{
	CR_RQ(rq, struct llf_rq)->admitted.to_start = !rq->sched->preemptible;
	return 0;
}

static void llf_task_add(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_add(&CR_RQ(rq, struct llf_rq)->admitted, t,
		     &CR_TASK(t, struct llf_task)->admitted);
}

static void llf_task_del(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	(void)now;
	deadline_del(&CR_RQ(rq, struct llf_rq)->admitted, t,
		     &CR_TASK(t, struct llf_task)->admitted);
}

static void llf_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			cr_ns now)
{
	struct llf_rq *q = CR_RQ(rq, struct llf_rq);
	struct llf_task *x = CR_TASK(t, struct llf_task);

	x->zero = zero_of(t, now);
	RB_INSERT(zero_tree, &q->queue, x);
	if (!rq->sched->preemptible)
		return;
	due_insert(&q->due, x);
	if (why != CR_ENQ_REQUEUE)
		cr_kick_worst(rq, t, llf_before, now);
	llf_arm(rq, now, now);
}

static void llf_dequeue(struct cr_rq *rq, struct cr_task *t, cr_ns now)
{
	struct llf_rq *q = CR_RQ(rq, struct llf_rq);

	(void)now;
	RB_REMOVE(zero_tree, &q->queue, CR_TASK(t, struct llf_task));
	if (rq->sched->preemptible)
		due_remove(&q->due, CR_TASK(t, struct llf_task));
}

static struct cr_task *llf_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct llf_task *x;

	RB_FOREACH (x, zero_tree, &CR_RQ(rq, struct llf_rq)->queue) {
		struct cr_task *t = cr_task_of(x);

		if (!cr_may_run(rq, t, cpu))
			continue;
		llf_dequeue(rq, t, now);
		t->slice = CR_NEVER;
		if (rq->sched->preemptible)
			rq->next_tick = cr_ns_min(rq->next_tick,
						  overtaken(rq, t, now, now));
		return t;
	}
	return NULL;
}

static void llf_stop(struct cr_rq *rq, unsigned cpu, struct cr_task *t,
		     cr_ns ran, enum cr_stop why, cr_ns now)
{
	(void)rq, (void)cpu, (void)t, (void)ran, (void)why, (void)now;
}

static unsigned llf_explain(const struct cr_task *t, struct cr_kv *kv,
			    unsigned max)
{
	const struct llf_task *x = CR_TASK_CONST(t, struct llf_task);
	const struct cr_kv all[] = {
		{ "deadline", t->job.deadline, CR_KV_CLOCK_NS },
		{ "laxity_zero_at", x->zero, CR_KV_CLOCK_NS },
		{ "density", x->admitted.util, CR_KV_PPM },
	};

	return CR_KV_COPY(kv, max, all);
}

static bool due_check(struct llf_rq *q, unsigned n)
{
	struct llf_task *x, *before = NULL;

	RB_FOREACH (x, due_tree, &q->due) {
		cr_ns known = x->soonest;

		llf_sum_up(x);
		if (known != x->soonest)
			return false;
		if (before && llf_due_cmp(before, x) >= 0)
			return false;
		before = x;
		n--;
	}
	return n == 0;
}

/* Sorted, complete, and zero is what it was: the waiting do not move. */
static bool llf_check(const struct cr_rq *rq)
{
	struct llf_rq *q = CR_RQ(rq, struct llf_rq);
	struct llf_task *x, *before = NULL;
	unsigned n = 0;

	RB_FOREACH (x, zero_tree, &q->queue) {
		if (before && zero_cmp(before, x) >= 0)
			return false;
		if (cr_task_of(x)->state != CR_QUEUED ||
		    x->zero != zero_of(cr_task_of(x), 0))
			return false;
		before = x;
		n++;
	}
	return n == rq->nqueued && due_check(q, rq->sched->preemptible ? n : 0);
}

const struct cr_sched_ops cr_sched_llf = {
	.abi = CR_SCHED_ABI,
	.flags = CR_F_GUARANTEE,
	.name = "llf",
	.help = "least laxity first",
	.rq_size = sizeof(struct llf_rq),
	.task_size = sizeof(struct llf_task),
	.opts_size = sizeof(struct llf_opts),
	.opts = llf_options,
	.rq_init = llf_rq_init,
	.admit = deadline_admit,
	.task_add = llf_task_add,
	.task_del = llf_task_del,
	.enqueue = llf_enqueue,
	.dequeue = llf_dequeue,
	.pick = llf_pick,
	.stop = llf_stop,
	.tick = llf_tick,
	.explain = llf_explain,
	.promise = deadline_promise,
	.check = llf_check,
};
