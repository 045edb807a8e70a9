/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The AMR-WB coders reach our kernels, and these leave next to no speech to the
 * library. Equal output alone would not show it, since a kernel that leaves
 * everything is equal, too.
 *
 * The linker sends calls of stock_S here (--wrap), where they are counted.
 */
#include "cmocka_cr.h"
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb_dec.h"
#include "kernels_needed.h"
#include "library.h"
#include "seed.h"
#include "speech/speech.h"

enum {
	FRAMES = 400, /* a mode */
	BLOCK = 16,
	/* Fallbacks a kernel may have: not one of a mode's every frame. The
	 * few frames of a sanitizer's run may have more than their share: 6 of
	 * 360 in 150 runs, where a mode has 40. */
	MOST_OF_1000_FRAMES = 10,
	AND_A_FEW = 16,
};

/* Calls of the library's @name are counted in fallbacks_name. */
#define COUNTED(name, parameters, arguments)                                   \
	static unsigned fallbacks_##name;                                      \
	void __real_stock_##name parameters;                                   \
	void __wrap_stock_##name parameters;                                   \
	void __wrap_stock_##name parameters                                    \
	{                                                                      \
		fallbacks_##name++;                                            \
		__real_stock_##name arguments;                                 \
	}

/* The same for those that return a @type. */
#define COUNTED_VALUE(type, name, parameters, arguments)                       \
	static unsigned fallbacks_##name;                                      \
	type __real_stock_##name parameters;                                   \
	type __wrap_stock_##name parameters;                                   \
	type __wrap_stock_##name parameters                                    \
	{                                                                      \
		fallbacks_##name++;                                            \
		return __real_stock_##name arguments;                          \
	}

COUNTED(ACELP_2t64_fx,
	(int16_t dn[], int16_t cn[], int16_t h[], int16_t code[], int16_t y[],
	 int16_t *index),
	(dn, cn, h, code, y, index))
COUNTED(ACELP_4t64_fx,
	(int16_t dn[], int16_t cn[], int16_t h[], int16_t code[], int16_t y[],
	 int16_t bits, int16_t frame_bits, int16_t index[]),
	(dn, cn, h, code, y, bits, frame_bits, index))
COUNTED(Decim_12k8, (int16_t in[], int16_t n, int16_t out[], int16_t mem[]),
	(in, n, out, mem))
COUNTED(Filt_6k_7k, (int16_t signal[], int16_t n, int16_t mem[]),
	(signal, n, mem))
COUNTED_VALUE(int16_t, Pitch_fr4,
	      (int16_t exc[], int16_t x[], int16_t h[], int16_t first,
	       int16_t last, int16_t *fraction, int16_t subframe, int16_t half,
	       int16_t whole, int16_t n),
	      (exc, x, h, first, last, fraction, subframe, half, whole, n))
COUNTED_VALUE(int16_t, Pitch_med_ol, (int16_t speech[], void *state, int16_t n),
	      (speech, state, n))
COUNTED(Qpisf_2s_36b,
	(int16_t isf[], int16_t isf_q[], int16_t past[], int16_t index[],
	 int16_t survivors),
	(isf, isf_q, past, index, survivors))
COUNTED(Qpisf_2s_46b,
	(int16_t isf[], int16_t isf_q[], int16_t past[], int16_t index[],
	 int16_t survivors),
	(isf, isf_q, past, index, survivors))
COUNTED(Updt_tar,
	(int16_t x[], int16_t x2[], int16_t y[], int16_t gain, int16_t n),
	(x, x2, y, gain, n))
COUNTED(voAWB_Convolve, (int16_t x[], int16_t h[], int16_t y[], int16_t n),
	(x, h, y, n))
COUNTED(voAWB_Copy, (const int16_t x[], int16_t y[], int16_t n), (x, y, n))
COUNTED_VALUE(int32_t, voAWB_Dot_product12,
	      (int16_t a[], int16_t b[], int16_t n, int16_t *exponent),
	      (a, b, n, exponent))
COUNTED(voAWB_Pred_lt4,
	(int16_t exc[], int16_t lag, int16_t fraction, int16_t n),
	(exc, lag, fraction, n))
COUNTED(voAWB_Residu, (int16_t a[], int16_t x[], int16_t y[], int16_t n),
	(a, x, y, n))
COUNTED(voAWB_Syn_filt,
	(int16_t a[], int16_t x[], int16_t y[], int16_t n, int16_t mem[],
	 int16_t update),
	(a, x, y, n, mem, update))
COUNTED(voAWB_Syn_filt_32,
	(int16_t a[], int16_t m, int16_t exc[], int16_t q, int16_t high[],
	 int16_t low[], int16_t n),
	(a, m, exc, q, high, low, n))
COUNTED(voAWB_cor_h_x, (int16_t h[], int16_t x[], int16_t dn[]), (h, x, dn))

/* The rest after whole blocks is always the library's: that does not count. */
static unsigned fallbacks_Scale_sig;
void __real_stock_Scale_sig(int16_t x[], int16_t n, int16_t exp);
void __wrap_stock_Scale_sig(int16_t x[], int16_t n, int16_t exp);
void __wrap_stock_Scale_sig(int16_t x[], int16_t n, int16_t exp)
{
	fallbacks_Scale_sig += n >= BLOCK;
	__real_stock_Scale_sig(x, n, exp);
}

COUNTED(Pred_lt4, (int16_t exc[], int16_t lag, int16_t fraction, int16_t n),
	(exc, lag, fraction, n))
COUNTED(band_pass_6k_7k,
	(int16_t signal[], int16_t n, int16_t mem[], int16_t x[]),
	(signal, n, mem, x))

/* A kernel, and how often the library did its work. */
struct counter {
	const char *name;
	unsigned *fallbacks;
};

static const struct counter counters[] = {
	{ "ACELP_2t64_fx", &fallbacks_ACELP_2t64_fx },
	{ "ACELP_4t64_fx", &fallbacks_ACELP_4t64_fx },
	{ "Decim_12k8", &fallbacks_Decim_12k8 },
	{ "Filt_6k_7k", &fallbacks_Filt_6k_7k },
	{ "Pitch_fr4", &fallbacks_Pitch_fr4 },
	{ "Pitch_med_ol", &fallbacks_Pitch_med_ol },
	{ "Qpisf_2s_36b", &fallbacks_Qpisf_2s_36b },
	{ "Qpisf_2s_46b", &fallbacks_Qpisf_2s_46b },
	{ "Scale_sig", &fallbacks_Scale_sig },
	{ "Updt_tar", &fallbacks_Updt_tar },
	{ "voAWB_Convolve", &fallbacks_voAWB_Convolve },
	{ "voAWB_Copy", &fallbacks_voAWB_Copy },
	{ "voAWB_Dot_product12", &fallbacks_voAWB_Dot_product12 },
	{ "voAWB_Pred_lt4", &fallbacks_voAWB_Pred_lt4 },
	{ "voAWB_Residu", &fallbacks_voAWB_Residu },
	{ "voAWB_Syn_filt", &fallbacks_voAWB_Syn_filt },
	{ "voAWB_Syn_filt_32", &fallbacks_voAWB_Syn_filt_32 },
	{ "voAWB_cor_h_x", &fallbacks_voAWB_cor_h_x },
	{ "Pred_lt4", &fallbacks_Pred_lt4 },
	{ "band_pass_6k_7k", &fallbacks_band_pass_6k_7k },
};

#define COUNTERS (sizeof(counters) / sizeof(*counters))

/* Speech of its own through the coders of a mode. */
static void talk(const struct speech_corpus *corpus, unsigned mode,
		 unsigned frames)
{
	const struct library *l = library_linked(LIBRARY_AMR_WB);
	void *encoder = library_encoder(l, false);
	void *decoder = library_decoder(l);
	struct speech_reader speech;

	speech_reader_init(&speech, corpus, test_seed(), mode);
	for (unsigned n = 0; n < frames; n++) {
		int16_t pcm[LIBRARY_SAMPLES_MAX];
		uint8_t frame[LIBRARY_FRAME_MAX];

		speech_read(&speech, pcm,
			    library_facts[LIBRARY_AMR_WB].samples);
		(void)library_encode(l, encoder, mode, false, pcm, frame);
		library_decode(l, decoder, frame, pcm);
	}
	library_encoder_close(l, encoder);
	library_decoder_close(l, decoder);
}

/* The same in all modes, counted from 0 on. Returns the number of frames. */
static unsigned talk_in_all_modes(void)
{
	unsigned modes = library_facts[LIBRARY_AMR_WB].modes;
	unsigned frames = TEST_TRIES(FRAMES);
	struct speech_corpus *corpus;
	struct cr_err e = { "" };

	for (size_t i = 0; i < COUNTERS; i++)
		*counters[i].fallbacks = 0;
	if (speech_open(&corpus, library_facts[LIBRARY_AMR_WB].sample_rate,
			NULL, &e))
		fail_msg("%s", e.text);
	for (unsigned mode = 0; mode < modes; mode++)
		talk(corpus, mode, frames);
	speech_close(corpus);
	return modes * frames;
}

/* While kernels are off, all that comes to them is the library's to do. */
static void every_kernel_is_reached(void **state)
{
	assert_int_equal(cr_kernels_choose(CR_KERNELS_STOCK, NULL), 0);
	(void)talk_in_all_modes();
	assert_int_equal(cr_kernels_choose(CR_KERNELS_AVX2, NULL), 0);
	for (size_t i = 0; i < COUNTERS; i++)
		if (!*counters[i].fallbacks)
			fail_msg("%s: never called", counters[i].name);
}

static void speech_is_seldom_left_to_the_library(void **state)
{
	unsigned frames = talk_in_all_modes();

	for (size_t i = 0; i < COUNTERS; i++)
		if (*counters[i].fallbacks >
		    MOST_OF_1000_FRAMES * frames / 1000 + AND_A_FEW)
			fail_msg("%s: %u fallbacks in %u frames",
				 counters[i].name, *counters[i].fallbacks,
				 frames);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kernel_is_reached),
		cmocka_unit_test(speech_is_seldom_left_to_the_library),
	};

	return cmocka_run_group_tests(tests, kernels_needed, NULL);
}
