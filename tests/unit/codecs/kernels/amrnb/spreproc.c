/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subframePreProc and Weight_Ai of AMR-NB leave in all their buffers what the
 * library's leave there: for filters like those of speech, and for any, where
 * sums clip.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 400000, /* of six filters each */
	ORDER = 10,
	SUBFRAME = 40,
	NMODES = 9,
};

/* The buffers, where they lie in the library's state. */
struct buffers {
	int16_t gamma[3][ORDER];
	int16_t a[ORDER + 1], aq[ORDER + 1];
	int16_t speech[ORDER + SUBFRAME];
	int16_t mem_err[ORDER], error[SUBFRAME];
	int16_t mem_w0[ORDER];
	int16_t ai_zero[ORDER + 1], zero[SUBFRAME];
	int16_t exc[SUBFRAME], h1[SUBFRAME], xn[SUBFRAME], res2[SUBFRAME];
};

typedef void (*prepare)(int mode, const int16_t gamma1[],
			const int16_t gamma1_high[], const int16_t gamma2[],
			int16_t a[], int16_t aq[], int16_t speech[],
			int16_t mem_err[], int16_t mem_w0[], int16_t zero[],
			int16_t ai_zero[], int16_t exc[], int16_t h1[],
			int16_t xn[], int16_t res2[], int16_t error[]);

static void run(prepare function, int mode, struct buffers *b)
{
	function(mode, b->gamma[0], b->gamma[1], b->gamma[2], b->a, b->aq,
		 b->speech + ORDER, b->mem_err, b->mem_w0, b->zero, b->ai_zero,
		 b->exc, b->h1, b->xn, b->res2, b->error);
}

static void fill(uint64_t *seed, struct buffers *b)
{
	memset(b, 0, sizeof(*b));
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < ORDER; j++)
			b->gamma[i][j] = any_int16(seed) & INT16_MAX;
	fill_int16(seed, b->a, ORDER + 1);
	fill_int16(seed, b->aq, ORDER + 1);
	if (test_below(seed, 2))
		b->a[0] = b->aq[0] = 4096;
	fill_int16(seed, b->speech, ORDER + SUBFRAME);
	fill_int16(seed, b->mem_err, ORDER);
	fill_int16(seed, b->mem_w0, ORDER);
}

static void all_buffers_are_the_librarys(void **state)
{
	static struct buffers ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int mode = (int)(i % NMODES);

		fill(&seed, &ours);
		stock = ours;
		run(subframePreProc, mode, &ours);
		STOCK(run(stock_subframePreProc, mode, &stock));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

/* Sums about the one that the library's limiter takes differently: the last
 * sample, 32767, gives 4096 times itself, the residual the rest. */
static void so_they_are_where_its_limiter_is_odd(void **state)
{
	static struct buffers ours, stock;

	for (int16_t off = -4; off <= 4; off++) {
		memset(&ours, 0, sizeof(ours));
		ours.a[0] = 4096;
		ours.aq[0] = 1;
		ours.aq[1] = -4096;
		ours.mem_err[ORDER - 1] = INT16_MAX;
		/* res2(0) is its negative */
		ours.speech[ORDER - 1] = (int16_t)(-2047 - off);
		stock = ours;
		run(subframePreProc, 7, &ours);
		STOCK(run(stock_subframePreProc, 7, &stock));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

static void weighted_filters(void **state)
{
	int16_t a[ORDER + 1], gamma[ORDER];
	int16_t ours[ORDER + 1], stock[ORDER + 1];
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill_int16(&seed, a, ORDER + 1);
		fill_int16(&seed, gamma, ORDER);
		Weight_Ai(a, gamma, ours);
		STOCK(stock_Weight_Ai(a, gamma, stock));
		assert_memory_equal(ours, stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_buffers_are_the_librarys),
		cmocka_unit_test(so_they_are_where_its_limiter_is_odd),
		cmocka_unit_test(weighted_filters),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
