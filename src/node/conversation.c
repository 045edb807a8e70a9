/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations.
 *
 *   start:  checks -> costs -> legs -> streams -> listed
 *   end:    of either stream, by whomever -> both legs are left, both streams
 *           end -> a grace period -> the last stream has gone -> freed
 */
#include "node/conversation.h"

#include <errno.h>
#include <stdlib.h>

#include "node/call_check.h"
#include "node/node_impl.h"

struct conversation {
	LIST_ENTRY(conversation) link;
	uint32_t id;
	struct node *node;
	struct node_leg *leg[2];
	struct node_call *stream[2]; /**< NULL: has not begun, or has gone */
	bool ending;
};

/* --- the request --- */

/* A stream from party @i, as if it were a call by itself. */
static struct call_request stream_of(const struct conversation_request *r,
				     unsigned i)
{
	const struct party_request *from = &r->party[i];
	const struct party_request *to = &r->party[!i];

	return (struct call_request){
		.in = { .side = from->side,
			.source = from->address,
			.learn = from->learn >= 0 ? from->learn
				 : from->address.ss_family
					 ? (int)LEARN_DELAYED
					 : (int)LEARN_IMMEDIATE,
			.ts_first = -1,
			.loss = from->loss },
		.out = { .side = to->side,
			 .address = to->address,
			 .ssrc = to->out_ssrc },
		.ptime = r->ptime,
		.terms = r->terms,
		.release = { .model = -1, .burst = -1, .x = 1 },
		.port = CALL_PORT_OWN,
		.ssrc = from->ssrc,
	};
}

/* Of the stream from party 0, and from 1: what a request calls its members. */
static const struct call_names names[] = {
	{ .in = "a.", .out = "b.", .hears = "a.", .source = "a.address" },
	{ .in = "b.", .out = "a.", .hears = "b.", .source = "b.address" },
};

int conversation_check(struct call_cfg *stream,
		       const struct conversation_request *r, struct cr_err *e)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct call_request one = stream_of(r, i);

		if (call_check_stream(&stream[i], &one, &names[i], e))
			return -EINVAL;
		/* what is learned names the stream nowhere */
		stream[i].ssrc_in = 0;
	}
	return 0;
}

/* --- legs --- */

static int open_legs(struct conversation *c, const struct call_cfg *stream,
		     const struct conversation_request *r, struct cr_err *e)
{
	struct interface_wish wish;
	struct interface *at;
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++) {
		const struct party_request *p = &r->party[i];

		wish = (struct interface_wish){
			.name = p->interface,
			.to = p->address,
			.path = names[i].in,
			.to_path = names[i].source,
		};
		err = interfaces_choose(&c->node->interfaces, &wish, &at, e);
		if (err)
			return err;
		err = node_leg_open(c->node, at, &stream[i].hears, &c->leg[i],
				    e);
	}
	if (err)
		c->node->calls_refused++;
	return err;
}

/* --- life --- */

static void leave_legs(struct conversation *c)
{
	for (unsigned i = 0; i < 2; i++)
		if (c->leg[i])
			node_leg_leave(c->leg[i]);
}

static bool has_streams(const struct conversation *c)
{
	return c->stream[0] || c->stream[1];
}

/* The last stream has gone, a grace period after receivers have left. */
static void release(struct conversation *c)
{
	LIST_REMOVE(c, link);
	node_leg_free(c->leg[0]);
	node_leg_free(c->leg[1]);
	free(c);
}

/* One of two streams has begun: it ends as a call does, but nobody is told of
 * a call that was refused. */
static void take_back(struct conversation *c)
{
	for (unsigned i = 0; i < 2; i++)
		if (c->stream[i]) {
			c->stream[i]->untold = true;
			c->node->calls_started--;
		}
	conversation_stop(c);
}

/* It never had a stream: receivers may still have its legs. */
static void give_up(struct conversation *c)
{
	LIST_REMOVE(c, link);
	for (unsigned i = 0; i < 2; i++)
		if (c->leg[i])
			node_leg_discard(c->leg[i]);
	free(c);
}

static int start_streams(struct conversation *c, struct call_cfg *stream,
			 struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++) {
		stream[i].ear = c->leg[i]->leg;
		stream[i].mouth = c->leg[!i]->leg;
		/* mode requests pass between the two */
		stream[i].pair = i ? c->stream[0]->id : 0;
		err = node_stream_start(c->node, &stream[i], c, &c->stream[i],
					e);
	}
	return err;
}

static int know_costs(struct node *n, const struct call_cfg *stream,
		      struct cr_err *e)
{
	struct cost_entry *cost;
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++)
		err = node_cost_of(n, &stream[i], &cost, e);
	return err;
}

int conversation_start(struct node *n, struct call_cfg *stream,
		       const struct conversation_request *r,
		       struct conversation **out, struct cr_err *e)
{
	struct conversation *c;
	int err = node_refuse_full(n, 2, e);

	if (!err)
		err = know_costs(n, stream, e);
	if (err)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c)
		return cr_fail(e, -ENOMEM, "out of memory for a conversation");
	c->id = ++n->last_conversation;
	c->node = n;
	LIST_INSERT_HEAD(&n->conversations, c, link);
	err = open_legs(c, stream, r, e);
	if (!err)
		err = start_streams(c, stream, e);
	if (!err)
		*out = c;
	else if (has_streams(c))
		take_back(c);
	else
		give_up(c);
	return err;
}

const struct node_leg *conversation_ear(const struct conversation *c,
					const struct node_call *nc)
{
	return c->leg[c->leg[0]->leg != call_settings(nc->call)->ear];
}

static unsigned number_of(const struct conversation *c,
			  const struct node_call *nc)
{
	return c->stream[0] != nc;
}

void conversation_stream_ends(struct conversation *c, struct node_call *nc)
{
	struct node_call *other = c->stream[!number_of(c, nc)];

	if (c->ending)
		return;
	c->ending = true;
	leave_legs(c);
	if (other)
		node_call_stop(other, nc->why);
}

void conversation_stream_gone(struct conversation *c,
			      const struct node_call *nc)
{
	c->stream[number_of(c, nc)] = NULL;
	if (!has_streams(c))
		release(c);
}

void conversation_stop(struct conversation *c)
{
	for (unsigned i = 0; i < 2; i++)
		if (c->stream[i]) {
			node_call_stop(c->stream[i], NODE_END_STOPPED);
			return; /* the other one ends by it */
		}
}

/* --- what others ask --- */

struct conversation *conversation_find(struct node *n, uint32_t id)
{
	struct conversation *c;

	LIST_FOREACH(c, &n->conversations, link)
	if (c->id == id)
		return c->ending ? NULL : c;
	return NULL;
}

uint32_t conversation_id(const struct conversation *c)
{
	return c->id;
}

struct node_call *conversation_stream(const struct conversation *c, unsigned i)
{
	return c->stream[i];
}

/* By what terms party @i is heard from now on: @terms. */
static int check_change(const struct conversation *c, unsigned i,
			const struct party_change *to,
			struct learn_terms *terms, struct cr_err *e)
{
	*terms = c->leg[i]->leg->cfg.terms;
	if (to->address.ss_family) {
		if (to->address.ss_family !=
		    c->leg[i]->interface->cfg.local.ss_family)
			return cr_fail(e, -EINVAL,
				       "%s: its leg is of the other IP family",
				       names[i].source);
		terms->told = to->address;
	}
	if (to->learn >= 0)
		terms->mode = (enum learn_mode)to->learn;
	if (terms->mode == LEARN_STRICT && !terms->told.ss_family)
		return cr_fail(e, -EINVAL,
			       "%slearn: strict hears %s only, which is "
			       "missing",
			       names[i].hears, names[i].source);
	return 0;
}

int conversation_change(struct conversation *c, const struct party_change to[2],
			struct cr_err *e)
{
	struct learn_terms terms[2];

	for (unsigned i = 0; i < 2; i++)
		if (check_change(c, i, &to[i], &terms[i], e))
			return -EINVAL;
	for (unsigned i = 0; i < 2; i++)
		if (to[i].address.ss_family || to[i].learn >= 0)
			leg_again(c->leg[i]->leg, &terms[i]);
	return 0;
}

void conversation_party(const struct conversation *c, unsigned i,
			struct node_party_info *out)
{
	const struct leg *l = c->leg[i]->leg;
	unsigned long long count[LEARN_NCOUNTERS];

	*out = (struct node_party_info){
		.call = c->stream[i] ? c->stream[i]->id : 0,
		.pt = c->stream[i] ? call_settings(c->stream[i]->call)->pt_in
				   : 0,
		.out_ssrc =
			c->stream[!i]
				? call_settings(c->stream[!i]->call)->ssrc_out
				: 0,
		.interface = c->leg[i]->interface->cfg.name,
	};
	node_leg_address(c->leg[i], out->address, sizeof(out->address));
	(void)way_read(&l->to, &out->to);
	learn_counts(&l->learn, count);
	out->wrong_source = count[LEARN_COUNTER_foreign_address];
	out->wrong_ssrc = count[LEARN_COUNTER_foreign_ssrc];
	out->unproven = count[LEARN_COUNTER_waiting];
	out->ssrc_changes = count[LEARN_COUNTER_ssrc_changes];
	out->address_changes = count[LEARN_COUNTER_address_changes];
}
