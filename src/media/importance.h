/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a listener would miss a packet, at a glance: the loudness of PCM, or
 * about that of AMR, and whether a codec says itself that nothing is being
 * said. What would take a decoder is not looked into: it is unknown.
 *
 *   PCMU, PCMA, L16      the mean square of the samples
 *   AMR, 12.2 and 7.95   as its gains say (importance_amr.h)
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

#include "cr/sched.h"
#include "media/importance_amr.h"
#include "media/payload.h"

/** Of the @n bytes at @p, packed as @cfg says: cr_job.importance. @past: of the
 * packets before in the same stream. What cannot be parsed is unknown: who
 * works on it finds out. */
uint8_t importance_of(struct importance_amr *past,
		      const struct payload_cfg *cfg, const uint8_t *p,
		      size_t n);

/** The level of @square, the mean square of samples of 16 bits: 4 steps for
 * each factor of two. */
uint8_t importance_of_square(uint64_t square);

#endif
