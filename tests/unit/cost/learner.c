/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Costs learned from known distributions: exact moments, percentiles within
 * 1/64, and how old frames are forgotten.
 */
#include "cmocka_cr.h"

#include <stdlib.h>

#include "cost/learner.h"

static struct cost_learner *fresh(void)
{
	struct cost_learner *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	return l;
}

static void add(struct cost_learner *l, unsigned n, uint32_t ns)
{
	while (n--)
		cost_learner_add(l, &ns, 1);
}

static struct cr_cost cost_of(const struct cost_learner *l)
{
	struct cr_cost c = { 0 };

	assert_true(cost_learner_cost(l, &c));
	return c;
}

static void expect_p99(const struct cost_learner *l, cr_ns want)
{
	cr_ns got = cost_of(l).p99;

	if (llabs(got - want) * 64 > want)
		fail_msg("p99 %lld, not %lld", (long long)got, (long long)want);
}

static void nothing_is_said_of_few_frames(void **state)
{
	struct cost_learner *l = fresh();
	struct cr_cost c = { 1, 2, 3 };

	add(l, LEARNER_ENOUGH - 1, 5000);
	assert_false(cost_learner_cost(l, &c));
	assert_int_equal(c.mean, 1);
	assert_int_equal(c.p99, 2);
	assert_int_equal(c.variance_ns2, 3);
	add(l, 1, 5000);
	c = cost_of(l);
	assert_int_equal(c.mean, 5000);
	assert_int_equal(c.variance_ns2, 0);
	expect_p99(l, 5000);
	free(l);
}

/* All frames alike: that is the mean and the percentile. */
static void every_size_has_its_step(void **state)
{
	for (uint64_t ns = 400; ns <= UINT32_MAX; ns += ns / 3) {
		struct cost_learner *l = fresh();

		add(l, LEARNER_ENOUGH, (uint32_t)ns);
		assert_int_equal(cost_of(l).mean, ns);
		expect_p99(l, (cr_ns)ns);
		free(l);
	}
}

static void the_shortest_and_the_longest_are_kept(void **state)
{
	struct cost_learner *l = fresh(), *m = fresh();

	add(l, LEARNER_ENOUGH, 0);
	assert_int_equal(cost_of(l).mean, 0);
	assert_in_range(cost_of(l).p99, 0, 8);
	add(m, LEARNER_ENOUGH, UINT32_MAX);
	expect_p99(m, UINT32_MAX);
	free(l);
	free(m);
}

/* 980 frames of 100 us and 20 of 400 us: mean 106 us, variance
 * .98 * 6^2 + .02 * 294^2 = 1764 us^2, and 2 % are above 100 us. */
static void two_values(void **state)
{
	struct cost_learner *l = fresh();
	struct cr_cost c;

	for (unsigned i = 0; i < 20; i++) {
		add(l, 49, 100000);
		add(l, 1, 400000);
	}
	c = cost_of(l);
	assert_int_equal(l->frames, 1000);
	assert_in_range(c.mean, 105999, 106001);
	assert_in_range(c.variance_ns2, 1763999000, 1764001000);
	expect_p99(l, 400000);
	free(l);
}

/* The nearest rank: of 1000 frames the 990th. */
static void the_rank_is_the_nearest(void **state)
{
	struct cost_learner *ten = fresh(), *eleven = fresh();

	add(ten, 990, 100000);
	add(ten, 10, 150000);
	expect_p99(ten, 100000);
	add(eleven, 989, 100000);
	add(eleven, 11, 150000);
	expect_p99(eleven, 150000);
	free(ten);
	free(eleven);
}

/* 1..1000 us once each, in any order: mean 500.5 us, variance
 * (1000^2 - 1) / 12 us^2, 99th percentile 990 us. */
static void an_even_spread(void **state)
{
	struct cost_learner *l = fresh();
	struct cr_cost c;

	for (uint32_t i = 0; i < 1000; i++)
		add(l, 1, (1 + i * 617 % 1000) * 1000);
	c = cost_of(l);
	assert_in_range(c.mean, 500499, 500501);
	assert_in_range(c.variance_ns2, 83333249000, 83333251000);
	expect_p99(l, 990000);
	free(l);
}

/* A small deviation beside a large mean does not cancel. */
static void a_narrow_spread_far_up(void **state)
{
	struct cost_learner *l = fresh();

	for (unsigned i = 0; i < 2000; i++) {
		add(l, 1, 4000000000u - 10);
		add(l, 1, 4000000000u + 10);
	}
	assert_in_range(cost_of(l).mean, 3999999999, 4000000001);
	assert_in_range(cost_of(l).variance_ns2, 99, 101);
	free(l);
}

/* Frames weigh e^-1 when LEARNER_MEMORY newer ones have come. */
static void old_frames_are_forgotten(void **state)
{
	struct cost_learner *l = fresh();

	add(l, 3 * LEARNER_MEMORY, 100000);
	add(l, LEARNER_MEMORY, 200000);
	/* 100 us weigh a third of all, give or take the eighth in which
	 * forgetting goes */
	assert_in_range(cost_of(l).mean, 160000, 167000);
	expect_p99(l, 200000);
	add(l, 6 * LEARNER_MEMORY, 200000);
	assert_in_range(cost_of(l).mean, 199700, 200000);
	assert_true(cost_of(l).variance_ns2 < UINT64_C(20000) * 20000);
	assert_int_equal(l->frames, 10 * LEARNER_MEMORY);
	free(l);
}

/* A codec gets cheaper: the percentile comes down when fewer than one frame in
 * a hundred is remembered from before, 4.6 memories later. */
static void the_percentile_comes_down_again(void **state)
{
	struct cost_learner *l = fresh();

	add(l, 2 * LEARNER_MEMORY, 200000);
	add(l, 4 * LEARNER_MEMORY, 100000);
	expect_p99(l, 200000);
	add(l, LEARNER_MEMORY + LEARNER_MEMORY / 2, 100000);
	expect_p99(l, 100000);
	free(l);
}

static void a_few_monsters_do_not_leave_p99_below_the_mean(void **state)
{
	struct cost_learner *l = fresh();
	struct cr_cost c;

	add(l, 999, 1000);
	add(l, 1, 4000000000u);
	c = cost_of(l);
	assert_in_range(c.mean, 4000000, 4001000);
	assert_int_equal(c.p99, c.mean);
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_said_of_few_frames),
		cmocka_unit_test(every_size_has_its_step),
		cmocka_unit_test(the_shortest_and_the_longest_are_kept),
		cmocka_unit_test(two_values),
		cmocka_unit_test(the_rank_is_the_nearest),
		cmocka_unit_test(an_even_spread),
		cmocka_unit_test(a_narrow_spread_far_up),
		cmocka_unit_test(old_frames_are_forgotten),
		cmocka_unit_test(the_percentile_comes_down_again),
		cmocka_unit_test(
			a_few_monsters_do_not_leave_p99_below_the_mean),
	};

	return cmocka_run_group_tests_name("learner", tests, NULL, NULL);
}
