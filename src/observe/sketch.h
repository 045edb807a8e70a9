/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram of times for one call: 256 bytes. Four linear steps for each
 * power of two from 65.5 us to 3.2 s, so quantiles there are within 12.5 %;
 * shorter times count as 33 us, longer ones as 3.2 s.
 *
 * One writer, any readers: counters are relaxed atomics.
 */
#ifndef OBSERVE_SKETCH_H
#define OBSERVE_SKETCH_H

#include <stdatomic.h>
#include <stdint.h>

#include "cr/time.h"

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
