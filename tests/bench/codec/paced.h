/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a loop that never waits says about one that would: the queue in front of
 * a core, worked out from the times its frames took.
 */
#ifndef TESTS_BENCH_CODEC_PACED_H
#define TESTS_BENCH_CODEC_PACED_H

#include <stddef.h>
#include <stdint.h>

#include "cr/time.h"

/**
 * The most calls, a frame of each every @period and all evenly spaced, of which
 * one core delays at most 1 % of the frames by more than @bound (ns, from the
 * frame's coming to its end), first come, first served, if the i-th of @n
 * frames takes it @took[i] ns. A core of steady speed carries @period / took.
 * 0: not even one call.
 */
unsigned paced_calls(const uint32_t *took, size_t n, cr_ns period, cr_ns bound);

#endif
