/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which frame a packet answers.
 */
#include "match.h"

#include "cmocka_cr.h"

enum { STEP = 160, SENT_AT = 1000 };

static struct match m;
static uint32_t frame;
static cr_ns when;

/* Frames 0, 1, ... that were sent at 1,000, 1,001, ... */
static int reset(void **state)
{
	m = (struct match){ .base = UINT32_MAX - STEP,
			    .based = true,
			    .step = STEP };
	return 0;
}

static void send_one(void)
{
	uint32_t next = m.sent;

	assert_int_equal(match_sent(&m, SENT_AT + next), next);
}

static void send(unsigned n)
{
	while (n--)
		send_one();
}

/* The answer to frame @f, whose numbers are past their ends after two. */
static enum match_kind answer(uint32_t f)
{
	return match_answer(&m, (uint16_t)(65534 + f), m.base + f * STEP,
			    &frame, &when);
}

static void an_answer_names_its_frame_and_when_it_was_sent(void **state)
{
	send(5);
	for (uint32_t f = 0; f < 5; f++) {
		assert_int_equal(answer(f), MATCH_FRAME);
		assert_int_equal(frame, f);
		assert_int_equal(when, SENT_AT + f);
	}
}

static void a_lost_first_answer_does_not_shift_the_others(void **state)
{
	send(3);
	assert_int_equal(answer(1), MATCH_FRAME);
	assert_int_equal(frame, 1);
	assert_int_equal(answer(2), MATCH_FRAME);
	assert_int_equal(frame, 2);
}

static enum match_kind answer_by_sequence(uint16_t seq)
{
	return match_answer(&m, seq, 77, &frame, &when);
}

static void without_a_base_sequence_numbers_tell(void **state)
{
	m.based = false;
	send(3);
	assert_int_equal(answer_by_sequence(65535), MATCH_FRAME);
	assert_int_equal(frame, 0);
	assert_int_equal(answer_by_sequence(1), MATCH_FRAME);
	assert_int_equal(frame, 2);
	assert_int_equal(answer_by_sequence(0), MATCH_LATE);
	assert_int_equal(frame, 1);
	assert_int_equal(answer_by_sequence(0), MATCH_DUPLICATE);
	assert_int_equal(answer_by_sequence(2), MATCH_STRANGE);
	assert_int_equal(answer_by_sequence(65534), MATCH_STRANGE);
}

static void sequence_numbers_come_round(void **state)
{
	m.based = false;
	for (uint32_t f = 0; f < 200000; f++) {
		send_one();
		assert_int_equal(answer_by_sequence((uint16_t)(f + 9)),
				 MATCH_FRAME);
		assert_int_equal(frame, f);
	}
}

static void order_and_copies_are_told(void **state)
{
	send(4);
	assert_int_equal(answer(0), MATCH_FRAME);
	assert_int_equal(answer(2), MATCH_FRAME);
	assert_int_equal(answer(1), MATCH_LATE);
	assert_int_equal(frame, 1);
	assert_int_equal(answer(1), MATCH_DUPLICATE);
	assert_int_equal(answer(2), MATCH_DUPLICATE);
	assert_int_equal(answer(3), MATCH_FRAME);
}

static void what_answers_nothing_is_strange(void **state)
{
	send(2);
	assert_int_equal(answer(2), MATCH_STRANGE); /* not sent yet */
	assert_int_equal(match_answer(&m, 0, m.base + 1, &frame, &when),
			 MATCH_STRANGE); /* between two frames */
	assert_int_equal(match_answer(&m, 0, m.base - STEP, &frame, &when),
			 MATCH_STRANGE);
	assert_int_equal(answer(0), MATCH_FRAME);
}

static void a_frame_that_did_not_leave_cannot_be_answered(void **state)
{
	send(1);
	match_unsent(&m);
	assert_int_equal(answer(0), MATCH_DUPLICATE);
}

static void a_sequence_number_that_jumps_is_told(void **state)
{
	send(3);
	assert_int_equal(answer(0), MATCH_FRAME);
	assert_int_equal(match_answer(&m, 9, m.base + STEP, &frame, &when),
			 MATCH_SEQUENCE);
	assert_int_equal(frame, 1);
	/* and goes on from there */
	assert_int_equal(match_answer(&m, 10, m.base + 2 * STEP, &frame, &when),
			 MATCH_FRAME);
}

static void an_answer_after_the_window_is_strange(void **state)
{
	send(MATCH_WINDOW + 1);
	assert_int_equal(answer(0), MATCH_STRANGE);
	assert_int_equal(answer(1), MATCH_FRAME);
	assert_int_equal(answer(MATCH_WINDOW), MATCH_FRAME);
	assert_int_equal(when, SENT_AT + MATCH_WINDOW);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, reset)
	const struct CMUnitTest tests[] = {
		TEST(an_answer_names_its_frame_and_when_it_was_sent),
		TEST(a_lost_first_answer_does_not_shift_the_others),
		TEST(without_a_base_sequence_numbers_tell),
		TEST(sequence_numbers_come_round),
		TEST(order_and_copies_are_told),
		TEST(what_answers_nothing_is_strange),
		TEST(a_frame_that_did_not_leave_cannot_be_answered),
		TEST(a_sequence_number_that_jumps_is_told),
		TEST(an_answer_after_the_window_is_strange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
