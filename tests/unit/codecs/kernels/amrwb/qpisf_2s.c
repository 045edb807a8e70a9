/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qpisf_2s_46b and Qpisf_2s_36b give what the library's give: near rows of the
 * tables, where distances are equal, and whatever the numbers.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 100000,
	ORDER = 16,
	LOW = 9,
	HIGH = ORDER - LOW,
	INDICES = 7,
};

struct frame {
	int16_t isf[ORDER], past[ORDER], index[INDICES];
};

typedef void quantiser(int16_t isf[], int16_t isf_q[], int16_t past[],
		       int16_t index[], int16_t survivors);

static void compare(const struct frame *in, quantiser *ours_of,
		    quantiser *stock_of, int16_t survivors)
{
	struct frame ours = *in, stock = *in;

	ours_of(ours.isf, ours.isf, ours.past, ours.index, survivors);
	STOCK(stock_of(stock.isf, stock.isf, stock.past, stock.index,
		       survivors));
	assert_memory_equal(&ours, &stock, sizeof(ours));
}

/* The mean and a row of each first table, and some more, often even less. */
static void fill_likely(uint64_t *seed, struct frame *f)
{
	const int16_t *low = stock_dico1_isf + LOW * test_below(seed, 256);
	const int16_t *high = stock_dico2_isf + HIGH * test_below(seed, 256);
	int shift = (int)test_below(seed, 8) + 4;

	memset(f->index, 0, sizeof(f->index));
	fill_int16(seed, f->past, ORDER);
	for (int i = 0; i < ORDER; i++) {
		int v = stock_mean_isf[i] + (i < LOW ? low[i] : high[i - LOW]);

		f->past[i] = (int16_t)(f->past[i] >> shift);
		f->isf[i] = (int16_t)(v + (any_int16(seed) >> shift));
	}
}

static void they_are_the_librarys_for_likely_frames(void **state)
{
	uint64_t seed = test_seed();
	struct frame in;

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill_likely(&seed, &in);
		if (i % 2)
			compare(&in, Qpisf_2s_46b, stock_Qpisf_2s_46b, 4);
		else
			compare(&in, Qpisf_2s_36b, stock_Qpisf_2s_36b, 4);
	}
}

static void so_they_are_for_any(void **state)
{
	uint64_t seed = test_seed();
	struct frame in = { 0 };

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 4); i++) {
		int16_t survivors = (int16_t)(test_below(&seed, 4) + 1);

		fill_int16(&seed, in.isf, ORDER);
		fill_int16(&seed, in.past, ORDER);
		if (i % 2)
			compare(&in, Qpisf_2s_46b, stock_Qpisf_2s_46b,
				survivors);
		else
			compare(&in, Qpisf_2s_36b, stock_Qpisf_2s_36b,
				survivors);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_the_librarys_for_likely_frames),
		cmocka_unit_test(so_they_are_for_any),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
