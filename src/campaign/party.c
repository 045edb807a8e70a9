/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digits, noise and changes.
 *
 * A digit takes whole frames: as many as its length begins. It is told of in
 * each of them (RFC 4733, 2.5.1.2: updates), and its end three times in the
 * last one. Digits are dialled in pauses, too.
 */
#include "campaign/party.h"

static cr_ns first_time(const struct campaign_change *when)
{
	if (!when->at && !when->every)
		return CR_NEVER;
	return when->at ? when->at : when->every;
}

void party_init(struct plan_stream *s)
{
	const struct campaign_party *p = &s->flow->party;

	if (!campaign_converses(s->flow))
		return;
	s->party = (struct plan_party){
		.lengths = random_fork(s->call->seed, 6),
		.next_ssrc = first_time(&p->ssrc.when),
		.next_port = first_time(&p->port.when),
		.next_digit = p->dtmf.digits[0] ? p->dtmf.at : CR_NEVER,
	};
}

/* By the party's own clock. */
static cr_ns spoken(const struct plan_stream *s)
{
	return (cr_ns)s->frame * s->flow->ptime;
}

/* Frames are rarely shorter than what is between two changes. */
static bool is_time(cr_ns *next, const struct campaign_change *when, cr_ns now)
{
	if (now < *next)
		return false;
	*next = when->every ? cr_ns_add(*next, when->every) : CR_NEVER;
	return true;
}

bool party_changes(struct plan_stream *s)
{
	const struct campaign_party *p = &s->flow->party;
	struct plan_party *now = &s->party;
	bool other;

	if (now->dialling)
		return false;
	now->port += is_time(&now->next_port, &p->port.when, spoken(s));
	other = is_time(&now->next_ssrc, &p->ssrc.when, spoken(s));
	now->ssrc += other;
	return other;
}

/* --- digits --- */

static void begin_digit(struct plan_stream *s)
{
	const struct campaign_dtmf *d = &s->flow->party.dtmf;
	struct plan_party *p = &s->party;
	cr_ns length = d->shortest +
		       random_time(&p->lengths, d->longest - d->shortest);

	p->dialling = true;
	p->digit_first = s->frame;
	p->digit_length = length;
	p->digit_frames =
		(uint64_t)((length + s->flow->ptime - 1) / s->flow->ptime);
}

static void end_digit(struct plan_stream *s)
{
	const struct campaign_dtmf *d = &s->flow->party.dtmf;
	struct plan_party *p = &s->party;
	cr_ns begun = (cr_ns)p->digit_first * s->flow->ptime;

	p->dialling = false;
	p->digit++;
	p->next_digit = d->digits[p->digit]
				? begun + p->digit_length + d->interval
				: CR_NEVER;
}

static unsigned say_digit(struct plan_stream *s, struct plan_packet *out)
{
	struct plan_party *p = &s->party;
	uint64_t done = s->frame - p->digit_first + 1;
	bool end = done == p->digit_frames;
	struct plan_packet k = {
		.kind = PLAN_EVENT,
		.frame = p->digit_first,
		.marker = done == 1,
		.digit = p->digit,
		.end = end,
		.duration = cr_ns_min((cr_ns)done * s->flow->ptime,
				      p->digit_length),
	};
	unsigned n = 0;

	do {
		out[n++] = k;
		k.marker = false;
	} while (end && n < PARTY_PACKETS);
	if (end)
		end_digit(s);
	return n;
}

/* --- noise --- */

static unsigned say_noise(struct plan_stream *s, struct plan_packet *out)
{
	const struct campaign_cn *cn = &s->flow->party.cn;
	struct plan_party *p = &s->party;

	if (s->frame < p->next_noise)
		return 0;
	p->next_noise =
		s->frame + (uint64_t)((cn->interval + s->flow->ptime - 1) /
				      s->flow->ptime);
	*out = (struct plan_packet){ .kind = PLAN_NOISE, .frame = s->frame };
	return 1;
}

unsigned party_says(struct plan_stream *s, struct plan_packet *out)
{
	if (!s->party.dialling && spoken(s) >= s->party.next_digit)
		begin_digit(s);
	if (s->party.dialling)
		return say_digit(s, out);
	if (s->pausing && s->flow->party.cn.given)
		return say_noise(s, out);
	return 0;
}
