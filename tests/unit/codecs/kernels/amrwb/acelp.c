/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACELP_4t64_fx gives what the library's gives in every mode, and ACELP_2t64_fx
 * in its one: for signals as an encoder has them, and for any, most of which
 * are left to the library.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 30000,
	SUBFRAME = 64,
	INDICES = 8,
};

/* Bits of the codebook and of the frame. */
static const int16_t modes[][2] = {
	{ 20, 177 }, { 36, 253 }, { 44, 285 }, { 52, 317 },
	{ 64, 365 }, { 72, 397 }, { 88, 461 }, { 88, 477 },
};

struct codebook {
	int16_t dn[SUBFRAME], cn[SUBFRAME], h[SUBFRAME];
	int16_t code[SUBFRAME], y[SUBFRAME], index[INDICES];
};

static void compare(const struct codebook *in, const int16_t mode[2])
{
	struct codebook ours = *in, stock = *in;

	ACELP_4t64_fx(ours.dn, ours.cn, ours.h, ours.code, ours.y, mode[0],
		      mode[1], ours.index);
	STOCK(stock_ACELP_4t64_fx(stock.dn, stock.cn, stock.h, stock.code,
				  stock.y, mode[0], mode[1], stock.index));
	assert_memory_equal(&ours, &stock, sizeof(ours));
}

/* A decaying response from about 1 on, and signals of about 12 bits, with
 * silence and equal samples among them. */
static void fill_likely(uint64_t *seed, struct codebook *c)
{
	int ring = 2048 + (int)test_below(seed, 8192);

	for (int i = 0; i < SUBFRAME; i++) {
		c->h[i] = (int16_t)(any_int16(seed) * (i ? ring : 0) / 65536);
		ring -= ring / 16;
	}
	c->h[0] = (int16_t)(3000 + test_below(seed, 3000));
	fill_int16(seed, c->dn, SUBFRAME);
	fill_int16(seed, c->cn, SUBFRAME);
	for (int i = 0; i < SUBFRAME; i++)
		c->dn[i] /= 8;
}

static void it_is_the_librarys_for_likely_signals(void **state)
{
	static struct codebook in;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill_likely(&seed, &in);
		compare(&in, modes[i % 8]);
	}
}

/* With 20 bits and a search without a result the library's would depend on
 * what is on its stack. */
static void so_it_is_for_any(void **state)
{
	static struct codebook in;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 5); i++) {
		fill_int16(&seed, in.dn, SUBFRAME);
		fill_int16(&seed, in.cn, SUBFRAME);
		fill_int16(&seed, in.h, SUBFRAME);
		compare(&in, modes[1 + i % 7]);
	}
}

static void compare_two(const struct codebook *in)
{
	struct codebook ours = *in, stock = *in;

	ACELP_2t64_fx(ours.dn, ours.cn, ours.h, ours.code, ours.y, ours.index);
	STOCK(stock_ACELP_2t64_fx(stock.dn, stock.cn, stock.h, stock.code,
				  stock.y, stock.index));
	assert_memory_equal(&ours, &stock, sizeof(ours));
}

static void two_pulses_are_the_librarys(void **state)
{
	static struct codebook in;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		if (i % 4) {
			fill_likely(&seed, &in);
		} else {
			fill_int16(&seed, in.dn, SUBFRAME);
			fill_int16(&seed, in.cn, SUBFRAME);
			fill_int16(&seed, in.h, SUBFRAME);
		}
		compare_two(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_librarys_for_likely_signals),
		cmocka_unit_test(so_it_is_for_any),
		cmocka_unit_test(two_pulses_are_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
