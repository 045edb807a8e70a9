/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing short pieces of work.
 */
#include "cost/timing.h"

#include <errno.h>
#include <stdlib.h>

enum { CLOCK_PAIRS = 501 };

static int by_time(const void *a, const void *b)
{
	const cr_ns *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median of what an empty interval seems to take. */
static cr_ns measure_clock(void)
{
	cr_ns took[CLOCK_PAIRS];

	for (unsigned i = 0; i < CLOCK_PAIRS; i++) {
		cr_ns start = clock_thread_cpu();

		took[i] = clock_thread_cpu() - start;
	}
	qsort(took, CLOCK_PAIRS, sizeof(*took), by_time);
	return took[CLOCK_PAIRS / 2];
}

int times_init(struct times *t)
{
	*t = (struct times){ .ns = malloc(TIMES_MAX * sizeof(*t->ns)) };
	if (!t->ns)
		return -ENOMEM;
	t->clock_cost = measure_clock();
	return 0;
}

void times_fini(struct times *t)
{
	free(t->ns);
	t->ns = NULL;
}

struct cr_cost times_cost(struct times *t)
{
	double sum = 0, squares = 0, mean;

	for (size_t i = 0; i < t->n; i++)
		sum += (double)t->ns[i];
	mean = sum / (double)t->n;
	for (size_t i = 0; i < t->n; i++) {
		double d = (double)t->ns[i] - mean;

		squares += d * d;
	}
	qsort(t->ns, t->n, sizeof(*t->ns), by_time);
	return (struct cr_cost){
		.mean = (cr_ns)(mean + 0.5),
		.p99 = t->ns[(t->n * 99 + 99) / 100 - 1],
		.variance_ns2 = (uint64_t)(squares / (double)t->n),
	};
}

void times_quantiles(const struct times *t, cr_ns *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = t->ns[(2 * i + 1) * t->n / (2 * n)];
}
