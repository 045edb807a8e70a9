/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration, read again while the daemon runs.
 *
 * All of it is taken, or nothing: then the log says why. What may change (rows
 * with CLI_LIVE) does; of the rest the log says that it needs a restart. What
 * clients have set since, as the scheduler, stays as long as the configuration
 * says what it said before.
 *
 * Control thread.
 */
#ifndef APP_RUNNER_REREAD_H
#define APP_RUNNER_REREAD_H

#include "app/runner/options.h"
#include "http/http.h"

/** What it is for. Zero, then all but now are set. */
struct reread {
	/** What it was started with; drain_timeout in it follows. */
	struct runner_options *start;
	struct service *service;
	struct ng_service *ng;	    /**< or NULL */
	struct http *http;	    /**< or NULL */
	struct runner_options *now; /**< what was taken last; NULL: start's */
	struct config_state *state; /**< for those who ask */
};

/** Read it again. Nothing, if there is no service: before the start, and at the
 * end. */
void reread_config(struct reread *r);

/** Nothing uses its texts any more. */
void reread_free(struct reread *r);

#endif
