/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign under edf-hsb without playing it: what analysis/hsb.h says about
 * its flows, for people and as JSON. Prints nothing by itself.
 */
#ifndef SIM_ANALYSE_H
#define SIM_ANALYSE_H

#include <stdio.h>

#include <jansson.h>

#include "analysis/hsb.h"
#include "campaign/campaign.h"
#include "schedulers/edf_hsb_opts.h"
#include "sim/simulation.h"

struct analysis {
	const struct campaign *campaign;
	const struct campaign_platform *platform;
	const struct sim_models *models;
	struct hsb_opts opts;
	struct hsb_flow *hard, *soft; /**< in the campaign's order */
	struct hsb_system system;
	struct hsb_report report;
};

/**
 * Analyse @c on @p. @options: of edf-hsb, as text. 0, or with @e: -EINVAL
 * (names the flow that cannot be analysed, and why), -ENOMEM. What is passed
 * must outlive @a. Either way analysis_fini().
 */
int analysis_make(struct analysis *a, const struct campaign *c,
		  const struct campaign_platform *p, const struct sim_models *m,
		  const char *options, struct cr_err *e);
void analysis_fini(struct analysis *a);

/** Constraints, then a line per flow. */
void analysis_table(const struct analysis *a, FILE *f);

/** The same; owned by the caller. Times in ns, shares in CPUs; what is not
 * bounded is null. */
json_t *analysis_json(const struct analysis *a);

#endif
