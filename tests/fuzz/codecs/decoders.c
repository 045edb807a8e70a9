/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bits, as frames of any type that gets to a decoder: with our kernels it
 * sounds as the installed library's.
 *
 * The first byte says which codec (bit 0). Then, for each frame: its type, the
 * number of bytes that follow (low 6 bits), and those; the rest are zeros.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "library.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES_MAX = 64 };

struct input {
	const uint8_t *data;
	size_t size;
};

static uint8_t byte(struct input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

static void frame(struct input *in, enum library_codec codec, bool started,
		  uint8_t out[LIBRARY_FRAME_MAX])
{
	unsigned type = library_frame_type(codec, byte(in), started);
	unsigned n = byte(in) & 63;

	memset(out, 0, LIBRARY_FRAME_MAX);
	out[0] = (uint8_t)(type << 3 | 4);
	for (unsigned i = 1; i <= n && i < LIBRARY_FRAME_MAX; i++)
		out[i] = byte(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	enum library_codec codec = (enum library_codec)(byte(&in) & 1);
	const struct library *linked = library_linked(codec);
	const struct library *installed = library_installed(codec);
	void *ours = library_decoder(linked);
	void *stock = library_decoder(installed);

	for (unsigned i = 0; in.size && i < FRAMES_MAX; i++) {
		int16_t a[LIBRARY_SAMPLES_MAX] = { 0 };
		int16_t b[LIBRARY_SAMPLES_MAX] = { 0 };
		uint8_t bits[LIBRARY_FRAME_MAX];

		frame(&in, codec, i > 0, bits);
		library_decode(linked, ours, bits, a);
		library_decode(installed, stock, bits, b);
		CR_ASSERT(!memcmp(a, b, sizeof(a)));
	}
	library_decoder_close(linked, ours);
	library_decoder_close(installed, stock);
	return 0;
}
