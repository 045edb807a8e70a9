/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole decoders with our kernels sound as the installed libraries', sample by
 * sample: for the frames of an encoder, for such with wrong bits, and for any
 * bits at all, as they may come from the network.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "library.h"
#include "recordings.h"
#include "seed.h"
#include "sound.h"

enum { FRAMES = 2400 };

/* An encoder, and two decoders that hear the same. */
struct decoder_pair {
	enum library_codec codec;
	uint64_t seed;
	struct sound sound;
	void *enc, *ours, *stock;
};

static void pair_open(struct decoder_pair *r, enum library_codec codec)
{
	*r = (struct decoder_pair){ .codec = codec, .seed = test_seed() };
	sound_init(&r->sound, library_facts[codec].sample_rate, corpus[codec],
		   test_seed());
	r->enc = library_encoder(library_installed(codec), false);
	r->ours = library_decoder(library_linked(codec));
	r->stock = library_decoder(library_installed(codec));
}

static void pair_close(struct decoder_pair *r)
{
	library_encoder_close(library_installed(r->codec), r->enc);
	library_decoder_close(library_linked(r->codec), r->ours);
	library_decoder_close(library_installed(r->codec), r->stock);
}

static void same_sound(struct decoder_pair *r, const uint8_t *frame)
{
	int16_t ours[LIBRARY_SAMPLES_MAX], stock[LIBRARY_SAMPLES_MAX];
	size_t size = library_facts[r->codec].samples * sizeof(*ours);

	library_decode(library_linked(r->codec), r->ours, frame, ours);
	library_decode(library_installed(r->codec), r->stock, frame, stock);
	assert_memory_equal(ours, stock, size);
}

/* A frame of some sound in some mode; returns its bytes. */
static unsigned encode(struct decoder_pair *r, uint8_t *frame)
{
	unsigned modes = library_facts[r->codec].modes;
	int16_t pcm[LIBRARY_SAMPLES_MAX];

	sound_read(&r->sound, pcm, library_facts[r->codec].samples);
	memset(frame, 0, LIBRARY_FRAME_MAX);
	return library_encode(library_installed(r->codec), r->enc,
			      test_below(&r->seed, modes), false, pcm, frame);
}

static void sound_frames(enum library_codec codec)
{
	uint8_t frame[LIBRARY_FRAME_MAX];
	struct decoder_pair r;

	pair_open(&r, codec);
	for (unsigned n = 0; n < TEST_TRIES(FRAMES); n++) {
		(void)encode(&r, frame);
		same_sound(&r, frame);
	}
	pair_close(&r);
}

static void what_is_encoded_sounds_as_the_librarys(void **state)
{
	sound_frames(LIBRARY_AMR);
	sound_frames(LIBRARY_AMR_WB);
}

/* A bit of every eighth frame is wrong, and in every other hundred of frames
 * about half of all bits. */
static void damaged_frames(enum library_codec codec)
{
	uint8_t frame[LIBRARY_FRAME_MAX];
	struct decoder_pair r;

	pair_open(&r, codec);
	for (unsigned n = 0; n < TEST_TRIES(FRAMES); n++) {
		unsigned bytes = encode(&r, frame);
		bool much = n / 100 % 2;

		for (unsigned i = 1; much && i < bytes; i++)
			frame[i] ^= (uint8_t)test_random(&r.seed);
		if (n % 8 == 0)
			frame[1] ^= (uint8_t)(1u << test_below(&r.seed, 8));
		same_sound(&r, frame);
	}
	pair_close(&r);
}

static void so_do_damaged_frames(void **state)
{
	damaged_frames(LIBRARY_AMR);
	damaged_frames(LIBRARY_AMR_WB);
}

/* Any bits, as a frame of any type. */
static void random_frame(struct decoder_pair *r, bool started, uint8_t *frame)
{
	unsigned type =
		library_frame_type(r->codec, test_below(&r->seed, 16), started);

	for (unsigned i = 1; i < LIBRARY_FRAME_MAX; i++)
		frame[i] = (uint8_t)(test_random(&r->seed) >> 56);
	frame[0] = (uint8_t)(type << 3 | 4);
}

static void any_frames(enum library_codec codec)
{
	uint8_t frame[LIBRARY_FRAME_MAX];
	struct decoder_pair r;

	for (unsigned call = 0; call < TEST_TRIES(FRAMES / 200); call++) {
		pair_open(&r, codec);
		for (unsigned n = 0; n < 200; n++) {
			random_frame(&r, n > 0, frame);
			same_sound(&r, frame);
		}
		pair_close(&r);
	}
}

static void so_do_any_bits(void **state)
{
	any_frames(LIBRARY_AMR);
	any_frames(LIBRARY_AMR_WB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_sounds_as_the_librarys),
		cmocka_unit_test(so_do_damaged_frames),
		cmocka_unit_test(so_do_any_bits),
	};

	return cmocka_run_group_tests(tests, load_speech, free_speech);
}
