/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parties send packets of any length, whatever was agreed on. From the receive
 * stage to the socket, every codec into others, with every kind of buffer and
 * of filling: what was said comes out at its own time; the party's silence is a
 * packet each packet time; and nothing that anybody sends makes the node send
 * more than that. Time is virtual.
 */
#include <string.h>

#include "node/call_check.h"
#include "seed.h"
#include "transcode_fixture.h"

enum {
	RUNS = 6, /* of each codec */
	PACKETS = 60,
	HALF_MS = 2, /* lengths are in halves of a ms */
	SIDES = 24,
	PT_OUT = 96,
	PT_EVENT = 101,
	PT_EVENT_OUT = 102,
	EVENT_CLOCK = 8000,
	PT_NOISE = 13,
	LATE_MS = 15,
	PAYLOAD_BYTES = 2048, /* at most */
};

/* What may come, at each of its codecs' rates. */
static struct codec_use sides[SIDES];
static unsigned nsides;

static uint64_t seed;

static unsigned below(unsigned n)
{
	return test_below(&seed, n);
}

/* --- who is heard, and who hears --- */

struct line {
	struct transcode_fixture g;
	struct stream_cfg cfg;
	struct receive_stage *f; /* NULL: as at the shared port */
	int peer;
	cr_ns now, packet;     /* of the output */
	struct rtp_packet rtp; /* the next one                      */
	unsigned sent, said;   /* before that, in halves of a ms    */
	/* what is heard */
	unsigned packets, events;
	bool known, holes;
	uint32_t first, next; /* timestamp */
	cr_ns level;	      /* of speech ahead of time */
};

static struct codec_use side_of(const struct cr_codec *c, unsigned rate,
				unsigned samples)
{
	struct codec_use s = { .codec = c };

	assert_int_equal(payload_format_find(&s), 0);
	s.cfg.mode = c->default_mode;
	s.cfg.sample_rate = rate;
	if (c->any_length || c->lengths)
		s.cfg.samples = samples;
	s.amr.octet_align = true;
	return s;
}

static int find_sides(void **state)
{
	seed = test_seed();
	for (unsigned i = 0; cr_codecs[i]; i++) {
		const struct cr_codec *c = cr_codecs[i];
		const unsigned one[] = { c->sample_rate, 0 };

		if (c->declares_cost || !c->decoder_open || !c->encoder_open)
			continue;
		for (const unsigned *r = c->rates ? c->rates : one; *r; r++) {
			assert_true(nsides < SIDES);
			sides[nsides++] = side_of(c, *r, *r / 50);
		}
	}
	return nsides < 8;
}

/* What goes: any of them, of a packet time that it may have. */
static struct codec_use any_output(void)
{
	static const unsigned ms[] = { 5, 10, 15, 20, 30, 40, 60 };
	struct codec_use s;
	struct cr_err e;

	do
		s = sides[below(nsides)];
	while (packet_time_set(&s, ms[below(7)] * CR_MS, "", &e));
	return s;
}

/* The agreed time of its packets: more or less than that comes. */
static cr_ns agree(struct codec_use *s)
{
	static const unsigned ms[] = { 5, 10, 20, 30, 40, 60 };
	cr_ns time = (cr_ns)ms[below(6)] * CR_MS;
	unsigned samples = (unsigned)(time * codec_use_rate(s) / CR_SEC);

	if (s->codec->any_length
		    ? samples <= CR_PCM_SAMPLES_MAX
		    : s->codec->lengths && cr_codec_has_length(s->codec, time))
		s->cfg.samples = samples;
	return time;
}

/* Of short packets some are played before their time, for room; then a pause is
 * filled that is none. */
static struct receive_stage_terms any_terms(bool numbers)
{
	struct receive_stage_terms t = {
		.jitter = (enum jitter_kind)below(3),
		.least = 20 * CR_MS,
		.most = (40 + 20 * below(5)) * CR_MS,
		.fill = (enum receive_stage_fill)below(3),
	};

	if (numbers) {
		t.events.n = 1;
		t.events.one[0].pt = PT_EVENT;
		t.events.one[0].clock = EVENT_CLOCK;
		t.pt_noise = PT_NOISE;
	}
	return t;
}

static void gone(void *arg)
{
	(void)arg;
}

static void open_receive_stage(struct line *l)
{
	const uint32_t clock = codec_use_clock(&l->cfg.media.in);
	const struct receive_stage_cfg cfg = {
		.terms = l->cfg.receive_stage,
		.clock = clock,
		.step = (uint32_t)(l->cfg.release.period * clock / CR_SEC),
		.slot_bytes = (unsigned)l->g.c->slot_bytes,
		.emit = packet_push_frame,
		.gone = gone,
		.arg = l->g.c,
	};

	assert_int_equal(receive_stage_open(&l->f, &cfg, NULL), 0);
	l->g.c->buffers = receive_stage_buffers(l->f);
}

/* What is said is @in, its terms are set. */
static void open_line(struct line *l, const struct codec_use *in)
{
	l->cfg.id = 1;
	l->cfg.media.in = *in;
	l->cfg.release.kind = RELEASE_SPORADIC;
	l->cfg.release.period = agree(&l->cfg.media.in);
	l->cfg.terms.deadline = l->cfg.release.period;
	l->cfg.media.out = any_output();
	l->cfg.media.out.pt = PT_OUT;
	l->cfg.ring_frames = 64;
	l->cfg.to.ss_family = AF_INET;
	l->packet = codec_use_packet(&l->cfg.media.out);
	l->now = CR_SEC;
	l->rtp.ts = (uint32_t)test_random(&seed);
	l->rtp.seq = (uint16_t)test_random(&seed);
	fixture_open_with(&l->g, l->cfg);
	l->cfg = l->g.c->stream->cfg;
	l->g.w->quota_burst = QUOTA_BURST;
	l->peer = fixture_connect(&l->g);
	if (receive_stage_needed(&l->cfg.receive_stage))
		open_receive_stage(l);
}

static void close_line(struct line *l)
{
	receive_stage_close(l->f);
	fixture_end(&l->g, l->peer);
}

/* --- what is heard --- */

static uint32_t units_heard(const struct line *l, const struct rtp_packet *p)
{
	const struct codec_use *s = &l->cfg.media.out;
	static struct cr_frame f;
	struct payload_iter it;
	uint64_t samples = 0;

	assert_int_equal(payload_open(s, p->payload, p->payload_bytes, &it), 0);
	while (payload_next(&it, &f))
		samples += codec_use_samples(s, f.data, f.bytes);
	return (uint32_t)(samples * codec_use_clock(s) / codec_use_rate(s));
}

static void hear(struct line *l, const struct rtp_packet *p)
{
	const bool event = p->pt == PT_EVENT_OUT;
	const cr_ns time = event ? cr_ns_min(l->packet, 10 * CR_MS) : l->packet;

	/* ours is a clock that may be slow, and never slower than that */
	l->level += time - time / 32;
	if (l->level > 2 * CR_SEC)
		fail_msg("more than a packet each packet time: %s, %d ms, to "
			 "%s, %d ms",
			 l->cfg.media.in.codec->name,
			 (int)(l->cfg.release.period / CR_MS),
			 l->cfg.media.out.codec->name, (int)(time / CR_MS));
	l->events += event;
	l->packets += !event;
	if (p->pt != PT_OUT)
		return;
	if (!l->known)
		l->first = l->next = p->ts;
	l->holes |= p->ts != l->next;
	l->known = true;
	l->next = p->ts + units_heard(l, p);
}

static void listen_to(struct line *l)
{
	uint8_t buf[BURST_BYTES];
	struct rtp_packet p;
	ssize_t n;

	while ((n = recv(l->peer, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
		assert_int_equal(rtp_parse(buf, (size_t)n, &p), 0);
		hear(l, &p);
	}
}

/* All frames that there are. */
static void serve(struct line *l)
{
	while (frame_ring_waiting(l->g.c->ring)) {
		fixture_serve(&l->g);
		listen_to(l);
	}
}

static void pass_time(struct line *l, cr_ns until)
{
	l->level = cr_ns_max(l->level - cr_ns_max(until - l->now, 0), 0);
	l->now = cr_ns_max(until, l->now);
}

/* What is due meanwhile comes at its time. */
static void wait_until(struct line *l, cr_ns until)
{
	cr_ns due;

	l->g.c->trace = l->g.other;
	while (l->f && (due = receive_stage_due(l->f)) <= until) {
		pass_time(l, due);
		receive_stage_poll(l->f, l->now);
		serve(l);
	}
	pass_time(l, until);
}

/* --- what is said --- */

static void put(struct line *l, enum frame_ring_what what, bool restart)
{
	const struct codec_use *side = pipeline_input_side(l->g.c->pipeline, 0);
	const struct receive_stage_arrival in = {
		.what = what,
		.rtp = &l->rtp,
		.restart = restart,
		.codec = { .side = side,
			   .clock = what == FRAME_RING_EVENT
					    ? EVENT_CLOCK
					    : codec_use_clock(side),
			   .rate = codec_use_rate(side) },
		.at = l->now,
	};
	const struct receive_stage_frame frame = {
		.meta.what = what,
		.restart = restart,
		.payload = l->rtp.payload,
		.meta.bytes = (unsigned)l->rtp.payload_bytes,
		.meta.rtp_ts = l->rtp.ts,
		.meta.rtp_seq = l->rtp.seq,
		.meta.arrival = l->now,
	};

	assert_true(l->rtp.payload_bytes <= l->g.c->slot_bytes);
	l->g.c->trace = l->g.other;
	if (l->f)
		(void)receive_stage_packet(l->f, &in);
	else
		packet_push_frame(l->g.c, &frame);
	serve(l);
}

/* Opus of @length: a table of contents, and what sounds like nothing (RFC 6716,
 * 3). */
static size_t opus_packet(unsigned length, bool quiet, uint8_t *to)
{
	unsigned frames = 1, config = 3; /* 60 ms of SILK */

	if (length <= 20 * HALF_MS) { /* CELT */
		for (config = 28; length > 5; length /= 2)
			config++;
	} else if (length == 40 * HALF_MS) {
		config = 2;
	} else if (length != 60 * HALF_MS) {
		config = 1; /* of 20 ms */
		frames = length / (20 * HALF_MS);
	}
	to[0] = (uint8_t)(config << 3 | (frames > 1 ? 3 : 0));
	to[1] = (uint8_t)frames;
	if (quiet)
		return frames > 1 ? 2 : 1;
	return (frames > 1) + 1 + 20 * frames;
}

/* A frame of the codec, of noise or of silence. */
static bool make_frame(const struct codec_use *s, bool quiet,
		       struct cr_frame *frame)
{
	static int16_t pcm[CR_FRAME_SAMPLES_MAX];
	void *enc;

	if (quiet) {
		bool amr = s->kind == PAYLOAD_AMR || s->kind == PAYLOAD_AMR_WB;

		memset(frame->data, 0, 8);
		frame->kind = CR_FRAME_SID;
		frame->mode = s->kind == PAYLOAD_AMR ? 8 : 9;
		frame->bytes = amr ? 5 : 4;
		frame->data[0] = amr ? 0 : 2;
		return amr || s->kind == PAYLOAD_G723;
	}
	for (unsigned i = 0; i < CR_FRAME_SAMPLES_MAX; i++)
		pcm[i] = (int16_t)((int)below(8000) - 4000);
	assert_int_equal(s->codec->encoder_open(&enc, &s->cfg, NULL), 0);
	assert_int_equal(s->codec->encode(enc, s->cfg.mode, pcm, frame), 0);
	s->codec->encoder_close(enc);
	return true;
}

/* The next packet's payload, of @length; false: the codec has no such thing. */
static bool make_payload(struct line *l, unsigned length, bool quiet)
{
	static uint8_t buf[PAYLOAD_BYTES];
	static struct cr_frame frames[PAYLOAD_FRAMES_MAX];
	const struct codec_use *s = &l->cfg.media.in;
	unsigned n = length * codec_use_rate(s) / (1000 * HALF_MS);
	int bytes;

	for (unsigned i = 0; i < sizeof(buf); i++)
		buf[i] = (uint8_t)below(256);
	l->rtp.payload = buf;
	if (s->codec->any_length) {
		l->rtp.payload_bytes = payload_pcm_bytes(s, n);
		return !quiet;
	}
	if (s->codec->packet_samples) {
		l->rtp.payload_bytes = opus_packet(length, quiet, buf);
		return true;
	}
	if (!make_frame(s, quiet, &frames[0]))
		return false;
	n = quiet ? 1 : n / codec_use_samples(s, NULL, 0);
	for (unsigned i = 1; i < n; i++)
		frames[i] = frames[0];
	bytes = payload_pack(s, PAYLOAD_NO_CMR, frames, n, buf, sizeof(buf));
	assert_true(bytes > 0);
	l->rtp.payload_bytes = (size_t)bytes;
	return true;
}

/* In halves of a ms: any that the codec can have. */
static unsigned any_length(const struct codec_use *s)
{
	static const unsigned opus[] = {
		5, 10, 20, 40, 80, 120, 160, 200, 240
	};
	static const unsigned pcm[] = { 5, 10, 20, 40, 60, 80, 120 };
	cr_ns frame = cr_codec_frame_ns(s->codec, &s->cfg);
	unsigned rate = codec_use_rate(s);

	if (s->codec->packet_samples)
		return opus[below(9)];
	if (s->codec->any_length)
		return pcm[below(rate > 16000 ? 4 : 7)];
	return (1 + below(frame > 20 * CR_MS ? 4 : 6)) *
	       (unsigned)(frame * HALF_MS / CR_MS);
}

static uint32_t units_said(const struct line *l, unsigned length)
{
	return length * codec_use_clock(&l->cfg.media.in) / (1000 * HALF_MS);
}

/* --- what was said --- */

/* The next packet's time has come, which is that of its beginning. */
static void wait_for_turn(struct line *l)
{
	cr_ns late = l->g.c->buffers ? below(LATE_MS) * CR_MS : 0;

	wait_until(l, CR_SEC + l->said * CR_MS / HALF_MS + late);
}

/* Whether it comes or not. */
static void go_on(struct line *l, unsigned length)
{
	l->said += length;
	l->rtp.ts += units_said(l, length);
	l->rtp.seq++;
}

/* @n packets of @length, or of any (0), as they are spoken. */
static void speak(struct line *l, unsigned n, unsigned length)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned now = length ? length : any_length(&l->cfg.media.in);

		wait_for_turn(l);
		assert_true(make_payload(l, now, false));
		put(l, FRAME_RING_SPEECH, false);
		l->sent++;
		go_on(l, now);
	}
}

static void expect_all(struct line *l)
{
	const struct codec_use *out = &l->cfg.media.out;
	const uint32_t clock = codec_use_clock(out);
	const uint32_t rtp_ticks = l->said * (clock / 1000) / HALF_MS;
	const uint32_t packet = (uint32_t)(l->packet * clock / CR_SEC);
	const uint32_t conceal = l->g.c->buffers ? 60 * clock / 1000 : 0;
	const struct stream_counters *n = &l->g.c->stream->account->count;
	const uint32_t heard = l->next - l->first + packet;

	/* behind the last packet a buffer conceals the next one */
	if (!l->holes && heard > rtp_ticks &&
	    heard <= rtp_ticks + packet + conceal && n->packets_in == l->sent &&
	    !n->malformed && !n->excess)
		return;
	fail_msg("of %u ms of %s, agreed %d, jitter %s, fill %d, "
		 "%u of %u units are heard as %s of %d ms%s, %u packets are "
		 "malformed, %u too many, %u made, %u of %u came",
		 l->said / HALF_MS, l->cfg.media.in.codec->name,
		 (int)(l->cfg.release.period / CR_MS),
		 jitter_kinds[l->cfg.receive_stage.jitter],
		 (int)l->cfg.receive_stage.fill, l->next - l->first, rtp_ticks,
		 out->codec->name, (int)(l->packet / CR_MS),
		 l->holes ? ", with holes" : "", (unsigned)n->malformed,
		 (unsigned)n->excess, (unsigned)n->synthesized,
		 (unsigned)n->packets_in, l->sent);
}

static void what_was_said_comes_out_in_its_time(void **state)
{
	for (unsigned i = 0; i < TEST_TRIES(RUNS) * nsides; i++) {
		const struct codec_use *in = &sides[i % nsides];
		struct line l = { .known = false };
		unsigned length;

		length = below(3) ? any_length(in) : 0;
		if (below(4)) /* else it is as at the shared port */
			l.cfg.receive_stage = any_terms(false);
		if (length < 10 * HALF_MS && l.cfg.receive_stage.jitter)
			l.cfg.receive_stage.fill = RECEIVE_STAGE_FILL_SIGNALLED;
		open_line(&l, in);
		speak(&l, PACKETS, length);
		while (l.f && receive_stage_waiting(l.f))
			wait_until(&l, l.now + CR_MS);
		expect_all(&l);
		close_line(&l);
	}
}

/* --- what was lost --- */

/* Some packets never come: what stands for them is as long as they were. */
static void what_was_lost_is_as_long_as_it_was(void **state)
{
	for (unsigned i = 0; i < TEST_TRIES(RUNS) * nsides; i++) {
		const struct codec_use *in = &sides[i % nsides];
		struct line l = { .cfg.conceal = true };
		unsigned length;

		do
			length = any_length(in);
		while (length > 60 * HALF_MS);
		l.cfg.receive_stage = any_terms(false);
		l.cfg.receive_stage.jitter =
			(enum jitter_kind)below(2); /* fixed */
		l.cfg.receive_stage.fill = RECEIVE_STAGE_FILL_SIGNALLED;
		open_line(&l, in);
		for (unsigned k = 0; k < PACKETS / 3; k++) {
			speak(&l, 2 + below(3), length);
			if (k + 1 < PACKETS / 3)
				go_on(&l, length);
		}
		while (receive_stage_waiting(l.f))
			wait_until(&l, l.now + CR_MS);
		expect_all(&l);
		close_line(&l);
	}
}

/* --- silence --- */

/* The last packet says that silence follows, however long it is itself. */
static void fall_silent(struct line *l, unsigned length)
{
	static const uint8_t level[1] = { 60 };
	bool signalled = make_payload(l, length, true);

	wait_for_turn(l);
	if (!signalled) {
		l->rtp.payload = level;
		l->rtp.payload_bytes = 1;
	}
	put(l, signalled ? FRAME_RING_SPEECH : FRAME_RING_NOISE, false);
}

static void silence_is_a_packet_each_packet_time(void **state)
{
	enum { SILENT_S = 8 };

	for (unsigned i = 0; i < TEST_TRIES(RUNS) * nsides; i++) {
		const struct codec_use *in = &sides[i % nsides];
		struct line l = { .cfg.receive_stage = any_terms(true) };
		unsigned from, want;

		if (l.cfg.receive_stage.fill == RECEIVE_STAGE_FILL_NEVER)
			l.cfg.receive_stage.fill = RECEIVE_STAGE_FILL_SIGNALLED;
		open_line(&l, in);
		speak(&l, 3, any_length(in));
		fall_silent(&l, any_length(in));
		wait_until(&l, l.now + CR_SEC);
		from = l.packets;
		l.known = l.holes = false;
		wait_until(&l, l.now + SILENT_S * CR_SEC);
		want = (unsigned)(SILENT_S * CR_SEC / l.packet);
		/* frames of silence may be longer than packets */
		if (l.packets - from + 12 < want ||
		    l.packets - from > want + 12 || l.holes)
			fail_msg("%s, agreed %d ms, jitter %s, fill %d: %u "
				 "packets of silence in %d s as %s of %d ms%s",
				 in->codec->name,
				 (int)(l.cfg.release.period / CR_MS),
				 jitter_kinds[l.cfg.receive_stage.jitter],
				 (int)l.cfg.receive_stage.fill,
				 l.packets - from, SILENT_S,
				 l.cfg.media.out.codec->name,
				 (int)(l.packet / CR_MS),
				 l.holes ? ", with holes" : "");
		close_line(&l);
	}
}

/* --- what is meant to harm --- */

static void make_event(struct line *l)
{
	static uint8_t event[TELEPHONE_EVENT_BYTES];

	event[0] = (uint8_t)below(16);
	event[1] = (uint8_t)(below(2) << 7 | 10);
	event[2] = (uint8_t)below(8);
	event[3] = (uint8_t)below(256);
	l->rtp.payload = event;
	l->rtp.payload_bytes = sizeof(event);
}

/* Nothing of it needs to make sense. */
static void harm(struct line *l, unsigned flood)
{
	enum frame_ring_what what = FRAME_RING_SPEECH;
	unsigned length = any_length(&l->cfg.media.in);
	unsigned most = (unsigned)l->g.c->slot_bytes;

	most = !below(2) ? 8 : most < PAYLOAD_BYTES ? most : PAYLOAD_BYTES;
	if (below(100) >= flood)
		wait_until(l, l->now + below(200) * CR_MS);
	if (!make_payload(l, length, below(2)))
		(void)make_payload(l, length, false);
	if (l->f && !below(10)) {
		make_event(l);
		what = FRAME_RING_EVENT;
	} else if (l->f && !below(10)) {
		l->rtp.payload_bytes = 1;
		what = FRAME_RING_NOISE;
	} else if (!below(20)) {
		l->rtp.payload_bytes = 1 + below(most);
	}
	put(l, what, !below(20));
	l->rtp.seq = (uint16_t)(l->rtp.seq + 1 + (below(2) ? 0 : below(4)));
	switch (below(4)) {
	case 0:
		break; /* time stands still */
	case 1:
		l->rtp.ts += below(10000);
		break;
	default:
		l->rtp.ts += units_said(l, length);
	}
}

static void nobody_makes_more_than_a_packet_each_packet_time(void **state)
{
	for (unsigned i = 0; i < TEST_TRIES(RUNS) * nsides; i++) {
		const unsigned flood = below(101);
		struct line l = { .cfg = { .receive_stage = any_terms(true),
					   .event_out.pt = PT_EVENT_OUT,
					   .event_out.clock = EVENT_CLOCK,
					   .conceal = below(2) } };

		if (!below(4))
			l.cfg.receive_stage = (struct receive_stage_terms){ 0 };
		open_line(&l, &sides[i % nsides]);
		for (unsigned k = 0; k < 4 * PACKETS; k++)
			harm(&l, flood);
		wait_until(&l, l.now + 5 * CR_SEC);
		close_line(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_said_comes_out_in_its_time),
		cmocka_unit_test(what_was_lost_is_as_long_as_it_was),
		cmocka_unit_test(silence_is_a_packet_each_packet_time),
		cmocka_unit_test(
			nobody_makes_more_than_a_packet_each_packet_time),
	};

	return cmocka_run_group_tests_name("lengths", tests, find_sides, NULL);
}
