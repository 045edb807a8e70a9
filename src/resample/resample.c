/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speech from 8000 to 16000 Hz and back.
 *
 * The filter starts out full of zeros, and they are let out: skipping them
 * would remove the 2 ms of delay at the price of a short first frame, and so
 * of a frame held back for ever.
 */
#include "resample/resample.h"

#include <errno.h>
#include <stdlib.h>

#include <speex/speex_resampler.h>

#include "base/assert.h"

enum {
	/* 32 taps at 8 kHz. One less loses 4 dB at 3.4 kHz, one more takes
	 * 3 ms. */
	QUALITY = 2,
};

struct resample {
	SpeexResamplerState *lib;
	unsigned from, to;
};

int resample_open(struct resample **out, unsigned from, unsigned to,
		  struct cr_err *e)
{
	struct resample *r;
	int err = 0;

	if (!(from == 8000 && to == 16000) && !(from == 16000 && to == 8000))
		return cr_fail(e, -EINVAL,
			       "resample: %u to %u Hz; only 8000 to 16000 and "
			       "back",
			       from, to);
	r = calloc(1, sizeof(*r));
	if (r)
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
	unsigned nout = r->to > r->from ? 2 * nin : nin / 2;
	spx_uint32_t taken = nin, given = nout;

	if (nout > cap || (r->to < r->from && nin % 2))
		return 0;
	(void)speex_resampler_process_int(r->lib, 0, in, &taken, out, &given);
	CR_ASSERT(taken == nin && given == nout);
	return nout;
}
