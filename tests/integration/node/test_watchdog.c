/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node whose codecs do not come back, whose calls are not woken, whose policy
 * forgets: it is found and counted, the other calls lose no frame, and nothing
 * is left behind when the codec comes back after all.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sticky.h"
#include "traffic.h"

enum { NB = 160, CALLS = 20 };
/* Long enough that a worker of a busy machine gets its CPU meanwhile. */
#define LIMIT (2 * CR_SEC)

static const uint8_t silence[NB] = { 0xff };

/* --- what the watchdog tells --- */

static long long signalled(struct node_fixture *r, const char *key)
{
	return (long long)fixture_figure(r, "watchdog", key);
}

static void said(struct node_fixture *r, const char *what)
{
	json_t *o = fixture_stats(r);
	const char *last = json_string_value(
		json_object_get(json_object_get(o, "watchdog"), "last"));

	if (!strstr(last, what))
		fail_msg("'%s' says nothing of '%s'", last, what);
	json_decref(o);
}

struct tell {
	struct node_fixture *rig;
	const char *key;
	long long want;
};

static bool tells(void *arg)
{
	const struct tell *t = arg;

	return signalled(t->rig, t->key) == t->want;
}

static void wait_reported(struct node_fixture *r, const char *key,
			  long long want)
{
	struct tell t = { r, key, want };

	if (!fixture_wait(r, tells, &t))
		fail_msg("%s is %lld, not %lld", key, signalled(r, key), want);
}

/* A frame of @st gets stuck, two wait behind it. */
static void get_stuck(struct node_fixture *r, struct node_stream *st)
{
	struct fixture_sender s = fixture_sender(r, st, NB);

	atomic_store(&sticky_held, true);
	fixture_send(&s, silence, NB);
	while (!atomic_load(&sticky_inside))
		(void)sched_yield();
	fixture_send(&s, silence, NB);
	fixture_send(&s, silence, NB);
	while (atomic_load(&st->stream->account->count.packets_in) < 3)
		(void)sched_yield();
}

/* --- stuck workers --- */

static void others_lose_nothing(unsigned workers, unsigned cpus_per_rq)
{
	const struct fixture_options o = { .scheduler = "edf",
					   .workers = workers,
					   .cpus_per_rq = cpus_per_rq,
					   .watchdog = LIMIT };
	struct node_stream *st;
	struct traffic t;
	struct node_fixture r;
	uint32_t id;

	fixture_open(&r, &o);
	traffic_begin(&t, &r, CALLS);
	traffic_flows(&t, 10 * CALLS);
	st = sticky_call(&r);
	id = st->stream->cfg.id;
	assert_int_equal(signalled(&r, "hung"), 0);
	assert_string_equal(node_end_name(NODE_END_HUNG), "hung");
	get_stuck(&r, st);
	wait_reported(&r, "hung", 1);
	said(&r, "worker-stuck worker=");
	assert_int_equal(r.ended, 1);
	assert_int_equal(r.why, NODE_END_HUNG);
	assert_int_equal(r.last.packets_in, 3);
	assert_int_equal(r.last.done, 0);
	assert_int_equal(r.last.cancelled, 1); /* two still wait */
	assert_null(node_stream_find(r.node, id));
	assert_true(node_stream_hung(r.node, id));
	assert_int_equal(node_streams(r.node), CALLS);
	assert_int_equal(signalled(&r, "stuck_now"), 1);

	traffic_flows(&t, 50 * CALLS);
	assert_int_equal(node_scheduler_set(r.node, "rr", NULL), 0);
	traffic_flows(&t, 10 * CALLS);
	assert_int_equal(signalled(&r, "returned"), 0);
	atomic_store(&sticky_held, false);
	wait_reported(&r, "returned", 1);
	wait_reported(&r, "stuck_now", 0);
	assert_false(node_stream_hung(r.node, id));
	traffic_flows(&t, 10 * CALLS);
	assert_int_equal(r.ended, 1); /* not a second time */
	traffic_end(&t);
	traffic_balance(&t);
	assert_int_equal(signalled(&r, "hung"), 1);
	assert_int_equal(signalled(&r, "stalled") + signalled(&r, "forgotten"),
			 0);
	fixture_close(&r);
}

static void others_lose_nothing_with_one_worker(void **state)
{
	others_lose_nothing(1, 0);
}

static void others_lose_nothing_with_two(void **state)
{
	others_lose_nothing(2, 0);
}

static void others_lose_nothing_with_a_queue_each(void **state)
{
	others_lose_nothing(2, 1);
}

enum { SPARES = 8 };

/* One after another gets stuck, more than the node has to spare. */
static void get_all_stuck(struct node_fixture *r,
			  struct node_stream *st[SPARES + 1])
{
	fixture_open(r, &(struct fixture_options){ .workers = 1,
						   .watchdog = 100 * CR_MS });
	for (unsigned i = 0; i <= SPARES; i++)
		st[i] = sticky_call(r); /* which tries the codec */
	atomic_store(&sticky_held, true);
	for (unsigned i = 0; i <= SPARES; i++) {
		struct fixture_sender s = fixture_sender(r, st[i], NB);

		fixture_send(&s, silence, NB);
		if (i < SPARES)
			wait_reported(r, "hung", i + 1);
	}
	while (atomic_load(&sticky_inside) <= SPARES)
		(void)sched_yield();
}

static void no_spare_is_said_and_nothing_done(void **state)
{
	struct node_stream *st[SPARES + 1];
	struct node_fixture r;

	get_all_stuck(&r, st);
	for (;;) {
		json_t *j = fixture_stats(&r);
		const char *last = json_string_value(json_object_get(
			json_object_get(j, "watchdog"), "last"));
		bool done = strstr(last, "replaced=no") != NULL;

		json_decref(j);
		if (done)
			break;
		(void)event_base_loop(r.base, EVLOOP_ONCE);
	}
	assert_int_equal(signalled(&r, "hung"), SPARES);
	assert_int_equal(r.ended, SPARES);
	assert_int_equal(node_streams(r.node), 1);
	atomic_store(&sticky_held, false);
	wait_reported(&r, "stuck_now", 0);
	fixture_end(&r, st[SPARES]);
	assert_int_equal(r.last.done, 1);
	fixture_close(&r);
}

/* --- work that rightly waits --- */

static bool has_done(void *arg)
{
	struct node_stream *st = arg;

	return atomic_load(&st->stream->account->count.done) == 1;
}

/* Frame after frame of the busy call, until somebody starves. */
static bool starves(void *arg)
{
	if (signalled(arg, "starved"))
		return true;
	atomic_fetch_add(&sticky_tickets, 1);
	return false;
}

/* Best effort behind a soft call that leaves the worker no moment for it: it is
 * counted, and nothing is done. */
static void an_overload_is_no_stall(void **state)
{
	enum { FRAMES = 1000 };
	const struct fixture_options o = { .scheduler = "edf",
					   .workers = 1,
					   .ring_frames = FRAMES,
					   .watchdog = LIMIT };
	struct node_stream *busy, *idle;
	struct fixture_sender s, low;
	struct node_fixture r;

	fixture_open(&r, &o);
	busy = sticky_call(&r);
	idle = fixture_call(&r, "{'in': {'codec': 'pcmu'}, 'out': {'codec': "
				"'pcma'}, 'class': 'best-effort'}");
	s = fixture_sender(&r, busy, NB);
	low = fixture_sender(&r, idle, NB);
	atomic_store(&sticky_held, true);
	for (uint64_t i = 0; i < FRAMES; i++) {
		fixture_send(&s, silence, NB);
		while (atomic_load(&busy->stream->account->count.packets_in) <=
		       i)
			(void)sched_yield();
	}
	fixture_send(&low, silence, NB);
	assert_true(fixture_wait(&r, starves, &r));
	assert_int_equal(atomic_load(&idle->stream->account->count.done), 0);
	atomic_store(&sticky_held, false);
	assert_true(fixture_wait(&r, has_done, idle));
	assert_int_equal(atomic_load(&busy->stream->account->count.done),
			 FRAMES);
	wait_reported(&r, "starved", 0);
	assert_int_equal(signalled(&r, "stalled") + signalled(&r, "forgotten") +
				 signalled(&r, "hung"),
			 0);
	atomic_store(&sticky_tickets, 0);
	fixture_end(&r, busy);
	fixture_end(&r, idle);
	fixture_close(&r);
}

/* --- the end --- */

static void the_end_does_not_wait(void **state)
{
	const struct fixture_options o = { .workers = 2, .watchdog = LIMIT };
	struct traffic t;
	struct node_fixture r;

	fixture_open(&r, &o);
	traffic_begin(&t, &r, CALLS);
	get_stuck(&r, sticky_call(&r));
	traffic_end(&t);
	assert_int_equal(node_close(r.node), -EBUSY);
	assert_int_equal(r.ended, CALLS + 1);
	assert_int_equal(node_close(r.node), -EBUSY);
	atomic_store(&sticky_held, false);
	while (node_close(r.node))
		(void)sched_yield();
	r.node = NULL;
	assert_int_equal(r.ended, CALLS + 1);
	free(t.call);
	free(t.sender);
	fixture_close(&r);
}

static void nor_for_more_than_can_be_replaced(void **state)
{
	struct node_stream *st[SPARES + 1];
	struct node_fixture r;

	get_all_stuck(&r, st);
	assert_int_equal(node_close(r.node), -EBUSY);
	assert_int_equal(r.ended, SPARES + 1);
	atomic_store(&sticky_held, false);
	while (node_close(r.node))
		(void)sched_yield();
	r.node = NULL;
	fixture_close(&r);
}

/* --- stalled calls --- */

static void a_call_that_was_not_woken_is(void **state)
{
	const struct fixture_options o = { .workers = 2, .watchdog = LIMIT };
	struct rtp_packet p;
	struct node_stream *st;
	struct fixture_sender s;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &o);
	st = fixture_call(&r, "{'in': {'codec': 'pcmu'}, "
			      "'out': {'codec': 'pcma'}}");
	s = fixture_sender(&r, st, NB);
	/* the receiver believes that somebody has released it */
	atomic_store(&node_stream_transcoder(st)->lt.active, true);
	fixture_send(&s, silence, NB);
	wait_reported(&r, "stalled", 1);
	said(&r, "stream-stalled stream=1 waiting=1 state=asleep");
	assert_true(fixture_receive(&r, buf, &p));
	for (unsigned i = 0; i < 50; i++) { /* and now as ever */
		fixture_send(&s, silence, NB);
		assert_true(fixture_receive(&r, buf, &p));
	}
	fixture_end(&r, st);
	assert_int_equal(r.last.done, 51);
	assert_int_equal(r.why, NODE_END_STOPPED);
	fixture_close(&r);
}

#ifndef CR_DEBUG /* debug builds abort, see core_guard.c */

static void a_policy_that_forgets_is_replaced(void **state)
{
	const struct fixture_options o = { .workers = 2, .watchdog = LIMIT };
	char spec[320];
	struct traffic t;
	struct node_fixture r;

	fixture_open(&r, &o);
	traffic_begin(&t, &r, CALLS);
	assert_int_equal(
		node_scheduler_set(r.node,
				   SABOTEUR ",mischief=forget,after=300", NULL),
		0);
	wait_reported(&r, "forgotten", 1);
	said(&r, "policy=saboteur");
	assert_int_equal(signalled(&r, "stalled"), 1);
	traffic_flows(&t, 20 * CALLS);
	node_scheduler(r.node, spec, sizeof(spec));
	assert_string_equal(spec, "fifo,order=frame");
	traffic_end(&t);
	traffic_balance(&t);
	assert_int_equal(signalled(&r, "hung"), 0);
	fixture_close(&r);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_lose_nothing_with_one_worker),
		cmocka_unit_test(others_lose_nothing_with_two),
		cmocka_unit_test(others_lose_nothing_with_a_queue_each),
		cmocka_unit_test(no_spare_is_said_and_nothing_done),
		cmocka_unit_test(an_overload_is_no_stall),
		cmocka_unit_test(the_end_does_not_wait),
		cmocka_unit_test(nor_for_more_than_can_be_replaced),
		cmocka_unit_test(a_call_that_was_not_woken_is),
#ifndef CR_DEBUG
		cmocka_unit_test(a_policy_that_forgets_is_replaced),
#endif
	};

	return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
