/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How loud frames of AMR are taken for, beside what the library's decoder makes
 * of them, with recordings: as they are, and with a noise behind them.
 */
#include <math.h>
#include <string.h>

#include "cmocka_cr.h"
#include "media/importance.h"
#include "seed.h"
#include "spoken.h"

enum {
	FRAME = 160,
	FRAMES = 3000,
	WINDOW = 500, /* 10 s */
	/* below the loudest sixteenth: as engine/shed.h has pauses */
	PAUSE = 32,
};

static const struct cr_codec *amr;

/* What frames are taken for, and how loud they are. */
struct course {
	uint8_t seen[FRAMES], heard[FRAMES];
};

static uint8_t loudness(const int16_t *pcm)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FRAME; i++)
		sum += (uint64_t)((int32_t)pcm[i] * pcm[i]);
	return importance_of_square(sum / FRAME);
}

static void add_noise(int16_t *pcm, int noise, uint64_t *seed)
{
	for (unsigned i = 0; noise && i < FRAME; i++)
		pcm[i] = (int16_t)(pcm[i] / 2 - noise +
				   (int)test_below(seed, 2 * (unsigned)noise));
}

static void run(struct course *c, const char *mode, int noise)
{
	struct importance_amr past = { 0 };
	struct spoken s;
	void *dec;
	int16_t pcm[FRAME];
	uint64_t seed = 3;
	int m = cr_codec_mode_find(amr, mode);
	const struct cr_codec_cfg cfg = { .mode = (unsigned)m };

	spoken_open(&s, amr, &cfg, recordings(8000), FRAME);
	assert_int_equal(amr->decoder_open(&dec, &cfg, NULL), 0);
	assert_true(importance_amr_shows((unsigned)m));
	for (unsigned i = 0; i < FRAMES; i++) {
		spoken_say(&s);
		add_noise(s.pcm, noise, &seed);
		spoken_code(&s);
		c->seen[i] = importance_amr(&past, &s.frame);
		assert_int_equal(amr->decode(dec, &s.frame, pcm), FRAME);
		c->heard[i] = loudness(pcm);
	}
	spoken_close(&s);
	amr->decoder_close(dec);
}

static double correlation(const struct course *c)
{
	double x = 0, y = 0, xx = 0, yy = 0, xy = 0;

	for (unsigned i = 0; i < FRAMES; i++) {
		x += c->seen[i];
		y += c->heard[i];
	}
	x /= FRAMES;
	y /= FRAMES;
	for (unsigned i = 0; i < FRAMES; i++) {
		double a = c->seen[i] - x, b = c->heard[i] - y;

		xx += a * a;
		yy += b * b;
		xy += a * b;
	}
	return xy / sqrt(xx * yy);
}

/* Which of a window's frames are pauses. */
static void find_pauses(const uint8_t *level, bool *pause)
{
	unsigned count[256] = { 0 }, top = 256, n = 0;

	for (unsigned i = 0; i < WINDOW; i++)
		count[level[i]]++;
	while (n * 16 < WINDOW)
		n += count[--top];
	for (unsigned i = 0; i < WINDOW; i++)
		pause[i] = level[i] + PAUSE < (int)top;
}

/* Of a hundred frames, those that are pauses, or not, by both; of a hundred
 * pairs of a pause and speech, those in which the pause seems softer. */
struct judged {
	double alike, ordered;
};

static struct judged judge(const struct course *c)
{
	uint64_t alike = 0, pairs = 0, right = 0;

	for (unsigned w = 0; w < FRAMES; w += WINDOW) {
		bool seen[WINDOW], heard[WINDOW];

		find_pauses(c->seen + w, seen);
		find_pauses(c->heard + w, heard);
		for (unsigned i = 0; i < WINDOW; i++) {
			alike += seen[i] == heard[i];
			for (unsigned k = 0; heard[i] && k < WINDOW; k++) {
				pairs += !heard[k];
				right += !heard[k] &&
					 c->seen[w + i] < c->seen[w + k];
			}
		}
	}
	return (struct judged){ 100 * (double)alike / FRAMES,
				100 * (double)right / (double)pairs };
}

/* With a noise of -60 dBov, as lines have it, better than without any: to
 * nothing at all, the quiet of a studio is loud. */
static void frames_are_as_loud_as_their_gains_say(void **state)
{
	static const struct {
		const char *mode;
		int noise;
		double alike;
	} worlds[] = {
		{ "12.2", 0, 87 },
		{ "7.95", 0, 86 },
		{ "12.2", 60, 92 },
		{ "7.95", 60, 91 },
	};
	static struct course c;

	for (unsigned i = 0; i < sizeof(worlds) / sizeof(worlds[0]); i++) {
		struct judged j;
		double r;

		run(&c, worlds[i].mode, worlds[i].noise);
		r = correlation(&c);
		j = judge(&c);
		print_message("%s, noise %d: r %.3f, pauses %.1f %%, order "
			      "%.1f %%\n",
			      worlds[i].mode, worlds[i].noise, r, j.alike,
			      j.ordered);
		assert_true(r > 0.89);
		assert_true(j.alike > worlds[i].alike);
		assert_true(j.ordered > 94);
	}
}

/* Any bits, for ever: gains above 1 add up, and stay in bounds. */
static void any_bits_are_a_level(void **state)
{
	uint64_t seed = test_seed();
	struct importance_amr past = { 0 };
	struct cr_frame f = { .kind = CR_FRAME_SPEECH, .bytes = 31 };
	uint8_t before = 0;

	for (unsigned i = 0; i < 20000; i++) {
		uint8_t level;

		f.mode = i < 15000 && test_below(&seed, 2) ? 5 : 7;
		for (unsigned k = 0; k < 31; k++)
			f.data[k] = (uint8_t)test_below(&seed, 256);
		if (i % 100 > 50 || i >= 15000)
			memset(f.data, 0xff, 31); /* the most of all */
		level = importance_amr(&past, &f);
		assert_in_range(level, CR_IMPORTANCE_QUIETEST,
				CR_IMPORTANCE_LOUDEST);
		/* what adds up does not begin anew */
		if (i >= 15001)
			assert_true(level >= before);
		before = level;
	}
}

/* Of 12.2: nothing new, and half of what was, by the lower two bits of each
 * adaptive gain (3GPP TS 26.101, annex B). */
static struct cr_frame fading(void)
{
	static const uint8_t bits[] = { 55, 56, 57, 58, 88, 89, 90, 91 };
	struct cr_frame f = { .kind = CR_FRAME_SPEECH, .bytes = 31, .mode = 7 };

	for (unsigned i = 0; i < sizeof(bits); i++)
		f.data[bits[i] / 8] |= (uint8_t)(0x80 >> bits[i] % 8);
	return f;
}

/* What is repeated louder and louder is never more than can be heard: so a
 * minute of the most of all is forgotten as soon as four frames of it. */
static void the_loudest_is_soon_forgotten(void **state)
{
	struct importance_amr few = { 0 }, many = { 0 };
	struct cr_frame f = { .kind = CR_FRAME_SPEECH, .bytes = 31, .mode = 7 };
	uint8_t level = CR_IMPORTANCE_LOUDEST;

	memset(f.data, 0xff, 31);
	for (unsigned i = 0; i < FRAMES; i++) {
		assert_int_equal(importance_amr(&many, &f),
				 CR_IMPORTANCE_LOUDEST);
		if (i < 4)
			(void)importance_amr(&few, &f);
	}
	f = fading();
	for (unsigned i = 0; level > PAUSE; i++) {
		level = importance_amr(&few, &f);
		assert_int_equal(importance_amr(&many, &f), level);
		assert_true(i < 10);
	}
}

/* After a frame that nobody has looked at, such as a lost one, what is
 * predicted is right again behind the next. */
static void a_frame_ago_is_all_that_counts(void **state)
{
	uint64_t seed = test_seed();
	struct importance_amr one = { 0 }, other = { 0 };
	struct cr_frame f = { .kind = CR_FRAME_SPEECH, .bytes = 31, .mode = 7 };

	for (unsigned i = 0; i < 100; i++) {
		for (unsigned k = 0; k < 31; k++)
			f.data[k] = (uint8_t)test_below(&seed, 256);
		(void)importance_amr(&one, &f);
		if (i % 7 == 0)
			continue;
		(void)importance_amr(&other, &f);
		assert_memory_equal(one.past, other.past, sizeof(one.past));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_as_loud_as_their_gains_say),
		cmocka_unit_test(any_bits_are_a_level),
		cmocka_unit_test(the_loudest_is_soon_forgotten),
		cmocka_unit_test(a_frame_ago_is_all_that_counts),
	};

	amr = cr_codec_find("amr");
	return cmocka_run_group_tests_name("importance_amr", tests, NULL, NULL);
}
