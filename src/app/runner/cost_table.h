/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of costs that codec-runner --codecs shows.
 */
#ifndef APP_RUNNER_COST_TABLE_H
#define APP_RUNNER_COST_TABLE_H

#include <stdio.h>

#include <jansson.h>

#include "cost/cost.h"

/** Print it for a person. Errors are @out's (ferror(3)). */
void costs_print(FILE *out, const struct cost_table *t);

/**
 * The same as a JSON object: "narrow_speech" and "wide_speech" ("recorded" or
 * "synthetic"), "kernels" ("stock", "avx2"), "kernels_missing" (why they cannot
 * be used here, what that costs and what to do; null: they can), and "rows":
 * codec, mode, sample_rate, direction ("encode", "decode"; of codec "resample":
 * "up", "down"), frame_ms, mean_us, stock_us (null: measured once only),
 * p99_us, stddev_us, frames, calls_per_core, weight. A new reference; NULL when
 * out of memory.
 */
json_t *costs_json(const struct cost_table *t);

#endif
