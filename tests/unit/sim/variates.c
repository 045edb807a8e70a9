/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fixed-point functions against exact values, and random variates by their
 * moments: for the fixed seed these are numbers, not chances; the bounds are
 * five standard errors of the true moments.
 */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "cmocka_cr.h"
#include "sim/cost_model.h"

#define N 1000000
#define ONE ((double)FIXED_ONE)

static void exp_and_log_are_right_to_the_last_digits(void **state)
{
	for (int i = -20000; i <= 20000; i += 7) {
		int64_t x = (int64_t)((double)i / 1000 * ONE);
		double got = (double)fixed_exp(x), want = exp((double)x / ONE);

		assert_true(fabs(got - want * ONE) <= 2 + want * 4);
	}
	for (double y = 1; y < 1e6; y *= 1.37) {
		int64_t q = (int64_t)(y * ONE);
		double got = (double)fixed_log(q);

		assert_true(fabs(got - log((double)q / ONE) * ONE) <= 4);
	}
	assert_int_equal(fixed_log(FIXED_ONE), 0);
	assert_int_equal(fixed_exp(0), FIXED_ONE);
	assert_int_equal(fixed_exp(-100 * FIXED_ONE), 0);
	assert_int_equal(fixed_exp(100 * FIXED_ONE), INT64_C(1) << 62);
}

static void roots_are_rounded_down(void **state)
{
	static const int64_t y[] = {
		0, 1, FIXED_ONE, 2 * FIXED_ONE, 9 * FIXED_ONE, INT64_MAX
	};

	assert_int_equal(fixed_sqrt(9 * FIXED_ONE), 3 * FIXED_ONE);
	for (size_t i = 0; i < sizeof(y) / sizeof(y[0]); i++) {
		unsigned __int128 r = (unsigned __int128)fixed_sqrt(y[i]);
		unsigned __int128 left = (unsigned __int128)y[i] << 32;

		assert_true(r * r <= left && (r + 1) * (r + 1) > left);
	}
}

/* @k-th moment of @x, which is one of N. */
struct moments {
	double of[5];
};

static void add(struct moments *m, double x)
{
	double power = 1;

	for (int k = 0; k < 5; k++, power *= x)
		m->of[k] += power / N;
}

static void near(double got, double want, double deviation)
{
	if (fabs(got - want) > 5 * deviation / sqrt(N))
		fail_msg("is %.6f, wants %.6f", got, want);
}

static void exponential_variates_have_their_moments(void **state)
{
	struct random r = { 1 };
	struct moments m = { { 0 } };
	uint64_t above3 = 0;

	for (int i = 0; i < N; i++) {
		double x = (double)random_exponential_q32(&r) / ONE;

		add(&m, x);
		above3 += x > 3;
	}
	/* E x^k = k!; var x^k = (2k)! - (k!)^2 */
	near(m.of[1], 1, 1);
	near(m.of[2], 2, sqrt(24 - 4));
	near(m.of[3], 6, sqrt(720 - 36));
	near((double)above3 / N, exp(-3), sqrt(exp(-3)));
}

static void normal_variates_have_their_moments(void **state)
{
	struct random r = { 1 };
	struct moments m = { { 0 } };
	uint64_t within = 0, beyond = 0;

	for (int i = 0; i < N; i++) {
		double x = (double)random_normal_q32(&r) / ONE;

		add(&m, x);
		within += fabs(x) < 1;
		beyond += fabs(x) > 3;
	}
	near(m.of[1], 0, 1);
	near(m.of[2], 1, sqrt(2));
	near(m.of[3], 0, sqrt(15));
	near(m.of[4], 3, sqrt(105 - 9));
	near((double)within / N, 0.6826894921, 0.4655);
	near((double)beyond / N, 0.0026997961, 0.0519);
}

/* A change of the generator changes every plan and trace: it must be meant. */
static void the_first_variates_of_seed_1_stay_what_they_are(void **state)
{
	struct random e = { 1 }, n = { 1 };

	assert_int_equal(random_exponential(&e, CR_MS), 566561);
	assert_int_equal(random_normal_q32(&n), INT64_C(2433363436));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exp_and_log_are_right_to_the_last_digits),
		cmocka_unit_test(roots_are_rounded_down),
		cmocka_unit_test(exponential_variates_have_their_moments),
		cmocka_unit_test(normal_variates_have_their_moments),
		cmocka_unit_test(
			the_first_variates_of_seed_1_stay_what_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
