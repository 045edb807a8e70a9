/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and unmaking the live engine: the driver's choice, locks, places, and
 * the backlog with the sleep protocol that the core sees.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "engine/live_ops.h"
#include "engine/live_state.h"
#include "engine/live_watch.h"

static const struct core_backlog *client_of(const struct core_task *t)
{
	const struct live_backlog *b =
		(const struct live_backlog *)(const void *)t->backlog;

	return &b->client;
}

/*
 * Nothing waits: the task goes to sleep, unless a frame has come at the last
 * moment. The receiver pushes, then exchanges active to true (and releases if
 * it was false); we exchange it to false, then look again. Whichever exchange
 * comes second sees what was done before the first: either the receiver reads
 * our false and releases, or we read its true and our second look finds the
 * frame, and then the exchange in live_task_wake() settles who goes on.
 */
static bool peek(struct core_task *t, struct cr_job *job)
{
	struct live_task *lt = live_task_of(t);

	if (client_of(t)->peek(t, job))
		return true;
	(void)atomic_exchange_explicit(&lt->active, false,
				       memory_order_seq_cst);
	return client_of(t)->peek(t, job) && live_task_wake(lt);
}

static bool claim(struct core_task *t, uint64_t seq)
{
	return client_of(t)->claim(t, seq);
}

static void shed(struct core_task *t, const struct cr_job *job,
		 enum cr_outcome why, cr_ns now)
{
	if (client_of(t)->shed)
		client_of(t)->shed(t, job, why, now);
}

static void init_rq(struct live *l, unsigned i)
{
	struct live_rq *q = &l->rq[i];

	/* a real-time receiver must not wait for a worker that the kernel has
	 * taken off its CPU in the middle of a lock round */
	thread_lock_init(&q->lock);
	q->rq = core_rq(l->core, i);
	q->tick_waiter = -1;
	q->until = CR_NEVER;
}

static void init_worker(struct live *l, unsigned cpu)
{
	struct live_worker *w = &l->worker[cpu];
	pthread_condattr_t attr;

	w->live = l;
	w->cpu = cpu;
	w->home = &l->rq[core_rq_of(l->core, cpu)->id];
	w->index = cpu - w->home->rq->first_cpu;
	w->pin = l->cfg.pin ? (int)l->cfg.pin[cpu] : -1;
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
}

static const struct live_ops *ops_for(const struct kernel_sched *kernel)
{
	return kernel ? &live_kernel_ops : &live_workers_ops;
}

const struct live_driver *live_driver_for(const struct scheduler *s)
{
	return &ops_for(s->kernel)->driver;
}

static int start_all(struct live *l, struct cr_err *warn, struct cr_err *e)
{
	unsigned ncpu = l->cfg.core.ncpu;

	l->nrq = core_nrq(l->core);
	l->rq = aligned_alloc(64, l->nrq * sizeof(*l->rq));
	l->worker = aligned_alloc(64, ncpu * sizeof(*l->worker));
	if (!l->rq || !l->worker)
		return cr_fail(e, -ENOMEM, "out of memory for %u workers",
			       ncpu);
	memset(l->rq, 0, l->nrq * sizeof(*l->rq));
	memset(l->worker, 0, ncpu * sizeof(*l->worker));
	for (unsigned i = 0; i < l->nrq; i++)
		init_rq(l, i);
	for (unsigned i = 0; i < ncpu; i++)
		init_worker(l, i);
	return l->ops->open(l, warn, e);
}

int live_open(struct live **out, const struct live_config *cfg,
	      struct cr_err *warn, struct cr_err *e)
{
	struct live *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return cr_fail(e, -ENOMEM, "out of memory");
	l->cfg = *cfg;
	l->ops = ops_for(cfg->kernel);
	l->cfg.core.preemptible = false;
	l->backlog.core = (struct core_backlog){ peek, claim, shed };
	l->backlog.client = cfg->client.backlog;
	rc = core_open(&l->core, &l->cfg.core, clock_now(), e);
	if (!rc)
		rc = start_all(l, warn, e);
	if (rc) {
		live_close(l);
		return rc;
	}
	l->cfg.pin = NULL; /* the caller's; no longer needed */
	l->cfg.core.rq_cpus = NULL;
	l->cfg.core.opts = l->cfg.kernel_opts = NULL;
	*out = l;
	return 0;
}

int live_stop(struct live *l)
{
	if (!l || !l->rq || !l->worker)
		return 0;
	l->ops->stop(l);
	return live_join_detached(l) ? -EBUSY : 0;
}

void live_close(struct live *l)
{
	int away;

	if (!l)
		return;
	away = live_stop(l);
	CR_ASSERT(!away);
	if (l->rq && l->worker) {
		for (unsigned i = 0; i < l->cfg.core.ncpu; i++)
			(void)pthread_cond_destroy(&l->worker[i].wake);
		for (unsigned i = 0; i < l->nrq; i++)
			(void)pthread_mutex_destroy(&l->rq[i].lock);
	}
	l->ops->close(l);
	free(l->worker);
	free(l->rq);
	core_close(l->core);
	free(l);
}
