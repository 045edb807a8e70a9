/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cbs and grub: whatever some tasks do, the others get what their servers
 * promise.
 */
#include "cr/promise.h"
#include "schedulers/policies.h"
#include "servers_rig.h"

enum { LONG = 4000 /* for sets with any periods */ };

/* Jobs of @r that were due by @until, and late. */
static uint64_t late(const struct rig_task *r, cr_ns until)
{
	uint64_t n = r->missed;

	for (uint64_t k = r->done; k < r->arrived; k++)
		n += rig_job(r, k).deadline <= until;
	return n;
}

/* --- isolation --- */

static bool tame_one_is_late(const struct task_set *set, void *arg)
{
	struct setting *s = arg;
	struct load *l;
	struct play p;
	uint64_t n = 0;

	if (too_much(set))
		return false;
	l = draw_load(set, s, UNTIL);
	p = start(s, l);
	sim_run(p.rig->sim, UNTIL + 1);
	for (unsigned i = 0; i < p.rig->ntasks; i++)
		if (!l->wild[p.of[i]])
			n += late(&p.rig->task[i], UNTIL);
	rig_free(p.rig);
	s->hurt += n > 0;
	return n > 0;
}

/* U = 1 exactly, on one CPU. */
static void no_tame_task_is_late_whatever_the_wild_do(void **state)
{
	for (unsigned i = 0; i < NSERVERS; i++) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), tame_one_is_late,
					       &s };

		s.preempt = SIM_FULL;
		task_set_try(SETS, &exactly_full, &p);
	}
}

/* What the property above is worth: by the jobs' own deadlines the tame are
 * late in most of the sets. */
static void under_edf_they_are_late(void **state)
{
	struct setting s = { .ops = &cr_sched_edf,
			     .ncpu = 1,
			     .preempt = SIM_FULL };
	uint64_t seed = test_seed();

	for (unsigned k = 0; k < SETS; k++) {
		struct task_set set = task_set_draw(&exactly_full, &seed);

		(void)tame_one_is_late(&set, &s);
	}
	assert_true(s.hurt > SETS / 2);
}

/* --- admission: all classes, tight deadlines, several CPUs --- */

static bool promise_is_broken(const struct task_set *set, void *arg)
{
	struct setting *s = arg;
	struct load *l = draw_load(set, s, LONG);
	struct play p = start(s, l);
	bool broken = false;

	sim_run(p.rig->sim, LONG);
	for (unsigned i = 0; i < p.rig->ntasks; i++) {
		const struct rig_task *r = &p.rig->task[i];
		struct cr_promise said;

		core_promise(&r->st.core, &said);
		if (l->wild[p.of[i]] || said.kind != CR_PROMISE_LATENESS)
			continue;
		s->hurt++;
		broken |= late(r, LONG - 1) > 0;
	}
	rig_free(p.rig);
	return broken;
}

static const struct task_set_shape too_many = { .tasks = { 2, 12 },
						.util_ppm = 2000000,
						.period = { 20, 300 },
						.constrained = true,
						.mixed = true };

/* Frames are cut: the wild may take what they like. */
static void a_promise_holds_whatever_others_do(void **state)
{
	for (unsigned i = 0; i < NSERVERS; i++) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), promise_is_broken,
					       &s };
		unsigned most = s.ops->flags & CR_F_ONE_CPU ? 1 : 3;

		s.admission = true;
		s.preempt = SIM_FULL;
		for (s.ncpu = 1; s.ncpu <= most; s.ncpu++)
			task_set_try(SETS, &too_many, &p);
		assert_true(s.hurt > SETS / 4); /* were promised something */
	}
}

/* Frames are not cut: soft ones may exceed their budgets up to their declared
 * worst case, hard ones keep to it. */
static void uncut_frames_harm_no_promise_up_to_the_worst_case(void **state)
{
	for (unsigned i = 0; i < NSERVERS; i++) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), promise_is_broken,
					       &s };

		s.admission = true;
		s.preempt = SIM_FRAME;
		s.worst = 3;
		task_set_try(SETS, &too_many, &p);
		assert_true(s.hurt > SETS / 8);
	}
}

/* --- who keeps to its budget --- */

static bool differs_from_edf(const struct task_set *set, void *arg)
{
	const struct setting *s = arg;
	const struct setting edf = { .ops = &cr_sched_edf,
				     .ncpu = 1,
				     .preempt = SIM_FULL };
	struct sim_rig *a, *b;
	bool same = true;

	if (too_much(set))
		return false;
	a = rig_new(s->ops, s->opts, 1, TASK_SET_MAX);
	b = rig_new(edf.ops, NULL, 1, TASK_SET_MAX);
	(void)rig_add_set(a, set);
	(void)rig_add_set(b, set);
	for (cr_ns now = 0; now < HYPER && same; now++) {
		sim_run(a->sim, now + 1);
		sim_run(b->sim, now + 1);
		same = rig_running(a, 0) == rig_running(b, 0);
	}
	rig_free(a);
	rig_free(b);
	return !same;
}

static void within_their_budgets_tasks_run_as_under_edf(void **state)
{
	for (unsigned i = 0; i < NSERVERS; i++) {
		struct setting s = servers[i];
		struct task_set_property p = { name_of(&s), differs_from_edf,
					       &s };

		task_set_try(SETS, &exactly_full, &p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_tame_task_is_late_whatever_the_wild_do),
		cmocka_unit_test(under_edf_they_are_late),
		cmocka_unit_test(a_promise_holds_whatever_others_do),
		cmocka_unit_test(
			uncut_frames_harm_no_promise_up_to_the_worst_case),
		cmocka_unit_test(within_their_budgets_tasks_run_as_under_edf),
	};

	return cmocka_run_group_tests_name("servers", tests, NULL, NULL);
}
