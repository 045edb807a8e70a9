/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What listener.c (requests and answers, UDP) and connection.c (TCP) share.
 * Time of rates and replies is an argument, which never goes back.
 */
#ifndef NG_LISTENER_IMPL_H
#define NG_LISTENER_IMPL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "ng/listener.h"
#include "ng/message.h"

/* --- rates: a token bucket for each host (the generic cell rate algorithm of
 * ITU-T I.371: one time for each host says it all), in a table of bounded size.
 * A host that is not in it any more begins anew with a full bucket --- */

struct rate_limit;

struct rate_limit_cfg {
	unsigned per_second; /**< requests of a host, in the long run, > 0   */
	unsigned burst;	     /**< and at once, after silence, > 0            */
	unsigned hosts;	     /**< that are known; the oldest one goes, > 0   */
};

/** In one piece of memory for free(). NULL: out of memory. */
struct rate_limit *rate_limit_new(const struct rate_limit_cfg *cfg);

/** The host of @from (whatever its port is) asks at @now. 0: it may, and that
 * is counted. Else the ns until it may again. */
cr_ns rate_limit_take(struct rate_limit *a, const struct sockaddr_storage *from,
		      cr_ns now);

/* --- replies: UDP loses datagrams, and a host that asked sends the same cookie
 * until it has an answer. The work is done once --- */

struct ng_replies;

struct ng_replies_cfg {
	cr_ns life;	  /**< of an answer                               */
	size_t bytes_max; /**< of all answers; the oldest go before that  */
};

/** NULL: out of memory. */
struct ng_replies *ng_replies_new(const struct ng_replies_cfg *cfg);
void ng_replies_free(struct ng_replies *r); /**< NULL is fine */

enum ng_replies_is {
	NG_REPLIES_NEW,	    /**< never seen: it is known as worked on now    */
	NG_REPLIES_WORKING, /**< the same came before, and is being answered */
	NG_REPLIES_DONE,    /**< so it did, and *@text is the answer         */
	NG_REPLIES_FULL,    /**< out of memory: answer it as if it were new  */
};

/** A request with @cookie came from @from at @now. @text stays valid until the
 * next call. */
enum ng_replies_is ng_replies_ask(struct ng_replies *r,
				  const struct sockaddr_storage *from,
				  const char *cookie, cr_ns now,
				  const char **text, size_t *bytes);

/** It was answered. One that is not known (any more) is ignored. */
void ng_replies_put(struct ng_replies *r, const struct sockaddr_storage *from,
		    const char *cookie, const char *text, size_t bytes);

/* --- listener --- */

struct ng_connection;
struct datagrams;

/** Of UDP: which of our addresses was asked, as the kernel says it. */
struct ng_local {
	int family; /**< AF_UNSPEC: any */
	union {
		struct in_pktinfo v4;
		struct in6_pktinfo v6;
	};
};

/** The source of a request, where its answer goes. */
struct ng_origin {
	struct sockaddr_storage from;
	struct ng_connection *connection; /**< NULL: UDP */
	struct ng_local at;
};

struct ng_asked {
	TAILQ_ENTRY(ng_asked) link;
	struct ng_listener *listener; /**< NULL: closed */
	struct ng_origin origin;
	struct ng_message request; /**< without its body */
	struct ng_client client;
};

TAILQ_HEAD(ng_asked_list, ng_asked);
TAILQ_HEAD(ng_connection_list, ng_connection);

struct ng_listener {
	struct ng_listener_config cfg;
	struct ng_limits limits;
	struct networks acl;
	struct ng_listener_stats count;
	struct sockaddr_storage local;
	struct rate_limit *rate_limit;
	struct ng_replies *replies;
	struct ng_asked_list asked;
	struct datagrams *datagrams;
	int tcp; /**< -1: none */
	struct event *acceptable, *accept_again;
	struct ng_connection_list connections;
	char text[NG_BYTES_MAX]; /**< of the answer that is written */
};

/** May the host of @from ask? If not, it is counted and logged. */
bool ng_listener_admits(struct ng_listener *l,
			const struct sockaddr_storage *from);
/** A message came from @o. */
void ng_listener_take(struct ng_listener *l, const struct ng_origin *o,
		      const char *text, size_t bytes);
/** Not a message, for the reason @why: the sender gets an error if there is a
 * cookie. */
void ng_listener_malformed(struct ng_listener *l, const struct ng_origin *o,
			   const struct ng_message *m, const char *why);

/* connection.c */
int connections_open(struct ng_listener *l, struct cr_err *e);
void connections_close(struct ng_listener *l);

/** It has asked: an answer will come. */
void connection_asked(struct ng_connection *c);
/** The answer has come; it was sent before this. */
void connection_answered(struct ng_connection *c);
/** 0 or -errno. */
int connection_send(struct ng_connection *c, const char *text, size_t bytes);

#endif
