/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the calls of a flow begin that come at random: a Poisson process of one
 * rate, or of a rate that changes. Private to src/campaign.
 */
#ifndef CAMPAIGN_POISSON_H
#define CAMPAIGN_POISSON_H

#include "campaign/campaign.h"
#include "campaign/random.h"

struct poisson {
	const struct campaign_start *start;
	struct random random;
	cr_ns at, end; /**< of the last call; none begins from end on       */
	cr_ns mean;    /**< between calls at the highest rate; 0: none come */
	int64_t most;  /**< that rate, in the units of start->poisson       */
};

/** The calls of @f, which must outlive @p and of which there are @n, in a
 * campaign of @duration. Without calls (@n 0) shares of them are none. */
void poisson_init(struct poisson *p, const struct campaign_flow *f, uint64_t n,
		  cr_ns duration, struct random random);

/** When the next one begins. False: there is none. */
bool poisson_next(struct poisson *p, cr_ns *at);

#endif
