/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that were given, for requests that come again: UDP loses datagrams,
 * and who asked sends the same cookie until it has an answer. The work is done
 * once.
 *
 * Pure but for memory; time is an argument, which never goes back. One thread.
 */
#ifndef NG_REPLIES_H
#define NG_REPLIES_H

#include <stddef.h>
#include <sys/socket.h>

#include "cr/time.h"

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

/** Answers that are kept, and requests that are worked on. */
unsigned ng_replies_count(const struct ng_replies *r);

#endif
