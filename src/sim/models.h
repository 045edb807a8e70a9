/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a simulation takes from files and measurements: what jobs cost, how loud
 * they are, the traces that are played again, and, where a flow asks for a
 * load, how many calls that is.
 *
 * Thread rule: constant after sim_models_open(); any thread.
 */
#ifndef SIM_MODELS_H
#define SIM_MODELS_H

#include "sim/cost_model.h"
#include "sim/voice.h"

/** Zero is closed. */
struct sim_models {
	struct cost_model *costs;   /**< [flow_count]                      */
	struct replay *replays;	    /**< [flow_count] empty: no trace      */
	struct voice_model *voices; /**< [flow_count]                    */
	uint64_t *counts;	    /**< [flow_count] calls, for the plan  */
};

/** What the command line may say in the place of @c. */
struct sim_terms {
	int64_t cpus;
	uint64_t seed;
	cr_ns duration;
};

/**
 * The models of @c, which must outlive them. 0, or with @e:
 * -ENOMEM, -E2BIG (a load of too many calls), what a file is not; either way
 * sim_models_close().
 */
int sim_models_open(struct sim_models *m, const struct campaign *c,
		    const struct sim_terms *terms, struct cr_err *e);
void sim_models_close(struct sim_models *m, const struct campaign *c);

#endif
