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
#include <string.h>

#include <speex/speex_resampler.h>

#include "base/assert.h"
#include "base/memory.h"

enum {
	/* 32 taps at the lower rate. At 8 kHz one less loses 4 dB at 3.4 kHz,
	 * one more takes 3 ms. */
	QUALITY = 2,
	DOWN_MAX = 6,
	BLOCK = 156, /* a multiple of 2, 3 and 6; it has room for 160 */
};

struct resample {
	SpeexResamplerState *lib;
	unsigned from, to;
	unsigned nrest; /* of these, too few for one that comes out */
	int16_t rest[DOWN_MAX];
};

static unsigned up_of(const struct resample *r)
{
	return r->to > r->from ? r->to / r->from : 1;
}

static unsigned down_of(const struct resample *r)
{
	return r->to < r->from ? r->from / r->to : 1;
}

static bool is_known_rate(unsigned rate)
{
	return rate == 8000 || rate == 16000 || rate == 48000;
}

int resample_open(struct resample **out, unsigned from, unsigned to,
		  struct cr_err *e)
{
	struct resample *r;
	int err = 0;

	if (from == to || !is_known_rate(from) || !is_known_rate(to))
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
	unsigned down = down_of(r), all = r->nrest + nin, done = 0;
	int16_t joined[BLOCK];

	if (all / down * up_of(r) > cap)
		return 0;
	while (all >= down) {
		unsigned n = all < BLOCK ? all - all % down : BLOCK;
		unsigned fresh = n - r->nrest;
		const int16_t *block = in;
		unsigned nout = n / down * up_of(r);
		spx_uint32_t taken = n, given = nout;

		if (r->nrest) {
			memcpy(joined, r->rest, r->nrest * sizeof(*in));
			memcpy(joined + r->nrest, in, fresh * sizeof(*in));
			block = joined;
			r->nrest = 0;
		}
		/* Of more than BLOCK samples, or of half ones, the library may
		 * leave some of the last ones behind: it has no more room. */
		(void)speex_resampler_process_int(r->lib, 0, block, &taken,
						  out + done, &given);
		CR_ASSERT(taken == n && given == nout);
		done += nout;
		in += fresh;
		all -= n;
	}
	memcpy(r->rest + r->nrest, in, (all - r->nrest) * sizeof(*in));
	r->nrest = all;
	return done;
}
