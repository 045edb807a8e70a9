/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One received datagram on its way into a stream's frame buffer, or on to the
 * other party.
 *
 * Order is kept by dropping: a packet behind a newer one is counted and goes,
 * for the codec's state has already passed it. What a relay passes on keeps its
 * order as it came.
 *
 * A transcoder is at rest when its ring is empty, its task sleeps, its packets
 * have left, no frames wait for more, and no digit for its end; a jitter buffer
 * is not asked, as parties with one are never relayed. Only frames of its
 * receiver give it work, so it stays so while that looks, and what workers have
 * written of it and of the stream can be read and written here.
 */
#include "media/packet.h"

#include <string.h>

#include "base/address.h"
#include "media/endpoint.h"
#include "media/importance.h"
#include "udp/inlet.h"

/* Larger than any packet that fits a ring. */
#define PACKET_BYTES_MAX 2048u

_Static_assert(PACKET_BYTES_MAX <= INLET_BYTES,
	       "what is cut off must be too large");
_Static_assert(PACKET_BYTES_MAX <= BURST_BYTES, "a relay can send it on");

/* --- frames --- */

void packet_fetch(const struct transcoder *c)
{
	frame_ring_fetch_producer(c->ring);
	cache_fetch(&c->source_known,
		    offsetof(struct transcoder, source) -
			    offsetof(struct transcoder, source_known) +
			    sizeof(struct sockaddr_in6));
	cache_fetch(&c->receive_stage, sizeof(c->receive_stage));
	cache_fetch(&c->terms.kind, sizeof(c->terms.kind));
	cache_fetch(&c->lt.active, sizeof(c->lt.active));
}

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
		heard.terms = endpoint->terms_version;
	memcpy(heard.address, p->from, address_length(p->from));
	state_put_heard(state, &heard);
}

/* The signalled address, else the first one that sends. */
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
			.task = c->stream->cfg.id,
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
	transcoder_take_terms(c, &c->release, &c->terms_version);
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

static void push_packet(struct transcoder *c, const struct stream_packet *p)
{
	const struct receive_stage_frame frame = {
		.meta.marker = p->rtp.marker,
		.restart = c->restart,
		.meta.codec = p->type.codec,
		.payload = p->rtp.payload,
		.meta.bytes = (uint16_t)p->rtp.payload_bytes,
		.meta.rtp_ts = p->rtp.ts,
		.meta.rtp_seq = p->rtp.seq,
		.meta.arrival = p->in->arrival,
	};

	c->restart = false;
	packet_push_frame(c, &frame);
}

/* Put a packet into receive stage @f, from which frames may come at once. */
static void let_in(struct transcoder *c, struct receive_stage *f,
		   const struct stream_packet *p)
{
	struct receive_stage_arrival in = {
		.what = (enum frame_ring_what)p->type.what,
		.rtp = &p->rtp,
		.at = p->in->arrival,
	};
	enum jitter_put why;

	if (in.what == FRAME_RING_SPEECH) {
		const struct codec_use *side =
			pipeline_input_side(c->pipeline, p->type.codec);

		in.number = p->type.codec;
		in.codec = (struct receive_stage_codec){
			.side = side,
			.clock = codec_use_clock(side),
			.rate = codec_use_rate(side),
		};
	} else {
		in.codec.clock = p->type.clock;
	}
	receive_stage_set_period(f, transcoder_period(c));
	receive_stage_set_fill(f, (enum receive_stage_fill)atomic_load_explicit(
					  &c->fill, memory_order_relaxed));
	/* a jitter buffer sorts by itself: only counted here */
	if (receive_stage_buffers(f))
		(void)rtp_source_update(&c->stream->account->seen, p->rtp.seq);
	else if (!is_packet_in_order(c, p->rtp.seq))
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

/* --- mode relay: its beginning, its end, its numbers --- */

/* As many packets may be missing before a sender counts as begun anew. */
#define GAP_MAX 100

/* A step of the sender's timestamps is believed so far beyond the time that has
 * passed: packets may have come late before. */
#define STEP_SLACK CR_SEC

static bool is_at_rest(const struct transcoder *c)
{
	const struct digits *digits = transcoder_digits(c);

	return transcoder_is_idle(c) && !pipeline_holds(c->pipeline) &&
	       !(digits && digits_go_on(digits));
}

/* Of a codec that is relayed, behind all that came so far, and the transcoder
 * is at rest. */
static bool may_begin_relay(const struct stream_packet *p)
{
	const struct rtp_source *seen = &p->stream->account->seen;

	return packet_type_is_agreed(p->type) &&
	       (!seen->started ||
		(int16_t)(p->rtp.seq - (uint16_t)seen->ext) > 0) &&
	       is_at_rest(stream_transcoder(p->stream));
}

/* From the last packet that was sent to the next one. */
struct step {
	int32_t rtp_ticks; /* as its sender counts them */
	uint32_t clock;	   /* his; 0: they say nothing  */
	cr_ns passed;	   /* from arrival to arrival   */
	cr_ns frame;
};

/* Its length in units of @clock: the sender's word, if that can be believed;
 * else the time in which it came, of a frame at least. */
static uint64_t length_of(const struct step *s, uint32_t clock)
{
	cr_ns time = cr_ns_max(s->passed, 0);

	if (s->clock && s->rtp_ticks > 0 &&
	    s->rtp_ticks <= rtp_ticks_in(time + STEP_SLACK, s->clock))
		return (uint64_t)s->rtp_ticks * clock / s->clock;
	return (uint64_t)rtp_ticks_in(cr_ns_max(time, s->frame), clock);
}

/* How many numbers @seq is behind @last, as a sender counts that goes on; 1: it
 * begins anew. */
static uint16_t follow_number(uint16_t seq, uint16_t last, bool fresh)
{
	int16_t step = (int16_t)(seq - last);

	return !fresh && step > 0 && step <= GAP_MAX ? (uint16_t)step : 1;
}

/* The clock of its timestamp, as far as is known, Hz. */
static uint32_t clock_of(const struct stream_packet *p)
{
	return packet_type_is_agreed(p->type) ? p->type.clock
					      : stream_main_clock(p->stream);
}

/* The packet goes out @seq_step numbers and @step behind what was sent. */
static void number_packet(const struct stream_packet *p, uint16_t seq_step,
			  const struct step *step)
{
	struct stream *s = p->stream;
	uint32_t ts = s->out.ts + (uint32_t)length_of(step, clock_of(p));

	s->seq_more = (uint16_t)(s->out.seq + seq_step - p->rtp.seq);
	s->ts_more = ts - p->rtp.ts;
}

/* The sender is another one, whose first packet this is: what is passed on goes
 * on, if it is renumbered. */
static void renumber_relay(const struct stream_packet *p)
{
	const struct stream *s = p->stream;
	const struct step step = { .passed = p->in->arrival - s->out.at,
				   .frame = stream_types(s)->period };

	if (s->renumbers && s->out.at)
		number_packet(p, 1, &step);
}

/* The listener has been on hold, and @p is the first packet for it: its number
 * follows that of what was sent last. */
static void resume_relay(const struct stream_packet *p)
{
	struct stream *s = p->stream;
	uint32_t ssrc;

	if (!s->out.at)
		return;
	if (!s->renumbers) {
		/* another SSRC: a stream of its own */
		if (!stream_relays_as(s, &ssrc) || p->rtp.ssrc != ssrc)
			return;
		s->out.ssrc = ssrc;
		s->renumbers = true;
	}
	s->seq_more = (uint16_t)(s->out.seq + 1 - p->rtp.seq);
}

/* The clock that both sides of @c have had, if that is @clock; else 0: its
 * timestamps say nothing of the next packet's. */
static uint32_t same_clock(const struct transcoder *c, uint32_t clock)
{
	return pipeline_input_clock(c->pipeline, c->codec) == clock &&
			       pipeline_output_clock(c->pipeline) == clock
		       ? clock
		       : 0;
}

/* Something has come out of the codec since mode relay: what follows, follows
 * that, from where the speech of the packet would be in it. */
static void follow_transcoder(const struct stream_packet *p, bool fresh)
{
	const struct stream *s = p->stream;
	const struct transcoder *c = stream_transcoder(s);
	const cr_ns now = p->in->arrival;
	const struct pipeline_input in = { .meta.rtp_ts = p->rtp.ts,
					   .meta.arrival = now };
	uint32_t place = c->ts_out + pipeline_time(c->pipeline, &in);
	const struct step step = {
		.rtp_ticks = (int32_t)(place - s->out.ts),
		.clock = fresh ? 0 : same_clock(c, clock_of(p)),
		.passed = now - s->out.at,
		.frame = transcoder_period(c),
	};

	number_packet(p,
		      follow_number(p->rtp.seq, (uint16_t)s->account->seen.ext,
				    fresh),
		      &step);
}

/* The endpoint has accepted the packet: the mode is relay from now on. @fresh:
 * it is of another sender than the one before. */
static void begin_relay(const struct stream_packet *p, bool fresh)
{
	struct stream *s = p->stream;
	struct transcoder *c = stream_transcoder(s);

	s->renumbers = true;
	s->out.ssrc = c->ssrc_out;
	if (s->out.ahead >= 0)
		renumber_relay(p);
	else if (s->out.at)
		follow_transcoder(p, fresh);
	if (transcoder_receive_stage(c))
		endpoint_wait(s->cfg.in_endpoint, ENDPOINT_RECEIVE_STAGE,
			      CR_NEVER);
	/* release: who looks sees the transcoder at rest */
	atomic_store_explicit(&s->relays, true, memory_order_release);
}

/* The clock of the transcoder's input that it is for, Hz; 0: it is no speech.
 */
static uint32_t input_clock_of(const struct stream_packet *p)
{
	return p->type.what == FRAME_RING_SPEECH
		       ? pipeline_input_clock(
				 stream_transcoder(p->stream)->pipeline,
				 p->type.codec)
		       : 0;
}

/* Let what comes out of the codec go on behind what a relay has sent. */
static void follow_relay(const struct stream_packet *p, bool fresh)
{
	struct stream *s = p->stream;
	struct stream_out *out = &s->out;
	uint16_t seq = (uint16_t)(p->rtp.seq + s->seq_more);
	uint32_t clock = s->sent_clock;
	const struct step step = {
		.rtp_ticks = (int32_t)(p->rtp.ts + s->ts_more - out->ts),
		.clock = fresh || input_clock_of(p) != clock ? 0 : clock,
		.passed = p->in->arrival - out->at,
		.frame = transcoder_period(stream_transcoder(s)),
	};

	/* what was not sent to a listener on hold is no loss */
	out->seq = (uint16_t)(out->seq - 1 +
			      follow_number(seq, out->seq, fresh || out->held));
	/* all packets of an event that the relay has passed on have one
	 * timestamp (RFC 4733, 2.2) */
	out->ahead =
		!fresh && !step.rtp_ticks && p->type.what == FRAME_RING_EVENT
			? 0
			: (int64_t)length_of(&step, STREAM_AHEAD_CLOCK);
}

/* The packet is the transcoder's, which knows its type, and was accepted: the
 * mode is transcode from now on. The numbers of what is sent will follow those
 * of the relay, which has sent what waits in @out before. @fresh: it is of
 * another sender than the one before. False: it is late, and nothing has
 * changed. */
static bool end_relay(struct relay_burst *out, const struct stream_packet *p,
		      bool fresh)
{
	struct stream *s = p->stream;
	struct transcoder *c = stream_transcoder(s);

	if (!fresh && rtp_source_has_passed(&s->account->seen, p->rtp.seq))
		return false;
	relay_flush(out);
	if (s->out.at)
		follow_relay(p, fresh);
	else
		s->out.seq = (uint16_t)(c->seq_first - 1);
	s->out.ssrc = c->ssrc_out;
	c->restart = true;
	atomic_store_explicit(&s->relays, false, memory_order_release);
	return true;
}

/* --- mode relay: its packets --- */

/* As it goes on. */
static struct rtp_packet make_outgoing(const struct stream_packet *p)
{
	const struct stream *s = p->stream;
	struct rtp_packet to = p->rtp;

	to.pt = p->type.as;
	if (s->renumbers) {
		to.seq = (uint16_t)(to.seq + s->seq_more);
		to.ts += s->ts_more;
		to.ssrc = s->out.ssrc;
	}
	return to;
}

/* Has @seq come before @last, or is it that, and no new beginning? */
static bool is_late(uint16_t seq, uint16_t last)
{
	int16_t step = (int16_t)(seq - last);

	return step <= 0 && step > -GAP_MAX;
}

/* Note the last packet sent: @p, as it has left as @to. */
static void note_passed(const struct stream_packet *p,
			const struct rtp_packet *to)
{
	struct stream *s = p->stream;
	uint64_t ssrc = UINT64_C(1) << 32 | to->ssrc;
	bool same = atomic_load_explicit(&s->sent_ssrc, memory_order_relaxed) ==
		    ssrc;

	if (same && is_late(to->seq, s->out.seq))
		return;
	if (!same)
		atomic_store_explicit(&s->sent_ssrc, ssrc,
				      memory_order_relaxed);
	s->sent_clock = clock_of(p);
	s->out.at = p->in->arrival;
	s->out.ts = to->ts;
	s->out.seq = to->seq;
	state_put_sent(s->out.state,
		       &(struct state_sent){ .ssrc = to->ssrc,
					     .ts = to->ts,
					     .ts_more = s->ts_more,
					     .seq = to->seq,
					     .seq_more = s->seq_more,
					     .renumbers = s->renumbers,
					     .at = p->in->arrival });
}

/* Put @p into @out, as @to. */
static void put_outgoing(struct relay_burst *out, const struct stream_packet *p,
			 const struct rtp_packet *to)
{
	struct stream *s = p->stream;
	unsigned at = out->burst.count;
	uint8_t *packet;

	burst_put(&out->burst, s->out.fd, &s->out.to, 0, p->in->data,
		  p->in->bytes);
	/* the header is written into the packet that has come */
	packet = out->burst.packet[at].data;
	packet[1] = (uint8_t)((to->marker ? 0x80u : 0u) | to->pt);
	if (s->renumbers) {
		rtp_put16(packet + 2, to->seq);
		rtp_put32(packet + 4, to->ts);
		rtp_put32(packet + 8, to->ssrc);
	}
	out->unsent[at] = (struct relay_unsent){ s, to->payload_bytes };
	note_passed(p, to);
	if (burst_full(&out->burst))
		relay_flush(out);
}

/* Is the packet for a relay, if its endpoint accepts it? False: it is the
 * transcoder's. */
static bool relay_takes(struct stream_packet *p)
{
	struct stream *s = p->stream;
	/* acquire: what it needs is there */
	enum stream_mode wanted = stream_wanted(s);

	if (!atomic_load_explicit(&s->relays, memory_order_relaxed)) {
		p->begins = may_begin_relay(p);
		return p->begins;
	}
	if (__builtin_expect(wanted == STREAM_RELAY, 1))
		return true;
	/* what a worker sends, too, is one stream with what is passed on */
	if (wanted == STREAM_RELAY_SOME && !s->renumbers &&
	    stream_transcoder(s)) {
		s->renumbers = true;
		s->out.ssrc = stream_transcoder(s)->ssrc_out;
	}
	return p->type.as != PACKET_NOT_PASSED ||
	       p->type.codec == PACKET_NO_CODEC;
}

/* Pass the packet on, which was accepted and has a type; it may wait in @out
 * for others. @fresh: it is of another sender than the one before. */
static void pass_packet(struct relay_burst *out, struct endpoint *endpoint,
			const struct stream_packet *p, bool fresh)
{
	const bool agreed = packet_type_is_agreed(p->type);
	cr_ns now = p->in->arrival;
	struct stream *s = p->stream;
	struct rtp_packet to;

	if (p->begins)
		begin_relay(p, fresh);
	else if (fresh)
		renumber_relay(p);
	if (fresh)
		rtp_source_again(&s->account->seen);
	(void)rtp_source_update(&s->account->seen, p->rtp.seq);
	if (endpoint->rtcp) /* has its timestamp the clock that RTCP has? */
		endpoint_rtcp_rtp(
			endpoint, &p->rtp,
			agreed && p->type.clock == stream_main_clock(s), now);
	counter_add(&s->account->count.packets_in, 1);
	counter_add(&s->account->count.octets_in, p->rtp.payload_bytes);
	counter_add(&s->account->count.relayed, 1);
	if (!agreed)
		counter_add(&s->account->count.relayed_other, 1);
	if (stream_out_look(&s->out))
		resume_relay(p);
	if (!s->out.to.ss_family) {
		stream_out_refuse(&s->out, &s->account->count);
		return;
	}
	to = make_outgoing(p);
	if (s->out_endpoint->rtcp)
		endpoint_rtcp_passed_on(s->out_endpoint, &to, now);
	put_outgoing(out, p, &to);
}

void relay_flush(struct relay_burst *out)
{
	if (!out->burst.count)
		return;
	burst_send(&out->burst);
	for (unsigned i = 0; i < out->burst.count; i++) {
		struct stream_counters *count =
			&out->unsent[i].stream->account->count;

		if (out->burst.packet[i].failed) {
			counter_add(&count->send_failed, 1);
			continue;
		}
		counter_add(&count->packets_out, 1);
		counter_add(&count->octets_out, out->unsent[i].octets);
	}
	burst_clear(&out->burst);
}

/* --- packets --- */

/* Has the transcoder a use for it? */
static bool is_of_transcoder(struct packet_type t)
{
	return t.codec != PACKET_NO_CODEC || t.what != FRAME_RING_SPEECH;
}

/* May the packet become a frame of @c? */
static bool fits_frame(const struct transcoder *c,
		       const struct stream_packet *p)
{
	return is_of_transcoder(p->type) &&
	       p->rtp.payload_bytes <= c->slot_bytes;
}

/* Of a stream of this receiver: one thread has its "rx" part. */
static struct transcoder *take_frame_of(struct packet_path *path,
					struct transcoder *c,
					const struct stream_packet *p)
{
	struct receive_stage *f = transcoder_receive_stage(c);

	if (!fits_frame(c, p)) {
		counter_add(is_of_transcoder(p->type)
				    ? &c->stream->account->count.too_big
				    : &c->stream->account->count.wrong_pt,
			    1);
		return NULL;
	}
	c->trace = path->trace;
	if (__builtin_expect(f != NULL, 0))
		let_in(c, f, p);
	else if (is_packet_in_order(c, p->rtp.seq))
		push_packet(c, p);
	return released(c);
}

/* At the shared port: @c is that of its SSRC. */
static struct transcoder *take_shared(struct packet_path *path,
				      struct transcoder *c,
				      struct stream_packet *p)
{
	packet_fetch(c);
	stream_fetch(c->stream);
	if (!from_source(c, p->in->from)) {
		counter_add(&c->stream->account->count.wrong_source, 1);
		return NULL;
	}
	p->stream = c->stream;
	p->type = stream_type_of(p->stream, p->rtp.pt);
	return take_frame_of(path, c, p);
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
					const struct stream_packet *p,
					bool fresh)
{
	struct stream *s = p->stream;
	struct transcoder *c = stream_transcoder(s);

	if (__builtin_expect(stream_relays(s), 0) && fits_frame(c, p) &&
	    !end_relay(path->relays, p, fresh)) {
		(void)is_packet_in_order(c, p->rtp.seq); /* it counts */
		return NULL;
	}
	if (fresh) {
		rtp_source_again(&s->account->seen);
		c->restart = true;
	}
	return take_frame_of(path, c, p);
}

/* At the port of @endpoint: whoever that believes to be its party. */
static struct transcoder *take_at_endpoint(struct packet_path *path,
					   struct endpoint *endpoint,
					   struct stream_packet *p)
{
	struct stream *s = p->stream = endpoint_stream(endpoint);
	struct transcoder *c = NULL;
	struct learn_arrival arrival = {
		.from = p->in->from,
		.ssrc = p->rtp.ssrc,
		.seq = p->rtp.seq,
		.valid = true,
	};
	bool relayed = false, known = true, fresh;
	unsigned heard;

	if (s) {
		p->type = stream_type_of(s, p->rtp.pt);
		relayed = relay_takes(p);
		c = relayed ? NULL : stream_transcoder(s);
		known = relayed ? p->type.as != PACKET_NOT_PASSED
				: is_of_transcoder(p->type);
		arrival.valid =
			relayed ? packet_type_is_agreed(p->type) ||
					  p->type.what != FRAME_RING_SPEECH ||
					  p->rtp.pt == PACKET_NOISE_PT
				: known;
	}
	if (c)
		packet_fetch(c);
	heard = endpoint_receive(endpoint, &arrival, p->in->arrival);
	/* nobody listens: all counts as speech */
	if (endpoint->rtcp && !relayed && learn_accepts(heard))
		endpoint_rtcp_rtp(
			endpoint, &p->rtp,
			!s || (p->type.what == FRAME_RING_SPEECH && known),
			p->in->arrival);
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
	if (!endpoint_paces(endpoint, p->in->read)) {
		counter_add(&s->account->count.surplus, 1);
		return NULL;
	}
	if (!known)
		payload_unknown_count(&endpoint->unknown, p->rtp.pt);
	fresh = s->fresh;
	s->fresh = fresh && !(relayed ? known : fits_frame(c, p));
	if (!relayed)
		return take_accepted(path, p, fresh);
	if (known)
		pass_packet(path->relays, endpoint, p, fresh);
	else
		counter_add(&s->account->count.wrong_pt, 1);
	return NULL;
}

/* The one with @ssrc; one with a port of its own is not reachable through the
 * shared one. */
static struct transcoder *transcoder_of_packet(struct packet_path *path,
					       uint32_t ssrc)
{
	struct transcoder *c =
		stream_cache_find(&path->cache, path->table, ssrc);

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
	struct stream_packet p = { .in = in };
	struct transcoder *c;
	int err;

	counter_add(&path->count.packets, 1);
	if (in->bytes > PACKET_BYTES_MAX) {
		counter_add(&path->count.oversized, 1);
		return NULL;
	}
	err = rtp_parse(in->data, in->bytes, &p.rtp);
	if (err) {
		if (err == RTP_IS_RTCP)
			take_rtcp(path, endpoint, in, true);
		else
			counter_add(&path->count.malformed, 1);
		return NULL;
	}
	if (endpoint)
		return take_at_endpoint(path, endpoint, &p);
	c = transcoder_of_packet(path, p.rtp.ssrc);
	if (!c) {
		counter_add(&path->count.unknown_ssrc, 1);
		return NULL;
	}
	if (c->stream->cfg.receiver == path->receiver)
		return take_shared(path, c, &p);
	path->hand_over(path, c->stream->cfg.receiver, in);
	return NULL;
}

struct transcoder *packet_take_handed(struct packet_path *path,
				      const struct intake_packet *in)
{
	struct stream_packet p = { .in = in };
	struct transcoder *c = rtp_parse(in->data, in->bytes, &p.rtp)
				       ? NULL
				       : transcoder_of_packet(path, p.rtp.ssrc);

	if (c && c->stream->cfg.receiver == path->receiver)
		return take_shared(path, c, &p);
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
