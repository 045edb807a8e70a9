/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One received datagram on its way into a call's ring.
 *
 * Order is kept by dropping: a packet behind a newer one is counted and goes,
 * for the codec's state has already passed it.
 */
#include "media/packet.h"

#include <string.h>

#include "base/address.h"
#include "udp/inlet.h"

/* Larger than any packet that fits a ring. */
#define PACKET_BYTES_MAX 2048u

_Static_assert(PACKET_BYTES_MAX <= INLET_BYTES,
	       "what is cut off must be too large");
_Static_assert(PACKET_BYTES_MAX <= BURST_BYTES, "a relay can send it on");

/* The address signalling has told, else the first one that sends. */
static bool from_source(struct call *c, const struct sockaddr_storage *from)
{
	if (!c->source_known) {
		c->source = *from;
		c->source_known = true;
		return true;
	}
	return address_equal(&c->source, from);
}

/* What may speak against a packet of the call's sender. */
static bool acceptable(struct call *c, const struct rtp_packet *p, int codec)
{
	if (codec < 0) {
		call_count(&c->count.wrong_pt, 1);
		return false;
	}
	if (p->payload_bytes > c->slot_bytes) {
		call_count(&c->count.too_big, 1);
		return false;
	}
	switch (rtp_source_update(&c->seen, p->seq)) {
	case RTP_RESTART:
		c->restart = true;
		return true;
	case RTP_NEW:
		return true;
	case RTP_DUPLICATE:
		call_count(&c->count.duplicates, 1);
		return false;
	case RTP_REORDERED:
		call_count(&c->count.reordered, 1);
		return false;
	case RTP_STRAY:
		call_count(&c->count.strays, 1);
		return false;
	}
	return false;
}

static void trace_overwritten(struct packet_path *path, const struct call *c,
			      const struct cr_frame_meta *lost)
{
	bool best_effort = atomic_load_explicit(&c->terms.best_effort,
						memory_order_relaxed);
	union cr_trace_record r = {
		.job = {
			.kind = CR_TRACE_JOB,
			.outcome = CR_OUT_OVERWRITTEN,
			.worker = 0xffff,
			.call = c->cfg.id,
			.seq = (uint32_t)lost->seq,
			.bytes_in = lost->bytes,
			.arrival = lost->arrival,
			.deadline = best_effort ? CR_NEVER : lost->deadline,
			.rtp_ts = lost->rtp_ts,
		},
	};

	trace_put(path->trace, &r);
}

/* When a frame that came at @arrival counts as arrived, and must be done. */
static struct release_times release_frame(struct call *c, cr_ns arrival)
{
	struct release_times when;
	uint64_t before;

	call_take_terms(c);
	/* the release models want a time that never goes back; the kernel's
	 * real-time stamps may */
	c->last_arrival = cr_ns_max(c->last_arrival, arrival);
	if (c->release.cfg.kind != RELEASE_LBAP)
		return release_arrival(&c->release, c->last_arrival);
	before = c->release.violations;
	when = release_arrival(&c->release, c->last_arrival);
	call_count(&c->count.violations, c->release.violations - before);
	return when;
}

static void push(struct packet_path *path, struct call *c,
		 const struct rtp_packet *p, int codec, cr_ns arrival)
{
	uint8_t *frame = cr_ring_reserve(c->ring);
	struct cr_frame_meta meta, lost;
	struct release_times when;

	cache_fetch(frame, p->payload_bytes);
	when = release_frame(c, arrival);
	meta = (struct cr_frame_meta){
		.arrival = c->last_arrival,
		.eligible = when.eligible,
		.deadline =
			when.deadline, /* best effort: the engine's matter */
		.rtp_ts = p->ts,
		.rtp_seq = p->seq,
		.bytes = (uint16_t)p->payload_bytes,
		.marker = p->marker,
		.codec = (uint8_t)codec,
		.restart = c->restart && c->first_seen,
	};
	c->restart = false;
	/* the first packet counts, even if no worker ever sees it; the ring's
	 * first push hands this to the worker */
	if (!c->first_seen && !c->cfg.ts_first_known)
		pipeline_first_ts(c->pipeline, p->ts);
	c->first_seen = true;
	memcpy(frame, p->payload, p->payload_bytes);
	call_count(&c->count.packets_in, 1);
	call_count(&c->count.octets_in, p->payload_bytes);
	if (cr_ring_push(c->ring, &meta, &lost)) {
		call_count(&c->count.overwritten, 1);
		trace_overwritten(path, c, &lost);
	}
}

/* Of a call of this receiver: one thread has its "rx" part. */
static struct call *take(struct packet_path *path, struct call *c,
			 const struct rtp_packet *p, cr_ns arrival)
{
	int codec = call_codec_of(c, p->pt);

	if (!acceptable(c, p, codec))
		return NULL;
	push(path, c, p, codec, arrival);
	return live_task_wake(&c->lt) ? c : NULL;
}

/* At the shared port: @c is the call of its SSRC. */
static struct call *take_shared(struct packet_path *path, struct call *c,
				const struct rtp_packet *p,
				const struct intake_packet *in)
{
	call_fetch_for_packet(c);
	if (!from_source(c, in->from)) {
		call_count(&c->count.wrong_source, 1);
		return NULL;
	}
	return take(path, c, p, in->arrival);
}

/* At the port of @leg: whoever that believes to be its party. */
static struct call *take_at_leg(struct packet_path *path, struct leg *leg,
				const struct rtp_packet *p,
				const struct intake_packet *in)
{
	struct call *c = leg_listener(leg);
	const struct learn_arrival arrival = {
		.from = in->from,
		.ssrc = p->ssrc,
		.seq = p->seq,
		.valid = !c || call_codec_of(c, p->pt) >= 0,
	};
	unsigned heard;

	if (c)
		call_fetch_for_packet(c);
	heard = leg_hear(leg, &arrival, in->arrival);
	if (!c) {
		call_count(&path->count.unheard, 1);
		return NULL;
	}
	if (!learn_accepts(heard)) {
		call_count_refused(&c->count, heard, arrival.valid);
		return NULL;
	}
	if (heard & LEARN_NEW_SSRC) {
		rtp_source_again(&c->seen);
		c->restart = true;
	}
	return take(path, c, p, in->arrival);
}

/* The call with the SSRC of @p; one with a port of its own is not reachable
 * through the shared one. */
static struct call *addressee(struct packet_path *path,
			      const struct rtp_packet *p)
{
	struct call *c = call_cache_find(&path->cache, path->table, p->ssrc);

	return c && !c->cfg.ear ? c : NULL;
}

struct call *packet_take(struct packet_path *path,
			 const struct intake_packet *in, struct leg *leg)
{
	struct rtp_packet p;
	struct call *c;
	int err;

	call_count(&path->count.packets, 1);
	if (in->bytes > PACKET_BYTES_MAX) {
		call_count(&path->count.oversized, 1);
		return NULL;
	}
	err = rtp_parse(in->data, in->bytes, &p);
	if (err) {
		call_count(err == RTP_IS_RTCP ? &path->count.rtcp
					      : &path->count.malformed,
			   1);
		return NULL;
	}
	if (leg && relay_take(path->relays, leg, &p, in))
		return NULL;
	if (leg)
		return take_at_leg(path, leg, &p, in);
	c = addressee(path, &p);
	if (!c) {
		call_count(&path->count.unknown_ssrc, 1);
		return NULL;
	}
	if (c->cfg.receiver == path->receiver)
		return take_shared(path, c, &p, in);
	path->hand_over(path, c->cfg.receiver, in);
	return NULL;
}

struct call *packet_take_handed(struct packet_path *path,
				const struct intake_packet *in)
{
	struct rtp_packet p;
	struct call *c =
		rtp_parse(in->data, in->bytes, &p) ? NULL : addressee(path, &p);

	if (c && c->cfg.receiver == path->receiver)
		return take_shared(path, c, &p, in);
	call_count(&path->count.unknown_ssrc, 1); /* it has ended meanwhile */
	return NULL;
}

void packet_count_stray(struct packet_path *path)
{
	call_count(&path->count.packets, 1);
	call_count(&path->count.unheard, 1);
}
