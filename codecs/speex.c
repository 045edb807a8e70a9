/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speex (RFC 5574) through libspeex, narrow and wide band. A mode is one of the
 * library's qualities, named by its bit rate.
 *
 * The library writes to stderr about frames that it does not know, so none of
 * those gets there.
 */
#include <errno.h>
#include <stdlib.h>

#include <speex/speex.h>

#include "codecs/common.h"
#include "codecs/registry.h"
#include "codecs/speex_bits.h"

/* Octets of a received frame: as the payload's. */
#define BYTES_MAX 128

struct encoder {
	void *lib;
	SpeexBits bits;
	const struct cr_codec *codec;
	unsigned mode;
};

struct decoder {
	void *lib;
	SpeexBits bits;
	const struct cr_codec *codec;
};

static const struct cr_codec_mode narrow_modes[] = {
	{ .name = "2.15", .bit_rate = 2150, .bytes = 6 },
	{ .name = "3.95", .bit_rate = 3950, .bytes = 10 },
	{ .name = "5.95", .bit_rate = 5950, .bytes = 15 },
	{ .name = "8", .bit_rate = 8000, .bytes = 20 },
	{ .name = "11", .bit_rate = 11000, .bytes = 28 },
	{ .name = "15", .bit_rate = 15000, .bytes = 38 },
	{ .name = "18.2", .bit_rate = 18200, .bytes = 46 },
	{ .name = "24.6", .bit_rate = 24600, .bytes = 62 },
};

static const struct cr_codec_mode wide_modes[] = {
	{ .name = "3.95", .bit_rate = 3950, .bytes = 10 },
	{ .name = "5.75", .bit_rate = 5750, .bytes = 15 },
	{ .name = "7.75", .bit_rate = 7750, .bytes = 20 },
	{ .name = "9.8", .bit_rate = 9800, .bytes = 25 },
	{ .name = "12.8", .bit_rate = 12800, .bytes = 32 },
	{ .name = "16.8", .bit_rate = 16800, .bytes = 42 },
	{ .name = "20.6", .bit_rate = 20600, .bytes = 52 },
	{ .name = "23.8", .bit_rate = 23800, .bytes = 60 },
	{ .name = "27.8", .bit_rate = 27800, .bytes = 70 },
	{ .name = "34.2", .bit_rate = 34200, .bytes = 86 },
	{ .name = "42.2", .bit_rate = 42200, .bytes = 106 },
};

/* Of each narrow mode; a wide one's is its index. */
static const int narrow_quality[] = { 0, 1, 2, 3, 5, 7, 9, 10 };

enum {
	NARROW_MODES = sizeof(narrow_modes) / sizeof(narrow_modes[0]),
	WIDE_MODES = sizeof(wide_modes) / sizeof(wide_modes[0]),
	NARROW_DEFAULT = 5,
	WIDE_DEFAULT = 8,
};

static const SpeexMode *speex_mode_of(const struct cr_codec *c)
{
	return speex_lib_get_mode(c == &codec_speex ? SPEEX_MODEID_NB
						    : SPEEX_MODEID_WB);
}

static void use_mode(struct encoder *s, unsigned mode)
{
	int quality =
		s->codec == &codec_speex ? narrow_quality[mode] : (int)mode;

	(void)speex_encoder_ctl(s->lib, SPEEX_SET_QUALITY, &quality);
	s->mode = mode;
}

static void close_speex_encoder(void *enc)
{
	struct encoder *s = enc;

	if (!s)
		return;
	if (s->lib)
		speex_encoder_destroy(s->lib);
	speex_bits_destroy(&s->bits);
	free(s);
}

static int open_speex_encoder(const struct cr_codec *c, void **enc,
			      const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	spx_int32_t on = 1;
	struct encoder *s;
	void *state;
	int ret = codec_new_state(c, cfg, sizeof(*s), &state, e);

	if (ret)
		return ret;
	s = state;
	s->codec = c;
	s->lib = speex_encoder_init(speex_mode_of(c));
	speex_bits_init(&s->bits);
	if (!s->lib || !s->bits.chars) {
		close_speex_encoder(s);
		return codec_no_memory(c, e);
	}
	use_mode(s, cfg->mode);
	if (cfg->dtx) {
		/* The library detects voice only where its bit rate varies or
		 * it is asked to. */
		(void)speex_encoder_ctl(s->lib, SPEEX_SET_VAD, &on);
		(void)speex_encoder_ctl(s->lib, SPEEX_SET_DTX, &on);
	}
	*enc = s;
	return 0;
}

static int narrow_encoder_open(void **enc, const struct cr_codec_cfg *cfg,
			       struct cr_err *e)
{
	return open_speex_encoder(&codec_speex, enc, cfg, e);
}

static int wide_encoder_open(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	return open_speex_encoder(&codec_speex_wb, enc, cfg, e);
}

static int encode_speex(void *enc, unsigned mode, const int16_t *pcm,
			struct cr_frame *out)
{
	struct encoder *s = enc;
	int16_t copy[320]; /* the library's parameter is not const */
	int send, bytes;

	if (mode >= s->codec->nmodes)
		return -EINVAL;
	if (mode != s->mode)
		use_mode(s, mode);
	for (unsigned i = 0; i < s->codec->samples; i++)
		copy[i] = pcm[i];
	speex_bits_reset(&s->bits);
	send = speex_encode_int(s->lib, copy, &s->bits);
	bytes = speex_bits_write(&s->bits, (char *)out->data, BYTES_MAX);
	if (!send) {
		codec_no_data(out, 0);
		return 0;
	}
	codec_speech(out, 0, (unsigned)bytes);
	if (speex_bits_silent(out->data, 0, 8u * (unsigned)bytes))
		out->kind = CR_FRAME_SID;
	return 0;
}

static void close_speex_decoder(void *dec)
{
	struct decoder *s = dec;

	if (!s)
		return;
	if (s->lib)
		speex_decoder_destroy(s->lib);
	speex_bits_destroy(&s->bits);
	free(s);
}

static int open_speex_decoder(const struct cr_codec *c, void **dec,
			      const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	struct decoder *s;
	void *state;
	int ret = codec_new_state(c, cfg, sizeof(*s), &state, e);

	if (ret)
		return ret;
	s = state;
	s->codec = c;
	s->lib = speex_decoder_init(speex_mode_of(c));
	speex_bits_init(&s->bits);
	if (!s->lib || !s->bits.chars) {
		close_speex_decoder(s);
		return codec_no_memory(c, e);
	}
	*dec = s;
	return 0;
}

static int narrow_decoder_open(void **dec, const struct cr_codec_cfg *cfg,
			       struct cr_err *e)
{
	return open_speex_decoder(&codec_speex, dec, cfg, e);
}

static int wide_decoder_open(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	return open_speex_decoder(&codec_speex_wb, dec, cfg, e);
}

static bool fits_speex(const struct cr_frame *in)
{
	return (in->kind == CR_FRAME_SPEECH || in->kind == CR_FRAME_SID) &&
	       in->bytes <= BYTES_MAX &&
	       speex_bits_frame(in->data, 0, 8u * in->bytes) > 0;
}

static unsigned decode_speex(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	struct decoder *s = dec;

	if (fits_speex(in)) {
		speex_bits_read_from(&s->bits, (const char *)in->data,
				     in->bytes);
		if (!speex_decode_int(s->lib, &s->bits, pcm))
			return s->codec->samples;
	}
	(void)speex_decode_int(s->lib, NULL, pcm);
	return s->codec->samples;
}

const struct cr_codec codec_speex = {
	.name = "speex",
	.rtp_name = "speex",
	.help = "Speex, narrow band, 2 to 25 kbit/s (RFC 5574, libspeex)",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = 160,
	.dtx = true,
	.modes = narrow_modes,
	.nmodes = NARROW_MODES,
	.default_mode = NARROW_DEFAULT,
	.encoder_open = narrow_encoder_open,
	.encode = encode_speex,
	.encoder_close = close_speex_encoder,
	.decoder_open = narrow_decoder_open,
	.decode = decode_speex,
	.decoder_close = close_speex_decoder,
};

const struct cr_codec codec_speex_wb = {
	.name = "speex-wb",
	.rtp_name = "speex",
	.help = "Speex, wide band, 4 to 42 kbit/s (RFC 5574, libspeex)",
	.static_pt = -1,
	.sample_rate = 16000,
	.rtp_clock = 16000,
	.samples = 320,
	.dtx = true,
	.modes = wide_modes,
	.nmodes = WIDE_MODES,
	.default_mode = WIDE_DEFAULT,
	.encoder_open = wide_encoder_open,
	.encode = encode_speex,
	.encoder_close = close_speex_encoder,
	.decoder_open = wide_decoder_open,
	.decode = decode_speex,
	.decoder_close = close_speex_decoder,
};
