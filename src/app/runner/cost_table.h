/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of costs that codec-runner --codecs shows: every codec, mode and
 * direction, and resampling.
 */
#ifndef APP_RUNNER_COST_TABLE_H
#define APP_RUNNER_COST_TABLE_H

#include <stdio.h>

#include <jansson.h>

#include "cr/error.h"

struct cost_table;

/**
 * Measure all built-in codecs in all modes in about @seconds (0: 10) of CPU
 * time; those with kernels also with the library's own (stock), in the same
 * time. Two fifths of it are for curves, one for each codec. No other thread
 * may be inside a codec meanwhile. Recordings are those that are installed;
 * where there are none, speech is synthetic and the table says so. "spin" is
 * left out: it costs what one asks for. Returns 0 and sets
 * *@t, or -ENOMEM, -EINVAL with @e.
 */
int cost_table_open(struct cost_table **t, double seconds, struct cr_err *e);

/** NULL is fine. */
void cost_table_close(struct cost_table *t);

/** Print it for a person. Errors are @out's (ferror(3)). */
void costs_print(FILE *out, const struct cost_table *t);

/**
 * The same as a JSON object: "narrow_speech" and "wide_speech" ("recorded" or
 * "synthetic"), "kernels" ("stock", "avx2"), "kernels_missing" (why they cannot
 * be used here, what that costs and what to do; null: they can), and "rows":
 * codec, mode, sample_rate, direction ("encode", "decode"; of codec "resample":
 * "up", "down"), frame_ms, mean_us, stock_us (null: measured once only),
 * p99_us, stddev_us, frames, streams_per_core, weight. A new reference; NULL
 * when out of memory.
 */
json_t *costs_json(const struct cost_table *t);

#endif
