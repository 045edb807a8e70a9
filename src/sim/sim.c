/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver.
 *
 * A run queue has events: its CPUs' (the job there ends, or its slice) and its
 * tasks' (the client's arrive()). The policy's tick and the next look at the
 * CPUs without an event (a kick waits for the preemption grid, or a task was
 * abandoned) are two times beside them.
 *
 *   instant(now):  stop   CPUs whose event is due, slices first come to an end
 *                  again  what was stopped;  arrive  tasks whose time has come
 *                  tick   if due
 *                  kick   stop and enqueue again what the policy displaces
 *                  pick   on every idle CPU while something is queued
 */
#include "sim/sim.h"

#include "base/assert.h"
#include "engine/cpus.h"
#include "sim/sim_state.h"
#include "schedulers/registry.h"

static struct sim_task *sim_task_of(struct core_task *t)
{
	return (struct sim_task *)(void *)((unsigned char *)t -
					   offsetof(struct sim_task, core));
}

/* --- events --- */

cr_ns sim_next(const struct sim_rq *q)
{
	return cr_ns_min(cr_ns_min(event_row_first(&q->ends).at,
				   event_queue_next(&q->arrivals)),
			 cr_ns_min(q->rq->next_tick, q->look));
}

/* --- leaving a CPU --- */

static void forget(struct sim *s, struct sim_rq *q, struct sim_task *t)
{
	event_queue_set(&q->arrivals, t->slot, CR_NEVER, q->now);
	q->task[t->slot] = NULL;
	q->vacant[q->nvacant++] = t->slot;
	core_del(s->core, &t->core, q->now);
	s->cfg.client.gone(s->cfg.client.arg, t);
}

static void complete(struct sim *s, struct sim_rq *q, unsigned cpu,
		     struct sim_task *t)
{
	const struct sim_client *client = &s->cfg.client;

	t->started = false;
	client->done(client->arg, t, q->rq->first_cpu + cpu, q->now);
}

/* The turn of cpu[@cpu] ends; the task is kept to be enqueued again. */
static void stop(struct sim *s, struct sim_rq *q, unsigned cpu,
		 enum cr_stop why)
{
	struct sim_cpu *c = &q->cpu[cpu];
	struct sim_task *t = sim_task_of(core_task_of(q->rq->cpu[cpu].running));
	cr_ns ran = q->now - q->rq->cpu[cpu].since;
	cr_ns served = cr_ns_max(ran - c->overhead, 0);

	event_row_take(&q->ends, cpu);
	(void)core_stop(s->core, q->rq, cpu,
			why == CR_STOP_DONE ? cr_ns_max(ran - t->stolen, 0)
					    : ran,
			why, q->now);
	cr_cpus_add(&q->idle, cpu);
	c->stats.busy += ran;
	c->stats.overhead += ran - served;
	t->left -= served;
	if (why == CR_STOP_DONE) {
		complete(s, q, cpu, t);
	} else {
		t->splits++;
		c->stats.preemptions++;
	}
	q->todo[q->ntodo++] = &t->core;
}

static void stop_due(struct sim *s, struct sim_rq *q)
{
	while (event_row_first(&q->ends).at == q->now) {
		unsigned cpu = event_row_first(&q->ends).owner;
		const struct cr_cpu *c = &q->rq->cpu[cpu];
		const struct sim_task *t =
			sim_task_of(core_task_of(c->running));
		bool done = q->now - c->since == q->cpu[cpu].overhead + t->left;

		stop(s, q, cpu, done ? CR_STOP_DONE : CR_STOP_SLICE);
	}
}

static void enqueue_stopped(struct sim *s, struct sim_rq *q)
{
	for (unsigned i = 0; i < q->ntodo; i++) {
		struct sim_task *t = sim_task_of(q->todo[i]);

		if (t->leaving && !t->started)
			forget(s, q, t);
		else if (core_again(s->core, &t->core, q->now))
			t->pending += t->started ? 0 : s->cfg.overhead.release;
	}
	q->ntodo = 0;
}

/* --- arrivals --- */

/* Arrivals ahead: what is fetched is there in time. Of 2 to 24, measured, 4 to
 * 12 are best. */
#define AHEAD 8u
/* So many tasks stay in a core's cache: nothing needs to be fetched. */
#define FEW 512u

/* With many tasks, none is in the cache when its frame comes. Into the second
 * level: the first one has too few misses under way at once, and waits for all
 * of a task's lines as long as if nobody had asked for them. Always inline:
 * gcc takes a function that only prefetches for one without effect and drops
 * the call. */
__attribute__((always_inline)) static inline void fetch_ahead(
	const struct sim *s, const struct sim_rq *q)
{
	uint32_t slot = event_queue_peek(&q->arrivals, AHEAD);
	const unsigned char *t;

	if (slot == EVENT_NOBODY || s->added <= FEW)
		return;
	t = (const unsigned char *)q->task[slot];
	for (unsigned i = 0; i < s->nlines; i += 4) {
		__builtin_prefetch(t + s->line[i], 1, 2);
		__builtin_prefetch(t + s->line[i + 1], 1, 2);
		__builtin_prefetch(t + s->line[i + 2], 1, 2);
		__builtin_prefetch(t + s->line[i + 3], 1, 2);
	}
}

static void arrive_due(struct sim *s, struct sim_rq *q)
{
	const struct sim_client *client = &s->cfg.client;

	while (event_queue_next(&q->arrivals) == q->now) {
		uint32_t slot = q->arrivals.first.owner;
		struct sim_task *t = q->task[slot];
		cr_ns next;

		fetch_ahead(s, q);
		next = client->arrive(client->arg, t, q->now);
		CR_ASSERT(next > q->now);
		event_queue_set(&q->arrivals, slot, next, q->now);
		if (t->core.task.state == CR_IDLE &&
		    core_release(s->core, &t->core, q->now))
			t->pending += s->cfg.overhead.release;
	}
}

/* --- preemption --- */

/* Kicks wait for the grid: the next point of it, if one is pending. */
static bool may_preempt(const struct sim *s, struct sim_rq *q)
{
	cr_ns grid = s->cfg.quantum;

	if (s->cfg.preempt == SIM_FRAME || !cpus_any(&q->rq->kick))
		return false;
	if (s->cfg.preempt == SIM_FULL || q->now % grid == 0)
		return true;
	q->look = (q->now / grid + 1) * grid;
	return false;
}

/* A task enqueued again may displace another one; each displacement is by a
 * task that is before the one displaced, so this ends. */
static void preempt(struct sim *s, struct sim_rq *q)
{
	while (may_preempt(s, q)) {
		for (unsigned cpu = 0; cpu < q->rq->ncpu; cpu++) {
			if (!cr_cpus_has(&q->rq->kick, cpu))
				continue;
			cr_cpus_del(&q->rq->kick, cpu);
			if (q->rq->cpu[cpu].running)
				stop(s, q, cpu, CR_STOP_PREEMPT);
		}
		enqueue_stopped(s, q);
	}
}

/* --- dispatching --- */

/* Wait for the lock, and hold it: how long that takes from now on. */
static cr_ns hold_lock(struct sim_rq *q, cr_ns hold)
{
	q->unlocked = cr_ns_max(q->unlocked, q->now) + hold;
	return q->unlocked - q->now;
}

/* What the machine takes before @t goes on on cpu[@cpu]. */
static cr_ns charge(struct sim *s, struct sim_rq *q, unsigned cpu,
		    struct sim_task *t)
{
	const struct sim_overhead *o = &s->cfg.overhead;
	struct sim_cpu *c = &q->cpu[cpu];
	cr_ns sum = o->decision + t->pending + hold_lock(q, o->lock);

	t->pending = 0;
	c->stats.picks++;
	if (c->last != t || c->last_id != t->core.task.id) {
		sum += o->context;
		c->stats.switches++;
	}
	t->others =
		t->cpu == (int)cpu ? c->stats.picks - t->turn - 1 : SIM_COLD;
	t->turn = c->stats.picks;
	if (t->cpu >= 0 && t->cpu != (int)cpu) {
		sum += o->migration;
		c->stats.migrations++;
		t->moves += t->started;
	}
	t->cpu = (int)cpu;
	c->last = t;
	c->last_id = t->core.task.id;
	return sum;
}

/* When the turn ends unless a kick comes before. */
static cr_ns end_of_turn(const struct sim *s, const struct sim_rq *q,
			 const struct sim_task *t, cr_ns overhead)
{
	cr_ns done = q->now + overhead + t->left, slice, grid = s->cfg.quantum;

	if (s->cfg.preempt == SIM_FRAME)
		return done;
	slice = cr_ns_add(q->now, t->core.task.slice);
	if (s->cfg.preempt == SIM_QUANTUM && slice != CR_NEVER)
		slice = (slice + grid - 1) / grid * grid;
	return cr_ns_min(done, slice);
}

static void dispatch(struct sim *s, struct sim_rq *q, unsigned cpu,
		     struct sim_task *t)
{
	const struct sim_client *client = &s->cfg.client;
	cr_ns overhead;

	if (t->seq != t->core.task.job.seq) /* given up when half done */
		t->started = false;
	overhead = charge(s, q, cpu, t);
	if (!t->started) {
		t->seq = t->core.task.job.seq;
		t->first = q->now;
		t->stolen = 0;
		t->left = client->cost(client->arg, t);
		CR_ASSERT(t->left > 0);
		t->moves = t->splits = 0;
		t->started = true;
	}
	q->cpu[cpu].overhead = overhead;
	cr_cpus_del(&q->idle, cpu);
	event_row_put(&q->ends, cpu, end_of_turn(s, q, t, overhead));
}

static void pick(struct sim *s, struct sim_rq *q, unsigned cpu)
{
	struct core_task *t = core_pick(s->core, q->rq, cpu, q->now);

	if (t)
		dispatch(s, q, cpu, sim_task_of(t));
}

void sim_pick(struct sim *s, struct sim_rq *q)
{
	for (unsigned i = 0; q->rq->nqueued && i < CR_MAX_CPUS / 64; i++)
		for (uint64_t left = q->idle.word[i]; left && q->rq->nqueued;
		     left &= left - 1)
			pick(s, q, i * 64 + (unsigned)__builtin_ctzll(left));
}

/* The policy broke its contract: the fallback may have work for CPUs it left
 * idle. */
static void recover(struct sim *s, struct sim_rq *q)
{
	const struct sim_client *client = &s->cfg.client;
	struct core_fault fault;

	if (core_take_fault(s->core, q->rq, &fault) && client->faulty)
		client->faulty(client->arg, &fault, q->now);
	sim_pick(s, q);
}

void sim_instant(struct sim *s, struct sim_rq *q)
{
	if (q->look == q->now)
		q->look = CR_NEVER;
	if (event_row_first(&q->ends).at == q->now) {
		stop_due(s, q);
		enqueue_stopped(s, q);
	}
	arrive_due(s, q);
	if (q->rq->next_tick <= q->now)
		(void)core_tick(s->core, q->rq, q->now);
	if (s->cfg.preempt != SIM_FRAME)
		preempt(s, q);
	if (q->rq->nqueued)
		sim_pick(s, q);
	if (core_faulty(s->core, q->rq))
		recover(s, q);
}

/* --- what the client sees --- */

void sim_remove(struct sim *s, struct sim_task *t)
{
	struct sim_rq *q = &s->rq[t->rq];

	sim_arrive_at(s, t, CR_NEVER);
	if (t->core.task.state == CR_RUNNING)
		t->leaving = true;
	else
		forget(s, q, t);
}

void sim_abandon(struct sim *s, struct sim_task *t)
{
	struct sim_rq *q = &s->rq[t->rq];
	const struct cr_task *task = &t->core.task;

	CR_ASSERT(q->now == s->now);
	if (task->state == CR_RUNNING) {
		stop(s, q, (unsigned)task->cpu, CR_STOP_DROP);
		q->ntodo--;
		q->look = q->now; /* somebody may wait for that CPU */
	}
	forget(s, q, t);
}

void sim_arrive_at(struct sim *s, struct sim_task *t, cr_ns at)
{
	struct sim_rq *q = &s->rq[t->rq];

	CR_ASSERT(at >= q->now);
	event_queue_set(&q->arrivals, t->slot, at, q->now);
}

static void run_rq(struct sim *s, struct sim_rq *q)
{
	cr_ns next;

	while ((next = sim_next(q)) < s->until) {
		q->now = cr_ns_max(next, q->now);
		sim_instant(s, q);
	}
	q->now = s->until;
}

/* The run queues of part @part. */
static void run_part(void *arg, unsigned part)
{
	struct sim *s = arg;
	unsigned i = (part * s->nrq + s->nparts - 1) / s->nparts;

	for (; i < s->nrq && s->rq[i].part == part; i++)
		run_rq(s, &s->rq[i]);
}

void sim_run(struct sim *s, cr_ns until)
{
	CR_ASSERT(until >= s->now);
	s->until = until;
	if (sim_steals(s))
		sim_run_jointly(s);
	else
		pool_run(s->pool, s->nparts, run_part, s);
	s->now = until;
	if (core_replaced(s->core))
		(void)sim_switch(s, cr_sched_fallback, NULL, NULL);
}

int sim_switch(struct sim *s, const struct cr_sched_ops *ops, const char *opts,
	       struct cr_err *e)
{
	struct core_switch *sw;
	unsigned n = 0;
	int rc;

	for (unsigned i = 0; i < s->nrq; i++)
		n += core_ntasks(s->core, s->rq[i].rq);
	rc = core_switch_prepare(&sw, s->core, n, ops, opts, e);
	if (rc)
		return rc;
	rc = core_switch_commit(sw, s->now, e);
	core_switch_finish(sw);
	for (unsigned i = 0; i < s->nrq && !rc; i++) {
		preempt(s, &s->rq[i]);
		sim_pick(s, &s->rq[i]);
	}
	return rc;
}

int sim_change(struct sim *s, struct sim_task *t, const struct core_terms *to,
	       struct cr_verdict *v)
{
	struct sim_rq *q = &s->rq[t->rq];
	struct core_change *ch;
	int rc = core_change_prepare(&ch, s->core, core_ntasks(s->core, q->rq),
				     CORE_CHANGE_STAY);

	if (rc)
		return rc;
	rc = core_change(ch, &t->core, to, s->now, v);
	core_change_finish(ch);
	if (rc >= 0) {
		preempt(s, q);
		sim_pick(s, q);
	}
	return rc;
}
