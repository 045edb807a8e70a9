/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digits, and numbers that begin anew, where a relay becomes a call or a call a
 * relay: a digit is heard once, and ends.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "rtp/telephone_event.h"
#include "talkers.h"

#define CLOCK 160u /* of 20 ms */
#define EVENTS 101u
#define RELAYED(b)                                                             \
	A_AND_B("{'codec': 'pcmu', 'events': 101}",                            \
		"{'codec': '" b "', 'events': 101}", "")

struct talk {
	struct node_fixture rig;
	struct node_call *c;
	struct talker p[2];
};

static void talk_open(struct talk *t, const char *json, uint8_t b)
{
	memset(t, 0, sizeof(*t));
	fixture_open(&t->rig, &(struct fixture_options){ .workers = 1 });
	t->c = talk_start(&t->rig, json);
	t->p[0] = talker(t->c, 0, 0);
	t->p[1] = talker(t->c, 1, b);
	talkers_introduce(t->c, t->p);
}

static void talk_close(struct talk *t)
{
	talk_stop(&t->rig, t->c);
	talkers_leave(t->p);
	fixture_close(&t->rig);
}

/* --- what is said --- */

/* A packet of digit 5, which began at the timestamp of the next speech. */
static void press(struct talker *p, bool first, bool end, uint16_t duration)
{
	const struct telephone_event event = { 5, end, 10, duration };
	uint8_t packet[RTP_HEADER_BYTES + TELEPHONE_EVENT_BYTES];
	struct rtp_packet header = p->next;

	header.pt = EVENTS;
	header.marker = first;
	(void)rtp_build(packet, &header);
	(void)telephone_event_build(packet + RTP_HEADER_BYTES, &event);
	talker_send(p, packet, sizeof(packet));
	p->next.seq++;
}

/* --- what B hears --- */

struct heard {
	uint8_t buf[2048];
	struct rtp_packet p;
	struct telephone_event event; /* if it is one */
};

static void hear(const struct talk *t, struct heard *h)
{
	size_t n = talker_hear(&t->p[1], h->buf);

	assert_int_equal(rtp_parse(h->buf, n, &h->p), 0);
	if (h->p.pt == EVENTS)
		assert_int_equal(telephone_event_parse(h->p.payload,
						       h->p.payload_bytes,
						       &h->event),
				 0);
}

static unsigned long long relayed(const struct talk *t)
{
	struct node_stream_info info;

	node_stream_info(node_call_stream(t->c, 0), &info);
	return info.count.relayed;
}

/* --- tests --- */

/* Pressed while the relay has the packets, let go when the call has: the same
 * digit, at the same time. */
static void a_digit_is_one_across_a_turn(void **state)
{
	struct heard h;
	struct talk t;
	uint16_t seq;
	uint32_t ts;

	talk_open(&t, RELAYED("pcmu"), 0);
	talker_speak(&t.p[0], 0xd5);
	hear(&t, &h);
	press(&t.p[0], true, false, CLOCK);
	hear(&t, &h);
	assert_int_equal(h.p.pt, EVENTS);
	ts = h.p.ts;
	seq = h.p.seq;
	talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
	for (unsigned i = 2; i < 6; i++) { /* 3 ends */
		press(&t.p[0], false, i > 2,
		      (uint16_t)((i > 2 ? 3 : 2) * CLOCK));
		hear(&t, &h);
		assert_int_equal(h.p.pt, EVENTS);
		assert_int_equal(h.p.ts, ts);
		assert_int_equal(h.p.seq, ++seq);
		assert_int_equal(h.event.end, i > 2);
	}
	t.p[0].next.ts += 3 * CLOCK;
	talker_speak(&t.p[0], 0xd5);
	hear(&t, &h);
	assert_int_equal(h.p.pt, 8);
	assert_int_equal(h.p.seq, ++seq);
	assert_int_equal(h.p.ts, ts + 3 * CLOCK);
	talk_close(&t);
}

/* Two of its three ends are lost, which the call makes up for: before a relay
 * has the packets, and not when the call has them again. */
static void a_digit_ends_before_a_turn(void **state)
{
	unsigned ends = 0, speech = 0;
	struct heard h;
	struct talk t;
	uint32_t ts;

	talk_open(&t, RELAYED("pcma"), 8);
	talker_speak(&t.p[0], 0xd5);
	hear(&t, &h);
	press(&t.p[0], true, false, CLOCK);
	hear(&t, &h);
	ts = h.p.ts;
	press(&t.p[0], false, true, 2 * CLOCK);
	hear(&t, &h);
	assert_true(h.p.pt == EVENTS && h.event.end);
	talk_rests(t.c);
	t.p[0].next.ts += 2 * CLOCK;
	talk_change(&t.rig, t.c, "{'b': {'codec': 'pcmu'}}");
	talker_speak(&t.p[0], 0xd5);
	for (ends = 1; ends < 3 || !speech;) {
		hear(&t, &h);
		if (h.p.pt == EVENTS) {
			assert_true(h.event.end);
			assert_int_equal(h.p.ts, ts);
			ends++;
		} else {
			speech++;
		}
	}
	while (!relayed(&t)) {
		talk_rests(t.c);
		talker_speak(&t.p[0], 0xd5);
		hear(&t, &h);
		assert_int_equal(h.p.pt, 0);
	}
	talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
	talker_speak(&t.p[0], 0xd5);
	hear(&t, &h);
	assert_int_equal(h.p.pt, 8);
	talk_close(&t);
}

/* By less than what counts as late for a relay, but more than what does for a
 * call: its second packet shows that it does. */
static void numbers_begin_anew_at_a_turn(void **state)
{
	struct heard h;
	struct talk t;
	uint32_t ts, ssrc;
	uint16_t seq;

	talk_open(&t, BOTH_PCMU, 0);
	talker_speak(&t.p[0], 0xd5);
	hear(&t, &h);
	seq = h.p.seq;
	ts = h.p.ts;
	ssrc = h.p.ssrc;
	talk_change(&t.rig, t.c, "{'b': {'codec': 'pcma'}}");
	t.p[0].next.seq = (uint16_t)(t.p[0].next.seq - 80);
	for (unsigned i = 0; i < 4; i++)
		talker_speak(&t.p[0], 0xd5);
	for (unsigned i = 0; i < 3; i++) {
		hear(&t, &h);
		assert_int_equal(h.p.pt, 8);
		assert_int_equal(h.p.ssrc, ssrc);
		assert_int_equal(h.p.seq, ++seq);
		assert_true(h.p.ts - ts >= CLOCK && h.p.ts - ts <= 2 * CLOCK);
		ts = h.p.ts;
	}
	talk_close(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_digit_is_one_across_a_turn),
		cmocka_unit_test(a_digit_ends_before_a_turn),
		cmocka_unit_test(numbers_begin_anew_at_a_turn),
	};

	return cmocka_run_group_tests_name("turn_aux", tests, NULL, NULL);
}
