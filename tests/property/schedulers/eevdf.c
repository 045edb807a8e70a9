/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lag and the shares of eevdf, in integers, over random crowds.
 *
 * Notation: S service, w weight, W sum of weights, t time. Of a crowd that is
 * there all the time on one CPU, nobody's lag t w/W - S is ever above a slice
 * or below minus a slice, however many there are (Stoica and Abdel-Wahab,
 * theorem 1); the lag is computed here from service and time alone. Where
 * frames are not cut, a request may take a frame more, and so may a caller be
 * ahead; it may be behind by no more than all others are ahead.
 */
#include "crowd.h"
#include "schedulers/policies.h"

#define SLICE (750 * CR_US)

enum { LOOKS = 50 };
#define CROWDS TEST_TRIES(300)

/* Virtual time is in whole ns of a neutral weight: some of them, as service of
 * caller @i. */
static cr_ns rounding(const struct sim_rig *rig, unsigned i)
{
	return 4 * (crowd_weight(rig, i) / 1024 + 1);
}

/* How far caller @i may be ahead: a request, and the rest of a frame. */
static cr_ns most_ahead(const struct crowd *c, unsigned i)
{
	return SLICE + c->c[i].frame;
}

/* How far behind: with cuts no further; without, what the others may be ahead,
 * for all lags together are 0. */
static cr_ns most_behind(const struct crowd *c, unsigned i)
{
	cr_ns sum = 0;

	if (!c->c[i].frame)
		return SLICE;
	for (unsigned k = 0; k < c->n; k++)
		sum += k == i ? 0 : most_ahead(c, k);
	return sum;
}

static bool lags(const struct sim_rig *rig, const struct crowd *c)
{
	int64_t sum = crowd_weights(rig);
	cr_ns now = sim_now(rig->sim);

	for (unsigned i = 0; i < c->n; i++) {
		int64_t lag = now * crowd_weight(rig, i) -
			      crowd_service(rig, i) * sum;
		cr_ns more = rounding(rig, i);

		if (lag > (most_behind(c, i) + more) * sum ||
		    -lag > (most_ahead(c, i) + more) * sum)
			return true;
	}
	return false;
}

static bool lags_at_times(const struct crowd *c, enum sim_preempt preempt)
{
	return crowd_fails_at_times(c, &cr_sched_eevdf, preempt, lags);
}

static bool any_crowd(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 1, 40);
	return true;
}

static bool lags_with_slices(const struct crowd *c)
{
	return lags_at_times(c, SIM_FULL);
}

static void nobody_lags_by_more_than_a_slice(void **state)
{
	static const struct crowd_property p = { "lags are within a slice",
						 any_crowd, lags_with_slices };

	crowd_try(CROWDS, &p);
}

/* What cfs does with forty equal callers: the last waits for 39 turns of 0.75
 * ms, a round, where eevdf lets nobody be behind by more than one. Its lag is
 * smaller than that only because every turn is as long as a slice. */
static void crowds_do_not_make_the_lag_larger(void **state)
{
	struct crowd c = { .n = 40, .ncpu = 1 };
	struct sim_rig *rig;
	cr_ns behind = 0;

	c.c[0].nice = -19; /* some seventy times the weight of the others */
	rig = crowd_rig(&c, &cr_sched_cfs, "latency=750us", SIM_FULL);
	for (unsigned k = 0; k < 400; k++) {
		int64_t all = 71755 + 39 * 1024;
		cr_ns now;

		sim_run(rig->sim, sim_now(rig->sim) + 375 * CR_US);
		now = sim_now(rig->sim);
		behind = cr_ns_max(behind,
				   now * 71755 / all - crowd_service(rig, 0));
	}
	rig_free(rig);
	assert_true(behind > 10 * SLICE);
	assert_false(lags_at_times(&c, SIM_FULL));
}

static bool lags_without_cuts(const struct crowd *c)
{
	return c->n > 1 && lags_at_times(c, SIM_FRAME);
}

static void uncut_nobody_is_ahead_by_more_than_a_slice_and_a_frame(void **state)
{
	static const struct crowd_property p = {
		"uncut, a slice and a frame ahead at most", crowd_draw_frames,
		lags_without_cuts
	};

	crowd_try(CROWDS, &p);
}

/* --- sleepers --- */

/* All come and go: frames of some slices, in periods that leave time. */
static bool crowd_of_sleepers(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 12);
	for (unsigned i = 0; i < c->n; i++) {
		c->c[i].frame = crowd_between(seed, 50 * CR_US, 5 * CR_MS);
		c->c[i].period = crowd_between(seed, c->c[i].frame,
					       c->c[i].frame * 2 * c->n);
		c->c[i].start = crowd_between(seed, 0, 20 * CR_MS);
	}
	return true;
}

static bool is_active(const struct rig_task *r)
{
	return r->st.core.task.state != CR_IDLE;
}

/* Of those that are runnable, what some were not given the others had. And
 * nobody has slept with more than two slices, or comes back with more. */
static bool lags_do_not_add_up(const struct crowd *c)
{
	struct sim_rig *rig = crowd_rig(c, &cr_sched_eevdf, NULL, SIM_FULL);
	uint64_t seed = c->n + 1;
	bool bad = false;

	for (unsigned k = 0; k < LOOKS && !bad; k++) {
		int64_t sum = 0, tolerance = 0;

		sim_run(rig->sim, sim_now(rig->sim) +
					  crowd_between(&seed, 1, 10 * CR_MS));
		for (unsigned i = 0; i < c->n; i++) {
			int64_t lag = crowd_shown(rig, i, "lag");

			if (is_active(&rig->task[i])) {
				sum += lag;
				tolerance += rounding(rig, i);
			} else {
				bad |= llabs(lag) > 2 * SLICE;
			}
		}
		bad |= llabs(sum) > tolerance;
	}
	rig_free(rig);
	return bad;
}

static void lags_add_up_to_nothing_whoever_sleeps(void **state)
{
	static const struct crowd_property p = { "lags add up to 0",
						 crowd_of_sleepers,
						 lags_do_not_add_up };

	crowd_try(CROWDS, &p);
}

/* In time of a neutral weight: a slice of caller @i. */
static cr_ns virtual_slice(const struct sim_rig *rig, unsigned i)
{
	return (SLICE + rounding(rig, i)) * 1024 / crowd_weight(rig, i) + 4;
}

/* Its lag goes from 0 to minus a slice at most, another's from minus a slice to
 * a slice. (cfs pays it half a latency for the sleep.) */
static cr_ns latecomer_ahead(const struct sim_rig *rig, const struct crowd *c,
			     unsigned i)
{
	return virtual_slice(rig, c->n - 1) + 2 * virtual_slice(rig, i);
}

static bool latecomer_takes_too_much(const struct crowd *c)
{
	return crowd_latecomer_takes(c, &cr_sched_eevdf, latecomer_ahead);
}

static void nobody_is_paid_for_having_slept(void **state)
{
	static const struct crowd_property p = {
		"who comes late is a slice ahead at most", crowd_draw_latecomer,
		latecomer_takes_too_much
	};

	crowd_try(CROWDS, &p);
}

/* --- several CPUs --- */

static bool unfair_on_cpus(const struct crowd *c)
{
	return crowd_unfair_on_cpus(c, &cr_sched_eevdf);
}

/* Observed, not proven, as for cfs. */
static void on_several_cpus_nobody_is_heavier_than_one(void **state)
{
	static const struct crowd_property p = {
		"on several CPUs shares follow the weights, capped at one CPU, "
		"within 4 %",
		crowd_draw_cpus, unfair_on_cpus
	};

	crowd_try(CROWDS, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_lags_by_more_than_a_slice),
		cmocka_unit_test(crowds_do_not_make_the_lag_larger),
		cmocka_unit_test(
			uncut_nobody_is_ahead_by_more_than_a_slice_and_a_frame),
		cmocka_unit_test(lags_add_up_to_nothing_whoever_sleeps),
		cmocka_unit_test(nobody_is_paid_for_having_slept),
		cmocka_unit_test(on_several_cpus_nobody_is_heavier_than_one),
	};

	return cmocka_run_group_tests_name("eevdf", tests, NULL, NULL);
}
