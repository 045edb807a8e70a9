/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concealment by waveform substitution.
 *
 *      past                            now     lost
 *      ...---------|------ period -----|       |------ period -----|--- ...
 *             overlap      cycle               repeated, fading
 *
 * The end of the cycle is blended into what came before it, so that it fits its
 * own beginning. The step from the last good sample to the first of the cycle
 * is added and dies away.
 */
#include "codecs/conceal.h"

#include <math.h>
#include <string.h>

#include "base/assert.h"

enum {
	COARSE_RATE = 4000, /* Hz, of the first search for the period */
	COARSE_MAX = COARSE_RATE / 1000 * (CONCEAL_PERIOD_MS + CONCEAL_SPAN_MS),
	HIGHEST_PITCH = 200, /* Hz; of a higher one two periods are repeated */
	BLEND_MS = 3,
	OVERLAP = 4, /* part of the period: a quarter */
};

static unsigned samples_of(const struct conceal *c, unsigned ms)
{
	return c->rate / 1000 * ms;
}

void conceal_init(struct conceal *c, unsigned rate, unsigned samples)
{
	CR_ASSERT(rate >= 2 * COARSE_RATE && rate <= CONCEAL_RATE_MAX);
	memset(c, 0, sizeof(*c));
	c->rate = rate;
	c->samples = samples;
	c->history = samples_of(c, CONCEAL_PERIOD_MS + CONCEAL_SPAN_MS);
}

static void remember_speech(struct conceal *c, const int16_t *pcm, unsigned n)
{
	unsigned keep = c->history;

	if (n >= keep) {
		memcpy(c->past, pcm + n - keep, keep * sizeof(*pcm));
		return;
	}
	memmove(c->past, c->past + n, (keep - n) * sizeof(*pcm));
	memcpy(c->past + keep - n, pcm, n * sizeof(*pcm));
}

/* How much the last @span of @x[@n] is like what is @lag before it: the squared
 * cosine of the two, with its sign. */
static float likeness(const float *x, unsigned n, unsigned span, unsigned lag)
{
	const float *now = x + n - span, *then = now - lag;
	float product = 0, power = 1;

	for (unsigned i = 0; i < span; i++) {
		product += now[i] * then[i];
		power += then[i] * then[i];
	}
	return product * fabsf(product) / power;
}

static unsigned best_pitch_lag(const float *x, unsigned n, unsigned span,
			       unsigned from, unsigned to)
{
	float best = -INFINITY;
	unsigned found = from;

	for (unsigned lag = from; lag <= to; lag++) {
		float like = likeness(x, n, span, lag);

		if (like > best) {
			best = like;
			found = lag;
		}
	}
	return found;
}

/* The period of the past's end: first at a low rate, then exactly. */
static unsigned find_period(const struct conceal *c)
{
	float fine[sizeof(c->past) / sizeof(c->past[0])], coarse[COARSE_MAX];
	unsigned each = c->rate / COARSE_RATE, n = c->history / each, lag;
	unsigned least = c->rate / HIGHEST_PITCH;
	unsigned most = samples_of(c, CONCEAL_PERIOD_MS);

	memset(coarse, 0, sizeof(coarse));
	for (unsigned i = 0; i < c->history; i++) {
		fine[i] = c->past[i];
		coarse[i / each] += fine[i];
	}
	lag = each * best_pitch_lag(coarse, n,
				    samples_of(c, CONCEAL_SPAN_MS) / each,
				    least / each, most / each);
	if (lag >= least + each)
		least = lag - each;
	if (lag + each <= most)
		most = lag + each;
	return best_pitch_lag(fine, c->history, samples_of(c, CONCEAL_SPAN_MS),
			      least, most);
}

static void start_concealing(struct conceal *c)
{
	unsigned period = find_period(c), overlap = period / OVERLAP;
	const int16_t *end = c->past + c->history;

	for (unsigned i = 0; i < period; i++)
		c->cycle[i] = end[(int)i - (int)period];
	c->step = (float)(end[-1] - end[-1 - (int)period]);
	for (unsigned i = 1; i <= overlap; i++) {
		float w = (float)(overlap + 1 - i) / (float)(overlap + 1);

		c->cycle[period - i] +=
			w * (float)(end[-(int)period - (int)i] - end[-(int)i]);
	}
	c->period = period;
	c->at = 0;
}

/* The voice as it would go on, fading to silence. */
static float next_pitch(struct conceal *c)
{
	unsigned fade = samples_of(c, CONCEAL_FADE_MS);
	unsigned overlap = c->period / OVERLAP;
	float x = c->cycle[c->at];

	if (c->lost < overlap)
		x += c->step * (float)(overlap - c->lost) / (float)overlap;
	if (++c->at == c->period)
		c->at = 0;
	x *= c->lost < fade ? (float)(fade - c->lost) / (float)fade : 0;
	c->lost++;
	return fminf(fmaxf(x, -32768), 32767);
}

void conceal_good(struct conceal *c, int16_t *pcm, unsigned samples)
{
	unsigned whole = samples_of(c, BLEND_MS);

	if (c->lost && !c->blend)
		c->blend = whole;
	for (unsigned i = 0; i < samples && c->blend; i++, c->blend--) {
		float w = (float)c->blend / (float)(whole + 1);

		pcm[i] = (int16_t)lrintf((float)pcm[i] * (1 - w) +
					 next_pitch(c) * w);
	}
	if (!c->blend)
		c->lost = 0;
	c->heard = true;
	c->samples = samples;
	remember_speech(c, pcm, samples);
}

unsigned conceal_lost(struct conceal *c, int16_t *pcm)
{
	unsigned n = c->samples;

	if (!c->heard || c->lost >= samples_of(c, CONCEAL_FADE_MS)) {
		memset(pcm, 0, n * sizeof(*pcm));
	} else {
		if (!c->lost)
			start_concealing(c);
		for (unsigned i = 0; i < n; i++)
			pcm[i] = (int16_t)lrintf(next_pitch(c));
	}
	c->blend = 0;
	remember_speech(c, pcm, n);
	return n;
}
