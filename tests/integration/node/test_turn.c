/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of two streams whose parties come to speak the same, or to differ,
 * while they talk: relays become calls, and calls relays. Each packet comes out
 * once, with the SSRC, the next number and the timestamp that the listener
 * expects, and all sums are exact.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "turning.h"

static bool costs_nothing(void *arg)
{
	const struct node_fixture *r = arg;
	struct node_stats stats;

	node_stats(r->node, &stats);
	return stats.load < 1e-5 && stats.measured_load == 0;
}

/* To PCMA at one end, to PCMU at both, and so on; the ids stay. */
static void a_two_way_call_changes_shape(void **state)
{
	const struct fixture_options o = { .workers = 1, .scheduler = "edf" };
	struct node_stream_info info;
	struct node_stats stats;
	struct turning t;
	uint32_t id;

	turning_open(&t, &o, BOTH_PCMU, 0, 0);
	id = node_stream_id(node_call_stream(t.c, 0));
	turning_say_both(&t, 5);
	for (unsigned i = 0; i < 6; i++) {
		talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
		assert_false(node_call_relays(t.c));
		t.pt[1] = 8;
		turning_say_both(&t, 5);
		node_stats(t.rig.node, &stats);
		assert_int_equal(stats.relays, 0);
		assert_true(stats.load > 1e-5);
		node_stream_info(node_call_stream(t.c, 0), &info);
		assert_false(info.relay);
		assert_int_equal(info.id, id);
		assert_string_equal(info.transcoding, "pcmu>pcma@20ms");
		assert_int_equal(info.count.done, 5 * (i + 1));
		assert_int_equal(info.count.relayed, 1 + 5 * (i + 1));

		talk_change(&t.rig, t.c, "{'b': {'codec': 'pcmu'}}");
		assert_true(node_call_relays(t.c));
		t.pt[1] = 0;
		turning_say_both(&t, 5);
		node_stats(t.rig.node, &stats);
		assert_int_equal(stats.relays, 2);
		assert_int_equal(stats.calls, 1);
		node_stream_info(node_call_stream(t.c, 0), &info);
		assert_true(info.relay);
		assert_int_equal(info.id, id);
		assert_string_equal(info.transcoding, "relay");
		assert_int_equal(info.count.done, 5 * (i + 1));
		assert_int_equal(info.count.relayed, 1 + 5 * (i + 2));
		if (i % 2) /* a call that sleeps, or not yet */
			assert_true(
				fixture_wait(&t.rig, costs_nothing, &t.rig));
	}
	turning_close(&t);
	assert_int_equal(t.rig.ended, 2);
}

/* Where it has begun with a codec. */
static void a_call_becomes_a_relay(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct turning t;

	turning_open(&t, &o,
		     A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma'}", ""), 0,
		     8);
	turning_say_both(&t, 5);
	for (unsigned i = 0; i < 4; i++) {
		talk_change(&t.rig, t.c, "{'a': {'codec': 'pcma', 'pt': 100}}");
		assert_true(node_call_relays(t.c));
		t.pt[0] = 100;
		turning_say_both(&t, 5);
		talk_change(&t.rig, t.c, "{'a': {'codec': 'pcmu'}}");
		t.pt[0] = 0;
		turning_say_both(&t, 5);
	}
	turning_close(&t);
}

/* A party goes on for a moment as it was (RFC 3264, 8.3.2), and even to and
 * fro: what is not the same any more is transcoded, the rest passed on. */
static void what_is_on_its_way_is_not_lost(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_stats stats;
	struct turning t;

	turning_open(&t, &o, BOTH_PCMU, 0, 0);
	turning_say_both(&t, 3);
	talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
	for (unsigned i = 0; i < 6; i++) {
		t.pt[1] = i % 2 ? 8 : 0; /* what B sends; A is sent PCMU */
		turning_say(&t, 1, 3);
	}
	t.pt[1] = 8;
	turning_say(&t, 0, 3);
	talk_change(&t.rig, t.c, "{'b': {'codec': 'pcmu'}}");
	for (unsigned i = 0; i < 6; i++) {
		t.pt[1] = i % 2 ? 0 : 8;
		turning_say(&t, 1, 3);
	}
	node_stats(t.rig.node, &stats);
	assert_int_equal(stats.totals.relayed, 2 + 6 + 9);
	assert_int_equal(stats.totals.done, 18 + 3 + 9);
	t.pt[1] = 0;
	turning_say_both(&t, 3);
	/* and then nobody reckons with it any more */
	assert_true(fixture_wait(&t.rig, costs_nothing, &t.rig));
	t.p[1].next.pt = 8;
	talker_speak(&t.p[1], 0xd5);
	t.sent++;
	t.p[1].next.seq--;
	t.p[1].next.ts -= TURNING_STEP;
	turning_say_both(&t, 3);
	node_stats(t.rig.node, &stats);
	assert_int_equal(stats.totals.wrong_pt, 1);
	turning_close(&t);
}

/* Losses of the sender show in both shapes, and at the turns. */
static void what_is_missing_shows(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct turning t;

	turning_open(&t, &o, BOTH_PCMU, 0, 0);
	turning_say_both(&t, 2);
	for (unsigned i = 0; i < 8; i++) {
		bool relay = i % 2;
		unsigned to = relay ? 0 : 8;

		talk_change(&t.rig, t.c,
			    relay ? "{'b': {'codec': 'pcmu'}}"
				  : "{'b': {'codec': 'pcma'}}");
		t.p[0].next.seq = (uint16_t)(t.p[0].next.seq + 3);
		t.p[0].next.ts += 3 * TURNING_STEP;
		talker_speak(&t.p[0], 0xd5);
		t.sent++;
		line_hears(&t.line[1], &t.p[1], to, 4, 4 * TURNING_STEP);
		t.pt[1] = to;
		turning_say_both(&t, 2);
	}
	turning_close(&t);
}

/* Another SSRC, number and time: what is heard goes on once it was renumbered.
 * Its first two packets prove it. */
static void another_sender_goes_on(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct turning t;
	struct rtp_packet p;
	uint8_t buf[2048];

	turning_open(&t, &o,
		     A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma'}", ""), 0,
		     8);
	turning_say_both(&t, 3);
	for (unsigned i = 0; i < 4; i++) {
		t.pt[1] = i % 2 ? 8 : 0;
		talk_change(&t.rig, t.c,
			    i % 2 ? "{'b': {'codec': 'pcma'}}"
				  : "{'b': {'codec': 'pcmu'}}");
		turning_say(&t, 0, 2);
		t.p[0].next.ssrc += 77;
		t.p[0].next.seq = (uint16_t)(t.p[0].next.seq + 20000);
		t.p[0].next.ts += 1u << 30;
		for (unsigned k = 0; k < 3; k++)
			talker_speak(&t.p[0], 0xd5);
		t.sent += 3;
		assert_int_equal(rtp_parse(buf, talker_hear(&t.p[1], buf), &p),
				 0);
		assert_int_equal(p.ssrc, t.line[1].ssrc);
		assert_int_equal(p.seq, (uint16_t)(t.line[1].seq + 1));
		/* as far behind as it came, a frame at least */
		assert_true(p.ts - t.line[1].ts >= TURNING_STEP &&
			    p.ts - t.line[1].ts < 1u << 24);
		t.line[1] = (struct line){ true, p.seq, p.ts, p.ssrc };
		turning_say(&t, 0, 3);
	}
	turning_close(&t);
}

/* Another clock: numbers and SSRC go on, and time does not go back. */
static void clocks_change(void **state)
{
	static const struct {
		const char *json;
		unsigned pt;
	} row[] = {
		{ "{'b': {'codec': 'l16', 'rate': 16000, 'pt': 97}}", 97 },
		{ "{'b': {'codec': 'pcmu'}}", 0 },
		{ "{'b': {'codec': 'l16', 'rate': 16000, 'pt': 97}}", 97 },
		{ "{'b': {'codec': 'pcma'}}", 8 },
		{ "{'b': {'codec': 'pcmu'}}", 0 },
	};
	const struct fixture_options o = { .workers = 1 };
	struct turning t;

	turning_open(&t, &o, BOTH_PCMU, 0, 0);
	turning_say_both(&t, 3);
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		uint32_t step =
			row[i].pt == 97 ? 2 * TURNING_STEP : TURNING_STEP;
		struct line before = t.line[1];
		struct rtp_packet p;
		uint8_t buf[2048];

		talk_change(&t.rig, t.c, row[i].json);
		talker_speak(&t.p[0], 0xd5);
		assert_int_equal(rtp_parse(buf, talker_hear(&t.p[1], buf), &p),
				 0);
		assert_int_equal(p.ssrc, before.ssrc);
		assert_int_equal(p.seq, (uint16_t)(before.seq + 1));
		assert_true((int32_t)(p.ts - before.ts) > 0);
		t.line[1] = (struct line){ true, p.seq, p.ts, p.ssrc };
		for (unsigned k = 0; k < 3; k++) {
			talker_speak(&t.p[0], 0xd5);
			line_hears(&t.line[1], &t.p[1], row[i].pt, 1, step);
		}
		t.sent += 4;
	}
	turning_close(&t);
}

#define SPIN_B "{'b': {'codec': 'spin', 'spin': '12ms'}}"

/* A relay stays one, and a call that sleeps goes on sleeping: any number of
 * refusals leaves no trace. */
static void what_is_refused_leaves_all_as_it_was(void **state)
{
	const struct fixture_options o = { .workers = 1,
					   .scheduler = "edf",
					   .admission = true };
	struct cr_err e = { "" };
	struct node_stats stats;
	struct turning t;

	turning_open(&t, &o, BOTH_PCMU, 0, 0);
	turning_say_both(&t, 2);
	for (unsigned k = 0; k < 2; k++) {
		for (unsigned i = 0; i < 40; i++) {
			assert_int_equal(
				talk_try_change(&t.rig, t.c, SPIN_B, &e),
				-ENOSPC);
			assert_non_null(strstr(e.text, "no-capacity"));
			assert_true(node_call_relays(t.c));
			turning_say_both(&t, 1);
		}
		assert_true(costs_nothing(&t.rig));
		node_stats(t.rig.node, &stats);
		assert_int_equal(stats.relays, 2);
		talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
		t.pt[1] = 8;
		turning_say_both(&t, 2);
		/* nor are inputs used up, of which there are 16 */
		for (unsigned i = 0; i < 40; i++) {
			char json[96];

			(void)snprintf(json, sizeof(json),
				       "{'b': {'codec': 'spin', 'spin': "
				       "'%u.%ums'}}",
				       11 + i / 10, i % 10);
			assert_int_equal(talk_try_change(&t.rig, t.c, json, &e),
					 -ENOSPC);
			assert_non_null(strstr(e.text, "no-capacity"));
		}
		assert_false(node_call_relays(t.c));
		turning_say_both(&t, 2);
		talk_change(&t.rig, t.c, "{'b': {'codec': 'pcmu'}}");
		t.pt[1] = 0;
		turning_say_both(&t, 2);
		assert_true(fixture_wait(&t.rig, costs_nothing, &t.rig));
	}
	turning_close(&t);
}

static struct node_stream_info about(const struct turning *t, unsigned i)
{
	struct node_stream_info info;

	node_stream_info(node_call_stream(t->c, i), &info);
	return info;
}

/* A's packets are declared to last @ms. */
static void assert_declared(const struct turning *t, bool relay, unsigned ms)
{
	const struct node_stream_info info = about(t, 0);
	const struct transcoder *call =
		node_stream_transcoder(node_call_stream(t->c, 0));

	assert_int_equal(info.relay, relay);
	assert_int_equal(info.ptime, ms * CR_MS);
	assert_int_equal(about(t, 1).ptime, 20 * CR_MS);
	if (relay)
		return;
	assert_int_equal(info.terms.deadline, ms * CR_MS);
	assert_int_equal(call->lt.core.task.period, ms * CR_MS);
	assert_int_equal(call->served.cfg.period, ms * CR_MS);
	assert_int_equal(call->ts_step, ms * 8);
}

#define PCMU_20 "{'codec': 'pcmu', 'ptime': '20ms'}"

/* What A's packets last is declared anew: of a relay that is to be a call, of
 * a call, of one that becomes a relay, and of one that sleeps. */
static void a_packet_time_outlives_turns(void **state)
{
	static const struct {
		const char *json;
		unsigned ms, pt; /* of what B speaks */
		bool relay;
	} row[] = {
		{ "{'a': {'in_ptime': '40ms'}}", 40, 0, true },
		{ "{'b': {'codec': 'pcma', 'ptime': '20ms'}}", 40, 8, false },
		{ "{'a': {'in_ptime': '10ms'}}", 10, 8, false },
		{ "{'b': {'codec': 'pcmu', 'ptime': '20ms'}, 'a': {'in_ptime': "
		  "'60ms'}}",
		  60, 0, true },
		{ "{'a': {'in_ptime': '30ms'}}", 30, 0, true },
		{ "{'b': {'codec': 'pcma', 'ptime': '20ms'}}", 30, 8, false },
		{ "{'b': {'codec': 'pcmu', 'ptime': '20ms'}}", 30, 0, true },
		{ "{'b': {'codec': 'pcma', 'ptime': '20ms'}, 'a': {'in_ptime': "
		  "'20ms'}}",
		  20, 8, false },
	};
	const struct fixture_options o = { .workers = 1, .scheduler = "edf" };
	struct turning t;

	turning_open(&t, &o, A_AND_B(PCMU_20, PCMU_20, ""), 0, 0);
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		talk_change(&t.rig, t.c, row[i].json);
		t.pt[1] = row[i].pt;
		turning_say_both(&t, 2);
		talk_rests(t.c);
		assert_declared(&t, row[i].relay, row[i].ms);
		if (i == 3) /* the call sleeps */
			assert_true(
				fixture_wait(&t.rig, costs_nothing, &t.rig));
	}
	turning_close(&t);
}

/* As is asked for: what never relays does not begin to. */
static void never_is_never(void **state)
{
	static const char *const both[] = {
		A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma'}",
			", 'relay': 'never'"),
		A_AND_B("{'codec': 'pcmu'}",
			"{'codec': 'pcma', 'jitter': 'fixed'}", ""),
		A_AND_B("{'codec': 'pcmu', 'out_ssrc': 7}", "{'codec': 'pcma'}",
			""),
	};
	const struct fixture_options o = { .workers = 1 };
	struct node_fixture r;

	fixture_open(&r, &o);
	for (unsigned i = 0; i < 3; i++) {
		struct node_call *c = talk_start(&r, both[i]);

		talk_change(&r, c, "{'b': {'codec': 'pcmu'}}");
		assert_false(node_call_relays(c));
		talk_stop(&r, c);
	}
	fixture_close(&r);
}

/* Nobody was heard, or nobody is where to: there are no numbers to go on from.
 */
static void silence_changes_too(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_stats stats;
	struct turning t = { .pt = { 0, 0 } };

	fixture_open(&t.rig, &o);
	t.c = talk_start(&t.rig, BOTH_PCMU);
	for (unsigned i = 0; i < 2; i++)
		t.p[i] = talker(t.c, i, 0);
	for (unsigned i = 0; i < 8; i++) {
		talk_change(&t.rig, t.c,
			    i % 2 ? "{'b': {'codec': 'pcmu'}}"
				  : "{'b': {'codec': 'pcma'}}");
		talker_speak(&t.p[0], 0xd5);
		t.sent++;
		do {
			(void)sched_yield();
			node_stats(t.rig.node, &stats);
		} while (stats.totals.no_destination < t.sent);
	}
	t.pt[1] = 0;
	turning_say(&t, 1, 3);
	turning_say(&t, 0, 3);
	turning_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_two_way_call_changes_shape),
		cmocka_unit_test(a_call_becomes_a_relay),
		cmocka_unit_test(what_is_on_its_way_is_not_lost),
		cmocka_unit_test(what_is_missing_shows),
		cmocka_unit_test(another_sender_goes_on),
		cmocka_unit_test(clocks_change),
		cmocka_unit_test(what_is_refused_leaves_all_as_it_was),
		cmocka_unit_test(a_packet_time_outlives_turns),
		cmocka_unit_test(never_is_never),
		cmocka_unit_test(silence_changes_too),
	};

	return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
