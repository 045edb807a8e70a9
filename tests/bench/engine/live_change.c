/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What live_change() costs: wall-clock us per change of one of n tasks, none of
 * which has a frame; all workers wait as long. Medians over changes, per policy
 * and number of tasks.
 *
 *     live_change [--scheduler NAME]
 *
 * Not a test: it asserts nothing about time.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "endless.h"
#include "schedulers/registry.h"

enum { CHANGES = 1001 };

static void run_nothing(void *arg, struct live_task *t,
			const struct live_run *r)
{
	(void)arg, (void)t, (void)r;
}

static void gone(void *arg, struct live_task *t)
{
	(void)arg, (void)t;
}

static int by_value(const void *a, const void *b)
{
	cr_ns x = *(const cr_ns *)a, y = *(const cr_ns *)b;

	return (x > y) - (x < y);
}

/* Median ns of changes that go through all @n tasks, or -1: one was refused. */
static cr_ns time_changes(struct live *l, struct endless *x, unsigned n)
{
	cr_ns took[CHANGES];

	for (unsigned i = 0; i < CHANGES; i++) {
		struct live_task *t = &x[i % n].task;
		const struct core_terms to = {
			.cls = CR_SOFT,
			.rel_deadline = t->core.task.rel_deadline,
			.cost = t->core.task.cost,
			.weight = i % 2 ? 1024 : 2048,
		};
		struct cr_verdict v;
		cr_ns begin = clock_now();

		if (live_change(l, t, &to, 0, &v))
			return -1;
		took[i] = clock_now() - begin;
	}
	qsort(took, CHANGES, sizeof(took[0]), by_value);
	return took[CHANGES / 2];
}

static cr_ns measure(const struct cr_sched_ops *ops, unsigned n)
{
	struct endless_clock clock = { .now = CR_NEVER };
	struct live_config cfg = {
		.core = { .ops = ops, .ncpu = 1 },
		.client = { .backlog = { endless_peek, endless_claim, NULL },
			    .run = run_nothing,
			    .gone = gone },
	};
	struct endless *x = endless_tasks(n, &clock);
	struct cr_verdict v;
	struct live *l;
	cr_ns median;

	if (!x || live_open(&l, &cfg, NULL, NULL))
		return -1;
	for (unsigned i = 0; i < n; i++)
		if (live_add(l, &x[i].task, &v))
			return -1;
	median = time_changes(l, x, n);
	atomic_store(&clock.dry, true);
	for (unsigned i = 0; i < n; i++)
		live_remove(l, &x[i].task);
	live_close(l);
	free(x);
	return median;
}

int main(int argc, char **argv)
{
	const char *only = NULL;

	if (argc == 3 && strcmp(argv[1], "--scheduler") == 0)
		only = argv[2];
	for (unsigned i = 0; cr_schedulers[i]; i++)
		for (unsigned n = 10; n <= 1000; n *= 10)
			if (!only || strcmp(only, cr_schedulers[i]->name) == 0)
				(void)printf(
					"%-10s %5u tasks %9.1f us\n",
					cr_schedulers[i]->name, n,
					(double)measure(cr_schedulers[i], n) /
						1e3);
	return 0;
}
