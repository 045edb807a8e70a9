/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format parameters of an answer: what who offered a codec is told of it.
 *
 * Pure; texts are the arguments' or static.
 */
#ifndef NG_CODEC_FMTP_H
#define NG_CODEC_FMTP_H

#include "sdp/sdp.h"

/** May packets of @a, which was offered, be those of @b, its answer, as for
 * modes of AMR? An answer has the set that was offered (RFC 4867, 8.3.1); where
 * it has another one all the same, each side is kept to its own. */
bool codec_modes_agree(const struct sdp_format *a, const struct sdp_format *b);

/** Packets are passed on: @a was offered, and answered with @b. */
const char *codec_fmtp_passed(const struct sdp_format *a,
			      const struct sdp_format *b);

/** Speech ends here: @a was offered to us, and this is what we answer. */
const char *codec_fmtp_own(const struct sdp_format *a);

#endif
