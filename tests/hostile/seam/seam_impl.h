/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the seam share. Each of them has functions of the C library
 * by their own names; NEXT() is the real one.
 *
 * Thread rule: any thread.
 */
#ifndef TESTS_HOSTILE_SEAM_SEAM_IMPL_H
#define TESTS_HOSTILE_SEAM_SEAM_IMPL_H

#include "seam.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#define SEAM_OWN __attribute__((visibility("hidden")))

/** What is shared; zeroes, if nobody told where. */
SEAM_OWN extern struct seam *seam_shared;

/** Is anything to fail at all? Saves finding out what it is. */
static inline bool seam_armed(void)
{
	return atomic_load_explicit(&seam_shared->armed, memory_order_relaxed);
}

/** Is this call, by @caller, one of those that are to fail? */
SEAM_OWN bool seam_fails(enum seam_kind kind, const void *caller);

/** The same of memory, which fails for few. */
SEAM_OWN bool seam_no_memory(const void *caller);

/** Not 0: this thread is in a function that would crash without memory, or has
 * not begun yet. */
SEAM_OWN extern _Thread_local unsigned seam_spared
	__attribute__((tls_model("initial-exec")));

#define CALLER __builtin_return_address(0)

/* clang-format off */
#define NEXT(name)                                                             \
	static __typeof__(&name) next;                                         \
	if (!next)                                                             \
		next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define FAIL(kind, error, value)                                               \
	if (seam_fails(kind, CALLER)) {                                        \
		errno = error;                                                 \
		return value;                                                  \
	}
/* clang-format on */

#endif
