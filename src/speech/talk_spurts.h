/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one party of a conversation sends, endlessly: recordings cut into
 * spurts, and pauses in which only the room is heard. Noise of the room is
 * everywhere, so that it does not come and go with the words. What is quiet in
 * the recordings is left out but for its beginning: how much of the time
 * somebody talks is what the turns say, whatever is recorded.
 *
 * Plain data: may be copied, needs no closing. A talker belongs to one thread
 * at a time.
 */
#ifndef SPEECH_TALK_SPURTS_H
#define SPEECH_TALK_SPURTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"
#include "speech/speech.h"

/** A length, drawn evenly from least to most, in steps of 10 ms. */
struct speech_span {
	cr_ns least, most;
};

struct talk_spurts {
	struct speech_span spurt, pause; /**< 10 ms or more              */
	unsigned noise;			 /**< of the room, -dBov: 0..90  */
};

/** Samples of 10 ms at the highest rate of a corpus. */
#define SPEECH_BLOCK_MAX 480u

struct speech_talker {
	const struct talk_spurts *turns;
	struct speech_reader reader;
	uint64_t random, room; /**< generators: of turns, of the noise       */
	unsigned rms;	       /**< of the noise, in 1/256 of a sample's step */
	uint64_t left;	       /**< blocks until the turn is over            */
	unsigned quiet;	       /**< of the recording, blocks in a row        */
	bool talking, first;   /**< first: block of its turn                 */
	unsigned size, pos;    /**< of block[]                               */
	int16_t block[SPEECH_BLOCK_MAX];
};

/**
 * Start what talker number @call under @seed says of @corpus, somewhere in a
 * turn, as if it had been going on. The same seed, number, corpus and turns
 * give the same samples. @turns and @corpus are borrowed.
 */
void speech_talker_init(struct speech_talker *t,
			const struct talk_spurts *turns,
			const struct speech_corpus *corpus, uint64_t seed,
			uint64_t call);

/** The next @n samples. */
void speech_talker_read(struct speech_talker *t, int16_t *pcm, size_t n);

#endif
