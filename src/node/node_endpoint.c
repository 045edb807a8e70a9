/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints of a node: its interfaces and their ports; the life of an endpoint;
 * what its spec says, checked; circles. Texts that a spec names are replaced by
 * those of the codecs, which stay.
 *
 *    node_endpoint_new()        leave, close          nobody has it any more
 *   -------------------> heard -------------> left -------------------------->
 *                                                    (a grace period) freed
 *
 * A call has an endpoint from node_endpoint_join() to node_endpoint_release().
 * One that was opened by itself outlives these, until it is closed.
 */
#include "node/node_endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/util.h>

#include "base/address.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/counter.h"
#include "base/descriptors.h"
#include "base/random.h"
#include "convert/converter.h"
#include "media/endpoint.h"
#include "node/call_check.h"
#include "node/node_impl.h"
#include "udp/socket.h"

/* The shared socket's buffers are for all calls; a flood on one endpoint's port
 * shall not take as much memory. */
#define PORT_BUFFER (128 << 10)

/* Until a codec is known: that of most (RFC 3551). */
#define RTP_CLOCK 8000u

static int node_endpoint_cmp(struct node_endpoint *a, struct node_endpoint *b)
{
	return (a->id > b->id) - (a->id < b->id);
}

RB_PROTOTYPE(node_endpoint_tree, node_endpoint, by_id, node_endpoint_cmp)
RB_GENERATE(node_endpoint_tree, node_endpoint, by_id, node_endpoint_cmp)

/* --- interfaces and ports --- */

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

void node_stream_address(const struct node_stream *st, char *buf, size_t size)
{
	const struct node_endpoint *in_endpoint = node_stream_in_endpoint(st);

	if (in_endpoint)
		node_endpoint_address(in_endpoint, buf, size);
	else
		node_address(st->node, buf, size);
}

int node_choose_interface(struct node *n,
			  const struct interface_request *request,
			  struct interface **at, struct cr_err *e)
{
	const struct call_past *past = n->restoring;
	const struct sockaddr_storage *was;
	char text[64];

	if (!past || past->how != RESTORE_TAKEOVER)
		return interfaces_choose(&n->interfaces, request, at, e);
	was = &past->stream[past->end].at;
	for (unsigned i = 0; i < n->interfaces.n; i++) {
		if (!address_same_host(&n->interfaces.one[i].cfg.local, was))
			continue;
		*at = &n->interfaces.one[i];
		return 0;
	}
	return cr_fail(e, -EADDRNOTAVAIL,
		       "no --interface of this node has its address %s",
		       address_host_text(was, text, sizeof(text)));
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

/* --- life --- */

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
	err = ep->node->restoring ? node_restore_ports(ep, rtcp, e)
				  : port_pair_open(ep->interface->ports, rtcp,
						   &ep->ports, e);
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

static int open_node_ports(struct node_endpoint *ep, struct endpoint_cfg cfg,
			   const struct endpoint_rtcp_cfg *rtcp,
			   struct cr_err *e)
{
	int err = open_ports(ep, rtcp && rtcp->mode == ENDPOINT_RTCP_PORT, e);

	if (err)
		return err;
	cfg.receiver = receivers_least(ep->node->receivers);
	cfg.terms.may = ep->node->cfg.send_to;
	cfg.terms.local = interface_is_local(&ep->interface->cfg);
	cfg.fd = ep->ports.rtp;
	if (node_restores_ahead(ep->node))
		cfg.state = NULL; /* before node_endpoint_go_on() */
	/* what has come meanwhile is for its stream: node_restored() */
	cfg.waits =
		ep->node->restoring && ep->node->restoring->how == RESTORE_HELD;
	ep->endpoint = endpoint_new(&cfg);
	if (!ep->endpoint)
		return cr_fail(e, -ENOMEM, "out of memory for an endpoint");
	state_slot_hold(ep->node->cfg.state, cfg.state);
	if (ep->node->restoring)
		node_restore_heard(ep->node, ep->endpoint);
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

/* Add counts that are no call's to the node's sums. */
static void keep_counts(struct node_endpoint *ep)
{
	struct endpoint *endpoint = ep->endpoint;

	if (!endpoint_stream(endpoint)) /* else that has counted the rest */
		rx_count_rest(endpoint);
	rx_count_rtcp_rest(endpoint);
	atomic_fetch_add_explicit(&ep->node->endpoint_drops,
				  counter_read(&endpoint->port_drops),
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&ep->node->endpoint_unread,
				  counter_read(&endpoint->unread),
				  memory_order_relaxed);
}

static void free_endpoint(struct node_endpoint *ep)
{
	unsigned had = (ep->ports.rtp >= 0 ? 1u : 0u) +
		       (ep->ports.rtcp >= 0 ? 1u : 0u);

	/* what is at a port that was never heard is another process's */
	if (ep->endpoint && ep->endpoint->port_key) {
		endpoint_rtcp_bye(ep->endpoint, clock_now());
		keep_counts(ep);
	}
	port_pair_close(ep->interface->ports, &ep->ports);
	atomic_fetch_sub_explicit(&ep->node->endpoint_descriptors, had,
				  memory_order_relaxed);
	if (ep->endpoint)
		state_slot_give(ep->node->cfg.state, ep->endpoint->cfg.state);
	endpoint_free(ep->endpoint);
	free(ep->spec);
	free(ep);
}

/* On the thread of what is deferred: the receiver has let go of it. */
static void free_endpoint_later(struct rcu_later *head)
{
	rcu_deferred();
	free_endpoint(caa_container_of(head, struct node_endpoint, rcu));
}

int node_endpoint_new(struct node *n, struct interface *i,
		      const struct endpoint_cfg *cfg,
		      const struct endpoint_rtcp_cfg *rtcp,
		      struct node_endpoint **out, struct cr_err *e)
{
	struct node_endpoint *ep = calloc(1, sizeof(*ep));
	int err;

	if (!ep)
		return cr_fail(e, -ENOMEM, "out of memory for an endpoint");
	ep->node = n;
	ep->interface = i;
	ep->ports = (struct port_pair){ .rtp = -1, .rtcp = -1 };
	err = open_node_ports(ep, *cfg, rtcp, e);
	if (!err)
		*out = ep;
	else if (ep->endpoint) /* its receiver may be at its timer */
		rcu_defer(&ep->rcu, free_endpoint_later);
	else
		free_endpoint(ep);
	return err;
}

void node_endpoint_join(struct node_endpoint *ep, struct node_call *c)
{
	ep->call = c;
	ep->holders++;
}

/* Stop receiving: receivers let go of it within a grace period. */
static void stop_receiving(struct node_endpoint *ep)
{
	if (ep->left)
		return;
	ep->left = true;
	node_endpoint_forget(ep);
	receivers_del_endpoint(ep->node->receivers, ep->endpoint);
	endpoints_del(&ep->node->endpoints, ep->endpoint);
}

void node_endpoint_leave(struct node_endpoint *ep)
{
	ep->call = NULL;
	if (ep->opened)
		endpoint_feed(ep->endpoint, NULL);
	else
		stop_receiving(ep);
}

/* Free @ep if nobody has it: @later where receivers still may. */
static void free_unheld(struct node_endpoint *ep, bool later)
{
	if (ep->holders || !ep->left)
		return;
	if (ep->id)
		RB_REMOVE(node_endpoint_tree, &ep->node->endpoints_by_id, ep);
	if (later)
		rcu_defer(&ep->rcu, free_endpoint_later);
	else
		free_endpoint(ep);
}

void node_endpoint_release(struct node_endpoint *ep)
{
	ep->holders--;
	free_unheld(ep, ep->opened); /* that may have been closed just now */
}

void node_endpoint_discard(struct node_endpoint *ep)
{
	node_endpoint_leave(ep);
	ep->holders--;
	free_unheld(ep, true);
}

static void close_endpoint(struct node_endpoint *ep)
{
	ep->owner = NULL;
	stop_receiving(ep);
	free_unheld(ep, true);
}

int node_endpoint_close(struct node_endpoint *ep, struct cr_err *e)
{
	if (ep->call)
		return cr_fail(e, -EBUSY,
			       "endpoint: call %" PRIu32
			       " has it: stop that first",
			       node_call_id(ep->call));
	close_endpoint(ep);
	return 0;
}

void node_endpoint_disown(struct node_endpoint *ep)
{
	ep->owner = NULL;
	if (ep->call)
		ep->opened = false;
	else
		close_endpoint(ep);
}

void node_endpoint_close_all(struct node *n)
{
	struct node_endpoint *ep, *next;

	RB_FOREACH_SAFE (ep, node_endpoint_tree, &n->endpoints_by_id, next)
		if (!ep->left && !ep->call)
			close_endpoint(ep);
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

/* --- what a spec says --- */

const struct end_names endpoint_own_names = { .path = "",
					      .address = "address" };

bool codec_use_is_said(const struct codec_use *r)
{
	return r->mode || r->pt != CODEC_PT_UNSAID || r->cfg.sample_rate ||
	       r->cfg.dtx || r->cfg.complexity || r->cfg.fec || r->cfg.spin ||
	       r->amr.octet_align || r->amr.mode_set || r->amr.mode_second ||
	       r->amr.mode_next;
}

/* Refuse parameters of a codec without its name. */
static int check_named(const struct endpoint_spec *r, const char *path,
		       struct cr_err *e)
{
	if (r->side.name)
		return 0;
	if (codec_use_is_said(&r->side))
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
static int check_endpoint_codecs(struct endpoint_spec *r, const char *path,
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
static int check_endpoint(struct node *n, struct endpoint_spec *r,
			  const struct end_names *names,
			  struct learn_terms *terms, struct interface **at,
			  struct cr_err *e)
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
		err = check_endpoint_codecs(r, names->path, e);
	if (!err)
		err = node_choose_interface(n, &request, at, e);
	r->interface = NULL; /* its text is borrowed, and its work is done */
	return err ? err
		   : check_places(n, &(*at)->cfg, &r->address, &r->rtcp_address,
				  names, e);
}

int node_endpoint_open_kept(struct node *n, const struct endpoint_spec *r,
			    const struct end_names *names,
			    struct state_stream *state,
			    struct node_endpoint **out, struct cr_err *e)
{
	/* its clocks and SSRC are its call's to say */
	const struct endpoint_rtcp_cfg rtcp = {
		.mode = r->rtcp < 0 ? ENDPOINT_RTCP_PORT
				    : (enum endpoint_rtcp_mode)r->rtcp,
		.use = { node_random_ssrc(), RTP_CLOCK, RTP_CLOCK },
	};
	struct endpoint_spec *spec = malloc(sizeof(*spec));
	struct endpoint_cfg cfg = { .state = state };
	struct node_endpoint *ep;
	struct interface *at;
	int err = spec ? node_refuse_short(n, e)
		       : cr_fail(e, -ENOMEM, "out of memory for an endpoint");

	if (!err) {
		*spec = *r;
		err = check_endpoint(n, spec, names, &cfg.terms, &at, e);
	}
	if (!err)
		err = node_endpoint_new(n, at, &cfg, &rtcp, &ep, e);
	if (err) {
		free(spec);
		return err;
	}
	ep->spec = spec;
	endpoint_hold(ep->endpoint, spec->hold);
	endpoint_rtcp_set_destination(ep->endpoint, &spec->rtcp_address);
	if (n->restoring && n->restoring->how != RESTORE_MOVED)
		ep->id = n->restoring->stream[n->restoring->end].endpoint;
	/* they wrap; 0 is none's */
	while (!ep->id ||
	       RB_INSERT(node_endpoint_tree, &n->endpoints_by_id, ep))
		ep->id = ++n->ids->endpoint;
	*out = ep;
	return 0;
}

struct state_slot *node_take_slot(struct node *n)
{
	if (n->restoring) {
		n->restoring->slot_owned = true;
		return n->restoring->slot;
	}
	/* which of them are free, only the other process knows */
	CR_ASSERT(!n->cfg.arrives);
	return n->cfg.state ? state_slot_take(n->cfg.state) : NULL;
}

int node_endpoint_open(struct node *n, const struct endpoint_spec *r,
		       const struct end_names *names,
		       struct node_endpoint **out, struct cr_err *e)
{
	struct state_slot *slot = node_take_slot(n);
	int err = node_endpoint_open_kept(
		n, r, names, slot ? &slot->stream[0] : NULL, out, e);

	if (!err)
		(*out)->slot = slot;
	state_slot_give(n->cfg.state, slot); /* the endpoint holds it */
	return err;
}

struct node_endpoint *node_endpoint_find(struct node *n, uint32_t id)
{
	struct node_endpoint key = { .id = id };
	struct node_endpoint *ep =
		RB_FIND(node_endpoint_tree, &n->endpoints_by_id, &key);

	return ep && !ep->left ? ep : NULL;
}

struct node_endpoint *node_endpoint_after(struct node *n, uint32_t id)
{
	struct node_endpoint key = { .id = id };
	struct node_endpoint *ep =
		RB_NFIND(node_endpoint_tree, &n->endpoints_by_id, &key);

	while (ep && (ep->left || ep->id == id))
		ep = RB_NEXT(node_endpoint_tree, &n->endpoints_by_id, ep);
	return ep;
}

struct node_endpoint *node_endpoint_of_owner(struct node *n, const void *owner)
{
	struct node_endpoint *ep;

	RB_FOREACH (ep, node_endpoint_tree, &n->endpoints_by_id)
		if (ep->owner == owner && !ep->left)
			return ep;
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

static const struct node_stream *circle_stream_at(const struct passing *at)
{
	struct node_stream *st;

	RB_FOREACH (st, node_stream_tree, &at->node->streams) {
		const struct node_endpoint *ep = node_stream_in_endpoint(st);

		if (ep && !ep->id && node_endpoint_is_at(ep, &at->to))
			return st;
	}
	if (!at->ssrc || !is_shared(at))
		return NULL;
	RB_FOREACH (st, node_stream_tree, &at->node->streams)
		if (!node_stream_wants_relay(st) &&
		    !node_stream_in_endpoint(st) &&
		    node_stream_settings(st)->ssrc_in == at->ssrc)
			return st;
	return NULL;
}

/* The SSRC that leaves from the endpoint of @ep, as far as is known by now. */
static uint32_t ssrc_to(const struct node_endpoint *ep)
{
	const struct node_call *c = ep->call;
	const struct node_stream *st = NULL;

	for (unsigned i = 0; i < 2 && c; i++)
		if (node_call_stream(c, i) &&
		    node_stream_settings(node_call_stream(c, i))
				    ->out_endpoint == ep->endpoint)
			st = node_call_stream(c, i);
	return st ? node_stream_settings(st)->ssrc_out : ep->spec->out_ssrc;
}

/* Follow it through our endpoint or stream that receives it. False: none does.
 */
static bool pass_through_call(struct passing *at)
{
	const struct node_endpoint *ep = node_endpoint_after(at->node, 0);
	const struct node_stream *st;

	while (ep && !node_endpoint_is_at(ep, &at->to))
		ep = node_endpoint_after(at->node, ep->id);
	st = ep ? NULL : circle_stream_at(at);
	if (ep && ep->call) {
		ep = node_call_peer(ep->call, ep);
		if (!ep)
			return false;
		(void)destination_read(&ep->endpoint->to, &at->to);
		if (!at->to.ss_family) /* a call that is about to begin */
			at->to = ep->spec->address;
		at->ssrc = ssrc_to(ep);
	} else if (st) {
		at->to = node_stream_settings(st)->to;
		at->ssrc = node_stream_settings(st)->ssrc_out;
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
static bool is_loop(struct passing at, const struct node_endpoint *in_endpoint,
		    uint32_t ssrc)
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

int loop_check_endpoint(const struct node_endpoint *ep,
			const struct node_endpoint *other,
			const struct sockaddr_storage *signalled,
			const struct end_names *names, struct cr_err *e)
{
	const struct node_endpoint *at =
		node_endpoint_is_at(ep, signalled) ? ep : NULL;
	const struct passing first = { .node = ep->node,
				       .to = *signalled,
				       .ssrc = ssrc_to(ep) };

	if (!at && other && node_endpoint_is_at(other, signalled))
		at = other;
	if (at)
		return cr_fail(e, -EINVAL,
			       "%s: is that of endpoint %" PRIu32
			       ", of the same call: packets would go "
			       "round. Say where the party itself is",
			       names->address, at->id);
	if (!other || !is_loop(first, other, 0))
		return 0;
	return cr_fail(e, -EINVAL,
		       "%s: is that of another call of this node, which leads "
		       "back to endpoint %" PRIu32
		       ": packets would go round. Say "
		       "where the party itself is",
		       names->address, other->id);
}

int loop_check_stream(struct node *n, const struct stream_cfg *cfg,
		      const struct node_endpoint *in_endpoint, struct cr_err *e)
{
	const struct passing first = { .node = n,
				       .to = cfg->to,
				       .ssrc = cfg->ssrc_out };

	if (!is_loop(first, in_endpoint, cfg->ssrc_in))
		return 0;
	return cr_fail(e, -EINVAL,
		       "out.address: leads back to this call: packets would "
		       "go round. Say where the party itself is");
}

/* --- changes --- */

/* May the party be heard as @next says, which the change @to has made? */
static int check_endpoint_hears(const struct node_endpoint *ep,
				const struct endpoint_spec *to,
				const struct endpoint_spec *next,
				const struct end_names *names, struct cr_err *e)
{
	const struct learn_terms terms = { .mode = (enum learn_mode)next->learn,
					   .signalled = next->address };
	sa_family_t family = ep->interface->cfg.local.ss_family;

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

int node_endpoint_check_change(struct endpoint_spec *out,
			       const struct node_endpoint *ep,
			       const struct endpoint_spec *to,
			       const struct end_names *names, struct cr_err *e)
{
	const struct node_call *c = ep->call;
	const struct node_endpoint *other = c ? node_call_peer(c, ep) : NULL;
	int err;

	*out = *ep->spec;
	apply_change(out, to);
	err = check_endpoint_hears(ep, to, out, names, e);
	if (!err)
		err = loop_check_endpoint(ep, other, &to->address, names, e);
	if (!err)
		err = check_rtcp_address(&to->rtcp_address, &to->address, names,
					 e);
	if (!err)
		err = check_places(ep->node, &ep->interface->cfg, &to->address,
				   &to->rtcp_address, names, e);
	if (!err)
		err = check_named(to, names->path, e);
	return err ? err : check_endpoint_codecs(out, names->path, e);
}

void node_endpoint_change(struct node_endpoint *ep,
			  const struct endpoint_spec *to,
			  const struct endpoint_spec *next)
{
	struct endpoint *of = ep->endpoint;
	struct learn_terms terms = of->cfg.terms;

	if (next->hold != ep->spec->hold)
		endpoint_hold(of, next->hold);
	*ep->spec = *next;
	if (endpoint_spec_hears(to)) {
		terms.mode = (enum learn_mode)next->learn;
		terms.signalled = next->address;
		endpoint_again(of, &terms);
	}
	endpoint_rtcp_set_destination(of, &next->rtcp_address);
}

void node_endpoint_info(const struct node_endpoint *ep,
			struct node_endpoint_info *out)
{
	struct endpoint *of = ep->endpoint;
	unsigned long long count[LEARN_NCOUNTERS];

	learn_counts(&of->learn, count);
	*out = (struct node_endpoint_info){
		.id = ep->id,
		.interface = ep->interface->cfg.name,
		.packets = count[LEARN_COUNTER_accepted],
		.wrong_source = count[LEARN_COUNTER_foreign_address],
		.wrong_ssrc = count[LEARN_COUNTER_foreign_ssrc],
		.probation = count[LEARN_COUNTER_waiting],
		.ssrc_changes = count[LEARN_COUNTER_ssrc_changes],
		.address_changes = count[LEARN_COUNTER_address_changes],
		.hold = ep->spec->hold,
		.call = ep->call ? node_call_id(ep->call) : 0,
		.codec = ep->spec->side.name,
		.mode = ep->spec->side.mode,
		.ptime = ep->spec->ptime,
		.in_ptime = ep->spec->in_ptime,
	};
	node_endpoint_address(ep, out->address, sizeof(out->address));
	(void)destination_read(&of->to, &out->to);
	(void)payload_unknown_text(&of->unknown, out->unknown,
				   sizeof(out->unknown));
	node_rtcp_report(of, of, false, &out->rtcp);
}
