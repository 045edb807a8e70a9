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

#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "engine/cpus.h"
#include "schedulers/registry.h"
#include "sim/event_queue.h"
#include "sim/pool.h"

/* Aligned: neighbours may belong to run queues of two threads. */
struct sim_cpu {
	alignas(64) const struct sim_task *last; /**< ran here before; may be
						      gone: only compared */
	uint32_t last_id;
	cr_ns overhead; /**< at the begin of the turn in progress */
	struct sim_cpu_stats stats;
};

/* CPUs whose ends are searched at a time: of 256 CPUs, 16 and 16 are. */
#define BLOCK 16u

/** A run queue with its events and its time. */
struct sim_rq {
	alignas(64) struct cr_rq *rq;
	unsigned part;
	cr_ns *end; /**< [rq->ncpu] when the job there, or its slice, ends;
			 CR_NEVER: there is none */
	struct event end_of_block[CR_MAX_CPUS / BLOCK]; /**< its first one */
	struct event next_end;				/**< of all */
	struct event_queue arrivals;			/**< by slot */
	struct sim_cpu *cpu;				/**< [rq->ncpu] */
	struct sim_task **task; /**< [slots], NULL: free */
	uint32_t *vacant;	/**< [nvacant] slots to be used again */
	uint32_t slots, nvacant, room;
	cr_ns now;
	cr_ns unlocked;		 /**< the lock is held until then */
	cr_ns look;		 /**< at kicks and idle CPUs; CR_NEVER */
	struct cr_cpus idle;	 /**< rq->cpu[] indexes */
	struct core_task **todo; /**< [rq->ncpu] stopped, to be enqueued
				      again */
	unsigned ntodo;
};

struct sim {
	struct sim_config cfg;
	uint16_t line[64]; /**< [nlines] where in a task is what every job
				needs; in fours */
	unsigned nlines;
	size_t added; /**< tasks, ever */
	struct core *core;
	struct sim_rq *rq; /**< [nrq] */
	unsigned nrq, nparts;
	struct sim_cpu *cpus; /**< [core.ncpu], shared out to the run queues */
	cr_ns now, until;     /**< until: of the sim_run() under way */
	struct pool *pool;
	struct event_queue next; /**< by run queue, while they run jointly */
};

static int sim_make_room(struct sim_rq *q);
static bool sim_steals(const struct sim *s);
static void sim_run_jointly(struct sim *s);

static struct sim_task *sim_task_of(struct core_task *t)
{
	return CR_CONTAINER_OF(t, struct sim_task, core);
}

/* --- events --- */

/* When something happens in @q. */
static cr_ns sim_next(const struct sim_rq *q)
{
	return cr_ns_min(
		cr_ns_min(q->next_end.at, event_queue_next(&q->arrivals)),
		cr_ns_min(q->rq->next_tick, q->look));
}

static void clear_end(struct sim_rq *q, unsigned cpu)
{
	unsigned begin = cpu - cpu % BLOCK, n = q->rq->ncpu;
	struct event first = { .at = CR_NEVER };

	q->end[cpu] = CR_NEVER;
	for (unsigned i = begin; i < begin + BLOCK && i < n; i++)
		if (q->end[i] < first.at)
			first = (struct event){ .at = q->end[i], .owner = i };
	q->end_of_block[cpu / BLOCK] = first;
	q->next_end = q->end_of_block[0];
	for (unsigned i = 1; i * BLOCK < n; i++)
		if (q->end_of_block[i].at < q->next_end.at)
			q->next_end = q->end_of_block[i];
}

/* --- leaving a CPU --- */

static void forget_task(struct sim *s, struct sim_rq *q, struct sim_task *t)
{
	event_queue_set(&q->arrivals, t->slot, CR_NEVER, q->now);
	q->task[t->slot] = NULL;
	q->vacant[q->nvacant++] = t->slot;
	core_del(s->core, &t->core, q->now);
	s->cfg.client.gone(s->cfg.client.arg, t);
}

/* The turn of cpu[@cpu] ends; the task is kept to be enqueued again. */
static void stop_turn(struct sim *s, struct sim_rq *q, unsigned cpu,
		      enum cr_stop why)
{
	struct sim_cpu *c = &q->cpu[cpu];
	struct sim_task *t = sim_task_of(core_task_of(q->rq->cpu[cpu].running));
	cr_ns ran = q->now - q->rq->cpu[cpu].since;
	cr_ns served = cr_ns_max(ran - c->overhead, 0);

	clear_end(q, cpu);
	(void)core_stop(s->core, q->rq, cpu,
			why == CR_STOP_DONE ? cr_ns_max(ran - t->stolen, 0)
					    : ran,
			why, q->now);
	cr_cpus_add(&q->idle, cpu);
	c->stats.busy += ran;
	c->stats.overhead += ran - served;
	t->left -= served;
	if (why == CR_STOP_DONE) {
		const struct sim_client *client = &s->cfg.client;

		t->started = false;
		client->done(client->arg, t, q->rq->first_cpu + cpu, q->now);
	} else if (why != CR_STOP_DROP) {
		t->splits++;
		c->stats.preemptions++;
	}
	q->todo[q->ntodo++] = &t->core;
}

static void enqueue_stopped(struct sim *s, struct sim_rq *q)
{
	for (unsigned i = 0; i < q->ntodo; i++) {
		struct sim_task *t = sim_task_of(q->todo[i]);

		if (t->leaving && !t->started)
			forget_task(s, q, t);
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
__attribute__((always_inline)) static inline void fetch_events_ahead(
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

		fetch_events_ahead(s, q);
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
static void preempt_displaced(struct sim *s, struct sim_rq *q)
{
	while (may_preempt(s, q)) {
		for (unsigned cpu = 0; cpu < q->rq->ncpu; cpu++) {
			if (!cr_cpus_has(&q->rq->kick, cpu))
				continue;
			cr_cpus_del(&q->rq->kick, cpu);
			if (q->rq->cpu[cpu].running)
				stop_turn(s, q, cpu, CR_STOP_PREEMPT);
		}
		enqueue_stopped(s, q);
	}
}

/* --- dispatching --- */

/* The overhead before @t resumes on cpu[@cpu]. */
static cr_ns charge_overhead(struct sim *s, struct sim_rq *q, unsigned cpu,
			     struct sim_task *t)
{
	const struct sim_overhead *o = &s->cfg.overhead;
	struct sim_cpu *c = &q->cpu[cpu];
	cr_ns sum = o->decision + t->pending;

	/* wait for the lock, and hold it */
	q->unlocked = cr_ns_max(q->unlocked, q->now) + o->lock;
	sum += q->unlocked - q->now;
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

static void dispatch_task(struct sim *s, struct sim_rq *q, unsigned cpu,
			  struct sim_task *t)
{
	const struct sim_client *client = &s->cfg.client;
	struct event *block = &q->end_of_block[cpu / BLOCK];
	struct event e = { .owner = cpu };
	cr_ns overhead;

	if (t->seq != t->core.task.job.seq) /* given up when half done */
		t->started = false;
	overhead = charge_overhead(s, q, cpu, t);
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
	q->end[cpu] = e.at = end_of_turn(s, q, t, overhead);
	if (event_before(e, *block))
		*block = e;
	if (event_before(e, q->next_end))
		q->next_end = e;
}

/* Idle CPUs of @q pick. */
static void sim_pick(struct sim *s, struct sim_rq *q)
{
	for (unsigned i = 0; q->rq->nqueued && i < CR_MAX_CPUS / 64; i++)
		for (uint64_t left = q->idle.word[i]; left && q->rq->nqueued;
		     left &= left - 1) {
			unsigned cpu = i * 64 + (unsigned)__builtin_ctzll(left);
			struct core_task *t =
				core_pick(s->core, q->rq, cpu, q->now);

			if (t)
				dispatch_task(s, q, cpu, sim_task_of(t));
		}
}

/* All that happens in @q at q->now. */
static void sim_instant(struct sim *s, struct sim_rq *q)
{
	if (q->look == q->now)
		q->look = CR_NEVER;
	if (q->next_end.at == q->now) {
		while (q->next_end.at == q->now) {
			unsigned cpu = q->next_end.owner;
			const struct sim_task *t = sim_task_of(
				core_task_of(q->rq->cpu[cpu].running));
			bool done = q->now - q->rq->cpu[cpu].since ==
				    q->cpu[cpu].overhead + t->left;

			stop_turn(s, q, cpu,
				  done ? CR_STOP_DONE : CR_STOP_SLICE);
		}
		enqueue_stopped(s, q);
	}
	arrive_due(s, q);
	if (q->rq->next_tick <= q->now)
		(void)core_tick(s->core, q->rq, q->now);
	if (s->cfg.preempt != SIM_FRAME)
		preempt_displaced(s, q);
	if (q->rq->nqueued)
		sim_pick(s, q);
	if (core_faulty(s->core, q->rq)) {
		const struct sim_client *client = &s->cfg.client;
		struct core_fault fault;

		/* The policy broke its contract: the fallback may have work for
		 * CPUs it left idle. */
		if (core_take_fault(s->core, q->rq, &fault) && client->faulty)
			client->faulty(client->arg, &fault, q->now);
		sim_pick(s, q);
	}
}

/* --- what the client sees --- */

void sim_remove(struct sim *s, struct sim_task *t)
{
	struct sim_rq *q = &s->rq[t->rq];

	sim_arrive_at(s, t, CR_NEVER);
	if (t->core.task.state == CR_RUNNING)
		t->leaving = true;
	else
		forget_task(s, q, t);
}

void sim_abandon(struct sim *s, struct sim_task *t)
{
	struct sim_rq *q = &s->rq[t->rq];
	const struct cr_task *task = &t->core.task;

	CR_ASSERT(q->now == s->now);
	if (task->state == CR_RUNNING) {
		stop_turn(s, q, (unsigned)task->cpu, CR_STOP_DROP);
		q->ntodo--;
		q->look = q->now; /* somebody may wait for that CPU */
	}
	forget_task(s, q, t);
}

void sim_arrive_at(struct sim *s, struct sim_task *t, cr_ns at)
{
	struct sim_rq *q = &s->rq[t->rq];

	CR_ASSERT(at >= q->now);
	event_queue_set(&q->arrivals, t->slot, at, q->now);
}

/* The run queues of part @part. */
static void run_part(void *arg, unsigned part)
{
	struct sim *s = arg;
	unsigned i = (part * s->nrq + s->nparts - 1) / s->nparts;

	for (; i < s->nrq && s->rq[i].part == part; i++) {
		struct sim_rq *q = &s->rq[i];
		cr_ns next;

		while ((next = sim_next(q)) < s->until) {
			q->now = cr_ns_max(next, q->now);
			sim_instant(s, q);
		}
		q->now = s->until;
	}
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
		preempt_displaced(s, &s->rq[i]);
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
		preempt_displaced(s, q);
		sim_pick(s, q);
	}
	return rc;
}

/*
 * Run queues under a policy that steals: their events are merged, so that at
 * every instant all of them are at the same time, and idle CPUs are offered
 * what waits elsewhere. Live workers do the same (engine/live_workers.c), each
 * when it finds nothing to do.
 */

/* Where a task ran that has moved: on no CPU of its run queue. */
#define ELSEWHERE ((int)CR_MAX_CPUS)

/* Does the policy steal from one run queue for another? */
static bool sim_steals(const struct sim *s)
{
	return s->nrq > 1 && core_sched(s->core)->ops->steal;
}

/* The longest queue but @to's and those in @asked; of equal ones the next
 * neighbour, as live workers choose. NULL: nothing waits there. */
static struct sim_rq *longest_waiting_queue(struct sim *s,
					    const struct sim_rq *to,
					    const struct cr_cpus *asked)
{
	struct sim_rq *best = NULL;

	for (unsigned i = 1; i < s->nrq; i++) {
		unsigned at = (to->rq->id + i) % s->nrq;
		struct sim_rq *q = &s->rq[at];

		if (!q->rq->nqueued || cr_cpus_has(asked, at))
			continue;
		if (!best || q->rq->nqueued > best->rq->nqueued)
			best = q;
	}
	return best;
}

/* @t is in @to's queue now: so are its place and its arrivals. */
static void move_stolen(struct sim *s, struct sim_task *t, struct sim_rq *from,
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
static bool steal_from_longest(struct sim *s, struct sim_rq *to, unsigned cpu)
{
	struct cr_cpus asked = { { 0 } };
	struct sim_rq *from;

	while ((from = longest_waiting_queue(s, to, &asked))) {
		struct core_task *t;

		if (sim_make_room(to))
			return false;
		from->now = to->now;
		t = core_steal(s->core, from->rq, to->rq, cpu, to->now);
		if (t) {
			move_stolen(s, sim_task_of(t), from, to);
			event_queue_set(&s->next, (uint32_t)(from - s->rq),
					sim_next(from), 0);
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
		       steal_from_longest(s, q, (unsigned)cpu))
			sim_pick(s, q);
	}
	event_queue_set(&s->next, (uint32_t)(q - s->rq), sim_next(q), 0);
}

/* Run all run queues up to s->until as one, idle CPUs stealing. */
static void sim_run_jointly(struct sim *s)
{
	cr_ns now;

	for (uint32_t i = 0; i < s->nrq; i++)
		event_queue_set(&s->next, i, sim_next(&s->rq[i]), 0);
	while ((now = event_queue_next(&s->next)) < s->until) {
		while (event_queue_next(&s->next) <= now) {
			uint32_t i = s->next.first.owner;
			struct sim_rq *q = &s->rq[i];

			q->now = cr_ns_max(now, q->now);
			sim_instant(s, q);
			event_queue_set(&s->next, i, sim_next(q), 0);
		}
		for (unsigned i = 0; i < s->nrq && something_waits(s); i++)
			if (cpus_any(&s->rq[i].idle))
				steal_for_idle(s, &s->rq[i], now);
	}
	for (uint32_t i = 0; i < s->nrq; i++)
		s->rq[i].now = s->until;
}

/*
 * The simulated driver's memory: run queues, their CPUs, room for tasks.
 * Nothing is allocated while time goes on, but room for stolen tasks.
 */

/* Most parts: enough that threads find work to the end, few enough that a
 * client may keep statistics for each. */
#define PARTS 64u

/* Bytes of a policy's part that every frame needs, as a rule: its place in a
 * queue. */
#define HOT 96u
_Static_assert(HOT <= CR_TASK_PRIV, "within the policy's part");
/* Cache lines of a task that every frame needs. */
#define OWN_LINES                                                              \
	(sim_lines(0, offsetof(struct sim_task, core.task.priv) + HOT) |       \
	 sim_lines(offsetof(struct sim_task, core.backlog),                    \
		   sizeof(struct sim_task)))
_Static_assert(sizeof(struct sim_task) <= 4096, "see sim_lines()");

/* Zeroed; @size is a multiple of a cache line. */
static void *alloc_lines(size_t size)
{
	void *p = aligned_alloc(64, size);

	if (p)
		memset(p, 0, size);
	return p;
}

static int rq_init(struct sim *s, unsigned i, cr_ns now)
{
	struct sim_rq *q = &s->rq[i];

	q->rq = core_rq(s->core, i);
	q->cpu = &s->cpus[q->rq->first_cpu];
	q->now = now;
	q->look = CR_NEVER;
	event_queue_init(&q->arrivals);
	for (unsigned c = 0; c < q->rq->ncpu; c++)
		cr_cpus_add(&q->idle, c);
	q->todo = calloc(q->rq->ncpu, sizeof(*q->todo));
	/* whole lines: neighbours may belong to two threads */
	q->end = alloc_lines(((size_t)q->rq->ncpu + 7) / 8 * 64);
	if (!q->todo || !q->end)
		return -ENOMEM;
	q->next_end.at = CR_NEVER;
	for (unsigned c = 0; c < q->rq->ncpu; c++)
		q->end[c] = q->end_of_block[c / BLOCK].at = CR_NEVER;
	return 0;
}

static int open_core(struct sim *s, struct cr_err *e)
{
	unsigned threads = s->cfg.threads ? s->cfg.threads : 1;
	int rc;

	rc = core_open(&s->core, &s->cfg.core, s->now, e);
	if (rc)
		return rc;
	s->nrq = core_nrq(s->core);
	s->rq = alloc_lines(s->nrq * sizeof(*s->rq));
	s->cpus = alloc_lines(s->cfg.core.ncpu * sizeof(*s->cpus));
	rc = s->rq && s->cpus ? 0 : -ENOMEM;
	for (unsigned i = 0; i < s->nrq && !rc; i++)
		rc = rq_init(s, i, s->now);
	event_queue_init(&s->next);
	if (!rc)
		rc = event_queue_grow(&s->next, s->nrq);
	if (rc)
		return cr_fail(e, rc, "out of memory for the simulator");
	/* Parts are runs of neighbours, all of about the same length. Where a
	 * policy steals, nothing can be run apart. */
	s->nparts = sim_steals(s) ? 1 : s->nrq < PARTS ? s->nrq : PARTS;
	for (unsigned i = 0; i < s->nrq; i++)
		s->rq[i].part = i * s->nparts / s->nrq;
	rc = pool_open(&s->pool, threads < s->nparts ? threads : s->nparts);
	return rc ? cr_fail(e, rc, "%u threads: %s", threads, strerror(-rc))
		  : 0;
}

int sim_open(struct sim **out, const struct sim_config *cfg, cr_ns now,
	     struct cr_err *e)
{
	struct sim *s = calloc(1, sizeof(*s));
	uint64_t left;
	int rc;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory");
	s->cfg = *cfg;
	s->cfg.core.preemptible = cfg->preempt != SIM_FRAME;
	for (left = OWN_LINES | cfg->client.lines; left; left &= left - 1)
		s->line[s->nlines++] = (uint16_t)(64 * __builtin_ctzll(left));
	for (; s->nlines % 4; s->nlines++) /* fours: the last one again */
		s->line[s->nlines] = s->line[s->nlines - 1];
	s->now = now;
	rc = open_core(s, e);
	if (rc)
		sim_close(s);
	else
		*out = s;
	return rc;
}

void sim_close(struct sim *s)
{
	if (!s)
		return;
	pool_close(s->pool);
	for (unsigned i = 0; s->rq && i < s->nrq; i++) {
		struct sim_rq *q = &s->rq[i];

		free(q->end);
		event_queue_fini(&q->arrivals);
		free(q->task);
		free(q->vacant);
		free(q->todo);
	}
	event_queue_fini(&s->next);
	free(s->rq);
	free(s->cpus);
	core_close(s->core);
	free(s);
}

/* Room for one more task in @q. 0 or -ENOMEM. */
static int sim_make_room(struct sim_rq *q)
{
	uint32_t room = q->room ? 2 * q->room : 64;
	struct sim_task **task;
	uint32_t *vacant;

	if (q->nvacant || q->slots < q->room)
		return 0;
	if (event_queue_grow(&q->arrivals, room))
		return -ENOMEM;
	task = realloc(q->task, room * sizeof(struct sim_task *));
	if (!task)
		return -ENOMEM;
	q->task = task;
	vacant = realloc(q->vacant, room * sizeof(*vacant));
	if (!vacant)
		return -ENOMEM;
	q->vacant = vacant;
	q->room = room;
	return 0;
}

int sim_add(struct sim *s, struct sim_task *t, struct cr_verdict *v)
{
	int rq = core_admit(s->core, &t->core.task, v);
	struct sim_rq *q;

	if (rq < 0)
		return rq;
	q = &s->rq[rq];
	if (sim_make_room(q))
		return -ENOMEM;
	event_queue_expect(&q->arrivals, t->core.task.period);
	t->core.backlog = &s->cfg.client.backlog;
	t->rq = (uint32_t)rq;
	t->slot = q->nvacant ? q->vacant[--q->nvacant] : q->slots++;
	t->cpu = -1;
	t->started = t->leaving = false;
	t->pending = 0;
	q->task[t->slot] = t;
	core_add(s->core, &t->core, (unsigned)rq, s->now);
	s->added++;
	return 0;
}

void sim_share_out(struct sim *s, unsigned n,
		   void (*work)(void *arg, unsigned i), void *arg)
{
	pool_run(s->pool, n, work, arg);
}

cr_ns sim_now(const struct sim *s)
{
	return s->now;
}

struct core *sim_core(struct sim *s)
{
	return s->core;
}

struct sim_cpu_stats sim_cpu_stats(const struct sim *s, unsigned cpu)
{
	return s->cpus[cpu].stats;
}

unsigned sim_parts(const struct sim *s)
{
	return s->nparts;
}

unsigned sim_part_of(const struct sim *s, const struct sim_task *t)
{
	return s->rq[t->rq].part;
}
