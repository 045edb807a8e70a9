/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Q_plsf_5 and Q_plsf_3 of AMR-NB choose the codewords that the library's
 * choose, for pairs like those of speech, from frame to frame, and for any
 * numbers, whose distances overflow.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 60000, /* of 960 to 1536 distances each */
	ORDER = 10,
	NMODES = 9,
	INDICES = 5,
};

/* Line spectral pairs, quantised ones, and the memory of the quantiser. */
struct coder {
	int16_t past[ORDER];
	int16_t lsp[2][ORDER];
	int16_t quantized[2][ORDER];
	int16_t indices[INDICES];
	int16_t noise_index;
	int32_t overflow;
};

/* Falling from 1 to -1, as the pairs of a filter do. */
static void falling(uint64_t *seed, int16_t lsp[ORDER])
{
	int32_t left = 65535, v = INT16_MAX;

	for (int i = 0; i < ORDER; i++) {
		int32_t step =
			1 + (int32_t)test_below(seed, (unsigned)(left / 4) + 1);

		v -= step;
		left -= step;
		lsp[i] = (int16_t)v;
	}
}

static void fill(uint64_t *seed, struct coder *c, unsigned i)
{
	if (i % 2) {
		falling(seed, c->lsp[0]);
		falling(seed, c->lsp[1]);
	} else {
		fill_int16(seed, c->lsp[0], ORDER);
		fill_int16(seed, c->lsp[1], ORDER);
	}
	if (i % 8 == 0)
		fill_int16(seed, c->past, ORDER);
}

static void two_sets_are_the_librarys(void **state)
{
	uint64_t seed = test_seed();
	struct coder ours = { 0 }, stock;

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill(&seed, &ours, i);
		stock = ours;
		Q_plsf_5(ours.past, ours.lsp[0], ours.lsp[1], ours.quantized[0],
			 ours.quantized[1], ours.indices, &ours.overflow);
		STOCK(stock_Q_plsf_5(stock.past, stock.lsp[0], stock.lsp[1],
				     stock.quantized[0], stock.quantized[1],
				     stock.indices, &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

static void so_is_one_set_of_any_mode(void **state)
{
	uint64_t seed = test_seed();
	struct coder ours = { 0 }, stock;

	for (unsigned i = 0; i < TEST_TRIES(TRIES * 2); i++) {
		int mode = (int)test_below(&seed, NMODES);

		fill(&seed, &ours, i);
		stock = ours;
		Q_plsf_3(ours.past, mode, ours.lsp[0], ours.quantized[0],
			 ours.indices, &ours.noise_index, &ours.overflow);
		STOCK(stock_Q_plsf_3(stock.past, mode, stock.lsp[0],
				     stock.quantized[0], stock.indices,
				     &stock.noise_index, &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_sets_are_the_librarys),
		cmocka_unit_test(so_is_one_set_of_any_mode),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
