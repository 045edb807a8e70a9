/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the real encoders put out travels through every payload format
 * unchanged, bit by bit, in every mode: codecs and payload formats mean the
 * same by a frame.
 */
#include <string.h>

#include "cr/codec.h"
#include "media/payload.h"
#include "cmocka_cr.h"
#include "seed.h"

#define FRAMES 60u
#define PER_PACKET 3u

/* Frames of the packet being filled, and where it goes. */
static struct cr_frame frames[PER_PACKET];
static uint8_t packed[PER_PACKET * CR_FRAME_MAX];
static int16_t pcm[CR_FRAME_SAMPLES_MAX];

/* Noise that swells and fades: all bits of a frame get used. */
static void make_speech(uint64_t *s, unsigned samples, unsigned frame)
{
	int level = 1 + (int)(frame % 20) * 600;

	for (unsigned i = 0; i < samples; i++)
		pcm[i] = (int16_t)((int)test_below(s, 2 * (unsigned)level) -
				   level);
}

static void assert_travels(const struct codec_use *cfg, unsigned n)
{
	struct payload_iter it;
	struct cr_frame out;
	int bytes = payload_pack(cfg, PAYLOAD_NO_CMR, frames, n, packed,
				 sizeof(packed));

	assert_true(bytes > 0);
	assert_int_equal(payload_open(cfg, packed, (size_t)bytes, &it), 0);
	assert_int_equal(it.info.nframes, n);
	for (unsigned i = 0; i < n; i++) {
		assert_true(payload_next(&it, &out));
		assert_int_equal(out.kind, frames[i].kind);
		assert_int_equal(out.bytes, frames[i].bytes);
		assert_memory_equal(out.data, frames[i].data, out.bytes);
		if (out.kind == CR_FRAME_SPEECH)
			assert_int_equal(out.mode, frames[i].mode);
	}
}

static void mode_travels(const struct cr_codec *c, unsigned mode)
{
	struct codec_use cfg = { .codec = c };
	const struct cr_codec_cfg codec_cfg = { .mode = mode };
	uint64_t s = mode + 1;
	struct cr_err e;
	unsigned n;
	void *enc;

	assert_int_equal(payload_format_find(&cfg), 0);
	cfg.cfg.samples = c->samples;
	n = cfg.kind == PAYLOAD_WHOLE ? 1 : PER_PACKET;
	assert_int_equal(c->encoder_open(&enc, &codec_cfg, &e), 0);
	for (unsigned i = 0; i < FRAMES; i++) {
		make_speech(&s, c->samples, i);
		memset(&frames[i % n], 0x5a, sizeof(frames[0]));
		assert_int_equal(c->encode(enc, mode, pcm, &frames[i % n]), 0);
		if (i % n != n - 1)
			continue;
		cfg.amr.octet_align = false;
		assert_travels(&cfg, n);
		cfg.amr.octet_align = true;
		assert_travels(&cfg, n);
	}
	c->encoder_close(enc);
}

static void frames_of_every_codec_and_mode_travel(void **state)
{
	for (size_t i = 0; cr_codecs[i]; i++) {
		const struct cr_codec *c = cr_codecs[i];

		for (unsigned m = 0; c->encoder_open && m < c->nmodes; m++)
			mode_travels(c, m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_every_codec_and_mode_travel),
	};

	return cmocka_run_group_tests_name("codec frames", tests, NULL, NULL);
}
