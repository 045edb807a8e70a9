/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines from residual capacity: tbs is the published rule, exact is as
 * early as can be, and each rule is where the paper puts it.
 */
#include "left.h"

enum { JOBS = 40 };

static const enum be_rule rules[] = { BE_TBS, BE_LINE, BE_TWO_LINE,
				      BE_TWO_LINE_APPROX, BE_EXACT };

struct be_job {
	cr_ns at, work;
};

static void draw_jobs(const struct world *w, uint64_t *seed,
		      struct be_job job[JOBS])
{
	cr_ns at = 0;

	for (unsigned i = 0; i < JOBS; i++) {
		if (test_below(seed, 3))
			at += test_below(seed, 400);
		job[i] = (struct be_job){ at, w->least + test_below(seed, 40) };
	}
}

/*
 * Spuri and Buttazzo 1996: d(k) = max(r(k), d(k - 1)) + C(k) / Us, Us = 1 - Up.
 * Shares are parts of 64 and works multiples of Us * 64, so that nothing has to
 * be rounded.
 */
static void tbs_is_the_published_rule_step_by_step(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 300; round++) {
		struct residual r = { .nsums = 0 };
		struct be_server s = { .rule = BE_TBS };
		cr_ns used = 0, at = 0, before = 0;

		for (unsigned i = 0; i < 4; i++) {
			cr_ns t = 64 << test_below(&seed, 4);
			cr_ns parts = 1 + test_below(&seed, 14);
			struct cr_task call = call_of(t, t, parts * t / 64);

			used += parts;
			(void)residual_add(&r, &call);
		}
		be_server_curve(&s, &r, 0, 1);
		for (unsigned k = 0; k < 200; k++) {
			cr_ns c = (64 - used) * (1 + test_below(&seed, 9));

			at += test_below(&seed, 700);
			before = cr_ns_max(at, before) + c * 64 / (64 - used);
			assert_int_equal(be_server_promise(&s, at, c), before);
		}
	}
}

/* Of what was served before an instant at which nothing waited, the published
 * rule keeps the deadline; here it is forgotten there, and the next one is
 * earlier. */
static void after_an_idle_instant_tbs_is_earlier_than_published(void **state)
{
	struct residual r = { .nsums = 0 };
	struct be_server s = { .rule = BE_TBS }, kept;
	struct cr_task call = call_of(100, 100, 50);

	(void)residual_add(&r, &call);
	be_server_curve(&s, &r, 0, 1);
	assert_int_equal(be_server_promise(&s, 0, 5), 10);
	kept = s;
	be_server_reset(&s, 6);
	assert_int_equal(be_server_promise(&kept, 6, 5), 20);
	assert_int_equal(be_server_promise(&s, 6, 5), 16);
}

/* Where frames of 20 are not cut: the line of 1/4 through the origin and (100,
 * 25), though E begins to rise at 20. Jobs below 10 do not count. */
static void tbs_is_a_line_through_the_origin(void **state)
{
	struct residual r = { .nsums = 0 };
	struct be_server s = { .rule = BE_TBS };
	struct cr_task call = call_of(100, 100, 55);
	cr_ns before = 0;

	(void)residual_add(&r, &call);
	be_server_curve(&s, &r, 20, 10);
	for (cr_ns w = 10; w < 40; w++) {
		before += 4 * w;
		assert_int_equal(be_server_promise(&s, 0, w), before);
	}
}

/* The queue before the server may hand in a job that came before the last. */
static void arrivals_do_not_go_back(void **state)
{
	for (unsigned i = 0; i < 5; i++) {
		struct be_server a = { .rule = rules[i] }, b;
		struct residual r = { .nsums = 0 };
		struct cr_task call = call_of(100, 100, 50);

		(void)residual_add(&r, &call);
		be_server_curve(&a, &r, 0, 1);
		(void)be_server_promise(&a, 100, 5);
		b = a;
		assert_int_equal(be_server_promise(&a, 10, 5),
				 be_server_promise(&b, 100, 5));
		assert_true(be_server_check(&a));
	}
}

/* Section 4.2: d(n) = w / slope + max(r(n) + foot, d(n - 1)). */
static void line_is_the_papers_formula(void **state)
{
	struct residual r = { .nsums = 0 };
	struct be_server s = { .rule = BE_LINE };
	struct cr_task call = call_of(100, 100, 50);
	uint64_t seed = test_seed();
	cr_ns at = 0, before = 0;

	(void)residual_add(&r, &call);
	be_server_curve(&s, &r, 20, 1);
	/* from (20, 0) below (100, 30): 3/8; in the end E rises by 1/2 */
	for (unsigned k = 0; k < 200; k++) {
		cr_ns w = 3 * (1 + test_below(&seed, 20));

		at += test_below(&seed, 200);
		before = w * 8 / 3 + cr_ns_max(at + 20, before);
		assert_int_equal(be_server_promise(&s, at, w), before);
	}
}

/* Beside the same call: a line from 60 could be steeper than E is in the end,
 * and one of less slope than there is stays so. */
static void a_line_is_where_its_user_says_but_below_e(void **state)
{
	static const struct {
		struct curve_request request;
		cr_ns foot, steps; /* 1 / slope */
	} lines[] = {
		{ { 60, 0 }, 60, 2 },
		{ { 60, CURVE_ONE }, 60, 2 },
		{ { 60, CURVE_ONE / 8 }, 60, 8 },
		{ { 0, CURVE_ONE / 4 }, 20, 4 },
		{ { 10, CURVE_ONE / 4 }, 20, 4 },
	};
	struct residual r = { .nsums = 0 };
	struct cr_task call = call_of(100, 100, 50);

	(void)residual_add(&r, &call);
	for (unsigned i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct be_server s = { .rule = BE_LINE,
				       .request = lines[i].request };
		cr_ns first = 7 + lines[i].foot + 5 * lines[i].steps;

		be_server_curve(&s, &r, 20, 1);
		assert_int_equal(be_server_promise(&s, 7, 5), first);
		assert_int_equal(be_server_promise(&s, 8, 2),
				 first + 2 * lines[i].steps);
	}
}

/* Algorithm 1 as printed, over all history and every ns. */
static cr_ns plain_deadline(const struct world *w, const struct be_job *job,
			    unsigned n)
{
	cr_ns d = 0, sum = 0;

	for (unsigned i = n + 1; i-- > 0;) {
		sum += job[i].work;
		d = cr_ns_max(d, job[i].at + plain_inverse(w, sum));
	}
	return d;
}

/* With d one ns and rounding earlier, more than E would be asked of some
 * interval: then calls that send all their curves allow need more than the time
 * there is, which no scheduler gives them. */
static void exact_is_algorithm_1_and_no_deadline_can_be_earlier(void **state)
{
	static struct world w;
	struct be_job job[JOBS];
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 200; round++) {
		struct be_server s;

		draw_world(&w, &seed);
		draw_jobs(&w, &seed, job);
		s = server_of(&w, BE_EXACT);
		for (unsigned n = 0; n < JOBS; n++) {
			cr_ns d = be_server_promise(&s, job[n].at, job[n].work);
			bool tight = false;
			cr_ns sum = 0;

			if (d - job[0].at >= HORIZON) /* not summed up */
				break;
			assert_true(d >= plain_deadline(&w, job, n));
			for (unsigned i = n + 1; i-- > 0 && !tight;) {
				sum += job[i].work;
				tight = w.e[d - 1 - job[i].at] <
					(sum + ROUNDING) * SCALE;
			}
			assert_true(tight);
		}
	}
}

/* In every interval from an arrival to a deadline: not more than E allows. */
static bool within_capacity(const struct world *w, const struct be_job *job,
			    const cr_ns *d, unsigned n)
{
	cr_ns sum = 0;

	for (unsigned i = n + 1; i-- > 0;) {
		sum += job[i].work;
		if (d[n] - job[i].at < HORIZON &&
		    w->e[d[n] - job[i].at] < sum * SCALE)
			return false;
	}
	return true;
}

static void no_rule_promises_more_than_there_is(void **state)
{
	static struct world w;
	struct be_job job[JOBS];
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 200; round++) {
		draw_world(&w, &seed);
		draw_jobs(&w, &seed, job);
		for (unsigned i = 0; i < 5; i++) {
			struct be_server s = server_of(&w, rules[i]);
			cr_ns d[JOBS];

			for (unsigned n = 0; n < JOBS; n++) {
				d[n] = be_server_promise(&s, job[n].at,
							 job[n].work);
				assert_true(within_capacity(&w, job, d, n));
				assert_true(be_server_check(&s));
			}
		}
	}
}

/* But for the rounding of a corner. */
static void deadlines_are_ordered_as_the_curves(void **state)
{
	static struct world w;
	struct be_job job[JOBS];
	uint64_t seed = test_seed();
	unsigned later = 0; /* without history than with it */

	for (unsigned round = 0; round < 300; round++) {
		struct be_server s[BE_EXACT + 1];

		draw_world(&w, &seed);
		draw_jobs(&w, &seed, job);
		for (unsigned i = 0; i < 5; i++)
			s[rules[i]] = server_of(&w, rules[i]);
		for (unsigned n = 0; n < JOBS; n++) {
			cr_ns d[BE_EXACT + 1], slack;

			for (unsigned i = 0; i < 5; i++)
				d[rules[i]] = be_server_promise(
					&s[rules[i]], job[n].at, job[n].work);
			slack = curve_inverse(&s[BE_TWO_LINE].curve, ROUNDING);
			assert_true(d[BE_EXACT] <= d[BE_TWO_LINE] + slack);
			assert_true(d[BE_TWO_LINE] <= d[BE_LINE] + slack);
			assert_true(d[BE_TWO_LINE] <= d[BE_TBS] + slack);
			assert_true(d[BE_TWO_LINE] <=
				    d[BE_TWO_LINE_APPROX] + slack);
			later += d[BE_TWO_LINE_APPROX] > d[BE_TWO_LINE] + slack;
		}
	}
	assert_true(later > 0);
}

/* Hundreds of jobs before E's last piece: history is coarsened, and every
 * promise still holds beside all the others. */
static void a_full_history_is_coarsened_against_best_effort(void **state)
{
	enum { MANY = 400 };
	struct residual r = { .nsums = 0 };
	struct cr_task call = call_of(1000000, 1000000, 500000);
	static struct be_job job[MANY];
	struct be_server s = { .rule = BE_EXACT };
	uint64_t seed = 7; /* for the bound at the end is of these jobs */
	struct curve e;
	cr_ns at = 0, late = 0, worst = 0;

	(void)residual_add(&r, &call);
	residual_curve(&r, 0, &e);
	be_server_curve(&s, &r, 0, 1);
	for (unsigned n = 0; n < MANY; n++) {
		cr_ns d, sum = 0, best = 0;

		at += test_below(&seed, 1500);
		job[n] = (struct be_job){ at, 1 + test_below(&seed, 1000) };
		d = be_server_promise(&s, at, job[n].work);
		assert_true(be_server_check(&s));
		for (unsigned i = n + 1; i-- > 0;) {
			sum += job[i].work;
			best = cr_ns_max(best,
					 job[i].at + curve_inverse(&e, sum));
		}
		assert_true(d >= best);
		late += d > best;
		worst = cr_ns_max(worst, d - best);
	}
	assert_int_equal(s.npast, BE_SERVER_PAST);
	assert_true(late > 0); /* else nothing was coarsened */
	assert_true(worst < at / 5);
}

/* The third of three jobs that come at once is behind the second. */
static void two_line_approx_counts_all_work_before(void **state)
{
	struct residual r = { .nsums = 0 };
	struct be_server s = { .rule = BE_TWO_LINE_APPROX };
	struct cr_task call = call_of(100, 100, 50);
	cr_ns d[3];

	(void)residual_add(&r, &call);
	be_server_curve(&s, &r, 20, 20);
	for (unsigned i = 0; i < 3; i++)
		d[i] = be_server_promise(&s, 0, 20);
	assert_true(d[0] < d[1] && d[1] < d[2]);
}

static void a_refund_and_a_reset_leave_no_trace(void **state)
{
	static struct world w;
	struct be_job job[JOBS];
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < 100; round++) {
		draw_world(&w, &seed);
		draw_jobs(&w, &seed, job);
		for (unsigned i = 0; i < 5; i++) {
			struct be_server a = server_of(&w, rules[i]), b = a;

			for (unsigned n = 0; n < JOBS / 4; n++) {
				cr_ns at = job[n].at, work = job[n].work;
				cr_ns want = be_server_promise(&a, at, work);
				bool moved;

				(void)be_server_promise(&b, at, work + 1);
				moved = b.undo.moved;
				be_server_refund(&b);
				if (moved) /* stays later */
					break;
				assert_int_equal(
					be_server_promise(&b, at, work), want);
			}
			be_server_reset(&b, job[JOBS - 1].at);
			a = server_of(&w, rules[i]);
			assert_int_equal(
				be_server_promise(&b, job[JOBS - 1].at, 9),
				be_server_promise(&a, job[JOBS - 1].at, 9));
		}
	}
}

/* As if best effort had asked for what somebody ran too long; and that is not
 * given back with a job that did not run. */
static void overruns_are_taken_from_best_effort(void **state)
{
	for (unsigned i = 0; i < 5; i++) {
		struct be_server a = { .rule = rules[i] }, b = a;
		struct residual r = { .nsums = 0 };
		struct cr_task call = call_of(100, 100, 50);

		(void)residual_add(&r, &call);
		be_server_curve(&a, &r, 0, 1);
		be_server_curve(&b, &r, 0, 1);
		be_server_charge(&a, 10, 50);
		be_server_refund(&a);
		(void)be_server_promise(&b, 10, 50);
		assert_int_equal(be_server_promise(&a, 10, 20),
				 be_server_promise(&b, 10, 20));
		assert_true(be_server_check(&a));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tbs_is_the_published_rule_step_by_step),
		cmocka_unit_test(
			after_an_idle_instant_tbs_is_earlier_than_published),
		cmocka_unit_test(tbs_is_a_line_through_the_origin),
		cmocka_unit_test(arrivals_do_not_go_back),
		cmocka_unit_test(line_is_the_papers_formula),
		cmocka_unit_test(a_line_is_where_its_user_says_but_below_e),
		cmocka_unit_test(
			exact_is_algorithm_1_and_no_deadline_can_be_earlier),
		cmocka_unit_test(no_rule_promises_more_than_there_is),
		cmocka_unit_test(deadlines_are_ordered_as_the_curves),
		cmocka_unit_test(
			a_full_history_is_coarsened_against_best_effort),
		cmocka_unit_test(two_line_approx_counts_all_work_before),
		cmocka_unit_test(a_refund_and_a_reset_leave_no_trace),
		cmocka_unit_test(overruns_are_taken_from_best_effort),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
