/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream: one direction from endpoint to endpoint, or from the shared port to
 * an address. Its mode may change between two packets.
 *
 *   relay      the receiver of its incoming endpoint sends each packet of the
 *              party on from the other endpoint, in the turn that it came in.
 *              Payload types are mapped; all else of a packet is as it came:
 *              sequence, timestamp, SSRC, marker, CSRC, extension, padding,
 *              payload. So is the order, and what was lost or doubled stays so:
 *              the party at the other end knows best what to do about it. No
 *              worker takes part. When no packet is on its way:
 *
 *                packets_in = relayed = packets_out + send_failed +
 *                             no_destination + on_hold
 *
 *   transcode  packets become frames of a task of the engine, and a worker
 *              sends what comes of them. All that this needs is in its
 *              transcoder, a task of the engine with its frame buffer, its
 *              release model and its pipeline: a stream that was always a relay
 *              has none, and one that is a relay again keeps it, asleep.
 *
 * Parties that speak the same may come to differ, and the other way round (a
 * re-INVITE). Control says which mode it wants, the receiver changes over:
 *
 *   relay -> transcode   at the next packet that the endpoint accepts and the
 *                        transcoder knows
 *   transcode -> relay   at a packet of the codec that is relayed, which the
 *                        endpoint has accepted, when the transcoder is at rest:
 *                        every frame before has been sent, and no digit goes on
 *
 * To the listener it is one stream: SSRC, sequence numbers and timestamps go
 * on. So from the first transcoding on, those of relayed packets are mapped,
 * too: a constant is added. What the sender has lost or doubled still shows. So
 * it is from the first time on that the listener was on hold: a receiver takes
 * a gap in the numbers for loss, and a large one for another sender (RFC 3550,
 * A.1). How long it was shows in the timestamps.
 *
 * Three threads meet here:
 *   control   makes it, says what mode is wanted, reads its counters; puts a
 *             transcoder into the table, and takes it out
 *   rx        the receiver of its incoming endpoint: everything under "rx", and
 *             the producer side of the frame buffer
 *   worker    in mode transcode, while it runs the task's job: everything under
 *             "worker", @out, and its part of the counters. In mode relay the
 *             latter two are rx's. They change hands when the transcoder is at
 *             rest, and with the first frame that rx pushes after that.
 * Reclaim: out of the table and its endpoints out of the receivers -> RCU grace
 * period -> out of the engine, if it has a transcoder -> stream_free().
 */
#ifndef MEDIA_RTP_STREAM_H
#define MEDIA_RTP_STREAM_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <urcu.h> /* the flavour that rculfhash.h is for */
#include <urcu/rculfhash.h>

#include "base/cache.h"
#include "base/counter.h"
#include "base/rcu.h"
#include "cr/time.h"
#include "engine/contract.h"
#include "engine/core.h"
#include "engine/live.h"
#include "engine/release.h"
#include "media/counters.h"
#include "media/endpoint.h"
#include "media/frame_ring.h"
#include "media/importance.h"
#include "media/pipeline.h"
#include "media/receive_stage.h"
#include "media/state_memory.h"
#include "rtp/rtp.h"
#include "rtp/telephone_event.h"
#include "udp/burst.h"
#include "udp/inlet.h"

/* --- payload types --- */

/** A packet that is not passed on: the other party may mean something else by
 * its number. */
#define PACKET_NOT_PASSED 0xffu
/** A packet that the transcoder does not take. */
#define PACKET_NO_CODEC 0xffu
/** Comfort noise has a type of its own (RFC 3551, table 4). */
#define PACKET_NOISE_PT 13u

/** The meaning of a packet to its stream, by its payload type. It is looked up
 * once, when the packet comes, and travels with it. */
struct packet_type {
	uint8_t pt;   /**< as it came */
	uint8_t as;   /**< as a relay passes it on, or PACKET_NOT_PASSED */
	uint8_t what; /**< enum frame_ring_what: SPEECH, NOISE (RFC 3389), EVENT
			 (RFC 4733); SPEECH, too, if nobody has named it */
	/** Speech: the pipeline's input. Others: 0, if the transcoder takes
	 * them, whether they are passed on or not. Or PACKET_NO_CODEC. */
	uint8_t codec;
	/** Of an event, and of speech that both parties of a relay have agreed
	 * on, Hz; else 0. */
	uint32_t clock;
};
_Static_assert(sizeof(struct packet_type) == 8, "it is one atomic word");

/** Is it speech that both parties of a relay have? */
static inline bool packet_type_is_agreed(struct packet_type t)
{
	return t.what == FRAME_RING_SPEECH && t.clock;
}

/** Payload types of what travels among speech, by kind: those of now, then
 * others where there is room. A type that another one has replaced stands for
 * the same as before, unless its number stands for something else now: packets
 * are on their way, and a party may not have heard of the change (RFC 3264,
 * 8.3.2). 0 is none. */
struct aux_types {
	uint8_t event[TELEPHONE_EVENT_TYPES];
	uint8_t khz[TELEPHONE_EVENT_TYPES]; /**< their clocks */
	uint8_t noise, former_noise;
};

/** The types of a stream. Made once, then constant. */
struct stream_types {
	struct rcu_later rcu;
	cr_ns period; /**< how long a packet is */
	struct aux_types aux;
	bool alike;	    /**< a relay passes on what is not in @type */
	uint8_t place[128]; /**< 1 + place in @type; 0: it is not there */
	struct packet_type type[];
};

/** The type @pt, which nobody has named. @passed: a relay passes it on. */
static inline struct packet_type packet_type_unnamed(uint8_t pt, bool passed)
{
	return (struct packet_type){
		.pt = pt,
		.as = passed ? pt : PACKET_NOT_PASSED,
		.what = FRAME_RING_SPEECH,
		.codec = PACKET_NO_CODEC,
	};
}

static inline struct packet_type stream_types_find(const struct stream_types *t,
						   uint8_t pt)
{
	unsigned place = t->place[pt & 127u];

	return place ? t->type[place - 1] : packet_type_unnamed(pt, t->alike);
}

/* --- what is sent --- */

/** A multiple of all RTP clocks, Hz. */
#define STREAM_AHEAD_CLOCK 96000u

/** The destination of a stream's packets, and the last one that was sent. The
 * thread that sends owns it: rx in mode relay, the worker in mode transcode. */
struct stream_out {
	const struct destination *destination; /**< constant */
	unsigned version;		       /**< of what is in @to */
	bool held; /**< that is nothing, as the party asks */
	int fd;	   /**< from where; -1: the shared port; constant */
	cr_ns at;  /**< arrival of what was sent last; 0: nothing was */
	/** Since mode relay has ended, nothing has come out of the codec: what
	 * does begins so far behind @ts, in 1/STREAM_AHEAD_CLOCK s. Negative:
	 * something has, and its timestamps go on. */
	int64_t ahead;
	uint32_t ssrc, ts;
	uint16_t seq;
	struct sockaddr_storage to;
	/** Where a new process finds all this; NULL: nowhere. Constant. */
	struct state_stream *state;
	/** A process that has died has sent before: the input's timestamp
	 * then, until something is sent again. */
	bool resumes;
	uint32_t resumes_ts;
};

/** Look where packets go to, if that has changed. Its address may be written at
 * this moment: then the last one is as good. True: the party was on hold, and
 * is not any more. */
static inline bool stream_out_look(struct stream_out *o)
{
	bool before = o->held;

	return __builtin_expect(destination_changed(o->destination, o->version),
				0) &&
	       destination_try(o->destination, &o->version, &o->held, &o->to) &&
	       before && !o->held;
}

/** Count a packet that has nowhere to go: no party is known yet, or it is on
 * hold. */
static inline void stream_out_refuse(const struct stream_out *o,
				     struct stream_counters *count)
{
	counter_add(o->held ? &count->on_hold : &count->no_destination, 1);
}

/* --- what a stream is to be --- */

struct rtcp_sent;

/** The codecs that a party may send, each with its payload type. */
#define STREAM_CODECS_MAX 8u
struct stream_codecs {
	unsigned n;
	struct codec_use one[STREAM_CODECS_MAX];
	struct passed_types passed; /**< of all that it may send */
};

/** The configuration of a stream. Zero-initialise. */
struct stream_cfg {
	uint32_t id;
	uint32_t pair; /**< id of the stream in the other direction, or 0 */
	struct pipeline_cfg media;
	/** The codecs that its party may send, media.in first; NULL: only
	 * that. Borrowed. */
	const struct stream_codecs *codecs;
	bool may_change;	    /**< its codecs may, later */
	struct release_cfg release; /**< as asked for; the terms add to it */
	bool release_named;	    /**< its kind was asked for by name       */
	struct task_terms terms;    /**< as asked for; weight 0: 1024 */
	/** Terms for the scheduler, from stream_settle(). */
	struct core_terms declared;

	uint32_t ssrc_in, ssrc_out;
	uint32_t ts_out; /**< output timestamp of the first input packet */
	uint16_t seq_out;
	bool ts_first_known;
	uint32_t ts_first;

	struct sockaddr_storage source; /**< ss_family 0: the first sender  */
	struct learn_terms hears; /**< of a port of its own: who is heard   */
	/** The endpoint that gets its packets; NULL: the shared port, by
	 * @ssrc_in. */
	struct endpoint *in_endpoint;
	/** The endpoint that it is sent from, to its party; NULL: to @to, from
	 * where it comes in. */
	struct endpoint *out_endpoint;
	struct sockaddr_storage to;
	unsigned receiver; /**< which one it is with (media/rx.h)    */
	unsigned ring_frames;
	/** RTCP's count of what is sent, or NULL. */
	struct rtcp_sent *tally;
	enum shed_kind shed; /**< what workers give up; see engine/shed.h  */
	/** Conceal missing packets; else it shows in the output's sequence
	 * numbers. */
	bool conceal;
	/** At an endpoint: its receive stage. */
	struct receive_stage_terms receive_stage;
	/** Telephone events that it sends; pt 0: none. */
	struct telephone_event_type event_out;
};

/** Let @to have of @from what a new offer or answer may change: codecs, their
 * packets, and what comes and goes among the speech. */
static inline void stream_cfg_speak(struct stream_cfg *to,
				    const struct stream_cfg *from)
{
	to->release.period = from->release.period;
	to->media = from->media;
	to->codecs = from->codecs;
	to->receive_stage = from->receive_stage;
	to->event_out = from->event_out;
}

/* --- a stream --- */

struct transcoder;

/** The mode that control wants; stream_relays() says which it is. */
enum stream_mode {
	STREAM_TRANSCODE,
	STREAM_RELAY_SOME, /**< all but what only the transcoder knows */
	STREAM_RELAY	   /**< all: its transcoder sleeps, if it has one */
};

/* Members of two writing threads share no cache line: each would wait for the
 * other core's copy at every packet. */
struct stream {
	/** Control's. Others read only what never changes: id, receiver,
	 * in_endpoint, out_endpoint, tally, shed, conceal, ts_first_known. What
	 * concerns a codec or the engine is without effect in mode relay. */
	struct stream_cfg cfg;
	struct rcu_later rcu;
	void *owner; /**< control's */

	/* what every packet needs */
	_Alignas(CACHE_LINE) struct endpoint *out_endpoint; /**< constant */
	/** Where it counts: in its slot of state memory, or in itself. Constant
	 * once the stream is published. */
	struct stream_account *account;
	/** The type of most packets; control's, as all types. */
	_Atomic(struct packet_type) speech;
	/** The others; NULL: there are none. Read by rx in a read-side critical
	 * section. */
	_Atomic(struct stream_types *) types;
	/** NULL: it has had no codec. Set once by control. */
	_Atomic(struct transcoder *) transcoder;
	atomic_uchar wanted; /**< enum stream_mode: control's word */
	/* rx */
	atomic_bool relays; /**< its mode is relay; others may look */
	bool renumbers;	    /**< a relay sends not as it came: as @out.ssrc */
	bool fresh; /**< another sender than that of the last packet taken */
	uint32_t ts_more;    /**< what is added then ...                 */
	uint16_t seq_more;   /**< ...                                    */
	uint32_t sent_clock; /**< of the last packet sent, Hz            */
	/** SSRC of what a relay sent last, above 2^32; 0: nothing. Others look.
	 */
	_Atomic uint64_t sent_ssrc;

	/* rx or worker, by the mode */
	_Alignas(CACHE_LINE) struct stream_out out;
	struct stream_account own_account;
};

/** Make a stream by @cfg: a relay, with both sides alike, in_endpoint and
 * out_endpoint; or (@relays false) with a transcoder, by @cfg settled. 0 with
 * *@s, or -EINVAL, -ENOSPC, -EEXIST (see stream_types_new()), -ENOMEM with @e.
 * Control, as all up to stream_want(). */
int stream_new(struct stream **s, const struct stream_cfg *cfg, bool relays,
	       struct cr_err *e);
/** Free a stream that no thread can see any more, with all that it has. NULL is
 * fine. */
void stream_free(struct stream *s);

/** Let it go on as @to, which differs in class, period, deadline, weight, nice,
 * contract, cost, codecs, mode, and what comes beside speech only. */
void stream_set_cfg(struct stream *s, const struct stream_cfg *to);
/** Give @s the transcoder @c, which is complete. */
void stream_set_transcoder(struct stream *s, struct transcoder *c);

/** The terms of a change of types. */
struct stream_change {
	const struct stream_cfg *to;
	bool relays;
	/** That makes something of what comes, or NULL. */
	struct transcoder *transcoder;
	/** The codecs that it gets beside those that it had; NULL: none. */
	const struct stream_codecs *codecs;
};

/** The types of @s behind a change @by, and where their numbers are free, those
 * that its party might send before. 0 with *@t; or -ENOSPC, -EEXIST (two of one
 * type), -EINVAL, -ENOMEM with @e: inputs that the pipeline has got stay. */
int stream_types_new(struct stream_types **t, const struct stream *s,
		     const struct stream_change *by, struct cr_err *e);
/** Go by @t, its own then, from the next packet on: most are of type @pt. The
 * transcoder, and the mode that is wanted, come first: a packet of the old
 * types finds both ready. */
void stream_set_types(struct stream *s, struct stream_types *t, uint8_t pt);
/** May the party of @cfg send what only a transcoder knows, beside what is
 * passed on? */
bool relay_needs_transcoder(const struct stream_cfg *cfg);

/** A process that has died has sent @was: go on behind that. @s has its
 * transcoder, or types; nobody else sees it yet. */
void stream_resume(struct stream *s, const struct state_sent *was);
/** Set the mode that is wanted from now on. In STREAM_TRANSCODE it has a
 * transcoder, in the others types. */
void stream_want(struct stream *s, enum stream_mode mode);

static inline enum stream_mode stream_wanted(const struct stream *s)
{
	return (enum stream_mode)atomic_load_explicit(&s->wanted,
						      memory_order_acquire);
}

/** NULL: it has none. Control; the receiver. */
static inline struct transcoder *stream_transcoder(const struct stream *s)
{
	return atomic_load_explicit(&s->transcoder, memory_order_acquire);
}

/** The types of @s but for that of most packets, or NULL. Control; the
 * receiver, in a read-side critical section. */
static inline const struct stream_types *stream_types(const struct stream *s)
{
	return atomic_load_explicit(&s->types, memory_order_acquire);
}

/** The meaning of type @pt to @s. As stream_types(). */
static inline struct packet_type stream_type_of(const struct stream *s,
						uint8_t pt)
{
	/* acquire: the codec that it names is there */
	struct packet_type one =
		atomic_load_explicit(&s->speech, memory_order_acquire);
	const struct stream_types *t;

	if (__builtin_expect(one.pt == pt, 1))
		return one;
	t = stream_types(s);
	return t ? stream_types_find(t, pt) : packet_type_unnamed(pt, false);
}

/** The clock of its speech, if a relay has agreed on that, Hz; else 0. */
static inline uint32_t stream_main_clock(const struct stream *s)
{
	/* in two steps: clang 14 cannot take a member of what it loads */
	const struct packet_type speech =
		atomic_load_explicit(&s->speech, memory_order_relaxed);

	return speech.clock;
}

/** Is its mode relay now? Any thread. */
static inline bool stream_relays(const struct stream *s)
{
	return atomic_load_explicit(&s->relays, memory_order_acquire);
}

/** The SSRC of what a relay has sent last, into *@ssrc. False: nothing. Any
 * thread. */
bool stream_relays_as(const struct stream *s, uint32_t *ssrc);

/** Memory of it all without the codecs' own states, bytes. */
size_t stream_bytes(const struct stream *s);

/** Fetch into the cache what taking a packet of @s is about to use, in either
 * mode. */
static inline void stream_fetch(const struct stream *s)
{
	cache_fetch(&s->out_endpoint,
		    offsetof(struct stream, out) -
			    offsetof(struct stream, out_endpoint));
	cache_fetch(&s->account->seen, CACHE_LINE);
	cache_fetch(&s->account->count.packets_in, CACHE_LINE);
}

/** The rest, if its mode is relay. */
static inline void stream_fetch_relay(const struct stream *s)
{
	cache_fetch(&s->out, offsetof(struct stream_out, to) +
				     sizeof(struct sockaddr_in6));
	cache_fetch(&s->account->count.packets_out,
		    sizeof(s->account->count.packets_out) * 2);
}

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
	unsigned terms_version; /**< the version of @terms it goes by */

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

/* --- the transcoders by SSRC --- */

/*
 * The transcoders by SSRC: lock-free look-ups by the receivers while the
 * control thread adds and removes (liburcu's cds_lfht).
 *
 * Readers hold rcu_read_begin() from look-up to last use; threads that call
 * anything here are registered with liburcu.
 */

struct stream_table;

/** For about as many as @streams: more take longer to find. NULL: out of
 * memory. */
struct stream_table *stream_table_new(unsigned streams);

void stream_table_free(
	struct stream_table *t); /**< must be empty; NULL is fine */

/** Add @c under its SSRC. -EEXIST when the SSRC is taken. Control thread. */
int stream_table_add(struct stream_table *t, struct transcoder *c);

/** Take @c out; rx may still hold it until a grace period has passed. */
void stream_table_del(struct stream_table *t, struct transcoder *c);

/** Under rcu_read_begin(): the one that @ssrc names, or NULL. */
struct transcoder *stream_table_find(struct stream_table *t, uint32_t ssrc);

/** How many have been taken out so far. A reader that finds no more than when
 * it looked one up, in this read-side section or one before, may go on with
 * that in this one. Any thread. */
uint64_t stream_table_removals(const struct stream_table *t);

/* --- a receiver's memory of it --- */

/*
 * A receiver's own memory of which SSRC is which transcoder: a look into it is
 * one line of memory, a look-up in the table several, one after the other. What
 * it knows is good until one leaves the table.
 *
 * Thread rule: one thread, under rcu_read_begin().
 */

#define STREAM_CACHE_ENTRIES 4096u

struct stream_cache_entry {
	struct transcoder *transcoder;
	uint64_t removals; /**< of the table, when it was looked up */
	uint32_t ssrc;
};

/** Zero is empty. */
struct stream_cache {
	struct stream_cache_entry entry[STREAM_CACHE_ENTRIES];
};

/** As stream_table_find(). */
static inline struct transcoder *stream_cache_find(struct stream_cache *cache,
						   struct stream_table *t,
						   uint32_t ssrc)
{
	/* multiplied by 2^32 / golden ratio, the top bits depend on all */
	struct stream_cache_entry *e =
		&cache->entry[(uint32_t)(ssrc * UINT32_C(0x9e3779b1)) /
			      (uint32_t)((UINT64_C(1) << 32) /
					 STREAM_CACHE_ENTRIES)];
	/* before the look-up: one that leaves meanwhile is not believed */
	uint64_t removals = stream_table_removals(t);

	struct transcoder *c;

	if (e->transcoder && e->ssrc == ssrc && e->removals == removals)
		return e->transcoder;
	c = stream_table_find(t, ssrc);
	if (c) /* SSRCs of nobody do not drive out others */
		*e = (struct stream_cache_entry){ c, removals, ssrc };
	return c;
}

#endif
