/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call says something else, the same seed says the same, and silence of
 * a DTX encoder is known as such.
 */
#include <stdio.h>
#include <string.h>

#include "campaign/campaign.h"
#include "campaign_text.h"
#include "cmocka_cr.h"
#include "feeder/source.h"
#include "scratch.h"

static char wav[SCRATCH_MAX];

static void put_le(FILE *f, unsigned long v, unsigned bytes)
{
	while (bytes--) {
		(void)fputc((int)(v & 0xff), f);
		v >>= 8;
	}
}

/* 8 s at 8 kHz: a sweep with pauses of a second, so that DTX has work. */
static int write_speech(void **state)
{
	unsigned n = 8 * 8000, noise = 1;
	FILE *f;

	f = fopen(scratch_file(wav), "wb");
	if (!f)
		return -1;
	(void)fputs("RIFF", f);
	put_le(f, 36 + 2 * n, 4);
	(void)fputs("WAVEfmt ", f);
	put_le(f, 16, 4);
	put_le(f, 1, 2);
	put_le(f, 1, 2);
	put_le(f, 8000, 4);
	put_le(f, 16000, 4);
	put_le(f, 2, 2);
	put_le(f, 16, 2);
	(void)fputs("data", f);
	put_le(f, 2 * n, 4);
	for (unsigned i = 0; i < n; i++) {
		noise = noise * 1103515245 + 12345;
		put_le(f,
		       i / 8000 % 2 ? 0 : (noise >> 16 & 0x1fff) + i % 500 * 10,
		       2);
	}
	return fclose(f);
}

static struct campaign *parse(const char *in)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "duration: 1s\nflows:\n  - count: 1\n    in: %s\n"
		       "    out: {codec: pcma}\n    input: [%s]\n",
		       in, wav);
	return campaign_text(text);
}

static struct source *open_source(const struct campaign *c, uint64_t seed)
{
	struct source_cfg cfg = { .flow = &c->flows[0],
				  .base = c->path,
				  .seed = seed,
				  .duration = 10 * CR_SEC };
	struct cr_err e = { "" };
	struct source *s = NULL;

	if (source_open(&s, &cfg, &e))
		fail_msg("%s", e.text);
	return s;
}

static unsigned equal_frames(const struct source_voice *a,
			     const struct source_voice *b, unsigned n)
{
	unsigned equal = 0;

	for (unsigned i = 0; i < n; i++) {
		size_t x, y;
		const uint8_t *p = source_payload(a, i, &x);
		const uint8_t *q = source_payload(b, i, &y);

		equal += x == y && memcmp(p, q, x) == 0;
	}
	return equal;
}

static void voices_differ_and_repeat_with_their_seed(void **state)
{
	struct campaign *c = parse("{codec: pcmu}");
	struct source *s = open_source(c, 3), *t = open_source(c, 3);
	struct source_voice a, b, again;

	source_voice_init(&a, s, 1);
	source_voice_init(&b, s, 2);
	source_voice_init(&again, t, 1);
	assert_int_equal(equal_frames(&a, &again, 5000), 5000);
	/* silence is equal to silence; speech is not */
	assert_true(equal_frames(&a, &b, 5000) < 4000);
	source_close(s);
	source_close(t);
	campaign_free(c);
}

static void a_packet_holds_one_frame_of_its_codec(void **state)
{
	static const struct {
		const char *in;
		size_t bytes;
	} cases[] = {
		{ "{codec: pcmu}", 160 },
		{ "{codec: l16, rate: 8000}", 320 },
		{ "{codec: amr, mode: 12.2}", 32 },
		{ "{codec: amr, mode: 12.2, octet-align: yes}", 33 },
		{ "{codec: amr, mode: 4.75}", 14 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct campaign *c = parse(cases[i].in);
		struct source *s = open_source(c, 1);
		struct source_voice v;
		size_t bytes;

		source_voice_init(&v, s, 9);
		for (unsigned k = 0; k < 1000; k++) {
			(void)source_payload(&v, k, &bytes);
			assert_int_equal(bytes, cases[i].bytes);
		}
		source_close(s);
		campaign_free(c);
	}
}

static void dtx_leaves_frames_out(void **state)
{
	struct campaign *c = parse("{codec: amr, dtx: yes}");
	struct source *s = open_source(c, 1);
	unsigned silent = 0, n = 5000;
	struct source_voice v;

	source_voice_init(&v, s, 4);
	for (unsigned k = 0; k < n; k++)
		silent += source_silent(&v, k);
	assert_true(silent > n / 10 && silent < n * 9 / 10);
	source_close(s);
	campaign_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(voices_differ_and_repeat_with_their_seed),
		cmocka_unit_test(a_packet_holds_one_frame_of_its_codec),
		cmocka_unit_test(dtx_leaves_frames_out),
	};

	return cmocka_run_group_tests(tests, write_speech, NULL);
}
