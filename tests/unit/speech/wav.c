/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Good WAV files give their samples; broken ones say what is wrong.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "speech/wav.h"

enum { HEADER = 44, SAMPLES = 100, SIZE = HEADER + 2 * SAMPLES };

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
}

static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v & 0xffff);
	put16(p + 2, v >> 16);
}

/* A good file of 100 samples: 0, 1, ... at 8000 Hz. */
static void good(uint8_t file[SIZE])
{
	memset(file, 0, SIZE);
	memcpy(file, "RIFF", 4);
	put32(file + 4, SIZE - 8);
	memcpy(file + 8, "WAVEfmt ", 8);
	put32(file + 16, 16);
	put16(file + 20, 1);
	put16(file + 22, 1);
	put32(file + 24, 8000);
	put32(file + 28, 16000);
	put16(file + 32, 2);
	put16(file + 34, 16);
	memcpy(file + 36, "data", 4);
	put32(file + 40, 2 * SAMPLES);
	for (unsigned i = 0; i < SAMPLES; i++)
		put16(file + HEADER + 2 * i, i);
}

static void refused(const uint8_t *file, size_t size, const char *word)
{
	struct wav_info info = { .sample_rate = 1 };
	struct cr_err e = { 0 };

	assert_int_equal(wav_parse(file, size, &info, &e), -EINVAL);
	assert_non_null(strstr(e.text, word));
	assert_int_equal(info.sample_rate, 1);
}

static void a_good_file_gives_its_samples(void **state)
{
	uint8_t file[SIZE];
	int16_t pcm[SAMPLES];
	struct wav_info info;

	good(file);
	put16(file + HEADER + 2 * 5, 0xfffe);
	assert_int_equal(wav_parse(file, SIZE, &info, NULL), 0);
	assert_int_equal(info.sample_rate, 8000);
	assert_int_equal(info.offset, HEADER);
	assert_int_equal(info.samples, SAMPLES);
	wav_copy(file + info.offset, info.samples, pcm);
	assert_int_equal(pcm[1], 1);
	assert_int_equal(pcm[5], -2);
	assert_int_equal(pcm[99], 99);
}

static void other_chunks_are_stepped_over(void **state)
{
	uint8_t file[SIZE], longer[SIZE + 14];
	struct wav_info info;

	good(file);
	memcpy(longer, file, 36);
	/* 5 bytes and one of padding. */
	memcpy(longer + 36, "LIST\5\0\0\0hello\0", 14);
	memcpy(longer + 50, file + 36, SIZE - 36);
	assert_int_equal(wav_parse(longer, sizeof(longer), &info, NULL), 0);
	assert_int_equal(info.offset, HEADER + 14);
	assert_int_equal(info.samples, SAMPLES);
}

static void a_streamed_file_has_what_is_there(void **state)
{
	uint8_t file[SIZE];
	struct wav_info info;

	good(file);
	put32(file + 40, UINT32_MAX);
	assert_int_equal(wav_parse(file, SIZE, &info, NULL), 0);
	assert_int_equal(info.samples, SAMPLES);
	put32(file + 40, 0);
	assert_int_equal(wav_parse(file, SIZE - 1, &info, NULL), 0);
	assert_int_equal(info.samples, SAMPLES - 1);
}

static void a_file_cut_anywhere_is_refused(void **state)
{
	uint8_t file[SIZE];
	struct wav_info info;
	struct cr_err e;

	good(file);
	for (size_t size = 0; size < SIZE; size++)
		assert_int_equal(wav_parse(file, size, &info, &e), -EINVAL);
	refused(file, 8, "RIFF");
	refused(file, 30, "fmt");
	refused(file, 40, "no data");
	refused(file, SIZE - 2, "claims 200 bytes, 198");
}

static void other_formats_are_refused_by_name(void **state)
{
	uint8_t file[SIZE];

	good(file);
	put16(file + 22, 2);
	refused(file, SIZE, "2 channels");
	good(file);
	put16(file + 34, 24);
	refused(file, SIZE, "24 bits");
	good(file);
	put16(file + 20, 7);
	refused(file, SIZE, "format 7");
	good(file);
	put32(file + 24, 0);
	refused(file, SIZE, "rate 0");
	good(file);
	memcpy(file, "RIFX", 4);
	refused(file, SIZE, "not a RIFF");
}

static void wrong_chunks_are_refused(void **state)
{
	uint8_t file[SIZE];

	good(file);
	put32(file + 16, 4);
	refused(file, SIZE, "fmt chunk too short");
	good(file);
	put32(file + 16, UINT32_MAX);
	refused(file, SIZE, "no data");
	good(file);
	memcpy(file + 12, "junk", 4);
	refused(file, SIZE, "before the fmt");
	good(file);
	put32(file + 40, UINT32_MAX - 1);
	refused(file, SIZE, "cut off");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_file_gives_its_samples),
		cmocka_unit_test(other_chunks_are_stepped_over),
		cmocka_unit_test(a_streamed_file_has_what_is_there),
		cmocka_unit_test(a_file_cut_anywhere_is_refused),
		cmocka_unit_test(other_formats_are_refused_by_name),
		cmocka_unit_test(wrong_chunks_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
