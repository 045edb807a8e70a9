/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call's packets: talk spurts decide which frames there are, the network
 * model which of them arrive, when, in what order and how often.
 *
 *   frame -> spurt? -> silent? -> number it -> lost? -> delay
 *         -> hold it back, or put it out with its copy and the one held
 *
 * Parties of conversations also dial, send noise, and change (party.h).
 */
#include <string.h>

#include "campaign/party.h"

static uint64_t frames_in(cr_ns t, cr_ns ptime)
{
	return t > ptime ? (uint64_t)(t / ptime) : 1;
}

static void begin_spurt(struct plan_stream *s, bool pausing)
{
	const struct campaign_talk *t = &s->flow->talk;
	cr_ns mean = pausing ? t->pause : t->spurt;

	s->pausing = pausing;
	s->marker = !pausing;
	s->party.next_noise = s->frame;
	s->turn = s->frame +
		  frames_in(random_exponential(&s->talk, mean), s->flow->ptime);
}

/* Step over pauses; false when the call ends in one. */
static bool find_speech(struct plan_stream *s)
{
	while (s->flow->talk.spurt && s->frame < s->call->frames) {
		if (s->frame == s->turn)
			begin_spurt(s, !s->pausing);
		if (!s->pausing)
			break;
		s->frame = s->turn;
	}
	return s->frame < s->call->frames;
}

/*
 * Gilbert: lost packets come in runs of mean length burst, and the share lost
 * is loss; p(good -> bad) = loss / (burst * (1 - loss)), p(bad -> good) =
 * 1 / burst.
 */
static bool is_lost(struct plan_stream *s)
{
	const struct campaign_network *n = &s->flow->network;
	double u = random_unit(&s->network);
	double loss = (double)n->loss / 1e6;

	if (!n->loss)
		return false;
	if (s->losing)
		s->losing = u >= 1.0 / (double)n->burst;
	else
		s->losing = u < loss / ((double)n->burst * (1.0 - loss));
	return s->losing;
}

static void put(struct plan_stream *s, struct plan_packet p)
{
	p.at = cr_ns_max(p.at, s->last);
	s->last = p.at;
	s->ready[s->nready++] = p;
}

static void release_held(struct plan_stream *s)
{
	s->holding = false;
	put(s, s->held);
}

/* Number @p, of frame s->frame, and send it on its way through the network.
 * Every packet draws the same number of random values, whatever becomes of it.
 */
static void put_packet(struct plan_stream *s, struct plan_packet p)
{
	const struct campaign_network *n = &s->flow->network;
	bool hold, copy;

	p.seq = s->seq++;
	p.nth = s->nth;
	s->nth += p.kind == PLAN_SPEECH;
	p.marker |= s->marker;
	s->marker = false;
	p.ssrc = s->party.ssrc;
	p.port = s->party.port;
	p.lost = is_lost(s);
	p.at = plan_frame_time(s->call, s->flow->ptime, s->frame) +
	       random_time(&s->network, n->jitter);
	hold = random_chance(&s->network, n->reorder);
	copy = random_chance(&s->network, n->duplicate);
	if (hold && !p.lost && !s->holding) {
		p.held = true;
		s->held = p;
		s->holding = true;
		s->overtakers = n->depth;
		return;
	}
	put(s, p);
	if (copy && !p.lost) {
		p.copy = true;
		put(s, p);
	}
	if (s->holding && --s->overtakers == 0)
		release_held(s);
}

static void put_speech(struct plan_stream *s)
{
	if (s->silent && s->silent(s->silent_arg, s->frame))
		s->marker = true;
	else
		put_packet(s, (struct plan_packet){ .frame = s->frame });
}

/* What a party sends in frame s->frame: a digit, speech or noise. */
static void put_party(struct plan_stream *s)
{
	struct plan_packet said[PARTY_PACKETS];
	unsigned n;

	if (s->flow->talk.spurt && s->frame == s->turn)
		begin_spurt(s, !s->pausing);
	s->marker |= party_changes(s);
	n = party_says(s, said);
	for (unsigned i = 0; i < n; i++)
		put_packet(s, said[i]);
	if (!n && !s->pausing)
		put_speech(s);
}

static bool refill(struct plan_stream *s)
{
	s->taken = s->nready = 0;
	if (campaign_converses(s->flow)) {
		for (; !s->nready && s->frame < s->call->frames; s->frame++)
			put_party(s);
	} else {
		for (; !s->nready && find_speech(s); s->frame++)
			put_speech(s);
	}
	if (!s->nready && s->holding)
		release_held(s);
	return s->nready > 0;
}

void plan_stream_init(struct plan_stream *s, const struct plan *p,
		      const struct plan_call *call)
{
	memset(s, 0, sizeof(*s));
	s->flow = &p->campaign->flows[call->flow];
	s->call = call;
	s->network = random_fork(call->seed, 1);
	s->talk = random_fork(call->seed, 2);
	s->marker = true;
	party_init(s);
	if (s->flow->talk.spurt)
		begin_spurt(s, false);
}

bool plan_stream_next(struct plan_stream *s, struct plan_packet *out)
{
	if (s->taken == s->nready && !refill(s))
		return false;
	*out = s->ready[s->taken++];
	return true;
}

static void mix(uint64_t *hash, uint64_t value)
{
	for (unsigned i = 0; i < 8; i++) {
		*hash ^= value & 0xff;
		*hash *= UINT64_C(0x100000001b3);
		value >>= 8;
	}
}

static void mix_party(uint64_t *hash, const struct plan_packet *k)
{
	mix(hash, (uint64_t)k->kind << 40 | (uint64_t)k->ssrc << 24 |
			  (uint64_t)k->port << 8 | k->digit);
	mix(hash, (uint64_t)k->duration << 1 | k->end);
}

uint64_t plan_hash(const struct plan *p)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct plan_packet k;
	struct plan_stream s;

	for (size_t i = 0; i < p->count; i++) {
		mix(&hash, p->calls[i].flow);
		mix(&hash, p->calls[i].index);
		plan_stream_init(&s, p, &p->calls[i]);
		while (plan_stream_next(&s, &k)) {
			mix(&hash, (uint64_t)k.at);
			mix(&hash, k.frame);
			mix(&hash, k.seq << 3 | (unsigned)k.marker << 2 |
					   (unsigned)k.lost << 1 | k.copy);
			if (p->calls[i].conversation)
				mix_party(&hash, &k);
		}
	}
	return hash;
}
