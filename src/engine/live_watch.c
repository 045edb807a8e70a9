/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at tasks and workers, and threads that lose their place.
 */
#define _GNU_SOURCE /* SCHED_IDLE, gettid() */
#include "engine/live_watch.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/cpus.h"
#include "engine/live_state.h"

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
static bool look_at(const struct live_worker *w, struct live_worker_look *look)
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
	at_work = look_at(w, look);
	(void)pthread_mutex_unlock(&w->home->lock);
	return at_work;
}

void live_begin(struct live_thread *th)
{
	th->tid = (int)gettid();
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

static void settle_and_unlock(struct live *l, struct live_rq *q)
{
	struct live_wakes wakes;

	live_settle(l, q, &wakes);
	(void)pthread_mutex_unlock(&q->lock);
	live_signal(l, q, &wakes);
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
	settle_and_unlock(l, q);
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
	settle_and_unlock(l, q);
	return replaced;
}

/* Whether it loops or waits: the CPU is for who took its place. */
static void lower(pthread_t thread)
{
	const struct sched_param none = { 0 };

	(void)pthread_setschedparam(thread, SCHED_IDLE, &none);
}

/* The place's lock held. */
static void take_place(struct live_worker *w)
{
	struct core *c = w->live->core;
	struct cr_rq *rq = w->home->rq;
	/* what it really took is no fault of those who share its budget */
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
	struct live_worker_look now;
	bool take;

	(void)pthread_mutex_lock(&w->home->lock);
	take = look_at(w, &now) && now.picked == look->picked &&
	       now.task == look->task &&
	       (!client->may_detach ||
		client->may_detach(client->arg, now.task, worker));
	if (take)
		take_place(w);
	settle_and_unlock(l, w->home);
	if (!take)
		return false;
	lower(w->thread->id);
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

void live_come_back(struct live *l, struct live_task *t)
{
	const struct live_client *client = &l->cfg.client;
	struct live_rq *q = live_lock_home(l, t);
	bool leaving = t->leaving;

	t->detached = false;
	(void)pthread_mutex_unlock(&q->lock);
	if (leaving)
		client->returned(client->arg, t);
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
