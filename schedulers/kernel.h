/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's schedulers as baselines, as the thesis measured them: no policy
 * of ours decides, each call has a thread and the kernel decides which of them
 * runs. To the rest of the program they are policies with a name, options and
 * the capacity guard as admission test, whose callbacks nobody calls.
 *
 * Live only: a driver starts the threads (engine/live_threads.h), with the
 * parameters that cr_kernel_attr_of() gives. Pure; any thread.
 */
#ifndef SCHEDULERS_KERNEL_H
#define SCHEDULERS_KERNEL_H

#include "cr/sched.h"

/** All of them, NULL-terminated: "kernel:other", "kernel:nice", ... */
extern const struct cr_sched_ops *const cr_kernel_schedulers[];

/** Is @ops one of them? */
bool cr_kernel_scheduler(const struct cr_sched_ops *ops);

/** What a thread asks of the kernel. Times in ns; 0 where they do not apply. */
struct cr_kernel_attr {
	int policy; /**< SCHED_OTHER, ... */
	int nice;
	unsigned priority;
	cr_ns runtime, deadline, period;
};

/** The parameters of the thread of @t under @s. Best-effort tasks yield to all
 * others: SCHED_OTHER at nice 19, whatever the policy. */
struct cr_kernel_attr cr_kernel_attr_of(const struct cr_sched *s,
					const struct cr_task *t);

#endif
