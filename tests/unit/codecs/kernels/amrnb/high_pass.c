/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pre_Process and Post_Process of AMR-NB give what the library's give, from
 * frame to frame, for signals that clip, and from any state.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 150000, /* of a frame each */
	FRAME = 160,
	STATE = 6, /* numbers of a filter's state */
};

struct filter {
	int16_t state[STATE];
	int16_t signal[FRAME];
	int32_t overflow;
};

/* The lower halves, the second and fourth number, are not negative. */
static void fill(uint64_t *seed, struct filter *f, unsigned i)
{
	fill_int16(seed, f->signal, FRAME);
	f->overflow = 0;
	if (i % 8)
		return;
	fill_int16(seed, f->state, STATE);
	f->state[1] &= INT16_MAX;
	f->state[3] &= INT16_MAX;
}

static void before_the_encoder(void **state)
{
	static struct filter ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t n = (int16_t)(i % 9 ? FRAME
					    : (int)test_below(&seed, FRAME));

		fill(&seed, &ours, i);
		stock = ours;
		Pre_Process(ours.state, ours.signal, n);
		STOCK(stock_Pre_Process(stock.state, stock.signal, n));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

static void after_the_decoder(void **state)
{
	static struct filter ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t n = (int16_t)(i % 9 ? FRAME
					    : (int)test_below(&seed, FRAME));

		fill(&seed, &ours, i);
		stock = ours;
		Post_Process(ours.state, ours.signal, n, &ours.overflow);
		STOCK(stock_Post_Process(stock.state, stock.signal, n,
					 &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_the_encoder),
		cmocka_unit_test(after_the_decoder),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
