/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver.
 *
 * A lane is a run queue with its events: its CPUs' (the job there ends, or its
 * slice) and its tasks' (the client's arrive()). The policy's tick and the next
 * look at the CPUs without an event (a kick waits for the preemption grid, or a
 * task was abandoned) are two times beside them.
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
#include "schedulers/policies.h"

static struct sim_task *sim_task_of(struct core_task *t)
{
	return (struct sim_task *)(void *)((unsigned char *)t -
					   offsetof(struct sim_task, core));
}

/* --- events --- */

static cr_ns next_of(const struct lane *l)
{
	return cr_ns_min(cr_ns_min(event_heap_next(&l->ends),
				   event_queue_next(&l->arrivals)),
			 cr_ns_min(l->rq->next_tick, l->look));
}

/* --- leaving a CPU --- */

static void forget(struct sim *s, struct lane *l, struct sim_task *t)
{
	event_queue_set(&l->arrivals, t->slot, CR_NEVER, l->now);
	l->task[t->slot] = NULL;
	l->vacant[l->nvacant++] = t->slot;
	core_del(s->core, &t->core, l->now);
	s->cfg.client.gone(s->cfg.client.arg, t);
}

static void complete(struct sim *s, struct lane *l, unsigned cpu,
		     struct sim_task *t)
{
	const struct sim_client *client = &s->cfg.client;

	t->started = false;
	client->done(client->arg, t, l->rq->first_cpu + cpu, l->now);
}

/* The turn of cpu[@cpu] ends; the task is kept to be enqueued again. */
static void stop(struct sim *s, struct lane *l, unsigned cpu, enum cr_stop why)
{
	struct sim_cpu *c = &l->cpu[cpu];
	struct sim_task *t = sim_task_of(core_task_of(l->rq->cpu[cpu].running));
	cr_ns ran = l->now - l->rq->cpu[cpu].since;
	cr_ns served = cr_ns_max(ran - c->overhead, 0);

	event_heap_set(&l->ends, cpu, CR_NEVER);
	(void)core_stop(s->core, l->rq, cpu, ran, why, l->now);
	cr_cpus_add(&l->idle, cpu);
	c->stats.busy += ran;
	c->stats.overhead += ran - served;
	t->left -= served;
	if (why == CR_STOP_DONE) {
		complete(s, l, cpu, t);
	} else {
		t->splits++;
		c->stats.preemptions++;
	}
	l->todo[l->ntodo++] = &t->core;
}

static void stop_due(struct sim *s, struct lane *l)
{
	while (event_heap_next(&l->ends) == l->now) {
		unsigned cpu = l->ends.event[0].owner;
		const struct cr_cpu *c = &l->rq->cpu[cpu];
		const struct sim_task *t =
			sim_task_of(core_task_of(c->running));
		bool done = l->now - c->since == l->cpu[cpu].overhead + t->left;

		stop(s, l, cpu, done ? CR_STOP_DONE : CR_STOP_SLICE);
	}
}

static void enqueue_stopped(struct sim *s, struct lane *l)
{
	for (unsigned i = 0; i < l->ntodo; i++) {
		struct sim_task *t = sim_task_of(l->todo[i]);

		if (t->leaving && !t->started)
			forget(s, l, t);
		else if (core_again(s->core, &t->core, l->now))
			t->pending += t->started ? 0 : s->cfg.overhead.release;
	}
	l->ntodo = 0;
}

/* --- arrivals --- */

/* Arrivals ahead: what is fetched is there in time and not yet gone again. */
#define AHEAD 6u
/* Bytes of a policy's part that every frame needs, as a rule. */
#define HOT 112u
_Static_assert(HOT <= CR_TASK_PRIV, "within the policy's part");

/* Always inline: gcc takes a function that only prefetches for one without
 * effect and drops the call. */
__attribute__((always_inline)) static inline void fetch(
	const unsigned char *from, const unsigned char *to)
{
	for (from -= (uintptr_t)from % 64; from < to; from += 64)
		__builtin_prefetch(from, 1);
}

/* With many tasks, none is in the cache when its frame comes. */
__attribute__((always_inline)) static inline void fetch_ahead(
	const struct sim *s, const struct lane *l)
{
	uint32_t slot = event_queue_peek(&l->arrivals, AHEAD);
	const struct sim_task *t;
	const unsigned char *begin;
	size_t size = s->cfg.client.footprint;

	if (slot == EVENT_NOBODY)
		return;
	t = l->task[slot];
	begin = (const unsigned char *)t;
	/* of the policy's part what lies in front: its place in a queue */
	fetch(begin, t->core.task.priv + HOT);
	fetch((const unsigned char *)&t->core.backlog,
	      begin + (size ? size : sizeof(*t)));
}

static void arrive_due(struct sim *s, struct lane *l)
{
	const struct sim_client *client = &s->cfg.client;

	while (event_queue_next(&l->arrivals) == l->now) {
		uint32_t slot = l->arrivals.first.owner;
		struct sim_task *t = l->task[slot];
		cr_ns next;

		fetch_ahead(s, l);
		next = client->arrive(client->arg, t, l->now);
		CR_ASSERT(next > l->now);
		event_queue_set(&l->arrivals, slot, next, l->now);
		if (t->core.task.state == CR_IDLE &&
		    core_release(s->core, &t->core, l->now))
			t->pending += s->cfg.overhead.release;
	}
}

/* --- preemption --- */

/* Kicks wait for the grid: the next point of it, if one is pending. */
static bool may_preempt(const struct sim *s, struct lane *l)
{
	cr_ns q = s->cfg.quantum;

	if (s->cfg.preempt == SIM_FRAME || !cpus_any(&l->rq->kick))
		return false;
	if (s->cfg.preempt == SIM_FULL || l->now % q == 0)
		return true;
	l->look = (l->now / q + 1) * q;
	return false;
}

/* A task enqueued again may displace another one; each displacement is by a
 * task that is before the one displaced, so this ends. */
static void preempt(struct sim *s, struct lane *l)
{
	while (may_preempt(s, l)) {
		for (unsigned cpu = 0; cpu < l->rq->ncpu; cpu++) {
			if (!cr_cpus_has(&l->rq->kick, cpu))
				continue;
			cr_cpus_del(&l->rq->kick, cpu);
			if (l->rq->cpu[cpu].running)
				stop(s, l, cpu, CR_STOP_PREEMPT);
		}
		enqueue_stopped(s, l);
	}
}

/* --- dispatching --- */

/* Wait for the lock, and hold it: how long that takes from now on. */
static cr_ns hold_lock(struct lane *l, cr_ns hold)
{
	l->unlocked = cr_ns_max(l->unlocked, l->now) + hold;
	return l->unlocked - l->now;
}

/* What the machine takes before @t goes on on cpu[@cpu]. */
static cr_ns charge(struct sim *s, struct lane *l, unsigned cpu,
		    struct sim_task *t)
{
	const struct sim_overhead *o = &s->cfg.overhead;
	struct sim_cpu *c = &l->cpu[cpu];
	cr_ns sum = o->decision + t->pending + hold_lock(l, o->lock);

	t->pending = 0;
	c->stats.picks++;
	if (c->last != t || c->last_id != t->core.task.id) {
		sum += o->context;
		c->stats.switches++;
	}
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
static cr_ns end_of_turn(const struct sim *s, const struct lane *l,
			 const struct sim_task *t, cr_ns overhead)
{
	cr_ns done = l->now + overhead + t->left, slice, q = s->cfg.quantum;

	if (s->cfg.preempt == SIM_FRAME)
		return done;
	slice = cr_ns_add(l->now, t->core.task.slice);
	if (s->cfg.preempt == SIM_QUANTUM && slice != CR_NEVER)
		slice = (slice + q - 1) / q * q;
	return cr_ns_min(done, slice);
}

static void dispatch(struct sim *s, struct lane *l, unsigned cpu,
		     struct sim_task *t)
{
	const struct sim_client *client = &s->cfg.client;
	cr_ns overhead = charge(s, l, cpu, t);

	if (!t->started) {
		t->left = client->cost(client->arg, t);
		CR_ASSERT(t->left > 0);
		t->first = l->now;
		t->moves = t->splits = 0;
		t->started = true;
	}
	l->cpu[cpu].overhead = overhead;
	cr_cpus_del(&l->idle, cpu);
	event_heap_set(&l->ends, cpu, end_of_turn(s, l, t, overhead));
}

static void pick(struct sim *s, struct lane *l)
{
	struct cr_cpus left = l->idle;
	int cpu;

	while (l->rq->nqueued && (cpu = cpus_lowest(&left)) >= 0) {
		struct core_task *t =
			core_pick(s->core, l->rq, (unsigned)cpu, l->now);

		cr_cpus_del(&left, (unsigned)cpu);
		if (t)
			dispatch(s, l, (unsigned)cpu, sim_task_of(t));
	}
}

/* The policy broke its contract: fifo may have work for CPUs it left idle. */
static void recover(struct sim *s, struct lane *l)
{
	const struct sim_client *client = &s->cfg.client;
	struct core_fault fault;

	if (core_take_fault(s->core, l->rq, &fault) && client->faulty)
		client->faulty(client->arg, &fault, l->now);
	pick(s, l);
}

static void instant(struct sim *s, struct lane *l)
{
	if (l->look == l->now)
		l->look = CR_NEVER;
	stop_due(s, l);
	enqueue_stopped(s, l);
	arrive_due(s, l);
	(void)core_tick(s->core, l->rq, l->now);
	preempt(s, l);
	pick(s, l);
	if (core_faulty(s->core, l->rq))
		recover(s, l);
}

/* --- what the client sees --- */

void sim_remove(struct sim *s, struct sim_task *t)
{
	struct lane *l = &s->lane[t->lane];

	sim_arrive_at(s, t, CR_NEVER);
	if (t->core.task.state == CR_RUNNING)
		t->leaving = true;
	else
		forget(s, l, t);
}

void sim_abandon(struct sim *s, struct sim_task *t)
{
	struct lane *l = &s->lane[t->lane];
	const struct cr_task *task = &t->core.task;

	CR_ASSERT(l->now == s->now);
	if (task->state == CR_RUNNING) {
		stop(s, l, (unsigned)task->cpu, CR_STOP_DROP);
		l->ntodo--;
		l->look = l->now; /* somebody may wait for that CPU */
	}
	forget(s, l, t);
}

void sim_arrive_at(struct sim *s, struct sim_task *t, cr_ns at)
{
	struct lane *l = &s->lane[t->lane];

	CR_ASSERT(at >= l->now);
	event_queue_set(&l->arrivals, t->slot, at, l->now);
}

static void run_lane(struct sim *s, struct lane *l)
{
	cr_ns next;

	while ((next = next_of(l)) < s->until) {
		l->now = cr_ns_max(next, l->now);
		instant(s, l);
	}
	l->now = s->until;
}

/* The lanes of part @part. */
static void run_part(void *arg, unsigned part)
{
	struct sim *s = arg;
	unsigned i = (part * s->nlanes + s->nparts - 1) / s->nparts;

	for (; i < s->nlanes && s->lane[i].part == part; i++)
		run_lane(s, &s->lane[i]);
}

void sim_run(struct sim *s, cr_ns until)
{
	CR_ASSERT(until >= s->now);
	s->until = until;
	crew_run(s->crew, s->nparts, run_part, s);
	s->now = until;
	if (core_replaced(s->core))
		(void)sim_switch(s, &cr_sched_fifo, NULL, NULL);
}

int sim_switch(struct sim *s, const struct cr_sched_ops *ops, const char *opts,
	       struct cr_err *e)
{
	struct core_switch *sw;
	unsigned n = 0;
	int rc;

	for (unsigned i = 0; i < s->nlanes; i++)
		n += core_ntasks(s->core, s->lane[i].rq);
	rc = core_switch_prepare(&sw, s->core, n, ops, opts, e);
	if (rc)
		return rc;
	rc = core_switch_commit(sw, s->now, e);
	core_switch_finish(sw);
	for (unsigned i = 0; i < s->nlanes && !rc; i++) {
		preempt(s, &s->lane[i]);
		pick(s, &s->lane[i]);
	}
	return rc;
}

int sim_change(struct sim *s, struct sim_task *t, const struct core_terms *to,
	       struct cr_verdict *v)
{
	struct lane *l = &s->lane[t->lane];
	struct core_change *ch;
	int rc = core_change_prepare(&ch, s->core, core_ntasks(s->core, l->rq),
				     CORE_CHANGE_STAY);

	if (rc)
		return rc;
	rc = core_change(ch, &t->core, to, s->now, v);
	core_change_finish(ch);
	if (rc >= 0) {
		preempt(s, l);
		pick(s, l);
	}
	return rc;
}
