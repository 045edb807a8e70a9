/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_ol_wgh of AMR-NB finds the lag that the library's finds, remembers the
 * same, and tells the voice activity detector the same, from one half of a
 * frame to the next, for signals of all sizes.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum {
	TRIES = 150000, /* of 124 lags each */
	PAST = 143,
	N = 80,
	LAG_MIN = 20,
	STATE = 3, /* numbers of the search's state */
	NOLD = 5,
	VAD = 64, /* numbers of the detector's */
};

struct search {
	int16_t state[STATE];
	int16_t vad[VAD];
	int16_t old_lags[NOLD];
	int16_t voiced[2];
	int16_t lag;
	int32_t overflow;
	int16_t signal[PAST + N];
};

/* Voices repeat themselves; with equal correlations, one lag has to win. */
static void fill(uint64_t *seed, struct search *s)
{
	unsigned lag = 1 + test_below(seed, PAST);

	fill_int16(seed, s->signal, PAST + N);
	s->overflow = 0;
	if (test_below(seed, 2))
		for (unsigned i = lag; i < PAST + N; i++)
			s->signal[i] = s->signal[i - lag];
	if (test_below(seed, 4) == 0)
		for (unsigned i = 0; i < PAST + N; i++)
			s->signal[i] /= 1024;
	if (test_below(seed, 16))
		return;
	s->state[0] = (int16_t)(LAG_MIN + test_below(seed, PAST - LAG_MIN));
	s->state[1] = any_int16(seed);
	s->state[2] = (int16_t)test_below(seed, 2);
	fill_int16(seed, s->vad, VAD);
	for (int i = 0; i < NOLD; i++)
		s->old_lags[i] = (int16_t)(LAG_MIN + test_below(seed, 124));
}

static void the_lag_is_the_librarys(void **state)
{
	struct search ours = { .state = { 40 } }, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t half = (int16_t)(i % 2);
		int dtx = (int)(i / 8 % 2);

		fill(&seed, &ours);
		stock = ours;
		ours.lag =
			Pitch_ol_wgh(ours.state, ours.vad, ours.signal + PAST,
				     LAG_MIN, PAST, N, ours.old_lags,
				     ours.voiced, half, dtx, &ours.overflow);
		stock.lag = STOCK(stock_Pitch_ol_wgh(
			stock.state, stock.vad, stock.signal + PAST, LAG_MIN,
			PAST, N, stock.old_lags, stock.voiced, half, dtx,
			&stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lag_is_the_librarys),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
