/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What listener.c (requests and answers, UDP) and connection.c (TCP) share.
 */
#ifndef NG_LISTENER_IMPL_H
#define NG_LISTENER_IMPL_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "ng/listener.h"
#include "ng/message.h"
#include "ng/peers.h"

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

/** Where a request came from, and its answer goes. */
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
/** It is none, as @why says, which its sender is told if it has a cookie. */
void ng_listener_malformed(struct ng_listener *l, const struct ng_origin *o,
			   const struct ng_message *m, const char *why);

/* connection.c */
int connections_open(struct ng_listener *l, struct cr_err *e);
void connections_close(struct ng_listener *l);

/** It has asked: an answer will come. */
void connection_asked(struct ng_connection *c);
/** That answer has come; it was sent before this. */
void connection_answered(struct ng_connection *c);
/** 0 or -errno. */
int connection_send(struct ng_connection *c, const char *text, size_t bytes);

#endif
