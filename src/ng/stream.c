/* SPDX-License-Identifier: Apache-2.0 */
#include "ng/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "node/circle.h"
#include "node/node.h"
#include "node/party.h"

static const struct party_names own = { .path = "", .address = "address" };

/* --- endpoints --- */

int ng_endpoint_open(struct node *n, struct ng_endpoint *l,
		     const struct ng_endpoint_request *w, struct cr_err *e)
{
	struct endpoint_spec r = ENDPOINT_SPEC_UNSAID;
	struct party *p;
	int err;

	if (l->id && party_find(n, l->id))
		return 0;
	r.interface = w->interface;
	r.family = w->family == AF_INET	   ? PARTY_IPV4
		   : w->family == AF_INET6 ? PARTY_IPV6
					   : PARTY_ANY;
	r.address = w->address;
	r.rtcp_address = w->rtcp;
	r.learn = w->address.ss_family ? w->learn : -1;
	r.rtcp =
		ENDPOINT_RTCP_PORT; /* until an answer says where, it is both */
	err = party_open(n, &r, &own, &p, e);
	if (err)
		return err;
	p->opened = true;
	free(l->sounds);
	*l = (struct ng_endpoint){ .id = party_id(p) };
	return 0;
}

void ng_endpoint_mux(struct node *n, struct ng_endpoint *l, bool mux)
{
	const struct party *p = party_find(n, l->id);

	l->mux = mux;
	if (p)
		endpoint_rtcp_mux(p->endpoint->endpoint, mux);
}

/* Nobody else has it. */
static void end_conversation(struct party *p)
{
	const struct node_who who = { .by = NODE_BY_PROXY };

	if (p->conversation)
		conversation_stop(p->conversation, NODE_END_STOPPED, &who);
}

void ng_endpoint_close(struct node *n, struct ng_endpoint *l)
{
	struct party *p = l->id ? party_find(n, l->id) : NULL;
	struct cr_err e;

	l->id = 0;
	free(l->sounds);
	l->sounds = NULL;
	if (!p)
		return;
	end_conversation(p);
	(void)party_close(p, &e);
}

bool ng_endpoint_local(struct node *n, const struct ng_endpoint *l,
		       struct sockaddr_storage *out)
{
	const struct party *p = party_find(n, l->id);
	char text[NODE_ADDRESS_MAX];

	if (!p)
		return false;
	node_endpoint_address(p->endpoint, text, sizeof(text));
	return !address_parse(text, out);
}

const char *ng_endpoint_interface(struct node *n, const struct ng_endpoint *l)
{
	const struct party *p = party_find(n, l->id);

	return p ? p->endpoint->interface->cfg.name : NULL;
}

/* --- conversations --- */

static struct conversation *conversation_of(struct node *n,
					    const struct ng_stream *s)
{
	return s->conversation ? conversation_find(n, s->conversation) : NULL;
}

bool ng_stream_runs(struct node *n, const struct ng_stream *s)
{
	return !s->conversation || conversation_of(n, s);
}

void ng_stream_stop(struct node *n, struct ng_stream *s, enum node_end why,
		    const struct node_who *who)
{
	struct conversation *c = conversation_of(n, s);

	s->conversation = 0;
	if (c)
		conversation_stop(c, why, who);
}

void ng_stream_name(struct node *n, const struct ng_dialog *d, unsigned i)
{
	const char *const tag[2] = { d->side[0]->tag, d->side[1]->tag };
	struct conversation *c = conversation_of(n, &d->stream[i]);

	if (c)
		conversation_set_tags(c, tag, i + 1);
}

/* An endpoint that another branch has is taken from it. */
static int report_party(struct node *n, uint32_t endpoint,
			const struct endpoint_spec *to,
			struct conversation_plan *plan, struct cr_err *e)
{
	struct party *p = party_find(n, endpoint);

	if (!p)
		return cr_fail(e, -ESRCH, "an endpoint of it has ended");
	end_conversation(p);
	return conversation_change_party(p, to, plan, e);
}

static int begin_conversation(struct node *n, struct ng_dialog *d, unsigned i,
			      const struct endpoint_spec to[2],
			      struct conversation_plan *plan, struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;
	struct conversation *c;
	int err = 0;

	r.port = CALL_PORT_EACH;
	r.label = d->call->id;
	for (unsigned k = 0; k < 2 && !err; k++) {
		r.end[k].endpoint = d->side[k]->endpoint[i].id;
		err = report_party(n, r.end[k].endpoint, &to[k], plan, e);
	}
	if (!err)
		err = conversation_find_endpoints(n, &r, e);
	if (!err)
		err = conversation_check(plan, &r, e);
	if (!err)
		err = conversation_start(n, plan, &r, &c, e);
	if (!err)
		d->stream[i].conversation = conversation_id(c);
	return err;
}

int ng_stream_settle(struct node *n, struct ng_dialog *d, unsigned i,
		     const struct endpoint_spec to[2],
		     struct conversation_plan *plan, struct cr_err *e)
{
	struct conversation *c = conversation_of(n, &d->stream[i]);

	return c ? conversation_change(c, to, plan, e)
		 : begin_conversation(n, d, i, to, plan, e);
}

int ng_stream_begin_early(struct node *n, struct ng_dialog *d, unsigned i,
			  const struct endpoint_spec to[2],
			  struct conversation_plan *plan, struct cr_err *e)
{
	struct ng_stream *s = &d->stream[i];
	int err = ng_stream_settle(n, d, i, to, plan, e);

	if (err)
		return err;
	s->early = true;
	conversation_set_early(conversation_of(n, s), true);
	return 0;
}

void ng_stream_agree(struct node *n, struct ng_stream *s)
{
	struct conversation *c = conversation_of(n, s);

	s->early = false;
	if (c)
		conversation_set_early(c, false);
}

bool ng_stream_now(struct node *n, const struct ng_stream *s,
		   struct endpoint_spec now[2])
{
	const struct conversation *c = conversation_of(n, s);

	if (c)
		conversation_now(c, now);
	return c;
}

bool ng_stream_takes(struct node *n, const struct ng_dialog *d, unsigned i)
{
	const struct party *p;
	bool takes = false;

	for (unsigned k = 0; k < 2; k++) {
		p = party_find(n, d->side[k]->endpoint[i].id);
		takes |= p && p->conversation;
	}
	return takes && !conversation_of(n, &d->stream[i]);
}

/* What ng_stream_settle() would say of the endpoints of line @i. */
int ng_stream_check(struct node *n, const struct ng_dialog *d, unsigned i,
		    const struct endpoint_spec to[2], struct cr_err *e)
{
	struct endpoint_spec next;
	struct party *p[2];
	int err = 0;

	for (unsigned k = 0; k < 2; k++) {
		p[k] = party_find(n, d->side[k]->endpoint[i].id);
		if (!p[k])
			return cr_fail(e, -ESRCH,
				       "an endpoint of it has ended");
	}
	for (unsigned k = 0; k < 2 && !err; k++) {
		err = party_check_change(&next, p[k], &to[k], &own, e);
		if (!err)
			err = circle_check_party(p[k], p[!k], &to[k].address,
						 &own, e);
	}
	return err;
}

/* By what both say of their codecs. */
static int weigh_new(struct node *n, const struct endpoint_spec to[2],
		     struct ng_weighing *w, struct cr_err *e)
{
	struct call_spec r = CALL_SPEC_UNSAID;
	int err;

	r.port = CALL_PORT_EACH;
	for (unsigned i = 0; i < 2; i++) {
		r.end[i] = to[i];
		r.end[i].address.ss_family = AF_UNSPEC;
		r.end[i].rtcp_address.ss_family = AF_UNSPEC;
		r.end[i].learn = -1;
		r.end[i].reception.fill = -1;
		r.end[i].types.noise = 0;
	}
	err = conversation_check(w->plan, &r, e);
	if (!err)
		err = conversation_weigh(n, w->plan, w->promised, &w->needs.ppm,
					 e);
	w->needs.streams = 2;
	return err;
}

int ng_stream_weigh(struct node *n, const struct ng_stream *s,
		    const struct endpoint_spec to[2], struct ng_weighing *w,
		    struct cr_err *e)
{
	struct conversation *c = conversation_of(n, s);

	w->needs = (struct conversation_promise){ 0 };
	return c ? conversation_weigh_change(c, to, w->promised, &w->needs.ppm,
					     w->plan, e)
		 : weigh_new(n, to, w, e);
}
