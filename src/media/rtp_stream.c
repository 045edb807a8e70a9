/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream: its mode and the numbers of what is sent when that changes, what a
 * relay passes on, and packets that go on as they came.
 *
 * A transcoder is at rest when its ring is empty, its task sleeps, its packets
 * have left, no frames wait for more, and no digit for its end. Only frames of
 * its receiver give it work, so it stays so while that looks, and what workers
 * have written of it and of the stream can be read and written here.
 */
#include "media/rtp_stream.h"

#include <stdlib.h>
#include <string.h>

#include "media/transcoder.h"
#include "media/endpoint_rtcp.h"
#include "rtp/rtp.h"

/* --- changes of the mode --- */

/* As many packets may be missing before a sender counts as begun anew. */
#define GAP_MAX 100

/* A step of the sender's timestamps is believed so far beyond the time that has
 * passed: packets may have come late before. */
#define STEP_SLACK CR_SEC

/* The buffer comes first: the worker that emptied it has been awake since. */
static bool is_at_rest(const struct transcoder *c)
{
	const struct digits *digits = transcoder_digits(c);

	return !frame_ring_waiting(c->ring) &&
	       !atomic_load_explicit(&c->lt.active, memory_order_acquire) &&
	       transcoder_unposted(c) && !pipeline_holds(c->pipeline) &&
	       !(digits && digits_go_on(digits));
}

/* Can only the transcoder make something of it? */
static bool needs_transcoder(const struct relay_packet *t)
{
	struct transcoder *c = stream_transcoder(t->stream);
	uint8_t pt = t->rtp->pt;

	return c && t->types->type[pt] == RELAY_NO_TYPE &&
	       (transcoder_codec_of(c, pt) >= 0 ||
		(aux_what(transcoder_aux(c), pt) == FRAME_RING_EVENT &&
		 (atomic_load_explicit(&c->event_out, memory_order_acquire) &
		  127u)));
}

/* Of a codec that is relayed, behind all that came so far, and the transcoder
 * is at rest. */
static bool may_begin_relay(const struct relay_packet *t)
{
	const struct rtp_source *seen = &t->stream->account->seen;

	return t->types->clock[t->rtp->pt] &&
	       (!seen->started ||
		(int16_t)(t->rtp->seq - (uint16_t)seen->ext) > 0) &&
	       is_at_rest(stream_transcoder(t->stream));
}

/* --- numbers --- */

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

/* The packet goes out @seq_step numbers and @step behind what was sent. */
static void number_packet(const struct relay_packet *t, uint16_t seq_step,
			  const struct step *step)
{
	struct stream *s = t->stream;
	uint32_t clock = relay_clock(t->types, t->rtp->pt);
	uint32_t ts = s->out.ts + (uint32_t)length_of(step, clock);

	s->seq_more = (uint16_t)(s->out.seq + seq_step - t->rtp->seq);
	s->ts_more = ts - t->rtp->ts;
}

/* The sender is another one, whose first packet this is: what is passed on goes
 * on, if it is renumbered. */
static void renumber_relay(const struct relay_packet *t)
{
	const struct stream *s = t->stream;
	const struct step step = { .passed = t->in->arrival - s->out.at,
				   .frame = t->types->period };

	if (s->renumbers && s->out.at)
		number_packet(t, 1, &step);
}

/* The listener has been on hold, and @p is the first packet for it: its number
 * follows that of what was sent last. */
static void resume_relay(struct stream *s, const struct rtp_packet *p)
{
	uint32_t ssrc;

	if (!s->out.at)
		return;
	if (!s->renumbers) {
		/* another SSRC: a stream of its own */
		if (!stream_relays_as(s, &ssrc) || p->ssrc != ssrc)
			return;
		s->out.ssrc = ssrc;
		s->renumbers = true;
	}
	s->seq_more = (uint16_t)(s->out.seq + 1 - p->seq);
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
static void follow_transcoder(const struct relay_packet *t, bool fresh)
{
	const struct stream *s = t->stream;
	const struct rtp_packet *p = t->rtp;
	const struct transcoder *c = stream_transcoder(s);
	const cr_ns now = t->in->arrival;
	const struct pipeline_input in = { .ts = p->ts, .arrival = now };
	uint32_t place = c->ts_out + pipeline_time(c->pipeline, &in);
	const struct step step = {
		.rtp_ticks = (int32_t)(place - s->out.ts),
		.clock =
			fresh ? 0 : same_clock(c, relay_clock(t->types, p->pt)),
		.passed = now - s->out.at,
		.frame = transcoder_period(c),
	};

	number_packet(
		t, follow_number(p->seq, (uint16_t)s->account->seen.ext, fresh),
		&step);
}

/* The endpoint has accepted the packet: the mode is relay from now on. @fresh:
 * it is of another sender than the one before. */
static void begin_relay(const struct relay_packet *t, bool fresh)
{
	struct stream *s = t->stream;
	struct transcoder *c = stream_transcoder(s);

	s->renumbers = true;
	s->out.ssrc = c->ssrc_out;
	if (s->out.ahead >= 0)
		renumber_relay(t);
	else if (s->out.at)
		follow_transcoder(t, fresh);
	if (transcoder_receive_stage(c))
		endpoint_wait(s->cfg.in_endpoint, ENDPOINT_RECEIVE_STAGE,
			      CR_NEVER);
	/* release: who looks sees the transcoder at rest */
	atomic_store_explicit(&s->relays, true, memory_order_release);
}

/* Of the packets of a type that @c gets, Hz; 0: not of speech. */
static uint32_t clock_of_type(const struct transcoder *c, uint8_t pt)
{
	int codec = transcoder_codec_of(c, pt);

	if (codec < 0)
		return 0;
	return codec_use_clock(
		pipeline_input_side(c->pipeline, (unsigned)codec));
}

/* Of the event that the relay has passed on: all its packets have one timestamp
 * (RFC 4733, 2.2). */
static bool is_same_event(const struct transcoder *c,
			  const struct rtp_packet *p, const struct step *step)
{
	return !step->rtp_ticks &&
	       aux_what(transcoder_aux(c), p->pt) == FRAME_RING_EVENT;
}

/* Let what comes out of the codec go on behind what a relay has sent. */
static void follow_relay(const struct relay_packet *t, bool fresh)
{
	struct stream *s = t->stream;
	const struct rtp_packet *p = t->rtp;
	const struct transcoder *c = stream_transcoder(s);
	struct stream_out *out = &s->out;
	uint16_t seq = (uint16_t)(p->seq + s->seq_more);
	uint32_t clock = relay_clock(t->types, s->sent_pt);
	const struct step step = {
		.rtp_ticks = (int32_t)(p->ts + s->ts_more - out->ts),
		.clock = fresh || clock_of_type(c, p->pt) != clock ? 0 : clock,
		.passed = t->in->arrival - out->at,
		.frame = transcoder_period(c),
	};

	/* what was not sent to a listener on hold is no loss */
	out->seq = (uint16_t)(out->seq - 1 +
			      follow_number(seq, out->seq, fresh || out->held));
	out->ahead = !fresh && is_same_event(c, p, &step)
			     ? 0
			     : (int64_t)length_of(&step, STREAM_AHEAD_CLOCK);
}

bool relay_end(struct relay_burst *out, const struct relay_packet *t,
	       bool fresh)
{
	struct stream *s = t->stream;
	struct transcoder *c = stream_transcoder(s);

	if (!fresh && rtp_source_has_passed(&s->account->seen, t->rtp->seq))
		return false;
	relay_flush(out);
	if (s->out.at)
		follow_relay(t, fresh);
	else
		s->out.seq = (uint16_t)(c->seq_first - 1);
	s->out.ssrc = c->ssrc_out;
	c->restart = true;
	atomic_store_explicit(&s->relays, false, memory_order_release);
	return true;
}

/* --- control --- */

/* Map the @n types @in of one side to @out of the other one. A type that only
 * one side has named is not agreed. 0: none. */
static void map_named(uint8_t type[128], const uint8_t *in, unsigned n,
		      uint8_t out)
{
	if (out && !in[0])
		type[out] = RELAY_NO_TYPE;
	for (unsigned i = 0; i < n; i++)
		if (in[i])
			type[in[i]] = in[0] && out ? out : RELAY_NO_TYPE;
}

/* If both sides use one number for the codec, they have agreed on one
 * numbering, by which all else goes, too, but for events and noise that only
 * one of them takes. Those that both have named go in any case. */
static void map_types(struct relay_types *t, const struct stream_cfg *cfg)
{
	const struct aux_types *b = &t->aux;
	const uint8_t noise[] = { b->noise, b->former_noise };
	bool alike = cfg->media.in.pt == cfg->media.out.pt;

	for (unsigned i = 0; i < 128; i++)
		t->type[i] = alike ? (uint8_t)i : RELAY_NO_TYPE;
	map_named(t->type, noise, 2, cfg->media.pt_noise);
	if (t->type[RELAY_NOISE_PT] == RELAY_NO_TYPE)
		t->type[RELAY_NOISE_PT] = RELAY_NOISE_PT;
	map_named(t->type, b->event, TELEPHONE_EVENT_TYPES, cfg->event_out.pt);
	t->type[cfg->media.in.pt] = cfg->media.out.pt;
	t->clock[cfg->media.in.pt] = codec_use_clock(&cfg->media.in);
}

/* Those that both have agreed on, and no others. */
static void map_passed(struct relay_types *t, const struct stream_cfg *cfg)
{
	const struct passed_types *p = &cfg->codecs->passed;
	const struct aux_types *b = &t->aux;

	memset(t->type, RELAY_NO_TYPE, sizeof(t->type));
	for (unsigned i = 0; i < p->n; i++) {
		t->type[p->one[i].pt & 127u] = p->one[i].as;
		t->clock[p->one[i].pt & 127u] = p->one[i].clock;
	}
	if (b->noise && b->former_noise)
		t->type[b->former_noise] = t->type[b->noise];
	for (unsigned i = 1; i < TELEPHONE_EVENT_TYPES; i++)
		for (unsigned k = 0; k < i && b->event[i]; k++)
			if (b->khz[k] == b->khz[i] &&
			    t->type[b->event[i]] == RELAY_NO_TYPE)
				t->type[b->event[i]] = t->type[b->event[k]];
}

struct relay_types *relay_types_new(const struct stream_cfg *cfg,
				    struct aux_types aux)
{
	struct relay_types *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->in = cfg->media.in.pt;
	t->period = cfg->release.period;
	t->aux = aux;
	if (cfg->codecs && cfg->codecs->passed.n)
		map_passed(t, cfg);
	else
		map_types(t, cfg);
	return t;
}

void relay_types_keep(struct relay_types *t, const struct relay_types *former)
{
	for (uint8_t pt = 0; pt < 128; pt++)
		if (former->clock[pt] && t->type[pt] == RELAY_NO_TYPE &&
		    aux_what(t->aux, pt) == FRAME_RING_SPEECH &&
		    !memchr(t->type, former->type[pt], sizeof(t->type)))
			t->type[pt] = former->type[pt];
}

void relay_types_leave(struct relay_types *t,
		       const struct transcoder_types *others)
{
	for (uint8_t pt = 0; pt < 128; pt++)
		if (!t->clock[pt] &&
		    aux_what(t->aux, pt) == FRAME_RING_SPEECH &&
		    payload_type_kind(payload_types_find(&others->table, pt)) ==
			    PAYLOAD_TYPE_SPEECH)
			t->type[pt] = RELAY_NO_TYPE;
}

bool relay_needs_transcoder(const struct stream_cfg *cfg)
{
	const struct stream_codecs *c = cfg->codecs;
	const struct telephone_event_types *t = &cfg->receive_stage.events;
	bool needs = false;

	if (!c || !c->passed.n)
		return false;
	for (unsigned i = 0; i < c->n && !needs; i++)
		needs = !passed_has(&c->passed, c->one[i].pt);
	for (unsigned i = 0; i < t->n && cfg->event_out.pt && !needs; i++)
		needs = !passed_has(&c->passed, t->one[i].pt);
	return needs;
}

struct stream *stream_new(const struct stream_cfg *cfg,
			  struct relay_types *types)
{
	const struct endpoint *from =
		cfg->out_endpoint ? cfg->out_endpoint : cfg->in_endpoint;
	struct stream *s = aligned_alloc(CACHE_LINE, sizeof(*s));

	if (!s)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->cfg = *cfg;
	s->account = &s->own_account;
	s->out_endpoint = cfg->out_endpoint;
	s->out.fd = from ? from->cfg.fd : -1;
	s->out.destination = cfg->out_endpoint ? &cfg->out_endpoint->to : NULL;
	s->out.ahead = -1;
	atomic_init(&s->types, types);
	atomic_init(&s->wanted, types ? STREAM_RELAY : STREAM_TRANSCODE);
	atomic_init(&s->relays, types != NULL);
	return s;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	transcoder_free(stream_transcoder(s));
	free(atomic_load_explicit(&s->types, memory_order_acquire));
	free(s);
}

void stream_set_cfg(struct stream *s, const struct stream_cfg *to)
{
	struct stream_cfg *cfg = &s->cfg;

	cfg->terms = to->terms;
	cfg->declared = to->declared;
	stream_cfg_speak(cfg, to);
}

void stream_set_transcoder(struct stream *s, struct transcoder *c)
{
	if (!stream_relays(s)) { /* it begins with that */
		s->out.ssrc = c->ssrc_out;
		s->out.seq = (uint16_t)(c->seq_first - 1);
		if (!s->out_endpoint)
			s->out.destination = &c->own_destination;
	}
	/* release: the receiver finds it complete */
	atomic_store_explicit(&s->transcoder, c, memory_order_release);
}

void stream_resume(struct stream *s, const struct state_sent *was)
{
	struct transcoder *c = stream_transcoder(s);
	struct stream_out *out = &s->out;

	out->seq = was->seq;
	out->ts = was->ts;
	out->at = was->at;
	if (stream_relays(s)) {
		out->ssrc = was->ssrc;
		s->renumbers = was->renumbers;
		s->seq_more = was->seq_more;
		s->ts_more = was->ts_more;
		atomic_store_explicit(&s->sent_ssrc,
				      UINT64_C(1) << 32 | was->ssrc,
				      memory_order_relaxed);
		return;
	}
	out->ahead = 0;
	out->resumes = true;
	out->resumes_ts = was->in_ts;
	if (!c->buffers) /* what was lost meanwhile shows in the numbers */
		c->gaps = (struct gaps){ .known = true,
					 .seq = was->in_seq,
					 .ts = was->in_ts };
}

static void free_relay_types(struct rcu_later *head)
{
	rcu_deferred();
	free(caa_container_of(head, struct relay_types, rcu));
}

void stream_set_types(struct stream *s, struct relay_types *types)
{
	struct relay_types *old = atomic_exchange_explicit(
		&s->types, types, memory_order_acq_rel);

	if (old)
		rcu_defer(&old->rcu, free_relay_types);
}

void stream_want(struct stream *s, enum stream_mode mode)
{
	/* release, pairs with relay_takes() */
	atomic_store_explicit(&s->wanted, mode, memory_order_release);
}

bool stream_relays_as(const struct stream *s, uint32_t *ssrc)
{
	uint64_t sent =
		atomic_load_explicit(&s->sent_ssrc, memory_order_relaxed);

	if (sent)
		*ssrc = (uint32_t)sent;
	return sent;
}

size_t stream_bytes(const struct stream *s)
{
	const struct transcoder *c = stream_transcoder(s);

	return sizeof(*s) + (c ? transcoder_bytes(c) : 0);
}

/* --- the receiver --- */

/* As it goes on. */
static struct rtp_packet make_outgoing(const struct relay_packet *t)
{
	const struct stream *s = t->stream;
	struct rtp_packet to = *t->rtp;

	to.pt = t->types->type[to.pt];
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

/* Note the last packet sent: @p, which has come as type @pt. */
static void note_sent(struct stream *s, const struct rtp_packet *p, uint8_t pt,
		      cr_ns now)
{
	uint64_t ssrc = UINT64_C(1) << 32 | p->ssrc;
	bool same = atomic_load_explicit(&s->sent_ssrc, memory_order_relaxed) ==
		    ssrc;

	if (same && is_late(p->seq, s->out.seq))
		return;
	if (!same)
		atomic_store_explicit(&s->sent_ssrc, ssrc,
				      memory_order_relaxed);
	s->sent_pt = pt;
	s->out.at = now;
	s->out.ts = p->ts;
	s->out.seq = p->seq;
	state_put_sent(s->out.state,
		       &(struct state_sent){ .ssrc = p->ssrc,
					     .ts = p->ts,
					     .ts_more = s->ts_more,
					     .seq = p->seq,
					     .seq_more = s->seq_more,
					     .renumbers = s->renumbers,
					     .at = now });
}

/* @p is the packet of @t as it is to be. */
static void put_outgoing(struct relay_burst *out, const struct relay_packet *t,
			 const struct rtp_packet *p)
{
	const struct intake_packet *in = t->in;
	struct stream *s = t->stream;
	unsigned at = out->burst.count;
	uint8_t *packet;

	burst_put(&out->burst, s->out.fd, &s->out.to, 0, in->data, in->bytes);
	/* the header is written into the packet that has come */
	packet = out->burst.packet[at].data;
	packet[1] = (uint8_t)((p->marker ? 0x80u : 0u) | p->pt);
	if (s->renumbers) {
		rtp_put16(packet + 2, p->seq);
		rtp_put32(packet + 4, p->ts);
		rtp_put32(packet + 8, p->ssrc);
	}
	out->unsent[at] = (struct relay_unsent){ s, p->payload_bytes };
	note_sent(s, p, t->rtp->pt, in->arrival);
	if (burst_full(&out->burst))
		relay_flush(out);
}

bool relay_takes(struct stream *s, struct relay_packet *t)
{
	/* acquire: what it needs is there */
	enum stream_mode wanted = stream_wanted(s);

	t->stream = s;
	t->types = stream_types(s);
	t->begins = false;
	if (!atomic_load_explicit(&s->relays, memory_order_relaxed)) {
		t->begins = wanted != STREAM_TRANSCODE && may_begin_relay(t);
		return t->begins;
	}
	if (__builtin_expect(wanted == STREAM_RELAY, 1))
		return true;
	if (wanted == STREAM_TRANSCODE)
		return false;
	/* what a worker sends, too, is one stream with what is passed on */
	if (!s->renumbers && stream_transcoder(s)) {
		s->renumbers = true;
		s->out.ssrc = stream_transcoder(s)->ssrc_out;
	}
	return !needs_transcoder(t);
}

void relay_pass(struct relay_burst *out, struct endpoint *endpoint,
		const struct relay_packet *t, bool fresh)
{
	const uint32_t *clock = t->types->clock;
	const struct rtp_packet *p = t->rtp;
	cr_ns now = t->in->arrival;
	struct stream *s = t->stream;
	struct rtp_packet to;

	if (t->begins)
		begin_relay(t, fresh);
	else if (fresh)
		renumber_relay(t);
	if (fresh)
		rtp_source_again(&s->account->seen);
	(void)rtp_source_update(&s->account->seen, p->seq);
	if (endpoint->rtcp) /* has its timestamp the clock that RTCP has? */
		endpoint_rtcp_rtp(endpoint, p,
				  clock[p->pt] &&
					  clock[p->pt] == clock[t->types->in],
				  now);
	counter_add(&s->account->count.packets_in, 1);
	counter_add(&s->account->count.octets_in, p->payload_bytes);
	counter_add(&s->account->count.relayed, 1);
	if (!clock[p->pt])
		counter_add(&s->account->count.relayed_other, 1);
	if (stream_out_look(&s->out))
		resume_relay(s, p);
	if (!s->out.to.ss_family) {
		stream_out_refuse(&s->out, &s->account->count);
		return;
	}
	to = make_outgoing(t);
	if (s->out_endpoint->rtcp)
		endpoint_rtcp_passed_on(s->out_endpoint, &to, now);
	put_outgoing(out, t, &to);
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
