/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets that go on as they came.
 */
#include "media/relay.h"

#include <stdlib.h>
#include <string.h>

#include "media/leg_rtcp.h"

/* Comfort noise has a type of its own (RFC 3551, table 4). */
#define NOISE_PT 13u

/* Where both sides use one number for the codec, they have agreed on one
 * numbering, by which all else goes, too. Events and noise that both have named
 * go in any case. */
static void map_types(uint8_t type[128], const struct call_cfg *cfg)
{
	bool alike = cfg->pt_in == cfg->pt_out;

	for (unsigned i = 0; i < 128; i++)
		type[i] = alike ? (uint8_t)i : RELAY_NO_TYPE;
	type[NOISE_PT] = NOISE_PT;
	if (cfg->inflow.pt_event && cfg->pt_event_out)
		type[cfg->inflow.pt_event] = cfg->pt_event_out;
	if (cfg->inflow.pt_noise && cfg->pt_noise_out)
		type[cfg->inflow.pt_noise] = cfg->pt_noise_out;
	type[cfg->pt_in] = cfg->pt_out;
}

/* Of what the party has said that it sends. */
static bool is_agreed(const struct relay *r, uint8_t pt)
{
	return pt == r->pt_in || pt == NOISE_PT ||
	       inflow_what(&r->cfg.inflow, pt) != CR_RING_SPEECH;
}

struct relay *relay_new(const struct call_cfg *cfg)
{
	struct relay *r = aligned_alloc(CACHE_LINE, sizeof(*r));

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->cfg = *cfg;
	r->mouth = cfg->mouth;
	r->fd = cfg->mouth->cfg.fd;
	r->pt_in = cfg->pt_in;
	r->pt_out = cfg->pt_out;
	map_types(r->type, cfg);
	return r;
}

void relay_free(struct relay *r)
{
	free(r);
}

/* The type that @pt becomes, or RELAY_NO_TYPE. */
static uint8_t type_of(const struct relay *r, uint8_t pt)
{
	return pt == r->pt_in ? r->pt_out : r->type[pt];
}

/* Whether the party may be heard, and says what can be passed on. */
static bool accepts(struct relay *r, struct leg *leg,
		    const struct rtp_packet *p, const struct intake_packet *in)
{
	const struct learn_arrival arrival = {
		.from = in->from,
		.ssrc = p->ssrc,
		.seq = p->seq,
		.valid = is_agreed(r, p->pt),
	};
	unsigned heard = leg_hear(leg, &arrival, in->arrival);

	if (!learn_accepts(heard)) {
		call_count_refused(&r->count, heard, arrival.valid);
		return false;
	}
	if (type_of(r, p->pt) == RELAY_NO_TYPE) {
		call_count(&r->count.wrong_pt, 1);
		payload_unknown_count(&leg->unknown, p->pt);
		return false;
	}
	if (heard & LEARN_NEW_SSRC)
		rtp_source_again(&r->seen);
	(void)rtp_source_update(&r->seen, p->seq);
	return true;
}

/* Its address may be written at this moment: then the last one is as good. */
static bool knows_way(struct relay *r)
{
	const struct way *way = &r->mouth->to;

	if (__builtin_expect(way_changed(way, r->way_version), 0))
		(void)way_try(way, &r->way_version, &r->to);
	return r->to.ss_family;
}

static void put(struct relay_burst *out, struct relay *r,
		const struct rtp_packet *p, const struct intake_packet *in)
{
	unsigned at = out->burst.count;

	burst_put(&out->burst, r->fd, &r->to, 0, in->data, in->bytes);
	out->burst.packet[at].data[1] =
		(uint8_t)((p->marker ? 0x80u : 0u) | type_of(r, p->pt));
	out->unsent[at] = (struct relay_unsent){ r, p->payload_bytes };
	if (burst_full(&out->burst))
		relay_flush(out);
}

bool relay_take(struct relay_burst *out, struct leg *leg,
		const struct rtp_packet *p, const struct intake_packet *in)
{
	struct relay *r = leg_relayer(leg);

	if (!r)
		return false;
	if (!accepts(r, leg, p, in))
		return true;
	if (leg->rtcp)
		leg_rtcp_rtp(leg, p, p->pt == r->pt_in, in->arrival);
	call_count(&r->count.packets_in, 1);
	call_count(&r->count.octets_in, p->payload_bytes);
	call_count(&r->count.relayed, 1);
	if (p->pt != r->pt_in)
		call_count(&r->count.relayed_other, 1);
	if (!knows_way(r)) {
		call_count(&r->count.nowhere, 1);
		return true;
	}
	if (r->mouth->rtcp)
		leg_rtcp_passed_on(r->mouth, p, in->arrival);
	put(out, r, p, in);
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
