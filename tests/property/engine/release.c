/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release models on 1,000 random sequences each, against what they mean and
 * not against their recurrence: rate-based deadlines of bursts are those of
 * calls on time, and LBAP's logical arrivals are the least that keep the rate.
 */
#include "cmocka_cr.h"
#include "engine/release.h"
#include "seed.h"

enum { ROUNDS = 1000, JOBS = 200 };

static cr_ns between(uint64_t *seed, cr_ns least, cr_ns most)
{
	return least + (cr_ns)(test_random(seed) >> 1) % (most - least + 1);
}

static void start(struct release *r, struct release_cfg cfg)
{
	struct cr_err e = { "" };

	if (release_init(r, &cfg, &e))
		fail_msg("%s", e.text);
}

/* x jobs are due at the begin of every window of y, the first x at 0; each may
 * come any time before. Early or not, its deadline is the begin of its window
 * and d. */
static void bursts_get_the_deadlines_of_their_windows(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned x = 1 + test_below(&seed, RELEASE_MAX_X);
		cr_ns y = between(&seed, 1, CR_SEC), d = between(&seed, 1, y);
		struct release r;
		cr_ns at = 0;

		start(&r, (struct release_cfg){ .kind = RELEASE_RATE,
						.period = y,
						.rel_deadline = d,
						.x = x,
						.y = y });
		for (unsigned i = 0; i < JOBS; i++) {
			cr_ns window = i / x * y;

			at = between(&seed, at, window);
			assert_int_equal(release_arrival(&r, at).deadline,
					 window + d);
		}
	}
}

/* Not before any of the jobs that came before it, and a period for each of
 * those; and never later than that. */
static cr_ns logical(const cr_ns *arrival, unsigned i, cr_ns period)
{
	cr_ns least = arrival[i];

	for (unsigned k = 0; k < i; k++)
		least = cr_ns_max(least, arrival[k] + (i - k) * period);
	return least;
}

static void lbap_is_the_least_that_keeps_the_rate(void **state)
{
	uint64_t seed = test_seed();
	cr_ns arrival[JOBS];

	for (unsigned round = 0; round < ROUNDS; round++) {
		cr_ns period = between(&seed, 1, 1000), at = 0;
		unsigned burst = test_below(&seed, 8);
		uint64_t beyond = 0;
		struct release r;

		start(&r, (struct release_cfg){ .kind = RELEASE_LBAP,
						.period = period,
						.rel_deadline = period,
						.burst = burst });
		for (unsigned i = 0; i < JOBS; i++) {
			cr_ns want;

			at += between(&seed, 0, 2 * period);
			arrival[i] = at;
			want = logical(arrival, i, period);
			beyond += want - at > (cr_ns)burst * period;
			assert_int_equal(release_arrival(&r, at).eligible,
					 want);
		}
		assert_int_equal(r.violations, beyond);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bursts_get_the_deadlines_of_their_windows),
		cmocka_unit_test(lbap_is_the_least_that_keeps_the_rate),
	};

	return cmocka_run_group_tests_name("release", tests, NULL, NULL);
}
