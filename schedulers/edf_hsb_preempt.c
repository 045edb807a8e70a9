/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks that leave their CPUs, under edf-hsb. Decided once an instant, when
 * all that comes and goes is known: hard tasks take their CPUs, everybody else
 * is given a CPU of those that are left, in the global order. Policies for one
 * newcomer at a time would not see that a hard task has taken the idle CPU
 * which the newcomer before was to have.
 */
#include "schedulers/edf_hsb.h"

struct placing {
	struct cr_rq *rq;
	struct cr_cpus free;  /* will pick, and not a hard task */
	struct cr_cpus taken; /* by hard tasks                  */
};

/* @h, which waits for cpu[@c], is to have it. */
static bool hard_displaces(const struct cr_rq *rq, const struct hsb_server *h,
			   unsigned c)
{
	const struct hsb_cpu *cpu = &hsb_rq_of(rq)->cpu[c];
	const struct cr_task *r = rq->cpu[c].running;

	if (!h || !r || cpu->mode != HSB_HARD)
		return h;
	return h->rank != cpu->rank ? h->rank < cpu->rank : h->id < r->id;
}

static void look_at(struct placing *s, unsigned c)
{
	struct cr_rq *rq = s->rq;
	struct hsb_cpu *cpu = &hsb_rq_of(rq)->cpu[c];
	struct hsb_server *h = RB_MIN(hsb_queue, &cpu->hard);
	bool runs = rq->cpu[c].running;

	if (hard_displaces(rq, h, c))
		cr_cpus_add(&rq->kick, c);
	if (h || (runs && cpu->mode == HSB_HARD))
		cr_cpus_add(&s->taken, c);
	else if (!runs || cr_cpus_has(&rq->kick, c))
		cr_cpus_add(&s->free, c);
}

/* May the task that wants a CPU (NULL: none in particular) have this one? */
static bool hsb_fits(const struct placing *s, const struct cr_task *t,
		     unsigned c)
{
	return !t || cr_may_run(s->rq, t, c);
}

static bool place_on_free(struct placing *s, const struct cr_task *t)
{
	for (unsigned c = 0; c < s->rq->ncpu; c++)
		if (cr_cpus_has(&s->free, c) && hsb_fits(s, t, c)) {
			cr_cpus_del(&s->free, c);
			return true;
		}
	return false;
}

/* Find a CPU for a task of @rank that may not go on on its own, or comes from
 * the queues. False: there is none. */
static bool place_task(struct placing *s, const struct cr_task *t, cr_ns rank,
		       bool slack)
{
	struct cr_rq *rq = s->rq;
	struct hsb_rq *q = hsb_rq_of(rq);
	int worst = -1;

	if (place_on_free(s, t))
		return true;
	for (unsigned c = 0; c < rq->ncpu; c++)
		if (!cr_cpus_has(&s->taken, c) && !cr_cpus_has(&rq->kick, c) &&
		    hsb_fits(s, t, c) &&
		    (worst < 0 || q->cpu[c].rank > q->cpu[worst].rank))
			worst = (int)c;
	if (worst < 0 || rank >= q->cpu[worst].rank)
		return false;
	/* the background is idleness: that uses slack up as well */
	if (!slack || q->cpu[worst].rank != CR_NEVER)
		cr_cpus_add(&rq->kick, (unsigned)worst);
	return true;
}

/* Is there a CPU for a task after @rank? */
static bool some_worse_than(const struct placing *s, cr_ns rank)
{
	const struct hsb_rq *q = hsb_rq_of(s->rq);

	for (unsigned c = 0; c < s->rq->ncpu; c++)
		if (cr_cpus_has(&s->free, c) ||
		    (!cr_cpus_has(&s->taken, c) &&
		     !cr_cpus_has(&s->rq->kick, c) && q->cpu[c].rank > rank))
			return true;
	return false;
}

static void place_displaced(struct placing *s)
{
	struct hsb_rq *q = hsb_rq_of(s->rq);

	for (unsigned c = 0; c < s->rq->ncpu; c++) {
		const struct cr_task *r = s->rq->cpu[c].running;

		if (r && cr_cpus_has(&s->taken, c) &&
		    q->cpu[c].mode != HSB_HARD)
			(void)place_task(s, r, q->cpu[c].rank, false);
	}
}

/* The servers and the slack that wait, by deadline, until there is no room. */
static void place_waiting(struct placing *s)
{
	struct hsb_rq *q = hsb_rq_of(s->rq);
	struct hsb_server *own = RB_MIN(hsb_queue, &q->ready);
	struct hsb_server *be = RB_MIN(hsb_queue, &q->active);
	bool needy = q->nbe || !RB_EMPTY(&q->spent);
	struct hsb_server *slack = needy ? hsb_slack_first(s->rq) : NULL;
	unsigned nbe = q->nbe;

	while (own || (be && nbe) || slack) {
		cr_ns x = own ? own->rank : CR_NEVER;
		cr_ns y = be && nbe ? be->rank : CR_NEVER;
		cr_ns z = slack ? slack->deadline : CR_NEVER;

		if (slack && z <= x && z <= y) {
			if (!place_task(s, NULL, z, true))
				return;
			slack = RB_NEXT(hsb_slacks, NULL, slack);
		} else if (own && x <= y) {
			/* others may fit where its mask keeps it off */
			(void)place_task(s, cr_task_of(own), x, false);
			if (!some_worse_than(s, x))
				return;
			own = RB_NEXT(hsb_queue, NULL, own);
		} else {
			if (!place_task(s, NULL, y, false))
				return;
			be = RB_NEXT(hsb_queue, NULL, be);
			nbe--;
		}
	}
}

void hsb_preempt(struct cr_rq *rq)
{
	struct placing s = { .rq = rq };

	for (unsigned c = 0; c < rq->ncpu; c++)
		look_at(&s, c);
	place_displaced(&s);
	place_waiting(&s);
}
