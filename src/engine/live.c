/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live driver as its clients see it: tasks come and go, frames are
 * released, the policy is replaced. Threads start in live_open.c, work in
 * live_worker.c.
 */
#include "engine/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "engine/live_state.h"
#include "engine/live_threads.h"
#include "schedulers/kernel.h"
#include "schedulers/registry.h"

static void lock_all(struct live *l)
{
	for (unsigned i = 0; i < l->nrq; i++)
		(void)pthread_mutex_lock(&l->rq[i].lock);
}

static void unlock_all(struct live *l)
{
	for (unsigned i = l->nrq; i-- > 0;)
		(void)pthread_mutex_unlock(&l->rq[i].lock);
}

static unsigned home_of(struct live_task *t)
{
	return atomic_load_explicit(&t->core.home, memory_order_relaxed);
}

/* A task may move between reading where it is and locking that. */
struct live_rq *live_lock_home(struct live *l, struct live_task *t)
{
	for (;;) {
		struct live_rq *q = &l->rq[home_of(t)];

		(void)pthread_mutex_lock(&q->lock);
		if (q == &l->rq[home_of(t)])
			return q;
		(void)pthread_mutex_unlock(&q->lock);
	}
}

/* @t has joined; it has to leave again where no thread can serve it. */
static int add_thread(struct live *l, struct live_task *t, struct cr_verdict *v)
{
	int rc = threads_start(l, t, v);

	if (!rc)
		return 0;
	lock_all(l);
	core_del(l->core, &t->core, clock_now());
	unlock_all(l);
	return rc;
}

int live_add(struct live *l, struct live_task *t, struct cr_verdict *v)
{
	int rc;

	t->core.backlog = &l->backlog.core;
	t->leaving = false;
	t->detached = false;
	atomic_store_explicit(&t->active, false, memory_order_relaxed);
	lock_all(l);
	rc = core_admit(l->core, &t->core.task, v);
	if (rc >= 0)
		core_add(l->core, &t->core, (unsigned)rc, clock_now());
	unlock_all(l);
	return rc < 0 ? rc : l->threads ? add_thread(l, t, v) : 0;
}

void live_refusal(const struct live *l, int code, const struct cr_verdict *v,
		  char *buf, size_t size)
{
	core_refusal(l->core, code, v, buf, size);
}

void live_remove(struct live *l, struct live_task *t)
{
	struct live_rq *q;
	bool held;

	if (l->threads) {
		threads_end(l, t);
		return;
	}
	q = live_lock_home(l, t);
	held = t->core.task.state == CR_RUNNING || t->detached;
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
	struct live_rq *q = &l->rq[home_of(tasks[__builtin_ctzll(todo)])];
	unsigned id = q->rq->id;
	struct live_wakes wakes;
	cr_ns now;

	(void)pthread_mutex_lock(&q->lock);
	now = clock_now();
	for (uint64_t left = todo; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctzll(left);

		if (home_of(tasks[i]) != id)
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

void live_release(struct live *l, struct live_task *const *tasks, unsigned n)
{
	if (l->threads) {
		threads_wake(tasks, n);
		return;
	}
	for (unsigned done = 0; done < n; done += 64) {
		unsigned part = n - done < 64 ? n - done : 64;
		uint64_t todo = UINT64_MAX >> (64 - part);

		while (todo)
			todo = release_one_rq(l, tasks + done, todo);
	}
}

static unsigned count_tasks(struct live *l)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->nrq; i++) {
		(void)pthread_mutex_lock(&l->rq[i].lock);
		n += core_ntasks(l->core, l->rq[i].rq);
		(void)pthread_mutex_unlock(&l->rq[i].lock);
	}
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

static int before_move(struct live *l, struct cr_err *e)
{
	const struct live_client *client = &l->cfg.client;

	return client->before_move ? client->before_move(client->arg, e) : 0;
}

static void after_move(struct live *l)
{
	const struct live_client *client = &l->cfg.client;

	if (client->after_move)
		client->after_move(client->arg);
}

static int change(struct live *l, struct live_task *t,
		  const struct core_terms *to, unsigned flags,
		  struct cr_verdict *v)
{
	struct core_change *ch;
	int rc;

	/* only this thread adds tasks: there is room enough */
	rc = core_change_prepare(&ch, l->core, count_tasks(l), flags);
	if (rc)
		return rc;
	lock_all(l);
	rc = core_change(ch, &t->core, to, clock_now(), v);
	wake_all_rqs(l);
	core_change_finish(ch);
	return rc;
}

int live_change(struct live *l, struct live_task *t,
		const struct core_terms *to, unsigned flags,
		struct cr_verdict *v, struct cr_err *e)
{
	int rc, no;

	if (l->threads) { /* which has what it asked for at its start */
		v->rule = "scheduled by the kernel: only as it was started";
		return -EINVAL;
	}
	rc = change(l, t, to, CORE_CHANGE_STAY, v);
	if (rc != -ENOSPC)
		return rc;
	no = before_move(l, e);
	if (no && !(flags & CORE_CHANGE_FORCE))
		return no;
	rc = change(l, t, to, flags | (no ? CORE_CHANGE_STAY : 0), v);
	if (!no)
		after_move(l);
	return rc;
}

/* Under others every task stays in its run queue. */
static bool moves_tasks(const struct cr_sched_ops *ops)
{
	return ops->admit || ops->steal;
}

int live_switch(struct live *l, const struct cr_sched_ops *ops,
		const char *opts, struct cr_err *e)
{
	struct core_switch *sw;
	int rc;

	if (l->threads || cr_kernel_scheduler(ops))
		return cr_fail(
			e, -ENOTSUP,
			"from %s to %s only by a new start (codec-runner "
			"--scheduler %s): calls cannot change between "
			"the kernel's schedulers and ours",
			live_policy(l)->name, ops->name, ops->name);
	rc = core_switch_prepare(&sw, l->core, count_tasks(l), ops, opts, e);
	if (rc)
		return rc;
	if (moves_tasks(ops))
		rc = before_move(l, e);
	if (!rc) {
		lock_all(l);
		rc = core_switch_commit(sw, clock_now(), e);
		wake_all_rqs(l);
		after_move(l);
	}
	core_switch_finish(sw);
	return rc;
}

int live_recover(struct live *l, struct cr_err *e)
{
	bool replaced;
	int rc;

	lock_all(l);
	replaced = core_replaced(l->core);
	unlock_all(l);
	if (!replaced)
		return 0; /* or by another policy meanwhile */
	rc = live_switch(l, cr_sched_fallback, NULL, e);
	return rc ? rc : 1;
}

int live_tune(struct live *l, const char *opts, struct cr_err *e)
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

const struct cr_sched_ops *live_policy(const struct live *l)
{
	const struct cr_sched_ops *ops;

	(void)pthread_mutex_lock(&l->rq[0].lock);
	ops = core_sched(l->core)->ops;
	(void)pthread_mutex_unlock(&l->rq[0].lock);
	return ops;
}

void live_policy_opts(struct live *l, char *buf, size_t size)
{
	(void)pthread_mutex_lock(&l->rq[0].lock);
	options_format(core_sched(l->core)->ops->opts,
		       core_sched(l->core)->opts, buf, size);
	(void)pthread_mutex_unlock(&l->rq[0].lock);
}

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
	struct live_load sum = { .bound_ppm = core_bound_ppm(l->core) };

	for (unsigned i = 0; i < l->nrq; i++) {
		struct live_rq *q = &l->rq[i];

		(void)pthread_mutex_lock(&q->lock);
		sum.queued += q->rq->nqueued;
		sum.tasks += core_ntasks(l->core, q->rq);
		sum.load_ppm += q->rq->load_ppm;
		sum.faults += core_counts(l->core, q->rq).faults;
		(void)pthread_mutex_unlock(&q->lock);
	}
	*out = sum;
}
