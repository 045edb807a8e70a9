/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exponential, logarithm and square root in fixed point (units of 2^-32): the
 * same on every machine, which the mathematical library's are not. Errors are
 * a few units of 2^-32, relative to the result where it is above 1. Pure; any
 * thread.
 */
#ifndef SIM_FIXED_H
#define SIM_FIXED_H

#include <stdint.h>

#define FIXED_ONE (INT64_C(1) << 32)

/** e^@x; at most 2^62 (@x is cut at 20.7). */
int64_t fixed_exp(int64_t x);

/** The natural logarithm of @y, >= 1. */
int64_t fixed_log(int64_t y);

/** The square root of @y, >= 0. */
int64_t fixed_sqrt(int64_t y);

#endif
