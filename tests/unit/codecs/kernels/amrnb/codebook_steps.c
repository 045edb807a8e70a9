/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of the codebook searches of AMR-NB give what the library's give:
 * the correlations and the signs, whatever the numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/tracks.h"
#include "codecs/kernels/amrnb/tracks4.h"
#include "kernels_needed.h"
#include "unit/codecs/kernels/numbers.h"
#include "unit/codecs/kernels/stock.h"

enum { TRIES = 100000 };

/* What we do not replace, but do in another way. */
void cor_h(int16_t h[], int16_t sign[], int16_t rr[][SUBFRAME],
	   int32_t *overflow);
void set_sign(int16_t dn[], int16_t sign[], int16_t dn2[], int16_t n);

/* cor_h_x and cor_h_x2. */
static void correlate(int16_t h[SUBFRAME], int16_t x[SUBFRAME], int16_t sf)
{
	int16_t ours[SUBFRAME], stock[SUBFRAME];
	int32_t flag[2] = { 0, 0 };

	cor_h_x(h, x, ours, sf, &flag[0]);
	STOCK(stock_cor_h_x(h, x, stock, sf, &flag[1]));
	assert_memory_equal(ours, stock, sizeof(ours));
	assert_int_equal(flag[0], flag[1]);
	cor_h_x2(h, x, ours, sf, 4, 4, &flag[0]);
	STOCK(stock_cor_h_x2(h, x, stock, sf, 4, 4, &flag[1]));
	assert_memory_equal(ours, stock, sizeof(ours));
	assert_int_equal(flag[0], flag[1]);
}

static void the_target_is_correlated_as_by_the_library(void **state)
{
	uint64_t seed = test_seed();
	int16_t h[SUBFRAME] = { 16384, 16384 };
	int16_t x[SUBFRAME] = { INT16_MIN, INT16_MIN };

	/* a sum of INT32_MIN, whose magnitude does not fit */
	correlate(h, x, 1);
	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		fill_int16(&seed, h, SUBFRAME);
		fill_int16(&seed, x, SUBFRAME);
		correlate(h, x, (int16_t)test_below(&seed, 4));
	}
}

/* All that set_sign12k2 writes. */
struct signs {
	int16_t dn[SUBFRAME], sign[SUBFRAME], peak[TRACKS], turn[2 * TRACKS];
	int32_t overflow;
};

static void signs_and_peaks_are_the_librarys(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t tracks = (int16_t)(4 + test_below(&seed, 2));
		struct signs ours, stock;
		int16_t cn[SUBFRAME];

		memset(&ours, 0, sizeof(ours));
		fill_int16(&seed, ours.dn, SUBFRAME);
		fill_int16(&seed, cn, SUBFRAME);
		stock = ours;
		set_sign12k2(ours.dn, cn, ours.sign, ours.peak, tracks,
			     ours.turn, tracks, &ours.overflow);
		STOCK(stock_set_sign12k2(stock.dn, cn, stock.sign, stock.peak,
					 tracks, stock.turn, tracks,
					 &stock.overflow));
		assert_memory_equal(&ours, &stock, sizeof(ours));
	}
}

/* rr of position p with q must be the matrix's. */
static void assert_correlations(const struct tracks *by5,
				const struct tracks4 *by4,
				int16_t rr[SUBFRAME][SUBFRAME])
{
	for (int p = 0; p < SUBFRAME; p++) {
		assert_int_equal(by5->energy[p % 5][p / 5], rr[p][p]);
		assert_int_equal(of_position(&by4->energy, p), rr[p][p]);
		for (int q = 0; q < SUBFRAME; q++) {
			if (by5->rr[p][q % 5][q / 5] != rr[p][q] ||
			    of_position(&by4->rr[p], q) != rr[p][q])
				fail_msg("rr of %d, %d differs", p, q);
		}
	}
}

/* tracks_correlate() and tracks4_correlate() against cor_h. */
static void the_response_is_correlated_as_by_the_library(void **state)
{
	static const uint8_t all[TRACKS] = { 0x1f, 0x1f, 0x1f, 0x1f, 0x1f };
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 4); i++) {
		int16_t h[SUBFRAME], sign[SUBFRAME], rr[SUBFRAME][SUBFRAME];
		int32_t flag[3] = { 0, 0, 0 };
		struct tracks4 by4;
		struct tracks by5;

		fill_int16(&seed, h, SUBFRAME);
		for (int p = 0; p < SUBFRAME; p++)
			sign[p] = test_below(&seed, 2) ? 32767 : -32767;
		tracks_correlate(&by5, h, sign, all, &flag[0]);
		tracks4_correlate(&by4, h, sign, &flag[1]);
		STOCK(cor_h(h, sign, rr, &flag[2]));
		assert_int_equal(flag[0], flag[2]);
		assert_int_equal(flag[1], flag[2]);
		assert_correlations(&by5, &by4, rr);
	}
}

/* The sum over the @tracks of the largest |dn|. */
static int sum_of_peaks(const int16_t dn[SUBFRAME], int tracks)
{
	int sum = 0;

	for (int t = 0; t < tracks; t++) {
		int peak = 0;

		for (int p = t; p < SUBFRAME; p += tracks)
			if (abs(dn[p]) > peak)
				peak = abs(dn[p]);
		sum += peak;
	}
	return sum;
}

/* What set_sign leaves of @track: bit k is place k. */
static unsigned left_of(const int16_t dn2[SUBFRAME], int track)
{
	unsigned left = 0;

	for (int k = 0; k < PLACES; k++)
		left |= (unsigned)(dn2[track + TRACKS * k] >= 0) << k;
	return left;
}

/* tracks_set_target() and tracks_largest() against set_sign. */
static void the_largest_places_are_the_librarys(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned i = 0; i < TEST_TRIES(TRIES); i++) {
		int16_t dn[SUBFRAME], dn2[SUBFRAME];
		int16_t ours[SUBFRAME], stock[SUBFRAME];
		int n = (int)test_below(&seed, PLACES + 1);
		struct tracks tracks;
		bool fits;

		fill_int16(&seed, dn, SUBFRAME);
		if (i % 2)
			for (int p = 0; p < SUBFRAME; p++)
				dn[p] /= 8;
		fits = tracks_set_target(&tracks, dn, ours);
		STOCK(set_sign(dn, stock, dn2, (int16_t)n));
		assert_memory_equal(ours, stock, sizeof(ours));
		for (int p = 0; p < SUBFRAME; p++)
			assert_int_equal(tracks.dn[p % 5][p / 5], dn[p]);
		assert_int_equal(fits, sum_of_peaks(dn, 5) < INT16_MAX);
		for (int t = 0; fits && t < TRACKS; t++)
			assert_int_equal(tracks_largest(&tracks, t, n),
					 left_of(dn2, t));
	}
}

/* The searches with two pulses a track keep the signs in dn. */
static void sums_that_may_not_fit_are_refused(void **state)
{
	uint64_t seed = test_seed();
	int16_t dn[SUBFRAME];

	for (unsigned i = 0; i < TEST_TRIES(TRIES / 4); i++) {
		struct tracks4 by4;
		struct tracks by5;

		fill_int16(&seed, dn, SUBFRAME);
		for (int p = 0; i % 4 && p < SUBFRAME; p++)
			dn[p] /= 9;
		assert_int_equal(tracks_set_signed(&by5, dn),
				 2 * sum_of_peaks(dn, 5) < INT16_MAX);
		assert_int_equal(tracks4_set_target(&by4, dn),
				 2 * sum_of_peaks(dn, 4) < INT16_MAX);
		for (int p = 0; p < SUBFRAME; p++) {
			assert_int_equal(by5.dn[p % 5][p / 5], dn[p]);
			assert_int_equal(of_position(&by4.dn, p), dn[p]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_target_is_correlated_as_by_the_library),
		cmocka_unit_test(signs_and_peaks_are_the_librarys),
		cmocka_unit_test(the_response_is_correlated_as_by_the_library),
		cmocka_unit_test(the_largest_places_are_the_librarys),
		cmocka_unit_test(sums_that_may_not_fit_are_refused),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
