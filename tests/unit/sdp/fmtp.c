/* SPDX-License-Identifier: Apache-2.0 */
/* Format parameters: examples of the RFCs, and what phones make of them. */
#include "cmocka_cr.h"

#include <string.h>

#include "sdp/fmtp.h"

static void assert_value(const char *fmtp, const char *name, const char *is)
{
	size_t bytes;
	const char *value = fmtp_find(fmtp, name, &bytes);

	if (!is) {
		assert_null(value);
		return;
	}
	assert_non_null(value);
	assert_int_equal(bytes, strlen(is));
	assert_memory_equal(value, is, bytes);
}

static void a_parameter_is_found_by_its_name(void **state)
{
	static const char text[] = "mode-set=0,2 ; Octet-Align = 1;crc;x=;;";

	assert_value(text, "mode-set", "0,2");
	assert_value(text, "octet-align", "1");
	assert_value(text, "crc", "");
	assert_value(text, "x", "");
	assert_value(text, "mode", NULL);
	assert_value(text, "set", NULL);
	assert_value("", "crc", NULL);
	assert_value("0-15", "0", NULL);
	/* blanks and commas, as some write them */
	assert_value("a=1 b=2\tc = 3", "b", "2");
	assert_value("a=1 b=2\tc = 3", "c", "3");
	assert_value("a=1, b=2", "a", "1");
	assert_value("a=1, b=2", "b", "2");
	assert_value("a=1,b=2", "b", "2");
	assert_value(" ; a=0, 2 ,7 ; b=2 ", "a", "0, 2 ,7");
	assert_value(" ; a=0, 2 ,7 ; b=2 ", "b", "2");
	assert_value("a=1 ,", "a", "1");
	assert_value("a= ;b=2", "a", "");
	assert_value("=1;b", "b", "");
	assert_int_equal(fmtp_number("a=20", "a", 7), 20);
	assert_int_equal(fmtp_number("a=2x", "a", 7), 7);
	assert_int_equal(fmtp_number("a=99999999999", "a", 7), 7);
	assert_int_equal(fmtp_number("b=1", "a", 7), 7);
}

/* RFC 4867, 8.3.1 and 8.1. */
static void amr_is_read_by_its_rfc(void **state)
{
	struct fmtp_amr a;
	struct cr_err e;

	assert_int_equal(fmtp_amr_read(&a, "", 8, &e), 0);
	assert_false(a.octet_align);
	assert_int_equal(a.mode_set, 0);
	assert_false(a.mode_second || a.mode_next);
	assert_int_equal(
		fmtp_amr_read(&a,
			      "mode-set=0,2,5,7; mode-change-period=2; "
			      "mode-change-capability=2; "
			      "mode-change-neighbor=1; max-red=0",
			      8, &e),
		0);
	assert_int_equal(a.mode_set, 0xa5);
	assert_true(a.mode_second && a.mode_next);
	assert_false(a.octet_align);
	assert_int_equal(fmtp_amr_read(&a, "crc=1", 8, &e), 0);
	assert_true(a.octet_align);
	assert_int_equal(fmtp_amr_read(&a, "interleaving=30", 9, &e), 0);
	assert_true(a.octet_align && a.interleaving);
}

static void a_mode_that_is_none_is_refused(void **state)
{
	static const char *const wrong[] = {
		"mode-set=8",	"mode-set=0,,1", "mode-set=-1",
		"mode-set=1-3", "mode-set=all",	 "mode-set=18446744073709551616"
	};
	struct fmtp_amr a;
	struct cr_err e;

	for (unsigned i = 0; i < 6; i++) {
		e.text[0] = '\0';
		assert_int_equal(fmtp_amr_read(&a, wrong[i], 8, &e), -22);
		assert_non_null(strstr(e.text, "0 to 7"));
	}
	assert_int_equal(fmtp_amr_read(&a, "mode-set=8", 9, &e), 0);
	assert_int_equal(a.mode_set, 0x100);
}

static void payloads_of_amr_differ_by_what_changes_their_bits(void **state)
{
	struct fmtp_amr a, b;
	struct cr_err e;

	assert_int_equal(fmtp_amr_read(&a, "mode-set=7", 8, &e), 0);
	assert_int_equal(fmtp_amr_read(&b, "mode-set=0", 8, &e), 0);
	assert_int_equal(fmtp_amr_layout(&a), fmtp_amr_layout(&b));
	assert_int_equal(fmtp_amr_read(&b, "octet-align=1", 8, &e), 0);
	assert_int_not_equal(fmtp_amr_layout(&a), fmtp_amr_layout(&b));
}

static void opus_says_what_it_receives(void **state)
{
	struct fmtp_opus o;

	fmtp_opus_read(&o, "");
	assert_int_equal(o.max_rate, 48000);
	assert_false(o.fec || o.dtx);
	fmtp_opus_read(&o, "maxplaybackrate=16000; sprop-maxcapturerate=16000;"
			   " maxaveragebitrate=20000; stereo=1; "
			   "useinbandfec=1; usedtx=0");
	assert_int_equal(o.max_rate, 16000);
	assert_int_equal(o.max_bit_rate, 20000);
	assert_true(o.fec && !o.dtx);
}

static void an_annex_is_on_unless_no(void **state)
{
	assert_false(fmtp_says_no("", "annexb"));
	assert_false(fmtp_says_no("annexb=yes", "annexb"));
	assert_true(fmtp_says_no("annexb=no", "annexb"));
	assert_true(fmtp_says_no("x=1; annexb=NO", "annexb"));
	assert_false(fmtp_says_no("bitrate=5.3", "annexa"));
	assert_true(fmtp_says_no("bitrate=6.3;annexa=no", "annexa"));
}

/* By its RFC, where one of both says nothing. */
static void what_is_not_said_is_as_usual(void **state)
{
	static const struct {
		const char *codec, *is, *wanted;
		bool has;
	} all[] = {
		{ "PCMA", "", "", true },
		{ "PCMA", "", "x=1", false },
		{ "PCMA", "x=1", "X = 1", true },
		{ "PCMA", "x=1;y=2", "y=2 x=1", true },
		{ "PCMA", "x=1", "x=2", false },
		{ "PCMA", "x=1", "", true },
		{ "amr", "", "octet-align=0", true },
		{ "AMR", "", "octet-align=1", false },
		{ "AMR", "octet-align=1", "octet-align=0", false },
		{ "AMR", "mode-set=7,0", "mode-set = 0, 7", true },
		{ "AMR", "mode-set=7,0", "mode-set=0", false },
		{ "AMR", "mode-set=7,0", "mode-set=0,x", false },
		{ "AMR", "", "mode-set=0,1,2,3,4,5,6,7", true },
		{ "AMR-WB", "", "mode-set=0,1,2,3,4,5,6,7", false },
		{ "AMR-WB", "mode-set=8,7,6,5,4,3,2,1,0", "crc=0", true },
		{ "AMR-WB", "max-red=0", "max-red=220", false },
		{ "opus", "", "stereo=0; maxplaybackrate=48000", true },
		{ "opus", "usedtx=1", "usedtx=0", false },
		{ "opus", "", "useinbandfec=1", false },
		{ "G729", "", "annexb=yes", true },
		{ "G729", "annexb=no", "annexb=yes", false },
		{ "G723", "bitrate=6.3", "annexa=YES;bitrate=6.3", true },
		{ "iLBC", "", "mode=30", true },
		{ "iLBC", "mode=20", "mode=30", false },
		{ "speex", "", "vbr=off;cng=off", true },
		{ "telephone-event", "0-15", "0-15", true },
	};

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (fmtp_has_all(all[i].codec, all[i].is, all[i].wanted) !=
		    all[i].has)
			fail_msg("%s: '%s' has '%s'", all[i].codec, all[i].is,
				 all[i].wanted);
}

static void what_is_written_is_read(void **state)
{
	const struct fmtp_amr amr = { .octet_align = true, .mode_set = 0x8095 };
	struct fmtp_amr read;
	struct fmtp_opus opus;
	struct cr_err e;
	char text[FMTP_BYTES];

	fmtp_write(text, "amr-wb", &amr, 0);
	assert_string_equal(text, "mode-set=0,2,4,7,15;octet-align=1");
	assert_int_equal(fmtp_amr_read(&read, text, 16, &e), 0);
	assert_memory_equal(&read, &amr, sizeof(amr));
	fmtp_write(text, "opus", &amr, 8000);
	fmtp_opus_read(&opus, text);
	assert_int_equal(opus.max_rate, 8000);
	fmtp_write(text, "G729", &amr, 0);
	assert_true(fmtp_says_no(text, "annexb"));
	fmtp_write(text, "PCMU", &amr, 8000);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_parameter_is_found_by_its_name),
		cmocka_unit_test(what_is_not_said_is_as_usual),
		cmocka_unit_test(amr_is_read_by_its_rfc),
		cmocka_unit_test(a_mode_that_is_none_is_refused),
		cmocka_unit_test(
			payloads_of_amr_differ_by_what_changes_their_bits),
		cmocka_unit_test(opus_says_what_it_receives),
		cmocka_unit_test(an_annex_is_on_unless_no),
		cmocka_unit_test(what_is_written_is_read),
	};

	return cmocka_run_group_tests_name("fmtp", tests, NULL, NULL);
}
