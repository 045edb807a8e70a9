/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker makes of frames that are more than the next packet of speech:
 * digits, lost ones, those of another sender.
 */
#include <string.h>
#include <unistd.h>

#include "media/packet.h"
#include "turn_rig.h"

/* A digit begins, and neither its end nor its ticks ever reach a worker, for
 * the ring was full: speech is heard again when it has timed out. */
static void a_digit_ends_without_its_ticks(void **state)
{
	static const uint8_t begins[TELEPHONE_EVENT_BYTES] = { 5, 10, 0, 160 };
	struct call_cfg cfg;
	struct rig g;

	(void)state;
	rig_open(&g);
	cfg = g.c->cfg;
	call_free(g.c);
	cfg.inflow.pt_event = 101;
	cfg.pt_event_out = 96;
	assert_int_equal(call_new(&g.c, &cfg, NULL), 0);
	g.c->meta.what = CR_RING_EVENT;
	g.c->claimed = begins;
	g.c->meta.bytes = sizeof(begins);
	turn(&g);
	g.c->meta.what = CR_RING_SPEECH;
	g.c->claimed = payload;
	g.c->meta.bytes = sizeof(payload);
	for (unsigned i = 0; i < 10; i++) {
		g.c->meta.arrival += FRAMES * 20 * CR_MS;
		turn(&g);
	}
	turn_flush(g.w);
	assert_int_equal(g.c->count.events_out, 1 + 3);
	/* 300 ms, of 600 */
	assert_in_range(g.c->count.muted, 4 * FRAMES, 6 * FRAMES);
	rig_close(&g);
}

/* --- frames as their receiver pushes them --- */

/* Of packet @n of a sender that began with @first. */
static struct inflow_frame speech_of(uint32_t first, unsigned n, cr_ns at)
{
	return (struct inflow_frame){
		.what = CR_RING_SPEECH,
		.payload = payload,
		.bytes = sizeof(payload),
		.ts = first + n * (uint32_t)sizeof(payload),
		.seq = (uint16_t)n,
		.at = at,
	};
}

static void rig_push(struct rig *g, struct inflow_frame f, bool restart)
{
	f.restart = restart;
	g->c->trace = g->other;
	packet_push(g->c, &f);
}

/* Run the oldest frame. */
static void rig_serve(struct rig *g)
{
	const struct live_run run = { .picked = 0 };
	struct cr_job job;

	assert_true(call_peek(&g->c->lt.core, &job));
	assert_true(call_claim(&g->c->lt.core, job.seq));
	turn_run(g->w, g->c, &run);
	turn_flush(g->w);
}

/* The timestamp of the first packet that @peer has; all others go. */
static uint32_t rig_heard(int peer)
{
	uint8_t buf[BURST_BYTES];
	struct rtp_packet p;
	ssize_t n = recv(peer, buf, sizeof(buf), MSG_DONTWAIT);

	assert_true(n > 0);
	assert_int_equal(rtp_parse(buf, (size_t)n, &p), 0);
	while (recv(peer, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	return p.ts;
}

/* Who hears the call: the socket. */
static int rig_connect(struct rig *g)
{
	struct sockaddr_storage at;
	int peer;

	g->c->fd = open_port(&at);
	peer = open_port(&at);
	way_set(&g->c->own_way, &at);
	return peer;
}

static int rig_begin(struct rig *g)
{
	rig_open(g);
	return rig_connect(g);
}

/* What still waits is run. */
static void rig_end(struct rig *g, int peer)
{
	while (cr_ring_waiting(g->c->ring))
		rig_serve(g);
	(void)close(peer);
	(void)close(g->c->fd);
	rig_close(g);
}

/* The first frame of another sender is overwritten: the second one's timestamp
 * is its own sender's all the same. */
static void another_sender_shows_in_each_of_its_frames(void **state)
{
	const cr_ns period = FRAMES * 20 * CR_MS;
	struct rig g;
	int peer;

	(void)state;
	peer = rig_begin(&g);
	rig_push(&g, speech_of(1000, 0, CR_SEC), false);
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 0);
	for (unsigned i = 0; i < 8 + 1; i++)
		rig_push(&g,
			 speech_of(2000000000, i, CR_SEC + (i + 1) * period),
			 !i);
	assert_int_equal(g.c->count.overwritten, 1);
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 2 * sizeof(payload));
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 3 * sizeof(payload));
	assert_int_equal(g.c->count.missing, 0);
	rig_end(&g, peer);
}

/* --- what is shed --- */

/* Drop the oldest frame, in a @pause or in speech. */
static void rig_drop(struct rig *g, enum cr_outcome why, bool pause)
{
	struct core_task *t = &g->c->lt.core;
	struct cr_job job = { 0 };

	assert_true(call_peek(t, &job));
	assert_true(call_claim(t, job.seq));
	g->c->shed.pause = pause;
	turn_shed(g->w->trace, g->c, &job, why, job.arrival);
}

static void rig_shed(struct rig *g, bool pause)
{
	rig_drop(g, CR_OUT_SHED, pause);
}

/* Run the oldest frame, which is one of a @pause or not. */
static void rig_serve_as(struct rig *g, bool pause)
{
	g->c->shed.pause = pause;
	rig_serve(g);
}

/* The first packet that @peer has; all others go. */
static struct rtp_packet rig_hear(int peer)
{
	uint8_t buf[BURST_BYTES];
	struct rtp_packet p;
	ssize_t n = recv(peer, buf, sizeof(buf), MSG_DONTWAIT);

	assert_true(n > 0);
	assert_int_equal(rtp_parse(buf, (size_t)n, &p), 0);
	while (recv(peer, buf, sizeof(buf), MSG_DONTWAIT) > 0)
		;
	return p;
}

/* Numbers go on as if the party had sent nothing, time does not, and what comes
 * begins a talk spurt. What is missing of speech shows in the numbers. */
static void a_shed_pause_is_no_gap_and_shed_speech_is(void **state)
{
	const cr_ns period = FRAMES * 20 * CR_MS;
	struct rtp_packet first, p;
	struct rig g;
	int peer;

	(void)state;
	peer = rig_begin(&g);
	for (unsigned i = 0; i < 7; i++)
		rig_push(&g, speech_of(1000, i, CR_SEC + i * period), false);
	rig_serve(&g);
	first = rig_hear(peer);
	rig_shed(&g, true);
	rig_shed(&g, true);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_int_equal((uint16_t)(p.seq - first.seq), FRAMES);
	assert_int_equal(p.ts - first.ts, 3 * sizeof(payload));
	assert_true(p.marker);
	assert_int_equal(g.c->count.missing, 0);
	/* that one the policy did not want */
	g.c->lt.core.task.give_up = true;
	rig_shed(&g, false);
	g.c->lt.core.task.give_up = false;
	rig_shed(&g, true);
	rig_serve(&g);
	p = rig_hear(peer);
	/* one of them is missing: as many packets as it would have been */
	assert_int_equal((uint16_t)(p.seq - first.seq), 3 * FRAMES);
	assert_int_equal(p.ts - first.ts, 6 * sizeof(payload));
	assert_int_equal(g.c->count.missing, 1);
	assert_int_equal(g.c->count.shed, 4);
	assert_int_equal(g.c->count.pauses, 3);
	assert_int_equal(g.c->count.given_up, 1);
	rig_end(&g, peer);
}

/* --- behind a jitter buffer --- */

/* What the buffer has made: of @what, in the place of packet @n. */
static struct inflow_frame made(enum cr_frame_what what, unsigned n, cr_ns at)
{
	struct inflow_frame f = speech_of(1000, n, at);

	f.what = what;
	f.seq = 0; /* of the packet before, whichever that is */
	f.payload = NULL;
	f.bytes = 0;
	f.units = what == CR_RING_TICK ? 0 : sizeof(payload);
	return f;
}

static void push_made(struct rig *g, enum cr_frame_what what, unsigned n)
{
	rig_push(g, made(what, n, CR_SEC + n * FRAMES * 20 * CR_MS), false);
}

static void push_speech(struct rig *g, unsigned n)
{
	rig_push(g, speech_of(1000, n, CR_SEC + n * FRAMES * 20 * CR_MS),
		 false);
}

/* Of the time of packet @n, with the number of packet @number. */
static struct inflow_frame after(unsigned n, unsigned number)
{
	struct inflow_frame f =
		speech_of(1000, n, CR_SEC + n * FRAMES * 20 * CR_MS);

	f.seq = speech_of(1000, number, CR_SEC).seq;
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
	struct rig g;
	int peer;

	(void)state;
	peer = rig_begin(&g);
	g.c->buffers = true;
	for (unsigned i = 0; i < 4; i++)
		push_speech(&g, i);
	rig_serve(&g);
	first = rig_hear(peer);
	rig_shed(&g, true);
	rig_shed(&g, true);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_at(&p, &first, 1, 3);
	assert_true(p.marker);
	/* packet 4 was lost on the way, and a tick comes between */
	push_made(&g, CR_RING_LOST, 4);
	push_made(&g, CR_RING_TICK, 5);
	push_speech(&g, 5);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_at(&p, &first, 2, 4);
	assert_false(p.marker);
	rig_serve(&g);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_at(&p, &first, 3, 5);
	assert_int_equal(g.c->count.missing, 0);
	/* of two that are given up, one is a pause; a late tick is neither */
	push_speech(&g, 6);
	push_made(&g, CR_RING_TICK, 7);
	push_speech(&g, 7);
	push_speech(&g, 8);
	rig_shed(&g, false);
	rig_drop(&g, CR_OUT_STALE, false);
	rig_shed(&g, true);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_at(&p, &first, 5, 8);
	assert_int_equal(g.c->count.missing, 1);
	/* nine in eight places: 9 is pushed out */
	for (unsigned i = 9; i < 18; i++)
		push_speech(&g, i);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_at(&p, &first, 7, 10);
	assert_false(p.marker);
	assert_int_equal(g.c->count.missing, 2);
	assert_int_equal(g.c->count.overwritten, 1);
	rig_end(&g, peer);
}

/* Without a buffer: silence that is filled in has no number of its own. */
static void after_silence_that_is_given_up_speech_begins(void **state)
{
	struct rtp_packet first, p;
	struct rig g;
	int peer;

	(void)state;
	peer = rig_begin(&g);
	push_speech(&g, 0);
	rig_serve(&g);
	first = rig_hear(peer);
	push_made(&g, CR_RING_SILENCE, 1);
	rig_shed(&g, true);
	rig_push(&g, after(2, 1), false);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_at(&p, &first, 1, 2);
	assert_true(p.marker);
	assert_int_equal(g.c->count.missing, 0);
	rig_end(&g, peer);
}

/* What takes no time is nobody's speech: for the decoder only, too late; and a
 * tick in the place of the oldest. */
static void behind_a_jitter_buffer_what_takes_no_time_leaves_no_gap(
	void **state)
{
	struct inflow_frame learnt;
	struct rtp_packet first, p;
	struct rig g;
	int peer;

	(void)state;
	peer = rig_begin(&g);
	g.c->buffers = true;
	push_speech(&g, 0);
	rig_serve(&g);
	first = rig_hear(peer);
	learnt = made(CR_RING_SILENCE, 0, CR_SEC);
	learnt.covered = true;
	rig_push(&g, learnt, false);
	push_speech(&g, 1);
	rig_drop(&g, CR_OUT_STALE, false);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_at(&p, &first, 1, 1);
	/* nine in eight places */
	push_made(&g, CR_RING_TICK, 2);
	for (unsigned i = 2; i < 10; i++)
		push_speech(&g, i);
	assert_int_equal(g.c->count.overwritten, 1);
	rig_serve(&g);
	p = rig_hear(peer);
	assert_at(&p, &first, 2, 2);
	assert_int_equal(g.c->count.missing, 0);
	rig_end(&g, peer);
}

/* --- noise for who takes it --- */

static struct inflow_frame soft_of(unsigned n)
{
	static uint8_t soft[FRAMES * FRAME]; /* 88 of 32768: -51.4 dBov */
	struct inflow_frame f =
		speech_of(1000, n, CR_SEC + n * FRAMES * 20 * CR_MS);

	memset(soft, 0xf4, sizeof(soft));
	f.payload = soft;
	return f;
}

/* Packets that @peer has; the first of them is *@p. */
static unsigned rig_count(int peer, struct rtp_packet *p)
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

/* A party that knows comfort noise is told what a pause sounds like of which
 * frames are given up; speech begins a talk spurt again. */
static void what_is_heard_of_a_shed_pause_leaves_as_noise(void **state)
{
	struct rtp_packet first, p;
	struct call_cfg cfg;
	struct rig g;
	int peer;

	(void)state;
	rig_open(&g);
	cfg = g.c->cfg;
	call_free(g.c);
	cfg.pt_noise_out = 13;
	assert_int_equal(call_new(&g.c, &cfg, NULL), 0);
	peer = rig_connect(&g);
	push_speech(&g, 0);
	for (unsigned i = 1; i < 7; i++)
		rig_push(&g, soft_of(i), false);
	push_speech(&g, 7);
	rig_serve_as(&g, false);
	assert_int_equal(rig_count(peer, &first), FRAMES);
	/* as long as none is given up, all are heard as they are */
	rig_serve_as(&g, true);
	assert_int_equal(rig_count(peer, &p), FRAMES);
	rig_shed(&g, true);
	rig_serve_as(&g, true);
	assert_int_equal(rig_count(peer, &p), 1);
	assert_int_equal(p.pt, 13);
	assert_at(&p, &first, 2, 3);
	assert_int_equal(p.payload_bytes, 1);
	assert_in_range(p.payload[0], 50, 53);
	/* it goes on as it was */
	rig_serve_as(&g, true);
	assert_int_equal(rig_count(peer, &p), 0);
	rig_shed(&g, true);
	rig_serve_as(&g, true);
	assert_int_equal(rig_count(peer, &p), 0);
	rig_serve_as(&g, false);
	assert_int_equal(rig_count(peer, &p), FRAMES);
	assert_int_equal(p.pt, first.pt);
	assert_true(p.marker);
	assert_int_equal((uint16_t)(p.seq - first.seq), 2 * FRAMES + 1);
	assert_int_equal(p.ts - first.ts, 7 * sizeof(payload));
	assert_int_equal(g.c->count.noises_out, 1);
	assert_int_equal(g.c->count.missing, 0);
	rig_end(&g, peer);
}

/* --- what the engine is told --- */

/* Digits and their time, what tells of a loss, and what only the decoder is to
 * hear must not be given up. */
static void some_frames_are_vital(void **state)
{
	static const bool vital[] = {
		[CR_RING_SPEECH] = false,  [CR_RING_NOISE] = false,
		[CR_RING_EVENT] = true,	   [CR_RING_LOST] = true,
		[CR_RING_SILENCE] = false, [CR_RING_TICK] = true,
	};
	struct inflow_frame f = speech_of(1000, 0, CR_SEC);
	struct cr_job job = { 0 };
	struct rig g;

	(void)state;
	rig_open(&g);
	for (unsigned i = 0; i < 2 * sizeof(vital) / sizeof(vital[0]); i++) {
		f.what = (enum cr_frame_what)(i / 2);
		f.covered = i % 2;
		rig_push(&g, f, false);
		assert_true(call_peek(&g.c->lt.core, &job));
		assert_int_equal(job.vital, vital[i / 2] || i % 2);
		assert_true(call_claim(&g.c->lt.core, job.seq));
	}
	rig_close(&g);
}

/* What takes no time of the speech, such as a digit's ticks, shortens none. */
static void a_pause_is_counted_from_speech(void **state)
{
	const struct inflow_frame tick = { .what = CR_RING_TICK,
					   .at = CR_SEC + 150 * CR_MS };
	struct rig g;
	int peer;

	(void)state;
	peer = rig_begin(&g);
	rig_push(&g, speech_of(1000, 0, CR_SEC), false);
	rig_push(&g, tick, false);
	rig_push(&g, speech_of(2000000000, 0, CR_SEC + 200 * CR_MS), true);
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 0);
	rig_serve(&g);
	rig_serve(&g);
	assert_int_equal(rig_heard(peer), 1600);
	rig_end(&g, peer);
}

/* And is heard at once. */
static void another_sender_ends_a_digit(void **state)
{
	static const uint8_t begins[TELEPHONE_EVENT_BYTES] = { 5, 10, 0, 160 };
	const struct inflow_frame event = {
		.what = CR_RING_EVENT,
		.payload = begins,
		.bytes = sizeof(begins),
		.at = CR_SEC,
	};
	struct call_cfg cfg;
	struct rig g;

	(void)state;
	rig_open(&g);
	cfg = g.c->cfg;
	call_free(g.c);
	cfg.inflow.pt_event = 101;
	cfg.pt_event_out = 96;
	assert_int_equal(call_new(&g.c, &cfg, NULL), 0);
	rig_push(&g, event, false);
	rig_push(&g, speech_of(2000000000, 0, CR_SEC + 100 * CR_MS), true);
	rig_serve(&g);
	assert_int_equal(g.c->count.events_out, 1);
	rig_serve(&g);
	assert_int_equal(g.c->count.events_out, 1 + 3);
	assert_int_equal(g.c->count.muted, 0);
	rig_close(&g);
}

/* --- what a lost frame brings --- */

static unsigned recovered, recovered_bytes;

static unsigned recover(void *decoder, const struct cr_frame *next,
			int16_t *pcm)
{
	(void)decoder;
	recovered++;
	recovered_bytes = next->bytes;
	memset(pcm, 0, FRAME * sizeof(*pcm));
	return FRAME;
}

/* If it brings the packet behind it, the decoder is asked what that knows. */
static void a_lost_frame_is_recovered_from_the_next(void **state)
{
	static struct cr_codec codec;
	struct inflow_frame lost = { .what = CR_RING_LOST,
				     .units = FRAME,
				     .at = CR_SEC + 20 * CR_MS };
	struct call_cfg cfg;
	struct rig g;

	(void)state;
	codec = *cr_codec_find("pcmu");
	codec.recover = recover;
	rig_open(&g);
	cfg = g.c->cfg;
	call_free(g.c);
	cfg.media.in.codec = &codec;
	assert_int_equal(call_new(&g.c, &cfg, NULL), 0);
	rig_push(&g, speech_of(1000, 0, CR_SEC), false);
	rig_serve(&g);
	for (unsigned i = 0; i < 2; i++) {
		lost.ts = 1000 + sizeof(payload) + i * FRAME;
		lost.payload = payload;
		lost.bytes = i * FRAME;
		rig_push(&g, lost, false);
		rig_serve(&g);
		assert_int_equal(recovered, i);
	}
	assert_int_equal(recovered_bytes, FRAME);
	assert_int_equal(g.c->count.send_failed, FRAMES + 2);
	assert_int_equal(g.c->count.made, 2);
	assert_int_equal(g.c->count.octets_in, sizeof(payload));
	rig_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_digit_ends_without_its_ticks),
		cmocka_unit_test(another_sender_shows_in_each_of_its_frames),
		cmocka_unit_test(a_shed_pause_is_no_gap_and_shed_speech_is),
		cmocka_unit_test(after_silence_that_is_given_up_speech_begins),
		cmocka_unit_test(behind_a_jitter_buffer_gaps_show_as_well),
		cmocka_unit_test(
			behind_a_jitter_buffer_what_takes_no_time_leaves_no_gap),
		cmocka_unit_test(what_is_heard_of_a_shed_pause_leaves_as_noise),
		cmocka_unit_test(some_frames_are_vital),
		cmocka_unit_test(a_pause_is_counted_from_speech),
		cmocka_unit_test(another_sender_ends_a_digit),
		cmocka_unit_test(a_lost_frame_is_recovered_from_the_next),
	};

	return cmocka_run_group_tests_name("turn_frame", tests, NULL, NULL);
}
