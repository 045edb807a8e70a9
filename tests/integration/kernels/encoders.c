/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole encoders with our kernels give the frames of the installed libraries,
 * byte for byte, whatever they hear. "bench-kernels --verify" does the same
 * with all recordings.
 */
#include "cmocka_cr.h"
#include "codecs/kernels/kernels.h"
#include "library.h"
#include "recordings.h"
#include "seed.h"
#include "sound.h"

enum {
	/* Each is a sound of its own, in each mode, with DTX and without. */
	FRAMES = 180,
	SWITCHED = 2500,
};

/* Two encoders that hear the same. */
struct encoder_pair {
	enum library_codec codec;
	bool dtx;
	struct sound sound;
	void *ours, *stock;
};

static void pair_open(struct encoder_pair *r, enum library_codec codec,
		      bool dtx)
{
	*r = (struct encoder_pair){ .codec = codec, .dtx = dtx };
	sound_init(&r->sound, library_facts[codec].sample_rate, corpus[codec],
		   test_seed());
	r->ours = library_encoder(library_linked(codec), dtx);
	r->stock = library_encoder(library_installed(codec), dtx);
}

static void pair_close(struct encoder_pair *r)
{
	library_encoder_close(library_linked(r->codec), r->ours);
	library_encoder_close(library_installed(r->codec), r->stock);
}

static void pair_step(struct encoder_pair *r, unsigned mode)
{
	uint8_t ours[LIBRARY_FRAME_MAX], stock[LIBRARY_FRAME_MAX];
	int16_t pcm[LIBRARY_SAMPLES_MAX];
	unsigned bytes;

	sound_read(&r->sound, pcm, library_facts[r->codec].samples);
	bytes = library_encode(library_linked(r->codec), r->ours, mode, r->dtx,
			       pcm, ours);
	assert_int_equal(library_encode(library_installed(r->codec), r->stock,
					mode, r->dtx, pcm, stock),
			 bytes);
	assert_memory_equal(ours, stock, bytes);
}

static void all_modes(enum library_codec codec)
{
	for (unsigned i = 0; i < 2 * library_facts[codec].modes; i++) {
		struct encoder_pair r;

		pair_open(&r, codec, i % 2);
		for (unsigned n = 0; n < TEST_TRIES(FRAMES); n++)
			pair_step(&r, i / 2);
		pair_close(&r);
	}
}

static void amr_frames_are_the_librarys_in_every_mode(void **state)
{
	all_modes(LIBRARY_AMR);
}

static void amr_wb_frames_are_the_librarys_in_every_mode(void **state)
{
	all_modes(LIBRARY_AMR_WB);
}

/* Mode and kernels change with every frame; now and then the call is new. */
static void switch_all(enum library_codec codec)
{
	uint64_t seed = test_seed();
	struct encoder_pair r;

	pair_open(&r, codec, false);
	for (unsigned n = 0; n < TEST_TRIES(SWITCHED); n++) {
		enum cr_kernels next = (enum cr_kernels)test_below(&seed, 2);

		assert_int_equal(cr_kernels_choose(next, NULL), 0);
		pair_step(&r, test_below(&seed, library_facts[codec].modes));
		if (test_below(&seed, 500))
			continue;
		pair_close(&r);
		pair_open(&r, codec, test_below(&seed, 2));
	}
	pair_close(&r);
	assert_int_equal(cr_kernels_choose(CR_KERNELS_AUTO, NULL), 0);
}

static void mode_and_kernels_may_change_with_every_frame(void **state)
{
	switch_all(LIBRARY_AMR);
	switch_all(LIBRARY_AMR_WB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amr_frames_are_the_librarys_in_every_mode),
		cmocka_unit_test(amr_wb_frames_are_the_librarys_in_every_mode),
		cmocka_unit_test(mode_and_kernels_may_change_with_every_frame),
	};

	return cmocka_run_group_tests(tests, load_speech, free_speech);
}
