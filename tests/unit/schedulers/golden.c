/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden schedules: what fifo, rr, edf, gfl and dbp do, slot by slot.
 */
#include "schedulers/policies.h"
#include "steps.h"

static struct steps *new_steps(const struct cr_sched_ops *ops, const char *opts,
			       unsigned ncpu, bool preemptible)
{
	struct steps *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->ops = ops;
	s->opts = opts;
	s->ncpu = ncpu;
	s->preemptible = preemptible;
	return s;
}

static void expect(struct steps *s, const char *cpu0, const char *cpu1)
{
	steps_run(s, (cr_ns)strlen(cpu0));
	assert_string_equal(s->line[0], cpu0);
	if (cpu1)
		assert_string_equal(s->line[1], cpu1);
	free(s);
}

#define ADD(s, cls, ...)                                                       \
	steps_add((s), (cls), (const struct step_job[]){ __VA_ARGS__ },        \
		  sizeof((const struct step_job[]){ __VA_ARGS__ }) /           \
			  sizeof(struct step_job))

static void fifo_serves_in_order_of_release(void **state)
{
	struct steps *s = new_steps(&cr_sched_fifo, NULL, 1, true);

	ADD(s, CR_SOFT, { 2, 2, 99 });
	ADD(s, CR_SOFT, { 0, 4, 99 });
	ADD(s, CR_SOFT, { 1, 1, 5 }, { 9, 1, 99 });
	expect(s, "BBBBCAA..C.", NULL);
}

static struct steps *two_with_more_frames(const char *order)
{
	static const struct step_job a[] = { { 0, 3, 99 },
					     { 1, 1, 99 },
					     { 4, 1, 99 } };
	static const struct step_job b[] = { { 2, 2, 99 }, { 3, 2, 99 } };
	struct steps *s = new_steps(&cr_sched_fifo, order, 1, true);

	steps_add(s, CR_SOFT, a, 3);
	steps_add(s, CR_SOFT, b, 2);
	return s;
}

/* A call that was served comes back where its next frame has its place. */
static void fifo_goes_by_the_arrival_of_frames(void **state)
{
	expect(two_with_more_frames(NULL), "AAAABBBBA.", NULL);
	expect(two_with_more_frames("order=frame"), "AAAABBBBA.", NULL);
}

/* A call with more frames goes to the tail after each of them. */
static void fifo_by_calls_takes_one_frame_a_turn(void **state)
{
	struct steps *s = new_steps(&cr_sched_fifo, "order=call", 1, true);

	expect(two_with_more_frames("order=call"), "AAABBABBA.", NULL);
	ADD(s, CR_SOFT, { 0, 1, 99 }, { 0, 1, 99 }, { 0, 1, 99 });
	ADD(s, CR_SOFT, { 0, 3, 99 }, { 0, 3, 99 });
	expect(s, "ABBBABBBA.", NULL);
}

/* Frames of one instant: calls take turns, the smaller id first. */
static void fifo_takes_turns_among_frames_of_one_instant(void **state)
{
	struct steps *s = new_steps(&cr_sched_fifo, NULL, 1, true);

	ADD(s, CR_SOFT, { 0, 1, 99 }, { 0, 1, 99 }, { 0, 1, 99 });
	ADD(s, CR_SOFT, { 0, 3, 99 }, { 0, 3, 99 });
	expect(s, "ABBBABBBA.", NULL);
	s = new_steps(&cr_sched_fifo, NULL, 1, true);
	ADD(s, CR_SOFT, { 1, 1, 99 }, { 1, 2, 99 });
	ADD(s, CR_SOFT, { 1, 1, 99 });
	ADD(s, CR_SOFT, { 0, 2, 99 }, { 1, 1, 99 });
	expect(s, "CCABCAA.", NULL);
}

/* Calls of four periods, all behind: more than there are lanes. */
static void fifo_merges_calls_of_many_periods(void **state)
{
	struct steps *s = new_steps(&cr_sched_fifo, NULL, 1, true);

	ADD(s, CR_SOFT, { 0, 9, 99 });
	ADD(s, CR_SOFT, { 1, 1, 99 }, { 8, 1, 99 });
	ADD(s, CR_SOFT, { 2, 1, 99 }, { 6, 1, 99 });
	ADD(s, CR_SOFT, { 3, 1, 99 }, { 5, 1, 99 });
	ADD(s, CR_SOFT, { 4, 1, 99 }, { 4, 1, 99 }, { 7, 1, 99 });
	expect(s, "AAAAAAAAABCDEEDCEB.", NULL);
}

static void fifo_on_two_cpus(void **state)
{
	struct steps *s = new_steps(&cr_sched_fifo, NULL, 2, true);

	ADD(s, CR_SOFT, { 0, 3, 99 });
	ADD(s, CR_SOFT, { 0, 1, 99 });
	ADD(s, CR_SOFT, { 0, 2, 99 });
	expect(s, "AAA.", "BCC.");
}

static void a_mask_is_kept(void **state)
{
	struct steps *s = new_steps(&cr_sched_fifo, NULL, 2, true);

	cr_cpus_del(&ADD(s, CR_SOFT, { 0, 2, 99 })->core.task.cpus, 0);
	cr_cpus_del(&ADD(s, CR_SOFT, { 0, 2, 99 })->core.task.cpus, 0);
	cr_cpus_del(&ADD(s, CR_SOFT, { 1, 1, 99 })->core.task.cpus, 1);
	expect(s, ".C...", "AABB.");
}

/* A slot is 1 ns, the least quantum 1 us: a turn is a thousand slots. */
static void rr_turns_last_a_quantum(void **state)
{
	struct steps *s = new_steps(&cr_sched_rr, "quantum=1us", 1, true);
	char want[STEPS_SLOTS + 1] = "";

	ADD(s, CR_SOFT, { 0, 1500, 9999 });
	ADD(s, CR_SOFT, { 0, 1000, 9999 });
	ADD(s, CR_SOFT, { 500, 700, 9999 });
	/* A 1000, B 1000, C 700 (ends its turn early), A 500 */
	memset(want, 'A', 1000);
	memset(want + 1000, 'B', 1000);
	memset(want + 2000, 'C', 700);
	memset(want + 2700, 'A', 500);
	memset(want + 3200, '.', 100);
	expect(s, want, NULL);
}

/* The rest of a turn is what its earlier frames have left of it. */
static void rr_counts_all_frames_of_a_turn(void **state)
{
	struct steps *s = new_steps(&cr_sched_rr, "quantum=1us", 1, true);
	char want[STEPS_SLOTS + 1] = "";

	ADD(s, CR_SOFT, { 0, 600, 9999 }, { 0, 600, 9999 });
	ADD(s, CR_SOFT, { 0, 500, 9999 });
	memset(want, 'A', 1000);
	memset(want + 1000, 'B', 500);
	memset(want + 1500, 'A', 200);
	memset(want + 1700, '.', 100);
	expect(s, want, NULL);
}

/* Without preemption a turn is as many frames as fit below the quantum: equal
 * time for cheap and costly frames, where fifo gives equal counts. */
static void rr_without_preemption_shares_time(void **state)
{
	static const struct step_job cheap[] = {
		{ 0, 400, 9999 }, { 0, 400, 9999 }, { 0, 400, 9999 },
		{ 0, 400, 9999 }, { 0, 400, 9999 },
	};
	static const struct step_job costly[] = { { 0, 1200, 9999 },
						  { 0, 1200, 9999 } };
	struct steps *s = new_steps(&cr_sched_rr, "quantum=1us", 1, false);
	char want[STEPS_SLOTS + 1] = "";

	steps_add(s, CR_SOFT, cheap, 5);
	steps_add(s, CR_SOFT, costly, 2);
	/* three cheap ones reach the quantum at 1200, then one costly */
	memset(want, 'A', 1200);
	memset(want + 1200, 'B', 1200);
	memset(want + 2400, 'A', 800);
	memset(want + 3200, 'B', 800);
	expect(s, want, NULL);
}

/* Each of n backlogged calls has 1/n of the time, within one quantum. */
static void rr_divides_time_equally(void **state)
{
	static const struct step_job endless[] = { { 0, 9999, 99999 } };
	struct steps *s = new_steps(&cr_sched_rr, "quantum=1us", 1, true);
	int got[3] = { 0, 0, 0 };

	for (unsigned i = 0; i < 3; i++)
		steps_add(s, CR_SOFT, endless, 1);
	steps_run(s, 4000);
	for (int t = 0; t < 4000; t++) {
		got[s->line[0][t] - 'A']++;
		for (unsigned i = 0; i < 3; i++)
			assert_true(abs(3 * got[i] - (t + 1)) <= 3000);
	}
	free(s);
}

static void edf_runs_the_earliest_deadline_and_preempts(void **state)
{
	struct steps *s = new_steps(&cr_sched_edf, NULL, 1, true);

	ADD(s, CR_SOFT, { 0, 4, 20 });
	ADD(s, CR_SOFT, { 1, 2, 10 });
	ADD(s, CR_SOFT, { 2, 1, 15 }, { 3, 1, 5 });
	/* B preempts A at 1; C's second frame waits behind its first */
	expect(s, "ABBCCAAA.", NULL);
}

static void edf_without_preemption_waits_for_the_frame(void **state)
{
	struct steps *s = new_steps(&cr_sched_edf, NULL, 1, false);

	ADD(s, CR_SOFT, { 0, 4, 20 });
	ADD(s, CR_SOFT, { 1, 2, 10 });
	ADD(s, CR_SOFT, { 2, 1, 9 });
	expect(s, "AAAACBB.", NULL);
}

static void edf_ties_go_to_the_smaller_id(void **state)
{
	struct steps *s = new_steps(&cr_sched_edf, NULL, 1, true);

	ADD(s, CR_SOFT, { 1, 1, 10 });
	ADD(s, CR_SOFT, { 0, 3, 10 });
	ADD(s, CR_SOFT, { 0, 1, 10 });
	expect(s, "BABBC.", NULL);
}

static void edf_puts_best_effort_last(void **state)
{
	struct steps *s = new_steps(&cr_sched_edf, NULL, 1, true);

	ADD(s, CR_BE, { 0, 3, 1 });
	ADD(s, CR_SOFT, { 1, 2, 1000 });
	ADD(s, CR_BE, { 0, 1, 1 });
	expect(s, "ABBAAC.", NULL);
}

static void edf_preempts_the_worst_of_two_cpus(void **state)
{
	struct steps *s = new_steps(&cr_sched_edf, NULL, 2, true);

	ADD(s, CR_SOFT, { 0, 3, 10 });
	ADD(s, CR_SOFT, { 0, 3, 20 });
	ADD(s, CR_SOFT, { 1, 2, 15 });
	expect(s, "AAABB.", "BCC...");
}

/* Dhall: little load, but the two light tasks keep both CPUs from the heavy
 * one for a moment too long. */
static void edf_misses_on_dhalls_set(void **state)
{
	struct steps *s = new_steps(&cr_sched_edf, NULL, 2, true);

	ADD(s, CR_SOFT, { 0, 2, 20 });
	ADD(s, CR_SOFT, { 0, 2, 20 });
	ADD(s, CR_SOFT, { 0, 20, 21 });
	steps_run(s, 30);
	assert_int_equal(s->completed, 3);
	assert_int_equal(s->misses, 1);
	free(s);
}

/* --- gfl --- */

static void costs(struct steps *s, cr_ns a, cr_ns b, cr_ns c)
{
	s->task[0].core.task.cost.mean = a;
	s->task[1].core.task.cost.mean = b;
	s->task[2].core.task.cost.mean = c;
}

static void gfl_on_one_cpu_is_edf(void **state)
{
	struct steps *s = new_steps(&cr_sched_gfl, NULL, 1, true);

	ADD(s, CR_SOFT, { 0, 4, 20 });
	ADD(s, CR_SOFT, { 1, 2, 10 });
	ADD(s, CR_SOFT, { 2, 1, 15 }, { 3, 1, 5 });
	costs(s, 4, 2, 1);
	expect(s, "ABBCCAAA.", NULL);
}

/* Points: 19, 19 and 11. The heavy one is first, though its deadline is last.
 */
static void gfl_serves_dhalls_set(void **state)
{
	struct steps *s = new_steps(&cr_sched_gfl, NULL, 2, true);

	ADD(s, CR_SOFT, { 0, 2, 20 });
	ADD(s, CR_SOFT, { 0, 2, 20 });
	ADD(s, CR_SOFT, { 0, 20, 21 });
	costs(s, 2, 2, 20);
	expect(s, "CCCCCCCCCCCCCCCCCCCC.", "AABB.................");
}

/* B's point, 20 - 4 / 2, is before A's, 19 - 1 / 2; best effort has none. */
static void gfl_preempts_by_points(void **state)
{
	struct steps *s = new_steps(&cr_sched_gfl, NULL, 2, true);

	ADD(s, CR_SOFT, { 0, 4, 19 });
	ADD(s, CR_SOFT, { 1, 4, 20 });
	ADD(s, CR_BE, { 0, 4, 20 });
	costs(s, 1, 4, 4);
	expect(s, "AAAACCC.", "CBBBB...");
}

/* --- dbp --- */

/* @n calls with a frame of cost 2 every @slots of that; what is older than a
 * period is lost. */
static struct steps *dbp_calls(const char *opts, unsigned n, cr_ns slots)
{
	enum { JOBS = 20 };
	static struct step_job job[JOBS];
	struct steps *s = new_steps(&cr_sched_dbp, opts, 1, false);
	cr_ns period = 2 * slots;

	s->max_age = period - 1;
	for (unsigned i = 0; i < JOBS; i++) {
		cr_ns at = (cr_ns)i * period;

		job[i] = (struct step_job){ at, 2, at + period };
	}
	for (unsigned i = 0; i < n; i++)
		steps_add(s, CR_SOFT, job, JOBS)->core.task.period = period;
	return s;
}

static void dbp_takes_turns_where_one_of_two_is_enough(void **state)
{
	expect(dbp_calls("m=1,k=2,grace=0ms", 2, 1), "AABBAABBAABB", NULL);
	expect(dbp_calls("m=1,k=3,grace=0ms", 3, 1), "AABBCCAABBCC", NULL);
}

/* Three calls, two frames a period. C is lost in the first, B in the second; by
 * then B and C must not lose the next one, and so on: each loses every third.
 */
static void dbp_loses_every_third_where_two_of_three_are_enough(void **state)
{
	expect(dbp_calls("m=2,k=3,grace=0ms", 3, 2), "AABBCCAABBCCAABBAACCBBCC",
	       NULL);
}

/* All distances are 2: by deadline. From 5 on nobody can be in time, so B comes
 * first, which is 0 away. */
static void dbp_counts_frames_that_wait_too_long(void **state)
{
	struct steps *s =
		new_steps(&cr_sched_dbp, "m=2,k=3,grace=0ms", 1, false);

	ADD(s, CR_SOFT, { 0, 6, 9 });
	ADD(s, CR_SOFT, { 1, 1, 5 });
	ADD(s, CR_SOFT, { 1, 1, 4 });
	ADD(s, CR_SOFT, { 2, 1, 9 });
	for (unsigned i = 1; i < 4; i++)
		s->task[i].core.task.period = i == 1 ? 1 : 100;
	expect(s, "AAAAAABCD.", NULL);
}

static void dbp_puts_best_effort_last(void **state)
{
	struct steps *s = new_steps(&cr_sched_dbp, NULL, 1, true);

	ADD(s, CR_BE, { 0, 3, 1 });
	ADD(s, CR_SOFT, { 1, 2, 1000 });
	ADD(s, CR_BE, { 0, 1, 1 });
	expect(s, "ABBAAC.", NULL);
}

/* Slots between two of @letter, or to the end, at the most. */
static unsigned longest_gap(const char *line, char letter)
{
	unsigned gap = 0, worst = 0;

	for (; *line; line++) {
		gap = *line == letter ? 0 : gap + 1;
		worst = gap > worst ? gap : worst;
	}
	return worst;
}

/* Load 1.5 and an age limit: by deadline alone the task that meets the limit
 * once would meet it every period. */
static void leaves_nobody_without_service(const struct cr_sched_ops *ops,
					  unsigned more)
{
	enum { JOBS = 30, PERIOD = 40, COST = 20, LIMIT = 100 };
	static const cr_ns phase[3] = { 0, 13, 27 };
	static struct step_job job[3][JOBS];
	struct steps *s = new_steps(ops, NULL, 1, false);

	s->max_age = LIMIT;
	for (unsigned t = 0; t < 3; t++) {
		for (unsigned i = 0; i < JOBS; i++) {
			cr_ns at = phase[t] + PERIOD * (cr_ns)i;

			job[t][i] = (struct step_job){ at, COST, at + PERIOD };
		}
		(void)steps_add(s, CR_SOFT, job[t], JOBS);
	}
	steps_run(s, PERIOD * JOBS);
	/* two frames in a row lost, then served: within the limit and a frame
	 */
	for (char letter = 'A'; letter <= 'C'; letter++)
		assert_true(longest_gap(s->line[0], letter) <=
			    LIMIT + COST + more * PERIOD);
	free(s);
}

static void fifo_in_overload_leaves_nobody_without_service(void **state)
{
	leaves_nobody_without_service(&cr_sched_fifo, 0);
}

static void by_deadline_overload_leaves_nobody_without_service(void **state)
{
	leaves_nobody_without_service(&cr_sched_edf, 0);
	leaves_nobody_without_service(&cr_sched_gfl, 0);
	/* two more are lost until a call has failed as others have */
	leaves_nobody_without_service(&cr_sched_dbp, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifo_serves_in_order_of_release),
		cmocka_unit_test(fifo_goes_by_the_arrival_of_frames),
		cmocka_unit_test(fifo_by_calls_takes_one_frame_a_turn),
		cmocka_unit_test(fifo_takes_turns_among_frames_of_one_instant),
		cmocka_unit_test(fifo_merges_calls_of_many_periods),
		cmocka_unit_test(fifo_on_two_cpus),
		cmocka_unit_test(a_mask_is_kept),
		cmocka_unit_test(rr_turns_last_a_quantum),
		cmocka_unit_test(rr_counts_all_frames_of_a_turn),
		cmocka_unit_test(rr_without_preemption_shares_time),
		cmocka_unit_test(rr_divides_time_equally),
		cmocka_unit_test(edf_runs_the_earliest_deadline_and_preempts),
		cmocka_unit_test(edf_without_preemption_waits_for_the_frame),
		cmocka_unit_test(edf_ties_go_to_the_smaller_id),
		cmocka_unit_test(edf_puts_best_effort_last),
		cmocka_unit_test(edf_preempts_the_worst_of_two_cpus),
		cmocka_unit_test(edf_misses_on_dhalls_set),
		cmocka_unit_test(gfl_on_one_cpu_is_edf),
		cmocka_unit_test(gfl_serves_dhalls_set),
		cmocka_unit_test(gfl_preempts_by_points),
		cmocka_unit_test(dbp_takes_turns_where_one_of_two_is_enough),
		cmocka_unit_test(
			dbp_loses_every_third_where_two_of_three_are_enough),
		cmocka_unit_test(dbp_counts_frames_that_wait_too_long),
		cmocka_unit_test(dbp_puts_best_effort_last),
		cmocka_unit_test(
			fifo_in_overload_leaves_nobody_without_service),
		cmocka_unit_test(
			by_deadline_overload_leaves_nobody_without_service),
	};

	return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
