/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One received datagram on its way into a stream's frame buffer.
 *
 * Order is kept by dropping: a packet behind a newer one is counted and goes,
 * for the codec's state has already passed it.
 */
#include "media/packet.h"

#include <string.h>

#include "base/address.h"
#include "media/endpoint_rtcp.h"
#include "media/importance.h"
#include "udp/inlet.h"

/* Larger than any packet that fits a ring. */
#define PACKET_BYTES_MAX 2048u

_Static_assert(PACKET_BYTES_MAX <= INLET_BYTES,
	       "what is cut off must be too large");
_Static_assert(PACKET_BYTES_MAX <= BURST_BYTES, "a relay can send it on");

/* Note the party, whose packet @p was the first one, for a process that may
 * have to go on. At the shared port without @endpoint. */
static void note_heard(struct stream *s, const struct endpoint *endpoint,
		       const struct learn_arrival *p)
{
	struct state_heard heard = { .ssrc = p->ssrc, .seq = p->seq };
	struct state_stream *state =
		endpoint ? endpoint->cfg.state : s->out.state;

	if (!state)
		return;
	if (endpoint)
		heard.terms = endpoint->terms_taken;
	memcpy(heard.address, p->from, address_length(p->from));
	state_put_heard(state, &heard);
}

/* The address signalling has told, else the first one that sends. */
static bool from_source(struct transcoder *c,
			const struct sockaddr_storage *from)
{
	if (!c->source_known) {
		c->source = *from;
		c->source_known = true;
		note_heard(c->stream, NULL,
			   &(struct learn_arrival){ .from = from });
		return true;
	}
	return address_equal(&c->source, from);
}

/* The kind of a packet. Types may change at any moment: looked up once. */
struct kind {
	enum frame_ring_what what;
	int codec;	/* of speech; negative: none, or nobody knows of it */
	uint32_t clock; /* of events, Hz */
	bool known;	/* of speech, or of what travels among it */
};

static struct kind packet_kind_of(struct transcoder *c, uint8_t pt)
{
	const struct aux_types t = transcoder_aux(c);
	struct kind k = { .what = aux_what(t, pt),
			  .codec = transcoder_codec_of(c, pt) };

	k.known = k.codec >= 0 || k.what != FRAME_RING_SPEECH;
	if (__builtin_expect(k.what == FRAME_RING_EVENT, 0))
		k.clock = t.khz[aux_event(t, pt)] * 1000u;
	return k;
}

/* Is it new, by its sequence number? Counts it if not. */
static bool is_packet_in_order(struct transcoder *c, uint16_t seq)
{
	switch (rtp_source_update(&c->stream->account->seen, seq)) {
	case RTP_RESTART:
		c->restart = true;
		return true;
	case RTP_NEW:
		return true;
	case RTP_DUPLICATE:
		counter_add(&c->stream->account->count.duplicates, 1);
		return false;
	case RTP_REORDERED:
		counter_add(&c->stream->account->count.reordered, 1);
		return false;
	case RTP_OUT_OF_RANGE:
		counter_add(&c->stream->account->count.seq_jumps, 1);
		return false;
	}
	return false;
}

static void trace_overwritten(struct trace_ring *trace,
			      const struct transcoder *c,
			      const struct cr_frame_meta *lost)
{
	bool best_effort = atomic_load_explicit(&c->terms.best_effort,
						memory_order_relaxed);
	/* by its arrival: it takes no logical time, see engine/release.h */
	cr_ns due = cr_ns_add(lost->arrival,
			      atomic_load_explicit(&c->terms.rel_deadline,
						   memory_order_relaxed));
	union cr_trace_record r = {
		.job = {
			.kind = CR_TRACE_JOB,
			.outcome = CR_OUT_OVERWRITTEN,
			.worker = 0xffff,
			.call = c->stream->cfg.id,
			.seq = (uint32_t)lost->seq,
			.bytes_in = cr_frame_packet_bytes(lost),
			.arrival = lost->arrival,
			.deadline = best_effort ? CR_NEVER : due,
			.rtp_ts = lost->rtp_ts,
			.buffered_ns = lost->waited,
			.importance = lost->importance,
		},
	};

	trace_put(trace, &r);
}

/* A frame has come: does it violate the contract? Only bursts can. When it must
 * be done is known when it is looked at: see transcode_peek(). */
static void check_contract(struct transcoder *c)
{
	uint64_t before;

	if (atomic_load_explicit(&c->terms.kind, memory_order_relaxed) !=
	    RELEASE_LBAP)
		return;
	transcoder_take_terms(c, &c->release, &c->terms_taken);
	before = c->release.violations;
	(void)release_arrival(&c->release, c->last_arrival);
	counter_add(&c->stream->account->count.violations,
		    c->release.violations - before);
}

static void count_frame(struct transcoder *c,
			const struct receive_stage_frame *f)
{
	const enum frame_ring_what what = (enum frame_ring_what)f->meta.what;

	if (what == FRAME_RING_LOST || what == FRAME_RING_SILENCE ||
	    what == FRAME_RING_TICK) {
		counter_add(&c->stream->account->count.synthesized, 1);
	} else {
		counter_add(&c->stream->account->count.packets_in, 1);
		counter_add(&c->stream->account->count.octets_in,
			    f->meta.bytes);
	}
	if (__builtin_expect(what == FRAME_RING_SPEECH && !f->meta.waited &&
				     !f->lost,
			     1))
		return;
	counter_add(&c->stream->account->count.buffered_ns, f->meta.waited);
	counter_add(&c->stream->account->count.jitter_missed, f->lost);
	if (what == FRAME_RING_SILENCE)
		counter_add(&c->stream->account->count.silences, 1);
	else if (what == FRAME_RING_EVENT)
		counter_add(&c->stream->account->count.events, 1);
	else if (what == FRAME_RING_NOISE)
		counter_add(&c->stream->account->count.cn_in, 1);
}

/* How much a listener would miss it. Frames that must be kept are not rated. */
static uint8_t rate_importance(struct transcoder *c,
			       const struct receive_stage_frame *f)
{
	switch ((enum frame_ring_what)f->meta.what) {
	case FRAME_RING_SPEECH:
		return importance_of(
			&c->gains,
			pipeline_input_side(c->pipeline, f->meta.codec),
			f->payload, f->meta.bytes);
	case FRAME_RING_NOISE:
	case FRAME_RING_SILENCE:
		return CR_IMPORTANCE_NOTHING;
	case FRAME_RING_EVENT:
	case FRAME_RING_LOST:
	case FRAME_RING_TICK:
		break;
	}
	return CR_IMPORTANCE_UNKNOWN;
}

void packet_push_frame(void *transcoder, const struct receive_stage_frame *f)
{
	struct transcoder *c = transcoder;
	uint8_t *frame = frame_ring_reserve(c->ring);
	struct cr_frame_meta meta = f->meta, lost;

	cache_fetch(frame, meta.bytes);
	if (f->restart && c->first_seen)
		c->sender_in = (c->sender_in + 1) & 127u;
	meta.sender = c->sender_in;
	if (meta.what == FRAME_RING_SPEECH)
		c->codec_in = meta.codec;
	meta.codec = c->codec_in;
	/* the release models want a time that never goes back; the kernel's
	 * real-time stamps may */
	c->last_arrival = cr_ns_max(c->last_arrival, meta.arrival);
	meta.arrival = c->last_arrival;
	check_contract(c);
	if (c->buffers)
		meta.rtp_seq = c->numbered += cr_frame_takes_time(&meta);
	if (c->stream->cfg.shed == SHED_QUIET)
		meta.importance = rate_importance(c, f);
	/* the first packet counts, even if no worker ever sees it; the ring's
	 * first push hands this to the worker */
	if (!c->first_seen && !c->stream->cfg.ts_first_known)
		pipeline_first_ts(c->pipeline, meta.rtp_ts);
	c->first_seen = true;
	if (meta.bytes)
		memcpy(frame, f->payload, meta.bytes);
	count_frame(c, f);
	if (frame_ring_push(c->ring, &meta, &lost)) {
		counter_add(&c->stream->account->count.overwritten, 1);
		trace_overwritten(c->trace, c, &lost);
	}
	c->pushed = true;
}

/* @c, if the engine is to know of its frames. */
static struct transcoder *released(struct transcoder *c)
{
	bool pushed = c->pushed;

	c->pushed = false;
	return pushed && live_task_wake(&c->lt) ? c : NULL;
}

static void push_packet(struct transcoder *c, const struct rtp_packet *p,
			uint8_t codec, cr_ns arrival)
{
	const struct receive_stage_frame frame = {
		.meta.marker = p->marker,
		.restart = c->restart,
		.meta.codec = codec,
		.payload = p->payload,
		.meta.bytes = (uint16_t)p->payload_bytes,
		.meta.rtp_ts = p->ts,
		.meta.rtp_seq = p->seq,
		.meta.arrival = arrival,
	};

	c->restart = false;
	packet_push_frame(c, &frame);
}

/* Into its receive stage @f, from which frames may come at once. */
static void let_in(struct transcoder *c, struct receive_stage *f,
		   const struct rtp_packet *p, struct kind k, cr_ns arrival)
{
	struct receive_stage_arrival in = {
		.what = k.what,
		.rtp = p,
		.at = arrival,
	};
	enum jitter_put why;

	if (in.what == FRAME_RING_SPEECH) {
		const struct codec_use *side =
			pipeline_input_side(c->pipeline, (uint8_t)k.codec);

		in.number = (uint8_t)k.codec;
		in.codec = (struct receive_stage_codec){
			.side = side,
			.clock = codec_use_clock(side),
			.rate = codec_use_rate(side),
		};
	} else {
		in.codec.clock = k.clock;
	}
	transcoder_take_receive_stage(c, f);
	/* a jitter buffer sorts by itself: only counted here */
	if (receive_stage_buffers(f))
		(void)rtp_source_update(&c->stream->account->seen, p->seq);
	else if (!is_packet_in_order(c, p->seq))
		return;
	in.restart = c->restart;
	c->restart = false;
	why = receive_stage_packet(f, &in);
	if (why == JITTER_LATE)
		counter_add(&c->stream->account->count.late_in, 1);
	else if (why == JITTER_DUPLICATE)
		counter_add(&c->stream->account->count.duplicates, 1);
	else if (why == JITTER_OUT_OF_RANGE)
		counter_add(&c->stream->account->count.seq_jumps, 1);
	else if (why == JITTER_TOO_BIG)
		counter_add(&c->stream->account->count.too_big, 1);
	endpoint_wait(c->stream->cfg.in_endpoint, ENDPOINT_RECEIVE_STAGE,
		      receive_stage_due(f));
}

/* May the packet become a frame of @c? */
static bool fits_frame(const struct transcoder *c, const struct rtp_packet *p,
		       struct kind k)
{
	return k.known && p->payload_bytes <= c->slot_bytes;
}

/* Of a stream of this receiver: one thread has its "rx" part. */
static struct transcoder *take_frame_of(struct packet_path *path,
					struct transcoder *c,
					const struct rtp_packet *p,
					struct kind k, cr_ns arrival)
{
	struct receive_stage *f = transcoder_receive_stage(c);

	if (!fits_frame(c, p, k)) {
		counter_add(k.known ? &c->stream->account->count.too_big
				    : &c->stream->account->count.wrong_pt,
			    1);
		return NULL;
	}
	c->trace = path->trace;
	if (__builtin_expect(f != NULL, 0))
		let_in(c, f, p, k, arrival);
	else if (is_packet_in_order(c, p->seq))
		push_packet(c, p, (uint8_t)k.codec, arrival);
	return released(c);
}

/* At the shared port: @c is the call of its SSRC. */
static struct transcoder *take_shared(struct packet_path *path,
				      struct transcoder *c,
				      const struct rtp_packet *p,
				      const struct intake_packet *in)
{
	transcoder_fetch_for_packet(c);
	stream_fetch(c->stream);
	if (!from_source(c, in->from)) {
		counter_add(&c->stream->account->count.wrong_source, 1);
		return NULL;
	}
	return take_frame_of(path, c, p, packet_kind_of(c, p->pt), in->arrival);
}

/* Count a refused packet: @why is an enum learn_result. @valid: of a type
 * that was agreed; another one proves nothing. */
static void count_refused(struct stream_counters *count, unsigned why,
			  bool valid)
{
	if (why == LEARN_FOREIGN_ADDRESS)
		counter_add(&count->wrong_source, 1);
	else if (why == LEARN_FOREIGN_SSRC)
		counter_add(&count->wrong_ssrc, 1);
	else if (!valid)
		counter_add(&count->wrong_pt, 1);
	else
		counter_add(&count->probation, 1);
}

/* Of an endpoint that has accepted it, and not for a relay. @fresh: of another
 * sender than the one before. */
static struct transcoder *take_accepted(struct packet_path *path,
					const struct relay_packet *t,
					struct kind k, bool fresh)
{
	struct stream *s = t->stream;
	struct transcoder *c = stream_transcoder(s);

	if (__builtin_expect(stream_relays(s), 0) && fits_frame(c, t->rtp, k) &&
	    !relay_end(path->relays, t, fresh)) {
		(void)is_packet_in_order(c, t->rtp->seq); /* it counts */
		return NULL;
	}
	if (fresh) {
		rtp_source_again(&s->account->seen);
		c->restart = true;
	}
	return take_frame_of(path, c, t->rtp, k, t->in->arrival);
}

/* At the port of @endpoint: whoever that believes to be its party. */
static struct transcoder *take_at_endpoint(struct packet_path *path,
					   struct endpoint *endpoint,
					   const struct rtp_packet *p,
					   const struct intake_packet *in)
{
	struct relay_packet t = { .rtp = p, .in = in };
	struct stream *s = endpoint_stream(endpoint);
	bool relayed = s && relay_takes(s, &t);
	struct transcoder *c = s && !relayed ? stream_transcoder(s) : NULL;
	/* nobody listens: all counts as speech, for RTCP, too */
	struct kind k = c ? packet_kind_of(c, p->pt)
			  : (struct kind){ .codec = 0, .known = true };
	const struct learn_arrival arrival = {
		.from = in->from,
		.ssrc = p->ssrc,
		.seq = p->seq,
		.valid = relayed ? relay_agrees(t.types, p->pt) : k.known,
	};
	unsigned heard;
	bool fresh;

	if (c)
		transcoder_fetch_for_packet(c);
	heard = endpoint_hear(endpoint, &arrival, in->arrival);
	if (endpoint->rtcp && !relayed && learn_accepts(heard))
		endpoint_rtcp_rtp(endpoint, p, k.codec >= 0, in->arrival);
	if (!s) {
		counter_add(&path->count.no_listener, 1);
		return NULL;
	}
	if (!learn_accepts(heard)) {
		count_refused(&s->account->count, heard, arrival.valid);
		return NULL;
	}
	/* the packet that shows another sender may not be taken */
	s->fresh |= !!(heard & LEARN_NEW_SSRC);
	if (__builtin_expect(heard != LEARN_ACCEPTED, 0))
		note_heard(s, endpoint, &arrival);
	if (!endpoint_paces(endpoint, in->read)) {
		counter_add(&s->account->count.surplus, 1);
		return NULL;
	}
	if (relayed)
		k.known = t.types->type[p->pt] != RELAY_NO_TYPE;
	if (!k.known)
		payload_unknown_count(&endpoint->unknown, p->pt);
	fresh = s->fresh;
	s->fresh = fresh && !(relayed ? k.known : fits_frame(c, p, k));
	if (!relayed)
		return take_accepted(path, &t, k, fresh);
	if (k.known)
		relay_pass(path->relays, endpoint, &t, fresh);
	else
		counter_add(&s->account->count.wrong_pt, 1);
	return NULL;
}

/* The call with the SSRC of @p; one with a port of its own is not reachable
 * through the shared one. */
static struct transcoder *addressee(struct packet_path *path,
				    const struct rtp_packet *p)
{
	struct transcoder *c =
		stream_cache_find(&path->cache, path->table, p->ssrc);

	return c && !c->stream->cfg.in_endpoint ? c : NULL;
}

/* @mux: it came where RTP does. */
static void take_rtcp(struct packet_path *path, struct endpoint *endpoint,
		      const struct intake_packet *in, bool mux)
{
	counter_add(&path->count.rtcp, 1);
	if (!endpoint || !endpoint->rtcp)
		return;
	switch (endpoint_rtcp_packet(endpoint, in, mux)) {
	case ENDPOINT_RTCP_HEARD:
		counter_add(&path->count.rtcp_heard, 1);
		return;
	case ENDPOINT_RTCP_REFUSED:
		counter_add(&path->count.rtcp_refused, 1);
		return;
	case ENDPOINT_RTCP_FOREIGN:
		counter_add(&path->count.rtcp_foreign, 1);
		return;
	}
}

void packet_take_rtcp(struct packet_path *path, const struct intake_packet *in,
		      struct endpoint *endpoint)
{
	counter_add(&path->count.packets, 1);
	if (in->bytes > PACKET_BYTES_MAX)
		counter_add(&path->count.oversized, 1);
	else
		take_rtcp(path, endpoint, in, false);
}

struct transcoder *packet_take(struct packet_path *path,
			       const struct intake_packet *in,
			       struct endpoint *endpoint)
{
	struct rtp_packet p;
	struct transcoder *c;
	int err;

	counter_add(&path->count.packets, 1);
	if (in->bytes > PACKET_BYTES_MAX) {
		counter_add(&path->count.oversized, 1);
		return NULL;
	}
	err = rtp_parse(in->data, in->bytes, &p);
	if (err) {
		if (err == RTP_IS_RTCP)
			take_rtcp(path, endpoint, in, true);
		else
			counter_add(&path->count.malformed, 1);
		return NULL;
	}
	if (endpoint)
		return take_at_endpoint(path, endpoint, &p, in);
	c = addressee(path, &p);
	if (!c) {
		counter_add(&path->count.unknown_ssrc, 1);
		return NULL;
	}
	if (c->stream->cfg.receiver == path->receiver)
		return take_shared(path, c, &p, in);
	path->hand_over(path, c->stream->cfg.receiver, in);
	return NULL;
}

struct transcoder *packet_take_handed(struct packet_path *path,
				      const struct intake_packet *in)
{
	struct rtp_packet p;
	struct transcoder *c =
		rtp_parse(in->data, in->bytes, &p) ? NULL : addressee(path, &p);

	if (c && c->stream->cfg.receiver == path->receiver)
		return take_shared(path, c, &p, in);
	counter_add(&path->count.unknown_ssrc, 1); /* it has ended meanwhile */
	return NULL;
}

void packet_count_no_listener(struct packet_path *path)
{
	counter_add(&path->count.packets, 1);
	counter_add(&path->count.no_listener, 1);
}

struct transcoder *packet_poll(struct packet_path *path,
			       struct endpoint *endpoint, cr_ns now)
{
	const struct stream *s = endpoint_stream(endpoint);
	struct transcoder *c = s ? stream_transcoder(s) : NULL;
	struct receive_stage *f = c ? transcoder_receive_stage(c) : NULL;

	/* mode relay: its next packet says by which numbers it goes on */
	if (!f || stream_relays(s))
		return NULL;
	c->trace = path->trace;
	receive_stage_poll(f, now);
	endpoint_wait(endpoint, ENDPOINT_RECEIVE_STAGE,
		      cr_ns_max(receive_stage_due(f), now + 1));
	return released(c);
}
