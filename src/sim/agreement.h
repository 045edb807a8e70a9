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

#endif
