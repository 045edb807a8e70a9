/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who no longer advances: a pure function of looks and times. What a look is
 * and what is done about a finding is recovery.c's.
 *
 * A task is judged by what its run queue did meanwhile. Work that waits because
 * higher classes or an overload keep every worker busy waits rightly, however
 * long; work that waits while a worker has nothing to do was forgotten:
 *
 *   the task          the workers there        finding
 *   sleeps, frames in its ring                 STALLED: a wake-up was lost
 *   is queued         were idle at every look  STALLED, then FORGOTTEN
 *   is queued         were busy all along      STARVED: nothing is done
 *   runs              -                        the worker's matter
 *
 * Time is what the watchdog has seen pass: when the process or the machine
 * stands still, it is no task's fault.
 */
#ifndef RECOVERY_JUDGE_H
#define RECOVERY_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

#include "cr/sched.h"

/** The watchdog's clock. Fill in limit. */
struct watchdog {
	cr_ns limit; /**< who does not advance for so long is found */
	cr_ns last, step;
};

/** How often to look, for @limit. */
cr_ns watchdog_interval(cr_ns limit);

/** A round of looks begins at @now. */
void watchdog_begin(struct watchdog *w, cr_ns now);

/** What is remembered of a worker. Zero: nothing. */
struct watch_worker {
	cr_ns picked, age, cpu;
	bool known; /**< age and cpu are of this job       */
	bool told;  /**< the caller's, until its next job */
};

/** Has it been in one job since the last look? @at_work: in the one that it
 * picked at @picked. */
bool watch_worker_suspect(struct watch_worker *w, bool at_work, cr_ns picked);

/**
 * Is it stuck? Such a suspect has had a CPU for @cpu ns in its life; @runnable:
 * it has one or waits for one. A codec that sleeps ages by the clock, one that
 * loops by the time that it loops: waiting for a CPU is the machine's matter.
 */
bool watch_worker(struct watch_worker *w, const struct watchdog *dog,
		  bool runnable, cr_ns cpu);

enum watch_finding {
	WATCH_FINE,
	WATCH_STARVED,	/**< waits, but nobody had time for it           */
	WATCH_STALLED,	/**< wake it, and whoever should see it          */
	WATCH_FORGOTTEN /**< that did not help: the policy has lost it   */
};

/** What is remembered of a task. Zero: nothing. */
struct watch_task {
	uint64_t done; /**< frames that were dealt with, by any outcome */
	cr_ns release;
	uint64_t idles;
	cr_ns age, starving;
	enum cr_state state;
	bool known, woken;
};

/** A look from outside, which costs no lock: does it call for another one?
 * @waiting: frames wait in its backlog; @done: frames that were dealt with. */
bool watch_task_suspect(struct watch_task *c, bool waiting, uint64_t done);

/** A look into the engine (see live_look_task()). */
struct watch_look {
	cr_ns now;
	enum cr_state state;
	cr_ns release, eligible;
	bool idle;
	uint64_t idles;
};
enum watch_finding watch_task(struct watch_task *c, const struct watchdog *dog,
			      const struct watch_look *look);

#endif
