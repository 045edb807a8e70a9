/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rights that a daemon gives up before it serves anybody: system calls that it
 * does not need, by a filter (seccomp), and root's rights.
 */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cr/error.h"

/** Argument @arg, as far as @mask, is @value. */
struct syscall_only {
	unsigned arg;
	uint64_t mask, value; /**< mask 0: no condition */
};

enum { CALL_CONDITIONS = 3 };

/** A system call that is needed, if all of its conditions hold; several rows of
 * one name: all of any of them. */
struct syscall_rule {
	const char *name;
	struct syscall_only only[CALL_CONDITIONS];
	bool own; /**< of this process only: argument 0 is its id */
	int err;  /**< of calls_refused: the answer (positive)    */
};

/** Lists end with the name NULL. */
extern const struct syscall_rule calls_needed[];
/** With io_uring only. */
extern const struct syscall_rule calls_uring[];
/** Those that libraries try, and do without. Nobody needs to know. */
extern const struct syscall_rule calls_refused[];
/** Those of who has taken the process over. */
extern const char *const calls_hostile[];

/**
 * All threads of the process, and those to come, make needed system calls only,
 * and nothing they might execute gives them privileges. @uring: those of
 * io_uring, too. @strict: the process ends at every other one, so that
 * no refusal can pass unseen. Whatever io_uring does on behalf of the process
 * no filter sees.
 *
 * 0; or -errno with @e: the kernel, or who has started the process, refuses to
 * filter, and nothing has changed but that. Before threads have to be quick.
 */
int filter_enter(bool uring, bool strict, struct cr_err *e);

/** No privileges by execution alone. 0 or -errno. The calling thread, and those
 * it makes. */
int filter_no_new_privileges(void);

struct user {
	char name[64];
	uid_t uid;
	gid_t gid; /**< of its group in the list of users */
};

/** Look @name up. 0; or -errno with @e: there is no such user, or it is root.
 * One thread at a time. */
int user_find(struct user *to, const char *name, struct cr_err *e);

/** Become @u, with its groups, and no capability but, if @priorities,
 * CAP_SYS_NICE. Nothing if the process is that user already. 0; or -errno with
 * @e: then it may be in between, and has to end. Before other threads begin:
 * capabilities are a thread's own. */
int user_become(const struct user *u, bool priorities, struct cr_err *e);

#endif
