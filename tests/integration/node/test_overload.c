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

#include "observe/trace_file.h"
#include "node_fixture.h"
#include "scratch.h"

#define NB 160u
#define CALLS 30u
#define OVER 150u /* rounds */
#define CALM 50u
#define RING 8u
#define DEADLINE (20 * CR_MS) /* a call's, by default */

static const uint8_t silence[NB] = { 0xff };

struct crowd {
	struct node_fixture rig;
	struct node_stream *call[CALLS];
	struct fixture_sender sender[CALLS];
	unsigned sent[CALLS];
};

static unsigned long long get(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static unsigned long long lost(const struct node_stream *st)
{
	return get(&st->stream->account->count.overwritten) +
	       get(&st->stream->account->count.expired);
}

static void open_crowd(struct crowd *c, const char *scheduler, cr_ns max_age,
		       const char *spin)
{
	char call[100];

	(void)snprintf(call, sizeof(call),
		       "{'in': {'codec': 'pcmu'}, "
		       "'out': {'codec': 'spin', 'spin': '%s'}}",
		       spin);
	fixture_open(&c->rig,
		     &(struct fixture_options){ .workers = 1,
						.ring_frames = RING,
						.max_age = max_age,
						.scheduler = scheduler });
	for (unsigned i = 0; i < CALLS; i++) {
		c->call[i] = fixture_call(&c->rig, call);
		c->sender[i] = fixture_sender(&c->rig, c->call[i], NB);
	}
}

/* The @sent packets came in, and the worker has done two thirds of them, or all
 * that it was left. */
static bool may_follow(struct crowd *c, unsigned sent)
{
	unsigned long long came = 0, done = 0, gone = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		const struct stream_counters *n =
			&c->call[i]->stream->account->count;

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
		fixture_send(&c->sender[k % CALLS], silence, NB);
		c->sent[k % CALLS]++;
	}
}

/* Every packet has come in and met its fate. */
static bool settled(void *arg)
{
	const struct crowd *c = arg;

	for (unsigned i = 0; i < CALLS; i++) {
		const struct stream_counters *n =
			&c->call[i]->stream->account->count;

		if (get(&n->packets_in) != c->sent[i] ||
		    c->sent[i] != get(&n->done) + lost(c->call[i]))
			return false;
	}
	return true;
}

static void check_losses(const struct crowd *c, const char *scheduler)
{
	unsigned long long least = OVER, most = 0, sum = 0;

	for (unsigned i = 0; i < CALLS; i++) {
		const struct stream_counters *n =
			&c->call[i]->stream->account->count;
		unsigned long long l = lost(c->call[i]);

		assert_int_equal(get(&n->packets_in), OVER);
		least = l < least ? l : least;
		most = l > most ? l : most;
		sum += l;
	}
	print_message("%s: %llu to %llu of %u frames lost\n", scheduler, least,
		      most, OVER);
	assert_true(least > 0);
	/* fifo and rr lose evenly, EDF prefers the early senders of a round;
	 * yet nobody pays for all: at most twice the mean. */
	assert_true(most * CALLS <= 2 * sum);
}

/* One frame of every call in, one of every call out. */
static void calm(struct crowd *c)
{
	unsigned long long before[CALLS];
	uint8_t old[2048];

	while (recv(c->rig.fd, old, sizeof(old), MSG_DONTWAIT) > 0)
		;
	for (unsigned i = 0; i < CALLS; i++)
		before[i] = get(&c->call[i]->stream->account->count.done);
	for (unsigned k = 0; k < CALM; k++) {
		for (unsigned i = 0; i < CALLS; i++) {
			fixture_send(&c->sender[i], silence, NB);
			c->sent[i]++;
		}
		for (unsigned i = 0; i < CALLS; i++) {
			uint8_t buf[2048];
			struct rtp_packet p;

			assert_true(fixture_receive(&c->rig, buf, &p));
		}
	}
	assert_true(fixture_wait(&c->rig, settled, c));
	for (unsigned i = 0; i < CALLS; i++)
		assert_int_equal(get(&c->call[i]->stream->account->count.done) -
					 before[i],
				 CALM);
}

/* Begin a trace at @path. */
static void start_trace(struct crowd *c, char path[SCRATCH_MAX])
{
	struct cr_err e = { "" };

	if (node_trace_start(c->rig.node, scratch_file(path), TRACE_OVER_ANY,
			     &e))
		fail_msg("%s", e.text);
}

/* End the trace when every packet has met its fate; hand each job in it to
 * @look. */
static void read_trace(struct crowd *c, const char *path,
		       void (*look)(void *arg, const struct cr_trace_job *j),
		       void *arg)
{
	struct trace_totals totals;
	union cr_trace_record rec;
	struct trace_reader *r = NULL;
	struct cr_err e = { "" };

	assert_true(fixture_wait(&c->rig, settled, c));
	assert_int_equal(node_trace_stop(c->rig.node, &totals), 0);
	if (trace_reader_open(&r, path, &e))
		fail_msg("%s", e.text);
	while (trace_reader_next(r, &rec, &e) > 0)
		if (rec.kind == CR_TRACE_JOB)
			look(arg, &rec.job);
	trace_reader_close(r);
}

/* When the worker picked the frames that were done, in order; the most that it
 * picked while one of them waited. */
struct waits {
	cr_ns pick[OVER * CALLS];
	unsigned n, longest;
};

static void note_wait(void *arg, const struct cr_trace_job *j)
{
	struct waits *w = arg;
	unsigned before = w->n;

	if (j->outcome != CR_OUT_DONE)
		return;
	assert_true(w->n < OVER * CALLS);
	while (before > 0 && w->pick[before - 1] >= j->arrival)
		before--;
	if (w->n - before > w->longest)
		w->longest = w->n - before;
	w->pick[w->n++] = j->pick;
}

/* The rings bound how long a frame waits, counted in frames that the worker
 * does meanwhile, for the machine may be slow. One packet is on its way at a
 * time: until it is in its ring, at most all rings are emptied; and then each
 * other call is served once for each frame of its own. A queue without bound
 * would have reached 1500. */
static void survive(const char *scheduler)
{
	static struct waits w;
	struct crowd c = { .sent = { 0 } };
	char path[SCRATCH_MAX];

	w.n = w.longest = 0;
	open_crowd(&c, scheduler, 0, "0.5ms");
	start_trace(&c, path);
	overload(&c, OVER);
	read_trace(&c, path, note_wait, &w);
	check_losses(&c, scheduler);
	print_message("%s: %u frames done, %u while one waited\n", scheduler,
		      w.n, w.longest);
	assert_true(w.n > 0);
	assert_true(w.longest <= 2 * RING * CALLS);
	calm(&c);
	fixture_close(&c.rig);
}

struct ages {
	unsigned done, expired;
};

static void check_age(void *arg, const struct cr_trace_job *j)
{
	struct ages *n = arg;
	bool old = j->pick - j->arrival > CORE_AGE_TIMES * DEADLINE &&
		   j->pick > j->deadline;

	if (j->outcome == CR_OUT_DONE)
		assert_false(old);
	if (j->outcome == CR_OUT_EXPIRED)
		assert_true(old);
	n->done += j->outcome == CR_OUT_DONE;
	n->expired += j->outcome == CR_OUT_EXPIRED;
}

/* A round of frames takes as long as a frame lasts, at least: nobody sends
 * ahead of time. Eight rounds would wait, were there no limit. */
static void age_is_bounded(const char *scheduler)
{
	struct crowd c = { .sent = { 0 } };
	struct ages n = { 0 };
	char path[SCRATCH_MAX];

	open_crowd(&c, scheduler, CORE_AGE_AUTO, "1ms");
	start_trace(&c, path);
	overload(&c, OVER / 3);
	read_trace(&c, path, check_age, &n);
	print_message("%s: %u done, %u too old\n", scheduler, n.done,
		      n.expired);
	assert_true(n.done > 0);
	assert_true(n.expired > 0);
	fixture_close(&c.rig);
}

static void age_is_bounded_by_the_deadline(void **state)
{
	static const char *const schedulers[] = { "fifo", "rr", "edf" };

	for (unsigned i = 0; i < 3; i++)
		age_is_bounded(schedulers[i]);
}

static void overload_passes_under_fifo(void **state)
{
	survive("fifo");
}

static void overload_passes_under_rr(void **state)
{
	survive("rr");
}

static void overload_passes_under_edf(void **state)
{
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
