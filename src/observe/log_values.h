/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of an event, "key=%u why=\"%s\"", one by one. Where a value begins
 * and ends is in the format, which is ours: what arguments have in them, which
 * may be a peer's, is part of a value and nothing else. Private to src/observe.
 *
 * Any thread.
 */
#ifndef OBSERVE_LOG_VALUES_H
#define OBSERVE_LOG_VALUES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** A value that is longer is cut. */
enum { LOG_VALUE_MAX = 1024 };

struct log_value {
	const char *key; /**< "text" of what has none: not ended by a NUL */
	size_t key_len;
	const char *text; /**< any octets, without quotation marks */
	size_t len;
	bool named;  /**< it has a key of its own */
	bool quoted; /**< in quotation marks */
	bool cut;    /**< it was longer */
	bool number; /**< @text is one of JSON's, made by a conversion */
};

/**
 * Call @each for every value of @fmt. Conversions of printf(3) with what C11
 * has, but for %n, %ls, %lc and %Lf; behind one of these the rest of @fmt is
 * taken as it is written.
 */
void log_values_va(const char *fmt, va_list ap,
		   void (*each)(void *arg, const struct log_value *v),
		   void *arg);

#endif
