/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of AMR-NB that leave some inputs to the library do so rarely: equal
 * results alone would not tell a kernel from one that always falls back.
 */
#include <stdio.h>

#include "cmocka_cr.h"
#include "counted.h"
#include "kernels_needed.h"
#include "library.h"
#include "seed.h"
#include "speech/speech.h"

enum {
	FRAMES = 500, /* of a call in each mode, without DTX */
	/* Few: comfort noise is always quantised by the library's Q_plsf_3. */
	DTX_FRAMES = 100,
	SAMPLES = 160,
	RARE = 50, /* at most one of so many calls falls back */
};

static struct speech_corpus *corpus;

static int load_speech(void **state)
{
	struct cr_err e = { "" };

	(void)kernels_needed(state);
	if (speech_open(&corpus, library_facts[LIBRARY_AMR].sample_rate, NULL,
			&e))
		fail_msg("%s", e.text);
	return 0;
}

static int free_speech(void **state)
{
	speech_close(corpus);
	return 0;
}

/* Encodes and decodes speech as it is recorded. */
static void transcode(unsigned mode, bool dtx, unsigned frames)
{
	const struct library *amr = library_linked(LIBRARY_AMR);
	void *enc = library_encoder(amr, dtx), *dec = library_decoder(amr);
	struct speech_reader speech;

	speech_reader_init(&speech, corpus, test_seed(), mode);
	for (unsigned n = 0; n < frames; n++) {
		uint8_t frame[LIBRARY_FRAME_MAX] = { 0 };
		int16_t pcm[SAMPLES];

		speech_read(&speech, pcm, SAMPLES);
		(void)library_encode(amr, enc, mode, dtx, pcm, frame);
		library_decode(amr, dec, frame, pcm);
	}
	library_decoder_close(amr, dec);
	library_encoder_close(amr, enc);
}

static void speech_takes_the_fast_way(void **state)
{
	bool rare = true;

	for (unsigned i = 0; i < library_facts[LIBRARY_AMR].modes; i++)
		transcode(i, false, FRAMES);
	transcode(0, true, DTX_FRAMES);
	for (unsigned i = 0; i < COUNTED_N; i++) {
		const struct counted *c = &counted[i];

		if (c->calls && RARE * c->stock <= c->calls)
			continue;
		(void)printf("%s: %u calls, %u to the library\n", c->name,
			     c->calls, c->stock);
		rare = false;
	}
	assert_true(rare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speech_takes_the_fast_way),
	};

	return cmocka_run_group_tests(tests, load_speech, free_speech);
}
