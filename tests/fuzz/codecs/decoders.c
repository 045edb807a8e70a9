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

enum {
	FRAMES_MAX = 64,
	LOST = 14, /* AMR-WB only */
	NO_DATA = 15,
};

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

/* What codecs/amr.c and amr_wb.c let through: speech, SID, lost, nothing; in
 * the beginning speech only, as AMR-WB looks at memory that it has not set. */
static unsigned type_of(enum library_codec codec, unsigned byte, bool started)
{
	unsigned modes = library_facts[codec].modes;
	unsigned type = byte & 15;

	if (!started)
		return type % modes;
	if (type <= modes || type == NO_DATA)
		return type;
	return codec == LIBRARY_AMR_WB ? LOST : NO_DATA;
}

static void frame(struct input *in, enum library_codec codec, bool started,
		  uint8_t out[LIBRARY_FRAME_MAX])
{
	unsigned type = type_of(codec, byte(in), started);
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
