/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders and decoders side by side. An encoder that has gone another way may
 * never come back to the library's; frames are counted all the same.
 */
#include "kernels_verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resample/resample.h"
#include "seed.h"
#include "sound.h"

enum {
	SOUND_SECONDS = 300,
	BLOCK = 320, /* samples that are resampled at a time */
};

_Noreturn static void die(const struct cr_err *e)
{
	(void)fprintf(stderr, "bench-kernels: %s\n", e->text);
	exit(1);
}

static struct speech_corpus *load(unsigned rate)
{
	struct speech_corpus *c;
	struct cr_err e;

	if (speech_open(&c, rate, NULL, &e))
		die(&e);
	return c;
}

/* Room for @n samples more, at the end. */
static int16_t *extend(struct material *m, size_t n)
{
	int16_t *pcm = realloc(m->pcm, (m->n + n) * sizeof(*pcm));
	struct cr_err e = { "out of memory" };

	if (!pcm)
		die(&e);
	m->pcm = pcm;
	m->n += n;
	return pcm + m->n - n;
}

static void add_clips(struct material *m, const struct speech_corpus *c)
{
	for (size_t i = 0; i < speech_count(c); i++) {
		const struct speech_clip *clip = speech_clip(c, i);

		memcpy(extend(m, clip->n), clip->pcm,
		       clip->n * sizeof(*clip->pcm));
	}
}

/* The clips of @c, which has twice the sample rate. */
static void add_clips_halved(struct material *m, const struct speech_corpus *c)
{
	struct resample *r;
	struct cr_err e;

	if (resample_open(&r, 16000, 8000, &e))
		die(&e);
	for (size_t i = 0; i < speech_count(c); i++) {
		const struct speech_clip *clip = speech_clip(c, i);

		for (size_t at = 0; at + BLOCK <= clip->n; at += BLOCK)
			(void)resample_run(r, clip->pcm + at, BLOCK,
					   extend(m, BLOCK / 2), BLOCK / 2);
	}
	resample_close(r);
}

struct material material_load(enum library_codec codec, uint64_t seed)
{
	unsigned rate = library_facts[codec].sample_rate;
	struct speech_corpus *own = load(rate);
	struct material m = { NULL, 0, 0 };
	size_t other = (size_t)SOUND_SECONDS * rate;
	struct sound sound;

	add_clips(&m, own);
	if (rate == 8000) {
		struct speech_corpus *wide = load(16000);

		add_clips_halved(&m, wide);
		speech_close(wide);
	}
	m.speech = (double)m.n / rate / 60;
	sound_init(&sound, rate, own, seed);
	sound_read(&sound, extend(&m, other), other);
	speech_close(own);
	return m;
}

void material_free(struct material *m)
{
	free(m->pcm);
	m->pcm = NULL;
}

/* An encoder, and a decoder for what it makes. */
struct side {
	const struct library *library;
	void *enc, *dec;
	uint8_t frame[LIBRARY_FRAME_MAX];
	int16_t heard[LIBRARY_SAMPLES_MAX];
};

static struct side side_open(const struct library *l, bool dtx)
{
	return (struct side){ .library = l,
			      .enc = library_encoder(l, dtx),
			      .dec = library_decoder(l) };
}

static void side_close(struct side *s)
{
	library_encoder_close(s->library, s->enc);
	library_decoder_close(s->library, s->dec);
}

/* Both libraries, and what has come of them. */
struct pair {
	struct side ours, stock;
	bool dtx;
	struct verify_result result;
};

static unsigned encode(struct side *s, unsigned mode, bool dtx,
		       const int16_t *pcm)
{
	return library_encode(s->library, s->enc, mode, dtx, pcm, s->frame);
}

/* Both decoders hear the library's frame. */
static void step(struct pair *p, unsigned mode, const int16_t *pcm)
{
	struct side *ours = &p->ours, *stock = &p->stock;
	unsigned n = encode(ours, mode, p->dtx, pcm);
	bool other = encode(stock, mode, p->dtx, pcm) != n ||
		     memcmp(ours->frame, stock->frame, n) != 0;

	library_decode(ours->library, ours->dec, stock->frame, ours->heard);
	library_decode(stock->library, stock->dec, stock->frame, stock->heard);
	p->result.frames++;
	p->result.other_frames += other;
	p->result.other_sounds +=
		memcmp(ours->heard, stock->heard, sizeof(ours->heard)) != 0;
}

struct verify_result verify(const struct verify_plan *plan,
			    const struct material *m)
{
	const struct library_facts *facts = &library_facts[plan->codec];
	size_t n = facts->samples;
	struct pair p = {
		.ours = side_open(library_linked(plan->codec), plan->dtx),
		.stock = side_open(library_installed(plan->codec), plan->dtx),
		.dtx = plan->dtx,
	};
	uint64_t seed = plan->seed | 1;

	for (size_t at = 0; at + n <= m->n; at += n) {
		unsigned mode = plan->mode < 0 ? test_below(&seed, facts->modes)
					       : (unsigned)plan->mode;

		step(&p, mode, m->pcm + at);
	}
	side_close(&p.ours);
	side_close(&p.stock);
	return p.result;
}
