/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AMR libraries twice: linked into this program, where some of their
 * functions may be ours, and as installed, loaded from the shared libraries.
 * What the one gives, the other must give. Codec states are of one library and
 * used with it only.
 */
#ifndef TESTS_LIBRARY_H
#define TESTS_LIBRARY_H

#include <stdbool.h>
#include <stdint.h>

enum library_codec { LIBRARY_AMR, LIBRARY_AMR_WB, LIBRARY_CODECS };

/** Room for a frame of any mode, ToC included. */
#define LIBRARY_FRAME_MAX 64u
/** Samples of the longest frame. */
#define LIBRARY_SAMPLES_MAX 320u

/** The common part of both. */
struct library_facts {
	const char *name; /**< "amr", also of cr_codec_find() */
	unsigned sample_rate, samples, modes;
};

extern const struct library_facts library_facts[LIBRARY_CODECS];

struct library;

/** The codec as it is in this program. */
const struct library *library_linked(enum library_codec codec);

/** The codec as it is installed: never ours. Loads it the first time; aborts
 * with a message when it is not there or shares code with this program. One
 * thread. */
const struct library *library_installed(enum library_codec codec);

/** An encoder; aborts when there is no memory. @dtx holds for its frames. */
void *library_encoder(const struct library *l, bool dtx);
void library_encoder_close(const struct library *l, void *enc);

/** Encode @pcm[samples] to @out[LIBRARY_FRAME_MAX]; returns its bytes. */
unsigned library_encode(const struct library *l, void *enc, unsigned mode,
			bool dtx, const int16_t *pcm, uint8_t *out);

/**
 * A type of frame that codecs/amr.c and amr_wb.c let through to a decoder, from
 * any byte: speech, SID, lost (AMR-WB only), nothing; speech only unless
 * @started, as AMR-WB then looks at memory that it has not set.
 */
unsigned library_frame_type(enum library_codec codec, unsigned byte,
			    bool started);

/** A decoder; aborts when there is no memory. */
void *library_decoder(const struct library *l);
void library_decoder_close(const struct library *l, void *dec);

/** Decode a frame as library_encode() makes it to @pcm[samples]. */
void library_decode(const struct library *l, void *dec, const uint8_t *frame,
		    int16_t *pcm);

#endif
