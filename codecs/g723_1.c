/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G.723.1 (ITU-T) through libavcodec: encodes at 6.3 kbit/s, decodes 6.3, 5.3
 * and SID frames. The two lowest bits of a frame's first octet say which it is
 * (RFC 3551, 4.5.3), so a frame's length can be checked against them.
 *
 * libavcodec learns of a lost frame by a code that the recommendation forbids;
 * it then extrapolates. From the third loss in a row on, where the
 * recommendation wants silence, its output grows louder instead, so silence is
 * made here.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codecs/common.h"
#include "codecs/lav.h"
#include "codecs/registry.h"

enum {
	SAMPLES = 240,
	BYTES_63 = 24,
	MAX_EXTRAPOLATED = 2, /* lost frames in a row */
};

struct decoder {
	struct lav *lav;
	unsigned lost; /* frames in a row */
};

/* Octets of a frame by the two lowest bits of its first one: 6.3, 5.3, SID,
 * untransmitted. */
static const uint8_t size_of[4] = { BYTES_63, 20, 4, 1 };

/* A 6.3 frame whose first pitch lag (7 bits from bit 26) is a forbidden code.
 */
static const uint8_t erased[BYTES_63] = { [3] = 0xfc, [4] = 0x01 };
/* An untransmitted frame: comfort noise goes on. */
static const uint8_t untransmitted[1] = { 3 };

static const struct cr_codec_mode modes[] = {
	{ .name = "6.3", .bit_rate = 6300, .bytes = BYTES_63 },
};

static int open_g723_encoder(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	static const struct lav_spec spec = {
		.name = "g723_1",
		.sample_rate = 8000,
		.bit_rate = 6300,
	};
	int ret = codec_check(&codec_g723_1, cfg, e);
	struct lav *lav;

	if (!ret)
		ret = lav_encoder_open(&lav, &spec, e);
	if (!ret)
		*enc = lav;
	return ret;
}

static int encode_g723(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	int bytes;

	if (mode)
		return -EINVAL;
	bytes = lav_encode(enc, pcm, out->data, sizeof(out->data));
	/* It fails only when memory runs out: the frame is then not sent. */
	if (bytes > 0)
		codec_speech(out, mode, (unsigned)bytes);
	else
		codec_no_data(out, mode);
	return 0;
}

static void close_g723_encoder(void *enc)
{
	lav_close(enc);
}

static int open_g723_decoder(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	static const struct lav_spec spec = {
		.name = "g723_1",
		.sample_rate = 8000,
		.packet_max = BYTES_63,
	};
	void *state;
	struct decoder *s;
	int ret = codec_new_state(&codec_g723_1, cfg, sizeof(*s), &state, e);

	if (ret)
		return ret;
	s = state;
	ret = lav_decoder_open(&s->lav, &spec, e);
	if (ret)
		free(s);
	else
		*dec = s;
	return ret;
}

static bool is_g723_frame(const struct cr_frame *in)
{
	return (in->kind == CR_FRAME_SPEECH || in->kind == CR_FRAME_SID) &&
	       in->bytes && in->bytes == size_of[in->data[0] & 3];
}

static void run_g723(struct decoder *s, const uint8_t *data, size_t bytes,
		     int16_t *pcm)
{
	if (lav_decode(s->lav, data, bytes, pcm, SAMPLES) != SAMPLES)
		memset(pcm, 0, SAMPLES * sizeof(*pcm));
}

static unsigned decode_g723(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	struct decoder *s = dec;

	if (in->kind == CR_FRAME_NO_DATA) {
		run_g723(s, untransmitted, sizeof(untransmitted), pcm);
	} else if (is_g723_frame(in)) {
		s->lost = 0;
		run_g723(s, in->data, in->bytes, pcm);
	} else if (s->lost < MAX_EXTRAPOLATED) {
		s->lost++;
		run_g723(s, erased, sizeof(erased), pcm);
	} else {
		memset(pcm, 0, SAMPLES * sizeof(*pcm));
	}
	return SAMPLES;
}

static void close_g723_decoder(void *dec)
{
	struct decoder *s = dec;

	if (!s)
		return;
	lav_close(s->lav);
	free(s);
}

const struct cr_codec codec_g723_1 = {
	.name = "g723_1",
	.rtp_name = "G723",
	.help = "G.723.1, 6.3 kbit/s, 30 ms frames (ITU-T G.723.1, libavcodec)",
	.static_pt = 4,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = SAMPLES,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = open_g723_encoder,
	.encode = encode_g723,
	.encoder_close = close_g723_encoder,
	.decoder_open = open_g723_decoder,
	.decode = decode_g723,
	.decoder_close = close_g723_decoder,
};
