/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run queues under a policy that steals: their events are merged, so that at
 * every instant all of them are at the same time, and idle CPUs are offered
 * what waits elsewhere. Live workers do the same (engine/live_worker.c), each
 * when it finds nothing to do.
 */
#include "base/assert.h"
#include "engine/cpus.h"
#include "sim/sim_state.h"

/* Where a task ran that has moved: on no CPU of its run queue. */
#define ELSEWHERE ((int)CR_MAX_CPUS)

bool sim_steals(const struct sim *s)
{
	return s->nrq > 1 && core_sched(s->core)->ops->steal;
}

static struct sim_task *sim_task_of(struct core_task *t)
{
	return (struct sim_task *)(void *)((unsigned char *)t -
					   offsetof(struct sim_task, core));
}

/* The longest queue but @to's and those in @asked; of equal ones the first.
 * NULL: nothing waits there. */
static struct sim_rq *longest(struct sim *s, const struct sim_rq *to,
			      const struct cr_cpus *asked)
{
	struct sim_rq *best = NULL;

	for (unsigned i = 0; i < s->nrq; i++) {
		struct sim_rq *q = &s->rq[i];

		if (q == to || !q->rq->nqueued || cr_cpus_has(asked, i))
			continue;
		if (!best || q->rq->nqueued > best->rq->nqueued)
			best = q;
	}
	return best;
}

/* @t is in @to's queue now: so are its place and its arrivals. */
static void move(struct sim *s, struct sim_task *t, struct sim_rq *from,
		 struct sim_rq *to)
{
	cr_ns at = event_queue_at(&from->arrivals, t->slot);

	event_queue_set(&from->arrivals, t->slot, CR_NEVER, to->now);
	from->task[t->slot] = NULL;
	from->vacant[from->nvacant++] = t->slot;
	t->slot = to->nvacant ? to->vacant[--to->nvacant] : to->slots++;
	t->rq = (uint32_t)(to - s->rq);
	to->task[t->slot] = t;
	event_queue_set(&to->arrivals, t->slot, at, to->now);
	if (t->cpu >= 0)
		t->cpu = ELSEWHERE;
}

/* Something for cpu[@cpu] of @to, from the longest queue that lets it go. */
static bool steal(struct sim *s, struct sim_rq *to, unsigned cpu)
{
	struct cr_cpus asked = { { 0 } };
	struct sim_rq *from;

	while ((from = longest(s, to, &asked))) {
		struct core_task *t;

		if (sim_make_room(to))
			return false;
		from->now = to->now;
		t = core_steal(s->core, from->rq, to->rq, cpu, to->now);
		if (t) {
			move(s, sim_task_of(t), from, to);
			event_heap_set(&s->next, (uint32_t)(from - s->rq),
				       sim_next(from));
			return true;
		}
		cr_cpus_add(&asked, (unsigned)(from - s->rq));
	}
	return false;
}

static bool something_waits(const struct sim *s)
{
	for (unsigned i = 0; i < s->nrq; i++)
		if (s->rq[i].rq->nqueued)
			return true;
	return false;
}

static void steal_for_idle(struct sim *s, struct sim_rq *q, cr_ns now)
{
	struct cr_cpus left = q->idle;
	int cpu;

	while ((cpu = cpus_lowest(&left)) >= 0) {
		cr_cpus_del(&left, (unsigned)cpu);
		q->now = now;
		/* again, if what was stolen had only what is too old */
		while (cr_cpus_has(&q->idle, (unsigned)cpu) &&
		       steal(s, q, (unsigned)cpu))
			sim_pick(s, q);
	}
	event_heap_set(&s->next, (uint32_t)(q - s->rq), sim_next(q));
}

static void share_work(struct sim *s, cr_ns now)
{
	for (unsigned i = 0; i < s->nrq && something_waits(s); i++)
		if (cpus_any(&s->rq[i].idle))
			steal_for_idle(s, &s->rq[i], now);
}

void sim_run_jointly(struct sim *s)
{
	cr_ns now;

	for (uint32_t i = 0; i < s->nrq; i++)
		event_heap_set(&s->next, i, sim_next(&s->rq[i]));
	while ((now = event_heap_next(&s->next)) < s->until) {
		while (event_heap_next(&s->next) <= now) {
			uint32_t i = s->next.event[0].owner;
			struct sim_rq *q = &s->rq[i];

			q->now = cr_ns_max(now, q->now);
			sim_instant(s, q);
			event_heap_set(&s->next, i, sim_next(q));
		}
		share_work(s, now);
	}
	for (uint32_t i = 0; i < s->nrq; i++)
		s->rq[i].now = s->until;
}
