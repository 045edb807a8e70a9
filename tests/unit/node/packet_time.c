/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which packets each codec can be sent in, and what they are made of.
 */
#include "node/call_check.h"

#include <errno.h>
#include <string.h>

#include "cmocka_cr.h"

static struct codec_use side_of(const char *codec)
{
	struct codec_use s = { .codec = cr_codec_find(codec) };

	assert_non_null(s.codec);
	assert_int_equal(payload_format_find(&s), 0);
	s.cfg.sample_rate = s.codec->sample_rate;
	return s;
}

/* Each makes an output that is as long as was asked for, or none. */
static void each_codec_has_its_lengths(void **state)
{
	static const struct {
		const char *codec;
		unsigned ms[13];
	} expected[] = {
		{ "pcmu", { 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60 } },
		{ "l16", { 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60 } },
		{ "g722", { 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60 } },
		{ "g726-32",
		  { 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60 } },
		{ "amr", { 20, 40, 60 } },
		{ "amr-wb", { 20, 40, 60 } },
		{ "gsm", { 20, 40, 60 } },
		{ "speex", { 20, 40, 60 } },
		{ "opus", { 5, 10, 20, 40, 60 } },
	};

	for (unsigned i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		const unsigned *next = expected[i].ms;

		for (unsigned ms = 1; ms < 80; ms++) {
			struct codec_use s = side_of(expected[i].codec);
			int err = packet_time_set(&s, ms * CR_MS, "", NULL);
			struct pipeline_output *o;

			assert_int_equal(err, ms == *next ? 0 : -EINVAL);
			if (err)
				continue;
			next++;
			assert_int_equal(codec_use_packet(&s), ms * CR_MS);
			assert_int_equal(
				pipeline_output_new(&o, &s, false, NULL), 0);
			pipeline_output_free(o);
		}
		assert_int_equal(*next, 0);
	}
}

static void a_refusal_says_what_can_be(void **state)
{
	struct codec_use s = side_of("amr"), was = s;
	struct cr_err e = { "" };

	assert_int_equal(packet_time_set(&s, 30 * CR_MS, "out.", &e), -EINVAL);
	assert_string_equal(
		e.text,
		"out.ptime: packets of amr last 20, 40 or 60 ms, not 30");
	assert_memory_equal(&s, &was, sizeof(s));
}

/* Unasked, packets follow the input's where frames can. */
static void unasked_it_follows(void **state)
{
	struct codec_use pcm = side_of("pcma"), amr = side_of("amr");
	struct codec_use opus = side_of("opus");

	packet_time_follow(&pcm, 30 * CR_MS);
	assert_int_equal(codec_use_packet(&pcm), 30 * CR_MS);
	packet_time_follow(&amr, 60 * CR_MS);
	assert_int_equal(codec_use_packet(&amr), 20 * CR_MS);
	packet_time_follow(&opus, 40 * CR_MS);
	assert_int_equal(codec_use_packet(&opus), 40 * CR_MS);
	packet_time_follow(&opus, 30 * CR_MS);
	assert_int_equal(codec_use_packet(&opus), 20 * CR_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_codec_has_its_lengths),
		cmocka_unit_test(a_refusal_says_what_can_be),
		cmocka_unit_test(unasked_it_follows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
