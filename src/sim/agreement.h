/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a recorded run that was played again agrees with the live one:
 * losses, delays, the order of picks.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_AGREEMENT_H
#define SIM_AGREEMENT_H

#include <stdio.h>

#include <jansson.h>

#include "sim/recording.h"

/** Was @scheduler at work in what is compared? */
bool agreement_has(const struct recording *r, const char *scheduler);

/** The run under @scheduler beside the recorded one: for people, and as JSON
 * (owned by the caller). @r->replayed has what became of the frames, and
 * @r->own in the time of @scheduler, if its schedulers were switched. */
void agreement_report(const struct recording *r, const char *scheduler,
		      FILE *f);
json_t *agreement_json(const struct recording *r, const char *scheduler);

/*
 * Each pick of a live run, put to its scheduler again: the frames come, are
 * picked and end as they did then, and at every pick the scheduler is asked
 * which of the waiting frames it would take. Then it is given the one that was
 * taken. Therefore one answer that differs leaves the next ones alone, while a
 * replay that parts from the live run at a near tie serves other frames from
 * then on.
 *
 * Of live runs with one run queue. The charge of a turn is not in a trace: the
 * scheduler is charged the time from the turn's pick until the worker's next
 * one, or its end, if the worker found nothing to pick then.
 */

/** The answer about a job's pick. */
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
