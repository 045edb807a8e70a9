/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sched_setattr(2), and what its refusals mean for people.
 */
#define _GNU_SOURCE
#include "engine/kernel_scheds.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GRANT                                                                  \
	"CAP_SYS_NICE (run as root, or setcap cap_sys_nice+ep on "             \
	"codec-runner)"

/* The kernel's structure: this libc has neither it nor a wrapper. */
struct kernel_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static int refused(const struct kernel_attr *a, int err, struct cr_err *e)
{
	if (err == EPERM && a->policy == SCHED_DEADLINE)
		return cr_fail(e, -err,
			       "SCHED_DEADLINE needs " GRANT ", and threads "
			       "that may use every CPU of their root domain: "
			       "--pin none, or the CPUs of a cpuset of their "
			       "own (cpuset(7)); or no admission test by the "
			       "kernel: sysctl kernel.sched_rt_runtime_us=-1");
	if (err == EPERM)
		return cr_fail(e, -err,
			       "%s needs " GRANT " or a raised RLIMIT_%s",
			       a->priority ? "a real-time priority"
					   : "a negative nice value",
			       a->priority ? "RTPRIO" : "NICE");
	if (err == EBUSY)
		return cr_fail(e, -err,
			       "the kernel gives no more SCHED_DEADLINE "
			       "bandwidth (its limit: /proc/sys/kernel/"
			       "sched_rt_runtime_us)");
	return cr_fail(e, -err, "sched_setattr: %s", strerror(err));
}

int kernel_apply(const struct kernel_attr *a, struct cr_err *e)
{
	struct kernel_sched_attr k = {
		.size = sizeof(k),
		.policy = (uint32_t)a->policy,
		.nice = a->nice,
		.priority = a->priority,
		.runtime = (uint64_t)a->runtime,
		.deadline = (uint64_t)a->deadline,
		.period = (uint64_t)a->period,
	};

	return syscall(SYS_sched_setattr, 0, &k, 0) ? refused(a, errno, e) : 0;
}
