/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests of rm_admit.h. The tasks of a run queue and the one that wants to
 * join are walked from the lowest priority up; work above a task is summed by
 * levels, of which there are few.
 */
#include "schedulers/rm_admit.h"

#include "schedulers/admission.h"

#include <errno.h>

/* A response that takes longer to compute is taken for too long. */
#define MAX_STEPS 100000u
#define ONE UINT64_C(1000000000) /* 1.0 in the bounds' fixed point */

/* --- tasks and levels --- */

cr_ns rm_cost(const struct cr_task *t)
{
	return t->cls == CR_BE ? 0 : cr_task_demand(t);
}

static cr_ns rm_window(const struct cr_task *t)
{
	return cr_ns_min(t->period, t->rel_deadline);
}

static int level_order(enum cr_class ca, cr_ns pa, enum cr_class cb, cr_ns pb)
{
	return ca != cb ? cr_cmp(ca, cb) : cr_cmp(pa, pb);
}

static int level_cmp(struct rm_level *a, struct rm_level *b)
{
	return level_order(a->cls, a->period, b->cls, b->period);
}

CR_TREE(rm_levels, rm_level, node, level_cmp)

static int priority(const struct cr_task *a, const struct cr_task *b)
{
	int c = level_order(a->cls, a->period, b->cls, b->period);

	return c ? c : cr_cmp(a->id, b->id);
}

static int member_cmp(struct rm_member *a, struct rm_member *b)
{
	return priority(cr_task_of(a), cr_task_of(b));
}

CR_TREE(rm_members, rm_member, node, member_cmp)

static struct rm_level *rm_level_of(struct rm_admitted *a,
				    const struct cr_task *t)
{
	struct rm_level key = { .cls = t->cls, .period = t->period };

	return RB_FIND(rm_levels, &a->levels, &key);
}

void rm_join(struct rm_admitted *a, struct cr_task *t)
{
	struct rm_member *m = CR_TASK(t, struct rm_member);
	struct rm_level *level = rm_level_of(a, t);

	RB_INSERT(rm_members, &a->members, m);
	if (!level) {
		level = &m->level;
		level->cls = t->cls;
		level->period = t->period;
		level->cost = 0;
		RB_INSERT(rm_levels, &a->levels, level);
	}
	level->cost += rm_cost(t);
}

static bool same_level(struct rm_member *m, const struct cr_task *t)
{
	return m && cr_task_of(m)->cls == t->cls &&
	       cr_task_of(m)->period == t->period;
}

/* The node of a level lies in one of its members: it moves when that leaves. */
void rm_leave(struct rm_admitted *a, struct cr_task *t)
{
	struct rm_member *m = CR_TASK(t, struct rm_member);
	struct rm_member *heir = RB_NEXT(rm_members, NULL, m);
	struct rm_level *level = rm_level_of(a, t);

	if (!same_level(heir, t))
		heir = RB_PREV(rm_members, NULL, m);
	RB_REMOVE(rm_members, &a->members, m);
	level->cost -= rm_cost(t);
	if (level != &m->level)
		return;
	RB_REMOVE(rm_levels, &a->levels, level);
	if (!same_level(heir, t))
		return;
	heir->level = *level;
	RB_INSERT(rm_levels, &a->levels, &heir->level);
}

bool rm_admitted_check(const struct rm_admitted *a)
{
	struct rm_level *l;
	struct rm_member *m;
	cr_ns levels = 0, members = 0;

	RB_FOREACH (l, rm_levels, (struct rm_levels *)&a->levels)
		levels += l->cost;
	RB_FOREACH (m, rm_members, (struct rm_members *)&a->members)
		members += rm_cost(cr_task_of(m));
	return levels == members;
}

/* --- exact: response times --- */

/* One task under test. */
struct suspect {
	const struct cr_rq *rq;
	const struct cr_task *task, *extra; /* extra: wants to join */
	cr_ns own;   /* cost of those before it in its level, without extra */
	cr_ns block; /* longest frame of lower priority, if it is not cut   */
	unsigned steps;
};

/* Jobs that a task of @period can have in a window @x; @closed: one that
 * comes at its very end as well; on several CPUs one more is carried in. */
static int64_t jobs_in(const struct suspect *s, cr_ns x, cr_ns period,
		       bool closed)
{
	int64_t n = x / period + (closed || x % period ? 1 : 0);

	return s->rq->ncpu > 1 ? n + 1 : n;
}

/* Work of higher priority than the suspect's in a window @x. */
static cr_ns work_above(const struct suspect *s, cr_ns x, bool closed)
{
	const struct rm_admitted *a = CR_RQ(s->rq, struct rm_admitted);
	const struct cr_task *t = s->task, *e = s->extra;
	cr_ns sum = times(jobs_in(s, x, t->period, closed), s->own);
	struct rm_level *l;

	RB_FOREACH (l, rm_levels, (struct rm_levels *)&a->levels) {
		if (level_order(l->cls, l->period, t->cls, t->period) >= 0)
			break;
		sum = cr_ns_add(
			sum, times(jobs_in(s, x, l->period, closed), l->cost));
	}
	if (e != t && priority(e, t) < 0)
		sum = cr_ns_add(sum, times(jobs_in(s, x, e->period, closed),
					   rm_cost(e)));
	return s->rq->ncpu > 1 && sum != CR_NEVER ? sum / s->rq->ncpu : sum;
}

/* The least x >= @base with x = @base + work above in x; CR_NEVER: none up to
 * @limit. */
static cr_ns rm_settle(struct suspect *s, cr_ns base, cr_ns limit, bool closed)
{
	cr_ns x = base, next;

	while (x <= limit && s->steps++ < MAX_STEPS) {
		next = cr_ns_add(base, work_above(s, x, closed));
		if (next == x)
			return x;
		x = next;
	}
	return CR_NEVER;
}

/* Length of the busy period of the suspect and all before it; CR_NEVER: it
 * does not end in time. */
static cr_ns busy_period(struct suspect *s, cr_ns cost)
{
	cr_ns x = cost, next;

	while (x < CR_NEVER && s->steps++ < MAX_STEPS) {
		next = cr_ns_add(s->block, work_above(s, x, false));
		next = cr_ns_add(
			next,
			times(jobs_in(s, x, s->task->period, false), cost));
		if (next == x)
			return x;
		x = next;
	}
	return CR_NEVER;
}

/* One CPU, frames not cut: every job of the busy period starts early enough.
 * The blocking frame began before, so it counts a nanosecond less. */
static bool uncut_in_time(struct suspect *s, cr_ns cost)
{
	cr_ns period = s->task->period, end = rm_window(s->task);
	cr_ns busy = busy_period(s, cost);

	if (busy == CR_NEVER)
		return false;
	for (cr_ns at = 0, k = 0; at < busy; at += period, k++) {
		cr_ns base = cr_ns_add(s->block, times(k, cost));
		cr_ns latest = cr_ns_add(at, end - cost);

		if (rm_settle(s, base, latest, true) == CR_NEVER)
			return false;
	}
	return true;
}

static bool in_time(struct suspect *s)
{
	cr_ns cost = rm_cost(s->task), end = rm_window(s->task);

	if (cost > end)
		return false;
	if (s->rq->sched->preemptible)
		return rm_settle(s, cost, end, false) != CR_NEVER;
	if (s->rq->ncpu > 1)
		return rm_settle(s, s->block, end - cost, true) != CR_NEVER;
	return uncut_in_time(s, cost);
}

/* The next one up from @m, @extra in its place; *@m moves on. */
static const struct cr_task *next_up(struct rm_member **m,
				     const struct cr_task **extra)
{
	const struct cr_task *t = *m ? cr_task_of(*m) : NULL;

	if (*extra && (!t || priority(*extra, t) > 0)) {
		t = *extra;
		*extra = NULL;
		return t;
	}
	if (*m)
		*m = RB_PREV(rm_members, NULL, *m);
	return t;
}

/* Cost of the members of @t's level before it: @walked, of those from it down,
 * is the rest. */
static cr_ns cost_before(struct rm_admitted *a, const struct cr_task *t,
			 cr_ns walked)
{
	const struct rm_level *l = rm_level_of(a, t);

	return l ? l->cost - walked : 0;
}

static bool exact(const struct cr_rq *rq, const struct cr_task *extra)
{
	struct rm_admitted *a = CR_RQ(rq, struct rm_admitted);
	struct rm_member *m = RB_MAX(rm_members, &a->members);
	const struct cr_task *left = extra, *t, *below = NULL;
	struct suspect s = { .rq = rq, .extra = extra };
	cr_ns walked = 0; /* cost of members walked in this level */

	while ((t = next_up(&m, &left))) {
		if (!below ||
		    level_order(t->cls, t->period, below->cls, below->period))
			walked = 0;
		below = t;
		if (t != extra)
			walked += rm_cost(t);
		s.task = t;
		s.own = cost_before(a, t, walked);
		s.steps = 0;
		if (t->cls != CR_BE && !in_time(&s))
			return false;
		if (!rq->sched->preemptible)
			s.block = cr_ns_max(s.block, cr_task_worst(t) - 1);
		else if (t == extra)
			return true; /* those above do not feel it */
	}
	return true;
}

/* The demand before @t in its level, and of what it may find running. */
static void look_around(struct suspect *s, const struct cr_task *t)
{
	struct rm_member *self = CR_TASK((struct cr_task *)t, struct rm_member);
	struct rm_member *m = self;

	while (same_level(m = RB_PREV(rm_members, NULL, m), t))
		s->own += rm_cost(cr_task_of(m));
	if (s->rq->sched->preemptible)
		return;
	for (m = self; (m = RB_NEXT(rm_members, NULL, m));)
		s->block =
			cr_ns_max(s->block, cr_task_worst(cr_task_of(m)) - 1);
}

/* Never so of soft tasks, which count by their mean. */
void rm_promise(const struct cr_task *t, struct cr_promise *p)
{
	struct suspect s = { .rq = t->rq, .task = t, .extra = t };
	bool hard = t->rq && t->cls == CR_HARD;

	if (hard)
		look_around(&s, t);
	promise_by_worst_case(t, hard && in_time(&s), p);
}

/* --- the bounds --- */

static uint64_t mul_up(uint64_t a, uint64_t b)
{
	return (a * b + ONE - 1) / ONE;
}

/* (1 + @ppm / n)^n <= 2, rounded against the task. */
static bool below_liu_layland(int64_t ppm, uint64_t n)
{
	uint64_t base = ONE + ((uint64_t)ppm * 1000 + n - 1) / n, power = ONE;

	for (; n; n >>= 1) {
		if (base > 2 * ONE)
			return false;
		if (n & 1)
			power = mul_up(power, base);
		if (power > 2 * ONE)
			return false;
		if (n > 1)
			base = mul_up(base, base);
	}
	return true;
}

/* The figures of the bounds, over the classes up to @last. */
struct sums {
	int64_t ppm;
	uint64_t n, product; /* of 1 + U, fixed point, stops above 2 */
	cr_ns shortest, block;
	bool implicit; /* no deadline before the next release */
};

static void rm_add_up(struct sums *s, const struct cr_task *t,
		      enum cr_class last)
{
	int64_t util = (rm_cost(t) * CR_PPM + t->period - 1) / t->period;

	if (t->cls > last) {
		s->block = cr_ns_max(s->block, cr_task_worst(t));
		return;
	}
	util = cr_ns_min(util, 2 * CR_PPM);
	s->block = cr_ns_max(s->block, cr_task_worst(t));
	s->n++;
	s->ppm += util;
	s->shortest = cr_ns_min(s->shortest, t->period);
	s->implicit = s->implicit && t->rel_deadline >= t->period;
	if (s->product <= 2 * ONE)
		s->product = mul_up(s->product, ONE + (uint64_t)util * 1000);
}

static bool bounded(const struct cr_rq *rq, const struct cr_task *extra,
		    enum cr_class last)
{
	struct rm_admitted *a = CR_RQ(rq, struct rm_admitted);
	struct sums s = { .product = ONE,
			  .shortest = CR_NEVER,
			  .implicit = true };
	int64_t block = 0;
	struct rm_member *m;

	RB_FOREACH (m, rm_members, &a->members)
		rm_add_up(&s, cr_task_of(m), last);
	rm_add_up(&s, extra, last);
	if (!s.n)
		return true;
	if (!rq->sched->preemptible)
		block = (s.block * CR_PPM + s.shortest - 1) / s.shortest;
	if (!s.implicit || block > CR_PPM || s.ppm > CR_PPM)
		return false;
	if (CR_OPTS(rq, struct rm_admit_opts)->test == RM_LIU_LAYLAND)
		return below_liu_layland(s.ppm + block, s.n);
	return s.product <= 2 * ONE &&
	       mul_up(s.product, ONE + (uint64_t)block * 1000) <= 2 * ONE;
}

/* --- the verdict --- */

/* The bounds fail on several CPUs (Dhall): response times take their place. */
static bool passes(const struct cr_rq *rq, const struct cr_task *t)
{
	if (CR_OPTS(rq, struct rm_admit_opts)->test == RM_EXACT || rq->ncpu > 1)
		return exact(rq, t);
	return bounded(rq, t, CR_HARD) && bounded(rq, t, CR_SOFT);
}

static const char *rule_of(const struct cr_rq *rq)
{
	static const char *const rule[] = {
		[RM_EXACT] = "every response time <= min(D, T)",
		[RM_LIU_LAYLAND] = "sum U + longest frame / shortest T <= n "
				   "(2^(1/n) - 1), "
				   "D >= T",
		[RM_HYPERBOLIC] =
			("product of U + 1, times 1 + longest frame / shortest "
			 "T, <= 2, D >= T"),
	};

	if (rq->ncpu > 1)
		return "every response time <= min(D, T), on several CPUs "
		       "with a job of each carried in";
	return rule[CR_OPTS(rq, struct rm_admit_opts)->test];
}

/* In ppm, at most a million; rounded down, for comparisons. */
static int64_t share_of(cr_ns cost, cr_ns period)
{
	cr_ns rest = cost % period;

	rest = period < CR_PPM * CR_PPM ? rest * CR_PPM / period
					: rest / (period / CR_PPM);
	return cr_ns_min(cost / period, CR_PPM) * CR_PPM + rest;
}

static int64_t load_of(const struct cr_rq *rq)
{
	struct rm_admitted *a = CR_RQ(rq, struct rm_admitted);
	struct rm_level *l;
	int64_t ppm = 0;

	RB_FOREACH (l, rm_levels, &a->levels)
		ppm += share_of(l->cost, l->period);
	return ppm;
}

/* The tests are about tasks that may run on every CPU. Others that count as no
 * more than an average may have any mask. */
static bool mask_fits(const struct cr_rq *rq, const struct cr_task *t)
{
	return t->cls != CR_HARD || cpus_allowed(rq, t) == rq->ncpu;
}

/* The least loaded of those that pass, or of all when none does. */
int rm_admit(const struct cr_sched *s, const struct cr_task *t,
	     struct cr_verdict *v)
{
	int64_t least = 0;
	bool found = false;
	int best = -1;

	v->rule = "its CPU mask has a CPU of a run queue";
	v->need_ppm = rm_cost(t) * CR_PPM / t->period;
	for (unsigned i = 0; i < s->nrq; i++) {
		const struct cr_rq *rq = &s->rq[i];
		/* the levels do not know what best effort costs */
		int64_t load = t->cls == CR_BE ? rq->load_ppm : load_of(rq);
		bool less =
			best < 0 || load * s->rq[best].ncpu < least * rq->ncpu;
		bool ok;

		if (!cpus_allowed(rq, t) || (found && !less))
			continue;
		ok = mask_fits(rq, t) && passes(rq, t);
		if (found ? !ok : !ok && !less)
			continue;
		best = (int)i;
		least = load;
		found = ok;
	}
	if (best < 0)
		return -EINVAL;
	v->rule = rule_of(&s->rq[best]);
	v->bound_ppm = s->rq[best].ncpu * CR_PPM;
	v->free_ppm = v->bound_ppm - load_of(&s->rq[best]);
	if (!mask_fits(&s->rq[best], t)) {
		v->rule = "a hard task may run on every CPU of its run queue";
		v->free_ppm = 0;
	}
	return found ? best : -ENOSPC;
}
