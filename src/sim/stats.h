/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of the jobs of a flow, and of all flows.
 */
#ifndef SIM_STATS_H
#define SIM_STATS_H

#include <jansson.h>

#include "campaign/campaign.h"
#include "observe/histogram.h"

/** Counts of one flow, or of all; name, help. */
#define FLOW_COUNTS(X)                                                         \
	X(planned, "calls of the plan")                                        \
	X(admitted, "calls that were taken")                                   \
	X(refused, "calls that were not")                                      \
	X(jobs, "jobs that came")                                              \
	X(done, "jobs done")                                                   \
	X(late, "of them behind their deadline")                               \
	X(overwritten, "jobs dropped as the oldest of a full queue")           \
	X(expired, "jobs shed because too old")                                \
	X(shed, "jobs given up before, to keep others in time")                \
	X(left, "jobs not done when the call or the campaign ended")           \
	X(unreceived, "jobs whose packet found too many waiting")              \
	X(unbuffered, "jobs whose packet came too late to be played")          \
	X(concealed, "jobs in place of packets that did not come in time")     \
	X(due, "jobs whose deadline was within the campaign")                  \
	X(missed, "of them late or never done")                                \
	X(violations, "jobs that came before their contract allowed it")       \
	X(moves, "times a job went on on another CPU")                         \
	X(splits, "times a job was interrupted")

struct flow_stats {
#define FLOW_COUNT(name, help) uint64_t name;
	FLOW_COUNTS(FLOW_COUNT)
#undef FLOW_COUNT
	cr_ns service;		/**< CPU time of the jobs done or under way */
	struct histogram delay; /**< arrival to end, of the jobs done; with
				     their time in a jitter buffer          */
	struct histogram
		buffered;	 /**< that time, of flows with such a buffer */
	struct histogram jitter; /**< |distance of two ends - period|        */
};

/** What became of one call's jobs; names as above. What every job counts in is
 * in front. */
struct call_sum {
	uint64_t jobs, done, late, missed;
	cr_ns delay, delay_max; /**< of all jobs done; of the slowest       */
	uint64_t overwritten, expired, shed, left;
	uint64_t violations;
	uint64_t unreceived, unbuffered;
	bool admitted;
};

/** Add @from to @to. */
void flow_stats_merge(struct flow_stats *to, const struct flow_stats *from);

/** Jobs that were dropped, wherever. */
static inline uint64_t flow_stats_lost(const struct flow_stats *s)
{
	return s->overwritten + s->expired + s->shed + s->unreceived +
	       s->unbuffered;
}

/** One metric, in ppm or ns. */
int64_t flow_stats_metric(const struct flow_stats *s, enum campaign_metric m);

/** All of it as a JSON object; owned by the caller. */
json_t *flow_stats_json(const struct flow_stats *s);

#endif
