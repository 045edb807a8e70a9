/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a decision costs in a live worker: wall-clock ns per empty job, which is
 * lock, clock, stop + enqueue + pick, and claim, per policy and number of
 * waiting tasks. For the decision alone see decision.c.
 *
 *     live_decision [--scheduler NAME] [--pin CPU]
 *
 * Not a test: it asserts nothing about time.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "endless.h"
#include "schedulers/registry.h"

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

static double ns_per_job(struct live *l)
{
	struct timespec pause = { .tv_nsec = 500000000 };
	cr_ns begin = clock_now();
	uint64_t jobs = jobs_of(l);

	(void)nanosleep(&pause, NULL);
	jobs = jobs_of(l) - jobs;
	return jobs ? (double)(clock_now() - begin) / (double)jobs : -1;
}

/* ns per empty job on one live worker, or -1. */
static double measure(const struct cr_sched_ops *ops, unsigned n,
		      const unsigned *pin)
{
	struct endless_clock clock = { .now = CR_NEVER };
	atomic_uint left = 0;
	struct live_config cfg = {
		.core = { .ops = ops, .ncpu = 1 },
		.pin = pin,
		.client = { .backlog = { endless_peek, endless_claim, NULL },
			    .run = run_nothing,
			    .gone = gone,
			    .arg = &left },
	};
	struct endless *x = endless_tasks(n, &clock);
	struct cr_verdict v;
	struct live *l;
	double ns;

	if (!x || live_open(&l, &cfg, NULL, NULL))
		return -1;
	for (unsigned i = 0; i < n; i++) {
		struct live_task *t = &x[i].task;

		if (live_add(l, t, &v) || !live_task_wake(t))
			return -1;
		live_release(l, &t, 1);
	}
	ns = ns_per_job(l);
	atomic_store(&clock.dry, true);
	for (unsigned i = 0; i < n; i++)
		live_remove(l, &x[i].task);
	live_close(l);
	free(x);
	return ns;
}

int main(int argc, char **argv)
{
	const char *only = NULL;
	unsigned cpu = 0;
	bool pinned = false;

	for (int i = 1; i + 1 < argc; i += 2)
		if (strcmp(argv[i], "--scheduler") == 0) {
			only = argv[i + 1];
		} else if (strcmp(argv[i], "--pin") == 0) {
			cpu = (unsigned)strtoul(argv[i + 1], NULL, 10);
			pinned = true;
		}
	for (unsigned i = 0; cr_schedulers[i]; i++)
		for (unsigned n = 10; n <= 1000; n *= 10)
			if (!only || strcmp(only, cr_schedulers[i]->name) == 0)
				(void)printf("%-10s %5u tasks %9.1f ns\n",
					     cr_schedulers[i]->name, n,
					     measure(cr_schedulers[i], n,
						     pinned ? &cpu : NULL));
	return 0;
}
