/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What edf-hsb promises, over random sets on 1 to 4 CPUs that are never idle:
 * soft tasks take three times what they said, and best effort never ends. An
 * admitted hard task is not late for it; a soft task that stays within its
 * budget is in time where theory says so, and late by no more than its bound
 * elsewhere; best effort gets its servers' share.
 */
#include <math.h>

#include "analysis/hsb.h"
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { MAX_CPUS = 4, HORIZON = 96000 };
#define SETS TEST_TRIES(500)
#define FEW TEST_TRIES(50)

/* One server a CPU: 100 ns every us. */
#define SERVERS "be-share=10%,be-period=1us,"
#define BE_BUDGET 100
#define BE_PERIOD 1000

static const char *const switches[] = {
	"reclaim=no,background=no",
	"reclaim=yes,background=no",
	"reclaim=no,background=yes",
	"reclaim=yes,background=yes",
};

struct setting {
	const char *base; /* options before the switches */
	const char *on;	  /* of switches[]               */
	unsigned sets;	  /* 0: SETS                     */
	double factor;	  /* from mean to budget, where it is asked for */
	void (*dress)(struct rig_task *r); /* NULL: dress() */
	unsigned ncpu;
	enum sim_preempt preempt;
	bool (*broken)(struct sim_rig *rig, const struct setting *s);
	bool (*decode_only)(const struct task_set *set,
			    const struct setting *s);
};

/* --- a set that overloads --- */

static bool overruns(unsigned i)
{
	return i % 2;
}

/* Where frames are not cut: of best effort there is always one more. */
static void dress_frames(struct rig_task *r)
{
	struct cr_task *t = &r->st.core.task;

	rig_dress(r);
	if (t->cls == CR_BE)
		t->period = r->cost;
}

/* The same, and what a frame takes has to be said. */
static void dress_long_frames(struct rig_task *r)
{
	struct cr_task *t = &r->st.core.task;

	dress_frames(r);
	if (t->cls == CR_SOFT && overruns(r->rig->ntasks))
		t->contract.largest = r->cost *= 3;
}

static void dress(struct rig_task *r)
{
	const struct set_task *from = r->rig->user;
	struct cr_task *t = &r->st.core.task;

	rig_dress(r);
	if (t->cls == CR_SOFT && overruns(r->rig->ntasks))
		r->cost *= 3;
	if (from->cls == CR_BE)
		r->cost = 1000 * CR_SEC; /* it never ends */
}

/* As many of @set as are admitted, and as many endless jobs as CPUs. */
static void add(struct sim_rig *rig, const struct task_set *set,
		const struct setting *s)
{
	bool frames = rig->cfg.preempt == SIM_FRAME;
	struct set_task endless = { 1000, frames ? 800 : 100, 1000, CR_BE };

	for (unsigned i = 0; i < set->n + s->ncpu; i++) {
		const struct set_task *t =
			i < set->n ? &set->task[i] : &endless;

		rig->user = t;
		(void)rig_add_with(rig, t->period, t->cost,
				   s->dress ? s->dress : dress);
	}
}

static bool breaks(const struct task_set *set, void *arg)
{
	struct setting *s = arg;
	char opts[160];
	struct sim_rig *rig;
	bool broken;

	if (s->decode_only && !s->decode_only(set, s))
		return false;
	(void)snprintf(opts, sizeof(opts), "%s%s", s->base, s->on);
	rig = rig_new(&cr_sched_edf_hsb, opts, s->ncpu,
		      TASK_SET_MAX + MAX_CPUS);
	rig->cfg.core.admission = true;
	rig->cfg.preempt = s->preempt;
	add(rig, set, s);
	sim_run(rig->sim, HORIZON + 1);
	broken = s->broken(rig, s);
	rig_free(rig);
	return broken;
}

static void holds(const char *what, const struct task_set_shape *shape,
		  struct setting s)
{
	struct task_set_property p = { what, breaks, &s };

	for (unsigned i = 0; i < 4; i++)
		for (s.ncpu = 1; s.ncpu <= MAX_CPUS; s.ncpu++) {
			struct task_set_shape full = *shape;

			s.on = switches[i];
			full.util_ppm = s.ncpu * shape->util_ppm;
			task_set_try(s.sets ? s.sets : SETS, &full, &p);
		}
}

/* The tardiest that was due, done or not. */
static cr_ns tardiness(const struct rig_task *r)
{
	cr_ns due = rig_job(r, r->done).deadline;

	return cr_ns_max(r->tardiness, r->done < r->arrived && due != CR_NEVER
					       ? HORIZON - due
					       : 0);
}

/* --- hard tasks --- */

static bool hard_is_late(struct sim_rig *rig, const struct setting *s)
{
	(void)s;
	for (unsigned i = 0; i < rig->ntasks; i++)
		if (rig->task[i].st.core.task.cls == CR_HARD &&
		    tardiness(&rig->task[i]) > 0)
			return true;
	return false;
}

static const struct task_set_shape any_class = { .tasks = { 2, 12 },
						 .util_ppm = CR_PPM,
						 .period = { 200, 6000 },
						 .hyper = 24000,
						 .constrained = true,
						 .mixed = true,
						 .full = true };

static void hard_tasks_are_never_late(void **state)
{
	holds("edf-hsb: no hard task is late", &any_class,
	      (struct setting){ .base = SERVERS,
				.preempt = SIM_FULL,
				.broken = hard_is_late });
}

/* Where frames are not cut nobody may take more than was said. */
static void hard_tasks_are_never_late_for_whole_frames(void **state)
{
	holds("edf-hsb, whole frames: no hard task is late", &any_class,
	      (struct setting){ .base = SERVERS,
				.dress = dress_long_frames,
				.preempt = SIM_FRAME,
				.broken = hard_is_late });
}

/* --- soft tasks --- */

static bool within_budget(const struct rig_task *r)
{
	const struct cr_task *t = &r->st.core.task;

	return t->cls == CR_SOFT && r->cost <= t->cost.mean;
}

static bool soft_is_late(struct sim_rig *rig, const struct setting *s)
{
	(void)s;
	for (unsigned i = 0; i < rig->ntasks; i++)
		if (within_budget(&rig->task[i]) &&
		    tardiness(&rig->task[i]) > 0)
			return true;
	return false;
}

/* Goossens, Funk, Baruah: sum U <= M - (M - 1) Umax; one CPU: sum U <= 1. */
static bool is_in_time_under_edf(const struct task_set *set,
				 const struct setting *s)
{
	int64_t sum = s->ncpu * CR_PPM * BE_BUDGET / BE_PERIOD;
	int64_t most = CR_PPM * BE_BUDGET / BE_PERIOD;

	for (unsigned i = 0; i < set->n; i++) {
		int64_t u = set_units(set->task[i].cost, set->task[i].period,
				      CR_PPM);

		if (set->task[i].cls != CR_SOFT)
			return false;
		sum += u;
		most = cr_ns_max(most, u);
	}
	return sum <= s->ncpu * CR_PPM - (s->ncpu - 1) * most;
}

static void soft_tasks_within_their_budget_are_never_late(void **state)
{
	static const struct task_set_shape soft = { .tasks = { 2, 12 },
						    .util_ppm = 900000,
						    .period = { 200, 6000 },
						    .hyper = 24000,
						    .cls = CR_SOFT };

	holds("edf-hsb: no soft task within its budget is late", &soft,
	      (struct setting){ .base = SERVERS "budget=1,",
				.preempt = SIM_FULL,
				.broken = soft_is_late,
				.decode_only = is_in_time_under_edf });
}

/* --- with hard tasks on top: the bounds of the analysis --- */

/* The set as it was admitted, for the analysis. */
struct admitted {
	struct hsb_flow hard[TASK_SET_MAX], soft[TASK_SET_MAX];
	unsigned task[TASK_SET_MAX]; /* soft ones: index in the rig */
	struct hsb_system system;
	struct hsb_report report;
};

static void look_at(struct admitted *a, const struct sim_rig *rig,
		    const struct setting *s)
{
	*a = (struct admitted){ .system = { .ncpu = s->ncpu,
					    .be = { s->ncpu, BE_BUDGET,
						    BE_PERIOD } } };
	for (unsigned i = 0; i < rig->ntasks; i++) {
		const struct cr_task *t = &rig->task[i].st.core.task;
		cr_ns worst = cr_ns_max(t->contract.largest, t->cost.mean);
		struct hsb_flow f = { .count = 1,
				      .period = (double)t->period,
				      .deadline = (double)t->rel_deadline,
				      .worst = (double)worst,
				      .mean = (double)t->cost.mean,
				      .budget = fmin((double)t->cost.mean *
							     s->factor,
						     (double)t->period) };

		if (rig->cfg.preempt == SIM_FRAME)
			a->system.frame = fmax(a->system.frame, f.worst);
		if (t->cls == CR_HARD)
			a->hard[a->system.nhard++] = f;
		if (t->cls != CR_SOFT)
			continue;
		a->task[a->system.nsoft] = i;
		a->soft[a->system.nsoft++] = f;
	}
	a->system.hard = a->hard;
	a->system.soft = a->soft;
	a->report = hsb_analyse(&a->system);
}

static bool bound_is_broken(struct sim_rig *rig, const struct setting *s)
{
	struct admitted a;

	look_at(&a, rig, s);
	assert_true(a.report.schedulable);
	for (unsigned i = 0; i < a.system.nsoft; i++) {
		const struct rig_task *r = &rig->task[a.task[i]];
		struct hsb_bound b = hsb_bound_of(&a.system, &a.report, i);

		if (within_budget(r) && (double)tardiness(r) > b.lateness)
			return true;
	}
	return false;
}

static void soft_tasks_keep_their_bound_below_hard_ones(void **state)
{
	holds("edf-hsb: tardiness is bounded as Theorem 2 has it", &any_class,
	      (struct setting){ .base = SERVERS "budget=1,",
				.factor = 1,
				.preempt = SIM_FULL,
				.broken = bound_is_broken });
}

/* As in the daemon. Of many small tasks each leaves a little of its budget, and
 * a frame of best effort is much longer than that. */
static void soft_tasks_keep_their_bound_beside_whole_frames(void **state)
{
	static const struct task_set_shape many = { .tasks = { 16, 28 },
						    .util_ppm = 600000,
						    .period = { 2000, 6000 },
						    .hyper = 24000,
						    .cls = CR_SOFT };

	for (unsigned i = 0; i < 2; i++)
		holds("edf-hsb, whole frames: tardiness is bounded",
		      i ? &many : &any_class,
		      (struct setting){ .base = SERVERS "budget=1.2,",
					.factor = 1.2,
					.sets = FEW,
					.dress = i ? dress_frames
						   : dress_long_frames,
					.preempt = SIM_FRAME,
					.broken = bound_is_broken });
}

/* --- best effort --- */

/* M servers, each of which is late by at most its bound. */
static bool best_effort_starves(struct sim_rig *rig, const struct setting *s)
{
	struct admitted a;
	cr_ns got = 0, late;

	look_at(&a, rig, s);
	late = 1 + (cr_ns)hsb_server_tardiness(&a.system, &a.report, BE_BUDGET);
	for (unsigned i = 0; i < rig->ntasks; i++)
		if (rig->task[i].st.core.task.cls == CR_BE)
			got += cr_task_ran(&rig->task[i].st.core.task, HORIZON);
	return got < s->ncpu * BE_BUDGET * ((HORIZON - late) / BE_PERIOD);
}

static void best_effort_gets_its_servers_share(void **state)
{
	holds("edf-hsb: best effort gets its share", &any_class,
	      (struct setting){ .base = SERVERS "budget=1,",
				.factor = 1,
				.preempt = SIM_FULL,
				.broken = best_effort_starves });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hard_tasks_are_never_late),
		cmocka_unit_test(hard_tasks_are_never_late_for_whole_frames),
		cmocka_unit_test(soft_tasks_within_their_budget_are_never_late),
		cmocka_unit_test(soft_tasks_keep_their_bound_below_hard_ones),
		cmocka_unit_test(
			soft_tasks_keep_their_bound_beside_whole_frames),
		cmocka_unit_test(best_effort_gets_its_servers_share),
	};

	return cmocka_run_group_tests_name("edf_hsb", tests, NULL, NULL);
}
