/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call has beside speech: which types of it come and go, and what it
 * needs for that.
 */
#include <errno.h>
#include <stdlib.h>

#include "media/call.h"
#include "media/packet.h"

/* --- types --- */

static bool is_speech(const struct call_cfg *cfg, uint8_t pt)
{
	for (unsigned i = 0; cfg->codecs && i < cfg->codecs->n; i++)
		if (cfg->codecs->one[i].pt == pt)
			return true;
	return cfg->pt_in == pt;
}

/* What stood for the same as @now does; @before: what did so then. */
static uint8_t former_of(uint8_t now, uint8_t was, uint8_t before)
{
	if (!now) /* it is not wanted any more */
		return 0;
	return was && was != now ? was : before;
}

static uint8_t unless_taken(uint8_t former, const struct call_cfg *cfg)
{
	return former == cfg->receive_stage.pt_noise || is_speech(cfg, former)
		       ? 0
		       : former;
}

static bool is_event(const struct aux_types *t, uint8_t pt)
{
	return aux_event(*t, pt) < TELEPHONE_EVENT_TYPES;
}

/* Types of events: those of @cfg, then those of @was. None of these, if none
 * are wanted any more. */
static void list_events(struct aux_types *now, const struct call_cfg *cfg,
			const struct aux_types *was)
{
	const struct telephone_event_types *t = &cfg->receive_stage.events;
	unsigned n = 0;

	for (; n < t->n; n++) {
		now->event[n] = t->one[n].pt;
		now->khz[n] = (uint8_t)(t->one[n].clock / 1000);
	}
	for (unsigned i = 0; t->n && i < TELEPHONE_EVENT_TYPES; i++) {
		uint8_t pt = unless_taken(was->event[i], cfg);

		if (!pt || is_event(now, pt) || n == TELEPHONE_EVENT_TYPES)
			continue;
		now->event[n] = pt;
		now->khz[n++] = was->khz[i];
	}
}

struct aux_types call_aux_types(const struct call_cfg *cfg,
				struct aux_types was)
{
	struct aux_types now = { .noise = cfg->receive_stage.pt_noise };

	list_events(&now, cfg, &was);
	now.former_noise = unless_taken(
		former_of(now.noise, was.noise, was.former_noise), cfg);
	if (is_event(&now, now.former_noise))
		now.former_noise = 0;
	return now;
}

/* --- what that needs --- */

static void gone(void *call)
{
	struct call *c = call;

	call_count(&c->count.overflowed, 1);
}

static int make_receive_stage(struct receive_stage **out, struct call *c,
			      const struct call_cfg *to, struct cr_err *e)
{
	const unsigned clock = pipeline_side_clock(&to->media.in);
	const struct receive_stage_cfg cfg = {
		.terms = to->receive_stage,
		.clock = clock,
		.step = (uint32_t)(to->release.period * (cr_ns)clock / CR_SEC),
		.slot_bytes = (unsigned)c->slot_bytes,
		.emit = packet_push,
		.gone = gone,
		.arg = c,
	};

	return receive_stage_open(out, &cfg, e);
}

static int make_digits(struct digits **out, const struct call_cfg *to,
		       struct cr_err *e)
{
	const struct digits_clocks clocks = {
		.in = to->receive_stage.events.one[0].clock,
		.out = to->clock_event_out,
		.speech = pipeline_side_clock(&to->media.out),
	};

	*out = malloc(sizeof(**out));
	if (!*out)
		return cr_fail(e, -ENOMEM, "out of memory for a call's digits");
	if (!digits_init(*out, &clocks))
		return 0;
	return cr_fail(e, -EINVAL, "events at %u and %u Hz are not known here",
		       clocks.in, clocks.out);
}

int call_aux_make(struct call_aux *b, struct call *c, const struct call_cfg *to,
		  struct cr_err *e)
{
	int err = 0;

	b->receive_stage = NULL;
	b->digits = NULL;
	if (!call_receive_stage(c) && to->in_endpoint &&
	    receive_stage_needed(&to->receive_stage))
		err = make_receive_stage(&b->receive_stage, c, to, e);
	if (!err && !call_digits(c) && to->receive_stage.events.n &&
	    to->pt_event_out)
		err = make_digits(&b->digits, to, e);
	if (err)
		call_aux_drop(b);
	return err;
}

void call_aux_drop(struct call_aux *b)
{
	receive_stage_close(b->receive_stage);
	free(b->digits);
	b->receive_stage = NULL;
	b->digits = NULL;
}

void call_set_aux(struct call *c, const struct call_cfg *to,
		  const struct call_aux *b)
{
	c->cfg.receive_stage = to->receive_stage;
	c->cfg.pt_event_out = to->pt_event_out;
	c->cfg.clock_event_out = to->clock_event_out;
	c->cfg.pt_noise_out = to->pt_noise_out;
	/* release: who finds a type finds what it needs */
	if (b->receive_stage)
		atomic_store_explicit(&c->receive_stage, b->receive_stage,
				      memory_order_release);
	if (b->digits)
		atomic_store_explicit(&c->digits, b->digits,
				      memory_order_release);
	atomic_store_explicit(&c->fill, (unsigned)to->receive_stage.fill,
			      memory_order_relaxed);
	pipeline_set_noise(c->pipeline, to->pt_noise_out);
	atomic_store_explicit(&c->event_out,
			      to->pt_event_out | to->clock_event_out << 8,
			      memory_order_release);
	atomic_store_explicit(&c->aux, b->types, memory_order_release);
}
