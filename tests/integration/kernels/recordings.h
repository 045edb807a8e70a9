/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recorded speech for tests of whole codecs with kernels, at the rate of each.
 */
#ifndef TESTS_KERNELS_RECORDINGS_H
#define TESTS_KERNELS_RECORDINGS_H

#include "cmocka_cr.h"
#include "kernels_needed.h"
#include "library.h"
#include "seed.h"
#include "speech/speech.h"

/* By codec; a group's tests share them. NULL: no recordings. */
static struct speech_corpus *corpus[LIBRARY_CODECS];

/** A group's setup; ends a program that has no kernels to test. A short form of
 * the tests does without recordings where none are installed. */
static inline int load_speech(void **state)
{
	struct cr_err e = { 0 };

	(void)kernels_needed(state);
	for (unsigned i = 0; i < LIBRARY_CODECS; i++)
		if (speech_open(&corpus[i], library_facts[i].sample_rate, NULL,
				&e) &&
		    test_tries_factor() >= 1)
			fail_msg("%s", e.text);
	return 0;
}

/** A group's teardown. */
static inline int free_speech(void **state)
{
	for (unsigned i = 0; i < LIBRARY_CODECS; i++)
		speech_close(corpus[i]);
	return 0;
}

#endif
