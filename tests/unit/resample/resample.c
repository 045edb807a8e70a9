/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every run gives exactly as many samples as its time has; tones keep their
 * frequency and level, arrive 2 ms later, and bring no others with them.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cmocka_cr.h"
#include "resample/resample.h"

enum { SECOND = 16000, AMPLITUDE = 8000 };

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
		int16_t in[320];

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

static void every_run_gives_exactly_its_time(void **state)
{
	static const int16_t in[640] = { 1000, -1000 };
	static const unsigned lengths[] = { 2, 80, 160, 320, 10, 640 };
	struct resample *up = NULL, *down = NULL;
	int16_t out[1280];

	(void)state;
	assert_int_equal(resample_open(&up, 8000, 16000, NULL), 0);
	assert_int_equal(resample_open(&down, 16000, 8000, NULL), 0);
	for (unsigned i = 0; i < 600; i++) {
		unsigned n = lengths[i % 6];

		assert_int_equal(resample_run(up, in, n, out, 1280), 2 * n);
		assert_int_equal(resample_run(down, in, n, out, 1280), n / 2);
	}
	resample_close(up);
	resample_close(down);
}

static void what_does_not_fit_is_not_begun(void **state)
{
	static const int16_t in[160];
	struct resample *r = NULL;
	int16_t out[320];

	(void)state;
	assert_int_equal(resample_open(&r, 8000, 16000, NULL), 0);
	assert_int_equal(resample_run(r, in, 160, out, 319), 0);
	assert_int_equal(resample_run(r, in, 160, out, 320), 320);
	resample_close(r);
	assert_int_equal(resample_open(&r, 16000, 8000, NULL), 0);
	assert_int_equal(resample_run(r, in, 159, out, 320), 0);
	assert_int_equal(resample_run(r, in, 0, out, 320), 0);
	resample_close(r);
	resample_close(NULL);
}

static void tones_keep_frequency_and_level(void **state)
{
	static const double tones[] = { 200, 500, 1000, 2000, 2500 };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct tone up = convert(8000, 16000, tones[i]);
		struct tone down = convert(16000, 8000, tones[i]);

		assert_true(fabs(level(&up, 16000, tones[i], NULL)) < 0.2);
		assert_true(fabs(level(&down, 8000, tones[i], NULL)) < 0.2);
		/* The image that a bad filter would leave. */
		assert_true(level(&up, 16000, 8000 - tones[i], NULL) < -55);
	}
}

static void the_edge_of_the_band_loses_what_is_promised(void **state)
{
	struct tone up = convert(8000, 16000, 3400);
	struct tone down = convert(16000, 8000, 3400);

	(void)state;
	assert_true(level(&up, 16000, 3400, NULL) > -1.5);
	assert_true(level(&down, 8000, 3400, NULL) > -3);
}

static void what_is_above_the_band_does_not_fold_into_it(void **state)
{
	static const double tones[] = { 4400, 5000, 6000, 7000 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct tone down = convert(16000, 8000, tones[i]);

		assert_true(level(&down, 8000, 8000 - tones[i], NULL) < -55);
	}
}

static void the_delay_is_two_milliseconds(void **state)
{
	struct tone up = convert(8000, 16000, 100);
	struct tone down = convert(16000, 8000, 100);
	double delay;

	(void)state;
	(void)level(&up, 16000, 100, &delay);
	assert_true(fabs(delay - 0.002) < 0.0001);
	(void)level(&down, 8000, 100, &delay);
	assert_true(fabs(delay - 0.002) < 0.0001);
}

static void other_rates_are_refused(void **state)
{
	struct resample *r = NULL;
	struct cr_err e = { 0 };

	(void)state;
	assert_int_equal(resample_open(&r, 8000, 8000, &e), -EINVAL);
	assert_int_equal(resample_open(&r, 8000, 48000, &e), -EINVAL);
	assert_non_null(strstr(e.text, "48000"));
	assert_null(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_run_gives_exactly_its_time),
		cmocka_unit_test(what_does_not_fit_is_not_begun),
		cmocka_unit_test(tones_keep_frequency_and_level),
		cmocka_unit_test(the_edge_of_the_band_loses_what_is_promised),
		cmocka_unit_test(what_is_above_the_band_does_not_fold_into_it),
		cmocka_unit_test(the_delay_is_two_milliseconds),
		cmocka_unit_test(other_rates_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
