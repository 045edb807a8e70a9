/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endless speech for one call. A call walks round the corpus in steps that
 * have no divisor in common with the number of clips: it meets every clip, in
 * an order that depends on the step, and needs no memory for it.
 */
#include "speech/speech.h"

#include <string.h>

#include "base/divisor.h"
#include "base/splitmix.h"

static uint64_t mix(uint64_t x)
{
	return splitmix64(&x);
}

void speech_reader_init(struct speech_reader *r,
			const struct speech_corpus *corpus, uint64_t seed,
			uint64_t call)
{
	size_t count = speech_count(corpus);
	uint64_t random = mix(mix(seed) + call);

	r->corpus = corpus;
	r->clip = random % count;
	random = mix(random);
	r->step = 1 + random % count;
	while (common_divisor(r->step, count) != 1)
		r->step++;
	random = mix(random);
	r->pos = random % speech_clip(corpus, r->clip)->n;
}

void speech_read(struct speech_reader *r, int16_t *pcm, size_t n)
{
	while (n) {
		const struct speech_clip *clip =
			speech_clip(r->corpus, r->clip);
		size_t part = clip->n - r->pos;

		if (part > n)
			part = n;
		memcpy(pcm, clip->pcm + r->pos, part * sizeof(*pcm));
		pcm += part;
		n -= part;
		r->pos += part;
		if (r->pos < clip->n)
			continue;
		r->pos = 0;
		r->clip = (r->clip + r->step) % speech_count(r->corpus);
	}
}
