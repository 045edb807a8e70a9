/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMR's storage frames, octet by octet (RFC 4867, 5.3): |P|FT(4)|Q|P|P|.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "codecs/amr_frame.h"
#include "codecs/registry.h"

enum { LOST = 14, NB_SID = 8, WB_SID = 9 };

static void speech_keeps_its_mode_and_octets(void **state)
{
	uint8_t stored[32] = { 7 << 3 | 4, 1, 2 }, again[32] = { 0 };
	struct cr_frame f;

	stored[31] = 9;
	amr_frame_load(&codec_amr, stored, 32, &f);
	assert_int_equal(f.kind, CR_FRAME_SPEECH);
	assert_int_equal(f.mode, 7);
	assert_int_equal(f.bytes, 31);
	assert_memory_equal(f.data, stored + 1, 31);
	assert_int_equal(amr_frame_store(&codec_amr, &f, LOST, again), 7);
	assert_memory_equal(again, stored, 32);
}

static void sid_follows_the_last_mode(void **state)
{
	const struct {
		const struct cr_codec *codec;
		unsigned ft;
	} each[] = { { &codec_amr, NB_SID }, { &codec_amr_wb, WB_SID } };

	for (unsigned i = 0; i < 2; i++) {
		uint8_t stored[6] = { 0, 1, 2, 3, 4, 5 }, again[6] = { 0 };
		struct cr_frame f;

		stored[0] = (uint8_t)(each[i].ft << 3 | 4);
		amr_frame_load(each[i].codec, stored, 6, &f);
		assert_int_equal(f.kind, CR_FRAME_SID);
		assert_int_equal(f.bytes, 5);
		assert_int_equal(
			amr_frame_store(each[i].codec, &f, LOST, again),
			each[i].ft);
		assert_memory_equal(again, stored, 6);
	}
}

static void nothing_to_send_is_no_data(void **state)
{
	const uint8_t nothing[] = { 15 << 3 | 4, 1 };
	struct cr_frame f;

	for (int bytes = 0; bytes <= 2; bytes++) {
		memset(&f, 0xff, sizeof(f));
		amr_frame_load(&codec_amr, nothing, bytes, &f);
		assert_int_equal(f.kind, CR_FRAME_NO_DATA);
		assert_int_equal(f.mode, AMR_FT_NO_DATA);
		assert_int_equal(f.bytes, 0);
	}
}

static void what_is_no_whole_frame_is_the_other_type(void **state)
{
	const struct cr_frame bad[] = {
		{ .kind = CR_FRAME_SPEECH, .mode = 7, .bytes = 30 },
		{ .kind = CR_FRAME_SPEECH, .mode = NB_SID, .bytes = 5 },
		{ .kind = CR_FRAME_SPEECH, .mode = 255, .bytes = 31 },
		{ .kind = CR_FRAME_SID, .mode = NB_SID, .bytes = 4 },
		{ .kind = CR_FRAME_BAD, .mode = 7, .bytes = 31 },
		{ .kind = CR_FRAME_NO_DATA },
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t stored[2] = { 0, 0xaa };

		assert_int_equal(
			amr_frame_store(&codec_amr, &bad[i], LOST, stored),
			LOST);
		assert_int_equal(stored[0], LOST << 3 | 4);
		assert_int_equal(stored[1], 0xaa);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(speech_keeps_its_mode_and_octets),
		cmocka_unit_test(sid_follows_the_last_mode),
		cmocka_unit_test(nothing_to_send_is_no_data),
		cmocka_unit_test(what_is_no_whole_frame_is_the_other_type),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
