/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is declared to schedulers of a flow's calls: costs and contract. As in
 * the daemon, what a contract declares goes before what is known of the costs.
 */
#ifndef SIM_DECLARED_H
#define SIM_DECLARED_H

#include "sim/cost_model.h"

struct declared {
	struct cr_cost cost;
	struct cr_contract contract;
};

/** Of @f, whose costs are @m's. */
struct declared declare(const struct campaign_flow *f,
			const struct cost_model *m);

/** The release model of @f's calls. */
struct release_cfg declared_release(const struct campaign_flow *f);

#endif
