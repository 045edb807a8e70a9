/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One policy, two drivers: the trace of a live node, replayed in the simulator
 * with the costs that were measured, gives the same order of jobs.
 *
 * Times in a trace were read under the run queue's lock, so for policies that
 * order by them nothing is left to chance, and the two orders must be equal.
 * Policies that account for service see it to the microsecond only in the
 * trace, and ticks come late in live mode: there, near ties may go either way,
 * and only the set of jobs is compared; the agreement is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "observe/trace_file.h"
#include "node_fixture.h"
#include "scratch.h"
#include "schedulers/policies.h"
#include "schedulers/registry.h"
#include "sim_rig.h"

enum { CALLS = 24, ROUNDS = 15, NB = 160, JOBS = CALLS * ROUNDS };
#define WAKER UINT32_MAX
#define PTIME (20 * CR_MS)

/* Their order depends on nothing but times in the trace. */
static const char *const exact[] = { "fifo", "edf", "rm", "dwa", NULL };

struct seen {
	struct cr_trace_job job[JOBS]; /* by pick */
	unsigned n;
	struct cr_task task[CALLS]; /* as admitted */
};

static int by_pick(const void *a, const void *b)
{
	const struct cr_trace_job *x = a, *y = b;

	return x->pick < y->pick ? -1 : x->pick > y->pick;
}

static void read_trace(struct seen *s, const char *path)
{
	union cr_trace_record rec;
	struct trace_reader *r = NULL;
	struct cr_err e = { "" };
	int rc;

	if (trace_reader_open(&r, path, &e))
		fail_msg("%s", e.text);
	while ((rc = trace_reader_next(r, &rec, &e)) > 0) {
		if (rec.kind != CR_TRACE_JOB)
			continue;
		assert_int_equal(rec.job.outcome, CR_OUT_DONE);
		assert_true(s->n < JOBS);
		s->job[s->n++] = rec.job;
	}
	assert_int_equal(rc, 0);
	trace_reader_close(r);
	assert_int_equal(s->n, JOBS);
	qsort(s->job, s->n, sizeof(s->job[0]), by_pick);
}

static void sleep_until(cr_ns t)
{
	const struct timespec ts = { t / CR_SEC, t % CR_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		;
}

/* Calls of unequal cost, in all three quarters of a worker, each at its own
 * point of the 20 ms, in bunches so that there is something to choose. */
static void play(struct node_fixture *r, struct node_stream *const *calls)
{
	static const uint8_t silence[NB] = { 0xff };
	struct fixture_sender s[CALLS];
	cr_ns begin = clock_now();
	uint8_t buf[2048];

	for (unsigned c = 0; c < CALLS; c++)
		s[c] = fixture_sender(r, calls[c], NB);
	for (unsigned k = 0; k < JOBS; k++) {
		if (k % 6 == 0)
			sleep_until(begin + k * PTIME / CALLS);
		fixture_send(&s[(k * 7) % CALLS], silence, NB);
		while (recv(r->fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
			;
	}
}

static void live(struct seen *s, const char *scheduler)
{
	char path[SCRATCH_MAX], json[256];
	struct node_stream *calls[CALLS];
	struct cr_err e = { "" };
	struct node_fixture r;

	(void)scratch_file(path);
	fixture_open(&r,
		     &(struct fixture_options){ .scheduler = scheduler,
						.workers = 1,
						.ring_frames = 2 * ROUNDS });
	if (node_trace_start(r.node, path, TRACE_OVER_ANY, &e))
		fail_msg("%s", e.text);
	for (unsigned c = 0; c < CALLS; c++) {
		(void)snprintf(json, sizeof(json),
			       "{'in': {'codec': 'pcmu'}, 'out': {'codec': "
			       "'spin', 'spin': '%uus'}, 'deadline': '%ums'}",
			       200 + 40 * c, 5 + 13 * c % 40);
		calls[c] = fixture_call(&r, json);
		s->task[c] = node_stream_transcoder(calls[c])->lt.core.task;
	}
	play(&r, calls);
	for (unsigned c = 0; c < CALLS; c++) {
		unsigned long long done = 0;

		while (done < ROUNDS) { /* or the test's time-out */
			done = atomic_load_explicit(
				&calls[c]->stream->account->count.done,
				memory_order_relaxed);
			sleep_until(clock_now() + CR_MS);
		}
		fixture_end(&r, calls[c]);
	}
	assert_int_equal(node_trace_stop(r.node, NULL), 0);
	fixture_close(&r);
	read_trace(s, path);
}

/* --- the same in virtual time --- */

static struct {
	struct sim_rig *rig;
	struct sim_job job[CALLS][ROUNDS];
	cr_ns arrival[CALLS][ROUNDS];
	unsigned order[JOBS], n; /* call indexes, as they were done */
} replay;

static unsigned index_of(const struct seen *s, uint32_t id)
{
	unsigned i = 0;

	while (s->task[i].id != id)
		assert_true(++i < CALLS);
	return i;
}

/* How long job @k keeps the CPU: until the worker picked again. It may have
 * slept in between, and what a wake-up takes is not in the trace; this way the
 * simulator picks when the worker did, out of what had been released by then.
 */
static cr_ns held(const struct seen *s, unsigned k)
{
	const struct cr_trace_job *j = &s->job[k];

	return (k + 1 < s->n ? s->job[k + 1].pick : j->end) - j->pick;
}

/* Packets that one batch released at one instant came in the order of their
 * arrival: nanoseconds apart here. */
static cr_ns place_in_batch(const struct seen *s, unsigned k)
{
	const struct cr_trace_job *j = &s->job[k];
	cr_ns place = 0;

	for (unsigned i = 0; i < s->n; i++)
		place += s->job[i].release == j->release &&
			 s->job[i].arrival < j->arrival;
	return place;
}

/* A frame that found its call idle became its job at `release`. One that had
 * to wait for the one before it became it when that one was stopped, which is
 * when the worker picked again; it came some time while that one ran. */
static void note_job(const struct seen *s, unsigned k, cr_ns *stopped,
		     cr_ns *picked)
{
	const struct cr_trace_job *j = &s->job[k];
	unsigned c = index_of(s, j->task);
	bool waited = j->release == stopped[c];

	assert_true(j->seq < ROUNDS);
	replay.job[c][j->seq] = (struct sim_job){
		.at = waited ? picked[c] + 1
			     : j->release + place_in_batch(s, k),
		.cost = held(s, k),
		.deadline = j->deadline,
	};
	replay.arrival[c][j->seq] = j->arrival;
	picked[c] = j->pick;
	stopped[c] = k + 1 < s->n ? s->job[k + 1].pick : 0;
}

static void note_done(void *arg, struct sim_task *t, unsigned cpu, cr_ns now)
{
	rig_done(arg, t, cpu, now);
	if (t->core.task.id == WAKER)
		return;
	assert_true(replay.n < JOBS);
	replay.order[replay.n++] = t->core.task.id;
}

/* The task as the node had it, with call @c's jobs. */
static void add_task(struct sim_rig *rig, const struct seen *s, unsigned c)
{
	struct rig_task *r = &rig->task[rig->ntasks++];
	const struct cr_task *was = &s->task[c];
	struct cr_task *t = &r->st.core.task;
	struct cr_verdict v;

	r->job = replay.job[c];
	r->njobs = ROUNDS;
	t->id = was->id;
	t->cls = was->cls;
	t->period = was->period;
	t->rel_deadline = was->rel_deadline;
	t->cost = was->cost;
	t->nice = was->nice;
	t->weight = was->weight;
	t->contract = was->contract;
	t->cpus = was->cpus;
	assert_int_equal(sim_add(rig->sim, &r->st, &v), 0);
	sim_arrive_at(rig->sim, &r->st, replay.job[c][0].at);
}

static void be_waker(struct rig_task *r)
{
	r->st.core.task.id = WAKER;
}

/* Before the first job the worker slept, too: something must keep the CPU. */
static void add_waker(struct sim_rig *rig, const struct seen *s)
{
	static struct sim_job until_first_pick;
	cr_ns at = s->job[0].release - CR_SEC;
	struct rig_task *r;

	until_first_pick = (struct sim_job){ .at = at,
					     .cost = s->job[0].pick - at,
					     .deadline = CR_NEVER };
	r = rig_add_with(rig, CR_SEC, 1, be_waker);
	r->job = &until_first_pick;
	r->njobs = 1;
	sim_arrive_at(rig->sim, &r->st, at);
}

static size_t index_in_replay(const struct rig_task *r)
{
	return (size_t)(r->job - replay.job[0]) / ROUNDS;
}

/* When a frame came, which is before it was released. The trace has no logical
 * arrivals, but deadlines are counted from them. */
static bool peek_traced(struct core_task *t, struct cr_job *job)
{
	const struct rig_task *r = rig_task_of(t);

	if (!rig_peek(t, job))
		return false;
	if (t->task.id == WAKER)
		return true;
	job->arrival = replay.arrival[index_in_replay(r)][job->seq];
	job->eligible = job->deadline - t->task.rel_deadline;
	return true;
}

static void simulate(const struct seen *s, const struct cr_sched_ops *ops)
{
	cr_ns stopped[CALLS] = { 0 }, picked[CALLS] = { 0 };
	struct sim_rig *rig = rig_new(ops, NULL, 1, CALLS + 1);
	unsigned limit = 1000;

	replay.n = 0;
	rig->cfg.preempt = SIM_FRAME;
	rig->cfg.client.done = note_done;
	rig->cfg.client.backlog.peek = peek_traced;
	for (unsigned k = 0; k < s->n; k++)
		note_job(s, k, stopped, picked);
	rig_start(rig);
	add_waker(rig, s);
	for (unsigned c = 0; c < CALLS; c++)
		add_task(rig, s, c);
	sim_run(rig->sim, s->job[0].release);
	/* a policy that rations by declared cost takes its time */
	while (replay.n < JOBS && limit--)
		sim_run(rig->sim, sim_now(rig->sim) + CR_SEC);
	rig_free(rig);
	assert_int_equal(replay.n, JOBS);
}

static unsigned equal_picks(const struct seen *s)
{
	unsigned equal = 0;

	for (unsigned k = 0; k < JOBS; k++)
		equal += s->job[k].task == replay.order[k];
	return equal;
}

static void compare(const struct seen *s, const char *scheduler)
{
	unsigned equal = equal_picks(s);
	bool must = false;

	for (unsigned i = 0; exact[i]; i++)
		must = must || !strcmp(exact[i], scheduler);
	print_message("%s: %u of %u jobs at the same place\n", scheduler, equal,
		      JOBS);
	if (must)
		assert_int_equal(equal, JOBS);
}

static void the_simulator_picks_as_the_live_engine_did(void **state)
{
	static struct seen s;

	for (unsigned i = 0; cr_schedulers[i]; i++) {
		/* gives up what cannot be in time any more: how much that is
		 * depends on the machine, and not all jobs are done */
		if (!strcmp(cr_schedulers[i]->name, "red"))
			continue;
		memset(&s, 0, sizeof(s));
		live(&s, cr_schedulers[i]->name);
		simulate(&s, cr_schedulers[i]);
		compare(&s, cr_schedulers[i]->name);
	}
}

/* The comparison can tell policies apart. */
static void another_policy_picks_otherwise(void **state)
{
	static struct seen s;

	live(&s, "fifo");
	simulate(&s, &cr_sched_edf);
	assert_true(equal_picks(&s) < JOBS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_simulator_picks_as_the_live_engine_did),
		cmocka_unit_test(another_policy_picks_otherwise),
	};

	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
