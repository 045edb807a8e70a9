/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream and its transcoder, as control makes and changes them: what payload
 * types stand for, what there is beside speech, construction and destruction;
 * and the transcoders by SSRC.
 * What rx does with them is in packet.c, what workers do in transcode.c.
 */
#include "media/rtp_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "media/packet.h"

/* --- payload types --- */

/* Types that are being made. */
struct draft {
	struct packet_type type[128];
	struct aux_types aux;
	bool alike;
};

static bool is_speech_type(const struct stream_cfg *cfg, uint8_t pt)
{
	for (unsigned i = 0; cfg->codecs && i < cfg->codecs->n; i++)
		if (cfg->codecs->one[i].pt == pt)
			return true;
	return cfg->media.in.pt == pt;
}

/* The former type for the same as @now; @before: the one before that. */
static uint8_t former_of(uint8_t now, uint8_t was, uint8_t before)
{
	if (!now) /* it is not wanted any more */
		return 0;
	return was && was != now ? was : before;
}

static uint8_t unless_taken(uint8_t former, const struct stream_cfg *cfg)
{
	return former == cfg->receive_stage.pt_noise ||
			       is_speech_type(cfg, former)
		       ? 0
		       : former;
}

static bool is_event(const struct aux_types *t, uint8_t pt)
{
	return pt && memchr(t->event, pt, sizeof(t->event));
}

/* Event and noise types by @cfg; those of @was still hold. */
static struct aux_types aux_types_of(const struct stream_cfg *cfg,
				     struct aux_types was)
{
	struct aux_types now = { .noise = cfg->receive_stage.pt_noise };
	const struct telephone_event_types *t = &cfg->receive_stage.events;
	unsigned n = 0;

	/* Types of events: those of @cfg, then those of @was. None of these, if
	 * none are wanted any more. */
	for (; n < t->n; n++) {
		now.event[n] = t->one[n].pt;
		now.khz[n] = (uint8_t)(t->one[n].clock / 1000);
	}
	for (unsigned i = 0; t->n && i < TELEPHONE_EVENT_TYPES; i++) {
		uint8_t pt = unless_taken(was.event[i], cfg);

		if (!pt || is_event(&now, pt) || n == TELEPHONE_EVENT_TYPES)
			continue;
		now.event[n] = pt;
		now.khz[n++] = was.khz[i];
	}
	now.former_noise = unless_taken(
		former_of(now.noise, was.noise, was.former_noise), cfg);
	if (is_event(&now, now.former_noise))
		now.former_noise = 0;
	return now;
}

/* Name what travels among speech. */
static void draft_aux(struct draft *d, const struct stream_change *by)
{
	const struct aux_types *aux = &d->aux;
	const uint8_t noise[] = { aux->noise, aux->former_noise };
	const bool events =
		by->transcoder && (!by->relays || by->to->event_out.pt);

	for (unsigned i = 0; i < 2; i++)
		if (noise[i]) {
			struct packet_type *t = &d->type[noise[i]];

			t->what = FRAME_RING_NOISE;
			t->codec = by->relays ? PACKET_NO_CODEC : 0;
		}
	for (unsigned i = 0; i < TELEPHONE_EVENT_TYPES; i++)
		if (aux->event[i]) {
			struct packet_type *t = &d->type[aux->event[i]];

			t->what = FRAME_RING_EVENT;
			t->clock = aux->khz[i] * 1000u;
			t->codec = events ? 0 : PACKET_NO_CODEC;
		}
}

/* Give @pt, which must be free, to the pipeline's input @number. */
static int draft_speech(struct draft *d, unsigned pt, unsigned number,
			struct cr_err *e)
{
	struct packet_type *t;

	if (pt > 127)
		return cr_fail(e, -ERANGE,
			       "payload type %u is too large: use 0 to 63 or "
			       "96 to 127",
			       pt);
	if (pt >= 64 && pt <= 95)
		return cr_fail(e, -EINVAL,
			       "payload type %u cannot be told from RTCP (RFC "
			       "5761): use 0 to 63 or 96 to 127",
			       pt);
	t = &d->type[pt];
	if (t->what == FRAME_RING_SPEECH && t->codec != PACKET_NO_CODEC)
		return cr_fail(e, -EEXIST,
			       "payload type %u is given twice: it is codec %u "
			       "of the list already",
			       pt, t->codec);
	if (t->what == FRAME_RING_SPEECH)
		t->codec = (uint8_t)number;
	return 0;
}

/* Let the transcoder take the speech of codecs that it gets, and of those that
 * @s had before. */
static int draft_codecs(struct draft *d, const struct stream *s,
			const struct stream_change *by, struct cr_err *e)
{
	const struct stream_codecs *codecs = by->codecs;
	struct transcoder *c = by->transcoder;

	for (unsigned i = 0; codecs && i < codecs->n; i++) {
		int number =
			pipeline_add_input(c->pipeline, &codecs->one[i], e);
		int err = number < 0 ? number
				     : draft_speech(d, codecs->one[i].pt,
						    (unsigned)number, e);

		if (err)
			return err;
	}
	for (uint8_t pt = 0; pt < 128; pt++) {
		const struct packet_type was = stream_type_of(s, pt);
		struct packet_type *t = &d->type[pt];

		if (was.what == FRAME_RING_SPEECH &&
		    t->what == FRAME_RING_SPEECH && t->codec == PACKET_NO_CODEC)
			t->codec = was.codec;
	}
	return 0;
}

/* Pass on the @n types @in of one side as @as, the other one's. A type that
 * only one side has named is not agreed. 0: none. */
static void pass_named(struct draft *d, const uint8_t *in, unsigned n,
		       uint8_t as)
{
	if (as && !in[0])
		d->type[as].as = PACKET_NOT_PASSED;
	for (unsigned i = 0; i < n; i++)
		if (in[i])
			d->type[in[i]].as =
				in[0] && as ? as : PACKET_NOT_PASSED;
}

/* If both sides use one number for the codec, they have agreed on one
 * numbering, by which all else goes, too, but for events and noise that only
 * one of them takes. Those that both have named go in any case. */
static void draft_both(struct draft *d, const struct stream_cfg *to)
{
	const uint8_t noise[] = { d->aux.noise, d->aux.former_noise };
	struct packet_type *speech = &d->type[to->media.in.pt];

	d->alike = to->media.in.pt == to->media.out.pt;
	for (uint8_t i = 0; i < 128 && d->alike; i++)
		d->type[i].as = i;
	pass_named(d, noise, 2, to->media.pt_noise);
	if (d->type[PACKET_NOISE_PT].as == PACKET_NOT_PASSED)
		d->type[PACKET_NOISE_PT].as = PACKET_NOISE_PT;
	pass_named(d, d->aux.event, TELEPHONE_EVENT_TYPES, to->event_out.pt);
	speech->as = to->media.out.pt;
	speech->clock = codec_use_clock(&to->media.in);
}

/* Pass on those that signalling has said are passed on, and no others. */
static void draft_passed(struct draft *d, const struct passed_types *p)
{
	const struct aux_types *aux = &d->aux;

	for (unsigned i = 0; i < p->n; i++) {
		struct packet_type *t = &d->type[p->one[i].pt & 127u];

		t->as = p->one[i].as;
		if (t->what == FRAME_RING_SPEECH)
			t->clock = p->one[i].clock;
	}
	if (aux->noise && aux->former_noise)
		d->type[aux->former_noise].as = d->type[aux->noise].as;
	for (unsigned i = 1; i < TELEPHONE_EVENT_TYPES; i++)
		for (unsigned k = 0; k < i && aux->event[i]; k++)
			if (aux->khz[k] == aux->khz[i] &&
			    d->type[aux->event[i]].as == PACKET_NOT_PASSED)
				d->type[aux->event[i]].as =
					d->type[aux->event[k]].as;
}

static bool is_passed_as(const struct draft *d, uint8_t as)
{
	bool is = false;

	for (unsigned i = 0; i < 128 && !is; i++)
		is = d->type[i].as == as;
	return is;
}

/* Where its numbers are free, pass on the speech that @s did before: parties
 * that have not heard of a change go on by that. But nothing else that the
 * transcoder can make something of. */
static void draft_relay(struct draft *d, const struct stream *s,
			const struct stream_change *by)
{
	const struct stream_cfg *to = by->to;

	if (to->codecs && to->codecs->passed.n)
		draft_passed(d, &to->codecs->passed);
	else
		draft_both(d, to);
	for (uint8_t pt = 0; pt < 128; pt++) {
		const struct packet_type was = stream_type_of(s, pt);
		struct packet_type *t = &d->type[pt];

		if (packet_type_is_agreed(was) &&
		    t->what == FRAME_RING_SPEECH &&
		    t->as == PACKET_NOT_PASSED && !is_passed_as(d, was.as))
			t->as = was.as;
	}
	for (unsigned pt = 0; pt < 128 && by->codecs; pt++) {
		struct packet_type *t = &d->type[pt];

		if (t->what == FRAME_RING_SPEECH && !t->clock &&
		    t->codec != PACKET_NO_CODEC)
			t->as = PACKET_NOT_PASSED;
	}
}

static bool is_unnamed(const struct draft *d, const struct packet_type *t)
{
	const struct packet_type none = packet_type_unnamed(t->pt, d->alike);

	return !memcmp(t, &none, sizeof(none));
}

/* The types of @d in as little memory as they take. NULL: out of memory. */
static struct stream_types *keep_draft(const struct draft *d, cr_ns period)
{
	struct stream_types *t;
	unsigned n = 0;

	for (unsigned pt = 0; pt < 128; pt++)
		n += !is_unnamed(d, &d->type[pt]);
	t = calloc(1, sizeof(*t) + n * sizeof(t->type[0]));
	if (!t)
		return NULL;
	t->period = period;
	t->aux = d->aux;
	t->alike = d->alike;
	n = 0;
	for (unsigned pt = 0; pt < 128; pt++)
		if (!is_unnamed(d, &d->type[pt])) {
			t->type[n++] = d->type[pt];
			t->place[pt] = (uint8_t)n;
		}
	return t;
}

int stream_types_new(struct stream_types **out, const struct stream *s,
		     const struct stream_change *by, struct cr_err *e)
{
	const struct stream_types *was = stream_types(s);
	const struct aux_types none = { .noise = 0 };
	struct draft d = {
		.aux = aux_types_of(by->to, was ? was->aux : none),
	};
	int err;

	for (uint8_t pt = 0; pt < 128; pt++)
		d.type[pt] = packet_type_unnamed(pt, false);
	draft_aux(&d, by);
	err = draft_codecs(&d, s, by, e);
	if (err)
		return err;
	if (by->relays)
		draft_relay(&d, s, by);
	*out = keep_draft(&d, by->to->release.period);
	return *out ? 0
		    : cr_fail(e, -ENOMEM, "out of memory for payload types");
}

static void free_stream_types(struct rcu_later *head)
{
	rcu_deferred();
	free(caa_container_of(head, struct stream_types, rcu));
}

void stream_set_types(struct stream *s, struct stream_types *t, uint8_t pt)
{
	struct stream_types *old =
		atomic_exchange_explicit(&s->types, t, memory_order_acq_rel);

	/* release: a receiver that finds a type has its codec, too */
	atomic_store_explicit(&s->speech, stream_types_find(t, pt),
			      memory_order_release);
	if (old)
		rcu_defer(&old->rcu, free_stream_types);
}

bool relay_needs_transcoder(const struct stream_cfg *cfg)
{
	const struct stream_codecs *c = cfg->codecs;
	const struct telephone_event_types *t = &cfg->receive_stage.events;
	bool needs = false;

	if (!c || !c->passed.n)
		return false;
	for (unsigned i = 0; i < c->n && !needs; i++)
		needs = !passed_has(&c->passed, c->one[i].pt);
	for (unsigned i = 0; i < t->n && cfg->event_out.pt && !needs; i++)
		needs = !passed_has(&c->passed, t->one[i].pt);
	return needs;
}

/* --- times measured --- */

/*
 * Reading the latest times while the writer goes on: copy, then throw away
 * what may have been replaced meanwhile.
 */

unsigned recent_take(const struct recent *r, unsigned *seen, uint32_t *out)
{
	/* counts wrap: only differences mean anything */
	unsigned end = atomic_load_explicit(&r->count, memory_order_acquire);
	unsigned n = end - *seen < RECENT_TIMES ? end - *seen : RECENT_TIMES;
	unsigned now, lost;

	for (unsigned i = 0; i < n; i++)
		out[i] = atomic_load_explicit(
			&r->ns[(end - n + i) % RECENT_TIMES],
			memory_order_acquire);
	*seen = end;
	now = atomic_load_explicit(&r->count, memory_order_acquire) - end + n;
	/* the writer may be at work on the one after those it has counted */
	lost = now >= RECENT_TIMES ? now - RECENT_TIMES + 1 : 0;
	if (lost >= n)
		return 0;
	memmove(out, out + lost, (n - lost) * sizeof(*out));
	return n - lost;
}

/* --- what a transcoder has beside speech --- */

static void count_discarded(void *call)
{
	struct transcoder *c = call;

	counter_add(&c->stream->account->count.overflowed, 1);
}

static int make_digits(struct digits **out, const struct stream_cfg *to,
		       struct cr_err *e)
{
	const struct digits_clocks clocks = {
		.in = to->receive_stage.events.one[0].clock,
		.out = to->event_out.clock,
		.speech = codec_use_clock(&to->media.out),
	};

	*out = malloc(sizeof(**out));
	if (!*out)
		return cr_fail(e, -ENOMEM, "out of memory for a call's digits");
	if (!digits_init(*out, &clocks))
		return 0;
	return cr_fail(e, -EINVAL, "events at %u and %u Hz are not known here",
		       clocks.in, clocks.out);
}

int transcoder_aux_make(struct transcoder_aux *b, struct transcoder *c,
			const struct stream_cfg *to, struct cr_err *e)
{
	int err = 0;

	b->receive_stage = NULL;
	b->digits = NULL;
	if (!transcoder_receive_stage(c) && to->in_endpoint &&
	    receive_stage_needed(&to->receive_stage)) {
		const unsigned clock = codec_use_clock(&to->media.in);
		const struct receive_stage_cfg cfg = {
			.terms = to->receive_stage,
			.clock = clock,
			.step = (uint32_t)(to->release.period * (cr_ns)clock /
					   CR_SEC),
			.slot_bytes = (unsigned)c->slot_bytes,
			.emit = packet_push_frame,
			.gone = count_discarded,
			.arg = c,
		};

		err = receive_stage_open(&b->receive_stage, &cfg, e);
	}
	if (!err && !transcoder_digits(c) && to->receive_stage.events.n &&
	    to->event_out.pt)
		err = make_digits(&b->digits, to, e);
	if (err)
		transcoder_aux_drop(b);
	return err;
}

void transcoder_aux_drop(struct transcoder_aux *b)
{
	receive_stage_close(b->receive_stage);
	free(b->digits);
	b->receive_stage = NULL;
	b->digits = NULL;
}

void transcoder_set_aux(struct transcoder *c, const struct stream_cfg *to,
			const struct transcoder_aux *b)
{
	/* release: the parts are complete */
	if (b->receive_stage)
		atomic_store_explicit(&c->receive_stage, b->receive_stage,
				      memory_order_release);
	if (b->digits)
		atomic_store_explicit(&c->digits, b->digits,
				      memory_order_release);
	atomic_store_explicit(&c->fill, (unsigned)to->receive_stage.fill,
			      memory_order_relaxed);
	pipeline_set_noise(c->pipeline, to->media.pt_noise);
	atomic_store_explicit(&c->event_out,
			      to->event_out.pt | to->event_out.clock << 8,
			      memory_order_release);
}

/* --- a transcoder --- */

/* A packet may carry up to this much speech, whatever was agreed; but of PCM,
 * which takes most room, less. */
#define PACKET_SPEECH_MAX (120 * CR_MS)
#define PACKET_PCM_MAX (60 * CR_MS)

/* Comfort noise and telephone events must fit, too. */
#define AUX_BYTES 32u

/* The largest payload worth accepting from @in, bytes. */
static size_t largest_payload(const struct codec_use *in)
{
	cr_ns frame = cr_codec_frame_ns(in->codec, &in->cfg);
	size_t frames = (size_t)(PACKET_SPEECH_MAX / frame);
	size_t one = payload_max_bytes(in);

	if (in->codec->any_length) {
		unsigned samples = (unsigned)(PACKET_PCM_MAX *
					      codec_use_rate(in) / CR_SEC);

		return payload_pcm_bytes(in, samples);
	}
	if (in->kind == PAYLOAD_WHOLE)
		return one; /* with all that it holds */
	return one * (frames ? frames : 1);
}

/* The model by which its frames come. */
static struct release_cfg release_of(const struct stream_cfg *cfg)
{
	struct release_cfg r = cfg->release;

	r.rel_deadline = cfg->terms.deadline;
	contract_release(&cfg->terms.contract, cfg->release_named, &r);
	release_hold(&r, cfg->ring_frames);
	return r;
}

void stream_settle(struct stream_cfg *cfg, const struct cr_cost *measured)
{
	const struct release_cfg r = release_of(cfg);
	const struct task_terms *t = &cfg->terms;

	cfg->declared = (struct core_terms){
		.cls = t->cls,
		.period = cfg->release.period,
		.rel_deadline = t->deadline,
		.cost = contract_cost(&t->contract, measured),
		.nice = t->nice,
		.weight = t->weight ? t->weight : 1024,
		.contract = contract_promise(&t->contract, &r),
	};
}

static void fill_task(struct transcoder *c, const struct stream_cfg *cfg)
{
	struct cr_task *t = &c->lt.core.task;

	t->id = cfg->id;
	core_set_terms(t, &cfg->declared);
	memset(&t->cpus, 0xff, sizeof(t->cpus));
	if (cfg->shed != SHED_AGE)
		c->lt.core.shed = &c->shed;
}

static void leave_for_rx(struct transcoder_terms *to,
			 const struct stream_cfg *cfg)
{
	const struct release_cfg r = release_of(cfg);

	atomic_store_explicit(&to->kind, (unsigned)r.kind,
			      memory_order_relaxed);
	atomic_store_explicit(&to->burst, r.burst, memory_order_relaxed);
	atomic_store_explicit(&to->period, r.period, memory_order_relaxed);
	atomic_store_explicit(&to->rel_deadline, r.rel_deadline,
			      memory_order_relaxed);
	atomic_store_explicit(&to->spacing, r.spacing, memory_order_relaxed);
	atomic_store_explicit(&to->ahead_max, r.ahead_max,
			      memory_order_relaxed);
	atomic_store_explicit(&to->best_effort, cfg->terms.cls == CR_BE,
			      memory_order_relaxed);
	/* release, pairs with transcoder_take_terms() */
	atomic_fetch_add_explicit(&to->version, 1, memory_order_release);
}

void transcoder_set_terms(struct transcoder *c, const struct stream_cfg *to)
{
	stream_set_cfg(c->stream, to);
	leave_for_rx(&c->terms, &c->stream->cfg);
}

/* Packets of 20 ms of any codec at up to 16 kHz fit; so do those of 60 ms, but
 * for linear PCM. */
#define SLOT_BYTES_MIN 640u

/* Make its parts for events, noise and jitter buffer. */
static int open_flows(struct transcoder *c, const struct stream_cfg *cfg,
		      struct cr_err *e)
{
	struct transcoder_aux aux;
	int err;
	size_t most = largest_payload(&cfg->media.in);

	/* The largest payload of all that may come. */
	for (unsigned i = 0; cfg->codecs && i < cfg->codecs->n; i++) {
		size_t one = largest_payload(&cfg->codecs->one[i]);

		most = one > most ? one : most;
	}
	c->slot_bytes = cfg->may_change && most < SLOT_BYTES_MIN
				? SLOT_BYTES_MIN
				: most;
	if (c->slot_bytes < AUX_BYTES)
		c->slot_bytes = AUX_BYTES;
	err = transcoder_aux_make(&aux, c, cfg, e);
	if (err)
		return err;
	transcoder_set_aux(c, cfg, &aux);
	c->buffers =
		aux.receive_stage && receive_stage_buffers(aux.receive_stage);
	return 0;
}

int transcoder_new(struct transcoder **out, struct stream *s,
		   const struct stream_cfg *cfg, struct cr_err *e)
{
	struct transcoder *c = aligned_alloc(CACHE_LINE, sizeof(*c));
	struct release_cfg release = release_of(cfg);
	int err;

	if (!c)
		return cr_fail(e, -ENOMEM, "out of memory for a call");
	memset(c, 0, sizeof(*c));
	c->stream = s;
	c->ssrc_in = cfg->ssrc_in;
	c->ssrc_out = cfg->ssrc_out;
	c->seq_first = cfg->seq_out;
	c->claimed_arrival = CR_NEVER;
	c->ts_out = cfg->ts_out;
	c->period = cfg->release.period;
	c->ts_step =
		(uint32_t)(cfg->release.period *
			   (cr_ns)codec_use_clock(&cfg->media.in) / CR_SEC);
	destination_init(&c->own_destination);
	destination_set(&c->own_destination, &cfg->to);
	c->source = cfg->source;
	c->source_known = cfg->source.ss_family != 0;
	fill_task(c, cfg);
	leave_for_rx(&c->terms, cfg);
	err = release_init(&c->release, &release, e);
	/* what the ring has dropped takes no logical time, so it needs no
	 * limit */
	release.ahead_max = 0;
	if (!err)
		err = release_init(&c->served, &release, e);
	if (!err)
		err = pipeline_open(&c->pipeline, &cfg->media, e);
	if (err) {
		transcoder_free(c);
		return err;
	}
	err = open_flows(c, cfg, e);
	if (err) {
		transcoder_free(c);
		return err;
	}
	if (cfg->ts_first_known)
		pipeline_first_ts(c->pipeline, cfg->ts_first);
	c->ring = frame_ring_new(cfg->ring_frames, c->slot_bytes);
	if (!c->ring) {
		transcoder_free(c);
		return cr_fail(e, -ENOMEM, "out of memory for a frame buffer");
	}
	*out = c;
	return 0;
}

void transcoder_count_rest(struct transcoder *c)
{
	const struct receive_stage *f = transcoder_receive_stage(c);

	if (f)
		counter_add(&c->stream->account->count.overflowed,
			    receive_stage_waiting(f));
}

void transcoder_free(struct transcoder *c)
{
	if (!c)
		return;
	destination_fini(&c->own_destination);
	receive_stage_close(transcoder_receive_stage(c));
	free(transcoder_digits(c));
	frame_ring_free(c->ring);
	pipeline_close(c->pipeline);
	free(c);
}

size_t transcoder_bytes(const struct transcoder *c)
{
	return sizeof(*c) + frame_ring_bytes(c->ring) +
	       pipeline_bytes(c->pipeline);
}

bool stream_takes_cmr(const struct stream_cfg *heard,
		      const struct stream_cfg *sent)
{
	const struct codec_use *in = &heard->media.in;
	const struct codec_use *out = &sent->media.out;

	return (in->kind == PAYLOAD_AMR || in->kind == PAYLOAD_AMR_WB) &&
	       in->kind == out->kind;
}

/* --- a stream --- */

/* A relay, or (no @relays) one that has no transcoder yet. */
static struct stream *stream_alloc(const struct stream_cfg *cfg, bool relays)
{
	const struct endpoint *from =
		cfg->out_endpoint ? cfg->out_endpoint : cfg->in_endpoint;
	struct packet_type speech =
		packet_type_unnamed(cfg->media.in.pt, false);
	struct stream *s = aligned_alloc(CACHE_LINE, sizeof(*s));

	if (!s)
		return NULL;
	if (!relays)
		speech.codec = 0;
	memset(s, 0, sizeof(*s));
	s->cfg = *cfg;
	s->account = &s->own_account;
	s->out_endpoint = cfg->out_endpoint;
	s->out.fd = from ? from->cfg.fd : -1;
	s->out.destination = cfg->out_endpoint ? &cfg->out_endpoint->to : NULL;
	s->out.ahead = -1;
	atomic_init(&s->speech, speech);
	stream_want(s, relays ? STREAM_RELAY : STREAM_TRANSCODE);
	atomic_init(&s->relays, relays);
	return s;
}

int stream_new(struct stream **out, const struct stream_cfg *cfg, bool relays,
	       struct cr_err *e)
{
	struct stream *s = stream_alloc(cfg, relays);
	struct stream_change by = {
		.to = cfg,
		.relays = relays,
		.codecs = relays ? NULL : cfg->codecs,
	};
	struct stream_types *types = NULL;
	int err = 0;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory for a stream");
	if (!relays) {
		err = transcoder_new(&by.transcoder, s, cfg, e);
		if (!err)
			stream_set_transcoder(s, by.transcoder);
	}
	/* else one type is all */
	if (!err && (relays || cfg->codecs || cfg->receive_stage.events.n ||
		     cfg->receive_stage.pt_noise))
		err = stream_types_new(&types, s, &by, e);
	if (err) {
		stream_free(s);
		return err;
	}
	if (types)
		stream_set_types(s, types, cfg->media.in.pt);
	*out = s;
	return 0;
}

void stream_free(struct stream *s)
{
	if (!s)
		return;
	transcoder_free(stream_transcoder(s));
	free(atomic_load_explicit(&s->types, memory_order_acquire));
	free(s);
}

void stream_set_cfg(struct stream *s, const struct stream_cfg *to)
{
	struct stream_cfg *cfg = &s->cfg;

	cfg->terms = to->terms;
	cfg->declared = to->declared;
	stream_cfg_speak(cfg, to);
}

void stream_set_transcoder(struct stream *s, struct transcoder *c)
{
	if (!stream_relays(s)) { /* it begins with that */
		s->out.ssrc = c->ssrc_out;
		s->out.seq = (uint16_t)(c->seq_first - 1);
		if (!s->out_endpoint)
			s->out.destination = &c->own_destination;
	}
	/* release: the receiver finds it complete */
	atomic_store_explicit(&s->transcoder, c, memory_order_release);
}

void stream_resume(struct stream *s, const struct state_sent *was)
{
	struct transcoder *c = stream_transcoder(s);
	struct stream_out *out = &s->out;

	out->seq = was->seq;
	out->ts = was->ts;
	out->at = was->at;
	if (stream_relays(s)) {
		out->ssrc = was->ssrc;
		s->renumbers = was->renumbers;
		s->seq_more = was->seq_more;
		s->ts_more = was->ts_more;
		s->sent_clock = stream_main_clock(s);
		atomic_store_explicit(&s->sent_ssrc,
				      UINT64_C(1) << 32 | was->ssrc,
				      memory_order_relaxed);
		return;
	}
	out->ahead = 0;
	out->resumes = true;
	out->resumes_ts = was->in_ts;
	if (!c->buffers) /* what was lost meanwhile shows in the numbers */
		c->gaps = (struct gaps){ .known = true,
					 .seq = was->in_seq,
					 .ts = was->in_ts };
}

void stream_want(struct stream *s, enum stream_mode mode)
{
	/* release, pairs with stream_wanted() */
	atomic_store_explicit(&s->wanted, (unsigned char)mode,
			      memory_order_release);
}

bool stream_relays_as(const struct stream *s, uint32_t *ssrc)
{
	uint64_t sent =
		atomic_load_explicit(&s->sent_ssrc, memory_order_relaxed);

	if (sent)
		*ssrc = (uint32_t)sent;
	return sent;
}

size_t stream_bytes(const struct stream *s)
{
	const struct transcoder *c = stream_transcoder(s);

	return sizeof(*s) + (c ? transcoder_bytes(c) : 0);
}

/* --- the transcoders by SSRC: SSRCs are random numbers that peers may choose,
 * so they are mixed before they select a bucket --- */

enum { FEWEST = 1024, MOST = 1 << 20 };

struct stream_table {
	struct cds_lfht *ht;
	_Atomic uint64_t removals;
};

static unsigned long mix_ssrc(uint32_t ssrc)
{
	uint64_t h = ssrc;

	/* finaliser of splitmix64: every input bit reaches every output bit */
	h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (unsigned long)(h ^ (h >> 31));
}

static int match(struct cds_lfht_node *node, const void *key)
{
	struct transcoder *c = caa_container_of(node, struct transcoder, node);

	/* acquire, pairs with stream_table_add() */
	return atomic_load_explicit(&c->key, memory_order_acquire) ==
	       *(const uint32_t *)key;
}

struct stream_table *stream_table_new(unsigned streams)
{
	/* Of a size that stays: to grow, the library has a thread of its own,
	 * and aborts when there is no memory. A bucket has 16 bytes. */
	unsigned long n = FEWEST;
	struct stream_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	while (n < streams && n < MOST)
		n *= 2;
	if (memory_there(2 * n * sizeof(struct cds_lfht_node)))
		t->ht = cds_lfht_new(n, n, n, 0, NULL);
	if (!t->ht) {
		free(t);
		return NULL;
	}
	return t;
}

void stream_table_free(struct stream_table *t)
{
	if (!t)
		return;
	CR_ASSERT(!cds_lfht_destroy(t->ht, NULL));
	free(t);
}

int stream_table_add(struct stream_table *t, struct transcoder *c)
{
	struct cds_lfht_node *found;

	cds_lfht_node_init(&c->node);
	/* release, pairs with match() */
	atomic_store_explicit(&c->key, c->ssrc_in, memory_order_release);
	rcu_read_begin();
	found = cds_lfht_add_unique(t->ht, mix_ssrc(c->ssrc_in), match,
				    &c->ssrc_in, &c->node);
	rcu_read_end();
	return found == &c->node ? 0 : -EEXIST;
}

void stream_table_del(struct stream_table *t, struct transcoder *c)
{
	rcu_read_begin();
	CR_ASSERT(!cds_lfht_del(t->ht, &c->node));
	rcu_read_end();
	/* release, pairs with stream_table_removals(); before the caller's
	 * grace period */
	atomic_fetch_add_explicit(&t->removals, 1, memory_order_release);
}

uint64_t stream_table_removals(const struct stream_table *t)
{
	return atomic_load_explicit(&t->removals, memory_order_acquire);
}

struct transcoder *stream_table_find(struct stream_table *t, uint32_t ssrc)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(t->ht, mix_ssrc(ssrc), match, &ssrc, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? caa_container_of(node, struct transcoder, node) : NULL;
}
