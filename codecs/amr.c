/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMR narrow-band (3GPP TS 26.071) through libopencore-amrnb.
 *
 * Bad and lost frames are decoded as frame type 15 (NO_DATA), which is also
 * what the library makes of its bad-frame flag: after speech it fades the last
 * frame out, after SID it goes on with comfort noise. Types 9 to 14 leave its
 * output unwritten, so they never get there.
 */
#include <errno.h>
#include <string.h>

#include <opencore-amrnb/interf_dec.h>
#include <opencore-amrnb/interf_enc.h>

#include "codecs/amr_frame.h"
#include "codecs/common.h"
#include "codecs/registry.h"

enum {
	SAMPLES = 160,
	NMODES = 8,
	FRAME_BYTES = 1 + 31, /* ToC and the frame of the highest mode */
};

static const struct cr_codec_mode modes[NMODES] = {
	{ .name = "4.75", .bit_rate = 4750, .bytes = 12 },
	{ .name = "5.15", .bit_rate = 5150, .bytes = 13 },
	{ .name = "5.90", .bit_rate = 5900, .bytes = 15 },
	{ .name = "6.70", .bit_rate = 6700, .bytes = 17 },
	{ .name = "7.40", .bit_rate = 7400, .bytes = 19 },
	{ .name = "7.95", .bit_rate = 7950, .bytes = 20 },
	{ .name = "10.2", .bit_rate = 10200, .bytes = 26 },
	{ .name = "12.2", .bit_rate = 12200, .bytes = 31 },
};

static int open_amr_encoder(void **enc, const struct cr_codec_cfg *cfg,
			    struct cr_err *e)
{
	int ret = codec_check(&codec_amr, cfg, e);
	void *state;

	if (ret)
		return ret;
	state = Encoder_Interface_init(cfg->dtx);
	if (!state)
		return codec_no_memory(&codec_amr, e);
	*enc = state;
	return 0;
}

static int encode_amr(void *enc, unsigned mode, const int16_t *pcm,
		      struct cr_frame *out)
{
	int16_t speech[SAMPLES];
	uint8_t buf[FRAME_BYTES];
	int bytes;

	if (mode >= NMODES)
		return -EINVAL;
	/* The library clears the lowest three bits of its input in place. */
	memcpy(speech, pcm, sizeof(speech));
	bytes = Encoder_Interface_Encode(enc, (enum Mode)mode, speech, buf, 0);
	amr_frame_load(&codec_amr, buf, bytes, out);
	return 0;
}

static void close_amr_encoder(void *enc)
{
	if (enc)
		Encoder_Interface_exit(enc);
}

static int open_amr_decoder(void **dec, const struct cr_codec_cfg *cfg,
			    struct cr_err *e)
{
	int ret = codec_check(&codec_amr, cfg, e);
	void *state;

	if (ret)
		return ret;
	state = Decoder_Interface_init();
	if (!state)
		return codec_no_memory(&codec_amr, e);
	*dec = state;
	return 0;
}

static unsigned decode_amr(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	uint8_t buf[FRAME_BYTES] = { 0 };

	(void)amr_frame_store(&codec_amr, in, AMR_FT_NO_DATA, buf);
	Decoder_Interface_Decode(dec, buf, pcm, 0);
	return SAMPLES;
}

static void close_amr_decoder(void *dec)
{
	if (dec)
		Decoder_Interface_exit(dec);
}

const struct cr_codec codec_amr = {
	.name = "amr",
	.rtp_name = "AMR",
	.help = "AMR narrow-band, 8 modes, DTX (3GPP TS 26.071, "
		"libopencore-amrnb)",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = SAMPLES,
	.dtx = true,
	.kernels = true,
	.modes = modes,
	.nmodes = NMODES,
	.default_mode = 7,
	.encoder_open = open_amr_encoder,
	.encode = encode_amr,
	.encoder_close = close_amr_encoder,
	.decoder_open = open_amr_decoder,
	.decode = decode_amr,
	.decoder_close = close_amr_decoder,
};
