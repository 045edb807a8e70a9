/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error for a person: what, where, and the way out.
 *
 * Functions below the edge return 0 or -errno and, where the caller has to
 * tell a person, fill a struct cr_err. Only the edge (a main, an RPC reply)
 * prints it.
 */
#ifndef CR_ERROR_H
#define CR_ERROR_H

#include <stdarg.h>
#include <stdio.h>

/** One message. Zero is "no message". */
struct cr_err {
	char text[512];
};

/**
 * Fill @e (may be NULL) with a message and return @code.
 *
 * @code: -errno, returned unchanged so that "return cr_fail(...)" reads well.
 * Thread rule: any thread; @e belongs to the caller.
 */
__attribute__((format(printf, 3, 4))) static inline int cr_fail(
	struct cr_err *e, int code, const char *fmt, ...)
{
	va_list ap;

	if (e) {
		va_start(ap, fmt);
		(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
		va_end(ap);
	}
	return code;
}

#ifdef __clang_analyzer__
/* It does not look into functions with any number of arguments, and would take
 * for possible that one fails with 0. */
static inline int cr_failed(int code)
{
	if (code >= 0)
		__builtin_unreachable();
	return code;
}
#define cr_fail(...) cr_failed((cr_fail)(__VA_ARGS__))
#endif

#endif
