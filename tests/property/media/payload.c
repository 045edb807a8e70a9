/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload formats: what was packed is unpacked, bit by bit, for every format,
 * mode and number of frames; and a payload cut or lengthened anywhere is
 * refused as a whole.
 */
#include <string.h>

#include "media/payload.h"
#include "cmocka_cr.h"
#include "seed.h"

#define ROUNDS 20000u
#define ROOM (PAYLOAD_FRAMES_MAX * CR_FRAME_MAX)

/* Speech bits by mode; the one behind the last mode is the SID's. */
static const unsigned nb_bits[] = { 95, 103, 118, 134, 148, 159, 204, 244, 39 };
static const unsigned wb_bits[] = { 132, 177, 253, 285, 317,
				    365, 397, 461, 477, 40 };

static struct cr_frame in[PAYLOAD_FRAMES_MAX];
static uint8_t packed[ROOM + 1], again[ROOM];

static void random_bytes(uint64_t *s, struct cr_frame *f)
{
	for (unsigned i = 0; i < f->bytes; i++)
		f->data[i] = (uint8_t)test_random(s);
}

static void random_amr(uint64_t *s, const struct codec_use *cfg,
		       struct cr_frame *f)
{
	bool wide = cfg->kind == PAYLOAD_AMR_WB;
	const unsigned *bits = wide ? wb_bits : nb_bits;
	unsigned sid = wide ? 9 : 8, mode = test_below(s, sid + 2);

	if (mode > sid) {
		*f = (struct cr_frame){ .kind = CR_FRAME_NO_DATA,
					.mode = PAYLOAD_FT_NO_DATA };
		return;
	}
	f->kind = mode == sid ? CR_FRAME_SID : CR_FRAME_SPEECH;
	if (test_below(s, 4) == 0)
		f->kind = CR_FRAME_BAD;
	f->mode = (uint8_t)mode;
	f->bytes = (uint16_t)((bits[mode] + 7) / 8);
	random_bytes(s, f);
	if (bits[mode] % 8)
		f->data[f->bytes - 1] &= (uint8_t)(0xff00u >> bits[mode] % 8);
}

static void random_g723(uint64_t *s, struct cr_frame *f)
{
	static const uint8_t bytes[] = { 24, 20, 4 };

	f->mode = (uint8_t)test_below(s, 3);
	f->kind = f->mode == 2 ? CR_FRAME_SID : CR_FRAME_SPEECH;
	f->bytes = bytes[f->mode];
	random_bytes(s, f);
	f->data[0] = (uint8_t)((f->data[0] & 0xfcu) | f->mode);
}

static void random_pcm(uint64_t *s, const struct codec_use *cfg,
		       struct cr_frame *f)
{
	f->kind = CR_FRAME_SPEECH;
	f->mode = 0;
	f->bytes = (uint16_t)payload_pcm_bytes(cfg, cfg->cfg.samples);
	random_bytes(s, f);
}

static void random_octets(uint64_t *s, const struct codec_use *cfg,
			  struct cr_frame *f, bool last)
{
	f->kind = CR_FRAME_SPEECH;
	f->mode = 0;
	f->bytes = cfg->frame_bytes;
	if (cfg->kind == PAYLOAD_WHOLE)
		f->bytes = (uint16_t)(1 + test_below(s, cfg->frame_bytes));
	if (last && cfg->sid_bytes && test_below(s, 2)) {
		f->kind = CR_FRAME_SID;
		f->bytes = cfg->sid_bytes;
	}
	random_bytes(s, f);
}

/* Bits of the modes, and what their layer adds; the manual's tables. */
static void random_speex(uint64_t *s, struct cr_frame *f)
{
	static const unsigned narrow[] = { 5,	43,  119, 160, 220,
					   300, 364, 492, 79 };
	static const unsigned layer[] = { 4, 36, 112, 192, 352 };
	unsigned mode = test_below(s, 9), wide = test_below(s, 6);
	unsigned at = narrow[mode], bits = at + (wide < 5 ? layer[wide] : 0);

	f->mode = 0;
	f->bytes = (uint16_t)((bits + 7) / 8);
	random_bytes(s, f);
	f->data[0] = (uint8_t)(mode << 3 | (f->data[0] & 7u));
	/* bits 39 to 42 of mode 1 say that there is silence behind it */
	f->kind = mode == 0 || (mode == 1 && (f->data[4] & 1u) &&
				(f->data[5] & 0xe0u) == 0xe0u)
			  ? CR_FRAME_SID
			  : CR_FRAME_SPEECH;
	for (unsigned i = 0; wide < 5 && i < 4; i++) {
		unsigned bit = (8u | wide) >> (3 - i) & 1u;
		uint8_t mask = (uint8_t)(0x80u >> (at + i) % 8);
		uint8_t *octet = &f->data[(at + i) / 8];

		*octet = (uint8_t)(bit ? *octet | mask : *octet & ~mask);
	}
	for (unsigned i = bits; i % 8; i++) {
		uint8_t mask = (uint8_t)(0x80u >> i % 8);

		f->data[i / 8] = (uint8_t)(i > bits ? f->data[i / 8] | mask
						    : f->data[i / 8] & ~mask);
	}
}

static void random_frame(uint64_t *s, const struct codec_use *cfg,
			 struct cr_frame *f, bool last)
{
	switch (cfg->kind) {
	case PAYLOAD_AMR:
	case PAYLOAD_AMR_WB:
		random_amr(s, cfg, f);
		return;
	case PAYLOAD_G723:
		random_g723(s, f);
		return;
	case PAYLOAD_FRAMES:
	case PAYLOAD_WHOLE:
		random_octets(s, cfg, f, last);
		return;
	case PAYLOAD_SPEEX:
		random_speex(s, f);
		return;
	default:
		random_pcm(s, cfg, f);
	}
}

static void assert_same_frames(struct payload_iter *it, unsigned n)
{
	struct cr_frame out;

	for (unsigned i = 0; i < n; i++) {
		assert_true(payload_next(it, &out));
		assert_int_equal(out.kind, in[i].kind);
		assert_int_equal(out.mode, in[i].mode);
		assert_int_equal(out.bytes, in[i].bytes);
		assert_memory_equal(out.data, in[i].data, out.bytes);
	}
	assert_false(payload_next(it, &out));
}

static bool is_amr(const struct codec_use *cfg)
{
	return cfg->kind == PAYLOAD_AMR || cfg->kind == PAYLOAD_AMR_WB;
}

static void one_round(uint64_t *s, const struct codec_use *cfg)
{
	bool one = cfg->kind == PAYLOAD_WHOLE;
	unsigned n = 1 + test_below(s, one ? 1 : PAYLOAD_FRAMES_MAX);
	unsigned cmr = test_below(s, 9);
	struct payload_iter it;
	int bytes;

	for (unsigned i = 0; i < n; i++)
		random_frame(s, cfg, &in[i], i == n - 1);
	if (cmr == 8 || !is_amr(cfg))
		cmr = PAYLOAD_NO_CMR;
	bytes = payload_pack(cfg, (uint8_t)cmr, in, n, packed, ROOM);
	assert_true(bytes > 0);
	assert_true((size_t)bytes <= n * payload_max_bytes(cfg));
	assert_int_equal(payload_open(cfg, packed, (size_t)bytes, &it), 0);
	assert_int_equal(it.info.nframes, n);
	assert_int_equal(it.info.cmr, cmr);
	assert_same_frames(&it, n);
	assert_int_equal(payload_pack(cfg, (uint8_t)cmr, in, n, again, ROOM),
			 bytes);
	assert_memory_equal(packed, again, (size_t)bytes);
	if (!is_amr(cfg))
		return;
	for (int cut = 1; cut < bytes; cut++)
		assert_int_equal(payload_open(cfg, packed, (size_t)cut, &it),
				 PAYLOAD_SHORT);
	assert_int_equal(payload_open(cfg, packed, (size_t)bytes + 1, &it),
			 PAYLOAD_SURPLUS);
}

static void what_was_packed_is_unpacked(void **state)
{
	uint64_t s = test_seed();

	for (unsigned round = 0; round < ROUNDS; round++) {
		struct codec_use cfg = {
			.kind = (enum payload_kind)(round % PAYLOAD_NKINDS),
			.amr.octet_align = test_below(&s, 2),
			.cfg.samples =
				2 + test_below(&s, CR_PCM_SAMPLES_MAX - 1),
			.frame_bytes = (uint16_t)(1 + test_below(&s, 300)),
		};

		if (cfg.kind == PAYLOAD_FRAMES)
			cfg.sid_bytes =
				(uint16_t)test_below(&s, cfg.frame_bytes);

		one_round(&s, &cfg);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_packed_is_unpacked),
	};

	return cmocka_run_group_tests_name("payload round trip", tests, NULL,
					   NULL);
}
