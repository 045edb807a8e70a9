/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which run queue a task joins under the policies with an admission test, and
 * whether its CPU mask may be what it is.
 */
#include <errno.h>
#include <string.h>

#include "schedulers/policies.h"
#include "sim_rig.h"

static const struct cr_sched_ops *const policies[] = {
	&cr_sched_edf, &cr_sched_llf,	  &cr_sched_dwa,
	&cr_sched_rm,  &cr_sched_edf_hsb, &cr_sched_pd2,
};
/* Those whose tests are about masks; all. */
enum { POLICIES = 4, EVERY_POLICY = 6, PERIOD = 1000, ALL = 3 };

/* Two CPUs, in one run queue or in two. */
static struct sim_rig *market(const struct cr_sched_ops *ops, unsigned per_rq)
{
	struct sim_rig *rig = rig_new(ops, NULL, 2, 16);

	rig->cfg.core.cpus_per_rq = per_rq;
	rig->cfg.core.admission = true;
	return rig;
}

/* The task that joins next. */
struct request {
	enum cr_class cls;
	cr_ns cost;
	unsigned cpus; /* mask */
};

static void dress(struct rig_task *r)
{
	const struct request *w = r->rig->user;
	struct cr_task *t = &r->st.core.task;

	t->cls = w->cls;
	t->cost.p99 = 2 * t->cost.mean;
	for (unsigned c = 0; c < 2; c++)
		if (!(w->cpus >> c & 1))
			cr_cpus_del(&t->cpus, c);
}

/* Index of the run queue that @w joins; -1: none. */
static int join(struct sim_rig *rig, struct request w)
{
	struct rig_task *r;

	rig->user = &w;
	r = rig_add_with(rig, PERIOD, w.cost, dress);
	return r ? (int)r->st.core.task.rq->id : -1;
}

static void expect(struct sim_rig *rig, struct request w, int where, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(join(rig, w), where);
}

static void best_effort_alone_is_spread(void **state)
{
	const struct request some = { CR_BE, 100, ALL };

	for (unsigned i = 0; i < EVERY_POLICY; i++) {
		struct sim_rig *rig = market(policies[i], 1);

		for (unsigned k = 0; k < 4; k++) {
			expect(rig, some, 0, 1);
			expect(rig, some, 1, 1);
		}
		rig_free(rig);
	}
}

/* Frames are not cut: beside the long ones there is less room for short ones.
 * They are spread by the time that is left all the same. */
static void short_frames_are_not_kept_from_long_ones(void **state)
{
	const struct request encode = { CR_SOFT, 200, ALL };
	const struct request decode = { CR_SOFT, 50, ALL };

	for (unsigned i = 0; i < POLICIES; i++) {
		struct sim_rig *rig = market(policies[i], 1);

		rig->cfg.preempt = SIM_FRAME;
		expect(rig, encode, 0, 1);
		expect(rig, decode, 1, 4);
		expect(rig, decode, 0, 1);
		expect(rig, decode, 1, 1);
		rig_free(rig);
	}
}

static void is_refused_for_its_mask(struct sim_rig *rig, struct request w)
{
	struct cr_task t = { .id = 100,
			     .cls = w.cls,
			     .period = PERIOD,
			     .rel_deadline = PERIOD,
			     .cost = { .mean = w.cost, .p99 = w.cost },
			     .weight = 1024,
			     .cpus = { { w.cpus } } };
	struct cr_verdict v;

	rig_start(rig);
	assert_int_equal(core_admit(sim_core(rig->sim), &t, &v), -ENOSPC);
	assert_non_null(strstr(v.rule, "every CPU of"));
	assert_int_equal(v.free_ppm, 0);
}

/* 0.5 and 0.6 of CPU 0, which is little of two. */
static void a_hard_task_may_run_on_all_cpus_of_its_queue(void **state)
{
	const struct request bound[] = { { CR_HARD, 250, 1 },
					 { CR_HARD, 300, 1 } };

	for (unsigned i = 0; i < POLICIES; i++) {
		struct sim_rig *rig = market(policies[i], 0);

		is_refused_for_its_mask(rig, bound[0]);
		expect(rig, (struct request){ CR_HARD, 250, ALL }, 0, 1);
		is_refused_for_its_mask(rig, bound[1]);
		rig_free(rig);
		/* where a queue is one CPU, none is left out */
		rig = market(policies[i], 1);
		expect(rig, bound[0], 0, 1);
		expect(rig, bound[1], -1, 1);
		expect(rig, (struct request){ CR_HARD, 300, 2 }, 1, 1);
		rig_free(rig);
	}
}

/* edf and llf do not put hard tasks before soft ones, so they have to know what
 * soft ones can do to them. */
static void so_may_who_can_make_it_late(void **state)
{
	const struct request hard = { CR_HARD, 100, ALL };
	const struct request bound = { CR_SOFT, 100, 2 };

	for (unsigned i = 0; i < POLICIES; i++) {
		bool by_class = i >= 2;
		struct sim_rig *rig = market(policies[i], 0);

		expect(rig, hard, 0, 1);
		if (!by_class)
			is_refused_for_its_mask(rig, bound);
		expect(rig, bound, by_class ? 0 : -1, 1);
		expect(rig, (struct request){ CR_BE, 100, 2 }, 0, 1);
		rig_free(rig);
		rig = market(policies[i], 0);
		expect(rig, bound, 0, 1);
		expect(rig, hard, by_class ? 0 : -1, 1);
		sim_remove(rig->sim, &rig->task[0].st);
		expect(rig, hard, 0, 1);
		rig_free(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(best_effort_alone_is_spread),
		cmocka_unit_test(short_frames_are_not_kept_from_long_ones),
		cmocka_unit_test(a_hard_task_may_run_on_all_cpus_of_its_queue),
		cmocka_unit_test(so_may_who_can_make_it_late),
	};

	return cmocka_run_group_tests_name("placement", tests, NULL, NULL);
}
