/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool folder of a test's own, with files of test speech.
 */
#ifndef TESTS_PROTOCOL_SPOOL_H
#define TESTS_PROTOCOL_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scratch.h"

struct test_spool {
	char dir[SCRATCH_MAX];
};

void test_spool_make(struct test_spool *s);

/** Samples of a sweep in noise; the same for the same arguments. */
void test_speech(int16_t *pcm, size_t n, unsigned seed);

/** Write @n samples of test_speech() at @rate as @name. */
void test_spool_wav(struct test_spool *s, const char *name, unsigned rate,
		    size_t n, unsigned seed);
/** A sparse file of half an hour of silence at 16 kHz: many seconds of work.
 */
void test_spool_endless(struct test_spool *s, const char *name);
void test_spool_write(struct test_spool *s, const char *name, const void *data,
		      size_t n);
/** The file's content, NUL behind it; free() it. Fails the test when there is
 * none. */
uint8_t *test_spool_read(struct test_spool *s, const char *name, size_t *n);
bool test_spool_has(struct test_spool *s, const char *name);
/** Entries of the folder, temporary ones included. */
unsigned test_spool_count(struct test_spool *s);
/** "dir/name", valid until the next call. */
const char *test_spool_path(struct test_spool *s, const char *name);

#endif
