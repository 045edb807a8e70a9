/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both open-loop pitch searches do this: scale the signal, so that its
 * correlations fit, and find a peak of them.
 */
#ifndef CODECS_KERNELS_AMRNB_OPEN_LOOP_H
#define CODECS_KERNELS_AMRNB_OPEN_LOOP_H

#include "codecs/kernels/kernel.h"

enum {
	OPEN_LOOP_MAX = 160, /* samples */
	OPEN_LOOP_LAG_MAX = 143,
	OPEN_LOOP_SHIFT = 3,	   /* bits up or down */
	OPEN_LOOP_SMALL = 0xfffff, /* energy up to which it is scaled up */
};

/** A search: of n samples, the past before them; their correlations. */
struct open_loop {
	int16_t past[OPEN_LOOP_LAG_MAX + OPEN_LOOP_MAX];
	int16_t *signal;
	int n;
	int scale; /* bits that it was shifted right */
	int32_t corr[OPEN_LOOP_LAG_MAX + 1 + 8];
	int32_t *corr_at; /* of lag 0 */
};

/** Half the energy of @n numbers, exact. */
AVX2_INLINE uint64_t half_energy(const int16_t *p, int n)
{
	const __m256i low = _mm256_set1_epi64x(0xffffffff);
	__m256i sums = _mm256_setzero_si256();
	uint64_t part[4], rest = 0;
	int i = 0;

	for (; i + 16 <= n; i += 16) {
		__m256i v = load256(p + i);
		__m256i square = _mm256_madd_epi16(v, v);

		sums = _mm256_add_epi64(sums, _mm256_and_si256(square, low));
		sums = _mm256_add_epi64(sums, _mm256_srli_epi64(square, 32));
	}
	for (; i < n; i++)
		rest += (uint64_t)(p[i] * p[i]);
	store256(part, sums);
	return part[0] + part[1] + part[2] + part[3] + rest;
}

/** Copies the signal, with @lag_max samples of its past, and scales it: as
 * Pitch_ol, which looks at the sign of each sum, and so misses no overflow. */
AVX2 static inline void open_loop_load_signal(struct open_loop *s,
					      const int16_t *signal,
					      int lag_max)
{
	int all = lag_max + s->n;
	uint64_t half = half_energy(signal - lag_max, all);

	s->signal = s->past + lag_max;
	memcpy(s->past, signal - lag_max, (size_t)all * sizeof(*signal));
	if (half >= UINT64_C(1) << 30) {
		s->scale = OPEN_LOOP_SHIFT;
		for (int i = 0; i < all; i++)
			s->past[i] = (int16_t)(s->past[i] >> OPEN_LOOP_SHIFT);
	} else if (2 * half <= OPEN_LOOP_SMALL) {
		s->scale = -OPEN_LOOP_SHIFT;
		for (int i = 0; i < all; i++)
			s->past[i] =
				(int16_t)(s->past[i] * (1 << OPEN_LOOP_SHIFT));
	}
}

/** The lowest lag of the highest correlation of lags @last to @first, eight at
 * least; the highest to @max. */
AVX2 static inline int find_peak(const struct open_loop *s, int first, int last,
				 int32_t *max)
{
	const int32_t *begin = s->corr_at - first;
	const int32_t *end = s->corr_at - last + 1;
	__m256i peak = load256(end - 8);
	int32_t lanes[8];
	const int32_t *p;

	for (p = begin; p + 8 < end; p += 8)
		peak = _mm256_max_epi32(peak, load256(p));
	store256(lanes, peak);
	*max = lanes[0];
	for (int i = 1; i < 8; i++)
		*max = lanes[i] > *max ? lanes[i] : *max;
	for (p = end - 1; *p != *max; p--)
		;
	return (int)(s->corr_at - p);
}

#endif
