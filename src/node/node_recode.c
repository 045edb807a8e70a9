/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams whose codecs change while they run, and that become relays by it, or
 * cease to be.
 *
 *   made: codecs, types, calls -> admitted: both streams -> taken, from the
 *   next packet on
 *
 * What can fail comes before what takes effect. A relay that needs codecs gets
 * a call, which it keeps: if the parties speak the same again, that sleeps. Who
 * has the packets, the receiver settles (media/relay.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "node/node_impl.h"

/* One of two. */
struct recode {
	struct node_call *nc;
	struct call_cfg *to, was;
	struct cost_entry *cost;    /* NULL: it needs no codec */
	struct call *fresh;	    /* the call that it has not had; or NULL */
	struct call_codecs *codecs; /* the call's, then; NULL: one */
	struct call_types *types;
	struct call_aux aux;
	struct pipeline_output *output; /* NULL: as it is */
	struct relay_types *passes;	/* the relay's, then */
	struct relay *relay;		/* that it has not had; or NULL */
};

struct call_codecs *node_codecs_copy(const struct call_codecs *from)
{
	struct call_codecs *to = from ? malloc(sizeof(*to)) : NULL;

	if (to)
		*to = *from;
	return to;
}

static void give_up(struct recode *r)
{
	struct call *c = r->fresh ? r->fresh : r->nc->call;

	free(r->codecs);
	call_types_free(r->types, c);
	call_aux_drop(&r->aux);
	pipeline_output_free(r->output);
	call_free(r->fresh);
	if (r->relay)
		relay_free(r->relay); /* with what it passes */
	else
		free(r->passes);
}

/* --- making --- */

static int make_cost(struct recode *r, struct cr_err *e)
{
	int err = node_cost_of(r->nc->node, r->to, &r->cost, e);

	if (err)
		return err;
	costs_hold(r->nc->node->costs, r->cost);
	call_settle(r->to, &r->cost->cost);
	return 0;
}

static bool has_type(const struct call_codecs *all, uint8_t pt)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->one[i].pt == pt)
			return true;
	return false;
}

/* All that may come; of a relay also what came so far. */
static struct call_codecs what_comes(const struct recode *r)
{
	const struct call_codecs one = { .n = 1, .one = { r->to->media.in } };
	struct call_codecs all = r->codecs ? *r->codecs : one;
	const struct pipeline_side *before = &r->was.media.in;

	if (r->fresh && all.n < CALL_CODECS_MAX &&
	    before->codec->decoder_open && !has_type(&all, before->pt))
		all.one[all.n++] = *before;
	return all;
}

static int make_codecs(struct recode *r, struct cr_err *e)
{
	r->codecs = node_codecs_copy(r->to->codecs);
	if (r->to->codecs && !r->codecs)
		return cr_fail(e, -ENOMEM, "out of memory for codecs");
	r->to->codecs = r->codecs;
	return 0;
}

/* Whom its speech is to go through, if that is needed. */
static int make_call(struct recode *r, struct cr_err *e)
{
	const struct pipeline_side *out = &r->to->media.out;
	struct call_codecs all;
	struct call *c;
	int err = make_codecs(r, e);

	if (!err && !r->nc->call)
		err = node_call_make(r->nc, r->to, &r->fresh, e);
	if (err)
		return err;
	all = what_comes(r);
	c = r->fresh ? r->fresh : r->nc->call;
	err = call_types_new(&r->types, c, &all, e);
	if (!err)
		err = call_aux_make(&r->aux, c, r->to, e);
	if (!err && !r->fresh &&
	    !pipeline_side_same(&call_settings(r->nc->call)->media.out, out))
		err = pipeline_output_new(&r->output, out, true, e);
	return err;
}

static int make_relay(struct recode *r, struct cr_err *e)
{
	const struct node_call *nc = r->nc;

	r->passes = relay_types_new(r->to, r->aux.types);
	if (r->passes && !nc->relay)
		r->relay = relay_new_for(nc->call, r->to, r->passes);
	if (!r->passes || (!nc->relay && !r->relay))
		return cr_fail(e, -ENOMEM, "out of memory for a relay");
	if (nc->relays)
		relay_types_keep(r->passes, relay_types(nc->relay));
	if (r->types)
		relay_types_leave(r->passes, r->types);
	return 0;
}

/* What comes among the speech of @nc now. */
static struct aux_types aux_now(const struct node_call *nc)
{
	return nc->relays ? relay_types(nc->relay)->aux : call_aux(nc->call);
}

static int make(struct recode *r, bool relays, struct cr_err *e)
{
	bool needed = node_stream_needs_call(r->to, relays);
	int err = needed ? make_cost(r, e) : 0;

	r->was = *node_call_settings(r->nc);
	r->aux.types = call_aux_types(r->to, aux_now(r->nc));
	/* a call that has no codec of it stays as it is */
	if (!err &&
	    (needed || (r->nc->call && r->to->media.in.codec->decoder_open)))
		err = make_call(r, e);
	if (!err && relays)
		err = make_relay(r, e);
	return err;
}

/* --- admission --- */

/* What it was admitted by; a relay never was. */
static const struct core_terms *admitted(const struct recode *r)
{
	static const struct core_terms nothing;

	return r->fresh ? &nothing : &call_settings(r->nc->call)->declared;
}

static int admit(struct recode *r, unsigned flags, struct cr_verdict *v)
{
	struct live *live = r->nc->node->live;

	if (!r->cost)
		return 0;
	return r->fresh ? live_add(live, &r->fresh->lt, v)
			: live_change(live, &r->nc->call->lt, &r->to->declared,
				      flags, v);
}

/* It has been admitted, but the other one has not. */
static void take_back(struct recode *r)
{
	struct node *n = r->nc->node;
	struct cr_verdict v;

	if (!r->cost)
		return;
	if (!r->fresh) {
		(void)live_change(n->live, &r->nc->call->lt, admitted(r),
				  CORE_CHANGE_FORCE, &v);
		return;
	}
	call_types_free(r->types, r->fresh);
	r->types = NULL;
	node_call_unmake(n, r->fresh);
	r->fresh = NULL;
}

static int64_t beyond(const struct recode *r)
{
	const struct core_terms *was;

	if (!r->cost)
		return 0;
	was = admitted(r);
	return node_load_of(r->to) -
	       (was->period ? was->cost.mean * CR_PPM / was->period : 0);
}

/* Both or neither. */
static int admit_both(struct recode r[2], struct cr_err *e)
{
	struct node *n = r[0].nc->node;
	int64_t more = beyond(&r[0]) + beyond(&r[1]);
	unsigned flags = more > 0 ? 0 : CORE_CHANGE_FORCE;
	struct cr_verdict v = { 0 };
	int err = more > 0 ? node_admit_measured(n, more, &v) : 0;

	if (!err)
		err = admit(&r[0], flags, &v);
	if (err < 0)
		return node_refuse(n, err, &v, e);
	err = admit(&r[1], flags, &v);
	if (err >= 0)
		return 0;
	take_back(&r[0]);
	return node_refuse(n, err, &v, e);
}

/* --- taking --- */

static void be_relay(struct node_call *nc, bool relays)
{
	nc->node->nrelays += relays;
	nc->node->nrelays -= nc->relays;
	nc->relays = relays;
}

/* Its call goes by the new codecs. */
static void take_codecs(struct recode *r)
{
	struct node_call *nc = r->nc;

	free(nc->codecs);
	nc->codecs = r->codecs;
	nc->recoded = true;
	if (r->fresh)
		node_call_become(nc, r->fresh, r->cost);
	else if (r->cost)
		node_call_take(nc, r->to, r->cost);
	else
		call_set_terms(nc->call, r->to);
	call_set_types(nc->call, r->types, r->to->pt_in);
	call_set_aux(nc->call, r->to, &r->aux);
	if (r->output)
		pipeline_change(nc->call->pipeline, r->output);
}

static void take_call(struct recode *r)
{
	struct node_call *nc = r->nc;

	take_codecs(r);
	if (!nc->relay)
		return;
	endpoint_listen(r->to->in_endpoint, nc->call);
	relay_stand_for(nc->relay, nc->call);
	relay_want(nc->relay, RELAY_NONE);
	be_relay(nc, false);
}

static void take_relay(struct recode *r)
{
	struct node_call *nc = r->nc;

	if (nc->call && !r->cost)
		r->to->declared = call_settings(nc->call)->declared;
	if (r->types)
		take_codecs(r);
	if (r->fresh) {
		endpoint_listen(r->to->in_endpoint, nc->call);
		relay_stand_for(nc->relay, nc->call);
	}
	if (r->relay) {
		nc->relay = r->relay;
		nc->relay->owner = nc;
	} else {
		relay_set_types(nc->relay, r->passes);
	}
	nc->relay->cfg.terms = r->to->terms;
	nc->relay->cfg.release.period = r->to->release.period;
	nc->relay->cfg.media = r->to->media;
	nc->relay->cfg.receive_stage = r->to->receive_stage;
	nc->relay->cfg.pt_event_out = r->to->pt_event_out;
	nc->relay->cfg.clock_event_out = r->to->clock_event_out;
	nc->relay->cfg.pt_noise_out = r->to->pt_noise_out;
	nc->relay->cfg.pt_in = r->to->pt_in;
	nc->relay->cfg.pt_out = r->to->pt_out;
	nc->relay->cfg.ssrc_in = 0; /* whatever the party chooses */
	if (!nc->relays || r->fresh)
		relay_want(nc->relay, RELAY_SOME);
	if (r->relay)
		endpoint_relay(r->to->in_endpoint, nc->relay);
	be_relay(nc, true);
}

int node_streams_recode(struct node_call *const nc[2], struct call_cfg to[2],
			bool relays, struct cr_err *e)
{
	struct recode r[2] = { { .nc = nc[0], .to = &to[0] },
			       { .nc = nc[1], .to = &to[1] } };
	struct node *n = nc[0]->node;
	struct cost_entry *cost;
	int err = 0;

	/* who has to wait for one has made nothing */
	for (unsigned i = 0; i < 2 && !err; i++)
		if (node_stream_needs_call(&to[i], relays))
			err = node_cost_of(n, &to[i], &cost, e);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = make(&r[i], relays, e);
	if (!err)
		err = admit_both(r, e);
	for (unsigned i = 0; i < 2; i++) {
		if (err)
			give_up(&r[i]);
		else if (relays)
			take_relay(&r[i]);
		else
			take_call(&r[i]);
		if (r[i].cost)
			costs_release(n->costs, r[i].cost);
	}
	if (!err && nc[0]->call && nc[1]->call)
		node_join_pair(nc[0], nc[1]);
	return err;
}
