/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sums of deadline_admit.h, and the test over them.
 */
#include "schedulers/deadline_admit.h"

#include <errno.h>

/* Rounded up; at most more than all CPUs, so that sums of a million of them,
 * times CPUs, do not overflow. */
static int64_t deadline_ppm_up(int64_t part, int64_t whole)
{
	int64_t share = (part * CR_PPM + whole - 1) / whole;

	return cr_ns_min(share, 4 * CR_MAX_CPUS * CR_PPM);
}

static cr_ns full_window(const struct cr_task *t)
{
	return cr_ns_min(t->period, t->rel_deadline);
}

static cr_ns deadline_window(const struct deadline_rq *d,
			     const struct cr_task *t)
{
	cr_ns before = d->to_start ? cr_task_worst(t) : 0;

	return cr_ns_max(full_window(t) - before, 1);
}

/* @share ppm of @time, rounded down. */
static cr_ns part_of(cr_ns time, int64_t share)
{
	return time / CR_PPM * share + time % CR_PPM * share / CR_PPM;
}

/* At most the largest cost that there is: see core_admit(). */
cr_ns deadline_budget(const struct deadline_rq *d, const struct cr_task *t)
{
	cr_ns cost = cr_task_demand(t);

	return cr_ns_min(cost + part_of(cost, d->margin), CR_TASK_LONGEST);
}

static int64_t density(const struct deadline_rq *d, const struct cr_task *t)
{
	return t->cls == CR_BE
		       ? 0
		       : deadline_ppm_up(deadline_budget(d, t), full_window(t));
}

/* The demand of @t that others have to expect. */
static cr_ns expected(const struct deadline_rq *d, const struct cr_task *t)
{
	cr_ns budget = deadline_budget(d, t);

	return d->isolated ? budget : cr_ns_max(budget, cr_task_worst(t));
}

/* The last class that counts in the sum of worst cases. */
static enum cr_class last_by_worst(const struct deadline_rq *d)
{
	return d->by_class ? CR_HARD : CR_SOFT;
}

static int64_t worst_density(const struct deadline_rq *d,
			     const struct cr_task *t)
{
	if (t->cls > last_by_worst(d))
		return 0;
	return deadline_ppm_up(expected(d, t), deadline_window(d, t));
}

cr_ns deadline_longest(const struct deadline_rq *rq)
{
	return extremes_largest(&rq->frames, 0);
}

cr_ns deadline_shortest_be(const struct deadline_rq *rq)
{
	return -extremes_largest(&rq->spare, 0);
}

/* The shortest window of the classes up to @last, with @t. */
static cr_ns shortest_window(const struct deadline_rq *d,
			     const struct cr_task *t, enum cr_class last)
{
	cr_ns shortest = t->cls <= last ? deadline_window(d, t) : CR_NEVER;

	for (unsigned cls = CR_HARD; cls <= (unsigned)last; cls++)
		shortest =
			cr_ns_min(shortest, -extremes_largest(&d->windows[cls],
							      -CR_NEVER));
	return shortest;
}

/* Share of a CPU that the longest frame of any task blocks, with @t, for the
 * classes up to @last. */
static int64_t blocking(const struct cr_rq *rq, const struct cr_task *t,
			enum cr_class last)
{
	const struct deadline_rq *d = CR_RQ(rq, struct deadline_rq);
	cr_ns frame =
		cr_ns_max(extremes_largest(&d->frames, 0), cr_task_worst(t));
	cr_ns shortest = shortest_window(d, t, last);

	if (rq->sched->preemptible || shortest == CR_NEVER)
		return 0;
	return deadline_ppm_up(frame, shortest);
}

/* The rest after the sum of each class's demand, before blocking. */
static int64_t room_by_load(const struct cr_rq *rq, const struct cr_task *t)
{
	const struct deadline_rq *d = CR_RQ(rq, struct deadline_rq);

	return rq->ncpu * CR_OPTS(rq, struct deadline_opts)->bound - d->util -
	       density(d, t);
}

/* The rest after the sum of worst cases, before blocking. */
static int64_t room_by_worst(const struct cr_rq *rq, const struct cr_task *t)
{
	const struct deadline_rq *d = CR_RQ(rq, struct deadline_rq);
	int64_t m = rq->ncpu, own = worst_density(d, t);
	int64_t umax = cr_ns_max(extremes_largest(&d->densities, 0), own);
	int64_t most = m * CR_OPTS(rq, struct deadline_opts)->bound;

	return cr_ns_min(most, m * CR_PPM - (m - 1) * umax) - d->worst - own;
}

/* --- CPU masks --- */

/* Does @t take part in what is promised to hard tasks without running
 * everywhere? */
static bool is_bound(const struct cr_rq *rq, const struct cr_task *t)
{
	const struct deadline_rq *d = CR_RQ(rq, struct deadline_rq);

	return t->cls <= last_by_worst(d) && cpus_allowed(rq, t) < rq->ncpu;
}

/* Is no frame of @t late, as long as none takes longer than its task's worst
 * case? Of the tasks that are there now, whether this test has admitted them or
 * not; its own part is in the sum already. */
static bool is_in_time(const struct cr_task *t)
{
	const struct cr_rq *rq = t->rq;
	const struct deadline_rq *d;

	if (!rq)
		return false;
	d = CR_RQ(rq, struct deadline_rq);
	return t->cls <= last_by_worst(d) && !d->nbound &&
	       room_by_worst(rq, t) + worst_density(d, t) >=
		       rq->ncpu * blocking(rq, t, last_by_worst(d));
}

void deadline_promise(const struct cr_task *t, struct cr_promise *p)
{
	promise_by_worst_case(t, is_in_time(t), p);
}

static bool masks_fit(const struct cr_rq *rq, const struct cr_task *t)
{
	const struct deadline_rq *d = CR_RQ(rq, struct deadline_rq);

	if (t->cls == CR_HARD)
		return !d->nbound && !is_bound(rq, t);
	return !d->nhard || !is_bound(rq, t);
}

/* --- the verdict --- */

/* How @t fits into a run queue. */
struct fit {
	const struct cr_rq *rq; /* NULL: nowhere */
	int64_t room; /* left after it has joined; below 0: too little       */
	int64_t idle; /* the same without blocking: time that nobody has yet */
	bool masks;   /* are as they must be                                 */
};

/* A best-effort task in a queue without deadlines breaks nothing. */
static bool nothing_to_guard(const struct cr_rq *rq, const struct cr_task *t)
{
	const struct deadline_rq *d = CR_RQ(rq, struct deadline_rq);

	return t->cls == CR_BE && !d->windows[CR_HARD].top &&
	       !d->windows[CR_SOFT].top;
}

static struct fit fit_into(const struct cr_rq *rq, const struct cr_task *t)
{
	const struct deadline_rq *d = CR_RQ(rq, struct deadline_rq);
	struct fit f = { .rq = rq, .masks = masks_fit(rq, t) };
	int64_t worst;

	f.idle = room_by_load(rq, t);
	f.room = f.idle - blocking(rq, t, CR_SOFT);
	if (d->nhard || t->cls == CR_HARD) {
		worst = room_by_worst(rq, t);
		f.idle = cr_ns_min(f.idle, worst);
		worst -= rq->ncpu * blocking(rq, t, last_by_worst(d));
		f.room = cr_ns_min(f.room, worst);
	}
	if (nothing_to_guard(rq, t))
		f.room = cr_ns_max(f.room, 0);
	if (t->cls == CR_BE) /* the sums do not know it */
		f.idle = -rq->load_ppm;
	return f;
}

static bool is_yes(const struct fit *f)
{
	return f->masks && f->room >= 0;
}

/* Is @a the better one? Where it is a yes, by the time that is left: a queue
 * without long frames would else get short ones only, many more than others
 * have, and nobody counts what every frame takes beside its cost. */
static bool deadline_is_better(const struct fit *a, const struct fit *b)
{
	int64_t x = a->idle, y = b->idle;

	if (!b->rq || is_yes(a) != is_yes(b))
		return !b->rq || is_yes(a);
	if (a->masks != b->masks)
		return a->masks;
	if (!is_yes(a)) {
		x = a->room;
		y = b->room;
	}
	return x * b->rq->ncpu > y * a->rq->ncpu;
}

/* Worst fit: of the run queues where it fits, the one with most time left per
 * CPU. */
int deadline_admit(const struct cr_sched *s, const struct cr_task *t,
		   struct cr_verdict *v)
{
	struct fit best = { .rq = NULL };

	v->need_ppm = density(CR_RQ(&s->rq[0], struct deadline_rq), t);
	v->rule = "its CPU mask has a CPU of a run queue";
	for (unsigned i = 0; i < s->nrq; i++) {
		struct fit f = fit_into(&s->rq[i], t);

		if (cpus_allowed(&s->rq[i], t) && deadline_is_better(&f, &best))
			best = f;
	}
	if (!best.rq)
		return -EINVAL;
	v->rule = "sum C / min(D, T) + longest frame / shortest D <= bound";
	v->bound_ppm =
		best.rq->ncpu * CR_OPTS(best.rq, struct deadline_opts)->bound;
	v->free_ppm = best.room + v->need_ppm;
	if (!best.masks) {
		v->rule = "hard tasks, and who can make them late, may run on "
			  "every CPU of their run queue";
		v->free_ppm = 0;
	}
	return is_yes(&best) ? (int)best.rq->id : -ENOSPC;
}

/* --- joining and leaving --- */

/* @t joins @home, of which @rq are the sums. */
static void deadline_join(const struct cr_rq *home, struct deadline_rq *rq,
			  const struct cr_task *t, struct deadline_task *x)
{
	x->util = density(rq, t);
	x->bound = is_bound(home, t);
	rq->util += x->util;
	rq->worst += worst_density(rq, t);
	rq->nhard += t->cls == CR_HARD;
	rq->nbound += x->bound;
	extremes_add(&rq->frames, &x->frame, t->id, cr_task_worst(t));
	if (t->cls == CR_BE) {
		extremes_add(&rq->spare, &x->window, t->id, -x->frame.value);
		return;
	}
	extremes_add(&rq->windows[t->cls], &x->window, t->id,
		     -deadline_window(rq, t));
	if (t->cls <= last_by_worst(rq))
		extremes_add(&rq->densities, &x->density, t->id,
			     worst_density(rq, t));
}

void deadline_add(struct deadline_rq *rq, const struct cr_task *t,
		  struct deadline_task *x)
{
	deadline_join(t->rq, rq, t, x);
}

void deadline_del(struct deadline_rq *rq, const struct cr_task *t,
		  struct deadline_task *x)
{
	rq->util -= x->util;
	rq->worst -= worst_density(rq, t);
	rq->nhard -= t->cls == CR_HARD;
	rq->nbound -= x->bound;
	extremes_del(&rq->frames, &x->frame);
	if (t->cls == CR_BE) {
		extremes_del(&rq->spare, &x->window);
		return;
	}
	extremes_del(&rq->windows[t->cls], &x->window);
	if (t->cls <= last_by_worst(rq))
		extremes_del(&rq->densities, &x->density);
}

void deadline_move(const struct cr_rq *from, const struct cr_rq *to,
		   const struct cr_task *t, struct deadline_task *x)
{
	deadline_del(CR_RQ(from, struct deadline_rq), t, x);
	deadline_join(to, CR_RQ(to, struct deadline_rq), t, x);
}

bool deadline_fits(const struct cr_rq *rq, const struct cr_task *t)
{
	struct fit f = fit_into(rq, t);

	return is_yes(&f);
}
