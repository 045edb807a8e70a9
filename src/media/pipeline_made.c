/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the party did not send as speech: packets that never came, and silence.
 */
#include <string.h>

#include "media/pipeline_state.h"

/* Comfort noise is sent when silence begins, when its level has changed by so
 * much, but not sooner than this, and every so often in any case. */
#define NOISE_STEP_DB 2
#define NOISE_SOONEST (100 * CR_MS)
#define NOISE_EVERY (500 * CR_MS)
/* The level of silence that nobody has described, -dBov: a quiet room. */
#define NOISE_UNTOLD 70u

/* --- packets that never came --- */

/* The last @n samples that are missing, if they are no more than the packet
 * behind them may know of. Returns how many of them it has told, at the end of
 * scratch->decoded; 0: none. */
static unsigned recover(struct pipeline_run *r, unsigned n,
			const struct pipeline_input *next)
{
	const struct pipeline_side *side = &r->p->cfg.in;
	struct pipeline_scratch *s = r->s;
	struct payload_iter it;
	unsigned told;

	if (!next || next->codec != r->p->number || !side->codec->recover ||
	    payload_open(&side->payload, next->payload, next->bytes, &it) ||
	    !payload_next(&it, &s->frame) ||
	    n > pipeline_side_samples(side, s->frame.data, s->frame.bytes))
		return 0;
	told = side->codec->recover(r->p->decoder, &s->frame, s->decoded);
	if (told > n) /* what it told of the time before is there already */
		memmove(s->decoded, s->decoded + told - n,
			n * sizeof(s->decoded[0]));
	return told < n ? told : n;
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
	made = r->p->cfg.in.codec->decode(r->p->decoder, &s->frame, s->decoded);
	return made < n ? made : n;
}

void pipeline_feed_lost(struct pipeline_run *r, unsigned n,
			const struct pipeline_input *next)
{
	while (n) {
		unsigned made = recover(r, n, next);

		if (!made)
			made = decode_none(r, CR_FRAME_BAD, n);
		if (!made)
			return; /* a decoder that makes nothing of it */
		pipeline_feed(r, made);
		n -= made;
	}
}

void pipeline_lost(struct pipeline *p, struct pipeline_scratch *s,
		   const struct pipeline_lost *lost, pipeline_emit *emit,
		   void *arg)
{
	const struct pipeline_input in = { .ts = lost->ts,
					   .codec = lost->codec,
					   .arrival = lost->arrival };
	struct pipeline_run r;

	if (pipeline_ready(p, &in))
		return;
	r = pipeline_begin(p, s, &in, emit, arg);
	pipeline_feed_lost(
		&r,
		(unsigned)((uint64_t)lost->units * p->in_rate / p->in_clock),
		lost->next);
}

unsigned pipeline_packets(const struct pipeline *p, uint32_t units)
{
	uint64_t samples = (uint64_t)units * p->out_rate / p->in_clock;
	unsigned packet = p->frame * p->frames;

	return (unsigned)((samples + packet - 1) / packet);
}

/* --- silence --- */

void pipeline_quiet_init(struct pipeline *p)
{
	p->noise.now = (struct comfort_noise){ .level = NOISE_UNTOLD };
	comfort_noise_start(&p->noise.generator, 1);
	comfort_noise_set(&p->noise.generator, &p->noise.now);
}

/* Does the decoder make the noise, by what its SIDs said? */
static bool decodes_silence(const struct pipeline *p)
{
	return p->cfg.in.codec->dtx;
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
	return p->cfg.pt_noise && !p->cfg.out.codec->dtx;
}

static struct comfort_noise describe(const struct pipeline *p,
				     const int16_t *pcm, unsigned n, bool heard)
{
	struct comfort_noise noise = p->noise.now;

	/* only at 8 kHz are filters those of comfort noise (RFC 3389, 4) */
	if (heard || decodes_silence(p))
		comfort_noise_measure(pcm, n, 0, &noise);
	else if (p->in_rate != 8000)
		noise.order = 0;
	return noise;
}

static int64_t units(const struct pipeline *p, cr_ns time)
{
	return time * (int64_t)p->in_clock / CR_SEC;
}

static bool is_due(const struct pipeline *p, uint8_t level)
{
	const struct pipeline_noise *noise = &p->noise;
	int64_t since = p->next - noise->at;

	/* negative: time has begun anew since then */
	if (!noise->sent || since < 0 || since >= units(p, NOISE_EVERY))
		return true;
	return since >= units(p, NOISE_SOONEST) &&
	       (level >= noise->level + NOISE_STEP_DB ||
		noise->level >= level + NOISE_STEP_DB);
}

static void send_noise(struct pipeline_run *r,
		       const struct comfort_noise *noise)
{
	struct pipeline *p = r->p;
	struct pipeline_packet packet = {
		.payload = r->s->packet + PIPELINE_HEADROOM,
		.ts = pipeline_run_ts(r, 0),
		.pt = p->cfg.pt_noise,
		.noise = true,
	};

	pipeline_flush(p, r->s, r->emit, r->arg);
	packet.bytes = comfort_noise_build(packet.payload, noise);
	p->noise.sent = true;
	p->noise.level = noise->level;
	p->noise.at = p->next;
	/* speech that comes back begins a talk spurt (RFC 3551, 4.1) */
	p->marked = true;
	p->talking = false;
	r->emit(r->arg, &packet);
}

void pipeline_feed_quiet(struct pipeline_run *r, unsigned n, bool heard)
{
	struct pipeline *p = r->p;
	struct comfort_noise noise;

	if (!sends_noise(p)) {
		pipeline_feed(r, n);
		return;
	}
	pipeline_flush(p, r->s, r->emit, r->arg);
	noise = describe(p, r->s->decoded, n, heard);
	if (is_due(p, noise.level))
		send_noise(r, &noise);
	p->nleft = 0;
	p->next += (int64_t)n * p->in_clock / p->in_rate;
	r->out_at = p->next * p->out_rate / p->in_clock;
}

/* The pipeline is ready for it. */
static void feed_silence(struct pipeline_run *r, uint32_t units)
{
	struct pipeline *p = r->p;
	int64_t end = p->next + units;

	while (p->next < end) {
		int64_t from = p->next;
		unsigned n =
			(unsigned)((end - from) * p->in_rate / p->in_clock);

		pipeline_feed_quiet(r, make_silence(r, n), false);
		if (p->next == from)
			break; /* less than a sample, or a silent decoder */
	}
}

void pipeline_silence(struct pipeline *p, struct pipeline_scratch *s,
		      const struct pipeline_input *in, uint32_t units,
		      pipeline_emit *emit, void *arg)
{
	struct pipeline_run r;

	if (pipeline_ready(p, in))
		return;
	r = pipeline_begin(p, s, in, emit, arg);
	feed_silence(&r, units);
}

int pipeline_noise(struct pipeline *p, struct pipeline_scratch *s,
		   const struct pipeline_input *noise, uint32_t units,
		   pipeline_emit *emit, void *arg)
{
	const struct pipeline_input in = {
		.ts = noise->ts,
		.codec = noise->codec,
		.arrival = noise->arrival,
	};
	int err = comfort_noise_parse(noise->payload, noise->bytes,
				      &p->noise.now);
	struct pipeline_run r;

	if (err)
		return err;
	err = pipeline_ready(p, &in);
	if (err)
		return err;
	if (p->in_rate != 8000)
		p->noise.now.order = 0;
	comfort_noise_set(&p->noise.generator, &p->noise.now);
	if (!emit || (!units && !sends_noise(p)))
		return 0;
	r = pipeline_begin(p, s, &in, emit, arg);
	if (units)
		feed_silence(&r, units);
	else
		send_noise(&r, &p->noise.now);
	return 0;
}
