/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints of a node.
 */
#include "node/node_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/random.h"
#include "convert/converter.h"
#include "media/endpoint_rtcp.h"
#include "node/node_impl.h"
#include "udp/socket.h"

/* Taken, unless that leaves too few for those who want to talk to the node:
 * these may have theirs already, so a descriptor's number tells nothing. */
static bool take_descriptors(struct node *n, unsigned some)
{
	uint64_t others = (uint64_t)n->own_descriptors + n->kept_descriptors +
			  converter_descriptors(n->converter) +
			  DESCRIPTORS_OF_FILES;
	unsigned endpoints = atomic_fetch_add_explicit(
		&n->endpoint_descriptors, some, memory_order_relaxed);

	if (endpoints + some + others <= descriptors_limit())
		return true;
	atomic_fetch_sub_explicit(&n->endpoint_descriptors, some,
				  memory_order_relaxed);
	return false;
}

static void close_ports(struct node_endpoint *l)
{
	unsigned had =
		(l->ports.rtp >= 0 ? 1u : 0u) + (l->ports.rtcp >= 0 ? 1u : 0u);

	port_pair_close(l->interface->ports, &l->ports);
	atomic_fetch_sub_explicit(&l->node->endpoint_descriptors, had,
				  memory_order_relaxed);
}

static int open_ports(struct node_endpoint *l, bool rtcp, struct cr_err *e)
{
	unsigned some = rtcp ? 2 : 1;
	int err;

	if (!take_descriptors(l->node, some))
		return descriptors_fail(e, -EMFILE, "a port for the call");
	err = port_pair_open(l->interface->ports, rtcp, &l->ports, e);
	if (err)
		atomic_fetch_sub_explicit(&l->node->endpoint_descriptors, some,
					  memory_order_relaxed);
	return err;
}

void node_opened_all(struct node *n, unsigned kept)
{
	int next = fcntl(n->fd[0], F_DUPFD_CLOEXEC, 0);

	n->kept_descriptors = kept;
	if (next < 0)
		return;
	n->own_descriptors = (unsigned)next;
	(void)close(next);
}

/* The name comes first: packets may come before this returns. */
static int join(struct node *n, struct endpoint *l, struct cr_err *e)
{
	int err = endpoints_add(&n->endpoints, l);

	if (err)
		return cr_fail(e, err, "out of memory for an endpoint");
	err = receivers_add_endpoint(n->receivers, l, e);
	if (err)
		endpoints_del(&n->endpoints, l);
	return err;
}

static int open_rtcp(struct node_endpoint *l,
		     const struct endpoint_rtcp_cfg *request, struct cr_err *e)
{
	struct endpoint_rtcp_cfg cfg = *request;

	cfg.fd = l->ports.rtcp;
	cfg.interval = l->node->cfg.rtcp_interval ? l->node->cfg.rtcp_interval
						  : RTCP_INTERVAL;
	random_fill(cfg.random, sizeof(cfg.random));
	return endpoint_rtcp_open(l->endpoint, &cfg, clock_now(), e);
}

static int open_endpoint(struct node_endpoint *l,
			 const struct learn_terms *terms,
			 const struct endpoint_rtcp_cfg *rtcp, struct cr_err *e)
{
	struct endpoint_cfg cfg = {
		.id = ++l->node->last_endpoint,
		.receiver = receivers_least(l->node->receivers),
		.terms = *terms,
	};
	int err = open_ports(l, rtcp && rtcp->mode == ENDPOINT_RTCP_PORT, e);

	if (err)
		return err;
	cfg.terms.may = l->node->cfg.send_to;
	cfg.terms.local = interface_is_local(&l->interface->cfg);
	cfg.fd = l->ports.rtp;
	l->endpoint = endpoint_new(&cfg);
	if (!l->endpoint)
		return cr_fail(e, -ENOMEM, "out of memory for an endpoint");
	if (rtcp && rtcp->mode != ENDPOINT_RTCP_OFF)
		err = open_rtcp(l, rtcp, e);
	return err ? err : join(l->node, l->endpoint, e);
}

/* On the thread of what is deferred: the receiver has let go of it. */
static void free_later(struct rcu_later *head)
{
	rcu_deferred();
	node_endpoint_free(caa_container_of(head, struct node_endpoint, rcu));
}

int node_endpoint_open(struct node *n, struct interface *i,
		       const struct learn_terms *terms,
		       const struct endpoint_rtcp_cfg *rtcp,
		       struct node_endpoint **out, struct cr_err *e)
{
	struct node_endpoint *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return cr_fail(e, -ENOMEM, "out of memory for an endpoint");
	l->node = n;
	l->interface = i;
	l->ports = (struct port_pair){ .rtp = -1, .rtcp = -1 };
	err = open_endpoint(l, terms, rtcp, e);
	if (err && l->endpoint) { /* its receiver may be at its timer */
		rcu_defer(&l->rcu, free_later);
		return err;
	}
	if (err) {
		node_endpoint_free(l);
		return err;
	}
	*out = l;
	return 0;
}

void node_endpoint_leave(struct node_endpoint *l)
{
	receivers_del_endpoint(l->node->receivers, l->endpoint);
	endpoints_del(&l->node->endpoints, l->endpoint);
}

static unsigned long long value(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* What no call has counted, for the node's sums. */
static void keep_counts(struct node_endpoint *l)
{
	struct endpoint *endpoint = l->endpoint;

	if (!endpoint_listener(endpoint) &&
	    !endpoint_relayer(endpoint)) /* else that has counted the rest */
		rx_count_rest(endpoint, NULL);
	rx_count_rtcp_rest(endpoint);
	atomic_fetch_add_explicit(&l->node->endpoint_drops,
				  value(&endpoint->port_drops),
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&l->node->endpoint_unread,
				  value(&endpoint->unread),
				  memory_order_relaxed);
}

void node_endpoint_free(struct node_endpoint *l)
{
	if (!l)
		return;
	if (l->endpoint) {
		endpoint_rtcp_bye(l->endpoint, clock_now());
		keep_counts(l);
	}
	close_ports(l);
	endpoint_free(l->endpoint);
	free(l);
}

void node_endpoint_free_later(struct node_endpoint *l)
{
	rcu_defer(&l->rcu, free_later);
}

void node_endpoint_discard(struct node_endpoint *l)
{
	node_endpoint_leave(l);
	node_endpoint_free_later(l);
}

bool node_endpoint_is_at(const struct node_endpoint *l,
			 const struct sockaddr_storage *a)
{
	unsigned past = l->ports.rtcp >= 0;

	return interface_is_at(&l->interface->cfg, l->node->cfg.here, a,
			       l->ports.port, 1 + past);
}

void node_endpoint_address(const struct node_endpoint *l, char *buf,
			   size_t size)
{
	const struct interface_cfg *i = &l->interface->cfg;

	interface_text(&i->local, &i->advertised, l->ports.port, buf, size);
}
