/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns between a relay and its call.
 *
 * A call is at rest when its ring is empty, its task sleeps, its packets have
 * left, no frames wait for more, and no digit for its end. Only frames of its
 * receiver give it work, so it stays so while that looks, and what workers have
 * written of it can be read and written here.
 */
#include "media/relay_handover.h"

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

/* Would the call send an event of type @pt on? */
static bool takes_event(const struct call *c, uint8_t pt)
{
	return aux_what(call_aux(c), pt) == FRAME_RING_EVENT &&
	       (atomic_load_explicit(&c->event_out, memory_order_acquire) &
		127u);
}

/* Can only the call make something of it? */
static bool needs_call(struct relay *r, const struct rtp_packet *p)
{
	struct call *c = call_behind(r);

	return c && relay_types(r)->type[p->pt] == RELAY_NO_TYPE &&
	       (call_codec_of(c, p->pt) >= 0 || takes_event(c, p->pt));
}

/* What the call sends, too, is one stream with what is passed on. */
static void be_one_stream(struct relay *r)
{
	const struct call *c = call_behind(r);

	if (r->renumbers || !c)
		return;
	r->renumbers = true;
	r->ssrc = c->cfg.ssrc_out;
}

/* What the relay knows of the sequence is the call's then. */
static bool may_begin(struct relay *r, const struct rtp_packet *p)
{
	struct call *c = call_behind(r);

	if (!relay_types(r)->clock[p->pt] || !is_newest(c, p->seq) ||
	    !is_at_rest(c))
		return false;
	r->seen = c->seen;
	return true;
}

enum relay_handover relay_handover_of(struct relay *r,
				      const struct rtp_packet *p)
{
	/* acquire: the call is complete, and listens */
	unsigned share = atomic_load_explicit(&r->share, memory_order_acquire);
	bool on = atomic_load_explicit(&r->on, memory_order_relaxed);

	if (on && __builtin_expect(share == RELAY_ALL, 1))
		return RELAY_HANDOVER_RELAY;
	if (on && share == RELAY_SOME)
		be_one_stream(r);
	if (on)
		return share == RELAY_NONE || needs_call(r, p)
			       ? RELAY_HANDOVER_END
			       : RELAY_HANDOVER_RELAY;
	return share != RELAY_NONE && may_begin(r, p) ? RELAY_HANDOVER_BEGIN
						      : RELAY_HANDOVER_CALL;
}

/* --- numbers --- */

/* From the last packet that was sent to the next one. */
struct step {
	int32_t units;	/* as its sender counts them */
	uint32_t clock; /* his; 0: they say nothing  */
	cr_ns passed;	/* from arrival to arrival   */
	cr_ns frame;
};

/* Its length in units of @clock: the sender's word, if that can be believed;
 * else the time in which it came, of a frame at least. */
static uint64_t length_of(const struct step *s, uint32_t clock)
{
	cr_ns time = cr_ns_max(s->passed, 0);

	if (s->clock && s->units > 0 &&
	    s->units <= rtp_units(time + STEP_SLACK, s->clock))
		return (uint64_t)s->units * clock / s->clock;
	return (uint64_t)rtp_units(cr_ns_max(time, s->frame), clock);
}

/* How many numbers @seq is behind @last, as a sender counts that goes on; 1: it
 * begins anew. */
static uint16_t follow(uint16_t seq, uint16_t last, bool fresh)
{
	int16_t step = (int16_t)(seq - last);

	return !fresh && step > 0 && step <= RELAY_HANDOVER_GAP ? (uint16_t)step
								: 1;
}

/* @p goes out @seq_step numbers and @step behind what was sent. */
static void number(struct relay *r, const struct rtp_packet *p,
		   uint16_t seq_step, const struct step *step)
{
	uint32_t clock = relay_clock(relay_types(r), p->pt);
	uint32_t ts = r->sent.ts + (uint32_t)length_of(step, clock);

	r->seq_more = (uint16_t)(r->sent.seq + seq_step - p->seq);
	r->ts_more = ts - p->ts;
}

void relay_handover_renumber(struct relay *r, const struct rtp_packet *p,
			     cr_ns now)
{
	const struct step step = { .passed = now - r->sent.at,
				   .frame = relay_types(r)->period };

	if (r->renumbers && r->sent.at)
		number(r, p, 1, &step);
}

void relay_handover_resume(struct relay *r, const struct rtp_packet *p)
{
	uint32_t ssrc;

	if (!r->sent.at || !relay_sends_as(r, &ssrc))
		return;
	if (!r->renumbers && p->ssrc != ssrc) /* a stream of its own */
		return;
	if (!r->renumbers)
		r->ssrc = ssrc;
	r->renumbers = true;
	r->seq_more = (uint16_t)(r->sent.seq + 1 - p->seq);
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
static uint32_t place_of(const struct call *c, const struct rtp_packet *p,
			 cr_ns now)
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
		.units = (int32_t)(place_of(c, p, now) - c->last.ts),
		.clock = fresh ? 0
			       : same_clock(c,
					    relay_clock(relay_types(r), p->pt)),
		.passed = now - c->last.at,
		.frame = call_period(c),
	};

	r->sent = (struct relay_sent){
		.at = c->last.at,
		.ts = c->last.ts,
		.seq = (uint16_t)(c->seq_out - 1),
	};
	number(r, p, follow(p->seq, (uint16_t)c->seen.ext, fresh), &step);
}

void relay_handover_begin(struct relay *r, const struct rtp_packet *p,
			  bool fresh, cr_ns now)
{
	struct call *c = call_behind(r);

	if (!c->after) {
		r->renumbers = true;
		r->ssrc = c->cfg.ssrc_out;
	}
	if (c->last.at)
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

void relay_handover_end(struct relay *r)
{
	struct call *c = call_behind(r);

	c->seen = r->seen;
	c->last.at = 0;
	c->restart = true;
	c->after = r;
	atomic_store_explicit(&r->on, false, memory_order_release);
}

/* Of the packets of a type that @c gets, Hz; 0: not of speech. */
static uint32_t clock_of(struct call *c, uint8_t pt)
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
	return !step->units && aux_what(call_aux(c), p->pt) == FRAME_RING_EVENT;
}

static void resume(struct call *c, const struct relay *r, uint64_t ahead)
{
	c->resume = (struct call_resume){
		.pending = true,
		.ts = r->sent.ts,
		.ahead = ahead,
	};
}

void relay_handover_join(struct call *c, const struct rtp_packet *p, bool fresh,
			 cr_ns now)
{
	const struct relay *r = c->after;
	uint16_t seq = (uint16_t)(p->seq + r->seq_more);
	uint32_t clock = relay_clock(relay_types(r), r->sent.pt);
	const struct step step = {
		.units = (int32_t)(p->ts + r->ts_more - r->sent.ts),
		.clock = fresh || clock_of(c, p->pt) != clock ? 0 : clock,
		.passed = now - r->sent.at,
		.frame = call_period(c),
	};

	/* else it does not get in, and the next one is asked */
	if (!fresh && rtp_source_has_passed(&c->seen, p->seq))
		return;
	c->after = NULL;
	if (!r->sent.at)
		return;
	/* what was not sent to a listener on hold is no loss */
	c->seq_out = (uint16_t)(r->sent.seq +
				follow(seq, r->sent.seq, fresh || r->held));
	resume(c, r,
	       !fresh && is_same_event(c, p, &step)
		       ? 0
		       : length_of(&step, CALL_RESUME_CLOCK));
}
