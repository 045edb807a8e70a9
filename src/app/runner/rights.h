/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What codec-runner gives up when it starts, by its options: root's rights, and
 * system calls. Before the first thread, file, port or socket.
 */
#ifndef APP_RUNNER_RIGHTS_H
#define APP_RUNNER_RIGHTS_H

#include "app/runner/options.h"

/** What has become of it, for the log. */
struct rights {
	bool filtered;
	struct cr_err why_not; /**< if it was asked for, and is not */
};

/** Give up what @o says. 0; or -errno with @e: what has to be refused. Without
 * a filter the daemon goes on: @to says why. */
int rights_give_up(struct rights *to, const struct runner_options *o,
		   struct cr_err *e);

/** Log what is left. */
void rights_report(const struct rights *r, const struct runner_options *o);

#endif
