/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCM8: the upper eight bits of a sample. A bad idea for calls, and the
 * smallest complete codec: copy it, rename it, change encode_pcm8() and
 * decode_pcm8(). See codecs/README.md. Build and use:
 *
 *     make && codec-runner --codec ./pcm8.so
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cr/codec.h"

enum { SAMPLES = 160 }; /* 20 ms */

/* State of an encoder or decoder: here, none. */
struct state {
	int unused;
};

static int open_state(void **state, const struct cr_codec_cfg *cfg,
		      struct cr_err *e)
{
	if (cfg->mode || (cfg->samples && cfg->samples != SAMPLES) ||
	    (cfg->sample_rate && cfg->sample_rate != 8000))
		return cr_fail(e, -EINVAL, "codec pcm8: only 20 ms of 8 kHz");
	*state = calloc(1, sizeof(struct state));
	return *state ? 0 : cr_fail(e, -ENOMEM, "codec pcm8: out of memory");
}

static int encode_pcm8(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	(void)enc;
	if (mode)
		return -EINVAL;
	for (unsigned i = 0; i < SAMPLES; i++)
		out->data[i] = (uint8_t)((uint16_t)pcm[i] >> 8);
	out->kind = CR_FRAME_SPEECH;
	out->mode = 0;
	out->bytes = SAMPLES;
	return 0;
}

/* Frames come from the network: look before you use them. */
static unsigned decode_pcm8(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	(void)dec;
	if (in->kind != CR_FRAME_SPEECH || in->bytes != SAMPLES) {
		memset(pcm, 0, SAMPLES * sizeof(*pcm));
		return SAMPLES;
	}
	for (unsigned i = 0; i < SAMPLES; i++)
		pcm[i] = (int16_t)((int8_t)in->data[i] * 256);
	return SAMPLES;
}

static const struct cr_codec_mode modes[] = {
	{ .name = "64", .bit_rate = 64000, .bytes = SAMPLES },
};

const struct cr_codec cr_codec_plugin = {
	.abi = CR_CODEC_ABI,
	.name = "pcm8",
	.rtp_name = "X-PCM8",
	.help = "the upper eight bits of a sample: an example",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = SAMPLES,
	.packing = CR_PACK_FRAMES,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = open_state,
	.encode = encode_pcm8,
	.encoder_close = free,
	.decoder_open = open_state,
	.decode = decode_pcm8,
	.decoder_close = free,
};
