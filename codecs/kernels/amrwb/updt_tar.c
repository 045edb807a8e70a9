/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updt_tar: a target less a gain (Q14) times a vector,
 *
 *     t     = (x[i] << 15) - 2 * y[i] * gain,    wrapped at 32 bits,
 *     x2[i] = t >> 15, clipped,
 *
 * where the library shifts t left by one, saturating, and takes the upper 16.
 * madd gives t / 2, which always fits. A gain of -32768, whose negative does
 * not, lengths that are no multiple of 16, and x2 that overlaps later samples
 * (it may be x) are the library's.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/basic_ops.h"

enum { BLOCK = 16 };

AVX2_INLINE __m256i half_block(__m256i pairs, __m256i weights)
{
	__m256i t = _mm256_slli_epi32(_mm256_madd_epi16(pairs, weights), 1);

	return _mm256_srai_epi32(t, 15);
}

AVX2 static void updt_tar_avx2(const int16_t x[], int16_t x2[],
			       const int16_t y[], int16_t gain, int n)
{
	__m256i weights = _mm256_set1_epi32(pack_pair(1 << 14, (int16_t)-gain));

	for (int i = 0; i < n; i += BLOCK) {
		__m256i a = load256(x + i), b = load256(y + i);
		__m256i low = _mm256_unpacklo_epi16(a, b);
		__m256i high = _mm256_unpackhi_epi16(a, b);

		store256(x2 + i, _mm256_packs_epi32(half_block(low, weights),
						    half_block(high, weights)));
	}
}

void Updt_tar(int16_t x[], int16_t x2[], int16_t y[], int16_t gain, int16_t n)
{
	if (!cr_kernels_fast || n <= 0 || n % BLOCK || gain == INT16_MIN ||
	    overtakes(x2, x, n) || overtakes(x2, y, n)) {
		stock_Updt_tar(x, x2, y, gain, n);
		return;
	}
	updt_tar_avx2(x, x2, y, gain, n);
}
