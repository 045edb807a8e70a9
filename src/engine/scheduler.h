/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedulers of a live engine: a policy of ours or of a
 * plug-in's (schedulers/registry.h), or one of the kernel's schedulers
 * below. Any thread.
 *
 * The kernel's schedulers are baselines, as the thesis measured them: no policy
 * of ours decides, each stream has a thread and the kernel decides which of
 * them runs. Live only: the driver of kernel threads (engine/live_kernel.c)
 * starts them, each with the parameters that kernel_attr_of() gives. Pure, but
 * for kernel_apply().
 */
#ifndef ENGINE_SCHEDULER_H
#define ENGINE_SCHEDULER_H

#include "cr/error.h"
#include "cr/sched.h"
#include "schedulers/registry.h"

/** A thread's request to the kernel. Times in ns; 0 where they do not apply. */
struct kernel_attr {
	int policy; /**< SCHED_OTHER, ... */
	int nice;
	unsigned priority;
	cr_ns runtime, deadline, period;
};

/** One of the kernel's schedulers. */
struct kernel_sched {
	const char *name; /**< "kernel:fifo" */
	const char *help;
	const struct cr_opt *opts; /**< one row, of an int64_t; or NULL */
	/** For a task with a deadline; @number: the option's value. */
	struct kernel_attr (*attr)(int64_t number, const struct cr_task *t);
};

/** All of them, NULL-terminated. */
extern const struct kernel_sched *const kernel_scheds[];

/** The one called @name, or NULL. */
const struct kernel_sched *kernel_sched_find(const char *name);

/** Its option's value as @opts ("priority=42", "" or NULL: the default) says.
 * 0 with *@number; -EINVAL with @e. */
int kernel_sched_parse(const struct kernel_sched *k, const char *opts,
		       int64_t *number, struct cr_err *e);

/** The parameters of the thread of @t under @k. Best-effort tasks yield to all
 * others: SCHED_OTHER at nice 19, whatever @k is. */
struct kernel_attr kernel_attr_of(const struct kernel_sched *k, int64_t number,
				  const struct cr_task *t);

/** Let the calling thread be scheduled so: the one place that
 * asks the kernel. 0, or -errno with @e naming the privilege or setting that is
 * missing: -EPERM, -EBUSY (the kernel's own test of SCHED_DEADLINE), -EINVAL.
 */
int kernel_apply(const struct kernel_attr *a, struct cr_err *e);

/** A choice: one of the two is set. */
struct scheduler {
	const struct cr_sched_ops *policy;
	const struct kernel_sched *kernel;
	const char *opts; /**< "key=value,key=value", or "" */
};

/** The name of what @s is. */
static inline const char *scheduler_name(const struct scheduler *s)
{
	return s->kernel ? s->kernel->name : s->policy->name;
}

static inline const char *scheduler_help(const struct scheduler *s)
{
	return s->kernel ? s->kernel->help : s->policy->help;
}

/** The table of its options, or NULL. */
static inline const struct cr_opt *scheduler_opts(const struct scheduler *s)
{
	return s->kernel ? s->kernel->opts : s->policy->opts;
}

/**
 * Find what @spec names: "kernel:fifo,priority=20", or as cr_scheduler_find(),
 * whose errors it has. On success @s->opts points into @spec.
 */
int scheduler_find(const char *spec, struct scheduler *s, struct cr_err *e);

/** Could @spec be used? Its options are checked, too. 0; errors as
 * cr_scheduler_check(). */
int scheduler_check(const char *spec, struct cr_err *e);

#endif
