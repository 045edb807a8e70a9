/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of AMR and AMR-WB as their libraries have them: the storage format of
 * RFC 4867, 5.3, a ToC octet and then the speech bits padded to octets. A
 * struct cr_frame holds what follows the ToC; its mode is the ToC's frame type:
 * first the speech modes, then SID. Pure. Only for amr.c and amr_wb.c.
 */
#ifndef CODECS_AMR_FRAME_H
#define CODECS_AMR_FRAME_H

#include "cr/codec.h"

enum {
	AMR_FT_NO_DATA = 15,
	AMR_SID_BYTES = 5,
};

/** What the encoder of @c wrote, @bytes with the ToC, into @out: speech, SID
 * or, when it has nothing to send, NO_DATA. */
void amr_frame_load(const struct cr_codec *c, const uint8_t *stored, int bytes,
		    struct cr_frame *out);

/** Write @in for the decoder of @c. What is no whole speech frame or SID of
 * @c's is written as frame type @other, without data. Returns the frame
 * type. */
unsigned amr_frame_store(const struct cr_codec *c, const struct cr_frame *in,
			 unsigned other, uint8_t *stored);

#endif
