/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at payloads, PCM and AMR. A receiver does this for every packet while
 * frames may be shed by importance, so PCM takes a look-up and an addition a
 * sample (tests/bench/media/importance.c).
 *
 * Energies of AMR are those of a sample of 16 bits, as logarithms in 1/64 of a
 * factor of two (0.047 dB), or as they are in 1/256.
 */
#include "media/importance.h"

#include "base/assert.h"

/* --- AMR's gains --- */

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

/* The prediction for corrections of 0: 36 dB. The share of each of the last
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
static uint64_t energy_of_log(int log)
{
	if (log < 0)
		return 0;
	if (log > LOG_MOST)
		log = LOG_MOST;
	return (uint64_t)(64 + log % 64) * 4 << log / 64;
}

static void push_correction(struct importance_amr *m, int correction)
{
	m->past[3] = m->past[2];
	m->past[2] = m->past[1];
	m->past[1] = m->past[0];
	m->past[0] = (int16_t)correction;
}

/* The excitation of a subframe: what is new, and what is repeated. */
static uint64_t excite_subframe(struct importance_amr *m, int correction,
				unsigned gain)
{
	uint64_t repeated =
		m->energy * gain * gain / (ADAPTIVE_ONE * ADAPTIVE_ONE);
	int predicted = 0;

	for (unsigned i = 0; i < 4; i++)
		predicted += m->past[i] * shares[i];
	m->energy =
		energy_of_log(MEAN + predicted / 64 + correction) + repeated;
	if (m->energy > ENERGY_MOST)
		m->energy = ENERGY_MOST;
	push_correction(m, correction);
	return m->energy;
}

/* By least squares over recordings: four fifths of the excitation's level, and
 * 16 dB for an adaptive gain of 1 (@gains: the four of them). */
static uint8_t level_of_energy(uint64_t energy, unsigned gains)
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
	if (!m->known) {
		int sum = 0;

		/* Its own corrections are the best guess of those before it. */
		for (unsigned i = 0; i < SUBFRAMES; i++)
			sum += correction[i];
		for (unsigned i = 0; i < SUBFRAMES; i++)
			push_correction(m, sum / (int)SUBFRAMES);
		m->energy = 0;
		m->known = true;
	}
	for (unsigned i = 0; i < SUBFRAMES; i++) {
		unsigned gain = adaptive_gains[bits_at(f, at->adaptive[i],
						       ADAPTIVE_BITS)];

		energy += excite_subframe(m, correction[i], gain);
		gains += gain;
	}
	return level_of_energy(energy / SUBFRAMES / 256, gains);
}

/* --- any payload --- */

/* Samples by segment and step, squared (codecs/g711.c says what these are). The
 * smallest step of A-law, 8 of 32768, is its silence: nothing. */
#define SQUARE(v) ((uint32_t)((v) * (v)))
#define ULAW(segment, step)                                                    \
	SQUARE(4u * (((2u * (step) + 33u) << (segment)) - 33u))
#define ALAW(segment, step)                                                    \
	SQUARE(8u * ((segment)                                                 \
			     ? (2u * (step) + 33u) << (((segment) + 7u) % 8u)  \
		     : (step) ? 2u * (step) + 1u                               \
			      : 0u))
#define STEPS(law, s)                                                          \
	law(s, 0u), law(s, 1u), law(s, 2u), law(s, 3u), law(s, 4u),            \
		law(s, 5u), law(s, 6u), law(s, 7u), law(s, 8u), law(s, 9u),    \
		law(s, 10u), law(s, 11u), law(s, 12u), law(s, 13u),            \
		law(s, 14u), law(s, 15u)
#define SEGMENTS(law)                                                          \
	STEPS(law, 0u), STEPS(law, 1u), STEPS(law, 2u), STEPS(law, 3u),        \
		STEPS(law, 4u), STEPS(law, 5u), STEPS(law, 6u), STEPS(law, 7u)

static const uint32_t ulaw_squares[128] = { SEGMENTS(ULAW) };
static const uint32_t alaw_squares[128] = { SEGMENTS(ALAW) };

/* On the wire, codes are inverted: all bits, or the even ones. */
#define ULAW_INVERT 0xffu
#define ALAW_INVERT 0x55u

uint8_t importance_of_square(uint64_t square)
{
	unsigned octave, quarter;

	if (!square)
		return CR_IMPORTANCE_NOTHING;
	octave = 63u - (unsigned)__builtin_clzll(square);
	if (octave > 30)
		return CR_IMPORTANCE_LOUDEST;
	/* the two bits behind the first one; between powers of two this is no
	 * more than a third of a dB off */
	quarter = (unsigned)(square << 2 >> octave) & 3u;
	return (uint8_t)(CR_IMPORTANCE_QUIETEST + 4 * octave + quarter);
}

static uint64_t sum_g711(const uint32_t *squares, unsigned invert,
			 const uint8_t *p, size_t n)
{
	uint64_t even = 0, odd = 0;
	size_t i;

	for (i = 0; i + 2 <= n; i += 2) {
		even += squares[(p[i] ^ invert) & 127u];
		odd += squares[(p[i + 1] ^ invert) & 127u];
	}
	if (i < n)
		even += squares[(p[i] ^ invert) & 127u];
	return even + odd;
}

/* High octet first. */
static int sample_at(const uint8_t *p)
{
	return (int16_t)(uint16_t)(p[0] << 8 | p[1]);
}

static uint64_t sum_l16(const uint8_t *p, size_t samples)
{
	uint64_t even = 0, odd = 0;
	size_t i;

	for (i = 0; i + 2 <= samples; i += 2) {
		int a = sample_at(p + 2 * i), b = sample_at(p + 2 * i + 2);

		even += (uint32_t)(a * a);
		odd += (uint32_t)(b * b);
	}
	if (i < samples) {
		int a = sample_at(p + 2 * i);

		even += (uint32_t)(a * a);
	}
	return even + odd;
}

static uint8_t of_mean(uint64_t sum, size_t samples)
{
	return samples ? importance_of_square(sum / samples)
		       : CR_IMPORTANCE_UNKNOWN;
}

/* A frame of a codec that says when nothing is said. */
static uint8_t of_frame(struct importance_amr *past,
			const struct codec_use *cfg,
			const struct cr_frame *frame)
{
	if (cfg->kind == PAYLOAD_AMR && frame->kind == CR_FRAME_SPEECH &&
	    importance_amr_shows(frame->mode))
		return importance_amr(past, frame);
	importance_amr_forget(past);
	return frame->kind == CR_FRAME_SID || frame->kind == CR_FRAME_NO_DATA
		       ? CR_IMPORTANCE_NOTHING
		       : CR_IMPORTANCE_UNKNOWN;
}

uint8_t importance_of(struct importance_amr *past, const struct codec_use *cfg,
		      const uint8_t *p, size_t n)
{
	uint8_t loudest = CR_IMPORTANCE_NOTHING;
	bool known = true;
	struct payload_iter it;
	struct cr_frame frame;

	switch (cfg->kind) {
	case PAYLOAD_PCMU:
		return of_mean(sum_g711(ulaw_squares, ULAW_INVERT, p, n), n);
	case PAYLOAD_PCMA:
		return of_mean(sum_g711(alaw_squares, ALAW_INVERT, p, n), n);
	case PAYLOAD_L16:
		return of_mean(sum_l16(p, n / 2), n / 2);
	case PAYLOAD_WHOLE:
		return n && n <= PAYLOAD_QUIET_BYTES ? CR_IMPORTANCE_NOTHING
						     : CR_IMPORTANCE_UNKNOWN;
	case PAYLOAD_G722:
	case PAYLOAD_G726:
		return CR_IMPORTANCE_UNKNOWN;
	case PAYLOAD_AMR:
	case PAYLOAD_AMR_WB:
	case PAYLOAD_G723:
	case PAYLOAD_FRAMES:
	case PAYLOAD_SPEEX:
		break;
	}
	/* The loudest of them, if of all is known how loud they are. */
	if (payload_open(cfg, p, n, &it))
		return CR_IMPORTANCE_UNKNOWN;
	while (payload_next(&it, &frame)) {
		uint8_t one = of_frame(past, cfg, &frame);

		known &= one != CR_IMPORTANCE_UNKNOWN;
		loudest = one > loudest ? one : loudest;
	}
	return known ? loudest : CR_IMPORTANCE_UNKNOWN;
}
