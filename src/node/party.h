/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parties of a node: the endpoint towards one (node/node_endpoint.h), and what
 * signalling said of it, and what it speaks. Clients name a party by the id of
 * its endpoint.
 *
 * A party that was opened by itself (endpoint.open) is heard from then on: its
 * address and SSRC are learned and its packets counted. A conversation may have
 * it, one after the other, until it is closed. One that a conversation has
 * opened ends with that.
 *
 * Control thread.
 */
#ifndef NODE_PARTY_H
#define NODE_PARTY_H

#include <bsd/sys/tree.h>

#include "cr/error.h"
#include "node/requests.h"
#include "node/info.h"
#include "node/node_endpoint.h"

/** Does @r say how a codec is used? */
bool party_says_use(const struct codec_use *r);

struct stream_cfg;
struct conversation;
struct node;

struct party {
	struct node_endpoint port; /**< first: it is freed with that */
	uint32_t id;		   /**< its endpoint's */
	RB_ENTRY(party) by_id;
	/** As it was asked for, and has been changed since. Texts are static;
	 * the interface is no part of it. */
	struct endpoint_spec spec;
	void *owner; /**< the session; the user's                    */
	bool opened; /**< by itself: no conversation ends it         */
	bool left;   /**< nobody hears it any more                   */
	struct conversation *conversation; /**< that has it, or NULL       */
	unsigned holders; /**< conversations whose streams may still use it */
};

RB_HEAD(party_tree, party);

/** Of a request that is about one end. */
extern const struct end_names party_own_names;

/** Open an endpoint towards the party of @r. 0 with *@p; -EINVAL (what @r
 * says), or as node_endpoint_open(); with @e. */
int party_open(struct node *n, const struct endpoint_spec *r,
	       const struct end_names *names, struct party **p,
	       struct cr_err *e);

/** The one whose endpoint has this id, unless it is ending, or NULL. */
struct party *party_find(struct node *n, uint32_t id);

/** Do packets that go from @p to @signalled come back to @p's endpoint, or to
 * @other's, which it sends for (NULL: nobody's)? 0, or -EINVAL with @e. */
int circle_check_party(const struct party *p, const struct party *other,
		       const struct sockaddr_storage *signalled,
		       const struct end_names *names, struct cr_err *e);
/** Do packets of the call @cfg come back to where it is heard: at @in_endpoint,
 * or (NULL) at the shared port? 0, or -EINVAL with @e. */
int circle_check_call(struct node *n, const struct stream_cfg *cfg,
		      const struct node_endpoint *in_endpoint,
		      struct cr_err *e);

/** Apply the change @to to a copy of @p's spec: @out. 0, or -EINVAL with @e. */
int party_check_change(struct endpoint_spec *out, const struct party *p,
		       const struct endpoint_spec *to,
		       const struct end_names *names, struct cr_err *e);
/** A new offer or answer, @to, makes @next of @p. Its conversation, if there is
 * one, has taken what the party speaks. */
void party_change(struct party *p, const struct endpoint_spec *to,
		  const struct endpoint_spec *next);

/** Close one that was opened by itself. 0; or -EBUSY with @e: a conversation
 * has it. */
int party_close(struct party *p, struct cr_err *e);

/** Its owner has gone: close it; if a conversation has it, when that ends. */
void party_disown(struct party *p);

/** The conversation @c has it from now on; nobody else may have it. */
void party_join(struct party *p, struct conversation *c);
/** That one is ending: nobody listens to it any more. */
void party_leave(struct party *p);
/** The last stream of a conversation that had it has gone. @p may be freed. */
void party_release(struct party *p);
/** Of a conversation that has had no stream: leave and release it. */
void party_discard(struct party *p);

/** Close all that no conversation has. Freed a grace period later. */
void party_close_all(struct node *n);

/** The first one with an id above @id that is not ending, or NULL: walks in
 * order of id. */
struct party *party_after(struct node *n, uint32_t id);

uint32_t party_id(const struct party *p);

/** The first one of @owner, or NULL. */
struct party *party_of_owner(struct node *n, const void *owner);

void party_endpoint_info(const struct party *p, struct node_endpoint_info *out);

#endif
