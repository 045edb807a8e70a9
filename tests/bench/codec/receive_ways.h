/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ways of receiving charge for a packet.
 */
#ifndef BENCH_RECEIVE_WAYS_H
#define BENCH_RECEIVE_WAYS_H

/** Measure in turn, and print one JSON object. 0, or -errno: some sockets are
 * open then; there is no io_uring. */
int receive_ways_measure(void);

#endif
