/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share out numbered pieces of work: whoever is free takes the
 * next one. The caller is one of them.
 */
#ifndef SIM_CREW_H
#define SIM_CREW_H

struct crew;

/** A crew of @threads >= 1, the caller included. Signals are left to the
 * caller's thread. 0, or -errno: no memory, no more threads. */
int crew_open(struct crew **c, unsigned threads);
/** NULL is fine. */
void crew_close(struct crew *c);

/** Call @work(@arg, i) for every i below @n, and return when all have
 * returned; what they wrote can be seen then. One thread at a time. */
void crew_run(struct crew *c, unsigned n, void (*work)(void *arg, unsigned i),
	      void *arg);

#endif
