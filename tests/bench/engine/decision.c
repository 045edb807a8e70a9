/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one scheduling decision costs: ns for stop + enqueue + pick (with claim)
 * per policy and number of runnable tasks, through the core alone and through
 * a live worker (lock, clock, empty job). Prints a table, or JSON:
 *
 *     decision [--json] [--scheduler NAME] [--max-tasks N] [--pin CPU]
 *
 * Not a test: it asserts nothing about time.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/live.h"
#include "schedulers/registry.h"

#define ROUNDS 2000000u

/* A call whose next frame always waits. */
struct endless {
	struct live_task task;
	uint64_t next;
	cr_ns phase;
};

static struct endless *endless_of(struct core_task *t)
{
	return (struct endless *)(void *)((unsigned char *)t -
					  offsetof(struct endless, task.core));
}

/* A measurement ends by nothing waiting any more. */
static atomic_bool draining;

static bool peek(struct core_task *t, struct cr_job *job)
{
	struct endless *x = endless_of(t);

	if (atomic_load_explicit(&draining, memory_order_relaxed))
		return false;
	job->seq = x->next;
	job->arrival = x->phase + (cr_ns)x->next * t->task.period;
	job->eligible = job->arrival;
	job->deadline = job->arrival + t->task.rel_deadline;
	return true;
}

static bool claim(struct core_task *t, uint64_t seq)
{
	endless_of(t)->next = seq + 1;
	return true;
}

static const struct core_backlog backlog = { peek, claim, NULL };

static struct endless *make_tasks(unsigned n)
{
	struct endless *x = calloc(n, sizeof(*x));

	for (unsigned i = 0; x && i < n; i++) {
		struct cr_task *t = &x[i].task.core.task;

		t->id = i;
		t->cls = CR_SOFT;
		t->period = t->rel_deadline = 20 * CR_MS;
		t->cost.mean = t->cost.p99 = CR_US;
		t->weight = 1024;
		cr_cpus_add(&t->cpus, 0);
		x[i].phase = (cr_ns)(i * UINT64_C(2654435761) % 20000000);
	}
	return x;
}

static void close_core(struct core *c, struct endless *x, unsigned n)
{
	atomic_store(&draining, true);
	for (unsigned i = 0; i < n; i++)
		core_del(c, &x[i].task.core, ROUNDS);
	core_close(c);
	free(x);
}

/* ns per decision through the core, or -1. */
static double core_cost(const struct cr_sched_ops *ops, unsigned n)
{
	struct core_config cfg = { .ops = ops, .ncpu = 1 };
	struct endless *x = make_tasks(n);
	struct core *c;
	cr_ns begin, end;

	if (!x || core_open(&c, &cfg, 0, NULL))
		return -1;
	atomic_store(&draining, false);
	for (unsigned i = 0; i < n; i++) {
		x[i].task.core.backlog = &backlog;
		core_add(c, &x[i].task.core, 0, 0);
		(void)core_release(c, &x[i].task.core, 0);
	}
	begin = clock_now();
	for (unsigned k = 1; k <= ROUNDS; k++) {
		struct core_task *t = core_pick(c, core_rq(c, 0), 0, k);

		(void)core_stop(c, core_rq(c, 0), 0, CR_US, CR_STOP_DONE, k);
		(void)core_again(c, t, k);
	}
	end = clock_now();
	close_core(c, x, n);
	return (double)(end - begin) / ROUNDS;
}

static void run_nothing(void *arg, struct live_task *t,
			const struct live_run *r)
{
	(void)arg, (void)t, (void)r;
}

static void gone(void *arg, struct live_task *t)
{
	(void)t;
	atomic_fetch_add((atomic_uint *)arg, 1);
}

static uint64_t jobs_of(struct live *l)
{
	struct live_worker_stats st;

	live_worker_stats(l, 0, &st);
	return st.jobs;
}

/* ns of wall clock per empty job on one live worker, or -1. */
static double live_cost(const struct cr_sched_ops *ops, unsigned n,
			const unsigned *pin)
{
	atomic_uint left = 0;
	struct live_config cfg = { .core = { .ops = ops, .ncpu = 1 },
				   .pin = pin,
				   .client = { .backlog = backlog,
					       .run = run_nothing,
					       .gone = gone,
					       .arg = &left } };
	struct endless *x = make_tasks(n);
	struct timespec pause = { .tv_nsec = 500000000 };
	struct cr_verdict v;
	struct live *l;
	uint64_t jobs;
	cr_ns begin, end;

	atomic_store(&draining, false);
	if (!x || live_open(&l, &cfg, NULL, NULL))
		return -1;
	for (unsigned i = 0; i < n; i++) {
		struct live_task *t = &x[i].task;

		if (live_add(l, t, &v) || !live_task_wake(t))
			return -1;
		live_release(l, &t, 1);
	}
	begin = clock_now();
	jobs = jobs_of(l);
	(void)nanosleep(&pause, NULL);
	jobs = jobs_of(l) - jobs;
	end = clock_now();
	atomic_store(&draining, true);
	for (unsigned i = 0; i < n; i++)
		live_remove(l, &x[i].task);
	live_close(l);
	free(x);
	return jobs ? (double)(end - begin) / (double)jobs : -1;
}

static void report(bool json, const char *path, const char *name, unsigned n,
		   double ns)
{
	static bool more;

	if (json)
		(void)printf("%s{\"path\":\"%s\",\"scheduler\":\"%s\","
			     "\"tasks\":%u,\"ns\":%.1f}",
			     more ? ",\n " : "[", path, name, n, ns);
	else
		(void)printf("%-5s %-10s %8u tasks %9.1f ns\n", path, name, n,
			     ns);
	more = true;
	(void)fflush(stdout);
}

static void measure(const struct cr_sched_ops *ops, unsigned most, bool json,
		    const unsigned *pin)
{
	for (unsigned n = 10; n <= most; n *= 10)
		report(json, "core", ops->name, n, core_cost(ops, n));
	for (unsigned n = 10; n <= most && n <= 1000; n *= 10)
		report(json, "live", ops->name, n, live_cost(ops, n, pin));
}

struct choice {
	const char *only; /* scheduler; NULL: all */
	unsigned most, cpu;
	bool json, pinned;
};

/* False: not understood. */
static bool parse(struct choice *c, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (strcmp(argv[i], "--json") == 0) {
			c->json = true;
			continue;
		}
		if (!value)
			return false;
		if (strcmp(argv[i], "--scheduler") == 0)
			c->only = value;
		else if (strcmp(argv[i], "--max-tasks") == 0)
			c->most = (unsigned)strtoul(value, NULL, 10);
		else if (strcmp(argv[i], "--pin") == 0)
			c->cpu = (unsigned)strtoul(value, NULL, 10);
		else
			return false;
		c->pinned |= strcmp(argv[i], "--pin") == 0;
		i++;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct choice c = { .most = 100000 };

	if (!parse(&c, argc, argv)) {
		(void)fprintf(stderr, "usage: decision [--json] [--scheduler "
				      "NAME] [--max-tasks N] [--pin CPU]\n");
		return 2;
	}
	for (unsigned i = 0; cr_schedulers[i]; i++)
		if (!c.only || strcmp(c.only, cr_schedulers[i]->name) == 0)
			measure(cr_schedulers[i], c.most, c.json,
				c.pinned ? &c.cpu : NULL);
	if (c.json)
		(void)printf("]\n");
	return 0;
}
