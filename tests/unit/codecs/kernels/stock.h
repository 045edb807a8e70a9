/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's own functions, all the way down: stock_S calls others, and
 * those are ours while kernels are in use.
 */
#ifndef TESTS_UNIT_CODECS_KERNELS_STOCK_H
#define TESTS_UNIT_CODECS_KERNELS_STOCK_H

#include <stdbool.h>

#include "codecs/kernels/kernel.h"

static inline void stock_end(const bool *were_fast)
{
	cr_kernels_fast = *were_fast;
}

/** The value, if any, of a call, in which nothing is ours. */
#define STOCK(...)                                                             \
	__extension__({                                                        \
		/* unused: clang does not count its cleanup */                 \
		__attribute__((cleanup(stock_end), unused))                    \
		const bool were_fast = cr_kernels_fast;                        \
		cr_kernels_fast = false;                                       \
		__VA_ARGS__;                                                   \
	})

#endif
