/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may come in: the connections of an evhttp server.
 *
 * There are so many at a time at most; who is one more waits in the kernel. Of
 * one host there are fewer: it cannot keep others out, and its newest come in.
 * If somebody waits, and the oldest connection is older than GATE_STAY_S, that
 * one is cut: nobody keeps others out by holding on. When there is no
 * descriptor to accept with, it pauses. What a connection has said and was not
 * read yet is bounded: behind that, it waits until what it has asked is
 * answered, and sent. A connection that the kernel cannot watch (no memory,
 * fs.epoll.max_user_watches) is watched later, or ended if that fails, too.
 *
 * Thread rule: the event base's thread.
 */
#ifndef HTTP_GATE_H
#define HTTP_GATE_H

#include <event2/event.h>
#include <event2/http.h>
#include <stdint.h>

#include "cr/error.h"

/** How long a connection may stay when it is in others' way. */
enum { GATE_STAY_S = 5 };

struct gate;

struct gate_config {
	struct event_base *base;
	struct evhttp *server; /**< outlives it; makes connections by it */
	struct evhttp_bound_socket *bound;
	unsigned most; /**< connections at a time                 */
	/** Of a host, of which those of IPv6 with one /64 are one: for one
	 * more, its oldest is cut, rather one that it does not wait for. 0:
	 * @most. */
	unsigned most_of_host;
	size_t unread; /**< bytes of one that wait to be answered */
};

struct gate_stats {
	unsigned open;	 /**< connections now                    */
	uint64_t came;	 /**< were accepted                      */
	uint64_t full;	 /**< times that there were @most        */
	uint64_t cut;	 /**< that made room for others            */
	uint64_t paused; /**< times that there was no descriptor */
};

/** 0, or -ENOMEM with @e. */
int gate_open(struct gate **g, const struct gate_config *cfg, struct cr_err *e);

/** Before its server is freed. NULL is fine. */
void gate_close(struct gate *g);

void gate_stats(struct gate *g, struct gate_stats *out);

#endif
