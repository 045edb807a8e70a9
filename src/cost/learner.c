/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments and a histogram of weighted frames. A frame weighs 1 when it comes;
 * what is remembered is scaled down now and then, so that it never weighs much
 * more than LEARNER_MEMORY frames.
 *
 * Moments are those of West 1979 (weighted incremental): sums of squares would
 * cancel where the deviation is small beside the mean.
 */
#include "cost/learner.h"

/* The rank of the 99th percentile as a share. */
#define P99 0.99
/* Sums of floats: a rank is met when it is missed by less than this share. */
#define ROUNDING 1e-6

enum { STEPS = 1 << LEARNER_STEP_BITS };

static unsigned cost_bucket_of(uint32_t ns)
{
	unsigned top;

	if (ns < 1u << LEARNER_LOW_BIT)
		return ns >> (LEARNER_LOW_BIT - LEARNER_STEP_BITS);
	top = 31u - (unsigned)__builtin_clz(ns);
	return (top - LEARNER_LOW_BIT) * STEPS +
	       (ns >> (top - LEARNER_STEP_BITS));
}

/* The middle of bucket @i. */
static cr_ns bucket_middle(unsigned i)
{
	unsigned octave = i / STEPS; /* 0: the linear part */
	unsigned shift =
		LEARNER_LOW_BIT - LEARNER_STEP_BITS + (octave ? octave - 1 : 0);
	cr_ns low = (cr_ns)(i % STEPS + (octave ? STEPS : 0)) << shift;

	return low + ((cr_ns)1 << shift) / 2;
}

/* An eighth above the limit: scaling for every frame would cost more than the
 * frame's own place in the histogram. */
static void fade_counts(struct cost_learner *l)
{
	const double memory = LEARNER_MEMORY;
	double keep = memory / l->total;

	if (l->total < memory + memory / 8.0)
		return;
	for (unsigned i = 0; i < LEARNER_BUCKETS; i++)
		l->weight[i] *= (float)keep;
	l->total = memory;
	l->deviation *= keep;
}

void cost_learner_add(struct cost_learner *l, const uint32_t *ns, unsigned n)
{
	double off;

	for (unsigned i = 0; i < n; i++) {
		fade_counts(l);
		off = ns[i] - l->mean;
		l->total += 1;
		l->mean += off / l->total;
		l->deviation += off * (ns[i] - l->mean);
		l->weight[cost_bucket_of(ns[i])] += 1;
	}
	l->frames += n;
}

static cr_ns p99_of(const struct cost_learner *l)
{
	double all = 0, seen = 0;
	unsigned i = 0;

	for (unsigned k = 0; k < LEARNER_BUCKETS; k++)
		all += l->weight[k];
	for (; i < LEARNER_BUCKETS - 1; i++) {
		seen += l->weight[i];
		if (seen >= all * (P99 - ROUNDING))
			break;
	}
	return bucket_middle(i);
}

bool cost_learner_cost(const struct cost_learner *l, struct cr_cost *cost)
{
	if (l->frames < LEARNER_ENOUGH)
		return false;
	*cost = (struct cr_cost){
		.mean = (cr_ns)l->mean,
		.p99 = p99_of(l),
		.variance_ns2 = (uint64_t)(l->deviation / l->total),
	};
	/* a few very long frames may lift the mean above it */
	if (cost->p99 < cost->mean)
		cost->p99 = cost->mean;
	return true;
}
