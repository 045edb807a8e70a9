/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-feeder's progress: one line rewritten on a terminal, a plain line
 * every five seconds elsewhere.
 */
#ifndef APP_FEEDER_PROGRESS_H
#define APP_FEEDER_PROGRESS_H

#include <stdio.h>

#include "feeder/session.h"

struct feeder_progress {
	FILE *out;
	bool terminal, open; /**< open: a line without its end is there */
	cr_ns next;	     /**< show nothing before                   */
};

void feeder_progress_init(struct feeder_progress *p, FILE *out);

/** For session_cfg.progress; @arg is the struct feeder_progress. */
void feeder_progress_show(void *arg, const struct session_progress *p);

/** End the line. */
void feeder_progress_end(struct feeder_progress *p);

#endif
