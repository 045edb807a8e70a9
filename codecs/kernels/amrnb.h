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

#endif
