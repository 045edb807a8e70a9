/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a call's histogram.
 */
#include "observe/sketch.h"

static uint32_t count_of(const struct sketch *s, unsigned i)
{
	return atomic_load_explicit(&s->count[i], memory_order_relaxed);
}

uint64_t sketch_total(const struct sketch *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < SKETCH_BUCKETS; i++)
		n += count_of(s, i);
	return n;
}

/* Where bucket @i begins, ns. */
static cr_ns bucket_begin(unsigned i)
{
	if (!i)
		return 0;
	return (cr_ns)(4 + (i - 1) % 4) << ((i - 1) / 4 + SKETCH_UNIT_BITS);
}

/* The last bucket has no end: what is in it is told as its begin. */
static cr_ns middle_of(unsigned i)
{
	return i + 1 < SKETCH_BUCKETS
		       ? (bucket_begin(i) + bucket_begin(i + 1)) / 2
		       : bucket_begin(i);
}

cr_ns sketch_quantile(const struct sketch *s, uint32_t ppm)
{
	uint64_t total = sketch_total(s);
	uint64_t rank = (total * ppm + 999999) / 1000000;
	uint64_t seen = 0;

	if (!total)
		return 0;
	for (unsigned i = 0; i < SKETCH_BUCKETS; i++) {
		seen += count_of(s, i);
		if (seen >= rank)
			return middle_of(i);
	}
	return middle_of(SKETCH_BUCKETS - 1);
}
