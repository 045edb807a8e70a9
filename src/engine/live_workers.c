/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of workers: our policies under pinned threads. Tasks are released,
 * changed and moved here; what one worker does is in live_worker.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/thread.h"
#include "engine/live_ops.h"
#include "engine/live_state.h"

/* --- threads --- */

static int create(struct live_thread *th)
{
	const struct live_worker *w = th->place;
	pthread_attr_t attr;
	cpu_set_t cpus;
	int rc;

	(void)pthread_attr_init(&attr);
	if (w->pin >= 0) {
		CPU_ZERO(&cpus);
		if (w->pin < CPU_SETSIZE)
			CPU_SET((unsigned)w->pin, &cpus);
		(void)pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	}
	rc = thread_create(&th->id, &attr, live_work, th);
	(void)pthread_attr_destroy(&attr);
	return rc;
}

int live_start_thread(struct live_worker *w, struct cr_err *e)
{
	struct live_thread *th = calloc(1, sizeof(*th));
	int rc;

	if (!th)
		return cr_fail(e, -ENOMEM, "out of memory for worker %u",
			       w->cpu);
	th->place = w;
	rc = create(th);
	if (!rc) {
		(void)pthread_getcpuclockid(th->id, &th->cpu_clock);
		w->thread = th;
		return 0;
	}
	free(th);
	if (w->pin >= 0 && rc == -EINVAL)
		return cr_fail(e, rc, "worker %u does not start on CPU %d: %s",
			       w->cpu, w->pin, strerror(-rc));
	return thread_fail(e, rc, "a worker");
}

static void raise_priority(struct live *l, struct cr_err *warn)
{
	struct sched_param p = { .sched_priority = l->cfg.rt_priority };

	for (unsigned i = 0; i < l->nworkers; i++) {
		int rc = pthread_setschedparam(l->worker[i].thread->id,
					       SCHED_FIFO, &p);

		if (!rc)
			continue;
		(void)cr_fail(warn, rc,
			      "workers run without real-time priority %d (%s): "
			      "grant CAP_SYS_NICE or raise the rtprio limit",
			      l->cfg.rt_priority, strerror(rc));
		return;
	}
	if (l->cfg.poll)
		(void)cr_fail(warn, 0,
			      "real-time workers that poll never sleep: the "
			      "kernel's real-time throttling "
			      "(/proc/sys/kernel/sched_rt_runtime_us, usually "
			      "950 ms of every second) will stop them; poll "
			      "without real-time priority, or sleep");
}

static int start_workers(struct live *l, struct cr_err *e)
{
	int rc = 0;

	for (unsigned i = 0; i < l->cfg.core.ncpu && !rc; i++) {
		rc = live_start_thread(&l->worker[i], e);
		l->nworkers += !rc;
	}
	return rc;
}

static int open_workers(struct live *l, struct cr_err *warn, struct cr_err *e)
{
	int rc = start_workers(l, e);

	if (!rc && l->cfg.rt_priority)
		raise_priority(l, warn);
	return rc;
}

static void stop(struct live *l)
{
	for (unsigned i = 0; i < l->nrq; i++) {
		(void)pthread_mutex_lock(&l->rq[i].lock);
		l->rq[i].stopping = true;
		(void)pthread_mutex_unlock(&l->rq[i].lock);
	}
	for (unsigned i = 0; i < l->nworkers; i++) {
		struct live_worker *w = &l->worker[i];

		(void)pthread_mutex_lock(&w->home->lock);
		atomic_store_explicit(&w->poked, true, memory_order_release);
		(void)pthread_mutex_unlock(&w->home->lock);
		(void)pthread_cond_signal(&w->wake);
	}
	for (unsigned i = 0; i < l->nworkers; i++)
		if (l->worker[i].thread) {
			(void)pthread_join(l->worker[i].thread->id, NULL);
			free(l->worker[i].thread);
			l->worker[i].thread = NULL;
		}
}

static void close_workers(struct live *l)
{
	(void)l;
}

/* --- tasks --- */

/* Workers find it when it is released. */
static int added(struct live *l, struct live_task *t, struct cr_verdict *v)
{
	(void)l, (void)t, (void)v;
	return 0;
}

static void remove_task(struct live *l, struct live_task *t)
{
	struct live_rq *q = live_lock_home(l, t);
	bool held = t->core.task.state == CR_RUNNING || t->detached;

	if (held)
		t->leaving = true;
	else
		core_del(l->core, &t->core, clock_now());
	(void)pthread_mutex_unlock(&q->lock);
	if (!held)
		l->cfg.client.gone(l->cfg.client.arg, t);
}

/* Release those of @todo (bits of @tasks) that live where its first does. */
static uint64_t release_one_rq(struct live *l, struct live_task *const *tasks,
			       uint64_t todo)
{
	struct live_rq *q = &l->rq[live_home_of(tasks[__builtin_ctzll(todo)])];
	unsigned id = q->rq->id;
	struct live_wakes wakes;
	cr_ns now;

	(void)pthread_mutex_lock(&q->lock);
	now = clock_now();
	for (uint64_t left = todo; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		if (live_home_of(tasks[i]) != id)
			continue;
		/* or live_wake_again() was first */
		if (tasks[i]->core.task.state == CR_IDLE)
			(void)core_release(l->core, &tasks[i]->core, now);
		todo &= ~(UINT64_C(1) << i);
	}
	live_settle(l, q, &wakes);
	(void)pthread_mutex_unlock(&q->lock);
	live_signal(l, q, &wakes);
	return todo;
}

static void release(struct live *l, struct live_task *const *tasks, unsigned n)
{
	for (unsigned done = 0; done < n; done += 64) {
		unsigned part = n - done < 64 ? n - done : 64;
		uint64_t todo = UINT64_MAX >> (64 - part);

		while (todo)
			todo = release_one_rq(l, tasks + done, todo);
	}
}

/* --- changes --- */

/* At one instant: a worker that steals takes tasks from one queue to another.
 */
static unsigned count_tasks(struct live *l)
{
	unsigned n = 0;

	live_lock_all(l);
	for (unsigned i = 0; i < l->nrq; i++)
		n += core_ntasks(l->core, l->rq[i].rq);
	live_unlock_all(l);
	return n;
}

/* All locks held before, none after. */
static void wake_all_rqs(struct live *l)
{
	for (unsigned i = l->nrq; i-- > 0;) {
		struct live_wakes wakes;

		live_settle(l, &l->rq[i], &wakes);
		(void)pthread_mutex_unlock(&l->rq[i].lock);
		wakes.surplus = 0; /* thieves look again by themselves */
		live_signal(l, &l->rq[i], &wakes);
	}
}

static void before_move(struct live *l)
{
	const struct live_client *client = &l->cfg.client;

	if (client->before_move)
		client->before_move(client->arg);
}

static void after_move(struct live *l)
{
	const struct live_client *client = &l->cfg.client;

	if (client->after_move)
		client->after_move(client->arg);
}

static int try_change(struct live *l, struct live_task *t,
		      const struct core_terms *to, unsigned flags,
		      struct cr_verdict *v)
{
	struct core_change *ch;
	int rc;

	/* only this thread adds tasks: there is room enough */
	rc = core_change_prepare(&ch, l->core, count_tasks(l), flags);
	if (rc)
		return rc;
	live_lock_all(l);
	rc = core_change(ch, &t->core, to, clock_now(), v);
	wake_all_rqs(l);
	core_change_finish(ch);
	return rc;
}

static int change(struct live *l, struct live_task *t,
		  const struct core_terms *to, unsigned flags,
		  struct cr_verdict *v)
{
	int rc = try_change(l, t, to, CORE_CHANGE_STAY, v);

	if (rc != -ENOSPC)
		return rc;
	before_move(l);
	rc = try_change(l, t, to, flags, v);
	after_move(l);
	return rc;
}

/* Under others every task stays in its run queue. */
static bool moves_tasks(const struct cr_sched_ops *ops)
{
	return ops->admit || ops->steal;
}

static int switch_to(struct live *l, const struct scheduler *to,
		     struct cr_err *e)
{
	struct core_switch *sw;
	cr_ns now;
	int rc;

	rc = core_switch_prepare(&sw, l->core, count_tasks(l), to->policy,
				 to->opts, e);
	if (rc)
		return rc;
	if (moves_tasks(to->policy))
		before_move(l);
	live_lock_all(l);
	now = clock_now();
	rc = core_switch_commit(sw, now, e);
	l->switched = rc ? l->switched : now;
	wake_all_rqs(l);
	after_move(l);
	core_switch_finish(sw);
	return rc;
}

static int tune(struct live *l, const char *opts, struct cr_err *e)
{
	/* the control thread alone replaces the policy: no lock to read it */
	const struct cr_sched *s = core_sched(l->core);
	size_t size = s->ops->opts_size;
	void *vals = malloc(size ? size : 1);
	char text[1024];
	struct cr_err why;
	int rc;

	if (!vals)
		return cr_fail(e, -ENOMEM, "out of memory");
	if (size)
		memcpy(vals, s->opts, size);
	rc = options_parse(s->ops->opts, vals, opts, &why);
	if (rc)
		(void)cr_fail(e, rc, "scheduler %s: %s", s->ops->name,
			      why.text);
	else
		options_format(s->ops->opts, vals, text, sizeof(text));
	free(vals);
	return rc ? rc : live_switch(l, s->ops, text, e);
}

/* --- the policy --- */

static const struct cr_sched_ops *policy(struct live *l)
{
	const struct cr_sched_ops *ops;

	(void)pthread_mutex_lock(&l->rq[0].lock);
	ops = core_sched(l->core)->ops;
	(void)pthread_mutex_unlock(&l->rq[0].lock);
	return ops;
}

static const char *name(struct live *l)
{
	return policy(l)->name;
}

static void format_opts(struct live *l, char *buf, size_t size)
{
	(void)pthread_mutex_lock(&l->rq[0].lock);
	options_format(core_sched(l->core)->ops->opts,
		       core_sched(l->core)->opts, buf, size);
	(void)pthread_mutex_unlock(&l->rq[0].lock);
}

static bool tasks_stay(struct live *l)
{
	unsigned ncpu = l->cfg.core.ncpu;

	return ncpu == 1 || (l->nrq == ncpu && !policy(l)->steal);
}

int live_recover(struct live *l, struct cr_err *e)
{
	bool replaced;
	int rc;

	live_lock_all(l);
	replaced = core_replaced(l->core);
	live_unlock_all(l);
	if (!replaced)
		return 0; /* or by another policy meanwhile */
	rc = live_switch(l, cr_sched_fallback, NULL, e);
	return rc ? rc : 1;
}

const struct live_ops live_workers_ops = {
	.driver = { .name = "workers", .watched = true, .shares = true },
	.open = open_workers,
	.stop = stop,
	.close = close_workers,
	.added = added,
	.remove = remove_task,
	.release = release,
	.change = change,
	.switch_to = switch_to,
	.tune = tune,
	.name = name,
	.format_opts = format_opts,
	.tasks_stay = tasks_stay,
};
