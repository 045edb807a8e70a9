/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden schedules of cbs, grub and srpt, worked out by hand.
 */
#include "schedulers/policies.h"
#include "steps.h"

static struct steps *new_steps(const struct cr_sched_ops *ops, const char *opts,
			       unsigned ncpu)
{
	struct steps *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->ops = ops;
	s->opts = opts;
	s->ncpu = ncpu;
	s->preemptible = true;
	return s;
}

static void expect(struct steps *s, const char *line)
{
	steps_run(s, (cr_ns)strlen(line));
	assert_string_equal(s->line[0], line);
	free(s);
}

/* A task with a budget (its estimate) of @cost every @period. */
static struct cr_task *add(struct steps *s, enum cr_class cls, cr_ns cost,
			   cr_ns period, const struct step_job *job, unsigned n)
{
	struct cr_task *t = &steps_add(s, cls, job, n)->core.task;

	t->cost.mean = t->cost.p99 = cost;
	t->period = t->rel_deadline = period;
	return t;
}

#define JOBS(...)                                                              \
	(const struct step_job[]){ __VA_ARGS__ },                              \
		sizeof((const struct step_job[]){ __VA_ARGS__ }) /             \
			sizeof(struct step_job)

/* --- cbs --- */

/* A: 4 every 7. B: 3 every 8, but its first job takes 4, so it goes on at 11
 * with the deadline 19 instead of 11. At 13 the budget left is 2, less than
 * (19 - 13) 3 / 8: it stays, and at 15 the deadline is 27. */
static void an_overrun_is_served_by_a_later_deadline(void **state)
{
	static const char *const reserve[] = { "reserve=soft", "reserve=hard" };

	for (unsigned i = 0; i < 2; i++) {
		struct steps *s = new_steps(&cr_sched_cbs, reserve[i], 1);

		add(s, CR_HARD, 4, 7,
		    JOBS({ 0, 4, 7 }, { 7, 4, 14 }, { 14, 4, 21 },
			 { 21, 4, 28 }));
		add(s, CR_SOFT, 3, 8, JOBS({ 3, 4, 11 }, { 13, 3, 21 }));
		expect(s, "AAAABBBAAAAB.BBAAAAB.AAAA");
	}
}

/* The same by the jobs' own deadlines: B harms A. */
static void under_edf_the_overrun_harms_the_other(void **state)
{
	struct steps *s = new_steps(&cr_sched_edf, NULL, 1);

	add(s, CR_HARD, 4, 7, JOBS({ 0, 4, 7 }, { 7, 4, 14 }));
	add(s, CR_SOFT, 3, 8, JOBS({ 3, 8, 11 }));
	steps_run(s, 20);
	assert_string_equal(s->line[0], "AAAABBBBBBBBAAAA....");
	assert_int_equal(s->misses, 2);
	free(s);
	s = new_steps(&cr_sched_cbs, NULL, 1);
	add(s, CR_HARD, 4, 7, JOBS({ 0, 4, 7 }, { 7, 4, 14 }));
	add(s, CR_SOFT, 3, 8, JOBS({ 3, 8, 11 }));
	steps_run(s, 20);
	assert_string_equal(s->line[0], "AAAABBBAAAABBBBB....");
	assert_int_equal(s->misses, 1);
	free(s);
}

/* 2 every 5, and a job of 5: at once, or 2 in each period. */
static void a_hard_reservation_gives_no_more_than_the_budget(void **state)
{
	struct steps *s = new_steps(&cr_sched_cbs, "reserve=hard", 1);

	add(s, CR_SOFT, 2, 5, JOBS({ 0, 5, 5 }));
	expect(s, "AA...AA...A...");
	s = new_steps(&cr_sched_cbs, "reserve=soft", 1);
	add(s, CR_SOFT, 2, 5, JOBS({ 0, 5, 5 }));
	expect(s, "AAAAA.........");
	/* what it may not have is there for best effort */
	s = new_steps(&cr_sched_cbs, "reserve=hard", 1);
	add(s, CR_SOFT, 2, 5, JOBS({ 0, 5, 5 }));
	add(s, CR_BE, 1, 1000, JOBS({ 0, 5, 5 }));
	expect(s, "AABBBAABB.A...");
}

/* 2 every 5 and a half: a job of 3 is within the budget. */
static void a_margin_makes_budgets_larger(void **state)
{
	struct steps *s =
		new_steps(&cr_sched_cbs, "reserve=hard,margin=50%", 1);

	add(s, CR_SOFT, 2, 5, JOBS({ 0, 3, 5 }, { 1, 1, 6 }));
	expect(s, "AAA..A....");
}

/* --- grub --- */

/* The example of Linux's sched-deadline.rst: two tasks of 4 every 8, A blocks
 * after 2. Its virtual time is 4: from then on B's budget lasts twice as long,
 * up to its deadline. */
static struct steps *linux_example(const struct cr_sched_ops *ops)
{
	static const struct step_job a[] = { { 0, 2, 8 }, { 8, 2, 16 } };
	static const struct step_job b[] = { { 0, 20, 8 } };
	struct steps *s = new_steps(ops, "reserve=hard", 1);

	add(s, CR_SOFT, 4, 8, a, 2);
	add(s, CR_SOFT, 4, 8, b, 1);
	return s;
}

static void grub_lends_what_a_blocked_task_leaves(void **state)
{
	expect(linux_example(&cr_sched_grub), "AABBBBBBAABBBBBB");
	expect(linux_example(&cr_sched_cbs), "AABBBB..AABBBB..");
}

/* B alone, 2 every 8: it pays a quarter, and its deadline at 8 is 16, before
 * A's. Under cbs it is 40 by then. */
static void under_grub_idle_time_is_not_paid_back(void **state)
{
	static const struct {
		const struct cr_sched_ops *ops;
		const char *line;
	} cases[] = {
		{ &cr_sched_grub, "BBBBBBBBBBBBAAAA." },
		{ &cr_sched_cbs, "BBBBBBBBAAAABBBB." },
	};

	for (unsigned i = 0; i < 2; i++) {
		struct steps *s = new_steps(cases[i].ops, NULL, 1);

		add(s, CR_SOFT, 4, 16, JOBS({ 8, 4, 24 }));
		add(s, CR_SOFT, 2, 8, JOBS({ 0, 12, 8 }));
		expect(s, cases[i].line);
	}
}

/* --- srpt --- */

/* B has less left than A; C as much as A, which came first. D is a call. */
static void the_shortest_rest_of_best_effort_runs_first(void **state)
{
	struct steps *s = new_steps(&cr_sched_srpt, NULL, 1);

	add(s, CR_BE, 4, 1000, JOBS({ 0, 4, 0 }));
	add(s, CR_BE, 1, 1000, JOBS({ 1, 1, 0 }));
	add(s, CR_BE, 3, 1000, JOBS({ 2, 3, 0 }));
	expect(s, "ABAAACCC.");
	s = new_steps(&cr_sched_srpt, NULL, 1);
	add(s, CR_BE, 4, 1000, JOBS({ 0, 4, 0 }));
	add(s, CR_BE, 1, 1000, JOBS({ 1, 1, 0 }));
	add(s, CR_BE, 3, 1000, JOBS({ 2, 3, 0 }));
	add(s, CR_SOFT, 1, 1000, JOBS({ 3, 1, 1003 }));
	expect(s, "ABADAACCC.");
}

/* Without cuts the one that has begun ends first. */
static void without_preemption_the_shortest_job_is_next(void **state)
{
	struct steps *s = new_steps(&cr_sched_srpt, NULL, 1);

	s->preemptible = false;
	add(s, CR_BE, 4, 1000, JOBS({ 0, 4, 0 }));
	add(s, CR_BE, 3, 1000, JOBS({ 1, 3, 0 }));
	add(s, CR_BE, 1, 1000, JOBS({ 2, 1, 0 }));
	expect(s, "AAAACBBB.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_overrun_is_served_by_a_later_deadline),
		cmocka_unit_test(under_edf_the_overrun_harms_the_other),
		cmocka_unit_test(
			a_hard_reservation_gives_no_more_than_the_budget),
		cmocka_unit_test(a_margin_makes_budgets_larger),
		cmocka_unit_test(grub_lends_what_a_blocked_task_leaves),
		cmocka_unit_test(under_grub_idle_time_is_not_paid_back),
		cmocka_unit_test(the_shortest_rest_of_best_effort_runs_first),
		cmocka_unit_test(without_preemption_the_shortest_job_is_next),
	};

	return cmocka_run_group_tests_name("servers", tests, NULL, NULL);
}
