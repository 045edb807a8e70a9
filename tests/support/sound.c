/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sound for coders. Strengths and lengths are spread over powers of two.
 */
#include "sound.h"

#include <math.h>
#include <string.h>

#include "seed.h"

void sound_init(struct sound *s, unsigned rate,
		const struct speech_corpus *corpus, uint64_t seed)
{
	*s = (struct sound){ .seed = seed | 1, .rate = rate };
	if (corpus)
		speech_reader_init(&s->speech, corpus, seed, 0);
}

/* In [0, 1). */
static double fraction(uint64_t *seed)
{
	return (double)(test_random(seed) >> 11) / 9007199254740992.0;
}

/* Another kind, 20 to 320 ms of it. */
static void next(struct sound *s)
{
	s->kind = (enum sound_kind)test_below(&s->seed, SOUND_KINDS);
	s->left = (size_t)(s->rate * 0.02 * exp2(4 * fraction(&s->seed)));
	s->strength = exp2(-12 * fraction(&s->seed));
	for (unsigned i = 0; i < 2; i++) {
		s->step[i] = 0.5 * fraction(&s->seed);
		s->phase[i] = 0;
	}
}

static int16_t clip(double v)
{
	if (v >= 1)
		return INT16_MAX;
	if (v < -1)
		return INT16_MIN;
	return (int16_t)floor(v * 32767.5);
}

static double turn(struct sound *s, unsigned i)
{
	s->phase[i] += s->step[i];
	s->phase[i] -= floor(s->phase[i]);
	return s->phase[i];
}

static double tones(struct sound *s)
{
	static const double cycle = 6.283185307179586;

	return s->strength *
	       (sin(cycle * turn(s, 0)) + sin(cycle * turn(s, 1))) / 2;
}

static int16_t extreme(uint64_t *seed)
{
	static const int16_t extremes[] = { INT16_MIN, INT16_MAX, 0, -1 };

	return extremes[test_below(seed, 4)];
}

static int16_t sample(struct sound *s, int16_t speech)
{
	switch (s->kind) {
	case SOUND_SPEECH:
		return speech;
	case SOUND_LOUD:
		return clip(speech / 32768.0 / s->strength);
	case SOUND_NOISE:
		return clip(s->strength * (2 * fraction(&s->seed) - 1));
	case SOUND_TONES:
		return clip(tones(s));
	case SOUND_SQUARE:
		return clip(turn(s, 0) < 0.5 ? s->strength : -s->strength);
	case SOUND_PULSES:
		return clip(test_below(&s->seed, 60) ? 0 : s->strength);
	case SOUND_EXTREMES:
		return extreme(&s->seed);
	case SOUND_SILENCE:
	case SOUND_KINDS:
		break;
	}
	return 0;
}

void sound_read(struct sound *s, int16_t *pcm, size_t n)
{
	if (s->speech.corpus)
		speech_read(&s->speech, pcm, n);
	else
		memset(pcm, 0, n * sizeof(*pcm));
	for (size_t i = 0; i < n; i++) {
		if (!s->left)
			next(s);
		s->left--;
		pcm[i] = sample(s, pcm[i]);
	}
}
