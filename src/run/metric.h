/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the metrics of a campaign are, for whoever counts frames or jobs. Pure.
 */
#ifndef RUN_METRIC_H
#define RUN_METRIC_H

#include "campaign/campaign.h"
#include "observe/histogram.h"

/** @part of @whole. */
struct run_share {
	uint64_t part, whole;
};

/** What the metrics of a flow, or of a run, come from. */
struct run_counts {
	struct run_share lost;	   /**< of those due back               */
	struct run_share late;	   /**< of those done                   */
	struct run_share missed;   /**< late or never done, of those due */
	struct run_share admitted; /**< calls, of those planned         */
	struct run_share digits;   /**< right, of those dialled         */
	const struct histogram *delay, *jitter; /**< ns                 */
};

/** The value of @m: ppm of a share, ns of a time. Nothing of nothing is 0, but
 * all where no digit was dialled; one lost of however many is never 0, nor is
 * one refused ever all. */
int64_t run_metric(const struct run_counts *c, enum campaign_metric m);

#endif
