/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pfair schedules: figures 4.5 and 4.7 of the thesis, admission, and what
 * happens between two slots. The windows are in pfair_windows.c.
 */
#include "schedulers/pfair.h"
#include "schedulers/policies.h"
#include "sim_rig.h"

#define PFAIR "quantum=1ms,mode=pfair"
#define ERFAIR "quantum=1ms,mode=erfair"
#define MIXED "quantum=1ms,mode=mixed"

static const struct cr_sched_ops *const family[] = { &cr_sched_pf, &cr_sched_pd,
						     &cr_sched_pd2 };

enum { FAMILY = 3 };

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

/* Figure 4.7's tasks, of which A is nice: at t = 2 B alone is a whole quantum
 * ahead. */
static void mixed_holds_those_that_are_nice(void **state)
{
	char out[2][128];

	for (unsigned f = 0; f < FAMILY; f++) {
		struct sim_rig *rig = rig_new(family[f], MIXED, 2, 6);

		for (unsigned i = 0; i < 6; i++)
			(void)rig_add_nice(rig, i == 0, 4 * CR_MS,
					   (i < 2 ? 2 : 1) * CR_MS);
		rig_trace(rig, CR_MS, 2, out, 8);
		assert_string_equal(out[0], "ABAEABAE");
		assert_string_equal(out[1], "BCDFBCDF");
		assert_int_equal(
			lag(out, 2, 'A', (struct pfair_weight){ 2, 4 }, 2), 0);
		assert_int_equal(
			lag(out, 2, 'B', (struct pfair_weight){ 2, 4 }, 2), -4);
		rig_free(rig);
	}
}

/* The same tasks in Pfair mode: nobody is a whole quantum ahead. */
static void pfair_holds_what_erfair_runs(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_pd2, PFAIR, 2, 6);
	char out[2][128];

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
	trace(PFAIR, SIM_FULL, two_that_leave_a_rest, "AAAABBBBAAA.BBBBAAAA");
}

static void the_rest_of_a_slot_is_a_gift_in_erfair_mode(void **state)
{
	trace(ERFAIR, SIM_FULL, two_that_leave_a_rest, "AAAABBBBAAABBBB.AAAA");
}

static void best_effort_takes_what_idles(void **state)
{
	trace(PFAIR, SIM_FULL, and_one_for_the_gaps, "AAAABBBBAAACBBBBAAAA");
	trace(ERFAIR, SIM_FULL, and_one_for_the_gaps, "AAAABBBBAAABBBBCAAAA");
}

static void frames_are_not_cut_without_preemption(void **state)
{
	trace(PFAIR, SIM_FRAME, two_that_leave_a_rest, "AAAAAAABBBBBBBB.AAAA");
}

/* A takes all it can get of one CPU; it has promised a quarter. */
static void who_breaks_his_promise_hurts_himself_alone(void **state)
{
	static const char *const mode[] = { PFAIR, ERFAIR };

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

static cr_ns next_tick(struct sim_rig *rig)
{
	return core_rq(sim_core(rig->sim), 0)->next_tick;
}

/* Three quanta where two in ten were promised: windows from 0, 5, 10. */
static void ticks_come_only_for_what_is_held(void **state)
{
	static const struct sim_job job[] = { { 0, 3 * CR_MS, 20 * CR_MS } };
	struct sim_rig *rig = rig_new(&cr_sched_pd, PFAIR, 1, 1);
	struct rig_task *r = rig_add(rig, 10 * CR_MS, 2 * CR_MS);

	r->job = job;
	r->njobs = 1;
	sim_run(rig->sim, CR_US);
	assert_true(next_tick(rig) == CR_NEVER);
	sim_run(rig->sim, CR_MS + 1);
	assert_int_equal(next_tick(rig), 5 * CR_MS);
	sim_run(rig->sim, 6 * CR_MS + 1);
	assert_int_equal(next_tick(rig), 10 * CR_MS);
	sim_run(rig->sim, CR_SEC);
	assert_int_equal(r->done, 1);
	assert_int_equal(r->response, 11 * CR_MS);
	assert_true(next_tick(rig) == CR_NEVER);
	rig_free(rig);
}

/* The largest engine, the longest period, a clock after centuries. */
static void extremes_are_served(void **state)
{
	static const struct sim_job late[] = {
		{ CR_NEVER / 2, CR_MS, CR_NEVER },
	};
	struct sim_rig *rig = rig_new(&cr_sched_pd2, PFAIR, CR_MAX_CPUS, 2);
	struct rig_task *r = rig_add(rig, 24 * CR_TASK_LONGEST, CR_MS);
	struct rig_task *one = rig_add(rig, CR_MS, CR_MS);

	r->job = late;
	r->njobs = 1;
	sim_arrive_at(rig->sim, &r->st, late[0].at);
	sim_run(rig->sim, CR_SEC + 1);
	assert_int_equal(one->done, 1000);
	assert_int_equal(one->missed, 0);
	sim_remove(rig->sim, &one->st);
	sim_run(rig->sim, CR_NEVER / 2 + 3 * CR_MS);
	assert_int_equal(r->done, 1);
	assert_int_equal(r->missed, 0);
	rig_free(rig);
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

static void comes_now(struct rig_task *r)
{
	r->offset = sim_now(r->rig->sim);
}

/* It had its quantum of ten slots in the first of them. */
static void who_leaves_ahead_counts_until_his_window_is_over(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_pd2, PFAIR, 1, 8);
	struct rig_task *r;

	rig->cfg.core.admission = true;
	r = rig_add(rig, 10 * CR_MS, CR_MS);
	sim_run(rig->sim, CR_MS + 1);
	assert_int_equal(r->done, 1);
	sim_remove(rig->sim, &r->st);
	assert_null(rig_add_with(rig, CR_MS, CR_MS, comes_now));
	assert_non_null(rig_add_with(rig, 10 * CR_MS, 9 * CR_MS, comes_now));
	sim_run(rig->sim, 10 * CR_MS);
	assert_null(rig_add_with(rig, 10 * CR_MS, CR_MS, comes_now));
	sim_run(rig->sim, 10 * CR_MS + 1);
	assert_non_null(rig_add_with(rig, 10 * CR_MS, CR_MS, comes_now));
	assert_true(next_tick(rig) == CR_NEVER);
	rig_free(rig);
}

/* A heavy one: its first window ends at 2 and overlaps the next, which ends the
 * group at 3. */
static void a_heavy_one_counts_until_its_group_deadline(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_pd2, PFAIR, 1, 8);
	struct rig_task *r;

	rig->cfg.core.admission = true;
	r = rig_add(rig, 3 * CR_MS, 2 * CR_MS);
	r->cost = CR_MS; /* less than it said: it sleeps after a quantum */
	sim_run(rig->sim, CR_MS + 1);
	assert_int_equal(r->done, 1);
	sim_remove(rig->sim, &r->st);
	assert_non_null(rig_add_with(rig, 3 * CR_MS, CR_MS, comes_now));
	sim_run(rig->sim, 3 * CR_MS);
	assert_null(rig_add_with(rig, 3 * CR_MS, CR_MS, comes_now));
	sim_run(rig->sim, 3 * CR_MS + 1);
	assert_non_null(rig_add_with(rig, 3 * CR_MS, 2 * CR_MS, comes_now));
	rig_free(rig);
}

static void the_window_is_explained(void **state)
{
	struct sim_rig *rig = rig_new(&cr_sched_pd2, PFAIR, 1, 1);
	struct rig_task *r = rig_add(rig, 3 * CR_MS, 2 * CR_MS);
	struct cr_kv kv[16];

	sim_run(rig->sim, CR_MS + CR_US); /* the second of two runs */
	assert_int_equal(cr_sched_pd2.explain(&r->st.core.task, kv, 16), 8);
	assert_string_equal(kv[2].key, "subtask");
	assert_int_equal(kv[2].value, 2);
	assert_string_equal(kv[3].key, "window_begin");
	assert_int_equal(kv[3].value, CR_MS);
	assert_int_equal(kv[4].value, 3 * CR_MS);
	assert_int_equal(cr_sched_pd2.explain(&r->st.core.task, kv, 2), 2);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_tasks_of_two_thirds_fill_two_cpus),
		cmocka_unit_test(fifo_is_late_with_three_tasks_of_two_thirds),
		cmocka_unit_test(an_erfair_schedule_that_is_not_pfair),
		cmocka_unit_test(mixed_holds_those_that_are_nice),
		cmocka_unit_test(pfair_holds_what_erfair_runs),
		cmocka_unit_test(the_rest_of_a_slot_idles_in_pfair_mode),
		cmocka_unit_test(the_rest_of_a_slot_is_a_gift_in_erfair_mode),
		cmocka_unit_test(best_effort_takes_what_idles),
		cmocka_unit_test(frames_are_not_cut_without_preemption),
		cmocka_unit_test(who_breaks_his_promise_hurts_himself_alone),
		cmocka_unit_test(ticks_come_only_for_what_is_held),
		cmocka_unit_test(extremes_are_served),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(who_leaves_gives_back_all_of_his_weight),
		cmocka_unit_test(
			who_leaves_ahead_counts_until_his_window_is_over),
		cmocka_unit_test(a_heavy_one_counts_until_its_group_deadline),
		cmocka_unit_test(the_window_is_explained),
	};

	return cmocka_run_group_tests_name("pfair", tests, NULL, NULL);
}
