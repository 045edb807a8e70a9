/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ways of sending charge for a packet, to as many peers as packets.
 */
#ifndef BENCH_WAYS_H
#define BENCH_WAYS_H

/** Measure in turn, and print one JSON object. 0, or -errno. */
int ways_measure(void);

#endif
