/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies that are built in, and the door for outside ones.
 */
#ifndef SCHEDULERS_REGISTRY_H
#define SCHEDULERS_REGISTRY_H

#include "cr/error.h"
#include "cr/sched.h"

/** All built-in policies, NULL-terminated, in the order they are shown. */
extern const struct cr_sched_ops *const cr_schedulers[];

/** The policy that takes the place of one that has broken its contract. It
 * refuses nobody, and needs no options. */
extern const struct cr_sched_ops *const cr_sched_fallback;

/**
 * Find the policy that @spec names: "edf", "rr,quantum=5ms" (a built-in one
 * and its options), or "./mine.so" (an outside one: anything with a slash). On
 * success *@ops is set and *@opts points into @spec behind the first comma (or
 * to "" when there is none). -ENOENT: unknown name (@e names the nearest),
 * -ENOEXEC: not a policy, other ABI. A loaded object stays loaded.
 */
int cr_scheduler_find(const char *spec, const struct cr_sched_ops **ops,
		      const char **opts, struct cr_err *e);

/** Could @spec be used? Finds the policy and checks its options. 0; errors as
 * cr_scheduler_find(), or -EINVAL or -ENOMEM, with @e. */
int cr_scheduler_check(const char *spec, struct cr_err *e);

#endif
