/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sound that is hard on a coder: speech, as recorded and far too loud, noise,
 * tones, square waves, pulses, silence, and samples of extremes, of random
 * strength and length one after the other.
 */
#ifndef TESTS_SOUND_H
#define TESTS_SOUND_H

#include <stddef.h>
#include <stdint.h>

#include "speech/speech.h"

enum sound_kind {
	SOUND_SPEECH,
	SOUND_LOUD, /**< speech that clips */
	SOUND_NOISE,
	SOUND_TONES, /**< two at a time */
	SOUND_SQUARE,
	SOUND_PULSES,
	SOUND_SILENCE,
	SOUND_EXTREMES,
	SOUND_KINDS
};

/** An endless sound. Plain data. */
struct sound {
	uint64_t seed;
	struct speech_reader speech; /**< without a corpus: all zero       */
	enum sound_kind kind;	     /**< being made                    */
	size_t left;		     /**< samples of it                 */
	unsigned rate;		     /**< Hz                            */
	double step[2];		     /**< of the phases, cycles a sample */
	double phase[2];
	double strength; /**< of a full scale of 1          */
};

/** Start, at @rate Hz, that of @corpus; the same @seed and @corpus give the
 * same samples. Without a corpus (NULL) there is silence instead of speech. */
void sound_init(struct sound *s, unsigned rate,
		const struct speech_corpus *corpus, uint64_t seed);

/** The next @n samples. */
void sound_read(struct sound *s, int16_t *pcm, size_t n);

#endif
