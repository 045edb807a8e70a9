/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of system calls (seccomp): of those that are not needed, all
 * fail with EPERM, which the kernel logs, and goes on; but a process that makes
 * one of calls_hostile ends at once. There is no way back.
 *
 * A call that nobody thought of costs what it was for, not the calls of the
 * node. One that is none of a media server's is no mistake: whoever makes it
 * runs code of his own, and must not have another try.
 */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <stdbool.h>

#include "cr/error.h"

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

#endif
