/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver's memory: lanes, their CPUs, room for tasks. Nothing is
 * allocated while time goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "sim/sim_state.h"
#include "schedulers/kernel.h"

/* Most parts: enough that threads find work to the end, few enough that a
 * client may keep statistics for each. */
#define PARTS 64u

/* Zeroed; @size is a multiple of a cache line. */
static void *zalloc(size_t size)
{
	void *p = aligned_alloc(64, size);

	if (p)
		memset(p, 0, size);
	return p;
}

/* Parts are runs of neighbours, all of about the same length. */
static void share_out_parts(struct sim *s)
{
	s->nparts = s->nlanes < PARTS ? s->nlanes : PARTS;
	for (unsigned i = 0; i < s->nlanes; i++)
		s->lane[i].part = i * s->nparts / s->nlanes;
}

static int lane_init(struct sim *s, unsigned i, cr_ns now)
{
	struct lane *l = &s->lane[i];

	l->rq = core_rq(s->core, i);
	l->cpu = &s->cpus[l->rq->first_cpu];
	l->now = now;
	l->look = CR_NEVER;
	event_queue_init(&l->arrivals);
	for (unsigned c = 0; c < l->rq->ncpu; c++)
		cr_cpus_add(&l->idle, c);
	l->todo = calloc(l->rq->ncpu, sizeof(*l->todo));
	return l->todo ? event_heap_grow(&l->ends, l->rq->ncpu) : -ENOMEM;
}

static int lanes_init(struct sim *s)
{
	int rc;

	s->nlanes = core_nrq(s->core);
	s->lane = zalloc(s->nlanes * sizeof(*s->lane));
	s->cpus = zalloc(s->cfg.core.ncpu * sizeof(*s->cpus));
	rc = s->lane && s->cpus ? 0 : -ENOMEM;
	for (unsigned i = 0; i < s->nlanes && !rc; i++)
		rc = lane_init(s, i, s->now);
	if (!rc)
		share_out_parts(s);
	return rc;
}

static int start(struct sim *s, struct cr_err *e)
{
	unsigned threads = s->cfg.threads ? s->cfg.threads : 1;
	int rc;

	if (cr_kernel_scheduler(s->cfg.core.ops))
		return cr_fail(e, -ENOTSUP,
			       "scheduler %s is the kernel's: it runs live "
			       "only, under codec-runner",
			       s->cfg.core.ops->name);
	rc = core_open(&s->core, &s->cfg.core, s->now, e);
	if (rc)
		return rc;
	rc = lanes_init(s);
	if (rc)
		return cr_fail(e, rc, "out of memory for the simulator");
	rc = crew_open(&s->crew, threads < s->nparts ? threads : s->nparts);
	return rc ? cr_fail(e, rc, "%u threads: %s", threads, strerror(-rc))
		  : 0;
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
	s->now = now;
	rc = start(s, e);
	if (rc)
		sim_close(s);
	else
		*out = s;
	return rc;
}

static void lane_fini(struct lane *l)
{
	event_heap_fini(&l->ends);
	event_queue_fini(&l->arrivals);
	free(l->task);
	free(l->vacant);
	free(l->todo);
}

void sim_close(struct sim *s)
{
	if (!s)
		return;
	crew_close(s->crew);
	for (unsigned i = 0; s->lane && i < s->nlanes; i++)
		lane_fini(&s->lane[i]);
	free(s->lane);
	free(s->cpus);
	core_close(s->core);
	free(s);
}

/* Room for one more task in @l. 0 or -ENOMEM. */
static int make_room(struct lane *l)
{
	uint32_t room = l->room ? 2 * l->room : 64;
	struct sim_task **task;
	uint32_t *vacant;

	if (l->nvacant || l->slots < l->room)
		return 0;
	if (event_queue_grow(&l->arrivals, room))
		return -ENOMEM;
	task = realloc(l->task, room * sizeof(struct sim_task *));
	if (!task)
		return -ENOMEM;
	l->task = task;
	vacant = realloc(l->vacant, room * sizeof(*vacant));
	if (!vacant)
		return -ENOMEM;
	l->vacant = vacant;
	l->room = room;
	return 0;
}

int sim_add(struct sim *s, struct sim_task *t, struct cr_verdict *v)
{
	int rq = core_admit(s->core, &t->core.task, v);
	struct lane *l;

	if (rq < 0)
		return rq;
	l = &s->lane[rq];
	if (make_room(l) ||
	    event_queue_expect(&l->arrivals, t->core.task.period))
		return -ENOMEM;
	t->core.backlog = &s->cfg.client.backlog;
	t->lane = (uint32_t)rq;
	t->slot = l->nvacant ? l->vacant[--l->nvacant] : l->slots++;
	t->cpu = -1;
	t->started = t->leaving = false;
	t->pending = 0;
	l->task[t->slot] = t;
	core_add(s->core, &t->core, (unsigned)rq, s->now);
	return 0;
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
	return s->lane[t->lane].part;
}
