/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stealing in the simulator, slot by slot: which task is stolen, whence, and by
 * which CPU, and what comes along. A run queue for each CPU; tasks join the
 * first and the second in turn.
 */
#include "schedulers/policies.h"
#include "sim_rig.h"

#define JOBS(rig, ...)                                                         \
	rig_add_jobs((rig), (const struct sim_job[]){ __VA_ARGS__ },           \
		     sizeof((const struct sim_job[]){ __VA_ARGS__ }) /         \
			     sizeof(struct sim_job))

#define LATER 1000

static struct sim_rig *rig_of(const struct cr_sched_ops *ops, unsigned ncpu)
{
	struct sim_rig *rig = rig_new(ops, NULL, ncpu, 10);

	rig->cfg.core.cpus_per_rq = 1;
	return rig;
}

static void expect(struct sim_rig *rig, const char *cpu0, const char *cpu1)
{
	char line[2][128];

	rig_trace(rig, 5, 2, line, (unsigned)strlen(cpu0));
	assert_string_equal(line[0], cpu0);
	assert_string_equal(line[1], cpu1);
	rig_free(rig);
}

/* A, C and E are of the first queue, B and D, of the second, come later. */
static struct sim_rig *three_and_none(const struct cr_sched_ops *ops)
{
	static const struct sim_job job[] = {
		{ 0, 10, 20 }, { LATER, 5, LATER + 5 },
		{ 0, 5, 50 },  { LATER, 5, LATER + 5 },
		{ 0, 5, 80 },
	};
	struct sim_rig *rig = rig_of(ops, 2);

	for (unsigned i = 0; i < 5; i++)
		rig_add_jobs(rig, &job[i], 1);
	return rig;
}

static void the_latest_of_the_queue_is_taken(void **state)
{
	expect(three_and_none(&cr_sched_edf), "AACE..", "......");
	expect(three_and_none(&cr_sched_edf_steal), "AA....", "EC....");
}

/* E's second frame comes at 20, where it is now; A's, too. */
static void who_was_taken_stays(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_steal, 2);

	JOBS(rig, { 0, 10, 20 }, { 20, 10, 40 });
	JOBS(rig, { LATER, 5, LATER + 5 });
	JOBS(rig, { 0, 5, 30 }, { 20, 10, 50 });
	expect(rig, "AA..AA..", "C...CC..");
}

/* Queues: A and D on the first, B and E on the second, C on the third. C is
 * done at 5 and finds D, and E and F: the longer queue is the second. */
static void the_longest_queue_is_asked_first(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_steal, 3);
	char line[3][128];

	JOBS(rig, { 0, 20, 30 });
	JOBS(rig, { 0, 20, 30 });
	JOBS(rig, { 0, 5, 30 });
	JOBS(rig, { 0, 5, 90 });
	JOBS(rig, { 0, 5, 40 });
	JOBS(rig, { LATER, 5, LATER + 5 });
	JOBS(rig, { LATER, 5, LATER + 5 });
	JOBS(rig, { 0, 5, 50 });
	rig_trace(rig, 5, 3, line, 6);
	assert_string_equal(line[0], "AAAA..");
	assert_string_equal(line[1], "BBBB..");
	assert_string_equal(line[2], "CHDE..");
	rig_free(rig);
}

/* Queues: A and D on the first, B on the second, C and F on the third. B is
 * done at 5 and finds D and F, as live workers do: behind its own, the third
 * queue comes first. */
static void of_equal_queues_the_next_neighbour_is_asked(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_steal, 3);
	char line[3][128];

	JOBS(rig, { 0, 20, 30 });
	JOBS(rig, { 0, 5, 30 });
	JOBS(rig, { 0, 20, 30 });
	JOBS(rig, { 0, 5, 60 });
	JOBS(rig, { LATER, 5, LATER + 5 });
	JOBS(rig, { 0, 5, 70 });
	rig_trace(rig, 5, 3, line, 6);
	assert_string_equal(line[1], "BFD...");
	rig_free(rig);
}

static void only_here(struct rig_task *r)
{
	cr_cpus_del(&r->st.core.task.cpus, 1);
}

static void masks_are_kept(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_steal, 2);

	assert_non_null(rig_add_with(rig, 100, 10, only_here));
	assert_non_null(rig_add_with(rig, 100, 10, only_here));
	expect(rig, "AABB..", "......");
}

static void be_hard(struct rig_task *r)
{
	r->st.core.task.cls = CR_HARD;
}

/* Hard ones were admitted to where they are, and to nobody's late frames. */
static void hard_tasks_neither_go_nor_get_company(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_steal, 2);

	assert_non_null(rig_add_with(rig, 100, 30, be_hard)); /* first */
	assert_non_null(rig_add(rig, 100, 10));		      /* second */
	assert_non_null(rig_add_with(rig, 100, 10, be_hard)); /* second */
	assert_non_null(rig_add(rig, 100, 5));		      /* second */
	expect(rig, "AAAAAA....", "BBCCD.....");
}

/* A move is charged as one between CPUs of a queue. C ran on the
 * first CPU at 5; at 20 A is before it there, so it moves. */
static void a_move_is_a_migration(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_steal, 2);
	struct rig_task *c;

	rig->cfg.overhead.migration = 5;
	JOBS(rig, { 0, 5, 10 }, { 20, 20, 40 });
	JOBS(rig, { 0, 15, 30 }, { LATER, 5, LATER + 5 });
	c = JOBS(rig, { 0, 5, 40 }, { 20, 5, 60 });
	sim_run(rig->sim, 20);
	assert_int_equal(sim_cpu_stats(rig->sim, 0).migrations, 0);
	sim_run(rig->sim, 40);
	assert_int_equal(c->done, 2);
	assert_int_equal(c->response, 10);
	assert_int_equal(sim_cpu_stats(rig->sim, 1).migrations, 1);
	rig_free(rig);
}

/* B is done at 20. C, which is due last and taken first, is too old by then:
 * so E is taken as well, at once. */
static void who_stole_what_is_too_old_steals_again(void **state)
{
	struct sim_rig *rig = rig_of(&cr_sched_edf_steal, 2);

	rig->cfg.core.max_age[CR_SOFT] = 18;
	JOBS(rig, { 0, 30, 40 });
	JOBS(rig, { 0, 20, 40 });
	JOBS(rig, { 0, 5, 200 });
	JOBS(rig, { LATER, 5, LATER + 5 });
	JOBS(rig, { 15, 10, 60 });
	expect(rig, "AAAAAA....", "BBBBEE....");
}

static void a_stealing_policy_can_be_switched_to(void **state)
{
	struct sim_rig *rig = three_and_none(&cr_sched_edf);

	sim_run(rig->sim, 5);
	assert_int_equal(sim_switch(rig->sim, &cr_sched_edf_steal, NULL, NULL),
			 0);
	expect(rig, "AE....", "C.....");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_latest_of_the_queue_is_taken),
		cmocka_unit_test(who_was_taken_stays),
		cmocka_unit_test(the_longest_queue_is_asked_first),
		cmocka_unit_test(of_equal_queues_the_next_neighbour_is_asked),
		cmocka_unit_test(masks_are_kept),
		cmocka_unit_test(hard_tasks_neither_go_nor_get_company),
		cmocka_unit_test(a_move_is_a_migration),
		cmocka_unit_test(who_stole_what_is_too_old_steals_again),
		cmocka_unit_test(a_stealing_policy_can_be_switched_to),
	};

	return cmocka_run_group_tests_name("steal", tests, NULL, NULL);
}
