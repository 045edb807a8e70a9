/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a party sends beside speech, or not at all: digits, comfort noise,
 * silence.
 */
#include "cmocka_cr.h"

#include <string.h>

#include "base/clock.h"
#include "node_fixture.h"
#include "rtp/comfort_noise.h"
#include "rtp/telephone_event.h"

#define NB 160u
#define EVENTS 101u
#define NOISE 13u

static const uint8_t silence[NB];

/* Another packet with what is among the speech; @ts stays. */
static void send_aux(struct fixture_sender *s, unsigned pt, bool marker,
		     const void *payload, size_t bytes)
{
	uint32_t ts = s->next.ts;
	uint8_t speech = s->next.pt;

	s->next.pt = (uint8_t)pt;
	s->next.marker = marker;
	fixture_send(s, payload, bytes);
	s->next.pt = speech;
	s->next.marker = false;
	s->next.ts = ts;
}

static void send_event(struct fixture_sender *s, uint8_t code, bool first,
		       bool end, uint16_t duration)
{
	const struct telephone_event event = { code, end, 10, duration };
	uint8_t payload[TELEPHONE_EVENT_BYTES];

	(void)telephone_event_build(payload, &event);
	send_aux(s, EVENTS, first, payload, sizeof(payload));
}

/* --- digits --- */

static struct telephone_event event_of(const struct rtp_packet *p)
{
	struct telephone_event event;

	assert_int_equal(p->pt, 96);
	assert_int_equal(
		telephone_event_parse(p->payload, p->payload_bytes, &event), 0);
	return event;
}

/* 8 kHz in, 16 kHz out: timestamps and durations are doubled. Speech between
 * the event's packets, which holds the tone, is not heard. */
static void a_digit_is_passed_on_alone(void **state)
{
	struct rtp_packet p;
	struct fixture_sender s;
	struct node_stream *st;
	uint8_t buf[2048];
	uint32_t speech;
	uint16_t seq;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r,
			  "{'in': {'codec': 'pcmu', 'events': 101}, 'port': "
			  "'own', 'out': {'codec': 'amr-wb', 'pt': 97, "
			  "'events': 96}}");
	s = fixture_sender(&r, st, NB);
	fixture_send(&s, silence, NB);
	p = fixture_hear(&r, buf);
	assert_int_equal(p.pt, 97);
	speech = p.ts;
	seq = p.seq;
	for (unsigned i = 0; i < 3; i++) { /* begins, goes on twice */
		send_event(&s, 5, !i, false, (uint16_t)((i + 1) * NB));
		p = fixture_hear(&r, buf);
		assert_int_equal(p.marker, !i);
		assert_int_equal(p.ts, speech + 2 * NB);
		assert_int_equal(p.seq, (uint16_t)++seq);
		assert_int_equal(event_of(&p).code, 5);
		assert_int_equal(event_of(&p).duration, 2 * (i + 1) * NB);
		assert_false(event_of(&p).end);
		s.next.ts += i * NB;
		fixture_send(&s, silence, NB); /* the tone in the speech */
		s.next.ts -= (i + 1) * NB;
	}
	send_event(&s, 5, false, true, 4 * NB); /* once: two are made here */
	for (unsigned i = 0; i < 3; i++) {
		p = fixture_hear(&r, buf);
		assert_true(event_of(&p).end);
		assert_int_equal(event_of(&p).duration, 2 * 4 * NB);
		assert_int_equal(p.seq, (uint16_t)++seq);
	}
	s.next.ts += 4 * NB;
	fixture_send(&s, silence, NB);
	p = fixture_hear(&r, buf);
	assert_int_equal(p.pt, 97);
	assert_int_equal(p.ts, speech + 2 * 5 * NB);
	assert_int_equal(p.seq, (uint16_t)++seq);
	fixture_end(&r, st);
	assert_int_equal(r.last.events, 4);
	assert_int_equal(r.last.events_out, 6);
	assert_int_equal(r.last.muted, 3);
	assert_int_equal(r.last.wrong_pt, 0);
	assert_int_equal(r.last.packets_in, 9);
	assert_int_equal(r.last.packets_in + r.last.synthesized,
			 r.last.done + r.last.cancelled);
	fixture_close(&r);
}

/* Its sender has gone in the middle: it is ended here. */
static void a_digit_that_is_not_heard_of_ends(void **state)
{
	struct rtp_packet p;
	struct fixture_sender s;
	struct node_stream *st;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r,
			  "{'in': {'codec': 'pcmu', 'events': 101}, 'port': "
			  "'own', 'out': {'codec': 'pcma', 'events': 96}}");
	s = fixture_sender(&r, st, NB);
	send_event(&s, 11, true, false, NB);
	p = fixture_hear(&r, buf);
	assert_false(event_of(&p).end);
	for (unsigned i = 0; i < 3; i++) {
		p = fixture_hear(&r, buf);
		assert_true(event_of(&p).end);
		assert_int_equal(event_of(&p).code, 11);
		assert_int_equal(event_of(&p).duration, NB);
	}
	fixture_end(&r, st);
	assert_int_equal(r.last.events_out, 4);
	fixture_close(&r);
}

/* What waits when a digit begins is heard before it. */
static void a_digit_waits_behind_what_was_said(void **state)
{
	struct rtp_packet p;
	struct fixture_sender s;
	struct node_stream *st;
	uint8_t buf[2048];
	uint32_t first = 0;
	uint16_t seq = 0;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r,
			  "{'in': {'codec': 'pcmu', 'events': 101, 'jitter': "
			  "'fixed', 'jitter_max_ms': 500}, 'port': 'own', "
			  "'out': {'codec': 'pcma', 'events': 96}}");
	s = fixture_sender(&r, st, NB);
	for (unsigned i = 0; i < 5; i++)
		fixture_send(&s, silence, NB);
	for (unsigned i = 0; i < 5; i++)
		send_event(&s, 7, !i, i >= 2,
			   (uint16_t)((i < 2 ? i + 1 : 3) * NB));
	s.next.ts += 3 * NB;
	fixture_send(&s, silence, NB);
	for (unsigned i = 0; i < 5; i++) {
		p = fixture_hear(&r, buf);
		assert_int_equal(p.pt, 8);
		if (!i) {
			first = p.ts;
			seq = p.seq;
		}
		assert_int_equal(p.ts, first + i * NB);
	}
	for (unsigned i = 0; i < 5; i++) {
		p = fixture_hear(&r, buf);
		assert_int_equal(p.ts, first + 5 * NB);
		assert_int_equal(event_of(&p).code, 7);
		assert_int_equal(event_of(&p).end, i >= 2);
		assert_int_equal(event_of(&p).duration,
				 (i < 2 ? i + 1 : 3) * NB);
	}
	p = fixture_hear(&r, buf);
	assert_int_equal(p.pt, 8);
	assert_int_equal(p.ts, first + 8 * NB);
	assert_int_equal(p.seq, (uint16_t)(seq + 10));
	fixture_end(&r, st);
	assert_int_equal(r.last.events, 5);
	assert_int_equal(r.last.events_out, 5);
	assert_int_equal(r.last.muted, 0);
	assert_int_equal(r.last.packets_in, 11);
	assert_int_equal(r.last.jitter_missed, 0);
	fixture_close(&r);
}

/* --- silence --- */

/* A SID of AMR, octet-aligned: CMR 15, frame type 8, Q. */
static const uint8_t sid[7] = {
	0xf0, 8 << 3 | 4, 0x12, 0x34, 0x56, 0x78, 0x80
};

/* After a SID, a frame comes every ptime, until there is speech again: whose
 * timestamp is not before. */
static void silence_that_is_told_of_is_filled(void **state)
{
	static const uint8_t speech[14] = { 0xf0, 0 << 3 | 4 };
	struct rtp_packet p, last;
	struct fixture_sender s;
	struct node_stream *st;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(
		&r, "{'in': {'codec': 'amr', 'octet_align': true, 'fill':"
		    " 'signalled'}, 'port': 'own', 'out': {'codec': 'pcmu'}}");
	s = fixture_sender(&r, st, NB);
	fixture_send(&s, speech, sizeof(speech));
	last = fixture_hear(&r, buf);
	fixture_send(&s, sid, sizeof(sid));
	for (unsigned i = 0; i < 20; i++) {
		p = fixture_hear(&r, buf);
		assert_int_equal(p.pt, 0);
		assert_int_equal(p.payload_bytes, NB);
		assert_int_equal(p.seq, (uint16_t)(last.seq + 1));
		/* a late timer leaves something out */
		assert_true(p.ts - last.ts >= NB);
		assert_int_equal((p.ts - last.ts) % NB, 0);
		last = p;
	}
	s.next.ts += 5 * NB; /* sooner than was filled */
	for (unsigned i = 0; i < 4; i++) {
		fixture_send(&s, speech, sizeof(speech));
		p = fixture_hear(&r, buf);
		assert_true(p.ts - last.ts >= NB && p.ts - last.ts < 8000);
		last = p;
	}
	fixture_end(&r, st);
	assert_true(r.last.silences >= 19);
	assert_int_equal(r.last.synthesized, r.last.silences);
	assert_int_equal(r.last.packets_in, 6);
	fixture_close(&r);
}

static void nothing_is_filled_that_nobody_asked_for(void **state)
{
	struct fixture_sender s;
	struct node_stream *st;
	uint8_t buf[2048];
	cr_ns end;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'amr', 'octet_align': true}, "
			      "'port': 'own', 'out': {'codec': 'pcmu'}}");
	s = fixture_sender(&r, st, NB);
	fixture_send(&s, sid, sizeof(sid));
	(void)fixture_hear(&r, buf);
	for (end = clock_now() + 100 * CR_MS; clock_now() < end;)
		;
	fixture_end(&r, st);
	assert_int_equal(r.last.packets_out, 1);
	assert_int_equal(r.last.synthesized, 0);
	fixture_close(&r);
}

/* --- comfort noise --- */

static void noise_is_noise_on_both_sides(void **state)
{
	const struct comfort_noise signalled = { .level = 55 };
	struct comfort_noise heard;
	uint8_t payload[COMFORT_NOISE_BYTES_MAX], buf[2048];
	size_t bytes = comfort_noise_build(payload, &signalled);
	struct rtp_packet p;
	struct fixture_sender s;
	struct node_stream *st;
	uint32_t ts;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r, "{'in': {'codec': 'pcmu', 'noise': 13}, 'port': "
			      "'own', 'out': {'codec': 'pcma', 'noise': 13}}");
	s = fixture_sender(&r, st, NB);
	fixture_send(&s, silence, NB);
	ts = fixture_hear(&r, buf).ts;
	send_aux(&s, NOISE, false, payload, bytes);
	p = fixture_hear(&r, buf);
	assert_int_equal(p.pt, NOISE);
	assert_int_equal(p.ts, ts + NB);
	assert_int_equal(
		comfort_noise_parse(p.payload, p.payload_bytes, &heard), 0);
	assert_int_equal(heard.level, 55);
	s.next.ts += 50 * NB;
	fixture_send(&s, silence, NB);
	p = fixture_hear(&r, buf);
	assert_int_equal(p.pt, 8);
	assert_true(p.marker); /* speech again */
	assert_int_equal(p.ts, ts + 51 * NB);
	fixture_end(&r, st);
	assert_int_equal(r.last.cn_in, 1);
	assert_int_equal(r.last.cn_out, 1);
	assert_int_equal(r.last.missing, 0);
	fixture_close(&r);
}

/* Whoever takes no comfort noise hears it, as loud as it was told. */
static void noise_is_heard_where_it_cannot_be_told(void **state)
{
	const struct cr_codec *pcma = cr_codec_find("pcma");
	const struct cr_codec_cfg cfg = { .samples = NB };
	const struct comfort_noise signalled = { .level = 40 };
	struct comfort_noise heard;
	uint8_t payload[COMFORT_NOISE_BYTES_MAX], buf[2048];
	size_t bytes = comfort_noise_build(payload, &signalled);
	struct cr_frame frame = { .kind = CR_FRAME_SPEECH, .bytes = NB };
	int16_t pcm[NB];
	struct rtp_packet p;
	struct fixture_sender s;
	struct node_stream *st;
	void *decoder;
	struct node_fixture r;

	assert_int_equal(pcma->decoder_open(&decoder, &cfg, NULL), 0);
	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(
		&r, "{'in': {'codec': 'pcmu', 'noise': 13, 'fill': "
		    "'signalled'}, 'port': 'own', 'out': {'codec': 'pcma'}}");
	s = fixture_sender(&r, st, NB);
	send_aux(&s, NOISE, false, payload, bytes);
	for (unsigned i = 0; i < 10; i++) {
		p = fixture_hear(&r, buf);
		assert_int_equal(p.pt, 8);
		assert_int_equal(p.payload_bytes, NB);
		memcpy(frame.data, p.payload, NB);
		assert_int_equal(pcma->decode(decoder, &frame, pcm), NB);
	}
	comfort_noise_measure(pcm, NB, 0, &heard);
	assert_in_range(heard.level, 37, 43);
	pcma->decoder_close(decoder);
	fixture_end(&r, st);
	fixture_close(&r);
}

/* --- refusals --- */

/* Nobody has agreed on them: they are dropped, and told by number. */
static void unknown_types_are_told_by_number(void **state)
{
	struct node_stream_info info;
	struct fixture_sender s;
	struct node_stream *st;
	uint8_t buf[2048];
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	st = fixture_call(&r,
			  "{'in': {'codec': 'pcmu', 'events': 101}, 'port': "
			  "'own', 'out': {'codec': 'pcma'}}");
	s = fixture_sender(&r, st, NB);
	fixture_send(&s, silence, NB);
	(void)fixture_hear(&r, buf);
	send_aux(&s, 96, false, silence, 10);
	send_aux(&s, 13, false, silence, 10);
	send_aux(&s, 96, false, silence, 10);
	fixture_send(&s, silence, NB);
	(void)fixture_hear(&r, buf);
	node_stream_info(st, &info);
	assert_string_equal(info.unknown, "2 of type 96, 1 of type 13");
	fixture_end(&r, st);
	assert_int_equal(r.last.wrong_pt, 3);
	fixture_close(&r);
}

static void refuse(struct node_fixture *r, const char *json, const char *why)
{
	struct node_stream *st;
	struct cr_err e;

	assert_int_equal(fixture_try(r, json, &st, &e), -EINVAL);
	assert_string_equal(e.text, why);
}

static void what_does_not_go_together_is_refused(void **state)
{
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	refuse(&r,
	       "{'in': {'codec': 'pcmu', 'jitter': 'adaptive'}, "
	       "'out': {'codec': 'pcma'}}",
	       "in.jitter: goes with port \"own\"");
	refuse(&r,
	       "{'in': {'codec': 'pcmu', 'jitter_min_ms': 10}, 'port': "
	       "'own', 'out': {'codec': 'pcma'}}",
	       "in.jitter_min: goes with a jitter buffer: say in.jitter, fixed "
	       "or adaptive");
	refuse(&r,
	       "{'in': {'codec': 'pcmu', 'jitter': 'fixed', "
	       "'jitter_min_ms': 70}, 'port': 'own', "
	       "'out': {'codec': 'pcma'}}",
	       "in.jitter_min: is more than jitter_max, 60 ms");
	refuse(&r,
	       "{'in': {'codec': 'pcmu', 'events': 13, 'noise': 13}, "
	       "'port': 'own', 'out': {'codec': 'pcma'}}",
	       "in.events: payload type 13 stands for something else already");
	refuse(&r,
	       "{'in': {'codec': 'pcmu'}, 'port': 'own', "
	       "'out': {'codec': 'amr', 'pt': 101, 'events': 101}}",
	       "out.events: payload type 101 stands for something else "
	       "already");
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_digit_is_passed_on_alone),
		cmocka_unit_test(a_digit_that_is_not_heard_of_ends),
		cmocka_unit_test(a_digit_waits_behind_what_was_said),
		cmocka_unit_test(silence_that_is_told_of_is_filled),
		cmocka_unit_test(nothing_is_filled_that_nobody_asked_for),
		cmocka_unit_test(noise_is_noise_on_both_sides),
		cmocka_unit_test(noise_is_heard_where_it_cannot_be_told),
		cmocka_unit_test(unknown_types_are_told_by_number),
		cmocka_unit_test(what_does_not_go_together_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
