/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a frame of silence is due, and where speech belongs behind it.
 */
#include "cmocka_cr.h"
#include "rtp/silence.h"

#define STEP 160u
#define PTIME (20 * CR_MS)

static struct silence begin(bool always)
{
	struct silence s;

	silence_init(&s, &(struct silence_cfg){ 8000, STEP, always });
	return s;
}

/* All that is due at @now, which is looked at as often as a timer would. */
static unsigned fill(struct silence *s, cr_ns now, uint32_t *last)
{
	unsigned n = 0;

	while (silence_due(s) <= now)
		n += silence_next(s, silence_due(s), last);
	return n;
}

static void speech_without_silence_needs_nothing(void **state)
{
	struct silence s = begin(false);

	assert_int_equal(silence_due(&s), CR_NEVER);
	for (unsigned i = 0; i < 3; i++) {
		struct silence_place p =
			silence_packet(&s, UINT32_MAX - STEP + i * STEP, STEP,
				       false, i * PTIME);

		assert_int_equal(p.ts,
				 (uint32_t)(UINT32_MAX - STEP + i * STEP));
		assert_false(p.decode_only);
		assert_int_equal(silence_due(&s), CR_NEVER);
	}
}

/* AMR: a SID every 160 ms. */
static void between_sids_seven_frames_are_due(void **state)
{
	struct silence s = begin(false);
	uint32_t ts = 0;

	for (unsigned i = 0; i < 5; i++) {
		struct silence_place p = silence_packet(&s, i * 8 * STEP, STEP,
							true, i * 8 * PTIME);

		assert_int_equal(p.ts, i * 8 * STEP);
		assert_false(p.decode_only);
		assert_int_equal(silence_due(&s),
				 (cr_ns)(i * 8 + 1) * PTIME + PTIME / 2);
		assert_int_equal(fill(&s, (cr_ns)(i * 8 + 8) * PTIME, &ts), 7);
		assert_int_equal(ts, (i * 8 + 7) * STEP);
	}
	/* speech comes back in its time */
	assert_int_equal(
		silence_packet(&s, 40 * STEP, STEP, false, 40 * PTIME).ts,
		40 * STEP);
	assert_int_equal(silence_due(&s), CR_NEVER);
}

/* The SID after 160 ms is 50 ms late: its time was filled. */
static void a_late_sid_is_covered(void **state)
{
	struct silence s = begin(false);
	struct silence_place p;
	uint32_t ts = 0;

	(void)silence_packet(&s, 0, STEP, true, 0);
	assert_int_equal(fill(&s, 8 * PTIME + 50 * CR_MS, &ts), 10);
	assert_int_equal(ts, 10 * STEP);
	p = silence_packet(&s, 8 * STEP, STEP, true, 8 * PTIME + 50 * CR_MS);
	assert_true(p.decode_only);
	/* it says that silence goes on: from where it was filled to */
	assert_int_equal(fill(&s, silence_due(&s), &ts), 1);
	assert_int_equal(ts, 11 * STEP);
}

/* Speech that comes late is moved behind what was sent, and the silence after
 * it is shorter by as much. */
static void late_speech_is_moved_until_there_is_silence(void **state)
{
	struct silence s = begin(false);
	cr_ns late = 50 * CR_MS;
	uint32_t ts = 0;

	(void)silence_packet(&s, 0, STEP, true, 0);
	assert_int_equal(fill(&s, 10 * PTIME + late, &ts), 12);
	for (unsigned i = 10; i < 20; i++)
		assert_int_equal(silence_packet(&s, i * STEP, STEP, false,
						i * PTIME + late)
					 .ts,
				 (i + 3) * STEP);
	assert_int_equal(
		silence_packet(&s, 20 * STEP, STEP, true, 20 * PTIME + late).ts,
		23 * STEP);
	/* three of the next ten are saved */
	assert_int_equal(fill(&s, 31 * PTIME + late, &ts), 7);
	assert_int_equal(ts, 30 * STEP);
	assert_int_equal(
		silence_packet(&s, 31 * STEP, STEP, false, 31 * PTIME).ts,
		31 * STEP);
}

/* A sender that was held begins at other timestamps: its silence is filled, its
 * speech goes on behind it, and all of it keeps its distances. */
static void timestamps_that_leap_back_go_on(void **state)
{
	struct silence s = begin(false);
	struct silence_place p;
	uint32_t ts = 0;

	(void)silence_packet(&s, 4000000, STEP, false, 0);
	p = silence_packet(&s, 1000, STEP, true, PTIME);
	assert_false(p.decode_only);
	assert_int_equal(p.ts, 4000000 + STEP);
	assert_int_equal(fill(&s, 11 * PTIME, &ts), 9);
	assert_int_equal(ts, 4000000 + 10 * STEP);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(silence_packet(&s, 1000 + (20 + i) * STEP,
						STEP, false, (21 + i) * PTIME)
					 .ts,
				 4000000 + (21 + i) * STEP);
	/* as do small leaps that add up */
	for (unsigned i = 1; i < 50; i++)
		(void)silence_packet(&s, 100000 - i * 8000, STEP, false,
				     (24 + i) * PTIME);
	p = silence_packet(&s, 100000 - 50 * 8000, STEP, true, 100 * PTIME);
	assert_in_range(fill(&s, 400 * PTIME, &ts), 200, 300);
}

static void whoever_comes_late_skips(void **state)
{
	struct silence s = begin(false);
	uint32_t ts = 0;

	(void)silence_packet(&s, 0, STEP, true, 0);
	/* a second later: one frame, that of the time it is */
	assert_true(silence_next(&s, CR_SEC, &ts));
	assert_int_equal(ts, 49 * STEP);
	assert_false(silence_next(&s, CR_SEC, &ts));
	assert_int_equal(silence_due(&s), CR_SEC + PTIME / 2);
}

static void silence_that_nobody_told_of(void **state)
{
	struct silence s = begin(true), never = begin(false);
	uint32_t ts = 0;

	(void)silence_packet(&never, 0, STEP, false, 0);
	assert_int_equal(silence_due(&never), CR_NEVER);
	(void)silence_packet(&s, 0, STEP, false, 0);
	assert_int_equal(silence_due(&s), PTIME + SILENCE_UNSIGNALLED);
	assert_int_equal(fill(&s, PTIME + SILENCE_UNSIGNALLED, &ts), 1);
	assert_int_equal(ts, 4 * STEP); /* three are lost */
	assert_int_equal(fill(&s, 10 * PTIME, &ts), 6);
	assert_int_equal(
		silence_packet(&s, 11 * STEP, STEP, false, 11 * PTIME).ts,
		11 * STEP);
}

/* Opus that sends nothing in silence but a packet every 400 ms: no hole is
 * behind those. Speech is two in a row. */
static void a_packet_alone_does_not_end_silence(void **state)
{
	struct silence s = begin(true);
	uint32_t ts = 0;
	unsigned at;

	(void)silence_packet(&s, 0, STEP, false, 0);
	assert_int_equal(fill(&s, 20 * PTIME - 1, &ts),
			 16); /* three are lost */
	for (at = 20; at < 100; at += 20) {
		assert_int_equal(
			silence_packet(&s, at * STEP, STEP, false, at * PTIME)
				.ts,
			at * STEP);
		assert_int_equal(fill(&s, (at + 20) * PTIME, &ts), 19);
		assert_int_equal(ts, (at + 19) * STEP);
	}
	for (unsigned end = at + 2; at < end; at++)
		(void)silence_packet(&s, at * STEP, STEP, false, at * PTIME);
	assert_int_equal(silence_due(&s), at * PTIME + SILENCE_UNSIGNALLED);
}

static void another_sender_begins_anew(void **state)
{
	struct silence s = begin(false);

	(void)silence_packet(&s, 5000, STEP, true, 0);
	silence_restart(&s);
	assert_int_equal(silence_due(&s), CR_NEVER);
	assert_int_equal(silence_packet(&s, 7, STEP, false, 1).ts, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speech_without_silence_needs_nothing),
		cmocka_unit_test(between_sids_seven_frames_are_due),
		cmocka_unit_test(a_late_sid_is_covered),
		cmocka_unit_test(late_speech_is_moved_until_there_is_silence),
		cmocka_unit_test(timestamps_that_leap_back_go_on),
		cmocka_unit_test(whoever_comes_late_skips),
		cmocka_unit_test(silence_that_nobody_told_of),
		cmocka_unit_test(a_packet_alone_does_not_end_silence),
		cmocka_unit_test(another_sender_begins_anew),
	};

	return cmocka_run_group_tests_name("silence", tests, NULL, NULL);
}
