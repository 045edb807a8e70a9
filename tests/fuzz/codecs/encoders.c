/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any samples, in any mode: an encoder with our kernels and the installed
 * library's give the same frames, and their decoders the same sound.
 *
 * The first byte says which codec (bit 0), whether DTX (bit 1). Then, for each
 * frame: its mode (low 4 bits) and by how much its samples are shifted right
 * (high 4), the number of samples that follow, less one, and those samples,
 * low byte first, which are repeated until the frame is full.
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

/* An encoder and a decoder. */
struct side {
	const struct library *library;
	void *enc, *dec;
};

static uint8_t byte(struct input *in)
{
	if (!in->size)
		return 0;
	in->size--;
	return *in->data++;
}

/* A frame's samples; returns its mode, not yet in range. */
static unsigned frame(struct input *in, int16_t *pcm, unsigned samples)
{
	unsigned control = byte(in), n = byte(in) + 1u;

	for (unsigned i = 0; i < samples; i++) {
		unsigned low, high;

		if (i >= n) {
			pcm[i] = pcm[i - n];
			continue;
		}
		low = byte(in);
		high = byte(in);
		pcm[i] =
			(int16_t)((int16_t)(low | high << 8) >> (control >> 4));
	}
	return control & 15;
}

static struct side side_open(const struct library *l, bool dtx)
{
	return (struct side){ l, library_encoder(l, dtx), library_decoder(l) };
}

static void side_close(struct side *s)
{
	library_encoder_close(s->library, s->enc);
	library_decoder_close(s->library, s->dec);
}

/* @pcm through both, there and back. */
static void step(struct side *ours, struct side *stock, unsigned mode, bool dtx,
		 const int16_t *pcm)
{
	uint8_t a[LIBRARY_FRAME_MAX] = { 0 }, b[LIBRARY_FRAME_MAX] = { 0 };
	int16_t x[LIBRARY_SAMPLES_MAX] = { 0 }, y[LIBRARY_SAMPLES_MAX] = { 0 };
	unsigned n =
		library_encode(ours->library, ours->enc, mode, dtx, pcm, a);
	unsigned m =
		library_encode(stock->library, stock->enc, mode, dtx, pcm, b);

	CR_ASSERT(n == m && !memcmp(a, b, sizeof(a)));
	library_decode(ours->library, ours->dec, a, x);
	library_decode(stock->library, stock->dec, b, y);
	CR_ASSERT(!memcmp(x, y, sizeof(x)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	unsigned head = byte(&in);
	enum library_codec codec = (enum library_codec)(head & 1);
	const struct library_facts *facts = &library_facts[codec];
	bool dtx = head >> 1 & 1;
	struct side ours = side_open(library_linked(codec), dtx);
	struct side stock = side_open(library_installed(codec), dtx);

	for (unsigned i = 0; in.size && i < FRAMES_MAX; i++) {
		int16_t pcm[LIBRARY_SAMPLES_MAX];
		unsigned mode = frame(&in, pcm, facts->samples) % facts->modes;

		step(&ours, &stock, mode, dtx, pcm);
	}
	side_close(&ours);
	side_close(&stock);
	return 0;
}
