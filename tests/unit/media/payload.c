/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Payload formats against hand-made packets and the sizes of RFC 4867 and
 * RFC 3551.
 */
#include <errno.h>
#include <string.h>

#include "media/payload.h"
#include "cmocka_cr.h"

static const struct codec_use nb_be = { .kind = PAYLOAD_AMR };
static const struct codec_use nb_oa = { .kind = PAYLOAD_AMR,
					.amr.octet_align = true };
static const struct codec_use wb_be = { .kind = PAYLOAD_AMR_WB };
static const struct codec_use wb_oa = { .kind = PAYLOAD_AMR_WB,
					.amr.octet_align = true };
static const struct codec_use g723 = { .kind = PAYLOAD_G723 };

/* Payload octets by frame type; 0: not a type of ours. */
static const uint8_t nb_be_size[16] = { 14, 15, 16, 18, 20, 22, 27, 32,
					7,  0,	0,  0,	0,  0,	0,  2 };
static const uint8_t nb_oa_size[16] = { 14, 15, 17, 19, 21, 22, 28, 33,
					7,  0,	0,  0,	0,  0,	0,  2 };
static const uint8_t wb_be_size[16] = { 18, 24, 33, 37, 41, 47, 51, 59,
					61, 7,	0,  0,	0,  0,	2,  2 };
static const uint8_t wb_oa_size[16] = { 19, 25, 34, 38, 42, 48, 52, 60,
					62, 7,	0,  0,	0,  0,	2,  2 };

/* One frame of type @ft, all bits but FT and Q zero. */
static int open_type(const struct codec_use *cfg, unsigned ft, size_t n,
		     struct payload_iter *it)
{
	static uint8_t p[128];

	memset(p, 0, sizeof(p));
	if (cfg->amr.octet_align) {
		p[0] = 0xf0;
		p[1] = (uint8_t)(ft << 3 | 4);
	} else {
		p[0] = (uint8_t)(0xf0 | ft >> 1);
		p[1] = (uint8_t)(ft << 7 | 0x40);
	}
	return payload_open(cfg, p, n, it);
}

static void check_sizes(const struct codec_use *cfg, const uint8_t *size)
{
	struct payload_iter it;
	struct cr_frame f;
	uint8_t back[128];

	for (unsigned ft = 0; ft < 16; ft++) {
		if (!size[ft]) {
			assert_int_equal(open_type(cfg, ft, 60, &it),
					 PAYLOAD_BAD_TYPE);
			continue;
		}
		for (size_t n = 2; n < size[ft]; n++)
			assert_int_equal(open_type(cfg, ft, n, &it),
					 PAYLOAD_SHORT);
		assert_int_equal(open_type(cfg, ft, size[ft] + 1u, &it),
				 PAYLOAD_SURPLUS);
		assert_int_equal(open_type(cfg, ft, size[ft], &it), 0);
		assert_int_equal(it.info.nframes, 1);
		assert_int_equal(it.info.cmr, PAYLOAD_NO_CMR);
		assert_true(payload_next(&it, &f));
		assert_int_equal(f.mode, ft);
		assert_int_equal(payload_pack(cfg, PAYLOAD_NO_CMR, &f, 1, back,
					      sizeof(back)),
				 size[ft]);
		assert_int_equal(payload_pack(cfg, PAYLOAD_NO_CMR, &f, 1, back,
					      size[ft] - 1u),
				 -ENOSPC);
		assert_false(payload_next(&it, &f));
	}
}

static void amr_payload_sizes_are_those_of_rfc4867(void **state)
{
	check_sizes(&nb_be, nb_be_size);
	check_sizes(&nb_oa, nb_oa_size);
	check_sizes(&wb_be, wb_be_size);
	check_sizes(&wb_oa, wb_oa_size);
	assert_int_equal(payload_max_bytes(&nb_be), 32);
	assert_int_equal(payload_max_bytes(&nb_oa), 33);
	assert_int_equal(payload_max_bytes(&wb_be), 61);
	assert_int_equal(payload_max_bytes(&wb_oa), 62);
}

/* CMR 6, ToC (F=0 FT=0 Q=1), 95 bits 1, 7 padding bits: RFC 4867, 4.3.5. */
static const uint8_t be_475[14] = { 0x60, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff,
				    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80 };

static void bandwidth_efficient_bits_are_where_the_rfc_puts_them(void **state)
{
	struct payload_iter it;
	struct cr_frame f;
	uint8_t back[14];

	assert_int_equal(payload_open(&nb_be, be_475, sizeof(be_475), &it), 0);
	assert_int_equal(it.info.cmr, 6);
	assert_true(payload_next(&it, &f));
	assert_int_equal(f.kind, CR_FRAME_SPEECH);
	assert_int_equal(f.mode, 0);
	assert_int_equal(f.bytes, 12);
	for (unsigned i = 0; i < 11; i++)
		assert_int_equal(f.data[i], 0xff);
	assert_int_equal(f.data[11], 0xfe); /* 95 bits */
	assert_int_equal(payload_pack(&nb_be, 6, &f, 1, back, sizeof(back)),
			 14);
	assert_memory_equal(back, be_475, sizeof(back));
}

/*
 * Two frames, bandwidth-efficient: CMR 15; ToC F=1 FT=8 Q=1, F=0 FT=0 Q=0;
 * SID 39 bits 0xa5a5a5a5a4, speech 95 bits 0x01 0x02 ... 0x0c:
 *   1111 1 1000 1 0 0000 0 | 10100101... at bit 16 | speech at bit 55
 */
static const uint8_t be_two[19] = { 0xfc, 0x40, 0xa5, 0xa5, 0xa5, 0xa5, 0xa4,
				    0x02, 0x04, 0x06, 0x08, 0x0a, 0x0c, 0x0e,
				    0x10, 0x12, 0x14, 0x16, 0x18 };

static void several_frames_share_one_table_and_one_padding(void **state)
{
	static const uint8_t sid[5] = { 0xa5, 0xa5, 0xa5, 0xa5, 0xa4 };
	static const uint8_t speech[12] = { 1, 2, 3, 4,	 5,  6,
					    7, 8, 9, 10, 11, 12 };
	struct payload_iter it;
	struct cr_frame f[2];
	uint8_t back[32];

	assert_int_equal(payload_open(&nb_be, be_two, sizeof(be_two), &it), 0);
	assert_int_equal(it.info.nframes, 2);
	assert_true(payload_next(&it, &f[0]));
	assert_true(payload_next(&it, &f[1]));
	assert_false(payload_next(&it, &f[1]));
	assert_int_equal(f[0].kind, CR_FRAME_SID);
	assert_int_equal(f[0].mode, 8);
	assert_memory_equal(f[0].data, sid, 5);
	assert_int_equal(f[1].kind, CR_FRAME_BAD); /* Q = 0 keeps its data */
	assert_int_equal(f[1].mode, 0);
	assert_memory_equal(f[1].data, speech, 12);
	assert_int_equal(payload_pack(&nb_be, 15, f, 2, back, sizeof(back)),
			 sizeof(be_two));
	assert_memory_equal(back, be_two, sizeof(be_two));
}

/* CMR 1; FT 9 SID, NO_DATA, FT 0: octet-aligned, reserved bits set. */
static const uint8_t oa_three[26] = { 0x1f, 0xcf, 0xfc, 0x04, 1,   2,  3,
				      4,    5,	  10,	11,   12,  13, 14,
				      15,   16,	  17,	18,   19,  20, 21,
				      22,   23,	  24,	25,   0xff };

static void octet_aligned_ignores_reserved_and_padding_bits(void **state)
{
	struct payload_iter it;
	struct cr_frame f[3];
	uint8_t back[26];

	assert_int_equal(payload_open(&wb_oa, oa_three, sizeof(oa_three), &it),
			 0);
	assert_int_equal(it.info.cmr, 1);
	assert_int_equal(it.info.nframes, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_true(payload_next(&it, &f[i]));
	assert_int_equal(f[0].kind, CR_FRAME_SID);
	assert_int_equal(f[0].data[4], 5);
	assert_int_equal(f[1].kind, CR_FRAME_NO_DATA);
	assert_int_equal(f[1].bytes, 0);
	assert_int_equal(f[2].kind, CR_FRAME_SPEECH);
	assert_int_equal(f[2].bytes, 17);
	assert_int_equal(f[2].data[0], 10);
	assert_int_equal(f[2].data[16], 0xf0); /* 132 bits */
	assert_int_equal(payload_pack(&wb_oa, 1, f, 3, back, sizeof(back)), 26);
	assert_int_equal(back[0], 0x10);
	assert_int_equal(back[1], 0xcc);
	assert_int_equal(back[2], 0xfc);
	assert_int_equal(back[3], 0x04);
	assert_memory_equal(back + 4, oa_three + 4, 21);
	assert_int_equal(back[25], 0xf0);
}

static void a_cmr_we_cannot_follow_is_ignored(void **state)
{
	struct codec_use set = nb_be;
	struct payload_iter it;
	uint8_t p[14];

	set.amr.mode_set = 1 << 0 | 1 << 7;
	memcpy(p, be_475, sizeof(p));
	for (unsigned cmr = 0; cmr < 16; cmr++) {
		p[0] = (uint8_t)(cmr << 4);
		assert_int_equal(payload_open(&nb_be, p, sizeof(p), &it), 0);
		assert_int_equal(it.info.cmr, cmr < 8 ? cmr : PAYLOAD_NO_CMR);
		assert_int_equal(payload_open(&set, p, sizeof(p), &it), 0);
		assert_int_equal(it.info.cmr,
				 cmr == 0 || cmr == 7 ? cmr : PAYLOAD_NO_CMR);
	}
}

static void modes_outside_the_set_are_refused_both_ways(void **state)
{
	struct codec_use set = nb_be;
	struct payload_iter it;
	struct cr_frame f = { .kind = CR_FRAME_SPEECH, .bytes = 12 };
	struct cr_frame sid = { .kind = CR_FRAME_SID, .mode = 8, .bytes = 5 };
	uint8_t buf[64];

	set.amr.mode_set = 1 << 2 | 1 << 4;
	assert_int_equal(payload_open(&set, be_475, sizeof(be_475), &it),
			 PAYLOAD_MODE_SET);
	assert_int_equal(payload_pack(&set, 15, &f, 1, buf, 64), -EINVAL);
	assert_int_equal(payload_pack(&set, 2, &sid, 1, buf, 64), 7);
	assert_int_equal(payload_pack(&set, 3, &sid, 1, buf, 64), -EINVAL);
	assert_int_equal(payload_pack(&set, 15, &sid, 1, buf, 64), 7);
	assert_int_equal(payload_max_bytes(&set), 20);
}

static void frames_that_do_not_fit_are_not_packed(void **state)
{
	static struct cr_frame many[PAYLOAD_FRAMES_MAX + 1];
	struct cr_frame f = { .kind = CR_FRAME_SPEECH, .mode = 7, .bytes = 31 };
	uint8_t buf[64];

	assert_int_equal(payload_pack(&nb_oa, 15, &f, 1, buf, 64), 33);
	assert_int_equal(payload_pack(&nb_oa, 8, &f, 1, buf, 64), -EINVAL);
	assert_int_equal(payload_pack(&wb_oa, 9, &f, 1, buf, 64), -EINVAL);
	f.bytes = 30;
	assert_int_equal(payload_pack(&nb_oa, 15, &f, 1, buf, 64), -EINVAL);
	f.bytes = 5;
	f.mode = 8; /* a SID called speech */
	assert_int_equal(payload_pack(&nb_oa, 15, &f, 1, buf, 64), -EINVAL);
	for (unsigned mode = 9; mode < 15; mode++) {
		f.mode = (uint8_t)mode;
		assert_int_equal(payload_pack(&nb_oa, 15, &f, 1, buf, 64),
				 -EINVAL);
	}
	f.mode = 200;
	assert_int_equal(payload_pack(&nb_oa, 15, &f, 1, buf, 64), -EINVAL);
	for (unsigned i = 0; i <= PAYLOAD_FRAMES_MAX; i++)
		many[i].kind = CR_FRAME_NO_DATA;
	assert_int_equal(payload_pack(&nb_oa, 15, many, 0, buf, 64), -EINVAL);
	assert_int_equal(
		payload_pack(&nb_oa, 15, many, PAYLOAD_FRAMES_MAX, buf, 64),
		13);
	assert_int_equal(
		payload_pack(&nb_oa, 15, many, PAYLOAD_FRAMES_MAX + 1, buf, 64),
		-EINVAL);
}

static void more_than_twelve_frames_are_refused(void **state)
{
	struct payload_iter it = { .n = 4711 };
	uint8_t p[16];

	memset(p, 0xfc, sizeof(p)); /* F, NO_DATA, Q */
	p[12] = 0x7c;
	assert_int_equal(payload_open(&nb_oa, p, 13, &it), 0);
	assert_int_equal(it.info.nframes, PAYLOAD_FRAMES_MAX);
	it.n = 4711;
	p[12] = 0xfc;
	p[13] = 0x7c;
	assert_int_equal(payload_open(&nb_oa, p, 14, &it), PAYLOAD_TOO_MANY);
	assert_int_equal(payload_open(&nb_oa, p, 0, &it), PAYLOAD_EMPTY);
	assert_int_equal(payload_open(&nb_oa, p, 1, &it), PAYLOAD_SHORT);
	assert_int_equal(payload_open(&nb_be, p, 1, &it), PAYLOAD_SHORT);
	assert_int_equal(it.n, 4711); /* written only on success */
}

static void lost_wideband_speech_is_a_bad_frame(void **state)
{
	static const uint8_t p[2] = { 0xf0, 0x74 }; /* FT 14, Q 1 */
	struct payload_iter it;
	struct cr_frame f;

	assert_int_equal(payload_open(&wb_oa, p, 2, &it), 0);
	assert_true(payload_next(&it, &f));
	assert_int_equal(f.kind, CR_FRAME_BAD);
	assert_int_equal(f.mode, PAYLOAD_FT_LOST);
	assert_int_equal(f.bytes, 0);
}

static void pcm_is_cut_into_frames(void **state)
{
	const struct codec_use cfg = { .kind = PAYLOAD_L16,
				       .cfg.samples = 160 };
	uint8_t p[3 * 320 + 2], back[sizeof(p)];
	struct payload_iter it;
	struct cr_frame f[4];

	for (size_t i = 0; i < sizeof(p); i++)
		p[i] = (uint8_t)(i * 7);
	assert_int_equal(payload_open(&cfg, p, sizeof(p), &it), 0);
	assert_int_equal(it.info.nframes, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_true(payload_next(&it, &f[i]));
	assert_int_equal(f[0].bytes, 320);
	assert_int_equal(f[3].bytes, 2);
	assert_memory_equal(f[3].data, p + 960, 2);
	assert_int_equal(payload_pack(&cfg, 15, f, 4, back, sizeof(back)),
			 sizeof(p));
	assert_memory_equal(back, p, sizeof(p));
	assert_int_equal(payload_open(&cfg, p, 321, &it), PAYLOAD_ODD);
	assert_int_equal(payload_max_bytes(&cfg), 320);
}

static void pcm_without_a_length_is_one_bounded_frame(void **state)
{
	static uint8_t p[4000];
	const struct codec_use u = { .kind = PAYLOAD_PCMU };
	const struct codec_use l = { .kind = PAYLOAD_L16 };
	const struct codec_use cut = { .kind = PAYLOAD_PCMA,
				       .cfg.samples = 80 };
	struct payload_iter it;

	for (size_t n = 1; n <= CR_PCM_SAMPLES_MAX; n++) {
		assert_int_equal(payload_open(&u, p, n, &it), 0);
		assert_int_equal(it.info.nframes, 1);
	}
	assert_int_equal(payload_open(&u, p, 961, &it), PAYLOAD_TOO_LONG);
	assert_int_equal(payload_open(&l, p, 1920, &it), 0);
	assert_int_equal(payload_open(&l, p, 1922, &it), PAYLOAD_TOO_LONG);
	assert_int_equal(payload_open(&cut, p, 960, &it), 0);
	assert_int_equal(it.info.nframes, 12);
	assert_int_equal(payload_open(&cut, p, 961, &it), PAYLOAD_TOO_MANY);
}

static void g723_frames_tell_their_length(void **state)
{
	uint8_t p[24 + 20 + 4 + 24], back[sizeof(p)];
	static const uint8_t bytes[] = { 24, 20, 4, 24 };
	struct payload_iter it;
	struct cr_frame f[5];

	memset(p, 0xf8, sizeof(p));
	p[24] = 0x55;
	p[44] = 0x02;
	assert_int_equal(payload_open(&g723, p, sizeof(p), &it), 0);
	assert_int_equal(it.info.nframes, 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_true(payload_next(&it, &f[i]));
		assert_int_equal(f[i].bytes, bytes[i]);
		assert_int_equal(f[i].kind,
				 i == 2 ? CR_FRAME_SID : CR_FRAME_SPEECH);
	}
	assert_int_equal(f[1].mode, 1);
	f[4].kind = CR_FRAME_NO_DATA;
	assert_int_equal(payload_pack(&g723, 15, f, 5, back, sizeof(back)),
			 sizeof(p));
	assert_memory_equal(back, p, sizeof(p));
	for (size_t n = 49; n < sizeof(p); n++)
		assert_int_equal(payload_open(&g723, p, n, &it), PAYLOAD_SHORT);
	p[48] = 0x03;
	assert_int_equal(payload_open(&g723, p, sizeof(p), &it),
			 PAYLOAD_BAD_TYPE);
}

static void g723_packets_have_twelve_frames_at_most(void **state)
{
	uint8_t p[13 * 4];
	struct payload_iter it;

	memset(p, 0x02, sizeof(p));
	assert_int_equal(payload_open(&g723, p, sizeof(p) - 4, &it), 0);
	assert_int_equal(it.info.nframes, PAYLOAD_FRAMES_MAX);
	assert_int_equal(payload_open(&g723, p, sizeof(p), &it),
			 PAYLOAD_TOO_MANY);
}

static void silence_without_a_sign_is_not_sent(void **state)
{
	struct cr_frame f[2] = { { .kind = CR_FRAME_NO_DATA },
				 { .kind = CR_FRAME_NO_DATA } };
	uint8_t buf[64];

	assert_int_equal(payload_pack(&g723, 15, f, 2, buf, 64), 0);
	f[1] = (struct cr_frame){ .kind = CR_FRAME_SID,
				  .bytes = 4,
				  .data = { 2 } };
	assert_int_equal(payload_pack(&g723, 15, f, 2, buf, 64), -EINVAL);
	assert_int_equal(payload_pack(&g723, 15, f + 1, 1, buf, 64), 4);
	assert_int_equal(payload_pack(&g723, 15, f + 1, 1, buf, 3), -ENOSPC);
	f[1].data[0] = 1;
	assert_int_equal(payload_pack(&g723, 15, f + 1, 1, buf, 64), -EINVAL);
}

static void names_are_found_and_differ(void **state)
{
	assert_int_equal(payload_kind_find("amr"), PAYLOAD_AMR);
	assert_int_equal(payload_kind_find("amr-wb"), PAYLOAD_AMR_WB);
	assert_int_equal(payload_kind_find("pcmu"), PAYLOAD_PCMU);
	assert_int_equal(payload_kind_find("pcma"), PAYLOAD_PCMA);
	assert_int_equal(payload_kind_find("l16"), PAYLOAD_L16);
	assert_int_equal(payload_kind_find("spin"), PAYLOAD_L16);
	assert_int_equal(payload_kind_find("g723_1"), PAYLOAD_G723);
	assert_int_equal(payload_kind_find("g722"), PAYLOAD_G722);
	assert_int_equal(payload_kind_find("opus"), -1); /* it says itself */
	for (int i = 0; i < (int)PAYLOAD_NREASONS; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(payload_reason_name(-i),
						payload_reason_name(-j));
	assert_string_equal(payload_reason_name(-(int)PAYLOAD_NREASONS),
			    "unknown");
}

/* Else nobody could call with it. */
static void every_codec_has_a_payload_format(void **state)
{
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		struct codec_use use = { .codec = *c };

		assert_int_equal(payload_format_find(&use), 0);
	}
}

/* Each line: what differs, and for what two uses are the same all the same. */
static void uses_differ_where_it_matters(void **state)
{
	static const struct cr_codec codec = { .sample_rate = 8000 },
				     other = { .sample_rate = 8000 };
	static const struct {
		char letter;
		unsigned what;
	} same[] = {
		{ 'D', SAME_DECODER }, { 'E', SAME_ENCODER },
		{ 'C', SAME_COST },    { 'R', SAME_RELAYED },
		{ 'S', SAME_SPEECH },  { 'O', SAME_OUTPUT },
	};
	const struct codec_use use = { .codec = &codec };
	const struct {
		struct codec_use use;
		const char *same;
	} row[] = {
		{ { .codec = &codec, .cfg.sample_rate = 8000, .frames = 1 },
		  "DECRSO" },
		{ { .codec = &other }, "" },
		{ { .codec = &codec, .cfg.sample_rate = 16000 }, "" },
		{ { .codec = &codec, .cfg.mode = 1 }, "DESO" },
		{ { .codec = &codec, .cfg.samples = 80 }, "ERS" },
		{ { .codec = &codec, .frames = 2 }, "DECRS" },
		{ { .codec = &codec, .cfg.dtx = true }, "D" },
		{ { .codec = &codec, .cfg.fec = 5 }, "D" },
		{ { .codec = &codec, .cfg.complexity = 3 }, "DR" },
		{ { .codec = &codec, .pt = 96 }, "DECR" },
		{ { .codec = &codec, .amr.octet_align = true }, "EC" },
		{ { .codec = &codec, .amr.mode_set = 3 }, "EC" },
		{ { .codec = &codec, .amr.mode_next = true }, "DECR" },
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
		for (size_t k = 0; k < sizeof(same) / sizeof(*same); k++)
			if (codec_use_same(&use, &row[i].use, same[k].what) !=
			    (strchr(row[i].same, same[k].letter) != NULL))
				fail_msg("row %zu: %c", i, same[k].letter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amr_payload_sizes_are_those_of_rfc4867),
		cmocka_unit_test(
			bandwidth_efficient_bits_are_where_the_rfc_puts_them),
		cmocka_unit_test(
			several_frames_share_one_table_and_one_padding),
		cmocka_unit_test(
			octet_aligned_ignores_reserved_and_padding_bits),
		cmocka_unit_test(a_cmr_we_cannot_follow_is_ignored),
		cmocka_unit_test(modes_outside_the_set_are_refused_both_ways),
		cmocka_unit_test(frames_that_do_not_fit_are_not_packed),
		cmocka_unit_test(more_than_twelve_frames_are_refused),
		cmocka_unit_test(lost_wideband_speech_is_a_bad_frame),
		cmocka_unit_test(pcm_is_cut_into_frames),
		cmocka_unit_test(pcm_without_a_length_is_one_bounded_frame),
		cmocka_unit_test(g723_frames_tell_their_length),
		cmocka_unit_test(g723_packets_have_twelve_frames_at_most),
		cmocka_unit_test(silence_without_a_sign_is_not_sent),
		cmocka_unit_test(names_are_found_and_differ),
		cmocka_unit_test(every_codec_has_a_payload_format),
		cmocka_unit_test(uses_differ_where_it_matters),
	};

	return cmocka_run_group_tests_name("payload", tests, NULL, NULL);
}
