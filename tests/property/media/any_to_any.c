/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every codec at every rate into every other: as much speech comes out as went
 * in, without a gap, and it comes where it belongs. What a pair delays is what
 * its two codecs delay alone, and the 16 samples of the lower rate that the
 * resampler's filter takes: no frame is ever held back for it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "media/pipeline.h"
#include "speech/speech.h"

enum {
	RATE = 8000, /* at which speech is compared */
	MS = RATE / 1000,
	SPOKEN = 2 * RATE,
	SKIPPED = RATE / 5, /* coders find their feet */
	EARLIEST = -10 * MS,
	LATEST = 70 * MS,
	/* Two lossy coders move the peak by some; a frame is 20 ms or more. */
	TOLERANCE = 5 * MS,
	SIDES_MAX = 32,
};

/* One codec at one of its rates, and its own delay. */
struct side {
	struct codec_use media;
	int delay; /* samples of RATE */
};

/* What comes out of a call. */
struct heard {
	const struct side *side;
	void *dec;
	uint32_t next; /* timestamp */
	unsigned packets;
	int16_t pcm[SPOKEN + LATEST];
};

static int16_t spoken[SPOKEN];
static struct side sides[SIDES_MAX];
static unsigned nsides;

static unsigned side_samples(const struct side *s)
{
	return s->media.cfg.samples;
}

static void add_side(const struct cr_codec *c, unsigned rate)
{
	struct codec_use *m = &sides[nsides].media;

	assert_true(nsides++ < SIDES_MAX);
	m->codec = c;
	m->cfg.mode = c->default_mode;
	m->cfg.sample_rate = rate;
	m->cfg.samples =
		(unsigned)((uint64_t)c->samples * rate / c->sample_rate);
	assert_int_equal(payload_format_find(m), 0);
}

/* Between two samples of RATE a straight line: no filter, no delay. */
static void widen(int16_t *out, unsigned first, unsigned n, unsigned rate)
{
	unsigned times = rate / RATE;

	for (unsigned i = 0; i < n; i++) {
		unsigned at = (first + i) / times, part = (first + i) % times;
		int here = at < SPOKEN ? spoken[at] : 0;
		int next = at + 1 < SPOKEN ? spoken[at + 1] : 0;

		out[i] = (int16_t)(here +
				   (next - here) * (int)part / (int)times);
	}
}

/* @n samples at @rate belong at sample @at of RATE. */
static void keep(int16_t *heard, int64_t at, const int16_t *pcm, unsigned n,
		 unsigned rate)
{
	unsigned times = rate / RATE;

	for (unsigned i = 0; i < n / times; i++)
		if (at + i < SPOKEN + LATEST)
			heard[at + i] = pcm[i * times];
}

/* Where @heard is most like what was spoken, samples later. */
static int delay_of(const int16_t *heard)
{
	double best = 0, energy = 0, other = 0;
	int found = 0;

	for (int lag = EARLIEST; lag < LATEST; lag++) {
		double sum = 0;

		for (int i = SKIPPED; i < SPOKEN - LATEST; i++)
			sum += (double)spoken[i] * heard[i + lag];
		if (sum > best) {
			best = sum;
			found = lag;
		}
	}
	for (int i = SKIPPED; i < SPOKEN - LATEST; i++) {
		energy += (double)spoken[i] * spoken[i];
		other += (double)heard[i + found] * heard[i + found];
	}
	/* it is the same speech */
	assert_true(best > .5 * sqrt(energy * other));
	return found;
}

/* The codec alone, without packets. */
static void measure_alone(struct side *s)
{
	const struct cr_codec *c = s->media.codec;
	unsigned n = side_samples(s), rate = s->media.cfg.sample_rate;
	static int16_t pcm[CR_FRAME_SAMPLES_MAX], heard[SPOKEN + LATEST];
	struct cr_frame f;
	void *enc, *dec;

	memset(heard, 0, sizeof(heard));
	assert_int_equal(c->encoder_open(&enc, &s->media.cfg, NULL), 0);
	assert_int_equal(c->decoder_open(&dec, &s->media.cfg, NULL), 0);
	for (unsigned at = 0; at < SPOKEN * (rate / RATE); at += n) {
		widen(pcm, at, n, rate);
		assert_int_equal(c->encode(enc, s->media.cfg.mode, pcm, &f), 0);
		assert_int_equal(c->decode(dec, &f, pcm), n);
		keep(heard, at / (rate / RATE), pcm, n, rate);
	}
	c->encoder_close(enc);
	c->decoder_close(dec);
	s->delay = delay_of(heard);
}

static void hear(void *arg, const struct pipeline_packet *packet)
{
	struct heard *h = arg;
	const struct codec_use *m = &h->side->media;
	unsigned rate = m->cfg.sample_rate, clock = codec_use_clock(m);
	static int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct payload_iter it;
	struct cr_frame f;
	unsigned n;

	assert_false(packet->silent);
	assert_int_equal(packet->ts, h->next);
	assert_int_equal(payload_open(m, packet->payload, packet->bytes, &it),
			 0);
	assert_int_equal(it.info.nframes, 1);
	assert_true(payload_next(&it, &f));
	n = m->codec->decode(h->dec, &f, pcm);
	assert_int_equal(n, side_samples(h->side));
	keep(h->pcm, (int64_t)packet->ts * RATE / clock, pcm, n, rate);
	h->next += (uint32_t)((uint64_t)n * clock / rate);
	h->packets++;
}

/* The whole speech from @in into a call; packets of one frame. */
static void speak(const struct side *in, struct pipeline *p, struct heard *h)
{
	const struct codec_use *m = &in->media;
	unsigned n = side_samples(in), rate = m->cfg.sample_rate;
	static int16_t pcm[CR_FRAME_SAMPLES_MAX];
	static uint8_t payload[CR_FRAME_MAX];
	static struct pipeline_scratch scratch;
	struct cr_frame f;
	void *enc;

	assert_int_equal(m->codec->encoder_open(&enc, &m->cfg, NULL), 0);
	for (unsigned at = 0; at < SPOKEN * (rate / RATE); at += n) {
		struct pipeline_input packet = {
			.payload = payload,
			.meta.rtp_ts = (uint32_t)((uint64_t)at *
						  codec_use_clock(m) / rate),
		};
		int bytes;

		widen(pcm, at, n, rate);
		assert_int_equal(m->codec->encode(enc, m->cfg.mode, pcm, &f),
				 0);
		bytes = payload_pack(m, PAYLOAD_NO_CMR, &f, 1, payload,
				     sizeof(payload));
		assert_true(bytes > 0);
		packet.meta.bytes = (uint16_t)bytes;
		assert_int_equal(pipeline_run(p, &scratch, &packet, hear, h),
				 0);
	}
	m->codec->encoder_close(enc);
}

static void check_pair(const struct side *in, const struct side *out)
{
	const struct pipeline_cfg cfg = { .in = in->media, .out = out->media };
	unsigned from = in->media.cfg.sample_rate;
	unsigned to = out->media.cfg.sample_rate;
	unsigned in_ms = side_samples(in) * 1000 / from;
	unsigned out_ms = side_samples(out) * 1000 / to;
	unsigned spoken_ms = (SPOKEN / MS + in_ms - 1) / in_ms * in_ms;
	int filter = from == to ? 0 : 16 * RATE / (int)(from < to ? from : to);
	static struct heard h;
	struct cr_err e = { "" };
	struct pipeline *p;
	int delay, alone = in->delay + out->delay + filter;

	memset(&h, 0, sizeof(h));
	h.side = out;
	assert_int_equal(
		out->media.codec->decoder_open(&h.dec, &out->media.cfg, NULL),
		0);
	if (pipeline_open(&p, &cfg, &e))
		fail_msg("%s", e.text);
	speak(in, p, &h);
	pipeline_close(p);
	out->media.codec->decoder_close(h.dec);
	/* as many frames as the time has */
	assert_int_equal(h.packets, spoken_ms / out_ms);
	delay = delay_of(h.pcm);
	if (abs(delay - alone) > TOLERANCE)
		fail_msg("%s/%u to %s/%u: %.1f ms late; %.1f + %.1f + %.1f "
			 "are explained",
			 in->media.codec->name, from, out->media.codec->name,
			 to, (double)delay / MS, (double)in->delay / MS,
			 (double)out->delay / MS, (double)filter / MS);
}

static void every_codec_becomes_every_other_in_its_time(void **state)
{
	for (unsigned i = 0; i < nsides; i++)
		for (unsigned k = 0; k < nsides; k++)
			check_pair(&sides[i], &sides[k]);
	print_message("%u pairs\n", nsides * nsides);
}

static int setup(void **state)
{
	struct speech_corpus *corpus;
	struct speech_reader reader;
	struct cr_err e = { "" };

	if (speech_open(&corpus, RATE, NULL, &e))
		fail_msg("%s", e.text);
	speech_reader_init(&reader, corpus, 7, 0);
	speech_read(&reader, spoken, SPOKEN);
	speech_close(corpus);
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		const unsigned own[] = { (*c)->sample_rate, 0 };

		if ((*c)->declares_cost)
			continue;
		for (const unsigned *r = (*c)->rates ? (*c)->rates : own; *r;
		     r++)
			add_side(*c, *r);
	}
	for (unsigned i = 0; i < nsides; i++) {
		measure_alone(&sides[i]);
		print_message("%s/%u alone: %.1f ms\n",
			      sides[i].media.codec->name,
			      sides[i].media.cfg.sample_rate,
			      (double)sides[i].delay / MS);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_codec_becomes_every_other_in_its_time),
	};

	return cmocka_run_group_tests_name("any to any", tests, setup, NULL);
}
