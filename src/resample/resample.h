/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speech from 8000 to 16000 Hz and back (libspeexdsp), for one call.
 *
 * Every run gives exactly twice or half as many samples as it takes, so frames
 * keep their length and no frame is held back. The filter delays the signal by
 * 2 ms (16 samples at 8 kHz), in either direction; its loss is 1 dB (up) or
 * 3 dB (down) at 3.4 kHz, and images and aliases stay 60 dB below.
 */
#ifndef RESAMPLE_RESAMPLE_H
#define RESAMPLE_RESAMPLE_H

#include "cr/error.h"

#include <stdint.h>

struct resample;

/**
 * Start a conversion between @from and @to Hz (8000 and 16000 in either order).
 * Returns 0 and sets *@r, or -EINVAL, -ENOMEM with @e. The state belongs to one
 * thread at a time; running it allocates nothing.
 */
int resample_open(struct resample **r, unsigned from, unsigned to,
		  struct cr_err *e);

/** NULL is fine. */
void resample_close(struct resample *r);

/**
 * Convert @nin samples (even, when going down) into @out. Returns the number
 * written, 2 * @nin or @nin / 2, or 0 and does nothing when @cap is less or
 * @nin odd.
 */
unsigned resample_run(struct resample *r, const int16_t *in, unsigned nin,
		      int16_t *out, unsigned cap);

#endif
