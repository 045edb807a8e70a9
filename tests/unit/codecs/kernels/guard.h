/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays for kernels with memory next to them that nobody may touch: a kernel
 * that loads or stores beyond what it was given, if only by a lane of a vector
 * that it does not use, dies of it.
 */
#ifndef TESTS_UNIT_CODECS_KERNELS_GUARD_H
#define TESTS_UNIT_CODECS_KERNELS_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "numbers.h"

enum { GUARD_ARRAYS = 8 };

/** Pages of one array each, with such memory between them. */
struct guard {
	uint64_t seed;
	unsigned char *pages; /**< of the first array */
	size_t page;	      /**< bytes */
	unsigned used;	      /**< arrays */
	bool at_end;	      /**< arrays end where the page does, or begin */
};

static inline void guard_open(struct guard *g)
{
	*g = (struct guard){ .seed = test_seed(),
			     .page = (size_t)sysconf(_SC_PAGESIZE) };
	g->pages = mmap(NULL, (2 * GUARD_ARRAYS + 1) * g->page, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(g->pages, MAP_FAILED);
	g->pages += g->page;
	for (unsigned i = 0; i < GUARD_ARRAYS; i++)
		assert_int_equal(mprotect(g->pages + 2 * i * g->page, g->page,
					  PROT_READ | PROT_WRITE),
				 0);
}

static inline void guard_close(struct guard *g)
{
	assert_int_equal(
		munmap(g->pages - g->page, (2 * GUARD_ARRAYS + 1) * g->page),
		0);
	g->pages = NULL;
}

/** Give up all arrays: the next are in their places. */
static inline void guard_again(struct guard *g, bool at_end)
{
	g->used = 0;
	g->at_end = at_end;
}

/** An array of @n numbers of one of the kinds of fill_int16(). */
static inline int16_t *guard_array(struct guard *g, size_t n)
{
	unsigned char *array = g->pages + 2 * g->used++ * g->page;
	int16_t *p;

	assert_true(g->used <= GUARD_ARRAYS && n * sizeof(*p) <= g->page);
	if (g->at_end)
		array += g->page - n * sizeof(*p);
	p = (int16_t *)(void *)array;
	fill_int16(&g->seed, p, n);
	return p;
}

/** Run @kernel with arrays that end where they may not be left, then with such
 * that begin there, @tries times each. */
static inline void guard_kernel(void (*kernel)(struct guard *g), unsigned tries)
{
	struct guard g;

	guard_open(&g);
	for (unsigned i = 0; i < 2 * tries; i++) {
		guard_again(&g, i % 2);
		kernel(&g);
	}
	guard_close(&g);
}

#endif
