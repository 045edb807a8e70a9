/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WAV files: RIFF/WAVE with PCM, 16 bits, mono. Nothing else.
 */
#ifndef SPEECH_WAV_H
#define SPEECH_WAV_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cr/error.h"

/** The place of the samples in a WAV file. */
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

/** The same from the first @have bytes of a file of @size bytes; they must
 * reach beyond the header of the data chunk. */
int wav_parse_head(const uint8_t *data, size_t have, uint64_t size,
		   struct wav_info *info, struct cr_err *e);

/** Bytes in front of the samples, as wav_header() makes them. */
#define WAV_HEADER_BYTES 44u
/** Most samples that the header can tell: its lengths have 32 bits. */
#define WAV_SAMPLES_MAX ((UINT32_MAX - WAV_HEADER_BYTES) / 2)

/** The header of a file of @samples at @rate Hz. Pure. */
void wav_header(uint8_t h[WAV_HEADER_BYTES], unsigned rate, uint64_t samples);

/** Copy @n little-endian samples from @bytes to native @pcm. Pure. */
void wav_copy(const uint8_t *bytes, size_t n, int16_t *pcm);

/** Write @n samples of @pcm behind the header; errors are the stream's. */
void wav_put(FILE *f, const int16_t *pcm, size_t n);

#endif
