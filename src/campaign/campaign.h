/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Campaign files: what calls, when, with which speech, over what network, and
 * what must hold in the end. campaigns/README.md describes the file; this is
 * its content, checked and in our units (ns, ppm).
 *
 * Two users: the feeder (live) and the simulator. Neither of them changes a
 * campaign; what they make of it is campaign/plan.h.
 */
#ifndef CAMPAIGN_CAMPAIGN_H
#define CAMPAIGN_CAMPAIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/field.h"
#include "cr/codec.h"
#include "cr/error.h"
#include "cr/sched.h"
#include "cr/time.h"
#include "engine/contract.h"
#include "engine/release.h"
#include "engine/shed.h"
#include "media/payload.h"
#include "speech/speech.h"

#define CAMPAIGN_NAME_MAX 32u

/** Texts of a list, the campaign's. */
struct campaign_texts {
	const char *const *item;
	unsigned count;
};

/** How frames become jobs; see engine/release.h. */
struct campaign_release {
	int64_t kind;  /**< enum release_kind                              */
	int64_t x;     /**< rate: jobs ...                                 */
	int64_t y;     /**< rate: ... in this time, ns                     */
	int64_t burst; /**< lbap: jobs that may come ahead of time         */
};

/** Bounds of what happens so often, per second * 10^6: 0.001 and 100000. */
#define CAMPAIGN_RATE_MIN (CR_PPM / 1000)
#define CAMPAIGN_RATE_MAX (100000 * CR_PPM)

/** Rates that a ramp may go through. */
#define CAMPAIGN_RATES 8u

/** Poisson arrivals. */
struct campaign_poisson {
	unsigned rates; /**< how many; 0: calls begin evenly over spread    */
	/** One: always. More: at even distances over spread, and the rate goes
	 * from each to the next along a line. Calls per second * 10^6; of_hold:
	 * ppm of the rate at which as many calls are up, on average, as the
	 * flow has (Little): count / hold's mean. */
	int64_t rate[CAMPAIGN_RATES];
	bool of_hold;
};

/** When calls begin. */
struct campaign_start {
	int64_t at;	/**< ns from the campaign's begin                   */
	int64_t spread; /**< calls begin over this time, ns; 0: all at once,
			     Poisson arrivals until the campaign's end      */
	struct campaign_poisson poisson;
};

/** How long calls last. */
struct campaign_hold {
	int64_t exponential; /**< 1: exponentially distributed, 0: constant   */
	int64_t mean;	     /**< ns; CR_NEVER: to the campaign's end         */
};

/** Impairments of the network in front of the daemon. */
struct campaign_network {
	int64_t jitter;	   /**< delay, uniform from 0 to this, order kept, ns */
	int64_t loss;	   /**< share of packets lost, ppm                    */
	int64_t burst;	   /**< mean number lost in a row (Gilbert), >= 1     */
	int64_t reorder;   /**< share held back behind successors, ppm        */
	int64_t depth;	   /**< behind how many, >= 1                         */
	int64_t duplicate; /**< share sent twice, ppm                         */
};

/** The daemon's jitter buffer. */
struct campaign_buffer {
	int64_t kind;	     /**< enum jitter_kind, rtp/jitter.h            */
	int64_t least, most; /**< of its delay, ns                          */
};

/** Talk spurts: exponentially distributed; both 0: speech without pauses. */
struct campaign_talk {
	int64_t spurt, pause; /**< means, ns */
};

/** The speech of calls, which decides how much a frame would be missed. Live,
 * the flow's input is played in turns (VOICE_TURNS) or as it is (all others),
 * and the daemon judges the frames itself. */
enum campaign_voice_kind {
	VOICE_UNKNOWN,
	VOICE_TALK,	  /**< spurts and pauses, in which noise is sent; a
				model of levels: simulator only             */
	VOICE_RECORDINGS, /**< the flow's input                              */
	VOICE_TURNS	  /**< the flow's input in spurts, noise between     */
};

struct campaign_voice {
	int64_t kind;	      /**< enum campaign_voice_kind                  */
	cr_ns spurt, pause;   /**< talk: means                               */
	int64_t level, noise; /**< of spurts (talk) and pauses, -dBov        */
	struct talk_spurts turns;
};

/** Digits that a party may dial in one call. */
#define CAMPAIGN_DIGITS_MAX 64u
/** The longest of them: its duration has 16 bits at 8 kHz. */
#define CAMPAIGN_DIGIT_MAX (8 * CR_SEC)

/** Digits that a party dials, as telephone events (RFC 4733) in place of
 * speech. */
struct campaign_dtmf {
	char digits[CAMPAIGN_DIGITS_MAX + 1]; /**< "": none                 */
	struct field_range length; /**< of a digit                      */
	int64_t at;	  /**< of the first one, from the call's begin */
	int64_t interval; /**< from one digit's end to the next one  */
	int64_t volume;	  /**< -dBm0, 0..63                          */
	int64_t pt;	  /**< payload type                          */
};

/** Comfort noise (RFC 3389) in the pauses of a party's talk. */
struct campaign_cn {
	int64_t given;	  /**< 0: nothing is sent in pauses                 */
	int64_t level;	  /**< -dBov, 0..127                                */
	int64_t interval; /**< from one packet to the next                  */
	int64_t pt;
};

/** When something changes, from the call's begin. Both 0: never. */
struct campaign_change {
	int64_t at;    /**< the first time; 0: after @every                 */
	int64_t every; /**< and then each time; 0: once                     */
};

/** Sequence numbers and timestamps after a change of the SSRC. */
enum campaign_numbering { NUMBERING_RANDOM, NUMBERING_CONTINUE };

struct campaign_ssrc_change {
	struct campaign_change when;
	int64_t numbering; /**< enum campaign_numbering */
};

struct campaign_address_change {
	struct campaign_change when;
	int64_t signalled; /**< 1: call.change tells the daemon */
};

/** Is the party's address signalled at the start? */
enum campaign_address { ADDRESS_KNOWN, ADDRESS_LEARNED };

/** How the daemon is to learn it: AUTO is its own choice, others are enum
 * learn_mode + 1. */
#define CAMPAIGN_LEARN_AUTO 0
#define CAMPAIGN_LEARN_STRICT 1

/** A party of a two-way flow: what one-way flows do not have. */
struct campaign_party {
	char flow[CAMPAIGN_NAME_MAX]; /**< its name; "": one way      */
	unsigned side;		      /**< 0: a, 1: b               */
	cr_ns ptime;   /**< that of the flow; 0: each its codec's             */
	int64_t relay; /**< 1: the daemon may pass on what both speak       */
	int64_t address; /**< enum campaign_address                         */
	int64_t learn;
	int64_t conceal; /**< 1: the daemon conceals what is lost          */
	int64_t fill;	 /**< the party's silence; 0: as the daemon has it */
	int64_t deaf;	 /**< ppm of what it is sent, dropped unseen: a fault */
	struct campaign_dtmf dtmf;
	struct campaign_cn cn;
	struct campaign_ssrc_change ssrc;
	struct campaign_address_change port;
};

/** Cost of a job; simulator only. */
enum campaign_cost_kind {
	COST_MEASURED, /**< the codecs, measured on this machine: the default of
			    flows with codecs */
	COST_CONSTANT,
	COST_NORMAL,
	COST_LOGNORMAL,
	COST_EXPONENTIAL,
	COST_TRACE /**< jobs of a trace file, one after the other           */
};

/** A cost model's bound where the campaign gives none. */
#define CAMPAIGN_COST_MAX (1000 * CR_SEC)

struct campaign_cost {
	int64_t kind;	  /**< enum campaign_cost_kind                    */
	int64_t mean, sd; /**< ns, before the bounds                      */
	int64_t min, max; /**< ns                                         */
	/** Of a job that follows one of its call on its CPU, ppm of its cost;
	 * 0: as measured, or the same. */
	int64_t warm;
	int64_t half_life; /**< turns of others that leave half of that gain */
	const char *file;  /**< as in the campaign, or NULL                */
};

/** When jobs come; simulator only. */
enum campaign_arrival_kind {
	ARRIVAL_PLAN, /**< as the feeder would send them: network and talk */
	ARRIVAL_PERIODIC,
	ARRIVAL_POISSON,
	ARRIVAL_BURSTY,
	ARRIVAL_CLOSED,	 /**< after a late job the next period begins       */
	ARRIVAL_LOOP,	 /**< one job that never ends                       */
	ARRIVAL_TRACE,	 /**< as in a trace file                            */
	ARRIVAL_ENVELOPE /**< work as early as a TSpec allows, in bursts    */
};

struct campaign_arrival {
	int64_t kind;		    /**< enum campaign_arrival_kind        */
	int64_t burst;		    /**< jobs                              */
	int64_t spacing;	    /**< ns                                */
	int64_t rate_ppm, peak_ppm; /**< of the CPU; peak 0: no bound      */
	int64_t depth;		    /**< of the envelope's bucket, ns      */
	struct field_range on, off; /**< its bursts and pauses          */
	const char *file;	    /**< as in the campaign, or NULL       */
};

/** Metrics of a run: of its calls, then of its conversions. */
enum campaign_metric {
	METRIC_LOSS,	   /**< sent frames that never came back, ppm     */
	METRIC_LATE,	   /**< received frames behind the deadline, ppm  */
	METRIC_MISSED,	   /**< due frames late or never done, ppm        */
	METRIC_ADMITTED,   /**< calls the daemon accepted, ppm            */
	METRIC_MEAN_DELAY, /**< send to receive, ns                       */
	METRIC_P50_DELAY,  /**< send to receive, ns                       */
	METRIC_P99_DELAY,  /**< ns                                        */
	METRIC_P999_DELAY, /**< ns                                        */
	METRIC_MAX_DELAY,  /**< ns                                        */
	METRIC_P99_JITTER, /**< inter-arrival time less its nominal, ns   */
	METRIC_DIGITS,	   /**< dialled digits that came as they were, ppm */
	NCALL_METRICS,
	METRIC_FINISHED = NCALL_METRICS, /**< conversions done, ppm       */
	METRIC_MEAN_TURNAROUND, /**< of those, submission to end, ns      */
	METRIC_MAX_TURNAROUND,	/**< ns                                   */
	NMETRICS
};

/** One expectation: the metric must be <= (or >=) bound. */
struct campaign_expect {
	bool given, at_least, strict; /**< strict: < or > */
	int64_t bound;		      /**< ppm or ns */
	unsigned line;
	char text[24]; /**< as written: "<= 0.1%" */
};

struct campaign_flow {
	char name[CAMPAIGN_NAME_MAX];
	unsigned line;	  /**< where it begins in the file                  */
	int64_t count;	  /**< calls; 0: as the load says, or as many as the
			       Poisson process brings; of a Poisson process
			       of_hold: calls up on average at 100 %       */
	int64_t load_ppm; /**< of the capacity calibrated here; 0: count    */
	int like; /**< a flow above, of as many calls, with which it shares its
		       load; -1: none                                       */
	/** Without codecs: for the simulator only; in and out are empty. */
	bool synthetic;
	struct codec_use in, out; /**< kind is not filled in */
	cr_ns ptime; /**< one packet's speech; synthetic: the period       */
	/** Files and globs; none: installed recordings. */
	struct campaign_texts input;
	struct task_terms terms;
	int64_t ring; /**< jobs that may wait; 0: synthetic: any number      */
	struct campaign_cost cost;
	struct campaign_arrival arrival;
	struct campaign_release release;
	bool release_named; /**< its model was given                        */
	struct campaign_start start;
	struct campaign_hold hold;
	struct campaign_network network;
	struct campaign_buffer buffer;
	struct campaign_talk talk;
	struct campaign_voice voice;
	/** How much faster than ours the callers' clocks run. */
	struct field_range drift;
	/** A two-way flow is two of these, one behind the other: from a to b,
	 * and back. That of b is like that of a (or what that is like). */
	struct campaign_party party;
	struct campaign_expect expect[NMETRICS];
};

/** Is @f one direction of a two-way flow? */
static inline bool flow_is_two_way(const struct campaign_flow *f)
{
	return f->party.flow[0] != '\0';
}

/** The flow's name in the file: that of its two-way flow, if it has one. */
static inline const char *flow_title(const struct campaign_flow *f)
{
	return flow_is_two_way(f) ? f->party.flow : f->name;
}

/** Files of recorded speech, converted by the daemon beside the calls:
 * work without deadlines. */
struct campaign_conversions {
	unsigned line; /**< where it begins in the file                    */
	int64_t count; /**< files; 0: there are no conversions             */
	cr_ns length;  /**< of the speech in each                          */
	cr_ns at;      /**< all are submitted then                         */
	struct campaign_texts input; /**< as of flows                      */
	struct codec_use out;	     /**< amr or amr-wb */
	struct campaign_expect expect[NMETRICS];
};

/** Which UDP ports calls use at one of their two ends. */
enum campaign_ports {
	PORTS_SHARED, /**< all calls the same one                          */
	PORTS_OWN     /**< each call one of its own, as real calls do      */
};

/** Names of these, as in the file; ends with NULL. */
extern const char *const campaign_ports_names[];

/** CPU time that a simulated machine takes for itself, ns each. */
struct campaign_overhead {
	int64_t decision, context, migration, release, lock;
};

/** Packets that a receiver's socket holds: bound and default. The default is
 * what 8 MB hold of packets of up to 172 octets, counted on Linux 6.18 (each
 * takes 832 octets of a buffer that the kernel doubles). */
#define CAMPAIGN_WAITING_MAX 10000000
#define CAMPAIGN_WAITING 20000

/** The threads that take packets from the sockets; each has a CPU to itself,
 * beside those of the workers. */
struct campaign_receivers {
	int64_t count;	 /**< 0: packets are jobs as soon as they come      */
	int64_t cost;	 /**< CPU time of a packet, ns                      */
	int64_t wake;	 /**< before the first packet after a sleep, ns     */
	int64_t waiting; /**< packets that a receiver's socket holds        */
};

/** campaign_platform.max_age as the daemon has it by default. */
#define CAMPAIGN_AGE_AUTO 0

/** Options that campaigns/run starts the daemon with. */
struct campaign_platform {
	int64_t cpus;	    /**< workers                                   */
	int64_t run_queues; /**< 1: global, cpus: partitioned, else clustered */
	bool partitioned;   /**< one each, however many cpus become         */
	int64_t admission;  /**< 1: calls are refused when full            */
	int64_t max_age;    /**< ns, older frames are shed; CR_NEVER: none;
				 CAMPAIGN_AGE_AUTO: by their deadlines     */
	int64_t shed;	    /**< enum shed_kind: frames given up before that */
	int64_t shed_wait;  /**< ns, after this wait; 0: by their deadlines  */
	int64_t convert_floor; /**< frames a second that conversions are to get
				*/
	int64_t ports; /**< enum campaign_ports, the daemon's end          */
	/* simulator only */
	int64_t preempt; /**< enum sim_preempt */
	int64_t quantum; /**< ns */
	struct campaign_overhead overhead;
	struct campaign_receivers receivers;
};

/** Values in the place of what a campaign's file says to their keys, as
 * "flows.speech.load=110%"; "KEY=" takes a key away. The last one holds. A flow
 * is told by its name, or as flows[0]. */
struct campaign_settings {
	const char *const *item;
	unsigned count;
};

struct campaign {
	struct section *sections; /**< what was read: texts are there */
	char *path;		  /**< as given, for messages */
	char *text;		  /**< the file itself, for the run folder */
	char **settings; /**< that were put into it, for the run folder */
	unsigned setting_count;
	int64_t seed;
	cr_ns duration;
	int64_t ports; /**< enum campaign_ports, the feeder's end          */
	struct campaign_platform platform;
	/** "fifo", "rr,quantum=5ms", "./mine.so" */
	struct campaign_texts schedulers;
	struct campaign_flow *flows;
	unsigned flow_count; /**< >= 1 */
	struct campaign_conversions conversions;
	struct campaign_expect expect[NMETRICS];
};

/**
 * Read and check the file @path, with settings (@set, or NULL) in place of what
 * it says. Returns 0 and sets *@c (owned by the caller, campaign_free());
 * -errno with @e otherwise. Messages read "file:line: what; nearest valid
 * name", or "--set KEY=VALUE: what". Any thread.
 */
int campaign_load(const char *path, const struct campaign_settings *set,
		  struct campaign **c, struct cr_err *e);

/** The same for @n bytes of @text; @path is only for messages. */
int campaign_parse(const char *text, size_t n, const char *path,
		   const struct campaign_settings *set, struct campaign **c,
		   struct cr_err *e);

/** Can it be played live? Returns -EINVAL with @e, which names the line, when a
 * flow is for the simulator only. */
int campaign_check_live(const struct campaign *c, struct cr_err *e);

/** Can it be simulated? Returns -EINVAL with @e, which names the line, when
 * there are conversions. */
int campaign_check_simulated(const struct campaign *c, struct cr_err *e);

/**
 * Set @p's run queues, its cpus being set, from "global", "partitioned" or a
 * number. -EINVAL with @e: something else, or see below.
 */
int campaign_set_run_queues(struct campaign_platform *p, const char *text,
			    struct cr_err *e);

/** Can @p's CPUs be dealt out to just so many run queues? -EINVAL with @e,
 * which names the numbers next to it that can be had. */
int campaign_check_run_queues(const struct campaign_platform *p,
			      struct cr_err *e);

/** Packets of @ptime that a jitter buffer @b has room for. */
unsigned campaign_buffer_slots(const struct campaign_buffer *b, cr_ns ptime);

/** CPUs of one run queue; the last one may have fewer. */
int64_t campaign_cpus_per_rq(const struct campaign_platform *p);

/** Free a campaign. NULL is fine. */
void campaign_free(struct campaign *c);

/** Name of a metric as in the file: "p99-delay". */
const char *campaign_metric_name(enum campaign_metric m);

/** Is @m a time (ns), not a share (ppm)? */
bool campaign_metric_is_time(enum campaign_metric m);

/** Does @value satisfy @x? */
bool campaign_expect_met(const struct campaign_expect *x, int64_t value);

#endif
