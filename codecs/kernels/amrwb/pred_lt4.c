/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Pred_lt4: the adaptive codebook's excitation; excitation.h has the
 * arithmetic. The library shifts the sum left by 2 and rounds it to its upper
 * 16, both saturating, which clips the result. Blocks where the lag allows
 * them, else single samples: exact for all inputs.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/basic_ops.h"
#include "codecs/kernels/excitation.h"

AVX2 static void wb_pred_lt4_avx2(int16_t exc[], int lag, const int16_t w[],
				  int n)
{
	const int16_t *from = exc - lag - EXC_BEHIND;
	int i = 0;

	if (lag >= EXC_SHORTEST)
		for (; i + EXC_BLOCK <= n; i += EXC_BLOCK) {
			struct fir_sums s = exc_sum_block(w, from + i);

			s = fir_limit(s, EXC_SHIFT);
			store256(exc + i, fir_round(s, EXC_SHIFT));
		}
	for (; i < n; i++)
		exc[i] = round_q14(exc_sum_one(w, from + i));
}

void voAWB_Pred_lt4(int16_t exc[], int16_t lag, int16_t fraction, int16_t n)
{
	struct exc_lag at = exc_lag(lag, fraction);

	if (!cr_kernels_fast || !exc_is_fraction(fraction)) {
		stock_voAWB_Pred_lt4(exc, lag, fraction, n);
		return;
	}
	wb_pred_lt4_avx2(exc, at.back, voAWB_inter4_2[at.row], n);
}
