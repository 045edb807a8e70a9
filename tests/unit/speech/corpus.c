/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A corpus is the same every time; every call has speech of its own, the same
 * every time; what cannot be read is named.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmocka_cr.h"
#include "scratch.h"
#include "speech/speech.h"

enum { RATE = 8000, LONG = 6000, SHORT = 3999 };

static char folder[SCRATCH_MAX];

static void path_of(char *path, size_t size, const char *name)
{
	(void)snprintf(path, size, "%s/%s", folder, name);
}

/* A WAV file of @n samples: @level and -@level in turn. */
static void write_wav(const char *name, unsigned rate, unsigned n, int level)
{
	uint8_t head[44] = "RIFF....WAVEfmt \20\0\0\0\1\0\1\0";
	uint32_t words[] = { rate, 2 * rate, 0x00100002 };
	uint32_t bytes = 2 * n;
	char path[256];
	FILE *f;

	path_of(path, sizeof(path), name);
	memcpy(head + 24, words, sizeof(words));
	memcpy(head + 36, "data", 4);
	memcpy(head + 40, &bytes, 4);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(head, 1, 44, f), 44);
	for (unsigned i = 0; i < n; i++) {
		int16_t sample = (int16_t)(i % 2 ? -level : level + (int)i % 7);

		assert_int_equal(fwrite(&sample, 2, 1, f), 1);
	}
	assert_int_equal(fclose(f), 0);
}

static void write_text(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	path_of(path, sizeof(path), name);
	f = fopen(path, "wb");
	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int make_files(void **state)
{
	char path[256];

	(void)scratch_folder(folder);
	path_of(path, sizeof(path), "sub");
	assert_int_equal(mkdir(path, 0700), 0);
	write_wav("b.wav", RATE, LONG, 2000);
	write_wav("a.wav", RATE, LONG + 1, 3000);
	write_wav("sub/c.WAV", RATE, LONG + 2, 4000);
	write_wav("sub/d.wav", RATE, LONG + 3, 5000);
	write_wav("short.wav", RATE, SHORT, 3000);
	write_wav("quiet.wav", RATE, LONG, 3);
	write_wav("wide.wav", 16000, 2 * LONG, 3000);
	write_text("notes.txt", "no speech\n");
	write_text("bad.riff", "RIFX....WAVE");
	return 0;
}

static struct speech_corpus *open_folder(unsigned rate)
{
	const char *patterns[] = { folder, NULL };
	struct speech_corpus *corpus = NULL;
	struct cr_err e = { 0 };

	if (speech_open(&corpus, rate, patterns, &e))
		fail_msg("%s", e.text);
	return corpus;
}

static uint64_t samples_of_all(const struct speech_corpus *corpus)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < speech_count(corpus); i++)
		sum += speech_clip(corpus, i)->n;
	return sum;
}

static void a_folder_is_read_in_order_without_what_is_useless(void **state)
{
	static const char *const expected[] = { "/a.wav", "/b.wav",
						"/sub/c.WAV", "/sub/d.wav" };
	struct speech_corpus *corpus = open_folder(RATE);

	assert_int_equal(speech_count(corpus), 4);
	assert_int_equal(samples_of_all(corpus), 4 * LONG + 6);
	for (size_t i = 0; i < 4; i++) {
		const struct speech_clip *clip = speech_clip(corpus, i);

		assert_string_equal(clip->path + strlen(folder), expected[i]);
		assert_in_range(clip->n, LONG, LONG + 3);
		assert_in_range(clip->pcm[0], 2000, 5000);
	}
	speech_close(corpus);
	corpus = open_folder(16000);
	assert_int_equal(speech_count(corpus), 1);
	assert_int_equal(speech_rate(corpus), 16000);
	speech_close(corpus);
}

static void patterns_and_names_may_overlap(void **state)
{
	char pattern[256], name[256];
	const char *patterns[] = { pattern, name, folder, NULL };
	struct speech_corpus *corpus = NULL;

	path_of(pattern, sizeof(pattern), "[ab].wav");
	path_of(name, sizeof(name), "a.wav");
	assert_int_equal(speech_open(&corpus, RATE, patterns, NULL), 0);
	assert_int_equal(speech_count(corpus), 4);
	speech_close(corpus);
	patterns[1] = NULL;
	assert_int_equal(speech_open(&corpus, RATE, patterns, NULL), 0);
	assert_int_equal(speech_count(corpus), 2);
	speech_close(corpus);
}

static void refused(const char *name, int code, const char *word)
{
	char path[256];
	const char *patterns[] = { path, NULL };
	struct speech_corpus *corpus = NULL;
	struct cr_err e = { 0 };

	path_of(path, sizeof(path), name);
	assert_int_equal(speech_open(&corpus, RATE, patterns, &e), code);
	assert_non_null(strstr(e.text, word));
	assert_non_null(strstr(e.text, path));
	assert_null(corpus);
}

static void what_cannot_be_read_is_named(void **state)
{
	refused("missing.wav", -ENOENT, "no such");
	refused("*.mp3", -ENOENT, "no such");
	refused("bad.riff", -EINVAL, "RIFF");
	refused("wide.wav", -EINVAL, "16000 Hz");
	refused("short.wav", -ENOENT, "no clip");
	refused("quiet.wav", -ENOENT, "no clip");
	assert_int_equal(speech_open(&(struct speech_corpus *){ NULL }, 11025,
				     NULL, NULL),
			 -EINVAL);
}

static void a_call_hears_the_same_again_and_others_differently(void **state)
{
	struct speech_corpus *one = open_folder(RATE), *two = open_folder(RATE);
	int16_t first[1600], again[1600];
	unsigned differ = 0;

	for (uint64_t call = 0; call < 50; call++) {
		struct speech_reader a, b, other;

		speech_reader_init(&a, one, 42, call);
		speech_reader_init(&b, two, 42, call);
		speech_reader_init(&other, one, 42, call + 1);
		speech_read(&a, first, 1600);
		/* The size of the bites does not matter. */
		for (unsigned i = 0; i < 1600; i += 160)
			speech_read(&b, again + i, 160);
		assert_memory_equal(first, again, sizeof(first));
		differ += other.clip != a.clip || other.pos + 1600 != a.pos;
	}
	assert_int_equal(differ, 50);
	speech_close(one);
	speech_close(two);
}

static void a_call_meets_every_clip(void **state)
{
	struct speech_corpus *corpus = open_folder(RATE);

	for (uint64_t call = 0; call < 20; call++) {
		struct speech_reader r;
		unsigned met = 0;
		int16_t pcm;

		speech_reader_init(&r, corpus, 1, call);
		for (uint64_t i = 0; i < 2 * samples_of_all(corpus); i++) {
			speech_read(&r, &pcm, 1);
			met |= 1u << r.clip;
		}
		assert_int_equal(met, 0xf);
	}
	speech_close(corpus);
}

static void the_installed_recordings_are_found(void **state)
{
	for (unsigned rate = 8000; rate <= 16000; rate += 8000) {
		struct speech_corpus *corpus = NULL;
		struct cr_err e = { 0 };

		if (speech_open(&corpus, rate, NULL, &e))
			fail_msg("%s", e.text);
		assert_true(speech_count(corpus) >= 10);
		/* At least 20 seconds. */
		assert_true(samples_of_all(corpus) > 20 * (uint64_t)rate);
		speech_close(corpus);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_folder_is_read_in_order_without_what_is_useless),
		cmocka_unit_test(patterns_and_names_may_overlap),
		cmocka_unit_test(what_cannot_be_read_is_named),
		cmocka_unit_test(
			a_call_hears_the_same_again_and_others_differently),
		cmocka_unit_test(a_call_meets_every_clip),
		cmocka_unit_test(the_installed_recordings_are_found),
	};

	return cmocka_run_group_tests(tests, make_files, NULL);
}
