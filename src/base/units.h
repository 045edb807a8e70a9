/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units, as people write them in options, campaigns and requests.
 *
 * Integer arithmetic only: what is read is exactly what was written, or an
 * error. Any thread.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

/** Enough for what any units_format_*() writes, with its NUL. */
#define UNITS_TEXT 32u

/**
 * Read a time: "20ms", "1.5s", "750us", "100ns", "2min" or "2m", "1h",
 * or "0".
 *
 * Returns 0 and sets *@out (ns), -EINVAL when @text is no time or is finer
 * than 1 ns (a unit is mandatory except for 0), -ERANGE when it does not fit.
 */
int units_parse_time(const char *text, cr_ns *out);

/**
 * Read a share: "97%", "0.97", "1" or "50ppm". Returns 0 and sets *@out (ppm,
 * 1.0 is 1000000), -EINVAL (no share, or finer than 1 ppm), -ERANGE.
 */
int units_parse_ppm(const char *text, int64_t *out);

/** Read a rate: "50/s", "0.5/s". Returns 0 and sets *@out (per second * 10^6),
 * -EINVAL (no rate, or finer than 10^-6/s), -ERANGE. */
int units_parse_rate(const char *text, int64_t *out);

/** Read a decimal integer: "42", "-1". Returns 0, -EINVAL or -ERANGE. */
int units_parse_int(const char *text, int64_t *out);

/** Write @t exactly, in the largest unit (of ns, us, ms, s) that is not above
 * it: "1.5s"; CR_NEVER is "never". Returns @buf, of UNITS_TEXT bytes or more.
 */
const char *units_format_time(cr_ns t, char *buf, size_t size);

/** Write @ppm as a percentage ("97%", "0.35%"). Returns @buf. */
const char *units_format_ppm(int64_t ppm, char *buf, size_t size);

/** Write @rate, per second * 10^6, as "50/s". Returns @buf. */
const char *units_format_rate(int64_t rate, char *buf, size_t size);

#endif
