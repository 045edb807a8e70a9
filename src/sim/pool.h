/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share out numbered pieces of work: whoever is free takes the
 * next one. The caller is one of them.
 */
#ifndef SIM_POOL_H
#define SIM_POOL_H

struct pool;

/** A pool of @threads >= 1, the caller included. Signals are left to the
 * caller's thread. 0, or -errno: no memory, no more threads. */
int pool_open(struct pool **p, unsigned threads);
/** NULL is fine. */
void pool_close(struct pool *p);

/** Call @work(@arg, i) for every i below @n, and return when all have
 * returned; what they wrote can be seen then. One thread at a time. */
void pool_run(struct pool *p, unsigned n, void (*work)(void *arg, unsigned i),
	      void *arg);

#endif
