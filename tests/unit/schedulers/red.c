/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden schedules of red, worked out by hand.
 */
#include "schedulers/policies.h"
#include "steps.h"

static struct steps *new_steps(const char *opts)
{
	struct steps *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->ops = &cr_sched_red;
	s->opts = opts;
	s->ncpu = 1;
	s->preemptible = true;
	return s;
}

static void expect(struct steps *s, const char *line)
{
	steps_run(s, (cr_ns)strlen(line));
	assert_string_equal(s->line[0], line);
	free(s);
}

/* A task whose jobs are expected to take @cost and are worth @weight. */
static struct cr_task *add(struct steps *s, cr_ns cost, uint32_t weight,
			   const struct step_job *job, unsigned n)
{
	struct cr_task *t = &steps_add(s, CR_SOFT, job, n)->core.task;

	t->cost.mean = t->cost.p99 = cost;
	t->weight = weight;
	return t;
}

#define JOBS(...)                                                              \
	(const struct step_job[]){ __VA_ARGS__ },                              \
		sizeof((const struct step_job[]){ __VA_ARGS__ }) /             \
			sizeof(struct step_job)

/* Both fit: as edf, with its preemption. */
static void what_fits_runs_by_deadline(void **state)
{
	struct steps *s = new_steps(NULL);

	add(s, 4, 1, JOBS({ 0, 4, 20 }));
	add(s, 2, 9, JOBS({ 1, 2, 10 }));
	add(s, 1, 1, JOBS({ 2, 1, 8 }));
	expect(s, "ABCBAAA.");
}

/* A and B do not fit together, A is expected to take 5. */
static void who_gave_way_comes_back_when_there_is_slack(void **state)
{
	struct steps *s = new_steps(NULL);

	add(s, 5, 9, JOBS({ 0, 1, 6 })); /* takes 1 */
	add(s, 5, 1, JOBS({ 0, 5, 8 }));
	expect(s, "ABBBBB.");
}

static void what_has_no_time_left_runs_when_nobody_else_wants_to(void **state)
{
	struct steps *s = new_steps(NULL);

	add(s, 5, 9, JOBS({ 0, 5, 6 }));
	add(s, 5, 1, JOBS({ 0, 5, 8 }));
	expect(s, "AAAAABBBBB.");
}

/* C comes: B's frame is dropped for it, and B's next one is in time. */
static void what_has_no_time_left_is_dropped_for_others(void **state)
{
	struct steps *s = new_steps(NULL);

	add(s, 5, 9, JOBS({ 0, 5, 6 }));
	add(s, 5, 1, JOBS({ 0, 5, 8 }, { 7, 5, 20 }));
	add(s, 5, 9, JOBS({ 4, 5, 12 }));
	expect(s, "AAAAACCCCCBBBBB.");
}

/* B is worth more than what is left of A, which has begun. */
static void a_running_job_gives_way_to_a_more_valuable_one(void **state)
{
	struct steps *s = new_steps(NULL);

	add(s, 10, 1, JOBS({ 0, 10, 10 }));
	add(s, 9, 99, JOBS({ 2, 9, 12 }));
	expect(s, "AABBBBBBBBBAAAAAAAA.");
	/* or is dropped half done, and the frame after it is in time */
	s = new_steps(NULL);
	add(s, 10, 1, JOBS({ 0, 10, 10 }, { 14, 2, 60 }));
	add(s, 9, 99, JOBS({ 2, 9, 12 }));
	add(s, 3, 99, JOBS({ 5, 3, 30 }));
	expect(s, "AABBBBBBBBBCCCAA.");
}

/* Where frames are not cut, what runs ends first: C's frames have no time left
 * behind A and B. The first is dropped for B, the other is late. */
static void without_preemption_who_runs_ends_first(void **state)
{
	struct steps *s = new_steps(NULL);

	s->preemptible = false;
	add(s, 10, 1, JOBS({ 0, 10, 10 }));
	add(s, 9, 9, JOBS({ 2, 9, 30 }));
	add(s, 3, 99, JOBS({ 3, 3, 12 }, { 11, 2, 14 }));
	expect(s, "AAAAAAAAAABBBBBBBBBCC.");
}

/* B is soft, and all fits until C comes; then A or C, which are hard, has to
 * give way: the time that B has had is gone. Without B nobody would. */
static void a_hard_job_can_lose_for_what_a_soft_one_has_had(void **state)
{
	struct steps *s = new_steps(NULL);

	add(s, 5, 1, JOBS({ 0, 5, 10 }))->cls = CR_HARD;
	add(s, 5, 1, JOBS({ 0, 5, 9 }));
	add(s, 2, 1, JOBS({ 5, 2, 8 }))->cls = CR_HARD;
	expect(s, "BBBBBCCAAAAA.");
	s = new_steps(NULL);
	add(s, 5, 1, JOBS({ 0, 5, 10 }))->cls = CR_HARD;
	add(s, 2, 1, JOBS({ 5, 2, 8 }))->cls = CR_HARD;
	expect(s, "AAAAABB.");
}

/* Worth the same as two cheap frames together, a costly one gives way; by the
 * value of time it does not. */
static void a_frame_or_its_time_is_of_value(void **state)
{
	struct steps *s = new_steps("value=frame");

	add(s, 8, 2, JOBS({ 0, 8, 12 }));
	add(s, 4, 2, JOBS({ 0, 4, 13 }));
	add(s, 4, 2, JOBS({ 0, 4, 14 }));
	expect(s, "BBBBCCCCAAAAAAAA.");
	s = new_steps("value=time");
	add(s, 8, 3, JOBS({ 0, 8, 12 }));
	add(s, 4, 2, JOBS({ 0, 4, 13 }));
	add(s, 4, 2, JOBS({ 0, 4, 14 }));
	expect(s, "AAAAAAAABBBBCCCC.");
}

static void a_tolerance_is_not_late(void **state)
{
	struct steps *s = new_steps("tolerance=4ns");

	add(s, 5, 9, JOBS({ 0, 5, 6 }));
	add(s, 5, 1, JOBS({ 0, 5, 8 }));
	add(s, 5, 1, JOBS({ 4, 5, 12 }));
	/* B ends at 10 <= 8 + 4, C at 15 <= 12 + 4 */
	expect(s, "AAAAABBBBBCCCCC.");
}

/* 13 calls, worth the same, of which 10 fit in each period: the losses go
 * round. */
static void calls_of_equal_value_lose_in_turns(void **state)
{
	enum { CALLS = 13, ROUNDS = 26, COST = 10, PERIOD = 100 };
	static struct step_job job[CALLS][ROUNDS];
	struct steps *s = new_steps(NULL);

	for (unsigned i = 0; i < CALLS; i++) {
		for (unsigned k = 0; k < ROUNDS; k++) {
			cr_ns at = PERIOD * (cr_ns)k;

			job[i][k] = (struct step_job){ at, COST, at + PERIOD };
		}
		add(s, COST, 1, job[i], ROUNDS);
	}
	steps_run(s, PERIOD * ROUNDS);
	for (char c = 'A'; c < 'A' + CALLS; c++) {
		unsigned slots = 0;

		for (unsigned k = 0; k < PERIOD * ROUNDS; k++)
			slots += s->line[0][k] == c;
		/* 20 frames of 26, but for those of one round */
		assert_in_range(slots / COST, 19, 21);
	}
	assert_int_equal(s->misses, 0);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_runs_by_deadline),
		cmocka_unit_test(who_gave_way_comes_back_when_there_is_slack),
		cmocka_unit_test(
			what_has_no_time_left_runs_when_nobody_else_wants_to),
		cmocka_unit_test(what_has_no_time_left_is_dropped_for_others),
		cmocka_unit_test(
			a_running_job_gives_way_to_a_more_valuable_one),
		cmocka_unit_test(without_preemption_who_runs_ends_first),
		cmocka_unit_test(
			a_hard_job_can_lose_for_what_a_soft_one_has_had),
		cmocka_unit_test(a_frame_or_its_time_is_of_value),
		cmocka_unit_test(a_tolerance_is_not_late),
		cmocka_unit_test(calls_of_equal_value_lose_in_turns),
	};

	return cmocka_run_group_tests_name("red", tests, NULL, NULL);
}
