/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-linear histogram. Bucket of a value v: v itself below 64; else with its
 * highest bit at e, the seven highest bits of v select the bucket, and the
 * bucket is 2^(e-6) wide: at most 1/64 of the value, the middle at most 1/128
 * away.
 */
#include "observe/histogram.h"

#include <stdbool.h>

#include "base/counter.h"

static unsigned histogram_bucket(uint64_t v)
{
	unsigned top, shift;

	if (v < 1u << HISTOGRAM_STEP_BITS)
		return (unsigned)v;
	top = 63u - (unsigned)__builtin_clzll(v);
	if (top > HISTOGRAM_TOP_BIT)
		return HISTOGRAM_BUCKETS - 1;
	shift = top - HISTOGRAM_STEP_BITS;
	return (shift << HISTOGRAM_STEP_BITS) + (unsigned)(v >> shift);
}

/* The middle of bucket @i. */
static int64_t value_of_bucket(unsigned i)
{
	unsigned shift;
	uint64_t low;

	if (i < 2u << HISTOGRAM_STEP_BITS)
		return (int64_t)i;
	shift = (i >> HISTOGRAM_STEP_BITS) - 1;
	low = (uint64_t)(i - (shift << HISTOGRAM_STEP_BITS)) << shift;
	return (int64_t)(low + (UINT64_C(1) << shift) / 2);
}

static void raise_max(struct histogram *h, int64_t value)
{
	if (value > histogram_max(h))
		atomic_store_explicit(&h->max, value, memory_order_relaxed);
}

void histogram_add(struct histogram *h, cr_ns value)
{
	uint64_t v = value < 0 ? 0 : (uint64_t)value;

	counter_add(&h->bucket[histogram_bucket(v)], 1);
	counter_add(&h->sum, v);
	raise_max(h, (int64_t)v);
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		counter_add(&to->bucket[i], counter_read(&from->bucket[i]));
	counter_add(&to->sum, counter_read(&from->sum));
	raise_max(to, histogram_max(from));
}

uint64_t histogram_count(const struct histogram *h)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += counter_read(&h->bucket[i]);
	return n;
}

uint64_t histogram_sum(const struct histogram *h)
{
	return counter_read(&h->sum);
}

uint64_t histogram_below(const struct histogram *h, cr_ns bound)
{
	uint64_t n = 0;

	for (unsigned i = 0;
	     i < HISTOGRAM_BUCKETS && value_of_bucket(i) <= bound; i++)
		n += counter_read(&h->bucket[i]);
	return n;
}

cr_ns histogram_mean(const struct histogram *h)
{
	uint64_t n = histogram_count(h);

	return n ? (cr_ns)(counter_read(&h->sum) / n) : 0;
}

cr_ns histogram_max(const struct histogram *h)
{
	return atomic_load_explicit(&h->max, memory_order_relaxed);
}

/* ceil(n * ppm / 1e6) without overflow. */
static uint64_t rank_of_share(uint64_t n, uint32_t ppm)
{
	const uint64_t million = 1000000;
	uint64_t rank =
		n / million * ppm + (n % million * ppm + million - 1) / million;

	return rank ? rank : 1;
}

cr_ns histogram_quantile(const struct histogram *h, uint32_t ppm)
{
	uint64_t n = histogram_count(h), rank = rank_of_share(n, ppm), seen = 0;

	if (!n || rank >= n)
		return histogram_max(h);
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += counter_read(&h->bucket[i]);
		/* The last bucket also holds what is longer than it. */
		if (seen >= rank && i < HISTOGRAM_BUCKETS - 1)
			return cr_ns_min(value_of_bucket(i), histogram_max(h));
	}
	return histogram_max(h);
}

void histogram_summarise(const struct histogram *h,
			 struct histogram_summary *out)
{
	*out = (struct histogram_summary){
		.count = histogram_count(h),
		.mean = histogram_mean(h),
		.p50 = histogram_quantile(h, 500000),
		.p90 = histogram_quantile(h, 900000),
		.p99 = histogram_quantile(h, 990000),
		.p999 = histogram_quantile(h, 999000),
		.max = histogram_max(h),
	};
}

/* --- of one call --- */

static uint32_t count_in_bucket(const struct sketch *s, unsigned i)
{
	return atomic_load_explicit(&s->count[i], memory_order_relaxed);
}

uint64_t sketch_total(const struct sketch *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < SKETCH_BUCKETS; i++)
		n += count_in_bucket(s, i);
	return n;
}

/* The beginning of bucket @i, ns. */
static cr_ns bucket_begin(unsigned i)
{
	if (!i)
		return 0;
	return (cr_ns)(4 + (i - 1) % 4) << ((i - 1) / 4 + SKETCH_UNIT_BITS);
}

/* The last bucket has no end: its values count as its begin. */
static cr_ns middle_of_bucket(unsigned i)
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
		seen += count_in_bucket(s, i);
		if (seen >= rank)
			return middle_of_bucket(i);
	}
	return middle_of_bucket(SKETCH_BUCKETS - 1);
}
