/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half as much again as a worker can do, for some seconds, and back: what
 * cannot be done is lost evenly, nothing gets old, and afterwards every call
 * has every frame again. Without a limit of age the ring bounds how old; with
 * the daemon's default, each call's deadline does.
 *
 * The worker's frames are the clock: the next one is sent when it has done two
 * thirds of those so far, however slow the machine.
 */
#include "cmocka_cr.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "observe/trace_read.h"
#include "rig.h"
#include "scratch.h"

#define NB 160u
#define CALLS 30u
#define OVER 150u /* rounds */
#define CALM 50u
#define RING 8u
#define DEADLINE (20 * CR_MS) /* a call's, by default */

static const uint8_t silence[NB] = { 0xff };

struct crowd {
	struct rig rig;
	struct node_call *call[CALLS];
	struct rig_sender sender[CALLS];
	unsigned sent[CALLS];
	unsigned oldest; /* most frames that were newer than one sent out */
};

static unsigned long long get(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static unsigned long long lost(const struct node_call *nc)
{
	return get(&nc->call->count.overwritten) + get(&nc->call->count.stale);
}

static void open_crowd(struct crowd *c, const char *scheduler, cr_ns max_age,
		       const char *spin)
{
	char call[100];

	(void)snprintf(call, sizeof(call),
		       "{'in': {'codec': 'pcmu'}, "
		       "'out': {'codec': 'spin', 'spin': '%s'}}",
		       spin);
	rig_open(&c->rig, &(struct rig_options){ .workers = 1,
						 .ring_frames = RING,
						 .max_age = max_age,
						 .scheduler = scheduler });
	for (unsigned i = 0; i < CALLS; i++) {
		c->call[i] = rig_call(&c->rig, call);
		c->sender[i] = rig_sender(&c->rig, c->call[i], NB);
	}
}

/* What has come out so far: how many newer frames had its call by then? */
static void look(struct crowd *c)
{
	uint8_t buf[2048];
	struct rtp_packet p;
	ssize_t n;

	while ((n = recv(c->rig.fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		unsigned i = 0, newer;

		assert_int_equal(rtp_parse(buf, (size_t)n, &p), 0);
		while (c->call[i]->call->cfg.ssrc_out != p.ssrc)
			assert_true(++i < CALLS);
		newer = c->sent[i] - 1 -
			(p.ts - c->call[i]->call->cfg.ts_out) / NB;
		c->oldest = newer > c->oldest ? newer : c->oldest;
	}
}

/* The @sent packets came in, and the worker has done two thirds of them, or all
 * that it was left. */
static bool may_follow(struct crowd *c, unsigned sent)
{
	unsigned long long came = 0, done = 0, gone = 0;

	look(c);
	for (unsigned i = 0; i < CALLS; i++) {
		const struct call_counters *n = &c->call[i]->call->count;

		came += get(&n->packets_in);
		done += get(&n->done);
		gone += lost(c->call[i]);
	}
	return came == sent && (3 * done >= 2 * sent || done + gone == sent);
}

/* One frame of each call after the other. */
static void overload(struct crowd *c, unsigned rounds)
{
	for (unsigned k = 0; k < rounds * CALLS; k++) {
		while (!may_follow(c, k))
			(void)sched_yield();
		rig_send(&c->sender[k % CALLS], silence, NB);
		c->sent[k % CALLS]++;
	}
}

/* Every packet has come in and met its fate. */
static bool settled(void *arg)
{
	const struct crowd *c = arg;

	for (unsigned i = 0; i < CALLS; i++) {
		const struct call_counters *n = &c->call[i]->call->count;

		if (get(&n->packets_in) != c->sent[i] ||
		    c->sent[i] != get(&n->done) + lost(c->call[i]))
			return false;
	}
	return true;
}

static void check_losses(const struct crowd *c, const char *scheduler)
{
	unsigned long long least = OVER, most = 0, sum = 0, delay = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		const struct call_counters *n = &c->call[i]->call->count;
		unsigned long long l = lost(c->call[i]);

		assert_int_equal(get(&n->packets_in), OVER);
		least = l < least ? l : least;
		most = l > most ? l : most;
		sum += l;
		if (get(&n->delay_max_ns) > delay)
			delay = get(&n->delay_max_ns);
	}
	print_message("%s: %llu to %llu of %u frames lost, delay up to %.0f ms "
		      "or %u frames\n",
		      scheduler, least, most, OVER, (double)delay / 1e6,
		      c->oldest);
	assert_true(least > 0);
	/* fifo and rr lose evenly, EDF prefers the early senders of a round;
	 * yet nobody pays for all: at most twice the mean. */
	assert_true(most * CALLS <= 2 * sum);
	/* The ring's length bounds it, whatever the length of the overload: in
	 * frames, for the machine may be slow; twice that, for packets wait
	 * for others. A queue without bound would have reached 50. */
	assert_true(c->oldest <= 2 * RING);
}

/* One frame of every call in, one of every call out. */
static void calm(struct crowd *c)
{
	unsigned long long before[CALLS];

	look(c);
	for (unsigned i = 0; i < CALLS; i++)
		before[i] = get(&c->call[i]->call->count.done);
	for (unsigned k = 0; k < CALM; k++) {
		for (unsigned i = 0; i < CALLS; i++) {
			rig_send(&c->sender[i], silence, NB);
			c->sent[i]++;
		}
		for (unsigned i = 0; i < CALLS; i++) {
			uint8_t buf[2048];
			struct rtp_packet p;

			assert_true(rig_receive(&c->rig, buf, &p));
		}
	}
	assert_true(rig_wait(&c->rig, settled, c));
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(get(&c->call[i]->call->count.done) - before[i],
				 CALM);
}

static void survive(const char *scheduler)
{
	struct crowd c = { .oldest = 0 };

	open_crowd(&c, scheduler, 0, "0.5ms");
	overload(&c, OVER);
	assert_true(rig_wait(&c.rig, settled, &c));
	check_losses(&c, scheduler);
	calm(&c);
	rig_close(&c.rig);
}

/* What the trace says of frames that were done, and of those that were shed. */
static void check_ages(const char *path, const char *scheduler)
{
	const cr_ns limit = CORE_AGE_TIMES * DEADLINE;
	union cr_trace_record rec;
	struct trace_reader *r = NULL;
	struct cr_err e = { "" };
	unsigned done = 0, stale = 0;

	if (trace_reader_open(&r, path, &e))
		fail_msg("%s", e.text);
	while (trace_reader_next(r, &rec, &e) > 0) {
		const struct cr_trace_job *j = &rec.job;
		bool old =
			j->pick - j->arrival > limit && j->pick > j->deadline;

		if (rec.kind != CR_TRACE_JOB)
			continue;
		if (j->outcome == CR_OUT_DONE)
			assert_false(old);
		if (j->outcome == CR_OUT_STALE)
			assert_true(old);
		done += j->outcome == CR_OUT_DONE;
		stale += j->outcome == CR_OUT_STALE;
	}
	trace_reader_close(r);
	print_message("%s: %u done, %u too old\n", scheduler, done, stale);
	assert_true(done > 0);
	assert_true(stale > 0);
}

/* A round of frames takes as long as a frame lasts, at least: nobody sends
 * ahead of time. Eight rounds would wait, were there no limit. */
static void age_is_bounded(const char *scheduler)
{
	struct crowd c = { .oldest = 0 };
	struct trace_totals totals;
	struct cr_err e = { "" };
	char path[SCRATCH_MAX];

	open_crowd(&c, scheduler, CORE_AGE_AUTO, "1ms");
	if (node_trace_start(c.rig.node, scratch_file(path), TRACE_OVER_ANY,
			     &e))
		fail_msg("%s", e.text);
	overload(&c, OVER / 3);
	assert_true(rig_wait(&c.rig, settled, &c));
	assert_int_equal(node_trace_stop(c.rig.node, &totals), 0);
	check_ages(path, scheduler);
	rig_close(&c.rig);
}

static void age_is_bounded_by_the_deadline(void **state)
{
	static const char *const schedulers[] = { "fifo", "rr", "edf" };

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		age_is_bounded(schedulers[i]);
}

static void overload_passes_under_fifo(void **state)
{
	(void)state;
	survive("fifo");
}

static void overload_passes_under_rr(void **state)
{
	(void)state;
	survive("rr");
}

static void overload_passes_under_edf(void **state)
{
	(void)state;
	survive("edf");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overload_passes_under_fifo),
		cmocka_unit_test(overload_passes_under_rr),
		cmocka_unit_test(overload_passes_under_edf),
		cmocka_unit_test(age_is_bounded_by_the_deadline),
	};

	return cmocka_run_group_tests_name("overload", tests, NULL, NULL);
}
