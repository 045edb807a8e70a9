/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is remembered of hosts that ask: how much they may ask still, and what
 * they were answered by UDP.
 *
 * Rates: a token bucket for each host (the generic cell rate algorithm of ITU-T
 * I.371: one time for each host says it all), in a table of bounded size. A
 * host that is not in it any more begins anew with a full bucket.
 *
 * Replies: UDP loses datagrams, and a host that asked sends the same cookie
 * until it has an answer. The work is done once.
 *
 * Pure but for memory; time is an argument, which never goes back. One thread.
 */
#ifndef NG_PEERS_H
#define NG_PEERS_H

#include <stddef.h>
#include <sys/socket.h>

#include "cr/time.h"

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

#endif
