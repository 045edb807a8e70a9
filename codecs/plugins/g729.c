/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G.729 (ITU-T) through libbcg729, as a codec plug-in. This file may be used as
 * the rest of this repository; the library is under the GPL, version 3 or
 * later, and so is the shared object that is linked with it.
 *
 * A packet is any number of frames of 10 ms, 10 octets each, and perhaps a SID
 * of 2 octets behind them (RFC 3551, 4.5.6). We hear both, and send speech only
 * (no Annex B): what an SDP says by annexb=no.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <bcg729/decoder.h>
#include <bcg729/encoder.h>

#include "cr/codec.h"

enum {
	RATE = 8000,
	PART = 80, /* samples in 10 ms */
	PART_BYTES = 10,
	SID_BYTES = 2,
	PARTS_MAX = 6,
	FRAME_MAX = PARTS_MAX * PART_BYTES + SID_BYTES,
};

struct encoder {
	bcg729EncoderChannelContextStruct *lib;
	unsigned parts; /* of a frame */
};

struct decoder {
	bcg729DecoderChannelContextStruct *lib;
	unsigned parts; /* of the last frame */
};

static const cr_ns lengths[] = { 10 * CR_MS, 20 * CR_MS, 30 * CR_MS,
				 40 * CR_MS, 60 * CR_MS, 0 };

static const struct cr_codec_mode modes[] = {
	{ .name = "8", .bit_rate = 8000, .bytes = 2 * PART_BYTES },
};

/* Parts of a frame under @cfg, 0 and @e when it cannot be. */
static unsigned parts_of(const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	unsigned samples = cfg->samples ? cfg->samples : 2 * PART;

	if (cfg->mode || (cfg->sample_rate && cfg->sample_rate != RATE) ||
	    samples % PART || samples > PARTS_MAX * PART) {
		(void)cr_fail(e, -EINVAL,
			      "codec g729: 8 kHz, and frames of 10 to 60 ms");
		return 0;
	}
	return samples / PART;
}

static void close_g729_encoder(void *enc)
{
	struct encoder *s = enc;

	if (!s)
		return;
	if (s->lib)
		closeBcg729EncoderChannel(s->lib);
	free(s);
}

static int open_g729_encoder(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	unsigned parts = parts_of(cfg, e);
	struct encoder *s;

	if (!parts)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s)
		s->lib = initBcg729EncoderChannel(false);
	if (!s || !s->lib) {
		close_g729_encoder(s);
		return cr_fail(e, -ENOMEM, "codec g729: out of memory");
	}
	s->parts = parts;
	*enc = s;
	return 0;
}

static int encode_g729(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	const struct encoder *s = enc;

	if (mode)
		return -EINVAL;
	for (unsigned i = 0; i < s->parts; i++) {
		uint8_t bytes = 0;

		bcg729Encoder(s->lib, pcm + (size_t)i * PART,
			      out->data + (size_t)i * PART_BYTES, &bytes);
	}
	out->kind = CR_FRAME_SPEECH;
	out->mode = 0;
	out->bytes = (uint16_t)(s->parts * PART_BYTES);
	return 0;
}

static void close_g729_decoder(void *dec)
{
	struct decoder *s = dec;

	if (!s)
		return;
	if (s->lib)
		closeBcg729DecoderChannel(s->lib);
	free(s);
}

static int open_g729_decoder(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	unsigned parts = parts_of(cfg, e);
	struct decoder *s;

	if (!parts)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (s)
		s->lib = initBcg729DecoderChannel();
	if (!s || !s->lib) {
		close_g729_decoder(s);
		return cr_fail(e, -ENOMEM, "codec g729: out of memory");
	}
	s->parts = parts;
	*dec = s;
	return 0;
}

static bool fits_g729(const struct cr_frame *in)
{
	unsigned rest = in->bytes % PART_BYTES;

	return in->kind == CR_FRAME_SPEECH && in->bytes &&
	       in->bytes <= FRAME_MAX && (!rest || rest == SID_BYTES);
}

/* The library reads no bits of a lost frame, but wants a place for them. */
static void conceal_g729(const struct decoder *s, int16_t *pcm)
{
	static const uint8_t nothing[PART_BYTES];

	for (unsigned i = 0; i < s->parts; i++)
		bcg729Decoder(s->lib, nothing, 0, 1, 0, 0,
			      pcm + (size_t)i * PART);
}

static unsigned decode_g729(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	struct decoder *s = dec;
	unsigned speech = in->bytes / PART_BYTES;
	bool sid = in->bytes % PART_BYTES;

	if (!fits_g729(in)) {
		conceal_g729(s, pcm);
		return s->parts * PART;
	}
	for (unsigned i = 0; i < speech; i++)
		bcg729Decoder(s->lib, in->data + (size_t)i * PART_BYTES,
			      PART_BYTES, 0, 0, 0, pcm + (size_t)i * PART);
	if (sid)
		bcg729Decoder(s->lib, in->data + (size_t)speech * PART_BYTES,
			      SID_BYTES, 0, 1, 0, pcm + (size_t)speech * PART);
	s->parts = speech + sid;
	return s->parts * PART;
}

__attribute__((visibility("default"))) const struct cr_codec cr_codec_plugin = {
	.abi = CR_CODEC_ABI,
	.name = "g729",
	.rtp_name = "G729",
	.help = "G.729, 8 kbit/s (ITU-T G.729 Annex A, libbcg729, GPL)",
	.static_pt = 18,
	.sample_rate = RATE,
	.rtp_clock = RATE,
	.samples = 2 * PART,
	.lengths = lengths,
	.packing = CR_PACK_WHOLE,
	.frame_max = FRAME_MAX,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = open_g729_encoder,
	.encode = encode_g729,
	.encoder_close = close_g729_encoder,
	.decoder_open = open_g729_decoder,
	.decode = decode_g729,
	.decoder_close = close_g729_decoder,
};
