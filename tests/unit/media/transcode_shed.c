/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a listener is sent of a call whose frames are given up: without a jitter
 * buffer, behind one, and where it takes comfort noise.
 */
#include <string.h>

#include "transcode_fixture.h"

/* Drop the oldest frame, in a @pause or in speech. */
static void fixture_drop(struct transcode_fixture *g, enum cr_outcome why,
			 bool pause)
{
	struct core_task *t = &g->c->lt.core;
	struct cr_job job = { 0 };

	assert_true(transcode_peek(t, &job));
	assert_true(transcode_claim(t, job.seq));
	g->c->shed.pause = pause;
	transcode_drop(g->w->trace, g->c, &job, why, job.arrival);
}

static void fixture_shed(struct transcode_fixture *g, bool pause)
{
	fixture_drop(g, CR_OUT_SHED, pause);
}

/* Run the oldest frame, which is one of a @pause or not. */
static void fixture_serve_as(struct transcode_fixture *g, bool pause)
{
	g->c->shed.pause = pause;
	fixture_serve(g);
}

/* Numbers go on as if the party had sent nothing, time does not, and what comes
 * begins a talk spurt. What is missing of speech shows in the numbers. */
static void a_shed_pause_is_no_gap_and_shed_speech_is(void **state)
{
	const cr_ns period = FRAMES * 20 * CR_MS;
	struct rtp_packet first, p;
	struct transcode_fixture g;
	int peer;

	peer = fixture_begin(&g);
	for (unsigned i = 0; i < 7; i++)
		fixture_push(&g, speech_of(1000, i, CR_SEC + i * period),
			     false);
	fixture_serve(&g);
	first = fixture_hear(peer);
	fixture_shed(&g, true);
	fixture_shed(&g, true);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_int_equal((uint16_t)(p.seq - first.seq), FRAMES);
	assert_int_equal(p.ts - first.ts, 3 * sizeof(payload));
	assert_true(p.marker);
	assert_int_equal(g.c->stream->account->count.missing, 0);
	/* that one the policy did not want */
	g.c->lt.core.task.give_up = true;
	fixture_shed(&g, false);
	g.c->lt.core.task.give_up = false;
	fixture_shed(&g, true);
	fixture_serve(&g);
	p = fixture_hear(peer);
	/* one of them is missing: as many packets as it would have been */
	assert_int_equal((uint16_t)(p.seq - first.seq), 3 * FRAMES);
	assert_int_equal(p.ts - first.ts, 6 * sizeof(payload));
	assert_int_equal(g.c->stream->account->count.missing, 1);
	assert_int_equal(g.c->stream->account->count.shed, 4);
	assert_int_equal(g.c->stream->account->count.pauses, 3);
	assert_int_equal(g.c->stream->account->count.given_up, 1);
	fixture_end(&g, peer);
}

/* --- behind a jitter buffer --- */

/* What the buffer has made: of @what, in the place of packet @n. */
static struct receive_stage_frame made(enum frame_ring_what what, unsigned n,
				       cr_ns at)
{
	struct receive_stage_frame f = speech_of(1000, n, at);

	f.meta.what = what;
	f.meta.rtp_seq = 0; /* of the packet before, whichever that is */
	f.payload = NULL;
	f.meta.bytes = 0;
	f.meta.rtp_ticks = what == FRAME_RING_TICK ? 0 : sizeof(payload);
	return f;
}

static void push_made(struct transcode_fixture *g, enum frame_ring_what what,
		      unsigned n)
{
	fixture_push(g, made(what, n, CR_SEC + n * FRAMES * 20 * CR_MS), false);
}

static void push_speech(struct transcode_fixture *g, unsigned n)
{
	fixture_push(g, speech_of(1000, n, CR_SEC + n * FRAMES * 20 * CR_MS),
		     false);
}

/* Of the time of packet @n, with the number of packet @number. */
static struct receive_stage_frame after(unsigned n, unsigned number)
{
	struct receive_stage_frame f =
		speech_of(1000, n, CR_SEC + n * FRAMES * 20 * CR_MS);

	f.meta.rtp_seq = speech_of(1000, number, CR_SEC).meta.rtp_seq;
	return f;
}

static void assert_at(const struct rtp_packet *p,
		      const struct rtp_packet *first, unsigned seq, unsigned n)
{
	assert_int_equal((uint16_t)(p->seq - first->seq), seq * FRAMES);
	assert_int_equal(p->ts - first->ts, n * sizeof(payload));
}

/* As without one: a pause shows in the time and in the marker only, speech that
 * is given up or pushed out shows in the numbers. What the network has lost,
 * the buffer has filled: that is no gap. */
static void behind_a_jitter_buffer_gaps_show_as_well(void **state)
{
	struct rtp_packet first, p;
	struct transcode_fixture g;
	int peer;

	peer = fixture_begin(&g);
	g.c->buffers = true;
	for (unsigned i = 0; i < 4; i++)
		push_speech(&g, i);
	fixture_serve(&g);
	first = fixture_hear(peer);
	fixture_shed(&g, true);
	fixture_shed(&g, true);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_at(&p, &first, 1, 3);
	assert_true(p.marker);
	/* packet 4 was lost on the way, and a tick comes between */
	push_made(&g, FRAME_RING_LOST, 4);
	push_made(&g, FRAME_RING_TICK, 5);
	push_speech(&g, 5);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_at(&p, &first, 2, 4);
	assert_false(p.marker);
	fixture_serve(&g);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_at(&p, &first, 3, 5);
	assert_int_equal(g.c->stream->account->count.missing, 0);
	/* of two that are given up, one is a pause; a late tick is neither */
	push_speech(&g, 6);
	push_made(&g, FRAME_RING_TICK, 7);
	push_speech(&g, 7);
	push_speech(&g, 8);
	fixture_shed(&g, false);
	fixture_drop(&g, CR_OUT_EXPIRED, false);
	fixture_shed(&g, true);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_at(&p, &first, 5, 8);
	assert_int_equal(g.c->stream->account->count.missing, 1);
	/* nine in eight places: 9 is pushed out */
	for (unsigned i = 9; i < 18; i++)
		push_speech(&g, i);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_at(&p, &first, 7, 10);
	assert_false(p.marker);
	assert_int_equal(g.c->stream->account->count.missing, 2);
	assert_int_equal(g.c->stream->account->count.overwritten, 1);
	fixture_end(&g, peer);
}

/* Without a buffer: silence that is filled in has no number of its own. */
static void after_silence_that_is_given_up_speech_begins(void **state)
{
	struct rtp_packet first, p;
	struct transcode_fixture g;
	int peer;

	peer = fixture_begin(&g);
	push_speech(&g, 0);
	fixture_serve(&g);
	first = fixture_hear(peer);
	push_made(&g, FRAME_RING_SILENCE, 1);
	fixture_shed(&g, true);
	fixture_push(&g, after(2, 1), false);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_at(&p, &first, 1, 2);
	assert_true(p.marker);
	assert_int_equal(g.c->stream->account->count.missing, 0);
	fixture_end(&g, peer);
}

/* What takes no time is nobody's speech: for the decoder only, too late; and a
 * tick in the place of the oldest. */
static void behind_a_jitter_buffer_what_takes_no_time_leaves_no_gap(
	void **state)
{
	struct receive_stage_frame learnt;
	struct rtp_packet first, p;
	struct transcode_fixture g;
	int peer;

	peer = fixture_begin(&g);
	g.c->buffers = true;
	push_speech(&g, 0);
	fixture_serve(&g);
	first = fixture_hear(peer);
	learnt = made(FRAME_RING_SILENCE, 0, CR_SEC);
	learnt.meta.decode_only = true;
	fixture_push(&g, learnt, false);
	push_speech(&g, 1);
	fixture_drop(&g, CR_OUT_EXPIRED, false);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_at(&p, &first, 1, 1);
	/* nine in eight places */
	push_made(&g, FRAME_RING_TICK, 2);
	for (unsigned i = 2; i < 10; i++)
		push_speech(&g, i);
	assert_int_equal(g.c->stream->account->count.overwritten, 1);
	fixture_serve(&g);
	p = fixture_hear(peer);
	assert_at(&p, &first, 2, 2);
	assert_int_equal(g.c->stream->account->count.missing, 0);
	fixture_end(&g, peer);
}

/* --- noise for who takes it --- */

static struct receive_stage_frame soft_of(unsigned n)
{
	static uint8_t soft[FRAMES * FRAME]; /* 88 of 32768: -51.4 dBov */
	struct receive_stage_frame f =
		speech_of(1000, n, CR_SEC + n * FRAMES * 20 * CR_MS);

	memset(soft, 0xf4, sizeof(soft));
	f.payload = soft;
	return f;
}

/* Packets that @peer has; the first of them is *@p. */
static unsigned fixture_count(int peer, struct rtp_packet *p)
{
	static uint8_t buf[BURST_BYTES];
	uint8_t more[BURST_BYTES];
	unsigned n = 0;
	ssize_t bytes = recv(peer, buf, sizeof(buf), MSG_DONTWAIT);

	if (bytes <= 0)
		return 0;
	assert_int_equal(rtp_parse(buf, (size_t)bytes, p), 0);
	for (n = 1; recv(peer, more, sizeof(more), MSG_DONTWAIT) > 0; n++)
		;
	return n;
}

/* The listener knows comfort noise. */
static int begin_with_noise(struct transcode_fixture *g)
{
	struct stream_cfg cfg = plain_call();

	cfg.media.pt_noise = 13;
	fixture_open_with(g, cfg);
	return fixture_connect(g);
}

/* A party that knows comfort noise is told what a pause sounds like of which
 * frames are given up; speech begins a talk spurt again. */
static void what_is_heard_of_a_shed_pause_leaves_as_noise(void **state)
{
	struct rtp_packet first, p;
	struct transcode_fixture g;
	int peer;

	peer = begin_with_noise(&g);
	push_speech(&g, 0);
	for (unsigned i = 1; i < 7; i++)
		fixture_push(&g, soft_of(i), false);
	push_speech(&g, 7);
	fixture_serve_as(&g, false);
	assert_int_equal(fixture_count(peer, &first), FRAMES);
	/* as long as none is given up, all are heard as they are */
	fixture_serve_as(&g, true);
	assert_int_equal(fixture_count(peer, &p), FRAMES);
	fixture_shed(&g, true);
	fixture_serve_as(&g, true);
	assert_int_equal(fixture_count(peer, &p), 1);
	assert_int_equal(p.pt, 13);
	assert_at(&p, &first, 2, 3);
	assert_int_equal(p.payload_bytes, 1);
	assert_in_range(p.payload[0], 50, 53);
	/* it goes on as it was */
	fixture_serve_as(&g, true);
	assert_int_equal(fixture_count(peer, &p), 0);
	fixture_shed(&g, true);
	fixture_serve_as(&g, true);
	assert_int_equal(fixture_count(peer, &p), 0);
	fixture_serve_as(&g, false);
	assert_int_equal(fixture_count(peer, &p), FRAMES);
	assert_int_equal(p.pt, first.pt);
	assert_true(p.marker);
	assert_int_equal((uint16_t)(p.seq - first.seq), 2 * FRAMES + 1);
	assert_int_equal(p.ts - first.ts, 7 * sizeof(payload));
	assert_int_equal(g.c->stream->account->count.cn_out, 1);
	assert_int_equal(g.c->stream->account->count.missing, 0);
	fixture_end(&g, peer);
}

/* The pause goes on. As long as any of eight frames is given up, what is heard
 * of it is noise; then the party's own background is heard again. */
static void noise_ends_with_the_overload(void **state)
{
	struct rtp_packet first, p;
	struct transcode_fixture g;
	unsigned n = 0;
	int peer;

	peer = begin_with_noise(&g);
	push_speech(&g, n++);
	fixture_serve_as(&g, false);
	assert_int_equal(fixture_count(peer, &first), FRAMES);
	for (unsigned i = 0; i < 2; i++) {
		fixture_push(&g, soft_of(n++), false);
		fixture_shed(&g, true);
		for (unsigned k = 0; k < SHED_ROW_PAUSE; k++) {
			fixture_push(&g, soft_of(n++), false);
			fixture_serve_as(&g, true);
			if (fixture_count(peer, &p))
				assert_int_equal(p.pt, 13);
		}
	}
	for (unsigned i = 0; i < 2; i++) {
		fixture_push(&g, soft_of(n++), false);
		fixture_serve_as(&g, true);
		assert_int_equal(fixture_count(peer, &p), FRAMES);
		assert_int_equal(p.pt, first.pt);
		assert_int_equal(p.ts - first.ts, (n - 1) * sizeof(payload));
		assert_int_equal(p.marker, !i); /* a talk spurt begins */
	}
	/* and so it is when some are given up again */
	fixture_push(&g, soft_of(n++), false);
	fixture_shed(&g, true);
	fixture_push(&g, soft_of(n++), false);
	fixture_serve_as(&g, true);
	assert_int_equal(fixture_count(peer, &p), 1);
	assert_int_equal(p.pt, 13);
	assert_int_equal(g.c->stream->account->count.missing, 0);
	fixture_end(&g, peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shed_pause_is_no_gap_and_shed_speech_is),
		cmocka_unit_test(after_silence_that_is_given_up_speech_begins),
		cmocka_unit_test(behind_a_jitter_buffer_gaps_show_as_well),
		cmocka_unit_test(
			behind_a_jitter_buffer_what_takes_no_time_leaves_no_gap),
		cmocka_unit_test(what_is_heard_of_a_shed_pause_leaves_as_noise),
		cmocka_unit_test(noise_ends_with_the_overload),
	};

	return cmocka_run_group_tests_name("transcode_shed", tests, NULL, NULL);
}
