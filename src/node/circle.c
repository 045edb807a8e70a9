/* SPDX-License-Identifier: Apache-2.0 */
#include "node/circle.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/socket.h>

#include "node/node_impl.h"

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

/* What goes from the endpoint of @p, as far as is known by now. */
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
			       ", of the same conversation: packets would go "
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

int circle_check_call(struct node *n, const struct call_cfg *cfg,
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
