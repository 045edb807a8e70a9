/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints of a node: its interfaces, their ports, and what is told of RTCP.
 */
#include "node/node_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/util.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/random.h"
#include "convert/converter.h"
#include "media/endpoint_rtcp.h"
#include "node/node_impl.h"
#include "udp/socket.h"

/* The shared socket's buffers are for all calls; a flood on one endpoint's port
 * shall not take as much memory. */
#define PORT_BUFFER (128 << 10)

int node_open_interfaces(struct node *n, struct cr_err *e)
{
	const struct interface_cfg only = {
		.name = INTERFACE_DEFAULT,
		.local = n->cfg.rtp,
		.advertised = n->cfg.rtp_advertised,
	};
	struct port_pairs_config each = {
		.range = n->cfg.rtp_ports,
		.tos = n->cfg.tos,
		.bytes = PORT_BUFFER,
	};
	int err;

	evutil_secure_rng_get_bytes(&each.seed, sizeof(each.seed));
	if (n->cfg.ninterfaces)
		err = interfaces_open(&n->interfaces, n->cfg.interfaces,
				      n->cfg.ninterfaces, &each, e);
	else
		err = interfaces_open(&n->interfaces, &only, 1, &each, e);
	if (err)
		return err;
	/* An address that is not there is told at the start, not by the first
	 * call. */
	for (unsigned i = 0; i < n->interfaces.n; i++) {
		struct sockaddr_storage at = n->interfaces.one[i].cfg.local;
		struct cr_err why;
		int fd;

		address_set_port(&at, 0);
		fd = udp_socket_small(&at, PORT_BUFFER, &why);
		if (fd < 0)
			return cr_fail(e, fd, "interface %s: %.400s",
				       n->interfaces.one[i].cfg.name, why.text);
		(void)close(fd);
	}
	return 0;
}

void node_address(const struct node *n, char *buf, size_t size)
{
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(a);

	(void)getsockname(n->fd[0], (struct sockaddr *)&a, &len);
	interface_text(&a, &n->cfg.rtp_advertised, address_port(&a), buf, size);
}

void node_call_address(const struct node_call *nc, char *buf, size_t size)
{
	const struct node_endpoint *in_endpoint = node_call_in_endpoint(nc);

	if (in_endpoint)
		node_endpoint_address(in_endpoint, buf, size);
	else
		node_address(nc->node, buf, size);
}

static const char *host_text(const struct sockaddr_storage *a,
			     char buf[NODE_ADDRESS_MAX])
{
	return address_host_text(a, buf, NODE_ADDRESS_MAX);
}

bool node_interface(const struct node *n, unsigned i,
		    struct node_interface_info *out)
{
	const struct interface_cfg *cfg;
	struct port_pairs_info ports;

	if (i >= n->interfaces.n)
		return false;
	cfg = &n->interfaces.one[i].cfg;
	port_pairs_info(n->interfaces.one[i].ports, &ports);
	*out = (struct node_interface_info){
		.name = cfg->name,
		.ports = ports.pairs,
		.used = ports.used,
		.available = ports.pairs ? ports.pairs - ports.used : 0,
		.passed_over = ports.passed_over,
	};
	(void)host_text(&cfg->local, out->address);
	(void)host_text(cfg->advertised.ss_family ? &cfg->advertised
						  : &cfg->local,
			out->advertised);
	return true;
}

void node_rtcp_report(struct endpoint *in_endpoint,
		      struct endpoint *out_endpoint, bool last,
		      struct node_rtcp_info *out)
{
	struct endpoint_rtcp_info far = { 0 };

	*out = (struct node_rtcp_info){ 0 };
	if (in_endpoint && in_endpoint->rtcp)
		endpoint_rtcp_report(in_endpoint, last, &out->leads);
	if (out_endpoint && out_endpoint->rtcp)
		endpoint_rtcp_report(out_endpoint, last, &far);
	/* What a stream's listener reports is heard by the endpoint that it is
	 * sent from. */
	out->leads.reports = far.reports;
	out->leads.lost_share = far.lost_share;
	out->leads.lost_mean = far.lost_mean;
	out->leads.lost_total = far.lost_total;
	out->leads.far_jitter = far.far_jitter;
	out->leads.round_trips = far.round_trips;
	out->leads.rtt = far.rtt;
	out->leads.rtt_mean = far.rtt_mean;
	out->leads.rtt_min = far.rtt_min;
	out->leads.rtt_max = far.rtt_max;
	if ((in_endpoint && in_endpoint->rtcp) ||
	    (out_endpoint && out_endpoint->rtcp))
		out->is = &out->leads;
}

void node_call_rtcp(const struct node_call *nc, bool last,
		    struct node_rtcp_info *out)
{
	struct endpoint *endpoint[2] = { NULL, NULL };

	if (nc->conversation)
		conversation_rtcp(nc->conversation, nc, endpoint);
	else if (nc->in_endpoint)
		endpoint[0] = endpoint[1] = nc->in_endpoint->endpoint;
	node_rtcp_report(endpoint[0], endpoint[1], last, out);
}

void node_rtcp_histograms(const struct node *n, struct histogram *round_trip,
			  struct histogram *jitter)
{
	memset(round_trip, 0, sizeof(*round_trip));
	memset(jitter, 0, sizeof(*jitter));
	for (unsigned i = 0; i < receivers_count(n->receivers); i++) {
		const struct endpoint_rtcp_sums *s =
			rx_rtcp(receivers_at(n->receivers, i));

		histogram_merge(round_trip, &s->round_trip);
		histogram_merge(jitter, &s->jitter);
	}
}

void node_rtcp_stats(const struct node *n, struct node_rtcp_stats *out)
{
	static struct histogram round_trip, jitter; /* 15 KiB each */

	*out = (struct node_rtcp_stats){ 0 };
	for (unsigned i = 0; i < receivers_count(n->receivers); i++) {
		const struct endpoint_rtcp_sums *s =
			rx_rtcp(receivers_at(n->receivers, i));

		out->sent +=
			atomic_load_explicit(&s->sent, memory_order_relaxed);
		out->reports +=
			atomic_load_explicit(&s->reports, memory_order_relaxed);
		out->lost += (double)atomic_load_explicit(
				     &s->lost_256, memory_order_relaxed) /
			     256;
	}
	node_rtcp_histograms(n, &round_trip, &jitter);
	histogram_summarise(&round_trip, &out->round_trip);
	histogram_summarise(&jitter, &out->jitter);
}

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

static int open_ports(struct node_endpoint *ep, bool rtcp, struct cr_err *e)
{
	unsigned some = rtcp ? 2 : 1;
	int err;

	if (!take_descriptors(ep->node, some))
		return descriptors_fail(e, -EMFILE, "a port for the call");
	err = port_pair_open(ep->interface->ports, rtcp, &ep->ports, e);
	if (err)
		atomic_fetch_sub_explicit(&ep->node->endpoint_descriptors, some,
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

static int open_node_ports(struct node_endpoint *ep,
			   const struct learn_terms *terms,
			   const struct endpoint_rtcp_cfg *rtcp,
			   struct cr_err *e)
{
	struct endpoint_cfg cfg = {
		.id = ++ep->node->last_endpoint,
		.receiver = receivers_least(ep->node->receivers),
		.terms = *terms,
	};
	int err = open_ports(ep, rtcp && rtcp->mode == ENDPOINT_RTCP_PORT, e);

	if (err)
		return err;
	cfg.terms.may = ep->node->cfg.send_to;
	cfg.terms.local = interface_is_local(&ep->interface->cfg);
	cfg.fd = ep->ports.rtp;
	ep->endpoint = endpoint_new(&cfg);
	if (!ep->endpoint)
		return cr_fail(e, -ENOMEM, "out of memory for an endpoint");
	if (rtcp && rtcp->mode != ENDPOINT_RTCP_OFF) {
		struct endpoint_rtcp_cfg full = *rtcp;

		full.fd = ep->ports.rtcp;
		full.interval = ep->node->cfg.rtcp_interval
					? ep->node->cfg.rtcp_interval
					: RTCP_INTERVAL;
		random_fill(full.random, sizeof(full.random));
		err = endpoint_rtcp_open(ep->endpoint, &full, clock_now(), e);
	}
	if (err)
		return err;
	/* The name comes first: packets may come before this returns. */
	err = endpoints_add(&ep->node->endpoints, ep->endpoint);
	if (err)
		return cr_fail(e, err, "out of memory for an endpoint");
	err = receivers_add_endpoint(ep->node->receivers, ep->endpoint, e);
	if (err)
		endpoints_del(&ep->node->endpoints, ep->endpoint);
	return err;
}

/* On the thread of what is deferred: the receiver has let go of it. */
static void free_endpoint_later(struct rcu_later *head)
{
	rcu_deferred();
	node_endpoint_free(caa_container_of(head, struct node_endpoint, rcu));
}

int node_endpoint_open(struct node_endpoint *ep, struct node *n,
		       struct interface *i, const struct learn_terms *terms,
		       const struct endpoint_rtcp_cfg *rtcp, struct cr_err *e)
{
	int err;

	ep->node = n;
	ep->interface = i;
	ep->ports = (struct port_pair){ .rtp = -1, .rtcp = -1 };
	err = open_node_ports(ep, terms, rtcp, e);
	if (err && ep->endpoint) /* its receiver may be at its timer */
		rcu_defer(&ep->rcu, free_endpoint_later);
	else if (err)
		node_endpoint_free(ep);
	return err;
}

void node_endpoint_leave(struct node_endpoint *ep)
{
	receivers_del_endpoint(ep->node->receivers, ep->endpoint);
	endpoints_del(&ep->node->endpoints, ep->endpoint);
}

static unsigned long long counter_value(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* Add counts that are no call's to the node's sums. */
static void keep_counts(struct node_endpoint *ep)
{
	struct endpoint *endpoint = ep->endpoint;

	if (!endpoint_stream(endpoint)) /* else that has counted the rest */
		rx_count_rest(endpoint);
	rx_count_rtcp_rest(endpoint);
	atomic_fetch_add_explicit(&ep->node->endpoint_drops,
				  counter_value(&endpoint->port_drops),
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&ep->node->endpoint_unread,
				  counter_value(&endpoint->unread),
				  memory_order_relaxed);
}

void node_endpoint_free(struct node_endpoint *ep)
{
	unsigned had;

	if (!ep)
		return;
	if (ep->endpoint) {
		endpoint_rtcp_bye(ep->endpoint, clock_now());
		keep_counts(ep);
	}
	had = (ep->ports.rtp >= 0 ? 1u : 0u) + (ep->ports.rtcp >= 0 ? 1u : 0u);
	port_pair_close(ep->interface->ports, &ep->ports);
	atomic_fetch_sub_explicit(&ep->node->endpoint_descriptors, had,
				  memory_order_relaxed);
	endpoint_free(ep->endpoint);
	free(ep);
}

void node_endpoint_free_later(struct node_endpoint *ep)
{
	rcu_defer(&ep->rcu, free_endpoint_later);
}

void node_endpoint_discard(struct node_endpoint *ep)
{
	node_endpoint_leave(ep);
	node_endpoint_free_later(ep);
}

bool node_endpoint_is_at(const struct node_endpoint *ep,
			 const struct sockaddr_storage *a)
{
	unsigned past = ep->ports.rtcp >= 0;

	return interface_is_at(&ep->interface->cfg, ep->node->cfg.here, a,
			       ep->ports.port, 1 + past);
}

void node_endpoint_address(const struct node_endpoint *ep, char *buf,
			   size_t size)
{
	const struct interface_cfg *i = &ep->interface->cfg;

	interface_text(&i->local, &i->advertised, ep->ports.port, buf, size);
}
