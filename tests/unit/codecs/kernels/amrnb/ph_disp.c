/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ph_disp of AMR-NB disperses what the library's does, as much, and gives the
 * same excitation, from subframe to subframe in all modes; and from any state.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 500000,
	SUBFRAME = 40,
	NMODES = 9,
	STATE = 9,	     /* numbers of the state */
	TABLES_BYTES = 1024, /* of the library's pointers to tables, or less */
};

/* Sets the pointers; of the library. */
void get_const_tbls(void *tables);

struct dispersion {
	int16_t state[STATE];
	int16_t x[SUBFRAME], code[SUBFRAME];
	int16_t code_gain, pitch_gain, pitch_factor, shift;
	int32_t overflow;
};

/* Innovations of any numbers, or of a few pulses; gains as they are sent. */
static void fill(uint64_t *seed, struct dispersion *d)
{
	fill_int16(seed, d->x, SUBFRAME);
	fill_int16(seed, d->code, SUBFRAME);
	if (test_below(seed, 2)) {
		memset(d->code, 0, sizeof(d->code));
		for (int i = 0; i < 4; i++)
			d->code[test_below(seed, SUBFRAME)] =
				test_below(seed, 2) ? 8191 : -8191;
	}
	d->code_gain = any_int16(seed) >> test_below(seed, 15);
	d->pitch_gain = (int16_t)test_below(seed, 19661);
	d->pitch_factor = d->pitch_gain;
	if (test_below(seed, 16) == 0)
		d->pitch_factor = any_int16(seed);
	d->shift = (int16_t)(1 + test_below(seed, 2));
	d->overflow = 0;
	if (test_below(seed, 64) == 0) {
		fill_int16(seed, d->state, STATE);
		d->shift = (int16_t)((int)test_below(seed, 12) - 1);
		d->pitch_factor = extreme_int16(seed);
	} else if (test_below(seed, 16) == 0) {
		d->state[7] = (int16_t)test_below(seed, 2); /* locked */
	} else if (d->state[5] < 0 || d->state[5] > 2) {
		memset(d->state, 0, sizeof(d->state));
	}
}

static void the_excitation_is_the_librarys(void **state)
{
	static void *tables[TABLES_BYTES / sizeof(void *)];
	struct dispersion ours = { 0 }, stock;
	uint64_t seed = test_seed();

	get_const_tbls(tables);
	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int mode = (int)(i / 8 % NMODES);

		fill(&seed, &ours);
		stock = ours;
		ph_disp(ours.state, mode, ours.x, ours.code_gain,
			ours.pitch_gain, ours.code, ours.pitch_factor,
			ours.shift, tables, &ours.overflow);
		STOCK(stock_ph_disp(stock.state, mode, stock.x, stock.code_gain,
				    stock.pitch_gain, stock.code,
				    stock.pitch_factor, stock.shift, tables,
				    &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_excitation_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
