/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a decision holds the lock of a run queue, alone and contended: threads
 * pinned to CPUs of their own do nothing but lock, stop, enqueue, pick, unlock.
 * When they never pause, the lock is never free, and the time per decision is
 * what the queue can give at best, the way of its cache lines from core to core
 * included. codec-sim takes it as --overhead-lock.
 *
 *     contention [--json] [--scheduler NAME]
 *
 * Not a test: it asserts nothing about time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/core.h"
#include "schedulers/registry.h"

#define ROUNDS 400000u
#define REPEATS 5u
#define MAX_THREADS 8u

/* A task whose next frame always waits. */
struct endless {
	struct core_task core;
	uint64_t next;
	cr_ns phase;
};

static struct queue {
	struct core *core;
	pthread_mutex_t lock;
	pthread_barrier_t start;
	struct endless *task;
	unsigned ntasks;
} q;

static bool peek(struct core_task *t, struct cr_job *job)
{
	struct endless *x = (struct endless *)(void *)t;

	job->seq = x->next;
	job->arrival = x->phase + (cr_ns)x->next * t->task.period;
	job->eligible = job->arrival;
	job->deadline = job->arrival + t->task.rel_deadline;
	return true;
}

static bool claim(struct core_task *t, uint64_t seq)
{
	((struct endless *)(void *)t)->next = seq + 1;
	return true;
}

static const struct core_backlog backlog = { peek, claim, NULL };

static void open_queue(const struct cr_sched_ops *ops, unsigned ntasks,
		       unsigned threads)
{
	struct core_config cfg = { .ops = ops, .ncpu = threads };
	struct cr_err e;

	q.task = calloc(ntasks, sizeof(*q.task));
	q.ntasks = ntasks;
	if (!q.task || core_open(&q.core, &cfg, clock_now(), &e))
		exit(1);
	(void)pthread_mutex_init(&q.lock, NULL);
	(void)pthread_barrier_init(&q.start, NULL, threads);
	for (unsigned i = 0; i < ntasks; i++) {
		struct cr_task *t = &q.task[i].core.task;
		cr_ns now = clock_now();

		t->id = i;
		t->cls = CR_SOFT;
		t->period = t->rel_deadline = 20 * CR_MS;
		t->cost.mean = t->cost.p99 = CR_US;
		t->weight = 1024;
		memset(&t->cpus, 0xff, sizeof(t->cpus));
		q.task[i].core.backlog = &backlog;
		q.task[i].phase = (cr_ns)(i * UINT64_C(2654435761) % 20000000);
		core_add(q.core, &q.task[i].core, 0, now);
		(void)core_release(q.core, &q.task[i].core, now);
	}
}

static void pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void *decide(void *arg)
{
	unsigned me = *(unsigned *)arg;
	struct cr_rq *rq = core_rq(q.core, 0);

	pin(me);
	(void)pthread_barrier_wait(&q.start);
	for (unsigned i = 0; i < ROUNDS; i++) {
		(void)pthread_mutex_lock(&q.lock);
		cr_ns now = clock_now();

		if (rq->cpu[me].running) {
			struct core_task *t = core_stop(q.core, rq, me, CR_US,
							CR_STOP_DONE, now);

			(void)core_again(q.core, t, now);
		}
		(void)core_pick(q.core, rq, me, now);
		(void)pthread_mutex_unlock(&q.lock);
	}
	return NULL;
}

/* ns per decision with @threads threads. The queue is abandoned: frames always
 * wait, so its tasks never sleep, and the program ends soon. */
static double measure(const struct cr_sched_ops *ops, unsigned ntasks,
		      unsigned threads)
{
	unsigned id[MAX_THREADS];
	pthread_t thread[MAX_THREADS];
	cr_ns begin;

	open_queue(ops, ntasks, threads);
	begin = clock_now();
	for (unsigned i = 0; i < threads; i++) {
		id[i] = i;
		if (pthread_create(&thread[i], NULL, decide, &id[i]))
			exit(1);
	}
	for (unsigned i = 0; i < threads; i++)
		(void)pthread_join(thread[i], NULL);
	return (double)(clock_now() - begin) / ROUNDS / threads;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const struct cr_sched_ops *ops, unsigned ntasks,
		     unsigned threads)
{
	double ns[REPEATS];

	for (unsigned i = 0; i < REPEATS; i++)
		ns[i] = measure(ops, ntasks, threads);
	qsort(ns, REPEATS, sizeof(ns[0]), by_value);
	return ns[REPEATS / 2];
}

static const struct cr_sched_ops *find(const char *name)
{
	for (unsigned s = 0; cr_schedulers[s]; s++)
		if (strcmp(cr_schedulers[s]->name, name) == 0)
			return cr_schedulers[s];
	(void)fprintf(stderr,
		      "contention: no scheduler %s; see codec-runner "
		      "--schedulers\n",
		      name);
	exit(1);
}

static void show(bool json, const struct cr_sched_ops *ops, unsigned ntasks,
		 unsigned threads)
{
	static bool more;

	(void)printf(json ? "%s\n {\"scheduler\": \"%s\", \"tasks\": %u, "
			    "\"threads\": %u, \"ns\": %.0f}"
			  : "%s%-10s %8u %8u %10.0f\n",
		     json && more ? "," : "", ops->name, ntasks, threads,
		     median(ops, ntasks, threads));
	(void)fflush(stdout);
	more = true;
}

static void run(bool json, const struct cr_sched_ops *ops)
{
	static const unsigned tasks[] = { 300, 5000, 100000 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned most = cpus > MAX_THREADS ? MAX_THREADS : (unsigned)cpus;

	for (unsigned i = 0; i < 3; i++)
		for (unsigned t = 1; t <= most; t *= 2)
			show(json, ops, tasks[i], t);
}

int main(int argc, char **argv)
{
	const struct cr_sched_ops *only = NULL;
	bool json = false;

	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (strcmp(argv[i], "--scheduler") == 0 &&
			   i + 1 < argc) {
			only = find(argv[++i]);
		} else {
			(void)fprintf(stderr, "usage: contention [--json] "
					      "[--scheduler NAME]\n");
			return 2;
		}
	if (json)
		(void)printf("[");
	else
		(void)printf("%-10s %8s %8s %10s\n", "scheduler", "tasks",
			     "threads", "ns");
	for (unsigned s = 0; cr_schedulers[s]; s++)
		if (!only || only == cr_schedulers[s])
			run(json, cr_schedulers[s]);
	if (json)
		(void)printf("\n]\n");
	return 0;
}
