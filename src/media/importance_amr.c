/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMR's gains. Energies are those of a sample of 16 bits, as logarithms in
 * 1/64 of a factor of two (0.047 dB), or as they are in 1/256.
 */
#include "media/importance_amr.h"

#include "base/assert.h"
#include "media/importance.h"

#define SUBFRAMES 4u
#define FIXED_BITS 5u
#define ADAPTIVE_BITS 4u

/* Where the bits of the two gains are in a frame, the highest first, by
 * subframe: speech bits are sorted by class (3GPP TS 26.101, annex B). */
struct places {
	uint8_t fixed[SUBFRAMES][FIXED_BITS];
	uint8_t adaptive[SUBFRAMES][ADAPTIVE_BITS];
};

static const struct places at_12_2 = {
	.fixed = { { 59, 63, 67, 92, 104 },
		   { 60, 64, 68, 93, 105 },
		   { 61, 65, 69, 94, 106 },
		   { 62, 66, 70, 95, 107 } },
	.adaptive = { { 47, 51, 55, 88 },
		      { 48, 52, 56, 89 },
		      { 49, 53, 57, 90 },
		      { 50, 54, 58, 91 } },
};

static const struct places at_7_95 = {
	.fixed = { { 23, 27, 31, 59, 83 },
		   { 24, 28, 32, 60, 84 },
		   { 25, 29, 33, 61, 85 },
		   { 26, 30, 34, 62, 86 } },
	.adaptive = { { 35, 39, 79, 87 },
		      { 36, 40, 80, 88 },
		      { 37, 41, 81, 89 },
		      { 38, 42, 82, 90 } },
};

enum { MODE_7_95 = 5, MODE_12_2 = 7 };

/* The corrections' quantiser, as energies: steps of a factor of 1.15, and of
 * 1.3 at both ends (3GPP TS 26.073). */
static const int16_t corrections[1u << FIXED_BITS] = {
	-472, -424, -376, -327, -293, -267, -241, -216, -190, -164, -138,
	-112, -87,  -61,  -35,	-9,   17,   42,	  68,	94,   120,  146,
	171,  197,  223,  249,	275,  301,  334,  383,	431,  480,
};

/* The adaptive gains, in 1/20. */
#define ADAPTIVE_ONE 20u
static const uint8_t adaptive_gains[1u << ADAPTIVE_BITS] = {
	0, 4, 8, 10, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
};

/* What is predicted of corrections of 0: 36 dB. The share of each of the last
 * ones, in 1/64; the modes differ by less than a hundredth. */
#define MEAN 765
static const uint8_t shares[4] = { 44, 37, 22, 12 };

/* No frame of speech has more. Gains above 1 could add up without end. */
#define LOG_MOST (36 * 64)
#define ENERGY_MOST (UINT64_C(1) << 44)

static unsigned bits_at(const struct cr_frame *f, const uint8_t *at, unsigned n)
{
	unsigned value = 0;

	for (unsigned i = 0; i < n; i++)
		value = value << 1 |
			(f->data[at[i] / 8u] >> (7u - at[i] % 8u) & 1u);
	return value;
}

/* Straight between powers of two: no more than 0.3 dB off. */
static uint64_t energy_of(int log)
{
	if (log < 0)
		return 0;
	if (log > LOG_MOST)
		log = LOG_MOST;
	return (uint64_t)(64 + log % 64) * 4 << log / 64;
}

static void push(struct importance_amr *m, int correction)
{
	m->past[3] = m->past[2];
	m->past[2] = m->past[1];
	m->past[1] = m->past[0];
	m->past[0] = (int16_t)correction;
}

static int predicted(const struct importance_amr *m)
{
	int sum = 0;

	for (unsigned i = 0; i < 4; i++)
		sum += m->past[i] * shares[i];
	return MEAN + sum / 64;
}

/* Its own corrections are the best guess of those before it. */
static void begin(struct importance_amr *m, const int *correction)
{
	int sum = 0;

	for (unsigned i = 0; i < SUBFRAMES; i++)
		sum += correction[i];
	for (unsigned i = 0; i < SUBFRAMES; i++)
		push(m, sum / (int)SUBFRAMES);
	m->energy = 0;
	m->known = true;
}

/* The excitation of a subframe: what is new, and what is repeated. */
static uint64_t excite(struct importance_amr *m, int correction, unsigned gain)
{
	uint64_t repeated =
		m->energy * gain * gain / (ADAPTIVE_ONE * ADAPTIVE_ONE);

	m->energy = energy_of(predicted(m) + correction) + repeated;
	if (m->energy > ENERGY_MOST)
		m->energy = ENERGY_MOST;
	push(m, correction);
	return m->energy;
}

/* By least squares over recordings: four fifths of the excitation's level, and
 * 16 dB for an adaptive gain of 1 (@gains: the four of them). */
static uint8_t level(uint64_t energy, unsigned gains)
{
	uint8_t excitation = importance_of_square(energy);
	unsigned steps = excitation < CR_IMPORTANCE_QUIETEST
				 ? 0
				 : excitation - CR_IMPORTANCE_QUIETEST;

	steps = CR_IMPORTANCE_QUIETEST + 18 + steps * 4 / 5 + gains * 4 / 15;
	return (uint8_t)(steps < CR_IMPORTANCE_LOUDEST ? steps
						       : CR_IMPORTANCE_LOUDEST);
}

static const struct places *places_of(unsigned mode)
{
	switch (mode) {
	case MODE_12_2:
		return &at_12_2;
	case MODE_7_95:
		return &at_7_95;
	default:
		return NULL;
	}
}

bool importance_amr_shows(unsigned mode)
{
	return places_of(mode) != NULL;
}

uint8_t importance_amr(struct importance_amr *m, const struct cr_frame *f)
{
	const struct places *at = places_of(f->mode);
	int correction[SUBFRAMES];
	uint64_t energy = 0;
	unsigned gains = 0;

	CR_ASSERT(at);
	for (unsigned i = 0; i < SUBFRAMES; i++)
		correction[i] =
			corrections[bits_at(f, at->fixed[i], FIXED_BITS)];
	if (!m->known)
		begin(m, correction);
	for (unsigned i = 0; i < SUBFRAMES; i++) {
		unsigned gain = adaptive_gains[bits_at(f, at->adaptive[i],
						       ADAPTIVE_BITS)];

		energy += excite(m, correction[i], gain);
		gains += gain;
	}
	return level(energy / SUBFRAMES / 256, gains);
}
