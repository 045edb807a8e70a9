/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs for kernels: random numbers of all sizes, and those where sums
 * overflow, clip, or vanish.
 */
#ifndef TESTS_UNIT_CODECS_KERNELS_NUMBERS_H
#define TESTS_UNIT_CODECS_KERNELS_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "seed.h"

/** INT16_MIN, INT16_MAX, their neighbours, 0, 1 or -1. */
static inline int16_t extreme_int16(uint64_t *seed)
{
	static const int16_t extremes[] = {
		INT16_MIN, INT16_MIN + 1, -1, 0, 1, INT16_MAX - 1, INT16_MAX
	};

	return extremes[test_below(seed, 7)];
}

/** Any number, each as likely. */
static inline int16_t any_int16(uint64_t *seed)
{
	return (int16_t)(test_random(seed) >> 48);
}

/**
 * Fill @p[@n] with zeros, two or eight of a number, one twice or four times as
 * large, and small ones. That one's square is twice the sum of those before,
 * and their sum does not fit when doubled: which saturating sums may miss.
 */
static inline void fill_equal_squares(uint64_t *seed, int16_t *p, size_t n)
{
	unsigned factor = test_below(seed, 2) ? 2 : 4;
	unsigned count = factor * factor / 2;
	/* 3 * 26755^2 > 2^31 */
	unsigned one = (26755 + factor + test_below(seed, 6008)) / factor;
	size_t first = test_below(seed, (unsigned)n + 1);

	for (size_t i = 0; i < n; i++) {
		int16_t any = any_int16(seed);

		if (i < first)
			p[i] = 0;
		else if (i < first + count)
			p[i] = (int16_t)(any < 0 ? -(int)one : (int)one);
		else if (i == first + count)
			p[i] = (int16_t)(factor * one);
		else
			p[i] = (int16_t)(any >> 8);
	}
}

/**
 * Fill @p[@n] with numbers of one kind, chosen at random: of any size, of at
 * most so many bits, extremes, extremes among others, one number all over,
 * silence with a few pulses, sums equal to the next square.
 */
static inline void fill_int16(uint64_t *seed, int16_t *p, size_t n)
{
	unsigned kind = test_below(seed, 9);
	unsigned shift = test_below(seed, 15);
	int16_t same = any_int16(seed);

	if (kind == 8) {
		fill_equal_squares(seed, p, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		int16_t any = any_int16(seed);

		if (kind == 0)
			p[i] = any;
		else if (kind <= 4)
			p[i] = (int16_t)(any >> shift);
		else if (kind == 5)
			p[i] = extreme_int16(seed);
		else if (kind == 6)
			p[i] = any & 1 ? same : extreme_int16(seed);
		else
			p[i] = test_below(seed, 10) ? 0 : any;
	}
}

#endif
