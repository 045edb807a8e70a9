/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All recordings through encoder and decoder with our kernels and through the
 * installed library's: the long form of tests/integration/kernels.
 */
#ifndef TESTS_BENCH_CODEC_KERNELS_VERIFY_H
#define TESTS_BENCH_CODEC_KERNELS_VERIFY_H

#include <stddef.h>

#include "library.h"

/** What to go through. */
struct verify_plan {
	enum library_codec codec;
	int mode; /**< -1: a random one for each frame */
	bool dtx;
	uint64_t seed; /**< of what is not recorded */
};

/** What came of it. */
struct verify_result {
	uint64_t frames;
	uint64_t other_frames; /**< that are not the library's     */
	uint64_t other_sounds; /**< of its frames, as decoded      */
};

/** What is heard: speech and, at its end, other sound. */
struct material {
	int16_t *pcm;
	size_t n;
	double speech; /**< minutes */
};

/** Load all recordings at the codec's sample rate, resampled ones included,
 * and minutes of other sound; exits with a message when there are none. */
struct material material_load(enum library_codec codec, uint64_t seed);
void material_free(struct material *m);

/** Run @m through both. */
struct verify_result verify(const struct verify_plan *p,
			    const struct material *m);

#endif
