/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shares of bfs and its bound on waiting: random crowds.
 *
 * With everybody backlogged, a call has an interval's turn every T(i). What
 * the nice levels make of it depends on how many there are: see schedulers/
 * bfs.c. O(i) is the offset of the virtual deadline, "load" the sum of
 * interval / O(i). T(i) is a mean over turns that come in whole intervals:
 * hence the tolerances.
 */
#include "crowd.h"
#include "schedulers/policies.h"

#define INTERVAL (6 * CR_MS)
#define WARM_UP (20 * CR_SEC)
#define WINDOW (100 * CR_SEC)

#define CROWDS TEST_TRIES(1000)

/* 1.1^(nice + 20) intervals, by repeated multiplication. */
static cr_ns offset(const struct caller *c)
{
	cr_ns o = INTERVAL * 1000;

	for (int n = -20; n < c->nice; n++)
		o = o * 11 / 10;
	return o / 1000;
}

static int64_t load_ppm(const struct crowd *c)
{
	int64_t sum = 0;

	for (unsigned i = 0; i < c->n; i++)
		sum += INTERVAL * CR_PPM / offset(&c->c[i]);
	return sum;
}

static cr_ns longest_offset(const struct crowd *c)
{
	cr_ns most = 0;

	for (unsigned i = 0; i < c->n; i++)
		most = cr_ns_max(most, offset(&c->c[i]));
	return most;
}

/* Fill @had with everybody's service in WINDOW, after WARM_UP. */
static void serve(const struct crowd *c, enum sim_preempt preempt, cr_ns *had)
{
	struct sim_rig *rig = crowd_rig(c, &cr_sched_bfs, NULL, preempt);
	cr_ns before[CROWD_MAX];

	sim_run(rig->sim, WARM_UP);
	for (unsigned i = 0; i < c->n; i++)
		before[i] = crowd_service(rig, i);
	sim_run(rig->sim, WARM_UP + WINDOW);
	for (unsigned i = 0; i < c->n; i++)
		had[i] = crowd_service(rig, i) - before[i];
	rig_free(rig);
}

/* The mean time between two turns of one who had @had. */
static cr_ns between_turns(cr_ns had)
{
	return WINDOW / (had / (INTERVAL / 1000)) * 1000;
}

/* --- as many as their offsets take: the ratios ---
 *
 * Not one more: from a load of 1.002 on, crowds lock into rings of a few turns,
 * nice 4, 5, 6, 6, 7 and -14 into one of 78 ms, where 59 ms are due. */

static bool is_balanced(const struct crowd *c)
{
	int64_t load = load_ppm(c);

	return load > 985000 && load <= CR_PPM;
}

static bool balanced_crowd(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 42);
	return is_balanced(c);
}

static bool off_its_offset(const struct crowd *c)
{
	/* what the others' turns in progress can put off; 3 was not enough for
	 * one crowd of twelve in ten thousand */
	cr_ns slack = INTERVAL * (c->n > 4 ? c->n - 1 : 3);
	cr_ns had[CROWD_MAX];
	bool bad = false;

	if (!is_balanced(c))
		return crowd_mute();
	serve(c, SIM_FULL, had);
	for (unsigned i = 0; i < c->n; i++)
		bad |= llabs(between_turns(had[i]) - offset(&c->c[i])) > slack;
	return bad;
}

static void at_balance_turns_come_every_offset(void **state)
{
	static const struct crowd_property p = {
		"at load 1 a turn comes every 1.1^(nice + 20) intervals, +- 3 "
		"or one for each other call",
		balanced_crowd, off_its_offset
	};

	crowd_try(CROWDS, &p);
}

/* --- fewer: all are earlier than their offsets by the same time ---
 *
 * How early is the lead of the least deadline over the clock. It sinks by an
 * interval with every turn while deadlines lie close together: by one for each
 * call, if all do. */

static bool thin_crowd(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 30);
	return load_ppm(c) < CR_PPM;
}

static bool unequally_early(const struct crowd *c)
{
	cr_ns had[CROWD_MAX], least = CR_NEVER, most = -CR_NEVER;

	serve(c, SIM_FULL, had);
	for (unsigned i = 0; i < c->n; i++) {
		cr_ns early;

		if (had[i] < 100 * INTERVAL)
			return crowd_mute(); /* too few turns for a mean */
		early = offset(&c->c[i]) - between_turns(had[i]);
		least = cr_ns_min(least, early);
		most = cr_ns_max(most, early);
	}
	return most - least > c->n * INTERVAL;
}

static void a_thin_crowd_is_early_by_the_same_time(void **state)
{
	static const struct crowd_property p = {
		"below load 1 all turns are equally early, within an interval "
		"each",
		thin_crowd, unequally_early
	};

	crowd_try(CROWDS, &p);
}

/* --- more: a ring --- */

static bool dense_crowd(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 46);
	return (c->n - 1) * INTERVAL > longest_offset(c);
}

static bool not_a_ring(const struct crowd *c)
{
	cr_ns had[CROWD_MAX], least = CR_NEVER, most = 0;

	if ((c->n - 1) * INTERVAL <= longest_offset(c))
		return crowd_mute();
	serve(c, SIM_FULL, had);
	for (unsigned i = 0; i < c->n; i++) {
		least = cr_ns_min(least, had[i]);
		most = cr_ns_max(most, had[i]);
	}
	return most - least > INTERVAL;
}

static void a_dense_crowd_is_served_in_a_ring(void **state)
{
	static const struct crowd_property p = {
		"when all deadlines pass, shares are equal within an interval",
		dense_crowd, not_a_ring
	};

	crowd_try(CROWDS, &p);
}

/* --- always --- */

static bool any_crowd(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 40);
	return true;
}

static bool crowd_of_frames(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 20);
	for (unsigned i = 0; i < c->n; i++)
		c->c[i].frame = crowd_between(seed, 100 * CR_US, 8 * CR_MS);
	return true;
}

/* @slack: of a turn beyond the interval, relative to it. */
static bool upside_down(const struct crowd *c, enum sim_preempt preempt)
{
	cr_ns had[CROWD_MAX], slack = 2 * INTERVAL;

	serve(c, preempt, had);
	for (unsigned i = 0; i < c->n; i++)
		for (unsigned j = 0; j < c->n; j++)
			if (c->c[i].nice < c->c[j].nice &&
			    had[i] + slack < had[j])
				return true;
	return false;
}

static bool upside_down_with_slices(const struct crowd *c)
{
	return upside_down(c, SIM_FULL);
}

static void lower_nice_never_gets_less(void **state)
{
	static const struct crowd_property p = {
		"a lower nice level never gets less, within two intervals",
		any_crowd, upside_down_with_slices
	};

	crowd_try(CROWDS, &p);
}

/* --- the bound on waiting ---
 *
 * On M CPUs nobody queues longer than O(i) + (n - 1) intervals / M. Proof: i's
 * deadline was given before it queued, so it passes within O(i). From then on
 * pick() takes nobody who is behind i in the list. Each of the others may have
 * the rest of one interval until then: it keeps a place before i only while its
 * interval lasts, and comes behind i when it is renewed, displaced, or wakes.
 * All CPUs serve these others as long as i waits.
 */

/* bfs with a look at every pick. */
static struct {
	cr_ns queued[CROWD_MAX + 1]; /* since, by task id */
	const struct crowd *crowd;
	cr_ns beyond; /* what a turn may take above an interval */
	bool late;
} watch;

static void watch_enqueue(struct cr_rq *rq, struct cr_task *t, enum cr_enq why,
			  cr_ns now)
{
	watch.queued[t->id] = now;
	cr_sched_bfs.enqueue(rq, t, why, now);
}

static struct cr_task *watch_pick(struct cr_rq *rq, unsigned cpu, cr_ns now)
{
	struct cr_task *t = cr_sched_bfs.pick(rq, cpu, now);
	const struct crowd *c = watch.crowd;

	cr_ns turns = (c->n - 1) * (INTERVAL + watch.beyond) / c->ncpu;

	if (t)
		watch.late |= now - watch.queued[t->id] >
			      offset(&c->c[t->id - 1]) + 1 + turns;
	return t;
}

static bool waits_too_long(const struct crowd *c, enum sim_preempt preempt)
{
	struct cr_sched_ops ops = cr_sched_bfs;
	struct sim_rig *rig;

	ops.enqueue = watch_enqueue;
	ops.pick = watch_pick;
	memset(&watch, 0, sizeof(watch));
	watch.crowd = c;
	for (unsigned i = 0; preempt == SIM_FRAME && i < c->n; i++)
		watch.beyond = cr_ns_max(watch.beyond, c->c[i].frame);
	rig = crowd_rig(c, &ops, NULL, preempt);
	sim_run(rig->sim, 2 * CR_SEC);
	rig_free(rig);
	return watch.late;
}

/* Some on and off, some always there, on one CPU or more. */
static bool restless_crowd(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 40);
	c->ncpu = 1 + test_below(seed, 4);
	for (unsigned i = 0; i < c->n; i++) {
		c->c[i].start = crowd_between(seed, 0, CR_SEC);
		if (test_below(seed, 2))
			continue;
		c->c[i].frame = crowd_between(seed, 10 * CR_US, 30 * CR_MS);
		c->c[i].period = c->c[i].frame * crowd_between(seed, 1, 40);
	}
	return true;
}

static bool waits_too_long_with_slices(const struct crowd *c)
{
	return waits_too_long(c, SIM_FULL);
}

static void waiting_is_bounded(void **state)
{
	static const struct crowd_property p = {
		"nobody queues longer than O(i) + (n - 1) intervals / CPUs",
		restless_crowd, waits_too_long_with_slices
	};

	crowd_try(CROWDS, &p);
}

static bool waits_too_long_uncut(const struct crowd *c)
{
	return waits_too_long(c, SIM_FRAME);
}

static void without_preemption_a_frame_more_each(void **state)
{
	static const struct crowd_property p = {
		"uncut, a frame more for each of the others", crowd_of_frames,
		waits_too_long_uncut
	};

	crowd_try(CROWDS, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_balance_turns_come_every_offset),
		cmocka_unit_test(a_thin_crowd_is_early_by_the_same_time),
		cmocka_unit_test(a_dense_crowd_is_served_in_a_ring),
		cmocka_unit_test(lower_nice_never_gets_less),
		cmocka_unit_test(waiting_is_bounded),
		cmocka_unit_test(without_preemption_a_frame_more_each),
	};

	return cmocka_run_group_tests_name("bfs", tests, NULL, NULL);
}
