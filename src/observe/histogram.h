/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of times: 64 linear steps per power of two, so that every value
 * up to 68.7 s (2^36 ns) is kept with a relative error below 1 % (values below
 * 128 ns exactly); longer ones count as the longest, but the maximum is exact.
 *
 * One writer, any readers: counters are relaxed atomics, no lock, no
 * read-modify-write. A reader may see a value half counted (in the buckets
 * but not yet in the sum), never a torn number.
 */
#ifndef OBSERVE_HISTOGRAM_H
#define OBSERVE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

#include "cr/time.h"

enum {
	HISTOGRAM_STEP_BITS = 6,
	HISTOGRAM_TOP_BIT = 35, /**< of the longest value kept apart */
	HISTOGRAM_BUCKETS = (HISTOGRAM_TOP_BIT - HISTOGRAM_STEP_BITS + 2)
			    << HISTOGRAM_STEP_BITS
};

/** 15.5 KiB. Zero is empty. */
struct histogram {
	atomic_ullong bucket[HISTOGRAM_BUCKETS];
	atomic_ullong sum;   /**< ns, of all values */
	_Atomic int64_t max; /**< ns; 0 when empty  */
};

/** Count @value (ns; negative counts as 0). The writer only. */
void histogram_add(struct histogram *h, cr_ns value);

/** Add @from to @to. The writer of @to only; @from may be written meanwhile. */
void histogram_merge(struct histogram *to, const struct histogram *from);

/** Number of values. Any thread. */
uint64_t histogram_count(const struct histogram *h);

/** Sum of the values, ns. Any thread. */
uint64_t histogram_sum(const struct histogram *h);

/** Number of values up to @bound (ns), within 1 % of it: those of the bucket
 * that @bound falls into count when its middle does. Any thread. */
uint64_t histogram_below(const struct histogram *h, cr_ns bound);

/** Mean in ns, 0 when empty. Any thread. */
cr_ns histogram_mean(const struct histogram *h);

/** Largest value in ns, exact, 0 when empty. Any thread. */
cr_ns histogram_max(const struct histogram *h);

/**
 * The value of rank ceil(@ppm / 1e6 * count) (nearest rank; 500000: median,
 * 1000000: the maximum), within 1 %; 0 when empty. Any thread.
 */
cr_ns histogram_quantile(const struct histogram *h, uint32_t ppm);

/** The figures of one for reports; times in ns, 0 when it is empty. */
struct histogram_summary {
	uint64_t count;
	cr_ns mean, p50, p90, p99, p999, max;
};

/** Any thread. */
void histogram_summarise(const struct histogram *h,
			 struct histogram_summary *out);

/* --- of one call --- */

/*
 * A histogram of times for one call: 256 bytes. Four linear steps for each
 * power of two from 65.5 us to 3.2 s, so quantiles there are within 12.5 %;
 * shorter times count as 33 us, longer ones as 3.2 s. One writer, any readers.
 */

enum { SKETCH_BUCKETS = 64, SKETCH_UNIT_BITS = 14 };

/** Zero is empty. */
struct sketch {
	_Atomic uint32_t count[SKETCH_BUCKETS];
};

/** The bucket of @t (ns; negative counts as 0). */
static inline unsigned sketch_bucket(cr_ns t)
{
	uint64_t v = t > 0 ? (uint64_t)t >> SKETCH_UNIT_BITS : 0;
	unsigned octave, bucket;

	if (v < 4)
		return 0;
	octave = 61u - (unsigned)__builtin_clzll(v);
	bucket = 1 + 4 * octave + (unsigned)(v >> octave & 3);
	return bucket < SKETCH_BUCKETS ? bucket : SKETCH_BUCKETS - 1;
}

/** Count @t. The writer only. */
static inline void sketch_add(struct sketch *s, cr_ns t)
{
	_Atomic uint32_t *count = &s->count[sketch_bucket(t)];

	atomic_store_explicit(
		count, atomic_load_explicit(count, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

/** Number of times. Any thread. */
uint64_t sketch_total(const struct sketch *s);

/** The time of rank ceil(@ppm / 1e6 * total): the middle of its bucket, ns; 0
 * if @s is empty. Any thread. */
cr_ns sketch_quantile(const struct sketch *s, uint32_t ppm);

#endif
