/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumped files are byte for byte what their formats say, lost frames included.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "feeder/dump.h"
#include "scratch.h"

static char dir[SCRATCH_MAX];

static int make_dir(void **state)
{
	(void)scratch_folder(dir);
	return 0;
}

static size_t read_back(const char *name, uint8_t *buf, size_t size)
{
	char path[256];
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "rb");
	assert_non_null(f);
	n = fread(buf, 1, size, f);
	(void)fclose(f);
	(void)unlink(path);
	return n;
}

static struct dump *make(const char *codec, unsigned samples, bool octet_align)
{
	struct codec_use endpoint = { .codec = cr_codec_find(codec),
				      .amr.octet_align = octet_align };
	struct dump *d;

	assert_non_null(endpoint.codec);
	endpoint.cfg.samples = endpoint.codec->any_length ? samples : 0;
	d = dump_new(&endpoint, samples);
	assert_non_null(d);
	return d;
}

static void amr_is_the_storage_format_with_no_data_for_losses(void **state)
{
	/* octet-aligned: CMR 15, ToC FT=7 Q=1, 31 octets; frame 1 is lost */
	uint8_t payload[33] = { 0xf0, 0x3c, 0xaa }, buf[256];
	struct dump *d = make("amr", 160, true);
	struct cr_err e;

	dump_put(d, 2, payload, sizeof(payload));
	dump_put(d, 0, payload, sizeof(payload));
	dump_put(d, 0, payload, 3); /* seen already: nothing changes */
	assert_int_equal(dump_write(d, dir, "x", &e), 0);
	assert_int_equal(read_back("x.amr", buf, sizeof(buf)), 6 + 32 + 1 + 32);
	assert_memory_equal(buf, "#!AMR\n", 6);
	assert_int_equal(buf[6], 0x3c);
	assert_int_equal(buf[7], 0xaa);
	assert_int_equal(buf[38], 0x7c); /* FT=15 Q=1 */
	assert_int_equal(buf[39], 0x3c);
	dump_free(d);
}

static void wav_has_silence_for_losses(void **state)
{
	uint8_t payload[160], buf[2048];
	struct dump *d = make("pcmu", 160, false);
	struct cr_err e;

	memset(payload, 0x00, sizeof(payload)); /* the most negative value */
	dump_put(d, 0, payload, sizeof(payload));
	dump_put(d, 2, payload, sizeof(payload));
	assert_int_equal(dump_write(d, dir, "x", &e), 0);
	assert_int_equal(read_back("x.wav", buf, sizeof(buf)),
			 44 + 3 * 160 * 2);
	assert_memory_equal(buf, "RIFF\xe4\x03\0\0WAVEfmt ", 16);
	assert_true((int16_t)(buf[44] | buf[45] << 8) < -30000);
	for (unsigned i = 0; i < 320; i++)
		assert_int_equal(buf[44 + 320 + i], 0);
	assert_true((int16_t)(buf[684] | buf[685] << 8) < -30000);
	dump_free(d);
}

static void lost_frames_are_concealed_in_what_is_heard(void **state)
{
	/* bandwidth-efficient, 12.2: what is coded does not matter */
	uint8_t payload[32] = { 0xf3, 0xd5, 0x5a, 0xa5 }, buf[2048];
	struct dump *d = make("amr", 160, false);
	unsigned heard = 0;
	struct cr_err e;

	assert_true(dump_coded(d));
	memset(payload + 4, 0x5a, sizeof(payload) - 4);
	dump_put(d, 0, payload, sizeof(payload));
	dump_put(d, 2, payload, sizeof(payload));
	assert_int_equal(dump_write_speech(d, dir, "x.heard", &e), 0);
	assert_int_equal(read_back("x.heard.wav", buf, sizeof(buf)),
			 44 + 3 * 160 * 2);
	for (unsigned i = 0; i < 320; i++)
		heard += buf[44 + 320 + i] != 0;
	assert_true(heard > 0);
	dump_free(d);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
	struct dump *d = make("pcmu", 160, false);
	struct cr_err e = { "" };

	assert_true(dump_write(d, "/nonexistent", "x", &e) < 0);
	assert_non_null(strstr(e.text, "/nonexistent/x.wav: No such file"));
	dump_free(d);
}

static void a_full_disk_is_told(void **state)
{
	static const char *const codecs[] = { "pcmu", "amr" };
	static const char *const files[] = { "full.wav", "full.amr" };
	uint8_t payload[33] = { 0xf0, 0x3c };
	char path[SCRATCH_MAX + 16];

	for (unsigned i = 0; i < 2; i++) {
		struct dump *d = make(codecs[i], 160, i == 1);
		struct cr_err e = { "" };

		(void)snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		assert_int_equal(symlink("/dev/full", path), 0);
		dump_put(d, 0, payload, sizeof(payload));
		assert_int_equal(dump_write(d, dir, "full", &e), -EIO);
		assert_non_null(strstr(e.text, files[i]));
		assert_non_null(strstr(e.text, "disk full?"));
		assert_int_equal(unlink(path), 0);
		dump_free(d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			amr_is_the_storage_format_with_no_data_for_losses),
		cmocka_unit_test(wav_has_silence_for_losses),
		cmocka_unit_test(lost_frames_are_concealed_in_what_is_heard),
		cmocka_unit_test(a_folder_that_is_not_there_is_named),
		cmocka_unit_test(a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, make_dir, NULL);
}
