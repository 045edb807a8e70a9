/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPU does what: where receivers and workers run, and which workers share
 * a run queue. A pure function of the machine and of what the user asks for.
 *
 * One receiver serves eight workers, so of every nine CPUs one is a receiver's.
 * They are spread over the caches by the caches' sizes. Within a cache they
 * take whole cores first. All other CPUs have a worker each.
 *
 * Up to eight workers share one run queue. More have one for each cache. A
 * cache with less than four workers goes together with the next one, and more
 * than 64 workers are split evenly, so run queues differ in size as caches do.
 */
#ifndef NODE_PLACEMENT_H
#define NODE_PLACEMENT_H

#include "base/topology.h"
#include "cr/error.h"
#include "cr/sched.h"
#include "node/info.h"

enum {
	PLACEMENT_QUEUES_GLOBAL = 0, /**< one run queue for all workers  */
	PLACEMENT_QUEUES_AUTO = -1   /**< by caches; else so many workers */
};

/** The user's request. Zero, but for run_queues, is nothing. */
struct placement_request {
	/** CPUs of the workers; NULL: not said. In this order, unless run
	 * queues follow the caches. */
	const struct cpu_list *pin;
	const struct cpu_list *rx; /**< CPUs of the receivers; NULL: not said */
	bool pin_none, rx_none;	   /**< they are not pinned                   */
	unsigned workers, receivers; /**< 0: not said                         */
	int run_queues;		     /**< see above                           */
};

struct placement {
	unsigned workers, receivers;
	/** CPUs of the workers, by run queue; empty: they float. */
	struct cpu_list pin;
	int rx_cpu[NODE_RECEIVERS_MAX]; /**< of each receiver; -1: it floats  */
	unsigned rq_cpus[CR_MAX_CPUS];	/**< workers of each run queue        */
	unsigned nrq;
};

/** A fault of a request. */
struct placement_fault {
	const char *option; /**< the name of the one to blame: "workers" */
	struct cr_err why;
};

/** 0, or -EINVAL with @f: more workers than CPUs to pin them to, or than can
 * be; more in a run queue than there are. */
int placement_make(struct placement *p, const struct topology *t,
		   const struct placement_request *request,
		   struct placement_fault *f);

#endif
