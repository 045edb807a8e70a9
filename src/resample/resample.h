/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speech between 8000, 16000 and 48000 Hz (libspeexdsp), for one call.
 *
 * Every run gives exactly as many samples as what it takes has time, so frames
 * keep their length and no frame is held back, but for less than a sample. The
 * filter delays the signal by 16 samples of the lower rate, in either
 * direction: 2 ms to or from 8 kHz, 1 ms between 16 and 48 kHz. Its loss is 1
 * dB (up) or 3 dB (down) at 3.4 kHz (6.8 kHz between 16 and 48 kHz), and images
 * and aliases stay 60 dB below.
 */
#ifndef RESAMPLE_RESAMPLE_H
#define RESAMPLE_RESAMPLE_H

#include "cr/error.h"

#include <stdint.h>

struct resample;

/**
 * Start a conversion from @from to @to Hz: two of 8000, 16000 and 48000.
 * Returns 0 and sets *@r, or -EINVAL, -ENOMEM with @e. The state belongs to one
 * thread at a time; running it allocates nothing.
 */
int resample_open(struct resample **r, unsigned from, unsigned to,
		  struct cr_err *e);

/** NULL is fine. */
void resample_close(struct resample *r);

/**
 * Convert @nin samples into @out. Returns the number written; what is too short
 * for a whole one, when going down, is kept for the next run. Returns 0 and
 * does nothing when @cap is less.
 */
unsigned resample_run(struct resample *r, const int16_t *in, unsigned nin,
		      int16_t *out, unsigned cap);

#endif
