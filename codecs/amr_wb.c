/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMR wide-band (3GPP TS 26.171, ITU-T G.722.2): encoder libvo-amrwbenc,
 * decoder libopencore-amrwb.
 *
 * The decoder knows what to do with frame types 0 to 9, 14 and 15 only. It gets
 * lost and bad frames as 14 (SPEECH_LOST) and NO_DATA as 15; it conceals both
 * after speech and goes on with comfort noise after SID. Before the first
 * speech frame it would do so from memory that it has not set, so there is
 * silence until then.
 *
 * Its concealment takes the level back by 12 dB at once, which sounds worse
 * than silence. So it gets the last speech frame again, for 60 ms at most; what
 * follows is left to it, and is faint.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <opencore-amrwb/dec_if.h>
#include <vo-amrwbenc/enc_if.h>

#include "codecs/amr_frame.h"
#include "codecs/common.h"
#include "codecs/registry.h"

enum {
	SAMPLES = 320,
	FT_SPEECH_LOST = 14,
	NMODES = 9,
	FRAME_BYTES = 1 + 60, /* ToC and the frame of the highest mode */
	REPEATED = 3,	      /* lost frames in a row */
};

struct encoder {
	void *lib;
	bool dtx;
};

struct decoder {
	void *lib;
	bool started;  /* a speech frame has been decoded */
	bool talking;  /* the last frame that came was one; it is in last[] */
	unsigned lost; /* frames since */
	uint8_t last[FRAME_BYTES];
};

static const struct cr_codec_mode modes[NMODES] = {
	{ .name = "6.60", .bit_rate = 6600, .bytes = 17 },
	{ .name = "8.85", .bit_rate = 8850, .bytes = 23 },
	{ .name = "12.65", .bit_rate = 12650, .bytes = 32 },
	{ .name = "14.25", .bit_rate = 14250, .bytes = 36 },
	{ .name = "15.85", .bit_rate = 15850, .bytes = 40 },
	{ .name = "18.25", .bit_rate = 18250, .bytes = 46 },
	{ .name = "19.85", .bit_rate = 19850, .bytes = 50 },
	{ .name = "23.05", .bit_rate = 23050, .bytes = 58 },
	{ .name = "23.85", .bit_rate = 23850, .bytes = 60 },
};

static int open_amr_wb_encoder(void **enc, const struct cr_codec_cfg *cfg,
			       struct cr_err *e)
{
	void *state;
	struct encoder *s;
	int ret = codec_new_state(&codec_amr_wb, cfg, sizeof(*s), &state, e);

	if (ret)
		return ret;
	s = state;
	s->dtx = cfg->dtx;
	s->lib = E_IF_init();
	if (!s->lib) {
		free(s);
		return codec_no_memory(&codec_amr_wb, e);
	}
	*enc = s;
	return 0;
}

static int encode_amr_wb(void *enc, unsigned mode, const int16_t *pcm,
			 struct cr_frame *out)
{
	const struct encoder *s = enc;
	uint8_t buf[FRAME_BYTES];
	int bytes;

	if (mode >= NMODES)
		return -EINVAL;
	bytes = E_IF_encode(s->lib, (int)mode, pcm, buf, s->dtx);
	amr_frame_load(&codec_amr_wb, buf, bytes, out);
	return 0;
}

static void close_amr_wb_encoder(void *enc)
{
	struct encoder *s = enc;

	if (!s)
		return;
	E_IF_exit(s->lib);
	free(s);
}

static int open_amr_wb_decoder(void **dec, const struct cr_codec_cfg *cfg,
			       struct cr_err *e)
{
	void *state;
	struct decoder *s;
	int ret = codec_new_state(&codec_amr_wb, cfg, sizeof(*s), &state, e);

	if (ret)
		return ret;
	s = state;
	s->lib = D_IF_init();
	if (!s->lib) {
		free(s);
		return codec_no_memory(&codec_amr_wb, e);
	}
	*dec = s;
	return 0;
}

/* Note frame @buf of type @ft; make a substitute of a lost one for the library.
 */
static void repeat(struct decoder *s, unsigned ft, uint8_t *buf)
{
	if (ft < NMODES) {
		memcpy(s->last, buf, sizeof(s->last));
		s->started = true;
		s->talking = true;
		s->lost = 0;
	} else if (ft != FT_SPEECH_LOST) {
		s->talking = false;
	} else if (s->talking && s->lost < REPEATED) {
		s->lost++;
		memcpy(buf, s->last, sizeof(s->last));
	}
}

static unsigned decode_amr_wb(void *dec, const struct cr_frame *in,
			      int16_t *pcm)
{
	struct decoder *s = dec;
	uint8_t buf[FRAME_BYTES] = { 0 };
	unsigned ft = amr_frame_store(
		&codec_amr_wb, in,
		in->kind == CR_FRAME_NO_DATA ? AMR_FT_NO_DATA : FT_SPEECH_LOST,
		buf);

	repeat(s, ft, buf);
	if (!s->started) {
		memset(pcm, 0, SAMPLES * sizeof(*pcm));
		return SAMPLES;
	}
	D_IF_decode(s->lib, buf, pcm, 0);
	return SAMPLES;
}

static void close_amr_wb_decoder(void *dec)
{
	struct decoder *s = dec;

	if (!s)
		return;
	D_IF_exit(s->lib);
	free(s);
}

const struct cr_codec codec_amr_wb = {
	.name = "amr-wb",
	.rtp_name = "AMR-WB",
	.help = "AMR wide-band, 9 modes, DTX (3GPP TS 26.171, libvo-amrwbenc, "
		"libopencore-amrwb)",
	.static_pt = -1,
	.sample_rate = 16000,
	.rtp_clock = 16000,
	.samples = SAMPLES,
	.dtx = true,
	.kernels = true,
	.modes = modes,
	.nmodes = NMODES,
	.default_mode = 2,
	.encoder_open = open_amr_wb_encoder,
	.encode = encode_amr_wb,
	.encoder_close = close_amr_wb_encoder,
	.decoder_open = open_amr_wb_decoder,
	.decode = decode_amr_wb,
	.decoder_close = close_amr_wb_decoder,
};
