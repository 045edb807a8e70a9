/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission for edf-hsb, in ppm and rounded against the task. Per run queue of
 * M CPUs, c being M less what hard tasks take:
 *
 *   1  hard tasks of each CPU: sum of C / min(D, T), and where jobs are not
 *      cut the longest of anybody over the shortest min(D, T), <= 1
 *   2  hard tasks + soft servers + best effort's servers <= M
 *   3  no server's share is as large as c / (2 M - 2); one CPU: no such limit
 *   4  a soft server's budget is above the mean of its task; or equal to it,
 *      when the cost never varies
 *
 * Tasks count by cr_task_demand(). A hard one is put on the CPU with the least
 * hard load, the lowest of equals.
 *
 * Soft budgets are the mean times the same factor for all: given by option, or
 * the largest that leaves 2 true and every share epsilon below 3's limit; never
 * above the period. They follow the set: a server has a new one from its next
 * period on, so that one is still above its share for a period when another
 * joins. Without admission the factor may be below 1; then everybody's budget
 * falls short by the same part.
 */
#include <errno.h>

#include "schedulers/edf_hsb.h"

/* Largest factor from mean to budget, ppm: a limit only for arithmetic. */
#define MAX_FACTOR (1000 * CR_PPM)
#define MIN_FACTOR (CR_PPM / 100)

/* --- what a task counts as --- */

static cr_ns hsb_window(const struct cr_task *t)
{
	return cr_ns_min(t->period, t->rel_deadline);
}

/* Rounded up; at most what keeps sums of them from overflow. */
static int64_t hsb_ppm_up(cr_ns part, cr_ns whole)
{
	int64_t share = (part * CR_PPM + whole - 1) / whole;

	return cr_ns_min(share, CR_PPM * CR_PPM);
}

static int64_t util_of(const struct cr_task *t)
{
	if (t->cls == CR_HARD)
		return hsb_ppm_up(cr_task_demand(t), hsb_window(t));
	return t->cls == CR_SOFT ? hsb_ppm_up(cr_task_demand(t), t->period) : 0;
}

/* --- budgets --- */

/* The sums of a run queue, with one more task or without. */
struct sums {
	int64_t cpus, hard, be, be_share, mean, share; /* ppm */
	bool varying;
};

static struct sums sums_of(const struct cr_rq *rq)
{
	const struct hsb_rq *q = hsb_rq_of(rq);
	const struct hsb_opts *o = hsb_opts_of(rq);

	return (struct sums){ .cpus = rq->ncpu * CR_PPM,
			      .hard = q->hard,
			      .be = q->nserver * o->be_share,
			      .be_share = q->nserver ? o->be_share : 0,
			      .mean = q->mean,
			      .share = extremes_largest(&q->shares, 0),
			      .varying = q->nvarying > 0 };
}

/* Constraint 3's limit; one CPU: none, so what no share can reach. */
static int64_t share_limit(const struct sums *s)
{
	int64_t m = s->cpus / CR_PPM;

	return m > 1 ? (s->cpus - s->hard) / (2 * m - 2) : CR_PPM * CR_PPM;
}

static int64_t over(int64_t ppm, int64_t share)
{
	if (share <= 0)
		return MAX_FACTOR;
	return cr_ns_min(cr_ns_min(ppm, CR_PPM * CR_PPM) * CR_PPM / share,
			 MAX_FACTOR);
}

static int64_t factor_of(const struct sums *s, const struct hsb_opts *o)
{
	if (o->budget)
		return o->budget;
	return cr_ns_min(over(s->cpus - s->hard - s->be, s->mean),
			 over(share_limit(s) - o->epsilon, s->share));
}

cr_ns hsb_budget_of(const struct cr_rq *rq, const struct cr_task *t)
{
	struct sums s = sums_of(rq);
	int64_t factor = cr_ns_max(factor_of(&s, hsb_opts_of(rq)), MIN_FACTOR);
	cr_ns cost = cr_task_demand(t);
	cr_ns least = t->period / CR_PPM + 1; /* debts are paid some day */

	if (cost <= 0) /* not known: it gets what it asks for */
		return t->period;
	if (t->cls == CR_HARD)
		return cr_ns_max(cost, least);
	cost = cost / CR_PPM * factor + cost % CR_PPM * factor / CR_PPM;
	return cr_ns_max(cr_ns_min(cost, t->period), least);
}

unsigned hsb_be_servers(const struct hsb_opts *o, unsigned ncpu)
{
	if (!o->be_share)
		return 0;
	return o->be_servers ? (unsigned)o->be_servers : ncpu;
}

/* --- constraint 1 --- */

/* The CPU of @rq for hard task @t, or -1: it may run on none. */
static int home_for(const struct cr_rq *rq, const struct cr_task *t)
{
	const struct hsb_rq *q = hsb_rq_of(rq);
	int best = -1;

	for (unsigned c = 0; c < rq->ncpu; c++)
		if (cr_may_run(rq, t, c) &&
		    (best < 0 || q->cpu[c].load < q->cpu[best].load))
			best = (int)c;
	return best;
}

/* The rest of CPU @c for hard tasks, with @t there if it is its @home. */
static int64_t hsb_room_on(const struct cr_rq *rq, unsigned c,
			   const struct cr_task *t, int home)
{
	const struct hsb_rq *q = hsb_rq_of(rq);
	cr_ns shortest = -extremes_largest(&q->cpu[c].windows, -CR_NEVER);
	cr_ns frame =
		cr_ns_max(extremes_largest(&q->frames, 0), cr_task_worst(t));
	int64_t room = CR_PPM - q->cpu[c].load;

	if ((int)c == home) {
		room -= util_of(t);
		shortest = cr_ns_min(shortest, hsb_window(t));
	}
	if (rq->sched->preemptible || shortest == CR_NEVER)
		return room;
	return room - hsb_ppm_up(frame, shortest);
}

cr_ns hsb_longest(const struct cr_rq *rq)
{
	return extremes_largest(&hsb_rq_of(rq)->frames, 0);
}

bool hsb_in_time(const struct cr_task *t)
{
	return t->rq && t->cls == CR_HARD &&
	       hsb_room_on(t->rq, CR_TASK_CONST(t, struct hsb_task)->home, t,
			   -1) >= 0;
}

/* The least room that @t leaves on any CPU with hard tasks. */
static int64_t room_1(const struct cr_rq *rq, const struct cr_task *t)
{
	int home = t->cls == CR_HARD ? home_for(rq, t) : -1;
	int64_t least = CR_PPM;

	if (home < 0 && rq->sched->preemptible)
		return least;
	for (unsigned c = 0; c < rq->ncpu; c++)
		least = cr_ns_min(least, hsb_room_on(rq, c, t, home));
	return least;
}

/* --- constraints 2 to 4 --- */

static struct sums sums_with(const struct cr_rq *rq, const struct cr_task *t)
{
	struct sums s = sums_of(rq);

	if (t->cls == CR_HARD)
		s.hard += util_of(t);
	if (t->cls != CR_SOFT)
		return s;
	s.mean += util_of(t);
	s.share = cr_ns_max(s.share, util_of(t));
	s.varying = s.varying || t->cost.variance_ns2;
	return s;
}

/* The least that a budget is above the mean, ppm: constraint 4. */
static int64_t least_factor(const struct sums *s, const struct hsb_opts *o)
{
	return o->budget ? o->budget : CR_PPM + s->varying;
}

static int64_t hsb_scaled(int64_t ppm, int64_t factor)
{
	return ppm / CR_PPM * factor +
	       (ppm % CR_PPM * factor + CR_PPM - 1) / CR_PPM;
}

static int64_t room_2(const struct sums *s, const struct hsb_opts *o)
{
	return s->cpus - s->hard - s->be -
	       hsb_scaled(s->mean, least_factor(s, o));
}

static int64_t room_3(const struct sums *s, const struct hsb_opts *o)
{
	int64_t soft = hsb_scaled(s->share, least_factor(s, o));
	int64_t near = o->budget ? 1 : cr_ns_max(o->epsilon, 1);

	if (s->mean)
		soft += near;
	return share_limit(s) - cr_ns_max(soft, s->be_share + 1);
}

/* The least room that constraints 1 to 4 leave in @rq with @t in it. */
static int64_t room_with(const struct cr_rq *rq, const struct cr_task *t,
			 struct cr_verdict *v)
{
	const struct hsb_opts *o = hsb_opts_of(rq);
	struct sums s = sums_with(rq, t);
	int64_t one = room_1(rq, t), two = room_2(&s, o), three = room_3(&s, o);
	bool means_fit = !s.mean || least_factor(&s, o) >= CR_PPM + s.varying;

	v->bound_ppm = s.cpus;
	v->rule = "hard C / min(D, T) + soft servers + best-effort servers <= "
		  "M";
	if (t->cls == CR_BE && one >= 0)
		return cr_ns_max(two, 0); /* it takes what is there */
	if (one < 0 || (t->cls == CR_HARD && one < two && three >= 0)) {
		v->bound_ppm = CR_PPM;
		v->rule = "hard tasks of one CPU: sum C / min(D, T) + longest "
			  "job that is not cut / shortest D <= 1";
		return one;
	}
	if (two >= 0 && three < 0) {
		v->bound_ppm = share_limit(&s);
		v->rule = "largest server < (M - hard) / (2 M - 2)";
		return three;
	}
	if (two >= 0 && !means_fit) {
		v->rule = "budget > mean cost";
		return least_factor(&s, o) - CR_PPM - s.varying;
	}
	return two;
}

static bool hsb_allowed(const struct cr_rq *rq, const struct cr_task *t)
{
	return home_for(rq, t) >= 0;
}

/* Is @rq with @room the better one, if @best leaves @most? Best effort, of
 * which the constraints know no size, goes where the load is least. */
static bool hsb_is_better(const struct cr_task *t, const struct cr_rq *rq,
			  int64_t room, const struct cr_rq *best, int64_t most)
{
	if (!best || (room < 0) != (most < 0))
		return !best || room >= 0;
	if (t->cls == CR_BE)
		return cr_lighter(rq, best);
	return room * best->ncpu > most * rq->ncpu;
}

/* Worst fit: the run queue that has most room left per CPU. */
int hsb_admit(const struct cr_sched *s, const struct cr_task *t,
	      struct cr_verdict *v)
{
	const struct cr_rq *best = NULL;
	int64_t most = 0;

	v->need_ppm = util_of(t);
	v->rule = "its CPU mask has a CPU of a run queue";
	for (unsigned i = 0; i < s->nrq; i++) {
		struct cr_verdict here = *v;
		int64_t room;

		if (!hsb_allowed(&s->rq[i], t))
			continue;
		room = room_with(&s->rq[i], t, &here);
		if (!hsb_is_better(t, &s->rq[i], room, best, most))
			continue;
		best = &s->rq[i];
		most = room;
		v->bound_ppm = here.bound_ppm;
		v->rule = here.rule;
	}
	if (!best)
		return -EINVAL;
	v->free_ppm = most + v->need_ppm;
	return most >= 0 ? (int)best->id : -ENOSPC;
}

/* --- joining and leaving --- */

void hsb_join(struct cr_rq *rq, struct cr_task *t)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_task *x = CR_TASK(t, struct hsb_task);
	int home = home_for(rq, t);

	x->util = util_of(t);
	x->server.id = t->id;
	extremes_add(&q->frames, &x->frame, t->id, cr_task_worst(t));
	if (t->cls == CR_HARD) {
		x->home = home < 0 ? 0 : (unsigned)home;
		q->hard += x->util;
		q->cpu[x->home].load += x->util;
		extremes_add(&q->cpu[x->home].windows, &x->size, t->id,
			     -hsb_window(t));
	} else if (t->cls == CR_SOFT) {
		q->mean += x->util;
		q->nvarying += t->cost.variance_ns2 > 0;
		extremes_add(&q->shares, &x->size, t->id, x->util);
	}
}

void hsb_leave(struct cr_rq *rq, struct cr_task *t)
{
	struct hsb_rq *q = hsb_rq_of(rq);
	struct hsb_task *x = CR_TASK(t, struct hsb_task);

	extremes_del(&q->frames, &x->frame);
	if (t->cls == CR_HARD) {
		q->hard -= x->util;
		q->cpu[x->home].load -= x->util;
		extremes_del(&q->cpu[x->home].windows, &x->size);
	} else if (t->cls == CR_SOFT) {
		q->mean -= x->util;
		q->nvarying -= t->cost.variance_ns2 > 0;
		extremes_del(&q->shares, &x->size);
	}
}
