/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks of codecs have in common.
 */
#ifndef TESTS_BENCH_CODEC_BENCH_H
#define TESTS_BENCH_CODEC_BENCH_H

#include <stdint.h>

#include "base/cli.h"

/** The row of --states, @usual of them, and @at: FIELD_IN(). */
/* clang-format off */
#define BENCH_ROW_STATES(at, usual)                                            \
	{ .kind = FIELD_INT,                                                  \
	  .name = "states",                                                    \
	  .help = "Codec states.",                                             \
	  at, .dflt = (usual),                                                 \
	  .min = 1,                                                            \
	  .max = 100000 }

/** The row of --seed. */
#define BENCH_ROW_SEED(at)                                                     \
	{ .kind = FIELD_INT,                                                  \
	  .name = "seed",                                                      \
	  .help = "Which speech.",                                             \
	  at, .dflt = 1,                                                       \
	  .min = 0,                                                            \
	  .max = INT64_MAX }

/** The row of --cpu, for bench_pin(): -1 if it is not given. */
#define BENCH_ROW_CPU(at)                                                      \
	{ .kind = FIELD_INT,                                                  \
	  .name = "cpu",                                                       \
	  .help = "CPU to pin to.",                                            \
	  at, .dflt = -1,                                                      \
	  .min = 0,                                                            \
	  .max = 4095,                                                         \
	  .without = "" }
/* clang-format on */

/** Stay on @cpu, if it is not -1; ends @program with a message when that
 * cannot be. */
void bench_pin(const char *program, int64_t cpu);

#endif
