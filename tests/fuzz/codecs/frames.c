/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any packets of any codec, through its payload format into its decoder: what
 * comes out lasts 120 ms at most, and a loss in between is concealed or
 * recovered.
 *
 * The first byte says which codec (low 5 bits) and which of its rates (the
 * others). Then, for each packet, the number of its bytes, and those.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "media/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PACKETS_MAX = 64, GUARD = 0x5aa5 };

struct listener {
	struct codec_use use;
	unsigned rate;
	void *dec;
	int16_t pcm[CR_FRAME_SAMPLES_MAX + 1];
};

static const struct cr_codec *codec_of(unsigned choice)
{
	unsigned n = 0;

	while (cr_codecs[n])
		n++;
	return cr_codecs[choice % n];
}

static unsigned rate_of(const struct cr_codec *c, unsigned choice)
{
	unsigned n = 0;

	while (c->rates && c->rates[n])
		n++;
	return n ? c->rates[choice % n] : c->sample_rate;
}

static void check(const struct listener *l, unsigned n)
{
	CR_ASSERT(n && n <= CR_FRAME_SAMPLES_MAX);
	CR_ASSERT((uint64_t)n * 1000 <= UINT64_C(120) * l->rate);
	CR_ASSERT(l->pcm[CR_FRAME_SAMPLES_MAX] == (int16_t)GUARD);
}

static void packet(struct listener *l, const uint8_t *data, size_t size)
{
	static const struct cr_frame lost = { .kind = CR_FRAME_BAD };
	static struct cr_frame f;
	/* A copy of its own, so that one octet too far is seen. */
	uint8_t *exact = malloc(size ? size : 1);
	struct payload_iter it;

	CR_ASSERT(exact);
	memcpy(exact, data, size);
	if (payload_open(&l->use, exact, size, &it))
		check(l, l->use.codec->decode(l->dec, &lost, l->pcm));
	else
		while (payload_next(&it, &f)) {
			if (l->use.codec->recover && f.bytes % 3 == 0)
				check(l, l->use.codec->recover(l->dec, &f,
							       l->pcm));
			check(l, l->use.codec->decode(l->dec, &f, l->pcm));
		}
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct listener l;
	struct cr_codec_cfg cfg = { 0 };

	if (!size)
		return 0;
	l.use.codec = codec_of(data[0] & 31u);
	l.rate = cfg.sample_rate = rate_of(l.use.codec, data[0] >> 5);
	CR_ASSERT(!payload_format_find(&l.use));
	CR_ASSERT(!l.use.codec->decoder_open(&l.dec, &cfg, NULL));
	l.pcm[CR_FRAME_SAMPLES_MAX] = (int16_t)GUARD;
	data++;
	size--;
	for (unsigned i = 0; size && i < PACKETS_MAX; i++) {
		size_t n = *data++;

		size--;
		n = n < size ? n : size;
		packet(&l, data, n);
		data += n;
		size -= n;
	}
	l.use.codec->decoder_close(l.dec);
	return 0;
}
