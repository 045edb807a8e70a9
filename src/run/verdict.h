/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A campaign's expectations, judged by what a run came to: as data, as JSON and
 * for people. Who measured the run says what each metric is.
 *
 * Thread rule: one thread at a time; nothing is kept between calls.
 */
#ifndef RUN_VERDICT_H
#define RUN_VERDICT_H

#include <jansson.h>
#include <stdio.h>

#include "campaign/campaign.h"
#include "observe/histogram.h"

/* --- what the metrics of a campaign are, for whoever counts --- */

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

/** A judged expectation. The pointers belong to the campaign. */
struct verdict {
	const char *flow; /**< NULL: of the whole run, or of conversions */
	enum campaign_metric metric;
	const struct campaign_expect *expect;
	int64_t value; /**< what it came to, ppm or ns */
	bool met;
};

/** All of a campaign: its own, flow by flow, then of the conversions. Zero is
 * none. */
struct verdicts {
	struct verdict *item; /**< [count] */
	unsigned count;
};

/** In place of a flow's index: all flows together; the conversions. */
#define VERDICT_WHOLE_RUN (-1)
#define VERDICT_CONVERSIONS (-2)

/** The value of @metric, ppm or ns, in flow number @flow of the campaign, in
 * the whole run (VERDICT_WHOLE_RUN), or of the conversions. */
typedef int64_t verdict_value_fn(const void *arg, int flow,
				 enum campaign_metric metric);

/**
 * Judge every expectation of @c, which must outlive @out. @value is asked, with
 * @arg, for the metrics that are expected. 0 and @out (verdicts_fini()), or
 * -ENOMEM with @e.
 */
int verdicts_judge(const struct campaign *c, verdict_value_fn *value,
		   const void *arg, struct verdicts *out, struct cr_err *e);

/** Were all met? None: yes. */
bool verdicts_met(const struct verdicts *v);

/** The list "expectations" of run.json; owned by the caller. */
json_t *verdicts_json(const struct verdicts *v);

/** A line for each: met or missed, where the campaign file @path asks it, what
 * it came to. */
void verdicts_print(const struct verdicts *v, const char *path, FILE *f);

/** Free; none are left. */
void verdicts_fini(struct verdicts *v);

#endif
