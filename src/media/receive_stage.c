/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receive stage of a call.
 */
#include "media/receive_stage.h"

#include <errno.h>
#include <stdlib.h>

#include "rtp/clocks.h"
#include "rtp/silence.h"
#include "rtp/telephone_event.h"

/* An event's ticks: when its relay looks whether the end has come (it gives up
 * after 300 ms), and then for the end packets that nobody sent. */
#define TICK_OPEN (320 * CR_MS)
#define TICK_END (20 * CR_MS)
#define TICKS 3u
/* Packets of a buffer for so much more than its longest delay. */
#define SLOTS_SPARE 4u
#define PACKET_SHORT (10 * CR_MS)
/* Clocks of events are multiples of it. */
#define EVENT_KHZ 8u
/* An event whose timestamps differ so much from the clock of speech has a clock
 * of its own. */
#define EVENT_FAR_SECONDS 1u

struct receive_stage {
	struct receive_stage_cfg cfg;
	struct jitter *jitter; /* NULL: none */
	struct silence silence;
	struct clocks clocks;
	struct receive_stage_codec
		codecs[RECEIVE_STAGE_CODECS]; /* as they came */
	cr_ns step_ns;	 /* of a frame of silence          */
	uint32_t length; /* of the latest packet of speech */
	cr_ns length_ns;
	cr_ns now; /* of the latest packet           */

	/* the last packet that came out */
	bool restart; /* the next one is of another sender */
	uint16_t seq;
	/* and of speech or noise: its timestamp, and where that is */
	uint32_t ts, place;
	uint8_t number; /* codec of the speech */

	unsigned ticks; /* yet to come */
	cr_ns tick_at;	/* CR_NEVER: none */
};

static void pass_discarded(void *arg, const struct jitter_output *packet);

static int open_jitter(struct receive_stage *f, struct cr_err *e)
{
	const struct receive_stage_terms *t = &f->cfg.terms;
	/* its party may pack less at a time than was agreed at first */
	cr_ns slots =
		t->most / cr_ns_min(f->step_ns, PACKET_SHORT) + SLOTS_SPARE;
	const struct jitter_cfg cfg = {
		.kind = t->jitter,
		.least = t->least,
		.most = t->most,
		.clock = f->cfg.clock,
		.slots = slots > JITTER_SLOTS_MAX ? JITTER_SLOTS_MAX
						  : (unsigned)slots,
		.slot_bytes = f->cfg.slot_bytes,
		.gone = pass_discarded,
		.arg = f,
	};

	return t->jitter == JITTER_OFF ? 0 : jitter_open(&f->jitter, &cfg, e);
}

int receive_stage_open(struct receive_stage **out,
		       const struct receive_stage_cfg *cfg, struct cr_err *e)
{
	struct receive_stage *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return cr_fail(e, -ENOMEM,
			       "out of memory for a call's receive stage");
	f->cfg = *cfg;
	f->step_ns = (cr_ns)cfg->step * CR_SEC / cfg->clock;
	f->length = cfg->step;
	f->length_ns = f->step_ns;
	f->tick_at = CR_NEVER;
	clocks_init(&f->clocks, cfg->clock, f->step_ns);
	silence_init(&f->silence, &(struct silence_cfg){
					  .clock = cfg->clock,
					  .step = cfg->step,
					  .always = cfg->terms.fill ==
						    RECEIVE_STAGE_FILL_ALWAYS,
				  });
	err = open_jitter(f, e);
	if (err) {
		free(f);
		return err;
	}
	*out = f;
	return 0;
}

void receive_stage_close(struct receive_stage *f)
{
	if (!f)
		return;
	jitter_close(f->jitter);
	free(f);
}

bool receive_stage_buffers(const struct receive_stage *f)
{
	return f->jitter != NULL;
}

void receive_stage_set_period(struct receive_stage *f, cr_ns period)
{
	if (period == f->step_ns)
		return;
	f->step_ns = period;
	f->cfg.step = (uint32_t)(period * f->cfg.clock / CR_SEC);
	silence_set_step(&f->silence, f->cfg.step);
}

void receive_stage_set_fill(struct receive_stage *f,
			    enum receive_stage_fill fill)
{
	if (fill == f->cfg.terms.fill)
		return;
	f->cfg.terms.fill = fill;
	f->silence.cfg.always = fill == RECEIVE_STAGE_FILL_ALWAYS;
	silence_restart(&f->silence);
}

unsigned receive_stage_waiting(const struct receive_stage *f)
{
	return f->jitter ? jitter_waiting(f->jitter) : 0;
}

/* --- payloads --- */

/* How long what is in a payload is, and whether it ends in silence. */
struct extent {
	uint32_t rtp_ticks;
	bool silent;
};

/* @samples of @codec in the receive stage's time. */
static uint32_t ticks_of(const struct receive_stage *f,
			 const struct receive_stage_codec *codec,
			 unsigned samples)
{
	return (uint32_t)((uint64_t)samples * f->cfg.clock / codec->rate);
}

static struct extent extent_of_speech(const struct receive_stage *f,
				      const struct receive_stage_codec *codec,
				      const uint8_t *payload, unsigned bytes)
{
	const struct codec_use *side = codec->side;
	struct extent x = { 0 };
	struct payload_iter it;
	struct cr_frame frame;
	unsigned samples;

	if (payload_is_pcm(side) || side->kind == PAYLOAD_WHOLE) {
		samples = codec_use_samples(side, payload, bytes);
		x.rtp_ticks = ticks_of(f, codec, samples);
		x.silent = side->kind == PAYLOAD_WHOLE &&
			   bytes <= PAYLOAD_QUIET_BYTES;
		return x;
	}
	if (payload_open(side, payload, bytes, &it))
		return x; /* nothing comes of it */
	samples = it.info.nframes * codec_use_samples(side, NULL, 0);
	x.rtp_ticks = ticks_of(f, codec, samples);
	while (payload_next(&it, &frame))
		x.silent = frame.kind == CR_FRAME_SID ||
			   frame.kind == CR_FRAME_NO_DATA;
	return x;
}

/* The extent of @in, if it takes time. */
static struct extent extent_of(const struct receive_stage *f,
			       const struct receive_stage_arrival *in)
{
	if (in->what == FRAME_RING_SPEECH)
		return extent_of_speech(f, &in->codec, in->rtp->payload,
					(unsigned)in->rtp->payload_bytes);
	return (struct extent){ .rtp_ticks = f->cfg.step,
				.silent = in->what == FRAME_RING_NOISE };
}

/* --- time --- */

/* @rtp_ticks of the receive stage's time in the clock of the present codec. */
static uint32_t ticks_of_codec(const struct receive_stage *f,
			       uint32_t rtp_ticks)
{
	uint32_t clock = f->codecs[f->number].clock;

	if (!clock || clock == f->cfg.clock)
		return rtp_ticks;
	return (uint32_t)((int64_t)(int32_t)rtp_ticks * clock / f->cfg.clock);
}

/* The timestamp, to that codec, of what is at @place. */
static uint32_t ts_of(const struct receive_stage *f, uint32_t place)
{
	return f->ts + ticks_of_codec(f, place - f->place);
}

/* --- frames --- */

/* At @place and its own timestamp; or later, where silence was filled. */
static void hand_out_frame(struct receive_stage *f,
			   struct receive_stage_frame *frame, uint32_t place,
			   const struct extent *x)
{
	struct silence_place to;

	if (f->cfg.terms.fill != RECEIVE_STAGE_FILL_NEVER) {
		if (frame->restart)
			silence_restart(&f->silence);
		to = silence_packet(&f->silence, place, x->rtp_ticks, x->silent,
				    frame->meta.arrival);
		frame->meta.shift = ticks_of_codec(f, to.ts - place);
		frame->meta.rtp_ts += frame->meta.shift;
		frame->meta.decode_only = to.decode_only;
		if (frame->meta.what == FRAME_RING_NOISE && !to.decode_only)
			frame->meta.rtp_ticks =
				(uint16_t)ticks_of_codec(f, x->rtp_ticks);
	}
	f->cfg.emit(f->cfg.arg, frame);
}

/* Nothing of the party: it takes no part in what was restarted. */
static void make_frame(struct receive_stage *f, enum frame_ring_what what,
		       uint32_t ts, uint32_t rtp_ticks, cr_ns at)
{
	const struct receive_stage_frame frame = {
		.meta.what = (uint8_t)what,
		.meta.rtp_ts = ts,
		.meta.rtp_seq = f->seq,
		.meta.rtp_ticks = (uint16_t)rtp_ticks,
		.meta.arrival = at,
		.meta.shift = ticks_of_codec(f, silence_shift(&f->silence)),
	};

	f->cfg.emit(f->cfg.arg, &frame);
}

/* Which codec, or of events which clock: in EVENT_KHZ. */
static uint8_t codec_number_of(const struct receive_stage_arrival *in)
{
	return in->what == FRAME_RING_EVENT
		       ? (uint8_t)(in->codec.clock / 1000 / EVENT_KHZ)
		       : in->number;
}

/* Of codec @number, if it is speech. */
static void emit_packet(struct receive_stage *f,
			struct receive_stage_frame *frame, uint8_t number,
			uint32_t place, const struct extent *x)
{
	frame->restart = f->restart;
	f->restart = false;
	f->seq = frame->meta.rtp_seq;
	if (frame->meta.what == FRAME_RING_EVENT) {
		struct telephone_event event;

		frame->meta.rtp_ticks = number * EVENT_KHZ;
		/* an event of a new sender ends the silence of the one before
		 */
		if (frame->restart)
			silence_restart(&f->silence);
		if (telephone_event_parse(frame->payload, frame->meta.bytes,
					  &event))
			event.end = true; /* the relay counts it */
		f->ticks = TICKS;
		f->tick_at = frame->meta.arrival +
			     (event.end ? TICK_END : TICK_OPEN);
		f->cfg.emit(f->cfg.arg, frame);
		return;
	}
	if (frame->meta.what == FRAME_RING_SPEECH) {
		f->number = number;
		frame->meta.codec = number;
	}
	f->ts = frame->meta.rtp_ts;
	f->place = place;
	hand_out_frame(f, frame, place, x);
}

/* --- the jitter buffer --- */

static void play_out_packet(struct receive_stage *f,
			    const struct jitter_output *o, cr_ns now)
{
	struct receive_stage_frame frame = {
		.meta.what = o->tag >> 4,
		.meta.marker = o->marker,
		.payload = o->payload,
		.meta.bytes = (uint16_t)o->bytes,
		.meta.rtp_ts = o->ts - o->shift,
		.meta.rtp_seq = o->seq,
		.lost = (uint16_t)o->missing,
		.meta.arrival = now,
		.meta.waited = (uint32_t)cr_ns_max(now - o->arrival, 0),
	};

	const struct extent x = {
		.rtp_ticks = frame.meta.what == FRAME_RING_SPEECH ? o->duration
								  : f->cfg.step,
		.silent = o->silent,
	};

	f->restart |= o->restart;
	emit_packet(f, &frame, o->tag & (RECEIVE_STAGE_CODECS - 1), o->ts, &x);
}

/* An event is too old to wait, but not lost. */
static void pass_discarded(void *arg, const struct jitter_output *packet)
{
	struct receive_stage *f = arg;

	if (packet->aux)
		play_out_packet(f, packet, f->now);
	else
		f->cfg.gone(f->cfg.arg);
}

static void conceal_missing(struct receive_stage *f,
			    const struct jitter_output *o, cr_ns now)
{
	struct receive_stage_frame frame = {
		.meta.what = FRAME_RING_LOST,
		.meta.rtp_ts = ts_of(f, o->ts),
		.meta.rtp_seq = f->seq,
		.meta.rtp_ticks = (uint16_t)ticks_of_codec(f, o->duration),
		.meta.arrival = now,
	};

	if (o->payload && o->tag == f->number && /* speech of the same codec */
	    f->codecs[f->number].side->codec->recover) {
		frame.payload = o->payload;
		frame.meta.bytes = (uint16_t)o->bytes;
	}
	hand_out_frame(f, &frame, o->ts,
		       &(struct extent){ .rtp_ticks = o->duration });
}

static void drain_jitter(struct receive_stage *f, cr_ns now)
{
	struct jitter_output o;
	enum jitter_next next;

	while ((next = jitter_next(f->jitter, now, &o)) != JITTER_NOTHING)
		if (next == JITTER_PLAY)
			play_out_packet(f, &o, now);
		else if (next == JITTER_CONCEAL)
			conceal_missing(f, &o, now);
}

/* --- packets --- */

/* Behind the beginning of an event when its packet was sent, less what speech
 * that was sent with it had begun earlier. */
static uint32_t lasted(const struct receive_stage *f,
		       const struct receive_stage_arrival *in)
{
	const struct rtp_packet *p = in->rtp;
	struct telephone_event event;

	if (telephone_event_parse(p->payload, p->payload_bytes, &event))
		return 0;
	return (uint32_t)((uint64_t)event.duration * f->cfg.clock /
			  in->codec.clock) -
	       f->length;
}

/* Where an event is: its timestamp may be of its own clock, and of the speech's
 * all the same, as many senders do it. */
static uint32_t place_digit(const struct receive_stage *f,
			    const struct receive_stage_arrival *in,
			    uint32_t place)
{
	uint32_t most = f->cfg.clock * EVENT_FAR_SECONDS;

	if (in->codec.clock == clocks_now(&f->clocks) ||
	    f->clocks.place - place + most <= 2 * most)
		return place;
	return f->clocks.place;
}

static enum jitter_put buffer(struct receive_stage *f,
			      const struct receive_stage_arrival *in,
			      uint32_t place, const struct extent *x)
{
	const bool aux = in->what == FRAME_RING_EVENT;
	const struct jitter_input put = {
		.rtp = in->rtp,
		.arrival = in->at,
		.duration = in->what == FRAME_RING_SPEECH ? x->rtp_ticks : 0,
		.silent = x->silent,
		.aux = aux,
		/* what it is, and its codec or clock */
		.tag = (uint8_t)((unsigned)in->what << 4 | codec_number_of(in)),
		.shift = place - in->rtp->ts + (aux ? lasted(f, in) : 0),
	};

	return jitter_put(f->jitter, &put);
}

/* A buffer marks the first packet itself. */
static void restart(struct receive_stage *f)
{
	if (f->jitter)
		jitter_reset(f->jitter);
	else
		f->restart = true;
	clocks_again(&f->clocks);
}

enum jitter_put receive_stage_packet(struct receive_stage *f,
				     const struct receive_stage_arrival *in)
{
	const struct extent x = extent_of(f, in);
	struct clocks_packet p = {
		.ts = in->rtp->ts,
		.clock = in->codec.clock,
		.seq = in->rtp->seq,
		.at = in->at,
	};
	enum jitter_put put = JITTER_TAKEN;
	uint32_t place;

	f->now = in->at;
	if (in->restart)
		restart(f);
	if (in->what == FRAME_RING_SPEECH)
		f->codecs[in->number] = in->codec;
	else
		p.clock = clocks_now(&f->clocks);
	place = clocks_place(&f->clocks, &p);
	if (in->what == FRAME_RING_EVENT)
		place = place_digit(f, in, place);
	if (f->jitter)
		put = buffer(f, in, place, &x);
	if (put == JITTER_RESTART)
		clocks_again(&f->clocks);
	if (put >= 0 && in->what != FRAME_RING_EVENT)
		clocks_take(&f->clocks, &p, place);
	if (put >= 0 && in->what == FRAME_RING_SPEECH && x.rtp_ticks &&
	    x.rtp_ticks != f->length) {
		/* the next one begins where it ends */
		f->length = x.rtp_ticks;
		f->length_ns = (cr_ns)x.rtp_ticks * CR_SEC / f->cfg.clock;
		clocks_set_step(&f->clocks, f->length_ns);
	}
	if (f->jitter) {
		drain_jitter(f, in->at);
	} else {
		struct receive_stage_frame frame = {
			.meta.what = (uint8_t)in->what,
			.meta.marker = in->rtp->marker,
			.payload = in->rtp->payload,
			.meta.bytes = (uint16_t)in->rtp->payload_bytes,
			.meta.rtp_ts = in->rtp->ts,
			.meta.rtp_seq = in->rtp->seq,
			.meta.arrival = in->at,
		};

		emit_packet(f, &frame, codec_number_of(in), place, &x);
	}
	return put;
}

void receive_stage_poll(struct receive_stage *f, cr_ns now)
{
	uint32_t ts;

	if (f->jitter)
		drain_jitter(f, now);
	if (silence_due(&f->silence) <= now &&
	    silence_next(&f->silence, now, &ts))
		make_frame(f, FRAME_RING_SILENCE, ts_of(f, ts),
			   ticks_of_codec(f, f->cfg.step), now);
	if (f->tick_at <= now) {
		make_frame(f, FRAME_RING_TICK, 0, 0, now);
		f->tick_at = --f->ticks ? now + TICK_END : CR_NEVER;
	}
}

cr_ns receive_stage_due(const struct receive_stage *f)
{
	cr_ns due = cr_ns_min(silence_due(&f->silence), f->tick_at);

	cr_ns play = f->jitter ? jitter_due(f->jitter) : CR_NEVER;

	/* the next packet is likely to come before that */
	return play == CR_NEVER
		       ? due
		       : cr_ns_min(due,
				   play + cr_ns_min(f->step_ns, f->length_ns));
}
