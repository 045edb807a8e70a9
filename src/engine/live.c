/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live engine as its clients see it: made and unmade (the driver's choice,
 * locks, places, and the backlog with the sleep protocol that the core sees),
 * tasks come, change and go, the policy is replaced, figures are read, and
 * threads lose their place. Work that depends on the threads' owner goes to the
 * driver (struct live_ops).
 */
#define _GNU_SOURCE
#include "engine/live.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "base/field.h"
#include "base/thread.h"
#include "engine/cpus.h"
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
	err = l->ops->added ? l->ops->added(l, t, v) : 0;
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

		live_settle(l, &l->rq[i], true, &wakes);
		(void)pthread_mutex_unlock(&l->rq[i].lock);
		wakes.surplus = 0; /* thieves look again by themselves */
		live_signal(l, &l->rq[i], &wakes);
	}
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

int live_change(struct live *l, struct live_task *t,
		const struct core_terms *to, unsigned flags,
		struct cr_verdict *v)
{
	const struct live_client *client = &l->cfg.client;
	int rc;

	if (l->cfg.kernel) {
		v->rule = "scheduled by the kernel: only as it was started";
		return -EINVAL;
	}
	rc = try_change(l, t, to, CORE_CHANGE_STAY, v);
	if (rc != -ENOSPC)
		return rc;
	if (client->before_move)
		client->before_move(client->arg);
	rc = try_change(l, t, to, flags, v);
	if (client->after_move)
		client->after_move(client->arg);
	return rc;
}

static int refuse_switch(struct live *l, const char *to, struct cr_err *e)
{
	return cr_fail(e, -ENOTSUP,
		       "from %s to %s only by a new start (codec-runner "
		       "--scheduler %s): calls cannot change between the "
		       "kernel's schedulers and ours",
		       live_scheduler(l), to, to);
}

int live_switch_to(struct live *l, const struct scheduler *to, struct cr_err *e)
{
	const struct live_client *client = &l->cfg.client;
	struct core_switch *sw;
	cr_ns now;
	int rc;

	if (to->kernel || l->cfg.kernel)
		return refuse_switch(l, scheduler_name(to), e);
	rc = core_switch_prepare(&sw, l->core, count_tasks(l), to->policy,
				 to->opts, e);
	if (rc)
		return rc;
	/* Under others every task stays in its run queue. */
	if ((to->policy->admit || to->policy->steal) && client->before_move)
		client->before_move(client->arg);
	live_lock_all(l);
	now = clock_now();
	rc = core_switch_commit(sw, now, e);
	l->switched = rc ? l->switched : now;
	wake_all_rqs(l);
	if (client->after_move)
		client->after_move(client->arg);
	core_switch_finish(sw);
	return rc;
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
	/* the control thread alone replaces the policy: no lock to read it */
	const struct cr_sched *s = core_sched(l->core);
	size_t size = s->ops->opts_size;
	char text[1024];
	struct cr_err why;
	int64_t option;
	void *vals;
	int rc;

	if (l->cfg.kernel) {
		rc = kernel_sched_parse(l->cfg.kernel, opts, &option, e);
		return rc ? rc : refuse_switch(l, l->cfg.kernel->name, e);
	}
	vals = malloc(size ? size : 1);
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

/* --- the scheduler --- */

static const struct cr_sched_ops *policy_in_use(struct live *l)
{
	const struct cr_sched_ops *ops;

	(void)pthread_mutex_lock(&l->rq[0].lock);
	ops = core_sched(l->core)->ops;
	(void)pthread_mutex_unlock(&l->rq[0].lock);
	return ops;
}

const char *live_scheduler(struct live *l)
{
	return l->cfg.kernel ? l->cfg.kernel->name : policy_in_use(l)->name;
}

void live_scheduler_opts(struct live *l, char *buf, size_t size)
{
	const struct cr_sched *s = core_sched(l->core);

	if (l->cfg.kernel) {
		options_format(l->cfg.kernel->opts, &l->kernel_option, buf,
			       size);
		return;
	}
	(void)pthread_mutex_lock(&l->rq[0].lock);
	options_format(s->ops->opts, s->opts, buf, size);
	(void)pthread_mutex_unlock(&l->rq[0].lock);
}

const struct live_driver *live_driver(const struct live *l)
{
	return &l->ops->driver;
}

bool live_tasks_stay(struct live *l)
{
	unsigned ncpu = l->cfg.core.ncpu;

	if (l->cfg.kernel)
		return false;
	return ncpu == 1 || (l->nrq == ncpu && !policy_in_use(l)->steal);
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

void live_worker_stats(struct live *l, unsigned worker,
		       struct live_worker_stats *out)
{
	const struct live_worker *w = &l->worker[worker];

	*out = (struct live_worker_stats){
		.busy = atomic_load_explicit(&w->busy, memory_order_relaxed),
		.cpu = atomic_load_explicit(&w->past_cpu,
					    memory_order_relaxed) +
		       (w->thread ? clock_read(w->thread->cpu_clock) : 0),
		.jobs = counter_read(&w->jobs),
		.picks = counter_read(&w->picks),
		.drops = counter_read(&w->drops),
		.wakeups = counter_read(&w->wakeups),
		.steals = counter_read(&w->steals),
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

void live_look_task(struct live *l, struct live_task *t,
		    struct live_task_look *look)
{
	struct live_rq *q = live_lock_home(l, t);
	const struct cr_task *task = &t->core.task;

	if (!l->ops->driver.watched) { /* its thread's affair */
		*look = (struct live_task_look){ .state = CR_IDLE };
		(void)pthread_mutex_unlock(&q->lock);
		return;
	}
	*look = (struct live_task_look){ .state = task->state,
					 .release = task->job.release,
					 .eligible = task->job.eligible,
					 .idle = cpus_any(&q->idle) };
	for (unsigned i = 0; i < q->rq->ncpu; i++)
		look->idles += atomic_load_explicit(
			&l->worker[q->rq->first_cpu + i].wakeups,
			memory_order_relaxed);
	(void)pthread_mutex_unlock(&q->lock);
}

/* Of @w, under its home's lock. */
static bool read_worker_look(const struct live_worker *w,
			     struct live_worker_look *look)
{
	const struct cr_cpu *cpu = &w->home->rq->cpu[w->index];

	if (!cpu->running)
		return false;
	look->task = live_task_of(core_task_of(cpu->running));
	look->picked = cpu->since;
	return true;
}

bool live_look_worker(struct live *l, unsigned worker,
		      struct live_worker_look *look)
{
	const struct live_worker *w = &l->worker[worker];
	bool at_work;

	(void)pthread_mutex_lock(&w->home->lock);
	at_work = read_worker_look(w, look);
	(void)pthread_mutex_unlock(&w->home->lock);
	return at_work;
}

/* The state letter in the thread's stat, behind its name in parentheses, which
 * may hold anything (proc(5)). When there is none the thread is said to sleep,
 * so that its time counts. */
static bool is_runnable(int tid)
{
	char path[64], text[256] = "";
	const char *name_end;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	(void)!fgets(text, sizeof(text), f);
	(void)fclose(f);
	name_end = strrchr(text, ')');
	return name_end && !strncmp(name_end, ") R", 3);
}

void live_look_use(struct live *l, unsigned worker, struct live_worker_use *use)
{
	struct live_worker *w = &l->worker[worker];
	int tid = 0;

	(void)pthread_mutex_lock(&w->home->lock);
	if (w->thread)
		tid = w->thread->tid;
	(void)pthread_mutex_unlock(&w->home->lock);
	*use = (struct live_worker_use){
		.cpu = w->thread ? clock_read(w->thread->cpu_clock) : 0,
		.runnable = tid && is_runnable(tid),
	};
}

void live_wake_again(struct live *l, struct live_task *t)
{
	struct live_rq *q;

	if (!l->ops->driver.watched)
		return;
	q = live_lock_home(l, t);
	if (t->core.task.state == CR_IDLE && !t->detached) {
		(void)live_task_wake(t);
		(void)core_release(l->core, &t->core, clock_now());
	}
	core_relook(l->core, q->rq);
	live_unlock(l, q);
}

bool live_blame_policy(struct live *l, struct live_task *t)
{
	struct live_rq *q;
	bool replaced;

	if (!l->ops->driver.watched)
		return false;
	q = live_lock_home(l, t);
	replaced = core_blame_policy(l->core, &t->core, clock_now());
	core_relook(l->core, q->rq);
	live_unlock(l, q);
	return replaced;
}

/* The place's lock held. */
static void take_place(struct live_worker *w)
{
	struct core *c = w->live->core;
	struct cr_rq *rq = w->home->rq;
	/* its real cost is no fault of the tasks that share its budget */
	cr_ns ran = core_task_of(rq->cpu[w->index].running)->task.job.cost;
	struct core_task *t =
		core_stop(c, rq, w->index, ran, CR_STOP_DROP, clock_now());

	live_task_of(t)->detached = true;
	w->thread->detached = true;
	/* while it cannot end, and its clock with it */
	w->past_cpu += clock_read(w->thread->cpu_clock);
}

bool live_detach(struct live *l, unsigned worker,
		 const struct live_worker_look *look)
{
	const struct live_client *client = &l->cfg.client;
	struct live_worker *w = &l->worker[worker];
	const struct sched_param none = { 0 };
	struct live_worker_look now;
	bool take;

	(void)pthread_mutex_lock(&w->home->lock);
	take = read_worker_look(w, &now) && now.picked == look->picked &&
	       now.task == look->task &&
	       (!client->may_detach ||
		client->may_detach(client->arg, now.task, worker));
	if (take)
		take_place(w);
	live_unlock(l, w->home);
	if (!take)
		return false;
	/* whether it loops or waits: the CPU is for who took its place */
	(void)pthread_setschedparam(w->thread->id, SCHED_IDLE, &none);
	w->thread->next = l->detached;
	l->detached = w->thread;
	w->thread = NULL;
	return true;
}

int live_start_worker(struct live *l, unsigned worker, struct cr_err *e)
{
	const struct sched_param p = { .sched_priority = l->cfg.rt_priority };
	struct live_worker *w = &l->worker[worker];
	int err;

	if (!l->ops->driver.watched || w->thread || w->home->stopping)
		return 0;
	err = live_start_thread(w, e);
	if (!err && p.sched_priority) /* if it was granted: live_open() said */
		(void)pthread_setschedparam(w->thread->id, SCHED_FIFO, &p);
	return err;
}

unsigned live_join_detached(struct live *l)
{
	struct live_thread **link = &l->detached, *th;
	unsigned away = 0;

	while ((th = *link)) {
		if (!atomic_load_explicit(&th->over, memory_order_acquire)) {
			link = &th->next;
			away++;
			continue;
		}
		*link = th->next;
		(void)pthread_join(th->id, NULL);
		free(th);
	}
	return away;
}

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

static void drop_of_client(struct core_task *t, const struct cr_job *job,
			   enum cr_outcome why, cr_ns now)
{
	if (client_of(t)->dropped)
		client_of(t)->dropped(t, job, why, now);
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
	for (unsigned i = 0; i < l->nrq; i++) {
		struct live_rq *q = &l->rq[i];

		/* a real-time receiver must not wait for a worker that the
		 * kernel has taken off its CPU in the middle of a lock round */
		thread_lock_init(&q->lock);
		q->rq = core_rq(l->core, i);
		q->tick_waiter = -1;
		q->until = CR_NEVER;
	}
	for (unsigned i = 0; i < ncpu; i++) {
		struct live_worker *w = &l->worker[i];
		pthread_condattr_t attr;

		w->live = l;
		w->cpu = i;
		w->home = &l->rq[core_rq_of(l->core, i)->id];
		w->index = i - w->home->rq->first_cpu;
		w->pin = l->cfg.pin ? (int)l->cfg.pin[i] : -1;
		(void)pthread_condattr_init(&attr);
		(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
		(void)pthread_cond_init(&w->wake, &attr);
		(void)pthread_condattr_destroy(&attr);
	}
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
	l->backlog.core = (struct core_backlog){ peek, claim, drop_of_client };
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
	if (l->ops->close)
		l->ops->close(l);
	free(l->worker);
	free(l->rq);
	core_close(l->core);
	free(l);
}
