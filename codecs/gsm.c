/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GSM full rate (ETSI GSM 06.10) through libgsm: 33 octets for 20 ms, of which
 * the first four bits are 1101 (RFC 3551, 4.5.8). The library conceals nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gsm.h>

#include "codecs/common.h"
#include "codecs/conceal.h"
#include "codecs/registry.h"

enum {
	SAMPLES = 160,
	BYTES = 33,
};

struct encoder {
	gsm lib;
};

struct decoder {
	gsm lib;
	struct conceal conceal;
};

static void close_gsm_encoder(void *enc)
{
	struct encoder *s = enc;

	if (!s)
		return;
	if (s->lib)
		gsm_destroy(s->lib);
	free(s);
}

static int open_gsm_encoder(void **enc, const struct cr_codec_cfg *cfg,
			    struct cr_err *e)
{
	struct encoder *s;
	void *state;
	int ret = codec_new_state(&codec_gsm, cfg, sizeof(*s), &state, e);

	if (ret)
		return ret;
	s = state;
	s->lib = gsm_create();
	if (!s->lib) {
		close_gsm_encoder(s);
		return codec_no_memory(&codec_gsm, e);
	}
	*enc = s;
	return 0;
}

static int encode_gsm(void *enc, unsigned mode, const int16_t *pcm,
		      struct cr_frame *out)
{
	const struct encoder *s = enc;
	int16_t copy[SAMPLES]; /* the library's parameter is not const */

	if (mode)
		return -EINVAL;
	memcpy(copy, pcm, sizeof(copy));
	gsm_encode(s->lib, copy, out->data);
	codec_speech(out, mode, BYTES);
	return 0;
}

static void close_gsm_decoder(void *dec)
{
	struct decoder *s = dec;

	if (!s)
		return;
	if (s->lib)
		gsm_destroy(s->lib);
	free(s);
}

static int open_gsm_decoder(void **dec, const struct cr_codec_cfg *cfg,
			    struct cr_err *e)
{
	struct decoder *s;
	void *state;
	int ret = codec_new_state(&codec_gsm, cfg, sizeof(*s), &state, e);

	if (ret)
		return ret;
	s = state;
	conceal_init(&s->conceal, codec_gsm.sample_rate, SAMPLES);
	s->lib = gsm_create();
	if (!s->lib) {
		close_gsm_decoder(s);
		return codec_no_memory(&codec_gsm, e);
	}
	*dec = s;
	return 0;
}

static unsigned decode_gsm(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	struct decoder *s = dec;
	uint8_t copy[BYTES];

	if (in->kind != CR_FRAME_SPEECH || in->bytes != BYTES ||
	    in->data[0] >> 4 != GSM_MAGIC)
		return conceal_lost(&s->conceal, pcm);
	memcpy(copy, in->data, sizeof(copy));
	(void)gsm_decode(s->lib, copy, pcm);
	conceal_good(&s->conceal, pcm, SAMPLES);
	return SAMPLES;
}

static const struct cr_codec_mode modes[] = {
	{ .name = "13", .bit_rate = 13200, .bytes = BYTES },
};

const struct cr_codec codec_gsm = {
	.name = "gsm",
	.rtp_name = "GSM",
	.help = "GSM full rate, 13 kbit/s (ETSI GSM 06.10, libgsm)",
	.static_pt = 3,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = SAMPLES,
	.packing = CR_PACK_FRAMES,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = open_gsm_encoder,
	.encode = encode_gsm,
	.encoder_close = close_gsm_encoder,
	.decoder_open = open_gsm_decoder,
	.decode = decode_gsm,
	.decoder_close = close_gsm_decoder,
};
