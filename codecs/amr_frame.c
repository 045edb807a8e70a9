/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ToC octets and frame types of AMR and AMR-WB.
 */
#include "codecs/amr_frame.h"

#include <string.h>

#include "codecs/common.h"

enum {
	TOC_FT_SHIFT = 3,
	TOC_QUALITY = 1 << 2,
};

void amr_frame_load(const struct cr_codec *c, const uint8_t *stored, int bytes,
		    struct cr_frame *out)
{
	unsigned ft = stored[0] >> TOC_FT_SHIFT & 0xf;

	if (bytes <= 1 || ft == AMR_FT_NO_DATA) {
		codec_no_data(out, AMR_FT_NO_DATA);
		return;
	}
	codec_speech(out, ft, (unsigned)bytes - 1);
	if (ft == c->nmodes)
		out->kind = CR_FRAME_SID;
	memcpy(out->data, stored + 1, out->bytes);
}

static bool frame_has_speech(const struct cr_codec *c,
			     const struct cr_frame *in)
{
	return in->kind == CR_FRAME_SPEECH && in->mode < c->nmodes &&
	       in->bytes == c->modes[in->mode].bytes;
}

static bool is_sid(const struct cr_frame *in)
{
	return in->kind == CR_FRAME_SID && in->bytes == AMR_SID_BYTES;
}

unsigned amr_frame_store(const struct cr_codec *c, const struct cr_frame *in,
			 unsigned other, uint8_t *stored)
{
	bool data = true;
	unsigned ft = other;

	if (frame_has_speech(c, in))
		ft = in->mode;
	else if (is_sid(in))
		ft = c->nmodes;
	else
		data = false;
	stored[0] = (uint8_t)(ft << TOC_FT_SHIFT | TOC_QUALITY);
	if (data)
		memcpy(stored + 1, in->data, in->bytes);
	return ft;
}
