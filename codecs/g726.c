/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G.726 (ITU-T) at 32 kbit/s through libspandsp: two samples in an octet, the
 * first one in its low bits (RFC 3551, 4.5.4; AAL2 has it the other way round).
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

/* The order matters: none of these headers stands alone. */
#include <spandsp/telephony.h>

#include <spandsp/bitstream.h>

#include <spandsp/g726.h>

#include <spandsp/private/bitstream.h>

#include <spandsp/private/g726.h>

#include "codecs/common.h"
#include "codecs/conceal.h"
#include "codecs/registry.h"

enum { BIT_RATE = 32000 };

struct encoder {
	g726_state_t *lib;
	unsigned samples;
};

struct decoder {
	g726_state_t *lib;
	g726_state_t *twin; /* encodes what was concealed */
	struct conceal conceal;
};

static g726_state_t *new_g726(void)
{
	return g726_init(NULL, BIT_RATE, G726_ENCODING_LINEAR,
			 G726_PACKING_RIGHT);
}

static void close_g726_encoder(void *enc)
{
	struct encoder *s = enc;

	if (!s)
		return;
	if (s->lib)
		(void)g726_free(s->lib);
	free(s);
}

static int open_g726_encoder(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	struct encoder *s;
	void *state;
	int ret = codec_check_even(&codec_g726_32, cfg, e);

	if (!ret)
		ret = codec_new_state(&codec_g726_32, cfg, sizeof(*s), &state,
				      e);
	if (ret)
		return ret;
	s = state;
	s->samples = codec_samples(&codec_g726_32, cfg);
	s->lib = new_g726();
	if (!s->lib) {
		close_g726_encoder(s);
		return codec_no_memory(&codec_g726_32, e);
	}
	*enc = s;
	return 0;
}

static int encode_g726(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	const struct encoder *s = enc;
	int bytes;

	if (mode)
		return -EINVAL;
	bytes = g726_encode(s->lib, out->data, pcm, (int)s->samples);
	codec_speech(out, mode, (unsigned)bytes);
	return 0;
}

static void close_g726_decoder(void *dec)
{
	struct decoder *s = dec;

	if (!s)
		return;
	if (s->lib)
		(void)g726_free(s->lib);
	if (s->twin)
		(void)g726_free(s->twin);
	free(s);
}

static int open_g726_decoder(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	struct decoder *s;
	void *state;
	int ret = codec_check_even(&codec_g726_32, cfg, e);

	if (!ret)
		ret = codec_new_state(&codec_g726_32, cfg, sizeof(*s), &state,
				      e);
	if (ret)
		return ret;
	s = state;
	conceal_init(&s->conceal, codec_g726_32.sample_rate,
		     codec_samples(&codec_g726_32, cfg));
	s->lib = new_g726();
	s->twin = new_g726();
	if (!s->lib || !s->twin) {
		close_g726_decoder(s);
		return codec_no_memory(&codec_g726_32, e);
	}
	*dec = s;
	return 0;
}

/* Conceal, and be where the encoder would be if it had coded that: the
 * predictor goes on with what is heard, and the next good frames are nearer to
 * it. A G.726 coder has one kind of state, which encoding and decoding change
 * alike. */
static unsigned conceal_g726(struct decoder *s, int16_t *pcm)
{
	unsigned samples = conceal_lost(&s->conceal, pcm);
	uint8_t codes[CR_PCM_SAMPLES_MAX / 2];

	*s->twin = *s->lib;
	(void)g726_encode(s->twin, codes, pcm, (int)samples);
	*s->lib = *s->twin;
	return samples;
}

static unsigned decode_g726(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	struct decoder *s = dec;
	unsigned samples = 2u * in->bytes;

	if (in->kind != CR_FRAME_SPEECH || !samples ||
	    samples > CR_PCM_SAMPLES_MAX)
		return conceal_g726(s, pcm);
	(void)g726_decode(s->lib, pcm, in->data, in->bytes);
	conceal_good(&s->conceal, pcm, samples);
	return samples;
}

static const struct cr_codec_mode modes[] = {
	{ .name = "32", .bit_rate = BIT_RATE, .bytes = 80 },
};

const struct cr_codec codec_g726_32 = {
	.name = "g726-32",
	.rtp_name = "G726-32",
	.help = "G.726, 32 kbit/s (ITU-T G.726, RFC 3551, libspandsp)",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = 160,
	.any_length = true,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = open_g726_encoder,
	.encode = encode_g726,
	.encoder_close = close_g726_encoder,
	.decoder_open = open_g726_decoder,
	.decode = decode_g726,
	.decoder_close = close_g726_decoder,
};
