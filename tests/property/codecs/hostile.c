/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No frame from the network, however broken, makes a decoder crash, write past
 * its samples or change its frame length. Run under ASan to see more.
 *
 *   CR_SEED=N property_codecs hostile
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "cr/codec.h"

enum {
	ROUNDS = 4000,
	GUARD = 64, /* samples behind the largest frame */
	PATTERN = 0x5aa5,
};

static uint64_t seed = 1;
static uint64_t state_of_random;

static uint32_t draw(void)
{
	state_of_random = state_of_random * UINT64_C(6364136223846793005) +
			  UINT64_C(1442695040888963407);
	return (uint32_t)(state_of_random >> 32);
}

static void random_bytes(uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)draw();
}

/* Anything at all, but often enough of a length that some codec accepts. */
static void random_frame(const struct cr_codec *c, struct cr_frame *f)
{
	static const uint16_t lengths[] = { 0, 1, 4, 5, 20, 24, 160, 320 };

	f->kind = (enum cr_frame_kind)(draw() % 4);
	f->mode = (uint8_t)draw();
	switch (draw() % 4) {
	case 0:
		f->bytes = (uint16_t)draw();
		break;
	case 1:
		f->bytes = lengths[draw() % 8];
		break;
	default:
		f->kind = CR_FRAME_SPEECH;
		f->mode = (uint8_t)(draw() % c->nmodes);
		f->bytes = c->modes[f->mode].bytes;
		break;
	}
	random_bytes(f->data, 400);
}

static void decode_guarded(const struct cr_codec *c, void *dec,
			   const struct cr_frame *f)
{
	int16_t pcm[CR_FRAME_SAMPLES_MAX + GUARD];
	unsigned n;

	for (unsigned i = 0; i < CR_FRAME_SAMPLES_MAX + GUARD; i++)
		pcm[i] = PATTERN;
	n = c->decode(dec, f, pcm);
	if (c->any_length || c->lengths)
		assert_in_range(n, 1, CR_FRAME_SAMPLES_MAX);
	else
		assert_int_equal(n, c->samples);
	/* Only what was announced was written. */
	for (unsigned i = n; i < CR_FRAME_SAMPLES_MAX + GUARD; i++)
		assert_int_equal(pcm[i], PATTERN);
}

static void random_frames_are_decoded_or_concealed(void **state)
{
	struct cr_codec_cfg cfg = { 0 };
	static struct cr_frame f;

	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		void *dec = NULL;

		state_of_random = seed;
		assert_int_equal((*c)->decoder_open(&dec, &cfg, NULL), 0);
		for (unsigned i = 0; i < ROUNDS; i++) {
			random_frame(*c, &f);
			decode_guarded(*c, dec, &f);
		}
		(*c)->decoder_close(dec);
	}
}

/* Every kind, mode and length up to a little over what fits, once. */
static void every_type_and_length_is_decoded_or_concealed(void **state)
{
	struct cr_codec_cfg cfg = { 0 };
	static struct cr_frame f;

	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		void *dec = NULL;

		state_of_random = seed;
		random_bytes(f.data, sizeof(f.data));
		assert_int_equal((*c)->decoder_open(&dec, &cfg, NULL), 0);
		for (unsigned i = 0; i < 4 * 20 * 70; i++) {
			f.kind = (enum cr_frame_kind)(i % 4);
			f.mode = (uint8_t)(i / 4 % 20);
			f.bytes = (uint16_t)(i / 80);
			f.data[0] = (uint8_t)draw();
			decode_guarded(*c, dec, &f);
		}
		(*c)->decoder_close(dec);
	}
}

static void lengths_around_the_limit_are_safe(void **state)
{
	static const uint16_t lengths[] = { 959,  960,	961,  1918, 1919,
					    1920, 1921, 1922, 65535 };
	struct cr_codec_cfg cfg = { 0 };
	static struct cr_frame f;

	f.kind = CR_FRAME_SPEECH;
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		void *dec = NULL;

		assert_int_equal((*c)->decoder_open(&dec, &cfg, NULL), 0);
		for (unsigned i = 0; i < 9; i++) {
			f.bytes = lengths[i];
			decode_guarded(*c, dec, &f);
		}
		(*c)->decoder_close(dec);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_frames_are_decoded_or_concealed),
		cmocka_unit_test(every_type_and_length_is_decoded_or_concealed),
		cmocka_unit_test(lengths_around_the_limit_are_safe),
	};

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	printf("seed %llu\n", (unsigned long long)seed);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
