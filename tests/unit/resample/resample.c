/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every run gives exactly as many samples as its time has; tones keep their
 * frequency and level, arrive 16 samples of the lower rate later, and bring no
 * others with them.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cmocka_cr.h"
#include "resample/resample.h"

enum { SECOND = 48000, AMPLITUDE = 8000 };

static const double two_pi = 6.283185307179586;

struct tone {
	int16_t pcm[SECOND]; /* one second after conversion */
	unsigned n;
};

/* A second of a tone through a fresh converter, in frames of 20 ms. */
static struct tone convert(unsigned from, unsigned to, double hz)
{
	struct tone t = { .n = 0 };
	struct resample *r = NULL;

	assert_int_equal(resample_open(&r, from, to, NULL), 0);
	for (unsigned frame = 0; frame < 50; frame++) {
		unsigned n = from / 50;
		int16_t in[960];

		for (unsigned i = 0; i < n; i++)
			in[i] = (int16_t)lrint(
				AMPLITUDE *
				sin(two_pi * hz * (frame * n + i) / from));
		assert_int_equal(resample_run(r, in, n, t.pcm + t.n, SECOND),
				 to / 50);
		t.n += to / 50;
	}
	resample_close(r);
	return t;
}

/* The tone of @hz in @t, dB of the original; in the half second that starts
 * when the filter has filled. Its delay in seconds goes to *@delay. */
static double level(const struct tone *t, unsigned rate, double hz,
		    double *delay)
{
	unsigned start = rate / 10, n = rate / 2;
	double re = 0, im = 0;

	for (unsigned i = start; i < start + n; i++) {
		re += t->pcm[i] * sin(two_pi * hz * i / rate);
		im += t->pcm[i] * cos(two_pi * hz * i / rate);
	}
	if (delay)
		*delay = -atan2(im, re) / (two_pi * hz);
	return 20 * log10(2 * hypot(re, im) / n / AMPLITUDE + 1e-9);
}

static const struct {
	unsigned from, to;
} pairs[] = { { 8000, 16000 }, { 8000, 48000 }, { 16000, 48000 },
	      { 16000, 8000 }, { 48000, 8000 }, { 48000, 16000 } };

enum { NPAIRS = sizeof(pairs) / sizeof(pairs[0]) };

/* @rate as a multiple of the lower one of a pair. */
static unsigned times_of(unsigned pair, unsigned rate)
{
	unsigned from = pairs[pair].from, to = pairs[pair].to;

	return rate / (from < to ? from : to);
}

static void every_run_gives_exactly_its_time(void **state)
{
	static const int16_t in[6 * 640] = { 1000, -1000 };
	static const unsigned lengths[] = { 1, 40, 80, 160, 5, 320 };
	int16_t out[6 * 640];

	for (unsigned p = 0; p < NPAIRS; p++) {
		unsigned from = pairs[p].from, to = pairs[p].to;
		unsigned low = from < to ? from : to;
		struct resample *r = NULL;

		assert_int_equal(resample_open(&r, from, to, NULL), 0);
		for (unsigned i = 0; i < 600; i++) {
			unsigned n = lengths[i % 6];

			assert_int_equal(resample_run(r, in, n * (from / low),
						      out, 6 * 640),
					 n * (to / low));
		}
		resample_close(r);
	}
}

static void what_does_not_fit_is_not_begun(void **state)
{
	static const int16_t in[160];
	struct resample *r = NULL;
	int16_t out[320];

	assert_int_equal(resample_open(&r, 8000, 16000, NULL), 0);
	assert_int_equal(resample_run(r, in, 160, out, 319), 0);
	assert_int_equal(resample_run(r, in, 160, out, 320), 320);
	resample_close(r);
	resample_close(NULL);
}

/* Also such as have a part of a sample too much: that comes with the next. */
static void runs_may_have_any_length(void **state)
{
	static const int16_t in[5760] = { 1000, -1000 };
	static int16_t out[6 * 5760];

	for (unsigned p = 0; p < NPAIRS; p++) {
		uint64_t taken = 0, given = 0;
		struct resample *r = NULL;

		assert_int_equal(
			resample_open(&r, pairs[p].from, pairs[p].to, NULL), 0);
		for (unsigned n = 0; n <= 5760; n += 1 + n / 64) {
			taken += n;
			given += resample_run(r, in, n, out, 6 * 5760);
			assert_int_equal(given,
					 taken / times_of(p, pairs[p].from) *
						 times_of(p, pairs[p].to));
		}
		resample_close(r);
	}
}

static void tones_keep_frequency_and_level(void **state)
{
	static const double tones[] = { 200, 500, 1000, 2000, 2500 };

	for (unsigned i = 0; i < 5 * NPAIRS; i++) {
		unsigned from = pairs[i / 5].from, to = pairs[i / 5].to;
		double hz = tones[i % 5];
		struct tone t = convert(from, to, hz);

		assert_true(fabs(level(&t, to, hz, NULL)) < 0.2);
		/* The image that a bad filter would leave. */
		if (to > from)
			assert_true(level(&t, to, from - hz, NULL) < -55);
	}
}

static void the_edge_of_the_band_loses_what_is_promised(void **state)
{
	struct tone up = convert(8000, 16000, 3400);
	struct tone down = convert(16000, 8000, 3400);

	assert_true(level(&up, 16000, 3400, NULL) > -1.5);
	assert_true(level(&down, 8000, 3400, NULL) > -3);
}

static void what_is_above_the_band_does_not_fold_into_it(void **state)
{
	static const double tones[] = { 4400, 5000, 6000, 7000 };

	for (unsigned i = 0; i < 4; i++) {
		struct tone down = convert(16000, 8000, tones[i]);

		assert_true(level(&down, 8000, 8000 - tones[i], NULL) < -55);
	}
}

static void the_delay_is_sixteen_samples_of_the_lower_rate(void **state)
{
	for (unsigned p = 0; p < NPAIRS; p++) {
		unsigned from = pairs[p].from, to = pairs[p].to;
		struct tone t = convert(from, to, 100);
		double delay;

		(void)level(&t, to, 100, &delay);
		assert_true(fabs(delay - 16.0 / (from < to ? from : to)) <
			    0.0001);
	}
}

static void other_rates_are_refused(void **state)
{
	struct resample *r = NULL;
	struct cr_err e = { 0 };

	assert_int_equal(resample_open(&r, 8000, 8000, &e), -EINVAL);
	assert_int_equal(resample_open(&r, 8000, 44100, &e), -EINVAL);
	assert_non_null(strstr(e.text, "44100"));
	assert_null(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_run_gives_exactly_its_time),
		cmocka_unit_test(what_does_not_fit_is_not_begun),
		cmocka_unit_test(runs_may_have_any_length),
		cmocka_unit_test(tones_keep_frequency_and_level),
		cmocka_unit_test(the_edge_of_the_band_loses_what_is_promised),
		cmocka_unit_test(what_is_above_the_band_does_not_fold_into_it),
		cmocka_unit_test(
			the_delay_is_sixteen_samples_of_the_lower_rate),
		cmocka_unit_test(other_rates_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
