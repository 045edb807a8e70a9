/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Concealment by waveform substitution, for decoders that have none of their
 * own: while frames are lost, the last period of the voice is repeated and
 * fades; when they are back, the first of them is faded in. Good frames are
 * otherwise left as they are. Only for codecs/.
 *
 * The method is that of ITU-T G.711, appendix I, but without its delay, and for
 * any rate. It is not spandsp's plc: that knows pitches of 8 kHz only, and
 * fades twice as fast at 16 (codecs/README.md has the figures).
 *
 * A struct conceal is owned by one decoder; nothing is allocated.
 */
#ifndef CODECS_CONCEAL_H
#define CODECS_CONCEAL_H

#include <stdbool.h>
#include <stdint.h>

/** Highest sample rate, Hz. */
#define CONCEAL_RATE_MAX 48000u
/** Longest period of a voice that is looked for, ms: 67 Hz. */
#define CONCEAL_PERIOD_MS 15u
/** How much of the past two periods are looked for in, ms. */
#define CONCEAL_SPAN_MS 20u
/** After this time of loss there is silence, ms. */
#define CONCEAL_FADE_MS 60u

/** The state of one stream of PCM. Private. */
struct conceal {
	unsigned rate;	  /* Hz                                       */
	unsigned samples; /* of the last frame                        */
	unsigned history; /* samples of past[] that are used          */
	bool heard;	  /* a good frame has come                    */
	unsigned lost;	  /* samples since the last good one          */
	unsigned blend;	  /* samples of good frames yet to be faded in */
	unsigned period;  /* samples of cycle[]                       */
	unsigned at;	  /* the next one of cycle[]                  */
	float step;	  /* from cycle[] to the last good sample     */
	int16_t past[CONCEAL_RATE_MAX / 1000 *
		     (CONCEAL_PERIOD_MS + CONCEAL_SPAN_MS)];
	float cycle[CONCEAL_RATE_MAX / 1000 * CONCEAL_PERIOD_MS];
};

/** Start in silence, at @rate (8000..CONCEAL_RATE_MAX Hz), with frames of
 * @samples. */
void conceal_init(struct conceal *c, unsigned rate, unsigned samples);

/** A good frame was decoded: remember its @samples (1 or more), and fade it in
 * after a loss. */
void conceal_good(struct conceal *c, int16_t *pcm, unsigned samples);

/** A frame was lost: write as many samples as the last one had to @pcm. Returns
 * their number. */
unsigned conceal_lost(struct conceal *c, int16_t *pcm);

#endif
