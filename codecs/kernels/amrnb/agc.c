/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agc and agc2: the gain control of the decoder's post filter, and of its
 * excitation. A signal is scaled so that its energy becomes that of another:
 *
 *	E(x) = (2 sum of x(n)^2) >> 4; if the sum does not fit in 31 bits,
 *	       2 sum of (x(n) >> 2)^2
 *	g = sqrt(E(in) / E(out)) in Q12, by div_s and Inv_sqrt of mantissas
 *
 * agc2 multiplies all samples by g, limited. agc lets the gain follow,
 *
 *	gain(n) = (gain(n - 1) f >> 15) + (g (1 - f) >> 15)
 *	out(n) = out(n) gain(n) >> 12, the lower 16 bits
 *
 * Sums and products are exact, *overflow is noted where rounding limits. The
 * first sum is walked as the library's if it does not fit, as that misses some
 * overflows (mac() in basic_ops.h). If the second does not fit either, it is
 * the library's; it misses none, as it would take squares of 2^29.
 *
 * Valid: a multiple of 8 samples up to 160, energies that fit. Else the
 * library's own.
 */
#include "codecs/kernels/amrnb.h"
#include "codecs/kernels/amrnb/arith.h"
#include "codecs/kernels/amrnb/basic_ops.h"
#include "codecs/kernels/amrnb/inv_sqrt.h"

enum {
	N_MAX = 160,
	LANES = 8,
};

/* Sum of squares of x >> shift, exact. */
AVX2_INLINE uint64_t sum_squares(const int16_t x[], int n, int shift)
{
	const __m128i low = _mm_set1_epi64x(0xffffffff);
	__m128i sums = _mm_setzero_si128();
	uint64_t part[2];

	for (int i = 0; i < n; i += LANES) {
		__m128i v = _mm_srai_epi16(load128(x + i), shift);
		__m128i square = _mm_madd_epi16(v, v);

		sums = _mm_add_epi64(sums, _mm_and_si128(square, low));
		sums = _mm_add_epi64(sums, _mm_srli_epi64(square, 32));
	}
	store128(part, sums);
	return part[0] + part[1];
}

/* E(x), or less than 0 if it is the library's. */
AVX2 static int32_t energy_of(const int16_t x[], int n)
{
	uint64_t half = sum_squares(x, n, 0);
	int32_t sum, ignored = 0; /* the library takes the flag back */

	if (half < 1 << 30)
		return (int32_t)(2 * half >> 4);
	sum = mac_squares(0, x, n, &ignored);
	if (sum != INT32_MAX)
		return sum >> 4;
	half = sum_squares(x, n, 2);
	return half < 1 << 30 ? (int32_t)(2 * half) : -1;
}

/* v >> bits, or << if negative and limited, for v >= 0. */
static inline int32_t shift_right_agc(int32_t v, int bits)
{
	int32_t shifted;

	if (bits > 0)
		return bits < 31 ? v >> bits : 0;
	/* 0 or more: NOLINTNEXTLINE(clang-analyzer-core.BitwiseShift) */
	shifted = (int32_t)((uint32_t)v << -bits);
	return shifted >> -bits == v ? shifted : INT32_MAX;
}

/* sqrt(@in / @out) in Q21, of two energies. */
static int32_t root_of_ratio(int32_t in, int32_t out, int32_t *overflow)
{
	int out_norm = leading_shifts(out) - 1;
	int in_norm = leading_shifts(in);
	int16_t out_mantissa, in_mantissa;
	int32_t ratio;

	if (in == 0)
		return 0;
	out_mantissa = round_upper(shift_right_agc(out, -out_norm), overflow);
	in_mantissa = round_upper(in << in_norm, overflow);
	ratio = quotient(out_mantissa, in_mantissa) * 128;
	return inverse_root(shift_right_agc(ratio, out_norm - in_norm));
}

AVX2 static void follow_gain(int16_t *gain, int32_t target, int16_t factor,
			     int16_t x[], int n)
{
	int16_t gains[N_MAX];
	int16_t g = *gain;

	for (int i = 0; i < n; i++) {
		g = (int16_t)((g * factor >> 15) + target);
		gains[i] = g;
	}
	for (int i = 0; i < n; i += LANES)
		store128(x + i, multiply_shift128(load128(x + i),
						  load128(gains + i), 12));
	*gain = g;
}

/* x = x gain >> 12, limited. */
AVX2 static void apply_gain(int16_t gain, int16_t x[], int n)
{
	__m256i factor = _mm256_set1_epi32(gain);

	for (int i = 0; i < n; i += LANES) {
		__m256i v = _mm256_cvtepi16_epi32(load128(x + i));

		v = _mm256_srai_epi32(_mm256_mullo_epi32(v, factor), 12);
		store128(x + i, pack_lanes(v));
	}
}

static bool is_valid_agc(int n)
{
	return cr_kernels_fast && n > 0 && n <= N_MAX && n % LANES == 0;
}

void agc(int16_t *gain, int16_t in[], int16_t out[], int16_t factor, int16_t n,
	 int32_t *overflow)
{
	int32_t in_energy = -1, out_energy = -1, root;
	int16_t wanted;

	if (is_valid_agc(n)) {
		out_energy = energy_of(out, n);
		in_energy = energy_of(in, n);
	}
	if (out_energy == 0) {
		*gain = 0;
	} else if (out_energy < 0 || in_energy < 0) {
		stock_agc(gain, in, out, factor, n, overflow);
	} else {
		root = root_of_ratio(in_energy, out_energy, overflow);
		wanted = (int16_t)(((int32_t)((uint32_t)root << 9) + 0x8000) >>
				   16);
		follow_gain(gain, wanted * (int16_t)(INT16_MAX - factor) >> 15,
			    factor, out, n);
	}
}

void agc2(int16_t in[], int16_t out[], int16_t n, int32_t *overflow)
{
	int32_t in_energy = -1, out_energy = -1, root;

	if (is_valid_agc(n)) {
		out_energy = energy_of(out, n);
		in_energy = energy_of(in, n);
	}
	if (out_energy == 0)
		return;
	if (out_energy < 0 || in_energy < 0) {
		stock_agc2(in, out, n, overflow);
		return;
	}
	root = root_of_ratio(in_energy, out_energy, overflow);
	apply_gain(round_upper(shift_right_agc(root, -9), overflow), out, n);
}
