/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The account of what a party is sent.
 */
#include "feeder/heard.h"

#include "rtp/comfort_noise.h"
#include "rtp/telephone_event.h"

void heard_init(struct heard *h, const struct heard_cfg *cfg)
{
	*h = (struct heard){ .cfg = *cfg, .random = random_fork(cfg->seed, 7) };
}

/* What is relayed has the SSRC of who sent it: another one begins anew. */
static void count_ssrc(struct heard *h, uint32_t ssrc)
{
	if (h->cfg.ssrc) {
		h->count.wrong_ssrc += ssrc != h->cfg.ssrc;
		return;
	}
	if (h->count.packets > 1 && ssrc != h->ssrc) {
		rtp_source_again(&h->source);
		h->speaking = false;
	}
	h->ssrc = ssrc;
}

/* False: it had come before. */
static bool count_number(struct heard *h, const struct rtp_packet *p)
{
	switch (rtp_source_update(&h->source, p->seq)) {
	case RTP_NEW:
		return true;
	case RTP_REORDERED:
		h->count.overtaken++;
		return true;
	case RTP_DUPLICATE:
		h->count.repeated++;
		return false;
	case RTP_RESTART:
	case RTP_OUT_OF_RANGE:
		h->count.restarts++;
		return true;
	}
	return true;
}

static struct heard_digit *last_digit(struct heard *h)
{
	return h->ndigits ? &h->digits[h->ndigits - 1] : NULL;
}

/* Is speech at @ts within the digit that came last? */
static bool is_in_digit(struct heard *h, uint32_t ts)
{
	const struct heard_digit *d = last_digit(h);

	return d && ts - d->ts < d->duration;
}

/* Whether the timestamp of speech or noise rises. */
static bool count_heard_time(struct heard *h, uint32_t ts)
{
	bool rises = !h->speaking || (int32_t)(ts - h->ts) > 0;

	if (!h->speaking)
		h->ts_first = ts;
	h->speaking = true;
	h->count.backward += !rises;
	h->count.in_digit += is_in_digit(h, ts);
	if (rises)
		h->ts = ts;
	return rises;
}

static bool hear_speech(struct heard *h, const struct rtp_packet *p,
			uint64_t *index)
{
	uint32_t before = h->ts;
	bool first = !h->speaking;

	h->count.speech++;
	if (!count_heard_time(h, p->ts))
		return false;
	h->count.jumps += !first && p->seq == (uint16_t)(h->seq + 1) &&
			  p->ts - before > h->cfg.rtp_ticks;
	*index = (p->ts - h->ts_first) / h->cfg.rtp_ticks;
	return true;
}

static void begin_digit(struct heard *h, const struct rtp_packet *p,
			const struct telephone_event *e)
{
	if (h->ndigits == HEARD_DIGITS) {
		h->count.more_digits++;
		return;
	}
	/* what was said of this time has been said already */
	h->count.in_digit += h->speaking && (int32_t)(h->ts - p->ts) >= 0;
	h->digits[h->ndigits++] = (struct heard_digit){
		.ts = p->ts,
		.code = e->code,
	};
}

/* An event is its timestamp; another code at the same time is another one. A
 * packet that was overtaken is of an earlier one. */
static struct heard_digit *digit_of(struct heard *h, uint32_t ts, uint8_t code)
{
	for (unsigned i = h->ndigits; i-- > 0;)
		if (h->digits[i].ts == ts && h->digits[i].code == code)
			return &h->digits[i];
	return NULL;
}

static void hear_event(struct heard *h, const struct rtp_packet *p)
{
	struct heard_digit *d;
	struct telephone_event e;

	h->count.events++;
	if (telephone_event_parse(p->payload, p->payload_bytes, &e)) {
		h->count.malformed++;
		return;
	}
	d = digit_of(h, p->ts, e.code);
	if (!d) {
		begin_digit(h, p, &e);
		d = last_digit(h);
	}
	/* analyzer: there is one now, or there were too many before */
	d->packets++;
	d->ends += e.end;
	if (e.duration > d->duration)
		d->duration = e.duration;
}

static void hear_noise(struct heard *h, const struct rtp_packet *p)
{
	struct comfort_noise noise;

	h->count.noise++;
	h->count.malformed +=
		comfort_noise_parse(p->payload, p->payload_bytes, &noise) != 0;
	(void)count_heard_time(h, p->ts);
}

bool heard_packet(struct heard *h, const struct rtp_packet *p, uint64_t *index)
{
	bool speech = false;

	if (h->cfg.deaf && random_chance(&h->random, h->cfg.deaf))
		return false;
	h->count.packets++;
	count_ssrc(h, p->ssrc);
	if (!count_number(h, p))
		return false;
	if (p->pt == h->cfg.pt)
		speech = hear_speech(h, p, index);
	else if (p->pt == h->cfg.pt_event)
		hear_event(h, p);
	else if (p->pt == h->cfg.pt_noise)
		hear_noise(h, p);
	else
		h->count.foreign++;
	h->seq = p->seq;
	return speech;
}

uint64_t heard_gaps(const struct heard *h)
{
	return rtp_source_lost(&h->source);
}
