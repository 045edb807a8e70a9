/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored frames become payloads: each frame type of AMR and AMR-WB with its
 * length from the standard, across the reader's buffer, and WAV samples in
 * the other byte order. A file that shrinks while it is read is an error.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/audio.h"
#include "speech/wav.h"

/* Octets of a stored frame by type: 3GPP TS 26.101 and 26.201; 0: none. */
static const unsigned narrow[16] = { 13, 14, 16, 18, 20, 21, 27, 32,
				     6,	 0,  0,	 0,  0,	 0,  0,	 1 };
static const unsigned wide[16] = { 18, 24, 33, 37, 41, 47, 51, 59,
				   61, 6,  0,  0,  0,  0,  1,  1 };

static int file_of(const void *data, size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, n), n);
	return fd;
}

static void check_types(enum audio_kind kind, const unsigned *bytes)
{
	for (unsigned type = 0; type < 16; type++) {
		uint8_t file[100] = "", payload[AUDIO_PAYLOAD_MAX];
		size_t magic = strlen(audio_magic(kind));
		struct cr_err e = { "" };
		struct reader r;
		int fd;

		memcpy(file, audio_magic(kind), magic);
		memset(file + magic, 0xa5, sizeof(file) - magic);
		/* the bits around type and quality are padding */
		file[magic] = (uint8_t)(0x83 | type << 3);
		fd = file_of(file, magic + (bytes[type] ? bytes[type] : 60));
		assert_int_equal(
			reader_open(&r, fd, kind,
				    magic + (bytes[type] ? bytes[type] : 60),
				    &e),
			0);
		if (!bytes[type]) {
			assert_int_equal(reader_next(&r, payload, &e), -EINVAL);
			assert_non_null(strstr(e.text, "no frame type"));
		} else {
			assert_int_equal(reader_next(&r, payload, &e),
					 bytes[type] + 1);
			assert_int_equal(payload[0], 0xf0);
			assert_int_equal(payload[1], type << 3);
			assert_memory_equal(payload + 2, file + magic + 1,
					    bytes[type] - 1);
			assert_int_equal(reader_next(&r, payload, &e), 0);
		}
		(void)close(fd);
	}
}

static void every_frame_type_has_its_length(void **state)
{
	check_types(AUDIO_AMR, narrow);
	check_types(AUDIO_AWB, wide);
}

static void frames_cross_the_readers_buffer(void **state)
{
	enum { FRAMES = 2000 };
	static uint8_t file[6 + 32 * FRAMES];
	uint8_t payload[AUDIO_PAYLOAD_MAX];
	struct cr_err e;
	struct reader r;
	int fd;

	memcpy(file, "#!AMR\n", 6);
	for (unsigned i = 0; i < FRAMES; i++) {
		memset(file + 6 + 32 * i, (int)i, 32);
		file[6 + 32 * i] = 0x3c;
	}
	fd = file_of(file, sizeof(file));
	assert_int_equal(reader_open(&r, fd, AUDIO_AMR, sizeof(file), &e), 0);
	for (unsigned i = 0; i < FRAMES; i++) {
		assert_int_equal(reader_next(&r, payload, &e), 33);
		assert_memory_equal(payload + 1, file + 6 + 32 * i, 32);
	}
	assert_int_equal(reader_next(&r, payload, &e), 0);
	(void)close(fd);
}

static void wav_samples_change_their_byte_order(void **state)
{
	uint8_t file[WAV_HEADER_BYTES + 2 * 170], payload[AUDIO_PAYLOAD_MAX];
	struct cr_err e;
	struct reader r;
	int fd;

	wav_header(file, 8000, 170);
	for (unsigned i = 0; i < 340; i++)
		file[WAV_HEADER_BYTES + i] = (uint8_t)(i + 1);
	fd = file_of(file, sizeof(file));
	assert_int_equal(reader_open(&r, fd, AUDIO_WAV, sizeof(file), &e), 0);
	assert_int_equal(r.audio.rate, 8000);
	assert_int_equal(reader_next(&r, payload, &e), 320);
	assert_int_equal(payload[0], 2);
	assert_int_equal(payload[1], 1);
	assert_int_equal(payload[319], (uint8_t)319);
	/* the rest, and silence */
	assert_int_equal(reader_next(&r, payload, &e), 320);
	assert_int_equal(payload[18], (uint8_t)340);
	for (unsigned i = 20; i < 320; i++)
		assert_int_equal(payload[i], 0);
	assert_int_equal(reader_next(&r, payload, &e), 0);
	(void)close(fd);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
	static uint8_t amr[6 + 32 * 1000], wav[WAV_HEADER_BYTES + 320 * 100];
	uint8_t payload[AUDIO_PAYLOAD_MAX];
	struct cr_err e;
	struct reader r;
	int fd, n;

	memcpy(amr, "#!AMR\n", 6);
	for (unsigned i = 0; i < 1000; i++)
		amr[6 + 32 * i] = 0x3c;
	fd = file_of(amr, sizeof(amr));
	assert_int_equal(reader_open(&r, fd, AUDIO_AMR, sizeof(amr), &e), 0);
	assert_int_equal(ftruncate(fd, 6 + 32 * 500), 0);
	while ((n = reader_next(&r, payload, &e)) > 0)
		;
	assert_int_equal(n, -EIO);
	(void)close(fd);
	wav_header(wav, 8000, 160 * 100);
	fd = file_of(wav, sizeof(wav));
	assert_int_equal(reader_open(&r, fd, AUDIO_WAV, sizeof(wav), &e), 0);
	assert_int_equal(ftruncate(fd, 20000), 0);
	while ((n = reader_next(&r, payload, &e)) > 0)
		;
	assert_int_equal(n, -EIO);
	assert_non_null(strstr(e.text, "became shorter"));
	(void)close(fd);
}

/* Grown between fstat() and the first read: what came later does not count. */
static void what_a_file_grew_by_is_not_read(void **state)
{
	static uint8_t amr[6 + 32 * 3], wav[WAV_HEADER_BYTES + 320 * 3];
	uint8_t payload[AUDIO_PAYLOAD_MAX];
	struct cr_err e;
	struct reader r;
	int fd;

	memcpy(amr, "#!AMR\n", 6);
	for (unsigned i = 0; i < 3; i++)
		amr[6 + 32 * i] = 0x3c;
	fd = file_of(amr, sizeof(amr));
	assert_int_equal(reader_open(&r, fd, AUDIO_AMR, 6 + 40, &e), 0);
	assert_int_equal(reader_next(&r, payload, &e), 33);
	assert_int_equal(reader_next(&r, payload, &e), -EINVAL);
	assert_non_null(strstr(e.text, "has 32 bytes, 8 are there"));
	(void)close(fd);
	wav_header(wav, 8000, 160 * 3);
	fd = file_of(wav, sizeof(wav));
	assert_int_equal(reader_open(&r, fd, AUDIO_WAV, 40, &e), -EINVAL);
	assert_non_null(strstr(e.text, "no data chunk"));
	assert_int_equal(
		reader_open(&r, fd, AUDIO_WAV, WAV_HEADER_BYTES + 320, &e),
		-EINVAL);
	assert_non_null(strstr(e.text, "cut off"));
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_frame_type_has_its_length),
		cmocka_unit_test(frames_cross_the_readers_buffer),
		cmocka_unit_test(wav_samples_change_their_byte_order),
		cmocka_unit_test(a_file_that_shrinks_is_an_error),
		cmocka_unit_test(what_a_file_grew_by_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
