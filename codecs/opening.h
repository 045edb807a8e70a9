/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoders and decoders are opened through these two: some libraries do not
 * look whether they were given the memory that they asked for, so that is seen
 * to before they are called.
 */
#ifndef CODECS_OPENING_H
#define CODECS_OPENING_H

#include "cr/codec.h"

/** As @c's encoder_open(), but -ENOMEM with @e where memory is short. Any
 * thread. */
int codec_open_encoder(const struct cr_codec *c, void **enc,
		       const struct cr_codec_cfg *cfg, struct cr_err *e);

/** As @c's decoder_open(), which it has. */
int codec_open_decoder(const struct cr_codec *c, void **dec,
		       const struct cr_codec_cfg *cfg, struct cr_err *e);

#endif
