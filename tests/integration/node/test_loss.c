/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that never come: they show in the output's sequence numbers, or are
 * concealed.
 */
#include "cmocka_cr.h"

#include "node_fixture.h"

#define NB 160u

static const uint8_t silence[NB];

/* Packets of which every one with a 1 in @came comes; one at a time, so that
 * none is lost otherwise. Returns how many come out; the last one's header is
 * in @last. */
static unsigned pass(struct node_fixture *r, struct node_stream *st,
		     const char *came, unsigned concealed,
		     struct rtp_packet *first, struct rtp_packet *last)
{
	struct fixture_sender s = fixture_sender(r, st, NB);
	uint8_t buf[2048];
	unsigned out = 0;

	for (; *came; came++) {
		unsigned expect = 1;

		if (*came == '0') {
			s.next.seq++;
			s.next.ts += NB;
			continue;
		}
		if (out && came[-1] == '0')
			expect += concealed;
		fixture_send(&s, silence, NB);
		for (; expect; expect--, out++) {
			assert_true(fixture_receive(r, buf, last));
			if (!out)
				*first = *last;
		}
	}
	return out;
}

static void losses_show_in_the_numbers(void **state)
{
	struct rtp_packet first, last;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu'}, "
			      "'out': {'codec': 'pcma'}}");
	assert_int_equal(pass(&r, st, "1101100011", 0, &first, &last), 6);
	assert_int_equal((uint16_t)(last.seq - first.seq), 9);
	assert_int_equal(last.ts - first.ts, 9 * NB);
	fixture_end(&r, st);
	assert_int_equal(r.last.missing, 4);
	assert_int_equal(r.last.done, 6);
	assert_int_equal(r.last.packets_out, 6);
	fixture_close(&r);
}

/* Packets of 30 ms. */
static void losses_show_in_packets_of_the_output(void **state)
{
	struct rtp_packet first, last;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu'}, "
			      "'out': {'codec': 'g723_1'}, 'ptime_ms': 30}");
	assert_non_null(st);
	{
		struct fixture_sender s = fixture_sender(&r, st, 240);
		static const uint8_t frame[240];
		uint8_t buf[2048];

		fixture_send(&s, frame, 240);
		assert_true(fixture_receive(&r, buf, &first));
		s.next.seq += 2;
		s.next.ts += 2 * 240;
		fixture_send(&s, frame, 240);
		assert_true(fixture_receive(&r, buf, &last));
	}
	assert_int_equal((uint16_t)(last.seq - first.seq), 3);
	assert_int_equal(last.ts - first.ts, 3 * 240);
	fixture_end(&r, st);
	assert_int_equal(r.last.missing, 2);
	fixture_close(&r);
}

static void losses_are_concealed_up_to_60_ms(void **state)
{
	struct rtp_packet first, last;
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu', 'loss': 'conceal'}, "
			      "'out': {'codec': 'pcma'}}");
	assert_int_equal(pass(&r, st, "11011", 1, &first, &last), 5);
	assert_int_equal((uint16_t)(last.seq - first.seq), 4);
	assert_int_equal(last.ts - first.ts, 4 * NB);
	fixture_end(&r, st);
	assert_int_equal(r.last.missing, 1);
	st = fixture_call(&r, "{'in': {'codec': 'pcmu', 'loss': 'conceal'}, "
			      "'out': {'codec': 'pcma'}}");
	/* of five, two show */
	assert_int_equal(pass(&r, st, "11000001", 3, &first, &last), 6);
	assert_int_equal((uint16_t)(last.seq - first.seq), 7);
	assert_int_equal(last.ts - first.ts, 7 * NB);
	fixture_end(&r, st);
	assert_int_equal(r.last.missing, 5);
	assert_int_equal(r.last.done, 3);
	assert_int_equal(r.last.packets_out, 6);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(losses_show_in_the_numbers),
		cmocka_unit_test(losses_show_in_packets_of_the_output),
		cmocka_unit_test(losses_are_concealed_up_to_60_ms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
