/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where calls receive and send: the node's interfaces, and ports of their own.
 */
#include <errno.h>
#include <event2/util.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "node/node_impl.h"
#include "udp/socket.h"

/* The shared socket's buffers are for all calls; a flood on one endpoint's port
 * shall not take as much memory. */
#define PORT_BUFFER (128 << 10)

/* An address that is not there is told at the start, not by the first call. */
static int try_interfaces(const struct interfaces *all, struct cr_err *e)
{
	for (unsigned i = 0; i < all->n; i++) {
		struct sockaddr_storage at = all->one[i].cfg.local;
		struct cr_err why;
		int fd;

		address_set_port(&at, 0);
		fd = udp_socket_small(&at, PORT_BUFFER, &why);
		if (fd < 0)
			return cr_fail(e, fd, "interface %s: %.400s",
				       all->one[i].cfg.name, why.text);
		(void)close(fd);
	}
	return 0;
}

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
	return err ? err : try_interfaces(&n->interfaces, e);
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
