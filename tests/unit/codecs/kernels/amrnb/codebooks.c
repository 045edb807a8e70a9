/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The codebook searches of AMR-NB choose the library's pulses, whatever target
 * and impulse response they get.
 */
#include <stdbool.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 40000,
	SUBFRAME = 40,
	LONGEST_INDEX = 10,
};

/* Tables of the library. */
extern const int16_t gray[8], startPos[16];

/* What a search gets, and all that it changes. */
struct call {
	int16_t x[SUBFRAME], cn[SUBFRAME];
	int16_t h[2 * SUBFRAME]; /* from the middle on, 0 before */
	int16_t subframe, lag, gain;
	int16_t code[SUBFRAME], y[SUBFRAME];
	int16_t index[LONGEST_INDEX], signs;
	int32_t overflow;
};

/* More or less the response of a filter: it begins with 1 and decays. */
static void fill_response(uint64_t *seed, int16_t h[SUBFRAME])
{
	unsigned shift = 1 + test_below(seed, 5);
	int decay = 10 + (int)test_below(seed, 90);

	for (int n = 0; n < SUBFRAME; n++) {
		int v = any_int16(seed) >> shift;

		h[n] = (int16_t)(v * decay / (decay + n * n / 4));
	}
	h[0] = 4096;
}

static void fill(uint64_t *seed, struct call *c)
{
	memset(c, 0, sizeof(*c));
	fill_int16(seed, c->x, SUBFRAME);
	fill_int16(seed, c->cn, SUBFRAME);
	if (test_below(seed, 8))
		fill_response(seed, c->h + SUBFRAME);
	else
		fill_int16(seed, c->h + SUBFRAME, SUBFRAME);
	c->subframe = (int16_t)test_below(seed, 4);
	c->lag = (int16_t)(17 + test_below(seed, 60));
	c->gain = (int16_t)test_below(seed, 13018);
	if (!test_below(seed, 100))
		c->gain = extreme_int16(seed);
	memset(c->code, 0x55, sizeof(c->code));
	memset(c->y, 0x55, sizeof(c->y));
	memset(c->index, 0x55, sizeof(c->index));
}

/* One search, ours or the library's. */
typedef void search_fn(struct call *c, bool ours);

static void search_2i40_9bits(struct call *c, bool ours)
{
	int16_t *h = c->h + SUBFRAME;

	c->index[0] = (ours ? code_2i40_9bits : stock_code_2i40_9bits)(
		c->subframe, c->x, h, c->lag, c->gain, c->code, c->y, &c->signs,
		startPos, &c->overflow);
}

static void search_2i40_11bits(struct call *c, bool ours)
{
	int16_t *h = c->h + SUBFRAME;

	c->index[0] = (ours ? code_2i40_11bits : stock_code_2i40_11bits)(
		c->x, h, c->lag, c->gain, c->code, c->y, &c->signs,
		&c->overflow);
}

static void search_3i40_14bits(struct call *c, bool ours)
{
	int16_t *h = c->h + SUBFRAME;

	c->index[0] = (ours ? code_3i40_14bits : stock_code_3i40_14bits)(
		c->x, h, c->lag, c->gain, c->code, c->y, &c->signs,
		&c->overflow);
}

static void search_4i40_17bits(struct call *c, bool ours)
{
	int16_t *h = c->h + SUBFRAME;

	c->index[0] = (ours ? code_4i40_17bits : stock_code_4i40_17bits)(
		c->x, h, c->lag, c->gain, c->code, c->y, &c->signs, gray,
		&c->overflow);
}

static void search_10i40_35bits(struct call *c, bool ours)
{
	int16_t *h = c->h + SUBFRAME;

	(ours ? code_10i40_35bits : stock_code_10i40_35bits)(
		c->x, c->cn, h, c->code, c->y, c->index, gray, &c->overflow);
}

static void search_8i40_31bits(struct call *c, bool ours)
{
	int16_t *h = c->h + SUBFRAME;

	(ours ? code_8i40_31bits : stock_code_8i40_31bits)(
		c->x, c->cn, h, c->code, c->y, c->index, &c->overflow);
}

static void same(search_fn *search)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		struct call ours, stock;

		fill(&seed, &ours);
		stock = ours;
		search(&ours, true);
		STOCK(search(&stock, false));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

static void two_pulses_9_bits(void **state)
{
	same(search_2i40_9bits);
}

static void two_pulses_11_bits(void **state)
{
	same(search_2i40_11bits);
}

static void three_pulses(void **state)
{
	same(search_3i40_14bits);
}

static void four_pulses(void **state)
{
	same(search_4i40_17bits);
}

static void eight_pulses(void **state)
{
	same(search_8i40_31bits);
}

static void ten_pulses(void **state)
{
	same(search_10i40_35bits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_pulses_9_bits),
		cmocka_unit_test(two_pulses_11_bits),
		cmocka_unit_test(three_pulses),
		cmocka_unit_test(four_pulses),
		cmocka_unit_test(eight_pulses),
		cmocka_unit_test(ten_pulses),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
