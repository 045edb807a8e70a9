/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMR narrow-band (3GPP TS 26.071) through libopencore-amrnb.
 *
 * The library's frames are those of the storage format (RFC 4867, 5.3): a ToC
 * octet, then the speech bits padded to octets. A struct cr_frame holds what
 * follows the ToC; its mode is the ToC's frame type.
 *
 * Bad and lost frames are decoded as frame type 15 (NO_DATA), which is also
 * what the library makes of its bad-frame flag: after speech it fades the last
 * frame out, after SID it goes on with comfort noise. Types 9 to 14 leave its
 * output unwritten, so they never get there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <opencore-amrnb/interf_dec.h>
#include <opencore-amrnb/interf_enc.h>

#include "codecs/common.h"
#include "codecs/registry.h"

enum {
	SAMPLES = 160,
	FT_SID = 8,
	FT_NO_DATA = 15,
	SID_BYTES = 5,
	NMODES = 8,
	FRAME_BYTES = 1 + 31, /* ToC and the frame of the highest mode */
	TOC_FT_SHIFT = 3,
	TOC_QUALITY = 1 << 2,
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

static int encoder_open(void **enc, const struct cr_codec_cfg *cfg,
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

static int encode(void *enc, unsigned mode, const int16_t *pcm,
		  struct cr_frame *out)
{
	int16_t speech[SAMPLES];
	uint8_t buf[FRAME_BYTES];
	unsigned ft;
	int bytes;

	if (mode >= NMODES)
		return -EINVAL;
	/* The library clears the lowest three bits of its input in place. */
	memcpy(speech, pcm, sizeof(speech));
	bytes = Encoder_Interface_Encode(enc, (enum Mode)mode, speech, buf, 0);
	ft = buf[0] >> TOC_FT_SHIFT & 0xf;
	if (bytes <= 1 || ft == FT_NO_DATA) {
		codec_no_data(out, FT_NO_DATA);
		return 0;
	}
	codec_speech(out, ft, (unsigned)bytes - 1);
	if (ft == FT_SID)
		out->kind = CR_FRAME_SID;
	memcpy(out->data, buf + 1, out->bytes);
	return 0;
}

static void encoder_close(void *enc)
{
	if (enc)
		Encoder_Interface_exit(enc);
}

static int decoder_open(void **dec, const struct cr_codec_cfg *cfg,
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

/* The frame type under which the library may see @in. */
static unsigned type_of(const struct cr_frame *in)
{
	if (in->kind == CR_FRAME_SPEECH && in->mode < NMODES &&
	    in->bytes == modes[in->mode].bytes)
		return in->mode;
	if (in->kind == CR_FRAME_SID && in->bytes == SID_BYTES)
		return FT_SID;
	return FT_NO_DATA;
}

static unsigned decode(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	uint8_t buf[FRAME_BYTES] = { 0 };
	unsigned ft = type_of(in);

	buf[0] = (uint8_t)(ft << TOC_FT_SHIFT | TOC_QUALITY);
	if (ft != FT_NO_DATA)
		memcpy(buf + 1, in->data, in->bytes);
	Decoder_Interface_Decode(dec, buf, pcm, 0);
	return SAMPLES;
}

static void decoder_close(void *dec)
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
	.modes = modes,
	.nmodes = NMODES,
	.default_mode = 7,
	.encoder_open = encoder_open,
	.encode = encode,
	.encoder_close = encoder_close,
	.decoder_open = decoder_open,
	.decode = decode,
	.decoder_close = decoder_close,
};
