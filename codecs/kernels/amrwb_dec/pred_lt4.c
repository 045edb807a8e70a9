/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pred_lt4: the adaptive codebook's excitation; excitation.h has the
 * arithmetic. The result wraps: unlike in the encoder's library nothing is
 * clipped. Exact in blocks. Lags that are too short for them, which no stream
 * has, and lengths other than 16 n and 16 n + 1, are the library's.
 */
#include "codecs/kernels/amrwb_dec.h"
#include "codecs/kernels/excitation.h"

AVX2 static void wbd_pred_lt4_avx2(int16_t exc[], int lag, const int16_t w[],
				   int n)
{
	const int16_t *from = exc - lag - EXC_BEHIND;
	int i = 0;

	for (; i + EXC_BLOCK <= n; i += EXC_BLOCK)
		store256(exc + i,
			 fir_round(exc_sum_block(w, from + i), EXC_SHIFT));
	if (i < n) {
		int32_t sum = exc_sum_one(w, from + i);

		sum = add_wrapped(sum, 1 << (EXC_SHIFT - 1));
		exc[i] = (int16_t)(sum >> EXC_SHIFT);
	}
}

void Pred_lt4(int16_t exc[], int16_t lag, int16_t fraction, int16_t n)
{
	struct exc_lag at = exc_lag(lag, fraction);

	if (!cr_kernels_fast || !exc_is_fraction(fraction) ||
	    at.back < EXC_SHORTEST || n < 0 || n % EXC_BLOCK > 1) {
		stock_Pred_lt4(exc, lag, fraction, n);
		return;
	}
	wbd_pred_lt4_avx2(exc, at.back, inter4_2[at.row], n);
}
