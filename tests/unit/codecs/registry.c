/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codecs and modes are found by name, and refuse what they lack in words.
 */
#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"
#include "cr/codec.h"

static void every_codec_is_found_by_its_name(void **state)
{
	for (const struct cr_codec *const *c = cr_codecs; *c; c++)
		assert_ptr_equal(cr_codec_find((*c)->name), *c);
	assert_null(cr_codec_find("opusculum"));
	assert_null(cr_codec_find(""));
	assert_non_null(cr_codec_find("pcmu"));
	assert_non_null(cr_codec_find("pcma"));
	assert_non_null(cr_codec_find("l16"));
	assert_non_null(cr_codec_find("amr"));
	assert_non_null(cr_codec_find("amr-wb"));
	assert_non_null(cr_codec_find("spin"));
}

static void every_mode_is_found_by_its_name(void **state)
{
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		for (unsigned i = 0; i < (*c)->nmodes; i++)
			assert_int_equal(
				cr_codec_mode_find(*c, (*c)->modes[i].name), i);
		assert_int_equal(cr_codec_mode_find(*c, "1.23"), -1);
		assert_true((*c)->default_mode < (*c)->nmodes);
	}
	assert_int_equal(cr_codec_mode_find(cr_codec_find("amr"), "12.2"), 7);
	assert_int_equal(cr_codec_mode_find(cr_codec_find("amr-wb"), "12.65"),
			 2);
}

static void a_frame_lasts_samples_over_rate(void **state)
{
	struct cr_codec_cfg plain = { 0 };
	struct cr_codec_cfg wide = { .sample_rate = 16000 };
	struct cr_codec_cfg half = { .samples = 80 };

	assert_int_equal(cr_codec_frame_ns(cr_codec_find("amr"), &plain),
			 20 * CR_MS);
	assert_int_equal(cr_codec_frame_ns(cr_codec_find("amr-wb"), &plain),
			 20 * CR_MS);
	assert_int_equal(cr_codec_frame_ns(cr_codec_find("l16"), &wide),
			 20 * CR_MS);
	assert_int_equal(cr_codec_frame_ns(cr_codec_find("pcma"), &half),
			 10 * CR_MS);
	if (cr_codec_find("g723_1"))
		assert_int_equal(
			cr_codec_frame_ns(cr_codec_find("g723_1"), &plain),
			30 * CR_MS);
}

static void refused(const char *name, const struct cr_codec_cfg *cfg,
		    const char *word)
{
	const struct cr_codec *c = cr_codec_find(name);
	int untouched;
	void *codec = &untouched;
	struct cr_err e = { 0 };

	assert_int_equal(c->encoder_open(&codec, cfg, &e), -EINVAL);
	assert_non_null(strstr(e.text, word));
	assert_non_null(strstr(e.text, name));
	assert_int_equal(c->decoder_open(&codec, cfg, &e), -EINVAL);
	assert_ptr_equal(codec, &untouched);
}

static void what_a_codec_lacks_is_refused(void **state)
{
	refused("amr", &(struct cr_codec_cfg){ .mode = 8 }, "0..7");
	refused("amr-wb", &(struct cr_codec_cfg){ .mode = 9 }, "0..8");
	refused("amr", &(struct cr_codec_cfg){ .sample_rate = 16000 }, "8000");
	refused("pcmu", &(struct cr_codec_cfg){ .sample_rate = 16000 }, "8000");
	refused("l16", &(struct cr_codec_cfg){ .sample_rate = 44100 },
		"8000, 16000 or 48000");
	refused("amr-wb", &(struct cr_codec_cfg){ .samples = 160 }, "320");
	refused("l16", &(struct cr_codec_cfg){ .samples = 961 }, "960");
	refused("spin", &(struct cr_codec_cfg){ .spin = -1 }, "spin");
	refused("spin", &(struct cr_codec_cfg){ .spin = CR_NEVER }, "spin");
}

static void closing_nothing_is_fine(void **state)
{
	for (const struct cr_codec *const *c = cr_codecs; *c; c++) {
		(*c)->encoder_close(NULL);
		(*c)->decoder_close(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_codec_is_found_by_its_name),
		cmocka_unit_test(every_mode_is_found_by_its_name),
		cmocka_unit_test(a_frame_lasts_samples_over_rate),
		cmocka_unit_test(what_a_codec_lacks_is_refused),
		cmocka_unit_test(closing_nothing_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
