/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a simulation as the simulated driver sees them: one call's
 * arrivals, its waiting jobs, what they cost and what became of them. The
 * client of sim/sim.h.
 *
 * Thread rule: one thread; in workload_run() the callbacks of one part (see
 * sim/sim.h) are called by one thread at a time.
 */
#ifndef SIM_WORKLOAD_H
#define SIM_WORKLOAD_H

#include <pthread.h>
#include <stdalign.h>

#include "campaign/campaign.h"
#include "engine/release.h"
#include "observe/histogram.h"
#include "observe/trace_file.h"
#include "rtp/jitter.h"
#include "sim/arrival.h"
#include "sim/backlog.h"
#include "sim/cost_model.h"
#include "sim/sim.h"
#include "sim/voice.h"

/** Counts of one call's jobs; name, help. What every job counts in is in front.
 */
#define CALL_COUNTS(X)                                                         \
	X(jobs, "jobs that came")                                              \
	X(done, "jobs done")                                                   \
	X(late, "of them behind their deadline")                               \
	X(missed, "jobs due that were late or never done")                     \
	X(overwritten, "jobs dropped as the oldest of a full queue")           \
	X(expired, "jobs shed because too old")                                \
	X(shed, "jobs given up before, to keep others in time")                \
	X(left, "jobs not done when the call or the campaign ended")           \
	X(unreceived, "jobs whose packet found too many waiting")              \
	X(unbuffered, "jobs whose packet came too late to be played")          \
	X(violations, "jobs that came before their contract allowed it")

/** Counts of one flow, or of all; CALL_COUNTS are the sums over its calls. */
#define FLOW_COUNTS(X)                                                         \
	X(planned, "calls of the plan")                                        \
	X(admitted, "calls that were taken")                                   \
	X(refused, "calls that were not")                                      \
	CALL_COUNTS(X)                                                         \
	X(concealed, "jobs in place of packets that did not come in time")     \
	X(due, "jobs whose deadline was within the campaign")                  \
	X(moves, "times a job went on on another CPU")                         \
	X(splits, "times a job was interrupted")

#define COUNT_MEMBER(name, help) uint64_t name;

struct flow_stats {
	FLOW_COUNTS(COUNT_MEMBER)
	cr_ns service;		/**< CPU time of the jobs done or under way */
	struct histogram delay; /**< arrival to end, of the jobs done; with
				     their time in a jitter buffer          */
	struct histogram
		buffered;	 /**< that time, of flows with such a buffer */
	struct histogram jitter; /**< |distance of two ends - period|        */
};

/** Sums of one call's jobs. */
struct call_sum {
	cr_ns delay, delay_max; /**< of all jobs done; of the slowest       */
	CALL_COUNTS(COUNT_MEMBER)
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

/** The campaign's begin in a trace. */
#define WORKLOAD_EPOCH CR_SEC

/** State that the calls of one part of the run queues share and threads write.
 */
struct workload_part {
	alignas(64) struct workload *w;
	struct flow_stats *stats; /**< [flow_count]                         */
	uint64_t jobs;		  /**< ended so far                         */
	bool failed;		  /**< out of memory                        */
	union cr_trace_record *record; /**< [records] of the workload_run()
					    under way                       */
	size_t records, room;
};

struct receivers;      /* sim/receivers.h */
struct simulation_cfg; /* sim/simulation.h */

/** A scheduler that broke its contract: in which run queue first, and when. */
struct workload_fault {
	uint64_t count; /**< run queues in which it did; 0: it kept it    */
	cr_ns at;	/**< the first of them; of several the lowest one */
	struct core_fault what;
};

/** State that all calls share. */
struct workload {
	const struct simulation_cfg *cfg;
	struct receivers *receivers; /**< NULL: packets are jobs at once   */

	/* workload_open()'s */
	struct sim *sim;
	struct workload_part *part; /**< [sim_parts()]                      */
	bool running;		    /**< in workload_run()                  */
	pthread_mutex_t fault_lock;
	struct workload_fault fault; /**< under fault_lock in workload_run() */
};

/** State of some kinds of arrivals. It is large, and most calls have none,
 * therefore it is allocated apart. */
union call_model {
	struct plan_stream stream;
	struct envelope envelope;
};

/** One call. Zero but for @model, then workload_begin(). In such an order that
 * what every job needs lies in few cache lines, WORKLOAD_LINES; aligned, for
 * neighbours may belong to run queues of two threads, too. */
struct sim_call {
	alignas(64) struct sim_task st;
	struct workload_part *part;
	const struct campaign_flow *flow;
	struct flow_stats *stats;
	const struct cost_model *cost;
	struct backlog *inbox;	/**< from its receiver; NULL: there is none  */
	struct jitter *buffer;	/**< jitter buffer; NULL: there is none       */
	struct voice *voice;	/**< NULL: its loudness is not known */
	struct release *served; /**< of a bounded backlog: by the jobs that were
				     claimed, as in the daemon; else NULL    */
	cr_ns claimed_arrival;	/**< of a job that is not in @served yet;
				     CR_NEVER: all are                       */
	cr_ns waited; /**< the claimed job, in the jitter buffer            */
	cr_ns total;  /**< cost of the claimed job                          */
	cr_ns last_end;
	uint64_t last_frame;
	bool worked; /**< last_end and last_frame are set                    */
	bool here;   /**< admitted and not gone                              */
	uint32_t rtp_step;
	struct cost_source draws; /**< of the costs                         */
	struct arrival_job next;  /**< next to come                         */
	struct call_sum sum;
	struct arrival arrival;
	struct backlog backlog;
	struct release release;
	const struct plan_call *plan;
	union call_model *model; /**< of @arrival; the owner's              */
	uint64_t play_next;	 /**< frame behind the last that was played  */
	cr_ns buffered_at;	 /**< when a packet was put into @buffer last */
};

/** The lines behind @st that every job needs: see sim_client.lines. */
#define WORKLOAD_LINES                                                         \
	(sim_lines(sizeof(struct sim_task),                                    \
		   offsetof(struct sim_call, sum.overwritten)) |               \
	 sim_lines(offsetof(struct sim_call, arrival),                         \
		   offsetof(struct sim_call, arrival.random)) |                \
	 sim_lines(offsetof(struct sim_call, backlog),                         \
		   offsetof(struct sim_call, backlog.few[1])) |                \
	 sim_lines(offsetof(struct sim_call, release.cfg.kind),                \
		   offsetof(struct sim_call, release.violations)))
_Static_assert(offsetof(struct sim_call, release.violations) <= 4096,
	       "see sim_lines()");

/** Make the parts of @w, whose @sim is open. 0 or -ENOMEM; either way
 * workload_close(). */
int workload_open(struct workload *w, struct sim *sim);
void workload_close(struct workload *w);

/** Receive packets, run (sim_run()), and write the trace. 0, or -ENOMEM. */
int workload_run(struct workload *w, cr_ns until);

/** Jobs ended so far. */
uint64_t workload_jobs(const struct workload *w);

/** Add what the parts counted of flow @flow to @to; not what its calls did. */
void workload_sum(const struct workload *w, unsigned flow,
		  struct flow_stats *to);
/** Add a call's counts to its flow's. */
void flow_stats_add_call(struct flow_stats *to, const struct call_sum *c);

/** Frames of a call of @f that may wait, as a live call's ring has them; 0: any
 * number. */
uint32_t workload_ring(const struct campaign_flow *f);

/** The callbacks of the simulated driver for @w. */
struct sim_client workload_client(struct workload *w);

/**
 * Let @call join under the number @id at sim_now(), its arrivals set up. 0, or
 * -ENOSPC, -EINVAL, -ENOMEM with @v as sim_add() filled it.
 */
int workload_begin(struct workload *w, struct sim_call *c,
		   const struct plan_call *call, uint32_t id,
		   struct cr_verdict *v);

/** Find what comes next within the campaign, into @c->next. Returns when, or
 * CR_NEVER. */
cr_ns workload_look_ahead(struct sim_call *c);

/** When something comes that is known of: from its receiver, out of its jitter
 * buffer. Not what is in @c->next. */
cr_ns workload_due(const struct sim_call *c);

/** The campaign is over for @c, which is here: what is not done is counted. */
void workload_end(struct sim_call *c);

/** Free what @c owns; it is not here. */
void workload_fini(struct sim_call *c);

#endif
