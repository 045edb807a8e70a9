/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver of kernel threads: one for every task, under a scheduler of the
 * kernel, which decides alone.
 *
 * A thread serves its task's frames oldest first, gives way after each
 * (sched_yield(), thesis 6.2) and sleeps when none waits. What giving way means
 * is the kernel's affair: under SCHED_DEADLINE it ends the budget of a period.
 * The core has no policy and all tasks are idle to it: it admits, adds and
 * deletes them. Workers are only places here: CPUs with counters.
 *
 *   added() -> parameters -> [ sleep -> frame -> yield ]* -> remove()
 *     -> core_del() cancels what waits -> client.gone() -> joined by control
 *
 * Locks: servers->lock guards the books below it; the run queue's lock, which
 * is taken first where both are, guards the core. Neither is held while a frame
 * is worked on. A server is the control thread's until its thread runs, the
 * thread's until it is put on the list of those that have ended, and then the
 * control thread's again, which joins and frees.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "base/thread.h"
#include "engine/core_state.h"
#include "engine/live_state.h"

/* Codecs need little; a thousand threads shall not need 8 MB each. */
#define STACK_BYTES (512u << 10)
#define OS_CPUS 1024

struct live_server {
	struct live *live;
	struct live_task *task;
	struct kernel_attr attr;
	pthread_t thread;
	sem_t wake;
	atomic_bool leave;
	unsigned number; /* for the client: worker_up() */
	struct live_server *next;

	/* from the thread to who started it, before @started */
	sem_t started;
	int refused;
	struct cr_err why;
};

struct live_servers {
	unsigned short place[OS_CPUS]; /* engine CPU of one of the OS */
	pthread_mutex_t lock;
	pthread_cond_t ended_one;
	struct live_server *ended;
	unsigned *number; /* [cfg.max_threads], a stack of free ones */
	unsigned nfree, running;
};

/* --- the thread --- */

/* The CPU's place of this thread now. It may be moved at any moment: counters
 * of a place have many writers. */
static struct live_worker *place_of_thread(struct live *l)
{
	int os = sched_getcpu();

	return &l->worker[os >= 0 && os < OS_CPUS ? l->servers->place[os] : 0];
}

static void count_place(atomic_ullong *counter)
{
	(void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void count_place_time(_Atomic cr_ns *counter, cr_ns t)
{
	(void)atomic_fetch_add_explicit(counter, t, memory_order_relaxed);
}

/* Claim the oldest frame that is worth it, as core_pick() does for a worker but
 * without a lock: nobody else has the task. False: it sleeps. */
static bool next_frame(struct live_server *s, struct live_run *run)
{
	const struct live *l = s->live;
	struct core_task *t = &s->task->core;
	enum core_worth worth;

	while (core_fetch(t, run->picked = clock_now())) {
		if (!t->backlog->claim(t, t->task.job.seq))
			continue; /* dropped meanwhile: who did counts it */
		worth = core_worth_of(l->core, NULL, t, run->picked);
		run->expired = worth == CORE_CONCEAL;
		if (worth == CORE_RUN || run->expired)
			return true;
		count_place(&place_of_thread(s->live)->drops);
		t->backlog->dropped(t, &t->task.job,
				    worth == CORE_OLD ? CR_OUT_EXPIRED
						      : CR_OUT_SHED,
				    run->picked);
	}
	return false;
}

static bool leaving(const struct live_server *s)
{
	return atomic_load_explicit(&s->leave, memory_order_acquire);
}

static void serve_all(struct live_server *s)
{
	struct live_run run = { .charged = 0 };

	while (!leaving(s) && next_frame(s, &run)) {
		const struct live_client *client = &s->live->cfg.client;
		struct live_worker *w = place_of_thread(s->live);

		run.worker = w->cpu;
		run.cpu = clock_thread_cpu();
		client->run(client->arg, s->task, &run);
		count_place_time(&w->busy, clock_now() - run.picked);
		count_place_time(&w->past_cpu, clock_thread_cpu() - run.cpu);
		count_place(&w->jobs);
		count_place(&w->picks);
		(void)sched_yield();
	}
}

static void wait_semaphore(sem_t *sem)
{
	while (sem_wait(sem) && errno == EINTR)
		;
}

static void *serve_task(void *arg)
{
	struct live_server *s = arg;
	struct live_servers *all = s->live->servers;
	const struct live_client *client = &s->live->cfg.client;
	struct live_rq *q;

	s->refused = kernel_apply(&s->attr, &s->why);
	if (!s->refused && client->worker_up)
		client->worker_up(client->arg, s->number);
	(void)sem_post(&s->started);
	if (s->refused)
		return NULL; /* the starter of this thread cleans up */
	while (!leaving(s)) {
		wait_semaphore(&s->wake);
		count_place(&place_of_thread(s->live)->wakeups);
		serve_all(s);
	}
	/* The task leaves the core, and what waits is cancelled. */
	q = live_lock_home(s->live, s->task);
	core_del(s->live->core, &s->task->core, clock_now());
	(void)pthread_mutex_unlock(&q->lock);
	s->live->cfg.client.gone(s->live->cfg.client.arg, s->task);
	if (client->worker_down)
		client->worker_down(client->arg, s->number);
	/* its number is free, and it waits to be joined */
	(void)pthread_mutex_lock(&all->lock);
	all->number[all->nfree++] = s->number;
	all->running--;
	s->next = all->ended;
	all->ended = s;
	(void)pthread_cond_signal(&all->ended_one);
	(void)pthread_mutex_unlock(&all->lock);
	return NULL;
}

/* --- starting and ending one --- */

/* On the CPUs of the engine. */
static int server_create(const struct live *l, pthread_t *thread,
			 void *(*function)(void *), struct live_server *s)
{
	pthread_attr_t attr;
	cpu_set_t cpus;
	int rc;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	CPU_ZERO(&cpus);
	for (unsigned i = 0; i < l->cfg.core.ncpu; i++)
		if (l->worker[i].pin >= 0)
			CPU_SET((unsigned)l->worker[i].pin, &cpus);
	if (CPU_COUNT(&cpus))
		(void)pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	rc = thread_create(thread, &attr, function, s);
	(void)pthread_attr_destroy(&attr);
	return rc;
}

static struct live_server *server_new(struct live *l, struct live_task *t)
{
	struct live_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->live = l;
	s->task = t;
	s->attr =
		kernel_attr_of(l->cfg.kernel, l->kernel_option, &t->core.task);
	(void)sem_init(&s->wake, 0, 0);
	(void)sem_init(&s->started, 0, 0);
	t->server = s;
	return s;
}

static void server_free(struct live_server *s)
{
	(void)sem_destroy(&s->wake);
	(void)sem_destroy(&s->started);
	free(s);
}

static bool take_number(struct live_servers *all, unsigned *number)
{
	bool got;

	(void)pthread_mutex_lock(&all->lock);
	got = all->nfree > 0;
	if (got) {
		*number = all->number[--all->nfree];
		all->running++;
	}
	(void)pthread_mutex_unlock(&all->lock);
	return got;
}

/* Wait until the thread has what it asks the kernel for. */
static int start_server(struct live_server *s)
{
	int rc = server_create(s->live, &s->thread, serve_task, s);

	if (rc)
		return rc;
	wait_semaphore(&s->started);
	if (s->refused)
		(void)pthread_join(s->thread, NULL);
	return s->refused;
}

static void reap(struct live_servers *all)
{
	struct live_server *s, *next;

	(void)pthread_mutex_lock(&all->lock);
	s = all->ended;
	all->ended = NULL;
	(void)pthread_mutex_unlock(&all->lock);
	for (; s; s = next) {
		next = s->next;
		(void)pthread_join(s->thread, NULL);
		server_free(s);
	}
}

static const char *refusal_rule(int rc)
{
	switch (rc) {
	case -EBUSY:
		return "the kernel's own test of SCHED_DEADLINE";
	case -EPERM:
		return "the privilege, CAP_SYS_NICE, is lost";
	case -EAGAIN:
		return "threads that the system gives (RLIMIT_NPROC, "
		       "TasksMax=, memory)";
	default:
		return "what the kernel takes";
	}
}

static int server_added(struct live *l, struct live_task *t,
			struct cr_verdict *v)
{
	struct live_servers *all = l->servers;
	struct live_server *s;
	unsigned number;
	int rc;

	reap(all);
	if (!take_number(all, &number)) {
		v->rule = "threads of calls and conversions (2048, or "
			  "--max-calls)";
		return -ENOSPC;
	}
	s = server_new(l, t);
	if (s)
		s->number = number;
	rc = s ? start_server(s) : -ENOMEM;
	if (!rc)
		return 0;
	(void)pthread_mutex_lock(&all->lock);
	all->number[all->nfree++] = number;
	all->running--;
	(void)pthread_mutex_unlock(&all->lock);
	if (s)
		server_free(s);
	v->rule = refusal_rule(rc);
	return rc == -EBUSY || rc == -EAGAIN ? -ENOSPC : -EINVAL;
}

static void server_remove_task(struct live *l, struct live_task *t)
{
	struct live_server *s = t->server;

	/* under the lock: the thread may see the flag at once and end, but it
	 * is not joined and freed before its semaphore has been let go */
	(void)pthread_mutex_lock(&l->servers->lock);
	atomic_store_explicit(&s->leave, true, memory_order_release);
	(void)sem_post(&s->wake);
	(void)pthread_mutex_unlock(&l->servers->lock);
}

static void server_release(struct live *l, struct live_task *const *tasks,
			   unsigned n)
{
	(void)l;
	for (unsigned i = 0; i < n; i++)
		(void)sem_post(&tasks[i]->server->wake);
}

/* --- all of them --- */

static void *try_it(void *arg)
{
	struct live_server *s = arg;

	s->refused = kernel_apply(&s->attr, &s->why);
	return NULL;
}

/* Would a thread get what it asks for? Better refused now than at the first
 * call. */
static int check_privilege(struct live *l, struct cr_err *e)
{
	const struct cr_task typical = { .cls = CR_SOFT,
					 .period = 20 * CR_MS,
					 .cost = { .mean = 10 * CR_US } };
	struct live_server s = { .attr = kernel_attr_of(l->cfg.kernel,
							l->kernel_option,
							&typical) };
	pthread_t thread;
	int rc = server_create(l, &thread, try_it, &s);

	if (rc)
		return thread_fail(e, rc, "calls");
	(void)pthread_join(thread, NULL);
	return s.refused ? cr_fail(e, s.refused, "scheduler %s: %s",
				   l->cfg.kernel->name, s.why.text)
			 : 0;
}

static struct live_servers *servers_new(const struct live *l)
{
	unsigned n = l->cfg.max_threads, ncpu = l->cfg.core.ncpu;
	struct live_servers *all = calloc(1, sizeof(*all));

	if (!all)
		return NULL;
	all->number = calloc(n, sizeof(*all->number));
	if (!all->number) {
		free(all);
		return NULL;
	}
	for (; all->nfree < n; all->nfree++) /* 0 is handed out first */
		all->number[all->nfree] = n - 1 - all->nfree;
	for (unsigned os = 0; os < OS_CPUS; os++)
		all->place[os] = (unsigned short)(os % ncpu);
	for (unsigned i = 0; i < ncpu; i++)
		if (l->worker[i].pin >= 0 && l->worker[i].pin < OS_CPUS)
			all->place[l->worker[i].pin] = (unsigned short)i;
	(void)pthread_mutex_init(&all->lock, NULL);
	(void)pthread_cond_init(&all->ended_one, NULL);
	return all;
}

static int open_servers(struct live *l, struct cr_err *warn, struct cr_err *e)
{
	int rc;

	(void)warn;
	l->servers = servers_new(l);
	if (!l->servers)
		return cr_fail(e, -ENOMEM, "out of memory for %u threads",
			       l->cfg.max_threads);
	rc = kernel_sched_parse(l->cfg.kernel, l->cfg.kernel_opts,
				&l->kernel_option, e);
	return rc ? rc : check_privilege(l, e);
}

static void server_stop(struct live *l)
{
	struct live_servers *all = l->servers;

	if (!all)
		return;
	(void)pthread_mutex_lock(&all->lock);
	while (all->running)
		(void)pthread_cond_wait(&all->ended_one, &all->lock);
	(void)pthread_mutex_unlock(&all->lock);
	reap(all);
}

static void close_servers(struct live *l)
{
	struct live_servers *all = l->servers;

	if (!all)
		return;
	(void)pthread_mutex_destroy(&all->lock);
	(void)pthread_cond_destroy(&all->ended_one);
	free(all->number);
	free(all);
	l->servers = NULL;
}

const struct live_ops live_kernel_ops = {
	.driver = { .name = "kernel threads",
		    .thread_per_task = true,
		    .kernel_priorities = true },
	.open = open_servers,
	.stop = server_stop,
	.close = close_servers,
	.added = server_added,
	.remove = server_remove_task,
	.release = server_release,
};
