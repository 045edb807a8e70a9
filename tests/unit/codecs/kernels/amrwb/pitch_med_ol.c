/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_med_ol gives what the library's gives and leaves the encoder's state as
 * it does, whatever the numbers, the last lags and the length.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	PAST = 115,
	FRAME = 128,
	/* words of the state: all, and those that choose the weights */
	STATE = 1024,
	MEDIAN_LAG = 0x4e6 / 2,
	/* with which the library reads within its table of weights */
	MEDIAN_MIN = 15,
	MEDIAN_MAX = 116,
	VOICED = 0x4ec / 2,
};

struct input {
	int16_t speech[PAST + FRAME];
	int16_t state[STATE];
};

/* Voiced with a lag, or none, or unvoiced with any number. */
static void fill_weights(uint64_t *seed, int16_t state[STATE])
{
	unsigned lags = MEDIAN_MAX + 1 - MEDIAN_MIN;

	state[VOICED] = (int16_t)test_below(seed, 2);
	state[MEDIAN_LAG] = any_int16(seed);
	if (state[VOICED] && test_below(seed, 8) == 0)
		state[MEDIAN_LAG] = (int16_t)(-(int)test_below(seed, 100));
	else if (state[VOICED])
		state[MEDIAN_LAG] =
			(int16_t)(MEDIAN_MIN + test_below(seed, lags));
}

static void pitch_med_ol_is_the_librarys(void **state)
{
	static const int16_t used[] = { 64, 128, 64, 128, 16, 99, 64, 100 };
	static struct input ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 20); i++) {
		int16_t n = used[i % 8];

		fill_int16(&seed, ours.speech, PAST + FRAME);
		fill_int16(&seed, ours.state, STATE);
		fill_weights(&seed, ours.state);
		stock = ours;
		assert_int_equal(
			Pitch_med_ol(ours.speech + PAST, ours.state, n),
			STOCK(stock_Pitch_med_ol(stock.speech + PAST,
						 stock.state, n)));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pitch_med_ol_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
