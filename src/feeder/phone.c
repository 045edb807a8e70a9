/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A party's numbers and account, the account of what it is sent; the sums, and
 * the sentences about those that are not equal.
 */
#include "feeder/phone.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rtp/comfort_noise.h"
#include "rtp/telephone_event.h"

_Static_assert(PHONE_BYTES >= COMFORT_NOISE_BYTES_MAX, "room for noise");

const char phone_keys[] = "0123456789*#ABCD";

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

struct phone *phone_new(const struct campaign_flow *flow,
			const struct plan_call *call)
{
	cr_ns end = plan_frame_time(call, flow->ptime, call->frames);
	struct phone *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->flow = flow;
	p->seed = call->seed;
	p->clock = cr_codec_clock(flow->in.codec, flow->in.cfg.sample_rate);
	p->rtp_ticks = (uint32_t)(flow->ptime * p->clock / CR_SEC);
	p->nports = 1;
	while (phone_moves(flow, call, p->nports) < end)
		p->nports++;
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
struct rtp_packet phone_header(const struct phone *p,
			       const struct plan_packet *k)
{
	bool goes_on = p->flow->party.ssrc.numbering == NUMBERING_CONTINUE;
	struct random r = random_fork(p->seed, FORK_SSRC + k->ssrc);
	struct random first = goes_on ? random_fork(p->seed, FORK_SSRC) : r;
	uint32_t ssrc = (uint32_t)random_next(&r);
	uint64_t numbers;

	(void)random_next(&first); /* the SSRC */
	numbers = random_next(&first);
	return (struct rtp_packet){
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
		.code = (uint8_t)(strchr(phone_keys,
					 party->dtmf.digits[k->digit]) -
				  phone_keys),
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

/* --- what it is sent --- */

void heard_init(struct heard *h, const struct heard_cfg *cfg)
{
	*h = (struct heard){ .cfg = *cfg, .random = random_fork(cfg->seed, 7) };
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

/* Count a timestamp of speech or noise. False: it does not rise. */
static bool count_heard_time(struct heard *h, uint32_t ts)
{
	bool rises = !h->speaking || (int32_t)(ts - h->ts) > 0;
	const struct heard_digit *d = last_digit(h);

	if (!h->speaking)
		h->ts_first = ts;
	h->speaking = true;
	h->count.backward += !rises;
	h->count.in_digit += d && ts - d->ts < d->duration;
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

static void hear_event(struct heard *h, const struct rtp_packet *p)
{
	struct heard_digit *d = NULL;
	struct telephone_event e;

	h->count.events++;
	if (telephone_event_parse(p->payload, p->payload_bytes, &e)) {
		h->count.malformed++;
		return;
	}
	/* An event is its timestamp; another code at the same time is another
	 * one. A packet that was overtaken is of an earlier one. */
	for (unsigned i = h->ndigits; i-- > 0 && !d;)
		if (h->digits[i].ts == p->ts && h->digits[i].code == e.code)
			d = &h->digits[i];
	if (!d && h->ndigits == HEARD_DIGITS) {
		h->count.more_digits++;
		d = last_digit(h);
	} else if (!d) {
		/* speech of this time has come already */
		h->count.in_digit +=
			h->speaking && (int32_t)(h->ts - p->ts) >= 0;
		d = &h->digits[h->ndigits++];
		*d = (struct heard_digit){ .ts = p->ts, .code = e.code };
	}
	/* analyzer: there is one now, or there were too many before */
	d->packets++;
	d->ends += e.end;
	if (e.duration > d->duration)
		d->duration = e.duration;
}

bool heard_packet(struct heard *h, const struct rtp_packet *p, uint64_t *index)
{
	struct comfort_noise noise;
	bool speech = false;

	if (h->cfg.deaf && random_chance(&h->random, h->cfg.deaf))
		return false;
	h->count.packets++;
	/* relayed packets have the SSRC of their sender: another one begins
	 * anew */
	if (h->cfg.ssrc) {
		h->count.wrong_ssrc += p->ssrc != h->cfg.ssrc;
	} else {
		if (h->count.packets > 1 && p->ssrc != h->ssrc) {
			rtp_source_again(&h->source);
			h->speaking = false;
		}
		h->ssrc = p->ssrc;
	}
	if (!count_number(h, p))
		return false;
	if (p->pt == h->cfg.pt) {
		speech = hear_speech(h, p, index);
	} else if (p->pt == h->cfg.pt_event) {
		hear_event(h, p);
	} else if (p->pt == h->cfg.pt_noise) {
		h->count.noise++;
		h->count.malformed +=
			comfort_noise_parse(p->payload, p->payload_bytes,
					    &noise) != 0;
		(void)count_heard_time(h, p->ts);
	} else {
		h->count.foreign++;
	}
	h->seq = p->seq;
	return speech;
}

/* --- the balance --- */

/* A counter, and how it is called. */
struct part {
	const char *name;
	uint64_t n;
};

/* clang-format off */
#define COUNTER(name) { #name, s->daemon[STREAM_COUNTER_##name] }
/* clang-format on */

__attribute__((format(printf, 2, 3))) static void fault(struct balance *b,
							const char *fmt, ...)
{
	va_list ap;

	if (b->count == BALANCE_FAULTS_MAX)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(b->faults[b->count++], BALANCE_TEXT, fmt, ap);
	va_end(ap);
}

static uint64_t sum_parts(const struct part *p, unsigned n)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += p[i].n;
	return sum;
}

/* "done 490, expired 2": those that are not 0. */
static const char *list_counts(const struct part *p, unsigned n, char *buf,
			       size_t size)
{
	size_t at = 0;

	(void)snprintf(buf, size, "nothing");
	for (unsigned i = 0; i < n && at < size; i++)
		if (p[i].n)
			at += (size_t)snprintf(buf + at, size - at,
					       "%s%s %" PRIu64, at ? ", " : "",
					       p[i].name, p[i].n);
	return buf;
}

/* @whole must be what @p add up to. */
static void must_be(struct balance *b, const char *what, uint64_t whole,
		    const struct part *p, unsigned n)
{
	uint64_t sum = sum_parts(p, n);
	char text[160];

	if (sum == whole)
		return;
	fault(b,
	      "%" PRIu64 " %s, of which the daemon counted %" PRIu64
	      ": %" PRIu64 " %s (%s)",
	      whole, what, sum, sum < whole ? whole - sum : sum - whole,
	      sum < whole ? "are missing" : "too many",
	      list_counts(p, n, text, sizeof(text)));
}

#define MUST_BE(b, what, whole, parts)                                         \
	must_be(b, what, whole, parts, sizeof(parts) / sizeof((parts)[0]))

static void judge_received(const struct balance_side *s, struct balance *b)
{
	const struct part in[] = {
		COUNTER(packets_in), COUNTER(duplicates), COUNTER(reordered),
		COUNTER(seq_jumps),  COUNTER(too_big),	  COUNTER(wrong_source),
		COUNTER(wrong_ssrc), COUNTER(probation),  COUNTER(wrong_pt),
		COUNTER(port_drops), COUNTER(unread),	  COUNTER(late_in),
		COUNTER(overflowed), COUNTER(surplus),
	};
	const struct part frames[] = {
		COUNTER(done),	      COUNTER(expired),	  COUNTER(shed),
		COUNTER(overwritten), COUNTER(concealed), COUNTER(malformed),
		COUNTER(cancelled),
	};
	const struct part relayed[] = {
		COUNTER(packets_out),
		COUNTER(no_destination),
		COUNTER(on_hold),
		COUNTER(send_failed),
	};

	MUST_BE(b, "packets were sent",
		s->phone->count.sent_speech + s->phone->count.sent_events +
			s->phone->count.sent_noise - s->phone->count.failed,
		in);
	if (s->relay)
		MUST_BE(b, "packets were taken in",
			s->daemon[STREAM_COUNTER_packets_in], relayed);
	else
		MUST_BE(b, "frames were taken in, or made",
			s->daemon[STREAM_COUNTER_packets_in] +
				s->daemon[STREAM_COUNTER_synthesized],
			frames);
}

static void judge_sent(const struct balance_side *s, struct balance *b)
{
	const uint64_t *d = s->daemon;
	uint64_t out = d[STREAM_COUNTER_packets_out];
	uint64_t made = out + d[STREAM_COUNTER_no_destination] +
			d[STREAM_COUNTER_on_hold] +
			d[STREAM_COUNTER_send_failed] +
			d[STREAM_COUNTER_excess];
	/* frames that need not lead to a packet: digits, noise, what was made
	 */
	uint64_t quiet = d[STREAM_COUNTER_events] + d[STREAM_COUNTER_cn_in] +
			 d[STREAM_COUNTER_synthesized] +
			 d[STREAM_COUNTER_muted];
	uint64_t done = d[STREAM_COUNTER_done];
	/* and pauses leave as comfort noise when some of them were shed */
	uint64_t least =
		done > quiet && !d[STREAM_COUNTER_pauses] ? done - quiet : 0;
	uint64_t most = done + d[STREAM_COUNTER_concealed] +
			d[STREAM_COUNTER_missing] +
			d[STREAM_COUNTER_events_out];
	uint64_t came = s->heard->count.packets + s->drops;

	if (came != out)
		fault(b,
		      "the daemon sent %" PRIu64 " packets to the other party, "
		      "where %" PRIu64 " came: %" PRIu64 " %s",
		      out, came, out > came ? out - came : came - out,
		      out > came ? "are missing" : "too many");
	if (s->one_to_one && (made < least || made > most))
		fault(b,
		      "%" PRIu64 " packets came of %" PRIu64 " transcoded: "
		      "expected %" PRIu64 " to %" PRIu64,
		      made, done, least, most);
}

static void judge_numbers(const struct balance_side *s, struct balance *b)
{
	const struct heard_counts *h = &s->heard->count;
	const struct part wrong[] = {
		{ "unknown SSRC", h->wrong_ssrc },
		{ "number twice", h->repeated },
		{ "behind a newer one", h->overtaken },
		{ "number far off", h->restarts },
		{ "timestamp does not rise", h->backward },
		{ "unknown payload type", h->foreign },
		{ "cannot be read", h->malformed },
		{ "speech within a digit", h->in_digit },
		{ "digit beyond those kept", h->more_digits },
	};
	uint64_t gaps = rtp_source_lost(&s->heard->source);
	/* what was lost on the way shows, too */
	uint64_t explained = s->daemon[STREAM_COUNTER_missing] +
			     s->daemon[STREAM_COUNTER_jitter_missed] + s->drops;
	char text[160];

	if (sum_parts(wrong, sizeof(wrong) / sizeof(wrong[0])))
		fault(b, "the other party was sent what is wrong: %s",
		      list_counts(wrong, sizeof(wrong) / sizeof(wrong[0]), text,
				  sizeof(text)));
	if (s->reported && gaps > explained)
		fault(b,
		      "the other party misses %" PRIu64 " numbers, but only "
		      "%" PRIu64 " packets were missing before",
		      gaps, explained);
}

/* Compare received with sent digits, in order; a digit whose packets were all
 * lost may be missing. */
static void judge_digits(const struct balance_side *s, struct balance *b)
{
	const char *digits = s->phone->flow->party.dtmf.digits;
	const struct heard *h = s->heard;
	unsigned at = 0;

	for (unsigned i = 0; digits[i]; i++)
		b->digits_sent += s->phone->digits[i].packets > 0;
	for (unsigned i = 0; i < h->ndigits; i++) {
		const struct heard_digit *came = &h->digits[i];
		uint32_t want; /* duration in our clock */
		char code = heard_digit_key(came);

		while (digits[at] &&
		       (digits[at] != code || !s->phone->digits[at].packets))
			at++;
		if (!digits[at]) {
			fault(b,
			      "digit %c came as number %u, where it was not "
			      "dialled (%s)",
			      code, i + 1, digits);
			return;
		}
		want = (uint32_t)((uint64_t)s->phone->digits[at].duration *
				  s->clock_out / s->phone->clock);
		b->digits_right += came->ends && came->duration + 1 >= want &&
				   came->duration <= want + 1;
		at++;
	}
}

void balance_judge(const struct balance_side *s, struct balance *out)
{
	*out = (struct balance){ 0 };
	if (s->reported) {
		judge_received(s, out);
		judge_sent(s, out);
	} else {
		fault(out, "the daemon did not tell what it counted");
	}
	if (!s->relay)
		judge_numbers(s, out);
	judge_digits(s, out);
}
