/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns and recordings are the same live and simulated: how loud the simulator
 * has a frame is how loud the daemon's receiver finds what the feeder sends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "feeder/source.h"
#include "media/importance.h"
#include "media/payload.h"
#include "scratch.h"
#include "sim/voice.h"
#include "speech/wav.h"

enum { RATE = 8000, SECONDS = 6, FRAMES = 3000, SEED = 5 };
/* 20 dB above the noise of pauses. */
enum { NOISE = 2 + 4 * 12 };

static struct campaign *campaign, *coded, *recorded;

static int parse(struct campaign **c, const char *in, const char *model,
		 const char *duration, const char *wav)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "duration: %s\nflows:\n  - count: 1\n"
		       "    in: {codec: %s}\n    out: {codec: g722}\n"
		       "    voice: {model: %s}\n    input: [%s]\n",
		       duration, in, model, wav);
	return campaign_parse(text, strlen(text), "c.yaml", NULL, c, NULL);
}

/* Sounds of any strength, up to 100 ms each. */
static int make_campaigns(void **state)
{
	char wav[SCRATCH_MAX];
	uint8_t head[WAV_HEADER_BYTES];
	FILE *f = fopen(scratch_file(wav), "wb");
	unsigned noise = 1;

	if (!f)
		return -1;
	wav_header(head, RATE, SECONDS * RATE);
	(void)fwrite(head, 1, sizeof(head), f);
	for (unsigned i = 0; i < SECONDS * RATE; i++) {
		int16_t s;

		noise = noise * 1103515245 + 12345;
		s = (int16_t)((int)(noise >> 16 & 0x7fff) - 0x4000);
		s = (int16_t)(s >> i / 800 % 9);
		(void)fwrite(&s, sizeof(s), 1, f);
	}
	return fclose(f) || parse(&campaign, "pcmu", "turns", "4s", wav) ||
	       parse(&recorded, "pcmu", "recordings", "4s", wav) ||
	       parse(&coded, "amr", "turns", "1s", wav);
}

static int free_campaigns(void **state)
{
	campaign_free(campaign);
	campaign_free(coded);
	campaign_free(recorded);
	return 0;
}

static void open_both(const struct campaign *c, struct source **source,
		      struct voice_model *model)
{
	const struct campaign_flow *flow = &c->flows[0];
	const struct source_cfg live = { .flow = flow,
					 .base = "c.yaml",
					 .seed = SEED,
					 .duration = c->duration };
	const struct voice_cfg simulated = { c, flow, SEED, c->duration };

	assert_int_equal(source_open(source, &live, NULL), 0);
	assert_int_equal(voice_model_open(model, &simulated, NULL), 0);
}

/* Frames that are quiet. */
static unsigned compare(const struct campaign *c)
{
	struct codec_use pcmu;
	struct voice_model model;
	struct source *source;
	unsigned pauses = 0;

	assert_int_equal(source_codec_use(&c->flows[0].in, &pcmu), 0);
	open_both(c, &source, &model);
	for (uint64_t call = 0; call < 3; call++) {
		struct importance_amr past = { 0 };
		struct source_voice live;
		struct voice simulated;

		source_voice_init(&live, source, 40 + call);
		voice_init(&simulated, &model, 40 + call);
		for (uint64_t i = 0; i < FRAMES; i++) {
			size_t n;
			const uint8_t *p = source_payload(&live, i, &n);
			int heard = importance_of(&past, &pcmu, p, n);
			int rated = voice_at(&simulated, i);

			/* mu-law rounds: less than 2 dB */
			assert_int_equal(n, 160);
			assert_in_range(heard - rated + 2, 0, 4);
			pauses += rated < NOISE;
		}
	}
	voice_model_close(&model);
	source_close(source);
	return pauses;
}

static void the_feeder_sends_what_the_simulator_rates(void **state)
{
	assert_in_range(compare(campaign), FRAMES, 2 * FRAMES);
}

static void recordings_are_sent_as_they_are_rated(void **state)
{
	(void)compare(recorded);
}

/* The loudness of AMR follows from its gains; the spurts are the same. */
static void coded_turns_come_in_the_feeders_order(void **state)
{
	struct voice_model model;
	struct source *source;

	open_both(coded, &source, &model);
	for (uint64_t call = 0; call < 3; call++) {
		struct source_voice live;
		struct voice simulated;

		source_voice_init(&live, source, 40 + call);
		voice_init(&simulated, &model, 40 + call);
		for (uint64_t i = 0; i < FRAMES; i++)
			assert_int_equal(segment_at(&live.walk, i),
					 segment_at(&simulated.walk, i));
	}
	voice_model_close(&model);
	source_close(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_feeder_sends_what_the_simulator_rates),
		cmocka_unit_test(recordings_are_sent_as_they_are_rated),
		cmocka_unit_test(coded_turns_come_in_the_feeders_order),
	};

	return cmocka_run_group_tests(tests, make_campaigns, free_campaigns);
}
