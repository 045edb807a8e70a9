/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a listener would miss a packet, at a glance: the loudness of PCM, or
 * about that of AMR, and whether a codec says itself that nothing is being
 * said. What would take a decoder is not looked into: it is unknown.
 *
 *   PCMU, PCMA, L16      the mean square of the samples
 *   AMR, 12.2 and 7.95   as its gains say, see below
 *   AMR, G.723.1, Speex  SID and NO_DATA: nothing; else unknown
 *   and other frames
 *   a packet that is     two octets or less, as Opus has in its silence:
 *   one frame            nothing; else unknown
 *   G.722, G.726         unknown: their steps say little without the state
 *
 * Pure functions, any thread.
 */
#ifndef MEDIA_IMPORTANCE_H
#define MEDIA_IMPORTANCE_H

#include "cr/codec.h"
#include "cr/sched.h"
#include "media/payload.h"

/* --- AMR --- */

/*
 * How loud a frame of AMR is, by its gains: they lie open in the modes 12.2 and
 * 7.95, where each subframe has a gain of the fixed codebook, as a correction
 * of what the four before predict, and one of the adaptive codebook, which
 * repeats what was heard before (3GPP TS 26.090, 5.8 and 6.1). So the energy of
 * the excitation is known without a decoder. What the synthesis filter makes of
 * it is not; but voices, which it lifts, repeat themselves, and noise does not.
 * With recordings the level correlates by 0.9 with that of what is decoded, and
 * of a hundred frames of a line with some noise 92 are rightly told to be of a
 * pause or not (tests/unit/media/importance_amr.c).
 *
 * Elsewhere the two gains are coded as one, also in AMR-WB. That has a flag for
 * speech, but who does without DTX may leave it 0: it is not believed.
 *
 * Pure functions; a memory is one thread's at a time.
 */

/** Of a call's frames so far. Zero: none. */
struct importance_amr {
	uint64_t energy; /**< of the last subframe's excitation           */
	int16_t past[4]; /**< corrections, the last one first             */
	bool known;	 /**< these are                                   */
};

/** Does a frame of @mode, a frame type of AMR, show its gains? */
bool importance_amr_shows(unsigned mode);

/** cr_job.importance of @f, a whole frame of speech whose mode shows it, which
 * comes behind those in @m. */
uint8_t importance_amr(struct importance_amr *m, const struct cr_frame *f);

/** The next frame does not follow those in @m. */
static inline void importance_amr_forget(struct importance_amr *m)
{
	*m = (struct importance_amr){ 0 };
}

/* --- any payload --- */

/** Of the @n bytes at @p, packed as @cfg says: cr_job.importance. @past: of the
 * packets before in the same stream. What cannot be parsed is unknown: who
 * works on it finds out. */
uint8_t importance_of(struct importance_amr *past, const struct codec_use *cfg,
		      const uint8_t *p, size_t n);

/** The level of @square, the mean square of samples of 16 bits: 4 steps for
 * each factor of two. */
uint8_t importance_of_square(uint64_t square);

#endif
