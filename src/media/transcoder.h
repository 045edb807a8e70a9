/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transcoder of a stream: a task of the engine with its frame buffer, its
 * release model and its pipeline. Where packets come from and go to, and what
 * is counted, is the stream's (media/rtp_stream.h).
 *
 * Three threads meet here, each with its own members:
 *   control  makes it, puts it into the table, takes it out
 *   rx       everything under "rx": making frames, the buffer's producer side
 *   worker   everything under "worker", while it runs the task's job
 * Reclaim: as the stream's. So neither rx nor a worker can hold a dead one.
 */
#ifndef MEDIA_TRANSCODER_H
#define MEDIA_TRANSCODER_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <urcu.h> /* the flavour that rculfhash.h is for */
#include <urcu/rculfhash.h>

#include "base/cache.h"
#include "base/rcu.h"
#include "cr/time.h"
#include "engine/contract.h"
#include "engine/live.h"
#include "engine/release.h"
#include "media/digits.h"
#include "media/frame_ring.h"
#include "media/importance.h"
#include "media/rtp_stream.h"
#include "observe/histogram.h"
#include "rtp/payload_types.h"
#include "rtp/rtp.h"
#include "rtp/telephone_event.h"

/* --- jitter of arrivals --- */

/*
 * The interarrival jitter of a stream's packets (RFC 3550, 6.4.1 and A.8), of
 * those that a worker takes, in their order.
 *
 * One writer; arrivals_jitter() is for any thread. No allocation.
 */

/** Zero has seen none. */
struct arrivals {
	cr_ns at; /**< of the last packet */
	uint32_t rtp_ts;
	bool any;
	_Atomic cr_ns jitter; /**< 16 times; relaxed */
};

/** A packet with the timestamp @rtp_ts came @at; @step units of its clock are
 * @period. A difference of a second or more is another beginning and does not
 * count. The writer only. */
static inline void arrivals_add(struct arrivals *a, cr_ns at, uint32_t rtp_ts,
				uint32_t step, cr_ns period)
{
	int32_t rtp_ticks = (int32_t)(rtp_ts - a->rtp_ts);
	cr_ns d = at - a->at, old;
	bool first = !a->any;

	a->at = at;
	a->rtp_ts = rtp_ts;
	a->any = true;
	if (first || !step)
		return;
	d -= rtp_ticks * period / (cr_ns)step;
	d = d < 0 ? -d : d;
	if (d >= CR_SEC)
		return;
	/* J += (|D| - J) / 16, of 16 J */
	old = atomic_load_explicit(&a->jitter, memory_order_relaxed);
	atomic_store_explicit(&a->jitter, old + d - old / 16,
			      memory_order_relaxed);
}

/** The jitter, ns. */
static inline cr_ns arrivals_jitter(const struct arrivals *a)
{
	return atomic_load_explicit(&a->jitter, memory_order_relaxed) / 16;
}

/* --- gaps --- */

/*
 * The gaps between the frames that a worker gets: packets that the network, a
 * full buffer or a scheduler has lost. Sequence numbers say how many;
 * timestamps say how long.
 *
 * Pure; one thread at a time.
 */

/** More in a row is no loss: the sender was away. */
#define GAPS_MAX 3000u

/** Zero: nothing has come. */
struct gaps {
	bool known;
	uint16_t seq;
	uint32_t ts;
};

/** The frames that are missing between two. */
struct gap {
	unsigned packets;
	/** Their speech, in RTP's clock: behind the packet before, and up to
	 * the one that has come, unless that one begins after a pause. */
	uint32_t rtp_ticks;
};

/**
 * Packet @seq with @ts has come, of a sender whose packets are @step units
 * long: the one before was, or that was agreed. Of n missing ones, behind a
 * packet that is @ts less the last one's before, each is 1 / (n + 1) of that
 * long; but no longer than @step: the rest is a pause.
 */
static inline struct gap gaps_packet(struct gaps *g, uint16_t seq, uint32_t ts,
				     uint32_t step)
{
	struct gap gap = { .packets = (uint16_t)(seq - g->seq - 1) };
	uint32_t apart = ts - g->ts;

	if (!g->known || gap.packets > GAPS_MAX || apart > INT32_MAX)
		gap.packets = 0;
	if (gap.packets) {
		uint32_t each = apart / (gap.packets + 1);

		gap.rtp_ticks = gap.packets * (each < step ? each : step);
	}
	*g = (struct gaps){ .known = true, .seq = seq, .ts = ts };
	return gap;
}

/** Another sender begins, or numbers say nothing: the next one is the first. */
static inline void gaps_again(struct gaps *g)
{
	g->known = false;
}

/* --- quota --- */

/*
 * How many packets a stream may send: one each packet time, in the long run.
 *
 * The input decides how much is sent: an octet may be 120 ms of Opus,
 * timestamps may stand still, and gaps in the numbers are concealed. A network
 * that stalled may deliver seconds of speech at once, but speech is no faster
 * than time. So a stream has a bucket (the generic cell rate algorithm of ITU-T
 * I.371), and a packet that does not fit is not sent.
 *
 * Pure; time is an argument. One thread at a time.
 */

/** So much speech may be sent at once. */
#define QUOTA_BURST (2 * CR_SEC)
/** Clocks of senders may be faster than ours: by a 32nd of it. */
#define QUOTA_DRIFT 32

/** Zero has sent nothing. */
struct quota {
	cr_ns until; /**< what was sent lasts until then */
};

/** Would quota_take() be true? */
static inline bool quota_fits(const struct quota *q, cr_ns burst, cr_ns now,
			      cr_ns time)
{
	return cr_ns_max(q->until, now) - now <= burst - time;
}

/** May a packet of @time be sent at @now, where @burst may be at once? It
 * counts. A clock that goes back allows no more. */
static inline bool quota_take(struct quota *q, cr_ns burst, cr_ns now,
			      cr_ns time)
{
	if (!quota_fits(q, burst, now, time))
		return false;
	q->until = cr_ns_max(q->until, now) + time - time / QUOTA_DRIFT;
	return true;
}

/* --- times measured --- */

/*
 * The latest times that one thread has measured, for another one to collect.
 *
 * The writer never waits and makes no read-modify-write. A reader that comes
 * too rarely gets only the newest times, and each at most once.
 */

enum { RECENT_TIMES = 64 };

/** Zero is empty. */
struct recent {
	/** Release, pairs with recent_take(): the times are there. */
	atomic_uint count;
	/** Release, too: a reader that sees a time which has replaced another
	 * one also sees a count that says so. */
	_Atomic uint32_t ns[RECENT_TIMES];
};

/** Note @t (ns; cut to 0..4.29 s). The writer only. */
static inline void recent_put(struct recent *r, cr_ns t)
{
	unsigned n = atomic_load_explicit(&r->count, memory_order_relaxed);
	uint32_t ns = t < 0 ? 0 : t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;

	atomic_store_explicit(&r->ns[n % RECENT_TIMES], ns,
			      memory_order_release);
	atomic_store_explicit(&r->count, n + 1, memory_order_release);
}

/** Copy what has been put since *@seen (at first 0; updated) to
 * @out[RECENT_TIMES], oldest first; returns how many. Of more than
 * RECENT_TIMES - 1 only the newest. Any thread that has *@seen to itself. */
unsigned recent_take(const struct recent *r, unsigned *seen, uint32_t *out);

/* --- a transcoder --- */

/** The terms of frames from now on: control's word to rx and workers. */
struct transcoder_terms {
	/** Raised (release) when the rest is there; others look (acquire). */
	atomic_uint version;
	/* relaxed: a reader that may have seen half a change reads again */
	atomic_uint kind, burst;
	_Atomic cr_ns period, rel_deadline, spacing, ahead_max;
	atomic_bool best_effort;
};

/* Members that two threads write share no cache line: each would wait for the
 * other core's copy at every packet. */
struct transcoder {
	struct live_task lt; /**< the engine's part */
	/** Its stream; constant, but see node_drop_transcoder(). */
	struct stream *stream;
	struct transcoder_terms terms;
	/** NULL: packets are frames. Control gives it one, which is rx's then
	 * for good. */
	_Atomic(struct receive_stage *) receive_stage;
	size_t slot_bytes;	 /**< largest payload accepted; constant */
	struct frame_ring *ring; /**< constant; rx fills, the worker empties */
	atomic_uint fill;  /**< enum receive_stage_fill: control's word to rx */
	uint32_t ssrc_out; /**< of what it sends; constant */
	uint16_t seq_first; /**< if nothing was sent before; constant */

	/* table */
	struct cds_lfht_node node;
	uint32_t ssrc_in; /**< by which it is found; constant in the table */
	/** The SSRC again, stored (release) when all is complete and read
	 * (acquire) by every look-up: orders the construction before the use,
	 * in a way that TSan sees (it cannot see inside liburcu). */
	atomic_uint key;

	/* rx */
	_Alignas(CACHE_LINE) bool source_known;
	bool first_seen;
	bool restart;	   /**< the next frame is of another sender */
	uint8_t sender_in; /**< of the last frame; cr_frame_meta's */
	bool pushed;	   /**< frames that the engine does not know of yet */
	uint8_t codec_in;  /**< of the last packet of speech */
	uint16_t numbered; /**< frames that take time, behind a jitter buffer */
	struct trace_ring *trace; /**< the receiver's, while it takes frames */
	struct importance_amr gains; /**< of what it has rated */
	cr_ns last_arrival;
	struct sockaddr_storage source;
	/** By all frames, while bursts are bounded: which violate that. */
	struct release release;
	unsigned terms_taken; /**< the version of @terms it goes by */

	/** Turns whose packets wait in a worker's burst. It must not be
	 * freed before it is zero (transcoder_unposted()). */
	_Alignas(CACHE_LINE) atomic_uint pending;

	/* under the lock of the run queue */
	struct release served; /**< by the frames that were claimed */
	unsigned served_terms; /**< the version of @terms it goes by */
	/** Arrival of the frame claimed last, if it is not in @served yet, else
	 * CR_NEVER: it is counted when the next frame is looked at, unless it
	 * was shed meanwhile. */
	cr_ns claimed_arrival;
	/** The engine's, if frames are given up. While one runs, its worker
	 * reads there whether it is one of a pause. */
	struct shed_call shed;

	/* worker */
	struct pipeline *pipeline;
	const uint8_t *claimed; /**< payload of the running job */
	struct cr_frame_meta meta;
	/** Frames that transcode_cost_due() was asked for; see
	 * transcode_cost_settle().
	 */
	atomic_uint metered;
	uint32_t ts_out; /**< where the pipeline's timestamps begin */
	struct quota quota;
	cr_ns period;	  /**< as was declared of the last frame */
	uint32_t ts_step; /**< of the input from frame to frame */
	uint8_t codec;	  /**< of the last frame */
	uint8_t sender;	  /**< of the last frame */
	struct gaps gaps; /**< between the frames that it gets */
	uint16_t pauses;  /**< packets of these gaps that nobody will miss */
	bool resting;	  /**< within a pause of which some were shed */
	uint8_t rested;	  /**< frames of that since, all served */
	/** NULL: none are passed on. Control gives it some, which are the
	 * worker's then for good; rx looks while it is at rest. */
	_Atomic(struct digits *) digits;
	/** Type of those that are passed on, 0: none, and their clock above
	 * it, Hz. Control's word, stored behind @digits. */
	atomic_uint event_out;
	bool buffers; /**< its receive stage does; constant */
	struct {
		cr_ns at; /**< 0: none yet */
		uint32_t rtp_ts;
	} sent; /**< the last frame that was */

	struct arrivals arrivals;

	struct recent cost; /**< of frames done, sending included, ns */

	/** The stream in the other direction, whose encoder obeys
	 * the CMRs received here: its id and SSRC, see transcoder_pair(); 0:
	 * none. A name, not a pointer: it may end first. Set by control, read
	 * by the worker (relaxed: nothing hangs on it). */
	_Atomic uint64_t pair;

	/** The destination of its packets, unless an endpoint has one. */
	struct destination own_destination;
};

/** The value of another one's @pair that names @c. */
static inline uint64_t transcoder_pair(const struct transcoder *c)
{
	return (uint64_t)c->stream->cfg.id << 32 | c->ssrc_in;
}

static inline uint32_t transcoder_pair_id(uint64_t pair)
{
	return (uint32_t)(pair >> 32);
}

/** Can CMRs received by a stream as @heard change the mode of one as @sent? */
bool stream_takes_cmr(const struct stream_cfg *heard,
		      const struct stream_cfg *sent);

static inline struct transcoder *transcoder_of(struct live_task *lt)
{
	return (struct transcoder *)(void *)((unsigned char *)lt -
					     offsetof(struct transcoder, lt));
}

static inline struct transcoder *transcoder_of_core(struct core_task *t)
{
	return transcoder_of(live_task_of(t));
}

/** Make one for @s, which does not have it yet, by @cfg, settled. Returns 0 and
 * sets *@c, or -EINVAL or -ENOMEM with @e. */
int transcoder_new(struct transcoder **c, struct stream *s,
		   const struct stream_cfg *cfg, struct cr_err *e);

/** Set what is declared to schedulers of the stream @cfg, whose packets cost
 * @measured here. Before transcoder_new() and transcoder_set_terms(). */
void stream_settle(struct stream_cfg *cfg, const struct cr_cost *measured);

/**
 * Let @c go on as @to, a settled configuration that differs from its own in
 * class, period, deadline, weight, nice, contract, cost, codecs and mode only;
 * what it has beside speech: transcoder_set_aux().
 * After live_change(). Who looks at the next frame takes the release terms
 * (transcode_peek()); rx takes them where bursts are bounded, and gives the
 * period to the receive stage. The encoder's mode stays, because a CMR may have
 * set it meanwhile. A caller that wants to overrule the CMR calls
 * pipeline_set_mode(). Control thread.
 */
void transcoder_set_terms(struct transcoder *c, const struct stream_cfg *to);

/** Parts for events, noise and jitter buffer that a change adds. */
struct transcoder_aux {
	struct receive_stage
		*receive_stage; /**< that it has not had yet, or NULL */
	struct digits *digits;	/**< as that */
};

/** Make what @c needs to go on as @to. 0; or -EINVAL, -ENOMEM with @e. Control
 * thread, as the next two. */
int transcoder_aux_make(struct transcoder_aux *b, struct transcoder *c,
			const struct stream_cfg *to, struct cr_err *e);
/** It is not wanted. */
void transcoder_aux_drop(struct transcoder_aux *b);
/** Go by @b and @to, from the next packet on; what was made is its own then.
 * Before stream_set_types(): the receiver that finds a type finds these. */
void transcoder_set_aux(struct transcoder *c, const struct stream_cfg *to,
			const struct transcoder_aux *b);

static inline struct receive_stage *transcoder_receive_stage(
	const struct transcoder *c)
{
	return atomic_load_explicit(&c->receive_stage, memory_order_acquire);
}

static inline struct digits *transcoder_digits(const struct transcoder *c)
{
	return atomic_load_explicit(&c->digits, memory_order_acquire);
}

/** How long its packets are, as was declared last. Any thread. */
static inline cr_ns transcoder_period(const struct transcoder *c)
{
	return atomic_load_explicit(&c->terms.period, memory_order_relaxed);
}

/** Let @release, one of the two of @c, go by what transcoder_set_terms() has
 * left;
 * *@version: of what it goes by. The thread that owns it. */
void transcoder_take_terms(const struct transcoder *c, struct release *release,
			   unsigned *version);
/** Have all its packets left? Once it has gone from the engine, true stays
 * true, and the worker's last touch of it has happened. Any thread. */
static inline bool transcoder_unposted(const struct transcoder *c)
{
	return !atomic_load_explicit(&c->pending, memory_order_acquire);
}

/** Has all that its receiver has made frames of been done and sent? The buffer
 * comes first: the worker that emptied it has been awake since. */
static inline bool transcoder_is_idle(const struct transcoder *c)
{
	return !frame_ring_waiting(c->ring) &&
	       !atomic_load_explicit(&c->lt.active, memory_order_acquire) &&
	       transcoder_unposted(c);
}

/** Count what its receiver has not made frames of. A grace period after that
 * has let go of it. Any thread. */
void transcoder_count_rest(struct transcoder *c);

/** Free one that no thread can see any more. NULL is fine. */
void transcoder_free(struct transcoder *c);

/** Memory of it without the codecs' own states, bytes. */
size_t transcoder_bytes(const struct transcoder *c);

#endif
