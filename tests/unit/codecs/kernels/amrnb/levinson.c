/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Levinson of AMR-NB gives what the library's gives, from frame to frame: the
 * filters of signals, of those that can be predicted almost, unstable ones, and
 * what is no autocorrelation at all.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	FILTER = 11, /* numbers of a filter, and lags */
	RC = 4,
	N = 24, /* samples of a signal */
};

struct call {
	int16_t high[FILTER], low[FILTER];
	int16_t state[FILTER];
	int16_t a[FILTER];
	int16_t rc[RC];
	int16_t result;
	int32_t overflow;
};

/* The lag's number in halves, @scale times as large. */
static void put(struct call *c, int lag, int64_t r, double scale)
{
	int32_t v = (int32_t)((double)r * scale);

	c->high[lag] = (int16_t)(v >> 16);
	c->low[lag] = (int16_t)(v >> 1 & 0x7fff);
}

/* The autocorrelation of a few samples; noise of one part in 2^@bits. */
static void correlate(uint64_t *seed, struct call *c)
{
	unsigned bits = test_below(seed, 31);
	int16_t x[N];
	int64_t r[FILTER] = { 0 };
	int64_t top;

	fill_int16(seed, x, N);
	for (int lag = 0; lag < FILTER; lag++)
		for (int i = lag; i < N; i++)
			r[lag] += x[i] * x[i - lag];
	r[0] += 1 + (r[0] >> bits);
	top = (int64_t)0x40000000 + (test_random(seed) >> 34);
	for (int lag = 0; lag < FILTER; lag++)
		put(c, lag, r[lag], (double)top / (double)r[0]);
}

/* Decaying by a number close to 1: the first quotient is. */
static void decay(uint64_t *seed, struct call *c)
{
	double factor = 1 - (double)test_below(seed, 4096) / (1 << 20);
	int64_t top = (int64_t)0x40000000 + (test_random(seed) >> 34);
	double scale = test_below(seed, 2) ? 1 : -1;

	put(c, 0, top, 1);
	for (int lag = 1; lag < FILTER; lag++) {
		put(c, lag, top, scale * factor);
		scale *= scale < 0 ? -factor : factor;
	}
}

/* A comb with a reflection coefficient around the largest that is stable. */
static void comb(uint64_t *seed, struct call *c)
{
	int64_t top = (int64_t)0x40000000 + (test_random(seed) >> 34);
	int lag = 1 + (int)test_below(seed, FILTER - 1);
	double k = (32748 + (double)test_below(seed, 50) / 10) / 32768;

	memset(c->high, 0, sizeof(c->high));
	memset(c->low, 0, sizeof(c->low));
	put(c, 0, top, 1);
	put(c, lag, top, test_below(seed, 2) ? k : -k);
}

/* Anything, sometimes not what the encoder may give. */
static void anything(uint64_t *seed, struct call *c)
{
	bool valid = test_below(seed, 4);

	fill_int16(seed, c->high, FILTER);
	fill_int16(seed, c->low, FILTER);
	if (!valid)
		return;
	c->high[0] = (int16_t)(c->high[0] | 0x4000) & INT16_MAX;
	c->low[0] &= INT16_MAX;
}

static void fill(uint64_t *seed, struct call *c)
{
	unsigned kind = test_below(seed, 8);

	if (kind < 4)
		correlate(seed, c);
	else if (kind == 4)
		comb(seed, c);
	else if (kind == 5)
		decay(seed, c);
	else
		anything(seed, c);
	c->overflow = 0;
}

static void all_frames(void **state)
{
	static struct call ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill(&seed, &ours);
		if (i % 64 == 0)
			fill_int16(&seed, ours.state, FILTER);
		stock = ours;
		ours.result = Levinson(ours.state, ours.high, ours.low, ours.a,
				       ours.rc, &ours.overflow);
		stock.result = STOCK(stock_Levinson(stock.state, stock.high,
						    stock.low, stock.a,
						    stock.rc, &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_frames),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
