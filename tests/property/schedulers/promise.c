/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What policies say of a task holds, whenever its jobs come: an admitted hard
 * one is never late where CR_F_GUARANTEE says so, and no job is later than
 * promise() says. Tasks begin at any nanosecond, so that nothing coincides with
 * a policy's own grid of time.
 */
#include <string.h>

#include "cr/promise.h"
#include "schedulers/policies.h"
#include "schedulers/registry.h"
#include "task_set_rig.h"

enum { MOST_CPUS = 3, UNTIL = 1000000 };
#define SETS TEST_TRIES(200)

/** A policy and options of it; periods are some 2 to 60 us. */
struct setting {
	const struct cr_sched_ops *ops;
	const char *opts;
	unsigned ncpu;
	enum sim_preempt preempt;
	uint64_t seed; /* of the first releases */
	cr_ns spare;   /* deadlines are so long after the period */
	bool apart;    /* a run queue for each CPU               */
	/* tasks that were promised something, and those of them that were late
	 * within it */
	uint64_t promised, late;
};

static const struct setting settings[] = {
	{ .ops = &cr_sched_edf },
	{ .ops = &cr_sched_edf, .opts = "bound=70%" },
	{ .ops = &cr_sched_edf_be },
	{ .ops = &cr_sched_edf_steal },
	{ .ops = &cr_sched_edf_steal, .apart = true },
	{ .ops = &cr_sched_gfl },
	{ .ops = &cr_sched_llf, .opts = "granularity=7ns" },
	{ .ops = &cr_sched_rm },
	{ .ops = &cr_sched_dwa },
	{ .ops = &cr_sched_dwa, .opts = "classes=together" },
	{ .ops = &cr_sched_edf_hsb },
	{ .ops = &cr_sched_srpt },
	{ .ops = &cr_sched_red },
	{ .ops = &cr_sched_cbs },
	{ .ops = &cr_sched_cbs, .opts = "reserve=hard,margin=20%" },
	{ .ops = &cr_sched_grub },
	{ .ops = &cr_sched_grub, .opts = "reserve=hard" },
	{ .ops = &cr_sched_pf, .opts = "quantum=1us" },
	{ .ops = &cr_sched_pd, .opts = "quantum=1us" },
	{ .ops = &cr_sched_pd2, .opts = "quantum=1us" },
	{ .ops = &cr_sched_pd2, .opts = "quantum=1us,mode=erfair" },
};

enum { NSETTINGS = sizeof(settings) / sizeof(settings[0]) };

static bool is_tried(const struct cr_sched_ops *ops)
{
	for (unsigned i = 0; i < NSETTINGS; i++)
		if (settings[i].ops == ops)
			return true;
	return false;
}

static void all_that_promise_are_tried(void **state)
{
	for (unsigned i = 0; cr_schedulers[i]; i++) {
		const struct cr_sched_ops *ops = cr_schedulers[i];

		if ((ops->promise || ops->flags & CR_F_GUARANTEE) &&
		    !is_tried(ops))
			fail_msg("%s is not", ops->name);
	}
}

/* --- a run --- */

struct arrival {
	const struct set_task *task;
	cr_ns spare;
	uint64_t seed;
};

static void dress(struct rig_task *r)
{
	const struct arrival *a = r->rig->user;
	uint64_t seed = a->seed + r->st.core.task.id;

	r->st.core.task.cls = a->task->cls;
	r->st.core.task.rel_deadline = a->task->deadline + a->spare;
	r->offset = set_between(&seed, 0, a->task->period);
}

/* Those of @set that are admitted, at their times, up to UNTIL. */
static struct sim_rig *play(const struct task_set *set, const struct setting *s)
{
	struct sim_rig *rig = rig_new(s->ops, s->opts, s->ncpu, TASK_SET_MAX);
	struct arrival a = { .seed = s->seed, .spare = s->spare };

	rig->cfg.preempt = s->preempt;
	rig->cfg.core.admission = true;
	rig->cfg.core.cpus_per_rq = s->apart;
	for (unsigned i = 0; i < set->n; i++) {
		a.task = &set->task[i];
		rig->user = &a;
		(void)rig_add_with(rig, a.task->period, a.task->cost, dress);
	}
	rig->user = NULL;
	rig_start(rig);
	sim_run(rig->sim, UNTIL);
	return rig;
}

/* How late the latest job of @r is by now, done or not; < 0: none is. */
static cr_ns lateness(const struct rig_task *r)
{
	cr_ns late = r->missed ? r->tardiness : -1;

	if (r->done < r->arrived)
		late = cr_ns_max(late, UNTIL - rig_job(r, r->done).deadline);
	return late;
}

static bool guarantee_is_broken(const struct task_set *set, void *arg)
{
	const struct setting *s = arg;
	struct sim_rig *rig = play(set, s);
	bool broken = false;

	for (unsigned i = 0; i < rig->ntasks; i++) {
		const struct rig_task *r = &rig->task[i];

		broken |= r->st.core.task.cls == CR_HARD && lateness(r) > 0;
	}
	rig_free(rig);
	return broken;
}

static bool promise_is_broken(const struct task_set *set, void *arg)
{
	struct setting *s = arg;
	struct sim_rig *rig = play(set, s);
	bool broken = false;

	for (unsigned i = 0; i < rig->ntasks; i++) {
		const struct rig_task *r = &rig->task[i];
		struct cr_promise p;

		core_promise(&r->st.core, &p);
		if (p.kind != CR_PROMISE_LATENESS || r->cost > p.cost)
			continue;
		s->promised++;
		s->late += lateness(r) > 0;
		broken |= lateness(r) > p.bound;
	}
	rig_free(rig);
	return broken;
}

/* --- many --- */

/* More is asked for than fits, so that what is admitted fills the CPUs. */
static const struct task_set_shape shapes[] = {
	{ .tasks = { 2, 12 },
	  .util_ppm = 1500000,
	  .period = { 2000, 60000 },
	  .mixed = true },
	{ .tasks = { 2, 12 },
	  .util_ppm = 1500000,
	  .period = { 2000, 60000 },
	  .constrained = true,
	  .mixed = true },
	{ .tasks = { 3, 12 },
	  .util_ppm = 3500000,
	  .period = { 2000, 60000 },
	  .cls = CR_HARD },
};

static void try_all(struct setting *s,
		    bool (*fails)(const struct task_set *, void *))
{
	struct task_set_property p = { s->ops->name, fails, s };
	unsigned most = s->ops->flags & CR_F_ONE_CPU ? 1 : MOST_CPUS;
	uint64_t seed = test_seed();

	for (s->ncpu = 1; s->ncpu <= most; s->ncpu++)
		for (unsigned i = 0; i < sizeof(shapes) / sizeof(shapes[0]);
		     i++) {
			if (s->spare && shapes[i].constrained)
				continue;
			s->seed = test_random(&seed);
			s->preempt = SIM_FULL;
			task_set_try(SETS, &shapes[i], &p);
			s->preempt = SIM_FRAME;
			task_set_try(SETS, &shapes[i], &p);
		}
}

static void who_guarantees_is_never_late_with_a_hard_task(void **state)
{
	for (unsigned i = 0; i < NSETTINGS; i++) {
		struct setting s = settings[i];

		if (s.ops->flags & CR_F_GUARANTEE)
			try_all(&s, guarantee_is_broken);
	}
}

static bool is_pfair(const struct cr_sched_ops *ops)
{
	return ops == &cr_sched_pf || ops == &cr_sched_pd ||
	       ops == &cr_sched_pd2;
}

static void no_job_is_later_than_was_promised(void **state)
{
	for (unsigned i = 0; i < NSETTINGS; i++) {
		struct setting s = settings[i];

		try_all(&s, promise_is_broken);
		assert_true(s.promised > SETS);
		if (!is_pfair(s.ops))
			assert_int_equal(s.late, 0);
	}
}

/* A CPU for itself, three quanta in three; released 1 ns after a slot's begin,
 * it waits for the next slot. */
static void the_bound_of_pfair_is_reached(void **state)
{
	static const struct sim_job job[] = { { 1, 3000, 3001 } };

	for (unsigned i = 0; i < NSETTINGS; i++) {
		const struct setting *s = &settings[i];
		struct sim_rig *rig;
		struct rig_task *r;
		struct cr_promise p;

		if (!is_pfair(s->ops))
			continue;
		rig = rig_new(s->ops, s->opts, 1, 1);
		r = rig_add(rig, 3000, 3000);
		r->job = job;
		r->njobs = 1;
		sim_arrive_at(rig->sim, &r->st, job[0].at);
		sim_run(rig->sim, 10000);
		core_promise(&r->st.core, &p);
		assert_int_equal(p.bound, 999);
		assert_int_equal(r->tardiness,
				 strstr(s->opts, "erfair") ? 0 : 999);
		rig_free(rig);
	}
}

/* The quantum is 1 us, in ns. */
static void a_quantum_to_spare_is_all_that_pfair_needs(void **state)
{
	for (unsigned i = 0; i < NSETTINGS; i++) {
		struct setting s = settings[i];

		if (!is_pfair(s.ops))
			continue;
		s.spare = 999;
		try_all(&s, promise_is_broken);
		assert_true(s.promised > SETS);
		assert_int_equal(s.late, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_promise_are_tried),
		cmocka_unit_test(who_guarantees_is_never_late_with_a_hard_task),
		cmocka_unit_test(no_job_is_later_than_was_promised),
		cmocka_unit_test(the_bound_of_pfair_is_reached),
		cmocka_unit_test(a_quantum_to_spare_is_all_that_pfair_needs),
	};

	return cmocka_run_group_tests_name("promise", tests, NULL, NULL);
}
