/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversations.
 *
 *   start:  checks -> costs -> endpoints -> streams -> listed
 *   end:    of either stream, by whomever -> both endpoints are left, both
 * streams end -> a grace period -> the last stream has gone -> freed
 */
#include "node/conversation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/circle.h"
#include "node/conversation_impl.h"

static int conversation_cmp(struct conversation *a, struct conversation *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

RB_PROTOTYPE(conversation_tree, conversation, by_id, conversation_cmp)
RB_GENERATE(conversation_tree, conversation, by_id, conversation_cmp)

/* --- endpoints --- */

/* The endpoint towards party @i of @r: an open one, or a new one. */
static int have_endpoint(struct conversation *c, const struct party_request *r,
			 unsigned i, struct cr_err *e)
{
	struct party *p = r->endpoint ? party_find(c->node, r->endpoint) : NULL;
	int err =
		p ? 0
		  : party_open(c->node, r, &conversation_party_names[i], &p, e);

	if (err)
		return err;
	c->party[i] = p;
	party_join(p, c);
	return 0;
}

static int have_endpoints(struct conversation *c,
			  const struct conversation_request *r,
			  struct cr_err *e)
{
	int err = 0;

	node_gather(c->node);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = have_endpoint(c, &r->party[i], i, e);
	node_notify(c->node);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = circle_check_party(c->party[i], c->party[!i],
					 &r->party[i].address,
					 &conversation_party_names[i], e);
	if (err)
		c->node->calls_refused++;
	return err;
}

/* --- life --- */

static void leave_endpoints(struct conversation *c)
{
	node_gather(c->node);
	for (unsigned i = 0; i < 2; i++)
		if (c->party[i])
			party_leave(c->party[i]);
	node_notify(c->node);
}

static bool has_streams(const struct conversation *c)
{
	return c->stream[0] || c->stream[1];
}

static void conversation_free(struct conversation *c)
{
	RB_REMOVE(conversation_tree, &c->node->conversations, c);
	free(c->label);
	free(c->tag[0]);
	free(c->tag[1]);
	free(c->record);
	free(c);
}

/* The last stream has gone, a grace period after receivers have left. */
static void release(struct conversation *c)
{
	party_release(c->party[0]);
	party_release(c->party[1]);
	conversation_free(c);
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
	conversation_stop(c, NODE_END_STOPPED, NULL);
}

/* It never had a stream: receivers may still have its endpoints. */
static void give_up(struct conversation *c)
{
	for (unsigned i = 0; i < 2; i++)
		if (c->party[i])
			party_discard(c->party[i]);
	conversation_free(c);
}

static struct conversation *conversation_new(
	struct node *n, const struct conversation_request *r)
{
	struct conversation *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (r->label) {
		c->label = strdup(r->label);
		if (!c->label) {
			free(c);
			return NULL;
		}
	}
	c->id = ++n->last_conversation;
	c->node = n;
	c->request = r->relay;
	RB_INSERT(conversation_tree, &n->conversations, c);
	return c;
}

static int start_stream(struct conversation *c, struct call_cfg *stream,
			struct node_call **out, struct cr_err *e)
{
	return c->relays ? node_relay_start(c->node, stream, c, out, e)
			 : node_stream_start(c->node, stream, c, out, e);
}

void conversation_use_rtcp(const struct conversation *c,
			   const struct call_cfg *stream)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct call_cfg *to = &stream[!i];
		const struct endpoint_rtcp_use use = {
			.ssrc = to->ssrc_out,
			.rate_in = pipeline_side_clock(&stream[i].media.in),
			.rate_out = pipeline_side_clock(&to->media.out),
		};

		endpoint_rtcp_use(c->party[i]->endpoint->endpoint, &use);
	}
}

/* Relays that need calls have begun without them. */
static int add_calls(struct conversation *c, struct call_cfg *stream,
		     struct cr_err *e)
{
	int err;

	if (!c->relays ||
	    !(relay_needs_call(&stream[0]) || relay_needs_call(&stream[1])))
		return 0;
	err = node_streams_recode(c->stream, stream, true, e);
	if (!err)
		conversation_use_rtcp(c, stream);
	return err;
}

static int start_streams(struct conversation *c, struct call_cfg *stream,
			 struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !c->relays; i++)
		if (!stream[i].ssrc_out)
			stream[i].ssrc_out = node_random_ssrc();
	conversation_use_rtcp(c, stream);
	for (unsigned i = 0; i < 2 && !err; i++) {
		stream[i].in_endpoint = c->party[i]->endpoint->endpoint;
		stream[i].out_endpoint = c->party[!i]->endpoint->endpoint;
		stream[i].tally = endpoint_rtcp_sent(stream[i].out_endpoint);
		/* mode requests pass between the two */
		stream[i].pair = i ? c->stream[0]->id : 0;
		err = start_stream(c, &stream[i], &c->stream[i], e);
	}
	return err ? err : add_calls(c, stream, e);
}

static int know_costs(struct node *n, const struct call_cfg *stream,
		      bool relays, struct cr_err *e)
{
	struct cost_entry *cost;
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++)
		if (node_stream_needs_call(&stream[i], relays))
			err = node_cost_of(n, &stream[i], &cost, e);
	return err;
}

int conversation_start(struct node *n, struct call_cfg *stream,
		       const struct conversation_request *r,
		       struct conversation **out, struct cr_err *e)
{
	bool relays = conversation_may_relay(stream, r);
	struct conversation *c;
	int err = node_refuse_full(n, 2, e);

	if (!err)
		err = know_costs(n, stream, relays, e);
	if (err)
		return err;
	c = conversation_new(n, r);
	if (!c)
		return cr_fail(e, -ENOMEM, "out of memory for a conversation");
	c->relays = relays;
	err = have_endpoints(c, r, e);
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

int conversation_load(struct node *n, struct call_cfg *stream, bool relays,
		      int64_t *ppm, struct cr_err *e)
{
	struct cost_entry *cost;
	int err;

	*ppm = 0;
	for (unsigned i = 0; i < 2; i++) {
		if (!node_stream_needs_call(&stream[i], relays))
			continue;
		err = node_cost_of(n, &stream[i], &cost, e);
		if (err)
			return err;
		call_settle(&stream[i], &cost->cost);
		*ppm += node_load_of(&stream[i]);
	}
	return 0;
}

int conversation_room(struct node *n, int64_t ppm,
		      const struct conversation_promise *promised,
		      struct cr_err *e)
{
	struct node_capacity has;

	node_capacity(n, &has);
	if (!has.admission ||
	    (double)(ppm + promised->ppm) <= has.free * CR_PPM)
		return 0;
	n->calls_refused++;
	return cr_fail(e, -ENOSPC,
		       "no-capacity: need %.4f, free %.4f of %.2f, of which "
		       "%.4f are for calls that are being set up",
		       (double)ppm / CR_PPM, has.free, has.bound,
		       (double)promised->ppm / CR_PPM);
}

int conversation_weigh(struct node *n, struct call_cfg *stream,
		       const struct conversation_request *r,
		       const struct conversation_promise *promised,
		       int64_t *ppm, struct cr_err *e)
{
	int err = node_refuse_full(n, promised->streams + 2, e);

	*ppm = 0;
	if (!err)
		err = conversation_load(
			n, stream, conversation_may_relay(stream, r), ppm, e);
	return err || !*ppm ? err : conversation_room(n, *ppm, promised, e);
}

void conversation_set_early(struct conversation *c, bool early)
{
	struct node *n = c->node;

	for (unsigned i = 0; i < 2; i++) {
		struct node_call *nc = c->stream[i];

		if (!nc || nc->untold == early)
			continue;
		nc->untold = early;
		if (early) {
			n->calls_started--;
			continue;
		}
		n->calls_started++;
		nc->started = clock_now();
		nc->started_utc = clock_read(CLOCK_REALTIME);
	}
}

const struct node_endpoint *conversation_in_endpoint(
	const struct conversation *c, const struct node_call *nc)
{
	return c->party[c->party[0]->endpoint->endpoint !=
			node_call_settings(nc)->in_endpoint]
		->endpoint;
}

unsigned conversation_number(const struct conversation *c,
			     const struct node_call *nc)
{
	return c->stream[0] != nc;
}

struct party *conversation_peer(const struct conversation *c,
				const struct party *p)
{
	return c->party[c->party[0] == p];
}

struct node_call *conversation_other(const struct conversation *c,
				     const struct node_call *nc)
{
	return c->stream[!conversation_number(c, nc)];
}

void conversation_stream_ends(struct conversation *c, struct node_call *nc)
{
	struct node_call *other = conversation_other(c, nc);
	const struct node_who who = { nc->by, nc->peer };

	if (c->ending)
		return;
	c->ending = true;
	leave_endpoints(c);
	if (other)
		node_call_stop(other, nc->why, &who);
}

void conversation_stream_gone(struct conversation *c,
			      const struct node_call *nc)
{
	c->stream[conversation_number(c, nc)] = NULL;
	if (!has_streams(c))
		release(c);
}

void conversation_stop(struct conversation *c, enum node_end why,
		       const struct node_who *who)
{
	for (unsigned i = 0; i < 2; i++)
		if (c->stream[i]) {
			node_call_stop(c->stream[i], why, who);
			return; /* the other one ends by it */
		}
}

/* --- what others ask --- */

struct conversation *conversation_find(struct node *n, uint32_t id)
{
	struct conversation key = { .id = id };
	struct conversation *c =
		RB_FIND(conversation_tree, &n->conversations, &key);

	return c && !c->ending ? c : NULL;
}

struct conversation *conversation_after(struct node *n, uint32_t id)
{
	struct conversation key = { .id = id };
	struct conversation *c =
		RB_NFIND(conversation_tree, &n->conversations, &key);

	while (c && (c->ending || c->id == id))
		c = RB_NEXT(conversation_tree, &n->conversations, c);
	return c;
}

uint32_t conversation_id(const struct conversation *c)
{
	return c->id;
}

void conversation_set_tags(struct conversation *c, const char *const tag[2],
			   unsigned line)
{
	c->line = line;
	for (unsigned i = 0; i < 2; i++) {
		free(c->tag[i]);
		c->tag[i] = tag[i] ? strdup(tag[i]) : NULL;
	}
}

struct node_record **conversation_record(struct conversation *c)
{
	return &c->record;
}

void conversation_names(const struct conversation *c, struct node_record *r)
{
	r->conversation = c->id;
	r->label = c->label;
	r->tag[0] = c->tag[0];
	r->tag[1] = c->tag[1];
	r->line = c->line;
}

const char *conversation_label(const struct conversation *c)
{
	return c->label;
}

bool conversation_relays(const struct conversation *c)
{
	return c->relays;
}

struct node_call *conversation_stream(const struct conversation *c, unsigned i)
{
	return c->stream[i];
}

void conversation_rtcp(const struct conversation *c, const struct node_call *nc,
		       struct endpoint *endpoint[2])
{
	unsigned i = conversation_number(c, nc);

	endpoint[0] = c->party[i]->endpoint->endpoint;
	endpoint[1] = c->party[!i]->endpoint->endpoint;
}

void conversation_party(const struct conversation *c, unsigned i,
			struct node_party_info *out)
{
	const struct node_call *from = c->stream[i], *to = c->stream[!i];

	*out = (struct node_party_info){
		.call = from ? from->id : 0,
		.pt = from ? node_call_settings(from)->pt_in : 0,
		.out_ssrc = to ? node_call_settings(to)->ssrc_out : 0,
	};
	if (to && !c->relays)
		out->ptime = pipeline_side_packet(
			&node_call_settings(to)->media.out);
	party_endpoint_info(c->party[i], &out->endpoint);
}
