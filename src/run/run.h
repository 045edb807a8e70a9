/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common work of feeder and simulator on a run: judge it by the campaign's
 * expectations, and write it down, as run.json in a run folder.
 *
 * Thread rule: a run_file is its opener's; the rest may be called by any
 * thread.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <jansson.h>
#include <stdio.h>

#include "campaign/campaign.h"
#include "cr/error.h"
#include "observe/histogram.h"

/** Longest path of a file in a run folder, with its NUL. */
#define RUN_PATH_MAX 4096u

/** A file that is being written. */
struct run_file {
	FILE *f;
	char path[RUN_PATH_MAX]; /**< for messages */
};

/** Make the folder @dir, and those above it, unless it is there. 0, or -errno
 * with @e; -ENOTDIR: a file has the name. */
int run_folder_make(const char *dir, struct cr_err *e);

/** Create or replace @dir/@name. 0 and @file (run_file_close()), or -errno with
 * @e: -ENAMETOOLONG or what fopen(3) says. */
int run_file_open(struct run_file *file, const char *dir, const char *name,
		  struct cr_err *e);

/** Close it. 0, or -EIO with @e when not all of it was written: disk full. */
int run_file_close(struct run_file *file, struct cr_err *e);

/** Write @j (borrowed; NULL: -ENOMEM) to @dir/run.json. 0, or -errno with
 * @e. */
int run_folder_write(const char *dir, const json_t *j, struct cr_err *e);

/*
 * A run as JSON: how run.json begins, whichever program writes it, and what
 * its writers need. Any thread.
 */

/** A run. All borrowed. */
struct run_head {
	const char *program; /**< "codec-sim" */
	const struct campaign *campaign;
	uint64_t seed;
	cr_ns duration;
	int argc; /**< the command line */
	char *const *argv;
};

/** Program, version, command, campaign (path, text, settings), seed and
 * duration, to be gone on with; owned by the caller, NULL: no memory. */
json_t *run_head_json(const struct run_head *h);

/** Add a member to @o; @value is taken over. Without memory it is left out. */
void run_put(json_t *o, const char *key, json_t *value);
void run_put_int(json_t *o, const char *key, int64_t value);

/** The same for text from outside: null when @s is NULL or no UTF-8. */
void run_put_text(json_t *o, const char *key, const char *s);

/** {"count", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"}; the
 * caller owns it. NULL: no memory. */
json_t *run_histogram_json(const struct histogram *h);

/** Print @j as run.json has it, and a new line; NULL prints nothing. Errors
 * are @f's (ferror(3)). */
void run_json_print(const json_t *j, FILE *f);

/*
 * A campaign's expectations, judged by what a run came to: as data, as JSON and
 * for people. Who measured the run says what each metric is.
 *
 * Thread rule: one thread at a time; nothing is kept between calls.
 */

/* --- what the metrics of a campaign are, for whoever counts --- */

/** @part of @whole. */
struct run_share {
	uint64_t part, whole;
};

/** The source of the metrics of a flow, or of a run. */
struct run_counts {
	struct run_share lost;	   /**< of those due back               */
	struct run_share late;	   /**< of those done                   */
	struct run_share missed;   /**< late or never done, of those due */
	struct run_share admitted; /**< calls, of those planned         */
	struct run_share digits;   /**< right, of those dialled         */
	const struct histogram *delay, *jitter; /**< ns                 */
};

/** The value of @m: ppm of a share, ns of a time. Nothing of nothing is 0, but
 * all where no digit was dialled; one lost of however many is never 0, nor is
 * one refused ever all. */
int64_t run_metric(const struct run_counts *c, enum campaign_metric m);

/** A judged expectation. The pointers belong to the campaign. */
struct verdict {
	const char *flow; /**< NULL: of the whole run, or of conversions */
	enum campaign_metric metric;
	const struct campaign_expect *expect;
	int64_t value; /**< its result, ppm or ns */
	bool met;
};

/** All of a campaign: its own, flow by flow, then of the conversions. Zero is
 * none. */
struct verdicts {
	struct verdict *item; /**< [count] */
	unsigned count;
};

/** In place of a flow's index: all flows together; the conversions. */
#define VERDICT_WHOLE_RUN (-1)
#define VERDICT_CONVERSIONS (-2)

/** The value of @metric, ppm or ns, in flow number @flow of the campaign, in
 * the whole run (VERDICT_WHOLE_RUN), or of the conversions. */
typedef int64_t verdict_value_fn(const void *arg, int flow,
				 enum campaign_metric metric);

/**
 * Judge every expectation of @c, which must outlive @out. @value is asked, with
 * @arg, for the metrics that are expected. 0 and @out (verdicts_fini()), or
 * -ENOMEM with @e.
 */
int verdicts_judge(const struct campaign *c, verdict_value_fn *value,
		   const void *arg, struct verdicts *out, struct cr_err *e);

/** Were all met? None: yes. */
bool verdicts_met(const struct verdicts *v);

/** The list "expectations" of run.json; owned by the caller. */
json_t *verdicts_json(const struct verdicts *v);

/** A line for each: met or missed, where the campaign file @path asks it, what
 * it came to. */
void verdicts_print(const struct verdicts *v, const char *path, FILE *f);

/** Free; none are left. */
void verdicts_fini(struct verdicts *v);

#endif
