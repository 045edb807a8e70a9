/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a simulation leaves behind: the table for people, run.json and
 * calls.csv in a run folder, the header of its trace.
 */
#ifndef SIM_REPORT_H
#define SIM_REPORT_H

#include <stdio.h>

#include <jansson.h>

#include "run/verdict.h"
#include "sim/simulation.h"

/** Everything that is told about a run. */
struct sim_report {
	const struct simulation_cfg *cfg;
	const struct simulation_result *result;
	const char *scheduler; /**< as given: "rr,quantum=5ms" */
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

/** The header of a trace of @cfg under @scheduler; owned by the caller. */
json_t *sim_report_trace_header(const struct simulation_cfg *cfg,
				const char *scheduler, uint64_t seed);

/** Write @dir/run.json and @dir/calls.csv. 0, or -errno with @e. */
int sim_report_write(const struct sim_report *r, const char *dir,
		     struct cr_err *e);

#endif
