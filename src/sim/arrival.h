/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the jobs of one call come: the plan's packets, or one of the models of
 * campaigns/README.md. Random numbers are the call's own, so that a call's
 * jobs do not depend on what other calls or the scheduler do; only "closed"
 * looks at when jobs end.
 *
 * Thread rule: one thread.
 */
#ifndef SIM_ARRIVAL_H
#define SIM_ARRIVAL_H

#include "campaign/campaign.h"
#include "campaign/plan.h"
#include "base/random.h"
#include "engine/core.h"
#include "sim/cost_model.h"
#include "sim/replay.h"

/** Zero, then envelope_init(). */
struct envelope {
	const struct campaign_flow *flow;
	const struct cost_model *cost;
	struct cost_source draws; /**< of the next jobs' lengths            */
	__int128 bucket, peak;	  /**< tokens left, in ns / 10^6            */
	cr_ns last;		  /**< when a job came, or the begin        */
	cr_ns until;		  /**< end of the burst                     */
};

/** From @start on; @draws are those that the jobs' costs are drawn with. All
 * pointers must outlive @e. */
void envelope_init(struct envelope *e, const struct campaign_flow *f,
		   const struct cost_model *cost, struct cost_source draws,
		   cr_ns start);

/** One job to come. */
struct arrival_job {
	cr_ns at;
	cr_ns waited;	/**< trace: in a jitter buffer, before             */
	cr_ns received; /**< trace: it is a job so much later              */
	uint64_t frame; /**< number in the call; gaps where packets are lost */
	uint64_t seq;	/**< plan: packet number in the call                */
};

/** Zero, then arrival_init(). In front what every job needs. */
struct arrival {
	const struct campaign_flow *flow;
	enum campaign_arrival_kind kind;
	cr_ns start;	     /**< of the call: the first job                 */
	uint64_t next, jobs; /**< number of the next one; how many there are */
	cr_ns last;	     /**< when the last one came                     */
	cr_ns closed;	     /**< closed: when the next one comes            */
	cr_ns end;	     /**< of the call: no job from then on           */
	struct random random;
	struct plan_stream *stream; /**< plan: the owner's                  */
	struct envelope *envelope;  /**< envelope: the owner's, who sets it
					up from @start on and here           */
	const struct replay_job *replay; /**< trace: [replay_count]         */
	size_t replay_count;
};

/** The arrivals of @call, which must outlive @a, as @p and @trace must (the
 * trace model's; others do not look at it), and @stream (the plan's). */
void arrival_init(struct arrival *a, const struct plan *p,
		  const struct plan_call *call, const struct replay *trace,
		  struct plan_stream *stream);

/** The next job; times never go back. False: none, or (closed) none until
 * arrival_done(). */
bool arrival_next(struct arrival *a, struct arrival_job *out);

/** Of the closed model: the job that came at @came ended at @now. True: it was
 * late for the next period, which begins at once. */
bool arrival_done(struct arrival *a, cr_ns came, cr_ns now);

/*
 * What is declared to schedulers of a flow's calls. As in the daemon, what a
 * contract declares goes before what is known of the costs.
 */

/** Of @f, whose costs are @m's. */
struct core_terms declare(const struct campaign_flow *f,
			  const struct cost_model *m);

/** The release model of @f's calls. */
struct release_cfg declared_release(const struct campaign_flow *f);

#endif
