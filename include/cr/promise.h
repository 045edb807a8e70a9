/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What promise() of a policy fills (cr/sched.h): for those that guarantee how
 * late a job can be.
 */
#ifndef CR_PROMISE_H
#define CR_PROMISE_H

#include "cr/time.h"

/** Promise of a policy for a task. */
enum cr_promise_kind {
	CR_PROMISE_NOTHING,  /**< rule says why                             */
	CR_PROMISE_LATENESS, /**< the latest that any job is done           */
	CR_PROMISE_SERVERS   /**< budgets, and what follows from them       */
};

/**
 * The servers of a run queue: hard tasks on top, each on its CPU; below them
 * global EDF over a budget every period for each soft task, and some budgets
 * for best effort. From these and the tasks follows how late a soft job can be
 * on average (Kenna et al. 2011), which is too much arithmetic for a policy.
 */
struct cr_servers {
	cr_ns budget;	      /**< of the task's own, every task->period */
	cr_ns longest;	      /**< job of anybody, if it is not cut      */
	unsigned best_effort; /**< how many serve best effort            */
	int64_t be_share_ppm; /**< budget / period of each of these      */
	cr_ns be_period;
};

/** A bound that holds for a task beside the present ones, as long as none
 * exceeds what it was admitted with. */
struct cr_promise {
	enum cr_promise_kind kind;
	/** Static text for people: the theorem or test that says so; or why
	 * nothing is promised. */
	const char *rule;
	/** CR_PROMISE_LATENESS: no job that takes up to @cost ends later than
	 * its deadline plus this, >= 0. 0: in time. */
	cr_ns bound, cost;
	struct cr_servers servers; /**< CR_PROMISE_SERVERS */
};

#endif
