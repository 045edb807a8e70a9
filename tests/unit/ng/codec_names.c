/* SPDX-License-Identifier: Apache-2.0 */
/* Codecs of this node by the names and parameters of SDP. */
#include "cmocka_cr.h"

#include <errno.h>
#include <string.h>

#include "ng/codecs.h"

static struct sdp_format format(const char *name, unsigned rate,
				unsigned channels, const char *fmtp)
{
	return (struct sdp_format){ 96, name, rate, channels, fmtp };
}

static void names_rates_and_channels_tell_codecs_apart(void **state)
{
	static const struct {
		struct sdp_format f;
		const char *is;
		unsigned rate;
	} all[] = {
		{ { 0, "PCMU", 8000, 1, "" }, "pcmu", 0 },
		{ { 0, "pcma", 8000, 1, "" }, "pcma", 0 },
		{ { 0, "G722", 8000, 1, "" }, "g722", 0 },
		{ { 0, "AMR", 8000, 1, "" }, "amr", 0 },
		{ { 0, "AMR-WB", 16000, 1, "" }, "amr-wb", 0 },
		{ { 0, "opus", 48000, 2, "" }, "opus", 0 },
		{ { 0, "G726-32", 8000, 1, "" }, "g726-32", 0 },
		{ { 0, "L16", 16000, 1, "" }, "l16", 16000 },
		{ { 0, "opus", 48000, 1, "" }, NULL, 0 },
		{ { 0, "AMR", 16000, 1, "" }, NULL, 0 },
		{ { 0, "AMR", 8000, 2, "" }, NULL, 0 },
		{ { 0, "PCMU", 16000, 1, "" }, NULL, 0 },
		{ { 0, "EVS", 16000, 1, "" }, NULL, 0 },
		{ { 0, "", 0, 1, "" }, NULL, 0 },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		unsigned rate;
		const struct cr_codec *c = codec_find(&all[i].f, &rate);

		if (!all[i].is) {
			assert_null(c);
			continue;
		}
		assert_non_null(c);
		assert_string_equal(c->name, all[i].is);
		assert_int_equal(rate, all[i].rate);
	}
}

static void what_is_left_out_is_filled_in(void **state)
{
	struct sdp_format amr = { .name = "amr", .fmtp = "mode-set=7" };
	struct sdp_format opus = { .name = "opus",
				   .rate = 48000,
				   .channels = 2 };
	struct sdp_format mono = { .name = "opus",
				   .rate = 48000,
				   .channels = 1 };
	struct sdp_format pcma = { .name = "PCMA" };
	int pt;

	assert_true(codec_resolve(&amr, &pt));
	assert_string_equal(amr.name, "AMR");
	assert_int_equal(amr.rate, 8000);
	assert_int_equal(amr.channels, 1);
	assert_string_equal(amr.fmtp, "mode-set=7");
	assert_int_equal(pt, -1);
	assert_true(codec_resolve(&opus, &pt));
	assert_int_equal(opus.channels, 2);
	assert_false(codec_resolve(&mono, &pt));
	assert_true(codec_resolve(&pcma, &pt));
	assert_int_equal(pt, 8);
}

static struct codec_use side(const char *name, unsigned rate, unsigned channels,
			     const char *fmtp, unsigned bit_rate)
{
	const struct sdp_format f = format(name, rate, channels, fmtp);
	struct codec_use s;
	struct cr_err e = { "" };

	if (codec_side(&s, &f, bit_rate, &e))
		fail_msg("%s", e.text);
	assert_int_equal(s.pt, 96);
	return s;
}

/* Never outside the set; of it, what the bit rate pays for. */
static void amr_is_used_as_its_receiver_says(void **state)
{
	struct codec_use s = side("AMR", 8000, 1, "", 0);

	assert_string_equal(s.name, "amr");
	assert_string_equal(s.mode, "12.2");
	assert_false(s.amr.octet_align);
	assert_int_equal(s.amr.mode_set, 0);
	s = side("AMR", 8000, 1, "mode-set=0,2,4; octet-align=1", 0);
	assert_string_equal(s.mode, "7.40");
	assert_true(s.amr.octet_align);
	assert_int_equal(s.amr.mode_set, 21);
	assert_false(s.amr.mode_second || s.amr.mode_next);
	s = side("AMR", 8000, 1, "mode-change-period=2", 0);
	assert_true(s.amr.mode_second && !s.amr.mode_next);
	s = side("AMR", 8000, 1, "mode-change-neighbor=1", 0);
	assert_true(s.amr.mode_next && !s.amr.mode_second);
	s = side("AMR", 8000, 1, "mode-set=0,2,4", 6700);
	assert_string_equal(s.mode, "5.90");
	s = side("AMR", 8000, 1, "mode-set=7", 4750);
	assert_string_equal(s.mode, "12.2");
	s = side("AMR", 8000, 1, "", 7400);
	assert_string_equal(s.mode, "7.40");
	s = side("AMR-WB", 16000, 1, "mode-set=0,1,2", 23850);
	assert_string_equal(s.mode, "12.65");
}

static void opus_is_used_as_its_receiver_says(void **state)
{
	struct codec_use s = side("opus", 48000, 2, "", 0);

	assert_false(s.cfg.dtx || s.cfg.fec || s.cfg.sample_rate);
	s = side("opus", 48000, 2,
		 "usedtx=1; useinbandfec=1; maxplaybackrate=16000", 16000);
	assert_true(s.cfg.dtx && s.cfg.fec);
	assert_int_equal(s.cfg.sample_rate, 16000);
	assert_string_equal(s.mode, "16");
	s = side("opus", 48000, 2, "maxaveragebitrate=20000", 0);
	assert_string_equal(s.mode, "16");
	s = side("opus", 48000, 2, "maxaveragebitrate=6000", 32000);
	assert_string_equal(s.mode, "8");
	s = side("opus", 48000, 2, "maxaveragebitrate=510000", 32000);
	assert_string_equal(s.mode, "32");
	s = side("opus", 48000, 2, "maxplaybackrate=8000", 0);
	assert_int_equal(s.cfg.sample_rate, 8000);
}

/* They are left out of an offer, and what else it has goes on. */
static void payloads_that_are_not_known_are_no_codec(void **state)
{
	static const char *const wrong[] = { "crc=1", "robust-sorting=1",
					     "interleaving=30", "mode-set=8" };
	struct sdp_format f = format("AMR", 8000, 1, "octet-align=1");

	assert_true(codec_able(&f));
	for (unsigned i = 0; i < 4; i++) {
		f = format("AMR", 8000, 1, wrong[i]);
		assert_false(codec_able(&f));
	}
}

/* Other codecs, and forms of ours that this node has not. */
static void what_no_codec_is_known_of_is_passed_on(void **state)
{
	static const struct sdp_format all[] = {
		{ 96, "EVS", 16000, 1, "br=5.9-24.4" },
		{ 96, "iLBC", 8000, 1, "mode=20" },
		{ 96, "G7221", 16000, 1, "bitrate=32000" },
		{ 18, "G729", 8000, 1, "" },
		{ 96, "L16", 44100, 2, "" },
		{ 96, "opus", 48000, 1, "" },
		{ 96, "MPA", 90000, 1, "" },
	};
	struct codec_use s;
	struct cr_err e = { "" };

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		assert_false(codec_able(&all[i]));
		assert_true(codec_passes(&all[i]));
		assert_int_equal(codec_side(&s, &all[i], 0, &e), 0);
		assert_string_equal(s.name, "relayed");
		assert_int_equal(s.pt, all[i].pt);
		assert_int_equal(s.cfg.sample_rate, all[i].rate);
	}
}

static void what_is_not_known_is_told_so(void **state)
{
	static const struct {
		struct sdp_format f;
		const char *says;
	} wrong[] = {
		{ { 96, "red", 8000, 1, "" }, "red/8000: there is no" },
		{ { 96, "", 8000, 1, "" }, "/8000: there is no" },
		{ { 96, "EVS", 16001, 1, "" }, "EVS/16001: there is no" },
		{ { 96, "AMR", 8000, 1, "mode-set=9" }, "0 to 7" },
		{ { 96, "AMR", 8000, 1, "crc=1" }, "crc, robust-sorting" },
		{ { 96, "AMR", 8000, 1, "interleaving=30" }, "interleaving" },
	};

	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct codec_use s;
		struct cr_err e = { "" };

		assert_int_equal(codec_side(&s, &wrong[i].f, 0, &e), -EINVAL);
		if (!strstr(e.text, wrong[i].says))
			fail_msg("%s", e.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_rates_and_channels_tell_codecs_apart),
		cmocka_unit_test(what_is_left_out_is_filled_in),
		cmocka_unit_test(amr_is_used_as_its_receiver_says),
		cmocka_unit_test(opus_is_used_as_its_receiver_says),
		cmocka_unit_test(payloads_that_are_not_known_are_no_codec),
		cmocka_unit_test(what_no_codec_is_known_of_is_passed_on),
		cmocka_unit_test(what_is_not_known_is_told_so),
	};

	return cmocka_run_group_tests_name("ng codec map", tests, NULL, NULL);
}
