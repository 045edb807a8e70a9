/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCMU and PCMA: ITU-T G.711 as RFC 3551 carries it, one octet a sample.
 *
 * Both laws are eight segments of sixteen steps; each segment has steps twice
 * as large as the one before. A code is sign, segment (3 bits), step (4 bits),
 * then inverted (u-law: all bits; A-law: the even ones).
 */
#include "codecs/g711.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "codecs/common.h"
#include "codecs/conceal.h"
#include "codecs/registry.h"

enum {
	ULAW_BIAS = 33,	 /* makes segments start at powers of two */
	ULAW_TOP = 8191, /* largest biased magnitude, 14 bits     */
	ALAW_INVERT = 0x55,
	ULAW_SHIFT = 2, /* low bits of 16 that a code does not depend on */
	ALAW_SHIFT = 4,
};

/* An encoder needs to know no more than how long a frame is. */
struct encoder {
	unsigned samples;
};

struct decoder {
	struct conceal conceal;
};

/* The segment of @magnitude: how far its top bit is above bit @base. */
static unsigned segment_of(unsigned magnitude, unsigned base)
{
	unsigned top = 31 - (unsigned)__builtin_clz(magnitude | 1u << base);

	return top - base;
}

/* Magnitude of @linear in units of 1 << @shift. Negative values count from -1,
 * so that the two halves have equally many codes. */
static unsigned magnitude_of(int linear, unsigned shift)
{
	return (unsigned)(linear < 0 ? ~linear : linear) >> shift;
}

uint8_t ulaw_encode(int16_t linear)
{
	unsigned m = magnitude_of(linear, ULAW_SHIFT) + ULAW_BIAS;
	unsigned segment, code;

	if (m > ULAW_TOP)
		m = ULAW_TOP;
	segment = segment_of(m, 5);
	code = segment << 4 | (m >> (segment + 1) & 0xf);
	if (linear < 0)
		code |= 0x80;
	return (uint8_t)~code;
}

int16_t ulaw_decode(uint8_t code)
{
	unsigned c = (uint8_t)~code;
	unsigned segment = c >> 4 & 7;
	int m = (int)(((c & 0xf) * 2 + ULAW_BIAS) << segment) - ULAW_BIAS;

	return (int16_t)((c & 0x80 ? -m : m) * 4);
}

uint8_t alaw_encode(int16_t linear)
{
	unsigned m = magnitude_of(linear, ALAW_SHIFT);
	unsigned segment = segment_of(m, 3);
	unsigned step = segment ? m >> (segment - 1) : m;
	unsigned code = segment << 4 | (step & 0xf);

	if (linear >= 0)
		code |= 0x80;
	return (uint8_t)(code ^ ALAW_INVERT);
}

int16_t alaw_decode(uint8_t code)
{
	unsigned c = code ^ ALAW_INVERT;
	unsigned segment = c >> 4 & 7;
	/* Twice the 12-bit magnitude, to hold the middle of a step. */
	unsigned m = (c & 0xf) * 2 + 1;

	if (segment)
		m = (m + 32) << (segment - 1);
	return (int16_t)((c & 0x80 ? (int)m : -(int)m) * 8);
}

/* A call's every sample goes this way, and looking it up takes a fraction of
 * what working it out does. Filled once, before the first codec is there.
 * Codes are by the bits of the linear value that they depend on. */
static int16_t ulaw_linear[256], alaw_linear[256];
static uint8_t ulaw_code[1 << (16 - ULAW_SHIFT)];
static uint8_t alaw_code[1 << (16 - ALAW_SHIFT)];
static pthread_once_t filled = PTHREAD_ONCE_INIT;

static void fill(void)
{
	for (unsigned code = 0; code < 256; code++) {
		ulaw_linear[code] = ulaw_decode((uint8_t)code);
		alaw_linear[code] = alaw_decode((uint8_t)code);
	}
	for (unsigned v = 0; v < sizeof(ulaw_code); v++)
		ulaw_code[v] = ulaw_encode((int16_t)(v << ULAW_SHIFT));
	for (unsigned v = 0; v < sizeof(alaw_code); v++)
		alaw_code[v] = alaw_encode((int16_t)(v << ALAW_SHIFT));
}

static int open_g711_encoder(const struct cr_codec *codec, void **enc,
			     const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	struct encoder *s;
	int ret = codec_new_state(codec, cfg, sizeof(*s), enc, e);

	if (ret)
		return ret;
	(void)pthread_once(&filled, fill);
	s = *enc;
	s->samples = codec_samples(codec, cfg);
	return 0;
}

static int open_g711_decoder(const struct cr_codec *codec, void **dec,
			     const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	struct decoder *s;
	int ret = codec_new_state(codec, cfg, sizeof(*s), dec, e);

	if (ret)
		return ret;
	(void)pthread_once(&filled, fill);
	s = *dec;
	conceal_init(&s->conceal, codec_rate(codec, cfg),
		     codec_samples(codec, cfg));
	return 0;
}

static bool is_g711_frame(const struct cr_frame *in)
{
	return in->kind == CR_FRAME_SPEECH && in->bytes > 0 &&
	       in->bytes <= CR_PCM_SAMPLES_MAX;
}

static int pcmu_encoder_open(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	return open_g711_encoder(&codec_pcmu, enc, cfg, e);
}

static int pcma_encoder_open(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	return open_g711_encoder(&codec_pcma, enc, cfg, e);
}

static int pcmu_decoder_open(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	return open_g711_decoder(&codec_pcmu, dec, cfg, e);
}

static int pcma_decoder_open(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	return open_g711_decoder(&codec_pcma, dec, cfg, e);
}

/* The loops are written out for each law so that the compiler inlines them. */
static int pcmu_encode(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	const struct encoder *s = enc;

	if (mode)
		return -EINVAL;
	for (unsigned i = 0; i < s->samples; i++)
		out->data[i] = ulaw_code[(uint16_t)pcm[i] >> ULAW_SHIFT];
	codec_speech(out, mode, s->samples);
	return 0;
}

static int pcma_encode(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	const struct encoder *s = enc;

	if (mode)
		return -EINVAL;
	for (unsigned i = 0; i < s->samples; i++)
		out->data[i] = alaw_code[(uint16_t)pcm[i] >> ALAW_SHIFT];
	codec_speech(out, mode, s->samples);
	return 0;
}

/* @linear: of each octet. */
static unsigned decode_g711(struct decoder *s, const int16_t linear[256],
			    const struct cr_frame *in, int16_t *pcm)
{
	if (!is_g711_frame(in))
		return conceal_lost(&s->conceal, pcm);
	for (unsigned i = 0; i < in->bytes; i++)
		pcm[i] = linear[in->data[i]];
	conceal_good(&s->conceal, pcm, in->bytes);
	return in->bytes;
}

static unsigned pcmu_decode(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	return decode_g711(dec, ulaw_linear, in, pcm);
}

static unsigned pcma_decode(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	return decode_g711(dec, alaw_linear, in, pcm);
}

static const struct cr_codec_mode modes[] = {
	{ .name = "64", .bit_rate = 64000, .bytes = 160 },
};

const struct cr_codec codec_pcmu = {
	.name = "pcmu",
	.rtp_name = "PCMU",
	.help = "G.711 u-law, 64 kbit/s (ITU-T G.711, RFC 3551)",
	.static_pt = 0,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = 160,
	.any_length = true,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = pcmu_encoder_open,
	.encode = pcmu_encode,
	.encoder_close = free,
	.decoder_open = pcmu_decoder_open,
	.decode = pcmu_decode,
	.decoder_close = free,
};

const struct cr_codec codec_pcma = {
	.name = "pcma",
	.rtp_name = "PCMA",
	.help = "G.711 A-law, 64 kbit/s (ITU-T G.711, RFC 3551)",
	.static_pt = 8,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = 160,
	.any_length = true,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = pcma_encoder_open,
	.encode = pcma_encode,
	.encoder_close = free,
	.decoder_open = pcma_decoder_open,
	.decode = pcma_decode,
	.decoder_close = free,
};
