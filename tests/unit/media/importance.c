/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a receiver tells of a payload at a glance, beside what the codecs make
 * of it.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/g711.h"
#include "media/importance.h"
#include "seed.h"

#define FRAME 160u

static const struct codec_use ulaw = { .kind = PAYLOAD_PCMU };
static const struct codec_use alaw = { .kind = PAYLOAD_PCMA };
static const struct codec_use l16 = { .kind = PAYLOAD_L16 };

/* The first packet of a call. */
static uint8_t rate(const struct codec_use *cfg, const uint8_t *p, size_t n)
{
	struct importance_amr past = { 0 };

	return importance_of(&past, cfg, p, n);
}

/* Four steps to twice the energy, from one square step of 16 bits on. */
static void twice_the_energy_is_four_steps(void **state)
{
	static const struct {
		uint64_t square;
		uint8_t is;
	} golden[] = {
		{ 0, 1 },
		{ 1, 2 },
		{ 2, 6 },
		{ 3, 8 },
		{ 4, 10 },
		{ 5, 11 },
		{ 1000, 41 },
		{ 2000, 45 },
		{ 1000000, 81 },
		{ 1u << 30, CR_IMPORTANCE_LOUDEST - 3 },
		{ 1ull << 40, CR_IMPORTANCE_LOUDEST },
	};

	for (unsigned i = 0; i < sizeof(golden) / sizeof(golden[0]); i++)
		assert_int_equal(importance_of_square(golden[i].square),
				 golden[i].is);
	for (uint64_t s = 1; s < 1u << 28; s += 1 + s / 7)
		assert_int_equal(importance_of_square(2 * s),
				 importance_of_square(s) + 4);
}

/* The mean square of @pcm, as a level. */
static uint8_t level(const int16_t *pcm, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += (uint64_t)(pcm[i] * pcm[i]);
	return importance_of_square(sum / n);
}

/* Every code, alone and in a frame of chance. */
static void g711_is_as_loud_as_its_decoder_makes_it(void **state)
{
	uint64_t seed = test_seed();
	uint8_t u[FRAME], a[FRAME];
	int16_t from_u[FRAME], from_a[FRAME];

	for (unsigned code = 0; code < 256 + 500; code++) {
		/* an odd length, too */
		unsigned n = code < 256 ? 1 + code % 2
					: 1 + test_below(&seed, FRAME);

		for (unsigned i = 0; i < n; i++) {
			u[i] = code < 256 ? (uint8_t)code
					  : (uint8_t)test_random(&seed);
			a[i] = u[i];
			from_u[i] = ulaw_decode(u[i]);
			from_a[i] = alaw_decode(a[i]);
			if (abs(from_a[i]) == 8) /* its silence */
				from_a[i] = 0;
		}
		assert_int_equal(rate(&ulaw, u, n), level(from_u, n));
		assert_int_equal(rate(&alaw, a, n), level(from_a, n));
	}
}

static void l16_is_as_loud_as_its_samples(void **state)
{
	uint64_t seed = test_seed();
	int16_t pcm[FRAME];
	uint8_t wire[2 * FRAME];

	for (unsigned k = 0; k < 300; k++) {
		unsigned n = 1 + test_below(&seed, FRAME);
		unsigned most = 1 + test_below(&seed, 65536);

		for (unsigned i = 0; i < n; i++) {
			pcm[i] = k ? (int16_t)(test_below(&seed, most) -
					       most / 2)
				   : INT16_MIN; /* the loudest that there is */
			wire[2 * i] = (uint8_t)((uint16_t)pcm[i] >> 8);
			wire[2 * i + 1] = (uint8_t)pcm[i];
		}
		assert_int_equal(rate(&l16, wire, 2 * n), level(pcm, n));
	}
}

static void zeros_are_nothing(void **state)
{
	uint8_t silence[FRAME];

	memset(silence, 0xff, sizeof(silence));
	assert_int_equal(rate(&ulaw, silence, FRAME), CR_IMPORTANCE_NOTHING);
	memset(silence, 0, sizeof(silence));
	assert_int_equal(rate(&l16, silence, FRAME), CR_IMPORTANCE_NOTHING);
	/* A-law has no zero: its smallest steps are its silence */
	memset(silence, 0xd5, sizeof(silence));
	memset(silence, 0x55, sizeof(silence) / 2);
	assert_int_equal(rate(&alaw, silence, FRAME), CR_IMPORTANCE_NOTHING);
}

/* A frame of AMR, octet-aligned: type @ft, all bits zero. */
static uint8_t of_amr(unsigned ft)
{
	const struct codec_use cfg = { .kind = PAYLOAD_AMR,
				       .amr.octet_align = true };
	uint8_t p[34] = { 0xf0, (uint8_t)(ft << 3 | 4) };
	size_t n = ft == 8 ? 7 : ft == 15 ? 2 : ft == 6 ? 28 : 33;

	return rate(&cfg, p, n);
}

static void codecs_that_say_it_say_nothing(void **state)
{
	const struct codec_use opus = { .kind = PAYLOAD_WHOLE,
					.frame_bytes = 1275 };
	const struct codec_use g723 = { .kind = PAYLOAD_G723 };
	const struct codec_use g722 = { .kind = PAYLOAD_G722 };
	static const uint8_t sid[4] = { 2 }, speech[24], any[FRAME];

	assert_int_equal(of_amr(8), CR_IMPORTANCE_NOTHING);
	assert_int_equal(of_amr(15), CR_IMPORTANCE_NOTHING);
	/* 10.2 hides its gains, 12.2 does not */
	assert_int_equal(of_amr(6), CR_IMPORTANCE_UNKNOWN);
	assert_true(of_amr(7) >= CR_IMPORTANCE_QUIETEST);
	assert_int_equal(rate(&opus, any, 1), CR_IMPORTANCE_NOTHING);
	assert_int_equal(rate(&opus, any, 2), CR_IMPORTANCE_NOTHING);
	assert_int_equal(rate(&opus, any, 3), CR_IMPORTANCE_UNKNOWN);
	assert_int_equal(rate(&g723, sid, sizeof(sid)), CR_IMPORTANCE_NOTHING);
	assert_int_equal(rate(&g723, speech, sizeof(speech)),
			 CR_IMPORTANCE_UNKNOWN);
	assert_int_equal(rate(&g722, any, FRAME), CR_IMPORTANCE_UNKNOWN);
	/* what cannot be parsed is for who counts it */
	assert_int_equal(rate(&ulaw, any, 0), CR_IMPORTANCE_UNKNOWN);
	assert_int_equal(rate(&l16, any, 1), CR_IMPORTANCE_UNKNOWN);
	assert_int_equal(rate(&g723, any, 5), CR_IMPORTANCE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twice_the_energy_is_four_steps),
		cmocka_unit_test(g711_is_as_loud_as_its_decoder_makes_it),
		cmocka_unit_test(l16_is_as_loud_as_its_samples),
		cmocka_unit_test(zeros_are_nothing),
		cmocka_unit_test(codecs_that_say_it_say_nothing),
	};

	return cmocka_run_group_tests_name("importance", tests, NULL, NULL);
}
