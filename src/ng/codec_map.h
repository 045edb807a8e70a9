/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of SDP and the codecs of this node: which is which, and how a call
 * uses a codec that SDP describes.
 *
 * Pure.
 */
#ifndef NG_CODEC_MAP_H
#define NG_CODEC_MAP_H

#include "cr/codec.h"
#include "ng/codec_list.h"
#include "node/requests.h"

/** What the codecs that are built in or loaded can do. */
extern const struct codec_abilities codec_map_abilities;

/** The codec of @f, with *@rate (Hz, 0: its own) where it runs at several;
 * NULL: there is none that encodes and decodes it. */
const struct cr_codec *codec_map_find(const struct sdp_format *f,
				      unsigned *rate);

/** How speech of @f is sent to who has said it receives that: its payload
 * format, modes and options, by the RFC of its codec; @bit_rate is the most, 0:
 * the codec's own. Texts are static. What can only be passed on has a codec for
 * that. 0; -EINVAL with @e: no such codec, or parameters that it has not. */
int codec_map_side(struct call_side_request *out, const struct sdp_format *f,
		   unsigned bit_rate, struct cr_err *e);

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
