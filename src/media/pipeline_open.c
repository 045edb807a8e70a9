/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transcoding of one call: making it, and changing its codecs while it
 * runs.
 */
#include <errno.h>
#include <stdlib.h>

#include "media/pipeline_state.h"

/* --- the encoder's mode --- */

#define SERIAL_SHIFT 40u
#define SERIAL_MASK 0xffffffu

/* Mode, modes, mode_set, kind, and the output's serial number. */
static uint64_t encoder_word(const struct pipeline_output *o)
{
	const struct pipeline_side *s = &o->side;

	return s->cfg.mode | (uint64_t)(s->codec->nmodes & 255u) << 8 |
	       (uint64_t)s->payload.mode_set << 16 |
	       (uint64_t)s->payload.kind << 32 |
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

static enum payload_kind word_kind(uint64_t w)
{
	return (enum payload_kind)(w >> 32 & 255u);
}

static uint64_t encoder_now(const struct pipeline *p)
{
	return atomic_load_explicit(&p->encoder_word, memory_order_relaxed);
}

/* Relaxed: nothing else hangs on it. @kind: of the output, or -1: any. */
static void ask_mode(struct pipeline *p, int kind, unsigned mode)
{
	uint64_t w = encoder_now(p);

	while ((kind < 0 || (int)word_kind(w) == kind) && has_mode(w, mode) &&
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

/* Whether a frame at @at may have another mode than the one before. Which ones
 * may is for us to choose (RFC 4867, 8.1): the first may. */
static bool may_turn(const struct pipeline_output *o, int64_t at)
{
	return !o->side.payload.mode_second ||
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

unsigned pipeline_mode_next(struct pipeline *p, int64_t at)
{
	struct pipeline_output *o = p->output;
	uint64_t w = encoder_now(p);
	unsigned wanted = word_mode(w);

	/* else it is about the next output already */
	if (w >> SERIAL_SHIFT != o->serial || wanted == o->mode ||
	    !may_turn(o, at))
		return o->mode;
	o->mode = o->side.payload.mode_next ? next_mode(w, o->mode, wanted)
					    : wanted;
	o->turned = at;
	return o->mode;
}

/* --- sides --- */

static void use_source(struct pipeline *p, struct pipeline_source *s,
		       uint8_t number)
{
	p->source = s;
	p->number = number;
	p->cfg.in = s->side;
	p->in_rate = s->rate;
	p->in_clock = s->clock;
	p->unit = s->unit;
	p->decoder = s->decoder;
	p->resample = s->resample;
}

static void use_output(struct pipeline *p, struct pipeline_output *o)
{
	p->output = o;
	p->cfg.out = o->side;
	p->encoder = o->encoder;
	p->out_rate = o->rate;
	p->out_clock = o->clock;
	p->frame = o->frame;
	p->frames = o->frames;
	p->left = o->left;
}

/* Time begins anew where the last packet has ended: in units of @clock. */
static void rebase(struct pipeline *p, unsigned clock)
{
	int64_t seconds = p->next / p->in_clock, rest = p->next % p->in_clock;
	int64_t samples = rest * p->out_rate / p->in_clock;

	p->zero += (uint32_t)(seconds * p->out_clock) +
		   (uint32_t)(samples * p->out_clock / p->out_rate);
	p->at = (p->at - p->next) * clock / p->in_clock;
	p->next = 0;
}

/* Control may have another output. */
static void take_output(struct pipeline *p)
{
	struct pipeline_output *o = atomic_exchange_explicit(
		&p->offered, NULL, memory_order_acquire);
	struct pipeline_output *old = p->output;

	rebase(p, p->in_clock);
	p->nleft = pipeline_output_follow(o, old, p->nleft);
	use_output(p, o);
	if (old->held.n) /* what was there before it has left by then */
		p->former = old;
	else
		pipeline_output_free(old);
}

int pipeline_ready(struct pipeline *p, const struct pipeline_input *in)
{
	struct pipeline_source *s = p->source;

	if (atomic_load_explicit(&p->offered, memory_order_relaxed))
		take_output(p);
	p->cfg.pt_noise = (uint8_t)atomic_load_explicit(&p->noise_word,
							memory_order_relaxed);
	if (in->codec == p->number && s->decoder && s->to == p->out_rate &&
	    s->sender == p->sender)
		return 0;
	s = pipeline_source_at(p, in->codec);
	if (pipeline_source_open(s, p->sender, p->out_rate, NULL))
		return PAYLOAD_BAD_TYPE;
	if (p->ran && s->clock != p->in_clock) {
		rebase(p, s->clock);
		p->rebased = true;
	}
	use_source(p, s, in->codec);
	return 0;
}

int pipeline_add_input(struct pipeline *p, const struct pipeline_side *side,
		       struct cr_err *e)
{
	struct pipeline_source *s;
	int err;

	for (unsigned i = 0; i < p->ninputs; i++)
		if (pipeline_source_same(&pipeline_source_at(p, i)->side, side))
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
	return p->former || p->output->held.n;
}

unsigned pipeline_output_clock(const struct pipeline *p)
{
	return p->out_clock;
}

cr_ns pipeline_output_packet(const struct pipeline *p)
{
	return p->output->time;
}

uint32_t pipeline_input_length(const struct pipeline *p)
{
	return (uint32_t)(p->next - p->at);
}

unsigned pipeline_input_clock(const struct pipeline *p, unsigned number)
{
	return number == p->number ? p->in_clock
				   : pipeline_source_at(p, number)->clock;
}

const struct pipeline_side *pipeline_input_side(const struct pipeline *p,
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

/* The first input is opened at once: who starts a call hears why it cannot. */
static int open_sides(struct pipeline *p, const struct pipeline_cfg *cfg,
		      struct cr_err *e)
{
	struct pipeline_source *s = pipeline_source_new(&cfg->in);
	int err;

	if (!s)
		return cr_fail(e, -ENOMEM, "out of memory for a codec");
	atomic_init(&p->input[p->ninputs++], s);
	err = pipeline_output_new(&p->output, &cfg->out, false, e);
	if (!err)
		err = pipeline_source_open(s, p->sender, p->output->rate, e);
	if (err)
		return err;
	use_source(p, s, 0);
	use_output(p, p->output);
	atomic_init(&p->encoder_word, encoder_word(p->output));
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
	p->cfg.pt_noise = cfg->pt_noise;
	atomic_init(&p->noise_word, cfg->pt_noise);
	pipeline_quiet_init(p);
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
	pipeline_output_free(p->output);
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
	       sizeof(struct pipeline_output) + p->frame * sizeof(p->left[0]) +
	       pipeline_output_store(p->output);
}
