/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any octets as a WAV file: what is accepted lies inside the file.
 */
#include <stdlib.h>

#include "base/assert.h"
#include "speech/wav.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wav_info info;
	struct cr_err e = { 0 };
	int16_t *pcm;

	if (wav_parse(data, size, &info, &e)) {
		CR_ASSERT(e.text[0]);
		return 0;
	}
	CR_ASSERT(info.offset <= size);
	CR_ASSERT(info.samples <= (size - info.offset) / 2);
	pcm = malloc(info.samples * sizeof(*pcm) + 1);
	CR_ASSERT(pcm);
	wav_copy(data + info.offset, info.samples, pcm);
	free(pcm);
	return 0;
}
