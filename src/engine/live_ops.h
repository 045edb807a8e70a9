/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver of the live engine implements; for src/engine/live*.c only. One
 * row a driver: live_workers.c, live_kernel.c.
 *
 * The engine itself (live.c, live_open.c) keeps the core, its run queues with
 * their locks, and the places: CPUs with counters, live->worker[]. A driver has
 * the threads.
 */
#ifndef ENGINE_LIVE_OPS_H
#define ENGINE_LIVE_OPS_H

#include "engine/live.h"

/** Thread rules are those of the functions of live.h that call these. */
struct live_ops {
	struct live_driver driver;
	/** Places and run queues are there: start. 0, or -errno with @e; @warn:
	 * what was not granted. After a failure stop() and close() follow. */
	int (*open)(struct live *l, struct cr_err *warn, struct cr_err *e);
	/** End the threads and join them, except those that are detached. */
	void (*stop)(struct live *l);
	/** Free what open() made. */
	void (*close)(struct live *l);

	/** @t has joined the core. 0; or -errno with @v: it has to leave. */
	int (*added)(struct live *l, struct live_task *t, struct cr_verdict *v);
	void (*remove)(struct live *l, struct live_task *t);
	void (*release)(struct live *l, struct live_task *const *tasks,
			unsigned n);

	/** live_change(), live_switch_to() a policy, live_tune(). */
	int (*change)(struct live *l, struct live_task *t,
		      const struct core_terms *to, unsigned flags,
		      struct cr_verdict *v);
	int (*switch_to)(struct live *l, const struct scheduler *to,
			 struct cr_err *e);
	int (*tune)(struct live *l, const char *opts, struct cr_err *e);

	const char *(*name)(struct live *l);
	void (*format_opts)(struct live *l, char *buf, size_t size);
	bool (*tasks_stay)(struct live *l);
};

extern const struct live_ops live_workers_ops;
extern const struct live_ops live_kernel_ops;

/** Refuse to go on under @to: -ENOTSUP with @e. */
int live_refuse_switch(struct live *l, const char *to, struct cr_err *e);

#endif
