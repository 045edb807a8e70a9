/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: the resampler does not come back while the file that $STUCK names
 * is there. (Codec libraries may be linked into the program.)
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <speex/speex_resampler.h>

typedef int resample(SpeexResamplerState *state, spx_uint32_t channel,
		     const spx_int16_t *in, spx_uint32_t *nin, spx_int16_t *out,
		     spx_uint32_t *nout);

int speex_resampler_process_int(SpeexResamplerState *state,
				spx_uint32_t channel, const spx_int16_t *in,
				spx_uint32_t *nin, spx_int16_t *out,
				spx_uint32_t *nout)
{
	const char *path = getenv("STUCK");
	resample *real =
		(resample *)dlsym(RTLD_NEXT, "speex_resampler_process_int");

	while (path && !access(path, F_OK))
		(void)usleep(1000);
	return real(state, channel, in, nin, out, nout);
}
