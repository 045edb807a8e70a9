/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics from counts: what rounding may hide and what it may not.
 */
#include "cmocka_cr.h"
#include "run/run.h"

static struct histogram delay, jitter;

static struct run_counts counts(void)
{
	return (struct run_counts){ .delay = &delay, .jitter = &jitter };
}

static void each_share_has_its_metric(void **state)
{
	struct run_counts c = counts();

	c.lost = (struct run_share){ 1, 4 };
	c.late = (struct run_share){ 1, 5 };
	c.missed = (struct run_share){ 1, 8 };
	c.admitted = (struct run_share){ 1, 10 };
	assert_int_equal(run_metric(&c, METRIC_LOSS), 250000);
	assert_int_equal(run_metric(&c, METRIC_LATE), 200000);
	assert_int_equal(run_metric(&c, METRIC_MISSED), 125000);
	assert_int_equal(run_metric(&c, METRIC_ADMITTED), 100000);
}

static void one_lost_is_never_nothing(void **state)
{
	struct run_counts c = counts();

	c.lost = c.late = c.missed = (struct run_share){ 1, 1000000000 };
	assert_int_equal(run_metric(&c, METRIC_LOSS), 1);
	assert_int_equal(run_metric(&c, METRIC_LATE), 1);
	assert_int_equal(run_metric(&c, METRIC_MISSED), 1);
}

static void one_refused_is_never_all(void **state)
{
	struct run_counts c = counts();

	c.admitted = (struct run_share){ 99999999, 100000000 };
	assert_int_equal(run_metric(&c, METRIC_ADMITTED), 999999);
	c.admitted.part++;
	assert_int_equal(run_metric(&c, METRIC_ADMITTED), 1000000);
}

static void nothing_of_nothing_is_nothing(void **state)
{
	struct run_counts c = counts();

	for (unsigned m = 0; m <= METRIC_ADMITTED; m++)
		assert_int_equal(run_metric(&c, (enum campaign_metric)m), 0);
}

/* Histograms keep such short times exactly. */
static void times_are_of_their_rank(void **state)
{
	struct run_counts c = counts();

	for (cr_ns t = 1; t <= 100; t++) {
		histogram_add(&delay, t);
		histogram_add(&jitter, t + 7);
	}
	assert_int_equal(run_metric(&c, METRIC_MEAN_DELAY), 50);
	assert_int_equal(run_metric(&c, METRIC_P50_DELAY), 50);
	assert_int_equal(run_metric(&c, METRIC_P99_DELAY), 99);
	assert_int_equal(run_metric(&c, METRIC_P999_DELAY), 100);
	assert_int_equal(run_metric(&c, METRIC_P99_JITTER), 106);
	histogram_add(&delay, 101);
	assert_int_equal(run_metric(&c, METRIC_MAX_DELAY), 101);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_share_has_its_metric),
		cmocka_unit_test(one_lost_is_never_nothing),
		cmocka_unit_test(one_refused_is_never_all),
		cmocka_unit_test(nothing_of_nothing_is_nothing),
		cmocka_unit_test(times_are_of_their_rank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
