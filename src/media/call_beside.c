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
	const struct inflow_terms *t = &cfg->inflow;

	return former == t->pt_event || former == t->pt_noise ||
			       is_speech(cfg, former)
		       ? 0
		       : former;
}

struct beside_types call_beside_types(const struct call_cfg *cfg,
				      struct beside_types was)
{
	struct beside_types now = {
		.event = cfg->inflow.pt_event,
		.noise = cfg->inflow.pt_noise,
	};

	now.former_event = unless_taken(
		former_of(now.event, was.event, was.former_event), cfg);
	now.former_noise = unless_taken(
		former_of(now.noise, was.noise, was.former_noise), cfg);
	return now;
}

/* --- what that needs --- */

static void gone(void *call)
{
	struct call *c = call;

	call_count(&c->count.overflowed, 1);
}

static int make_inflow(struct inflow **out, struct call *c,
		       const struct call_cfg *to, struct cr_err *e)
{
	const unsigned clock = pipeline_side_clock(&to->media.in);
	const struct inflow_cfg cfg = {
		.terms = to->inflow,
		.clock = clock,
		.step = (uint32_t)(to->release.period * (cr_ns)clock / CR_SEC),
		.slot_bytes = (unsigned)c->slot_bytes,
		.emit = packet_push,
		.gone = gone,
		.arg = c,
	};

	return inflow_open(out, &cfg, e);
}

static int make_digits(struct digits **out, const struct call_cfg *to,
		       struct cr_err *e)
{
	*out = malloc(sizeof(**out));
	if (!*out)
		return cr_fail(e, -ENOMEM, "out of memory for a call's digits");
	return digits_init(*out, pipeline_side_clock(&to->media.in),
			   pipeline_side_clock(&to->media.out));
}

int call_beside_make(struct call_beside *b, struct call *c,
		     const struct call_cfg *to, struct cr_err *e)
{
	int err = 0;

	b->inflow = NULL;
	b->digits = NULL;
	if (!call_inflow(c) && to->ear && inflow_needed(&to->inflow))
		err = make_inflow(&b->inflow, c, to, e);
	if (!err && !call_digits(c) && to->inflow.pt_event && to->pt_event_out)
		err = make_digits(&b->digits, to, e);
	if (err)
		call_beside_drop(b);
	return err;
}

void call_beside_drop(struct call_beside *b)
{
	inflow_close(b->inflow);
	free(b->digits);
	b->inflow = NULL;
	b->digits = NULL;
}

void call_set_beside(struct call *c, const struct call_cfg *to,
		     const struct call_beside *b)
{
	c->cfg.inflow = to->inflow;
	c->cfg.pt_event_out = to->pt_event_out;
	c->cfg.pt_noise_out = to->pt_noise_out;
	/* release: who finds a type finds what it needs */
	if (b->inflow)
		atomic_store_explicit(&c->inflow, b->inflow,
				      memory_order_release);
	if (b->digits)
		atomic_store_explicit(&c->digits, b->digits,
				      memory_order_release);
	atomic_store_explicit(&c->fill, (unsigned)to->inflow.fill,
			      memory_order_relaxed);
	pipeline_set_noise(c->pipeline, to->pt_noise_out);
	atomic_store_explicit(&c->event_out, to->pt_event_out,
			      memory_order_release);
	atomic_store_explicit(&c->beside, b->types, memory_order_release);
}
