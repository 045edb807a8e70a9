/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pfair arithmetic against its definitions: windows (figures 4.6 and 4.8 of the
 * thesis), group deadlines, PF's comparison, and the sums of weights.
 */
#include "cmocka_cr.h"
#include "cr/sched.h"
#include "schedulers/pfair_order.h"
#include "schedulers/pfair_share.h"

/* --- windows --- */

static void expect_window(struct pfair_weight w, const struct pfair_chain *c,
			  int64_t first, int64_t last)
{
	assert_int_equal(c->base + pfair_begin(w, c->subtask), first);
	assert_int_equal(c->base + pfair_end(w, c->subtask) - 1, last);
}

/* Figure 4.6, and b of (4.8): 1 where windows overlap. */
static void first_windows_of_two_thirds(void **state)
{
	static const int64_t want[][3] = {
		{ 0, 1, 1 }, { 1, 2, 0 }, { 3, 4, 1 }, { 4, 5, 0 }
	};
	struct pfair_weight w = { 2, 3 };
	struct pfair_chain c = { 0, 1 };

	for (unsigned i = 0; i < 4; i++) {
		expect_window(w, &c, want[i][0], want[i][1]);
		assert_int_equal(pfair_overlap(w, c.subtask) != 0, want[i][2]);
		pfair_advance(&c, w, 1);
	}
}

/* Figure 4.8: two slots late with the fourth; the fifth and the sixth come
 * early, and keep their distance all the same. */
static void windows_move_right_with_a_late_subtask(void **state)
{
	static const int64_t want[][3] = { /* eligible, first, last */
					   { 0, 0, 1 }, { 1, 1, 2 },
					   { 3, 3, 4 }, { 6, 6, 7 },
					   { 6, 8, 9 }, { 7, 9, 10 }
	};
	struct pfair_weight w = { 2, 3 };
	struct pfair_chain c = { 0, 1 };

	for (unsigned i = 0; i < 6; i++) {
		pfair_delay(&c, w, want[i][0]);
		expect_window(w, &c, want[i][1], want[i][2]);
		pfair_advance(&c, w, 1);
	}
}

static void a_pattern_that_is_over_is_not_resumed(void **state)
{
	struct pfair_weight w = { 3, 10 };
	struct pfair_chain c = { 20, 2 };

	pfair_release(&c, w, 29); /* not over: goes on, late */
	expect_window(w, &c, 29, 32);
	pfair_release(&c, w, 35);
	expect_window(w, &c, 35, 38);
	pfair_release(&c, w, 42);
	expect_window(w, &c, 42, 45);
	assert_int_equal(c.subtask, 1);
	pfair_advance(&c, w, 7);
	assert_int_equal(c.subtask, 2);
	assert_int_equal(c.base, 42 + 20);
}

static void chains_do_not_overflow(void **state)
{
	struct pfair_weight w = { 1, PFAIR_MAX_PERIOD };
	struct pfair_chain c = { INT64_C(1) << 59, 1 };

	pfair_advance(&c, w, INT64_MAX - 1);
	assert_int_equal(c.base, PFAIR_LAST_SLOT);
	pfair_advance(&c, w, 1);
	assert_int_equal(c.base, PFAIR_LAST_SLOT);
}

/* The earliest t >= end(i) with t = end(k), b(k) = 0, or t + 1 = end(k) and
 * window k three slots long, k >= i; -1: not in this k. */
static int64_t group_at(struct pfair_weight w, int64_t i, int64_t k)
{
	int64_t end = pfair_end(w, k);

	if (end - pfair_begin(w, k) == 3 && end - 1 >= pfair_end(w, i))
		return end - 1;
	return pfair_overlap(w, k) == 0 ? end : -1;
}

static void group_deadlines_are_those_of_the_definition(void **state)
{
	bool bit;

	for (int64_t p = 2; p <= 40; p++)
		for (int64_t e = 1; e < p; e++)
			for (int64_t i = 1; i <= e; i++) {
				struct pfair_weight w = { e, p };
				int64_t want = -1;

				for (int64_t k = i; want < 0; k++)
					want = group_at(w, i, k);
				if (2 * e < p)
					want = 0;
				assert_int_equal(pfair_group(w, i, &bit), want);
			}
}

/* The definition of PF: 1: x first, -1: y first, 0: alike, forever. */
static int compare_slot_by_slot(struct pfair_step x, struct pfair_step y)
{
	for (;;) {
		if (x.c == 0 && y.c == 0)
			return 0;
		if (x.c >= 0 && y.c <= 0)
			return 1;
		if (x.c <= 0 && y.c >= 0)
			return -1;
		x.c += x.c < 0 ? x.b : -x.a;
		y.c += y.c < 0 ? y.b : -y.a;
	}
}

/* All states that two tasks of period up to 12 can meet in. */
static void fast_comparison_equals_the_slow_one(void **state)
{
	unsigned decided = 0, alike = 0;

	for (int64_t k = 0; k < 66 * 66; k++) {
		struct pfair_weight w[2] = { { 0 } };
		int64_t n[2] = { k / 66, k % 66 };

		for (unsigned i = 0; i < 2; i++) { /* the n-th e/p, p > e */
			for (w[i].period = 2; n[i] >= w[i].period - 1;)
				n[i] -= w[i].period++ - 1;
			w[i].cost = n[i] + 1;
		}
		for (int64_t i = 1; i <= w[0].cost; i++)
			for (int64_t j = 1; j <= w[1].cost; j++) {
				struct pfair_step x = {
					w[0].period - w[0].cost, w[0].cost,
					pfair_overlap(w[0], i)
				};
				struct pfair_step y = {
					w[1].period - w[1].cost, w[1].cost,
					pfair_overlap(w[1], j)
				};
				int want = compare_slot_by_slot(x, y);

				assert_int_equal(pfair_compare(x, y), want);
				decided += want != 0;
				alike += want == 0;
			}
	}
	assert_true(decided > 10000 && alike > 1000);
}

/* --- shares --- */

static bool same(struct pfair_share a, struct pfair_share b)
{
	return a.parts == b.parts;
}

static struct pfair_share times(struct pfair_share s, unsigned n)
{
	s.parts *= n;
	return s;
}

static void shares_add_up_exactly(void **state)
{
	assert_true(same(times(pfair_share((struct pfair_weight){ 2, 3 }), 3),
			 pfair_cpus(2)));
	for (unsigned p = 1; p <= 70; p++)
		for (unsigned e = 1; e <= p; e++)
			assert_true(
				same(times(pfair_share((struct pfair_weight){
						   e, p }),
					   p),
				     pfair_cpus(e)));
	assert_true(same(
		times(pfair_share((struct pfair_weight){ 1, 20000 }), 20000),
		pfair_cpus(1)));
	assert_int_equal(pfair_ppm(pfair_cpus(256)), 256 * CR_PPM);
}

/* Periods that do not divide: above the weight, by less than a part a task. */
static void other_shares_are_rounded_up_by_less_than_one_part(void **state)
{
	static const int64_t period[] = { 71, 142, 997, PFAIR_MAX_PERIOD };

	for (unsigned i = 0; i < 4; i++) {
		struct pfair_weight w = { 1, period[i] };
		struct pfair_share sum =
			times(pfair_share(w), (unsigned)period[i]);

		assert_true(sum.parts > pfair_cpus(1).parts);
		assert_true(sum.parts - pfair_cpus(1).parts <
			    (uint64_t)period[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_windows_of_two_thirds),
		cmocka_unit_test(windows_move_right_with_a_late_subtask),
		cmocka_unit_test(a_pattern_that_is_over_is_not_resumed),
		cmocka_unit_test(chains_do_not_overflow),
		cmocka_unit_test(group_deadlines_are_those_of_the_definition),
		cmocka_unit_test(fast_comparison_equals_the_slow_one),
		cmocka_unit_test(shares_add_up_exactly),
		cmocka_unit_test(
			other_shares_are_rounded_up_by_less_than_one_part),
	};

	return cmocka_run_group_tests_name("pfair windows", tests, NULL, NULL);
}
