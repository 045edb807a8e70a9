/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AMR and AMR-WB frames are the libraries' own, bit by bit, over real speech,
 * in every mode, with and without DTX; and back.
 */
#include <string.h>

#include <opencore-amrnb/interf_dec.h>
#include <opencore-amrnb/interf_enc.h>
#include <opencore-amrwb/dec_if.h>
#include <vo-amrwbenc/enc_if.h>

#include "cmocka_cr.h"
#include "cr/codec.h"
#include "spoken.h"

enum {
	FRAMES = 120,
	SAMPLES_MAX = 320,
	TALK = 40, /* frames of speech before the silence */
};

/* The library itself, asked the straight way. */
struct direct {
	const char *name;
	unsigned sid_type;
	void *(*enc_open)(int dtx);
	int (*encode)(void *enc, unsigned mode, int16_t *pcm, uint8_t *out,
		      int dtx);
	void (*enc_close)(void *enc);
	void *(*dec_open)(void);
	void (*decode)(void *dec, const uint8_t *in, int16_t *pcm, int bad);
	void (*dec_close)(void *dec);
};

static int nb_encode(void *enc, unsigned mode, int16_t *pcm, uint8_t *out,
		     int dtx)
{
	(void)dtx;
	return Encoder_Interface_Encode(enc, (enum Mode)mode, pcm, out, 0);
}

static void *wb_enc_open(int dtx)
{
	(void)dtx;
	return E_IF_init();
}

static int wb_encode(void *enc, unsigned mode, int16_t *pcm, uint8_t *out,
		     int dtx)
{
	return E_IF_encode(enc, (int)mode, pcm, out, dtx);
}

static const struct direct narrow = {
	.name = "amr",
	.sid_type = 8,
	.enc_open = Encoder_Interface_init,
	.encode = nb_encode,
	.enc_close = Encoder_Interface_exit,
	.dec_open = Decoder_Interface_init,
	.decode = Decoder_Interface_Decode,
	.dec_close = Decoder_Interface_exit,
};

static const struct direct wide = {
	.name = "amr-wb",
	.sid_type = 9,
	.enc_open = wb_enc_open,
	.encode = wb_encode,
	.enc_close = E_IF_exit,
	.dec_open = D_IF_init,
	.decode = D_IF_decode,
	.dec_close = D_IF_exit,
};

/* Codec and library, side by side. */
struct beside_library {
	const struct direct *direct;
	const struct cr_codec *codec;
	bool dtx;
	struct speech_reader reader;
	void *enc, *dec, *lib_enc, *lib_dec;
	unsigned counts[4]; /* by kind */
};

static void codec_and_library_open(struct beside_library *r,
				   const struct direct *d, bool dtx)
{
	struct cr_codec_cfg cfg = { .dtx = dtx };

	*r = (struct beside_library){ .direct = d, .dtx = dtx };
	r->codec = cr_codec_find(d->name);
	speech_reader_init(&r->reader, recordings(r->codec->sample_rate), 7,
			   dtx);
	assert_int_equal(r->codec->encoder_open(&r->enc, &cfg, NULL), 0);
	assert_int_equal(r->codec->decoder_open(&r->dec, &cfg, NULL), 0);
	r->lib_enc = d->enc_open(dtx);
	r->lib_dec = d->dec_open();
}

static void codec_and_library_close(struct beside_library *r)
{
	r->codec->encoder_close(r->enc);
	r->codec->decoder_close(r->dec);
	r->direct->enc_close(r->lib_enc);
	r->direct->dec_close(r->lib_dec);
}

/* @f must be what the library made: @lib[@bytes], ToC first. */
static void same_frame(const struct beside_library *r, const struct cr_frame *f,
		       const uint8_t *lib, int bytes)
{
	unsigned type = lib[0] >> 3 & 0xf;

	assert_int_equal(f->mode, type);
	if (type == 15) {
		assert_int_equal(f->kind, CR_FRAME_NO_DATA);
		assert_int_equal(f->bytes, 0);
		return;
	}
	assert_int_equal(f->kind, type == r->direct->sid_type
					  ? CR_FRAME_SID
					  : CR_FRAME_SPEECH);
	assert_int_equal(f->bytes, bytes - 1);
	assert_memory_equal(f->data, lib + 1, f->bytes);
	if (f->kind == CR_FRAME_SPEECH)
		assert_int_equal(f->bytes, r->codec->modes[type].bytes);
}

/* One frame through both, there and back. */
static struct cr_frame codec_and_library_step(struct beside_library *r,
					      unsigned mode, const int16_t *pcm)
{
	size_t size = r->codec->samples * sizeof(*pcm);
	int16_t before[SAMPLES_MAX], own[SAMPLES_MAX];
	int16_t heard[CR_FRAME_SAMPLES_MAX], lib_heard[SAMPLES_MAX];
	struct cr_frame f = { 0 };
	uint8_t lib[64];
	int bytes;

	memcpy(before, pcm, size);
	memcpy(own, pcm, size);
	assert_int_equal(r->codec->encode(r->enc, mode, pcm, &f), 0);
	assert_memory_equal(pcm, before, size);
	bytes = r->direct->encode(r->lib_enc, mode, own, lib, r->dtx);
	same_frame(r, &f, lib, bytes);
	r->counts[f.kind]++;

	assert_int_equal(r->codec->decode(r->dec, &f, heard),
			 r->codec->samples);
	r->direct->decode(r->lib_dec, lib, lib_heard, 0);
	assert_memory_equal(heard, lib_heard, size);
	return f;
}

static void all_modes(const struct direct *d, bool dtx)
{
	unsigned nmodes = cr_codec_find(d->name)->nmodes;

	for (unsigned mode = 0; mode < nmodes; mode++) {
		int16_t pcm[SAMPLES_MAX];
		struct beside_library r;

		codec_and_library_open(&r, d, dtx);
		for (unsigned i = 0; i < FRAMES; i++) {
			speech_read(&r.reader, pcm, r.codec->samples);
			(void)codec_and_library_step(&r, mode, pcm);
		}
		assert_true(r.counts[CR_FRAME_SPEECH] > 0);
		if (!dtx)
			assert_int_equal(r.counts[CR_FRAME_SPEECH], FRAMES);
		codec_and_library_close(&r);
	}
}

static void all_amr_modes_are_bit_exact(void **state)
{
	all_modes(&narrow, false);
	all_modes(&narrow, true);
}

static void all_amr_wb_modes_are_bit_exact(void **state)
{
	all_modes(&wide, false);
	all_modes(&wide, true);
}

static void switch_modes(const struct direct *d)
{
	int16_t pcm[SAMPLES_MAX];
	struct beside_library r;

	codec_and_library_open(&r, d, false);
	for (unsigned i = 0; i < 2 * FRAMES; i++) {
		unsigned mode = (5 * i + i / 7) % r.codec->nmodes;

		speech_read(&r.reader, pcm, r.codec->samples);
		assert_int_equal(codec_and_library_step(&r, mode, pcm).mode,
				 mode);
	}
	codec_and_library_close(&r);
}

static void the_mode_may_change_with_every_frame(void **state)
{
	switch_modes(&narrow);
	switch_modes(&wide);
}

static void a_mode_beyond_the_last_is_refused(void **state)
{
	int16_t pcm[SAMPLES_MAX] = { 0 };
	struct cr_frame f = { 0 };
	struct beside_library r;

	codec_and_library_open(&r, &narrow, false);
	assert_true(r.codec->encode(r.enc, 8, pcm, &f) < 0);
	codec_and_library_close(&r);
	codec_and_library_open(&r, &wide, false);
	assert_true(r.codec->encode(r.enc, 9, pcm, &f) < 0);
	codec_and_library_close(&r);
}

/* Kinds of @n frames after speech has turned into silence, from the first SID
 * on: '.' speech, S, N. */
static void silence_pattern(const struct direct *d, char *text, unsigned n)
{
	static const char letters[] = { '.', 'S', 'N', '?' };
	int16_t pcm[SAMPLES_MAX];
	unsigned len = 0;
	struct beside_library r;

	codec_and_library_open(&r, d, true);
	for (unsigned i = 0; i < TALK; i++) {
		speech_read(&r.reader, pcm, r.codec->samples);
		(void)codec_and_library_step(&r, r.codec->default_mode, pcm);
	}
	memset(pcm, 0, sizeof(pcm));
	for (unsigned i = 0; i < 200 && len < n; i++) {
		enum cr_frame_kind kind =
			codec_and_library_step(&r, r.codec->default_mode, pcm)
				.kind;

		if (len || kind == CR_FRAME_SID)
			text[len++] = letters[kind];
	}
	text[len] = '\0';
	codec_and_library_close(&r);
}

static void silence_is_sid_first_then_an_update_every_eight(void **state)
{
	char text[64];

	silence_pattern(&narrow, text, 20);
	assert_string_equal(text, "SNNSNNNNNNNSNNNNNNNS");
	silence_pattern(&wide, text, 20);
	assert_string_equal(text, "SNNSNNNNNNNSNNNNNNNS");
}

/* Ten bad frames in a row: the last one again, @repeated times, then the
 * library's own concealment. */
static void conceal(const struct direct *d, unsigned repeated)
{
	int16_t pcm[SAMPLES_MAX], lib_heard[SAMPLES_MAX];
	int16_t heard[CR_FRAME_SAMPLES_MAX];
	struct cr_frame bad;
	uint8_t lost[64] = { 15 << 3 | 4 }, last[64];
	struct beside_library r;

	codec_and_library_open(&r, d, false);
	for (unsigned i = 0; i < TALK; i++) {
		speech_read(&r.reader, pcm, r.codec->samples);
		bad = codec_and_library_step(&r, r.codec->default_mode, pcm);
	}
	last[0] = (uint8_t)(bad.mode << 3 | 4);
	memcpy(last + 1, bad.data, bad.bytes);
	bad.kind = CR_FRAME_BAD;
	for (unsigned i = 0; i < 10; i++) {
		bool again = i < repeated;

		assert_int_equal(r.codec->decode(r.dec, &bad, heard),
				 r.codec->samples);
		r.direct->decode(r.lib_dec, again ? last : lost, lib_heard,
				 !again);
		assert_memory_equal(heard, lib_heard,
				    r.codec->samples * sizeof(*heard));
	}
	codec_and_library_close(&r);
}

static void bad_frames_are_concealed(void **state)
{
	conceal(&narrow, 0);
	conceal(&wide, 3);
}

/* The AMR-WB library would look at memory that it has not set. */
static void before_the_first_speech_frame_there_is_silence(void **state)
{
	static const int16_t zeros[SAMPLES_MAX];
	struct cr_frame f = { .kind = CR_FRAME_SID, .bytes = 5 };
	int16_t heard[CR_FRAME_SAMPLES_MAX];
	struct beside_library r;

	memset(f.data, 0x5a, 5);
	codec_and_library_open(&r, &wide, false);
	for (unsigned i = 0; i < 9; i++) {
		f.kind = (enum cr_frame_kind)(CR_FRAME_SID + i % 3);
		assert_int_equal(r.codec->decode(r.dec, &f, heard), 320);
		assert_memory_equal(heard, zeros, sizeof(zeros));
	}
	/* And then all is as ever. */
	for (unsigned i = 0; i < 10; i++) {
		int16_t pcm[SAMPLES_MAX];

		speech_read(&r.reader, pcm, r.codec->samples);
		(void)codec_and_library_step(&r, 2, pcm);
	}
	codec_and_library_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_amr_modes_are_bit_exact),
		cmocka_unit_test(all_amr_wb_modes_are_bit_exact),
		cmocka_unit_test(the_mode_may_change_with_every_frame),
		cmocka_unit_test(a_mode_beyond_the_last_is_refused),
		cmocka_unit_test(
			silence_is_sid_first_then_an_update_every_eight),
		cmocka_unit_test(bad_frames_are_concealed),
		cmocka_unit_test(
			before_the_first_speech_frame_there_is_silence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
