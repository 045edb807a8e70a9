/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A codec, CRASH, whose decoder ends the process at a payload that begins with
 * 0xdd. Everything else is silence.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cr/codec.h"

enum { SAMPLES = 160, BYTES = 20, POISON = 0xdd };

static int open_crash(void **state, const struct cr_codec_cfg *cfg,
		      struct cr_err *e)
{
	(void)cfg;
	*state = malloc(1);
	return *state ? 0 : cr_fail(e, -ENOMEM, "out of memory");
}

static int encode_crash(void *enc, unsigned mode, const int16_t *pcm,
			struct cr_frame *out)
{
	(void)enc, (void)mode, (void)pcm;
	memset(out->data, 0, BYTES);
	out->kind = CR_FRAME_SPEECH;
	out->mode = 0;
	out->bytes = BYTES;
	return 0;
}

static unsigned decode_crash(void *dec, const struct cr_frame *in, int16_t *pcm)
{
	(void)dec;
	if (in->bytes && in->data[0] == POISON)
		abort();
	memset(pcm, 0, SAMPLES * sizeof(*pcm));
	return SAMPLES;
}

static const struct cr_codec_mode crash_modes[] = {
	{ .name = "8", .bit_rate = 8000, .bytes = BYTES },
};

const struct cr_codec cr_codec_plugin = {
	.abi = CR_CODEC_ABI,
	.name = "crash",
	.rtp_name = "X-CRASH",
	.help = "ends the process at payloads that begin with 0xdd",
	.static_pt = -1,
	.sample_rate = 8000,
	.rtp_clock = 8000,
	.samples = SAMPLES,
	.packing = CR_PACK_FRAMES,
	.modes = crash_modes,
	.nmodes = 1,
	.encoder_open = open_crash,
	.encode = encode_crash,
	.encoder_close = free,
	.decoder_open = open_crash,
	.decode = decode_crash,
	.decoder_close = free,
};
