/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pfair: the figures of the thesis (4.5 to 4.8), the arithmetic against its
 * definitions, admission, and what happens between two slots.
 */
#include "schedulers/pfair_order.h"
#include "schedulers/pfair_share.h"
#include "schedulers/policies.h"
#include "sim_rig.h"

#define PFAIR "quantum=1ms,mode=pfair"
#define ERFAIR "quantum=1ms,mode=erfair"

static const struct cr_sched_ops *const family[] = { &cr_sched_pf, &cr_sched_pd,
						     &cr_sched_pd2 };

enum { FAMILY = 3 };

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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

	(void)state;
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

/* All states that two tasks of period up to 12 can meet in. */
static void fast_comparison_equals_the_slow_one(void **state)
{
	unsigned decided = 0, alike = 0;

	(void)state;
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
				int want = pfair_naive(x, y);

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
	(void)state;
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

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct pfair_weight w = { 1, period[i] };
		struct pfair_share sum =
			times(pfair_share(w), (unsigned)period[i]);

		assert_true(sum.parts > pfair_cpus(1).parts);
		assert_true(sum.parts - pfair_cpus(1).parts <
			    (uint64_t)period[i]);
	}
}

/* --- schedules --- */

/* Slots of @letter in the first @t of @ncpu lines, scaled: e t - p allocated,
 * that is p times the lag. */
static int64_t lag(char out[][128], unsigned ncpu, char letter,
		   struct pfair_weight w, unsigned t)
{
	int64_t got = 0;

	for (unsigned c = 0; c < ncpu; c++)
		for (unsigned s = 0; s < t; s++)
			got += out[c][s] == letter;
	return w.cost * t - w.period * got;
}

/* Figure 4.5. */
static void three_tasks_of_two_thirds_fill_two_cpus(void **state)
{
	char out[2][128];

	(void)state;
	for (unsigned f = 0; f < FAMILY; f++) {
		struct sim_rig *rig = rig_new(family[f], PFAIR, 2, 3);

		rig->cfg.core.admission = true;
		for (unsigned i = 0; i < 3; i++)
			assert_non_null(rig_add(rig, 3 * CR_MS, 2 * CR_MS));
		rig_trace(rig, CR_MS, 2, out, 9);
		assert_string_equal(out[0], "ACBACBACB");
		assert_string_equal(out[1], "BACBACBAC");
		for (unsigned t = 0; t <= 9; t++)
			for (char id = 'A'; id <= 'C'; id++)
				assert_in_range(
					3 + lag(out, 2, id,
						(struct pfair_weight){ 2, 3 },
						t),
					1, 5);
		sim_run(rig->sim, 3 * CR_SEC + 1);
		assert_int_equal(rig_misses(rig), 0);
		rig_free(rig);
	}
}

static void fifo_is_late_with_three_tasks_of_two_thirds(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_fifo, NULL, 2, 3);

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		(void)rig_add(rig, 3 * CR_MS, 2 * CR_MS);
	sim_run(rig->sim, 30 * CR_MS);
	assert_true(rig_misses(rig) > 0);
	rig_free(rig);
}

/* Figure 4.7: ERfair, and at t = 2 A and B are a whole quantum ahead, which
 * Pfair does not allow. */
static void an_erfair_schedule_that_is_not_pfair(void **state)
{
	char out[2][128];

	(void)state;
	for (unsigned f = 0; f < FAMILY; f++) {
		struct sim_rig *rig = rig_new(family[f], ERFAIR, 2, 6);

		for (unsigned i = 0; i < 6; i++)
			(void)rig_add(rig, 4 * CR_MS, (i < 2 ? 2 : 1) * CR_MS);
		rig_trace(rig, CR_MS, 2, out, 8);
		assert_string_equal(out[0], "AACEAACE");
		assert_string_equal(out[1], "BBDFBBDF");
		assert_int_equal(
			lag(out, 2, 'A', (struct pfair_weight){ 2, 4 }, 2), -4);
		assert_int_equal(
			lag(out, 2, 'B', (struct pfair_weight){ 2, 4 }, 2), -4);
		for (unsigned t = 0; t <= 8; t++)
			for (unsigned i = 0; i < 6; i++)
				assert_true(lag(out, 2, (char)('A' + i),
						(struct pfair_weight){
							i < 2 ? 2 : 1, 4 },
						t) < 4);
		rig_free(rig);
	}
}

/* The same tasks in Pfair mode: nobody is a whole quantum ahead. */
static void pfair_holds_what_erfair_runs(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_pd2, PFAIR, 2, 6);
	char out[2][128];

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		(void)rig_add(rig, 4 * CR_MS, (i < 2 ? 2 : 1) * CR_MS);
	rig_trace(rig, CR_MS, 2, out, 8);
	assert_string_equal(out[0], "ACAEACAE");
	assert_string_equal(out[1], "BDBFBDBF");
	rig_free(rig);
}

static void trace(const char *opts, enum sim_preempt preempt,
		  void (*add)(struct sim_rig *rig), const char *want)
{
	struct sim_rig *rig = rig_new(&cr_sched_pd2, opts, 1, 8);
	char out[1][128];

	rig->cfg.preempt = preempt;
	add(rig);
	rig_trace(rig, CR_MS / 4, 1, out, (unsigned)strlen(want));
	assert_string_equal(out[0], want);
	rig_free(rig);
}

static void be_best_effort(struct rig_task *r)
{
	r->st.core.task.cls = CR_BE;
}

/* A leaves a quarter and a half of its slots; B has two whole ones. */
static void two_that_leave_a_rest(struct sim_rig *rig)
{
	(void)rig_add(rig, 4 * CR_MS, 7 * CR_MS / 4);
	(void)rig_add(rig, 4 * CR_MS, 2 * CR_MS);
}

static void and_one_for_the_gaps(struct sim_rig *rig)
{
	two_that_leave_a_rest(rig);
	(void)rig_add_with(rig, 4 * CR_MS, CR_SEC, be_best_effort);
}

static void the_rest_of_a_slot_idles_in_pfair_mode(void **state)
{
	(void)state;
	trace(PFAIR, SIM_FULL, two_that_leave_a_rest, "AAAABBBBAAA.BBBBAAAA");
}

static void the_rest_of_a_slot_is_a_gift_in_erfair_mode(void **state)
{
	(void)state;
	trace(ERFAIR, SIM_FULL, two_that_leave_a_rest, "AAAABBBBAAABBBB.AAAA");
}

static void best_effort_takes_what_idles(void **state)
{
	(void)state;
	trace(PFAIR, SIM_FULL, and_one_for_the_gaps, "AAAABBBBAAACBBBBAAAA");
	trace(ERFAIR, SIM_FULL, and_one_for_the_gaps, "AAAABBBBAAABBBBCAAAA");
}

static void frames_are_not_cut_without_preemption(void **state)
{
	(void)state;
	trace(PFAIR, SIM_FRAME, two_that_leave_a_rest, "AAAAAAABBBBBBBB.AAAA");
}

/* A takes all it can get of one CPU; it has promised a quarter. */
static void who_breaks_his_promise_hurts_himself_alone(void **state)
{
	static const char *const mode[] = { PFAIR, ERFAIR };

	(void)state;
	for (unsigned k = 0; k < 2 * FAMILY; k++) {
		struct sim_rig *rig = rig_new(family[k / 2], mode[k % 2], 1, 3);
		struct rig_task *liar = rig_add(rig, 4 * CR_MS, CR_MS);
		struct rig_task *b = rig_add(rig, 8 * CR_MS, 4 * CR_MS);
		struct rig_task *c = rig_add(rig, 20 * CR_MS, 5 * CR_MS);

		liar->cost = 4 * CR_MS;
		sim_run(rig->sim, CR_SEC + 1);
		assert_int_equal(b->missed + c->missed, 0);
		assert_int_equal(b->done, 125);
		assert_int_equal(c->done, 50);
		assert_true(liar->missed > 50);
		assert_in_range(liar->done, 61, 63); /* its quarter */
		rig_free(rig);
	}
}

/* --- admission --- */

static void must_run_on_cpu_0(struct rig_task *r)
{
	r->st.core.task.cpus = (struct cr_cpus){ { 1 } };
}

static void due_early(struct rig_task *r)
{
	r->st.core.task.rel_deadline = 2 * CR_MS;
}

static void what_does_not_fit_is_refused(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_pd2, PFAIR, 2, 8);

	(void)state;
	rig->cfg.core.admission = true;
	/* masks, quanta above the period, costs above it in whole quanta */
	assert_null(rig_add_with(rig, 4 * CR_MS, CR_MS, must_run_on_cpu_0));
	assert_null(rig_add(rig, CR_MS - 1, 10));
	assert_null(rig_add(rig, 3 * CR_MS - 1, 2 * CR_MS + 1));
	assert_null(rig_add_with(rig, 4 * CR_MS, 3 * CR_MS, due_early));
	/* 1 + 71/72 + 1/72 is full to the last part */
	assert_non_null(rig_add(rig, CR_MS, CR_MS));
	assert_non_null(rig_add(rig, 72 * CR_MS, 71 * CR_MS));
	assert_null(rig_add(rig, 71 * CR_MS, 1));
	assert_non_null(rig_add(rig, 72 * CR_MS, 1));
	assert_null(rig_add(rig, CR_SEC, 1));
	assert_non_null(rig_add_with(rig, CR_SEC, CR_SEC, be_best_effort));
	rig_free(rig);
}

static void who_leaves_gives_back_all_of_his_weight(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_pf, PFAIR, 1, 8);
	struct rig_task *r;

	(void)state;
	rig->cfg.core.admission = true;
	(void)rig_add(rig, 71 * CR_MS, 70 * CR_MS);
	r = rig_add(rig, 142 * CR_MS, 1);
	assert_non_null(r);
	assert_null(rig_add(rig, 71 * CR_MS, 1));
	sim_remove(rig->sim, &r->st);
	assert_non_null(rig_add(rig, 72 * CR_MS, 1));
	assert_null(rig_add(rig, 142 * CR_MS, 1));
	rig_free(rig);
}

static void the_window_is_explained(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_pd2, PFAIR, 1, 1);
	struct rig_task *r = rig_add(rig, 3 * CR_MS, 2 * CR_MS);
	struct cr_kv kv[16];

	(void)state;
	sim_run(rig->sim, CR_MS + CR_US); /* the second of two runs */
	assert_int_equal(cr_sched_pd2.explain(&r->st.core.task, kv, 16), 8);
	assert_string_equal(kv[2].key, "subtask");
	assert_int_equal(kv[2].value, 2);
	assert_string_equal(kv[3].key, "window_begin_ns");
	assert_int_equal(kv[3].value, CR_MS);
	assert_int_equal(kv[4].value, 3 * CR_MS);
	assert_int_equal(cr_sched_pd2.explain(&r->st.core.task, kv, 2), 2);
	rig_free(rig);
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
		cmocka_unit_test(three_tasks_of_two_thirds_fill_two_cpus),
		cmocka_unit_test(fifo_is_late_with_three_tasks_of_two_thirds),
		cmocka_unit_test(an_erfair_schedule_that_is_not_pfair),
		cmocka_unit_test(pfair_holds_what_erfair_runs),
		cmocka_unit_test(the_rest_of_a_slot_idles_in_pfair_mode),
		cmocka_unit_test(the_rest_of_a_slot_is_a_gift_in_erfair_mode),
		cmocka_unit_test(best_effort_takes_what_idles),
		cmocka_unit_test(frames_are_not_cut_without_preemption),
		cmocka_unit_test(who_breaks_his_promise_hurts_himself_alone),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(who_leaves_gives_back_all_of_his_weight),
		cmocka_unit_test(the_window_is_explained),
	};

	return cmocka_run_group_tests_name("pfair", tests, NULL, NULL);
}
