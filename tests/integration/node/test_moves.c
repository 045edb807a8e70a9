/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that move to another worker: their packets do not overtake those that
 * wait at the old one for company (media/transcode.h).
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <sched.h>
#include <string.h>

#include "sticky.h"

enum { NB = 160, CALLS = 4 };

static const uint8_t silence[NB] = { 0xff };

/* A call whose frames block, and others behind it on the same worker; the other
 * worker has none. */
struct stage {
	struct node_fixture rig;
	struct node_stream *sticky, *behind[CALLS];
	struct fixture_sender to_sticky, to[CALLS];
	unsigned nsticky, nsent; /* frames sent to it, and to each other */
	uint32_t ssrc[CALLS];	 /* of what comes back */
	uint16_t next[CALLS];	 /* sequence number that must come */
	bool heard[CALLS];
};

static unsigned home(const struct node_stream *st)
{
	return atomic_load(&node_stream_transcoder(st)->lt.core.home);
}

/* Start calls until enough are at the worker of the sticky one; end others. */
static void populate(struct stage *s)
{
	struct node_stream *other[4 * CALLS];
	unsigned n = 0, nothers = 0;

	while (n < CALLS) {
		struct node_stream *st =
			fixture_call(&s->rig, "{'in': {'codec': 'pcmu'}, "
					      "'out': {'codec': 'pcma'}}");

		if (home(st) == home(s->sticky)) {
			s->to[n] = fixture_sender(&s->rig, st, NB);
			s->ssrc[n] = st->stream->cfg.ssrc_out;
			s->behind[n++] = st;
		} else {
			assert_in_range(nothers, 0, 4 * CALLS - 1);
			other[nothers++] = st;
		}
	}
	while (nothers--)
		fixture_end(&s->rig, other[nothers]);
}

static void open_stage(struct stage *s, bool admission)
{
	const struct fixture_options o = { .scheduler = "edf",
					   .workers = 2,
					   .cpus_per_rq = 1,
					   .admission = admission };

	memset(s, 0, sizeof(*s));
	atomic_store(&sticky_held, false);
	atomic_store(&sticky_tickets, 0);
	fixture_open(&s->rig, &o);
	s->sticky = sticky_call(&s->rig);
	s->to_sticky = fixture_sender(&s->rig, s->sticky, NB);
	populate(s);
}

static void close_stage(struct stage *s)
{
	fixture_end(&s->rig, s->sticky);
	for (unsigned i = 0; i < CALLS; i++)
		fixture_end(&s->rig, s->behind[i]);
	fixture_close(&s->rig);
}

static void wait_received(const struct node_stream *st, unsigned n)
{
	while (atomic_load(&st->stream->account->count.packets_in) < n)
		(void)sched_yield();
}

static void send_all(struct stage *s)
{
	s->nsent++;
	for (unsigned i = 0; i < CALLS; i++)
		fixture_send(&s->to[i], silence, NB);
	for (unsigned i = 0; i < CALLS; i++)
		wait_received(s->behind[i], s->nsent);
}

static void send_sticky(struct stage *s)
{
	fixture_send(&s->to_sticky, silence, NB);
	wait_received(s->sticky, ++s->nsticky);
}

/* @n packets of every call come, each call's in order. */
static void hear(struct stage *s, unsigned n)
{
	struct rtp_packet p;
	uint8_t buf[2048];

	for (unsigned k = 0; k < n * CALLS; k++) {
		unsigned i = 0;

		assert_true(fixture_receive(&s->rig, buf, &p));
		while (i < CALLS && s->ssrc[i] != p.ssrc)
			i++;
		assert_in_range(i, 0, CALLS - 1);
		if (s->heard[i])
			assert_int_equal(p.seq, s->next[i]);
		s->heard[i] = true;
		s->next[i] = (uint16_t)(p.seq + 1);
	}
}

static void wait_entered(unsigned n)
{
	while (atomic_load(&sticky_entered) != n)
		(void)sched_yield();
}

/* The worker is in the sticky one's encoder: what is over and pending, waits.
 */
static bool all_wait(const struct stage *s)
{
	for (unsigned i = 0; i < CALLS; i++)
		if (atomic_load(
			    &node_stream_transcoder(s->behind[i])->pending) !=
		    1)
			return false;
	return true;
}

static bool none_waits(const struct stage *s)
{
	for (unsigned i = 0; i < CALLS; i++)
		if (atomic_load(&node_stream_transcoder(s->behind[i])->pending))
			return false;
	return true;
}

static void wait_left(void)
{
	while (atomic_load(&sticky_inside))
		(void)sched_yield();
}

/* One frame of each call between two of the sticky one, which blocks in the
 * second: what came of the others waits for it, unless the machine was so slow
 * that it had to leave. */
static bool try_to_hold_back(struct stage *s)
{
	unsigned entered = atomic_load(&sticky_entered);

	atomic_store(&sticky_held, true);
	send_sticky(s);
	wait_entered(entered + 1);
	send_all(s);
	send_sticky(s);
	atomic_fetch_add(&sticky_tickets, 1);
	wait_entered(entered + 2);
	return all_wait(s);
}

static void hold_back(struct stage *s)
{
	while (!try_to_hold_back(s)) {
		atomic_store(&sticky_held, false);
		wait_left();
		hear(s, 1);
	}
}

static unsigned moved(const struct stage *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CALLS; i++)
		n += home(s->behind[i]) != home(s->sticky);
	return n;
}

/* The worker does not come back from the frame that it is at, and nobody waits
 * for it: what waits behind it leaves before calls move. */
static void a_switch_lets_them_leave_first(void **state)
{
	struct cr_err e;
	struct stage s;

	open_stage(&s, false);
	hold_back(&s);
	if (node_scheduler_set(s.rig.node, "edf", &e))
		fail_msg("%s", e.text);
	assert_in_range(moved(&s), 1, CALLS);
	assert_true(none_waits(&s));
	hear(&s, 1);
	send_all(&s); /* those that have moved go on at once */
	atomic_store(&sticky_held, false);
	hear(&s, 1);
	close_stage(&s);
}

static void so_does_other_tuning(void **state)
{
	struct cr_err e = { "" };
	struct stage s;

	open_stage(&s, false);
	hold_back(&s);
	assert_int_equal(node_scheduler_tune(s.rig.node, "bound=0.9", &e), 0);
	assert_true(none_waits(&s));
	hear(&s, 1);
	atomic_store(&sticky_held, false);
	close_stage(&s);
}

/* Under which calls stay where they are: what waits may wait on. */
static void a_switch_that_moves_nobody_sends_nothing(void **state)
{
	struct cr_err e = { "" };
	struct stage s;

	open_stage(&s, false);
	hold_back(&s);
	assert_int_equal(node_scheduler_set(s.rig.node, "fifo", &e), 0);
	assert_int_equal(moved(&s), 0);
	assert_true(all_wait(&s));
	send_all(&s);
	atomic_store(&sticky_held, false);
	hear(&s, 2);

	assert_int_equal(node_scheduler_set(s.rig.node, "edf", &e), 0);
	assert_in_range(moved(&s), 1, CALLS);
	send_all(&s);
	hear(&s, 1);
	close_stage(&s);
}

/* A call that ends takes its packets with it, and all that wait with them. */
static void who_goes_has_its_packets_sent(void **state)
{
	struct stage s;

	open_stage(&s, false);
	hold_back(&s);
	fixture_end(&s.rig, s.behind[0]);
	assert_int_equal(s.rig.last.packets_out, s.nsent);
	for (unsigned i = 1; i < CALLS; i++)
		assert_int_equal(
			atomic_load(
				&node_stream_transcoder(s.behind[i])->pending),
			0);
	hear(&s, 1);
	atomic_store(&sticky_held, false);
	fixture_end(&s.rig, s.sticky);
	for (unsigned i = 1; i < CALLS; i++)
		fixture_end(&s.rig, s.behind[i]);
	fixture_close(&s.rig);
}

static cr_ns longest_frame(const struct stage *s)
{
	cr_ns most =
		cr_task_worst(&node_stream_transcoder(s->sticky)->lt.core.task);

	for (unsigned i = 0; i < CALLS; i++)
		most = cr_ns_max(most, cr_task_worst(&node_stream_transcoder(
							      s->behind[i])
							      ->lt.core.task));
	return most;
}

/* A deadline by which one of them fits on a worker (C / D + B / D < 1), and no
 * two do, whatever a frame costs here. */
static int demand(struct stage *s, unsigned i, struct cr_err *e)
{
	struct stream_cfg to = s->behind[i]->stream->cfg;
	cr_ns cost = cr_task_demand(
		&node_stream_transcoder(s->behind[i])->lt.core.task);

	to.terms.deadline = 3 * cost / 2 + longest_frame(s);
	return node_stream_change(s->behind[i], &to, false, e);
}

static void a_change_lets_them_leave_first(void **state)
{
	struct cr_err e = { "" };
	struct stage s;

	open_stage(&s, true);
	assert_int_equal(demand(&s, 0, &e), 0);
	hold_back(&s);
	assert_int_equal(demand(&s, 1, &e), 0);
	assert_int_equal(moved(&s), 1);
	assert_true(none_waits(&s));
	hear(&s, 1);
	send_all(&s);
	atomic_store(&sticky_held, false);
	hear(&s, 1);
	close_stage(&s);
}

static void nothing_leaves_where_it_fits(void **state)
{
	struct cr_err e = { "" };
	struct stage s;

	open_stage(&s, true);
	hold_back(&s);
	assert_int_equal(demand(&s, 0, &e), 0);
	assert_true(all_wait(&s));
	atomic_store(&sticky_held, false);
	hear(&s, 1);
	close_stage(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_lets_them_leave_first),
		cmocka_unit_test(so_does_other_tuning),
		cmocka_unit_test(a_switch_that_moves_nobody_sends_nothing),
		cmocka_unit_test(who_goes_has_its_packets_sent),
		cmocka_unit_test(a_change_lets_them_leave_first),
		cmocka_unit_test(nothing_leaves_where_it_fits),
	};

	return cmocka_run_group_tests_name("moves", tests, NULL, NULL);
}
