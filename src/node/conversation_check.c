/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a conversation is asked to be, and what streams that makes.
 */
#include <errno.h>
#include <inttypes.h>

#include "node/call_check.h"
#include "node/conversation_impl.h"

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
		.ptime = from->in_ptime ? from->in_ptime : r->ptime,
		.terms = r->terms,
		.release = { .model = -1, .burst = -1, .x = 1 },
		.port = CALL_PORT_OWN,
		.ssrc = from->ssrc,
	};

	if (one.in.reception.fill < 0)
		one.in.reception.fill = RECEIVE_STAGE_FILL_SIGNALLED;
	return one;
}

/* Of the stream from party 0, and from 1: what a request calls its members. */
static const struct call_names names[] = {
	{ .in = "a.", .out = "b.", .hears = "a.", .source = "a.address" },
	{ .in = "b.", .out = "a.", .hears = "b.", .source = "b.address" },
};

const struct party_names conversation_party_names[2] = {
	{ .path = "a.", .address = "a.address" },
	{ .path = "b.", .address = "b.address" },
};

/* A member of @r that endpoint.change takes. */
static const char *said_of_party(const struct party_request *r)
{
	if (r->side.codec || party_says_use(&r->side))
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
static const char *said_of_endpoint(const struct party_request *r)
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

/* What an open endpoint has said already is not said again. */
static int check_unsaid(const struct party_request *r, const char *path,
			struct cr_err *e)
{
	const char *party = said_of_party(r), *endpoint = said_of_endpoint(r);

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

static int find_endpoint(struct node *n, struct party_request *r,
			 const char *path, struct cr_err *e)
{
	const struct party *p = party_find(n, r->endpoint);

	if (!p)
		return cr_fail(e, -ESRCH,
			       "%sendpoint: there is no endpoint %" PRIu32,
			       path, r->endpoint);
	if (check_unsaid(r, path, e))
		return -EINVAL;
	if (p->conversation)
		return cr_fail(e, -EBUSY,
			       "%sendpoint: conversation %" PRIu32
			       " has endpoint %" PRIu32,
			       path, p->conversation->id, r->endpoint);
	if (!p->codecs.side.codec)
		return cr_fail(e, -EINVAL,
			       "%sendpoint: endpoint %" PRIu32
			       " has no codec: tell it "
			       "by endpoint.change",
			       path, r->endpoint);
	party_request_of(p, r);
	return 0;
}

int conversation_find_endpoints(struct node *n, struct conversation_request *r,
				struct cr_err *e)
{
	int err = 0;

	if (r->party[0].endpoint &&
	    r->party[0].endpoint == r->party[1].endpoint)
		return cr_fail(e, -EINVAL, "b.endpoint: is a's");
	for (unsigned i = 0; i < 2 && !err; i++)
		if (r->party[i].endpoint)
			err = find_endpoint(n, &r->party[i],
					    conversation_party_names[i].path,
					    e);
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

	for (unsigned k = 0; k < r->party[i].nalso; k++) {
		(void)snprintf(path, sizeof(path), "%salso[%u].", names[i].in,
			       k);
		called.in = path;
		one.in.side = r->party[i].also[k];
		/* frames that are passed on may be of another length */
		one.ptime = passed_has(&codecs->passed, (uint8_t)one.in.side.pt)
				    ? 0
				    : stream->release.period;
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

/* What this node has no codec of can be nothing else. */
static int check_relayed(const struct call_cfg *stream,
			 const struct conversation_request *r, struct cr_err *e)
{
	for (unsigned i = 0; i < 2; i++)
		if (stream[i].media.in.codec == &cr_codec_relayed &&
		    (!conversation_may_relay(stream, r) ||
		     relay_needs_call(&stream[0]) ||
		     relay_needs_call(&stream[1])))
			return cr_fail(e, -EINVAL,
				       "%scodec: %s: both parties are to have "
				       "it, with one rate, and nothing else is "
				       "to be asked of either",
				       names[i].in, cr_codec_relayed.name);
	return 0;
}

int conversation_codecs(struct call_codecs *codecs, struct call_cfg *stream,
			const struct conversation_request *r, struct cr_err *e)
{
	int err = 0;

	for (unsigned i = 0; i < 2 && !err; i++) {
		codecs[i].n = 1;
		codecs[i].one[0] = stream[i].media.in;
		codecs[i].passed = r->party[i].passed;
		err = check_also(&codecs[i], &stream[i], r, i, e);
		if (codecs[i].n > 1 || codecs[i].passed.n)
			stream[i].codecs = &codecs[i];
	}
	return err ? err : check_relayed(stream, r, e);
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
	cr_ns from_a = stream[0].release.period;
	cr_ns from_b = stream[1].release.period;

	return a == b || ((!a || a == from_b) && (!b || b == from_a));
}

/* Is an event as long to the other side as it is said to be? */
static bool same_events(const struct call_cfg *stream)
{
	const struct telephone_event_types *t = &stream->receive_stage.events;

	return !t->n || !stream->pt_event_out ||
	       t->one[0].clock == stream->clock_event_out;
}

bool conversation_may_relay(const struct call_cfg *stream,
			    const struct conversation_request *r)
{
	bool said = r->party[0].passed.n && r->party[1].passed.n;

	if (r->relay != RELAY_AUTO)
		return false;
	for (unsigned i = 0; i < 2; i++)
		if (r->party[i].out_ssrc || (r->party[i].nalso && !said) ||
		    call_says_reception(&r->party[i].reception))
			return false;
	return same_packets(stream, r) &&
	       (said ||
		(same_speech(&stream[0].media.in, &stream[0].media.out) &&
		 same_events(stream)));
}
