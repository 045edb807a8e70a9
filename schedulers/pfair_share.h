/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of weights for admission, exact and without overflow: all weights are
 * counted in one fixed fraction of a CPU, 1 / W, where
 *
 *     W = 2^9 3^4 5^4 7^2 11 13 17 ... 67, about 2^105,
 *
 * is a multiple of every number up to 70 and of most round ones beyond. The
 * weight e/p is a whole number of such parts when p, in lowest terms, divides
 * it; else it is rounded up, by less than 2^-105. So a sum never reads less
 * than it is (sound), a set that fills the CPUs exactly fits when its periods
 * divide W, and any other set is refused at most when it is within
 * n * 2^-105 of full. A common denominator of the tasks at hand would be exact
 * for all, but soon beyond any integer, and would not get smaller when a task
 * leaves. Eight million tasks of weight 1 fit in 128 bits.
 */
#ifndef SCHEDULERS_PFAIR_SHARE_H
#define SCHEDULERS_PFAIR_SHARE_H

#include "schedulers/pfair.h"

/** A number of W-ths of a CPU. */
struct pfair_share {
	__extension__ unsigned __int128 parts;
};

/** @cpus CPUs. */
static inline struct pfair_share pfair_cpus(unsigned cpus)
{
	struct pfair_share s = { UINT64_C(39128704655040000) };

	s.parts *= UINT64_C(1214635883296783);
	s.parts *= cpus;
	return s;
}

static inline int64_t pfair_gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/** @w, rounded up. */
static inline struct pfair_share pfair_share(struct pfair_weight w)
{
	int64_t g = pfair_gcd(w.period, w.cost);
	uint64_t p = (uint64_t)(w.period / g), e = (uint64_t)(w.cost / g);
	struct pfair_share whole = pfair_cpus(1), s = { 0 };
	uint64_t rest = 0;

	/* long division by p < 2^32: 128-bit division is a library call */
	for (int shift = 96; shift >= 0; shift -= 32) {
		rest = rest << 32 | (uint32_t)(whole.parts >> shift);
		s.parts = s.parts << 32 | rest / p;
		rest %= p;
	}
	s.parts = s.parts * e + (rest * e + p - 1) / p;
	return s;
}

/** @s in millionths of a CPU, rounded down (to 2^-29). */
static inline int64_t pfair_ppm(struct pfair_share s)
{
	uint64_t unit = (uint64_t)(pfair_cpus(1).parts >> 76);

	return (int64_t)((uint64_t)(s.parts >> 76) * 1000000 / unit);
}

#endif
