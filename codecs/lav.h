/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libavcodec, as far as we need it: mono speech, one packet in, one frame out,
 * and back. Library cr_lav; built only where libavcodec is.
 *
 * libavcodec allocates a few small objects for every frame (references to
 * buffers, which it recycles); the packet and frame themselves are kept.
 */
#ifndef CODECS_LAV_H
#define CODECS_LAV_H

#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"

struct lav;

/** Which coder. */
struct lav_spec {
	const char *name;     /**< libavcodec's: "g723_1"                  */
	unsigned sample_rate; /**< Hz                                      */
	unsigned bit_rate;    /**< encoders                                */
	unsigned coded_bits;  /**< decoders of ADPCM: of a sample          */
	size_t packet_max;    /**< decoders: bytes of the largest packet   */
};

/**
 * Open an encoder or decoder. Returns 0 and sets *@l, or with @e -ENOENT
 * (libavcodec was built without it), -EIO (it will not open) or -ENOMEM. The
 * first call silences libavcodec's own messages. One thread at a time each.
 */
int lav_encoder_open(struct lav **l, const struct lav_spec *spec,
		     struct cr_err *e);
int lav_decoder_open(struct lav **l, const struct lav_spec *spec,
		     struct cr_err *e);

/** Close either. NULL is fine. */
void lav_close(struct lav *l);

/**
 * Encode a frame of @pcm into @out[@cap]. Returns the number of
 * bytes, or -EIO.
 */
int lav_encode(struct lav *l, const int16_t *pcm, uint8_t *out, size_t cap);

/**
 * Decode one packet of 1..packet_max bytes into @pcm[@cap]. Returns the number
 * of samples, or -EIO, also when they would not fit.
 */
int lav_decode(struct lav *l, const uint8_t *data, size_t bytes, int16_t *pcm,
	       size_t cap);

#endif
