/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opus (RFC 6716) through libopus, mono, at 8, 16 or 48 kHz: any of them can
 * decode what another encoded, so the rate is that of our PCM only. RTP always
 * counts in units of 48000 Hz, and a packet is one frame here (RFC 7587),
 * whatever it holds: up to 120 ms.
 *
 * Settings: complexity, in-band FEC for an expected loss, DTX. With FEC the
 * next packet may hold a coarse copy of one that was lost: recover().
 */
#include <errno.h>
#include <stdlib.h>

#include <opus.h>

#include "codecs/common.h"
#include "codecs/registry.h"

enum {
	RATE = 48000,
	SAMPLES = 960,
	/* An Ethernet packet less the headers of IPv6, UDP and RTP. */
	PACKET_MAX = 1440,
	COMPLEXITY = 5, /* where more costs much and brings little */
	COMPLEXITY_MAX = 10,
	FEC_MAX = 100,
	/* libopus's return value for a packet that need not be sent. */
	DTX_BYTES = 2,
};

struct encoder {
	OpusEncoder *lib;
	unsigned mode, samples;
	bool dtx;
};

struct decoder {
	OpusDecoder *lib;
	unsigned rate;
	unsigned most; /* samples that are concealed at a time */
	unsigned last; /* of the last packet                   */
};

static const unsigned rates[] = { 8000, 16000, RATE, 0 };

static const cr_ns lengths[] = { 5 * CR_MS,  10 * CR_MS, 20 * CR_MS,
				 40 * CR_MS, 60 * CR_MS, 0 };

static const struct cr_codec_mode modes[] = {
	{ .name = "8", .bit_rate = 8000, .bytes = 20 },
	{ .name = "12", .bit_rate = 12000, .bytes = 30 },
	{ .name = "16", .bit_rate = 16000, .bytes = 40 },
	{ .name = "24", .bit_rate = 24000, .bytes = 60 },
	{ .name = "32", .bit_rate = 32000, .bytes = 80 },
	{ .name = "64", .bit_rate = 64000, .bytes = 160 },
};

enum { NMODES = sizeof(modes) / sizeof(modes[0]), DEFAULT_MODE = 3 };

static int check_opus(const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	if (cfg->complexity > COMPLEXITY_MAX + 1)
		return cr_fail(e, -EINVAL,
			       "codec opus: complexity %u; it has 0..%u",
			       cfg->complexity - 1, (unsigned)COMPLEXITY_MAX);
	if (cfg->fec > FEC_MAX)
		return cr_fail(e, -EINVAL,
			       "codec opus: fec for a loss of %u %%; use 0..%u",
			       cfg->fec, (unsigned)FEC_MAX);
	return 0;
}

static void close_opus_encoder(void *enc)
{
	struct encoder *s = enc;

	if (!s)
		return;
	opus_encoder_destroy(s->lib);
	free(s);
}

static int set_up_opus(const struct encoder *s, const struct cr_codec_cfg *cfg)
{
	OpusEncoder *l = s->lib;
	opus_int32 complexity =
		cfg->complexity ? (opus_int32)cfg->complexity - 1 : COMPLEXITY;
	opus_int32 rate = (opus_int32)modes[s->mode].bit_rate;

	return opus_encoder_ctl(l, OPUS_SET_COMPLEXITY(complexity)) ||
	       opus_encoder_ctl(l, OPUS_SET_BITRATE(rate)) ||
	       opus_encoder_ctl(l, OPUS_SET_DTX(s->dtx)) ||
	       opus_encoder_ctl(l, OPUS_SET_INBAND_FEC(cfg->fec > 0)) ||
	       opus_encoder_ctl(
		       l, OPUS_SET_PACKET_LOSS_PERC((opus_int32)cfg->fec));
}

static int open_opus_encoder(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	unsigned rate = codec_rate(&codec_opus, cfg);
	struct encoder *s;
	void *state;
	int ret = check_opus(cfg, e), lib = OPUS_OK;

	if (!ret)
		ret = codec_new_state(&codec_opus, cfg, sizeof(*s), &state, e);
	if (ret)
		return ret;
	s = state;
	s->mode = cfg->mode;
	s->samples = codec_samples(&codec_opus, cfg);
	s->dtx = cfg->dtx;
	s->lib = opus_encoder_create((opus_int32)rate, 1, OPUS_APPLICATION_VOIP,
				     &lib);
	if (lib != OPUS_OK || set_up_opus(s, cfg)) {
		close_opus_encoder(s);
		return codec_no_memory(&codec_opus, e);
	}
	*enc = s;
	return 0;
}

static int encode_opus(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	struct encoder *s = enc;
	opus_int32 bytes;

	if (mode >= NMODES)
		return -EINVAL;
	if (mode != s->mode) {
		opus_int32 rate = (opus_int32)modes[mode].bit_rate;

		(void)opus_encoder_ctl(s->lib, OPUS_SET_BITRATE(rate));
		s->mode = mode;
	}
	bytes = opus_encode(s->lib, pcm, (int)s->samples, out->data,
			    PACKET_MAX);
	if (bytes <= 0 || (s->dtx && bytes <= DTX_BYTES))
		codec_no_data(out, 0);
	else /* a packet does not say its bit rate */
		codec_speech(out, 0, (unsigned)bytes);
	return 0;
}

static void close_opus_decoder(void *dec)
{
	struct decoder *s = dec;

	if (!s)
		return;
	opus_decoder_destroy(s->lib);
	free(s);
}

static int open_opus_decoder(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	unsigned rate = codec_rate(&codec_opus, cfg);
	struct decoder *s;
	void *state;
	int ret = check_opus(cfg, e), lib = OPUS_OK;

	if (!ret)
		ret = codec_new_state(&codec_opus, cfg, sizeof(*s), &state, e);
	if (ret)
		return ret;
	s = state;
	s->rate = rate;
	s->most = s->last = codec_samples(&codec_opus, cfg);
	s->lib = opus_decoder_create((opus_int32)rate, 1, &lib);
	if (lib != OPUS_OK) {
		close_opus_decoder(s);
		return codec_no_memory(&codec_opus, e);
	}
	*dec = s;
	return 0;
}

/* As long as the last packet, as the library likes it. But that may have been
 * of 120 ms, of which a frame of silence needs a part only. */
static unsigned conceal_opus(struct decoder *s, int16_t *pcm)
{
	unsigned samples = s->last < s->most ? s->last : s->most;
	int n = opus_decode(s->lib, NULL, 0, pcm, (int)samples, 0);

	for (unsigned i = n > 0 ? (unsigned)n : 0; i < samples; i++)
		pcm[i] = 0;
	return samples;
}

static unsigned decode_opus(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	struct decoder *s = dec;
	int n;

	if (in->kind != CR_FRAME_SPEECH || !in->bytes || in->bytes > PACKET_MAX)
		return conceal_opus(s, pcm);
	n = opus_decode(s->lib, in->data, in->bytes, pcm, CR_FRAME_SAMPLES_MAX,
			0);
	if (n <= 0)
		return conceal_opus(s, pcm);
	s->last = (unsigned)n;
	return s->last;
}

static unsigned packet_samples(const uint8_t *packet, unsigned bytes,
			       unsigned rate)
{
	int n = opus_packet_get_nb_samples(packet, (opus_int32)bytes,
					   (opus_int32)rate);

	return n > 0 ? (unsigned)n : 0;
}

/* The lost one is taken to have been as long as the next one is. */
static unsigned recover(void *dec, const struct cr_frame *next, int16_t *pcm)
{
	struct decoder *s = dec;
	unsigned samples;
	int n;

	if (next->kind != CR_FRAME_SPEECH || !next->bytes ||
	    next->bytes > PACKET_MAX)
		return conceal_opus(s, pcm);
	samples = packet_samples(next->data, next->bytes, s->rate);
	n = samples ? opus_decode(s->lib, next->data, next->bytes, pcm,
				  (int)samples, 1)
		    : 0;
	return n > 0 ? (unsigned)n : conceal_opus(s, pcm);
}

const struct cr_codec codec_opus = {
	.name = "opus",
	.rtp_name = "opus",
	.help = "Opus, 8 to 48 kHz, 5 to 60 ms, mono (RFC 6716, libopus)",
	.static_pt = -1,
	.sample_rate = RATE,
	.rtp_clock = RATE,
	.samples = SAMPLES,
	.rates = rates,
	.rate_follows = true,
	.lengths = lengths,
	.dtx = true,
	.tunable = true,
	.packing = CR_PACK_WHOLE,
	.frame_max = PACKET_MAX,
	.modes = modes,
	.nmodes = NMODES,
	.default_mode = DEFAULT_MODE,
	.encoder_open = open_opus_encoder,
	.encode = encode_opus,
	.encoder_close = close_opus_encoder,
	.decoder_open = open_opus_decoder,
	.decode = decode_opus,
	.recover = recover,
	.decoder_close = close_opus_decoder,
	.packet_samples = packet_samples,
};
