/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A party's numbers and account.
 */
#include "feeder/phone.h"

#include <stdlib.h>
#include <string.h>

#include "rtp/comfort_noise.h"
#include "rtp/telephone_event.h"

_Static_assert(PHONE_BYTES >= COMFORT_NOISE_BYTES_MAX, "room for noise");

/* Random numbers of a party: 0 and on are the campaign's. */
#define FORK_SSRC 64u

cr_ns phone_moves(const struct campaign_flow *flow,
		  const struct plan_call *call, unsigned n)
{
	const struct campaign_change *w = &flow->party.port.when;
	cr_ns first = w->at ? w->at : w->every;

	if (!first || (n > 1 && !w->every))
		return CR_NEVER;
	return plan_frame_time(call, first + (cr_ns)(n - 1) * w->every, 1);
}

static unsigned count_ports(const struct campaign_flow *flow,
			    const struct plan_call *call)
{
	cr_ns end = plan_frame_time(call, flow->ptime, call->frames);
	unsigned n = 1;

	while (phone_moves(flow, call, n) < end)
		n++;
	return n;
}

struct phone *phone_new(const struct campaign_flow *flow,
			const struct plan_call *call)
{
	struct phone *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->flow = flow;
	p->seed = call->seed;
	p->clock = cr_codec_clock(flow->in.codec, flow->in.cfg.sample_rate);
	p->rtp_ticks = (uint32_t)(flow->ptime * p->clock / CR_SEC);
	p->nports = count_ports(flow, call);
	p->ports = calloc(p->nports, sizeof(*p->ports));
	if (!p->ports) {
		free(p);
		return NULL;
	}
	for (unsigned i = 0; i < p->nports; i++)
		p->ports[i].fd = -1;
	return p;
}

void phone_free(struct phone *p)
{
	if (!p)
		return;
	free(p->ports);
	free(p);
}

/* RFC 3550, 5.1: random first values, here from the seed. */
struct rtp_header phone_header(const struct phone *p,
			       const struct plan_packet *k)
{
	bool goes_on = p->flow->party.ssrc.numbering == NUMBERING_CONTINUE;
	struct random r = random_fork(p->seed, FORK_SSRC + k->ssrc);
	struct random first = goes_on ? random_fork(p->seed, FORK_SSRC) : r;
	uint32_t ssrc = (uint32_t)random_next(&r);
	uint64_t numbers;

	(void)random_next(&first); /* the SSRC */
	numbers = random_next(&first);
	return (struct rtp_header){
		.pt = k->kind == PLAN_SPEECH
			      ? p->pt
			      : (uint8_t)(k->kind == PLAN_EVENT
						  ? p->flow->party.dtmf.pt
						  : p->flow->party.cn.pt),
		.marker = k->marker,
		.seq = (uint16_t)((numbers >> 32) + k->seq),
		.ts = (uint32_t)(numbers + k->frame * p->rtp_ticks),
		.ssrc = ssrc ? ssrc : 1,
	};
}

static uint16_t duration_of_digit(const struct phone *p,
				  const struct plan_packet *k)
{
	return (uint16_t)(k->duration * p->clock / CR_SEC);
}

static uint8_t code_of(const struct phone *p, const struct plan_packet *k)
{
	static const char codes[] = "0123456789*#ABCD";

	return (uint8_t)(strchr(codes, p->flow->party.dtmf.digits[k->digit]) -
			 codes);
}

size_t phone_payload(const struct phone *p, const struct plan_packet *k,
		     uint8_t *buf)
{
	const struct campaign_party *party = &p->flow->party;
	const struct comfort_noise noise = { .level =
						     (uint8_t)party->cn.level };
	struct telephone_event event;

	if (k->kind == PLAN_NOISE)
		return comfort_noise_build(buf, &noise);
	event = (struct telephone_event){
		.code = code_of(p, k),
		.end = k->end,
		.volume = (uint8_t)party->dtmf.volume,
		.duration = duration_of_digit(p, k),
	};
	return telephone_event_build(buf, &event);
}

void phone_count(struct phone *p, const struct plan_packet *k)
{
	struct phone_digit *d;
	uint32_t duration;

	p->count.copies += k->copy;
	p->count.held += k->held;
	switch (k->kind) {
	case PLAN_SPEECH:
		p->count.sent_speech++;
		break;
	case PLAN_EVENT:
		p->count.sent_events++;
		d = &p->digits[k->digit];
		duration = duration_of_digit(p, k);
		d->packets++;
		d->ended |= k->end;
		if (duration > d->duration)
			d->duration = duration;
		break;
	case PLAN_NOISE:
		p->count.sent_noise++;
		break;
	}
}

uint64_t phone_sent(const struct phone *p)
{
	return p->count.sent_speech + p->count.sent_events +
	       p->count.sent_noise - p->count.failed;
}
