/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading WAV files: RIFF/WAVE with PCM, 16 bits, mono. Nothing else.
 */
#ifndef SPEECH_WAV_H
#define SPEECH_WAV_H

#include <stddef.h>
#include <stdint.h>

#include "cr/error.h"

/** Where the samples of a WAV file are. */
struct wav_info {
	unsigned sample_rate; /**< Hz                                     */
	size_t offset;	      /**< of the first sample, bytes from start   */
	size_t samples;	      /**< whole ones that are really there        */
};

/**
 * Find the samples in the file image @data[size]. Returns 0 and fills *@info,
 * or -EINVAL with @e saying what is wrong (not RIFF/WAVE, no "fmt " or "data"
 * chunk, another format, cut off). A "data" chunk that claims more bytes than
 * the file has is cut off, unless it claims 0 or 0xffffffff, as programs do
 * that write into a pipe: then it is the rest of the file. Pure.
 */
int wav_parse(const uint8_t *data, size_t size, struct wav_info *info,
	      struct cr_err *e);

/** Copy @n little-endian samples from @bytes to native @pcm. Pure. */
void wav_copy(const uint8_t *bytes, size_t n, int16_t *pcm);

#endif
