/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the codecs: opening them, describing frames. Only for codecs/.
 */
#ifndef CODECS_COMMON_H
#define CODECS_COMMON_H

#include "cr/codec.h"

/** Sample rate of @c under @cfg, Hz. Pure. */
unsigned codec_rate(const struct cr_codec *c, const struct cr_codec_cfg *cfg);

/** Samples per frame of @c under @cfg. Pure. */
unsigned codec_samples(const struct cr_codec *c,
		       const struct cr_codec_cfg *cfg);

/**
 * Can @c be opened with @cfg? Returns 0, or -EINVAL with @e: mode, sample
 * rate, frame length or spin time that it lacks. Pure.
 */
int codec_check(const struct cr_codec *c, const struct cr_codec_cfg *cfg,
		struct cr_err *e);

/** Has a frame of @c under @cfg whole octets, of two samples each? 0, or
 * -EINVAL with @e. Pure. */
int codec_check_even(const struct cr_codec *c, const struct cr_codec_cfg *cfg,
		     struct cr_err *e);

/**
 * Check @cfg as codec_check() does and make a state of @bytes, all zero. 0 and
 * *@state (free(3)), or -EINVAL or -ENOMEM with @e. Any thread.
 */
int codec_new_state(const struct cr_codec *c, const struct cr_codec_cfg *cfg,
		    size_t bytes, void **state, struct cr_err *e);

/** -ENOMEM with the message that all codecs give. */
int codec_no_memory(const struct cr_codec *c, struct cr_err *e);

/** Describe a frame that is not sent, @mode being its frame type. */
static inline void codec_no_data(struct cr_frame *out, unsigned mode)
{
	out->kind = CR_FRAME_NO_DATA;
	out->mode = (uint8_t)mode;
	out->bytes = 0;
}

/** Describe the speech frame of @bytes whose data is already in @out. */
static inline void codec_speech(struct cr_frame *out, unsigned mode,
				unsigned bytes)
{
	out->kind = CR_FRAME_SPEECH;
	out->mode = (uint8_t)mode;
	out->bytes = (uint16_t)bytes;
}

#endif
