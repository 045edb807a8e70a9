/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls of a daemon, by their names: those it needs, tries, and
 * those that only somebody makes who has taken it over. Names that a machine
 * does not have are left out there.
 */
#ifndef SANDBOX_CALLS_H
#define SANDBOX_CALLS_H

#include <stdbool.h>
#include <stdint.h>

/** Argument @arg, as far as @mask, is @value. */
struct call_only {
	unsigned arg;
	uint64_t mask, value; /**< mask 0: no condition */
};

enum { CALL_CONDITIONS = 3 };

/** A system call that is needed, if all of its conditions hold; several rows of
 * one name: all of any of them. */
struct call {
	const char *name;
	struct call_only only[CALL_CONDITIONS];
	bool own; /**< of this process only: argument 0 is its id */
	int err;  /**< of calls_refused: the answer (positive)    */
};

/** Lists end with the name NULL. */
extern const struct call calls_needed[];
/** With io_uring only. */
extern const struct call calls_uring[];
/** Those that libraries try, and do without. Nobody needs to know. */
extern const struct call calls_refused[];
/** Those of who has taken the process over. */
extern const char *const calls_hostile[];

#endif
