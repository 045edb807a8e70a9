/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking at payloads. A receiver does this for every packet while frames may
 * be shed by importance, so PCM takes a look-up and an addition a sample
 * (tests/bench/media/importance.c).
 */
#include "media/importance.h"

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
			const struct payload_cfg *cfg,
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

/* The loudest of them, if of all is known how loud they are. */
static uint8_t of_frames(struct importance_amr *past,
			 const struct payload_cfg *cfg, const uint8_t *p,
			 size_t n)
{
	uint8_t loudest = CR_IMPORTANCE_NOTHING;
	bool known = true;
	struct payload_iter it;
	struct cr_frame frame;

	if (payload_open(cfg, p, n, &it))
		return CR_IMPORTANCE_UNKNOWN;
	while (payload_next(&it, &frame)) {
		uint8_t one = of_frame(past, cfg, &frame);

		known &= one != CR_IMPORTANCE_UNKNOWN;
		loudest = one > loudest ? one : loudest;
	}
	return known ? loudest : CR_IMPORTANCE_UNKNOWN;
}

uint8_t importance_of(struct importance_amr *past,
		      const struct payload_cfg *cfg, const uint8_t *p, size_t n)
{
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
	return of_frames(past, cfg, p, n);
}
