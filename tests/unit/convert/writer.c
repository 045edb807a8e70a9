/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files written frame by frame: headers complete at the end, a WAV file never
 * longer than its header can say, a full disk an error that says so.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "convert/audio.h"
#include "speech/wav.h"

static void a_wav_header_tells_what_was_written(void **state)
{
	const struct audio a = { AUDIO_WAV, 16000 };
	uint8_t frame[AUDIO_FRAME_MAX] = { 1, 2 }, file[2000];
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct wav_info info;
	struct writer w;
	struct cr_err e;
	ssize_t n;

	assert_int_equal(writer_open(&w, fd, &a, &e), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(writer_put(&w, frame, sizeof(frame), &e), 0);
	assert_int_equal(writer_finish(&w, &e), 0);
	n = pread(fd, file, sizeof(file), 0);
	assert_int_equal(n, WAV_HEADER_BYTES + 3 * sizeof(frame));
	assert_int_equal(wav_parse(file, (size_t)n, &info, &e), 0);
	assert_int_equal(info.sample_rate, 16000);
	assert_int_equal(info.samples, 960);
	assert_memory_equal(file + WAV_HEADER_BYTES + 2 * sizeof(frame), frame,
			    sizeof(frame));
	(void)close(fd);
}

static void a_wav_file_does_not_grow_beyond_its_header(void **state)
{
	const struct audio a = { AUDIO_WAV, 16000 };
	uint8_t frame[AUDIO_FRAME_MAX] = { 0 };
	int fd = memfd_create("file", MFD_CLOEXEC);
	struct writer w;
	struct cr_err e;

	assert_int_equal(writer_open(&w, fd, &a, &e), 0);
	w.bytes = 2 * (uint64_t)WAV_SAMPLES_MAX - sizeof(frame);
	/* a sparse file: nothing is really there before */
	assert_int_equal(writer_put(&w, frame, sizeof(frame), &e), 0);
	assert_int_equal(writer_put(&w, frame, sizeof(frame), &e), -EFBIG);
	assert_non_null(strstr(e.text, "4 GiB"));
	assert_int_equal(writer_finish(&w, &e), 0);
	(void)close(fd);
}

static void a_full_disk_is_said(void **state)
{
	const struct audio a = { AUDIO_AMR, 8000 };
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct writer w;
	struct cr_err e = { "" };

	assert_true(fd >= 0);
	assert_int_equal(writer_open(&w, fd, &a, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "No space left"));
	(void)close(fd);
}

static void a_payload_loses_what_files_do_not_have(void **state)
{
	const uint8_t amr[] = { 0xf0, 0x3c, 7, 8, 9 }, l16[] = { 1, 2, 3, 4 };
	uint8_t frame[AUDIO_FRAME_MAX];

	assert_int_equal(writer_frame(AUDIO_AMR, amr, 5, frame), 4);
	assert_memory_equal(frame, amr + 1, 4);
	assert_int_equal(writer_frame(AUDIO_WAV, l16, 4, frame), 4);
	assert_memory_equal(frame, ((uint8_t[]){ 2, 1, 4, 3 }), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wav_header_tells_what_was_written),
		cmocka_unit_test(a_wav_file_does_not_grow_beyond_its_header),
		cmocka_unit_test(a_full_disk_is_said),
		cmocka_unit_test(a_payload_loses_what_files_do_not_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
