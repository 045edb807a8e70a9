/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inflow of a call.
 */
#include "media/inflow.h"

#include <errno.h>
#include <stdlib.h>

#include "rtp/silence.h"
#include "rtp/telephone_event.h"

/* An event's ticks: when its relay looks whether the end has come (it gives up
 * after 300 ms), and then for the end packets that nobody sent. */
#define TICK_OPEN (320 * CR_MS)
#define TICK_END (20 * CR_MS)
#define TICKS 3u
/* Packets of a buffer for so much more than its longest delay. */
#define SLOTS_SPARE 4u
/* Of a codec whose silence shows in the length of its packets only: Opus with
 * DTX sends 2 octets at most (RFC 7587, 3.1.3; RFC 6716, 3.1). */
#define QUIET_BYTES 2u

struct inflow {
	struct inflow_cfg cfg;
	struct jitter *jitter; /* NULL: none */
	struct silence silence;
	bool restart;		/* the next frame is of another sender */
	struct rtp_source seen; /* all that comes, if there is a buffer */
	cr_ns step_ns;		/* of a packet */
	uint16_t seq;		/* of the last packet that came out */
	unsigned ticks;		/* yet to come */
	cr_ns tick_at;		/* CR_NEVER: none */
};

static void gone(void *arg, const struct jitter_output *packet)
{
	struct inflow *f = arg;

	(void)packet;
	f->cfg.gone(f->cfg.arg);
}

static int open_jitter(struct inflow *f, struct cr_err *e)
{
	const struct inflow_terms *t = &f->cfg.terms;
	cr_ns slots = t->most / f->step_ns + SLOTS_SPARE;
	const struct jitter_cfg cfg = {
		.kind = t->jitter,
		.least = t->least,
		.most = t->most,
		.clock = f->cfg.clock,
		.slots = slots > JITTER_SLOTS_MAX ? JITTER_SLOTS_MAX
						  : (unsigned)slots,
		.slot_bytes = f->cfg.slot_bytes,
		.gone = gone,
		.arg = f,
	};

	return t->jitter == JITTER_OFF ? 0 : jitter_open(&f->jitter, &cfg, e);
}

int inflow_open(struct inflow **out, const struct inflow_cfg *cfg,
		struct cr_err *e)
{
	struct inflow *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return cr_fail(e, -ENOMEM, "out of memory for a call's inflow");
	f->cfg = *cfg;
	f->step_ns = (cr_ns)cfg->step * CR_SEC / cfg->clock;
	f->tick_at = CR_NEVER;
	silence_init(&f->silence,
		     &(struct silence_cfg){
			     .clock = cfg->clock,
			     .step = cfg->step,
			     .always = cfg->terms.fill == INFLOW_FILL_ALWAYS,
		     });
	err = open_jitter(f, e);
	if (err) {
		free(f);
		return err;
	}
	*out = f;
	return 0;
}

void inflow_close(struct inflow *f)
{
	if (!f)
		return;
	jitter_close(f->jitter);
	free(f);
}

bool inflow_buffers(const struct inflow *f)
{
	return f->jitter != NULL;
}

uint32_t inflow_clock(const struct inflow *f)
{
	return f->cfg.clock;
}

unsigned inflow_waiting(const struct inflow *f)
{
	return f->jitter ? jitter_waiting(f->jitter) : 0;
}

/* --- payloads --- */

/* How long the speech in a payload is, and whether it ends in silence. */
struct extent {
	uint32_t units;
	bool silent;
};

static struct extent extent_of(const struct inflow *f, const uint8_t *payload,
			       unsigned bytes)
{
	const struct inflow_cfg *cfg = &f->cfg;
	struct extent x = { .units = cfg->step };
	struct payload_iter it;
	struct cr_frame frame;

	if (payload_is_pcm(&cfg->payload)) {
		x.units = (uint32_t)((uint64_t)payload_pcm_samples(
					     &cfg->payload, bytes) *
				     cfg->clock / cfg->rate);
		return x;
	}
	if (cfg->payload.kind == PAYLOAD_WHOLE) {
		x.silent = bytes <= QUIET_BYTES;
		return x;
	}
	if (payload_open(&cfg->payload, payload, bytes, &it))
		return x;
	while (payload_next(&it, &frame))
		x.silent = frame.kind == CR_FRAME_SID ||
			   frame.kind == CR_FRAME_NO_DATA;
	return x;
}

/* --- frames --- */

/* With its place in time: what silence was filled before. */
static void emit(struct inflow *f, struct inflow_frame *frame,
		 const struct extent *x)
{
	struct silence_place place;

	if (f->cfg.terms.fill != INFLOW_FILL_NEVER) {
		if (frame->restart)
			silence_restart(&f->silence);
		place = silence_packet(&f->silence, frame->ts, x->units,
				       x->silent, frame->at);
		frame->ts = place.ts;
		frame->covered = place.covered;
		if (frame->what == CR_RING_NOISE && !place.covered)
			frame->units = (uint16_t)x->units;
	}
	f->cfg.emit(f->cfg.arg, frame);
}

/* Nothing of the party: it takes no part in what was restarted. */
static void make(struct inflow *f, enum cr_frame_what what, uint32_t ts,
		 uint32_t units, cr_ns at)
{
	const struct inflow_frame frame = {
		.what = what,
		.ts = ts,
		.seq = f->seq,
		.units = (uint16_t)units,
		.at = at,
	};

	f->cfg.emit(f->cfg.arg, &frame);
}

static void emit_packet(struct inflow *f, enum cr_frame_what what,
			struct inflow_frame *frame)
{
	struct extent x = { .units = f->cfg.step, .silent = true };

	frame->what = what;
	frame->restart = f->restart;
	f->restart = false;
	f->seq = frame->seq;
	if (what == CR_RING_SPEECH)
		x = extent_of(f, frame->payload, frame->bytes);
	emit(f, frame, &x);
}

static bool is_silent(const struct inflow *f, enum cr_frame_what what,
		      const struct rtp_packet *p)
{
	return what == CR_RING_NOISE ||
	       extent_of(f, p->payload, (unsigned)p->payload_bytes).silent;
}

/* --- the jitter buffer --- */

static void play(struct inflow *f, const struct jitter_output *o, cr_ns now)
{
	struct inflow_frame frame = {
		.marker = o->marker,
		.pt = o->pt,
		.payload = o->payload,
		.bytes = o->bytes,
		.ts = o->ts,
		.seq = o->seq,
		.at = now,
		.waited = o->wait,
	};

	f->restart |= o->restart;
	emit_packet(f, inflow_what(&f->cfg.terms, o->pt), &frame);
}

static void conceal(struct inflow *f, const struct jitter_output *o, cr_ns now)
{
	struct inflow_frame frame = {
		.what = CR_RING_LOST,
		.ts = o->ts,
		.seq = f->seq,
		.units = (uint16_t)o->duration,
		.at = now,
	};

	emit(f, &frame, &(struct extent){ .units = o->duration });
}

static void drain(struct inflow *f, cr_ns now)
{
	struct jitter_output o;
	enum jitter_next next;

	while ((next = jitter_next(f->jitter, now, &o)) != JITTER_NOTHING)
		if (next == JITTER_PLAY)
			play(f, &o, now);
		else if (next == JITTER_CONCEAL)
			conceal(f, &o, now);
}

static enum jitter_put buffer(struct inflow *f, const struct inflow_arrival *in)
{
	const struct jitter_input put = {
		.rtp = in->rtp,
		.arrival = in->at,
		.silent = is_silent(f, in->what, in->rtp),
	};
	enum jitter_put result = jitter_put(f->jitter, &put);

	f->restart |= in->restart;
	drain(f, in->at);
	return result;
}

/* --- events --- */

static struct inflow_frame frame_of(const struct inflow_arrival *in)
{
	return (struct inflow_frame){
		.what = in->what,
		.marker = in->rtp->marker,
		.restart = in->restart,
		.pt = in->rtp->pt,
		.payload = in->rtp->payload,
		.bytes = (unsigned)in->rtp->payload_bytes,
		.ts = in->rtp->ts,
		.seq = in->rtp->seq,
		.at = in->at,
	};
}

static void pass_event(struct inflow *f, const struct inflow_arrival *in)
{
	struct inflow_frame frame = frame_of(in);
	struct telephone_event event;

	f->restart |= in->restart;
	frame.restart = f->restart; /* and so is its first speech */
	if (f->restart)
		silence_restart(&f->silence);
	if (telephone_event_parse(frame.payload, frame.bytes, &event))
		event.end = true; /* the relay counts it */
	f->seq = frame.seq;
	f->ticks = TICKS;
	f->tick_at = in->at + (event.end ? TICK_END : TICK_OPEN);
	f->cfg.emit(f->cfg.arg, &frame);
}

static void tick(struct inflow *f, cr_ns now)
{
	make(f, CR_RING_TICK, 0, 0, now);
	f->tick_at = --f->ticks ? now + TICK_END : CR_NEVER;
}

/* --- both --- */

/* By its number: the buffer does not see those of another clock. */
static enum jitter_put in_order(struct inflow *f,
				const struct inflow_arrival *in)
{
	if (!f->jitter)
		return JITTER_TAKEN;
	if (in->restart)
		rtp_source_again(&f->seen);
	switch (rtp_source_update(&f->seen, in->rtp->seq)) {
	case RTP_NEW:
		return JITTER_TAKEN;
	case RTP_RESTART:
		return JITTER_RESTART;
	case RTP_DUPLICATE:
		return JITTER_DUPLICATE;
	case RTP_REORDERED:
		return JITTER_LATE;
	case RTP_STRAY:
		break;
	}
	return JITTER_STRAY;
}

/* Of another clock: what is known of times says nothing of it. */
static enum jitter_put pass_foreign(struct inflow *f,
				    const struct inflow_arrival *in,
				    enum jitter_put put)
{
	struct inflow_frame frame = frame_of(in);

	if (put < 0)
		return put;
	if (f->jitter)
		jitter_reset(f->jitter);
	silence_restart(&f->silence);
	frame.restart |= f->restart;
	f->restart = false;
	f->seq = frame.seq;
	f->cfg.emit(f->cfg.arg, &frame);
	return put;
}

enum jitter_put inflow_packet(struct inflow *f, const struct inflow_arrival *in)
{
	struct inflow_arrival now = *in;
	enum jitter_put order = in_order(f, in);
	struct inflow_frame frame;

	now.restart |= order == JITTER_RESTART;
	if (now.restart && f->jitter) /* also if it sees none of the sender */
		jitter_reset(f->jitter);
	if (in->what == CR_RING_EVENT) {
		pass_event(f, &now);
		return JITTER_TAKEN;
	}
	if (in->clock != f->cfg.clock)
		return pass_foreign(f, &now, order);
	if (f->jitter)
		return buffer(f, &now);
	f->restart |= in->restart;
	frame = frame_of(in);
	emit_packet(f, in->what, &frame);
	return JITTER_TAKEN;
}

void inflow_poll(struct inflow *f, cr_ns now)
{
	uint32_t ts;

	if (f->jitter)
		drain(f, now);
	if (silence_due(&f->silence) <= now &&
	    silence_next(&f->silence, now, &ts))
		make(f, CR_RING_SILENCE, ts, f->cfg.step, now);
	if (f->tick_at <= now)
		tick(f, now);
}

cr_ns inflow_due(const struct inflow *f)
{
	cr_ns due = cr_ns_min(silence_due(&f->silence), f->tick_at);

	cr_ns play = f->jitter ? jitter_due(f->jitter) : CR_NEVER;

	/* the next packet is likely to come before that */
	return play == CR_NEVER ? due : cr_ns_min(due, play + f->step_ns);
}
