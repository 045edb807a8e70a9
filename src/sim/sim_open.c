/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver's memory: run queues, their CPUs, room for tasks.
 * Nothing is allocated while time goes on, but room for stolen tasks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "sim/sim_state.h"

/* Most parts: enough that threads find work to the end, few enough that a
 * client may keep statistics for each. */
#define PARTS 64u

/* Bytes of a policy's part that every frame needs, as a rule: its place in a
 * queue. */
#define HOT 96u
_Static_assert(HOT <= CR_TASK_PRIV, "within the policy's part");
/* What every frame needs of a task. */
#define OWN_LINES                                                              \
	(sim_lines(0, offsetof(struct sim_task, core.task.priv) + HOT) |       \
	 sim_lines(offsetof(struct sim_task, core.backlog),                    \
		   sizeof(struct sim_task)))
_Static_assert(sizeof(struct sim_task) <= 4096, "see sim_lines()");

/* Zeroed; @size is a multiple of a cache line. */
static void *zalloc(size_t size)
{
	void *p = aligned_alloc(64, size);

	if (p)
		memset(p, 0, size);
	return p;
}

/* Parts are runs of neighbours, all of about the same length. Where a policy
 * steals, nothing can be run apart. */
static void share_out_parts(struct sim *s)
{
	s->nparts = s->nrq < PARTS ? s->nrq : PARTS;
	if (sim_steals(s))
		s->nparts = 1;
	for (unsigned i = 0; i < s->nrq; i++)
		s->rq[i].part = i * s->nparts / s->nrq;
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
	return q->todo ? event_row_open(&q->ends, q->rq->ncpu) : -ENOMEM;
}

static int rqs_init(struct sim *s)
{
	int rc;

	s->nrq = core_nrq(s->core);
	s->rq = zalloc(s->nrq * sizeof(*s->rq));
	s->cpus = zalloc(s->cfg.core.ncpu * sizeof(*s->cpus));
	rc = s->rq && s->cpus ? 0 : -ENOMEM;
	for (unsigned i = 0; i < s->nrq && !rc; i++)
		rc = rq_init(s, i, s->now);
	if (!rc)
		rc = event_heap_grow(&s->next, s->nrq);
	if (!rc)
		share_out_parts(s);
	return rc;
}

static int start(struct sim *s, struct cr_err *e)
{
	unsigned threads = s->cfg.threads ? s->cfg.threads : 1;
	int rc;

	rc = core_open(&s->core, &s->cfg.core, s->now, e);
	if (rc)
		return rc;
	rc = rqs_init(s);
	if (rc)
		return cr_fail(e, rc, "out of memory for the simulator");
	rc = pool_open(&s->pool, threads < s->nparts ? threads : s->nparts);
	return rc ? cr_fail(e, rc, "%u threads: %s", threads, strerror(-rc))
		  : 0;
}

/* A multiple of four: the last one again. */
static void set_lines(struct sim *s, uint64_t lines)
{
	for (uint64_t left = lines; left; left &= left - 1)
		s->line[s->nlines++] = (uint16_t)(64 * __builtin_ctzll(left));
	for (; s->nlines % 4; s->nlines++)
		s->line[s->nlines] = s->line[s->nlines - 1];
}

int sim_open(struct sim **out, const struct sim_config *cfg, cr_ns now,
	     struct cr_err *e)
{
	struct sim *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory");
	s->cfg = *cfg;
	s->cfg.core.preemptible = cfg->preempt != SIM_FRAME;
	set_lines(s, OWN_LINES | cfg->client.lines);
	s->now = now;
	rc = start(s, e);
	if (rc)
		sim_close(s);
	else
		*out = s;
	return rc;
}

static void rq_fini(struct sim_rq *q)
{
	event_row_close(&q->ends);
	event_queue_fini(&q->arrivals);
	free(q->task);
	free(q->vacant);
	free(q->todo);
}

void sim_close(struct sim *s)
{
	if (!s)
		return;
	pool_close(s->pool);
	for (unsigned i = 0; s->rq && i < s->nrq; i++)
		rq_fini(&s->rq[i]);
	event_heap_fini(&s->next);
	free(s->rq);
	free(s->cpus);
	core_close(s->core);
	free(s);
}

int sim_make_room(struct sim_rq *q)
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
	if (sim_make_room(q) ||
	    event_queue_expect(&q->arrivals, t->core.task.period))
		return -ENOMEM;
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
