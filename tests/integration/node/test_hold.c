/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parties on hold: nothing is sent to them, everything counts once, they are
 * heard meanwhile, and what they are sent later goes on where it was.
 */
#include "cmocka_cr.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "rtp/comfort_noise.h"
#include "rtp/rtcp.h"
#include "turning.h"

#define HOLD_B "{'b': {'hold': true}}"
#define HEAR_B "{'b': {'hold': false}}"
#define TRANSCODED A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma'}", "")

static const struct {
	const char *json;
	unsigned b;
} shapes[] = { { BOTH_PCMU, 0 }, { TRANSCODED, 8 } };

static const struct fixture_options options = { .workers = 1 };

static void wait_held(struct turning *t, unsigned long long n)
{
	struct node_stats stats;

	do {
		(void)sched_yield();
		node_stats(t->rig.node, &stats);
	} while (stats.totals.on_hold < n);
	assert_int_equal(stats.totals.on_hold, n);
}

/* A says @n packets that B is not sent; @before were held already. */
static void say_to_nobody(struct turning *t, unsigned n,
			  unsigned long long before)
{
	t->p[0].next.pt = (uint8_t)t->pt[0];
	for (unsigned i = 0; i < n; i++) { /* a call's ring takes few */
		talker_speak(&t->p[0], 0xd5);
		wait_held(t, before + i + 1);
	}
	t->sent += n;
	talk_rests(t->c);
	assert_true(talker_hears_nothing(&t->p[1]));
}

/* The next packet of A follows the last one that B was sent, @missed packets
 * later. */
static void hear_again(struct turning *t, unsigned missed)
{
	talker_speak(&t->p[0], 0xd5);
	t->sent++;
	line_hears(&t->line[1], &t->p[1], t->pt[1], 1,
		   (missed + 1) * TURNING_STEP);
	turning_say_both(t, 3);
}

static bool is_on_hold(const struct turning *t, unsigned i)
{
	struct node_endpoint_info info;

	node_call_party(t->c, i, &info);
	return info.hold;
}

/* As long as a receiver would take for another sender (RFC 3550, A.1). */
static void who_is_on_hold_is_sent_nothing(void **state)
{
	static const unsigned missed[] = { 5, 1, 4000 };
	struct turning t;

	for (unsigned k = 0; k < 2; k++) {
		unsigned long long held = 0;

		turning_open(&t, &options, shapes[k].json, 0, shapes[k].b);
		turning_say_both(&t, 3);
		for (unsigned i = 0; i < 3; i++) {
			talk_change(&t.rig, t.c, HOLD_B);
			assert_true(is_on_hold(&t, 1));
			assert_false(is_on_hold(&t, 0));
			say_to_nobody(&t, missed[i], held);
			held += missed[i];
			turning_say(&t, 1, 3); /* it is heard */
			talk_change(&t.rig, t.c, HEAR_B);
			assert_false(is_on_hold(&t, 1));
			hear_again(&t, missed[i]);
		}
		turning_close(&t);
	}
}

/* What is said of both at once. */
static void both_may_be_on_hold(void **state)
{
	struct turning t;

	for (unsigned k = 0; k < 2; k++) {
		turning_open(&t, &options, shapes[k].json, 0, shapes[k].b);
		turning_say_both(&t, 2);
		talk_change(&t.rig, t.c,
			    "{'a': {'hold': true}, 'b': {'hold': true}}");
		say_to_nobody(&t, 3, 0);
		t.p[1].next.pt = (uint8_t)t.pt[1];
		talker_speak(&t.p[1], 0xd5);
		t.sent++;
		wait_held(&t, 4);
		assert_true(talker_hears_nothing(&t.p[0]));
		talk_change(&t.rig, t.c,
			    "{'a': {'hold': false}, 'b': {'hold': false}}");
		talker_speak(&t.p[1], 0xd5);
		t.sent++;
		line_hears(&t.line[0], &t.p[0], 0, 1, 2 * TURNING_STEP);
		hear_again(&t, 3);
		turning_close(&t);
	}
}

/* From a relay to a call and back, while nobody listens. */
static void shapes_change_on_hold(void **state)
{
	unsigned long long held = 0;
	struct turning t;

	turning_open(&t, &options, BOTH_PCMU, 0, 0);
	turning_say_both(&t, 3);
	for (unsigned i = 0; i < 6; i++) {
		unsigned to = i % 2 ? 0 : 8;

		talk_change(&t.rig, t.c, HOLD_B);
		say_to_nobody(&t, 7, held);
		talk_change(&t.rig, t.c,
			    to ? "{'b': {'codec': 'pcma'}}"
			       : "{'b': {'codec': 'pcmu'}}");
		t.pt[1] = to;
		say_to_nobody(&t, 7, held + 7);
		held += 14;
		talk_change(&t.rig, t.c, HEAR_B);
		hear_again(&t, 14);
	}
	turning_close(&t);
}

/* The listener has heard of the change when it is to hear again. */
static void a_shape_changes_when_hold_ends(void **state)
{
	unsigned long long held = 0;
	struct turning t;

	turning_open(&t, &options, BOTH_PCMU, 0, 0);
	turning_say_both(&t, 3);
	for (unsigned i = 0; i < 4; i++) {
		talk_change(&t.rig, t.c, HOLD_B);
		say_to_nobody(&t, 7, held);
		held += 7;
		t.pt[1] = i % 2 ? 0 : 8;
		talk_change(&t.rig, t.c,
			    i % 2 ? "{'b': {'codec': 'pcmu', 'hold': false}}"
				  : "{'b': {'codec': 'pcma', 'hold': false}}");
		hear_again(&t, 7);
	}
	turning_close(&t);
}

static bool has_silence(void *arg)
{
	const struct node_fixture *r = arg;
	struct node_stats stats;

	node_stats(r->node, &stats);
	return stats.totals.silences >= 3 && stats.totals.on_hold >= 3;
}

/* The node says it by itself, from a timer. */
static void silence_is_not_filled_for_who_is_on_hold(void **state)
{
	const struct comfort_noise noise = { .level = 60 };
	uint8_t packet[RTP_HEADER_BYTES + COMFORT_NOISE_BYTES_MAX];
	struct rtp_packet header;
	struct turning t;
	size_t n;

	turning_open(&t, &options,
		     A_AND_B("{'codec': 'pcmu', 'noise': 13}",
			     "{'codec': 'pcma'}", ""),
		     0, 8);
	turning_say_both(&t, 3);
	talk_change(&t.rig, t.c, HOLD_B);
	header = t.p[0].next;
	header.pt = 13;
	(void)rtp_build(packet, &header);
	n = comfort_noise_build(packet + RTP_HEADER_BYTES, &noise);
	talker_send(&t.p[0], packet, RTP_HEADER_BYTES + n);
	t.sent++;
	assert_true(fixture_wait(&t.rig, has_silence, &t.rig));
	assert_true(talker_hears_nothing(&t.p[1]));
	turning_close(&t);
}

/* B is learned while nothing is sent to it; who sprays packets is not. */
static void who_is_on_hold_is_learned(void **state)
{
	static const char *const json[] = {
		A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcmu', 'hold': true}",
			""),
		A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma', 'hold': true}",
			""),
	};
	struct node_stats stats;
	struct talker evil;
	struct turning t;

	for (unsigned k = 0; k < 2; k++) {
		memset(&t, 0, sizeof(t));
		fixture_open(&t.rig, &options);
		t.c = talk_start(&t.rig, json[k]);
		t.pt[1] = k ? 8 : 0;
		for (unsigned i = 0; i < 2; i++)
			t.p[i] = talker(t.c, i, (uint8_t)t.pt[i]);
		evil = talker(t.c, 1, (uint8_t)t.pt[1]);
		evil.next.ssrc = 666;
		say_to_nobody(&t, 4, 0); /* nor is it known where it is */
		turning_say(&t, 1, 3);
		for (unsigned i = 0; i < 3; i++)
			talker_speak(&evil, 1);
		t.sent += 3;
		turning_say(&t, 1, 3);
		assert_true(talker_hears_nothing(&t.p[1]));
		talk_change(&t.rig, t.c, HEAR_B);
		turning_say_both(&t, 3);
		assert_true(talker_hears_nothing(&evil));
		node_stats(t.rig.node, &stats);
		assert_int_equal(stats.totals.no_destination, 0);
		assert_int_equal(stats.totals.on_hold, 4);
		assert_int_equal(
			stats.totals.probation + stats.totals.wrong_source, 3);
		turning_close(&t);
		(void)close(evil.fd);
	}
}

/* A receiver's report, as nothing is sent (RFC 3550, 6.4). */
static void reports_go_on(void **state)
{
	uint8_t buf[2048];
	struct turning t = { .pt = { 0, 0 } };

	fixture_open(&t.rig, &options);
	t.rig.node->cfg.rtcp_interval = 100 * CR_MS;
	t.c = talk_start(&t.rig, A_AND_B("{'codec': 'pcmu'}",
					 "{'codec': 'pcmu', 'rtcp': 'mux', "
					 "'hold': true}",
					 ""));
	for (unsigned i = 0; i < 2; i++)
		t.p[i] = talker(t.c, i, 0);
	say_to_nobody(&t, 3, 0);
	turning_say(&t, 1, 3);
	assert_true(talker_hear(&t.p[1], buf) > RTP_HEADER_BYTES);
	assert_int_equal(buf[1], RTCP_RR);
	talk_stop(&t.rig, t.c);
	talkers_leave(t.p);
	fixture_close(&t.rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_on_hold_is_sent_nothing),
		cmocka_unit_test(both_may_be_on_hold),
		cmocka_unit_test(shapes_change_on_hold),
		cmocka_unit_test(a_shape_changes_when_hold_ends),
		cmocka_unit_test(silence_is_not_filled_for_who_is_on_hold),
		cmocka_unit_test(who_is_on_hold_is_learned),
		cmocka_unit_test(reports_go_on),
	};

	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
