/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that codec-runner prints instead of serving; and --plan: how many calls
 * of a mix this machine carries, from what their codecs cost here and from what
 * a packet costs beside its codec, both measured. It plays no such calls:
 * bounds of delay are for --find-capacity.
 */
#ifndef APP_RUNNER_CAPACITY_PLAN_H
#define APP_RUNNER_CAPACITY_PLAN_H

#include <stdio.h>

#include "app/runner/options.h"

/** Measure and print what o->plan asks for, as a daemon with these options has
 * it. Takes some seconds. Returns the process's exit code: 2 for a mix that
 * cannot be, with a message. Main thread; no node may run in the process. */
int runner_show_plan(FILE *out, const struct runner_options *o);

/** Show the schedulers, with the plug-in that @o names; the codecs with their
 * cost on this machine. Both return the process's exit code. */
int runner_show_schedulers(FILE *out, const struct runner_options *o);
int runner_show_codecs(FILE *out, const struct runner_options *o);

#endif
