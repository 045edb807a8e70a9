/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G.722 (ITU-T) at 64 kbit/s through libspandsp: two sub-bands of 16 kHz
 * speech, an octet for two samples. RTP counts its time in units of 8000 Hz
 * all the same (RFC 3551, 4.5.2).
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The order matters: neither header stands alone. */
#include <spandsp/telephony.h>

#include <spandsp/g722.h>

#include <spandsp/private/g722.h>

#include "codecs/common.h"
#include "codecs/conceal.h"
#include "codecs/registry.h"

enum { BIT_RATE = 64000 };

struct encoder {
	g722_encode_state_t *lib;
	unsigned samples;
};

struct decoder {
	g722_decode_state_t *lib;
	g722_encode_state_t *twin; /* encodes what was concealed */
	struct conceal conceal;
};

static void close_g722_encoder(void *enc)
{
	struct encoder *s = enc;

	if (!s)
		return;
	if (s->lib)
		(void)g722_encode_free(s->lib);
	free(s);
}

static int open_g722_encoder(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	struct encoder *s;
	void *state;
	int ret = codec_check_even(&codec_g722, cfg, e);

	if (!ret)
		ret = codec_new_state(&codec_g722, cfg, sizeof(*s), &state, e);
	if (ret)
		return ret;
	s = state;
	s->samples = codec_samples(&codec_g722, cfg);
	s->lib = g722_encode_init(NULL, BIT_RATE, 0);
	if (!s->lib) {
		close_g722_encoder(s);
		return codec_no_memory(&codec_g722, e);
	}
	*enc = s;
	return 0;
}

static int encode_g722(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	const struct encoder *s = enc;
	int bytes;

	if (mode)
		return -EINVAL;
	bytes = g722_encode(s->lib, out->data, pcm, (int)s->samples);
	codec_speech(out, mode, (unsigned)bytes);
	return 0;
}

static void close_g722_decoder(void *dec)
{
	struct decoder *s = dec;

	if (!s)
		return;
	if (s->lib)
		(void)g722_decode_free(s->lib);
	if (s->twin)
		(void)g722_encode_free(s->twin);
	free(s);
}

static int open_g722_decoder(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	struct decoder *s;
	void *state;
	int ret = codec_check_even(&codec_g722, cfg, e);

	if (!ret)
		ret = codec_new_state(&codec_g722, cfg, sizeof(*s), &state, e);
	if (ret)
		return ret;
	s = state;
	conceal_init(&s->conceal, codec_g722.sample_rate,
		     codec_samples(&codec_g722, cfg));
	s->lib = g722_decode_init(NULL, BIT_RATE, 0);
	s->twin = g722_encode_init(NULL, BIT_RATE, 0);
	if (!s->lib || !s->twin) {
		close_g722_decoder(s);
		return codec_no_memory(&codec_g722, e);
	}
	*dec = s;
	return 0;
}

/* Conceal, and be where the far encoder would be if it had coded that: the
 * predictors go on with what is heard, and the next good frames are nearer to
 * it. Both coders have the same state of their two bands. */
static unsigned conceal_g722(struct decoder *s, int16_t *pcm)
{
	unsigned samples = conceal_lost(&s->conceal, pcm);
	uint8_t codes[CR_PCM_SAMPLES_MAX / 2];
	int16_t heard[CR_PCM_SAMPLES_MAX];
	int bytes;

	memcpy(s->twin->band, s->lib->band, sizeof(s->twin->band));
	bytes = g722_encode(s->twin, codes, pcm, (int)samples);
	(void)g722_decode(s->lib, heard, codes, bytes);
	return samples;
}

static unsigned decode_g722_frame(void *dec, const struct cr_frame *in,
				  int16_t *pcm)
{
	struct decoder *s = dec;
	unsigned samples = 2u * in->bytes;

	if (in->kind != CR_FRAME_SPEECH || !samples ||
	    samples > CR_PCM_SAMPLES_MAX)
		return conceal_g722(s, pcm);
	(void)g722_decode(s->lib, pcm, in->data, in->bytes);
	conceal_good(&s->conceal, pcm, samples);
	return samples;
}

static const struct cr_codec_mode modes[] = {
	{ .name = "64", .bit_rate = BIT_RATE, .bytes = 160 },
};

const struct cr_codec codec_g722 = {
	.name = "g722",
	.rtp_name = "G722",
	.help = "G.722, 64 kbit/s, 16 kHz (ITU-T G.722, libspandsp)",
	.static_pt = 9,
	.sample_rate = 16000,
	.rtp_clock = 8000,
	.samples = 320,
	.any_length = true,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = open_g722_encoder,
	.encode = encode_g722,
	.encoder_close = close_g722_encoder,
	.decoder_open = open_g722_decoder,
	.decode = decode_g722_frame,
	.decoder_close = close_g722_decoder,
};
