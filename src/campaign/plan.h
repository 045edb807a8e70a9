/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a campaign comes to: which calls, when they begin and end, and which
 * packet of each arrives when. Pure functions of the campaign, the seed and
 * the options below: the feeder plays a plan live, the simulator in virtual
 * time, and two runs of it are the same, packet by packet.
 *
 * Times are relative to the campaign's begin.
 */
#ifndef CAMPAIGN_PLAN_H
#define CAMPAIGN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "campaign/campaign.h"
#include "base/random.h"
#include "cr/time.h"

/*
 * How many calls each flow of a campaign means: its count, or what its load
 * comes to when it is known what a call takes.
 */

/** Must it be known what a call of flow @f takes? */
bool campaign_needs_share(const struct campaign *c, unsigned f);

/**
 * Fill @counts [flow_count]; where it is not 0, that is kept. @share: what a
 * call of each flow takes of a CPU (1.0), used where campaign_needs_share().
 * @scale: counts and loads times this. 0, or -E2BIG with @e.
 */
int campaign_counts(const struct campaign *c, const double *share, double cpus,
		    double scale, uint64_t *counts, struct cr_err *e);

/** One call, or one direction of a two-way call. */
struct plan_call {
	unsigned flow;	 /**< index into the campaign's flows          */
	unsigned index;	 /**< of the call in its flow                  */
	uint64_t seed;	 /**< of everything random in this call        */
	cr_ns start;	 /**< its first frame; phases are spread over ptime */
	uint64_t frames; /**< media frames until it ends, >= 1         */
	int64_t drift;	 /**< the caller's clock is so much fast, ppm  */
	/** From 1: the two-way call of which this is one direction; the other
	 * one has the same number, and the next flow. 0: one-way. */
	uint64_t two_way_call;
	uint32_t id; /**< in traces; 0: its place in the plan, from 1     */
};

/** The number that call @i of @p has in traces and tables. */
#define PLAN_CALL_ID(p, i)                                                     \
	((p)->calls[i].id ? (p)->calls[i].id : (uint32_t)(i) + 1)

struct plan {
	const struct campaign *campaign;
	struct plan_call *calls; /**< in order of start */
	size_t count;
};

/** Options of the user that override the file. */
struct plan_options {
	uint64_t seed;
	cr_ns duration;
	const uint64_t *counts; /**< [flow_count] calls of each flow; the caller
				     has turned loads into counts; 0 of a
				     Poisson flow: as many as come         */
};

/** Most calls of one plan. */
#define PLAN_CALLS_MAX 1000000u

/**
 * Make the plan of @c, which must outlive it. Returns 0 and fills @p (caller:
 * plan_fini()), -E2BIG, -EINVAL (nothing to do) or -ENOMEM with @e.
 */
int plan_make(struct plan *p, const struct campaign *c,
	      const struct plan_options *o, struct cr_err *e);
void plan_fini(struct plan *p);

/** plan_call.seed of call number @index of flow @flow, under a plan's @seed. */
uint64_t plan_call_seed(uint64_t seed, unsigned flow, unsigned index);

/** The most calls that are up at once, if each is from @before its start until
 * @after its end. 0 with *@most, or -ENOMEM. */
int plan_most_up(const struct plan *p, cr_ns before, cr_ns after, size_t *most);

/** When frame @frame of @call is spoken, its frames being @ptime apart by the
 * caller's clock; that of call->frames is when the call ends. */
cr_ns plan_frame_time(const struct plan_call *call, cr_ns ptime,
		      uint64_t frame);

enum plan_kind {
	PLAN_SPEECH,
	PLAN_EVENT, /**< of a digit: RFC 4733                               */
	PLAN_NOISE  /**< comfort noise: RFC 3389                            */
};

/** One packet of a call, as the network delivers it to the daemon. */
struct plan_packet {
	cr_ns at;	/**< when it is to be sent                          */
	uint64_t frame; /**< media frame: timestamp = frame * samples; of an
			     event: in which it began                       */
	uint64_t seq;	/**< packet number of the call, from 0              */
	uint64_t nth;	/**< of speech: its number among that, from 0       */
	bool marker;	/**< first packet of a talk spurt (RFC 3551, 4.1)   */
	bool lost;	/**< the network loses it: not to be sent           */
	bool copy;	/**< the network's duplicate of the packet before   */
	bool held;	/**< the network has let others overtake it         */
	/* of parties of two-way calls */
	enum plan_kind kind;
	uint16_t ssrc, port; /**< how often each has changed before        */
	/* of events */
	uint8_t digit;	/**< its place in the party's digits                */
	bool end;	/**< three packets end a digit                      */
	cr_ns duration; /**< since its begin                                */
};

/** Most packets of one frame: three ends, each with a copy, each with one that
 * was held back. */
#define PLAN_READY 9u

/** State of a party of a two-way call, beside its speech. */
struct plan_party {
	struct random lengths;	    /**< of digits                           */
	cr_ns next_ssrc, next_port; /**< from the call's begin; CR_NEVER     */
	uint16_t ssrc, port;	    /**< how often they have changed         */
	uint8_t digit;		    /**< the next one, or that being dialled */
	bool dialling;
	uint64_t digit_first, digit_frames; /**< first frame; how many      */
	cr_ns digit_length;
	cr_ns next_digit;    /**< from the call's begin; CR_NEVER: no more  */
	uint64_t next_noise; /**< frame, while it pauses                    */
};

/** A call's packets in the order of sending. Plain data; one thread. */
struct plan_stream {
	const struct campaign_flow *flow;
	const struct plan_call *call;
	struct random network, talk;
	uint64_t frame, seq, nth; /**< next ones                         */
	uint64_t turn;		  /**< frame at which spurt or pause ends     */
	cr_ns last;		  /**< nothing is sent before this            */
	bool pausing, losing, marker, holding;
	struct plan_packet held; /**< reordered: comes after its successors */
	int64_t overtakers;	 /**< that have still to go before          */
	struct plan_packet ready[PLAN_READY];
	unsigned nready, taken;
	struct plan_party party;
	/** Tells whether a frame is silent (DTX: nothing is sent). NULL: none.
	 * Set after plan_stream_init(). */
	bool (*silent)(const void *arg, uint64_t frame);
	const void *silent_arg;
};

void plan_stream_init(struct plan_stream *s, const struct plan *p,
		      const struct plan_call *call);

/** The next packet. False, and *@out untouched: the call is over. */
bool plan_stream_next(struct plan_stream *s, struct plan_packet *out);

/** FNV-1a of every packet of every call: two plans are equal when it is. */
uint64_t plan_hash(const struct plan *p);

/*
 * What calls of a flow say comes from many segments of speech, made before the
 * campaign begins; each call has a way of its own through them: its own first
 * one, its own offset and its own order. The feeder, which sends them, and the
 * simulator, which rates them, share it.
 *
 * Pure; any thread.
 */

struct campaign_flow;

struct segments {
	unsigned count;
	unsigned frames; /**< of one */
};

/** Of @f in a campaign of @duration: segments need not be longer. PCM has as
 * many as fit into some memory, codecs fewer: each costs codec time. */
struct segments segments_of(const struct campaign_flow *f, cr_ns duration);

/** One call's way. */
struct segment_walk {
	struct segments in;
	uint64_t first, step, offset;
};

/** Start a walk for the call with @seed. */
void segment_walk_init(struct segment_walk *w, struct segments in,
		       uint64_t seed);

/** The place of media frame @frame: segment * frames + frame of it. */
size_t segment_at(const struct segment_walk *w, uint64_t frame);

#endif
