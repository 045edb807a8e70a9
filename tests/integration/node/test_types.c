/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload types of telephone events and comfort noise that change in mid-call,
 * of transcoded streams and of relays, and at the turns between both: each
 * packet is passed on once, under the number that the listener knows.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "rtp/comfort_noise.h"
#include "rtp/telephone_event.h"
#include "turning.h"

/* Codecs have two numbers, so that nothing goes by its number alone. */
#define RELAYED(a, b)                                                          \
	A_AND_B("{'codec': 'pcmu'" a "}", "{'codec': 'pcmu', 'pt': 100" b "}", \
		"")
#define TRANSCODED(a, b)                                                       \
	A_AND_B("{'codec': 'pcmu'" a "}", "{'codec': 'pcma'" b "}", "")

static const struct fixture_options options = { .workers = 1 };

/* Of each shape: without types, and with events at both ends. */
static const struct {
	const char *bare, *events, *noise;
	unsigned b;
} shapes[] = {
	{ RELAYED("", ""), RELAYED(", 'events': 101", ", 'events': 110"),
	  RELAYED(", 'noise': 115", ", 'noise': 118"), 100 },
	{ TRANSCODED("", ""), TRANSCODED(", 'events': 101", ", 'events': 110"),
	  TRANSCODED(", 'noise': 115", ", 'noise': 118"), 8 },
};

static void types_close(struct turning *t)
{
	talk_stop(&t->rig, t->c);
	turning_came(t);
	talkers_leave(t->p);
	fixture_close(&t->rig);
}

static void send_as(struct turning *t, unsigned i, unsigned pt,
		    const void *payload, size_t bytes)
{
	uint8_t packet[64];
	struct rtp_packet header = t->p[i].next;

	header.pt = (uint8_t)pt;
	(void)rtp_build(packet, &header);
	memcpy(packet + RTP_HEADER_BYTES, payload, bytes);
	talker_send(&t->p[i], packet, RTP_HEADER_BYTES + bytes);
	t->p[i].next.seq++;
	t->sent++;
}

/* A digit of one packet's length: its end three times. */
static void press(struct turning *t, unsigned i, unsigned pt)
{
	const struct telephone_event event = { 5, true, 10, TURNING_STEP };
	uint8_t payload[TELEPHONE_EVENT_BYTES];

	(void)telephone_event_build(payload, &event);
	for (unsigned k = 0; k < 3; k++)
		send_as(t, i, pt, payload, sizeof(payload));
	t->p[i].next.ts += TURNING_STEP;
}

/* The other one hears it as @as. */
static void digit_is_heard(struct turning *t, unsigned i, unsigned pt,
			   unsigned as)
{
	struct telephone_event event;
	struct rtp_packet p;
	uint8_t buf[2048];

	talk_rests(t->c);
	press(t, i, pt);
	for (unsigned k = 0; k < 3; k++) {
		struct line *l = &t->line[!i];
		size_t n = talker_hear(&t->p[!i], buf);

		assert_int_equal(rtp_parse(buf, n, &p), 0);
		assert_int_equal(p.pt, as);
		assert_int_equal((uint16_t)(p.seq - l->seq), 1);
		assert_int_equal(p.ts - l->ts, k ? 0 : TURNING_STEP);
		assert_int_equal(telephone_event_parse(p.payload,
						       p.payload_bytes, &event),
				 0);
		assert_int_equal(event.code, 5);
		assert_true(event.end);
		*l = (struct line){ true, p.seq, p.ts, p.ssrc };
	}
}

static unsigned long long wrong_types(const struct turning *t)
{
	struct node_stats stats;

	node_stats(t->rig.node, &stats);
	return stats.totals.wrong_pt;
}

static void wait_wrong(const struct turning *t, unsigned long long n)
{
	while (wrong_types(t) < n)
		(void)sched_yield();
	assert_int_equal(wrong_types(t), n);
}

/* Nobody has agreed on it: three packets more that count so. The numbers of a
 * relay show the gap, those of a call do not. */
static void digit_is_wrong(struct turning *t, unsigned i, unsigned pt)
{
	unsigned long long before = wrong_types(t);

	talk_rests(t->c);
	press(t, i, pt);
	wait_wrong(t, before + 3);
	assert_true(talker_hears_nothing(&t->p[!i]));
	t->p[i].next.seq = (uint16_t)(t->p[i].next.seq - 3);
	t->p[i].next.ts -= TURNING_STEP;
}

/* Numbered anew at one end, at the other, and at both. What is on its way by
 * the old number is heard, too. */
static void events_are_numbered_anew(void **state)
{
	struct turning t;

	for (unsigned k = 0; k < 2; k++) {
		turning_open(&t, &options, shapes[k].events, 0, shapes[k].b);
		turning_say_both(&t, 2);
		digit_is_heard(&t, 0, 101, 110);
		turning_say(&t, 0, 2);
		talk_change(&t.rig, t.c, "{'a': {'events': 102}}");
		digit_is_heard(&t, 0, 102, 110);
		turning_say(&t, 0, 2);
		digit_is_heard(&t, 0, 101, 110);
		turning_say_both(&t, 2);
		digit_is_heard(&t, 1, 110, 102);
		turning_say(&t, 1, 2);
		talk_change(&t.rig, t.c, "{'b': {'events': 111}}");
		digit_is_heard(&t, 0, 102, 111);
		turning_say(&t, 0, 2);
		talk_change(&t.rig, t.c,
			    "{'a': {'events': 103}, 'b': {'events': 112}}");
		digit_is_heard(&t, 0, 103, 112);
		digit_is_heard(&t, 1, 112, 103);
		turning_say_both(&t, 2);
		/* the last three are on their way, and no more */
		talk_change(&t.rig, t.c, "{'a': {'events': 104}}");
		digit_is_heard(&t, 0, 104, 112);
		turning_say(&t, 0, 2);
		digit_is_wrong(&t, 0, 101);
		assert_int_equal(wrong_types(&t), 3);
		turning_say_both(&t, 2);
		types_close(&t);
	}
}

/* An answer lacks what was offered, and a later one has it again. */
static void events_are_dropped_and_come_back(void **state)
{
	struct turning t;

	for (unsigned k = 0; k < 2; k++) {
		turning_open(&t, &options, shapes[k].events, 0, shapes[k].b);
		turning_say_both(&t, 2);
		for (unsigned i = 0; i < 3; i++) {
			digit_is_heard(&t, 0, 101, 110);
			turning_say(&t, 0, 2);
			talk_change(&t.rig, t.c,
				    "{'a': {'events': 0}, 'b': {'events': 0}}");
			digit_is_wrong(&t, 0, 101);
			turning_say_both(&t, 2);
			talk_change(
				&t.rig, t.c,
				"{'a': {'events': 101}, 'b': {'events': 110}}");
		}
		digit_is_heard(&t, 0, 101, 110);
		turning_say_both(&t, 2);
		types_close(&t);
	}
}

/* A stream that has begun with speech alone. */
static void events_are_added(void **state)
{
	struct turning t;

	for (unsigned k = 0; k < 2; k++) {
		turning_open(&t, &options, shapes[k].bare, 0, shapes[k].b);
		turning_say_both(&t, 2);
		digit_is_wrong(&t, 0, 101);
		turning_say_both(&t, 2);
		talk_change(&t.rig, t.c,
			    "{'a': {'events': 101}, 'b': {'events': 110}}");
		digit_is_heard(&t, 0, 101, 110);
		turning_say_both(&t, 2);
		digit_is_heard(&t, 1, 110, 101);
		turning_say_both(&t, 2);
		types_close(&t);
	}
}

/* One end takes none any more: they are heard nowhere, speech is. */
static void one_end_takes_none(void **state)
{
	struct node_stats stats;
	struct turning t;

	turning_open(&t, &options, shapes[0].events, 0, 100);
	turning_say_both(&t, 2);
	talk_change(&t.rig, t.c, "{'b': {'events': 0}}");
	digit_is_wrong(&t, 0, 101);
	digit_is_wrong(&t, 1, 110);
	turning_say_both(&t, 2);
	types_close(&t);

	turning_open(&t, &options, BOTH_PCMU, 0, 0);
	turning_say_both(&t, 2);
	digit_is_heard(&t, 0, 101, 101); /* one numbering, unasked */
	turning_say_both(&t, 2);
	talk_change(&t.rig, t.c, "{'a': {'events': 101}}");
	digit_is_wrong(&t, 0, 101);
	digit_is_wrong(&t, 1, 101);
	talk_change(&t.rig, t.c, "{'b': {'events': 101}}");
	digit_is_heard(&t, 0, 101, 101);
	turning_say_both(&t, 2);
	types_close(&t);

	turning_open(&t, &options, shapes[1].events, 0, 8);
	turning_say_both(&t, 2);
	talk_change(&t.rig, t.c, "{'b': {'events': 0}}");
	digit_is_wrong(&t, 1, 110);
	press(&t, 0, 101);
	do {
		(void)sched_yield();
		node_stats(t.rig.node, &stats);
	} while (stats.totals.events < 3);
	assert_true(talker_hears_nothing(&t.p[1]));
	types_close(&t);
}

/* With the codecs; and what stood for speech stands for events then. */
static void types_change_with_the_shape(void **state)
{
	struct turning t;

	turning_open(&t, &options, shapes[0].bare, 0, 100);
	turning_say_both(&t, 2);
	for (unsigned i = 0; i < 3; i++) {
		talk_change(&t.rig, t.c,
			    "{'a': {'events': 101}, 'b': {'codec': 'pcma', "
			    "'events': 100}}");
		t.pt[1] = 8;
		turning_say_both(&t, 1);
		digit_is_heard(&t, 0, 101, 100);
		turning_say_both(&t, 2);
		digit_is_heard(&t, 1, 100, 101);
		turning_say_both(&t, 2);
		talk_change(&t.rig, t.c,
			    "{'a': {'events': 102}, 'b': {'codec': 'pcmu', "
			    "'pt': 100, 'events': 110}}");
		t.pt[1] = 100;
		turning_say_both(&t, 2);
		digit_is_heard(&t, 0, 102, 110);
		digit_is_heard(&t, 0, 101, 110);
		turning_say_both(&t, 2);
		digit_is_heard(&t, 1, 110, 102);
		turning_say_both(&t, 2);
		assert_true(node_call_relays(t.c));
	}
	types_close(&t);
}

/* --- comfort noise --- */

static void report_noise(struct turning *t, unsigned i, unsigned pt)
{
	const struct comfort_noise noise = { .level = 60 };
	uint8_t payload[COMFORT_NOISE_BYTES_MAX];

	talk_rests(t->c);
	send_as(t, i, pt, payload, comfort_noise_build(payload, &noise));
	t->p[i].next.ts += TURNING_STEP;
}

/* The next packet that is heard is of type @as: noise or, of a call towards a
 * party that takes none, speech. */
static void is_heard_as(struct turning *t, unsigned i, unsigned as)
{
	struct rtp_packet p;
	uint8_t buf[2048];

	assert_int_equal(rtp_parse(buf, talker_hear(&t->p[!i], buf), &p), 0);
	assert_int_equal(p.pt, as);
	t->line[!i] = (struct line){ true, p.seq, p.ts, p.ssrc };
}

/* What a party is sent while the node fills a pause has no certain number of
 * packets: the first one of type @as that comes back is speech. */
static void speaks_again(struct turning *t, unsigned i)
{
	struct rtp_packet p;
	uint8_t buf[2048];

	t->p[i].next.pt = (uint8_t)t->pt[i];
	t->p[i].next.ts += 100 * TURNING_STEP;
	talker_speak(&t->p[i], 0x55);
	t->sent++;
	do
		assert_int_equal(
			rtp_parse(buf, talker_hear(&t->p[!i], buf), &p), 0);
	while (p.pt != t->pt[!i] || p.ts - t->line[!i].ts < 50 * TURNING_STEP);
	t->line[!i] = (struct line){ true, p.seq, p.ts, p.ssrc };
}

static void noise_is_numbered_anew_and_dropped(void **state)
{
	unsigned long long before;
	struct turning t;

	for (unsigned k = 0; k < 2; k++) {
		turning_open(&t, &options, shapes[k].bare, 0, shapes[k].b);
		turning_say_both(&t, 2);
		report_noise(&t, 0, 115);
		wait_wrong(&t, 1);
		talk_change(&t.rig, t.c,
			    "{'a': {'noise': 115}, 'b': {'noise': 118}}");
		report_noise(&t, 0, 115);
		is_heard_as(&t, 0, 118);
		speaks_again(&t, 0);
		talk_change(&t.rig, t.c,
			    "{'a': {'noise': 116}, 'b': {'noise': 119}}");
		report_noise(&t, 0, 116);
		is_heard_as(&t, 0, 119);
		speaks_again(&t, 0);
		report_noise(&t, 0, 115);
		is_heard_as(&t, 0, 119);
		speaks_again(&t, 0);
		before = wrong_types(&t);
		talk_change(&t.rig, t.c,
			    "{'a': {'noise': 0}, 'b': {'noise': 0}}");
		report_noise(&t, 0, 116);
		wait_wrong(&t, before + 1);
		t.p[0].next.seq--;
		t.p[0].next.ts -= TURNING_STEP;
		talk_rests(t.c);
		assert_true(talker_hears_nothing(&t.p[1]));
		turning_say_both(&t, 3);
		types_close(&t);
	}
}

/* --- what is refused --- */

static void what_is_refused_leaves_types_as_they_were(void **state)
{
	struct cr_err e = { "" };
	struct turning t;

	for (unsigned k = 0; k < 2; k++) {
		turning_open(&t, &options, shapes[k].events, 0, shapes[k].b);
		turning_say_both(&t, 2);
		assert_int_equal(talk_try_change(&t.rig, t.c,
						 "{'a': {'noise': 101}}", &e),
				 -EINVAL);
		assert_string_equal(e.text,
				    "a.events: payload type 101 stands for "
				    "something else already");
		assert_int_equal(talk_try_change(&t.rig, t.c,
						 "{'a': {'codec': 'l16', "
						 "'pt': 101}}",
						 &e),
				 -EINVAL);
		digit_is_heard(&t, 0, 101, 110);
		turning_say_both(&t, 2);
		types_close(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_numbered_anew),
		cmocka_unit_test(events_are_dropped_and_come_back),
		cmocka_unit_test(events_are_added),
		cmocka_unit_test(one_end_takes_none),
		cmocka_unit_test(types_change_with_the_shape),
		cmocka_unit_test(noise_is_numbered_anew_and_dropped),
		cmocka_unit_test(what_is_refused_leaves_types_as_they_were),
	};

	return cmocka_run_group_tests_name("types", tests, NULL, NULL);
}
