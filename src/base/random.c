/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random octets out of a stock. What was handed out is forgotten.
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
