/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log-linear histogram. Bucket of a value v: v itself below 64; else with its
 * highest bit at e, the seven highest bits of v select the bucket, and the
 * bucket is 2^(e-6) wide: at most 1/64 of the value, the middle at most 1/128
 * away.
 */
#include "observe/histogram.h"

#include <stdbool.h>

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

static uint64_t load_counter(const atomic_uint_fast64_t *a)
{
	return atomic_load_explicit(a, memory_order_relaxed);
}

/* One writer: no read-modify-write needed. */
static void bump(atomic_uint_fast64_t *a, uint64_t n)
{
	atomic_store_explicit(a, load_counter(a) + n, memory_order_relaxed);
}

static void raise_max(struct histogram *h, int64_t value)
{
	if (value > histogram_max(h))
		atomic_store_explicit(&h->max, value, memory_order_relaxed);
}

void histogram_add(struct histogram *h, cr_ns value)
{
	uint64_t v = value < 0 ? 0 : (uint64_t)value;

	bump(&h->bucket[histogram_bucket(v)], 1);
	bump(&h->sum, v);
	raise_max(h, (int64_t)v);
}

void histogram_merge(struct histogram *to, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		bump(&to->bucket[i], load_counter(&from->bucket[i]));
	bump(&to->sum, load_counter(&from->sum));
	raise_max(to, histogram_max(from));
}

uint64_t histogram_count(const struct histogram *h)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		n += load_counter(&h->bucket[i]);
	return n;
}

uint64_t histogram_sum(const struct histogram *h)
{
	return load_counter(&h->sum);
}

uint64_t histogram_below(const struct histogram *h, cr_ns bound)
{
	uint64_t n = 0;

	for (unsigned i = 0;
	     i < HISTOGRAM_BUCKETS && value_of_bucket(i) <= bound; i++)
		n += load_counter(&h->bucket[i]);
	return n;
}

cr_ns histogram_mean(const struct histogram *h)
{
	uint64_t n = histogram_count(h);

	return n ? (cr_ns)(load_counter(&h->sum) / n) : 0;
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
		seen += load_counter(&h->bucket[i]);
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
