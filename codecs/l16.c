/* SPDX-License-Identifier: Apache-2.0 */
/*
 * L16: linear PCM, 16 bits, network byte order, mono (RFC 3551, 4.5.11), at
 * 8000, 16000 or 48000 Hz; and spin: the same format, burning a given CPU time
 * in every frame, as synthetic load.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "codecs/common.h"
#include "codecs/conceal.h"
#include "codecs/registry.h"

/* More CPU time in one frame than any experiment wants. */
#define SPIN_MAX CR_SEC

enum {
	/* Rounds of arithmetic between two readings of the clock: well below
	 * a microsecond, so that the end is met to that precision. */
	SPIN_ROUNDS = 64,
};

struct encoder {
	unsigned samples;
	cr_ns spin;
};

struct decoder {
	cr_ns spin;
	struct conceal conceal;
};

static int check_spin(const struct cr_codec *codec,
		      const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	if (cfg->spin < 0 || cfg->spin > SPIN_MAX)
		return cr_fail(e, -EINVAL,
			       "codec %s: spin %lld ns a frame; use 0..%lld",
			       codec->name, (long long)cfg->spin,
			       (long long)SPIN_MAX);
	return 0;
}

static int open_pcm_encoder(const struct cr_codec *codec, void **enc,
			    const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	int ret = check_spin(codec, cfg, e);
	struct encoder *s;

	if (!ret)
		ret = codec_new_state(codec, cfg, sizeof(*s), enc, e);
	if (ret)
		return ret;
	s = *enc;
	s->samples = codec_samples(codec, cfg);
	s->spin = cfg->spin;
	return 0;
}

static int open_pcm_decoder(const struct cr_codec *codec, void **dec,
			    const struct cr_codec_cfg *cfg, struct cr_err *e)
{
	int ret = check_spin(codec, cfg, e);
	struct decoder *s;

	if (!ret)
		ret = codec_new_state(codec, cfg, sizeof(*s), dec, e);
	if (ret)
		return ret;
	s = *dec;
	s->spin = cfg->spin;
	conceal_init(&s->conceal, codec_rate(codec, cfg),
		     codec_samples(codec, cfg));
	return 0;
}

static int l16_encoder_open(void **enc, const struct cr_codec_cfg *cfg,
			    struct cr_err *e)
{
	return open_pcm_encoder(&codec_l16, enc, cfg, e);
}

static int spin_encoder_open(void **enc, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	return open_pcm_encoder(&codec_spin, enc, cfg, e);
}

static int l16_decoder_open(void **dec, const struct cr_codec_cfg *cfg,
			    struct cr_err *e)
{
	return open_pcm_decoder(&codec_l16, dec, cfg, e);
}

static int spin_decoder_open(void **dec, const struct cr_codec_cfg *cfg,
			     struct cr_err *e)
{
	return open_pcm_decoder(&codec_spin, dec, cfg, e);
}

static int l16_encode(void *enc, unsigned mode, const int16_t *pcm,
		      struct cr_frame *out)
{
	const struct encoder *s = enc;

	if (mode)
		return -EINVAL;
	for (unsigned i = 0; i < s->samples; i++) {
		uint16_t word = (uint16_t)pcm[i];

		out->data[2 * i] = (uint8_t)(word >> 8);
		out->data[2 * i + 1] = (uint8_t)word;
	}
	codec_speech(out, mode, 2 * s->samples);
	return 0;
}

static unsigned l16_decode(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	struct decoder *s = dec;
	unsigned samples = in->bytes / 2;

	if (in->kind != CR_FRAME_SPEECH || !samples || in->bytes % 2 ||
	    samples > CR_PCM_SAMPLES_MAX)
		return conceal_lost(&s->conceal, pcm);
	for (unsigned i = 0; i < samples; i++) {
		unsigned high = in->data[2 * i], low = in->data[2 * i + 1];

		pcm[i] = (int16_t)(uint16_t)(high << 8 | low);
	}
	conceal_good(&s->conceal, pcm, samples);
	return samples;
}

/* Burn @time of this thread's CPU time, doing arithmetic. Time spent waiting
 * for a CPU does not count. */
static void burn(cr_ns time)
{
	cr_ns end = clock_thread_cpu() + time;
	uint32_t x = (uint32_t)end | 1;

	while (clock_thread_cpu() < end) {
		for (unsigned i = 0; i < SPIN_ROUNDS; i++) {
			x ^= x << 13;
			x ^= x >> 17;
			x ^= x << 5;
		}
		/* xorshift never gets to 0: the loop has an effect that the
		 * compiler cannot foresee, and none in fact. */
		if (!x)
			return;
	}
}

static int spin_encode(void *enc, unsigned mode, const int16_t *pcm,
		       struct cr_frame *out)
{
	const struct encoder *s = enc;

	if (s->spin)
		burn(s->spin);
	return l16_encode(enc, mode, pcm, out);
}

static unsigned spin_decode(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	const struct decoder *s = dec;

	if (s->spin)
		burn(s->spin);
	return l16_decode(dec, in, pcm);
}

static const unsigned rates[] = { 8000, 16000, 48000, 0 };

static const struct cr_codec_mode modes[] = {
	{ .name = "pcm", .bit_rate = 128000, .bytes = 320 },
};

const struct cr_codec codec_l16 = {
	.name = "l16",
	.rtp_name = "L16",
	.help = "linear PCM, 16 bits, 8, 16 or 48 kHz (RFC 3551)",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = 160,
	.any_length = true,
	.rates = rates,
	.clock_is_rate = true,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = l16_encoder_open,
	.encode = l16_encode,
	.encoder_close = free,
	.decoder_open = l16_decoder_open,
	.decode = l16_decode,
	.decoder_close = free,
};

const struct cr_codec codec_spin = {
	.name = "spin",
	.rtp_name = "L16",
	.help = "synthetic load: L16 that burns a given CPU time per frame",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = 160,
	.any_length = true,
	.rates = rates,
	.clock_is_rate = true,
	.declares_cost = true,
	.modes = modes,
	.nmodes = 1,
	.encoder_open = spin_encoder_open,
	.encode = spin_encode,
	.encoder_close = free,
	.decoder_open = spin_decoder_open,
	.decode = spin_decode,
	.decoder_close = free,
};
