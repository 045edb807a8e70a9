/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options that say which CPUs do what.
 */
#ifndef APP_RUNNER_PLACING_H
#define APP_RUNNER_PLACING_H

#include "app/runner/options.h"

/** As given. */
struct placing_ask {
	const char *pin, *rx; /**< lists, "none", or NULL: not given */
	unsigned workers, receivers;
	int run_queues;
};

/** Fill in what @ask means on this machine; what is wrong, into
 * o->from.faults. Main thread; first before it keeps off any CPU: which ones
 * may be used is looked up once. */
void placing_do(struct runner_options *o, const struct placing_ask *ask);

#endif
