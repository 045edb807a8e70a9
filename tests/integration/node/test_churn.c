/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that come and go while frames are on their way: nothing is lost
 * track of. Every packet that was accepted ends in exactly one counter.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "own_network.h"
#include "node_fixture.h"

#define NB 160u
#define STARTS 10000u
#define UP 64u

static const uint8_t silence[NB] = { 0xff };

static unsigned seed(void)
{
	const char *text = getenv("CR_SEED");
	unsigned n = text ? (unsigned)atoi(text) : 1;

	printf("CR_SEED=%u\n", n);
	return n;
}

static void drain_socket(struct node_fixture *r)
{
	uint8_t buf[2048];

	while (recv(r->fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
}

static bool all_gone(void *arg)
{
	struct node_fixture *r = arg;

	return node_streams(r->node) == 0;
}

struct sent {
	struct node_fixture *rig;
	unsigned long long packets;
	unsigned long long no_port; /* of others, before */
};

static bool alone; /* in a network of our own */

/* The receivers saw it, or it was lost on the way to them. A busy kernel may
 * deliver what was sent only when the port is closed. */
static bool all_is_counted(void *arg)
{
	const struct sent *s = arg;

	return fixture_figure(s->rig, "rx", "packets") +
		       fixture_figure(s->rig, "rx", "socket_drops") +
		       fixture_figure(s->rig, "totals", "port_drops") +
		       fixture_figure(s->rig, "totals", "unread") +
		       own_network_no_port() - s->no_port ==
	       s->packets;
}

/* Where a packet that the receivers saw went: into a call, or into the counter
 * that says why not. */
static void assert_packets_balance(const struct node_fixture *r)
{
	static const char *const refused[] = { "oversized",   "malformed",
					       "rtcp",	      "unknown_ssrc",
					       "no_listener", "handover_drops",
					       NULL },
				 *const taken[] = {
					 "packets_in",	 "wrong_pt",
					 "wrong_source", "wrong_ssrc",
					 "probation",	 "too_big",
					 "duplicates",	 "reordered",
					 "seq_jumps",	 NULL
				 };
	unsigned long long n = 0;

	for (unsigned i = 0; refused[i]; i++)
		n += fixture_figure(r, "rx", refused[i]);
	for (unsigned i = 0; taken[i]; i++)
		n += fixture_figure(r, "totals", taken[i]);
	assert_int_equal(fixture_figure(r, "rx", "packets"), n);
}

static void assert_all_is_counted(struct sent *s)
{
	if (!alone)
		return;
	assert_true(fixture_wait(s->rig, all_is_counted, s));
	assert_packets_balance(s->rig);
}

static void assert_books_balance(struct node_fixture *r)
{
	assert_int_equal(fixture_figure(r, "totals", "packets_in"),
			 fixture_figure(r, "totals", "done") +
				 fixture_figure(r, "totals", "overwritten") +
				 fixture_figure(r, "totals", "expired") +
				 fixture_figure(r, "totals", "concealed") +
				 fixture_figure(r, "totals", "malformed") +
				 fixture_figure(r, "totals", "cancelled"));
}

static void churn(unsigned workers, const char *port)
{
	char json[128];

	struct node_stream *up[UP] = { NULL };
	struct fixture_sender s[UP];
	struct sent sent = { .no_port = own_network_no_port() };
	struct node_fixture r;

	srand(seed());
	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma'}, "
		       "'port': '%s'}",
		       port);
	fixture_open(&r, &(struct fixture_options){ .workers = workers,
						    .scheduler = "edf",
						    .ring_frames = 4 });
	sent.rig = &r;
	for (unsigned i = 0; i < STARTS; i++) {
		unsigned k = (unsigned)rand() % UP;

		if (up[k])
			node_call_stop(node_stream_call(up[k]),
				       NODE_END_STOPPED, NULL);
		up[k] = fixture_call(&r, json);
		s[k] = fixture_sender(&r, up[k], NB);
		for (unsigned n = (unsigned)rand() % 8; n; n--) {
			k = (unsigned)rand() % UP;
			if (!up[k])
				continue;
			fixture_send(&s[k], silence, NB);
			sent.packets++;
		}
		drain_socket(&r);
		(void)event_base_loop(r.base, EVLOOP_NONBLOCK);
	}
	for (unsigned k = 0; k < UP; k++)
		if (up[k])
			node_call_stop(node_stream_call(up[k]),
				       NODE_END_STOPPED, NULL);
	assert_true(fixture_wait(&r, all_gone, &r));
	assert_int_equal(r.ended, STARTS);
	assert_true(fixture_figure(&r, "totals", "done") > 0);
	assert_books_balance(&r);
	assert_all_is_counted(&sent);
	fixture_close(&r);
}

static void ten_thousand_calls_start_and_stop_under_load(void **state)
{
	churn(2, "shared");
}

static void ten_thousand_ports_open_and_close_under_load(void **state)
{
	churn(2, "own");
}

/* One worker gathers packets: calls end while theirs still wait. */
static void the_same_where_packets_are_sent_together(void **state)
{
	churn(1, "shared");
}

/* The worker is inside a frame of 30 ms when the call is stopped. */
static void a_call_stops_while_its_frame_is_being_encoded(void **state)
{
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .workers = 1 });
	for (unsigned i = 0; i < 10; i++) {
		st = fixture_call(&r,
				  "{'in': {'codec': 'pcmu'}, 'out': {'codec': "
				  "'spin', 'spin': '30ms'}}");
		s = fixture_sender(&r, st, NB);
		for (unsigned n = 0; n < 3; n++)
			fixture_send(&s, silence, NB);
		while (frame_ring_waiting(node_stream_transcoder(st)->ring) ==
			       0 &&
		       !atomic_load_explicit(
			       &st->stream->account->count.packets_in,
			       memory_order_relaxed))
			; /* until rx has seen the first one */
		fixture_end(&r, st);
		assert_true(r.last.done <= 3);
		assert_int_equal(r.last.packets_in,
				 r.last.done + r.last.cancelled);
	}
	assert_books_balance(&r);
	fixture_close(&r);
}

struct done_wait {
	struct node_fixture *rig;
	unsigned frames;
};

static bool all_done(void *arg)
{
	const struct done_wait *w = arg;

	return fixture_figure(w->rig, "totals", "done") == w->frames;
}

static void the_scheduler_switches_under_load_without_loss(void **state)
{
	static const char *const specs[] = { "fifo", "rr,quantum=1ms", "edf" };
	struct node_stream *up[UP];
	struct fixture_sender s[UP];
	struct cr_err e = { "" };
	unsigned sent = 0, got = 0;
	struct done_wait all;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .ring_frames = 64 });
	for (unsigned k = 0; k < UP; k++) {
		up[k] = fixture_call(&r, "{'in': {'codec': 'pcmu'}, "
					 "'out': {'codec': 'pcma'}}");
		s[k] = fixture_sender(&r, up[k], NB);
	}
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned k = 0; k < UP; k++, sent++)
			fixture_send(&s[k], silence, NB);
		if (node_scheduler_set(r.node, specs[round % 3], &e))
			fail_msg("%s", e.text);
		for (unsigned k = 0; k < UP; k++, got++) {
			uint8_t buf[2048];
			struct rtp_packet p;

			assert_true(fixture_receive(&r, buf, &p));
		}
	}
	assert_int_equal(got, sent);
	/* the worker counts after it has sent */
	all = (struct done_wait){ &r, sent };
	assert_true(fixture_wait(&r, all_done, &all));
	assert_int_equal(fixture_figure(&r, "totals", "overwritten"), 0);
	fixture_close(&r);
}

/* A full ring loses its oldest frames, and says so exactly. */
static void overload_drops_the_oldest_and_counts_each(void **state)
{
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .workers = 1,
						    .ring_frames = 4 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu'}, "
			      "'out': {'codec': 'spin', 'spin': '20ms'}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < 100; i++)
		fixture_send(&s, silence, NB);
	for (bool more = true; more;) {
		uint8_t buf[2048];
		struct rtp_packet p;

		assert_true(fixture_receive(&r, buf, &p));
		more = p.ts - st->stream->cfg.ts_out != 99 * NB;
	}
	fixture_end(&r, st);
	assert_int_equal(r.last.packets_in, 100);
	assert_int_equal(r.last.done + r.last.overwritten, 100);
	assert_true(r.last.overwritten > 0);
	fixture_close(&r);
}

static void old_frames_are_replaced_by_no_data(void **state)
{
	struct fixture_sender s;
	struct node_stream *st;
	unsigned speech = 0, no_data = 0;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){
				 .workers = 1,
				 .ring_frames = 32,
				 .max_age = 1,
				 .expired = CORE_EXPIRED_CONCEAL });
	st = fixture_call(&r,
			  "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', "
			  "'octet_align': true}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < 20; i++)
		fixture_send(&s, silence, NB);
	for (unsigned i = 0; i < 20; i++) {
		uint8_t buf[2048];
		struct rtp_packet p;

		assert_true(fixture_receive(&r, buf, &p));
		assert_int_equal(p.ts - st->stream->cfg.ts_out, i * NB);
		if (p.payload_bytes == 2) /* CMR and a ToC that says 15 */
			no_data += p.payload[1] >> 3 == 15;
		else
			speech++;
	}
	fixture_end(&r, st);
	/* every frame is older than 1 ns when its turn comes */
	assert_int_equal(no_data, 20);
	assert_int_equal(speech, 0);
	assert_int_equal(r.last.concealed, 20);
	fixture_close(&r);
}

static void calls_beyond_the_capacity_are_refused_with_a_reason(void **state)
{
	struct node_stream *st;
	struct cr_err e = { "" };
	unsigned n = 0;
	struct node_fixture r;
	int err;

	fixture_open(&r, &(struct fixture_options){ .admission = true,
						    .workers = 1 });
	while (!(err = fixture_try(&r,
				   "{'in': {'codec': 'pcmu'}, 'out': {'codec': "
				   "'spin', 'spin': '5ms'}}",
				   &st, &e)))
		n++;
	assert_int_equal(err, -28); /* -ENOSPC */
	/* 20 ms / 5 ms and a little beside: three fit into 0.97 */
	assert_int_equal(n, 3);
	assert_non_null(strstr(e.text, "no-capacity: need 0.25"));
	assert_non_null(strstr(e.text, "under fifo"));
	fixture_close(&r);
}

/* The lowest free descriptor: the next one to be opened. */
static int next_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	assert_true(fd >= 0);
	(void)close(fd);
	return fd;
}

/* And not a file that something else has opened meanwhile. */
static bool is_socket(int fd)
{
	struct sockaddr_storage at;
	socklen_t len = sizeof(at);

	return !getsockname(fd, (struct sockaddr *)&at, &len);
}

/* The receiver was told of the port and may be about to read from it: its
 * number must not become another file's meanwhile. */
static void a_refused_call_has_its_port_until_the_receiver_lets_go(void **state)
{
	static const char call[] = "{'in': {'codec': 'pcmu'}, 'port': 'own', "
				   "'out': {'codec': 'spin', 'spin': '12ms'}}";
	struct cr_err e = { "" };
	struct node_stream *st;
	struct node_fixture r;
	int port;

	fixture_open(&r, &(struct fixture_options){ .admission = true,
						    .workers = 1 });
	assert_int_equal(fixture_try(&r, call, &st, &e), 0);
	port = next_descriptor();
	rcu_read_begin(); /* as a receiver in its turn */
	assert_int_equal(fixture_try(&r, call, &st, &e), -ENOSPC);
	assert_true(is_socket(port));
	rcu_read_end();
	rcu_done();
	assert_false(is_socket(port));
	fixture_close(&r);
}

/* What was sent before the call was stopped is in its counters or in those of
 * the receiver, whether the receiver has come to it or not. */
static void what_waits_at_a_port_at_its_end_is_counted(void **state)
{
	enum { CALLS = 50, EACH = 20 };
	struct sent sent = { .no_port = own_network_no_port() };
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .workers = 1 });
	sent.rig = &r;
	for (unsigned i = 0; i < CALLS; i++) {
		struct node_stream *st = fixture_call(
			&r, "{'in': {'codec': 'pcmu'}, 'port': 'own', "
			    "'out': {'codec': 'pcma'}}");
		struct fixture_sender s = fixture_sender(&r, st, NB);

		node_call_stop(node_stream_call(st), NODE_END_STOPPED, NULL);
		/* its socket is there until this thread looks at events */
		for (unsigned n = 0; n < EACH; n++, sent.packets++)
			fixture_send(&s, silence, NB);
	}
	assert_true(fixture_wait(&r, all_gone, &r));
	assert_true(fixture_figure(&r, "totals", "unread") > 0);
	assert_all_is_counted(&sent);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_thousand_calls_start_and_stop_under_load),
		cmocka_unit_test(ten_thousand_ports_open_and_close_under_load),
		cmocka_unit_test(the_same_where_packets_are_sent_together),
		cmocka_unit_test(what_waits_at_a_port_at_its_end_is_counted),
		cmocka_unit_test(a_call_stops_while_its_frame_is_being_encoded),
		cmocka_unit_test(
			the_scheduler_switches_under_load_without_loss),
		cmocka_unit_test(overload_drops_the_oldest_and_counts_each),
		cmocka_unit_test(old_frames_are_replaced_by_no_data),
		cmocka_unit_test(
			calls_beyond_the_capacity_are_refused_with_a_reason),
		cmocka_unit_test(
			a_refused_call_has_its_port_until_the_receiver_lets_go),
	};

	alone = own_network();
	if (!alone)
		(void)printf("no network of our own here: what comes to ports "
			     "is not compared with what was sent\n");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
