/* SPDX-License-Identifier: Apache-2.0 */
/* What the offerer of a codec is told of it in the answer, RFC by RFC. */
#include "cmocka_cr.h"

#include "ng/codecs.h"

static struct sdp_format format(const char *name, const char *fmtp)
{
	return (struct sdp_format){ 96, name, 8000, 1, fmtp };
}

/* Packets are passed on. */
static void each_answer_is_told_as_its_rfc_wants(void **state)
{
	static const struct {
		const char *name, *offered, *answered, *signalled;
	} all[] = {
		/* RFC 4867, 8.3.1: who offers a set gets that one; where none
		 * was offered the answer may choose */
		{ "AMR", "", "mode-set=0,2", "mode-set=0,2" },
		{ "AMR", "mode-set=0,2", "", "mode-set=0,2" },
		{ "AMR", "mode-set=0,2", "mode-set=0", "mode-set=0,2" },
		{ "AMR-WB", "mode-set=0,1", "mode-set=8", "mode-set=0,1" },
		{ "AMR", "mode-set=2,0", "mode-set=0,2; max-red=0",
		  "mode-set=0,2; max-red=0" },
		/* RFC 7261: one no is enough */
		{ "G729", "", "", "" },
		{ "G729", "", "annexb=no", "annexb=no" },
		{ "G729", "annexb=yes", "annexb=no", "annexb=no" },
		{ "G729", "annexb=no", "", "annexb=no" },
		{ "G729", "annexb=no", "annexb=yes", "annexb=no" },
		{ "g723", "annexa=no", "annexa=yes", "annexa=no" },
		{ "G723", "annexa=yes;bitrate=6.3", "annexa=no", "annexa=no" },
		/* RFC 7587, 7: who answers speaks of itself */
		{ "opus", "stereo=1;usedtx=1", "maxaveragebitrate=20000",
		  "maxaveragebitrate=20000" },
		{ "PCMA", "", "", "" },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		const struct sdp_format a = format(all[i].name, all[i].offered);
		const struct sdp_format b =
			format(all[i].name, all[i].answered);

		assert_string_equal(codec_fmtp_passed(&a, &b),
				    all[i].signalled);
	}
}

/* We answer ourselves: one channel, no limits, and redundancy is heard. */
static void opus_answers_for_us(void **state)
{
	const struct sdp_format rich =
		format("opus", "maxplaybackrate=16000; maxaveragebitrate=9000;"
			       "stereo=1; sprop-stereo=1; useinbandfec=1");
	const struct sdp_format poor = format("OPUS", "stereo=1;usedtx=1");
	const struct sdp_format amr = format("AMR", "mode-set=7;crc=0");

	assert_string_equal(codec_fmtp_own(&rich), "useinbandfec=1");
	assert_string_equal(codec_fmtp_own(&poor), "");
	assert_string_equal(codec_fmtp_own(&amr), "mode-set=7;crc=0");
}

static void sets_of_modes_agree_or_are_kept_apart(void **state)
{
	const struct sdp_format all = format("AMR", ""),
				one = format("AMR", "mode-set=7"),
				two = format("AMR", "octet-align=0;mode-set=7"),
				other = format("AMR", "mode-set=2,7"),
				law = format("PCMU", "mode-set=3");

	assert_true(codec_modes_agree(&all, &one));
	assert_true(codec_modes_agree(&one, &all));
	assert_true(codec_modes_agree(&one, &two));
	assert_false(codec_modes_agree(&one, &other));
	assert_false(codec_modes_agree(&other, &one));
	assert_true(codec_modes_agree(&law, &one));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_answer_is_told_as_its_rfc_wants),
		cmocka_unit_test(opus_answers_for_us),
		cmocka_unit_test(sets_of_modes_agree_or_are_kept_apart),
	};

	return cmocka_run_group_tests_name("ng codec fmtp", tests, NULL, NULL);
}
