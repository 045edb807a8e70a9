/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Legs of a node.
 */
#include "node/node_leg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/random.h"
#include "convert/converter.h"
#include "media/leg_rtcp.h"
#include "node/node_impl.h"
#include "udp/socket.h"

/* Taken, unless that leaves too few for those who want to talk to the node:
 * these may have theirs already, so a descriptor's number tells nothing. */
static bool take_descriptors(struct node *n, unsigned some)
{
	uint64_t others = (uint64_t)n->own_descriptors + n->kept_descriptors +
			  converter_descriptors(n->converter) +
			  DESCRIPTORS_OF_FILES;
	unsigned legs = atomic_fetch_add_explicit(&n->leg_descriptors, some,
						  memory_order_relaxed);

	if (legs + some + others <= descriptors_limit())
		return true;
	atomic_fetch_sub_explicit(&n->leg_descriptors, some,
				  memory_order_relaxed);
	return false;
}

static void close_ports(struct node_leg *l)
{
	unsigned had =
		(l->ports.rtp >= 0 ? 1u : 0u) + (l->ports.rtcp >= 0 ? 1u : 0u);

	port_pair_close(l->interface->ports, &l->ports);
	atomic_fetch_sub_explicit(&l->node->leg_descriptors, had,
				  memory_order_relaxed);
}

static int open_ports(struct node_leg *l, bool rtcp, struct cr_err *e)
{
	unsigned some = rtcp ? 2 : 1;
	int err;

	if (!take_descriptors(l->node, some))
		return descriptors_fail(e, -EMFILE, "a port for the call");
	err = port_pair_open(l->interface->ports, rtcp, &l->ports, e);
	if (err)
		atomic_fetch_sub_explicit(&l->node->leg_descriptors, some,
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
static int join(struct node *n, struct leg *l, struct cr_err *e)
{
	int err = legs_add(&n->legs, l);

	if (err)
		return cr_fail(e, err, "out of memory for a leg");
	err = receivers_add_leg(n->receivers, l, e);
	if (err)
		legs_del(&n->legs, l);
	return err;
}

static int open_rtcp(struct node_leg *l, const struct leg_rtcp_cfg *wish,
		     struct cr_err *e)
{
	struct leg_rtcp_cfg cfg = *wish;

	cfg.fd = l->ports.rtcp;
	cfg.interval = l->node->cfg.rtcp_interval ? l->node->cfg.rtcp_interval
						  : RTCP_INTERVAL;
	random_fill(cfg.random, sizeof(cfg.random));
	return leg_rtcp_open(l->leg, &cfg, clock_now(), e);
}

static int open_leg(struct node_leg *l, const struct learn_terms *terms,
		    const struct leg_rtcp_cfg *rtcp, struct cr_err *e)
{
	struct leg_cfg cfg = {
		.id = ++l->node->last_leg,
		.receiver = receivers_least(l->node->receivers),
		.terms = *terms,
	};
	int err = open_ports(l, rtcp && rtcp->mode == LEG_RTCP_PORT, e);

	if (err)
		return err;
	cfg.terms.may = l->node->cfg.send_to;
	cfg.terms.local = interface_is_local(&l->interface->cfg);
	cfg.fd = l->ports.rtp;
	l->leg = leg_new(&cfg);
	if (!l->leg)
		return cr_fail(e, -ENOMEM, "out of memory for a leg");
	if (rtcp && rtcp->mode != LEG_RTCP_OFF)
		err = open_rtcp(l, rtcp, e);
	return err ? err : join(l->node, l->leg, e);
}

/* On the thread of what is deferred: the receiver has let go of it. */
static void free_later(struct rcu_later *head)
{
	rcu_deferred();
	node_leg_free(caa_container_of(head, struct node_leg, rcu));
}

int node_leg_open(struct node *n, struct interface *i,
		  const struct learn_terms *terms,
		  const struct leg_rtcp_cfg *rtcp, struct node_leg **out,
		  struct cr_err *e)
{
	struct node_leg *l = calloc(1, sizeof(*l));
	int err;

	if (!l)
		return cr_fail(e, -ENOMEM, "out of memory for a leg");
	l->node = n;
	l->interface = i;
	l->ports = (struct port_pair){ .rtp = -1, .rtcp = -1 };
	err = open_leg(l, terms, rtcp, e);
	if (err && l->leg) { /* its receiver may be at its timer */
		rcu_defer(&l->rcu, free_later);
		return err;
	}
	if (err) {
		node_leg_free(l);
		return err;
	}
	*out = l;
	return 0;
}

void node_leg_leave(struct node_leg *l)
{
	receivers_del_leg(l->node->receivers, l->leg);
	legs_del(&l->node->legs, l->leg);
}

static unsigned long long value(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* What no call has counted, for the node's sums. */
static void keep_counts(struct node_leg *l)
{
	struct leg *leg = l->leg;

	if (!leg_listener(leg) &&
	    !leg_relayer(leg)) /* else that has counted the rest */
		rx_count_rest(leg, NULL);
	rx_count_rtcp_rest(leg);
	atomic_fetch_add_explicit(&l->node->leg_drops, value(&leg->port_drops),
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&l->node->leg_unread, value(&leg->unread),
				  memory_order_relaxed);
}

void node_leg_free(struct node_leg *l)
{
	if (!l)
		return;
	if (l->leg) {
		leg_rtcp_bye(l->leg, clock_now());
		keep_counts(l);
	}
	close_ports(l);
	leg_free(l->leg);
	free(l);
}

void node_leg_free_later(struct node_leg *l)
{
	rcu_defer(&l->rcu, free_later);
}

void node_leg_discard(struct node_leg *l)
{
	node_leg_leave(l);
	node_leg_free_later(l);
}

bool node_leg_is_at(const struct node_leg *l, const struct sockaddr_storage *a)
{
	unsigned past = l->ports.rtcp >= 0;

	return interface_is_at(&l->interface->cfg, l->node->cfg.here, a,
			       l->ports.port, 1 + past);
}

void node_leg_address(const struct node_leg *l, char *buf, size_t size)
{
	const struct interface_cfg *i = &l->interface->cfg;

	interface_text(&i->local, &i->advertised, l->ports.port, buf, size);
}
