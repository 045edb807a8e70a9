/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libvo-amrwbenc that we replace, with the library's own
 * under the name stock_S. The prototypes are the library's: 3GPP TS 26.173
 * describes what each computes, its file here how.
 */
#ifndef CODECS_KERNELS_AMRWB_H
#define CODECS_KERNELS_AMRWB_H

#include <stdint.h>

/**
 * LPC residual of @n samples: y = A(z) x.
 * @a: the filter, [17] in Q12. @x: the signal, with 16 samples before x[0].
 */
void voAWB_Residu(int16_t a[], int16_t x[], int16_t y[], int16_t n);
void stock_voAWB_Residu(int16_t a[], int16_t x[], int16_t y[], int16_t n);

/**
 * LPC synthesis of @n samples: y = x / A(z).
 * @a: the filter, [17] in Q12. @mem: the 16 outputs before y[0]; @update: put
 * the last 16 of y there. @y may be @x.
 */
void voAWB_Syn_filt(int16_t a[], int16_t x[], int16_t y[], int16_t n,
		    int16_t mem[], int16_t update);
void stock_voAWB_Syn_filt(int16_t a[], int16_t x[], int16_t y[], int16_t n,
			  int16_t mem[], int16_t update);

/**
 * The same in two words a sample, without clipping.
 * @exc: input, scaled by 2^@q. @high, @low: output of @n samples, with 16
 * before it. @m is ignored.
 */
void voAWB_Syn_filt_32(int16_t a[], int16_t m, int16_t exc[], int16_t q,
		       int16_t high[], int16_t low[], int16_t n);
void stock_voAWB_Syn_filt_32(int16_t a[], int16_t m, int16_t exc[], int16_t q,
			     int16_t high[], int16_t low[], int16_t n);

/** Filter @signal[@n] to 6-7 kHz; @mem: the 30 samples before, by 4. */
void Filt_6k_7k(int16_t signal[], int16_t n, int16_t mem[]);
void stock_Filt_6k_7k(int16_t signal[], int16_t n, int16_t mem[]);

/** Convolve 64 samples @x with the impulse response @h, Q15; @n is ignored. */
void voAWB_Convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n);
void stock_voAWB_Convolve(int16_t x[], int16_t h[], int16_t y[], int16_t n);

/** Correlate 64 samples of the target @x with the impulse response @h. */
void voAWB_cor_h_x(int16_t h[], int16_t x[], int16_t dn[]);
void stock_voAWB_cor_h_x(int16_t h[], int16_t x[], int16_t dn[]);

/** Scale @n samples by 2^@exp, rounded and clipped. */
void Scale_sig(int16_t x[], int16_t n, int16_t exp);
void stock_Scale_sig(int16_t x[], int16_t n, int16_t exp);

/**
 * Autocorrelation of 384 samples under the library's window, lags 0 to 16,
 * normalised: @high the upper 16 bits, @low 15 more. @m is ignored.
 */
void voAWB_Autocorr(int16_t x[], int16_t m, int16_t high[], int16_t low[]);
void stock_voAWB_Autocorr(int16_t x[], int16_t m, int16_t high[],
			  int16_t low[]);

/**
 * The lag of the adaptive codebook.
 * @exc: excitation of the subframe, with the past before it. @x: target. @h:
 * impulse response, Q15. @first, @last: lags to search. @subframe: 0 in the
 * first or third; only there lags from @half on have halves of a sample and
 * those from @whole on no fraction. Returns the whole lag; @fraction gets the
 * quarters of a sample to add.
 */
int16_t Pitch_fr4(int16_t exc[], int16_t x[], int16_t h[], int16_t first,
		  int16_t last, int16_t *fraction, int16_t subframe,
		  int16_t half, int16_t whole, int16_t n);
int16_t stock_Pitch_fr4(int16_t exc[], int16_t x[], int16_t h[], int16_t first,
			int16_t last, int16_t *fraction, int16_t subframe,
			int16_t half, int16_t whole, int16_t n);

/**
 * The open-loop lag of @n samples of @speech, weighted and at half the rate, at
 * least 115 before them. @state: the encoder's; its gain is set.
 */
int16_t Pitch_med_ol(int16_t speech[], void *state, int16_t n);
int16_t stock_Pitch_med_ol(int16_t speech[], void *state, int16_t n);

/** Fill @exc[@n] with the past at a lag of @lag + @fraction / 4 samples. */
void voAWB_Pred_lt4(int16_t exc[], int16_t lag, int16_t fraction, int16_t n);
void stock_voAWB_Pred_lt4(int16_t exc[], int16_t lag, int16_t fraction,
			  int16_t n);

/**
 * Search the algebraic codebook.
 * @dn: target through the impulse response, by the call's end times the signs.
 * @cn: residual after the adaptive codebook. @h: impulse response, Q12. @code:
 * the pulses, Q9; @y: these through @h. @bits: of the codebook in a subframe,
 * 20 to 88. @frame_bits: of the whole frame. @index: what is sent.
 */
void ACELP_4t64_fx(int16_t dn[], int16_t cn[], int16_t h[], int16_t code[],
		   int16_t y[], int16_t bits, int16_t frame_bits,
		   int16_t index[]);
void stock_ACELP_4t64_fx(int16_t dn[], int16_t cn[], int16_t h[],
			 int16_t code[], int16_t y[], int16_t bits,
			 int16_t frame_bits, int16_t index[]);

/** The same for two pulses in two tracks, 12 bits in *@index. */
void ACELP_2t64_fx(int16_t dn[], int16_t cn[], int16_t h[], int16_t code[],
		   int16_t y[], int16_t *index);
void stock_ACELP_2t64_fx(int16_t dn[], int16_t cn[], int16_t h[],
			 int16_t code[], int16_t y[], int16_t *index);

/** 1 + 2 * <a, b>, normalised; @exponent gets 30 less the left shifts. */
int32_t voAWB_Dot_product12(int16_t a[], int16_t b[], int16_t n,
			    int16_t *exponent);
int32_t stock_voAWB_Dot_product12(int16_t a[], int16_t b[], int16_t n,
				  int16_t *exponent);

/** x2 = x - @gain * y, @gain in Q14; clipped. @x2 may be @x. */
void Updt_tar(int16_t x[], int16_t x2[], int16_t y[], int16_t gain, int16_t n);
void stock_Updt_tar(int16_t x[], int16_t x2[], int16_t y[], int16_t gain,
		    int16_t n);

/** y = x, from the first sample on. */
void voAWB_Copy(const int16_t x[], int16_t y[], int16_t n);
void stock_voAWB_Copy(const int16_t x[], int16_t y[], int16_t n);

/**
 * From 16 to 12.8 kHz: @in[@n] to @out[4 n / 5]. @mem: the 30 samples before
 * @in, then the last ones of @in.
 */
void Decim_12k8(int16_t in[], int16_t n, int16_t out[], int16_t mem[]);
void stock_Decim_12k8(int16_t in[], int16_t n, int16_t out[], int16_t mem[]);

/**
 * Immittance spectral pairs @isp[16] of the predictor @a[17], Q12; @old where
 * not all are found.
 */
void Az_isp(int16_t a[], int16_t isp[], int16_t old[]);
void stock_Az_isp(int16_t a[], int16_t isp[], int16_t old[]);

/**
 * Quantise immittance spectral frequencies with 46 or 36 bits.
 * @isf: [16]; @isf_q: quantised, may be @isf. @past: what was left of the frame
 * before, then of this one. @index: [7] or [5]. @survivors: of the first stage.
 */
void Qpisf_2s_46b(int16_t isf[], int16_t isf_q[], int16_t past[],
		  int16_t index[], int16_t survivors);
void stock_Qpisf_2s_46b(int16_t isf[], int16_t isf_q[], int16_t past[],
			int16_t index[], int16_t survivors);
void Qpisf_2s_36b(int16_t isf[], int16_t isf_q[], int16_t past[],
		  int16_t index[], int16_t survivors);
void stock_Qpisf_2s_36b(int16_t isf[], int16_t isf_q[], int16_t past[],
			int16_t index[], int16_t survivors);

/* Parts of the library that kernels use. */

/** The window of the LPC analysis, Q15. */
extern const int16_t vo_window[384];

/** Weights of open-loop lags, Q15. */
extern const int16_t stock_corrweight[199];

/** Where polynomials are looked at for roots, from 1 to -1. */
extern const int16_t vogrid[101];

/** The filter of 6 to 7 kHz, symmetric. */
extern const int16_t voAWB_fir_6k_7k[31];

/** High-pass filter of weighted speech. */
void Hp_wsp(int16_t in[], int16_t out[], int16_t n, int16_t mem[]);

/** Phases of the filter from 16 to 12.8 kHz, Q14. */
extern const int16_t stock_fir_down1[4][30];

/** Filters for a quarter of a sample, Q14. Row 3 - f is for f quarters. */
extern const int16_t stock_inter4_1[4][8];
extern const int16_t voAWB_inter4_2[4][32];

/** Mean of the spectral frequencies, and codebooks by rows: of frequencies 0-8
 * and 9-15, and of pieces of what is left of these. */
extern const int16_t stock_mean_isf[16];
extern const int16_t stock_dico1_isf[], stock_dico2_isf[];
extern const int16_t stock_dico21_isf[], stock_dico22_isf[], stock_dico23_isf[],
	stock_dico24_isf[], stock_dico25_isf[];
extern const int16_t stock_dico21_isf_36b[], stock_dico22_isf_36b[],
	stock_dico23_isf_36b[];

/** The frequencies of indices; @isfold and @buffer matter to lost frames only
 * (@bad). */
void voAWB_Dpisf_2s_46b(int16_t index[], int16_t isf_q[], int16_t past[],
			int16_t isfold[], int16_t buffer[], int16_t bad,
			int16_t decoding);
void voAWB_Dpisf_2s_36b(int16_t index[], int16_t isf_q[], int16_t past[],
			int16_t isfold[], int16_t buffer[], int16_t bad,
			int16_t decoding);

/** *fraction * 2^*exponent becomes its inverse square root. */
void Isqrt_n(int32_t *fraction, int16_t *exponent);

/** Indices of a track's pulses: 0-15 positive, 16-31 negative. @n: 4. */
int32_t quant_1p_N1(int16_t a, int16_t n);
int32_t quant_2p_2N1(int16_t a, int16_t b, int16_t n);
int32_t quant_3p_3N1(int16_t a, int16_t b, int16_t c, int16_t n);
int32_t quant_4p_4N(int16_t pulses[], int16_t n);
int32_t quant_5p_5N(int16_t pulses[], int16_t n);
int32_t quant_6p_6N_2(int16_t pulses[], int16_t n);

#endif
