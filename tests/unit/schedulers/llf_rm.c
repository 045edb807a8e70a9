/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llf and rm slot by slot, and rm's admission number by number.
 */
#include <errno.h>

#include "schedulers/policies.h"
#include "sim_rig.h"

static struct sim_rig *rig_on(const struct cr_sched_ops *ops, const char *opts,
			      unsigned ncpu)
{
	return rig_new(ops, opts, ncpu, 16);
}

static void expect(struct sim_rig *rig, const char *cpu0, const char *cpu1)
{
	char line[2][128];

	rig_trace(rig, 10, cpu1 ? 2 : 1, line, (unsigned)strlen(cpu0));
	assert_string_equal(line[0], cpu0);
	if (cpu1)
		assert_string_equal(line[1], cpu1);
	rig_free(rig);
}

static void hard(struct rig_task *r)
{
	r->st.core.task.cls = CR_HARD;
}

static void best_effort(struct rig_task *r)
{
	r->st.core.task.cls = CR_BE;
}

/* Slots of 10. A: 2 of 6, laxity 4; B: 4 of 7, laxity 3. */
static void llf_lets_equals_take_turns_of_a_grain(void **state)
{
	struct sim_rig *rig = rig_on(&cr_sched_llf, "granularity=10ns", 1);

	(void)rig_add(rig, 60, 20);
	(void)rig_add(rig, 70, 40);
	/* B; at 10 both have 3 slots, and A the earlier deadline */
	expect(rig, "BABABB", NULL);
}

static void rm_puts_class_before_period(void **state)
{
	struct sim_rig *rig = rig_on(&cr_sched_rm, NULL, 1);

	(void)rig_add(rig, 40, 10);
	(void)rig_add_with(rig, 100, 30, hard);
	(void)rig_add_with(rig, 20, 10, best_effort);
	(void)rig_add(rig, 50, 10);
	expect(rig, "BBBAADDCAC", NULL);
}

/* --- rm's admission --- */

static int ask(struct sim_rig *rig, cr_ns period, cr_ns cost, enum cr_class cls,
	       struct cr_verdict *v)
{
	struct cr_task t = { .id = 100,
			     .cls = cls,
			     .period = period,
			     .rel_deadline = period,
			     .cost = { .mean = cost, .p99 = cost },
			     .weight = 1024 };

	rig_start(rig);
	cr_cpus_add(&t.cpus, 0);
	return core_admit(sim_core(rig->sim), &t, v);
}

static struct sim_rig *market(const char *opts, enum sim_preempt preempt)
{
	struct sim_rig *rig = rig_on(&cr_sched_rm, opts, 1);

	rig->cfg.core.admission = true;
	rig->cfg.preempt = preempt;
	return rig;
}

/* 2 (sqrt 2 - 1) = 0.828427; (1 + 0.5) (1 + 1/3) = 2, rounded up; 50 and 100: U
 * = 1 */
static void each_test_draws_its_own_line(void **state)
{
	static const struct {
		const char *opts;
		cr_ns period, most;
	} line[] = {
		{ "test=liu-layland", 1000000, 328426 },
		{ "test=hyperbolic", 900000, 299999 },
		{ "test=exact", 2000000, 1000000 },
	};
	struct cr_verdict v;

	for (unsigned i = 0; i < 3; i++) {
		struct sim_rig *rig = market(line[i].opts, SIM_FULL);

		assert_non_null(rig_add(rig, 1000000, 500000));
		assert_int_equal(
			ask(rig, line[i].period, line[i].most, CR_SOFT, &v), 0);
		assert_int_equal(
			ask(rig, line[i].period, line[i].most + 2, CR_SOFT, &v),
			-ENOSPC);
		assert_int_equal(v.free_ppm, 500000);
		assert_int_equal(v.bound_ppm, 1000000);
		rig_free(rig);
	}
}

/* A frame that began a nanosecond ago blocks for all but that. */
static void an_uncut_frame_counts_against_all_above(void **state)
{
	struct sim_rig *rig = market(NULL, SIM_FRAME);
	struct cr_verdict v;

	assert_non_null(rig_add(rig, 100, 40));
	assert_int_equal(ask(rig, 1000, 61, CR_BE, &v), 0);
	assert_int_equal(ask(rig, 1000, 62, CR_BE, &v), -ENOSPC);
	assert_int_equal(ask(rig, 1000, 61, CR_SOFT, &v), 0);
	assert_int_equal(ask(rig, 1000, 62, CR_SOFT, &v), -ENOSPC);
	rig_free(rig);
}

static void a_level_outlives_the_task_that_opened_it(void **state)
{
	struct sim_rig *rig = market(NULL, SIM_FULL);
	struct rig_task *r[3];
	struct cr_verdict v;

	for (unsigned i = 0; i < 3; i++)
		r[i] = rig_add(rig, 100, 30);
	assert_int_equal(ask(rig, 200, 21, CR_SOFT, &v), -ENOSPC);
	assert_int_equal(ask(rig, 200, 20, CR_SOFT, &v), 0);
	sim_remove(rig->sim, &r[0]->st);
	sim_remove(rig->sim, &r[2]->st);
	assert_int_equal(ask(rig, 200, 140, CR_SOFT, &v), 0);
	assert_int_equal(ask(rig, 200, 141, CR_SOFT, &v), -ENOSPC);
	sim_remove(rig->sim, &r[1]->st);
	assert_int_equal(ask(rig, 200, 200, CR_SOFT, &v), 0);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(llf_lets_equals_take_turns_of_a_grain),
		cmocka_unit_test(rm_puts_class_before_period),
		cmocka_unit_test(each_test_draws_its_own_line),
		cmocka_unit_test(an_uncut_frame_counts_against_all_above),
		cmocka_unit_test(a_level_outlives_the_task_that_opened_it),
	};

	return cmocka_run_group_tests_name("llf and rm", tests, NULL, NULL);
}
