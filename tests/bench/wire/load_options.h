/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-load's command line.
 */
#ifndef TESTS_BENCH_WIRE_LOAD_OPTIONS_H
#define TESTS_BENCH_WIRE_LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum load_layout { LOAD_OWN, LOAD_SHARED };
enum load_phases { LOAD_EVEN, LOAD_RANDOM };

/** Times in ns. every: ptime, where it is not given. */
struct load_options {
	int64_t calls, layout, phases, ptime, every, tick, warm, seconds,
		linger;
	int64_t rate, out_clock, expect, seed, cpu, watch;
	const char *at, *codec;
};

/** Read them, or end the program with a message. */
const struct load_options *load_options(int argc, char **argv);

#endif
