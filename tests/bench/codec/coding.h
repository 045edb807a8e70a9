/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What calls ask of the codecs, and nothing else: as many states of a codec as
 * there would be calls, each with its own recorded speech, and as many of the
 * calls' other side, PCM.
 *
 * One thread.
 */
#ifndef TESTS_BENCH_CODEC_CODING_H
#define TESTS_BENCH_CODEC_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/codec.h"
#include "cr/error.h"

struct coding_cfg {
	const char *codec;
	const char *mode; /**< NULL or "": the codec's default             */
	const char *pcm;  /**< codec of the other side; NULL: bare samples */
	bool decode;	  /**< from the codec to PCM; else to the codec    */
	unsigned states;
	uint64_t seed; /**< of the speech */
};

struct coding;

/** Returns 0 and sets *@c, or -errno with @e. */
int coding_open(struct coding **c, const struct coding_cfg *cfg,
		struct cr_err *e);
void coding_close(struct coding *c); /**< NULL is fine */

/** What state @i has to work on next: a frame of its speech. */
void coding_hear(struct coding *c, unsigned i);
/** The same of @bytes that have come in a packet of the PCM side; one that does
 * not fit a frame is cut. When not decoding, with a PCM side. */
void coding_hear_payload(struct coding *c, const uint8_t *payload,
			 size_t bytes);

/** Do a call's work on what was heard last. Returns the bytes of the frame that
 * came out. */
unsigned coding_run(struct coding *c, unsigned i);

/** The codec, and how it is used. */
const struct cr_codec *coding_codec(const struct coding *c);
const struct cr_codec_cfg *coding_codec_cfg(const struct coding *c);

#endif
