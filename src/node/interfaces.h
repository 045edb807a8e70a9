/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's addresses for calls with ports of their own, and these. Each has a
 * name, the local address that sockets are bound to, and the address that peers
 * are told (another one behind NAT). IPv4 and IPv6 are side by side; the two
 * addresses of one network may have the same name.
 *
 * Control thread, but for pairs of ports.
 */
#ifndef NODE_INTERFACES_H
#define NODE_INTERFACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/own_hosts.h"
#include "cr/error.h"
#include "rtp/send_to.h"

/* --- pairs of ports --- */

/*
 * Pairs of ports: an even port for RTP and the odd one above it for RTCP (RFC
 * 3550, 11). A pool knows which pairs of a range are free, and no sockets; a
 * set of pairs opens sockets for calls at one local address.
 *
 * Pairs are taken in random order at first. After that the pair that has been
 * free for the longest time is next, so that late packets of a call that has
 * ended do not reach the next one. Taking and giving back are O(1).
 *
 * The ports of sockets are those of a range, or what the kernel has. A pair of
 * the range is its owner's as a whole, even if its RTCP port is not opened.
 * Ports that other programs have are passed over.
 *
 * A pool: one thread at a time. Pairs of sockets: any thread.
 */

/** The range of --rtp-ports: both ends may be used. @from 0: there is none. */
struct port_range {
	uint16_t from, to;
};

/** Room for "30000-40000". */
#define PORT_RANGE_TEXT 16u

/** Read "30000-40000": ports from 1 to 65535, with room for a pair at least.
 * 0, or -EINVAL with @e. */
int port_range_parse(struct port_range *r, const char *text, struct cr_err *e);

/** "30000-40000". Returns @buf. */
const char *port_range_text(const struct port_range *r,
			    char buf[PORT_RANGE_TEXT]);

/** The number of pairs in @r. */
unsigned port_range_pairs(const struct port_range *r);

/** The pairs of a range. Zero has none. */
struct port_pool {
	unsigned first;	 /**< even port of the first pair                  */
	unsigned npairs; /**< in the range                                 */
	unsigned nfree;	 /**< of them                                      */
	unsigned head;	 /**< where the one is that is taken next          */
	uint16_t *queue; /**< [npairs] numbers of free pairs, oldest first */
	bool *in_use;	 /**< [npairs]                                     */
};

/** All pairs of @r, in an order that @seed makes. 0 or -ENOMEM. */
int port_pool_init(struct port_pool *p, const struct port_range *r,
		   uint64_t seed);
/** Zero is fine; so is a second time. */
void port_pool_fini(struct port_pool *p);

/** The even port of the pair that has been free for the longest time, which is
 * taken now. 0: none is free. */
unsigned port_pool_take(struct port_pool *p);

/** The pair of @port is taken, if it is free. False: it is not one of these. */
bool port_pool_take_at(struct port_pool *p, unsigned port);

/** @port, which was taken, is free again. */
void port_pool_give(struct port_pool *p, unsigned port);

/* --- pairs of sockets --- */

struct port_pairs;

struct port_pairs_config {
	struct sockaddr_storage local; /**< its port does not count          */
	struct port_range range;       /**< 0: any port that is free         */
	unsigned tos;  /**< of what is sent, see udp/socket.h   */
	int bytes;     /**< receive buffer of a socket       */
	uint64_t seed; /**< the order of the ports follows */
};

/** One owner's sockets. */
struct port_pair {
	int rtp, rtcp; /**< descriptors; -1: none */
	unsigned port; /**< of RTP; RTCP's, if there is one, is one above */
};

/** The numbers of pairs, and of those in use. */
struct port_pairs_info {
	unsigned pairs;	      /**< in the range; 0: there is no range         */
	unsigned used;	      /**< pairs that have an owner                   */
	uint64_t passed_over; /**< times that another program had a port      */
};

/** 0, or -ENOMEM with @e. No socket is opened yet. */
int port_pairs_new(struct port_pairs **p, const struct port_pairs_config *cfg,
		   struct cr_err *e);
/** All pairs have been closed. NULL is fine. */
void port_pairs_free(struct port_pairs *p);

/**
 * Open a pair, RTCP's socket only with @rtcp. Without RTCP and without a range
 * the port is any, odd ones too.
 *
 * Returns 0 and *@out; -EADDRINUSE: all are in use, and @e says which limit
 * that is and what to do; -EMFILE, -ENFILE: no descriptor; -errno otherwise,
 * all with @e.
 */
int port_pair_open(struct port_pairs *p, bool rtcp, struct port_pair *out,
		   struct cr_err *e);

/** The same at @port, which another machine had. -EADDRINUSE: it is not free,
 * or not of the range. */
int port_pair_open_at(struct port_pairs *p, unsigned port, bool rtcp,
		      struct port_pair *out, struct cr_err *e);

/** @pair, which another process has opened, is in use here from now on. False:
 * it is not of this range. */
bool port_pair_adopt(struct port_pairs *p, const struct port_pair *pair);

/** Close @pair's sockets, and let others have its ports. Nothing, if it has no
 * sockets (both -1). */
void port_pair_close(struct port_pairs *p, struct port_pair *pair);

void port_pairs_info(struct port_pairs *p, struct port_pairs_info *out);

/* --- interfaces --- */

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
