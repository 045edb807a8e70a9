/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A talker takes turns: spurts of words and pauses of noise as long as asked
 * for, however much silence the recordings have, and the same every time.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "scratch.h"
#include "speech/speech.h"
#include "speech/wav.h"

enum { RATE = 8000, BLOCK = RATE / 100, BLOCKS = 20000 /* 200 s */ };
/* A quiet recording's 60 ms stay, and a word's ends are faded. */
enum { WORD_QUIET = 8, PAUSE_LEAST = 60, PAUSE_MOST = 160 };

static const struct talk_spurts dialogue = {
	.spurt = { 700 * CR_MS, 1800 * CR_MS },
	.pause = { 600 * CR_MS, 1600 * CR_MS },
	.noise = 65,
};

static char wav[SCRATCH_MAX];
static struct speech_corpus *corpus;

/* 14 s: words of 400 ms, and 300 ms of silence behind each. */
static int make_corpus(void **state)
{
	enum { WORD = 40 * BLOCK, GAP = 30 * BLOCK, N = 20 * (WORD + GAP) };
	const char *patterns[] = { scratch_file(wav), NULL };
	uint8_t head[WAV_HEADER_BYTES];
	FILE *f = fopen(wav, "wb");

	if (!f)
		return -1;
	wav_header(head, RATE, N);
	(void)fwrite(head, 1, sizeof(head), f);
	for (unsigned i = 0; i < N; i++) {
		bool word = i % (WORD + GAP) < WORD;
		int16_t s = (int16_t)(word ? (int)(i * 97 % 8001) - 4000 : 0);

		(void)fwrite(&s, sizeof(s), 1, f);
	}
	return fclose(f) || speech_open(&corpus, RATE, patterns, NULL);
}

static int close_corpus(void **state)
{
	speech_close(corpus);
	return 0;
}

/* The RMS of each block of a talker. */
static double *listen_to(const struct talk_spurts *turns, uint64_t call)
{
	double *rms = calloc(BLOCKS, sizeof(*rms));
	struct speech_talker t;

	assert_non_null(rms);
	speech_talker_init(&t, turns, corpus, 7, call);
	for (unsigned i = 0; i < BLOCKS; i++) {
		int16_t pcm[BLOCK];
		double sum = 0;

		speech_talker_read(&t, pcm, BLOCK);
		for (unsigned k = 0; k < BLOCK; k++)
			sum += (double)pcm[k] * pcm[k];
		rms[i] = sqrt(sum / BLOCK);
	}
	return rms;
}

static double active(const double *rms)
{
	unsigned n = 0;

	for (unsigned i = 0; i < BLOCKS; i++)
		n += rms[i] > 100;
	return (double)n / BLOCKS;
}

static void spurts_and_pauses_are_as_long_as_asked_for(void **state)
{
	double *rms = listen_to(&dialogue, 3), noise = 0;
	unsigned quiet = 0, pauses = 0, blocks = 0;

	assert_true(active(rms) > 0.35 && active(rms) < 0.55);
	for (unsigned i = 0; i < BLOCKS; i++) {
		if (rms[i] <= 100) {
			quiet++;
			continue;
		}
		/* a gap between words, or a pause; the first was begun */
		if (quiet > WORD_QUIET && quiet < i) {
			assert_in_range(quiet, PAUSE_LEAST,
					PAUSE_MOST + 2 * WORD_QUIET);
			pauses++;
		}
		quiet = 0;
	}
	/* 200 s of turns of 2.35 s */
	assert_in_range(pauses, 70, 100);
	for (unsigned i = 0; i < BLOCKS; i++)
		if (rms[i] < 30) {
			noise += rms[i] * rms[i];
			blocks++;
		}
	/* -65 dBov is an RMS of 18.4; samples are whole numbers */
	noise = sqrt(noise / blocks);
	assert_true(noise > 17.5 && noise < 19);
	free(rms);
}

static void without_pauses_somebody_talks_all_the_time(void **state)
{
	const struct talk_spurts steady = {
		.spurt = { 10 * CR_SEC, 20 * CR_SEC },
		.pause = { 10 * CR_MS, 20 * CR_MS },
		.noise = 65,
	};
	double *rms = listen_to(&steady, 0);

	/* of a word's 400 ms and of 60 ms of silence */
	assert_true(active(rms) > 0.85);
	free(rms);
}

static void calls_differ_and_repeat_with_their_seed(void **state)
{
	enum { N = 8000 };
	static int16_t a[N], b[N];
	struct speech_talker t, again;
	size_t at = 0;

	speech_talker_init(&t, &dialogue, corpus, 7, 1);
	speech_talker_read(&t, a, N);
	/* in pieces of any size */
	speech_talker_init(&again, &dialogue, corpus, 7, 1);
	for (size_t n = 1; at < N; n = n * 2 % 331 + 1) {
		n = n < N - at ? n : N - at;
		speech_talker_read(&again, b + at, n);
		at += n;
	}
	assert_memory_equal(a, b, sizeof(a));
	speech_talker_init(&t, &dialogue, corpus, 7, 2);
	speech_talker_read(&t, b, N);
	assert_memory_not_equal(a, b, sizeof(a));
	speech_talker_init(&t, &dialogue, corpus, 8, 1);
	speech_talker_read(&t, b, N);
	assert_memory_not_equal(a, b, sizeof(a));
}

/* As many calls begin in a spurt as talk at any time. */
static void some_begin_in_the_middle_of_a_pause(void **state)
{
	unsigned talking = 0;

	for (unsigned i = 0; i < 1000; i++) {
		struct speech_talker t;

		speech_talker_init(&t, &dialogue, corpus, 7, i);
		talking += t.talking;
	}
	/* 1.25 s of 2.35 s */
	assert_in_range(talking, 480, 580);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spurts_and_pauses_are_as_long_as_asked_for),
		cmocka_unit_test(without_pauses_somebody_talks_all_the_time),
		cmocka_unit_test(calls_differ_and_repeat_with_their_seed),
		cmocka_unit_test(some_begin_in_the_middle_of_a_pause),
	};

	return cmocka_run_group_tests(tests, make_corpus, close_corpus);
}
