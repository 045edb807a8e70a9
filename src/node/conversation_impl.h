/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of a conversation, shared by its own files only:
 *
 *   conversation_check.c   what is asked for, and what streams that makes
 *   conversation.c         its life
 *   conversation_change.c  new offers and answers
 */
#ifndef NODE_CONVERSATION_IMPL_H
#define NODE_CONVERSATION_IMPL_H

#include "node/conversation.h"
#include "node/node_impl.h"

struct conversation {
	RB_ENTRY(conversation) by_id;
	uint32_t id;
	struct node *node;
	struct party *party[2];
	struct node_call *stream[2]; /**< NULL: has not begun, or has gone */
	int request;		     /**< enum relay_request                  */
	char *label;		     /**< owned, or NULL                   */
	char *tag[2];		     /**< of its parties; the same         */
	unsigned line;		     /**< of their descriptions; 0: none   */
	struct node_record *record;  /**< see conversation_record()        */
	bool relays;		     /**< its streams need no codec        */
	bool ending;
};

/** What a request calls its parties. */
extern const struct party_names conversation_party_names[2];

/** May @stream[2], of @r, be relays: does no packet need a change that they do
 * not make? */
bool conversation_may_relay(const struct call_cfg *stream,
			    const struct conversation_request *r);

/** What @stream[2] need, *@ppm of a CPU; their costs are filled in. 0; -EAGAIN,
 * or as node_cost_of(), with @e. */
int conversation_load(struct node *n, struct call_cfg *stream, bool relays,
		      int64_t *ppm, struct cr_err *e);
/** Are @ppm of a CPU free, beside what was @promised? 0, or -ENOSPC with @e. */
int conversation_room(struct node *n, int64_t ppm,
		      const struct conversation_promise *promised,
		      struct cr_err *e);

/** RTCP of both endpoints is about @stream[2] from now on. A relay tells the
 * SSRC of what it passes on by itself. */
void conversation_use_rtcp(const struct conversation *c,
			   const struct call_cfg *stream);

#endif
