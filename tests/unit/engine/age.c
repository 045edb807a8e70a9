/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames that are too old when their turn comes: by a limit, by the default
 * limit, which follows the deadline, or because the policy says so.
 */
#include "core_fixture.h"
#include "schedulers/policies.h"

static void old_frames_are_shed_and_counted(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_fifo,
				   .ncpu = 1,
				   .max_age = { [CR_SOFT] = 30 } };
	struct core_fixture g;

	open_core_joined(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 0, 20);
	(void)frame(&g, 1, 25);
	/* 31 old: shed; its next one is 11 old: fine */
	assert_int_equal(pick(&g, 0, 31), 0);
	assert_int_equal(g.s[0].task.core.task.job.seq, 1);
	assert_false(g.s[0].task.core.expired);
	assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], 1);
	assert_int_equal(core_counts(g.core, core_rq(g.core, 0)).expired, 1);
	assert_false(stop(&g, 0, 40));
	/* everything too old: nothing to run, and the tasks are asleep */
	assert_int_equal(pick(&g, 0, 100), -1);
	assert_int_equal(g.s[1].shed[CR_OUT_EXPIRED], 1);
	assert_int_equal(g.s[1].task.core.task.state, CR_IDLE);
	assert_int_equal(core_rq(g.core, 0)->nqueued, 0);
	close_core(&g, 100);
}

static const struct core_config by_deadline = {
	.ops = &cr_sched_fifo,
	.ncpu = 1,
	.max_age = { CORE_AGE_AUTO, CORE_AGE_AUTO, CORE_AGE_AUTO },
};

/* Is the only frame of task 0, which came at 0, run at @age? */
static bool is_run_at(cr_ns age, enum cr_class cls, cr_ns deadline,
		      cr_ns period)
{
	struct core_fixture g;
	struct cr_task *t;
	bool run;

	open_core(&g, by_deadline);
	t = &g.s[0].task.core.task;
	t->cls = cls;
	t->period = period;
	t->rel_deadline = g.s[0].rel_deadline = deadline;
	join(&g, 0);
	assert_true(frame(&g, 0, 0));
	run = pick(&g, 0, age) == 0;
	assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], !run);
	if (run)
		(void)stop(&g, 0, age);
	close_core(&g, age);
	return run;
}

static void by_default_the_limit_follows_the_deadline(void **state)
{
	static const struct {
		enum cr_class cls;
		unsigned deadline, period, limit; /* ms */
	} rows[] = {
		{ CR_SOFT, 20, 20, 80 },   { CR_HARD, 20, 20, 80 },
		{ CR_SOFT, 10, 10, 40 },   { CR_SOFT, 5, 20, 80 },
		{ CR_SOFT, 15, 10, 60 },   { CR_SOFT, 30, 30, 90 },
		{ CR_SOFT, 60, 60, 90 },   { CR_SOFT, 90, 20, 90 },
		{ CR_SOFT, 200, 20, 200 }, { CR_SOFT, 120, 120, 120 },
		{ CR_BE, 20, 20, 90 },	   { CR_BE, 200, 10, 90 },
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_ns deadline = rows[i].deadline * CR_MS;
		cr_ns period = rows[i].period * CR_MS;
		cr_ns limit = rows[i].limit * CR_MS;
		const struct cr_task t = { .cls = rows[i].cls,
					   .rel_deadline = deadline,
					   .period = period };

		assert_int_equal(core_age_limit(CORE_AGE_AUTO, &t), limit);
		assert_true(is_run_at(limit, t.cls, deadline, period));
		assert_false(is_run_at(limit + 1, t.cls, deadline, period));
		assert_int_equal(core_age_limit(30, &t), 30);
		assert_true(core_age_limit(0, &t) == CR_NEVER);
	}
}

/* As if its sender were ahead by @rel_deadline: it is not late before that. */
static void by_default_what_came_ahead_of_time_is_not_old(void **state)
{
	struct core_fixture g;

	open_core(&g, by_deadline);
	g.s[0].rel_deadline = 130 * CR_MS;
	join(&g, 0);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 0, 1);
	assert_int_equal(pick(&g, 0, 130 * CR_MS), 0);
	assert_true(stop(&g, 0, 130 * CR_MS + 2));
	assert_int_equal(pick(&g, 0, 130 * CR_MS + 2), -1);
	assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], 1);
	close_core(&g, 200 * CR_MS);
}

static void by_default_conversions_are_never_old(void **state)
{
	struct core_fixture g;

	open_core(&g, by_deadline);
	g.s[0].task.core.patient = true;
	join(&g, 0);
	(void)frame(&g, 0, 0);
	assert_int_equal(pick(&g, 0, 60 * CR_SEC), 0);
	(void)stop(&g, 0, 60 * CR_SEC);
	close_core(&g, 60 * CR_SEC);
}

static void old_frames_are_handed_out_marked_to_conceal(void **state)
{
	struct core_config cfg = { .ops = &cr_sched_edf,
				   .ncpu = 1,
				   .max_age = { [CR_SOFT] = 30 },
				   .expired = {
					   [CR_SOFT] = CORE_EXPIRED_CONCEAL } };
	struct core_fixture g;

	open_core_joined(&g, cfg);
	(void)frame(&g, 0, 0);
	(void)frame(&g, 0, 20);
	assert_int_equal(pick(&g, 0, 50), 0);
	assert_true(g.s[0].task.core.expired);
	assert_true(stop(&g, 0, 50));
	assert_int_equal(pick(&g, 0, 50), 0);
	assert_false(g.s[0].task.core.expired);
	(void)stop(&g, 0, 51);
	assert_int_equal(core_counts(g.core, core_rq(g.core, 0)).concealed, 1);
	close_core(&g, 51);
}

static struct cr_task *give_up_all(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = cr_sched_fifo.pick(rq, cpu, now);

	if (t)
		t->give_up = true;
	return t;
}

/* Nothing is spent on it, whatever is done with what is too old, and it counts
 * as what it is. A digit or a file is run all the same. */
static void what_a_policy_gives_up_is_shed(void **state)
{
	struct cr_sched_ops ops = cr_sched_fifo;
	struct core_config cfg = {
		.ops = &ops,
		.ncpu = 1,
		.max_age = { [CR_SOFT] = 30 },
		.expired = { [CR_SOFT] = CORE_EXPIRED_CONCEAL },
	};
	struct core_counts n;
	struct core_fixture g;

	ops.pick = give_up_all;
	open_core(&g, cfg);
	g.s[1].must_keep = true;
	g.s[2].task.core.patient = true;
	for (unsigned i = 0; i < 3; i++)
		join(&g, i);
	(void)frame(&g, 0, 0);
	assert_int_equal(pick(&g, 0, 1), -1);
	(void)frame(&g, 0, 2);
	assert_int_equal(pick(&g, 0, 90), -1); /* old, too */
	assert_int_equal(g.s[0].shed[CR_OUT_SHED], 2);
	assert_int_equal(g.s[0].shed[CR_OUT_EXPIRED], 0);
	for (unsigned i = 1; i < 3; i++) {
		(void)frame(&g, i, 100 + 10 * i);
		assert_int_equal(pick(&g, 0, 101 + 10 * i), i);
		assert_false(stop(&g, 0, 102 + 10 * i));
	}
	n = core_counts(g.core, core_rq(g.core, 0));
	assert_int_equal(n.given_up, 2);
	assert_int_equal(n.expired + n.shed + n.concealed, 0);
	assert_int_equal(n.picks, 2);
	close_core(&g, 130);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_frames_are_shed_and_counted),
		cmocka_unit_test(by_default_the_limit_follows_the_deadline),
		cmocka_unit_test(by_default_what_came_ahead_of_time_is_not_old),
		cmocka_unit_test(by_default_conversions_are_never_old),
		cmocka_unit_test(old_frames_are_handed_out_marked_to_conceal),
		cmocka_unit_test(what_a_policy_gives_up_is_shed),
	};

	return cmocka_run_group_tests_name("age", tests, NULL, NULL);
}
