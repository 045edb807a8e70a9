/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of fifo by calls, and the shares of rr: 1,000 random sets or crowds
 * each.
 */
#include "crowd.h"
#include "schedulers/policies.h"
#include "task_set_rig.h"

enum { UNTIL = 1000, LOOKS = 50 };
#define SETS TEST_TRIES(1000)
#define CROWDS TEST_TRIES(1000)

/* --- fifo by calls: the order of starts is the order of releases --- */

/* A job is released when it arrives, or when the one before it is done. */
struct start {
	cr_ns released;
	bool arrived; /* ... and not when the one before was done */
	uint32_t id;
};

static struct {
	cr_ns end[TASK_SET_MAX + 1]; /* of the last job, by task id */
	struct start last;
	unsigned starts;
	bool wrong;
} line;

static struct start start_of(const struct rig_task *r)
{
	uint32_t id = r->st.core.task.id;
	cr_ns at = rig_job(r, r->claimed - 1).at;

	return (struct start){ .released = cr_ns_max(at, line.end[id]),
			       .arrived = at >= line.end[id],
			       .id = id };
}

/* At one instant those that were done come first, and arrivals by number. */
static bool in_order(struct start a, struct start b)
{
	if (a.released != b.released)
		return a.released < b.released;
	return a.arrived == b.arrived ? !a.arrived || a.id < b.id : b.arrived;
}

static cr_ns note_start(void *arg, struct sim_task *t)
{
	struct start s = start_of(rig_task_of(&t->core));

	line.wrong |= line.starts++ && !in_order(line.last, s);
	line.last = s;
	return rig_cost(arg, t);
}

static void note_end(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	line.end[t->core.task.id] = now;
	rig_done(arg, t, cpu, now);
}

/* Arrivals of a task begin with what its deadline leaves of the period. */
static void shift(struct rig_task *r)
{
	const struct set_task *from = r->rig->user;

	r->offset = from->period - from->deadline;
}

static bool out_of_order(const struct task_set *set, void *arg)
{
	unsigned ncpu = *(const unsigned *)arg;
	struct sim_rig *rig =
		rig_new(&cr_sched_fifo, "order=call", ncpu, TASK_SET_MAX);
	uint64_t cut = 0;

	memset(&line, 0, sizeof(line));
	rig->cfg.client.cost = note_start;
	rig->cfg.client.done = note_end;
	for (unsigned i = 0; i < set->n; i++) {
		rig->user = &set->task[i];
		(void)rig_add_with(rig, set->task[i].period, set->task[i].cost,
				   shift);
	}
	sim_run(rig->sim, UNTIL);
	for (unsigned c = 0; c < ncpu; c++)
		cut += sim_cpu_stats(rig->sim, c).preemptions;
	rig_free(rig);
	return line.wrong || !line.starts || cut;
}

/* Below the load that fits, at it, and half as much again. */
static void fifo_by_calls_starts_in_the_order_of_release(void **state)
{
	unsigned ncpu;
	struct task_set_property p = { "order=call: order equals release order",
				       out_of_order, &ncpu };

	for (ncpu = 1; ncpu <= 4; ncpu++)
		for (unsigned half = 1; half <= 3; half++) {
			struct task_set_shape shape = {
				.tasks = { 2, 16 },
				.util_ppm = ncpu * half * CR_PPM / 2,
				.period = { 3, 60 },
				.constrained = true
			};

			task_set_try(SETS, &shape, &p);
		}
}

/* --- rr --- */

/* Follows from the first caller, so that it can be shrunk. */
static cr_ns quantum_of(const struct crowd *c)
{
	return CR_US + (c->c[0].nice + 20) * 77 * CR_US;
}

/* @c under rr; without preemption @done sees the ends of frames. */
static struct sim_rig *ring(const struct crowd *c,
			    void (*done)(void *, struct sim_task *, unsigned,
					 cr_ns))
{
	struct sim_rig *rig;
	char opts[48];

	(void)snprintf(opts, sizeof(opts), "quantum=%lldns",
		       (long long)quantum_of(c));
	rig = rig_new(&cr_sched_rr, opts, c->ncpu, c->n);
	if (done) {
		rig->cfg.preempt = SIM_FRAME;
		rig->cfg.client.done = done;
	}
	crowd_join(rig, c);
	return rig;
}

/* Some have one job without end, others frames; somebody always waits. */
static bool backlogged_crowd(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 20);
	c->ncpu = 1 + test_below(seed, 4);
	for (unsigned i = 0; i < c->n; i++)
		if (test_below(seed, 3))
			c->c[i].frame =
				crowd_between(seed, 10 * CR_US, 5 * CR_MS);
	return c->n >= c->ncpu;
}

static bool unequal(const struct crowd *c)
{
	cr_ns n = c->n, cpus = c->ncpu;
	uint64_t seed = c->n;
	struct sim_rig *rig;
	bool bad = false;

	if (n < cpus)
		return crowd_mute();
	rig = ring(c, NULL);
	for (unsigned k = 0; k < LOOKS && !bad; k++) {
		cr_ns now = sim_now(rig->sim) +
			    crowd_between(&seed, 1, 9 * quantum_of(c));

		sim_run(rig->sim, now);
		for (unsigned i = 0; i < c->n; i++)
			bad |= llabs(n * crowd_service(rig, i) - cpus * now) >
			       n * quantum_of(c);
	}
	rig_free(rig);
	return bad;
}

static void rr_gives_each_of_n_its_nth_within_a_quantum(void **state)
{
	static const struct crowd_property p = {
		"rr: 1/n of the CPUs each, at any moment within a quantum",
		backlogged_crowd, unequal
	};

	crowd_try(CROWDS, &p);
}

/* Frames of three callers end at the same instants, on two CPUs. */
static void rr_is_as_fair_when_frames_end_at_once(void **state)
{
	struct crowd c = { .n = 3, .ncpu = 2 };

	for (unsigned i = 0; i < c.n; i++)
		c.c[i].frame = quantum_of(&c) / 2;
	assert_false(unequal(&c));
}

/* Turns as they are without preemption: frames of one call in a row. */
static struct {
	const struct crowd *crowd;
	cr_ns turn, last; /* time of this turn, and of its last frame */
	uint32_t id;
	unsigned turns;
	bool wrong;
} ring_watch;

static void end_turn(uint32_t next)
{
	const struct crowd *c = ring_watch.crowd;
	cr_ns quantum = quantum_of(c);

	ring_watch.wrong |= ring_watch.turn < quantum ||
			    ring_watch.turn - ring_watch.last >= quantum ||
			    next != ring_watch.id % c->n + 1;
	ring_watch.turns++;
	ring_watch.turn = 0;
}

static void watch_turn(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	uint32_t id = t->core.task.id;

	if (ring_watch.turn && ring_watch.id != id)
		end_turn(id);
	ring_watch.id = id;
	ring_watch.last = rig_task_of(&t->core)->cost;
	ring_watch.turn += ring_watch.last;
	rig_done(arg, t, cpu, now);
}

static bool crowd_of_frames(struct crowd *c, uint64_t *seed)
{
	crowd_draw(c, seed, 2, 20);
	for (unsigned i = 0; i < c->n; i++)
		c->c[i].frame = crowd_between(seed, 10 * CR_US, 5 * CR_MS);
	return true;
}

static bool turns_are_wrong(const struct crowd *c)
{
	struct sim_rig *rig;

	if (c->n < 2)
		return crowd_mute();
	memset(&ring_watch, 0, sizeof(ring_watch));
	ring_watch.crowd = c;
	rig = ring(c, watch_turn);
	sim_run(rig->sim, CR_SEC);
	rig_free(rig);
	return ring_watch.wrong || ring_watch.turns < 10;
}

static void rr_without_preemption_ends_turns_with_a_frame(void **state)
{
	static const struct crowd_property p = {
		"rr uncut: turns in a ring, each ends with the frame that "
		"reaches the quantum",
		crowd_of_frames, turns_are_wrong
	};

	crowd_try(CROWDS, &p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fifo_by_calls_starts_in_the_order_of_release),
		cmocka_unit_test(rr_gives_each_of_n_its_nth_within_a_quantum),
		cmocka_unit_test(rr_is_as_fair_when_frames_end_at_once),
		cmocka_unit_test(rr_without_preemption_ends_turns_with_a_frame),
	};

	return cmocka_run_group_tests_name("turns", tests, NULL, NULL);
}
