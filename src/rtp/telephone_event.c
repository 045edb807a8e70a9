/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telephone events (RFC 4733).
 *
 * The relay follows one event, the newest:
 *
 *      a new timestamp      end, time-out, next event      three ends sent
 *   -> begun, active --------> ending ---------------------> over
 *        | update: send on       | sender's end, or timer:     | all of it
 *        | again: nothing        |   one more end              |   is late
 *
 * Lengths are counted from the event's start in 64 bits, in the input's clock.
 * The output's segments follow from that alone. So neither a lost packet nor
 * the other side's segments change what a receiver adds up.
 */
#include "rtp/telephone_event.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"

enum {
	ENDS = 3,	    /* RFC 4733, 2.5.1.4 */
	SEGMENT = 0xffff,   /* longest duration of a packet */
	LATE_SECONDS = 5,   /* older than that: the sender's clock jumped */
	VOLUME_MASK = 0x3f, /* below the end bit and the reserved one */
	END_BIT = 0x80,
};

const struct telephone_event_set telephone_event_digits = { { 0xffff } };

int telephone_event_parse(const uint8_t *payload, size_t bytes,
			  struct telephone_event *out)
{
	if (!bytes || bytes % TELEPHONE_EVENT_BYTES)
		return -EINVAL;
	*out = (struct telephone_event){
		.code = payload[0],
		.end = payload[1] & END_BIT,
		.volume = payload[1] & VOLUME_MASK,
		.duration = (uint16_t)(payload[2] << 8 | payload[3]),
	};
	return 0;
}

size_t telephone_event_build(uint8_t *buf, const struct telephone_event *event)
{
	unsigned volume =
		event->volume < VOLUME_MASK ? event->volume : VOLUME_MASK;

	buf[0] = event->code;
	buf[1] = (uint8_t)((event->end ? END_BIT : 0u) | volume);
	buf[2] = (uint8_t)(event->duration >> 8);
	buf[3] = (uint8_t)event->duration;
	return TELEPHONE_EVENT_BYTES;
}

struct telephone_event_cfg telephone_event_defaults(unsigned clock_in,
						    unsigned clock_out)
{
	return (struct telephone_event_cfg){
		.clock_in = clock_in,
		.clock_out = clock_out,
		.takes = telephone_event_digits,
		.timeout = 300 * CR_MS,
		.interval = 20 * CR_MS,
	};
}

int telephone_event_relay_init(struct telephone_event_relay *r,
			       const struct telephone_event_cfg *cfg)
{
	if (!telephone_event_is_clock(cfg->clock_in) ||
	    !telephone_event_is_clock(cfg->clock_out))
		return -EINVAL;
	*r = (struct telephone_event_relay){
		.cfg = *cfg,
		.clock_in = cfg->clock_in,
		.clock_out = cfg->clock_out,
	};
	return 0;
}

static bool takes(const struct telephone_event_set *set, uint8_t code)
{
	return set->codes[code / 64] >> code % 64 & 1;
}

/* @length of the input in the output's clock. Something is never nothing: a
 * duration of 0 means another kind of event. */
static uint64_t scale_length(const struct telephone_event_relay *r,
			     uint64_t length)
{
	uint64_t out = length * r->clock_out / r->clock_in;

	return out || !length ? out : 1;
}

static void put_event_packet(struct telephone_event_relay *r, uint64_t duration,
			     bool end, struct telephone_event_burst *out)
{
	const struct telephone_event event = {
		.code = r->code,
		.end = end,
		.volume = r->volume,
		.duration = (uint16_t)duration,
	};
	struct telephone_event_packet *p;

	CR_ASSERT(out->n < TELEPHONE_EVENT_BURST_MAX);
	p = &out->packets[out->n++];
	p->ts = r->ts_out;
	p->marker = !r->marked;
	(void)telephone_event_build(p->payload, &event);
	r->marked = true;
}

/* The segments that are full, three times as ends are, but without the bit. At
 * once: later they would go out among the next segment's. Of several, after a
 * gap, only the last one three times. Returns what is left for the segment that
 * is not full. */
static uint64_t put_segments(struct telephone_event_relay *r,
			     struct telephone_event_burst *out)
{
	uint64_t length = scale_length(r, r->length_in);

	while (length - r->before_out > SEGMENT) {
		bool last = length - r->before_out <= 2 * SEGMENT;
		unsigned times = last ? ENDS : 1;

		for (unsigned i = 0; i < times; i++)
			put_event_packet(r, SEGMENT, false, out);
		r->counts.made += times;
		r->before_out += SEGMENT;
		r->ts_out += SEGMENT;
	}
	return length - r->before_out;
}

static void put_end(struct telephone_event_relay *r, cr_ns now,
		    struct telephone_event_burst *out)
{
	put_event_packet(r, put_segments(r, out), true, out);
	r->ends_left--;
	r->next_end = cr_ns_add(now, r->cfg.interval);
}

static void stop_event(struct telephone_event_relay *r)
{
	r->active = false;
	r->ends_left = ENDS;
	r->counts.ended++;
}

/* Another event is about to begin: all that this one still needs. */
static void finish_event(struct telephone_event_relay *r, cr_ns now,
			 struct telephone_event_burst *out)
{
	if (r->active) {
		stop_event(r);
		r->counts.cut_short++;
	}
	while (r->ends_left) {
		put_end(r, now, out);
		r->counts.made++;
	}
}

static void begin_event(struct telephone_event_relay *r, uint32_t ts,
			uint32_t ts_out)
{
	/* Rising, even where two starts are less than a unit of the output
	 * apart, or the stream's timestamps begin anew. */
	if (r->sent_out && (int32_t)(ts_out - r->ts_out) <= 0)
		ts_out = r->ts_out + 1;
	r->known = true;
	r->active = true;
	r->marked = false;
	r->starved = false;
	r->clock_in = r->cfg.clock_in;
	r->clock_out = r->cfg.clock_out;
	r->ts_in = ts;
	r->before_in = 0;
	r->length_in = 0;
	r->sent_out = true;
	r->ts_out = ts_out;
	r->before_out = 0;
	r->counts.begun++;
}

/* Is the event of timestamp @ts not the newest one, but older? Not when nothing
 * has come for so long that no network could have kept it. */
static bool is_older(const struct telephone_event_relay *r, cr_ns now,
		     uint32_t ts)
{
	uint32_t by = r->ts_in - ts;

	return r->known && by > 0 && by <= r->cfg.clock_in * LATE_SECONDS &&
	       now <= cr_ns_add(r->heard, LATE_SECONDS * CR_SEC);
}

/* Is it the next segment of the newest event? Its first packet has no marker,
 * which tells it from another event of the same code (RFC 4733, 2.5.1.3). */
static bool is_next_segment(const struct telephone_event_relay *r, uint32_t ts,
			    bool marker, uint8_t code)
{
	return (r->active || r->starved) && code == r->code && !marker &&
	       ts - r->ts_in == SEGMENT;
}

static void update_event(struct telephone_event_relay *r, cr_ns now,
			 const struct telephone_event *event,
			 struct telephone_event_burst *out)
{
	uint64_t length = r->before_in + event->duration;
	bool longer = length > r->length_in;

	r->heard = now;
	r->volume = event->volume;
	if (longer)
		r->length_in = length;
	if (event->end) {
		stop_event(r);
		put_end(r, now, out);
	} else if (longer || !r->marked) {
		put_event_packet(r, put_segments(r, out), false, out);
	} else {
		r->counts.repeated += length == r->length_in;
		r->counts.late += length < r->length_in;
		return;
	}
	r->counts.relayed++;
}

/* One event of a packet, which began at @ts (@ts_out of the output). */
static void record(struct telephone_event_relay *r, cr_ns now,
		   const struct telephone_event *event, uint32_t ts,
		   uint32_t ts_out, bool marker,
		   struct telephone_event_burst *out)
{
	r->counts.records++;
	if (!takes(&r->cfg.takes, event->code)) {
		r->counts.unwanted++;
		return;
	}
	if (is_older(r, now, ts)) {
		r->counts.late++;
		return;
	}
	if (is_next_segment(r, ts, marker, event->code)) {
		r->ts_in = ts;
		r->before_in += SEGMENT;
	} else if (!r->known || ts != r->ts_in) {
		finish_event(r, now, out);
		begin_event(r, ts, ts_out);
		r->code = event->code;
	} else if (event->code != r->code) {
		/* Two codes with one timestamp: the first one counts. */
		r->counts.late++;
		return;
	}
	if (r->active) {
		update_event(r, now, event, out);
	} else if (!event->end) { /* the end is known already */
		r->counts.late++;
	} else if (!r->ends_left) {
		r->counts.repeated++;
	} else {
		put_end(r, now, out);
		r->counts.relayed++;
	}
}

void telephone_event_relay_packet(struct telephone_event_relay *r, cr_ns now,
				  const struct telephone_event_arrival *in,
				  struct telephone_event_burst *out)
{
	struct telephone_event event;
	size_t n = in->bytes / TELEPHONE_EVENT_BYTES;
	uint32_t after = 0;

	out->n = 0;
	r->counts.packets++;
	if (!n || in->bytes % TELEPHONE_EVENT_BYTES) {
		r->counts.malformed++;
		return;
	}
	if (n > TELEPHONE_EVENT_PACKED_MAX) {
		r->counts.excess += n - TELEPHONE_EVENT_PACKED_MAX;
		n = TELEPHONE_EVENT_PACKED_MAX;
	}
	for (size_t i = 0; i < n; i++) {
		(void)telephone_event_parse(in->payload +
						    i * TELEPHONE_EVENT_BYTES,
					    TELEPHONE_EVENT_BYTES, &event);
		record(r, now, &event, in->ts + after,
		       in->ts_out + (uint32_t)scale_length(r, after),
		       in->marker, out);
		/* They follow each other without a gap (2.5.1.5). */
		after += event.duration;
	}
}

cr_ns telephone_event_relay_due(const struct telephone_event_relay *r)
{
	if (r->active)
		return cr_ns_add(r->heard, r->cfg.timeout);
	return r->ends_left ? r->next_end : CR_NEVER;
}

void telephone_event_relay_poll(struct telephone_event_relay *r, cr_ns now,
				struct telephone_event_burst *out)
{
	out->n = 0;
	if (now < telephone_event_relay_due(r))
		return;
	if (r->active) {
		stop_event(r);
		r->starved = true;
		r->counts.timed_out++;
	}
	if (r->ends_left) {
		put_end(r, now, out);
		r->counts.made++;
	}
}

void telephone_event_relay_restart(struct telephone_event_relay *r,
				   struct telephone_event_burst *out)
{
	out->n = 0;
	finish_event(r, r->heard, out);
	r->known = false;
	r->starved = false;
}

/* --- the digits of a stream --- */

/* Speech further before an event's end than twice the longest duration of a
 * packet is not of its time: timestamps have leapt. */
#define BEHIND_MAX (2u * UINT16_MAX)

int digits_init(struct digits *d, const struct digits_clocks *clocks)
{
	const struct telephone_event_cfg cfg =
		telephone_event_defaults(clocks->in, clocks->out);

	memset(d, 0, sizeof(*d));
	d->speech = clocks->speech;
	return telephone_event_relay_init(&d->relay, &cfg);
}

void digits_set_clocks(struct digits *d, const struct digits_clocks *clocks)
{
	d->relay.cfg.clock_in = clocks->in;
	d->relay.cfg.clock_out = clocks->out;
	d->speech = clocks->speech;
}

/* Speech belongs behind the event's last packet. */
static void note_event_end(struct digits *d,
			   const struct telephone_event_burst *out)
{
	const struct telephone_event_relay *r = &d->relay;
	const struct telephone_event_packet *last;
	struct telephone_event event;
	uint64_t length;

	if (!out->n)
		return;
	last = &out->packets[out->n - 1];
	if (telephone_event_parse(last->payload, sizeof(last->payload), &event))
		return;
	length = r->before_out + event.duration;
	d->end = last->ts - (uint32_t)r->before_out +
		 (uint32_t)(length * d->speech / r->clock_out);
	d->over = true;
}

void digits_packet(struct digits *d, cr_ns now,
		   const struct telephone_event_arrival *in,
		   struct telephone_event_burst *out)
{
	telephone_event_relay_packet(&d->relay, now, in, out);
	note_event_end(d, out);
}

void digits_restart(struct digits *d, struct telephone_event_burst *out)
{
	telephone_event_relay_restart(&d->relay, out);
	note_event_end(d, out);
}

void digits_tick(struct digits *d, cr_ns now, struct telephone_event_burst *out)
{
	telephone_event_relay_poll(&d->relay, now, out);
	note_event_end(d, out);
}

bool digits_go_on(const struct digits *d)
{
	return telephone_event_relay_due(&d->relay) != CR_NEVER;
}

bool digits_mute(struct digits *d, uint32_t ts)
{
	if (telephone_event_relay_active(&d->relay))
		return true;
	if (!d->over)
		return false;
	if (d->end - ts - 1 < BEHIND_MAX)
		return true;
	d->over = false; /* or a wrap would bring it back */
	return false;
}
