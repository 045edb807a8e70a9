/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of kernels: the AVX2 attribute, loads and stores, and pairs of
 * 16-bit numbers in a 32-bit lane, which is how madd(a, b) takes its operands:
 * each lane becomes a.low * b.low + a.high * b.high.
 *
 * The libraries' sums wrap at 32 bits here and there (undefined in their
 * source, settled by the compiler that built them): so do these.
 */
#ifndef CODECS_KERNELS_KERNEL_H
#define CODECS_KERNELS_KERNEL_H

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Functions that only a CPU with AVX2 may enter. The folder is compiled for
 * any x86-64, so a kernel's own entry must look at cr_kernels_fast first. */
#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt")))

/** Helpers that must melt into their AVX2 caller also without optimisation. */
#define AVX2_INLINE AVX2 static inline __attribute__((always_inline))

/** Ours are in use. Set before threads start; kernels.c. */
extern bool cr_kernels_fast;

/** 16 int16_t, or 8 int32_t, from any address. */
AVX2_INLINE __m256i load256(const void *p)
{
	return _mm256_loadu_si256(p);
}

/** 8 int16_t, or 4 int32_t. */
AVX2_INLINE __m128i load128(const void *p)
{
	return _mm_loadu_si128(p);
}

AVX2_INLINE void store256(void *p, __m256i v)
{
	_mm256_storeu_si256(p, v);
}

AVX2_INLINE void store128(void *p, __m128i v)
{
	_mm_storeu_si128(p, v);
}

/** The lane that holds @low and @high. */
static inline int32_t pack_pair(int16_t low, int16_t high)
{
	return (int32_t)((uint32_t)(uint16_t)high << 16 | (uint16_t)low);
}

/** The lane that holds p[0] (low) and p[1]. */
static inline int32_t load_pair(const int16_t *p)
{
	int32_t lane;

	memcpy(&lane, p, sizeof(lane));
	return lane;
}

/** Sum of the 4 lanes, wrapped. */
AVX2_INLINE int32_t sum_lanes128(__m128i v)
{
	v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4e));
	v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0xb1));
	return _mm_cvtsi128_si32(v);
}

/** Sum of the 8 lanes, wrapped. */
AVX2_INLINE int32_t sum_lanes256(__m256i v)
{
	return sum_lanes128(_mm_add_epi32(_mm256_castsi256_si128(v),
					  _mm256_extracti128_si256(v, 1)));
}

/** Numbers of @a and @b by turns, a first: 8 pairs. */
AVX2_INLINE __m256i interleave(__m128i a, __m128i b)
{
	return _mm256_set_m128i(_mm_unpackhi_epi16(a, b),
				_mm_unpacklo_epi16(a, b));
}

/** 8 lanes in 16 bits: clipped, if they are not 16-bit numbers. */
AVX2_INLINE __m128i pack_lanes(__m256i v)
{
	return _mm_packs_epi32(_mm256_castsi256_si128(v),
			       _mm256_extracti128_si256(v, 1));
}

/** 16-bit lanes: the lower 16 bits of a * b >> shift, for 0 < shift < 16. */
AVX2_INLINE __m256i multiply_shift256(__m256i a, __m256i b, int shift)
{
	__m256i high = _mm256_slli_epi16(_mm256_mulhi_epi16(a, b), 16 - shift);
	__m256i low = _mm256_srli_epi16(_mm256_mullo_epi16(a, b), shift);

	return _mm256_or_si256(high, low);
}

/** The same of 8 lanes. */
AVX2_INLINE __m128i multiply_shift128(__m128i a, __m128i b, int shift)
{
	__m128i high = _mm_slli_epi16(_mm_mulhi_epi16(a, b), 16 - shift);
	__m128i low = _mm_srli_epi16(_mm_mullo_epi16(a, b), shift);

	return _mm_or_si128(high, low);
}

/** 16-bit lanes: a * b >> 15, which is the standard's mult() but for -1 * -1:
 * that becomes -1, where the standard limits it to INT16_MAX. */
AVX2_INLINE __m256i multiply_q15(__m256i a, __m256i b)
{
	return multiply_shift256(a, b, 15);
}

/** Do a[na] and b[nb] share numbers? They may be of different objects, whose
 * pointers C does not let us compare. */
static inline bool overlaps(const int16_t *a, int na, const int16_t *b, int nb)
{
	uintptr_t first = (uintptr_t)a, second = (uintptr_t)b;

	return first < second + sizeof(*b) * (size_t)nb &&
	       second < first + sizeof(*a) * (size_t)na;
}

/** a + b, wrapped. */
static inline int32_t add_wrapped(int32_t a, int32_t b)
{
	return (int32_t)((uint32_t)a + (uint32_t)b);
}

/** a - b, wrapped. */
static inline int32_t sub_wrapped(int32_t a, int32_t b)
{
	return (int32_t)((uint32_t)a - (uint32_t)b);
}

/**
 * Left shifts that bring @v to [2^30, 2^31) in magnitude, 0 for 0: norm_l of
 * AMR-NB as it is in the binary. That takes the magnitude of a negative number,
 * where the standard takes the complement, and gives 0 for INT32_MIN.
 */
static inline int leading_shifts(int32_t v)
{
	uint32_t magnitude = v < 0 ? 0u - (uint32_t)v : (uint32_t)v;

	if (!magnitude || magnitude >> 31)
		return 0;
	return __builtin_clz(magnitude) - 1;
}

#endif
