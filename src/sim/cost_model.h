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

#include <stddef.h>
#include <stdint.h>

#include "campaign/campaign.h"
#include "base/random.h"
#include "cost/cost.h"
#include "cr/error.h"
#include "cr/sched.h"
#include "sim/replay.h"
#include "sim/sim.h"

/** Measured costs, of which one is drawn. Zero is empty. */
struct cost_values {
	cr_ns value[COST_QUANTILES];
	unsigned count;
};

/** A job that never ends: longer than any campaign, and safe to add to. */
#define COST_MODEL_ENDLESS (INT64_C(1) << 61)
/** Measured: decoding, conversion, encoding. */
#define COST_MODEL_PARTS 3u

struct cost_model {
	const struct campaign_cost *cfg;
	bool endless;
	struct cr_cost estimate; /**< what is declared to schedulers         */
	int64_t sigma, shift;	 /**< lognormal: mean * e^(sigma n - shift)   */
	int64_t warm;  /**< measured: of later jobs of a row, ppm; 0: not */
	int64_t saved; /**< of the cost, by the job before; units of 2^-32 */
	int64_t decay; /**< e^-decay of that is left after another's turn */
	struct cost_values part[COST_MODEL_PARTS]; /**< summed               */
	struct replay replay;
};

/** The call that draws. */
struct cost_source {
	struct random random;
	size_t call, next; /**< its number in the flow; trace: the job's, a
				draw goes on to the next                     */
};

/**
 * The models of all flows of @c, which must outlive them. Measures codecs where
 * a flow has no cost, each pair once. 0, or -errno with @e; either way
 * cost_models_close().
 */
int cost_models_open(struct cost_model *m, const struct campaign *c,
		     struct cr_err *e);
void cost_models_close(struct cost_model *m, const struct campaign *c);

/** The model of one flow with a cost. @base: files are named from the folder
 * of this one. 0, or -errno with @e; either way cost_model_close(). */
int cost_model_open(struct cost_model *m, const struct campaign_flow *f,
		    const char *base, struct cr_err *e);
void cost_model_close(struct cost_model *m);

/** The model of a flow of a recorded run, by @r, which must outlive it. */
void cost_model_replay(struct cost_model *m, const struct campaign_flow *f,
		       const struct replay *r);

/** The cost of a job, > 0, if nothing of its call is in the caches. */
cr_ns cost_model_draw(const struct cost_model *m, struct cost_source *s);

/** Cost of a job, drawn as @cold, when @others turns of other calls ran on its
 * CPU since the last job of its call; SIM_COLD: it never ran there. */
cr_ns cost_model_after(const struct cost_model *m, cr_ns cold, uint64_t others);

/** @file as named in the campaign file @base, in @buf, which is returned. */
const char *cost_model_path(char *buf, size_t size, const char *base,
			    const char *file);

/*
 * Exponential, logarithm and square root in fixed point (units of 2^-32): the
 * same on every machine, which the mathematical library's are not. Errors are
 * a few units of 2^-32, relative to the result where it is above 1. Pure; any
 * thread.
 */

#define FIXED_ONE (INT64_C(1) << 32)

/** e^@x; at most 2^62 (@x is cut at 20.7). */
int64_t fixed_exp(int64_t x);

/** The natural logarithm of @y, >= 1. */
int64_t fixed_log(int64_t y);

/** The square root of @y, >= 0. */
int64_t fixed_sqrt(int64_t y);

#endif
