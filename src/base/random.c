/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random octets out of a stock, which forgets those that it has handed out; and
 * variates of seeded generators.
 */
#define _GNU_SOURCE /* getrandom() */
#include "base/random.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/assert.h"

/* Up to so many come whole, whatever signals come (getrandom(2)). */
enum { STOCK = 256 };

static _Thread_local struct {
	size_t left;
	uint8_t octet[STOCK];
} stock;

static void refill_random(void)
{
	ssize_t n;

	do {
		n = getrandom(stock.octet, STOCK, 0);
	} while (n < 0 && errno == EINTR);
	CR_ASSERT(n == STOCK); /* nothing that can be guessed may go out */
	stock.left = STOCK;
}

void random_fill(void *buf, size_t bytes)
{
	uint8_t *to = buf;

	while (bytes) {
		size_t n;

		if (!stock.left)
			refill_random();
		n = bytes < stock.left ? bytes : stock.left;
		stock.left -= n;
		memcpy(to, stock.octet + stock.left, n);
		memset(stock.octet + stock.left, 0, n);
		to += n;
		bytes -= n;
	}
}

/*
 * Random variates by comparing uniform ones (von Neumann, "Various techniques
 * used in connection with random digits", 1951): no logarithm, no table.
 */

/*
 * Of uniform numbers u1 > u2 > ... > un <= u(n+1), the run has odd length n
 * with probability exp(-u1): then u1 is the fraction, and every run of even
 * length before adds one.
 */
uint64_t random_exponential_q32(struct random *r)
{
	uint64_t whole = 0;

	for (;;) {
		uint64_t first = random_next(r), last = first, next;
		bool odd = true;

		while ((next = random_next(r)) < last) {
			last = next;
			odd = !odd;
		}
		if (odd)
			return whole << 32 | first >> 32;
		whole++;
	}
}

/* |normal| by rejection: x, y exponential, x with y > (x - 1)^2 / 2. */
int64_t random_normal_q32(struct random *r)
{
	const int64_t one = INT64_C(1) << 32;

	for (;;) {
		int64_t x = (int64_t)random_exponential_q32(r);
		uint64_t y = random_exponential_q32(r);
		__int128 d = x - one;

		if (((unsigned __int128)y << 33) > (unsigned __int128)(d * d))
			return random_next(r) >> 63 ? x : -x;
	}
}

cr_ns random_exponential(struct random *r, cr_ns mean)
{
	const __int128 most = (__int128)1 << 62;
	__int128 t = ((__int128)random_exponential_q32(r) * mean) >> 32;

	/* 2^62 ns: far beyond any campaign, and safe to add to */
	t = t > most ? most : t;
	return t < 1 ? 1 : (cr_ns)t;
}
