/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of two streams whose parties speak the same: packets go on as they
 * came, and no worker hears of it.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "talkers.h"

/* --- when --- */

#define AMR(more) "{'codec': 'amr', 'pt': 96" more "}"

static void what_is_the_same_is_relayed(void **state)
{
	static const struct {
		const char *json;
		bool relays;
	} row[] = {
		{ BOTH_PCMU, true },
		{ A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcmu', 'pt': 100}",
			  ""),
		  true },
		{ A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcmu'}",
			  ", 'relay': 'auto'"),
		  true },
		{ A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcmu'}",
			  ", 'relay': 'never'"),
		  false },
		{ A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcma'}", ""),
		  false },
		{ A_AND_B("{'codec': 'pcmu', 'out_ssrc': 5}",
			  "{'codec': 'pcmu'}", ""),
		  false },
		{ A_AND_B("{'codec': 'pcmu'}",
			  "{'codec': 'pcmu', 'loss': 'conceal'}", ""),
		  false },
		{ A_AND_B("{'codec': 'l16', 'rate': 8000}",
			  "{'codec': 'l16', 'rate': 16000}", ""),
		  false },
		{ A_AND_B("{'codec': 'l16', 'rate': 16000}",
			  "{'codec': 'l16', 'rate': 16000}", ""),
		  true },
		{ A_AND_B(AMR(""), AMR(""), ""), true },
		{ A_AND_B(AMR(", 'octet_align': true"), AMR(""), ""), false },
		{ A_AND_B(AMR(", 'mode': '4.75'"), AMR(""), ""), false },
		{ A_AND_B(AMR(", 'dtx': true"), AMR(""), ""), false },
		{ A_AND_B(AMR(", 'dtx': true"), AMR(", 'dtx': true"), ""),
		  true },
		{ A_AND_B("{'codec': 'opus', 'complexity': 1}",
			  "{'codec': 'opus', 'complexity': 9}", ""),
		  true },
		{ A_AND_B("{'codec': 'opus', 'fec': 10}", "{'codec': 'opus'}",
			  ""),
		  false },
	};
	const struct fixture_options o = { .workers = 1 };
	struct node_stats stats;
	struct node_fixture r;

	fixture_open(&r, &o);
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct node_call *c = talk_start(&r, row[i].json);

		if (node_call_relays(c) != row[i].relays)
			fail_msg("%s: %d", row[i].json, node_call_relays(c));
		node_stats(r.node, &stats);
		assert_int_equal(stats.calls, 1);
		assert_int_equal(stats.streams, 2);
		assert_int_equal(stats.relays, row[i].relays ? 2 : 0);
		talk_stop(&r, c);
	}
	fixture_close(&r);
}

#define GREEDY(more)                                                           \
	A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcmu'}",                      \
		", 'class': 'hard', 'contract': {'worst_us': 19900}" more)

/* Though a scheduler would never take it, for it asks for more than there is.
 */
static void no_worker_hears_of_it(void **state)
{
	const struct fixture_options o = { .workers = 1,
					   .scheduler = "edf",
					   .admission = true,
					   .receivers = 1 };
	struct node_call *c;
	struct node_stream_info info;
	struct node_stats stats;
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	assert_int_equal(talk_try(&r, GREEDY(", 'relay': 'never'"), &c, &e),
			 -ENOSPC);
	c = talk_start(&r, GREEDY(""));
	node_stats(r.node, &stats);
	assert_true(stats.load == 0);
	assert_int_equal(stats.receivers[0].streams, 2);
	assert_int_equal(stats.calls_started, 1);
	node_stream_info(node_call_stream(c, 0), &info);
	assert_true(info.relay);
	assert_string_equal(info.transcoding, "relay");
	assert_int_equal(info.pair, info.id + 1);
	assert_null(info.bound.rule);
	r.node->cfg.max_calls = 1;
	assert_int_equal(talk_try(&r, BOTH_PCMU, &c, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "--max-calls"));
	fixture_close(&r);
	assert_int_equal(r.ended, 2);
}

/* It has no terms to change. */
static void its_terms_do_not_change(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_call *c;
	struct node_stream *st;
	struct stream_cfg to;
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	c = talk_start(&r, A_AND_B("{'codec': 'amr'}", "{'codec': 'amr'}", ""));
	st = node_call_stream(c, 0);
	to = node_stream_cfg(st);
	assert_int_equal(node_stream_change(st, &to, true, &e), -EINVAL);
	assert_non_null(strstr(e.text, "is relayed"));
	talk_stop(&r, c);
	fixture_close(&r);
}

/* --- packets --- */

/* With everything that RTP has: two CSRCs, an extension, padding. */
static size_t rich_packet(uint8_t buf[2048], unsigned i, uint8_t pt)
{
	const struct rtp_packet h = { .pt = pt,
				      .marker = i % 3 == 0,
				      .seq = (uint16_t)(100 + i),
				      .ts = 7000 + 160 * i,
				      .ssrc = 0xdeadbeef };
	size_t bytes = i % 7 ? 12 + 8 + 8 + 33 + 4 : 2048;

	memset(buf, (int)i, bytes);
	(void)rtp_build(buf, &h);
	buf[0] |= 0x20 | 0x10 | 2;
	memset(buf + 12, 0x11, 8);		 /* CSRCs */
	memcpy(buf + 20, "\xbe\xde\x00\x01", 4); /* one word */
	buf[bytes - 1] = 4;			 /* of padding */
	return bytes;
}

enum { RICH = 200 };

/* But for the type, which is that of the other side. */
static void packets_go_on_as_they_came(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	uint8_t sent[2048], heard[2048];
	struct node_call *c;
	struct talker p[2];
	struct node_fixture r;

	fixture_open(&r, &o);
	c = talk_start(&r, A_AND_B("{'codec': 'amr', 'pt': 97}",
				   "{'codec': 'amr', 'pt': 112}", ""));
	p[0] = talker(c, 0, 97);
	p[1] = talker(c, 1, 112);
	talkers_introduce(c, p);
	p[0].next.ssrc = 0xdeadbeef;
	for (unsigned i = 0; i < RICH; i++) {
		size_t n = rich_packet(sent, i, 97);

		talker_send(&p[0], sent, n);
		if (i < 2) /* another SSRC than before has to prove itself */
			continue;
		assert_int_equal(talker_hear(&p[1], heard), n);
		sent[1] = (uint8_t)((sent[1] & 0x80) | 112);
		assert_memory_equal(heard, sent, n);
	}
	talk_stop(&r, c);
	assert_relay_sums(&r, 2 + RICH);
	talkers_leave(p);
	fixture_close(&r);
}

/* The receiver at the end sorts, or does not. */
static void disorder_is_passed_on(void **state)
{
	static const uint16_t order[] = { 5, 4, 4, 9, 6, 5, 30000, 7 };
	const struct fixture_options o = { .workers = 1 };
	struct node_call *c;
	struct talker p[2];
	struct rtp_packet h;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &o);
	c = talk_start(&r, BOTH_PCMU);
	p[0] = talker(c, 0, 0);
	p[1] = talker(c, 1, 0);
	talkers_introduce(c, p);
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		p[0].next.seq = order[i];
		talker_speak(&p[0], (uint8_t)i);
	}
	for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		size_t n = talker_hear(&p[1], buf);

		assert_int_equal(rtp_parse(buf, n, &h), 0);
		assert_int_equal(h.seq, order[i]);
		assert_int_equal(h.payload[0], i);
	}
	talk_stop(&r, c);
	assert_relay_sums(&r, 2 + sizeof(order) / sizeof(order[0]));
	talkers_leave(p);
	fixture_close(&r);
}

/* One numbering for both: events, noise and whatever else they have agreed on.
 * Two: a number may mean something else on the other side. */
static void other_types_need_one_numbering(void **state)
{
	static const struct {
		const char *json;
		uint8_t pt[2];
		bool passes; /* what is not static */
	} row[] = {
		{ BOTH_PCMU, { 0, 0 }, true },
		{ A_AND_B("{'codec': 'amr', 'pt': 97}",
			  "{'codec': 'amr', 'pt': 101}", ""),
		  { 97, 101 },
		  false },
	};
	const struct fixture_options o = { .workers = 1 };
	struct node_stats stats;
	unsigned long long sent = 0, other = 0;
	struct node_fixture r;

	fixture_open(&r, &o);
	for (unsigned i = 0; i < 2; i++) {
		struct node_call *c = talk_start(&r, row[i].json);
		const uint8_t type[] = { 101, 127, 13 };
		struct talker p[2];
		struct rtp_packet h;
		uint8_t buf[2048];

		p[0] = talker(c, 0, row[i].pt[0]);
		p[1] = talker(c, 1, row[i].pt[1]);
		talkers_introduce(c, p);
		for (unsigned k = 0; k < sizeof(type); k++) {
			p[0].next.pt = type[k];
			talker_speak(&p[0], 1);
			sent++;
			if (type[k] != 13 && !row[i].passes)
				continue;
			other++;
			assert_int_equal(
				rtp_parse(buf, talker_hear(&p[1], buf), &h), 0);
			assert_int_equal(h.pt, type[k]);
		}
		talk_stop(&r, c);
		assert_true(talker_hears_nothing(&p[1]));
		talkers_leave(p);
		sent += 2;
	}
	node_stats(r.node, &stats);
	assert_int_equal(stats.totals.relayed_other, other);
	assert_int_equal(stats.totals.wrong_pt, 2);
	assert_relay_sums(&r, sent);
	fixture_close(&r);
}

#define CROSSED(more)                                                          \
	A_AND_B("{'codec': 'amr', 'pt': 96, 'events': 101, 'noise': 110}",     \
		"{'codec': 'amr', 'pt': 110, 'events': 96, 'noise': 101" more  \
		"}",                                                           \
		"")

/* Though the numbers cross: each has its own meaning on each side. */
static void named_types_are_mapped(void **state)
{
	static const uint8_t type[2][3] = { { 96, 101, 110 },
					    { 110, 96, 101 } };
	const struct fixture_options o = { .workers = 1 };
	struct node_call *c;
	struct talker p[2];
	struct rtp_packet h;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &o);
	c = talk_start(&r, CROSSED(", 'jitter': 'fixed'"));
	assert_false(node_call_relays(c));
	talk_stop(&r, c);
	c = talk_start(&r, CROSSED(""));
	assert_true(node_call_relays(c));
	p[0] = talker(c, 0, 101); /* an event is the first that is heard */
	p[1] = talker(c, 1, 110);
	talkers_introduce(c, p);
	for (unsigned i = 0; i < 6; i++) {
		p[i % 2].next.pt = type[i % 2][i / 2];
		talker_speak(&p[i % 2], 1);
		assert_int_equal(
			rtp_parse(buf, talker_hear(&p[!(i % 2)], buf), &h), 0);
		assert_int_equal(h.pt, type[!(i % 2)][i / 2]);
	}
	talk_stop(&r, c);
	assert_relay_sums(&r, 2 + 6);
	talkers_leave(p);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_the_same_is_relayed),
		cmocka_unit_test(no_worker_hears_of_it),
		cmocka_unit_test(its_terms_do_not_change),
		cmocka_unit_test(packets_go_on_as_they_came),
		cmocka_unit_test(disorder_is_passed_on),
		cmocka_unit_test(other_types_need_one_numbering),
		cmocka_unit_test(named_types_are_mapped),
	};

	return cmocka_run_group_tests_name("relay", tests, NULL, NULL);
}
