/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's schedulers as baselines, as the thesis measured them: no policy
 * of ours decides, each call has a thread and the kernel decides which of them
 * runs. Live only: the driver of kernel threads (engine/live_kernel.c) starts
 * them, each with the parameters that kernel_attr_of() gives.
 *
 * Pure, but for kernel_apply(); any thread.
 */
#ifndef ENGINE_KERNEL_SCHEDS_H
#define ENGINE_KERNEL_SCHEDS_H

#include "cr/error.h"
#include "cr/sched.h"

/** What a thread asks of the kernel. Times in ns; 0 where they do not apply. */
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

/** Let the calling thread be scheduled so (kernel_apply.c): the one place that
 * asks the kernel. 0, or -errno with @e naming the privilege or setting that is
 * missing: -EPERM, -EBUSY (the kernel's own test of SCHED_DEADLINE), -EINVAL.
 */
int kernel_apply(const struct kernel_attr *a, struct cr_err *e);

#endif
