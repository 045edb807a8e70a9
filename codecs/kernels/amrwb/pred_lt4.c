/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voAWB_Pred_lt4: the adaptive codebook's excitation, past excitation at a lag
 * of @lag + fraction / 4 samples,
 *
 *     exc[i] = round(sum over k = 0..31 of w[k] * exc[i - lag - 15 + k]),
 *
 * w being a row of the library's filter. The sum wraps at 32 bits, is shifted
 * left by 2 and rounded to its upper 16, both saturating: (sum + 0x2000) >> 14,
 * clipped.
 *
 * Outputs are inputs of later ones where the lag is short: an output needs
 * samples up to 16 - lag before it. A block of 16 is computed at once where
 * all its inputs lie before it; else single samples are.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/basic_ops.h"
#include "codecs/kernels/amrwb/fir.h"

enum {
	TAPS = 32,
	BEHIND = 15, /* taps before the sample at the lag */
	BLOCK = 16,
	STEPS = 4, /* of a sample */
	SHIFT = 14,
};

AVX2_INLINE void predict_block(const int16_t w[TAPS], const int16_t *from,
			       int16_t *to)
{
	struct fir_sums s = { _mm256_setzero_si256(), _mm256_setzero_si256() };

	for (int k = 0; k < TAPS; k += 2)
		fir_add(&s, _mm256_set1_epi32(load_pair(w + k)), from + k);
	store256(to, fir_round(fir_limit(s, SHIFT), SHIFT));
}

AVX2_INLINE int16_t predict_one(const int16_t w[TAPS], const int16_t *from)
{
	__m256i s = _mm256_madd_epi16(load256(w), load256(from));
	__m256i t = _mm256_madd_epi16(load256(w + 16), load256(from + 16));

	return round_q14(sum_lanes256(_mm256_add_epi32(s, t)));
}

AVX2 static void pred_lt4_avx2(int16_t exc[], int lag, const int16_t w[TAPS],
			       int n)
{
	bool blocks = lag >= TAPS - BEHIND + BLOCK - 1;
	const int16_t *from = exc - lag - BEHIND;
	int i = 0;

	for (; blocks && i + BLOCK <= n; i += BLOCK)
		predict_block(w, from + i, exc + i);
	for (; i < n; i++)
		exc[i] = predict_one(w, from + i);
}

void voAWB_Pred_lt4(int16_t exc[], int16_t lag, int16_t fraction, int16_t n)
{
	int row = fraction > 0 ? fraction - 1 : fraction + STEPS - 1;
	int back = fraction > 0 ? lag + 1 : lag;

	if (!cr_kernels_fast || fraction <= -STEPS || fraction >= STEPS) {
		stock_voAWB_Pred_lt4(exc, lag, fraction, n);
		return;
	}
	pred_lt4_avx2(exc, back, voAWB_inter4_2[row], n);
}
