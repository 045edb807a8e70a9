/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports are closed late: the receiving thread may be in a turn that hands out
 * packets of a socket that it is told to forget.
 */
#include "feeder/ports.h"

#include <errno.h>
#include <unistd.h>

#include "base/address.h"
#include "base/descriptors.h"
#include "feeder/receiver.h"
#include "udp/socket.h"

/* Descriptors for control, files, and what libraries open. */
#define OTHERS 32u

static int open_port(struct ports *p, struct port *port,
		     char address[PORT_TEXT], struct cr_err *e)
{
	struct sockaddr_storage a = p->local;
	socklen_t n = sizeof(a);
	int fd = udp_socket(&a, e);

	if (fd < 0)
		return fd;
	(void)getsockname(fd, (struct sockaddr *)&a, &n);
	(void)address_text(&a, address, PORT_TEXT);
	*port = (struct port){ .fd = fd };
	return 0;
}

int ports_open(struct ports *p, enum campaign_ports layout,
	       const struct sockaddr_storage *local, struct cr_err *e)
{
	*p = (struct ports){ .layout = layout,
			     .local = *local,
			     .common = { .fd = -1 } };
	p->last = &p->first;
	return open_port(p, &p->common, p->address, e);
}

int ports_receive(struct ports *p, struct receiver *r, struct cr_err *e)
{
	p->receiver = r;
	if (p->layout == PORTS_OWN)
		return 0;
	p->common.heard = true;
	return receiver_listen(r, p->common.fd, RECEIVER_ANY_CALL,
			       &p->common.key, e);
}

static const char *remedy_for(bool may_share)
{
	return may_share ? "use --ports shared" : "have fewer calls at once";
}

int ports_check(enum campaign_ports layout, size_t calls, bool may_share,
		struct cr_err *e)
{
	uint64_t limit = descriptors_limit();

	if (layout != PORTS_OWN || calls + OTHERS <= limit)
		return 0;
	return cr_fail(e, -EMFILE,
		       "up to %zu calls at once, each with a port of its own, "
		       "need %llu file descriptors, and this process may have "
		       "%llu: raise the limit (ulimit -Hn, ulimit -n), or %s",
		       calls, (unsigned long long)calls + OTHERS,
		       (unsigned long long)limit, remedy_for(may_share));
}

/* What a person can do about it, beside what udp_socket() says. */
static int explain_socket(int err, bool may_share, struct cr_err *e)
{
	struct cr_err why = *e;

	if (err != -EMFILE && err != -ENFILE && err != -EADDRINUSE)
		return err;
	return cr_fail(e, err, "%.400s; or %s", why.text,
		       remedy_for(may_share));
}

int ports_give(struct ports *p, struct port *port, char address[PORT_TEXT],
	       struct cr_err *e)
{
	int rc = 0;

	if (p->layout == PORTS_OWN)
		rc = open_port(p, port, address, e);
	else
		(void)snprintf(address, PORT_TEXT, "%s", p->address);
	return rc ? explain_socket(rc, true, e) : 0;
}

int ports_give_own(struct ports *p, struct port *port, char address[PORT_TEXT],
		   struct cr_err *e)
{
	int rc = open_port(p, port, address, e);

	return rc ? explain_socket(rc, false, e) : 0;
}

int ports_listen(struct ports *p, struct port *port, uint64_t tag,
		 struct cr_err *e)
{
	int rc;

	if (port->fd < 0)
		return 0;
	rc = receiver_listen(p->receiver, port->fd, tag, &port->key, e);
	port->heard = !rc;
	return rc;
}

void ports_take_back(struct ports *p, struct port *port)
{
	if (port->fd < 0)
		return;
	if (!port->heard) {
		ports_drop(p, port);
		return;
	}
	port->turn = receiver_forget(p->receiver, port->key);
	port->heard = false;
	port->next = NULL;
	*p->last = port;
	p->last = &port->next;
}

void ports_tidy(struct ports *p)
{
	while (p->first && receiver_turns(p->receiver) >= p->first->turn) {
		struct port *port = p->first;

		p->first = port->next;
		if (!p->first)
			p->last = &p->first;
		ports_drop(p, port);
	}
}

void ports_drop(struct ports *p, struct port *port)
{
	if (port->fd < 0)
		return;
	p->drops += udp_socket_drops(port->fd);
	(void)close(port->fd);
	port->fd = -1;
}

void ports_close(struct ports *p)
{
	ports_drop(p, &p->common);
	p->first = NULL;
	p->last = &p->first;
}

int ports_fd(const struct ports *p, const struct port *port)
{
	return p->layout == PORTS_OWN ? port->fd : p->common.fd;
}
