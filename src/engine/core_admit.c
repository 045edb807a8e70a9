/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a task join, and where: the policy's own test, or the guard for policies
 * that have none (worst fit by load, bounded by the capacity of the CPUs; load
 * being cr_task_demand() / period).
 */
#include <errno.h>
#include <stdio.h>

#include "engine/core.h"
#include "engine/core_state.h"

static bool touches(const struct cr_rq *rq, const struct cr_task *t)
{
	for (unsigned i = 0; i < rq->ncpu; i++)
		if (cr_may_run(rq, t, i))
			return true;
	return false;
}

/* Of periods and deadlines, a day: what doors take is shorter, but a policy may
 * be asked about somebody who comes once in hours. */
#define LONGEST_PERIOD (24 * CR_TASK_LONGEST)

static bool sensible(cr_ns cost)
{
	return cost >= 0 && cost <= CR_TASK_LONGEST;
}

static bool sensible_time(cr_ns time)
{
	return time > 0 && time <= LONGEST_PERIOD;
}

/* What is wrong with the task's own numbers, or NULL. */
static const char *nonsense(const struct cr_task *t)
{
	if (!sensible_time(t->period))
		return "period > 0, up to a day";
	if (!sensible_time(t->rel_deadline))
		return "relative deadline > 0, up to a day";
	if (!sensible(t->cost.mean) || !sensible(t->cost.p99) ||
	    !sensible(t->contract.largest))
		return "costs from 0 to an hour";
	if (t->weight == 0)
		return "weight > 0";
	if (t->nice < -20 || t->nice > 19)
		return "nice from -20 to 19";
	return NULL;
}

/* Least loaded per CPU; the lower index when equal. -1: its mask fits none. */
static int worst_fit(const struct core *c, const struct cr_task *t)
{
	int best = -1;

	for (unsigned i = 0; i < c->sched.nrq; i++) {
		const struct cr_rq *rq = &c->rq[i];

		if (!touches(rq, t))
			continue;
		if (best < 0 || rq->load_ppm * c->rq[best].ncpu <
					c->rq[best].load_ppm * rq->ncpu)
			best = (int)i;
	}
	return best;
}

static int guard(const struct core *c, const struct cr_task *t,
		 struct cr_verdict *v)
{
	int i = worst_fit(c, t);

	v->need_ppm = core_load_of(t);
	if (i < 0) {
		v->rule = "its CPU mask has a CPU of a run queue";
		return -EINVAL;
	}
	v->bound_ppm = c->cfg.capacity_ppm * c->rq[i].ncpu;
	v->free_ppm = v->bound_ppm - c->rq[i].load_ppm;
	v->rule = "sum of cost / period <= capacity";
	return v->need_ppm <= v->free_ppm ? i : -ENOSPC;
}

int core_admit(const struct core *c, const struct cr_task *t,
	       struct cr_verdict *v)
{
	int rc;

	*v = (struct cr_verdict){ .rule = nonsense(t) };
	if (v->rule)
		return -EINVAL;
	/* its sums are gone where another stands in for it */
	rc = c->sched.ops->admit && !core_replaced(c)
		     ? c->sched.ops->admit(&c->sched, t, v)
		     : guard(c, t, v);
	if (rc == -ENOSPC && !c->cfg.admission)
		rc = worst_fit(c, t);
	if (rc >= 0 && (rc >= (int)c->sched.nrq || !touches(&c->rq[rc], t))) {
		v->rule = "a run queue to join: its admit() names none";
		return -EINVAL;
	}
	return rc < 0 && rc != -ENOSPC ? -EINVAL : rc;
}

/* "0.0035": @ppm rounded down to four digits. */
static const char *share(int64_t ppm, char *buf, size_t size)
{
	bool negative = ppm < 0;
	uint64_t digits = (uint64_t)(negative ? 99 - ppm : ppm) / 100;

	(void)snprintf(buf, size, "%s%llu.%04llu", negative ? "-" : "",
		       (unsigned long long)(digits / 10000),
		       (unsigned long long)(digits % 10000));
	return buf;
}

/* Need is rounded up, room down: a refusal never reads as if it fitted. */
void core_refusal_under(const char *scheduler, int code,
			const struct cr_verdict *v, char *buf, size_t size)
{
	char need[32], left[32];

	if (code == -ENOSPC)
		(void)snprintf(buf, size,
			       "no-capacity: need %s, free %s of %lld.%02lld "
			       "under %s (%s)",
			       share(v->need_ppm + 99, need, sizeof(need)),
			       share(v->free_ppm, left, sizeof(left)),
			       (long long)(v->bound_ppm / CR_PPM),
			       (long long)(v->bound_ppm % CR_PPM / 10000),
			       scheduler, v->rule ? v->rule : "?");
	else
		(void)snprintf(buf, size, "not a task for %s: needs %s",
			       scheduler, v->rule ? v->rule : "?");
}

void core_refusal(const struct core *c, int code, const struct cr_verdict *v,
		  char *buf, size_t size)
{
	core_refusal_under(c->sched.ops->name, code, v, buf, size);
}
