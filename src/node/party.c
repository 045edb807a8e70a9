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
#include "node/node_impl.h"

const struct end_names party_own_names = { .path = "", .address = "address" };

bool party_says_use(const struct codec_use *r)
{
	return r->mode || r->pt != CODEC_PT_UNSAID || r->cfg.sample_rate ||
	       r->cfg.dtx || r->cfg.complexity || r->cfg.fec || r->cfg.spin ||
	       r->amr.octet_align || r->amr.mode_set || r->amr.mode_second ||
	       r->amr.mode_next;
}

/* What is said of a codec goes with its name. */
static int check_named(const struct endpoint_spec *r, const char *path,
		       struct cr_err *e)
{
	if (r->side.name)
		return 0;
	if (party_says_use(&r->side))
		return cr_fail(e, -EINVAL,
			       "%scodec: is missing: what is said of a codec "
			       "goes with its name",
			       path);
	if (r->nalso)
		return cr_fail(e, -EINVAL,
			       "%scodec: is missing: what is also sent goes "
			       "with it",
			       path);
	return 0;
}

/* Check the party's codecs. Can the main one be sent in packets of that length?
 * @path: before the members' names in @e: "a." */
static int check_party_codecs(struct endpoint_spec *r, const char *path,
			      struct cr_err *e)
{
	struct codec_use sent;
	char inner[40];
	int err;

	if (!r->side.name)
		return 0;
	err = codec_use_check(&r->side, path, e);
	for (unsigned i = 0; i < r->nalso && !err; i++) {
		(void)snprintf(inner, sizeof(inner), "%salso[%u].", path, i);
		err = codec_use_check(&r->also[i], inner, e);
	}
	sent = r->side;
	return err || !r->ptime ? err
				: packet_time_set(&sent, r->ptime, path, e);
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
		       const struct end_names *names, struct cr_err *e)
{
	if (t->mode != LEARN_STRICT || t->signalled.ss_family)
		return 0;
	return cr_fail(e, -EINVAL,
		       "%slearn: strict hears %s only, which is missing",
		       names->path, names->address);
}

static int check_rtcp_address(const struct sockaddr_storage *rtcp,
			      const struct sockaddr_storage *address,
			      const struct end_names *names, struct cr_err *e)
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
			const struct end_names *names, struct cr_err *e)
{
	char name[48];
	/* without a place of its own, RTCP goes to the port above RTP */
	unsigned ports = rtcp->ss_family ? 1 : 2;
	int err = interface_may_send(from, n->cfg.send_to, address, ports,
				     names->address, e);

	(void)snprintf(name, sizeof(name), "%srtcp_address", names->path);
	return err ? err
		   : interface_may_send(from, n->cfg.send_to, rtcp, 1, name, e);
}

/* --- opening --- */

/* Settle @r, whose texts stay from then on: into @terms, and *@at, the
 * interface of an endpoint. */
static int check_party(struct node *n, struct endpoint_spec *r,
		       const struct end_names *names, struct learn_terms *terms,
		       struct interface **at, struct cr_err *e)
{
	struct interface_request request = {
		.name = r->interface,
		.to = r->address,
		.path = names->path,
		.to_path = names->address,
	};
	/* while nobody knows where the party is */
	static const sa_family_t families[] = {
		[PARTY_ANY] = AF_UNSPEC,
		[PARTY_IPV4] = AF_INET,
		[PARTY_IPV6] = AF_INET6,
	};
	int err;

	if (r->learn < 0)
		r->learn =
			r->address.ss_family ? LEARN_DELAYED : LEARN_IMMEDIATE;
	*terms = (struct learn_terms){
		.mode = (enum learn_mode)r->learn,
		.signalled = r->address,
		.ssrc_signalled = r->ssrc != 0,
		.ssrc = r->ssrc,
	};
	err = check_learn(terms, names, e);
	if (!r->address.ss_family)
		request.to.ss_family = families[r->family];
	if (!err)
		err = check_rtcp_address(&r->rtcp_address, &r->address, names,
					 e);
	if (!err)
		err = check_named(r, names->path, e);
	if (!err)
		err = check_party_codecs(r, names->path, e);
	if (!err)
		err = interfaces_choose(&n->interfaces, &request, at, e);
	r->interface = NULL; /* its text is borrowed, and its work is done */
	return err ? err
		   : check_places(n, &(*at)->cfg, &r->address, &r->rtcp_address,
				  names, e);
}

int party_open(struct node *n, const struct endpoint_spec *r,
	       const struct end_names *names, struct party **out,
	       struct cr_err *e)
{
	/* its clocks and SSRC are a conversation's to say */
	const struct endpoint_rtcp_cfg rtcp = {
		.mode = r->rtcp < 0 ? ENDPOINT_RTCP_PORT
				    : (enum endpoint_rtcp_mode)r->rtcp,
		.use = { node_random_ssrc(), RTP_CLOCK, RTP_CLOCK },
	};
	struct learn_terms terms;
	struct interface *at;
	int err = node_refuse_short(n, e);
	struct party *p;

	if (err)
		return err;
	p = calloc(1, sizeof(*p));
	if (!p)
		return cr_fail(e, -ENOMEM, "out of memory for an endpoint");
	p->spec = *r;
	err = check_party(n, &p->spec, names, &terms, &at, e);
	if (err) {
		free(p);
		return err;
	}
	err = node_endpoint_open(&p->port, n, at, &terms, &rtcp, e);
	if (err)
		return err;
	endpoint_hold(p->port.endpoint, r->hold);
	endpoint_rtcp_set_destination(p->port.endpoint, &r->rtcp_address);
	p->id = p->port.endpoint->cfg.id;
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

/* --- circles --- */

/*
 * Packets that come back to where they were heard, by whatever calls of this
 * node they pass through. One call may send to another's port, as where a
 * telephone system sends a call through the node twice; a circle is refused
 * when the address that closes it is named. What is learned, or passes through
 * other nodes, ends by ENDPOINT_RATE (media/endpoint.h), and with a codec in it
 * by the quota of what is sent (struct quota).
 */

/* Calls that a packet may pass through before it is called a circle. */
#define CALLS_MOST 16u

/* A packet on its way. */
struct passing {
	struct node *node;
	struct sockaddr_storage to;
	uint32_t ssrc; /* 0: nobody knows */
};

static bool is_shared(const struct passing *at)
{
	struct interface_cfg i = { .advertised = at->node->cfg.rtp_advertised };
	socklen_t len = sizeof(i.local);

	(void)getsockname(at->node->fd[0], (struct sockaddr *)&i.local, &len);
	return interface_is_at(&i, at->node->cfg.here, &at->to,
			       address_port(&i.local), 1);
}

static const struct node_call *circle_call_at(const struct passing *at)
{
	struct node_call *nc;

	RB_FOREACH (nc, node_tree, &at->node->calls)
		if (nc->in_endpoint &&
		    node_endpoint_is_at(nc->in_endpoint, &at->to))
			return nc;
	if (!at->ssrc || !is_shared(at))
		return NULL;
	RB_FOREACH (nc, node_tree, &at->node->calls)
		if (!node_call_relays(nc) && !node_call_in_endpoint(nc) &&
		    node_call_settings(nc)->ssrc_in == at->ssrc)
			return nc;
	return NULL;
}

static const struct party *party_at(const struct passing *at)
{
	const struct party *p = party_after(at->node, 0);

	while (p && !node_endpoint_is_at(&p->port, &at->to))
		p = party_after(at->node, p->id);
	return p;
}

/* The SSRC that leaves from the endpoint of @p, as far as is known by now. */
static uint32_t ssrc_to(const struct party *p)
{
	const struct conversation *c = p->conversation;
	const struct node_call *nc = NULL;

	for (unsigned i = 0; i < 2 && c; i++)
		if (conversation_stream(c, i) &&
		    node_call_settings(conversation_stream(c, i))
				    ->out_endpoint == p->port.endpoint)
			nc = conversation_stream(c, i);
	return nc ? node_call_settings(nc)->ssrc_out : p->spec.out_ssrc;
}

/* Follow it through whoever of ours hears it. False: nobody does. */
static bool pass_through_call(struct passing *at)
{
	const struct party *p = party_at(at);
	const struct node_call *nc = p ? NULL : circle_call_at(at);

	if (p && p->conversation) {
		p = conversation_peer(p->conversation, p);
		if (!p)
			return false;
		(void)destination_read(&p->port.endpoint->to, &at->to);
		at->ssrc = ssrc_to(p);
	} else if (nc) {
		at->to = node_call_settings(nc)->to;
		at->ssrc = node_call_settings(nc)->ssrc_out;
	} else {
		return false;
	}
	return at->to.ss_family;
}

/* Every packet that is sent passes here; most go to hosts that are not ours. */
static bool may_be_ours(const struct passing *at)
{
	const struct interfaces *all = &at->node->interfaces;

	for (unsigned i = 0; i < all->n; i++)
		if (interface_is_host(&all->one[i].cfg, at->node->cfg.here,
				      &at->to))
			return true;
	return is_shared(at);
}

/* Is what begins as @at heard at @in_endpoint, or (NULL) as @ssrc, in the end?
 */
static bool goes_round(struct passing at,
		       const struct node_endpoint *in_endpoint, uint32_t ssrc)
{
	for (unsigned i = 0; i < CALLS_MOST; i++) {
		if (!at.to.ss_family || !may_be_ours(&at))
			return false;
		if (in_endpoint ? node_endpoint_is_at(in_endpoint, &at.to)
				: at.ssrc == ssrc && is_shared(&at))
			return true;
		if (!pass_through_call(&at))
			return false;
	}
	return true;
}

int circle_check_party(const struct party *p, const struct party *other,
		       const struct sockaddr_storage *signalled,
		       const struct end_names *names, struct cr_err *e)
{
	const struct party *at =
		node_endpoint_is_at(&p->port, signalled) ? p : NULL;
	const struct passing first = { .node = p->port.node,
				       .to = *signalled,
				       .ssrc = ssrc_to(p) };

	if (!at && other && node_endpoint_is_at(&other->port, signalled))
		at = other;
	if (at)
		return cr_fail(e, -EINVAL,
			       "%s: is that of endpoint %" PRIu32
			       ", of the same call: packets would go "
			       "round. Say where the party itself is",
			       names->address, party_id(at));
	if (!other || !goes_round(first, &other->port, 0))
		return 0;
	return cr_fail(e, -EINVAL,
		       "%s: is that of another call of this node, which leads "
		       "back to endpoint %" PRIu32
		       ": packets would go round. Say "
		       "where the party itself is",
		       names->address, party_id(other));
}

int circle_check_call(struct node *n, const struct stream_cfg *cfg,
		      const struct node_endpoint *in_endpoint, struct cr_err *e)
{
	const struct passing first = { .node = n,
				       .to = cfg->to,
				       .ssrc = cfg->ssrc_out };

	if (!goes_round(first, in_endpoint, cfg->ssrc_in))
		return 0;
	return cr_fail(e, -EINVAL,
		       "out.address: leads back to this call: packets would "
		       "go round. Say where the party itself is");
}

/* --- changes --- */

/* May the party be heard as @next says, which the change @to has made? */
static int check_party_hears(const struct party *p,
			     const struct endpoint_spec *to,
			     const struct endpoint_spec *next,
			     const struct end_names *names, struct cr_err *e)
{
	const struct learn_terms terms = { .mode = (enum learn_mode)next->learn,
					   .signalled = next->address };
	sa_family_t family = p->port.interface->cfg.local.ss_family;

	if (to->address.ss_family && to->address.ss_family != family)
		return cr_fail(e, -EINVAL,
			       "%s: its endpoint is of the other IP family",
			       names->address);
	return check_learn(&terms, names, e);
}

/* Put what the change @to says into @spec. */
static void apply_change(struct endpoint_spec *spec,
			 const struct endpoint_spec *to)
{
	if (to->side.name) {
		spec->side = to->side;
		memcpy(spec->also, to->also, sizeof(spec->also));
		spec->nalso = to->nalso;
		spec->passed = to->passed;
	}
	if (to->side.name || to->ptime)
		spec->ptime = to->ptime;
	if (to->in_ptime)
		spec->in_ptime = to->in_ptime;
	if (to->address.ss_family) {
		spec->address = to->address;
		spec->rtcp_address = to->rtcp_address;
	}
	if (to->learn >= 0)
		spec->learn = to->learn;
	if (to->types.events >= 0) {
		spec->types.events = to->types.events;
		spec->types.events_clock = to->types.events_clock;
		spec->types.more = to->types.more;
	}
	if (to->types.noise >= 0)
		spec->types.noise = to->types.noise;
	if (to->hold >= 0)
		spec->hold = to->hold;
}

int party_check_change(struct endpoint_spec *out, const struct party *p,
		       const struct endpoint_spec *to,
		       const struct end_names *names, struct cr_err *e)
{
	const struct conversation *c = p->conversation;
	const struct party *other = c ? conversation_peer(c, p) : NULL;
	int err;

	*out = p->spec;
	apply_change(out, to);
	err = check_party_hears(p, to, out, names, e);
	if (!err)
		err = circle_check_party(p, other, &to->address, names, e);
	if (!err)
		err = check_rtcp_address(&to->rtcp_address, &to->address, names,
					 e);
	if (!err)
		err = check_places(p->port.node, &p->port.interface->cfg,
				   &to->address, &to->rtcp_address, names, e);
	if (!err)
		err = check_named(to, names->path, e);
	return err ? err : check_party_codecs(out, names->path, e);
}

void party_change(struct party *p, const struct endpoint_spec *to,
		  const struct endpoint_spec *next)
{
	struct endpoint *ep = p->port.endpoint;
	struct learn_terms terms = ep->cfg.terms;

	if (next->hold != p->spec.hold)
		endpoint_hold(ep, next->hold);
	p->spec = *next;
	if (endpoint_spec_hears(to)) {
		terms.mode = (enum learn_mode)next->learn;
		terms.signalled = next->address;
		endpoint_again(ep, &terms);
	}
	endpoint_rtcp_set_destination(ep, &next->rtcp_address);
}

/* --- the end --- */

static void leave_party(struct party *p)
{
	if (!p->left)
		node_endpoint_leave(&p->port);
	p->left = true;
}

/* Receivers may still have it. */
static void free_party_later(struct party *p)
{
	RB_REMOVE(party_tree, &p->port.node->parties, p);
	node_endpoint_free_later(&p->port);
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
			       "endpoint: call %" PRIu32
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
	if (p->opened)
		endpoint_feed(p->port.endpoint, NULL);
	else
		leave_party(p);
}

void party_release(struct party *p)
{
	if (--p->holders || !p->left)
		return;
	if (p->opened) { /* it may have been left just now */
		free_party_later(p);
		return;
	}
	RB_REMOVE(party_tree, &p->port.node->parties, p);
	node_endpoint_free(&p->port);
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
	const struct endpoint *ep = p->port.endpoint;
	unsigned long long count[LEARN_NCOUNTERS];

	learn_counts(&ep->learn, count);
	*out = (struct node_endpoint_info){
		.id = ep->cfg.id,
		.interface = p->port.interface->cfg.name,
		.packets = count[LEARN_COUNTER_accepted],
		.wrong_source = count[LEARN_COUNTER_foreign_address],
		.wrong_ssrc = count[LEARN_COUNTER_foreign_ssrc],
		.probation = count[LEARN_COUNTER_waiting],
		.ssrc_changes = count[LEARN_COUNTER_ssrc_changes],
		.address_changes = count[LEARN_COUNTER_address_changes],
		.hold = p->spec.hold,
		.call = p->conversation ? conversation_id(p->conversation) : 0,
		.codec = p->spec.side.name,
		.mode = p->spec.side.mode,
		.ptime = p->spec.ptime,
		.in_ptime = p->spec.in_ptime,
	};
	node_endpoint_address(&p->port, out->address, sizeof(out->address));
	(void)destination_read(&ep->to, &out->to);
	(void)payload_unknown_text(&ep->unknown, out->unknown,
				   sizeof(out->unknown));
	node_rtcp_report(p->port.endpoint, p->port.endpoint, false, &out->rtcp);
}
