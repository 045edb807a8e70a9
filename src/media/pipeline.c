/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transcoding of one call: making it, changing its codecs while it runs,
 * and what becomes of each packet. What is decoded and encoded is
 * pipeline_sides.c's.
 *
 * Time runs in samples of the output: `left` holds decoded speech that did not
 * fill an output frame yet (20 ms frames into 30 ms ones), and an output
 * packet's timestamp is the input's, moved by what was left over.
 *
 * A frame is encoded when its speech is there. Where a packet has several, the
 * first ones wait, encoded: so no packet of the input costs more than others
 * do. A packet leaves when it is full, and before that when something else
 * comes: silence, a SID (G.729 knows one at the end only: RFC 3551, 4.5.6), a
 * gap, another output, or what is not speech.
 */
#include "media/pipeline.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/cache.h"
#include "media/pipeline_sides.h"
#include "rtp/comfort_noise.h"

/** The party's silence. */
struct pipeline_noise {
	struct comfort_noise_generator
		generator;	  /**< where decoders have none */
	struct comfort_noise now; /**< as requested */
	/* as comfort noise that is sent */
	bool sent; /**< since the last speech */
	uint8_t level;
	int64_t at; /**< `next` when it was sent last */
};

struct pipeline {
	struct pipeline_source *in; /* the input in use, and the output */
	struct pipeline_output *out;
	struct pipeline_output *former; /* has frames left to send, or NULL */
	unsigned nleft;			/* samples in out->left */
	unsigned sender;
	uint8_t pt_noise; /* of comfort noise that is sent; 0: none is */
	uint8_t cmr;	  /* of the last packet */

	bool talking; /* within a talk spurt of the output */
	bool marked;  /* an input packet had the marker, its output has not */
	bool started, ran;
	bool rebased; /* the clock is not that of the packet before */
	bool again;   /* the sender is not that of the packet before */
	uint32_t last_ts;
	uint32_t zero; /* output timestamp where `at` and `next` are 0 */
	int64_t at;    /* timestamp units since the first input packet */
	int64_t next;  /* where a packet without a gap would start */
	cr_ns heard;   /* arrival of what is at `at`; CR_NEVER: none */

	struct pipeline_noise noise;

	/* The encoder's state for any thread: see encoder_word(). Written by
	 * control with a new output, and by each request for a mode. */
	_Atomic uint64_t encoder_word;
	atomic_uint noise_word; /* the next pt_noise: control's */
	/* The next output; control puts it there (release), who runs takes it
	 * (acquire). */
	_Atomic(struct pipeline_output *) offered;
	/* stored (release) before packets can have their number */
	_Atomic(struct pipeline_source *) input[PIPELINE_INPUTS];
	/* control */
	unsigned ninputs, serial;
};

/** One run: what the helpers pass along. */
struct pipeline_run {
	struct pipeline *p;
	struct pipeline_scratch *s;
	pipeline_emit *emit;
	void *arg;
	int64_t out_at; /**< samples of the output since the first packet */
};

static inline struct pipeline_source *pipeline_source_at(
	const struct pipeline *p, unsigned number)
{
	return atomic_load_explicit(&p->input[number], memory_order_acquire);
}

/* --- the encoder's mode --- */

#define SERIAL_SHIFT 40u
#define SERIAL_MASK 0xffffffu

/* Mode, modes, mode_set, kind, and the output's serial number. */
static uint64_t encoder_word(const struct pipeline_output *o)
{
	const struct codec_use *s = &o->side;

	return s->cfg.mode | (uint64_t)(s->codec->nmodes & 255u) << 8 |
	       (uint64_t)s->amr.mode_set << 16 | (uint64_t)s->kind << 32 |
	       (uint64_t)o->serial << SERIAL_SHIFT;
}

static unsigned word_mode(uint64_t w)
{
	return w & 255u;
}

static bool has_mode(uint64_t w, unsigned mode)
{
	unsigned modes = w >> 8 & 255u, set = w >> 16 & 65535u;

	return mode < modes && (!set || set >> mode & 1);
}

static uint64_t encoder_now(const struct pipeline *p)
{
	return atomic_load_explicit(&p->encoder_word, memory_order_relaxed);
}

/* Relaxed: nothing else hangs on it. @kind: of the output, or -1: any. */
static void ask_mode(struct pipeline *p, int kind, unsigned mode)
{
	uint64_t w = encoder_now(p);

	while ((kind < 0 || (int)(w >> 32 & 255u) == kind) &&
	       has_mode(w, mode) &&
	       !atomic_compare_exchange_weak_explicit(
		       &p->encoder_word, &w, (w & ~UINT64_C(255)) | mode,
		       memory_order_relaxed, memory_order_relaxed))
		;
}

void pipeline_set_mode(struct pipeline *p, unsigned mode)
{
	ask_mode(p, -1, mode);
}

void pipeline_ask_mode(struct pipeline *p, enum payload_kind kind,
		       unsigned mode)
{
	ask_mode(p, (int)kind, mode);
}

unsigned pipeline_mode(const struct pipeline *p)
{
	return word_mode(encoder_now(p));
}

/* May a frame at @at have another mode than the one before? RFC 4867, 8.1
 * leaves us the phase: the first may. */
static bool may_change_mode(const struct pipeline_output *o, int64_t at)
{
	return !o->side.amr.mode_second ||
	       (at - o->turned) / (int64_t)o->frame % 2 == 0;
}

/* The mode of the encoder @w that comes behind @mode on the way to @wanted.
 * Modes are in the order of their rates. */
static unsigned next_mode(uint64_t w, unsigned mode, unsigned wanted)
{
	do
		mode = wanted > mode ? mode + 1 : mode - 1;
	while (mode != wanted && !has_mode(w, mode));
	return mode;
}

/** The mode that the frame at @at, in samples of the output, is to have. */
static unsigned pipeline_mode_next(struct pipeline *p, int64_t at)
{
	struct pipeline_output *o = p->out;
	uint64_t w = encoder_now(p);
	unsigned wanted = word_mode(w);

	/* else it is about the next output already */
	if (w >> SERIAL_SHIFT != o->serial || wanted == o->mode ||
	    !may_change_mode(o, at))
		return o->mode;
	o->mode =
		o->side.amr.mode_next ? next_mode(w, o->mode, wanted) : wanted;
	o->turned = at;
	return o->mode;
}

/* --- sides --- */

/* Time begins anew where the last packet has ended: in units of @clock. */
static void rebase_time(struct pipeline *p, unsigned clock)
{
	int64_t seconds = p->next / p->in->clock, rest = p->next % p->in->clock;
	int64_t samples = rest * p->out->rate / p->in->clock;

	p->zero += (uint32_t)(seconds * p->out->clock) +
		   (uint32_t)(samples * p->out->clock / p->out->rate);
	p->at = (p->at - p->next) * clock / p->in->clock;
	p->next = 0;
}

/* Control may have another output. */
static void take_output(struct pipeline *p)
{
	struct pipeline_output *o = atomic_exchange_explicit(
		&p->offered, NULL, memory_order_acquire);
	struct pipeline_output *old = p->out;

	rebase_time(p, p->in->clock);
	p->nleft = pipeline_output_follow(o, old, p->nleft);
	p->out = o;
	if (old->held.n) /* what was there before it has left by then */
		p->former = old;
	else
		pipeline_output_free(old);
}

/** Make the codecs ready for a packet: those that it asks for, and that control
 * wants. 0, or a negative enum payload_reason. */
static int pipeline_ready(struct pipeline *p, const struct pipeline_input *in)
{
	struct pipeline_source *s = pipeline_source_at(p, in->meta.codec);

	if (atomic_load_explicit(&p->offered, memory_order_relaxed))
		take_output(p);
	p->pt_noise = (uint8_t)atomic_load_explicit(&p->noise_word,
						    memory_order_relaxed);
	if (s == p->in && s->to == p->out->rate && s->sender == p->sender)
		return 0;
	if (pipeline_source_open(s, p->sender, p->out->rate, NULL))
		return PAYLOAD_BAD_TYPE;
	if (p->ran && s->clock != p->in->clock) {
		rebase_time(p, s->clock);
		p->rebased = true;
	}
	p->in = s;
	return 0;
}

int pipeline_add_input(struct pipeline *p, const struct codec_use *side,
		       struct cr_err *e)
{
	const unsigned same = side->codec->any_length
				      ? SAME_DECODER & ~SAME_FRAME
				      : SAME_DECODER;
	struct pipeline_source *s;
	int err;

	for (unsigned i = 0; i < p->ninputs; i++)
		if (codec_use_same(&pipeline_source_at(p, i)->side, side, same))
			return (int)i;
	if (p->ninputs == PIPELINE_INPUTS)
		return cr_fail(e, -ENOSPC,
			       "%s is one too many: a call takes %u codecs in "
			       "all",
			       side->codec->name, PIPELINE_INPUTS);
	err = pipeline_source_check(side, e);
	if (err)
		return err;
	s = pipeline_source_new(side);
	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory for a codec");
	atomic_store_explicit(&p->input[p->ninputs], s, memory_order_release);
	return (int)p->ninputs++;
}

unsigned pipeline_inputs(const struct pipeline *p)
{
	return p->ninputs;
}

void pipeline_forget_inputs(struct pipeline *p, unsigned n)
{
	while (p->ninputs > n)
		pipeline_source_free(atomic_exchange_explicit(
			&p->input[--p->ninputs], NULL, memory_order_relaxed));
}

bool pipeline_holds(const struct pipeline *p)
{
	return p->former || p->out->held.n;
}

unsigned pipeline_output_clock(const struct pipeline *p)
{
	return p->out->clock;
}

cr_ns pipeline_output_packet(const struct pipeline *p)
{
	return p->out->time;
}

uint32_t pipeline_input_length(const struct pipeline *p)
{
	return (uint32_t)(p->next - p->at);
}

unsigned pipeline_input_clock(const struct pipeline *p, unsigned number)
{
	return pipeline_source_at(p, number)->clock;
}

const struct codec_use *pipeline_input_side(const struct pipeline *p,
					    unsigned number)
{
	return &pipeline_source_at(p, number)->side;
}

void pipeline_change(struct pipeline *p, struct pipeline_output *o)
{
	p->serial = (p->serial + 1) & SERIAL_MASK;
	o->serial = p->serial;
	atomic_store_explicit(&p->encoder_word, encoder_word(o),
			      memory_order_relaxed);
	pipeline_output_free(
		atomic_exchange_explicit(&p->offered, o, memory_order_acq_rel));
}

void pipeline_set_noise(struct pipeline *p, uint8_t pt)
{
	atomic_store_explicit(&p->noise_word, pt, memory_order_relaxed);
}

/* --- time --- */

/* A pause that is longer is none of a talker's: and products stay small. */
#define PIPELINE_PAUSE_MAX (3600 * CR_SEC)

/* The codecs' states are met as they go: the decoder's first lines only. */
void pipeline_fetch(const struct pipeline *p)
{
	const struct pipeline_source *in = p->in;
	const struct pipeline_output *out = p->out;

	cache_fetch(p, sizeof(*p));
	cache_fetch(in, sizeof(*in));
	cache_fetch(out, offsetof(struct pipeline_output, held));
	cache_fetch(in->decoder, 4 * CACHE_LINE);
	cache_fetch(out->encoder, CACHE_LINE);
}

void pipeline_first_ts(struct pipeline *p, uint32_t ts)
{
	p->started = true;
	p->last_ts = ts;
}

enum payload_kind pipeline_kind(const struct pipeline *p)
{
	return p->in->side.kind;
}

uint8_t pipeline_cmr(const struct pipeline *p)
{
	return p->cmr;
}

/* Output timestamps are taken modulo 2^32, so the way from the first packet may
 * be taken modulo this: 2^32 seconds. Hostile timestamps, which leap by up to
 * 2^31 a packet, would overflow the products below otherwise. */
static int64_t wrap_time(const struct pipeline *p, int64_t at)
{
	return at % ((int64_t)p->in->clock << 32);
}

void pipeline_begin_spurt(struct pipeline *p)
{
	p->marked = true;
	p->talking = false;
}

void pipeline_restart(struct pipeline *p)
{
	p->sender++;
	p->again = true;
	pipeline_begin_spurt(p);
}

/* The place of a new sender's first speech, which has come at @arrival. */
static int64_t after_restart(const struct pipeline *p, cr_ns arrival)
{
	cr_ns most = (cr_ns)PIPELINE_PAUSE_MAX;
	cr_ns pause = p->heard == CR_NEVER ? 0 : arrival - p->heard;
	int64_t ahead = cr_ns_min(cr_ns_max(pause, 0), most) *
			(int64_t)p->in->clock / CR_SEC;
	int64_t at = p->at + ahead;

	return wrap_time(p, at > p->next ? at : p->next);
}

/* Timestamps of two clocks say nothing of how far packets are apart (RFC 7160,
 * 4.1). What is less than half a frame behind the last one follows it. */
static int64_t after_change(const struct pipeline *p, cr_ns arrival)
{
	int64_t at = after_restart(p, arrival);

	return at - p->next < p->in->unit / 2 ? p->next : at;
}

/* Where the next packet of the same sender begins: @step behind the last one,
 * but never before that one's end. */
static int64_t after_step(const struct pipeline *p, int32_t step)
{
	int64_t at = wrap_time(p, p->at + step), next = wrap_time(p, p->next);
	bool leapt = next - at > (int64_t)p->in->clock << 31; /* at wrapped */

	return at < next && !leapt ? next : at;
}

/** Find the place of @in; after a gap what was left over has none. */
static struct pipeline_run pipeline_begin(struct pipeline *p,
					  struct pipeline_scratch *s,
					  const struct pipeline_input *in,
					  pipeline_emit *emit, void *arg)
{
	int32_t step = (int32_t)(in->meta.rtp_ts - p->last_ts);

	if (__builtin_expect(p->former != NULL, 0))
		pipeline_flush(p, s, emit, arg);
	if (p->rebased && !p->again)
		p->at = after_change(p, in->meta.arrival);
	else if (p->started && (p->again || step < 0))
		p->at = after_restart(p, in->meta.arrival);
	else if (p->started)
		p->at = after_step(p, step);
	p->started = p->ran = true;
	p->rebased = p->again = false;
	p->last_ts = in->meta.rtp_ts;
	p->heard = in->meta.arrival;
	if (p->at != wrap_time(p, p->next))
		p->nleft = 0;
	if (in->meta.marker)
		pipeline_begin_spurt(p);
	p->next = p->at;
	return (struct pipeline_run){
		.p = p,
		.s = s,
		.emit = emit,
		.arg = arg,
		.out_at = p->at * p->out->rate / p->in->clock - p->nleft,
	};
}

/** The output's timestamp of @samples behind where @r is. */
static uint32_t pipeline_run_ts(const struct pipeline_run *r, unsigned samples)
{
	const struct pipeline *p = r->p;

	return p->zero +
	       (uint32_t)((r->out_at + samples) * p->out->clock / p->out->rate);
}

uint32_t pipeline_time(struct pipeline *p, const struct pipeline_input *in)
{
	int64_t at;

	if (!p->started) {
		pipeline_first_ts(p, in->meta.rtp_ts);
	} else if (p->again) { /* another sender's: its time begins with that */
		p->at = p->next = after_restart(p, in->meta.arrival);
		p->last_ts = in->meta.rtp_ts;
		p->heard = in->meta.arrival;
		p->again = false;
		p->nleft = 0;
	}
	if (p->heard == CR_NEVER)
		p->heard = in->meta.arrival;
	at = after_step(p, (int32_t)(in->meta.rtp_ts - p->last_ts));
	if (in->apart) {
		int64_t came = after_restart(p, in->meta.arrival);

		/* not more than a second before it came */
		if (at - came > p->in->clock)
			at = came;
	}
	return p->zero + (uint32_t)(at * p->out->clock / p->in->clock);
}

/* --- packets --- */

/** Is there a sign for a frame without speech? */
static bool pipeline_has_no_data(const struct pipeline *p)
{
	enum payload_kind kind = p->out->side.kind;

	return kind == PAYLOAD_AMR || kind == PAYLOAD_AMR_WB;
}

/* Does speech begin with this frame? */
static bool begins_speech(struct pipeline *p, enum cr_frame_kind kind,
			  bool silent)
{
	bool begins = kind == CR_FRAME_SPEECH && !p->talking;

	if (kind == CR_FRAME_SPEECH)
		p->talking = true;
	else if (silent || kind == CR_FRAME_SID)
		p->talking = false;
	return begins;
}

/* Of a packet's first frame. In AMR the marker goes with the first speech after
 * silence, so our encoder's own silence counts (RFC 4867, 4.1), so it does with
 * DTX (RFC 7587, 4.1); of others only the input knows (RFC 3551, 4.1). NO_DATA
 * that is sent stands for a frame without time, not silence. */
static bool take_marker(struct pipeline *p, enum cr_frame_kind kind,
			bool silent)
{
	bool begins = begins_speech(p, kind, silent);
	bool marked = p->marked;

	if (pipeline_has_no_data(p) ||
	    (p->out->side.codec->dtx && p->out->side.cfg.dtx))
		return begins;
	if (!silent)
		p->marked = false;
	return marked;
}

/* A packet of @n frames; the rest of it is in @packet. */
static void pack_frames(const struct pipeline_output *o,
			struct pipeline_scratch *s,
			const struct cr_frame *frames, unsigned n,
			struct pipeline_packet *packet)
{
	int bytes = payload_pack(&o->side, PAYLOAD_NO_CMR, frames, n, s->packet,
				 sizeof(s->packet));

	/* our own encoder's frames always fit their own format */
	CR_ASSERT(bytes >= 0);
	packet->payload = s->packet;
	packet->bytes = (size_t)bytes;
	packet->pt = o->side.pt;
	if (!bytes)
		packet->silent = true;
}

/* --- one frame in a packet --- */

static void put_one(struct pipeline_run *r, const struct cr_frame *frame,
		    bool silent)
{
	struct pipeline *p = r->p;
	struct pipeline_packet packet = {
		.ts = pipeline_run_ts(r, 0),
		.silent = silent,
	};

	pack_frames(p->out, r->s, frame, 1, &packet);
	packet.marker = take_marker(p, frame->kind, packet.silent);
	r->emit(r->arg, &packet);
}

/* --- several --- */

static void send_held(struct pipeline_output *o, struct pipeline_scratch *s,
		      pipeline_emit *to, void *arg)
{
	struct pipeline_held *h = &o->held;
	struct pipeline_packet packet = { .ts = h->ts, .marker = h->marker };
	const uint8_t *data = h->data;

	if (!h->n)
		return;
	for (unsigned i = 0; i < h->n; i++) {
		struct cr_frame *f = &s->packed[i];

		f->kind = h->frame[i].kind;
		f->mode = h->frame[i].mode;
		f->bytes = h->frame[i].bytes;
		memcpy(f->data, data, f->bytes);
		data += f->bytes;
	}
	pack_frames(o, s, s->packed, h->n, &packet);
	h->n = 0;
	h->bytes = 0;
	to(arg, &packet);
}

static void hold_frame(struct pipeline_run *r, const struct cr_frame *f)
{
	struct pipeline *p = r->p;
	struct pipeline_held *h = &p->out->held;
	uint32_t ts = pipeline_run_ts(r, 0);

	if (h->n && ts != h->next)
		send_held(p->out, r->s, r->emit, r->arg);
	if (h->n) {
		(void)begins_speech(p, f->kind, false);
	} else {
		h->ts = ts;
		h->marker = take_marker(p, f->kind, false);
	}
	h->frame[h->n].kind = f->kind;
	h->frame[h->n].mode = f->mode;
	h->frame[h->n].bytes = f->bytes;
	memcpy(h->data + h->bytes, f->data, f->bytes);
	h->bytes += f->bytes;
	h->next = pipeline_run_ts(r, p->out->frame);
	if (++h->n == p->out->frames || f->kind == CR_FRAME_SID)
		send_held(p->out, r->s, r->emit, r->arg);
}

/** Send @frame, or let it wait until its packet is full. @silent: it need not
 * be sent. */
static void pipeline_put(struct pipeline_run *r, const struct cr_frame *frame,
			 bool silent)
{
	struct pipeline *p = r->p;

	if (p->out->frames == 1) {
		put_one(r, frame, silent);
	} else if (silent) {
		send_held(p->out, r->s, r->emit, r->arg);
		put_one(r, frame, true);
	} else {
		hold_frame(r, frame);
	}
	p->noise.sent = false;
	r->out_at += p->out->frame;
}

void pipeline_flush(struct pipeline *p, struct pipeline_scratch *s,
		    pipeline_emit *to, void *arg)
{
	if (p->former) {
		send_held(p->former, s, to, arg);
		pipeline_output_free(p->former);
		p->former = NULL;
	}
	send_held(p->out, s, to, arg);
}

/* --- speech --- */

static void encode_frames(struct pipeline_run *r, const int16_t *pcm,
			  unsigned n)
{
	struct pipeline *p = r->p;

	for (; n >= p->out->frame; n -= p->out->frame, pcm += p->out->frame) {
		unsigned mode = pipeline_mode_next(p, r->out_at);

		CR_ASSERT(!p->out->side.codec->encode(p->out->encoder, mode,
						      pcm, &r->s->frame));
		pipeline_put(r, &r->s->frame,
			     r->s->frame.kind == CR_FRAME_NO_DATA);
	}
	memcpy(p->out->left, pcm, n * sizeof(*pcm));
	p->nleft = n;
}

/** Send one decoded frame of @n samples in scratch->decoded. */
static void pipeline_feed(struct pipeline_run *r, unsigned n)
{
	struct pipeline *p = r->p;
	struct pipeline_scratch *s = r->s;
	const int16_t *pcm = s->decoded;
	int16_t *joined = s->resampled;

	p->next += (int64_t)n * p->in->clock / p->in->rate;
	if (!p->in->resample && !p->nleft) {
		encode_frames(r, pcm, n);
		return;
	}
	memcpy(joined, p->out->left, p->nleft * sizeof(*joined));
	if (p->in->resample)
		n = resample_run(p->in->resample, pcm, n, joined + p->nleft,
				 CR_FRAME_SAMPLES_MAX);
	else
		memcpy(joined + p->nleft, pcm, n * sizeof(*pcm));
	encode_frames(r, joined, p->nleft + n);
}

/* --- what was not sent as speech: lost packets, silence --- */

/* Comfort noise is sent when silence begins, when its level has changed by so
 * much, but not sooner than this, and every so often in any case. */
#define NOISE_STEP_DB 2
#define NOISE_SOONEST (100 * CR_MS)
#define NOISE_EVERY (500 * CR_MS)
/* The level of silence that nobody has described, -dBov: a quiet room. */
#define NOISE_UNSIGNALLED 70u

/* --- packets that never came --- */

/* The last @n samples that are missing, if they are no more than the packet
 * behind them may know of. Returns how many of them it has told, at the end of
 * scratch->decoded; 0: none. */
static unsigned recover_lost(struct pipeline_run *r, unsigned n,
			     const struct pipeline_input *next)
{
	const struct codec_use *side = &r->p->in->side;
	struct pipeline_scratch *s = r->s;
	struct payload_iter it;
	unsigned recovered;

	if (!next || pipeline_source_at(r->p, next->meta.codec) != r->p->in ||
	    !side->codec->recover ||
	    payload_open(side, next->payload, next->meta.bytes, &it) ||
	    !payload_next(&it, &s->frame) ||
	    n > codec_use_samples(side, s->frame.data, s->frame.bytes))
		return 0;
	recovered =
		side->codec->recover(r->p->in->decoder, &s->frame, s->decoded);
	if (recovered > n) /* the time before is there already */
		memmove(s->decoded, s->decoded + recovered - n,
			n * sizeof(s->decoded[0]));
	return recovered < n ? recovered : n;
}

/* Of a decoder, which makes as much as it likes: no more than @n samples. */
static unsigned decode_none(struct pipeline_run *r, enum cr_frame_kind kind,
			    unsigned n)
{
	struct pipeline_scratch *s = r->s;
	unsigned made;

	s->frame.kind = kind;
	s->frame.mode = PAYLOAD_FT_NO_DATA;
	s->frame.bytes = 0;
	made = r->p->in->side.codec->decode(r->p->in->decoder, &s->frame,
					    s->decoded);
	return made < n ? made : n;
}

/** Send @n samples of concealment in place of what @r would have at this place;
 * or what @next, the packet behind, says of it (NULL: there is none). */
static void pipeline_feed_lost(struct pipeline_run *r, unsigned n,
			       const struct pipeline_input *next)
{
	while (n) {
		unsigned made = recover_lost(r, n, next);

		if (!made)
			made = decode_none(r, CR_FRAME_BAD, n);
		if (!made)
			return; /* a decoder that makes nothing of it */
		pipeline_feed(r, made);
		n -= made;
	}
}

void pipeline_lost(struct pipeline *p, struct pipeline_scratch *s,
		   const struct pipeline_input *lost,
		   const struct pipeline_input *next, pipeline_emit *emit,
		   void *arg)
{
	struct pipeline_run r;

	if (pipeline_ready(p, lost))
		return;
	r = pipeline_begin(p, s, lost, emit, arg);
	pipeline_feed_lost(&r,
			   (unsigned)((uint64_t)lost->meta.rtp_ticks *
				      p->in->rate / p->in->clock),
			   next);
}

unsigned pipeline_packets(const struct pipeline *p, uint32_t rtp_ticks)
{
	uint64_t samples = (uint64_t)rtp_ticks * p->out->rate / p->in->clock;
	unsigned packet = p->out->frame * p->out->frames;

	return (unsigned)((samples + packet - 1) / packet);
}

/* --- silence --- */

/* Does the decoder make the noise, by what its SIDs said? */
static bool decodes_silence(const struct pipeline *p)
{
	return p->in->side.codec->dtx;
}

/* @n samples of the party's silence, or fewer, into scratch->decoded. Returns
 * how many. */
static unsigned make_silence(struct pipeline_run *r, unsigned n)
{
	struct pipeline *p = r->p;

	if (decodes_silence(p))
		return decode_none(r, CR_FRAME_NO_DATA, n);
	if (n > CR_FRAME_SAMPLES_MAX)
		n = CR_FRAME_SAMPLES_MAX;
	comfort_noise_generate(&p->noise.generator, r->s->decoded, n);
	return n;
}

/* An output with silence of its own needs no other. */
static bool sends_noise(const struct pipeline *p)
{
	return p->pt_noise && !p->out->side.codec->dtx;
}

static int64_t noise_ticks(const struct pipeline *p, cr_ns time)
{
	return time * (int64_t)p->in->clock / CR_SEC;
}

static bool is_noise_due(const struct pipeline *p, uint8_t level)
{
	const struct pipeline_noise *noise = &p->noise;
	int64_t since = p->next - noise->at;

	/* negative: time has begun anew since then */
	if (!noise->sent || since < 0 || since >= noise_ticks(p, NOISE_EVERY))
		return true;
	return since >= noise_ticks(p, NOISE_SOONEST) &&
	       (level >= noise->level + NOISE_STEP_DB ||
		noise->level >= level + NOISE_STEP_DB);
}

static void send_noise(struct pipeline_run *r,
		       const struct comfort_noise *noise)
{
	struct pipeline *p = r->p;
	struct pipeline_packet packet = {
		.payload = r->s->packet,
		.ts = pipeline_run_ts(r, 0),
		.pt = p->pt_noise,
		.noise = true,
	};

	pipeline_flush(p, r->s, r->emit, r->arg);
	packet.bytes = comfort_noise_build(r->s->packet, noise);
	p->noise.sent = true;
	p->noise.level = noise->level;
	p->noise.at = p->next;
	/* speech that comes back begins a talk spurt (RFC 3551, 4.1) */
	p->marked = true;
	p->talking = false;
	r->emit(r->arg, &packet);
}

/** The same of a frame of silence: as comfort noise, where that is sent.
 * @heard: as it was recorded, not as it was described. */
static void pipeline_feed_quiet(struct pipeline_run *r, unsigned n, bool heard)
{
	struct pipeline *p = r->p;
	struct comfort_noise noise;

	if (!sends_noise(p)) {
		pipeline_feed(r, n);
		return;
	}
	pipeline_flush(p, r->s, r->emit, r->arg);
	noise = p->noise.now;
	/* only at 8 kHz are filters those of comfort noise (RFC 3389, 4) */
	if (heard || decodes_silence(p))
		comfort_noise_measure(r->s->decoded, n, 0, &noise);
	else if (p->in->rate != 8000)
		noise.order = 0;
	if (is_noise_due(p, noise.level))
		send_noise(r, &noise);
	p->nleft = 0;
	p->next += (int64_t)n * p->in->clock / p->in->rate;
	r->out_at = p->next * p->out->rate / p->in->clock;
}

/* The pipeline is ready for it. */
static void feed_silence(struct pipeline_run *r, uint32_t rtp_ticks)
{
	struct pipeline *p = r->p;
	int64_t end = p->next + rtp_ticks;

	while (p->next < end) {
		int64_t from = p->next;
		unsigned n =
			(unsigned)((end - from) * p->in->rate / p->in->clock);

		pipeline_feed_quiet(r, make_silence(r, n), false);
		if (p->next == from)
			break; /* less than a sample, or a silent decoder */
	}
}

void pipeline_silence(struct pipeline *p, struct pipeline_scratch *s,
		      const struct pipeline_input *in, pipeline_emit *emit,
		      void *arg)
{
	struct pipeline_run r;

	if (pipeline_ready(p, in))
		return;
	r = pipeline_begin(p, s, in, emit, arg);
	feed_silence(&r, in->meta.rtp_ticks);
}

int pipeline_noise(struct pipeline *p, struct pipeline_scratch *s,
		   const struct pipeline_input *noise, pipeline_emit *emit,
		   void *arg)
{
	struct pipeline_input in = *noise;
	int err = comfort_noise_parse(in.payload, in.meta.bytes, &p->noise.now);
	struct pipeline_run r;

	if (err)
		return err;
	err = pipeline_ready(p, &in);
	if (err)
		return err;
	if (p->in->rate != 8000)
		p->noise.now.order = 0;
	comfort_noise_set(&p->noise.generator, &p->noise.now);
	if (!emit || (!in.meta.rtp_ticks && !sends_noise(p)))
		return 0;
	in.meta.marker = 0; /* it begins no talk spurt */
	r = pipeline_begin(p, s, &in, emit, arg);
	if (in.meta.rtp_ticks)
		feed_silence(&r, in.meta.rtp_ticks);
	else
		send_noise(&r, &p->noise.now);
	return 0;
}

/* --- frames --- */

/* NO_DATA for as many output frames as @n input samples make. The codecs'
 * states stay where they are: that is what is saved. */
static void skip_frames(struct pipeline_run *r, unsigned n)
{
	static const struct cr_frame no_data = { .kind = CR_FRAME_NO_DATA,
						 .mode = PAYLOAD_FT_NO_DATA };
	struct pipeline *p = r->p;
	unsigned samples =
		p->nleft + (unsigned)((uint64_t)n * p->out->rate / p->in->rate);

	p->next += (int64_t)n * p->in->clock / p->in->rate;
	for (; samples >= p->out->frame; samples -= p->out->frame)
		pipeline_put(r, &no_data, false);
	memset(p->out->left, 0, samples * sizeof(p->out->left[0]));
	p->nleft = samples;
}

/* The frame in scratch is lost: skip or conceal it. */
static void conceal_frame(struct pipeline_run *r)
{
	const struct cr_frame *frame = &r->s->frame;
	unsigned n =
		codec_use_samples(&r->p->in->side, frame->data, frame->bytes);

	if (pipeline_has_no_data(r->p))
		skip_frames(r, n);
	else
		pipeline_feed_lost(r, n, NULL);
}

static void feed_frame(struct pipeline_run *r, bool pause)
{
	struct pipeline *p = r->p;
	enum cr_frame_kind kind = r->s->frame.kind;
	unsigned n = p->in->side.codec->decode(p->in->decoder, &r->s->frame,
					       r->s->decoded);

	if (kind == CR_FRAME_SID || kind == CR_FRAME_NO_DATA)
		pipeline_feed_quiet(r, n, false);
	else if (__builtin_expect(pause, 0))
		pipeline_feed_quiet(r, n, true);
	else
		pipeline_feed(r, n);
}

int pipeline_run(struct pipeline *p, struct pipeline_scratch *s,
		 const struct pipeline_input *in, pipeline_emit *emit,
		 void *arg)
{
	const struct codec_use *side = pipeline_input_side(p, in->meta.codec);
	struct payload_iter it;
	struct pipeline_run r;
	int err = payload_open(side, in->payload, in->meta.bytes, &it);

	p->cmr = err ? PAYLOAD_NO_CMR : it.info.cmr;
	if (!err)
		err = pipeline_ready(p, in);
	if (err)
		return err;
	if (in->use != PIPELINE_LEARN)
		r = pipeline_begin(p, s, in, emit, arg);
	while (payload_next(&it, &s->frame))
		if (in->use == PIPELINE_LEARN)
			(void)p->in->side.codec->decode(p->in->decoder,
							&s->frame, s->decoded);
		else if (in->use == PIPELINE_CONCEAL)
			conceal_frame(&r);
		else
			feed_frame(&r, in->use == PIPELINE_PAUSE);
	return 0;
}

void pipeline_warm(struct pipeline *p, struct pipeline_scratch *s,
		   const uint8_t *payload, size_t bytes, bool encode)
{
	const struct pipeline_source *in = p->in;
	const struct pipeline_output *out = p->out;
	struct payload_iter it;

	if (payload_open(&in->side, payload, bytes, &it))
		return;
	while (payload_next(&it, &s->frame)) {
		const int16_t *pcm = s->decoded;
		unsigned n = in->side.codec->decode(in->decoder, &s->frame,
						    s->decoded);

		if (in->resample) {
			pcm = s->resampled;
			n = resample_run(in->resample, s->decoded, n,
					 s->resampled, CR_FRAME_SAMPLES_MAX);
		}
		for (; encode && n >= out->frame; n -= out->frame) {
			(void)out->side.codec->encode(out->encoder, out->mode,
						      pcm, &s->frame);
			pcm += out->frame;
		}
	}
}

/* --- open, close --- */

static int open_sides(struct pipeline *p, const struct pipeline_cfg *cfg,
		      struct cr_err *e)
{
	struct pipeline_source *s = pipeline_source_new(&cfg->in);
	int err;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory for a codec");
	atomic_init(&p->input[p->ninputs++], s);
	err = pipeline_output_new(&p->out, &cfg->out, false, e);
	if (!err)
		err = pipeline_source_open(s, p->sender, p->out->rate, e);
	if (err)
		return err;
	p->in = s;
	atomic_init(&p->encoder_word, encoder_word(p->out));
	return 0;
}

int pipeline_open(struct pipeline **out, const struct pipeline_cfg *cfg,
		  struct cr_err *e)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return cr_fail(e, -ENOMEM, "out of memory for a pipeline");
	p->cmr = PAYLOAD_NO_CMR;
	p->heard = CR_NEVER;
	p->pt_noise = cfg->pt_noise;
	atomic_init(&p->noise_word, cfg->pt_noise);
	/* Begin with silence that nobody has described. */
	p->noise.now = (struct comfort_noise){ .level = NOISE_UNSIGNALLED };
	comfort_noise_start(&p->noise.generator, 1);
	comfort_noise_set(&p->noise.generator, &p->noise.now);
	err = open_sides(p, cfg, e);
	if (err) {
		pipeline_close(p);
		return err;
	}
	*out = p;
	return 0;
}

void pipeline_close(struct pipeline *p)
{
	if (!p)
		return;
	pipeline_output_free(p->out);
	pipeline_output_free(p->former);
	pipeline_output_free(
		atomic_load_explicit(&p->offered, memory_order_acquire));
	for (unsigned i = 0; i < p->ninputs; i++)
		pipeline_source_free(pipeline_source_at(p, i));
	free(p);
}

size_t pipeline_bytes(const struct pipeline *p)
{
	return sizeof(*p) + p->ninputs * sizeof(struct pipeline_source) +
	       sizeof(struct pipeline_output) +
	       p->out->frame * sizeof(p->out->left[0]) +
	       pipeline_output_store(p->out);
}
