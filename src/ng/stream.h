/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's part of a media line: endpoints towards its two sides, and the
 * conversation between them; and what a session description means for a party
 * of it: where it is, what it speaks, what it wants to be sent.
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

/* --- descriptions --- */

/** How long packets to a party are to be, ms; 0: unsaid. */
struct ng_packets {
	unsigned ptime;	   /**< of what it is sent; 0: as its line says */
	unsigned in_ptime; /**< that it was told to send                */
	unsigned comes;	   /**< that the other one was told             */
	bool apart; /**< what it is sent does not follow what the other sends */
};

/** Let packets to @to, whose side is known, be as @p and the party's @line want
 * them, and as its codec can have them; and those from it. */
void ng_spec_packets(struct endpoint_spec *to, const struct sdp_line *line,
		     const struct ng_packets *p);

/** Let @to have where the party of @line is, and its RTCP (RFC 3605): at @host,
 * if that has a family; whether it is on hold; and how it is learned. */
void ng_spec_locate(struct endpoint_spec *to, const struct sdp_line *line,
		    const struct sockaddr_storage *host, int learn);

/** Which side may send, with hold by address (RFC 2543) as RFC 3264 has it. */
enum sdp_mode ng_line_mode(const struct sdp_line *line);

/* --- endpoints --- */

/** Open @l towards the party @r, unless it is open. 0; or as party_open(), with
 * @e. */
int ng_endpoint_open(struct node *n, struct ng_endpoint *l,
		     const struct endpoint_spec *r, struct cr_err *e);
/** Its party has agreed that RTCP goes where RTP does (RFC 5761), or not. */
void ng_endpoint_mux(struct node *n, struct ng_endpoint *l, bool mux);
/** Close it, and end the conversation that has it. */
void ng_endpoint_close(struct node *n, struct ng_endpoint *l);
/** What its party is told: our address; false: it has ended. */
bool ng_endpoint_local(struct node *n, const struct ng_endpoint *l,
		       struct sockaddr_storage *out);
/** The name of its interface. NULL: it has ended. */
const char *ng_endpoint_interface(struct node *n, const struct ng_endpoint *l);

/* --- conversations --- */

/** Both sides of line @i of @d, in their order, are to be as @to says: the
 * conversation begins, and *@change is NULL, or can go on changed by that with
 * conversation_commit(). 0; with @e -EINVAL, -ENOSPC, ...; -EAGAIN: @lacks has
 * to be known first, then ask again. */
int ng_stream_prepare(struct node *n, struct ng_dialog *d, unsigned i,
		      const struct endpoint_spec to[2],
		      struct node_cost_wait *lacks,
		      struct conversation_change **change, struct cr_err *e);
/** The conversation of @s has been answered; or (@early) has begun before that:
 * what comes of a side is passed on until there is an answer. */
void ng_stream_set_early(struct node *n, struct ng_stream *s, bool early);
/** Has its conversation not ended? True, too, if it never had one. */
bool ng_stream_runs(struct node *n, const struct ng_stream *s);
/** Its conversation ends, if there is one, on the word of @who. Its endpoints
 * stay.
 */
void ng_stream_stop(struct node *n, struct ng_stream *s, enum node_end why,
		    const struct node_who *who);
/** Records of line @i of @d have the tags of its sides. */
void ng_stream_name(struct node *n, const struct ng_dialog *d, unsigned i);

/** Would ng_stream_prepare() end a conversation of another dialog, which has an
 * endpoint of line @i of @d now? */
bool ng_stream_takes(struct node *n, const struct ng_dialog *d, unsigned i);

/** Can the endpoints of line @i of @d be as @to says? 0; -ESRCH or -EINVAL with
 * @e. Nothing changes. */
int ng_stream_check(struct node *n, const struct ng_dialog *d, unsigned i,
		    const struct endpoint_spec to[2], struct cr_err *e);

struct ng_weighing {
	const struct conversation_promise *promised; /**< to others */
	struct node_cost_wait *lacks;		     /**< with -EAGAIN */
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
