/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a live engine can be told to schedule by: a policy of ours or of a
 * plug-in's (schedulers/registry.h), or one of the kernel's schedulers
 * (engine/kernel_scheds.h). Any thread.
 */
#ifndef ENGINE_SCHEDULER_H
#define ENGINE_SCHEDULER_H

#include "engine/kernel_scheds.h"
#include "schedulers/registry.h"

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
