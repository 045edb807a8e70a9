/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded speech as PCM: a corpus of clips, and endless readers of it that
 * give every call its own speech.
 *
 * A corpus is loaded whole and read-only afterwards: any number of threads may
 * read it. A reader belongs to one thread at a time.
 */
#ifndef SPEECH_SPEECH_H
#define SPEECH_SPEECH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/field.h"
#include "cr/error.h"
#include "cr/time.h"

struct speech_corpus;

/** One recording: mono, the corpus' sample rate. Owned by the corpus. */
struct speech_clip {
	const char *path;
	const int16_t *pcm;
	size_t n; /**< samples */
};

/**
 * Load recordings at @rate (8000, 16000 or 48000 Hz; at 48000, those of 16000
 * are converted).
 *
 * @patterns: NULL-terminated list of files, folders (read with all below
 * them) and glob patterns, or NULL for the recordings that Debian packages
 * install. WAV (PCM, 16 bits, mono) and, at 16000 Hz and when built with
 * libavcodec, .g722 are read. Clips shorter than 0.5 s and silent ones are left
 * out, so are files of another sample rate unless they were named one by one.
 * Clips are sorted by path, so that a corpus is the same on every machine.
 *
 * Returns 0 and sets *@corpus, or -errno with @e: -ENOENT (nothing found; says
 * which package to install), -EINVAL (a file is broken; its path and why),
 * -EIO, -ENOMEM.
 */
int speech_open(struct speech_corpus **corpus, unsigned rate,
		const char *const *patterns, struct cr_err *e);

/** Free the corpus; nobody may read it any more. NULL is fine. */
void speech_close(struct speech_corpus *corpus);

/** Number of clips, at least 1. */
size_t speech_count(const struct speech_corpus *corpus);

/** Clip @i < speech_count(). */
const struct speech_clip *speech_clip(const struct speech_corpus *corpus,
				      size_t i);

/** Sample rate, Hz. */
unsigned speech_rate(const struct speech_corpus *corpus);

/** A call's endless speech. Plain data: may be copied, needs no closing. */
struct speech_reader {
	const struct speech_corpus *corpus;
	size_t clip; /**< being read            */
	size_t step; /**< to the call's next one */
	size_t pos;  /**< next sample in it      */
};

/**
 * Start the speech of call @call under @seed: somewhere inside one clip, then
 * all others whole, in an order of its own, over and over. The same seed, call
 * and corpus give the same samples.
 */
void speech_reader_init(struct speech_reader *r,
			const struct speech_corpus *corpus, uint64_t seed,
			uint64_t call);

/** The next @n samples. */
void speech_read(struct speech_reader *r, int16_t *pcm, size_t n);

/*
 * A talker: what one party of a call sends, endlessly: recordings cut
 * into spurts, and pauses in which only the room is heard. Noise of the room is
 * everywhere, so that it does not come and go with the words. What is quiet in
 * the recordings is left out but for its beginning: how much of the time
 * somebody talks is what the turns say, whatever is recorded.
 *
 * Plain data: may be copied, needs no closing. A talker belongs to one thread
 * at a time.
 */

/** Lengths are in steps of 10 ms. */
struct talk_spurts {
	struct field_range spurt, pause; /**< 10 ms or more              */
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
