/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G.711 agrees with the tables of the recommendation: decision values and
 * quantized values written out segment by segment, searched one by one.
 */
#include "cmocka_cr.h"
#include "codecs/g711.h"

enum { INTERVALS = 128 };

/* One law's positive half, in units of the 16-bit sample. */
struct law {
	int decision[INTERVALS + 1]; /* x(n), tables 1a and 2a */
	int value[INTERVALS];	     /* y(n)                   */
};

/* A-law, table 1a: 16 steps a segment; the first two have steps of 2/4096. */
static struct law a_law(void)
{
	struct law l = { .decision = { 0 } };
	int step = 2, n = 0;

	for (int segment = 0; segment < 8; segment++) {
		if (segment > 1)
			step *= 2;
		for (int i = 0; i < 16; i++, n++)
			l.decision[n + 1] = l.decision[n] + step * 8;
	}
	for (n = 0; n < INTERVALS; n++)
		l.value[n] = (l.decision[n] + l.decision[n + 1]) / 2;
	return l;
}

/* u-law, table 2a: the first interval is half as wide, and stands for 0. */
static struct law u_law(void)
{
	struct law l = { .decision = { 0 } };
	int step = 1, n = 0;

	for (int segment = 0; segment < 8; segment++) {
		step *= 2;
		for (int i = 0; i < 16; i++, n++)
			l.decision[n + 1] = l.decision[n] + (n ? step : 1) * 4;
	}
	for (n = 1; n < INTERVALS; n++)
		l.value[n] = (l.decision[n] + l.decision[n + 1]) / 2;
	return l;
}

/* The interval of @x. A decision value itself belongs above it in the positive
 * half and below in the negative one, as ITU-T G.191 has it. */
static int interval(const struct law *l, int x)
{
	for (int n = 0; n < INTERVALS; n++) {
		if (x >= 0 ? x < l->decision[n + 1] : -x <= l->decision[n + 1])
			return n;
	}
	return INTERVALS - 1;
}

static void every_a_law_sample_meets_its_interval(void **state)
{
	struct law l = a_law();

	assert_int_equal(l.decision[INTERVALS], 32768);
	for (int x = -32768; x <= 32767; x++) {
		int code = interval(&l, x) | (x >= 0 ? 0x80 : 0);

		assert_int_equal(alaw_encode((int16_t)x), code ^ 0x55);
	}
}

static void every_u_law_sample_meets_its_interval(void **state)
{
	struct law l = u_law();

	assert_int_equal(l.decision[INTERVALS], 8159 * 4);
	for (int x = -32768; x <= 32767; x++) {
		int code = (x >= 0 ? 0xff : 0x7f) - interval(&l, x);

		assert_int_equal(ulaw_encode((int16_t)x), code);
	}
}

static void every_code_gives_its_value(void **state)
{
	struct law a = a_law(), u = u_law();

	for (int n = 0; n < INTERVALS; n++) {
		assert_int_equal(alaw_decode((uint8_t)((n | 0x80) ^ 0x55)),
				 a.value[n]);
		assert_int_equal(alaw_decode((uint8_t)(n ^ 0x55)), -a.value[n]);
		assert_int_equal(ulaw_decode((uint8_t)(0xff - n)), u.value[n]);
		assert_int_equal(ulaw_decode((uint8_t)(0x7f - n)), -u.value[n]);
	}
}

static void decoding_and_encoding_again_changes_no_code(void **state)
{
	for (int code = 0; code < 256; code++) {
		assert_int_equal(alaw_encode(alaw_decode((uint8_t)code)), code);
		/* u-law has two zeros; the negative one becomes positive. */
		assert_int_equal(ulaw_encode(ulaw_decode((uint8_t)code)),
				 code == 0x7f ? 0xff : code);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_a_law_sample_meets_its_interval),
		cmocka_unit_test(every_u_law_sample_meets_its_interval),
		cmocka_unit_test(every_code_gives_its_value),
		cmocka_unit_test(decoding_and_encoding_again_changes_no_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
