/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmarks of codecs have in common.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

void bench_pin(const char *program, int64_t cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return;
	(void)fprintf(stderr, "%s: pin: CPU %" PRId64 " cannot be used\n",
		      program, cpu);
	exit(1);
}
