/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of any length in, packets of any length out, and what goes changes
 * its length at any moment: all speech comes out, once, where it belongs, in
 * packets as full as was asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "media/pipeline.h"
#include "seed.h"

enum {
	MS = 8, /* samples, of the input */
	STEPS = 3000,
	IN_MAX = 60 * MS,
};

/* What may go. Of the first one each sample is known. */
static const struct {
	const char *codec;
	unsigned rate;
	unsigned frame_ms; /* that is encoded at a time; 0: a packet */
	unsigned ms[5];	   /* of packets */
} outputs[] = {
	{ "l16", 8000, 10, { 10, 20, 30, 40, 60 } },
	{ "pcma", 8000, 10, { 10, 20, 40, 50, 60 } },
	{ "g722", 16000, 10, { 10, 20, 30, 40, 60 } },
	{ "amr", 8000, 20, { 20, 40, 60 } },
	{ "amr-wb", 16000, 20, { 20, 40, 60 } },
	{ "gsm", 8000, 20, { 20, 40, 60 } },
	{ "speex", 8000, 20, { 20, 40, 60 } },
	{ "opus", 48000, 0, { 10, 20, 40, 60 } },
};
enum { NOUTPUTS = sizeof(outputs) / sizeof(outputs[0]) };

struct listener {
	struct codec_use side;	  /* of what comes */
	bool known;		  /* where the next packet belongs */
	bool short_one;		  /* it may be, but once          */
	uint32_t next, rtp_ticks; /* timestamp; heard             */
	unsigned packets;
	int16_t sample; /* the next of L16 */
};

static uint64_t seed;

static unsigned below(unsigned n)
{
	return test_below(&seed, n);
}

static unsigned one_of(unsigned i)
{
	unsigned n = 0;

	while (n < 5 && outputs[i].ms[n])
		n++;
	return outputs[i].ms[below(n)];
}

static struct codec_use output(unsigned i, unsigned ms)
{
	struct codec_use s = { .codec = cr_codec_find(outputs[i].codec),
			       .pt = 96 };
	unsigned frame = outputs[i].frame_ms ? outputs[i].frame_ms : ms;

	assert_non_null(s.codec);
	assert_int_equal(payload_format_find(&s), 0);
	s.cfg.mode = s.codec->default_mode;
	s.cfg.sample_rate = outputs[i].rate;
	if (s.codec->any_length || s.codec->lengths)
		s.cfg.samples = frame * outputs[i].rate / 1000;
	s.frames = ms / frame;
	return s;
}

static struct codec_use input(void)
{
	struct codec_use s = { .codec = cr_codec_find("l16") };

	assert_int_equal(payload_format_find(&s), 0);
	s.cfg.sample_rate = 8000;
	s.cfg.samples = 20 * MS;
	return s;
}

/* The frames of a packet, and each sample of L16. */
static unsigned look(struct listener *l, const struct pipeline_packet *p)
{
	static struct cr_frame f;
	struct payload_iter it;
	unsigned n = 0;

	if (l->side.kind == PAYLOAD_L16) {
		assert_int_equal(p->bytes % 2, 0);
		for (size_t i = 0; i < p->bytes; i += 2, l->sample++)
			assert_int_equal((int16_t)(p->payload[i] << 8 |
						   p->payload[i + 1]),
					 l->sample);
	}
	assert_int_equal(payload_open(&l->side, p->payload, p->bytes, &it), 0);
	while (payload_next(&it, &f))
		n++;
	return n;
}

static void hear(void *arg, const struct pipeline_packet *p)
{
	struct listener *l = arg;
	const struct codec_use *s = &l->side;
	cr_ns frame = cr_codec_frame_ns(s->codec, &s->cfg);
	unsigned n = look(l, p);
	uint32_t rtp_ticks =
		(uint32_t)(n * frame * (cr_ns)codec_use_clock(s) / CR_SEC);

	if (l->known)
		assert_int_equal(p->ts, l->next);
	assert_false(p->silent);
	assert_int_equal(p->pt, s->pt);
	assert_true(n <= s->frames);
	if (n < s->frames) {
		assert_true(l->short_one);
		l->short_one = false;
	}
	l->known = true;
	l->next = p->ts + rtp_ticks;
	l->rtp_ticks += rtp_ticks;
	l->packets++;
}

struct talker {
	struct pipeline_input next;
	uint8_t payload[2 * IN_MAX];
	int16_t sample;
	uint32_t said; /* units */
};

/* Some more. Returns how many samples. */
static unsigned speak(struct talker *t)
{
	static const unsigned lengths[] = { 10, 20, 30, 40, 60 };
	unsigned n = lengths[below(5)] * MS;

	for (unsigned i = 0; i < n; i++, t->sample++) {
		t->payload[2 * i] = (uint8_t)((uint16_t)t->sample >> 8);
		t->payload[2 * i + 1] = (uint8_t)t->sample;
	}
	t->next.payload = t->payload;
	t->next.meta.bytes = (uint16_t)(2 * n);
	return n;
}

static void say(struct talker *t, struct pipeline *p, struct listener *l)
{
	static struct pipeline_scratch scratch;
	unsigned n = speak(t);

	assert_int_equal(pipeline_run(p, &scratch, &t->next, hear, l), 0);
	t->next.meta.rtp_ts += n;
	t->said += n;
}

static void change(struct pipeline *p, struct codec_use to)
{
	struct pipeline_output *o;
	struct cr_err e = { "" };

	assert_int_equal(pipeline_output_new(&o, &to, true, &e), 0);
	pipeline_change(p, o);
}

/* Before each change what has been said is flushed, so that it is plain which
 * packets are of which length. */
static void all_comes_out_in_full_packets(void **state)
{
	static struct pipeline_scratch scratch;
	static struct talker t;

	seed = test_seed();
	for (unsigned i = 0; i < NOUTPUTS; i++) {
		struct pipeline_cfg cfg = { .in = input(),
					    .out = output(i, one_of(i)) };
		struct listener l = { .side = cfg.out };
		uint32_t clock = codec_use_clock(&cfg.out);
		unsigned frame = outputs[i].frame_ms ? outputs[i].frame_ms : 60;
		struct cr_err e = { "" };
		struct pipeline *p;
		uint64_t out;

		memset(&t, 0, sizeof(t));
		assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
		for (unsigned k = 0; k < STEPS / 8; k++) {
			for (unsigned n = below(8); n; n--)
				say(&t, p, &l);
			l.short_one = true;
			pipeline_flush(p, &scratch, hear, &l);
			l.short_one = false;
			l.side = output(i, one_of(i));
			change(p, l.side);
		}
		out = (uint64_t)l.rtp_ticks * 8000 / clock;
		assert_true(l.packets > STEPS / 20);
		assert_true(out <= t.said && t.said - out < frame * MS);
		pipeline_close(p);
	}
}

/* Where each sample belongs. */
static uint32_t belongs[STEPS * IN_MAX];
static unsigned spoken, listened;

static void hear_samples(void *arg, const struct pipeline_packet *p)
{
	int16_t *sample = arg;
	unsigned n = (unsigned)p->bytes / 2;

	assert_true(n && listened + n <= spoken);
	assert_int_equal(p->ts, belongs[listened]);
	assert_int_equal(p->ts + n - 1, belongs[listened + n - 1]);
	for (unsigned i = 0; i < 2 * n; i += 2, (*sample)++)
		assert_int_equal(
			(int16_t)(p->payload[i] << 8 | p->payload[i + 1]),
			*sample);
	listened += n;
}

static void say_samples(struct talker *t, struct pipeline *p, int16_t *heard)
{
	static struct pipeline_scratch scratch;
	unsigned n = speak(t);

	for (unsigned i = 0; i < n; i++)
		belongs[spoken++] = t->next.meta.rtp_ts + i;
	assert_int_equal(
		pipeline_run(p, &scratch, &t->next, hear_samples, heard), 0);
	t->next.meta.rtp_ts += n;
}

/* What waits goes before a gap, and before the output that comes: each sample
 * where it belongs. */
static void gaps_and_changes_lose_nothing(void **state)
{
	static struct pipeline_scratch scratch;
	static struct talker t;
	struct pipeline_cfg cfg = { .in = input(), .out = output(0, 60) };
	struct cr_err e = { "" };
	struct pipeline *p;
	int16_t heard = 0;

	seed = test_seed();
	memset(&t, 0, sizeof(t));
	spoken = listened = 0;
	assert_int_equal(pipeline_open(&p, &cfg, &e), 0);
	for (unsigned k = 0; k < STEPS; k++) {
		if (k && !below(4)) /* time begins with the first */
			t.next.meta.rtp_ts += 20 * MS * (1 + below(50));
		if (!below(4))
			change(p, output(0, one_of(0)));
		say_samples(&t, p, &heard);
	}
	pipeline_flush(p, &scratch, hear_samples, &heard);
	assert_int_equal(listened, spoken);
	pipeline_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_comes_out_in_full_packets),
		cmocka_unit_test(gaps_and_changes_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
