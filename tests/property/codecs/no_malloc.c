/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoding and decoding allocate nothing; only libavcodec does, for G.723.1:
 * a handful of references a frame; and libopus on ARM. Counted by standing in
 * front of the C library's allocator, which is not possible under a sanitizer.
 */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sanitized.h"
#include "cmocka_cr.h"
#include "cr/codec.h"
#include "spoken.h"

static atomic_ulong allocations;

#if !SANITIZED
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t align, size_t size);

void *malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	atomic_fetch_add(&allocations, 1);
	*out = __libc_memalign(align, size);
	return *out ? 0 : 12;
}
#endif

enum { FRAMES = 200 };

/* Allocations in FRAMES frames of one codec and mode, there and back. */
static unsigned long count(const struct cr_codec *c, unsigned mode, bool dtx,
			   const struct speech_corpus *corpus)
{
	struct cr_codec_cfg cfg = { .mode = mode, .dtx = dtx };
	struct cr_frame f = { 0 }, lost = { .kind = CR_FRAME_BAD };
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct speech_reader reader;
	void *enc = NULL, *dec = NULL;
	unsigned long before;

	assert_int_equal(c->encoder_open(&enc, &cfg, NULL), 0);
	assert_int_equal(c->decoder_open(&dec, &cfg, NULL), 0);
	speech_reader_init(&reader, corpus, 1, mode);
	before = atomic_load(&allocations);
	for (unsigned i = 0; i < FRAMES; i++) {
		speech_read(&reader, pcm, c->samples);
		if (dtx && i > FRAMES / 2)
			memset(pcm, 0, sizeof(pcm));
		(void)c->encode(enc, mode, pcm, &f);
		(void)c->decode(dec, i % 10 ? &f : &lost, pcm);
	}
	before = atomic_load(&allocations) - before;
	c->encoder_close(enc);
	c->decoder_close(dec);
	return before;
}

/* How many a library may need for FRAMES frames. */
static unsigned long allowed(const char *codec)
{
	if (!strcmp(codec, "g723_1"))
		return 20 * FRAMES;
#if defined(__aarch64__)
	/* a decoder that goes from CELT to SILK, as behind a loss, asks
	 * /proc/cpuinfo what the CPU can do: a file and its buffer */
	if (!strncmp(codec, "opus", 4))
		return 2 * FRAMES / 10;
#endif
	return 0;
}

static void frames_allocate_nothing(void **state)
{
	if (SANITIZED)
		skip();
	(void)recordings(8000);
	(void)recordings(16000);
	/* The counter counts at all. */
	assert_true(atomic_load(&allocations) > 0);
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		bool lav = !strcmp((*c)->name, "g723_1");

		for (unsigned mode = 0; mode < (*c)->nmodes; mode++) {
			unsigned long n = count(*c, mode, mode % 2,
						recordings((*c)->sample_rate));

			if (lav)
				printf("%s: %.1f allocations a frame, there "
				       "and back\n",
				       (*c)->name, (double)n / FRAMES);
			if (n > allowed((*c)->name))
				fail_msg("%s, mode %u: %lu allocations",
					 (*c)->name, mode, n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_allocate_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
