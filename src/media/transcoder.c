/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transcoder of a stream: construction, destruction, what its payload types
 * stand for, what it has beside speech. What rx does with it is in packet.c,
 * what workers do in transcode.c.
 */
#include "media/transcoder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "media/packet.h"

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

/* --- payload types --- */

static void free_transcoder_types(struct rcu_later *head)
{
	rcu_deferred();
	free(caa_container_of(head, struct transcoder_types, rcu));
}

static int fill_types(struct payload_types *t, struct transcoder *c,
		      const struct stream_codecs *codecs, struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < codecs->n && err >= 0; i++) {
		int number =
			pipeline_add_input(c->pipeline, &codecs->one[i], e);

		err = number < 0
			      ? number
			      : payload_types_add_speech(t, codecs->one[i].pt,
							 (unsigned)number, e);
	}
	return err;
}

/* Keep the former types: packets are on their way, and the party may not have
 * heard of the change yet (RFC 3264, 8.3.2). */
static void add_former(struct payload_types *t, struct transcoder *c)
{
	for (unsigned pt = 0; pt < 128; pt++) {
		int number = transcoder_codec_of(c, (uint8_t)pt);

		if (number >= 0 && !payload_types_find(t, (uint8_t)pt))
			(void)payload_types_add_speech(t, pt, (unsigned)number,
						       NULL);
	}
}

int transcoder_types_new(struct transcoder_types **out, struct transcoder *c,
			 const struct stream_codecs *codecs, struct cr_err *e)
{
	struct transcoder_types *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return cr_fail(e, -ENOMEM, "out of memory for payload types");
	t->inputs = pipeline_inputs(c->pipeline);
	err = fill_types(&t->table, c, codecs, e);
	if (err) {
		transcoder_types_free(t, c);
		return err;
	}
	if (c->ring)
		add_former(&t->table, c);
	*out = t;
	return 0;
}

void transcoder_types_free(struct transcoder_types *t, struct transcoder *c)
{
	if (t)
		pipeline_forget_inputs(c->pipeline, t->inputs);
	free(t);
}

void transcoder_set_types(struct transcoder *c, struct transcoder_types *t,
			  uint8_t first)
{
	unsigned number =
		payload_type_codec(payload_types_find(&t->table, first));
	/* release: a receiver that finds a type has its codec, too */
	struct transcoder_types *old =
		atomic_exchange_explicit(&c->types, t, memory_order_acq_rel);

	atomic_store_explicit(&c->speech, first | number << 8,
			      memory_order_release);
	if (old)
		rcu_defer(&old->rcu, free_transcoder_types);
}

/* --- payload types beside speech --- */

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
	return aux_event(*t, pt) < TELEPHONE_EVENT_TYPES;
}

struct aux_types aux_types_of(const struct stream_cfg *cfg,
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

/* --- what that needs --- */

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
	/* release: who finds a type finds what it needs */
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
	atomic_store_explicit(&c->aux, b->types, memory_order_release);
}

/* --- a call --- */

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

void transcoder_take_terms(const struct transcoder *c, struct release *release,
			   unsigned *taken)
{
	const struct transcoder_terms *from = &c->terms;
	unsigned version =
		atomic_load_explicit(&from->version, memory_order_acquire);
	struct release_cfg r = release->cfg;

	if (version == *taken)
		return;
	r.kind = (enum release_kind)atomic_load_explicit(&from->kind,
							 memory_order_relaxed);
	r.burst = atomic_load_explicit(&from->burst, memory_order_relaxed);
	r.period = atomic_load_explicit(&from->period, memory_order_relaxed);
	r.rel_deadline =
		atomic_load_explicit(&from->rel_deadline, memory_order_relaxed);
	r.spacing = atomic_load_explicit(&from->spacing, memory_order_relaxed);
	if (r.ahead_max)
		r.ahead_max = atomic_load_explicit(&from->ahead_max,
						   memory_order_relaxed);
	release_change(release, &r);
	*taken = version;
}

void transcoder_take_receive_stage(struct transcoder *c,
				   struct receive_stage *f)
{
	receive_stage_set_period(f, transcoder_period(c));
	receive_stage_set_fill(f, (enum receive_stage_fill)atomic_load_explicit(
					  &c->fill, memory_order_relaxed));
}

/* Packets of 20 ms of any codec at up to 16 kHz fit; so do those of 60 ms, but
 * for linear PCM. */
#define SLOT_BYTES_MIN 640u

static int open_media(struct transcoder *c, const struct stream_cfg *cfg,
		      struct cr_err *e)
{
	struct transcoder_types *t = NULL;
	int err;

	atomic_init(&c->speech, cfg->media.in.pt);
	err = pipeline_open(&c->pipeline, &cfg->media, e);
	if (!err && cfg->codecs)
		err = transcoder_types_new(&t, c, cfg->codecs, e);
	if (!err && t)
		transcoder_set_types(c, t, cfg->media.in.pt);
	return err;
}

/* Make its parts for events, noise and jitter buffer. */
static int open_flows(struct transcoder *c, const struct stream_cfg *cfg,
		      struct cr_err *e)
{
	const struct aux_types none = { 0 };
	struct transcoder_aux aux = { .types = aux_types_of(cfg, none) };
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
		err = open_media(c, cfg, e);
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
	free(atomic_load_explicit(&c->types, memory_order_acquire));
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

void transcoder_fetch_for_packet(const struct transcoder *c)
{
	frame_ring_fetch_producer(c->ring);
	cache_fetch(&c->source_known,
		    offsetof(struct transcoder, source) -
			    offsetof(struct transcoder, source_known) +
			    sizeof(struct sockaddr_in6));
	cache_fetch(&c->speech, offsetof(struct transcoder, fill) -
					offsetof(struct transcoder, speech));
	cache_fetch(&c->terms.kind, sizeof(c->terms.kind));
	cache_fetch(&c->lt.active, sizeof(c->lt.active));
}

void transcoder_fetch_for_release(const struct transcoder *c)
{
	cache_fetch(&c->lt, sizeof(c->lt));
	cache_fetch(&c->served, offsetof(struct release, deadline));
	cache_fetch(&c->served_terms, sizeof(c->served_terms));
	cache_fetch(&c->claimed_arrival, sizeof(c->claimed_arrival));
	frame_ring_fetch(c->ring);
}

bool call_takes_cmr(const struct stream_cfg *heard,
		    const struct stream_cfg *sent)
{
	const struct codec_use *in = &heard->media.in;
	const struct codec_use *out = &sent->media.out;

	return (in->kind == PAYLOAD_AMR || in->kind == PAYLOAD_AMR_WB) &&
	       in->kind == out->kind;
}
