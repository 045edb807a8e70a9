/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters: each passes on what it gets. The linker gives them their names,
 * and the names of what they stand before.
 */
#include "counted.h"

#include "codecs/kernels/amrnb.h"

#define NAMED(S) [COUNTED_##S] = { .name = #S },
struct counted counted[COUNTED_N] = { COUNTED_FUNCTIONS(NAMED) };

#define PROTOTYPES(S)                                                          \
	__typeof__(S) __wrap_##S, __real_##S;                                  \
	__typeof__(stock_##S) __wrap_stock_##S, __real_stock_##S;
COUNTED_FUNCTIONS(PROTOTYPES)

#define COUNTED(S, parameters, arguments)                                      \
	int16_t __wrap_##S parameters                                          \
	{                                                                      \
		counted[COUNTED_##S].calls++;                                  \
		return __real_##S arguments;                                   \
	}                                                                      \
	int16_t __wrap_stock_##S parameters                                    \
	{                                                                      \
		counted[COUNTED_##S].stock++;                                  \
		return __real_stock_##S arguments;                             \
	}

#define COUNTED_VOID(S, parameters, arguments)                                 \
	void __wrap_##S parameters                                             \
	{                                                                      \
		counted[COUNTED_##S].calls++;                                  \
		__real_##S arguments;                                          \
	}                                                                      \
	void __wrap_stock_##S parameters                                       \
	{                                                                      \
		counted[COUNTED_##S].stock++;                                  \
		__real_stock_##S arguments;                                    \
	}

COUNTED(Autocorr,
	(int16_t x[], int16_t m, int16_t high[], int16_t low[],
	 const int16_t w[], int32_t *overflow),
	(x, m, high, low, w, overflow))

COUNTED_VOID(Convolve, (int16_t x[], int16_t h[], int16_t y[], int16_t n),
	     (x, h, y, n))

COUNTED(G_pitch,
	(int mode, int16_t x[], int16_t y[], int16_t terms[], int16_t n,
	 int32_t *overflow),
	(mode, x, y, terms, n, overflow))

COUNTED(Levinson,
	(void *state, int16_t high[], int16_t low[], int16_t a[], int16_t rc[],
	 int32_t *overflow),
	(state, high, low, a, rc, overflow))

COUNTED(MR475_gain_quant,
	(void *predictor, int16_t exp0, int16_t frac0, int16_t exps0[],
	 int16_t fracs0[], int16_t target_exp0, int16_t target_frac0,
	 int16_t code1[], int16_t exp1, int16_t frac1, int16_t exps1[],
	 int16_t fracs1[], int16_t target_exp1, int16_t target_frac1,
	 int16_t limit, int16_t *pitch_gain0, int16_t *code_gain0,
	 int16_t *pitch_gain1, int16_t *code_gain1, int32_t *overflow),
	(predictor, exp0, frac0, exps0, fracs0, target_exp0, target_frac0,
	 code1, exp1, frac1, exps1, fracs1, target_exp1, target_frac1, limit,
	 pitch_gain0, code_gain0, pitch_gain1, code_gain1, overflow))

COUNTED(Pitch_fr,
	(void *state, int mode, int16_t open_loop[], int16_t exc[],
	 int16_t target[], int16_t h[], int16_t n, int16_t at, int16_t *frac,
	 int16_t *thirds, int16_t *index, int32_t *overflow),
	(state, mode, open_loop, exc, target, h, n, at, frac, thirds, index,
	 overflow))

COUNTED(Pitch_ol,
	(void *vad, int mode, int16_t signal[], int16_t lag_min,
	 int16_t lag_max, int16_t n, int16_t half, int dtx, int32_t *overflow),
	(vad, mode, signal, lag_min, lag_max, n, half, dtx, overflow))

COUNTED(Pitch_ol_wgh,
	(void *state, void *vad, int16_t signal[], int16_t lag_min,
	 int16_t lag_max, int16_t n, int16_t old_lags[], int16_t voiced[],
	 int16_t half, int dtx, int32_t *overflow),
	(state, vad, signal, lag_min, lag_max, n, old_lags, voiced, half, dtx,
	 overflow))

COUNTED_VOID(Post_Process,
	     (void *state, int16_t signal[], int16_t n, int32_t *overflow),
	     (state, signal, n, overflow))

COUNTED_VOID(Pre_Process, (void *state, int16_t signal[], int16_t n),
	     (state, signal, n))

COUNTED_VOID(Pred_lt_3or6,
	     (int16_t exc[], int16_t lag, int16_t frac, int16_t n,
	      int16_t thirds, int32_t *overflow),
	     (exc, lag, frac, n, thirds, overflow))

COUNTED_VOID(Q_plsf_3,
	     (int16_t past[], int mode, int16_t lsp[], int16_t lsp_q[],
	      int16_t indices[], int16_t *noise_index, int32_t *overflow),
	     (past, mode, lsp, lsp_q, indices, noise_index, overflow))

COUNTED(Qua_gain,
	(int mode, int16_t code_exp, int16_t code_frac, int16_t frac[],
	 int16_t exp[], int16_t limit, int16_t *pitch_gain, int16_t *code_gain,
	 int16_t *energy_122, int16_t *energy, const void *tables,
	 int32_t *overflow),
	(mode, code_exp, code_frac, frac, exp, limit, pitch_gain, code_gain,
	 energy_122, energy, tables, overflow))

COUNTED_VOID(Residu, (int16_t a[], int16_t x[], int16_t y[], int16_t n),
	     (a, x, y, n))

COUNTED_VOID(Syn_filt,
	     (int16_t a[], int16_t x[], int16_t y[], int16_t n, int16_t mem[],
	      int16_t update),
	     (a, x, y, n, mem, update))

COUNTED_VOID(agc,
	     (int16_t gain[], int16_t in[], int16_t out[], int16_t factor,
	      int16_t n, int32_t *overflow),
	     (gain, in, out, factor, n, overflow))

COUNTED_VOID(agc2, (int16_t in[], int16_t out[], int16_t n, int32_t *overflow),
	     (in, out, n, overflow))

COUNTED_VOID(calc_filt_energies,
	     (int mode, int16_t x[], int16_t x2[], int16_t y1[], int16_t y2[],
	      int16_t pitch[], int16_t frac[], int16_t exp[],
	      int16_t *gain_frac, int16_t *gain_exp, int32_t *overflow),
	     (mode, x, x2, y1, y2, pitch, frac, exp, gain_frac, gain_exp,
	      overflow))

COUNTED_VOID(code_10i40_35bits,
	     (int16_t x[], int16_t cn[], int16_t h[], int16_t code[],
	      int16_t y[], int16_t index[], const int16_t gray[],
	      int32_t *overflow),
	     (x, cn, h, code, y, index, gray, overflow))

COUNTED(code_2i40_11bits,
	(int16_t x[], int16_t h[], int16_t lag, int16_t gain, int16_t code[],
	 int16_t y[], int16_t *signs, int32_t *overflow),
	(x, h, lag, gain, code, y, signs, overflow))

COUNTED(code_2i40_9bits,
	(int16_t subframe, int16_t x[], int16_t h[], int16_t lag, int16_t gain,
	 int16_t code[], int16_t y[], int16_t *signs, const int16_t start[],
	 int32_t *overflow),
	(subframe, x, h, lag, gain, code, y, signs, start, overflow))

COUNTED(code_3i40_14bits,
	(int16_t x[], int16_t h[], int16_t lag, int16_t gain, int16_t code[],
	 int16_t y[], int16_t *signs, int32_t *overflow),
	(x, h, lag, gain, code, y, signs, overflow))

COUNTED(code_4i40_17bits,
	(int16_t x[], int16_t h[], int16_t lag, int16_t gain, int16_t code[],
	 int16_t y[], int16_t *signs, const int16_t gray[], int32_t *overflow),
	(x, h, lag, gain, code, y, signs, gray, overflow))

COUNTED_VOID(code_8i40_31bits,
	     (int16_t x[], int16_t cn[], int16_t h[], int16_t code[],
	      int16_t y[], int16_t index[], int32_t *overflow),
	     (x, cn, h, code, y, index, overflow))

COUNTED_VOID(comp_corr,
	     (int16_t s[], int16_t n, int16_t lag_max, int16_t lag_min,
	      int32_t corr[]),
	     (s, n, lag_max, lag_min, corr))

COUNTED_VOID(cor_h_x,
	     (int16_t h[], int16_t x[], int16_t dn[], int16_t sf,
	      int32_t *overflow),
	     (h, x, dn, sf, overflow))

COUNTED_VOID(cor_h_x2,
	     (int16_t h[], int16_t x[], int16_t dn[], int16_t sf,
	      int16_t tracks, int16_t step, int32_t *overflow),
	     (h, x, dn, sf, tracks, step, overflow))

COUNTED_VOID(ph_disp,
	     (void *state, int mode, int16_t x[], int16_t code_gain,
	      int16_t pitch_gain, int16_t code[], int16_t pitch_factor,
	      int16_t shift, void *tables, int32_t *overflow),
	     (state, mode, x, code_gain, pitch_gain, code, pitch_factor, shift,
	      tables, overflow))

COUNTED_VOID(set_sign12k2,
	     (int16_t dn[], int16_t cn[], int16_t sign[], int16_t peak[],
	      int16_t tracks, int16_t turn[], int16_t step, int32_t *overflow),
	     (dn, cn, sign, peak, tracks, turn, step, overflow))

COUNTED_VOID(subframePreProc,
	     (int mode, const int16_t gamma1[], const int16_t gamma1_high[],
	      const int16_t gamma2[], int16_t a[], int16_t aq[],
	      int16_t speech[], int16_t mem_err[], int16_t mem_w0[],
	      int16_t zero[], int16_t ai_zero[], int16_t exc[], int16_t h1[],
	      int16_t xn[], int16_t res2[], int16_t error[]),
	     (mode, gamma1, gamma1_high, gamma2, a, aq, speech, mem_err, mem_w0,
	      zero, ai_zero, exc, h1, xn, res2, error))

COUNTED(vad1, (void *state, int16_t in[], int32_t *overflow),
	(state, in, overflow))
