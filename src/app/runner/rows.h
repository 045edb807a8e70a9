/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of codec-runner's options, and what its values mean. There is one
 * set of variables, which reading fills and rows_fill() makes sense of.
 *
 * Main thread.
 */
#ifndef APP_RUNNER_ROWS_H
#define APP_RUNNER_ROWS_H

#include "app/runner/options.h"

extern const struct cli rows_cli;

/** Give all variables their defaults. */
void rows_reset(void);

/** Is a page or an example to be shown? Into @o. */
void rows_asked(struct runner_options *o);

/** What they mean, into @o; what is wrong, into o->from.faults. */
void rows_fill(struct runner_options *o);

/** Have codecs, kernels and the user that they name. Once, before other threads
 * run; what is wrong: as above. */
void rows_load(struct runner_options *o);

#endif
