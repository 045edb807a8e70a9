/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residual capacity and the lines below it: right, tight, and never more than
 * there is.
 */
#include "left.h"

static const enum be_rule rules[] = { BE_TBS, BE_LINE, BE_TWO_LINE,
				      BE_TWO_LINE_APPROX, BE_EXACT };

/* Never above E; and below it by no more than rounding. */
static void the_exact_curve_is_the_residual_capacity(void **state)
{
	static struct world w;
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 300; round++) {
		struct be_server s;

		draw_world(&w, &seed);
		s = server_of(&w, BE_EXACT);
		for (cr_ns y = 1; y < 1000; y += 7) {
			cr_ns t = curve_inverse(&s.curve, y);

			if (t >= HORIZON) /* not summed up */
				break;
			assert_true(w.e[t] >= y * SCALE);
			assert_true(w.e[t - 1] < (y + ROUNDING) * SCALE);
		}
	}
}

static void every_line_is_below_the_residual_capacity(void **state)
{
	static struct world w;
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 300; round++) {
		draw_world(&w, &seed);
		for (unsigned i = 0; i < 4; i++) {
			struct be_server s = server_of(&w, rules[i]);

			for (cr_ns y = w.least; y < 1000; y += 3) {
				cr_ns t = curve_inverse(&s.curve, y);

				assert_true(t >= HORIZON ||
					    w.e[t] >= y * SCALE);
				assert_true(curve_at(&s.curve, t) >= y);
			}
		}
	}
}

static struct residual_sum *sum_of(struct residual *r, cr_ns deadline)
{
	for (unsigned i = 0; i < r->nsums; i++)
		if (r->sum[i].shape.deadline == deadline)
			return &r->sum[i];
	return NULL;
}

static void calls_of_one_shape_are_one_sum_and_leave_nothing(void **state)
{
	struct residual r = { .nsums = 0 };
	struct cr_task a = call_of(20, 20, 3), b = call_of(20, 20, 4);
	struct cr_task c = call_of(20, 10, 5);

	(void)residual_add(&r, &a);
	(void)residual_add(&r, &b);
	(void)residual_add(&r, &c);
	assert_int_equal(r.nsums, 2);
	assert_int_equal(sum_of(&r, 20)->cost, 7);
	residual_del(&r, &a, false);
	assert_int_equal(sum_of(&r, 20)->cost, 4);
	residual_del(&r, &b, false);
	assert_int_equal(r.nsums, 1);
	assert_int_equal(sum_of(&r, 10)->cost, 5);
	residual_del(&r, &c, false);
	assert_int_equal(r.nsums, 0);
}

/* Beside a table of shapes, which is full: a call of a late deadline, then one
 * of the earliest of all. */
static void the_rest_has_the_earliest_deadline_of_its_calls(void **state)
{
	struct residual r = { .nsums = 0 };
	struct curve e;

	for (unsigned i = 0; i < RESIDUAL_SHAPES; i++) {
		struct cr_task call = call_of(1000000, 100000 + i, 1);

		assert_false(residual_add(&r, &call));
	}
	for (cr_ns d = 50000; d > 0; d -= 49900) {
		struct cr_task call = call_of(1000000, d, 100);

		assert_true(residual_add(&r, &call));
	}
	/* what comes at 100 may be 100 of work, at 50000 another 100 */
	residual_curve(&r, 0, &e);
	assert_true(curve_inverse(&e, 1) >= 101);
}

/* Forty shapes: never more capacity than there is, and all of it comes back. */
static void shapes_beyond_the_table_only_take_capacity(void **state)
{
	enum { MANY = RESIDUAL_SHAPES + 8 };
	static struct cr_task call[MANY];
	static bool rest[MANY];
	struct residual r = { .nsums = 0 };
	unsigned others = 0;
	struct curve e;

	for (unsigned i = 0; i < MANY; i++) {
		call[i] = call_of(1000000, 1000 + 10 * i, 5 * (1 + i));
		rest[i] = residual_add(&r, &call[i]);
		others += rest[i];
	}
	assert_int_equal(others, 8);
	residual_curve(&r, 0, &e);
	for (cr_ns y = 1; y < 5000; y += 7) {
		cr_ns t = curve_inverse(&e, y), left = t;

		for (unsigned i = 0; i < MANY; i++)
			if (t >= call[i].rel_deadline)
				left -= call[i].cost.p99;
		assert_true(left >= y);
	}
	for (unsigned i = 0; i < MANY; i++)
		residual_del(&r, &call[i], rest[i]);
	assert_int_equal(r.nsums, 0);
	assert_int_equal(r.rest.cost, 0);
	assert_int_equal(r.rest.slope, 0);
	residual_curve(&r, 0, &e);
	assert_int_equal(curve_inverse(&e, 123456789), 123456789);
}

static void calls_that_need_everything_leave_nothing(void **state)
{
	static const cr_ns costs[] = { 10, 11 };

	for (unsigned c = 0; c < 2; c++)
		for (unsigned i = 0; i < 5; i++) {
			struct cr_task call = call_of(10, 10, costs[c]);
			struct be_server s = { .rule = rules[i] };
			struct residual r = { .nsums = 0 };

			(void)residual_add(&r, &call);
			be_server_curve(&s, &r, 0, 1);
			assert_int_equal(be_server_promise(&s, 5, 1000),
					 CR_NEVER);
			assert_false(s.busy);
			residual_del(&r, &call, false);
			be_server_curve(&s, &r, 0, 1);
			assert_int_equal(be_server_promise(&s, 5, 1), 6);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_exact_curve_is_the_residual_capacity),
		cmocka_unit_test(every_line_is_below_the_residual_capacity),
		cmocka_unit_test(
			calls_of_one_shape_are_one_sum_and_leave_nothing),
		cmocka_unit_test(
			the_rest_has_the_earliest_deadline_of_its_calls),
		cmocka_unit_test(shapes_beyond_the_table_only_take_capacity),
		cmocka_unit_test(calls_that_need_everything_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
