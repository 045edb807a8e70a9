/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one place that asks the kernel for a scheduler.
 */
#ifndef ENGINE_KERNEL_APPLY_H
#define ENGINE_KERNEL_APPLY_H

#include "cr/error.h"
#include "schedulers/kernel.h"

/** Let the calling thread be scheduled so. 0, or -errno with @e naming the
 * privilege or setting that is missing: -EPERM, -EBUSY (the kernel's own test
 * of SCHED_DEADLINE), -EINVAL. */
int kernel_apply(const struct cr_kernel_attr *a, struct cr_err *e);

#endif
