/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staircase and RSDL, slot by slot: Table 5.1 of the thesis, and golden
 * schedules worked out by hand.
 */
#include "schedulers/policies.h"
#include "sim_rig.h"
#include "endless.h"

#define STAIRCASE(levels) &cr_sched_staircase, "quantum=1ms,levels=" levels
#define RSDL(levels, quota)                                                    \
	&cr_sched_rsdl, "quantum=1ms,levels=" levels ",quota=" quota

enum { TASKS = 32 };

/* Of 5 levels these are the first, the third and the last. */
enum { TOP = -20, MIDDLE = 0, BOTTOM = 19 };

/* Never sleeps: one job without end. */
static struct rig_task *hog(struct sim_rig *rig, int nice)
{
	return rig_add_nice(rig, nice, 10000 * CR_SEC, 1000 * CR_SEC);
}

/* CPU 0's next milliseconds, then the end. */
static void expect(struct sim_rig *rig, const char *want)
{
	char out[1][128];

	rig_trace(rig, CR_MS, 1, out, (unsigned)strlen(want));
	assert_string_equal(out[0], want);
}

/* The level of @r in each of the next slots. */
static void expect_levels(const struct rig_task *r, const char *want)
{
	struct sim_rig *rig = r->rig;
	char got[128] = "";

	for (unsigned i = 0; want[i]; i++) {
		sim_run(rig->sim, sim_now(rig->sim) + CR_MS / 2);
		got[i] = (char)('0' + shown(r, "level"));
		sim_run(rig->sim, sim_now(rig->sim) + CR_MS / 2);
	}
	assert_string_equal(got, want);
}

/* --- staircase --- */

/* Rounds 1, 2, 3 of Table 5.1, and on: one level lower every round, as many
 * slices as before, until all of them are on the lowest. */
static void table_5_1_from_the_top(void **state)
{
	struct sim_rig *rig = rig_new(STAIRCASE("5"), 1, TASKS);
	struct rig_task *a = hog(rig, TOP);

	expect_levels(a, "01234"
			 "11234"
			 "22234"
			 "33334"
			 "44444"
			 "44444");
	rig_free(rig);
}

static void table_5_1_from_base_b(void **state)
{
	struct sim_rig *rig = rig_new(STAIRCASE("5"), 1, TASKS);
	struct rig_task *a = hog(rig, MIDDLE);

	expect_levels(a, "234"
			 "334"
			 "444"
			 "444");
	rig_free(rig);
}

/* Others' levels do not change the steps, only when they are taken. */
static void rounds_begin_for_all_at_once(void **state)
{
	struct sim_rig *rig = rig_new(STAIRCASE("3"), 1, TASKS);

	(void)hog(rig, TOP);
	(void)hog(rig, MIDDLE);
	(void)hog(rig, BOTTOM);
	/* 1: A0 B1 A1 C2 B2 A2; 2: A1 A1 C2 B2 A2 B2; 3: all on level 2 */
	expect(rig, "ABACBA"
		    "AACBAB"
		    "CABABA");
	rig_free(rig);
}

static void a_higher_level_preempts(void **state)
{
	static const struct sim_job later[] = { { CR_MS / 2 * 9, CR_MS,
						  CR_NEVER } };
	struct sim_rig *rig = rig_new(STAIRCASE("5"), 1, TASKS);
	char out[1][128];

	(void)rig_add_jobs(rig, later, 1); /* A, nice 0 */
	(void)hog(rig, MIDDLE);
	/* B on levels 2, 3, 4; 3, 3: there A comes and has a whole slice, then
	 * B has the other half of its own */
	rig_trace(rig, CR_MS / 2, 1, out, 14);
	assert_string_equal(out[0], "BBBBBBBBBAABBB");
	rig_free(rig);
}

static void an_equal_level_waits_for_the_slice(void **state)
{
	static const struct sim_job later[] = { { CR_MS / 2, CR_MS,
						  CR_NEVER } };
	struct sim_rig *rig = rig_new(STAIRCASE("5"), 1, TASKS);
	char out[1][128];

	(void)rig_add_jobs(rig, later, 1);
	(void)hog(rig, MIDDLE);
	rig_trace(rig, CR_MS / 2, 1, out, 6);
	assert_string_equal(out[0], "BBAABB");
	rig_free(rig);
}

/* A job of 6 slices takes two rounds, and puts its task two levels down; a
 * level is won back for every round without using them up. */
static void light_again_is_high_again(void **state)
{
	static const struct sim_job jobs[] = {
		{ 0, 6 * CR_MS, CR_NEVER },  { 10 * CR_MS, 1, CR_NEVER },
		{ 20 * CR_MS, 1, CR_NEVER }, { 30 * CR_MS, 1, CR_NEVER },
		{ 40 * CR_MS, 1, CR_NEVER },
	};
	static const int64_t want[] = { 4, 4, 3, 2, 2 };
	struct sim_rig *rig = rig_new(STAIRCASE("5"), 1, TASKS);
	struct rig_task *a = rig_add_jobs(rig, jobs, 5);

	for (unsigned i = 0; i < 5; i++) {
		sim_run(rig->sim, (10 * i + 9) * CR_MS);
		assert_int_equal(shown(a, "first_level"), want[i]);
	}
	rig_free(rig);
}

/* A short sleep within a round buys no slices. */
static void sleep_keeps_what_was_used(void **state)
{
	static const struct sim_job naps[] = {
		{ 0, CR_MS / 2, CR_NEVER },
		{ CR_MS, CR_MS / 4, CR_NEVER },
		{ 2 * CR_MS, CR_SEC, CR_NEVER },
	};
	struct sim_rig *rig = rig_new(STAIRCASE("5"), 1, TASKS);
	struct rig_task *a = rig_add_jobs(rig, naps, 3);

	(void)hog(rig, BOTTOM);
	(void)hog(rig, BOTTOM);
	sim_run(rig->sim, 2 * CR_MS);
	assert_int_equal(shown(a, "slice_used"), CR_MS / 4 * 3);
	assert_int_equal(shown(a, "slices_left"), 3);
	rig_free(rig);
}

/* Frames of three slices: what is over is charged, in the next round too. */
static void staircase_without_preemption_charges_whole_frames(void **state)
{
	struct sim_rig *rig = rig_new(STAIRCASE("5"), 1, TASKS);

	rig->cfg.preempt = SIM_FRAME;
	(void)rig_add_nice(rig, TOP, CR_MS / 4, 3 * CR_MS);
	(void)rig_add_nice(rig, TOP, CR_MS / 4, CR_MS);
	/* 1: A to level 3; B 0 1 2 3; A to 1 of the next round; B 4.
	 * 2: A to 4; B 1 1 2 3; A to 2 of the next; B 4. */
	expect(rig, "AAABBBAAABB"
		    "AAABBBBAAAB");
	rig_free(rig);
}

static void count_slots(struct sim_rig *rig, unsigned slots, unsigned *got)
{
	char out[1][128];

	for (unsigned i = 0; i < slots; i++) {
		rig_trace(rig, CR_MS, 1, out, 1);
		got[out[0][0] - 'A']++;
	}
}

/* Two that never sleep, a level apart: @left slices against one less, in
 * every round. */
static void expect_shares(const struct cr_sched_ops *ops, const char *opts,
			  unsigned left)
{
	struct sim_rig *rig = rig_new(ops, opts, 1, TASKS);

	(void)hog(rig, 20 - (int)left);
	(void)hog(rig, 21 - (int)left);
	for (unsigned round = 0; round < 3; round++) {
		unsigned got[TASKS] = { 0 };

		count_slots(rig, 2 * left - 1, got);
		assert_int_equal(got[0], left);
		assert_int_equal(got[1], left - 1);
	}
	rig_free(rig);
}

/* "Shares ranging from 1:2 to 39:40" (5.3.1). */
static void neighbours_share_from_1_2_to_39_40(void **state)
{
	for (unsigned left = 2; left <= 40; left++)
		expect_shares(STAIRCASE("40"), left);
}

/* --- rsdl --- */

static void rsdl_goes_down_a_level_each_quantum(void **state)
{
	struct sim_rig *rig = rig_new(RSDL("5", "10ms"), 1, TASKS);
	struct rig_task *a = hog(rig, MIDDLE);

	expect_levels(a, "234"
			 "234"
			 "234");
	rig_free(rig);
}

/* Level 0 is closed after A and B, level 1 after C and A, who goes behind C as
 * it has had a turn; B, with nothing on level 1, is first on the lowest. */
static void a_closed_level_sends_all_down(void **state)
{
	struct sim_rig *rig = rig_new(RSDL("3", "2ms"), 1, TASKS);

	for (unsigned i = 0; i < 3; i++)
		(void)hog(rig, TOP);
	expect(rig, "AB"
		    "CA"
		    "BCA");
	/* the next rotations: who was served first is last */
	expect(rig, "BCABCAB"
		    "CABCABC"
		    "ABCABCA");
	rig_free(rig);
}

/* A quota that is no multiple of the quantum ends in the middle of B's turn,
 * which goes on one level down; in the next rotation of A's. */
static void a_turn_goes_on_below_a_closed_level(void **state)
{
	struct sim_rig *rig = rig_new(RSDL("2", "1500us"), 1, TASKS);
	char out[1][128];

	(void)hog(rig, TOP);
	(void)hog(rig, TOP);
	rig_trace(rig, CR_MS / 2, 1, out, 12);
	assert_string_equal(out[0], "AABBAA"
				    "BBAABB");
	rig_free(rig);
}

/* How long the call at the bottom waits, with ten calls on top of it. */
static cr_ns wait_at_the_bottom(const struct cr_sched_ops *ops,
				const char *opts)
{
	struct sim_rig *rig = rig_new(ops, opts, 1, TASKS);
	cr_ns wait = 0;

	for (unsigned i = 0; i < 10; i++)
		(void)hog(rig, TOP);
	(void)hog(rig, BOTTOM);
	rig_start(rig);
	for (;; wait += CR_MS) {
		sim_run(rig->sim, wait + 1);
		if (rig_running(rig, 0) == 'A' + 10)
			break;
	}
	rig_free(rig);
	return wait;
}

/* Staircase: 10 calls on 3 levels. RSDL: 3 levels of 2 ms, then the 8 calls
 * that had no turn on the last of these. */
static void quotas_bound_the_wait_at_the_bottom(void **state)
{
	assert_int_equal(wait_at_the_bottom(STAIRCASE("4")), 30 * CR_MS);
	assert_int_equal(wait_at_the_bottom(RSDL("4", "2ms")), 14 * CR_MS);
}

static void rsdl_neighbours_share_by_level(void **state)
{
	for (unsigned left = 2; left <= 40; left++)
		expect_shares(RSDL("40", "10ms"), left);
}

/* A's frame of 3 ms closes the level that it began on (quota 2 ms). */
static void rsdl_without_preemption_charges_whole_frames(void **state)
{
	struct sim_rig *rig = rig_new(RSDL("5", "2ms"), 1, TASKS);

	rig->cfg.preempt = SIM_FRAME;
	(void)rig_add_nice(rig, TOP, CR_MS / 4, 3 * CR_MS);
	(void)rig_add_nice(rig, TOP, CR_MS / 4, CR_MS);
	/* 1: A on 0, closed; B on 1, 2; A on 3, closed, and then on 1 of the
	 * next; B on 4. 2: B on 0; A on 1, closed; B on 2, 3; A on 4, then on 2
	 * of the next; B on 4. 3: B on 0, 1; A on 2, closed; B on 3, 4. */
	expect(rig, "AAABBAAAB"
		    "BAAABBAAAB"
		    "BBAAABB");
	rig_free(rig);
}

/* A has had its slices of the round, but nobody else may run on CPU 0. */
static void expect_no_cpu_idle(const struct cr_sched_ops *ops, const char *opts)
{
	struct sim_rig *rig = rig_new(ops, opts, 2, TASKS);
	char out[2][128];

	cr_cpus_del(&hog(rig, TOP)->st.core.task.cpus, 1);
	cr_cpus_del(&hog(rig, BOTTOM)->st.core.task.cpus, 0);
	cr_cpus_del(&hog(rig, BOTTOM)->st.core.task.cpus, 0);
	rig_trace(rig, CR_MS, 2, out, 20);
	assert_string_equal(out[0], "AAAAAAAAAAAAAAAAAAAA");
	assert_string_equal(out[1], "BCBCBCBCBCBCBCBCBCBC");
	rig_free(rig);
}

static void masks_let_a_call_run_ahead(void **state)
{
	expect_no_cpu_idle(STAIRCASE("3"));
	expect_no_cpu_idle(RSDL("3", "2ms"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_5_1_from_the_top),
		cmocka_unit_test(table_5_1_from_base_b),
		cmocka_unit_test(rounds_begin_for_all_at_once),
		cmocka_unit_test(a_higher_level_preempts),
		cmocka_unit_test(an_equal_level_waits_for_the_slice),
		cmocka_unit_test(light_again_is_high_again),
		cmocka_unit_test(sleep_keeps_what_was_used),
		cmocka_unit_test(
			staircase_without_preemption_charges_whole_frames),
		cmocka_unit_test(neighbours_share_from_1_2_to_39_40),
		cmocka_unit_test(rsdl_goes_down_a_level_each_quantum),
		cmocka_unit_test(a_closed_level_sends_all_down),
		cmocka_unit_test(a_turn_goes_on_below_a_closed_level),
		cmocka_unit_test(quotas_bound_the_wait_at_the_bottom),
		cmocka_unit_test(rsdl_neighbours_share_by_level),
		cmocka_unit_test(rsdl_without_preemption_charges_whole_frames),
		cmocka_unit_test(masks_let_a_call_run_ahead),
	};

	return cmocka_run_group_tests_name("staircase", tests, NULL, NULL);
}
