/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is declared to schedulers of a flow's calls. As in the daemon, what a
 * contract declares goes before what is known of the costs.
 */
#ifndef SIM_DECLARED_H
#define SIM_DECLARED_H

#include "engine/core.h"
#include "sim/cost_model.h"

/** Of @f, whose costs are @m's. */
struct core_terms declare(const struct campaign_flow *f,
			  const struct cost_model *m);

/** The release model of @f's calls. */
struct release_cfg declared_release(const struct campaign_flow *f);

#endif
