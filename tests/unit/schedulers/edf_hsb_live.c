/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edf-hsb as workers call it: what the simulator, whose ticks come on time and
 * whose idle CPUs all look again, does not show.
 */
#include "schedulers/policies.h"
#include "steps.h"

static struct core *core_of(unsigned ncpu)
{
	struct core_config cfg = { .ops = &cr_sched_edf_hsb,
				   .opts = "budget=1,reclaim=no,background=no,"
					   "be-share=0",
				   .ncpu = ncpu };
	struct core *c;
	struct cr_err e;

	if (core_open(&c, &cfg, 0, &e))
		fail_msg("%s", e.text);
	return c;
}

/* A task of 2 every 5, with the frames @job[@n]. */
static struct core_task *join(struct steps *s, struct core *c,
			      enum cr_class cls, const struct step_job *job,
			      unsigned n)
{
	struct step_task *t = steps_add(s, cls, job, n);
	struct cr_task *x = &t->core.task;

	x->period = x->rel_deadline = 5;
	x->cost = (struct cr_cost){ .mean = 2, .p99 = 2 };
	t->arrived = n;
	core_add(c, &t->core, 0, 0);
	return &t->core;
}

static int64_t reported(const struct core_task *t, const char *key)
{
	struct cr_kv kv[16];
	unsigned n = cr_sched_edf_hsb.explain(&t->task, kv, 16);

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(kv[i].key, key))
			return kv[i].value;
	fail_msg("explain() has no %s", key);
	return 0;
}

/* The budget that is due at 5 is renewed at 8: its period ends at 10. */
static void a_renewal_that_comes_late_begins_on_time(void **state)
{
	static const struct step_job two[] = { { 0, 2, 5 }, { 0, 2, 5 } };
	struct steps s = { .ncpu = 1 };
	struct core *c = core_of(1);
	struct core_task *t = join(&s, c, CR_SOFT, two, 2);
	struct cr_rq *rq = core_rq(c, 0);

	assert_true(core_release(c, t, 0));
	assert_ptr_equal(core_pick(c, rq, 0, 0), t);
	assert_ptr_equal(core_stop(c, rq, 0, 2, CR_STOP_DONE, 2), t);
	assert_true(core_again(c, t, 2));
	assert_null(core_pick(c, rq, 0, 2));
	(void)core_tick(c, rq, 8);
	assert_int_equal(reported(t, "server_deadline"), 10);
	assert_int_equal(reported(t, "budget_left"), 2);
	core_del(c, t, 8);
	core_close(c);
}

/* A worker that is woken in vain would sleep again, and the right one on. */
static void a_hard_frame_wakes_its_own_cpu(void **state)
{
	static const struct step_job one[] = { { 0, 2, 5 } };
	struct steps s = { .ncpu = 2 };
	struct core *c = core_of(2);
	struct core_task *t[2];
	struct cr_rq *rq = core_rq(c, 0);

	for (unsigned i = 0; i < 2; i++) {
		t[i] = join(&s, c, CR_HARD, one, 1);
		assert_int_equal(reported(t[i], "home_cpu"), i);
	}
	assert_true(core_release(c, t[1], 0));
	assert_true(cr_cpus_has(&rq->kick, 1));
	assert_false(cr_cpus_has(&rq->kick, 0));
	for (unsigned i = 0; i < 2; i++)
		core_del(c, t[i], 0);
	core_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_renewal_that_comes_late_begins_on_time),
		cmocka_unit_test(a_hard_frame_wakes_its_own_cpu),
	};

	return cmocka_run_group_tests_name("edf_hsb_live", tests, NULL, NULL);
}
