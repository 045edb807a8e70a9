/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run leaves behind: run.json and streams.csv in a run folder, dumped
 * speech, and the table for people. Main thread.
 */
#ifndef FEEDER_OUTPUT_H
#define FEEDER_OUTPUT_H

#include "feeder/session.h"
#include "run/run.h"

/** Everything that is written down of a run. */
struct output {
	const struct session_cfg *cfg;
	const struct session_result *result;
	struct verdicts verdicts; /**< none: not judged */
	int argc;		  /**< the command line */
	char *const *argv;
	const char *failure; /**< why the run broke off, or NULL */
	bool cut_off;	     /**< for a second interrupt asked for it */
};

/** Judge the campaign's expectations into @o->verdicts (verdicts_fini()).
 * 0, or -ENOMEM with @e. */
int output_judge(struct output *o, struct cr_err *e);

/** Was every packet of every two-way call accounted for? */
bool output_balanced(const struct output *o);

/** The content of run.json; owned by the caller, NULL: no memory. */
json_t *output_json(const struct output *o);

/** Write @dir/run.json and @dir/streams.csv. 0, or -errno with @e. */
int output_run(const struct output *o, const char *dir, struct cr_err *e);

/** Write @dir/frames.bin (feeder/match.h). 0, or -errno with @e. */
int output_frames(const struct output *o, const char *dir, struct cr_err *e);

/** Write what every call received, and what it said, into @dir. 0, or -errno
 * with @e. */
int output_dump(const struct output *o, const char *dir, struct cr_err *e);

/** The summary: a line per flow, the sum, the expectations. */
void output_table(const struct output *o, FILE *f);

#endif
