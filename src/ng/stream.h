/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's part of a media line: endpoints towards its two sides, and the
 * conversation between them.
 *
 * Endpoints are opened when a line is offered: the other side has to be told a
 * port before anybody knows what it speaks. A conversation begins with the
 * first offer, on a guess, so that nothing is lost of what the other side says
 * before its answer; answers change it.
 *
 * Control thread.
 */
#ifndef NG_STREAM_H
#define NG_STREAM_H

#include "ng/dialog.h"
#include "node/conversation.h"

struct node;

/** Where an endpoint is to be, and towards whom. */
struct ng_endpoint_request {
	const char *interface; /**< NULL: any of the family */
	int family;	       /**< AF_INET, AF_INET6; 0: as the address */
	struct sockaddr_storage address; /**< no family: not known  */
	struct sockaddr_storage rtcp;	 /**< as endpoint_spec's    */
	int learn; /**< enum learn_mode; -1: the default */
};

/** Open @l, unless it is. 0; or as party_open(), with @e. */
int ng_endpoint_open(struct node *n, struct ng_endpoint *l,
		     const struct ng_endpoint_request *w, struct cr_err *e);
/** Its party has agreed that RTCP goes where RTP does (RFC 5761), or not. */
void ng_endpoint_mux(struct node *n, struct ng_endpoint *l, bool mux);
/** Close it, and end the conversation that has it. */
void ng_endpoint_close(struct node *n, struct ng_endpoint *l);
/** What its party is told: our address; false: it has ended. */
bool ng_endpoint_local(struct node *n, const struct ng_endpoint *l,
		       struct sockaddr_storage *out);
/** The name of its interface. NULL: it has ended. */
const char *ng_endpoint_interface(struct node *n, const struct ng_endpoint *l);

/** Both sides of line @i of @d, in their order, are as @to says from now on:
 * the conversation begins, or goes on changed. 0; with @e -EINVAL, -ENOSPC,
 * ...; -EAGAIN: it has to be known first what @plan->stream costs, then ask
 * again. */
int ng_stream_settle(struct node *n, struct ng_dialog *d, unsigned i,
		     const struct endpoint_spec to[2],
		     struct conversation_plan *plan, struct cr_err *e);
/** The same before an answer, of a line that has no conversation or an early
 * one: what comes of a side is passed on until there is one. */
int ng_stream_begin_early(struct node *n, struct ng_dialog *d, unsigned i,
			  const struct endpoint_spec to[2],
			  struct conversation_plan *plan, struct cr_err *e);
/** It has been answered. */
void ng_stream_agree(struct node *n, struct ng_stream *s);
/** Has its conversation not ended? True, too, if it never had one. */
bool ng_stream_runs(struct node *n, const struct ng_stream *s);
/** Its conversation ends, if there is one, on the word of @who. Its endpoints
 * stay.
 */
void ng_stream_stop(struct node *n, struct ng_stream *s, enum node_end why,
		    const struct node_who *who);
/** Records of line @i of @d have the tags of its sides. */
void ng_stream_name(struct node *n, const struct ng_dialog *d, unsigned i);

/** What the parties of @s are now, for ng_stream_settle() to go back to. False:
 * it has no conversation. */
bool ng_stream_now(struct node *n, const struct ng_stream *s,
		   struct endpoint_spec now[2]);

/** Would ng_stream_settle() end a conversation of another dialog, which has an
 * endpoint of line @i of @d now? */
bool ng_stream_takes(struct node *n, const struct ng_dialog *d, unsigned i);

/** Can the endpoints of line @i of @d be as @to says? 0; -ESRCH or -EINVAL with
 * @e. Nothing changes. */
int ng_stream_check(struct node *n, const struct ng_dialog *d, unsigned i,
		    const struct endpoint_spec to[2], struct cr_err *e);

struct ng_weighing {
	const struct conversation_promise *promised; /**< to others */
	struct conversation_plan *plan; /**< with -EAGAIN: of what */
	/** What it needs beyond what it has. */
	struct conversation_promise needs;
};

/** Would the parties of @s be let speak as @to says now, beside those that were
 * promised something? 0 and @w->needs; as conversation_weigh() or
 * conversation_weigh_change(), with @e. Nothing changes. */
int ng_stream_weigh(struct node *n, const struct ng_stream *s,
		    const struct endpoint_spec to[2], struct ng_weighing *w,
		    struct cr_err *e);

#endif
