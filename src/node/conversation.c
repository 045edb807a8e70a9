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
#include <inttypes.h>
#include <stdlib.h>

#include "node/call_check.h"
#include "node/node_impl.h"

struct conversation {
	LIST_ENTRY(conversation) link;
	uint32_t id;
	struct node *node;
	struct party *party[2];
	struct node_call *stream[2]; /**< NULL: has not begun, or has gone */
	bool relays;		     /**< its streams need no codec */
	bool ending;
};

/* --- the request --- */

/* A stream from party @i, as if it were a call by itself. */
static struct call_request stream_of(const struct conversation_request *r,
				     unsigned i)
{
	const struct party_request *from = &r->party[i];
	const struct party_request *to = &r->party[!i];

	struct call_request one = {
		.in = { .side = from->side,
			.source = from->address,
			.learn = from->learn >= 0 ? from->learn
				 : from->address.ss_family
					 ? (int)LEARN_DELAYED
					 : (int)LEARN_IMMEDIATE,
			.ts_first = -1,
			.types = from->types,
			.reception = from->reception },
		.out = { .side = to->side,
			 .address = to->address,
			 .ssrc = to->out_ssrc,
			 .ptime = to->ptime,
			 .types = to->types },
		.ptime = r->ptime,
		.terms = r->terms,
		.release = { .model = -1, .burst = -1, .x = 1 },
		.port = CALL_PORT_OWN,
		.ssrc = from->ssrc,
	};

	if (one.in.reception.fill < 0)
		one.in.reception.fill = INFLOW_FILL_TOLD;
	return one;
}

/* Of the stream from party 0, and from 1: what a request calls its members. */
static const struct call_names names[] = {
	{ .in = "a.", .out = "b.", .hears = "a.", .source = "a.address" },
	{ .in = "b.", .out = "a.", .hears = "b.", .source = "b.address" },
};
static const struct party_names party_names[] = {
	{ .path = "a.", .address = "a.address" },
	{ .path = "b.", .address = "b.address" },
};

/* A member of @r that says what an open leg has said already. */
static const char *said_twice(const struct party_request *r)
{
	if (r->side.codec || party_says_use(&r->side))
		return "codec";
	if (r->nalso || r->ptime)
		return r->nalso ? "also" : "ptime";
	if (r->address.ss_family)
		return "address";
	if (r->learn >= 0)
		return "learn";
	if (r->ssrc)
		return "ssrc";
	if (r->out_ssrc)
		return "out_ssrc";
	if (r->types.events || r->types.noise)
		return r->types.events ? "events" : "noise";
	if (call_says_reception(&r->reception))
		return "loss, jitter or fill";
	return r->interface ? "interface" : NULL;
}

static int find_leg(struct node *n, struct party_request *r, const char *path,
		    struct cr_err *e)
{
	const struct party *p = party_find(n, r->leg);
	const char *twice = said_twice(r);

	if (!p)
		return cr_fail(e, -ESRCH, "%sleg: there is no leg %" PRIu32,
			       path, r->leg);
	if (twice)
		return cr_fail(e, -EINVAL,
			       "%s%s: leg %" PRIu32 " has it; leg.change "
			       "changes it",
			       path, twice, r->leg);
	if (p->conversation)
		return cr_fail(e, -EBUSY,
			       "%sleg: conversation %" PRIu32
			       " has leg %" PRIu32,
			       path, p->conversation->id, r->leg);
	if (!p->codecs.side.codec)
		return cr_fail(e, -EINVAL,
			       "%sleg: leg %" PRIu32 " has no codec: tell it "
			       "by leg.change",
			       path, r->leg);
	party_request_of(p, r);
	return 0;
}

int conversation_find_legs(struct node *n, struct conversation_request *r,
			   struct cr_err *e)
{
	int err = 0;

	if (r->party[0].leg && r->party[0].leg == r->party[1].leg)
		return cr_fail(e, -EINVAL, "b.leg: is a's");
	for (unsigned i = 0; i < 2 && !err; i++)
		if (r->party[i].leg)
			err = find_leg(n, &r->party[i], party_names[i].path, e);
	return err;
}

int conversation_check(struct call_cfg *stream,
		       const struct conversation_request *r, struct cr_err *e)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct call_request one = stream_of(r, i);

		if (call_check_stream(&stream[i], &one, &names[i], e))
			return -EINVAL;
		/* what is learned names the stream nowhere */
		stream[i].ssrc_in = 0;
		stream[i].may_change = true;
	}
	return 0;
}

/* What party @i may send, too, each as if it was what it sends. */
static int check_also(struct call_codecs *codecs, const struct call_cfg *stream,
		      const struct conversation_request *r, unsigned i,
		      struct cr_err *e)
{
	struct call_request one = stream_of(r, i);
	struct call_names called = names[i];
	struct call_cfg cfg;
	char path[40];

	one.ptime = stream->release.period;
	for (unsigned k = 0; k < r->party[i].nalso; k++) {
		(void)snprintf(path, sizeof(path), "%salso[%u].", names[i].in,
			       k);
		called.in = path;
		one.in.side = r->party[i].also[k];
		if (call_check_stream(&cfg, &one, &called, e))
			return -EINVAL;
		for (unsigned j = 0; j < codecs->n; j++)
			if (codecs->one[j].pt == cfg.media.in.pt)
				return cr_fail(e, -EINVAL,
					       "%spt: %u is another codec's",
					       path, cfg.media.in.pt);
		codecs->one[codecs->n++] = cfg.media.in;
	}
	return 0;
}

int conversation_codecs(struct call_codecs *codecs, struct call_cfg *stream,
			const struct conversation_request *r, struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++) {
		codecs[i].n = 1;
		codecs[i].one[0] = stream[i].media.in;
		err = check_also(&codecs[i], &stream[i], r, i, e);
		if (codecs[i].n > 1)
			stream[i].codecs = &codecs[i];
	}
	return err;
}

/* --- legs --- */

/* The leg towards party @i of @r: an open one, or a new one. */
static int have_leg(struct conversation *c, const struct party_request *r,
		    unsigned i, struct cr_err *e)
{
	struct party *p = r->leg ? party_find(c->node, r->leg) : NULL;
	int err = p ? 0 : party_open(c->node, r, &party_names[i], &p, e);

	if (err)
		return err;
	c->party[i] = p;
	party_join(p, c);
	return 0;
}

static int have_legs(struct conversation *c,
		     const struct conversation_request *r, struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++)
		err = have_leg(c, &r->party[i], i, e);
	if (err)
		c->node->calls_refused++;
	return err;
}

/* --- life --- */

static void leave_legs(struct conversation *c)
{
	for (unsigned i = 0; i < 2; i++)
		if (c->party[i])
			party_leave(c->party[i]);
}

static bool has_streams(const struct conversation *c)
{
	return c->stream[0] || c->stream[1];
}

/* The last stream has gone, a grace period after receivers have left. */
static void release(struct conversation *c)
{
	LIST_REMOVE(c, link);
	party_release(c->party[0]);
	party_release(c->party[1]);
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
		if (c->party[i])
			party_discard(c->party[i]);
	free(c);
}

static int start_stream(struct conversation *c, struct call_cfg *stream,
			struct node_call **out, struct cr_err *e)
{
	return c->relays ? node_relay_start(c->node, stream, c, out, e)
			 : node_stream_start(c->node, stream, c, out, e);
}

/* RTCP of both legs is about these streams from now on. A relay tells the SSRC
 * of what it passes on by itself. */
static void use_rtcp(const struct conversation *c,
		     const struct call_cfg *stream)
{
	for (unsigned i = 0; i < 2; i++) {
		const struct call_cfg *to = &stream[!i];
		const struct leg_rtcp_use use = {
			.ssrc = to->ssrc_out,
			.rate_in = pipeline_side_clock(&stream[i].media.in),
			.rate_out = pipeline_side_clock(&to->media.out),
		};

		leg_rtcp_use(c->party[i]->leg->leg, &use);
	}
}

static int start_streams(struct conversation *c, struct call_cfg *stream,
			 struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !c->relays; i++)
		if (!stream[i].ssrc_out)
			stream[i].ssrc_out = node_random_ssrc();
	use_rtcp(c, stream);
	for (unsigned i = 0; i < 2 && !err; i++) {
		stream[i].ear = c->party[i]->leg->leg;
		stream[i].mouth = c->party[!i]->leg->leg;
		stream[i].tally = leg_rtcp_sent(stream[i].mouth);
		/* mode requests pass between the two */
		stream[i].pair = i ? c->stream[0]->id : 0;
		err = start_stream(c, &stream[i], &c->stream[i], e);
	}
	return err;
}

/* Is what this end is sent what the other end is to be sent? That one end's
 * encoder tries harder is its own matter. */
static bool same_speech(const struct pipeline_side *a,
			const struct pipeline_side *b)
{
	return a->codec == b->codec && a->cfg.mode == b->cfg.mode &&
	       a->cfg.sample_rate == b->cfg.sample_rate &&
	       a->cfg.dtx == b->cfg.dtx && a->cfg.fec == b->cfg.fec &&
	       a->cfg.spin == b->cfg.spin &&
	       a->payload.kind == b->payload.kind &&
	       a->payload.octet_align == b->payload.octet_align &&
	       a->payload.mode_set == b->payload.mode_set;
}

/* Is what each party sends as long as the other one is to be sent? Who says
 * the same of both expects it. */
static bool same_packets(const struct call_cfg *stream,
			 const struct conversation_request *r)
{
	cr_ns a = r->party[0].ptime, b = r->party[1].ptime;
	cr_ns sent = stream[0].release.period;

	return a == b || ((!a || a == sent) && (!b || b == sent));
}

/* Does no packet need a change that a relay does not make? */
static bool can_relay(const struct call_cfg *stream,
		      const struct conversation_request *r)
{
	if (r->relay != RELAY_AUTO)
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (r->party[i].out_ssrc || r->party[i].nalso ||
		    call_says_reception(&r->party[i].reception))
			return false;
	return same_packets(stream, r) &&
	       same_speech(&stream[0].media.in, &stream[0].media.out);
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
	bool relays = can_relay(stream, r);
	struct conversation *c;
	int err = node_refuse_full(n, 2, e);

	if (!err && !relays)
		err = know_costs(n, stream, e);
	if (err)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c)
		return cr_fail(e, -ENOMEM, "out of memory for a conversation");
	c->id = ++n->last_conversation;
	c->node = n;
	c->relays = relays;
	LIST_INSERT_HEAD(&n->conversations, c, link);
	err = have_legs(c, r, e);
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
	return c->party[c->party[0]->leg->leg != node_call_settings(nc)->ear]
		->leg;
}

static unsigned number_of(const struct conversation *c,
			  const struct node_call *nc)
{
	return c->stream[0] != nc;
}

struct node_call *conversation_other(const struct conversation *c,
				     const struct node_call *nc)
{
	return c->stream[!number_of(c, nc)];
}

void conversation_stream_ends(struct conversation *c, struct node_call *nc)
{
	struct node_call *other = conversation_other(c, nc);

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

bool conversation_relays(const struct conversation *c)
{
	return c->relays;
}

struct node_call *conversation_stream(const struct conversation *c, unsigned i)
{
	return c->stream[i];
}

/* What the streams become if the parties speak as @to says. */
static int plan_change(const struct conversation *c,
		       const struct party_terms to[2],
		       struct conversation_plan *plan, struct cr_err *e)
{
	struct conversation_request r = { .terms = { .deadline = 0 } };
	struct call_cfg stream[2];
	int err;

	r.ptime = call_settings(c->stream[0]->call)->release.period;
	for (unsigned i = 0; i < 2; i++) {
		party_request_of(c->party[i], &r.party[i]);
		party_request_speaks(&r.party[i], &to[i].codecs);
	}
	err = conversation_check(stream, &r, e);
	if (!err)
		err = conversation_codecs(plan->codecs, stream, &r, e);
	for (unsigned i = 0; i < 2 && !err; i++) {
		plan->stream[i] = node_call_cfg(c->stream[i]);
		if (pipeline_side_same_speech(&plan->stream[i].media.out,
					      &stream[i].media.out))
			stream[i].media.out.cfg.mode =
				plan->stream[i].media.out.cfg.mode;
		plan->stream[i].media = stream[i].media;
		plan->stream[i].pt_in = stream[i].pt_in;
		plan->stream[i].pt_out = stream[i].pt_out;
		plan->stream[i].codecs = stream[i].codecs;
	}
	return err;
}

static int recode(struct conversation *c, const struct party_terms to[2],
		  struct conversation_plan *plan, struct cr_err *e)
{
	int err;

	if (c->relays)
		return cr_fail(e, -EBUSY,
			       "codec: conversation %" PRIu32
			       " passes packets on without a codec: for "
			       "another one start it with relay \"never\"",
			       c->id);
	err = plan_change(c, to, plan, e);
	if (!err)
		err = node_streams_recode(c->stream, plan->stream, e);
	if (!err)
		use_rtcp(c, plan->stream);
	return err;
}

int conversation_change(struct conversation *c, const struct party_change to[2],
			struct conversation_plan *plan, struct cr_err *e)
{
	struct party_terms terms[2];
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++)
		err = party_check_change(&terms[i], c->party[i], &to[i],
					 &party_names[i], e);
	if (!err && (terms[0].speaks || terms[1].speaks))
		err = recode(c, terms, plan, e);
	for (unsigned i = 0; i < 2 && !err; i++)
		party_change(c->party[i], &terms[i]);
	return err;
}

int conversation_change_party(struct party *p, const struct party_change *to,
			      struct conversation_plan *plan, struct cr_err *e)
{
	static const struct party_names own = { .path = "",
						.address = "address" };
	struct conversation *c = p->conversation;
	struct party_terms terms[2];
	unsigned i = c && c->party[1] == p;
	int err = party_check_change(&terms[i], p, to, &own, e);

	if (!err && c && terms[i].speaks) {
		terms[!i].codecs = c->party[!i]->codecs;
		err = recode(c, terms, plan, e);
	}
	if (!err)
		party_change(p, &terms[i]);
	return err;
}

void conversation_rtcp(const struct conversation *c, const struct node_call *nc,
		       struct leg *leg[2])
{
	unsigned i = number_of(c, nc);

	leg[0] = c->party[i]->leg->leg;
	leg[1] = c->party[!i]->leg->leg;
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
	party_leg_info(c->party[i], &out->leg);
}
