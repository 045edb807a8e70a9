/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many calls each flow of a campaign means: its count, or what its load
 * comes to when it is known what a call takes. Pure; any thread.
 */
#ifndef CAMPAIGN_COUNTS_H
#define CAMPAIGN_COUNTS_H

#include "campaign/campaign.h"

/** Must it be known what a call of flow @f takes? */
bool campaign_needs_share(const struct campaign *c, unsigned f);

/**
 * Fill @counts [flow_count]; where it is not 0, that is kept. @share: what a
 * call of each flow takes of a CPU (1.0), used where campaign_needs_share().
 * @scale: counts and loads times this. 0, or -E2BIG with @e.
 */
int campaign_counts(const struct campaign *c, const double *share, double cpus,
		    double scale, uint64_t *counts, struct cr_err *e);

#endif
