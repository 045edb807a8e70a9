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
 *              transcoder (media/transcoder.h): a stream that was always a
 *              relay has none, and one that is a relay again keeps it, asleep.
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
 *   control   makes it, says what mode is wanted, reads its counters
 *   rx        the receiver of its incoming endpoint: everything under "rx"
 *   worker    in mode transcode: @out, and its part of the counters. In mode
 *             relay these are rx's. They change hands when the transcoder is
 *             at rest, and with the first frame that rx pushes after that.
 * Reclaim: out of the table and its endpoints out of the receivers -> RCU grace
 * period -> out of the engine, if it has a transcoder -> stream_free().
 */
#ifndef MEDIA_RTP_STREAM_H
#define MEDIA_RTP_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/cache.h"
#include "base/counter.h"
#include "base/rcu.h"
#include "cr/time.h"
#include "engine/contract.h"
#include "engine/core.h"
#include "engine/release.h"
#include "media/counters.h"
#include "media/endpoint.h"
#include "media/frame_ring.h"
#include "media/pipeline.h"
#include "media/receive_stage.h"
#include "media/state_memory.h"
#include "rtp/payload_types.h"
#include "rtp/rtp.h"
#include "rtp/telephone_event.h"
#include "udp/burst.h"
#include "udp/intake.h"

/* --- payload types beside speech --- */

/*
 * Payload types of what travels among a party's speech: telephone events (RFC
 * 4733) and comfort noise (RFC 3389). 0 is none.
 *
 * A type that another one has replaced stands for the same as before, unless
 * its number stands for something else now: packets are on their way, and a
 * party may not have heard of the change (RFC 3264, 8.3.2).
 */

struct aux_types {
	/** Those of now, then others where there is room; and their clocks,
	 * kHz. */
	uint8_t event[TELEPHONE_EVENT_TYPES], khz[TELEPHONE_EVENT_TYPES];
	uint8_t noise, former_noise;
};
_Static_assert(sizeof(struct aux_types) == 8, "it is one atomic word");

/** Which type of events @pt is, or TELEPHONE_EVENT_TYPES. */
static inline unsigned aux_event(struct aux_types t, uint8_t pt)
{
	unsigned i = 0;

	while (i < TELEPHONE_EVENT_TYPES && (!pt || t.event[i] != pt))
		i++;
	return i;
}

/** The kind of packets of type @pt; SPEECH: none of these. */
static inline enum frame_ring_what aux_what(struct aux_types t, uint8_t pt)
{
	if (!pt)
		return FRAME_RING_SPEECH;
	if (t.event[0] && aux_event(t, pt) < TELEPHONE_EVENT_TYPES)
		return FRAME_RING_EVENT;
	return pt == t.noise || pt == t.former_noise ? FRAME_RING_NOISE
						     : FRAME_RING_SPEECH;
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
#define CALL_CODECS_MAX 8u
struct stream_codecs {
	unsigned n;
	struct codec_use one[CALL_CODECS_MAX];
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
	bool may_change;	    /**< transcoder_set_types() may follow */
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

/* --- what a relay passes on --- */

/** A type that is not passed on: the other party may mean something else by
 * its number. */
#define RELAY_NO_TYPE 0xffu
/** Comfort noise has a type of its own (RFC 3551, table 4). */
#define RELAY_NOISE_PT 13u

/** The payload type of each packet behind a relay. */
struct relay_types {
	uint8_t in; /**< the codec's */
	struct aux_types aux;
	uint8_t type[128];
	/** Of the timestamps of speech that was agreed on, Hz; 0: is none. */
	uint32_t clock[128];
	cr_ns period; /**< how long a packet is */
	struct rcu_later rcu;
};

struct transcoder_types;

/** The types that a relay of @cfg passes on: those that signalling has said are
 * passed on, and no others; or (nothing said) those of both sides, which are
 * alike.
 * @aux: what comes among speech, and came before. NULL: out of memory.
 * Control, as the next three. */
struct relay_types *relay_types_new(const struct stream_cfg *cfg,
				    struct aux_types aux);
/** And, where its numbers are free, the speech of @former: parties that have
 * not heard of a change go on by that. */
void relay_types_keep(struct relay_types *t, const struct relay_types *former);
/** But no other speech that @others have: the transcoder can make something of
 * that. */
void relay_types_leave(struct relay_types *t,
		       const struct transcoder_types *others);
/** May the party of @cfg send what only a transcoder knows, beside what is
 * passed on? */
bool relay_needs_transcoder(const struct stream_cfg *cfg);

/** The clock of timestamps of type @pt, as far as is known, Hz. */
static inline uint32_t relay_clock(const struct relay_types *t, uint8_t pt)
{
	return t->clock[pt] ? t->clock[pt] : t->clock[t->in];
}

/* --- a stream --- */

struct transcoder;

/** The mode that control wants. */
enum stream_mode {
	STREAM_TRANSCODE,
	STREAM_RELAY_SOME, /**< all but what only the transcoder knows */
	STREAM_RELAY
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
	 * once anybody sees the stream. */
	struct stream_account *account;
	/** The types that a relay passes on; NULL: it has never relayed.
	 * Control's, read by rx in a read-side critical section. */
	_Atomic(struct relay_types *) types;
	/** NULL: it has had no codec. Set once by control. */
	_Atomic(struct transcoder *) transcoder;
	atomic_uint wanted; /**< enum stream_mode: control's word */
	/* rx */
	atomic_bool relays; /**< its mode is relay; others may look */
	bool renumbers;	    /**< a relay sends not as it came: as @out.ssrc */
	bool fresh; /**< another sender than that of the last packet taken */
	uint8_t sent_pt;   /**< of the last one, as it came            */
	uint16_t seq_more; /**< what is added then ...                 */
	uint32_t ts_more;  /**< ...                                    */
	/** SSRC of what a relay sent last, above 2^32; 0: nothing. Others look.
	 */
	_Atomic uint64_t sent_ssrc;

	/* rx or worker, by the mode */
	_Alignas(CACHE_LINE) struct stream_out out;
	struct stream_account own_account;
};

/** NULL: out of memory. With @types, which are its own then, it is a relay, of
 * @cfg with both sides alike, in_endpoint and out_endpoint; else it is to have
 * a transcoder. Control, as all up to stream_want(). */
struct stream *stream_new(const struct stream_cfg *cfg,
			  struct relay_types *types);
/** Free a stream that no thread can see any more, with all that it has. NULL is
 * fine. */
void stream_free(struct stream *s);

/** Let it go on as @to, which differs in class, period, deadline, weight, nice,
 * contract, cost, codecs, mode, and what comes beside speech only. */
void stream_set_cfg(struct stream *s, const struct stream_cfg *to);
/** Give @s the transcoder @c, which is complete. */
void stream_set_transcoder(struct stream *s, struct transcoder *c);
/** Pass on by @types, its own then. */
void stream_set_types(struct stream *s, struct relay_types *types);
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

/** The types that @s passes on. Control; the receiver, in a read-side critical
 * section.
 */
static inline const struct relay_types *stream_types(const struct stream *s)
{
	return atomic_load_explicit(&s->types, memory_order_acquire);
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

/* --- packets: a receiver, in a read-side critical section that it leaves after
 * relay_flush() only --- */

/** Packets of a receiver's streams in mode relay on their way out. Zero is
 * empty. */
struct relay_burst {
	struct burst burst; /**< burst_open() may come first */
	struct relay_unsent {
		struct stream *stream;
		size_t octets; /**< of payload */
	} unsent[BURST_PACKETS];
};

/** A packet that has come, and what is to become of it. */
struct relay_packet {
	const struct rtp_packet *rtp;
	const struct intake_packet *in; /**< that it was parsed from */
	/* by relay_takes() */
	struct stream *stream;
	/** NULL: it never was a relay. Looked up once: control may have others
	 * by now. */
	const struct relay_types *types;
	bool begins; /**< the mode was transcode for the one before */
};

/** Is the packet @t of @s for a relay, if its endpoint accepts it? False: it is
 * the transcoder's. */
bool relay_takes(struct stream *s, struct relay_packet *t);

/** May its party send type @pt? */
static inline bool relay_agrees(const struct relay_types *t, uint8_t pt)
{
	return t->clock[pt] || pt == RELAY_NOISE_PT ||
	       aux_what(t->aux, pt) != FRAME_RING_SPEECH;
}

/** Pass @t on, which was accepted and has a type; it may wait in @out for
 * others. @fresh: it is of another sender than the one before. */
void relay_pass(struct relay_burst *out, struct endpoint *endpoint,
		const struct relay_packet *t, bool fresh);

/** Send and count what waits. */
void relay_flush(struct relay_burst *out);

/** @t is the transcoder's, of a type that it knows, and was accepted: change
 * from mode relay to transcode. The numbers of what is sent will follow those
 * of the relay, which has sent what waits in @out before. @fresh: it is of
 * another sender than the one before. False: it is late, and nothing has
 * changed. */
bool relay_end(struct relay_burst *out, const struct relay_packet *t,
	       bool fresh);

#endif
