/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pred_lt4: the adaptive codebook's excitation, past excitation at a lag of
 * @lag + fraction / 4 samples,
 *
 *     exc[i] = (0x2000 + sum over k = 0..31 of w[k] * exc[i - lag - 15 + k]) >>
 * 14,
 *
 * w being a row of the library's filter, and sum and result wrapped: unlike in
 * the encoder's library nothing is clipped. 16 outputs are computed at once,
 * which is exact where all their inputs lie before them, as from a lag of 32
 * on. Shorter lags, which no stream has, and lengths other than 16 n and 16 n +
 * 1, are the library's.
 */
#include "codecs/kernels/amrwb/fir.h"
#include "codecs/kernels/amrwb_dec.h"

enum {
	TAPS = 32,
	BEHIND = 15, /* taps before the sample at the lag */
	BLOCK = 16,
	STEPS = 4, /* of a sample */
	SHIFT = 14,
	SHORTEST = TAPS - BEHIND + BLOCK - 1, /* lag that blocks can have */
};

AVX2_INLINE void predict_block(const int16_t w[TAPS], const int16_t *from,
			       int16_t *to)
{
	struct fir_sums s = { _mm256_setzero_si256(), _mm256_setzero_si256() };

	for (int k = 0; k < TAPS; k += 2)
		fir_add(&s, _mm256_set1_epi32(load_pair(w + k)), from + k);
	store256(to, fir_round(s, SHIFT));
}

AVX2_INLINE int16_t predict_one(const int16_t w[TAPS], const int16_t *from)
{
	__m256i s = _mm256_madd_epi16(load256(w), load256(from));
	__m256i t = _mm256_madd_epi16(load256(w + 16), load256(from + 16));
	int32_t sum = sum_lanes256(_mm256_add_epi32(s, t));

	return (int16_t)(add_wrapped(sum, 1 << (SHIFT - 1)) >> SHIFT);
}

AVX2 static void pred_lt4_avx2(int16_t exc[], int lag, const int16_t w[TAPS],
			       int n)
{
	const int16_t *from = exc - lag - BEHIND;
	int i = 0;

	for (; i + BLOCK <= n; i += BLOCK)
		predict_block(w, from + i, exc + i);
	if (i < n)
		exc[i] = predict_one(w, from + i);
}

void Pred_lt4(int16_t exc[], int16_t lag, int16_t fraction, int16_t n)
{
	int row = fraction > 0 ? fraction - 1 : fraction + STEPS - 1;
	int back = fraction > 0 ? lag + 1 : lag;

	if (!cr_kernels_fast || fraction <= -STEPS || fraction >= STEPS ||
	    back < SHORTEST || n < 0 || n % BLOCK > 1) {
		stock_Pred_lt4(exc, lag, fraction, n);
		return;
	}
	pred_lt4_avx2(exc, back, inter4_2[row], n);
}
