/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receive stage with a jitter buffer, whose frames are written as a line:
 * "3@120" is the packet numbered 3 at 120 ms, "e4@140" one of an event, "l@160"
 * a lost frame, "l5@160" one that brings packet 5, "t@180" a tick.
 */
#include <stdio.h>
#include <string.h>

#include "cmocka_cr.h"
#include "media/receive_stage.h"

enum { STEP = 160, PT_EVENT = 101, LINE = 1000 };

static unsigned recover(void *dec, const struct cr_frame *next, int16_t *pcm)
{
	(void)dec;
	(void)next;
	(void)pcm;
	fail_msg("a receive stage decodes nothing");
	return 0;
}

static const struct cr_codec codec = {
	.sample_rate = 8000,
	.samples = STEP,
	.recover = recover,
};
static const struct codec_use whole = {
	.codec = &codec,
	.kind = PAYLOAD_WHOLE,
	.frame_bytes = 40,
};
static struct receive_stage *f;
static char line[LINE];
static unsigned lost, restarts;
static cr_ns polled; /* up to here, ms */

static void hear(void *arg, const struct receive_stage_frame *frame)
{
	static const char *const names[] = { "", "n", "e", "l", "s", "t" };
	size_t n = strlen(line);

	(void)arg;
	lost += frame->lost;
	restarts += frame->restart;
	n += (size_t)snprintf(line + n, LINE - n, "%s%s", n ? " " : "",
			      names[frame->meta.what]);
	if (frame->meta.bytes)
		n += (size_t)snprintf(line + n, LINE - n, "%u",
				      frame->meta.what == FRAME_RING_LOST
					      ? frame->payload[4]
					      : frame->meta.rtp_seq);
	(void)snprintf(line + n, LINE - n, "@%lld",
		       (long long)(frame->meta.arrival / CR_MS));
}

static void gone(void *arg)
{
	(void)arg;
	fail_msg("something is gone");
}

static void open_as(cr_ns most)
{
	const struct receive_stage_cfg cfg = {
		.terms = { .jitter = JITTER_FIXED,
			   .least = most * CR_MS,
			   .most = most * CR_MS,
			   .events = { 1, { { PT_EVENT, 8000 } } } },
		.clock = 8000,
		.step = STEP,
		.slot_bytes = 40,
		.emit = hear,
		.gone = gone,
	};

	assert_int_equal(receive_stage_open(&f, &cfg, NULL), 0);
	line[0] = '\0';
	lost = restarts = 0;
	polled = 0;
}

/* Polled at every ms. */
static const char *until(cr_ns ms)
{
	for (; polled <= ms; polled++)
		receive_stage_poll(f, polled * CR_MS);
	return line;
}

static enum jitter_put put(cr_ns ms, struct rtp_packet p, bool restart)
{
	struct receive_stage_arrival in = {
		.what = p.pt == PT_EVENT ? FRAME_RING_EVENT : FRAME_RING_SPEECH,
		.rtp = &p,
		.restart = restart,
		.codec = { .side = &whole, .clock = 8000, .rate = 8000 },
		.at = ms * CR_MS,
	};

	(void)until(ms);
	return receive_stage_packet(f, &in);
}

/* Packet @seq, of the @place-th ptime. */
static void say(cr_ns ms, unsigned seq, unsigned place)
{
	const uint8_t payload[40] = { [4] = (uint8_t)seq };

	assert_int_equal(put(ms,
			     (struct rtp_packet){ .seq = (uint16_t)seq,
						  .ts = place * STEP,
						  .payload = payload,
						  .payload_bytes = 40 },
			     false),
			 JITTER_TAKEN);
}

/* A digit that has begun at the @place-th ptime and lasted for @lasts of them.
 */
static void press(cr_ns ms, unsigned seq, unsigned place, unsigned lasts)
{
	const uint8_t payload[4] = { 5, 0, (uint8_t)(lasts * STEP >> 8),
				     (uint8_t)(lasts * STEP) };

	assert_true(put(ms,
			(struct rtp_packet){ .pt = PT_EVENT,
					     .seq = (uint16_t)seq,
					     .ts = place * STEP,
					     .payload = payload,
					     .payload_bytes = 4 },
			false) >= 0);
}

/* --- digits --- */

static void what_is_said_before_a_digit_is_heard_before_it(void **state)
{
	open_as(100);
	say(0, 0, 0);
	say(20, 1, 1);
	say(40, 2, 2);
	press(60, 3, 3, 1);
	press(80, 4, 3, 2);
	press(100, 5, 3, 3);
	say(120, 6, 6);
	assert_string_equal(until(220),
			    "0@100 1@120 2@140 e3@160 e4@180 e5@200 6@220");
	assert_int_equal(lost, 0);
	receive_stage_close(f);
}

/* The speech goes on meanwhile, and holds the tone: neither waits for the
 * other, and what is in disorder is put into order. */
static void a_digit_beside_speech_is_in_its_place(void **state)
{
	open_as(100);
	say(0, 0, 0);
	say(20, 1, 1);
	press(40, 2, 2, 1);
	press(61, 4, 2, 2);
	say(62, 3, 2);
	say(63, 5, 3);
	say(80, 6, 4);
	assert_string_equal(until(180),
			    "0@100 1@120 e2@140 3@140 e4@160 5@160 6@180");
	assert_int_equal(lost, 0);
	receive_stage_close(f);
}

/* One that is early is not heard before the speech that is still on its way;
 * what does not come is concealed before it. */
static void a_digit_waits_for_what_may_yet_come(void **state)
{
	open_as(60);
	say(0, 0, 0);
	press(30, 2, 2, 0);
	say(50, 1, 1);
	assert_string_equal(until(100), "0@60 1@80 e2@80");
	assert_int_equal(lost, 0);
	receive_stage_close(f);

	open_as(60);
	say(0, 0, 0);
	say(20, 1, 1);
	press(60, 3, 3, 0);
	assert_string_equal(until(150), "0@60 1@80 l@100 e3@100");
	assert_int_equal(lost, 1);
	receive_stage_close(f);
}

static void a_digit_whose_turn_is_over_comes_at_once(void **state)
{
	open_as(40);
	say(0, 0, 0);
	say(40, 2, 1);
	say(60, 3, 2);
	(void)until(70);
	line[0] = '\0';
	press(75, 1, 1, 1);
	assert_string_equal(line, "e1@75");
	receive_stage_close(f);
}

/* Another sender begins while one waits: it comes out first, and is nobody's
 * else. */
static void a_digit_is_not_lost_with_its_sender(void **state)
{
	static const uint8_t payload[40];
	const struct rtp_packet other = { .seq = 7000,
					  .ts = 12345678,
					  .payload = payload,
					  .payload_bytes = 40 };

	open_as(100);
	press(0, 0, 0, 1); /* nothing says when its turn is */
	press(20, 1, 1, 1);
	assert_string_equal(line, "e0@0 e1@20");
	say(40, 2, 2);
	(void)until(140);
	assert_int_equal(restarts, 1);
	press(145, 3, 7, 1);
	line[0] = '\0';
	assert_true(put(150, other, true) >= 0);
	assert_string_equal(line, "e3@150");
	assert_int_equal(restarts, 1);
	(void)until(250);
	assert_non_null(strstr(line, " 7000@250"));
	assert_int_equal(restarts, 2);
	receive_stage_close(f);
}

/* --- losses --- */

static void a_lost_frame_brings_the_packet_behind_it(void **state)
{
	open_as(60);
	say(0, 0, 0);
	say(20, 1, 1);
	say(60, 3, 3);
	say(130, 6, 6); /* of two only the last one is known */
	assert_string_equal(until(180),
			    "0@60 1@80 l3@100 3@120 l@140 l6@160 6@180");
	assert_int_equal(lost, 3);
	receive_stage_close(f);
}

/* What comes too late brings nothing. */
static void what_is_not_there_is_not_brought(void **state)
{
	open_as(40);
	say(0, 0, 0);
	say(20, 1, 1);
	(void)until(85);
	say(90, 3, 3);
	assert_string_equal(until(100), "0@40 1@60 l@80 3@100");
	assert_int_equal(lost, 1);
	receive_stage_close(f);
}

/* The last packet of a call: what is concealed behind it was not lost, as far
 * as anybody knows. Behind a pause the numbers say what was. */
static void only_what_numbers_prove_is_lost(void **state)
{
	open_as(40);
	say(0, 0, 0);
	say(20, 1, 1);
	assert_string_equal(until(300), "0@40 1@60 l@80 l@100 l@120");
	assert_int_equal(lost, 0);
	say(300, 2, 15);
	assert_int_equal(lost, 0);
	say(420, 7, 21);
	(void)until(460);
	assert_int_equal(lost, 4);
	receive_stage_close(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			what_is_said_before_a_digit_is_heard_before_it),
		cmocka_unit_test(a_digit_beside_speech_is_in_its_place),
		cmocka_unit_test(a_digit_waits_for_what_may_yet_come),
		cmocka_unit_test(a_digit_whose_turn_is_over_comes_at_once),
		cmocka_unit_test(a_digit_is_not_lost_with_its_sender),
		cmocka_unit_test(a_lost_frame_brings_the_packet_behind_it),
		cmocka_unit_test(what_is_not_there_is_not_brought),
		cmocka_unit_test(only_what_numbers_prove_is_lost),
	};

	return cmocka_run_group_tests_name("receive stage", tests, NULL, NULL);
}
