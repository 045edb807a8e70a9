/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch_ol of AMR-NB finds the lag that the library's finds, and tells the
 * voice activity detector the same, for signals of all sizes: small ones and
 * large ones are scaled.
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
	N = 160,
	NMODES = 9,
	VAD_BYTES = 128, /* the detector's state */
};

struct input {
	int16_t signal[PAST + N];
	uint8_t vad[VAD_BYTES];
};

struct output {
	uint8_t vad[VAD_BYTES];
	int32_t overflow;
	int16_t lag;
};

/* Voices repeat themselves; with equal correlations, one lag has to win. */
static void fill(uint64_t *seed, struct input *in)
{
	unsigned lag = 1 + test_below(seed, PAST);

	fill_int16(seed, in->signal, PAST + N);
	fill_int16(seed, (int16_t *)(void *)in->vad, VAD_BYTES / 2);
	if (test_below(seed, 2))
		for (unsigned i = lag; i < PAST + N; i++)
			in->signal[i] = in->signal[i - lag];
	if (test_below(seed, 4) == 0)
		for (unsigned i = 0; i < PAST + N; i++)
			in->signal[i] /= 1024;
}

static void search(int ours, struct input *in, unsigned i, struct output *out)
{
	int mode = (int)(i % NMODES);
	int16_t lag_min = mode == 7 ? 18 : 20;
	int16_t n = i / 2 % 2 ? N : N / 2;
	int16_t half = (int16_t)(i / 4 % 2);
	int dtx = (int)(i / 8 % 2);

	memset(out, 0, sizeof(*out));
	memcpy(out->vad, in->vad, VAD_BYTES);
	out->lag = (ours ? Pitch_ol : stock_Pitch_ol)(
		out->vad, mode, in->signal + PAST, lag_min, PAST, n, half, dtx,
		&out->overflow);
}

static void the_lag_is_the_librarys(void **state)
{
	static struct input in;
	struct output ours, stock;
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill(&seed, &in);
		search(1, &in, i, &ours);
		STOCK(search(0, &in, i, &stock));
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
