/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lsp_Az of AMR-NB gives the filter that the library's gives, for line spectral
 * pairs that fall, as they should, and for any numbers.
 */
#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 1000000,
	ORDER = 10,
};

static void the_filter_is_the_librarys(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t lsp[ORDER], ours[ORDER + 1], stock[ORDER + 1];
		int32_t overflow[2] = { 0 };

		fill_int16(&seed, lsp, ORDER);
		if (i % 2)
			for (int k = 0; k < ORDER; k++)
				lsp[k] = (int16_t)(30000 - 6000 * k +
						   lsp[k] / 16);
		Lsp_Az(lsp, ours, &overflow[0]);
		STOCK(stock_Lsp_Az(lsp, stock, &overflow[1]));
		assert_memory_equal(ours, stock, sizeof(ours));
		assert_int_equal(overflow[0], overflow[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_filter_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
