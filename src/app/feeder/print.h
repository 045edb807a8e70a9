/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What codec-feeder prints of a campaign in place of playing it: --print, for
 * campaigns/run, and --print-schedule.
 */
#ifndef APP_FEEDER_PRINT_H
#define APP_FEEDER_PRINT_H

#include "feeder/session.h"

/** The options to start the daemon with. 0. */
int feeder_print_daemon(const struct campaign *c);

/** The schedulers to try, one a line. 0. */
int feeder_print_schedulers(const struct campaign *c);

/** How many conversions there are. 0. */
int feeder_print_conversions(const struct campaign *c);

/** A JSON object: what decides how campaigns/run plays it. 0. */
int feeder_print_campaign(const struct session_cfg *cfg);

/** FLOW=N for every flow whose load becomes a count by what the daemon says,
 * so that every scheduler gets the same calls. 0, or -errno with @e. */
int feeder_print_counts(const struct session_cfg *cfg, struct cr_err *e);

/** Every packet, when it is due, and a hash of all. @counts[flow_count], 0
 * where the campaign's are to be taken, are filled in. 0, or -errno with @e. */
int feeder_print_schedule(const struct session_cfg *cfg, uint64_t *counts,
			  struct cr_err *e);

#endif
