/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spool folder of a test's own.
 */
#define _GNU_SOURCE
#include "spool.h"
#include "cmocka_cr.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "speech/wav.h"

void test_spool_make(struct test_spool *s)
{
	(void)scratch_folder(s->dir);
}

void test_speech(int16_t *pcm, size_t n, unsigned seed)
{
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < n; i++) {
		double t = (double)i;

		x = x * 1664525u + 1013904223u;
		pcm[i] = (int16_t)(6000 * sin(t * 0.05 + t * t * 1e-6) +
				   (int)(x >> 22) - 512);
	}
}

const char *test_spool_path(struct test_spool *s, const char *name)
{
	static char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	return path;
}

void test_spool_write(struct test_spool *s, const char *name, const void *data,
		      size_t n)
{
	FILE *f = fopen(test_spool_path(s, name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

void test_spool_wav(struct test_spool *s, const char *name, unsigned rate,
		    size_t n, unsigned seed)
{
	uint8_t *file = malloc(WAV_HEADER_BYTES + 2 * n);
	int16_t *pcm = malloc(2 * n + 1);

	assert_non_null(file);
	assert_non_null(pcm);
	test_speech(pcm, n, seed);
	wav_header(file, rate, n);
	for (size_t i = 0; i < n; i++) {
		file[WAV_HEADER_BYTES + 2 * i] = (uint8_t)pcm[i];
		file[WAV_HEADER_BYTES + 2 * i + 1] =
			(uint8_t)((uint16_t)pcm[i] >> 8);
	}
	test_spool_write(s, name, file, WAV_HEADER_BYTES + 2 * n);
	free(pcm);
	free(file);
}

void test_spool_endless(struct test_spool *s, const char *name)
{
	uint64_t samples = 16000 * 1800;
	uint8_t head[WAV_HEADER_BYTES];

	wav_header(head, 16000, samples);
	test_spool_write(s, name, head, sizeof(head));
	assert_int_equal(truncate(test_spool_path(s, name),
				  (off_t)(sizeof(head) + 2 * samples)),
			 0);
}

uint8_t *test_spool_read(struct test_spool *s, const char *name, size_t *n)
{
	FILE *f = fopen(test_spool_path(s, name), "r");
	size_t room = 8 << 20;
	uint8_t *data = malloc(room + 1);

	assert_non_null(f);
	assert_non_null(data);
	*n = fread(data, 1, room, f);
	assert_true(*n < room);
	data[*n] = 0;
	(void)fclose(f);
	return data;
}

bool test_spool_has(struct test_spool *s, const char *name)
{
	return !access(test_spool_path(s, name), F_OK);
}

unsigned test_spool_count(struct test_spool *s)
{
	DIR *d = opendir(s->dir);
	unsigned n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n - 2; /* "." and ".." */
}
