/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that go on as they came, and who has the packet that has come, the
 * relay or the call that it stands for.
 *
 * A call is at rest when its ring is empty, its task sleeps, its packets have
 * left, no frames wait for more, and no digit for its end. Only frames of its
 * receiver give it work, so it stays so while that looks, and what workers have
 * written of it can be read and written here.
 */
#include "media/relay.h"

#include <stdlib.h>
#include <string.h>

#include "media/endpoint_rtcp.h"
#include "rtp/rtp.h"

/* --- handover --- */

/* A step of the sender's timestamps is believed so far beyond the time that has
 * passed: packets may have come late before. */
#define STEP_SLACK CR_SEC

static struct call *call_behind(const struct relay *r)
{
	return atomic_load_explicit(&r->call, memory_order_acquire);
}

/* --- whose it is --- */

/* The ring comes first: who has emptied it has been awake since. */
static bool is_at_rest(struct call *c)
{
	const struct digits *digits = call_digits(c);

	return !frame_ring_waiting(c->ring) &&
	       !atomic_load_explicit(&c->lt.active, memory_order_acquire) &&
	       call_unposted(c) && !pipeline_holds(c->pipeline) &&
	       !(digits && digits_go_on(digits));
}

/* Behind all that came so far? */
static bool is_newest(const struct call *c, uint16_t seq)
{
	return !c->seen.started || (int16_t)(seq - (uint16_t)c->seen.ext) > 0;
}

/* Can only the call make something of it? */
static bool needs_call(struct relay *r, const struct rtp_packet *p)
{
	struct call *c = call_behind(r);

	return c && relay_types(r)->type[p->pt] == RELAY_NO_TYPE &&
	       (call_codec_of(c, p->pt) >= 0 ||
		(aux_what(call_aux(c), p->pt) == FRAME_RING_EVENT &&
		 (atomic_load_explicit(&c->event_out, memory_order_acquire) &
		  127u)));
}

/* What the relay knows of the sequence is the call's then. */
static bool may_begin_relay(struct relay *r, const struct rtp_packet *p)
{
	struct call *c = call_behind(r);

	if (!relay_types(r)->clock[p->pt] || !is_newest(c, p->seq) ||
	    !is_at_rest(c))
		return false;
	r->seen = c->seen;
	return true;
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

	return !fresh && step > 0 && step <= RELAY_HANDOVER_GAP ? (uint16_t)step
								: 1;
}

/* @p goes out @seq_step numbers and @step behind what was sent. */
static void number_packet(struct relay *r, const struct rtp_packet *p,
			  uint16_t seq_step, const struct step *step)
{
	uint32_t clock = relay_clock(relay_types(r), p->pt);
	uint32_t ts = r->out.ts + (uint32_t)length_of(step, clock);

	r->seq_more = (uint16_t)(r->out.seq + seq_step - p->seq);
	r->ts_more = ts - p->ts;
}

/* The sender is another one, whose first packet is @p: what is passed on goes
 * on, if it is renumbered. */
static void relay_handover_renumber(struct relay *r, const struct rtp_packet *p,
				    cr_ns now)
{
	const struct step step = { .passed = now - r->out.at,
				   .frame = relay_types(r)->period };

	if (r->renumbers && r->out.at)
		number_packet(r, p, 1, &step);
}

/* The listener has been on hold, and @p is the first packet for it: its number
 * follows that of what was sent last. */
static void relay_handover_resume(struct relay *r, const struct rtp_packet *p)
{
	uint32_t ssrc;

	if (!r->out.at || !relay_sends_as(r, &ssrc))
		return;
	if (!r->renumbers && p->ssrc != ssrc) /* a stream of its own */
		return;
	if (!r->renumbers)
		r->out.ssrc = ssrc;
	r->renumbers = true;
	r->seq_more = (uint16_t)(r->out.seq + 1 - p->seq);
}

/* The clock that both sides of @c have had, if that is @clock; else 0: its
 * timestamps say nothing of the next packet's. */
static uint32_t same_clock(const struct call *c, uint32_t clock)
{
	return pipeline_input_clock(c->pipeline, c->codec) == clock &&
			       pipeline_output_clock(c->pipeline) == clock
		       ? clock
		       : 0;
}

/* Where the speech of @p would be, if the call had it. */
static uint32_t place_of_packet(const struct call *c,
				const struct rtp_packet *p, cr_ns now)
{
	const struct pipeline_input in = { .ts = p->ts, .arrival = now };

	return c->ts_out + pipeline_time(c->pipeline, &in);
}

/* The call has sent since the relay did: what follows, follows that. */
static void follow_call(struct relay *r, const struct rtp_packet *p, bool fresh,
			cr_ns now)
{
	const struct call *c = call_behind(r);
	const struct step step = {
		.rtp_ticks = (int32_t)(place_of_packet(c, p, now) - c->out.ts),
		.clock = fresh ? 0
			       : same_clock(c,
					    relay_clock(relay_types(r), p->pt)),
		.passed = now - c->out.at,
		.frame = call_period(c),
	};

	r->out.at = c->out.at;
	r->out.ts = c->out.ts;
	r->out.seq = c->out.seq;
	number_packet(r, p, follow_number(p->seq, (uint16_t)c->seen.ext, fresh),
		      &step);
}

/* The endpoint has accepted @p, which came at @now, and the relay has it.
 * @fresh: of another sender than the one before. */
static void relay_handover_begin(struct relay *r, const struct rtp_packet *p,
				 bool fresh, cr_ns now)
{
	struct call *c = call_behind(r);

	if (!c->after) {
		r->renumbers = true;
		r->out.ssrc = c->out.ssrc;
	}
	if (c->out.at)
		follow_call(r, p, fresh, now);
	else if (!c->after || fresh)
		relay_handover_renumber(r, p, now);
	c->after = NULL;
	if (call_receive_stage(c))
		endpoint_wait(c->cfg.in_endpoint, ENDPOINT_RECEIVE_STAGE,
			      CR_NEVER);
	/* release: who looks sees the call at rest */
	atomic_store_explicit(&r->on, true, memory_order_release);
}

/* The call has the packets from now on; what the relay has sent has left. */
static void relay_handover_end(struct relay *r)
{
	struct call *c = call_behind(r);

	c->seen = r->seen;
	c->out.at = 0;
	c->restart = true;
	c->after = r;
	atomic_store_explicit(&r->on, false, memory_order_release);
}

/* Of the packets of a type that @c gets, Hz; 0: not of speech. */
static uint32_t clock_of_type(struct call *c, uint8_t pt)
{
	int codec = call_codec_of(c, pt);

	if (codec < 0)
		return 0;
	return pipeline_side_clock(
		pipeline_input_side(c->pipeline, (unsigned)codec));
}

/* Of the event that the relay has passed on: all its packets have one timestamp
 * (RFC 4733, 2.2). */
static bool is_same_event(const struct call *c, const struct rtp_packet *p,
			  const struct step *step)
{
	return !step->rtp_ticks &&
	       aux_what(call_aux(c), p->pt) == FRAME_RING_EVENT;
}

void relay_handover_join(struct call *c, const struct rtp_packet *p, bool fresh,
			 cr_ns now)
{
	const struct relay *r = c->after;
	uint16_t seq = (uint16_t)(p->seq + r->seq_more);
	uint32_t clock = relay_clock(relay_types(r), r->sent_pt);
	const struct step step = {
		.rtp_ticks = (int32_t)(p->ts + r->ts_more - r->out.ts),
		.clock = fresh || clock_of_type(c, p->pt) != clock ? 0 : clock,
		.passed = now - r->out.at,
		.frame = call_period(c),
	};

	/* else it does not get in, and the next one is asked */
	if (!fresh && rtp_source_has_passed(&c->seen, p->seq))
		return;
	c->after = NULL;
	if (!r->out.at)
		return;
	/* what was not sent to a listener on hold is no loss */
	c->out.seq = (uint16_t)(r->out.seq - 1 +
				follow_number(seq, r->out.seq,
					      fresh || r->out.held));
	c->out.ts = r->out.ts;
	c->resume_ahead = !fresh && is_same_event(c, p, &step)
				  ? 0
				  : length_of(&step, CALL_RESUME_CLOCK);
	c->resumes = true;
}

/* --- control --- */

/* What one side means by the @n types @in is @out to the other one, and what
 * only one side has named is not agreed. 0: none. */
static void map_named(uint8_t type[128], const uint8_t *in, unsigned n,
		      uint8_t out)
{
	if (out && !in[0])
		type[out] = RELAY_NO_TYPE;
	for (unsigned i = 0; i < n; i++)
		if (in[i])
			type[in[i]] = in[0] && out ? out : RELAY_NO_TYPE;
}

/* Where both sides use one number for the codec, they have agreed on one
 * numbering, by which all else goes, too, but for events and noise that only
 * one of them takes. Those that both have named go in any case. */
static void map_types(struct relay_types *t, const struct call_cfg *cfg)
{
	const struct aux_types *b = &t->aux;
	const uint8_t noise[] = { b->noise, b->former_noise };
	bool alike = cfg->pt_in == cfg->pt_out;

	for (unsigned i = 0; i < 128; i++)
		t->type[i] = alike ? (uint8_t)i : RELAY_NO_TYPE;
	map_named(t->type, noise, 2, cfg->pt_noise_out);
	if (t->type[RELAY_NOISE_PT] == RELAY_NO_TYPE)
		t->type[RELAY_NOISE_PT] = RELAY_NOISE_PT;
	map_named(t->type, b->event, TELEPHONE_EVENT_TYPES, cfg->pt_event_out);
	t->type[cfg->pt_in] = cfg->pt_out;
	t->clock[cfg->pt_in] = pipeline_side_clock(&cfg->media.in);
}

/* Those that both have agreed on, and no others. */
static void map_passed(struct relay_types *t, const struct call_cfg *cfg)
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

struct relay_types *relay_types_new(const struct call_cfg *cfg,
				    struct aux_types aux)
{
	struct relay_types *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->in = cfg->pt_in;
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

void relay_types_leave(struct relay_types *t, const struct call_types *others)
{
	for (uint8_t pt = 0; pt < 128; pt++)
		if (!t->clock[pt] &&
		    aux_what(t->aux, pt) == FRAME_RING_SPEECH &&
		    payload_type_kind(payload_types_find(&others->table, pt)) ==
			    PAYLOAD_TYPE_SPEECH)
			t->type[pt] = RELAY_NO_TYPE;
}

bool relay_needs_call(const struct call_cfg *cfg)
{
	const struct call_codecs *c = cfg->codecs;
	const struct telephone_event_types *t = &cfg->receive_stage.events;
	bool needs = false;

	if (!c || !c->passed.n)
		return false;
	for (unsigned i = 0; i < c->n && !needs; i++)
		needs = !passed_has(&c->passed, c->one[i].pt);
	for (unsigned i = 0; i < t->n && cfg->pt_event_out && !needs; i++)
		needs = !passed_has(&c->passed, t->one[i].pt);
	return needs;
}

static void set_relay_cfg(struct relay *r, const struct call_cfg *cfg)
{
	r->cfg = *cfg;
	r->cfg.codecs = NULL; /* they were lent */
}

struct relay *relay_new(const struct call_cfg *cfg, struct relay_types *types)
{
	struct relay *r = aligned_alloc(CACHE_LINE, sizeof(*r));

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	set_relay_cfg(r, cfg);
	r->out_endpoint = cfg->out_endpoint;
	r->out.fd = cfg->out_endpoint->cfg.fd;
	r->out.destination = &cfg->out_endpoint->to;
	atomic_init(&r->types, types);
	atomic_init(&r->share, RELAY_ALL);
	atomic_init(&r->on, true);
	return r;
}

struct relay *relay_new_for(struct call *call, const struct call_cfg *cfg,
			    struct relay_types *types)
{
	struct relay *r = relay_new(cfg, types);

	if (!r)
		return NULL;
	atomic_init(&r->call, call);
	atomic_init(&r->share, RELAY_NONE);
	atomic_init(&r->on, false);
	return r;
}

void relay_free(struct relay *r)
{
	if (!r)
		return;
	free(atomic_load_explicit(&r->types, memory_order_acquire));
	free(r);
}

void relay_stand_for(struct relay *r, struct call *call)
{
	atomic_store_explicit(&r->call, call, memory_order_release);
}

static void free_relay_types(struct rcu_later *head)
{
	rcu_deferred();
	free(caa_container_of(head, struct relay_types, rcu));
}

void relay_change(struct relay *r, const struct call_cfg *cfg,
		  struct relay_types *types)
{
	struct relay_types *old = atomic_exchange_explicit(
		&r->types, types, memory_order_acq_rel);

	set_relay_cfg(r, cfg);
	rcu_defer(&old->rcu, free_relay_types);
}

void relay_want(struct relay *r, enum relay_share share)
{
	/* release, pairs with relay_takes() */
	atomic_store_explicit(&r->share, share, memory_order_release);
}

bool relay_sends_as(const struct relay *r, uint32_t *ssrc)
{
	uint64_t sent =
		atomic_load_explicit(&r->sent_ssrc, memory_order_relaxed);

	if (sent)
		*ssrc = (uint32_t)sent;
	return sent;
}

/* --- the receiver --- */

/* As it goes on. */
static struct rtp_packet make_outgoing(const struct relay_packet *t)
{
	const struct relay *r = t->relay;
	struct rtp_packet to = *t->rtp;

	to.pt = t->types->type[to.pt];
	if (r->renumbers) {
		to.seq = (uint16_t)(to.seq + r->seq_more);
		to.ts += r->ts_more;
		to.ssrc = r->out.ssrc;
	}
	return to;
}

/* What a call would go on from: @p, which has come as type @pt. */
static void note_sent(struct relay *r, const struct rtp_packet *p, uint8_t pt,
		      cr_ns now)
{
	uint64_t ssrc = UINT64_C(1) << 32 | p->ssrc;
	bool same = atomic_load_explicit(&r->sent_ssrc, memory_order_relaxed) ==
		    ssrc;

	if (same && relay_handover_is_late(p->seq, r->out.seq))
		return;
	if (!same)
		atomic_store_explicit(&r->sent_ssrc, ssrc,
				      memory_order_relaxed);
	r->sent_pt = pt;
	r->out.at = now;
	r->out.ts = p->ts;
	r->out.seq = p->seq;
}

/* @p is the packet of @t as it is to be. */
static void put_outgoing(struct relay_burst *out, const struct relay_packet *t,
			 const struct rtp_packet *p)
{
	const struct intake_packet *in = t->in;
	struct relay *r = t->relay;
	unsigned at = out->burst.count;
	uint8_t *packet;

	burst_put(&out->burst, r->out.fd, &r->out.to, 0, in->data, in->bytes);
	/* the header is written into the packet that has come */
	packet = out->burst.packet[at].data;
	packet[1] = (uint8_t)((p->marker ? 0x80u : 0u) | p->pt);
	if (r->renumbers) {
		rtp_put16(packet + 2, p->seq);
		rtp_put32(packet + 4, p->ts);
		rtp_put32(packet + 8, p->ssrc);
	}
	out->unsent[at] = (struct relay_unsent){ r, p->payload_bytes };
	note_sent(r, p, t->rtp->pt, in->arrival);
	if (burst_full(&out->burst))
		relay_flush(out);
}

bool relay_takes(struct relay_burst *out, struct endpoint *endpoint,
		 struct relay_packet *t)
{
	struct relay *r = endpoint_relayer(endpoint);
	unsigned share;

	t->begins = false;
	if (!r)
		return false;
	/* acquire: the call is complete, and listens */
	share = atomic_load_explicit(&r->share, memory_order_acquire);
	t->relay = r;
	t->types = relay_types(r);
	if (!atomic_load_explicit(&r->on, memory_order_relaxed)) {
		t->begins = share != RELAY_NONE && may_begin_relay(r, t->rtp);
		return t->begins;
	}
	if (__builtin_expect(share == RELAY_ALL, 1))
		return true;
	/* what the call sends, too, is one stream with what is passed on */
	if (share == RELAY_SOME && !r->renumbers && call_behind(r)) {
		r->renumbers = true;
		r->out.ssrc = call_behind(r)->out.ssrc;
	}
	if (share == RELAY_SOME && !needs_call(r, t->rtp))
		return true;
	relay_flush(out); /* what the call sends comes behind */
	relay_handover_end(r);
	return false;
}

void relay_pass(struct relay_burst *out, struct endpoint *endpoint,
		const struct relay_packet *t, bool fresh)
{
	const uint32_t *clock = t->types->clock;
	const struct rtp_packet *p = t->rtp;
	cr_ns now = t->in->arrival;
	struct relay *r = t->relay;
	struct rtp_packet to;

	if (fresh)
		rtp_source_again(&r->seen);
	(void)rtp_source_update(&r->seen, p->seq);
	if (t->begins)
		relay_handover_begin(r, p, fresh, now);
	else if (fresh)
		relay_handover_renumber(r, p, now);
	if (endpoint->rtcp) /* has its timestamp the clock that RTCP has? */
		endpoint_rtcp_rtp(endpoint, p,
				  clock[p->pt] &&
					  clock[p->pt] == clock[t->types->in],
				  now);
	call_count(&r->count.packets_in, 1);
	call_count(&r->count.octets_in, p->payload_bytes);
	call_count(&r->count.relayed, 1);
	if (!clock[p->pt])
		call_count(&r->count.relayed_other, 1);
	if (stream_out_look(&r->out))
		relay_handover_resume(r, p);
	if (!r->out.to.ss_family) {
		stream_out_refuse(&r->out, &r->count);
		return;
	}
	to = make_outgoing(t);
	if (r->out_endpoint->rtcp)
		endpoint_rtcp_passed_on(r->out_endpoint, &to, now);
	put_outgoing(out, t, &to);
}

void relay_flush(struct relay_burst *out)
{
	if (!out->burst.count)
		return;
	burst_send(&out->burst);
	for (unsigned i = 0; i < out->burst.count; i++) {
		struct call_counters *count = &out->unsent[i].relay->count;

		if (out->burst.packet[i].failed) {
			call_count(&count->send_failed, 1);
			continue;
		}
		call_count(&count->packets_out, 1);
		call_count(&count->octets_out, out->unsent[i].octets);
	}
	burst_clear(&out->burst);
}
