/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another user instead of root.
 */
#ifndef SANDBOX_USER_H
#define SANDBOX_USER_H

#include <stdbool.h>
#include <sys/types.h>

#include "cr/error.h"

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
