/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What codec-runner prints instead of serving: its schedulers and the cost of
 * its codecs on this machine.
 */
#ifndef APP_RUNNER_TABLES_H
#define APP_RUNNER_TABLES_H

#include <stdio.h>

#include <jansson.h>

#include "app/runner/options.h"

/** Print @o and free it; NULL is no memory. 0, or 1: it could not. */
int runner_print_json(FILE *out, json_t *o);

/** Both return the process's exit code. */
int runner_show_schedulers(FILE *out, bool json);
int runner_show_codecs(FILE *out, const struct runner_options *o);

#endif
