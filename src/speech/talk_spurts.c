/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns, block by block of 10 ms. Whole numbers only: the same samples on every
 * machine.
 */
#include "speech/talk_spurts.h"

#include <string.h>

#include "base/random.h"

#define BLOCK_NS (10 * CR_MS)
/* Blocks below this RMS (-50 dB of full scale) are quiet. */
#define QUIET 100u
/* So much of a recording's silence stays: what stops and syllables need. */
#define QUIET_BLOCKS 6u

/* 0 dBov is a square wave of full scale: 32768. */
static unsigned rms_of(unsigned dbov)
{
	uint64_t rms = (uint64_t)32768 << 8;

	while (dbov--)
		rms = rms * 58409 >> 16; /* 1 dB less */
	return (unsigned)rms;
}

/* Nearly normal: the sum of four even numbers, of an RMS of 37837. */
static int32_t draw_noise(struct speech_talker *t)
{
	uint64_t x = splitmix64(&t->room);
	int64_t sum = -2 * (int64_t)UINT16_MAX;

	for (unsigned i = 0; i < 4; i++, x >>= 16)
		sum += (int64_t)(x & UINT16_MAX);
	return (int32_t)(sum * t->rms / (37837 * 256));
}

static int16_t mix_samples(int32_t a, int32_t b)
{
	int32_t sum = a + b;

	return (int16_t)(sum > INT16_MAX   ? INT16_MAX
			 : sum < INT16_MIN ? INT16_MIN
					   : sum);
}

static uint64_t blocks_of(struct speech_talker *t, const struct speech_span *s)
{
	uint64_t least = (uint64_t)(s->least / BLOCK_NS);
	uint64_t more = (uint64_t)(s->most / BLOCK_NS) - least;
	uint64_t n = least + splitmix64(&t->random) % (more + 1);

	return n ? n : 1;
}

static void begin_spurt_turn(struct speech_talker *t)
{
	t->talking = !t->talking;
	t->left =
		blocks_of(t, t->talking ? &t->turns->spurt : &t->turns->pause);
	t->first = true;
}

static bool is_quiet_block(const struct speech_talker *t)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < t->size; i++)
		sum += (uint64_t)((int32_t)t->block[i] * t->block[i]);
	return sum < (uint64_t)t->size * QUIET * QUIET;
}

/* Words that begin or end in the middle of a sound would click. */
static void fade_block(struct speech_talker *t, bool in)
{
	for (unsigned i = 0; i < t->size; i++) {
		int32_t share = (int32_t)(in ? i : t->size - 1 - i);

		t->block[i] = (int16_t)(t->block[i] * share / (int32_t)t->size);
	}
}

static void fill_block(struct speech_talker *t)
{
	if (!t->left)
		begin_spurt_turn(t);
	t->left--;
	if (t->talking) {
		/* A corpus has no clips without a loud block, so this comes to
		 * an end. */
		do {
			speech_read(&t->reader, t->block, t->size);
			t->quiet = is_quiet_block(t) ? t->quiet + 1 : 0;
		} while (t->quiet > QUIET_BLOCKS);
	} else {
		memset(t->block, 0, sizeof(t->block));
	}
	if (t->first)
		fade_block(t, true);
	if (!t->left)
		fade_block(t, false);
	for (unsigned i = 0; i < t->size; i++)
		t->block[i] = mix_samples(t->block[i], draw_noise(t));
	t->first = false;
	t->pos = 0;
}

void speech_talker_init(struct speech_talker *t,
			const struct talk_spurts *turns,
			const struct speech_corpus *corpus, uint64_t seed,
			uint64_t call)
{
	uint64_t spurts = (uint64_t)(turns->spurt.least + turns->spurt.most);
	uint64_t pauses = (uint64_t)(turns->pause.least + turns->pause.most);
	uint64_t random = seed;

	*t = (struct speech_talker){ .turns = turns };
	speech_reader_init(&t->reader, corpus, seed, call);
	random = splitmix64(&random) + call;
	t->random = splitmix64(&random);
	t->room = splitmix64(&random);
	t->rms = rms_of(turns->noise);
	t->size = t->pos = speech_rate(corpus) / 100;
	/* so that in the mean as many talk as later on */
	t->talking = splitmix64(&t->random) % (spurts + pauses) >= spurts;
	begin_spurt_turn(t);
	t->left = 1 + splitmix64(&t->random) % t->left;
}

void speech_talker_read(struct speech_talker *t, int16_t *pcm, size_t n)
{
	while (n) {
		size_t part = t->size - t->pos;

		if (!part) {
			fill_block(t);
			continue;
		}
		if (part > n)
			part = n;
		memcpy(pcm, t->block + t->pos, part * sizeof(*pcm));
		t->pos += (unsigned)part;
		pcm += part;
		n -= part;
	}
}
