/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Invariants. CR_ASSERT stays on in release builds; CR_DEBUG_ASSERT is for hot
 * paths and checks only in debug builds. Never for input, never with effects.
 */
#ifndef BASE_ASSERT_H
#define BASE_ASSERT_H

#include <stdio.h>
#include <stdlib.h>

#define CR_ASSERT(cond)                                                        \
	do {                                                                   \
		if (__builtin_expect(!(cond), 0))                              \
			cr_assert_failed(#cond, __FILE__, __LINE__);           \
	} while (0)

#ifdef CR_DEBUG
#define CR_DEBUG_ASSERT(cond) CR_ASSERT(cond)
#else
#define CR_DEBUG_ASSERT(cond) ((void)sizeof(cond))
#endif

_Noreturn static inline void cr_assert_failed(const char *cond,
					      const char *file, int line)
{
	(void)fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line,
		      cond);
	abort();
}

#endif
