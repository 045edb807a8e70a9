/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Received packets are matched to those sent by timestamp: exact counts of
 * received, lost, late, duplicate, reordered and stray frames.
 */
#include <stdlib.h>

#include "cmocka_cr.h"
#include "feeder/match.h"

#define FRAME (20 * CR_MS)

static struct match *make(uint32_t ts_base)
{
	const struct match_cfg cfg = { .in_frame = FRAME,
				       .out_clock = 8000,
				       .out_ticks = 160,
				       .ts_base = ts_base,
				       .deadline = 5 * CR_MS };
	struct match *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	match_init(m, &cfg);
	return m;
}

static bool back(struct match *m, unsigned frame, unsigned seq, cr_ns now)
{
	struct rtp_packet p = { .seq = (uint16_t)seq,
				.ts = m->cfg.ts_base + frame * m->cfg.out_ticks,
				.payload_bytes = 32 };
	uint64_t index = 12345;
	bool is_new = match_received(m, &p, now, &index);

	if (is_new)
		assert_int_equal(index, frame);
	return is_new;
}

static void every_frame_is_counted_once(void **state)
{
	/* base near the end: timestamps and sequence numbers wrap */
	struct match *m = make(UINT32_MAX - 1000);

	for (unsigned i = 0; i < 1000; i++) {
		match_sent(m, i, i * FRAME);
		assert_true(back(m, i, 65000 + i, i * FRAME + CR_MS));
		assert_false(back(m, i, 65000 + i, i * FRAME + 2 * CR_MS));
	}
	assert_int_equal(m->received, 1000);
	assert_int_equal(m->duplicates, 1000);
	assert_int_equal(m->late + m->unmatched + m->reordered, 0);
	assert_int_equal(match_lost(m), 0);
	assert_int_equal(histogram_max(&m->delay), CR_MS);
	assert_int_equal(histogram_max(&m->jitter), 0);
	free(m);
}

/* Frame 1 is lost, frame 3 beyond what is kept. */
static void times_of_frames_are_kept_and_written(void **state)
{
	struct match *m = make(5);
	struct {
		struct times_header head;
		struct times_record frames[4];
	} file;
	FILE *f = tmpfile();

	assert_non_null(f);
	m->times = times_new(3);
	for (unsigned i = 0; i < 4; i++) {
		match_sent(m, i, (i + 1) * FRAME);
		assert_true(i == 1 || back(m, i, i, (i + 1) * FRAME + i + 7));
	}
	times_write_header(f, -9);
	times_write(m->times, f, 77, UINT32_MAX, 160);
	rewind(f);
	assert_int_equal(fread(&file, 1, sizeof(file), f), 4 * 24);
	assert_memory_equal(file.head.magic, TIMES_MAGIC, 8);
	assert_int_equal(file.head.record_bytes, 24);
	assert_int_equal(file.head.realtime_offset, -9);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(file.frames[i].stream, 77);
		assert_int_equal(file.frames[i].rtp_ts, i * 160u - 1u);
		assert_int_equal(file.frames[i].sent, (i + 1) * FRAME);
		assert_int_equal(file.frames[i].received,
				 i == 1 ? 0 : (i + 1) * FRAME + i + 7);
	}
	(void)fclose(f);
	times_free(m->times);
	free(m);
}

static void lost_late_and_reordered_are_told_apart(void **state)
{
	struct match *m = make(77);

	for (unsigned i = 0; i < 10; i++)
		match_sent(m, i, i * FRAME);
	assert_true(back(m, 0, 0, CR_MS));
	assert_true(back(m, 2, 2, 2 * FRAME + 6 * CR_MS)); /* late */
	assert_true(back(m, 1, 1, FRAME + 27 * CR_MS));	   /* behind, late */
	assert_true(back(m, 9, 9, 9 * FRAME + 5 * CR_MS)); /* just in time */
	assert_int_equal(m->received, 4);
	assert_int_equal(m->late, 2);
	assert_int_equal(m->reordered, 1);
	assert_int_equal(match_lost(m), 6);
	free(m);
}

static void answers_to_nothing_are_strays(void **state)
{
	struct match *m = make(5000);
	struct rtp_packet before = { .seq = 1, .ts = 4000 };
	uint64_t index;

	match_sent(m, 0, 0);
	assert_false(back(m, 3, 0, CR_MS)); /* not yet sent */
	assert_false(match_received(m, &before, CR_MS, &index)); /* < base */
	for (unsigned i = 1; i <= MATCH_WINDOW; i++)
		match_sent(m, i, i * FRAME);
	assert_false(back(m, 0, 2, 600 * FRAME)); /* out of the window */
	assert_int_equal(m->unmatched, 3);
	assert_int_equal(m->received, 0);
	free(m);
}

/* 30 ms in, 20 ms out: frame k of the output ends at (k + 1) * 20 ms and is
 * complete with the input frame that holds its last sample. */
static void frames_of_other_lengths_match_what_completes_them(void **state)
{
	struct match *m = make(0);

	m->cfg.in_frame = 30 * CR_MS;
	for (unsigned i = 0; i < 4; i++)
		match_sent(m, i, i * 30 * CR_MS);
	assert_true(back(m, 0, 0, CR_MS));		    /* input 0 */
	assert_true(back(m, 1, 1, 30 * CR_MS + 2 * CR_MS)); /* input 1 */
	assert_true(back(m, 2, 2, 30 * CR_MS + 3 * CR_MS)); /* input 1 */
	assert_true(back(m, 3, 3, 60 * CR_MS + 4 * CR_MS)); /* input 2 */
	assert_int_equal(histogram_max(&m->delay), 4 * CR_MS);
	assert_int_equal(match_expected(m), 6);
	assert_int_equal(match_lost(m), 2);
	free(m);
}

static void silence_of_dtx_is_not_a_loss(void **state)
{
	struct match *m = make(0);

	m->cfg.dtx = true;
	for (unsigned i = 0; i < 100; i++)
		match_sent(m, i, i * FRAME);
	assert_true(back(m, 0, 10, CR_MS));
	assert_true(back(m, 50, 11, 50 * FRAME + CR_MS)); /* a pause between */
	assert_int_equal(match_lost(m), 0);
	assert_true(back(m, 60, 14, 60 * FRAME + CR_MS)); /* 12, 13 missing */
	assert_int_equal(match_lost(m), 2);
	free(m);
}

/* No message says where the numbers begin: the first packet does. Frames 0 and
 * 1 were never sent, and frame 4 is lost. */
static void a_base_that_nobody_tells_is_learned(void **state)
{
	struct match *m = make(0);
	struct rtp_packet p = { .payload_bytes = 32 };
	uint64_t index;

	m->cfg.learn = true;
	p.ts = UINT32_MAX - 100; /* and they wrap */
	p.seq = UINT16_MAX;
	assert_false(match_received(m, &p, CR_MS, &index));
	assert_int_equal(m->unmatched, 1); /* it answers nothing */
	for (unsigned frame = 2; frame < 10; frame++) {
		match_sent(m, frame, frame * FRAME);
		p.ts = UINT32_MAX - 100 + (frame - 2) * 160;
		p.seq = (uint16_t)(UINT16_MAX + frame - 2);
		if (frame == 4)
			continue;
		assert_true(match_received(m, &p, frame * FRAME + 3 * CR_MS,
					   &index));
		assert_int_equal(index, frame);
	}
	assert_int_equal(m->received, 7);
	assert_int_equal(match_lost(m), 1);
	assert_int_equal(m->unmatched, 1);
	assert_int_equal(histogram_max(&m->delay), 3 * CR_MS);
	free(m);
}

/* Some proxies close the gap of a lost packet in their timestamps, and leave it
 * in their sequence numbers; others the other way round. */
static void a_gap_shows_in_one_of_both_numbers(void **state)
{
	for (unsigned kind = 0; kind < 2; kind++) {
		struct match *m = make(0);
		struct rtp_packet p = { .payload_bytes = 32,
					.seq = UINT16_MAX - 2,
					.ts = 77 };
		uint64_t index;

		m->cfg.learn = true;
		for (unsigned frame = 0; frame < 100; frame++) {
			bool gap = frame % 7 == 6; /* it is never sent */

			if (!gap) {
				match_sent(m, frame, frame * FRAME);
				assert_true(match_received(
					m, &p, frame * FRAME + CR_MS, &index));
				assert_int_equal(index, frame);
			}
			p.seq = (uint16_t)(p.seq + (!gap || kind == 0));
			p.ts += !gap || kind == 1 ? 160 : 0;
		}
		assert_int_equal(m->received, 86);
		assert_int_equal(m->unmatched + m->duplicates, 0);
		assert_int_equal(histogram_max(&m->delay), CR_MS);
		assert_int_equal(histogram_max(&m->jitter), 0);
		free(m);
	}
}

/* Of a two-way call: the party's first speech answers the first that was sent,
 * here after a second of silence; packets of 20 ms become one of 40. */
static void a_party_s_delay_is_counted_from_the_first_speech(void **state)
{
	struct match *m = make(0);
	const struct rtp_packet p = { .payload_bytes = 32 };

	m->cfg.out_ticks = 320;
	match_heard(m, &p, 0, FRAME); /* nothing was sent: no delay */
	assert_int_equal(histogram_count(&m->delay), 0);
	for (unsigned i = 50; i < 90; i++) {
		match_sent(m, i, i * FRAME);
		if (i % 2)
			match_heard(m, &p, (i - 50) / 2,
				    i * FRAME + (i + 1) * CR_MS / 10);
	}
	match_heard(m, &p, 99, 90 * FRAME); /* filled: nobody sent it */
	assert_int_equal(histogram_count(&m->delay), 20);
	assert_int_equal(histogram_max(&m->delay), 90 * CR_MS / 10);
	assert_int_equal(histogram_max(&m->jitter), 2 * CR_MS / 10);
	assert_int_equal(m->received, 22);
	assert_int_equal(m->late, 0);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_is_counted_once),
		cmocka_unit_test(times_of_frames_are_kept_and_written),
		cmocka_unit_test(lost_late_and_reordered_are_told_apart),
		cmocka_unit_test(answers_to_nothing_are_strays),
		cmocka_unit_test(
			frames_of_other_lengths_match_what_completes_them),
		cmocka_unit_test(silence_of_dtx_is_not_a_loss),
		cmocka_unit_test(a_base_that_nobody_tells_is_learned),
		cmocka_unit_test(a_gap_shows_in_one_of_both_numbers),
		cmocka_unit_test(
			a_party_s_delay_is_counted_from_the_first_speech),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
