/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dwa and rm promise about frames that come before their logical arrival,
 * over random task sets in the simulator: a burst of k of them delays nobody,
 * to the nanosecond, and no admitted hard call is late for it. edf and fifo,
 * which know no workahead, fail the same test.
 *
 * A set is played twice: the first task sends k frames at once, every k
 * periods; then each frame comes at the logical arrival that the engine's LBAP
 * model gave it. The ends of all jobs are compared.
 */
#include "engine/release.h"
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { HYPER = 240, HORIZON = 2 * HYPER, JOBS = HORIZON };
#define SETS TEST_TRIES(1000)

struct setting {
	const struct cr_sched_ops *ops;
	const char *opts;
	unsigned ncpu;
	enum sim_preempt preempt;
	unsigned burst; /* k */
	bool held;	/* as if the frames had come in time */
	bool admission;
};

/* One playing of a set. The rig is first: it is the client's argument. */
struct world {
	struct sim_rig *rig;
	struct sim_job sent[JOBS]; /* by the task that sends ahead of time */
	cr_ns end[TASK_SET_MAX][JOBS];
};

/* --- the world --- */

static void note_end(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	struct world *w = arg;
	const struct rig_task *r = rig_task_of(&t->core);

	if (r->done < JOBS)
		w->end[r - w->rig->task][r->done] = now;
	rig_done(arg, t, cpu, now);
}

/* The frames of @t: at once, @k at a time, or when the model says. */
static void send(struct sim_job *job, const struct set_task *t, unsigned k,
		 bool in_time)
{
	struct release_cfg cfg = { .kind = RELEASE_LBAP,
				   .period = t->period,
				   .rel_deadline = t->deadline,
				   .burst = k - 1 };
	struct release model;

	assert_int_equal(release_init(&model, &cfg, NULL), 0);
	for (unsigned i = 0; i < JOBS; i++) {
		cr_ns at = (cr_ns)(i - i % k) * t->period;
		struct release_times when = release_arrival(&model, at);

		job[i] = (struct sim_job){ in_time ? when.eligible : at,
					   t->cost, when.deadline };
	}
	assert_int_equal(model.violations, 0);
}

/* The first task has deadlines, and sends what @w has for it. */
static struct world *play(const struct setting *s, const struct task_set *from,
			  bool in_time)
{
	struct world *w = calloc(1, sizeof(*w));
	struct task_set set = *from;
	struct rig_task *first;

	assert_non_null(w);
	if (set.task[0].cls == CR_BE)
		set.task[0].cls = CR_SOFT;
	send(w->sent, &set.task[0], s->burst, in_time);
	for (unsigned i = 0; i < set.n; i++)
		for (unsigned k = 0; k < JOBS; k++)
			w->end[i][k] = CR_NEVER;
	w->rig = rig_new(s->ops, s->opts, s->ncpu, TASK_SET_MAX);
	w->rig->cfg.preempt = s->preempt;
	w->rig->cfg.core.admission = s->admission;
	w->rig->cfg.client.backlog.peek = rig_peek_logical;
	w->rig->cfg.client.done = note_end;
	w->rig->cfg.client.arg = w;
	first = &w->rig->task[0];
	(void)rig_add_set(w->rig, &set);
	if (w->rig->ntasks &&
	    first->st.core.task.period == set.task[0].period &&
	    first->cost == set.task[0].cost) {
		first->job = w->sent;
		first->njobs = JOBS;
		sim_arrive_at(w->rig->sim, &first->st, w->sent[0].at);
	}
	sim_run(w->rig->sim, HORIZON);
	return w;
}

static void leave(struct world *w)
{
	rig_free(w->rig);
	free(w);
}

/* --- a burst delays nobody --- */

/* Held back, all ends are equal; run, none is later. */
static bool burst_delays(const struct task_set *set, void *arg)
{
	const struct setting *s = arg;
	struct world *early = play(s, set, false), *timely = play(s, set, true);
	bool delayed = false;

	for (unsigned i = 0; i < set->n; i++)
		for (unsigned k = 0; k < JOBS; k++)
			delayed |=
				s->held ? early->end[i][k] != timely->end[i][k]
					: early->end[i][k] > timely->end[i][k];
	leave(early);
	leave(timely);
	return delayed;
}

static struct task_set_shape crowd(unsigned ncpu)
{
	return (struct task_set_shape){ .tasks = { 2, 8 },
					.util_ppm = ncpu * 1200000,
					.period = { 2, 60 },
					.hyper = HYPER,
					.mixed = true };
}

static const unsigned bursts[] = { 2, 5, JOBS };

static void never_delays(struct setting s)
{
	struct task_set_shape shape = crowd(s.ncpu);
	struct task_set_property p = { "a burst of early frames delays nobody",
				       burst_delays, &s };

	for (unsigned i = 0; i < 3; i++) {
		s.burst = bursts[i];
		task_set_try(SETS, &shape, &p);
	}
}

static void held_back_a_burst_changes_nothing(void **state)
{
	static const struct cr_sched_ops *const ops[] = { &cr_sched_dwa,
							  &cr_sched_rm };

	for (unsigned i = 0; i < 2; i++)
		for (unsigned ncpu = 1; ncpu <= 3; ncpu++)
			for (unsigned pre = 0; pre < 2; pre++)
				never_delays((struct setting){
					.ops = ops[i],
					.opts = "workahead=hold",
					.ncpu = ncpu,
					.preempt = pre ? SIM_FULL : SIM_FRAME,
					.held = true });
}

static void run_last_a_burst_makes_nobody_later(void **state)
{
	static const struct cr_sched_ops *const ops[] = { &cr_sched_dwa,
							  &cr_sched_rm };

	for (unsigned i = 0; i < 2; i++)
		for (unsigned ncpu = 1; ncpu <= 3; ncpu++)
			never_delays((struct setting){ .ops = ops[i],
						       .opts = "workahead=run",
						       .ncpu = ncpu,
						       .preempt = SIM_FULL });
}

/* The same sets where early frames are like any others. */
static unsigned delayed_by(const struct cr_sched_ops *ops)
{
	struct setting s = {
		.ops = ops, .ncpu = 1, .preempt = SIM_FULL, .burst = 5
	};
	struct task_set_shape shape = crowd(1);
	uint64_t seed = test_seed();
	unsigned n = 0;

	for (unsigned i = 0; i < SETS; i++) {
		struct task_set set = task_set_draw(&shape, &seed);

		n += burst_delays(&set, &s);
	}
	return n;
}

static void without_levels_a_burst_delays_others(void **state)
{
	assert_true(delayed_by(&cr_sched_edf) > SETS / 10);
	assert_true(delayed_by(&cr_sched_fifo) > SETS / 10);
	assert_int_equal(delayed_by(&cr_sched_dwa), 0);
}

/* --- admitted hard calls, whoever sends ahead of time --- */

static bool hard_one_is_late(const struct task_set *set, void *arg)
{
	struct world *w = play(arg, set, false);
	uint64_t late = 0;

	for (unsigned i = 0; i < w->rig->ntasks; i++)
		if (w->rig->task[i].st.core.task.cls == CR_HARD)
			late += w->rig->task[i].missed;
	leave(w);
	return late > 0;
}

static void admitted_means_in_time(struct setting s)
{
	static const struct task_set_shape shapes[] = {
		{ .tasks = { 2, 12 },
		  .util_ppm = 1500000,
		  .period = { 20, 200 },
		  .mixed = true },
		{ .tasks = { 2, 12 },
		  .util_ppm = 2500000,
		  .period = { 20, 200 },
		  .constrained = true,
		  .mixed = true },
		{ .tasks = { 2, 6 },
		  .util_ppm = 1200000,
		  .period = { 20, 200 },
		  .cls = CR_HARD },
	};
	struct task_set_property p = { s.ops->name, hard_one_is_late, &s };

	s.admission = true;
	for (s.ncpu = 1; s.ncpu <= 3; s.ncpu++)
		for (unsigned i = 0; i < 6; i++) {
			s.burst = bursts[(i + s.ncpu) % 3];
			s.preempt = i < 3 ? SIM_FULL : SIM_FRAME;
			task_set_try(SETS, &shapes[i % 3], &p);
		}
}

static void an_admitted_hard_call_is_in_time_whoever_bursts(void **state)
{
	admitted_means_in_time((struct setting){ .ops = &cr_sched_dwa,
						 .opts = "workahead=hold" });
	admitted_means_in_time((struct setting){ .ops = &cr_sched_dwa,
						 .opts = "workahead=run" });
	admitted_means_in_time((struct setting){ .ops = &cr_sched_rm,
						 .opts = "workahead=hold" });
	admitted_means_in_time((struct setting){ .ops = &cr_sched_rm,
						 .opts = "workahead=run" });
}

/* --- classes --- */

/* Hard jobs end when they would without the other classes (which take only idle
 * time from them, where workahead runs in that). */
static bool others_are_felt(const struct task_set *set, void *arg)
{
	struct task_set hard = { 0 };
	struct world *all, *alone;
	bool felt = false;

	for (unsigned i = 0; i < set->n; i++)
		if (set->task[i].cls == CR_HARD)
			hard.task[hard.n++] = set->task[i];
	if (!hard.n || set->task[0].cls != CR_HARD)
		return false;
	all = play(arg, set, false);
	alone = play(arg, &hard, false);
	for (unsigned i = 0, n = 0; i < set->n; i++)
		if (set->task[i].cls == CR_HARD)
			felt |= memcmp(all->end[i], alone->end[n++],
				       sizeof(all->end[i])) != 0;
	leave(all);
	leave(alone);
	return felt;
}

static void hard_calls_do_not_feel_the_other_classes(void **state)
{
	struct setting s = { .ops = &cr_sched_dwa,
			     .opts = "workahead=hold",
			     .preempt = SIM_FULL,
			     .burst = 3 };
	struct task_set_property p = { "hard calls feel nobody else",
				       others_are_felt, &s };

	for (s.ncpu = 1; s.ncpu <= 3; s.ncpu++) {
		struct task_set_shape shape = crowd(s.ncpu);

		shape.tasks[1] = 12;
		shape.util_ppm = s.ncpu * 2 * CR_PPM;
		task_set_try(2 * SETS, &shape, &p);
	}
}

/* --- the LBAP itself --- */

/* Frames of the window that ends with @i, one of them at @j, against the law
 * that any time t brings at most W + t R of them. */
static bool beyond(const cr_ns *at, unsigned j, unsigned i, unsigned w,
		   cr_ns period)
{
	return (cr_ns)(i - j + 1 - w) * period > at[i] - at[j];
}

/* Logical arrivals are the least that are no earlier than arrivals and a period
 * apart; a violation is a frame that breaks the law for some window. */
static void lbap_is_the_law_of_all_windows(void **state)
{
	enum { FRAMES = 200 };
	uint64_t seed = test_seed();

	for (unsigned round = 0; round < SETS; round++) {
		unsigned burst = test_below(&seed, 6);
		struct release_cfg cfg = { .kind = RELEASE_LBAP,
					   .period = 1 + test_below(&seed, 20),
					   .rel_deadline = 7,
					   .burst = burst };
		struct release r;
		uint64_t violations = 0;
		cr_ns at[FRAMES], pace = 2 * cfg.period;

		assert_int_equal(release_init(&r, &cfg, NULL), 0);
		for (unsigned i = 0; i < FRAMES; i++) {
			struct release_times t;
			cr_ns logical = 0;
			bool broken = false;

			at[i] = i ? at[i - 1] : 0;
			if (test_below(&seed, 3))
				at[i] += test_below(&seed, (unsigned)pace);
			t = release_arrival(&r, at[i]);
			for (unsigned j = 0; j <= i; j++) {
				cr_ns due = at[j] + (cr_ns)(i - j) * cfg.period;

				logical = cr_ns_max(logical, due);
				broken |=
					i - j >= burst + 1 &&
					beyond(at, j, i, burst + 1, cfg.period);
			}
			violations += broken;
			assert_int_equal(t.eligible, logical);
			assert_int_equal(t.deadline, logical + 7);
		}
		assert_int_equal(r.violations, violations);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lbap_is_the_law_of_all_windows),
		cmocka_unit_test(held_back_a_burst_changes_nothing),
		cmocka_unit_test(run_last_a_burst_makes_nobody_later),
		cmocka_unit_test(without_levels_a_burst_delays_others),
		cmocka_unit_test(
			an_admitted_hard_call_is_in_time_whoever_bursts),
		cmocka_unit_test(hard_calls_do_not_feel_the_other_classes),
	};

	return cmocka_run_group_tests_name("workahead", tests, NULL, NULL);
}
