/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parekh and Gallager's theorem 1: under wfq no frame ends later than under
 * generalized processor sharing by more than the longest frame of anybody, for
 * 300 random crowds of bursty flows. GPS is played here by its definition, with
 * all arrivals known and in floating point; the policy sees one frame of a flow
 * at a time.
 *
 * And the order is that of all the theorem's finish times, whenever the policy
 * came to know of the frames: a frame that is picked is the one that ends first
 * there, of all that have come.
 */
#include <math.h>

#include "schedulers/policies.h"
#include "seed.h"
#include "sim_rig.h"

enum { FLOWS = 8, JOBS = 40 };
#define CROWDS TEST_TRIES(300)

/* Rounding: V in 256ths of a ns, up once for each frame; times in whole ns. */
#define TOLERANCE 200.0

struct flow {
	uint32_t weight;
	cr_ns cost;
	unsigned n;
	struct sim_job job[JOBS];
	double fluid[JOBS]; /* when GPS ends it */
	cr_ns end[JOBS];
};

struct game {
	unsigned n;
	struct flow flow[FLOWS];
	struct sim_rig *rig;
};

static struct game game;

/* Bursts, pauses, and the sum of all loads from a half to twice the CPU. */
static void draw_flow(struct flow *f, unsigned of, uint64_t *seed)
{
	cr_ns at = test_below(seed, 20 * CR_US);

	*f = (struct flow){ .weight = 64u << test_below(seed, 8) };
	f->weight += test_below(seed, f->weight);
	f->cost = 100 + test_below(seed, 20 * CR_US);
	f->n = 2 + test_below(seed, JOBS - 2);
	for (unsigned k = 0; k < f->n; k++) {
		f->job[k] = (struct sim_job){ at, f->cost, CR_NEVER };
		if (test_below(seed, 3) == 0)
			at += (cr_ns)test_below(seed,
						(unsigned)(6 * f->cost * of));
	}
}

static void draw(struct game *g, uint64_t *seed)
{
	g->n = 2 + test_below(seed, FLOWS - 1);
	for (unsigned i = 0; i < g->n; i++)
		draw_flow(&g->flow[i], g->n, seed);
}

static cr_ns longest(const struct game *g)
{
	cr_ns most = 0;

	for (unsigned i = 0; i < g->n; i++)
		for (unsigned k = 0; k < g->flow[i].n; k++)
			most = cr_ns_max(most, g->flow[i].job[k].cost);
	return most;
}

/* --- GPS --- */

struct fluid {
	double now;
	unsigned next[FLOWS]; /* the job that is served, or to come */
	double left[FLOWS];   /* of it */
};

static bool is_served(const struct game *g, const struct fluid *x, unsigned i)
{
	const struct flow *f = &g->flow[i];

	return x->next[i] < f->n && (double)f->job[x->next[i]].at <= x->now;
}

/* How long nothing changes; HUGE_VAL: for ever. */
static double until_change(const struct game *g, const struct fluid *x,
			   double weight)
{
	double least = HUGE_VAL;

	for (unsigned i = 0; i < g->n; i++) {
		const struct flow *f = &g->flow[i];

		if (is_served(g, x, i))
			least = fmin(least, x->left[i] * weight / f->weight);
		else if (x->next[i] < f->n)
			least = fmin(least,
				     (double)f->job[x->next[i]].at - x->now);
	}
	return least;
}

static void flow_on(struct game *g, struct fluid *x, double by, double weight)
{
	for (unsigned i = 0; i < g->n; i++) {
		struct flow *f = &g->flow[i];

		if (!is_served(g, x, i))
			continue;
		x->left[i] -= by * f->weight / weight;
		if (x->left[i] > 1e-6)
			continue;
		f->fluid[x->next[i]++] = x->now + by;
		if (x->next[i] < f->n)
			x->left[i] = (double)f->job[x->next[i]].cost;
	}
	x->now += by;
}

static void play_fluid(struct game *g)
{
	struct fluid x = { .now = 0 };

	for (unsigned i = 0; i < g->n; i++)
		x.left[i] = (double)g->flow[i].job[0].cost;
	for (;;) {
		double weight = 0, by;

		for (unsigned i = 0; i < g->n; i++)
			if (is_served(g, &x, i))
				weight += g->flow[i].weight;
		by = until_change(g, &x, weight);
		if (by == HUGE_VAL)
			return;
		flow_on(g, &x, by, weight);
	}
}

/* --- the policy --- */

static void note_end(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	struct rig_task *r = rig_task_of(&t->core);
	struct flow *f = &game.flow[t->core.task.id - 1];

	f->end[r->done] = now;
	rig_done(arg, t, cpu, now);
}

static void dress(struct rig_task *r)
{
	const struct flow *f = &game.flow[r->rig->ntasks];

	r->st.core.task.weight = f->weight;
	r->st.core.task.cls = CR_BE;
}

static void play_policy(struct game *g, const struct cr_sched_ops *ops,
			const char *opts, enum sim_preempt preempt)
{
	struct sim_rig *rig = rig_new(ops, opts, 1, g->n);

	rig->cfg.preempt = preempt;
	rig->cfg.client.done = note_end;
	for (unsigned i = 0; i < g->n; i++) {
		struct flow *f = &g->flow[i];
		struct rig_task *r = rig_add_with(rig, CR_SEC, f->cost, dress);

		assert_non_null(r);
		r->job = f->job;
		r->njobs = f->n;
		sim_arrive_at(rig->sim, &r->st, f->job[0].at);
	}
	sim_run(rig->sim, 10 * CR_SEC);
	for (unsigned i = 0; i < g->n; i++)
		assert_int_equal(rig->task[i].done, g->flow[i].n);
	rig_free(rig);
}

/* The most that a frame is later than in GPS. */
static double most_behind(const struct game *g)
{
	double most = -HUGE_VAL;

	for (unsigned i = 0; i < g->n; i++)
		for (unsigned k = 0; k < g->flow[i].n; k++)
			most = fmax(most, (double)g->flow[i].end[k] -
						  g->flow[i].fluid[k]);
	return most;
}

static void within_a_frame_of_gps(const char *opts, enum sim_preempt preempt,
				  const struct cr_sched_ops *ops)
{
	uint64_t seed = test_seed();
	double nearest = 0;

	for (unsigned n = 0; n < CROWDS; n++) {
		double behind;

		draw(&game, &seed);
		play_fluid(&game);
		play_policy(&game, ops, opts, preempt);
		behind = most_behind(&game);
		if (behind > (double)longest(&game) + TOLERANCE)
			fail_msg("crowd %u: %.0f ns behind GPS, the longest "
				 "frame is of %lld",
				 n, behind, (long long)longest(&game));
		nearest = fmax(nearest, behind / (double)longest(&game));
	}
	/* the bound is near: one that is wrong by a half would be seen */
	assert_true(nearest > .8);
}

static void no_frame_is_later_than_gps_and_the_longest_frame(void **state)
{
	within_a_frame_of_gps(NULL, SIM_FRAME, &cr_sched_wfq);
}

/* As live: a call's mean is known, a frame's cost when it is done. From nothing
 * to twice the mean, by no rule. */
static void costs_that_are_not_known_lift_the_bound(void **state)
{
	uint64_t seed = test_seed();
	unsigned beyond = 0;
	double most = 0;

	for (unsigned n = 0; n < CROWDS; n++) {
		draw(&game, &seed);
		for (unsigned i = 0; i < game.n; i++)
			for (unsigned k = 0; k < game.flow[i].n; k++)
				game.flow[i].job[k].cost =
					1 +
					test_below(&seed,
						   2 * (unsigned)game.flow[i]
								   .cost);
		play_fluid(&game);
		play_policy(&game, &cr_sched_wfq, NULL, SIM_FRAME);
		beyond +=
			most_behind(&game) > (double)longest(&game) + TOLERANCE;
		most = fmax(most, most_behind(&game) / (double)longest(&game));
	}
	(void)printf("%u of %u crowds, at most %.2f longest frames\n", beyond,
		     CROWDS, most);
	assert_true(beyond > CROWDS / 20);
}

/* It never interrupts a frame, so it makes no difference whether it may. */
static void nor_is_one_where_frames_could_be_cut(void **state)
{
	within_a_frame_of_gps(NULL, SIM_FULL, &cr_sched_wfq);
}

/* Beside no call, the queue of edf-be is the same. */
static void nor_is_one_of_edf_be_with_this_queue(void **state)
{
	within_a_frame_of_gps("rule=background,queue=wfq", SIM_FRAME,
			      &cr_sched_edf_be);
}

/* Start-time fair queuing is fair too, but knows no such bound. */
static void by_start_times_some_are_later(void **state)
{
	uint64_t seed = test_seed();
	unsigned later = 0;

	for (unsigned n = 0; n < CROWDS; n++) {
		draw(&game, &seed);
		play_fluid(&game);
		play_policy(&game, &cr_sched_edf_be, "rule=background",
			    SIM_FRAME);
		later +=
			most_behind(&game) > (double)longest(&game) + TOLERANCE;
	}
	assert_true(later > CROWDS / 10);
}

/* --- the order --- */

/* Of the frames that had come when one began, did another end before it in
 * GPS? Fewer than TOLERANCE apart, rounding decides. */
static bool out_of_order(const struct game *g, unsigned i, unsigned k)
{
	const struct flow *f = &g->flow[i];
	cr_ns begun = f->end[k] - f->cost;

	for (unsigned o = 0; o < g->n; o++) {
		const struct flow *other = &g->flow[o];

		for (unsigned m = 0; m < other->n; m++)
			if (other->job[m].at <= begun &&
			    other->end[m] > f->end[k] &&
			    other->fluid[m] < f->fluid[k] - TOLERANCE)
				return true;
	}
	return false;
}

/* GPS's finish times here are those with all later arrivals, which delay all
 * that are served then alike: their order is that of F. */
static void whoever_ends_first_in_gps_is_next(void **state)
{
	uint64_t seed = test_seed();

	for (unsigned n = 0; n < CROWDS; n++) {
		draw(&game, &seed);
		play_fluid(&game);
		play_policy(&game, &cr_sched_wfq, NULL, SIM_FRAME);
		for (unsigned i = 0; i < game.n; i++)
			for (unsigned k = 0; k < game.flow[i].n; k++)
				if (out_of_order(&game, i, k))
					fail_msg("crowd %u: frame %u of flow "
						 "%u comes too early",
						 n, k, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(costs_that_are_not_known_lift_the_bound),
		cmocka_unit_test(
			no_frame_is_later_than_gps_and_the_longest_frame),
		cmocka_unit_test(nor_is_one_where_frames_could_be_cut),
		cmocka_unit_test(nor_is_one_of_edf_be_with_this_queue),
		cmocka_unit_test(by_start_times_some_are_later),
		cmocka_unit_test(whoever_ends_first_in_gps_is_next),
	};

	return cmocka_run_group_tests_name("wfq", tests, NULL, NULL);
}
