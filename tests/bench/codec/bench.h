/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks of codecs have in common.
 */
#ifndef TESTS_BENCH_CODEC_BENCH_H
#define TESTS_BENCH_CODEC_BENCH_H

#include <stdint.h>

#include "base/cli.h"

/** The row of --states, of which there are *@count. */
/* clang-format off */
#define BENCH_ROW_STATES(count)                                                \
	{ .kind = CLI_INT,                                                     \
	  .name = "states",                                                    \
	  .help = "Codec states.",                                             \
	  .number = (count),                                                   \
	  .min = 1,                                                            \
	  .max = 100000 }

/** The row of --seed. */
#define BENCH_ROW_SEED(seed)                                                   \
	{ .kind = CLI_INT,                                                     \
	  .name = "seed",                                                      \
	  .help = "Which speech.",                                             \
	  .number = (seed),                                                    \
	  .min = 0,                                                            \
	  .max = INT64_MAX }

/** The row of --cpu, for bench_pin(); *@cpu must be -1 before: any. */
#define BENCH_ROW_CPU(cpu)                                                     \
	{ .kind = CLI_INT,                                                     \
	  .name = "cpu",                                                       \
	  .help = "CPU to pin to.",                                            \
	  .number = (cpu),                                                     \
	  .min = 0,                                                            \
	  .max = 4095,                                                         \
	  .dflt = "" }
/* clang-format on */

/** Stay on @cpu, if it is not -1; ends @program with a message when that
 * cannot be. */
void bench_pin(const char *program, int64_t cpu);

#endif
