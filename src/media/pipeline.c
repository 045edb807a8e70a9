/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transcoding of one call.
 *
 * Time runs in samples of the output: `left` holds decoded speech that did not
 * fill an output frame yet (20 ms frames into 30 ms ones), and an output
 * packet's timestamp is the input's, moved by what was left over.
 */

#include <string.h>

#include "base/assert.h"
#include "base/cache.h"
#include "media/pipeline_state.h"

/* A pause that is longer is none of a talker's: and products stay small. */
#define PIPELINE_PAUSE_MAX (3600 * CR_SEC)

/* The codecs' states are met as they go: the decoder's first lines only. */
void pipeline_fetch(const struct pipeline *p)
{
	cache_fetch(p, sizeof(*p));
	cache_fetch(p->decoder, 4 * CACHE_LINE);
	cache_fetch(p->encoder, CACHE_LINE);
}

void pipeline_first_ts(struct pipeline *p, uint32_t ts)
{
	p->started = true;
	p->last_ts = ts;
}

enum payload_kind pipeline_kind(const struct pipeline *p)
{
	return p->cfg.in.payload.kind;
}

uint8_t pipeline_cmr(const struct pipeline *p)
{
	return p->cmr;
}

static int open_payload(struct pipeline *p, const struct pipeline_input *in,
			struct payload_iter *it)
{
	const struct payload_cfg *cfg = &p->cfg.in.payload;
	int err;

	if (in->codec != p->number)
		cfg = &pipeline_source_at(p, in->codec)->side.payload;
	err = payload_open(cfg, in->payload, in->bytes, it);
	p->cmr = err ? PAYLOAD_NO_CMR : it->info.cmr;
	return err ? err : pipeline_ready(p, in);
}

/* Output timestamps are taken modulo 2^32, so the way from the first packet may
 * be taken modulo this: 2^32 seconds. Hostile timestamps, which leap by up to
 * 2^31 a packet, would overflow the products below otherwise. */
static int64_t wrap(const struct pipeline *p, int64_t at)
{
	return at % ((int64_t)p->in_clock << 32);
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

/* Where the speech of a new sender begins that has come at @arrival. */
static int64_t after_restart(const struct pipeline *p, cr_ns arrival)
{
	cr_ns most = (cr_ns)PIPELINE_PAUSE_MAX;
	cr_ns pause = p->heard == CR_NEVER ? 0 : arrival - p->heard;
	int64_t ahead = cr_ns_min(cr_ns_max(pause, 0), most) *
			(int64_t)p->in_clock / CR_SEC;
	int64_t at = p->at + ahead;

	return wrap(p, at > p->next ? at : p->next);
}

/* Timestamps of two clocks say nothing of how far packets are apart (RFC 7160,
 * 4.1). What is less than half a frame behind the last one follows it. */
static int64_t after_change(const struct pipeline *p, cr_ns arrival)
{
	int64_t at = after_restart(p, arrival);

	return at - p->next < p->unit / 2 ? p->next : at;
}

/* Where the next packet of the same sender begins: @step behind the last one,
 * but never before that one's end. */
static int64_t after_step(const struct pipeline *p, int32_t step)
{
	int64_t at = wrap(p, p->at + step), next = wrap(p, p->next);
	bool leapt = next - at > (int64_t)p->in_clock << 31; /* at wrapped */

	return at < next && !leapt ? next : at;
}

struct pipeline_run pipeline_begin(struct pipeline *p,
				   struct pipeline_scratch *s,
				   const struct pipeline_input *in,
				   pipeline_emit *emit, void *arg)
{
	int32_t step = (int32_t)(in->ts - p->last_ts);

	if (__builtin_expect(p->former != NULL, 0))
		pipeline_flush(p, s, emit, arg);
	if (p->rebased && !p->again)
		p->at = after_change(p, in->arrival);
	else if (p->started && (p->again || step < 0))
		p->at = after_restart(p, in->arrival);
	else if (p->started)
		p->at = after_step(p, step);
	p->started = p->ran = true;
	p->rebased = p->again = false;
	p->last_ts = in->ts;
	p->heard = in->arrival;
	if (p->at != wrap(p, p->next))
		p->nleft = 0;
	if (in->marker)
		pipeline_begin_spurt(p);
	p->next = p->at;
	return (struct pipeline_run){
		.p = p,
		.s = s,
		.emit = emit,
		.arg = arg,
		.out_at = p->at * p->out_rate / p->in_clock - p->nleft,
	};
}

uint32_t pipeline_run_ts(const struct pipeline_run *r, unsigned samples)
{
	const struct pipeline *p = r->p;

	return p->zero +
	       (uint32_t)((r->out_at + samples) * p->out_clock / p->out_rate);
}

/* Another sender's time begins with whatever comes first of it. */
static void restart_time(struct pipeline *p, const struct pipeline_input *in)
{
	p->at = p->next = after_restart(p, in->arrival);
	p->last_ts = in->ts;
	p->heard = in->arrival;
	p->again = false;
	p->nleft = 0;
}

/* @at, or where what has come at @arrival is if that is a second before. */
static int64_t as_it_came(const struct pipeline *p, cr_ns arrival, int64_t at)
{
	int64_t came = after_restart(p, arrival);

	return at - came > p->in_clock ? came : at;
}

uint32_t pipeline_time(struct pipeline *p, const struct pipeline_input *in)
{
	int64_t at;

	if (!p->started)
		pipeline_first_ts(p, in->ts);
	else if (p->again)
		restart_time(p, in);
	if (p->heard == CR_NEVER)
		p->heard = in->arrival;
	at = after_step(p, (int32_t)(in->ts - p->last_ts));
	if (in->apart)
		at = as_it_came(p, in->arrival, at);
	return p->zero + (uint32_t)(at * p->out_clock / p->in_clock);
}

/* Encode all whole frames of pcm[n] (which begins with what was left over) and
 * keep the rest. */
static void encode(struct pipeline_run *r, const int16_t *pcm, unsigned n)
{
	struct pipeline *p = r->p;

	for (; n >= p->frame; n -= p->frame, pcm += p->frame) {
		unsigned mode = pipeline_mode_next(p, r->out_at);

		CR_ASSERT(!p->cfg.out.codec->encode(p->encoder, mode, pcm,
						    &r->s->frame));
		pipeline_put(r, &r->s->frame,
			     r->s->frame.kind == CR_FRAME_NO_DATA);
	}
	memcpy(p->left, pcm, n * sizeof(*pcm));
	p->nleft = n;
}

void pipeline_feed(struct pipeline_run *r, unsigned n)
{
	struct pipeline *p = r->p;
	struct pipeline_scratch *s = r->s;
	const int16_t *pcm = s->decoded;
	int16_t *joined = s->resampled;

	p->next += (int64_t)n * p->in_clock / p->in_rate;
	if (!p->resample && !p->nleft) {
		encode(r, pcm, n);
		return;
	}
	memcpy(joined, p->left, p->nleft * sizeof(*joined));
	if (p->resample)
		n = resample_run(p->resample, pcm, n, joined + p->nleft,
				 CR_FRAME_SAMPLES_MAX);
	else
		memcpy(joined + p->nleft, pcm, n * sizeof(*pcm));
	encode(r, joined, p->nleft + n);
}

/* The party's decoder, and what it says of the frame: speech, or the noise
 * behind it. @pause: it is that, whatever is said. */
static void transcode(struct pipeline_run *r, bool pause)
{
	struct pipeline *p = r->p;
	enum cr_frame_kind kind = r->s->frame.kind;
	unsigned n = p->cfg.in.codec->decode(p->decoder, &r->s->frame,
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
	struct payload_iter it;
	struct pipeline_run r;
	int err = open_payload(p, in, &it);

	if (err)
		return err;
	r = pipeline_begin(p, s, in, emit, arg);
	while (payload_next(&it, &s->frame))
		transcode(&r, in->pause);
	return 0;
}

int pipeline_hear(struct pipeline *p, struct pipeline_scratch *s,
		  const struct pipeline_input *in)
{
	struct payload_iter it;
	int err = open_payload(p, in, &it);

	if (err)
		return err;
	while (payload_next(&it, &s->frame))
		(void)p->cfg.in.codec->decode(p->decoder, &s->frame,
					      s->decoded);
	return 0;
}

/* NO_DATA for as many output frames as @n input samples make. The codecs'
 * states stay where they are: that is what is saved. */
static void skip(struct pipeline_run *r, unsigned n)
{
	static const struct cr_frame no_data = { .kind = CR_FRAME_NO_DATA,
						 .mode = PAYLOAD_FT_NO_DATA };
	struct pipeline *p = r->p;
	unsigned samples =
		p->nleft + (unsigned)((uint64_t)n * p->out_rate / p->in_rate);

	p->next += (int64_t)n * p->in_clock / p->in_rate;
	for (; samples >= p->frame; samples -= p->frame)
		pipeline_put(r, &no_data, false);
	memset(p->left, 0, samples * sizeof(p->left[0]));
	p->nleft = samples;
}

int pipeline_conceal(struct pipeline *p, struct pipeline_scratch *s,
		     const struct pipeline_input *in, pipeline_emit *emit,
		     void *arg)
{
	struct payload_iter it;
	struct pipeline_run r;
	int err = open_payload(p, in, &it);

	if (err)
		return err;
	r = pipeline_begin(p, s, in, emit, arg);
	while (payload_next(&it, &s->frame)) {
		unsigned n = pipeline_side_samples(&p->cfg.in, s->frame.data,
						   s->frame.bytes);

		if (pipeline_has_no_data(p))
			skip(&r, n);
		else
			pipeline_feed_lost(&r, n, NULL);
	}
	return 0;
}
