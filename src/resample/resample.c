/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speech between 8000, 16000 and 48000 Hz.
 *
 * The filter starts out full of zeros, and they are let out: skipping them
 * would remove the 2 ms of delay at the price of a short first frame, and so
 * of a frame held back for ever.
 */
#include "resample/resample.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <speex/speex_resampler.h>

#include "base/assert.h"
#include "base/memory.h"

enum {
	/* 32 taps at the lower rate. At 8 kHz one less loses 4 dB at 3.4 kHz,
	 * one more takes 3 ms. */
	QUALITY = 2,
};

struct resample {
	SpeexResamplerState *lib;
	unsigned from, to;
};

static bool known(unsigned rate)
{
	return rate == 8000 || rate == 16000 || rate == 48000;
}

int resample_open(struct resample **out, unsigned from, unsigned to,
		  struct cr_err *e)
{
	struct resample *r;
	int err = 0;

	if (from == to || !known(from) || !known(to))
		return cr_fail(e, -EINVAL,
			       "resample: %u to %u Hz; only between 8000, "
			       "16000 and 48000",
			       from, to);
	r = calloc(1, sizeof(*r));
	if (r && memory_there(MEMORY_FOR_LIBRARY))
		r->lib = speex_resampler_init(1, from, to, QUALITY, &err);
	if (!r || !r->lib) {
		free(r);
		return cr_fail(e, -ENOMEM, "resample: out of memory");
	}
	r->from = from;
	r->to = to;
	*out = r;
	return 0;
}

void resample_close(struct resample *r)
{
	if (!r)
		return;
	speex_resampler_destroy(r->lib);
	free(r);
}

unsigned resample_run(struct resample *r, const int16_t *in, unsigned nin,
		      int16_t *out, unsigned cap)
{
	unsigned up = r->to > r->from ? r->to / r->from : 1;
	unsigned down = r->to < r->from ? r->from / r->to : 1;
	unsigned nout = nin / down * up;
	spx_uint32_t taken = nin, given = nout;

	if (nout > cap || nin % down)
		return 0;
	(void)speex_resampler_process_int(r->lib, 0, in, &taken, out, &given);
	CR_ASSERT(taken == nin && given == nout);
	return nout;
}
