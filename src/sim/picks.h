/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each pick of a live run, put to its scheduler again: the frames come, are
 * picked and end as they did then, and at every pick the scheduler is asked
 * which of what waits it would take. Then it is given the one that was taken.
 *
 * So one answer that differs leaves the next ones alone, while a replay that
 * parts from the live run at a near tie serves other frames from then on.
 *
 * Of live runs with one run queue. What a scheduler was charged for a turn is
 * not in a trace: it is told the time from the turn's pick until the worker's
 * next one, or its end, if the worker found nothing to pick then.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_PICKS_H
#define SIM_PICKS_H

#include "sim/recording.h"

/** What is known of a job's pick. */
enum pick_answer {
	PICK_UNKNOWN, /**< it was not asked about                          */
	PICK_SAME,
	PICK_OTHER
};

/** Fill @r->answer; it stays NULL where this is no such run, a scheduler of it
 * is the kernel's or not here, or the platform has not as many CPUs as the run
 * had workers; and on failure. 0, or -ENOMEM or what the scheduler said, with
 * @e. */
int picks_ask(struct recording *r, struct cr_err *e);

#endif
