/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parties of a node, and what they speak, checked. Texts that a request names
 * are replaced by those of the codecs, which stay.
 *
 *   opened -> heard -> left -> (a grace period, the last stream has gone) freed
 */
#include "node/party.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/call_check.h"
#include "node/circle.h"
#include "node/node_impl.h"

/* Into @to, with texts that stay. */
static int check_side(struct call_side_request *to,
		      const struct call_side_request *from, const char *path,
		      struct cr_err *e)
{
	struct pipeline_side side = { 0 };
	int err = call_check_side(&side, from, path, e);

	if (err)
		return err;
	*to = *from;
	to->codec = side.codec->name;
	if (from->mode)
		to->mode = side.codec->modes[side.cfg.mode].name;
	return 0;
}

static int check_party_also(struct party_codecs *to,
			    const struct call_side_request *from,
			    const char *path, struct cr_err *e)
{
	char inner[40];
	int err = 0;

	for (unsigned i = 0; i < to->nalso && !err; i++) {
		(void)snprintf(inner, sizeof(inner), "%salso[%u].", path, i);
		err = check_side(&to->also[i], &from[i], inner, e);
	}
	return err;
}

bool party_says_use(const struct call_side_request *r)
{
	return r->mode || r->pt >= 0 || r->rate || r->octet_align || r->dtx ||
	       r->mode_set || r->mode_second || r->mode_next ||
	       r->complexity >= 0 || r->fec || r->spin;
}

/* What is said of a codec that is not named. */
static int check_named(const struct call_side_request *r, const char *path,
		       struct cr_err *e)
{
	if (r->codec || !party_says_use(r))
		return 0;
	return cr_fail(e, -EINVAL,
		       "%scodec: is missing: what is said of a codec goes with "
		       "its name",
		       path);
}

/* Can its codec be sent in packets of that length? */
static int check_party_packets(const struct party_codecs *codecs,
			       const char *path, struct cr_err *e)
{
	struct pipeline_side side = { 0 };
	int err;

	if (!codecs->side.codec || !codecs->ptime)
		return 0;
	err = call_check_side(&side, &codecs->side, path, e);
	return err ? err : packet_time_set(&side, codecs->ptime, path, e);
}

/* What is said with a codec, into @to. */
static int check_named_ones(struct party_codecs *to,
			    const struct party_codecs *said, const char *path,
			    struct cr_err *e)
{
	struct party_codecs all = { .nalso = said->nalso,
				    .passed = said->passed,
				    .in_ptime = to->in_ptime };
	int err = check_side(&all.side, &said->side, path, e);

	if (!err)
		err = check_party_also(&all, said->also, path, e);
	if (!err)
		*to = all;
	return err;
}

/** What the party says, @said, into @to; of what it does not say, that stays.
 * @path: before the members' names in @e: "a." 0, or -EINVAL with @e: @to is as
 * it was. */
static int party_codecs_take(struct party_codecs *to,
			     const struct party_codecs *said, const char *path,
			     struct cr_err *e)
{
	struct party_codecs all = *to;
	int err = check_named(&said->side, path, e);

	if (!err && said->nalso && !said->side.codec)
		err = cr_fail(e, -EINVAL,
			      "%scodec: is missing: what is also sent goes "
			      "with it",
			      path);
	if (!err && said->side.codec)
		err = check_named_ones(&all, said, path, e);
	if (said->ptime)
		all.ptime = said->ptime;
	if (said->in_ptime)
		all.in_ptime = said->in_ptime;
	if (!err)
		err = check_party_packets(&all, path, e);
	if (!err)
		*to = all;
	return err;
}

/* Until a codec is known: that of most (RFC 3551). */
#define RTP_CLOCK 8000u

static int party_cmp(struct party *a, struct party *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

RB_PROTOTYPE(party_tree, party, by_id, party_cmp)
RB_GENERATE(party_tree, party, by_id, party_cmp)

/* --- what is asked for --- */

static int check_learn(const struct learn_terms *t,
		       const struct party_names *names, struct cr_err *e)
{
	if (t->mode != LEARN_STRICT || t->signalled.ss_family)
		return 0;
	return cr_fail(e, -EINVAL,
		       "%slearn: strict hears %s only, which is missing",
		       names->path, names->address);
}

static int check_rtcp_address(const struct sockaddr_storage *rtcp,
			      const struct sockaddr_storage *address,
			      const struct party_names *names, struct cr_err *e)
{
	if (!rtcp->ss_family || rtcp->ss_family == address->ss_family)
		return 0;
	return cr_fail(e, -EINVAL,
		       "%srtcp_address: goes with %s, and is of the same IP "
		       "family",
		       names->path, names->address);
}

/* May the party be sent to there, by where the packets are sent from? */
static int check_places(const struct node *n, const struct interface_cfg *from,
			const struct sockaddr_storage *address,
			const struct sockaddr_storage *rtcp,
			const struct party_names *names, struct cr_err *e)
{
	char name[48];
	int err = interface_may_send(from, n->cfg.send_to, address,
				     names->address, e);

	(void)snprintf(name, sizeof(name), "%srtcp_address", names->path);
	return err ? err
		   : interface_may_send(from, n->cfg.send_to, rtcp, name, e);
}

/* --- opening --- */

/* While nobody knows where the party is. */
static sa_family_t family_of(const struct party_request *r)
{
	static const sa_family_t families[] = {
		[PARTY_ANY] = AF_UNSPEC,
		[PARTY_IPV4] = AF_INET,
		[PARTY_IPV6] = AF_INET6,
	};

	return families[r->family];
}

static int open_party_endpoint(struct party *p, const struct party_request *r,
			       const struct party_names *names,
			       struct cr_err *e)
{
	struct interface_request request = {
		.name = r->interface,
		.to = r->address,
		.path = names->path,
		.to_path = names->address,
	};
	const struct learn_terms terms = {
		.mode = r->learn >= 0	       ? (enum learn_mode)r->learn
			: r->address.ss_family ? LEARN_DELAYED
					       : LEARN_IMMEDIATE,
		.signalled = r->address,
		.ssrc_signalled = r->ssrc != 0,
		.ssrc = r->ssrc,
	};
	/* its clocks and SSRC are a conversation's to say */
	const struct endpoint_rtcp_cfg rtcp = {
		.mode = r->rtcp < 0 ? ENDPOINT_RTCP_PORT
				    : (enum endpoint_rtcp_mode)r->rtcp,
		.use = { node_random_ssrc(), RTP_CLOCK, RTP_CLOCK },
	};
	struct party_codecs said = { .side = r->side,
				     .nalso = r->nalso,
				     .passed = r->passed,
				     .ptime = r->ptime,
				     .in_ptime = r->in_ptime };
	struct interface *at;
	int err = check_learn(&terms, names, e);

	memcpy(said.also, r->also, sizeof(said.also));
	if (!r->address.ss_family)
		request.to.ss_family = family_of(r);
	if (!err)
		err = check_rtcp_address(&r->rtcp_address, &r->address, names,
					 e);
	if (!err)
		err = party_codecs_take(&p->codecs, &said, names->path, e);
	if (!err)
		err = interfaces_choose(&p->node->interfaces, &request, &at, e);
	if (!err)
		err = check_places(p->node, &at->cfg, &r->address,
				   &r->rtcp_address, names, e);
	return err ? err
		   : node_endpoint_open(p->node, at, &terms, &rtcp,
					&p->endpoint, e);
}

int party_open(struct node *n, const struct party_request *r,
	       const struct party_names *names, struct party **out,
	       struct cr_err *e)
{
	int err = node_refuse_short(n, e);
	struct party *p;

	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return cr_fail(e, -ENOMEM, "out of memory for an endpoint");
	p->node = n;
	p->out_ssrc = r->out_ssrc;
	p->types = r->types;
	p->reception = r->reception;
	err = open_party_endpoint(p, r, names, e);
	if (err) {
		free(p);
		return err;
	}
	p->hold = r->hold;
	endpoint_hold(p->endpoint->endpoint, p->hold);
	p->rtcp = r->rtcp_address;
	endpoint_rtcp_set_destination(p->endpoint->endpoint, &p->rtcp);
	p->id = p->endpoint->endpoint->cfg.id;
	RB_INSERT(party_tree, &n->parties, p);
	*out = p;
	return 0;
}

struct party *party_find(struct node *n, uint32_t id)
{
	struct party key = { .id = id };
	struct party *p = RB_FIND(party_tree, &n->parties, &key);

	return p && !p->left ? p : NULL;
}

uint32_t party_id(const struct party *p)
{
	return p->id;
}

struct party *party_after(struct node *n, uint32_t id)
{
	struct party key = { .id = id };
	struct party *p = RB_NFIND(party_tree, &n->parties, &key);

	while (p && (p->left || p->id == id))
		p = RB_NEXT(party_tree, &n->parties, p);
	return p;
}

struct party *party_of_owner(struct node *n, const void *owner)
{
	struct party *p;

	RB_FOREACH (p, party_tree, &n->parties)
		if (p->owner == owner && !p->left)
			return p;
	return NULL;
}

void party_request_of(const struct party *p, struct party_request *r)
{
	const struct learn_terms *t = &p->endpoint->endpoint->cfg.terms;

	*r = (struct party_request){
		.endpoint = r->endpoint,
		.address = t->signalled,
		.rtcp_address = p->rtcp,
		.learn = (int)t->mode,
		.ssrc = t->ssrc_signalled ? t->ssrc : 0,
		.out_ssrc = p->out_ssrc,
		.types = p->types,
		.reception = p->reception,
		.hold = p->hold,
	};
	party_request_speaks(r, &p->codecs);
}

void party_request_speaks(struct party_request *r,
			  const struct party_codecs *codecs)
{
	r->side = codecs->side;
	r->nalso = codecs->nalso;
	r->passed = codecs->passed;
	r->ptime = codecs->ptime;
	r->in_ptime = codecs->in_ptime;
	memcpy(r->also, codecs->also, sizeof(r->also));
}

/* --- changes --- */

/* By what terms it is heard from now on: @terms. */
static int check_party_terms(const struct party *p,
			     const struct party_change *to,
			     const struct party_names *names,
			     struct learn_terms *terms, struct cr_err *e)
{
	sa_family_t family = p->endpoint->interface->cfg.local.ss_family;

	*terms = p->endpoint->endpoint->cfg.terms;
	if (to->address.ss_family) {
		if (to->address.ss_family != family)
			return cr_fail(
				e, -EINVAL,
				"%s: its endpoint is of the other IP family",
				names->address);
		terms->signalled = to->address;
	}
	if (to->learn >= 0)
		terms->mode = (enum learn_mode)to->learn;
	return check_learn(terms, names, e);
}

int party_check_change(struct party_terms *out, const struct party *p,
		       const struct party_change *to,
		       const struct party_names *names, struct cr_err *e)
{
	struct party_codecs said = { .side = to->side,
				     .nalso = to->nalso,
				     .passed = to->passed,
				     .ptime = to->ptime,
				     .in_ptime = to->in_ptime };
	const struct conversation *c = p->conversation;
	const struct party *other = c ? conversation_peer(c, p) : NULL;
	int err = check_party_terms(p, to, names, &out->learn, e);

	if (!err)
		err = circle_check_party(p, other, &to->address, names, e);
	if (!err)
		err = check_rtcp_address(&to->rtcp_address, &to->address, names,
					 e);
	if (!err)
		err = check_places(p->node, &p->endpoint->interface->cfg,
				   &to->address, &to->rtcp_address, names, e);
	memcpy(said.also, to->also, sizeof(said.also));
	out->codecs = p->codecs;
	out->types = p->types;
	if (to->events >= 0) {
		out->types.events = (unsigned)to->events;
		out->types.events_clock = to->events_clock;
		out->types.more = to->more;
	}
	if (to->noise >= 0)
		out->types.noise = (unsigned)to->noise;
	out->rtcp = to->address.ss_family ? to->rtcp_address : p->rtcp;
	out->hold = to->hold < 0 ? p->hold : to->hold != 0;
	out->hears = to->address.ss_family || to->learn >= 0;
	out->speaks = to->side.codec || to->ptime || to->in_ptime ||
		      to->events >= 0 || to->noise >= 0;
	return err ? err
		   : party_codecs_take(&out->codecs, &said, names->path, e);
}

void party_change_of(const struct party *p, struct party_change *out)
{
	const struct learn_terms *t = &p->endpoint->endpoint->cfg.terms;

	*out = (struct party_change){
		.side = p->codecs.side,
		.nalso = p->codecs.nalso,
		.passed = p->codecs.passed,
		.ptime = p->codecs.ptime,
		.in_ptime = p->codecs.in_ptime,
		.address = t->signalled,
		.rtcp_address = p->rtcp,
		.learn = (int)t->mode,
		.events = (int)p->types.events,
		.events_clock = p->types.events_clock,
		.more = p->types.more,
		.noise = (int)p->types.noise,
		.hold = p->hold,
	};
	memcpy(out->also, p->codecs.also, sizeof(out->also));
}

void party_change(struct party *p, const struct party_terms *to)
{
	p->codecs = to->codecs;
	p->types = to->types;
	if (to->hold != p->hold)
		endpoint_hold(p->endpoint->endpoint, to->hold);
	p->hold = to->hold;
	if (to->hears)
		endpoint_again(p->endpoint->endpoint, &to->learn);
	p->rtcp = to->rtcp;
	endpoint_rtcp_set_destination(p->endpoint->endpoint, &p->rtcp);
}

/* --- the end --- */

static void leave_party(struct party *p)
{
	if (!p->left)
		node_endpoint_leave(p->endpoint);
	p->left = true;
}

/* Receivers may still have it. */
static void free_party_later(struct party *p)
{
	RB_REMOVE(party_tree, &p->node->parties, p);
	node_endpoint_free_later(p->endpoint);
	free(p);
}

static void close_now(struct party *p)
{
	p->owner = NULL;
	leave_party(p);
	if (!p->holders)
		free_party_later(p);
}

int party_close(struct party *p, struct cr_err *e)
{
	if (p->conversation)
		return cr_fail(e, -EBUSY,
			       "endpoint: conversation %" PRIu32
			       " has it: stop that first",
			       conversation_id(p->conversation));
	close_now(p);
	return 0;
}

void party_disown(struct party *p)
{
	p->owner = NULL;
	if (p->conversation)
		p->opened = false;
	else
		close_now(p);
}

void party_close_all(struct node *n)
{
	struct party *p, *next;

	RB_FOREACH_SAFE (p, party_tree, &n->parties, next)
		if (!p->left && !p->conversation)
			close_now(p);
}

/* --- conversations --- */

void party_join(struct party *p, struct conversation *c)
{
	p->conversation = c;
	p->holders++;
}

void party_leave(struct party *p)
{
	p->conversation = NULL;
	if (p->opened) {
		endpoint_listen(p->endpoint->endpoint, NULL);
		endpoint_relay(p->endpoint->endpoint, NULL);
	} else {
		leave_party(p);
	}
}

void party_release(struct party *p)
{
	if (--p->holders || !p->left)
		return;
	if (p->opened) { /* it may have been left just now */
		free_party_later(p);
		return;
	}
	RB_REMOVE(party_tree, &p->node->parties, p);
	node_endpoint_free(p->endpoint);
	free(p);
}

void party_discard(struct party *p)
{
	party_leave(p);
	if (!--p->holders && p->left)
		free_party_later(p);
}

/* --- what others ask --- */

void party_endpoint_info(const struct party *p, struct node_endpoint_info *out)
{
	const struct endpoint *l = p->endpoint->endpoint;
	unsigned long long count[LEARN_NCOUNTERS];

	learn_counts(&l->learn, count);
	*out = (struct node_endpoint_info){
		.id = l->cfg.id,
		.interface = p->endpoint->interface->cfg.name,
		.packets = count[LEARN_COUNTER_accepted],
		.wrong_source = count[LEARN_COUNTER_foreign_address],
		.wrong_ssrc = count[LEARN_COUNTER_foreign_ssrc],
		.probation = count[LEARN_COUNTER_waiting],
		.ssrc_changes = count[LEARN_COUNTER_ssrc_changes],
		.address_changes = count[LEARN_COUNTER_address_changes],
		.hold = p->hold,
	};
	node_endpoint_address(p->endpoint, out->address, sizeof(out->address));
	(void)destination_read(&l->to, &out->to);
	(void)payload_unknown_text(&l->unknown, out->unknown,
				   sizeof(out->unknown));
	node_rtcp_report(p->endpoint->endpoint, p->endpoint->endpoint, false,
			 &out->rtcp);
}

void party_info(const struct party *p, struct node_open_endpoint_info *out)
{
	*out = (struct node_open_endpoint_info){
		.conversation =
			p->conversation ? conversation_id(p->conversation) : 0,
		.codec = p->codecs.side.codec,
		.mode = p->codecs.side.mode,
		.ptime = p->codecs.ptime,
		.in_ptime = p->codecs.in_ptime,
	};
	party_endpoint_info(p, &out->endpoint);
}
