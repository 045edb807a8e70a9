/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Comfort noise (RFC 3389): white noise through an all-pole lattice.
 */
#include "rtp/comfort_noise.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/random.h"

/* RMS of 0 dBov: a square wave between the limits (RFC 3389, 3). */
#define FULL_SCALE 32767.0f
/* The part of its way to the goal that the gain goes with each sample: 63 % in
 * 32 samples. */
#define GAIN_STEP (1.0f / 32)

enum {
	ZERO = 127, /* index of a coefficient of 0 */
	RESERVED = 255,
	LEVEL_MASK = 0x7f,
	PARTS = 4, /* uniform numbers in a sample of noise */
};

int comfort_noise_parse(const uint8_t *payload, size_t bytes,
			struct comfort_noise *out)
{
	size_t order = bytes ? bytes - 1 : 0;

	if (!bytes || payload[0] & ~LEVEL_MASK)
		return -EINVAL;
	for (size_t i = 1; i < bytes; i++)
		if (payload[i] == RESERVED)
			return -EINVAL;
	if (order > COMFORT_NOISE_ORDER_MAX)
		order = COMFORT_NOISE_ORDER_MAX;
	*out = (struct comfort_noise){ .level = payload[0],
				       .order = (uint8_t)order };
	memcpy(out->reflection, payload + 1, order);
	return 0;
}

size_t comfort_noise_build(uint8_t *buf, const struct comfort_noise *noise)
{
	size_t order = noise->order;

	if (order > COMFORT_NOISE_ORDER_MAX)
		order = COMFORT_NOISE_ORDER_MAX;
	buf[0] = noise->level < LEVEL_MASK ? noise->level : LEVEL_MASK;
	for (size_t i = 0; i < order; i++)
		buf[1 + i] = noise->reflection[i] < RESERVED
				     ? noise->reflection[i]
				     : RESERVED - 1;
	return 1 + order;
}

static float reflection_of(uint8_t index)
{
	unsigned n = index < RESERVED ? index : RESERVED - 1;

	return 258.0f * ((float)n - (float)ZERO) / 32768;
}

static uint8_t reflection_index(float k)
{
	float n = roundf(k * 32768 / 258) + (float)ZERO;

	return (uint8_t)fminf(fmaxf(n, 0), RESERVED - 1);
}

void comfort_noise_start(struct comfort_noise_generator *g, uint64_t seed)
{
	*g = (struct comfort_noise_generator){ .random = seed };
}

void comfort_noise_set(struct comfort_noise_generator *g,
		       const struct comfort_noise *noise)
{
	unsigned order = noise->order < COMFORT_NOISE_ORDER_MAX
				 ? noise->order
				 : COMFORT_NOISE_ORDER_MAX;
	float power = 1;

	/* The filter makes white noise louder by 1 / product(1 - k^2). */
	for (unsigned i = 0; i < order; i++) {
		g->k[i] = reflection_of(noise->reflection[i]);
		power *= 1 - g->k[i] * g->k[i];
	}
	memset(g->state + order, 0,
	       (COMFORT_NOISE_ORDER_MAX + 1 - order) * sizeof(g->state[0]));
	g->order = order;
	g->goal = noise->level >= COMFORT_NOISE_SILENT
			  ? 0
			  : FULL_SCALE * powf(10, -(float)noise->level / 20) *
				    sqrtf(power);
}

/* Near enough to a Gaussian: four uniform numbers; mean 0, variance 1. */
static float white(uint64_t *random)
{
	/* One of 16 bits has the variance 65536^2 / 12. */
	static const float scale = 1 / (65536.0f * 0.57735026f);
	uint64_t bits = splitmix64(random);
	int sum = 0;

	for (unsigned i = 0; i < PARTS; i++)
		sum += (int)(bits >> 16 * i & 0xffff);
	return ((float)sum - (float)PARTS * 32767.5f) * scale;
}

/* Far beyond full scale: what a filter may ring up to. */
#define RING_MAX 1e7f

/* One sample through 1 / A(z), in lattice form: stable for any |k| < 1, also
 * while coefficients change. state[m] is the backward error of order m. Twelve
 * coefficients near 1 amplify what others have left there beyond any number. */
static float lattice(struct comfort_noise_generator *g, float x)
{
	for (unsigned m = g->order; m-- > 0;) {
		x -= g->k[m] * g->state[m];
		x = fminf(fmaxf(x, -RING_MAX), RING_MAX);
		g->state[m + 1] = g->state[m] + g->k[m] * x;
	}
	g->state[0] = x;
	return x;
}

void comfort_noise_generate(struct comfort_noise_generator *g, int16_t *pcm,
			    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float x;

		g->gain += (g->goal - g->gain) * GAIN_STEP;
		x = lattice(g, g->gain * white(&g->random));
		pcm[i] = (int16_t)lrintf(fminf(fmaxf(x, -32768), 32767));
	}
}

/* Levinson and Durbin's recursion: @r[0..order] to @k[order]. */
static void reflections(const double *r, unsigned order, double *k)
{
	double a[COMFORT_NOISE_ORDER_MAX + 1] = { 1 }, error = r[0];

	for (unsigned m = 0; m < order; m++) {
		double sum = 0, before[COMFORT_NOISE_ORDER_MAX + 1];

		for (unsigned i = 0; i <= m; i++)
			sum += a[i] * r[m + 1 - i];
		k[m] = error > 0 ? -sum / error : 0;
		memcpy(before, a, sizeof(a));
		for (unsigned i = 1; i <= m + 1; i++)
			a[i] = before[i] + k[m] * before[m + 1 - i];
		error *= 1 - k[m] * k[m];
	}
}

void comfort_noise_measure(const int16_t *pcm, size_t n, unsigned order,
			   struct comfort_noise *out)
{
	double r[COMFORT_NOISE_ORDER_MAX + 1], k[COMFORT_NOISE_ORDER_MAX];
	double level;

	if (order > COMFORT_NOISE_ORDER_MAX)
		order = COMFORT_NOISE_ORDER_MAX;
	for (unsigned lag = 0; lag <= order; lag++) {
		r[lag] = 0;
		for (size_t i = lag; i < n; i++)
			r[lag] += (double)pcm[i] * pcm[i - lag];
	}
	*out = (struct comfort_noise){ .level = COMFORT_NOISE_SILENT };
	if (!n || r[0] <= 0)
		return;
	level = -10 * log10(r[0] / (double)n /
			    ((double)FULL_SCALE * (double)FULL_SCALE));
	out->level = (uint8_t)fmin(fmax(round(level), 0), LEVEL_MASK);
	out->order = (uint8_t)order;
	reflections(r, order, k);
	for (unsigned i = 0; i < order; i++)
		out->reflection[i] = reflection_index((float)k[i]);
}
