/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame ring in one thread: limits, what is dropped, what stays readable.
 */
#include <string.h>

#include "media/frame_ring.h"
#include "cmocka_cr.h"

#define FRAME 40u

/* Push a frame whose bytes and metadata all tell @tag. */
static bool push(struct frame_ring *r, uint8_t tag,
		 struct cr_frame_meta *dropped)
{
	struct cr_frame_meta m = {
		.arrival = tag,
		.rtp_ts = tag * 160u,
		.rtp_seq = (uint16_t)(65000 + tag),
		.bytes = FRAME,
		.marker = tag & 1,
		.sender = (uint8_t)(tag * 5) & 127,
		.decode_only = tag >> 2 & 1,
		.what = tag % 6,
		.codec = tag & 15,
		.importance = (uint8_t)(255 - tag),
		.rtp_ticks = (uint16_t)(65000 + tag),
		.waited = UINT32_MAX - tag,
	};

	memset(frame_ring_reserve(r), tag, FRAME);
	return frame_ring_push(r, &m, dropped);
}

static void assert_meta(const struct cr_frame_meta *m, uint64_t seq,
			uint8_t tag)
{
	assert_int_equal(m->seq, seq);
	assert_int_equal(m->arrival, tag);
	assert_int_equal(m->rtp_ts, tag * 160u);
	assert_int_equal(m->rtp_seq, (uint16_t)(65000 + tag));
	assert_int_equal(m->bytes, FRAME);
	assert_int_equal(m->marker, tag & 1);
	assert_int_equal(m->sender, (uint8_t)(tag * 5) & 127);
	assert_int_equal(m->decode_only, tag >> 2 & 1);
	assert_int_equal(m->what, tag % 6);
	assert_int_equal(m->codec, tag & 15);
	assert_int_equal(m->importance, (uint8_t)(255 - tag));
	assert_int_equal(m->rtp_ticks, (uint16_t)(65000 + tag));
	assert_int_equal(m->waited, UINT32_MAX - tag);
}

static void an_empty_ring_gives_nothing(void **state)
{
	struct frame_ring *r = frame_ring_new(2, FRAME);
	struct cr_frame_meta m = { .seq = 77 };

	assert_false(frame_ring_peek(r, &m));
	assert_null(frame_ring_claim(r, 0, &m));
	assert_int_equal(m.seq, 77);
	assert_int_equal(frame_ring_waiting(r), 0);
	assert_int_equal(frame_ring_dropped(r), 0);
	frame_ring_free(r);
	frame_ring_free(NULL);
}

static void frames_come_out_as_they_went_in(void **state)
{
	struct frame_ring *r = frame_ring_new(3, FRAME);
	struct cr_frame_meta m, lost;
	uint8_t want[FRAME];

	for (unsigned i = 0; i < 200; i++) {
		const uint8_t *bytes;

		assert_false(push(r, (uint8_t)i, &lost));
		assert_true(frame_ring_peek(r, &m));
		assert_meta(&m, i, (uint8_t)i);
		assert_int_equal(frame_ring_waiting(r), 1);
		memset(&m, 0, sizeof(m));
		bytes = frame_ring_claim(r, i, &m);
		assert_non_null(bytes);
		assert_meta(&m, i, (uint8_t)i);
		memset(want, (int)i, FRAME);
		assert_memory_equal(bytes, want, FRAME);
		assert_int_equal(frame_ring_waiting(r), 0);
		assert_false(frame_ring_peek(r, &m));
	}
	assert_int_equal(frame_ring_dropped(r), 0);
	frame_ring_free(r);
}

static void a_full_ring_drops_its_oldest_and_says_which(void **state)
{
	struct frame_ring *r = frame_ring_new(4, FRAME);
	struct cr_frame_meta m, lost = { .seq = 77 };

	for (uint8_t i = 0; i < 4; i++)
		assert_false(push(r, i, &lost));
	assert_int_equal(lost.seq, 77);
	assert_true(push(r, 4, &lost));
	assert_meta(&lost, 0, 0);
	assert_true(push(r, 5, &lost));
	assert_meta(&lost, 1, 1);
	assert_int_equal(frame_ring_waiting(r), 4);
	assert_int_equal(frame_ring_dropped(r), 2);
	assert_true(frame_ring_peek(r, &m));
	assert_meta(&m, 2, 2);
	frame_ring_free(r);
}

static void only_the_oldest_frame_can_be_claimed(void **state)
{
	struct frame_ring *r = frame_ring_new(4, FRAME);
	struct cr_frame_meta m, lost;

	for (uint8_t i = 0; i < 6; i++)
		(void)push(r, i, &lost);
	assert_null(frame_ring_claim(r, 0, &m));
	assert_null(frame_ring_claim(r, 1, &m));
	assert_null(frame_ring_claim(r, 3, &m));
	assert_null(frame_ring_claim(r, 6, &m));
	assert_non_null(frame_ring_claim(r, 2, &m));
	assert_null(frame_ring_claim(r, 2, &m)); /* never twice */
	assert_non_null(frame_ring_claim(r, 3, &m));
	assert_int_equal(frame_ring_waiting(r), 2);
	frame_ring_free(r);
}

static void a_frame_lost_between_peek_and_claim_is_refused(void **state)
{
	struct frame_ring *r = frame_ring_new(2, FRAME);
	struct cr_frame_meta m, lost;

	(void)push(r, 0, &lost);
	(void)push(r, 1, &lost);
	assert_true(frame_ring_peek(r, &m));
	assert_true(push(r, 2, &lost));
	assert_null(frame_ring_claim(r, m.seq, &m));
	assert_true(frame_ring_peek(r, &m));
	assert_meta(&m, 1, 1);
	frame_ring_free(r);
}

static void claimed_bytes_stay_while_the_producer_laps(void **state)
{
	struct frame_ring *r = frame_ring_new(2, FRAME);
	struct cr_frame_meta m, lost;
	const uint8_t *bytes;
	uint8_t want[FRAME];

	(void)push(r, 0xaa, &lost);
	bytes = frame_ring_claim(r, 0, &m);
	assert_non_null(bytes);
	memset(want, 0xaa, FRAME);
	for (unsigned i = 0; i < 1000; i++) {
		(void)push(r, 0x55, &lost);
		assert_null(frame_ring_claim(r, 0, &m));
		assert_memory_equal(bytes, want, FRAME);
	}
	assert_int_equal(frame_ring_dropped(r), 998);
	frame_ring_free(r);
}

static void a_reserved_buffer_holds_a_whole_frame(void **state)
{
	for (size_t bytes = 1; bytes <= 130; bytes++) {
		struct frame_ring *r = frame_ring_new(5, bytes);

		for (unsigned i = 0; i < 20; i++) {
			struct cr_frame_meta m = { .bytes = (uint16_t)bytes };
			struct cr_frame_meta lost;

			memset(frame_ring_reserve(r), (int)i, bytes);
			(void)frame_ring_push(r, &m, &lost);
		}
		for (uint64_t seq = 15; seq < 20; seq++) {
			struct cr_frame_meta m;
			const uint8_t *p = frame_ring_claim(r, seq, &m);

			assert_non_null(p);
			for (size_t i = 0; i < bytes; i++)
				assert_int_equal(p[i], seq);
		}
		frame_ring_free(r);
	}
}

static void memory_is_what_it_says(void **state)
{
	struct frame_ring *small = frame_ring_new(2, 1);
	struct frame_ring *amr = frame_ring_new(16, 64);
	struct frame_ring *large = frame_ring_new(4096, 1932);

	assert_true(frame_ring_bytes(small) < 1024);
	assert_true(frame_ring_bytes(amr) < 4096);
	assert_true(frame_ring_bytes(large) >= 4098 * 1932u);
	frame_ring_free(small);
	frame_ring_free(amr);
	frame_ring_free(large);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_ring_gives_nothing),
		cmocka_unit_test(frames_come_out_as_they_went_in),
		cmocka_unit_test(a_full_ring_drops_its_oldest_and_says_which),
		cmocka_unit_test(only_the_oldest_frame_can_be_claimed),
		cmocka_unit_test(
			a_frame_lost_between_peek_and_claim_is_refused),
		cmocka_unit_test(claimed_bytes_stay_while_the_producer_laps),
		cmocka_unit_test(a_reserved_buffer_holds_a_whole_frame),
		cmocka_unit_test(memory_is_what_it_says),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
