/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a simulation leaves behind: the table for people, run.json and
 * streams.csv in a run folder, its trace. Main thread.
 */
#ifndef SIM_SIM_REPORT_H
#define SIM_SIM_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "run/run.h"
#include "sim/simulation.h"

/** The report of a run. */
struct sim_report {
	const struct simulation_cfg *cfg;
	const struct simulation_result *result;
	const char *scheduler; /**< as given: "rr,quantum=5ms" */
	const char *failure;   /**< why the run broke off, or NULL */
	uint64_t seed;
	struct verdicts verdicts; /**< none: not judged */
	double seconds;		  /**< real time it took */
	int argc;		  /**< the command line */
	char *const *argv;
};

/** Judge the campaign's expectations into @r->verdicts (verdicts_fini()).
 * 0, or -ENOMEM with @e. */
int sim_report_judge(struct sim_report *r, struct cr_err *e);

/** The table: a line per flow, the CPUs, the expectations. */
void sim_report_table(const struct sim_report *r, FILE *f);

/** The content of run.json; owned by the caller. */
json_t *sim_report_json(const struct sim_report *r);

/** Create @path, or replace it, as the trace of the run that @r will tell of:
 * its cfg, scheduler and seed are set. 0 and @t (sim_trace_close()), or -errno
 * with @e. */
int sim_trace_open(const struct sim_report *r, const char *path,
		   struct trace_file *t, struct cr_err *e);

/** Close it. 0, or -errno with @e when not all of it was written. */
int sim_trace_close(struct trace_file *t, struct cr_err *e);

/** The name of @scheduler's folder among several: "./x.so,boost=5" is
 * "x.so_boost=5", so that none is hidden or above. */
void sim_folder_name(const char *scheduler, char name[RUN_PATH_MAX]);

/** Make the run folder @out, or, where several runs share @out, the one of
 * @scheduler in it; else @scheduler is NULL. 0 and @dir, or -errno with @e. */
int sim_folder_make(const char *out, const char *scheduler,
		    char dir[RUN_PATH_MAX], struct cr_err *e);

/** Write @dir/run.json and @dir/streams.csv. 0, or -errno with @e. */
int sim_report_write(const struct sim_report *r, const char *dir,
		     struct cr_err *e);

#endif
