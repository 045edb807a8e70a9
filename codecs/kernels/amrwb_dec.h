/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of libopencore-amrwb that we replace, with the library's own
 * under the name stock_S. The prototypes are the library's: 3GPP TS 26.173
 * describes what each computes, its file here how.
 */
#ifndef CODECS_KERNELS_AMRWB_DEC_H
#define CODECS_KERNELS_AMRWB_DEC_H

#include <stdint.h>

/** Fill @exc[@n] with the past at a lag of @lag + @fraction / 4 samples. */
void Pred_lt4(int16_t exc[], int16_t lag, int16_t fraction, int16_t n);
void stock_Pred_lt4(int16_t exc[], int16_t lag, int16_t fraction, int16_t n);

/**
 * Filter @signal[@n] to 6-7 kHz. @mem: the 30 samples before, by 4. @x[@n + 30]
 * gets these and those of @signal, by 4.
 */
void band_pass_6k_7k(int16_t signal[], int16_t n, int16_t mem[], int16_t x[]);
void stock_band_pass_6k_7k(int16_t signal[], int16_t n, int16_t mem[],
			   int16_t x[]);

/* Parts of the library that kernels use. */

/** Filters for a quarter of a sample, by row, Q14. */
extern const int16_t inter4_2[4][32];

/** The filter of 6 to 7 kHz, symmetric; its last tap is the first. */
extern const int16_t fir_6k_7k[30];

#endif
