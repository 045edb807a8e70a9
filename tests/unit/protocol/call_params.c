/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call.start's parameters: what they become, and how a wrong one is refused.
 */
#include "cmocka_cr.h"

#include <stdio.h>
#include <errno.h>
#include <string.h>

#include "json_text.h"
#include "node/call_check.h"
#include "protocol/tables/call_fields.h"

/* What was asked for, without its texts, and the call it becomes. */
struct parsed {
	struct call_spec asked;
	struct stream_cfg cfg;
};

static int parse(const char *json, struct parsed *r, struct cr_err *e)
{
	json_t *params = json_text(json);
	int err = call_params(&r->asked, params, e);

	if (!err)
		err = call_check(&r->cfg, &r->asked, e);

	json_decref(params);
	return err;
}

#define TO "'address': '127.0.0.1:5004'"

static void defaults_are_what_sdp_would_mean(void **state)
{
	struct parsed r;
	struct cr_err e = { "" };

	assert_int_equal(parse("{'in': {'codec': 'pcmu'}, 'out': {'codec': "
			       "'amr', " TO "}}",
			       &r, &e),
			 0);
	assert_string_equal(r.cfg.media.in.codec->name, "pcmu");
	assert_int_equal(r.cfg.media.in.pt, 0);
	assert_int_equal(r.cfg.media.out.pt, 96);
	assert_int_equal(r.cfg.release.period, 20 * CR_MS);
	assert_int_equal(r.cfg.terms.deadline, 20 * CR_MS);
	assert_int_equal(r.cfg.media.in.cfg.samples, 160);
	assert_int_equal(r.cfg.terms.cls, CR_SOFT);
	assert_false(r.cfg.media.out.amr.octet_align);
	assert_int_equal(r.asked.port, CALL_PORT_SHARED);
	assert_false(r.asked.keep);
	assert_int_equal(r.cfg.terms.weight, 1024);
	assert_int_equal(r.cfg.terms.nice, 0);
}

static int parse_amr(const char *use, struct parsed *r, struct cr_err *e)
{
	char text[200];

	(void)snprintf(
		text, sizeof(text),
		"{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', %s, " TO
		"}}",
		use);
	return parse(text, r, e);
}

/* RFC 4867, 8.1: what SDP calls mode-set. */
static void a_mode_is_one_of_the_set(void **state)
{
	static const struct {
		const char *use, *mode;
	} all[] = {
		{ "'mode_set': 0", "12.2" },
		{ "'mode_set': 128", "12.2" },
		{ "'mode_set': 149", "12.2" },
		{ "'mode_set': 5", "5.90" },
		{ "'mode_set': 1", "4.75" },
		{ "'mode_set': 5, 'mode': '4.75'", "4.75" },
	};
	static const struct {
		const char *use, *says;
	} wrong[] = {
		{ "'mode_set': 5, 'mode': '12.2'", "out.mode: 12.2 is not in" },
		{ "'mode_set': 256", "amr has 8 modes" },
		{ "'mode_set': 512", "mode_set" },
		{ "'mode_next': 2", "mode_next" },
	};
	struct parsed r;
	struct cr_err e;

	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (parse_amr(all[i].use, &r, &e))
			fail_msg("%s: %s", all[i].use, e.text);
		assert_string_equal(
			r.cfg.media.out.codec->modes[r.cfg.media.out.cfg.mode]
				.name,
			all[i].mode);
	}
	assert_int_equal(r.cfg.media.out.amr.mode_set, 5);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		e.text[0] = '\0';
		assert_int_equal(parse_amr(wrong[i].use, &r, &e), -EINVAL);
		if (!strstr(e.text, wrong[i].says))
			fail_msg("%s: %s", wrong[i].use, e.text);
	}
	assert_int_equal(
		parse_amr("'mode_second': true, 'mode_next': true", &r, &e), 0);
	assert_true(r.cfg.media.out.amr.mode_second);
	assert_true(r.cfg.media.out.amr.mode_next);
	assert_int_equal(parse("{'in': {'codec': 'pcmu', 'mode_next': true}, "
			       "'out': {'codec': 'amr', " TO "}}",
			       &r, &e),
			 -EINVAL);
	assert_int_equal(parse("{'in': {'codec': 'pcmu', 'mode_set': 1}, "
			       "'out': {'codec': 'amr', " TO "}}",
			       &r, &e),
			 -EINVAL);
	assert_non_null(strstr(e.text, "in.mode_set: codec pcmu has none"));
}

static void weight_and_nice_are_taken(void **state)
{
	struct parsed r;
	struct cr_err e = { "" };

	assert_int_equal(parse("{'in': {'codec': 'pcmu'}, 'weight': 100000, "
			       "'nice': -20, 'out': {'codec': 'pcma', " TO "}}",
			       &r, &e),
			 0);
	assert_int_equal(r.cfg.terms.weight, 100000);
	assert_int_equal(r.cfg.terms.nice, -20);
}

static void pcm_follows_the_frame_of_the_other_side(void **state)
{
	struct parsed r;
	struct cr_err e = { "" };

	if (!cr_codec_find("g723_1"))
		skip();
	assert_int_equal(parse("{'in': {'codec': 'pcma'}, 'out': {'codec': "
			       "'g723_1', " TO "}}",
			       &r, &e),
			 0);
	assert_int_equal(r.cfg.release.period, 30 * CR_MS);
	assert_int_equal(r.cfg.media.in.cfg.samples, 240);
}

/* Opus spares a conversion where it can; its clock and frames are its own. */
static void opus_follows_the_rate_of_the_other_side(void **state)
{
	static const struct {
		const char *in, *out;
		unsigned rate_in, rate_out, samples_out, clock_out;
	} pairs[] = {
		{ "'codec': 'pcmu'", "'codec': 'opus'", 8000, 8000, 160,
		  48000 },
		{ "'codec': 'opus'", "'codec': 'amr-wb'", 16000, 16000, 0,
		  16000 },
		{ "'codec': 'opus'", "'codec': 'opus'", 48000, 48000, 960,
		  48000 },
		{ "'codec': 'pcmu'", "'codec': 'opus', 'rate': 48000", 8000,
		  48000, 960, 48000 },
		{ "'codec': 'g723_1'", "'codec': 'opus'", 8000, 8000, 160,
		  48000 },
		{ "'codec': 'g722'", "'codec': 'l16', 'rate': 48000", 16000,
		  48000, 960, 48000 },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct parsed r;
		struct cr_err e = { "" };
		char text[200];

		(void)snprintf(text, sizeof(text),
			       "{'in': {%s}, 'out': {%s, " TO "}}", pairs[i].in,
			       pairs[i].out);
		assert_int_equal(parse(text, &r, &e), 0);
		assert_int_equal(codec_use_rate(&r.cfg.media.in),
				 pairs[i].rate_in);
		assert_int_equal(codec_use_rate(&r.cfg.media.out),
				 pairs[i].rate_out);
		assert_int_equal(r.cfg.media.out.cfg.samples,
				 pairs[i].samples_out);
		assert_int_equal(codec_use_clock(&r.cfg.media.out),
				 pairs[i].clock_out);
	}
}

static void an_encoder_is_tuned_where_it_can_be(void **state)
{
	struct parsed r;
	struct cr_err e = { "" };

	assert_int_equal(parse("{'in': {'codec': 'pcmu'}, 'ptime_ms': 60, "
			       "'out': {'codec': 'opus', 'complexity': 0, "
			       "'fec': 15, 'dtx': true, " TO "}}",
			       &r, &e),
			 0);
	assert_int_equal(r.cfg.media.out.cfg.complexity, 1);
	assert_int_equal(r.cfg.media.out.cfg.fec, 15);
	assert_true(r.cfg.media.out.cfg.dtx);
	assert_int_equal(r.cfg.media.out.cfg.samples, 480);
	assert_int_equal(r.cfg.media.in.cfg.complexity, 0);
}

static void times_have_units_or_names_that_have_them(void **state)
{
	struct parsed r;
	struct cr_err e = { "" };

	assert_int_equal(parse("{'in': {'codec': 'pcmu'}, 'out': {'codec': "
			       "'pcma', " TO "}, 'ptime_ms': 10, 'deadline': "
			       "'15ms', 'release': {'model': 'rate', 'x': 3, "
			       "'y': '60ms'}}",
			       &r, &e),
			 0);
	assert_int_equal(r.cfg.release.period, 10 * CR_MS);
	assert_int_equal(r.cfg.terms.deadline, 15 * CR_MS);
	assert_int_equal(r.cfg.release.kind, RELEASE_RATE);
	assert_int_equal(r.cfg.release.x, 3);
	assert_int_equal(r.cfg.release.y, 60 * CR_MS);
}

static void a_wrong_member_is_named_with_the_way_out(void **state)
{
	static const struct {
		const char *json, *where, *remedy;
	} wrong[] = {
		{ "[]", "params", "object" },
		{ "{}", "in.codec", "missing" },
		{ "{'in': {'codec': 'pcmuu'}, 'out': {}}", "in.codec",
		  "'pcmu'" },
		{ "{'in': {'codec': 5}, 'out': {}}", "in.codec",
		  "the name of a codec" },
		{ "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr'}}",
		  "out.address", "missing" },
		{ "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', "
		  "'address': '127.0.0.1'}}",
		  "out.address", "127.0.0.1:5004" },
		{ "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', 'mode': "
		  "'12.3', " TO "}}",
		  "out.mode", "12.2" },
		{ "{'in': {'codec': 'pcmu', 'complexity': 0}, 'out': {'codec': "
		  "'opus', " TO "}}",
		  "in.complexity", "pcmu" },
		{ "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'gsm', 'fec': "
		  "5, " TO "}}",
		  "out.fec", "gsm" },
		{ "{'in': {'codec': 'pcmu'}, 'ptime_ms': 60, 'out': {'codec': "
		  "'l16', 'rate': 48000, " TO "}}",
		  "ptime", "l16" },
		{ "{'in': {'codec': 'opus'}, 'ptime_ms': 30, 'out': {'codec': "
		  "'pcmu', " TO "}}",
		  "ptime", "opus" },
		{ "{'in': {'codec': 'amr', 'rate': 16000}, 'out': {'codec': "
		  "'pcmu', " TO "}}",
		  "in.rate", "8000" },
		{ "{'in': {'codec': 'amr'}, 'ptime_ms': 30, 'out': {'codec': "
		  "'pcmu', " TO "}}",
		  "ptime", "20 ms" },
		{ "{'in': {'codec': 'pcmu'}, 'ptime': 20, 'out': {'codec': "
		  "'amr', " TO "}}",
		  "ptime", "ptime_ms" },
		{ "{'in': {'codec': 'pcmu', 'pt': 128}, 'out': {'codec': "
		  "'amr', " TO "}}",
		  "in.pt", "from 0 to 127" },
		{ "{'in': {'codec': 'pcmu'}, 'class': 'sofd', 'out': {'codec': "
		  "'amr', " TO "}}",
		  "class", "'soft'" },
		{ "{'in': {'codec': 'pcmu'}, 'deadlin': 1, 'out': {'codec': "
		  "'amr', " TO "}}",
		  "deadlin", "'deadline'" },
		{ "{'in': {'codec': 'pcmu'}, 'release': {'model': 'rate', "
		  "'x': 100}, 'out': {'codec': 'amr', " TO "}}",
		  "release.x", "from 1 to 64" },
		{ "{'in': {'codec': 'pcmu'}, 'weight': 0, 'out': {'codec': "
		  "'amr', " TO "}}",
		  "weight", "from 1 to 100000" },
		{ "{'in': {'codec': 'pcmu'}, 'weight': 2.5, 'out': {'codec': "
		  "'amr', " TO "}}",
		  "weight", "whole number" },
		{ "{'in': {'codec': 'pcmu'}, 'nice': 20, 'out': {'codec': "
		  "'amr', " TO "}}",
		  "nice", "from -20 to 19" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct parsed r;
		struct cr_err e = { "" };

		assert_int_equal(parse(wrong[i].json, &r, &e), -22);
		if (!strstr(e.text, wrong[i].where) ||
		    !strstr(e.text, wrong[i].remedy))
			fail_msg("%s: '%s' lacks '%s' or '%s'", wrong[i].json,
				 e.text, wrong[i].where, wrong[i].remedy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_what_sdp_would_mean),
		cmocka_unit_test(a_mode_is_one_of_the_set),
		cmocka_unit_test(weight_and_nice_are_taken),
		cmocka_unit_test(pcm_follows_the_frame_of_the_other_side),
		cmocka_unit_test(opus_follows_the_rate_of_the_other_side),
		cmocka_unit_test(an_encoder_is_tuned_where_it_can_be),
		cmocka_unit_test(times_have_units_or_names_that_have_them),
		cmocka_unit_test(a_wrong_member_is_named_with_the_way_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
