/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libopencore-amrnb that we replace, with the library's own
 * under the name stock_S. The prototypes are the library's: 3GPP TS 26.073
 * describes what each computes, its file here how.
 */
#ifndef CODECS_KERNELS_AMRNB_H
#define CODECS_KERNELS_AMRNB_H

#include <stdint.h>

/**
 * LPC residual of @n samples: y = A(z) x.
 * @a: the filter, [11] in Q12. @x: the signal, with 10 samples before x[0].
 */
void Residu(int16_t a[], int16_t x[], int16_t y[], int16_t n);
void stock_Residu(int16_t a[], int16_t x[], int16_t y[], int16_t n);

/**
 * Synthesis of @n samples: y = x / A(z). y may be x.
 * @a: the filter, [11] in Q12. @mem: the 10 samples before y[0]; with @update
 * the last 10 of y replace them.
 */
void Syn_filt(int16_t a[], int16_t x[], int16_t y[], int16_t n, int16_t mem[],
	      int16_t update);
void stock_Syn_filt(int16_t a[], int16_t x[], int16_t y[], int16_t n,
		    int16_t mem[], int16_t update);

/** The first @n samples of x (Q0) through the impulse response h (Q12). */
void Convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n);
void stock_Convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n);

/**
 * Autocorrelation of a frame, [240], through the window @w in Q15, for lags 0
 * to @m. @high, @low: the halves of r(i), normalised. Returns by how many bits.
 */
int16_t Autocorr(int16_t x[], int16_t m, int16_t high[], int16_t low[],
		 const int16_t w[], int32_t *overflow);
int16_t stock_Autocorr(int16_t x[], int16_t m, int16_t high[], int16_t low[],
		       const int16_t w[], int32_t *overflow);

/**
 * The filter @a, [11] in Q12, that predicts best a signal with the
 * autocorrelation @high, @low, [11]. @rc: the first 4 reflection coefficients,
 * Q15. @state: the last stable filter, which is the answer where this one is
 * not; @rc is 0 then. Returns 0.
 */
int16_t Levinson(void *state, int16_t high[], int16_t low[], int16_t a[],
		 int16_t rc[], int32_t *overflow);
int16_t stock_Levinson(void *state, int16_t high[], int16_t low[], int16_t a[],
		       int16_t rc[], int32_t *overflow);

/**
 * Line spectral pairs, [10] in Q15, of the filter @a, [11] in Q12; @old_lsp if
 * not all ten are found.
 */
void Az_lsp(int16_t a[], int16_t lsp[], int16_t old_lsp[], int32_t *overflow);
void stock_Az_lsp(int16_t a[], int16_t lsp[], int16_t old_lsp[],
		  int32_t *overflow);

/** The filter of line spectral pairs, both as in Az_lsp. */
void Lsp_Az(int16_t lsp[], int16_t a[], int32_t *overflow);
void stock_Lsp_Az(int16_t lsp[], int16_t a[], int32_t *overflow);

/** a / b in Q15. */
int16_t div_s(int16_t a, int16_t b);
int16_t stock_div_s(int16_t a, int16_t b);

/** The left shifts that normalise a number. */
int16_t norm_l(int32_t v);
int16_t stock_norm_l(int32_t v);
int16_t norm_s(int16_t v);
int16_t stock_norm_s(int16_t v);

/** 2^30 / sqrt(v). */
int32_t Inv_sqrt(int32_t v, int32_t *overflow);
int32_t stock_Inv_sqrt(int32_t v, int32_t *overflow);

/**
 * Closed-loop pitch search of a subframe. @exc: the excitation, with the past
 * before exc[0]. @target, @h: [@n], n = 40. @at: where in the frame it is. Sets
 * the @frac of the lag, whether it is in @thirds or sixths, and the @index
 * that is sent. Returns the lag.
 */
int16_t Pitch_fr(void *state, int mode, int16_t open_loop[], int16_t exc[],
		 int16_t target[], int16_t h[], int16_t n, int16_t at,
		 int16_t *frac, int16_t *thirds, int16_t *index,
		 int32_t *overflow);
int16_t stock_Pitch_fr(void *state, int mode, int16_t open_loop[],
		       int16_t exc[], int16_t target[], int16_t h[], int16_t n,
		       int16_t at, int16_t *frac, int16_t *thirds,
		       int16_t *index, int32_t *overflow);

/**
 * Excitation of @n samples predicted by a lag of @lag samples and @frac
 * @thirds, or sixths, into exc[0]; the past is before it.
 */
void Pred_lt_3or6(int16_t exc[], int16_t lag, int16_t frac, int16_t n,
		  int16_t thirds, int32_t *overflow);
void stock_Pred_lt_3or6(int16_t exc[], int16_t lag, int16_t frac, int16_t n,
			int16_t thirds, int32_t *overflow);

/** Twice the correlation of s[0..n-1] with its past, to corr[-lag]. */
void comp_corr(int16_t s[], int16_t n, int16_t lag_max, int16_t lag_min,
	       int32_t corr[]);
void stock_comp_corr(int16_t s[], int16_t n, int16_t lag_max, int16_t lag_min,
		     int32_t corr[]);

/**
 * Quantises both sets of line spectral pairs of a frame of 12.2 kbit/s.
 * @past: what was left of the last frame's prediction, updated. @indices: [5].
 */
void Q_plsf_5(int16_t past[], int16_t lsp1[], int16_t lsp2[], int16_t lsp1_q[],
	      int16_t lsp2_q[], int16_t indices[], int32_t *overflow);
void stock_Q_plsf_5(int16_t past[], int16_t lsp1[], int16_t lsp2[],
		    int16_t lsp1_q[], int16_t lsp2_q[], int16_t indices[],
		    int32_t *overflow);

/**
 * The same for the one set of the other modes. @indices: [3]. @noise_index is
 * written for comfort noise, mode 8, only.
 */
void Q_plsf_3(int16_t past[], int mode, int16_t lsp[], int16_t lsp_q[],
	      int16_t indices[], int16_t *noise_index, int32_t *overflow);
void stock_Q_plsf_3(int16_t past[], int mode, int16_t lsp[], int16_t lsp_q[],
		    int16_t indices[], int16_t *noise_index, int32_t *overflow);

/**
 * Open-loop pitch search of signal[0..n-1], which has its past before it, for
 * lags from @lag_min up to @lag_max. @half: which half of the frame. With @dtx,
 * the voice activity detector @vad is given what it needs. Returns the
 * lag.
 */
int16_t Pitch_ol(void *vad, int mode, int16_t signal[], int16_t lag_min,
		 int16_t lag_max, int16_t n, int16_t half, int dtx,
		 int32_t *overflow);
int16_t stock_Pitch_ol(void *vad, int mode, int16_t signal[], int16_t lag_min,
		       int16_t lag_max, int16_t n, int16_t half, int dtx,
		       int32_t *overflow);

/**
 * The same for 10.2 kbit/s, which prefers lags near those before: @old_lags,
 * [5]. voiced[half] becomes positive if this one is of a voice.
 */
int16_t Pitch_ol_wgh(void *state, void *vad, int16_t signal[], int16_t lag_min,
		     int16_t lag_max, int16_t n, int16_t old_lags[],
		     int16_t voiced[], int16_t half, int dtx,
		     int32_t *overflow);
int16_t stock_Pitch_ol_wgh(void *state, void *vad, int16_t signal[],
			   int16_t lag_min, int16_t lag_max, int16_t n,
			   int16_t old_lags[], int16_t voiced[], int16_t half,
			   int dtx, int32_t *overflow);

/** A(z / gamma): @gamma holds its powers 1 to 10 in Q15. */
void Weight_Ai(int16_t a[], const int16_t gamma[], int16_t weighted[]);
void stock_Weight_Ai(int16_t a[], const int16_t gamma[], int16_t weighted[]);

/**
 * Before the searches of a subframe: its residual @res2, also to @exc, the
 * target @xn and the impulse response @h1. @gamma1_high is for the upper two
 * modes. @a, @aq: the filter, as it is and quantised. @mem_err: the past of
 * @error, right before it; @mem_w0: that of the weighted error; @zero: 10
 * zeros. @ai_zero: 40 samples, zeros from 11 on.
 */
void subframePreProc(int mode, const int16_t gamma1[],
		     const int16_t gamma1_high[], const int16_t gamma2[],
		     int16_t a[], int16_t aq[], int16_t speech[],
		     int16_t mem_err[], int16_t mem_w0[], int16_t zero[],
		     int16_t ai_zero[], int16_t exc[], int16_t h1[],
		     int16_t xn[], int16_t res2[], int16_t error[]);
void stock_subframePreProc(int mode, const int16_t gamma1[],
			   const int16_t gamma1_high[], const int16_t gamma2[],
			   int16_t a[], int16_t aq[], int16_t speech[],
			   int16_t mem_err[], int16_t mem_w0[], int16_t zero[],
			   int16_t ai_zero[], int16_t exc[], int16_t h1[],
			   int16_t xn[], int16_t res2[], int16_t error[]);

/** High-pass filter of @n samples, in place, before the encoder. */
void Pre_Process(void *state, int16_t signal[], int16_t n);
void stock_Pre_Process(void *state, int16_t signal[], int16_t n);

/** The same after the decoder. */
void Post_Process(void *state, int16_t signal[], int16_t n, int32_t *overflow);
void stock_Post_Process(void *state, int16_t signal[], int16_t n,
			int32_t *overflow);

/**
 * Scales out[0..n-1] to the energy of @in, by a gain in Q12 that follows from
 * @gain with @factor in Q15, and is kept there.
 */
void agc(int16_t *gain, int16_t in[], int16_t out[], int16_t factor, int16_t n,
	 int32_t *overflow);
void stock_agc(int16_t *gain, int16_t in[], int16_t out[], int16_t factor,
	       int16_t n, int32_t *overflow);

/** The same by one gain. */
void agc2(int16_t in[], int16_t out[], int16_t n, int32_t *overflow);
void stock_agc2(int16_t in[], int16_t out[], int16_t n, int32_t *overflow);

/**
 * The excitation of a subframe, x[40]: @pitch_factor times @x, which is the
 * adaptive codebook's, and @code_gain times the innovation @code[40], which is
 * spread in time before, according to @mode and the gains.
 */
void ph_disp(void *state, int mode, int16_t x[], int16_t code_gain,
	     int16_t pitch_gain, int16_t code[], int16_t pitch_factor,
	     int16_t shift, void *tables, int32_t *overflow);
void stock_ph_disp(void *state, int mode, int16_t x[], int16_t code_gain,
		   int16_t pitch_gain, int16_t code[], int16_t pitch_factor,
		   int16_t shift, void *tables, int32_t *overflow);

/**
 * Voice activity of a frame: @in is 40 samples behind its first, in[-40]. Keeps
 * and returns the decision, 1 for speech.
 */
int16_t vad1(void *state, int16_t in[], int32_t *overflow);
int16_t stock_vad1(void *state, int16_t in[], int32_t *overflow);

/* Functions of the library that kernels call. */
void vad_tone_detection(void *vad, int32_t max, int32_t energy,
			int32_t *overflow);
void vad_tone_detection_update(void *vad, int16_t one_lag, int32_t *overflow);
void vad_complex_detection_update(void *vad, int16_t high);
int16_t hp_max(int32_t corr[], int16_t signal[], int16_t n, int16_t lag_max,
	       int16_t lag_min, int16_t *max, int32_t *overflow);
int16_t Enc_lag3(int16_t lag, int16_t frac, int16_t lag_before, int16_t first,
		 int16_t last, int16_t delta, int16_t four_bits,
		 int32_t *overflow);
int16_t Enc_lag6(int16_t lag, int16_t frac, int16_t first, int16_t delta,
		 int32_t *overflow);
void Lsp_lsf(int16_t lsp[], int16_t lsf[], int16_t n, int32_t *overflow);
void Lsf_lsp(int16_t lsf[], int16_t lsp[], int16_t n, int32_t *overflow);
void Lsf_wt(int16_t lsf[], int16_t weights[], int32_t *overflow);
void Reorder_lsf(int16_t lsf[], int16_t gap, int16_t n, int32_t *overflow);

/**
 * The target @x correlated with the impulse response @h: @dn, all [40], scaled
 * such that the sum of the largest of each track has @sf bits of head room.
 * @overflow here and below: set to 1 where a basic operator saturates, else
 * left alone.
 */
void cor_h_x(int16_t h[], int16_t x[], int16_t dn[], int16_t sf,
	     int32_t *overflow);
void stock_cor_h_x(int16_t h[], int16_t x[], int16_t dn[], int16_t sf,
		   int32_t *overflow);

/** The same with @tracks tracks, of positions @step apart. */
void cor_h_x2(int16_t h[], int16_t x[], int16_t dn[], int16_t sf,
	      int16_t tracks, int16_t step, int32_t *overflow);
void stock_cor_h_x2(int16_t h[], int16_t x[], int16_t dn[], int16_t sf,
		    int16_t tracks, int16_t step, int32_t *overflow);

/**
 * The signs of the pulses: @sign [40], 32767 or -32767, from the residual @cn
 * and the correlated target @dn, which loses them. @peak [tracks]: the largest
 * position of each track. @turn [2 * tracks]: the tracks from that with the
 * largest peak on. @step: @tracks.
 */
void set_sign12k2(int16_t dn[], int16_t cn[], int16_t sign[], int16_t peak[],
		  int16_t tracks, int16_t turn[], int16_t step,
		  int32_t *overflow);
void stock_set_sign12k2(int16_t dn[], int16_t cn[], int16_t sign[],
			int16_t peak[], int16_t tracks, int16_t turn[],
			int16_t step, int32_t *overflow);

/**
 * The codebook searches. @x: the target; @h: the impulse response, with 40
 * samples before h[0]; @lag and @gain (Q14) of the pitch, with which @h is
 * sharpened in place; @code: the code vector, Q13; @y: the same filtered; all
 * [40]. @signs: a bit a pulse. Return the index of the pulses.
 * @start, @gray: tables of the library.
 */
int16_t code_2i40_9bits(int16_t subframe, int16_t x[], int16_t h[], int16_t lag,
			int16_t gain, int16_t code[], int16_t y[],
			int16_t *signs, const int16_t start[],
			int32_t *overflow);
int16_t stock_code_2i40_9bits(int16_t subframe, int16_t x[], int16_t h[],
			      int16_t lag, int16_t gain, int16_t code[],
			      int16_t y[], int16_t *signs,
			      const int16_t start[], int32_t *overflow);
int16_t code_2i40_11bits(int16_t x[], int16_t h[], int16_t lag, int16_t gain,
			 int16_t code[], int16_t y[], int16_t *signs,
			 int32_t *overflow);
int16_t stock_code_2i40_11bits(int16_t x[], int16_t h[], int16_t lag,
			       int16_t gain, int16_t code[], int16_t y[],
			       int16_t *signs, int32_t *overflow);
int16_t code_3i40_14bits(int16_t x[], int16_t h[], int16_t lag, int16_t gain,
			 int16_t code[], int16_t y[], int16_t *signs,
			 int32_t *overflow);
int16_t stock_code_3i40_14bits(int16_t x[], int16_t h[], int16_t lag,
			       int16_t gain, int16_t code[], int16_t y[],
			       int16_t *signs, int32_t *overflow);
int16_t code_4i40_17bits(int16_t x[], int16_t h[], int16_t lag, int16_t gain,
			 int16_t code[], int16_t y[], int16_t *signs,
			 const int16_t gray[], int32_t *overflow);
int16_t stock_code_4i40_17bits(int16_t x[], int16_t h[], int16_t lag,
			       int16_t gain, int16_t code[], int16_t y[],
			       int16_t *signs, const int16_t gray[],
			       int32_t *overflow);

/**
 * Those of 12.2 and 10.2 kbit/s, which the encoder sharpens itself. @cn: the
 * prediction residual [40]. @index: [10], [7].
 */
void code_10i40_35bits(int16_t x[], int16_t cn[], int16_t h[], int16_t code[],
		       int16_t y[], int16_t index[], const int16_t gray[],
		       int32_t *overflow);
void stock_code_10i40_35bits(int16_t x[], int16_t cn[], int16_t h[],
			     int16_t code[], int16_t y[], int16_t index[],
			     const int16_t gray[], int32_t *overflow);
void code_8i40_31bits(int16_t x[], int16_t cn[], int16_t h[], int16_t code[],
		      int16_t y[], int16_t index[], int32_t *overflow);
void stock_code_8i40_31bits(int16_t x[], int16_t cn[], int16_t h[],
			    int16_t code[], int16_t y[], int16_t index[],
			    int32_t *overflow);

/**
 * The pitch gain <x, y> / <y, y> in Q14, from 0 to 1.2: of the target @x and
 * the filtered adaptive codebook vector @y, [@n]. @terms, [4]: <y, y> and its
 * exponent, <x, y> and its exponent. Sets @overflow if the sum of <x, y> was,
 * and clears it.
 */
int16_t G_pitch(int mode, int16_t x[], int16_t y[], int16_t terms[], int16_t n,
		int32_t *overflow);
int16_t stock_G_pitch(int mode, int16_t x[], int16_t y[], int16_t terms[],
		      int16_t n, int32_t *overflow);

/**
 * What a gain quantiser needs: @frac and @exp, both [5], the coefficients of
 * the error, of target @x, filtered pitch and code vectors @y1 and @y2, [40],
 * and @pitch [4], which the search of the pitch gain has left. @gain_frac,
 * @gain_exp: in 4.75 and 7.95 kbit/s the code gain for target @x2.
 */
void calc_filt_energies(int mode, int16_t x[], int16_t x2[], int16_t y1[],
			int16_t y2[], int16_t pitch[], int16_t frac[],
			int16_t exp[], int16_t *gain_frac, int16_t *gain_exp,
			int32_t *overflow);
void stock_calc_filt_energies(int mode, int16_t x[], int16_t x2[], int16_t y1[],
			      int16_t y2[], int16_t pitch[], int16_t frac[],
			      int16_t exp[], int16_t *gain_frac,
			      int16_t *gain_exp, int32_t *overflow);

/**
 * The gains of pitch, Q14, and code. @code_exp, @code_frac: the predicted code
 * gain. @limit: of the pitch gain. @energy_122, @energy: for the prediction.
 * Returns the index.
 */
int16_t Qua_gain(int mode, int16_t code_exp, int16_t code_frac, int16_t frac[],
		 int16_t exp[], int16_t limit, int16_t *pitch_gain,
		 int16_t *code_gain, int16_t *energy_122, int16_t *energy,
		 const void *tables, int32_t *overflow);
int16_t stock_Qua_gain(int mode, int16_t code_exp, int16_t code_frac,
		       int16_t frac[], int16_t exp[], int16_t limit,
		       int16_t *pitch_gain, int16_t *code_gain,
		       int16_t *energy_122, int16_t *energy, const void *tables,
		       int32_t *overflow);

/**
 * The same for two subframes, 0 and 1, at once: predicted code gain, exponents
 * and fractions of the coefficients, target energy. @code1: code vector of the
 * second, not sharpened.
 */
int16_t MR475_gain_quant(void *predictor, int16_t exp0, int16_t frac0,
			 int16_t exps0[], int16_t fracs0[], int16_t target_exp0,
			 int16_t target_frac0, int16_t code1[], int16_t exp1,
			 int16_t frac1, int16_t exps1[], int16_t fracs1[],
			 int16_t target_exp1, int16_t target_frac1,
			 int16_t limit, int16_t *pitch_gain0,
			 int16_t *code_gain0, int16_t *pitch_gain1,
			 int16_t *code_gain1, int32_t *overflow);
int16_t stock_MR475_gain_quant(void *predictor, int16_t exp0, int16_t frac0,
			       int16_t exps0[], int16_t fracs0[],
			       int16_t target_exp0, int16_t target_frac0,
			       int16_t code1[], int16_t exp1, int16_t frac1,
			       int16_t exps1[], int16_t fracs1[],
			       int16_t target_exp1, int16_t target_frac1,
			       int16_t limit, int16_t *pitch_gain0,
			       int16_t *code_gain0, int16_t *pitch_gain1,
			       int16_t *code_gain1, int32_t *overflow);

/** Functions of the library that quantisers call: 2^(exp.frac), the logarithm
 * of @v > 0, the prediction of the code gain and its update. */
int32_t Pow2(int16_t exp, int16_t frac, int32_t *overflow);
void Log2(int32_t v, int16_t *exp, int16_t *frac, int32_t *overflow);
void gc_pred(void *predictor, int mode, int16_t code[], int16_t *exp,
	     int16_t *frac, int16_t *energy_exp, int16_t *energy_frac,
	     int32_t *overflow);
void gc_pred_update(void *predictor, int16_t energy_122, int16_t energy);

#endif
