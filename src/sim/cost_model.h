/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What jobs cost. A model belongs to a flow and is shared by its calls; each
 * call draws with random numbers of its own. Integer arithmetic throughout:
 * the same seed gives the same costs on every machine.
 *
 * Thread rule: constant after cost_model_open(); any thread.
 */
#ifndef SIM_COST_MODEL_H
#define SIM_COST_MODEL_H

#include "campaign/campaign.h"
#include "campaign/random.h"
#include "cr/sched.h"

/** A job that never ends: longer than any campaign, and safe to add to. */
#define COST_MODEL_ENDLESS (INT64_C(1) << 61)

struct cost_model {
	const struct campaign_cost *cfg;
	bool endless;
	struct cr_cost estimate; /**< what a scheduler is told               */
};

/** The model of @f, which must outlive it. 0, or -errno with @e. */
int cost_model_open(struct cost_model *m, const struct campaign_flow *f,
		    struct cr_err *e);
void cost_model_close(struct cost_model *m);

/** The cost of a job, > 0. */
cr_ns cost_model_draw(const struct cost_model *m, struct random *r);

#endif
