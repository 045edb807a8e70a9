/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference that gives the pulses of an algebraic codebook their signs and
 * order: the residual cn and the target dn, each brought to a common energy,
 *
 *     dn2[i] = (cn[i] * k_cn + dn[i] * k_dn) >> 7,
 *
 * k = 2^n / sqrt(2 * energy + 1), k_dn weighted besides. Exact for all inputs;
 * where k_dn overflows the library's rounding wraps, where k_cn does depends on
 * the codebook.
 */
#include "codecs/kernels/amrwb.h"
#include "codecs/kernels/amrwb/acelp.h"
#include "codecs/kernels/amrwb/basic_ops.h"

/* v * 2^n, saturating; n <= 0 shifts right. The library's L_shl. */
static int32_t shift_saturated_acelp_reference(int32_t v, int n)
{
	int64_t wide;

	if (n <= 0)
		return v >> (n < -31 ? 31 : -n);
	wide = (int64_t)v * (INT64_C(1) << (n > 31 ? 31 : n));
	if (wide > INT32_MAX)
		return INT32_MAX;
	return wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}

/* 2^n / sqrt of the energy of @v, as a 32-bit fraction. */
static int32_t inverse_norm(int16_t v[], int n)
{
	int16_t exponent;
	int32_t s = voAWB_Dot_product12(v, v, ACELP_POSITIONS, &exponent);

	Isqrt_n(&s, &exponent);
	return shift_saturated_acelp_reference(s, (int16_t)(exponent + n));
}

AVX2 void acelp_reference(int16_t cn[], int16_t dn[], int16_t weight,
			  int16_t overflow, int16_t dn2[])
{
	int32_t k_cn = round_limited(inverse_norm(cn, 5), overflow);
	int32_t k_dn = wb_round_wrapped(inverse_norm(dn, 8));
	__m256i k, low_half = _mm256_set1_epi32(0xffff);

	k_dn = wb_round_wrapped(k_dn * weight * 2);
	k = _mm256_set1_epi32(pack_pair((int16_t)k_cn, (int16_t)k_dn));
	for (int i = 0; i < ACELP_POSITIONS; i += 16) {
		__m256i a = load256(cn + i), b = load256(dn + i);
		__m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), k);
		__m256i high =
			_mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), k);

		low = _mm256_and_si256(_mm256_srai_epi32(low, 7), low_half);
		high = _mm256_and_si256(_mm256_srai_epi32(high, 7), low_half);
		store256(dn2 + i, _mm256_packus_epi32(low, high));
	}
}
