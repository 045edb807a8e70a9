/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The PCM codecs carry frames of any length, and hide lost ones.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "codecs/g711.h"
#include "cr/codec.h"

/* An encoder and a decoder of one codec. */
struct pair {
	const struct cr_codec *codec;
	void *enc, *dec;
};

static struct pair pair_open(const char *name, const struct cr_codec_cfg *cfg)
{
	struct pair p = { .codec = cr_codec_find(name) };

	assert_int_equal(p.codec->encoder_open(&p.enc, cfg, NULL), 0);
	assert_int_equal(p.codec->decoder_open(&p.dec, cfg, NULL), 0);
	return p;
}

static void pair_close(struct pair *p)
{
	p->codec->encoder_close(p->enc);
	p->codec->decoder_close(p->dec);
}

static void ramp(int16_t *pcm, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pcm[i] = (int16_t)(i * 37 - 15000);
}

static void l16_is_in_network_byte_order(void **state)
{
	struct cr_codec_cfg cfg = { .samples = 2 };
	struct pair p = pair_open("l16", &cfg);
	int16_t pcm[CR_FRAME_SAMPLES_MAX] = { 0x1234, -2 };
	struct cr_frame f = { 0 };

	assert_int_equal(p.codec->encode(p.enc, 0, pcm, &f), 0);
	assert_int_equal(f.kind, CR_FRAME_SPEECH);
	assert_int_equal(f.bytes, 4);
	assert_memory_equal(f.data, "\x12\x34\xff\xfe", 4);
	pair_close(&p);
}

static void round_trip(const char *name, unsigned rate, unsigned samples,
		       bool exact)
{
	struct cr_codec_cfg cfg = { .sample_rate = rate, .samples = samples };
	struct pair p = pair_open(name, &cfg);
	int16_t in[CR_FRAME_SAMPLES_MAX], out[CR_FRAME_SAMPLES_MAX];
	struct cr_frame f = { 0 };

	ramp(in, samples);
	assert_int_equal(p.codec->encode(p.enc, 0, in, &f), 0);
	assert_int_equal(p.codec->decode(p.dec, &f, out), samples);
	for (unsigned i = 0; i < samples; i++)
		assert_in_range(abs(in[i] - out[i]), 0, exact ? 0 : 1024);
	assert_true(p.codec->encode(p.enc, 1, in, &f) < 0);
	pair_close(&p);
}

static void any_length_goes_round(void **state)
{
	static const unsigned lengths[] = { 1, 80, 160, 240, 480, 960 };

	for (unsigned i = 0; i < 6; i++) {
		round_trip("l16", 8000, lengths[i], true);
		round_trip("l16", 16000, lengths[i], true);
		round_trip("spin", 8000, lengths[i], true);
		round_trip("pcmu", 8000, lengths[i], false);
		round_trip("pcma", 8000, lengths[i], false);
	}
}

static void every_sample(const char *name, uint8_t (*law)(int16_t))
{
	enum { N = 256 };
	struct cr_codec_cfg cfg = { .samples = N };
	struct pair p = pair_open(name, &cfg);
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	struct cr_frame f = { 0 };

	for (int first = INT16_MIN; first <= INT16_MAX; first += N) {
		for (int i = 0; i < N; i++)
			pcm[i] = (int16_t)(first + i);
		assert_int_equal(p.codec->encode(p.enc, 0, pcm, &f), 0);
		for (int i = 0; i < N; i++)
			assert_int_equal(f.data[i], law(pcm[i]));
	}
	pair_close(&p);
}

static void the_laws_hold_for_every_sample(void **state)
{
	every_sample("pcmu", ulaw_encode);
	every_sample("pcma", alaw_encode);
}

static int loudest(const int16_t *pcm, unsigned n)
{
	int top = 0;

	for (unsigned i = 0; i < n; i++)
		top = abs(pcm[i]) > top ? abs(pcm[i]) : top;
	return top;
}

static void lost_frames_fade(const char *name)
{
	struct cr_codec_cfg cfg = { .samples = 160 };
	struct pair p = pair_open(name, &cfg);
	struct cr_frame f = { 0 }, lost = { .kind = CR_FRAME_BAD };
	int16_t pcm[CR_FRAME_SAMPLES_MAX];
	int before;

	/* Nothing was heard yet: silence of the right length. */
	assert_int_equal(p.codec->decode(p.dec, &lost, pcm), 160);
	assert_int_equal(loudest(pcm, 160), 0);

	ramp(pcm, 160);
	assert_int_equal(p.codec->encode(p.enc, 0, pcm, &f), 0);
	(void)p.codec->decode(p.dec, &f, pcm);
	before = loudest(pcm, 160);
	/* 60 ms: frames of 160 samples at the codec's rate. */
	for (unsigned i = 0; i < p.codec->sample_rate * 60 / 160000; i++) {
		assert_int_equal(p.codec->decode(p.dec, &lost, pcm), 160);
		assert_in_range(loudest(pcm, 160), 1, before);
		before = loudest(pcm, 160);
	}
	assert_int_equal(p.codec->decode(p.dec, &lost, pcm), 160);
	assert_int_equal(loudest(pcm, 160), 0);

	/* A good frame is heard again at once, exactly as ever. */
	(void)p.codec->decode(p.dec, &f, pcm);
	assert_true(loudest(pcm, 160) > before);
	pair_close(&p);
}

static void lost_frames_fade_in_every_codec(void **state)
{
	lost_frames_fade("l16");
	lost_frames_fade("pcmu");
	lost_frames_fade("pcma");
	lost_frames_fade("g722");
	lost_frames_fade("g726-32");
}

static void frames_carry_g711_codes(void **state)
{
	struct cr_codec_cfg cfg = { 0 };
	struct pair u = pair_open("pcmu", &cfg), a = pair_open("pcma", &cfg);
	int16_t pcm[160];
	struct cr_frame f = { 0 };

	ramp(pcm, 160);
	assert_int_equal(u.codec->encode(u.enc, 0, pcm, &f), 0);
	assert_int_equal(f.bytes, 160);
	for (unsigned i = 0; i < 160; i++)
		assert_int_equal(f.data[i], ulaw_encode(pcm[i]));
	assert_int_equal(a.codec->encode(a.enc, 0, pcm, &f), 0);
	for (unsigned i = 0; i < 160; i++)
		assert_int_equal(f.data[i], alaw_encode(pcm[i]));
	pair_close(&u);
	pair_close(&a);
}

static void spin_takes_the_cpu_time_it_was_told(void **state)
{
	struct cr_codec_cfg cfg = { .spin = 2 * CR_MS };
	struct pair p = pair_open("spin", &cfg);
	int16_t pcm[CR_FRAME_SAMPLES_MAX] = { 0 };
	struct cr_frame f = { 0 };
	cr_ns start = clock_thread_cpu();

	assert_int_equal(p.codec->encode(p.enc, 0, pcm, &f), 0);
	assert_true(clock_thread_cpu() - start >= 2 * CR_MS);
	start = clock_thread_cpu();
	assert_int_equal(p.codec->decode(p.dec, &f, pcm), 160);
	assert_true(clock_thread_cpu() - start >= 2 * CR_MS);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(l16_is_in_network_byte_order),
		cmocka_unit_test(any_length_goes_round),
		cmocka_unit_test(the_laws_hold_for_every_sample),
		cmocka_unit_test(lost_frames_fade_in_every_codec),
		cmocka_unit_test(frames_carry_g711_codes),
		cmocka_unit_test(spin_takes_the_cpu_time_it_was_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
