/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synthetic speech, for machines without recordings: voiced sounds of moving
 * pitch and formants, noise and pauses. Coders find it about as hard as speech;
 * nobody would take it for any.
 */
#ifndef COST_SYNTH_H
#define COST_SYNTH_H

#include <stddef.h>
#include <stdint.h>

/** A generator. Plain data. */
struct synth {
	double rate, phase;
	double pitch, formant[2]; /**< Hz, of the sound being made */
	double tap[2][2];	  /**< two resonators              */
	unsigned sound;		  /**< 0 pause, 1 noise, else voiced */
	size_t left;		  /**< samples of the sound          */
	uint64_t random;
};

/** Start; the same seed gives the same samples. @rate in Hz. */
void synth_init(struct synth *s, unsigned rate, uint64_t seed);

/** The next @n samples. */
void synth_read(struct synth *s, int16_t *pcm, size_t n);

#endif
