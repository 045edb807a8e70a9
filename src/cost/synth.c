/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic speech: a pulse train or noise through two resonators.
 */
#include "cost/synth.h"

#include <math.h>

static const double two_pi = 6.283185307179586;
/* Distance of the resonators' poles from the unit circle, Hz. */
static const double bandwidth = 90;

static uint32_t draw_bits(struct synth *s)
{
	/* Knuth's MMIX generator; the upper bits are the good ones. */
	s->random = s->random * UINT64_C(6364136223846793005) +
		    UINT64_C(1442695040888963407);
	return (uint32_t)(s->random >> 32);
}

static double draw_within(struct synth *s, double low, double high)
{
	return low + (high - low) * draw_bits(s) / 4294967296.0;
}

void synth_init(struct synth *s, unsigned rate, uint64_t seed)
{
	*s = (struct synth){ .rate = rate, .random = seed };
	(void)draw_bits(s);
}

static double excite_sound(struct synth *s)
{
	double noise = draw_within(s, -1, 1);

	if (s->sound == 0)
		return noise * 0.002;
	if (s->sound == 1)
		return noise * 0.3;
	/* The pitch wavers, as voices do. */
	s->phase += s->pitch * (1 + 0.05 * noise) / s->rate;
	if (s->phase < 1)
		return noise * 0.02;
	s->phase -= 1;
	return 6;
}

static double resonate_at(double in, double *tap, double hz, double rate)
{
	double radius = exp(-two_pi / 2 * bandwidth / rate);
	double out = in * (1 - radius) +
		     2 * radius * cos(two_pi * hz / rate) * tap[0] -
		     radius * radius * tap[1];

	tap[1] = tap[0];
	tap[0] = out;
	return out;
}

void synth_read(struct synth *s, int16_t *pcm, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double in, out;

		if (!s->left) {
			s->sound = draw_bits(s) % 8;
			s->left = (size_t)(draw_within(s, 0.06, 0.3) * s->rate);
			s->pitch = draw_within(s, 90, 220);
			s->formant[0] = draw_within(s, 250, 800);
			s->formant[1] = draw_within(s, 900, 2800);
		}
		s->left--;
		in = excite_sound(s);
		out = resonate_at(in, s->tap[0], s->formant[0], s->rate) +
		      0.5 * resonate_at(in, s->tap[1], s->formant[1], s->rate);
		pcm[i] = (int16_t)(fmax(-1, fmin(1, out * 2)) * 32000);
	}
}
