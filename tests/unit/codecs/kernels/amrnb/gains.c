/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gain quantisers of AMR-NB choose the library's gains, whatever they are
 * told of the subframe.
 */
#include <stdbool.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 60000,
	SUBFRAME = 40,
	TERMS = 5,
	MODES = 7, /* without 12.2 kbit/s */
};

/* Of the library: where its tables are. */
void get_const_tbls(const void *tables[]);

/* All that Qua_gain gets, and what it sets. */
struct joint {
	int16_t code_exp, code_frac, frac[TERMS], exp[TERMS], limit;
	int16_t pitch_gain, code_gain, energy[2], index;
	int32_t overflow;
};

static void qua_gain(struct joint *j, int mode, const void *tables, bool ours)
{
	j->index = (ours ? Qua_gain : stock_Qua_gain)(
		mode, j->code_exp, j->code_frac, j->frac, j->exp, j->limit,
		&j->pitch_gain, &j->code_gain, &j->energy[0], &j->energy[1],
		tables, &j->overflow);
}

/* Fractions: normalised, with signs as the encoder has them; all positive, so
 * that sums clip; or any. */
static void fill_fractions(uint64_t *seed, int16_t frac[TERMS])
{
	unsigned kind = test_below(seed, 8);

	fill_int16(seed, frac, TERMS);
	for (int i = 0; i < TERMS && kind < 6; i++) {
		frac[i] = (int16_t)((frac[i] & 0x3fff) | 0x4000);
		if (i % 2 && kind < 4)
			frac[i] = (int16_t)-frac[i];
	}
}

/* Exponents close to one another, or any. */
static void fill_exponents(uint64_t *seed, int16_t exp[TERMS])
{
	int around = (int)test_below(seed, 30) - 20;
	unsigned spread = 1 + test_below(seed, 10);

	if (!test_below(seed, 50)) {
		fill_int16(seed, exp, TERMS);
		return;
	}
	for (int i = 0; i < TERMS; i++)
		exp[i] = (int16_t)(around + (int)test_below(seed, spread));
}

/* A predicted code gain: its exponent and fraction. */
static void fill_gain(uint64_t *seed, int16_t *exp, int16_t *frac)
{
	*exp = (int16_t)((int)test_below(seed, 24) - 8);
	*frac = any_int16(seed) & INT16_MAX;
	if (!test_below(seed, 50))
		*exp = (int16_t)(any_int16(seed) >> test_below(seed, 15));
}

/* A limit of the pitch gain: none, the usual one, any. */
static int16_t some_limit(uint64_t *seed)
{
	static const int16_t usual[] = { INT16_MAX, 13926, 15565 };
	unsigned which = test_below(seed, 8);

	return which < 3 ? usual[which] : any_int16(seed) & INT16_MAX;
}

static void joint_gains_are_the_librarys(void **state)
{
	const void *tables[64]; /* room for what the library keeps there */
	uint64_t seed = test_seed();

	memset(tables, 0, sizeof(tables));
	get_const_tbls(tables);
	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int mode = (int)test_below(&seed, MODES);
		struct joint ours, stock;

		memset(&ours, 0, sizeof(ours));
		fill_fractions(&seed, ours.frac);
		fill_exponents(&seed, ours.exp);
		fill_gain(&seed, &ours.code_exp, &ours.code_frac);
		ours.limit = some_limit(&seed);
		stock = ours;
		qua_gain(&ours, mode, tables, true);
		STOCK(qua_gain(&stock, mode, tables, false));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

/* All that MR475_gain_quant gets, and what it sets. */
struct two {
	int16_t predictor[8], code[SUBFRAME];
	int16_t code_exp[2], code_frac[2], frac[2][TERMS], exp[2][TERMS];
	int16_t target_exp[2], target_frac[2], limit;
	int16_t pitch_gain[2], code_gain[2], index;
	int32_t overflow;
};

static void mr475_gain_quant(struct two *t, bool ours)
{
	t->index = (ours ? MR475_gain_quant : stock_MR475_gain_quant)(
		t->predictor, t->code_exp[0], t->code_frac[0], t->exp[0],
		t->frac[0], t->target_exp[0], t->target_frac[0], t->code,
		t->code_exp[1], t->code_frac[1], t->exp[1], t->frac[1],
		t->target_exp[1], t->target_frac[1], t->limit,
		&t->pitch_gain[0], &t->code_gain[0], &t->pitch_gain[1],
		&t->code_gain[1], &t->overflow);
}

static void fill_two(uint64_t *seed, struct two *t)
{
	memset(t, 0, sizeof(*t));
	fill_int16(seed, t->predictor, 8);
	fill_int16(seed, t->code, SUBFRAME);
	for (int i = 0; i < 2; i++) {
		fill_fractions(seed, t->frac[i]);
		fill_exponents(seed, t->exp[i]);
		fill_gain(seed, &t->code_exp[i], &t->code_frac[i]);
		t->target_exp[i] = (int16_t)test_below(seed, 8);
		t->target_frac[i] = any_int16(seed);
	}
	/* one four times, or half, the other */
	if (test_below(seed, 2)) {
		t->target_exp[1] = t->target_exp[0];
		t->target_frac[1] = t->target_frac[0] / 4;
	} else if (test_below(seed, 2)) {
		t->target_exp[1] = t->target_exp[0];
		t->target_frac[0] = t->target_frac[1] / 2;
	}
	t->limit = some_limit(seed);
}

static void gains_of_two_subframes_are_the_librarys(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		struct two ours, stock;

		fill_two(&seed, &ours);
		stock = ours;
		mr475_gain_quant(&ours, true);
		STOCK(mr475_gain_quant(&stock, false));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

/* All that calc_filt_energies gets, and what it sets. */
struct energies {
	int16_t x[SUBFRAME], x2[SUBFRAME], y1[SUBFRAME], y2[SUBFRAME], pitch[4];
	int16_t frac[TERMS], exp[TERMS], gain_frac, gain_exp;
	int32_t overflow;
};

static void filt_energies(struct energies *e, int mode, bool ours)
{
	(ours ? calc_filt_energies : stock_calc_filt_energies)(
		mode, e->x, e->x2, e->y1, e->y2, e->pitch, e->frac, e->exp,
		&e->gain_frac, &e->gain_exp, &e->overflow);
}

static void energies_are_the_librarys(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(4 * TRIES); i++) {
		int mode = (int)test_below(&seed, MODES);
		struct energies ours, stock;

		memset(&ours, 0x55, sizeof(ours));
		fill_int16(&seed, ours.x, SUBFRAME);
		fill_int16(&seed, ours.x2, SUBFRAME);
		fill_int16(&seed, ours.y1, SUBFRAME);
		fill_int16(&seed, ours.y2, SUBFRAME);
		fill_int16(&seed, ours.pitch, 4);
		ours.overflow = 0;
		stock = ours;
		filt_energies(&ours, mode, true);
		STOCK(filt_energies(&stock, mode, false));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joint_gains_are_the_librarys),
		cmocka_unit_test(gains_of_two_subframes_are_the_librarys),
		cmocka_unit_test(energies_are_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
