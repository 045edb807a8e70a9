/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's addresses for calls with ports of their own. Each has a name, the
 * local address that sockets are bound to, and the address that peers are told
 * (another one behind NAT). IPv4 and IPv6 are side by side; the two addresses
 * of one network may have the same name.
 *
 * Control thread, but for port_pair_close() of an interface's ports.
 */
#ifndef NODE_INTERFACES_H
#define NODE_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include "base/own_hosts.h"
#include "cr/error.h"
#include "rtp/send_to.h"
#include "udp/port_pairs.h"

#define INTERFACES_MAX 32u
#define INTERFACE_NAME_MAX 32u
/** Of one that was given no name. */
#define INTERFACE_DEFAULT "default"

/** One of them, as --interface says it. */
struct interface_cfg {
	char name[INTERFACE_NAME_MAX];
	struct sockaddr_storage local;	    /**< port 0                     */
	struct sockaddr_storage advertised; /**< port 0; no family: @local */
};

struct interface {
	struct interface_cfg cfg;
	struct port_pairs *ports;
};

/** Zero has none. */
struct interfaces {
	struct interface one[INTERFACES_MAX];
	unsigned n;
};

/** Read "[NAME/]ADDRESS[!ADVERTISED]", numeric addresses of one family; IPv6
 * with or without brackets. 0, or -EINVAL with @e. */
int interface_parse(struct interface_cfg *out, const char *text,
		    struct cr_err *e);

/** Read "ADDRESS:PORT[!ADVERTISED]"; no family in *@advertised: there is none.
 * 0, or -EINVAL with @e. */
int interface_parse_shared(struct sockaddr_storage *local,
			   struct sockaddr_storage *advertised,
			   const char *text, struct cr_err *e);

/** Open @n interfaces; @each: what their ports have in common. No sockets are
 * opened. 0; -EINVAL: two of one name and family; or -ENOMEM; with @e. */
int interfaces_open(struct interfaces *to, const struct interface_cfg *cfg,
		    unsigned n, const struct port_pairs_config *each,
		    struct cr_err *e);
/** Their ports have been closed. Zero is fine. */
void interfaces_close(struct interfaces *i);

/** Choice of an interface. */
struct interface_request {
	const char *name; /**< NULL: any */
	struct sockaddr_storage to;
	/** For messages: what stands before the member "interface" of the
	 * request, and what the address is called there. */
	const char *path, *to_path;
};

/** The one that @request names and that can send to its address; the first of
 * several. 0, or -EINVAL with @e. */
int interfaces_choose(struct interfaces *i,
		      const struct interface_request *request,
		      struct interface **out, struct cr_err *e);

/** May packets be sent from the interface @from to @to and the @ports - 1 above
 * it, by @s (rtp/send_to.h)? 0, or -EINVAL with @e, which begins with @name. No
 * family: they may. */
int interface_may_send(const struct interface_cfg *from,
		       const struct send_to *s,
		       const struct sockaddr_storage *to, unsigned ports,
		       const char *name, struct cr_err *e);

/** Does what is sent to the host of @a come to @i? Where that is any address,
 * all of @here are. */
bool interface_is_host(const struct interface_cfg *i,
		       const struct own_hosts *here,
		       const struct sockaddr_storage *a);
/** The same of its port, which is one of @n from @port on. */
bool interface_is_at(const struct interface_cfg *i,
		     const struct own_hosts *here,
		     const struct sockaddr_storage *a, unsigned port,
		     unsigned n);

/** Is it of loopback, or seen there? */
bool interface_is_local(const struct interface_cfg *i);

/** The address for peers: "192.0.2.1:30000". @advertised: see interface_cfg. */
void interface_text(const struct sockaddr_storage *local,
		    const struct sockaddr_storage *advertised, unsigned port,
		    char *buf, size_t size);

#endif
