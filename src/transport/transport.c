/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the back-end and passes calls on to it. Knows none of them.
 */
#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "transport/ops.h"

int transport_addr_unix(struct transport_addr *a, const char *path)
{
	size_t bytes = strlen(path);

	if (!bytes)
		return -EINVAL;
	if (bytes >= sizeof(a->path))
		return -ENAMETOOLONG;
	memcpy(a->path, path, bytes + 1);
	return 0;
}

int transport_addr_parse(struct transport_addr *a, const char *text)
{
	static const char scheme[] = "unix:";
	char host[sizeof(a->host)];
	int port, rc;

	if (!strncmp(text, scheme, sizeof(scheme) - 1))
		return transport_addr_unix(a, text + sizeof(scheme) - 1);
	rc = address_split(text, host, sizeof(host), &port);
	if (rc)
		return rc;
	if (!port)
		return -ERANGE;
	memcpy(a->host, host, sizeof(host));
	a->sctp_port = port < 0 ? TRANSPORT_SCTP_PORT : (uint16_t)port;
	return 0;
}

/* How a kernel without SCTP answers: depends on socket type and family. */
static bool stack_missing(int rc)
{
	return rc == -ESOCKTNOSUPPORT || rc == -EPROTONOSUPPORT ||
	       rc == -EAFNOSUPPORT;
}

int transport_open(struct transport **t, const struct transport_config *cfg,
		   struct cr_err *e)
{
	struct cr_err kernel = { 0 }, user = { 0 };
	int rc;

	if (cfg->kind == TRANSPORT_UNIX)
		return transport_unix_ops.open(t, cfg, e);
	if (cfg->kind == TRANSPORT_USER)
		return transport_user_ops.open(t, cfg, e);
	rc = transport_kernel_ops.open(t, cfg, &kernel);
	if (!rc)
		return 0;
	if (cfg->kind == TRANSPORT_KERNEL || !stack_missing(rc))
		return cr_fail(e, rc, "%s", kernel.text);
	rc = transport_user_ops.open(t, cfg, &user);
	if (rc)
		return cr_fail(e, rc, "kernel SCTP: %.200s; usrsctp: %.200s",
			       kernel.text, user.text);
	return 0;
}

int transport_listen(struct transport *t, struct cr_err *e)
{
	return t->ops->listen(t, e);
}

int transport_connect(struct transport *t, const struct transport_addr *to,
		      struct cr_err *e)
{
	return t->ops->connect(t, to, e);
}

int transport_send(struct transport *t, uint32_t assoc, uint16_t stream,
		   uint32_t ppid, const void *data, size_t bytes)
{
	if (bytes > transport_message_max(t))
		return -EMSGSIZE;
	return t->ops->send(t, assoc, stream, ppid, data, bytes);
}

void transport_abort(struct transport *t, uint32_t assoc)
{
	t->ops->abort(t, assoc);
}

int transport_shutdown(struct transport *t, uint32_t assoc)
{
	return t->ops->shutdown(t, assoc);
}

void transport_hold(struct transport *t, uint32_t assoc, bool held)
{
	if (t->ops->hold)
		t->ops->hold(t, assoc, held);
}

size_t transport_queued(struct transport *t, uint32_t assoc)
{
	return t->ops->queued ? t->ops->queued(t, assoc) : 0;
}

void transport_local(const struct transport *t, struct transport_addr *addr)
{
	t->ops->local(t, addr);
}

size_t transport_message_max(const struct transport *t)
{
	return t->ops->message_max(t);
}

bool transport_sees_ends(const struct transport *t)
{
	return t->ops->sees_ends;
}

const char *transport_name(const struct transport *t)
{
	return t->ops->name;
}

void transport_close(struct transport *t)
{
	if (t)
		t->ops->close(t);
}
