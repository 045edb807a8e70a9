/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parties of relays that move, end, or are others: each datagram counts once.
 */
#include "cmocka_cr.h"

#include <sched.h>
#include <unistd.h>

#include "base/field.h"
#include "protocol/tables/endpoint_fields.h"
#include "talkers.h"

/* --- parties that move, end, or are others --- */

enum { MOVES = 30, BETWEEN = 10 };

/* By new answers, in mid-speech: every packet arrives at the one place or the
 * other, those sent later at the new one. */
static void a_change_of_address_loses_nothing(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_cost_wait lacks;
	struct endpoint_spec to[2] = { 0 };
	struct node_call *c;
	struct talker p[2], other;
	uint8_t buf[2048];
	unsigned heard = 0;
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	for (unsigned i = 0; i < 2; i++)
		field_defaults(party_change_fields, &to[i]);
	c = talk_start(&r, BOTH_PCMU);
	p[0] = talker(c, 0, 0);
	p[1] = talker(c, 1, 0);
	other = talker(c, 1, 0);
	talkers_introduce(c, p);
	to[1].address = p[1].at; /* signalling knew it all the time */
	assert_int_equal(node_call_change(c, to, &lacks, &e), 0);
	for (unsigned i = 0; i < MOVES; i++) {
		const struct talker *now = i % 2 ? &p[1] : &other;

		for (unsigned k = 0; k < BETWEEN; k++)
			talker_speak(&p[0], 1);
		to[1].address = now->at;
		assert_int_equal(node_call_change(c, to, &lacks, &e), 0);
		talker_speak(&p[0], 2);
		do /* the last one comes to the new address */
			assert_true(talker_hear(now, buf) > 0);
		while (heard++, buf[RTP_HEADER_BYTES] != 2);
		while (!talker_hears_nothing(i % 2 ? &other : &p[1]))
			heard += talker_hear(i % 2 ? &other : &p[1], buf) > 0;
	}
	assert_int_equal(heard, MOVES * (BETWEEN + 1));
	talk_stop(&r, c);
	assert_relay_sums(&r, 2 + MOVES * (BETWEEN + 1));
	(void)close(other.fd);
	talkers_leave(p);
	fixture_close(&r);
}

enum { SPRAYERS = 4, SPRAYED = 300 };

/* Whoever sprays packets at both ports, while the parties speak, is refused:
 * with SSRCs of their own and with copied ones. */
static void sprayers_take_nothing_over(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct talker p[2], evil[SPRAYERS];
	struct node_call *c;
	struct node_stats stats;
	struct rtp_packet h;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &o);
	c = talk_start(&r, BOTH_PCMU);
	for (unsigned i = 0; i < 2; i++)
		p[i] = talker(c, i, 0);
	for (unsigned i = 0; i < SPRAYERS; i++)
		evil[i] = talker(c, i % 2, 0);
	talkers_introduce(c, p);
	for (unsigned i = 0; i < SPRAYED; i++) {
		for (unsigned k = 0; k < SPRAYERS; k++) {
			evil[k].next.ssrc =
				k < 2 ? 4711 * i + k : p[k % 2].next.ssrc;
			if (k >= 2)
				evil[k].next.seq = p[k % 2].next.seq;
			talker_speak(&evil[k], 0xee);
		}
		for (unsigned k = 0; k < 2; k++)
			talker_speak(&p[k], (uint8_t)i);
		for (unsigned k = 0; k < 2; k++) {
			assert_int_equal(
				rtp_parse(buf, talker_hear(&p[!k], buf), &h),
				0);
			assert_int_equal(h.ssrc, p[k].next.ssrc);
			assert_int_equal(h.payload[0], (uint8_t)i);
		}
	}
	talk_stop(&r, c);
	for (unsigned i = 0; i < SPRAYERS; i++)
		assert_true(talker_hears_nothing(&evil[i]));
	node_stats(r.node, &stats);
	assert_int_equal(stats.totals.wrong_source + stats.totals.probation,
			 SPRAYERS * SPRAYED);
	assert_relay_sums(&r, 2 + (SPRAYERS + 2) * SPRAYED);
	for (unsigned i = 0; i < SPRAYERS; i++)
		(void)close(evil[i].fd);
	talkers_leave(p);
	fixture_close(&r);
}

/* Nobody is known at the other end. */
static void nowhere_is_counted(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_call *c;
	struct node_stats stats;
	struct talker p[2];
	struct node_fixture r;

	fixture_open(&r, &o);
	c = talk_start(&r, BOTH_PCMU);
	p[0] = talker(c, 0, 0);
	p[1] = talker(c, 1, 0);
	for (unsigned i = 0; i < 5; i++)
		talker_speak(&p[0], 1);
	do {
		(void)sched_yield();
		node_stats(r.node, &stats);
	} while (stats.totals.no_destination < 5);
	talk_stop(&r, c);
	assert_relay_sums(&r, 5);
	talkers_leave(p);
	fixture_close(&r);
}

/* The kernel lets nobody send to all. */
static void what_the_socket_refuses_is_counted(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_call *c;
	struct node_stats stats;
	struct talker p;
	struct node_fixture r;

	fixture_open(&r, &o);
	c = talk_start(&r, A_AND_B("{'codec': 'pcmu'}",
				   "{'codec': 'pcmu', 'address': "
				   "'255.255.255.255:9'}",
				   ""));
	p = talker(c, 0, 0);
	for (unsigned i = 0; i < 200; i++) /* more than a burst */
		talker_speak(&p, 1);
	do {
		(void)sched_yield();
		node_stats(r.node, &stats);
	} while (!stats.totals.relayed);
	talk_stop(&r, c);
	node_stats(r.node, &stats);
	assert_int_equal(stats.totals.packets_out, 0);
	assert_int_equal(stats.totals.octets_out, 0);
	assert_int_equal(stats.totals.send_failed, stats.totals.relayed);
	assert_relay_sums(&r, 200);
	(void)close(p.fd);
	fixture_close(&r);
}

enum { ROUNDS = 40, FRAMES = 100 };

/* Both parties speak while it ends: every packet counts once. */
static void packets_at_the_end_count_once(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_fixture r;

	fixture_open(&r, &o);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct node_call *c = talk_start(&r, BOTH_PCMU);
		struct talker p[2] = { talker(c, 0, 0), talker(c, 1, 0) };

		for (unsigned n = 0; n < 2 * FRAMES; n++)
			talker_speak(&p[n % 2], 1);
		node_call_stop(c, NODE_END_STOPPED, NULL);
		for (unsigned n = 0; n < 2 * FRAMES; n++)
			talker_speak(&p[n % 2], 1);
		assert_true(fixture_wait(&r, talk_is_over, &r));
		talkers_leave(p);
	}
	assert_relay_sums(&r, ROUNDS * 4 * FRAMES);
	assert_int_equal(r.ended, 2 * ROUNDS);
	fixture_close(&r);
}

/* The receiver may give a packet to the transcoder at the moment at which that
 * is to sleep: then it keeps its cost, and is admitted as before. */
static void who_turns_before_it_sleeps_is_paid_for(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_stream *st;
	struct node_call *c;
	struct talker p[2];
	struct node_fixture r;

	fixture_open(&r, &o);
	c = talk_start(&r, BOTH_PCMU);
	st = node_call_stream(c, 0);
	p[0] = talker(c, 0, 0);
	p[1] = talker(c, 1, 0);
	talkers_introduce(c, p);
	talk_change(&r, c, "{'b': {'codec': 'pcma'}}");
	talker_speak(&p[0], 1);
	talk_change(&r, c, "{'b': {'codec': 'pcmu'}}");
	do { /* until it relays again */
		talk_rests(c);
		talker_speak(&p[0], 1);
		(void)sched_yield();
	} while (!stream_relays(st->stream));
	/* on a machine so busy that a second has passed it sleeps already */
	if (st->cost && stream_wanted(st->stream) == STREAM_RELAY_SOME) {
		node_follow(r.node);
		assert_int_equal(stream_wanted(st->stream), STREAM_RELAY);
		assert_non_null(st->cost);
		/* as the receiver does */
		atomic_store(&st->stream->relays, false);
		node_follow(r.node);
		assert_non_null(st->cost);
		assert_int_equal(stream_wanted(st->stream), STREAM_RELAY_SOME);
		atomic_store(&st->stream->relays, true);
	}
	node_follow(r.node);
	node_follow(r.node);
	assert_null(st->cost);
	assert_int_equal(stream_wanted(st->stream), STREAM_RELAY);
	talk_stop(&r, c);
	talkers_leave(p);
	fixture_close(&r);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_of_address_loses_nothing),
		cmocka_unit_test(sprayers_take_nothing_over),
		cmocka_unit_test(nowhere_is_counted),
		cmocka_unit_test(what_the_socket_refuses_is_counted),
		cmocka_unit_test(packets_at_the_end_count_once),
		cmocka_unit_test(who_turns_before_it_sleeps_is_paid_for),
	};

	return cmocka_run_group_tests_name("relay_life", tests, NULL, NULL);
}
