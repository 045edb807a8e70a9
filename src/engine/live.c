/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live engine as its clients see it: tasks come and go, figures are read.
 * What depends on whose the threads are goes to the driver (engine/live_ops.h).
 */
#include "engine/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/live_ops.h"
#include "engine/live_state.h"

void live_lock_all(struct live *l)
{
	for (unsigned i = 0; i < l->nrq; i++)
		(void)pthread_mutex_lock(&l->rq[i].lock);
}

void live_unlock_all(struct live *l)
{
	for (unsigned i = l->nrq; i-- > 0;)
		(void)pthread_mutex_unlock(&l->rq[i].lock);
}

/* A task may move between reading where it is and locking that. */
struct live_rq *live_lock_home(struct live *l, struct live_task *t)
{
	for (;;) {
		struct live_rq *q = &l->rq[live_home_of(t)];

		(void)pthread_mutex_lock(&q->lock);
		if (q == &l->rq[live_home_of(t)])
			return q;
		(void)pthread_mutex_unlock(&q->lock);
	}
}

int live_set_rules(struct live *l, const struct core_config *from)
{
	if (l->ops->driver.thread_per_task)
		return -ENOTSUP; /* they look without a lock */
	live_lock_all(l);
	core_set_rules(l->core, from);
	live_unlock_all(l);
	return 0;
}

int live_add(struct live *l, struct live_task *t, struct cr_verdict *v)
{
	int rc, err;

	t->core.backlog = &l->backlog.core;
	t->leaving = false;
	t->detached = false;
	atomic_store_explicit(&t->active, false, memory_order_relaxed);
	live_lock_all(l);
	rc = core_admit(l->core, &t->core.task, v);
	if (rc >= 0)
		core_add(l->core, &t->core, (unsigned)rc, clock_now());
	live_unlock_all(l);
	if (rc < 0)
		return rc;
	err = l->ops->added(l, t, v);
	if (err) { /* it has joined; no thread can serve it */
		live_lock_all(l);
		core_del(l->core, &t->core, clock_now());
		live_unlock_all(l);
	}
	return err;
}

void live_refusal(struct live *l, int code, const struct cr_verdict *v,
		  char *buf, size_t size)
{
	core_refusal_under(live_scheduler(l), code, v, buf, size);
}

void live_remove(struct live *l, struct live_task *t)
{
	l->ops->remove(l, t);
}

void live_release(struct live *l, struct live_task *const *tasks, unsigned n)
{
	l->ops->release(l, tasks, n);
}

int live_change(struct live *l, struct live_task *t,
		const struct core_terms *to, unsigned flags,
		struct cr_verdict *v)
{
	return l->ops->change(l, t, to, flags, v);
}

/* --- the scheduler --- */

int live_refuse_switch(struct live *l, const char *to, struct cr_err *e)
{
	return cr_fail(e, -ENOTSUP,
		       "from %s to %s only by a new start (codec-runner "
		       "--scheduler %s): calls cannot change between the "
		       "kernel's schedulers and ours",
		       live_scheduler(l), to, to);
}

int live_switch_to(struct live *l, const struct scheduler *to, struct cr_err *e)
{
	if (live_driver_for(to) != &l->ops->driver)
		return live_refuse_switch(l, scheduler_name(to), e);
	return l->ops->switch_to(l, to, e);
}

cr_ns live_switched_at(const struct live *l)
{
	return l->switched;
}

int live_switch(struct live *l, const struct cr_sched_ops *ops,
		const char *opts, struct cr_err *e)
{
	const struct scheduler to = { .policy = ops, .opts = opts };

	return live_switch_to(l, &to, e);
}

int live_tune(struct live *l, const char *opts, struct cr_err *e)
{
	return l->ops->tune(l, opts, e);
}

const char *live_scheduler(struct live *l)
{
	return l->ops->name(l);
}

void live_scheduler_opts(struct live *l, char *buf, size_t size)
{
	l->ops->format_opts(l, buf, size);
}

const struct live_driver *live_driver(const struct live *l)
{
	return &l->ops->driver;
}

bool live_tasks_stay(struct live *l)
{
	return l->ops->tasks_stay(l);
}

/* --- figures --- */

unsigned live_explain(struct live *l, struct live_task *t, struct cr_kv *kv,
		      unsigned max)
{
	struct live_rq *q = live_lock_home(l, t);
	unsigned n = core_explain(&t->core, kv, max);

	(void)pthread_mutex_unlock(&q->lock);
	return n;
}

void live_promise(struct live *l, struct live_task *t, struct cr_promise *p)
{
	struct live_rq *q = live_lock_home(l, t);

	core_promise(&t->core, p);
	(void)pthread_mutex_unlock(&q->lock);
}

unsigned live_nworkers(const struct live *l)
{
	return l->nworkers;
}

cr_ns live_busy(const struct live *l)
{
	cr_ns sum = 0;

	for (unsigned i = 0; i < l->nworkers; i++)
		sum += atomic_load_explicit(&l->worker[i].busy,
					    memory_order_relaxed);
	return sum;
}

unsigned live_queue_cpus(const struct live *l, unsigned queue)
{
	return l->rq[queue].rq->ncpu;
}

static uint64_t read_count(const atomic_uint_fast64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void live_worker_stats(struct live *l, unsigned worker,
		       struct live_worker_stats *out)
{
	const struct live_worker *w = &l->worker[worker];

	*out = (struct live_worker_stats){
		.busy = atomic_load_explicit(&w->busy, memory_order_relaxed),
		.cpu = atomic_load_explicit(&w->past_cpu,
					    memory_order_relaxed) +
		       (w->thread ? clock_read(w->thread->cpu_clock) : 0),
		.jobs = read_count(&w->jobs),
		.picks = read_count(&w->picks),
		.drops = read_count(&w->drops),
		.wakeups = read_count(&w->wakeups),
		.steals = read_count(&w->steals),
	};
}

void live_load(struct live *l, struct live_load *out)
{
	struct live_load sum = { .bound_ppm = 0 };

	for (unsigned i = 0; i < l->nrq; i++) {
		struct live_rq *q = &l->rq[i];

		(void)pthread_mutex_lock(&q->lock);
		sum.bound_ppm = core_bound_ppm(l->core);
		sum.queued += q->rq->nqueued;
		sum.tasks += core_ntasks(l->core, q->rq);
		sum.load_ppm += q->rq->load_ppm;
		sum.faults += core_counts(l->core, q->rq).faults;
		(void)pthread_mutex_unlock(&q->lock);
	}
	*out = sum;
}
