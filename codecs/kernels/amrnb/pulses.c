/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pitch sharpening and the filtered code vector, as the code_* functions of the
 * library do them sample by sample with its saturating add_16, mult, L_mac and
 * pv_round. Saturation is one lane's matter: exact for all inputs but those
 * that pulses_can_sharpen() refuses.
 */
#include "codecs/kernels/amrnb/pulses.h"

#include "codecs/kernels/amrnb/basic_ops.h"

/* 16 samples at a time: a lag of 16 or more looks only at what is done. */
AVX2 void pulses_sharpen(int16_t v[SUBFRAME], int lag, int16_t gain,
			 int32_t *overflow)
{
	const __m256i factor = _mm256_set1_epi16(gain);
	int16_t work[SUBFRAME + 16] = { 0 };
	__m256i clipped = _mm256_setzero_si256();

	memcpy(work, v, SUBFRAME * sizeof(*v));
	for (int i = lag; i < SUBFRAME; i += 16) {
		__m256i now = load256(work + i);
		__m256i before = load256(work + i - lag);
		__m256i more = multiply_q15(before, factor);
		__m256i sum = _mm256_adds_epi16(now, more);
		__m256i wrapped = _mm256_add_epi16(now, more);

		/* behind the end there are zeros, which saturate nothing */
		clipped = _mm256_or_si256(clipped,
					  _mm256_xor_si256(sum, wrapped));
		store256(work + i, sum);
	}
	memcpy(v, work, SUBFRAME * sizeof(*v));
	raise_overflow(clipped, overflow);
}

AVX2 void pulses_filter(const struct pulses *pulses, const int16_t h[],
			int16_t y[SUBFRAME], int32_t *overflow)
{
	__m256i clipped = _mm256_setzero_si256();

	for (int i = 0; i < SUBFRAME; i += 8) {
		__m256i sum = _mm256_setzero_si256();

		for (int k = 0; k < pulses->n; k++) {
			__m256i v = _mm256_cvtepu16_epi32(
				load128(h - pulses->position[k] + i));
			__m256i factor = _mm256_set1_epi16(pulses->sign[k]);

			sum = mac_saturated(sum, _mm256_madd_epi16(v, factor),
					    &clipped);
		}
		store128(y + i, pack_lanes(round_saturated(sum, &clipped)));
	}
	raise_overflow(clipped, overflow);
}
