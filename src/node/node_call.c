/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls: what one is asked to be and what streams that makes, its life, and new
 * offers and answers.
 *
 *   start:  checks -> costs -> endpoints -> streams -> listed
 *   end:    by whomever -> its endpoints are left, its streams end -> a grace
 *           period -> the last stream has gone -> freed
 */
#include "node/node_call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/call_check.h"
#include "node/node_impl.h"

/* The parties' names in a request. */
static const struct end_names names[2] = {
	{ .path = "a.", .address = "a.address" },
	{ .path = "b.", .address = "b.address" },
};

/* A member of @r that endpoint.change takes. */
static const char *said_of_change(const struct endpoint_spec *r)
{
	if (r->side.name || codec_use_is_said(&r->side))
		return "codec";
	if (r->nalso)
		return "also";
	if (r->ptime || r->in_ptime)
		return r->ptime ? "ptime" : "in_ptime";
	if (r->address.ss_family || r->rtcp_address.ss_family)
		return r->address.ss_family ? "address" : "rtcp_address";
	if (r->types.events || r->types.noise)
		return r->types.events ? "events" : "noise";
	if (r->hold)
		return "hold";
	return r->learn >= 0 ? "learn" : NULL;
}

/* One that only endpoint.open takes. */
static const char *said_of_opening(const struct endpoint_spec *r)
{
	if (r->ssrc)
		return "ssrc";
	if (r->out_ssrc)
		return "out_ssrc";
	if (call_says_reception(&r->reception))
		return "loss, jitter or fill";
	if (r->rtcp >= 0)
		return "rtcp";
	if (r->family)
		return "family";
	return r->interface ? "interface" : NULL;
}

/* Refuse settings that the open endpoint has already. */
static int check_unsaid(const struct endpoint_spec *r, const char *path,
			struct cr_err *e)
{
	const char *party = said_of_change(r), *endpoint = said_of_opening(r);

	if (party)
		return cr_fail(e, -EINVAL,
			       "%s%s: endpoint %" PRIu32
			       " has it (%sendpoint); "
			       "endpoint.change changes it",
			       path, party, r->endpoint, path);
	if (endpoint)
		return cr_fail(e, -EINVAL,
			       "%s%s: endpoint %" PRIu32
			       " has it (%sendpoint); say it "
			       "when the endpoint is opened (endpoint.open)",
			       path, endpoint, r->endpoint, path);
	return 0;
}

static int find_endpoint(struct node *n, struct endpoint_spec *r,
			 const char *path, struct cr_err *e)
{
	const struct node_endpoint *ep = node_endpoint_find(n, r->endpoint);
	uint32_t id = r->endpoint;

	if (!ep)
		return cr_fail(e, -ESRCH,
			       "%sendpoint: there is no endpoint %" PRIu32,
			       path, id);
	if (check_unsaid(r, path, e))
		return -EINVAL;
	if (ep->call)
		return cr_fail(e, -EBUSY,
			       "%sendpoint: call %" PRIu32
			       " has endpoint %" PRIu32,
			       path, ep->call->id, id);
	if (!ep->spec->side.name)
		return cr_fail(e, -EINVAL,
			       "%sendpoint: endpoint %" PRIu32
			       " has no codec: tell it "
			       "by endpoint.change",
			       path, id);
	*r = *ep->spec;
	r->endpoint = id;
	return 0;
}

/* Fill in what open endpoints say of the ends that @r names by these; texts may
 * be the endpoints'. */
static int find_endpoints(struct node *n, struct call_spec *r, struct cr_err *e)
{
	int err = 0;

	if (r->end[0].endpoint && r->end[0].endpoint == r->end[1].endpoint)
		return cr_fail(e, -EINVAL, "b.endpoint: is a's");
	for (unsigned i = 0; i < 2 && !err; i++)
		if (r->end[i].endpoint)
			err = find_endpoint(n, &r->end[i], names[i].path, e);
	return err;
}

/* Check each codec that party @i may send, as the input of its stream. */
static int check_codecs(struct stream_codecs *codecs, struct stream_cfg *stream,
			const struct call_spec *r, unsigned i, struct cr_err *e)
{
	struct end_names called[2] = { names[0], names[1] };
	struct endpoint_spec *from;
	struct call_spec one = *r;
	struct stream_cfg cfg;
	char path[40];

	*codecs = (struct stream_codecs){ .n = 1,
					  .one = { stream->media.in },
					  .passed = r->end[i].passed };
	called[i].path = path;
	from = &one.end[i];
	for (unsigned k = 0; k < r->end[i].nalso; k++) {
		(void)snprintf(path, sizeof(path), "%salso[%u].", names[i].path,
			       k);
		from->side = r->end[i].also[k];
		from->in_ptime = stream->release.period;
		/* frames that are passed on may be of another length */
		if (passed_has(&codecs->passed, from->side.pt))
			from->in_ptime = one.ptime = 0;
		if (call_check_stream(&cfg, &one, i, called, e))
			return -EINVAL;
		for (unsigned j = 0; j < codecs->n; j++)
			if (codecs->one[j].pt == cfg.media.in.pt)
				return cr_fail(e, -EINVAL,
					       "%spt: %u is another codec's",
					       path, cfg.media.in.pt);
		codecs->one[codecs->n++] = cfg.media.in;
	}
	if (codecs->n > 1 || codecs->passed.n)
		stream->codecs = codecs;
	return 0;
}

/* Is what each party sends as long as the other one is to be sent? Who says
 * the same of both expects it. */
static bool same_packets(const struct stream_cfg *stream,
			 const struct call_spec *r)
{
	cr_ns a = r->end[0].ptime, b = r->end[1].ptime;
	cr_ns from_a = stream[0].release.period;
	cr_ns from_b = stream[1].release.period;

	return a == b || ((!a || a == from_b) && (!b || b == from_a));
}

/* Is an event as long to the other side as it is said to be? */
static bool same_events(const struct stream_cfg *stream)
{
	const struct telephone_event_types *t = &stream->receive_stage.events;

	return !t->n || !stream->event_out.pt ||
	       t->one[0].clock == stream->event_out.clock;
}

/** May @stream[2], of @r, be relays: does no packet need a change that they do
 * not make? */
static bool node_call_may_relay(const struct stream_cfg *stream,
				const struct call_spec *r)
{
	bool said = r->end[0].passed.n && r->end[1].passed.n;

	if (r->relay != RELAY_AUTO)
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (r->end[i].out_ssrc || (r->end[i].nalso && !said) ||
		    call_says_reception(&r->end[i].reception))
			return false;
	return same_packets(stream, r) &&
	       (said || (codec_use_same(&stream[0].media.in,
					&stream[0].media.out, SAME_RELAYED) &&
			 same_events(stream)));
}

int node_call_check(struct node_call_streams *out, const struct call_spec *r,
		    struct cr_err *e)
{
	struct stream_cfg *stream = out->stream;
	int err = 0;

	out->n = r->port == CALL_PORT_EACH ? 2 : 1;
	out->relays = false;
	if (out->n == 1)
		return call_check(stream, r, e);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = call_check_stream(&stream[i], r, i, names, e);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = check_codecs(&out->codecs[i], &stream[i], r, i, e);
	if (err)
		return err;
	out->relays = node_call_may_relay(stream, r);
	for (unsigned i = 0; i < 2; i++)
		if (stream[i].media.in.codec == &cr_codec_relayed &&
		    (!out->relays || relay_needs_transcoder(&stream[0]) ||
		     relay_needs_transcoder(&stream[1])))
			return cr_fail(e, -EINVAL,
				       "%scodec: %s: both parties are to have "
				       "it, with one rate, and nothing else is "
				       "to be asked of either",
				       names[i].path, cr_codec_relayed.name);
	return 0;
}

static int node_call_cmp(struct node_call *a, struct node_call *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

RB_GENERATE(node_call_tree, node_call, by_id, node_call_cmp)

/* --- endpoints --- */

/* A port of its own at @at for what comes in of @stream. */
static int have_port(struct node_call *c, const struct call_spec *r,
		     const struct stream_cfg *stream, struct interface *at,
		     struct cr_err *e)
{
	const struct endpoint_rtcp_cfg rtcp = {
		.mode = r->end[0].rtcp < 0
				? ENDPOINT_RTCP_OFF
				: (enum endpoint_rtcp_mode)r->end[0].rtcp,
		.fd = -1,
		.use = { .ssrc = stream->ssrc_out,
			 .rate_in = codec_use_clock(&stream->media.in),
			 .rate_out = codec_use_clock(&stream->media.out) },
		.listener = stream->to,
	};
	const struct endpoint_cfg cfg = {
		.terms = stream->hears,
		.state = c->slot ? &c->slot->stream[0] : NULL,
	};
	int err =
		node_endpoint_new(c->node, at, &cfg, &rtcp, &c->endpoint[0], e);

	if (!err)
		node_endpoint_join(c->endpoint[0], c);
	return err;
}

/* The endpoints towards the parties of @r: open ones, or new ones. */
static int have_endpoints(struct node_call *c, const struct call_spec *r,
			  struct cr_err *e)
{
	int err = 0;

	node_gather(c->node);
	for (unsigned i = 0; i < 2 && !err; i++) {
		const struct endpoint_spec *end = &r->end[i];
		struct node_endpoint *ep =
			node_endpoint_find(c->node, end->endpoint);

		node_restore_end(c->node, i);
		if (!ep)
			err = node_endpoint_open_kept(
				c->node, end, &names[i],
				c->slot ? &c->slot->stream[i] : NULL, &ep, e);
		if (err)
			break;
		c->endpoint[i] = ep;
		node_endpoint_join(ep, c);
	}
	node_notify(c->node);
	for (unsigned i = 0; i < 2 && !err; i++)
		err = loop_check_endpoint(c->endpoint[i], c->endpoint[!i],
					  &r->end[i].address, &names[i], e);
	return err;
}

/* --- life --- */

static bool has_streams(const struct node_call *c)
{
	return c->stream[0] || c->stream[1];
}

static void node_call_free(struct node_call *c)
{
	RB_REMOVE(node_call_tree, &c->node->calls, c);
	for (unsigned i = 0; i < 2; i++)
		free(c->tag[i]);
	state_slot_give(c->node->cfg.state, c->slot);
	free(c->label);
	free(c->record);
	free(c);
}

static struct node_call *node_call_new(struct node *n,
				       const struct node_call_streams *s,
				       const struct call_spec *r)
{
	struct node_call *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (r->label) {
		c->label = strdup(r->label);
		if (!c->label) {
			free(c);
			return NULL;
		}
	}
	c->id = node_next_id(n);
	c->node = n;
	c->nstreams = s->n;
	c->request = r->relay;
	c->relays = s->relays;
	c->slot = node_take_slot(n);
	if (n->restoring)
		c->from = n->restoring->how == RESTORE_MOVED
				  ? n->restoring->id
				  : n->restoring->from;
	RB_INSERT(node_call_tree, &n->calls, c);
	return c;
}

/** RTCP of the endpoints of @c is about its streams from now on, unless there
 * is one, at an endpoint that was opened for it. A relay tells the SSRC of what
 * it passes on by itself. */
static void node_call_use_rtcp(const struct node_call *c)
{
	for (unsigned i = 0; i < 2 && c->nstreams == 2; i++) {
		const struct stream_cfg *from =
			node_stream_settings(c->stream[i]);
		const struct stream_cfg *to =
			node_stream_settings(c->stream[!i]);
		const struct endpoint_rtcp_use use = {
			.ssrc = to->ssrc_out,
			.rate_in = codec_use_clock(&from->media.in),
			.rate_out = codec_use_clock(&to->media.out),
		};

		endpoint_rtcp_use(c->endpoint[i]->endpoint, &use);
	}
}

/* Add the transcoders that relays need: they have begun without. */
static int add_transcoders(struct node_call *c, struct stream_cfg *stream,
			   struct cr_err *e)
{
	struct node_recode *recode;
	int err;

	if (!c->relays || !(relay_needs_transcoder(&stream[0]) ||
			    relay_needs_transcoder(&stream[1])))
		return 0;
	err = node_recode_prepare(&recode, c->stream, stream, true, e);
	if (err)
		return err;
	node_recode_commit(recode);
	return 0;
}

/* SSRCs that nobody asked for; of a call that goes on, those that it had. */
static void choose_ssrcs(const struct call_past *past,
			 struct node_call_streams *s)
{
	for (unsigned i = 0; i < s->n && !s->relays; i++) {
		struct stream_cfg *stream = &s->stream[i];

		if (past) {
			stream->ssrc_in = past->stream[i].ssrc_in;
			stream->ssrc_out = past->stream[i].ssrc_out;
		}
		if (!stream->ssrc_out)
			stream->ssrc_out = node_random_ssrc();
	}
}

static int start_streams(struct node_call *c, struct stream_cfg *stream,
			 struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < c->nstreams && !err; i++) {
		const struct node_endpoint *out = node_call_out_endpoint(c, i);

		if (out) {
			stream[i].in_endpoint = c->endpoint[i]->endpoint;
			stream[i].tally = endpoint_rtcp_sent(out->endpoint);
		}
		if (c->nstreams == 2)
			stream[i].out_endpoint = out->endpoint;
		/* mode requests pass between the two */
		if (i)
			stream[i].pair = c->id;
		err = c->relays ? node_relay_start(c, &stream[i], e)
				: node_stream_begin(c, &stream[i], e);
	}
	if (err || c->nstreams == 1)
		return err;
	return add_transcoders(c, stream, e);
}

/** The need of @s, *@ppm of a CPU; the costs are filled in. 0; -EAGAIN, or as
 * node_cost_of(), with @e. */
static int node_call_load(struct node *n, struct node_call_streams *s,
			  int64_t *ppm, struct cr_err *e)
{
	*ppm = 0;
	for (unsigned i = 0; i < s->n; i++) {
		struct stream_cfg *stream = &s->stream[i];
		struct cost_entry *cost;
		int err;

		if (!node_stream_needs_transcoder(stream, s->relays))
			continue;
		node_restore_end(n, i);
		err = node_cost_of(n, stream, &cost, e);
		if (err)
			return err;
		stream_settle(stream, &cost->cost);
		*ppm += node_load_of(stream);
	}
	return 0;
}

/* If @err is -EAGAIN, note the costs of @s in @lacks. Returns @err. */
static int note_lacking(int err, const struct node_call_streams *s,
			struct node_cost_wait *lacks)
{
	if (err == -EAGAIN)
		node_cost_need(lacks, s->stream, s->n);
	return err;
}

void node_call_undo(struct node_call *c)
{
	if (!c->stream[0] || !c->stream[0]->untold)
		c->node->calls_started--;
	for (unsigned i = 0; i < 2; i++)
		if (c->stream[i])
			c->stream[i]->untold = true;
	node_call_stop(c, NODE_END_STOPPED, NULL);
}

int node_call_begin(struct node *n, struct node_call_streams *s,
		    const struct call_spec *r, struct node_call **out,
		    struct cr_err *e)
{
	struct interface *at = NULL;
	struct node_call *c;
	int64_t ppm;
	int err = node_refuse_full(n, 0, e);

	if (!err && s->n == 1)
		err = node_stream_refuse_early(n, s->stream, r, &at, e);
	if (!err)
		err = node_call_load(n, s, &ppm, e);
	if (err)
		return err;
	c = node_call_new(n, s, r);
	if (!c)
		return cr_fail(e, -ENOMEM, "out of memory for a call");
	choose_ssrcs(n->restoring, s);
	if (s->n == 2)
		err = have_endpoints(c, r, e);
	else if (at)
		err = have_port(c, r, s->stream, at, e);
	if (err)
		n->calls_refused++;
	else
		err = start_streams(c, s->stream, e);
	if (!err) {
		*out = c;
		return 0;
	}
	if (!has_streams(c)) { /* receivers may still have its endpoints */
		for (unsigned i = 0; i < 2; i++)
			if (c->endpoint[i])
				node_endpoint_discard(c->endpoint[i]);
		node_call_free(c);
		return err;
	}
	/* one of two streams has begun */
	node_call_undo(c);
	return err;
}

/* Open endpoints stay as they were, but for the stream that they feed. */
static int start_call_of(struct node *n, const struct call_spec *spec,
			 struct node_cost_wait *lacks, struct node_call **out,
			 struct cr_err *e)
{
	struct call_spec r = *spec;
	struct node_call_streams s;
	int err = find_endpoints(n, &r, e);

	if (!err)
		err = node_call_check(&s, &r, e);
	if (!err)
		err = node_call_begin(n, &s, &r, out, e);
	return note_lacking(err, &s, lacks);
}

int node_call_start(struct node *n, const struct call_spec *spec,
		    struct node_cost_wait *lacks, struct node_call **out,
		    struct cr_err *e)
{
	int err = start_call_of(n, spec, lacks, out, e);

	if (!err)
		node_call_use_rtcp(*out);
	return err;
}

/** Are @ppm of a CPU free, beside what was @promised? 0, or -ENOSPC with @e. */
static int node_call_room(struct node *n, int64_t ppm,
			  const struct node_call_promise *promised,
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

int node_call_weigh(struct node *n, const struct call_spec *spec,
		    const struct node_call_promise *promised, int64_t *ppm,
		    struct node_cost_wait *lacks, struct cr_err *e)
{
	struct node_call_streams s;
	int err = node_call_check(&s, spec, e);

	*ppm = 0;
	if (!err)
		err = node_refuse_full(n, promised->calls, e);
	if (!err)
		err = node_call_load(n, &s, ppm, e);
	if (err || !*ppm)
		return note_lacking(err, &s, lacks);
	return node_call_room(n, *ppm, promised, e);
}

void node_call_set_early(struct node_call *c, bool early)
{
	struct node *n = c->node;

	if (c->stream[0]->untold == early)
		return;
	if (early)
		n->calls_started--;
	else
		n->calls_started++;
	for (unsigned i = 0; i < c->nstreams; i++) {
		struct node_stream *st = c->stream[i];

		st->untold = early;
		if (early)
			continue;
		st->started = clock_now();
		st->started_utc = clock_read(CLOCK_REALTIME);
	}
}

void node_call_stream_gone(struct node_call *c, unsigned number)
{
	c->stream[number] = NULL;
	if (has_streams(c))
		return;
	/* The last stream has gone, a grace period after receivers have left.
	 */
	for (unsigned i = 0; i < 2; i++)
		if (c->endpoint[i])
			node_endpoint_release(c->endpoint[i]);
	node_call_free(c);
}

void node_call_stop(struct node_call *c, enum node_end why,
		    const struct node_who *who)
{
	if (c->ending)
		return;
	node_call_forget(c);
	c->ending = true;
	c->node->nending++;
	c->why = why;
	if (who) {
		c->by = who->by;
		(void)snprintf(c->peer, sizeof(c->peer), "%s",
			       who->peer ? who->peer : "");
	}
	node_gather(c->node);
	for (unsigned i = 0; i < 2; i++)
		if (c->endpoint[i])
			node_endpoint_leave(c->endpoint[i]);
	node_notify(c->node);
	for (unsigned i = 0; i < 2; i++)
		if (c->stream[i])
			node_stream_end(c->stream[i]);
}

/* --- what others ask --- */

struct node_call *node_call_find(struct node *n, uint32_t id)
{
	struct node_call key = { .id = id };
	struct node_call *c = RB_FIND(node_call_tree, &n->calls, &key);

	return c && !c->ending ? c : NULL;
}

struct node_call *node_call_after(struct node *n, uint32_t id)
{
	struct node_call key = { .id = id };
	struct node_call *c = RB_NFIND(node_call_tree, &n->calls, &key);

	while (c && (c->ending || c->id == id))
		c = RB_NEXT(node_call_tree, &n->calls, c);
	return c;
}

void *node_call_owner(const struct node_call *c)
{
	return c->owner;
}

void node_call_set_owner(struct node_call *c, void *owner)
{
	c->owner = owner;
}

void node_calls_pass(struct node *n, const void *from, void *to)
{
	struct node_call *c;

	RB_FOREACH (c, node_call_tree, &n->calls)
		if (c->owner == from)
			c->owner = to;
}

bool node_call_is_over(const struct node_call *c)
{
	return !c->live;
}

unsigned node_call_streams(const struct node_call *c)
{
	return c->nstreams;
}

uint32_t node_call_id(const struct node_call *c)
{
	return c->id;
}

void node_call_set_tags(struct node_call *c, const char *const tag[2],
			unsigned line)
{
	c->line = line;
	for (unsigned i = 0; i < 2; i++) {
		free(c->tag[i]);
		c->tag[i] = tag[i] ? strdup(tag[i]) : NULL;
	}
}

const char *node_call_label(const struct node_call *c)
{
	return c->label;
}

struct node_endpoint *node_call_endpoint(const struct node_call *c, unsigned i)
{
	return c->endpoint[i];
}

bool node_call_relays(const struct node_call *c)
{
	return c->relays;
}

struct node_stream *node_call_stream(const struct node_call *c, unsigned i)
{
	return c->stream[i];
}

void node_call_party(const struct node_call *c, unsigned i,
		     struct node_endpoint_info *out)
{
	const struct node_stream *from = c->stream[i], *to = c->stream[!i];

	node_endpoint_info(c->endpoint[i], out);
	out->ptime = 0;
	if (from) {
		out->stream = from->id;
		out->pt = node_stream_settings(from)->media.in.pt;
	}
	if (to)
		out->out_ssrc = node_stream_settings(to)->ssrc_out;
	if (to && !c->relays)
		out->ptime =
			codec_use_packet(&node_stream_settings(to)->media.out);
}

/* Stream @i goes on as @to, by what it is now. */
static void continue_streams(const struct node_call *c, struct stream_cfg *to,
			     unsigned i, const struct stream_cfg *asked,
			     bool relays)
{
	struct stream_cfg now = node_stream_cfg(c->stream[i]);
	unsigned mode = now.media.out.cfg.mode; /* that a CMR may have set */
	bool same = !relays && codec_use_same(&now.media.out, &asked->media.out,
					      SAME_SPEECH);

	*to = now;
	/* a deadline at the end of the period stays there */
	if (to->terms.deadline == to->release.period)
		to->terms.deadline = asked->release.period;
	stream_cfg_speak(to, asked);
	if (same)
		to->media.out.cfg.mode = mode;
}

/* Settle the streams of parties that are as @to says: into @out. */
static int change_streams(const struct node_call *c,
			  const struct endpoint_spec to[2],
			  struct node_call_streams *out, struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;
	int err;

	r.port = CALL_PORT_EACH;
	r.relay = c->request;
	for (unsigned i = 0; i < 2; i++) {
		r.end[i] = to[i];
		if (!to[i].in_ptime && !c->stream[i]->untold)
			r.end[i].in_ptime = node_stream_settings(c->stream[i])
						    ->release.period;
	}
	err = node_call_check(out, &r, e);
	for (unsigned i = 0; i < 2 && !err; i++) {
		const struct stream_cfg asked = out->stream[i];

		continue_streams(c, &out->stream[i], i, &asked, out->relays);
	}
	return err;
}

/* A change that can be made. */
struct node_call_change {
	struct node_call *c;
	struct endpoint_spec to[2], next[2];
	struct node_call_streams streams;
	struct node_recode *recode; /* NULL: the streams stay as they are */
	bool begins;		    /* it has begun for it */
};

/* By @ch->next. */
static int prepare_streams(struct node_call_change *ch,
			   struct node_cost_wait *lacks, struct cr_err *e)
{
	struct node_call_streams *s = &ch->streams;
	int err = change_streams(ch->c, ch->next, s, e);

	if (!err)
		err = node_recode_prepare(&ch->recode, ch->c->stream, s->stream,
					  s->relays, e);
	return note_lacking(err, s, lacks);
}

static int check_endpoints(const struct node_call *c,
			   const struct endpoint_spec to[2],
			   struct endpoint_spec next[2],
			   const struct end_names called[2], struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++)
		err = node_endpoint_check_change(&next[i], c->endpoint[i],
						 &to[i], &called[i], e);
	return err;
}

/* By what codecs cost now: what is to be is weighed by the same. */
static int64_t load_now(const struct node_call *c)
{
	struct node_call_streams now = { .n = 2 };
	struct cr_err e;
	int64_t ppm;

	for (unsigned i = 0; i < 2; i++)
		now.stream[i] = node_stream_cfg(c->stream[i]);
	if (!c->relays && !node_call_load(c->node, &now, &ppm, &e))
		return ppm;
	ppm = 0;
	for (unsigned i = 0; i < 2; i++)
		if (node_stream_transcoder(c->stream[i]))
			ppm += node_load_of(node_stream_settings(c->stream[i]));
	return ppm;
}

int node_call_weigh_change(struct node_call *c,
			   const struct endpoint_spec to[2],
			   const struct node_call_promise *promised,
			   int64_t *ppm, struct node_cost_wait *lacks,
			   struct cr_err *e)
{
	struct endpoint_spec next[2];
	struct node_call_streams s;
	int err = check_endpoints(c, to, next, names, e);

	*ppm = 0;
	if (err ||
	    !(endpoint_spec_speaks(&to[0]) || endpoint_spec_speaks(&to[1])))
		return err;
	err = change_streams(c, next, &s, e);
	if (!err)
		err = node_call_load(c->node, &s, ppm, e);
	if (err)
		return note_lacking(err, &s, lacks);
	*ppm -= load_now(c);
	if (*ppm > 0)
		return node_call_room(c->node, *ppm, promised, e);
	*ppm = 0;
	return 0;
}

/* The ends are @called so in @e. */
static int prepare_change(struct node_call *c, const struct endpoint_spec to[2],
			  const struct end_names called[2],
			  struct node_cost_wait *lacks,
			  struct node_call_change **out, struct cr_err *e)
{
	struct node_call_change *ch = calloc(1, sizeof(*ch));
	int err;

	if (!ch)
		return cr_fail(e, -ENOMEM, "out of memory for a change");
	ch->c = c;
	memcpy(ch->to, to, sizeof(ch->to));
	err = check_endpoints(c, to, ch->next, called, e);
	if (!err &&
	    (endpoint_spec_speaks(&to[0]) || endpoint_spec_speaks(&to[1])))
		err = prepare_streams(ch, lacks, e);
	if (err)
		free(ch);
	else
		*out = ch;
	return err;
}

int node_call_prepare(struct node_call *c, const struct endpoint_spec to[2],
		      struct node_cost_wait *lacks,
		      struct node_call_change **out, struct cr_err *e)
{
	return prepare_change(c, to, names, lacks, out, e);
}

/* Put the new specs into open endpoints while the call begins. */
static int start_changed(struct node *n, const struct call_spec *spec,
			 struct node_endpoint *const ep[2],
			 struct node_call_change *ch,
			 struct node_cost_wait *lacks, struct cr_err *e)
{
	const struct endpoint_spec was[2] = { *ep[0]->spec, *ep[1]->spec };
	int err;

	for (unsigned i = 0; i < 2; i++)
		*ep[i]->spec = ch->next[i];
	err = start_call_of(n, spec, lacks, &ch->c, e);
	for (unsigned i = 0; i < 2; i++)
		*ep[i]->spec = was[i];
	return err;
}

int node_call_prepare_start(struct node *n, const struct call_spec *spec,
			    const struct endpoint_spec to[2],
			    struct node_cost_wait *lacks,
			    struct node_call_change **out, struct cr_err *e)
{
	struct node_call_change *ch = calloc(1, sizeof(*ch));
	struct node_endpoint *ep[2];
	int err = 0;

	if (!ch)
		return cr_fail(e, -ENOMEM, "out of memory for a change");
	ch->begins = true;
	memcpy(ch->to, to, sizeof(ch->to));
	for (unsigned i = 0; i < 2 && !err; i++) {
		ep[i] = node_endpoint_find(n, spec->end[i].endpoint);
		err = ep[i] ? node_endpoint_check_change(&ch->next[i], ep[i],
							 &to[i],
							 &endpoint_own_names, e)
			    : cr_fail(e, -ESRCH, "an endpoint of it has ended");
	}
	if (!err)
		err = start_changed(n, spec, ep, ch, lacks, e);
	if (err)
		free(ch);
	else
		*out = ch;
	return err;
}

struct node_call *node_call_commit(struct node_call_change *ch)
{
	struct node_call *c = ch->c;

	if (ch->recode) {
		node_recode_commit(ch->recode);
		c->relays = ch->streams.relays;
	}
	if (ch->recode || ch->begins)
		node_call_use_rtcp(c);
	for (unsigned i = 0; i < 2; i++)
		node_endpoint_change(c->endpoint[i], &ch->to[i], &ch->next[i]);
	free(ch);
	return c;
}

void node_call_cancel(struct node_call_change *ch)
{
	if (ch->recode)
		node_recode_cancel(ch->recode);
	if (ch->begins)
		node_call_undo(ch->c);
	free(ch);
}

int node_call_change(struct node_call *c, const struct endpoint_spec to[2],
		     struct node_cost_wait *lacks, struct cr_err *e)
{
	struct node_call_change *ch;
	int err = node_call_prepare(c, to, lacks, &ch, e);

	if (!err)
		(void)node_call_commit(ch);
	return err;
}

int node_call_change_party(struct node_endpoint *ep,
			   const struct endpoint_spec *to,
			   struct node_cost_wait *lacks, struct cr_err *e)
{
	const struct end_names called[2] = { endpoint_own_names,
					     endpoint_own_names };
	struct endpoint_spec both[2] = { ENDPOINT_CHANGE_UNSAID,
					 ENDPOINT_CHANGE_UNSAID };
	struct node_call_change *ch;
	struct endpoint_spec next;
	int err;

	if (!ep->call) {
		err = node_endpoint_check_change(&next, ep, to,
						 &endpoint_own_names, e);
		if (!err)
			node_endpoint_change(ep, to, &next);
		return err;
	}
	both[ep->call->endpoint[1] == ep] = *to;
	err = prepare_change(ep->call, both, called, lacks, &ch, e);
	if (!err)
		(void)node_call_commit(ch);
	return err;
}
