/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address at which telephone systems reach us by the NG protocol, by UDP
 * and TCP. ng/ng_service.h does what they ask for.
 *
 * UDP: a datagram is a message. A request that is sent again, as its answer was
 * lost, has the same answer again; the work is done once. TCP: messages follow
 * each other without anything between them (ng/message.h); answers come as
 * they are ready, told apart by their cookies.
 *
 * There is no password: hosts that may ask are known by address, and they may
 * do everything. What hosts can take is bounded: requests in a second, and in
 * one turn of the event loop, so that other protocols have theirs; connections,
 * what is kept for them, and how long.
 *
 * Nothing is lost silently. Of what came from hosts that may ask,
 *   received = limited + malformed + repeated + ignored + overloaded + asked
 * and of what was asked,
 *   asked = answered + unsent + unwanted + waiting.
 *
 * Thread rule: the event base's thread.
 */
#ifndef NG_LISTENER_H
#define NG_LISTENER_H

#include <event2/event.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/error.h"
#include "cr/time.h"
#include "base/address.h"

struct ng_listener;
/** A request that waits for its answer. */
struct ng_asked;

struct ng_limits {
	unsigned per_second; /**< requests of a host: more are dropped (UDP)
				  or wait in the kernel (TCP)          */
	unsigned hosts;	     /**< for which that is counted              */
	unsigned waiting;    /**< for their answers; more are refused    */
	unsigned connections, of_host; /**< more are closed at once; of few
				     descriptors descriptors_for_ng()     */
	size_t unread;	    /**< octets that a connection leaves unread     */
	size_t unread_all;  /**< the same of all: the one with most is cut  */
	size_t replies;	    /**< octets of answers that may come again      */
	cr_ns replies_life; /**< of them                                    */
	cr_ns half;	    /**< until the rest of a message comes, or any of an
				 answer is read */
	cr_ns idle;	    /**< until a connection asks again              */
};

/** The bounds where none are given. */
extern const struct ng_limits ng_limits_usual;

struct ng_listener_config {
	struct event_base *base;
	/** "127.0.0.1:22222", "[::1]:22222"; "22222": at 127.0.0.1; port 0:
	 * any, the same for UDP and TCP. */
	const char *address;
	/** Hosts that may ask; copied. NULL: those at loopback, and the address
	 * must be there, too. */
	const struct networks *acl;
	/** @body is a request: a JSON object, which is the listener's and gone
	 * when this returns (json_incref() keeps it). Answer it with
	 * ng_answer(), in this call or later. It must not close the listener.
	 */
	void (*ask)(void *arg, struct ng_asked *a, const json_t *body);
	void *arg;
	/** Holds both sockets, and may have those of a former process; or NULL.
	 */
	struct notify *store;
	const struct ng_limits *limits; /**< NULL: the usual ones */
};

/** Can there be one at @address for @acl (as in ng_listener_config)? 0; or
 * -EINVAL with @e. Opens nothing. */
int ng_listener_check(const char *address, const struct networks *acl,
		      struct cr_err *e);

/** Open both sockets. 0, or -errno with @e, which names the address. */
int ng_listener_open(struct ng_listener **l,
		     const struct ng_listener_config *cfg, struct cr_err *e);

/** From now on these may ask, as in ng_listener_config; connections that are
 * open stay. 0; -EINVAL with @e: nothing has changed. */
int ng_listener_admit(struct ng_listener *l, const struct networks *acl,
		      struct cr_err *e);

/** NULL is fine. What was asked is still to be answered by ng_answer(), which
 * then only frees it. */
void ng_listener_close(struct ng_listener *l);

/** "127.0.0.1:22222", with the port that port 0 has become. */
void ng_listener_local(const struct ng_listener *l, char *buf, size_t size);

/** Answer @a with @body (an object; takes the reference; NULL: out of memory);
 * @a is gone. Exactly once for every request, whatever has happened to its
 * client and to the listener: if they are gone, so is the answer. No other
 * request is asked within it. */
void ng_answer(struct ng_asked *a, json_t *body);

/** The client that has asked. */
struct ng_client {
	struct sockaddr_storage host;
	char text[64]; /**< that, for the log: "127.0.0.1:5060" */
	bool datagram; /**< by UDP, where it may be forged      */
};
const struct ng_client *ng_asked_client(const struct ng_asked *a);

struct ng_listener_stats {
	uint64_t denied;     /**< datagrams and connections of others:
				  nothing of them is read                 */
	uint64_t received;   /**< messages                                  */
	uint64_t limited;    /**< from a host that sends too many (UDP)     */
	uint64_t malformed;  /**< no message; answered if it had a cookie   */
	uint64_t repeated;   /**< answered again                            */
	uint64_t ignored;    /**< came again while they were worked on      */
	uint64_t overloaded; /**< refused: too many waited                  */
	uint64_t asked;	     /**< given to the service                      */
	uint64_t answered;
	uint64_t unsent;   /**< answers that the kernel did not take        */
	uint64_t unwanted; /**< answers whose connection was gone           */
	uint64_t dropped;  /**< datagrams, by the kernel, which nobody read */
	uint64_t accepted; /**< connections                                 */
	uint64_t refused;  /**< connections: too many                       */
	uint64_t cut;	   /**< connections: silent, slow, or sent no NG    */
	unsigned waiting;  /**< requests, now                               */
	unsigned connections; /**< now                                      */
};

void ng_listener_stats(const struct ng_listener *l,
		       struct ng_listener_stats *out);

#endif
