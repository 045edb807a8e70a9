/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that go on as they came.
 */
#include "media/relay.h"

#include <stdlib.h>
#include <string.h>

#include "media/endpoint_rtcp.h"
#include "media/relay_handover.h"
#include "rtp/rtp.h"

/* Comfort noise has a type of its own (RFC 3551, table 4). */
#define NOISE_PT 13u

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
	if (t->type[NOISE_PT] == RELAY_NO_TYPE)
		t->type[NOISE_PT] = NOISE_PT;
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

/* Does the other party know something else by number @out? */
static bool is_taken(const struct relay_types *t, uint8_t out)
{
	return memchr(t->type, out, sizeof(t->type)) != NULL;
}

void relay_types_keep(struct relay_types *t, const struct relay_types *former)
{
	for (uint8_t pt = 0; pt < 128; pt++)
		if (former->clock[pt] && t->type[pt] == RELAY_NO_TYPE &&
		    aux_what(t->aux, pt) == FRAME_RING_SPEECH &&
		    !is_taken(t, former->type[pt]))
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

struct relay *relay_new(const struct call_cfg *cfg, struct relay_types *types)
{
	struct relay *r = aligned_alloc(CACHE_LINE, sizeof(*r));

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->cfg = *cfg;
	r->cfg.codecs = NULL; /* they were lent */
	r->out_endpoint = cfg->out_endpoint;
	r->fd = cfg->out_endpoint->cfg.fd;
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

static void free_types(struct rcu_later *head)
{
	rcu_deferred();
	free(caa_container_of(head, struct relay_types, rcu));
}

void relay_set_types(struct relay *r, struct relay_types *types)
{
	struct relay_types *old = atomic_exchange_explicit(
		&r->types, types, memory_order_acq_rel);

	rcu_defer(&old->rcu, free_types);
}

void relay_want(struct relay *r, enum relay_share share)
{
	/* release, pairs with relay_handover_of() */
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

/* Of what the party has said that it sends. */
static bool is_agreed(const struct relay_types *t, uint8_t pt)
{
	return t->clock[pt] || pt == NOISE_PT ||
	       aux_what(t->aux, pt) != FRAME_RING_SPEECH;
}

/* A packet on its way. */
struct passing {
	struct relay *relay;
	const struct relay_types *types; /* control may have others by now */
	const struct intake_packet *in;
	const struct rtp_packet *rtp;
};

/* Whether the party may be heard, and says what can be passed on; *@fresh: it
 * is another sender than before. */
static bool accepts(const struct passing *t, struct endpoint *endpoint,
		    bool *fresh)
{
	struct relay *r = t->relay;
	const struct rtp_packet *p = t->rtp;
	const struct learn_arrival arrival = {
		.from = t->in->from,
		.ssrc = p->ssrc,
		.seq = p->seq,
		.valid = is_agreed(t->types, p->pt),
	};
	unsigned heard = endpoint_hear(endpoint, &arrival, t->in->arrival);

	if (!learn_accepts(heard)) {
		call_count_refused(&r->count, heard, arrival.valid);
		return false;
	}
	if (!endpoint_paces(endpoint, t->in->arrival)) {
		call_count(&r->count.surplus, 1);
		return false;
	}
	if (t->types->type[p->pt] == RELAY_NO_TYPE) {
		call_count(&r->count.wrong_pt, 1);
		payload_unknown_count(&endpoint->unknown, p->pt);
		return false;
	}
	*fresh = heard & LEARN_NEW_SSRC;
	if (*fresh)
		rtp_source_again(&r->seen);
	(void)rtp_source_update(&r->seen, p->seq);
	return true;
}

/* Its address may be written at this moment: then the last one is as good. */
static void take_destination(struct relay *r, const struct rtp_packet *p)
{
	bool before = r->held;

	if (destination_try(&r->out_endpoint->to, &r->destination_version,
			    &r->held, &r->to) &&
	    before && !r->held)
		relay_handover_resume(r, p);
}

/* For @p, which has come. */
static bool knows_destination(struct relay *r, const struct rtp_packet *p)
{
	if (__builtin_expect(destination_changed(&r->out_endpoint->to,
						 r->destination_version),
			     0))
		take_destination(r, p);
	return r->to.ss_family;
}

/* As it goes on. */
static struct rtp_packet outgoing(const struct passing *t)
{
	const struct relay *r = t->relay;
	struct rtp_packet to = *t->rtp;

	to.pt = t->types->type[to.pt];
	if (r->renumbers) {
		to.seq = (uint16_t)(to.seq + r->seq_more);
		to.ts += r->ts_more;
		to.ssrc = r->ssrc;
	}
	return to;
}

/* Into the packet that it has come as. */
static void write_header(uint8_t *packet, const struct rtp_packet *p,
			 bool renumbers)
{
	packet[1] = (uint8_t)((p->marker ? 0x80u : 0u) | p->pt);
	if (!renumbers)
		return;
	put16(packet + 2, p->seq);
	put32(packet + 4, p->ts);
	put32(packet + 8, p->ssrc);
}

/* What a call would go on from: @p, which has come as type @pt. */
static void note(struct relay *r, const struct rtp_packet *p, uint8_t pt,
		 cr_ns now)
{
	uint64_t ssrc = UINT64_C(1) << 32 | p->ssrc;
	bool same = atomic_load_explicit(&r->sent_ssrc, memory_order_relaxed) ==
		    ssrc;

	if (same && relay_handover_is_late(p->seq, r->sent.seq))
		return;
	if (!same)
		atomic_store_explicit(&r->sent_ssrc, ssrc,
				      memory_order_relaxed);
	r->sent = (struct relay_sent){
		.at = now, .ts = p->ts, .seq = p->seq, .pt = pt
	};
}

/* @p is the packet of @t as it is to be. */
static void put(struct relay_burst *out, const struct passing *t,
		const struct rtp_packet *p)
{
	const struct intake_packet *in = t->in;
	struct relay *r = t->relay;
	unsigned at = out->burst.count;

	burst_put(&out->burst, r->fd, &r->to, 0, in->data, in->bytes);
	write_header(out->burst.packet[at].data, p, r->renumbers);
	out->unsent[at] = (struct relay_unsent){ r, p->payload_bytes };
	note(r, p, t->rtp->pt, in->arrival);
	if (burst_full(&out->burst))
		relay_flush(out);
}

static void pass_on(struct relay_burst *out, const struct passing *t)
{
	struct relay *r = t->relay;
	struct rtp_packet to;

	call_count(&r->count.packets_in, 1);
	call_count(&r->count.octets_in, t->rtp->payload_bytes);
	call_count(&r->count.relayed, 1);
	if (!t->types->clock[t->rtp->pt])
		call_count(&r->count.relayed_other, 1);
	if (!knows_destination(r, t->rtp)) {
		call_count(r->held ? &r->count.on_hold
				   : &r->count.no_destination,
			   1);
		return;
	}
	to = outgoing(t);
	if (r->out_endpoint->rtcp)
		endpoint_rtcp_passed_on(r->out_endpoint, &to, t->in->arrival);
	put(out, t, &to);
}

/* Has its timestamp the clock that RTCP goes by? */
static bool is_timed(const struct passing *t)
{
	const uint32_t *clock = t->types->clock;

	return clock[t->rtp->pt] && clock[t->rtp->pt] == clock[t->types->in];
}

/* Of a relay that has it, or is to have it (@begins). */
static void take(struct relay_burst *out, struct endpoint *endpoint,
		 const struct passing *t, bool begins)
{
	cr_ns now = t->in->arrival;
	bool fresh;

	if (!accepts(t, endpoint, &fresh))
		return;
	if (begins)
		relay_handover_begin(t->relay, t->rtp, fresh, now);
	else if (fresh)
		relay_handover_renumber(t->relay, t->rtp, now);
	if (endpoint->rtcp)
		endpoint_rtcp_rtp(endpoint, t->rtp, is_timed(t), now);
	pass_on(out, t);
}

bool relay_take(struct relay_burst *out, struct endpoint *endpoint,
		const struct rtp_packet *p, const struct intake_packet *in)
{
	struct relay *r = endpoint_relayer(endpoint);
	enum relay_handover turn;

	if (!r)
		return false;
	turn = relay_handover_of(r, p);
	if (turn == RELAY_HANDOVER_CALL)
		return false;
	if (turn == RELAY_HANDOVER_END) {
		relay_flush(out); /* what the call sends comes behind */
		relay_handover_end(r);
		return false;
	}
	take(out, endpoint, &(struct passing){ r, relay_types(r), in, p },
	     turn == RELAY_HANDOVER_BEGIN);
	return true;
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
