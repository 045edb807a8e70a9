/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call with a jitter buffer: what comes in disorder, late or never.
 */
#include "cmocka_cr.h"

#include "node_fixture.h"

#define NB 160u

static const uint8_t silence[NB];

static void what_comes_in_disorder_leaves_in_order(void **state)
{
	static const unsigned order[] = { 0, 2, 1, 3, 5, 6, 4, 7 };
	struct rtp_packet p;
	struct fixture_sender s;
	struct node_stream *st;
	uint8_t buf[2048];
	uint32_t first = 0;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu', 'jitter': 'fixed', "
			      "'jitter_max_ms': 500}, 'port': 'own', "
			      "'out': {'codec': 'pcma'}}");
	s = fixture_sender(&r, st, NB);
	{
		const struct rtp_packet begin = s.next;

		for (unsigned i = 0; i < 8; i++) {
			s.next.seq = (uint16_t)(begin.seq + order[i]);
			s.next.ts = begin.ts + order[i] * NB;
			fixture_send(&s, silence, NB);
		}
	}
	for (unsigned i = 0; i < 8; i++) {
		p = fixture_hear(&r, buf);
		if (!i)
			first = p.ts;
		assert_int_equal(p.ts, first + i * NB);
	}
	fixture_end(&r, st);
	assert_int_equal(r.last.packets_in, 8);
	assert_int_equal(r.last.late_in, 0);
	assert_int_equal(r.last.reordered, 0);
	/* all but the first few have waited */
	assert_true(r.last.buffered_ns > 8ull * 300 * CR_MS);
	fixture_close(&r);
}

static void what_never_comes_is_concealed_in_its_time(void **state)
{
	struct rtp_packet p;
	struct fixture_sender s;
	struct node_stream *st;
	uint8_t buf[2048];
	uint32_t first = 0;
	uint16_t seq = 0;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu', 'jitter': 'fixed', "
			      "'jitter_max_ms': 300}, 'port': 'own', "
			      "'out': {'codec': 'pcma'}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < 8; i++) {
		if (i == 3 || i == 4) {
			s.next.seq++;
			s.next.ts += NB;
			continue;
		}
		fixture_send(&s, silence, NB);
	}
	for (unsigned i = 0; i < 8; i++) {
		p = fixture_hear(&r, buf);
		if (!i) {
			first = p.ts;
			seq = p.seq;
		}
		assert_int_equal(p.ts, first + i * NB);
		assert_int_equal(p.seq, (uint16_t)(seq + i));
	}
	/* what the record says of the network */
	assert_int_equal(rtp_source_lost(&st->stream->account->seen), 2);
	assert_int_equal(st->stream->account->seen.received, 6);
	fixture_end(&r, st);
	assert_int_equal(r.last.packets_in, 6);
	assert_int_equal(r.last.jitter_missed, 2);
	assert_true(r.last.synthesized >= 2); /* and behind the last one */
	fixture_close(&r);
}

static bool five_seen(void *arg)
{
	return fixture_figure(arg, "rx", "packets") == 5;
}

/* Its party has gone, and so has the call: what waited is counted. */
static void what_still_waits_is_counted(void **state)
{
	struct fixture_sender s;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu', 'jitter': 'fixed', "
			      "'jitter_max_ms': 1000}, 'port': 'own', "
			      "'out': {'codec': 'pcma'}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < 5; i++)
		fixture_send(&s, silence, NB);
	assert_true(fixture_wait(&r, five_seen, &r));
	fixture_end(&r, st);
	assert_int_equal(r.last.packets_in + r.last.overflowed, 5);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_in_disorder_leaves_in_order),
		cmocka_unit_test(what_never_comes_is_concealed_in_its_time),
		cmocka_unit_test(what_still_waits_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
