/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams whose codecs change while they run.
 *
 *   made: codecs, types -> admitted: both streams -> taken, from the next
 *   packet on
 *
 * What can fail comes before what takes effect.
 */
#include <stdlib.h>
#include <string.h>

#include "node/node_impl.h"

/* One of two. */
struct recode {
	struct node_call *nc;
	struct call_cfg *to, was;
	struct cost_entry *cost;
	struct call_codecs *codecs; /* the call's, then; NULL: one */
	struct call_types *types;
	struct pipeline_output *output; /* NULL: as it is */
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
	free(r->codecs);
	call_types_free(r->types);
	pipeline_output_free(r->output);
}

static int make_types(struct recode *r, struct cr_err *e)
{
	const struct call_codecs one = { .n = 1, .one = { r->to->media.in } };

	r->codecs = node_codecs_copy(r->to->codecs);
	if (r->to->codecs && !r->codecs)
		return cr_fail(e, -ENOMEM, "out of memory for codecs");
	r->to->codecs = r->codecs;
	return call_types_new(&r->types, r->nc->call,
			      r->codecs ? r->codecs : &one, e);
}

static int make(struct recode *r, struct cr_err *e)
{
	const struct call_cfg *now = call_settings(r->nc->call);
	int err = node_cost_of(r->nc->node, r->to, &r->cost, e);

	if (err)
		return err;
	costs_hold(r->nc->node->costs, r->cost);
	r->was = *now;
	call_settle(r->to, &r->cost->cost);
	err = make_types(r, e);
	if (!err && !pipeline_side_same(&now->media.out, &r->to->media.out))
		err = pipeline_output_new(&r->output, &r->to->media.out, true,
					  e);
	return err;
}

static int admit(struct recode *r, unsigned flags, struct cr_verdict *v)
{
	return live_change(r->nc->node->live, &r->nc->call->lt,
			   &r->to->declared, flags, v);
}

static int64_t beyond(const struct recode *r)
{
	return node_load_of(r->to) - node_load_of(&r->was);
}

/* Both or neither. */
static int admit_both(struct recode r[2], struct cr_err *e)
{
	struct node *n = r[0].nc->node;
	int64_t more = beyond(&r[0]) + beyond(&r[1]);
	unsigned flags = more > 0 ? 0 : CORE_CHANGE_FORCE;
	struct cr_verdict v = { 0 }, back;
	int err = more > 0 ? node_admit_measured(n, more, &v) : 0;

	if (!err)
		err = admit(&r[0], flags, &v);
	if (err < 0)
		return node_refuse(n, err, &v, e);
	err = admit(&r[1], flags, &v);
	if (err >= 0)
		return 0;
	(void)live_change(n->live, &r[0].nc->call->lt, &r[0].was.declared,
			  CORE_CHANGE_FORCE, &back);
	return node_refuse(n, err, &v, e);
}

static void take(struct recode *r)
{
	struct node_call *nc = r->nc;

	free(nc->codecs);
	nc->codecs = r->codecs;
	nc->recoded = true;
	node_call_take(nc, r->to, r->cost);
	call_set_types(nc->call, r->types, r->to->pt_in);
	if (r->output)
		pipeline_change(nc->call->pipeline, r->output);
}

int node_streams_recode(struct node_call *const nc[2], struct call_cfg to[2],
			struct cr_err *e)
{
	struct recode r[2] = { { .nc = nc[0], .to = &to[0] },
			       { .nc = nc[1], .to = &to[1] } };
	struct node *n = nc[0]->node;
	struct cost_entry *cost;
	int err = 0;

	/* who has to wait for one has made nothing */
	for (unsigned i = 0; i < 2 && !err; i++)
		err = node_cost_of(n, &to[i], &cost, e);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = make(&r[i], e);
	if (!err)
		err = admit_both(r, e);
	for (unsigned i = 0; i < 2; i++) {
		if (err)
			give_up(&r[i]);
		else
			take(&r[i]);
		if (r[i].cost)
			costs_release(n->costs, r[i].cost);
	}
	return err;
}
