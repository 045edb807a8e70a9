/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as the telephone system describes them: a call by its call-id, sides by
 * their tags, and dialogs between two sides.
 *
 *   call "a84b4c76" --+-- side "1928301774" (the caller)
 *                     |      |   |
 *                     |      |   +-- dialog, branch z9hG4bK1 -- side "314159"
 *                     |      +------ dialog, branch z9hG4bK2 -- side (not yet)
 *
 * A caller whose request was forked has a dialog with each branch (RFC 3261,
 * 12 and 16.7). A side has endpoints: our ports towards it, one for each media
 * line. A dialog has streams: what becomes of each line between its sides.
 *
 * Only books are kept here: what endpoints and calls are is
 * ng/ng_service_impl.h's. Pure but for memory. One thread.
 */
#ifndef NG_DIALOG_H
#define NG_DIALOG_H

#include <bsd/sys/tree.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "cr/error.h"
#include "cr/time.h"
#include "ng/request.h"
#include "node/node_call.h"
#include "node/info.h"

/* --- what each host that asks has of this node: media lines, each of which
 * takes two endpoints with their ports and descriptors, and memory for what was
 * said of them. One host may not have all of it. --- */

/** Memory that may be taken for each line that may be had, octets. */
#define NG_LINE_OCTETS ((size_t)32 << 10)

struct ng_bounds {
	unsigned lines, lines_of_host;
	unsigned offers_of_host; /**< that nobody has answered yet */
	unsigned lines_of_call;	 /**< of one description           */
};

struct ng_share;

RB_HEAD(ng_share_tree, ng_share);

struct ng_host_quota {
	struct ng_bounds most;
	unsigned lines;
	size_t octets;
	struct ng_share_tree tree;
};

/** The share of one dialog; zero: nothing yet. */
struct ng_due {
	struct ng_share *share; /**< whose it is; NULL: nobody's yet */
	unsigned lines;
	size_t octets;
	bool rings; /**< nobody has answered it yet */
};

/** @d is on @host from now on. 0, or -ENOMEM with @e. */
int ng_due_open(struct ng_host_quota *s, struct ng_due *d,
		const struct sockaddr_storage *host, struct cr_err *e);

/** May it have so much? 0; -ENOSPC with @e, which names the bound. */
int ng_due_check(const struct ng_host_quota *s, const struct ng_due *d,
		 unsigned lines, size_t octets, struct cr_err *e);

/** It has so much now. 0; as ng_due_check() with @e: nothing has changed. Less
 * is always possible. */
int ng_due_change(struct ng_host_quota *s, struct ng_due *d, unsigned lines,
		  size_t octets, struct cr_err *e);

/** It was offered, and @rings until it is answered. 0; -ENOSPC with @e: its
 * host has as many of these as it may have. */
int ng_due_ring(struct ng_host_quota *s, struct ng_due *d, bool rings,
		struct cr_err *e);

/** Its host, an IPv4 address mapped; it has one. */
struct in6_addr ng_due_host(const struct ng_due *d);

/** Return how many dialogs of its host ring; 0: no host. */
unsigned ng_due_ringing(const struct ng_due *d);

/** It has nothing any more; nobody's is fine. */
void ng_due_close(struct ng_host_quota *s, struct ng_due *d);

/* --- calls, sides, dialogs --- */

/** The sound of a party for a while, until @at (s, UTC). */
struct ng_sample {
	double mos, loss; /**< @loss: 0..1 */
	cr_ns jitter;
	cr_ns rtt_endpoint, rtt; /**< to the party, and to the other one; 0:
				  * nobody knows */
	long long at;
};

/** The worst and the best of some. */
struct ng_samples {
	struct ng_sample lowest, highest;
	unsigned n;
	struct record_loss until; /**< where the last one has ended */
};

/** Our end of one media line towards a side. */
struct ng_endpoint {
	uint32_t id; /**< of the node's endpoint; 0: none */
	bool mux;    /**< RTCP goes where RTP does: it was agreed */
	struct ng_samples *sounds; /**< of the party; NULL: none yet */
};

struct ng_side {
	LIST_ENTRY(ng_side) link;
	char *tag; /**< NULL: not known yet */
	struct ng_endpoint endpoint[SDP_LINES_MAX];
	unsigned users; /**< dialogs that have it */
	/** The version in "o=" that it was sent last. */
	uint64_t version;
	char *text; /**< that, or NULL */
	cr_ns created;
};

/** Of RTCP where RTP is, in an offer; as bits. */
enum ng_mux_agreed {
	NG_MUX_NEAR = 1, /**< the offerer has it, and is answered so  */
	NG_MUX_FAR = 2,	 /**< the other one is offered it             */
	NG_MUX_SURE = 4, /**< and has it, even if its answer says not */
};

/** The newest offer of a line, as it was passed on. */
struct ng_offered {
	struct codec_list *list; /**< NULL: the line was refused */
	/** ms; 0: unsaid. Of packets to the offerer and to the other one, as
	 * the proxy asks; and as the other one was told. */
	unsigned ptime_back, ptime, ptime_signalled;
	unsigned mux; /**< enum ng_mux_agreed */
};

/** A media line between the sides of a dialog. */
struct ng_stream {
	uint32_t node_call; /**< 0: none yet, or none any more */
	bool early;	    /**< it has begun on an offer only */
	struct ng_offered offered;
	struct codec_list *spoken; /**< last, by the sides; NULL: nothing */
	/** Kept free for the newest offer, until it is answered. */
	struct node_call_promise promised;
};

struct ng_dialog {
	LIST_ENTRY(ng_dialog) link;
	struct ng_call *call;
	char *branch;		 /**< NULL: was not said */
	struct ng_side *side[2]; /**< 0: made the first offer */
	/** The newest offer, until it was answered and after; NULL: none. */
	struct sdp *offer;
	unsigned offerer; /**< whose it is */
	/** The address of the offerer, in place of what it says, and how it is
	 * learned; as ng_request's. */
	struct sockaddr_storage host;
	int learn;
	struct ng_stream stream[SDP_LINES_MAX];
	unsigned nlines; /**< that were ever offered */
	/** The newest answer, and what became of it: a repeated one gets the
	 * same. NULL: none to this offer. */
	char *answer, *answered;
	bool known; /**< it was answered at all */
	/** Among those that were not: while it rings. */
	TAILQ_ENTRY(ng_dialog) ringing;
	bool rings;
	cr_ns offered; /**< last; monotonic */
	/** Its part of its host's share, and octets of that for the newest
	 * offer and answer. */
	struct ng_due due;
	size_t octets[2];
	/** Its note (protocol/kept_calls.h), or NULL; and whether that says all
	 * there is to say. */
	struct state_slot *slot;
	bool kept;
};

struct ng_call {
	RB_ENTRY(ng_call) by_id;
	char *id;
	LIST_HEAD(, ng_side) sides;
	LIST_HEAD(, ng_dialog) dialogs;
	cr_ns created, last_signalled; /**< realtime */
	bool restored;		       /**< another process had it */
	/** Packets of its streams when somebody looked, and since when there
	 * were no more; monotonic. */
	unsigned long long packets;
	cr_ns silent;
};

RB_HEAD(ng_tree, ng_call);
int ng_call_cmp(struct ng_call *a, struct ng_call *b);
RB_PROTOTYPE(ng_tree, ng_call, by_id, ng_call_cmp)

struct ng_calls {
	struct ng_tree tree;
	unsigned n;
};

/** The call with this id, or NULL. */
struct ng_call *ng_call_find(struct ng_calls *c, const char *id);
/** The first one, and the one behind @call; NULL: there is none. */
struct ng_call *ng_call_first(struct ng_calls *c);
struct ng_call *ng_call_next(struct ng_call *call);
/** A new one; NULL: out of memory. */
struct ng_call *ng_call_new(struct ng_calls *c, const char *id);
/** Free one without dialogs. */
void ng_call_free(struct ng_calls *c, struct ng_call *call);

/** The dialog that an offer of @w is about, or NULL: a new one. The
 * callee need not say the tag of the other side. */
struct ng_dialog *ng_dialog_of_offer(struct ng_call *call,
				     const struct ng_dialog_key *w);
/** The dialog that an answer to @w->from is about, or NULL: there is none. */
struct ng_dialog *ng_dialog_of_answer(struct ng_call *call,
				      const struct ng_dialog_key *w);
/** Has the other side of @w->from offered since what an answer of @w answers?
 * Then that one counts (RFC 3261, 14.1: one of them is to be refused). */
bool ng_dialog_is_overtaken(struct ng_call *call,
			    const struct ng_dialog_key *w);
/** Does a delete of @w mean what @asked is about? As far as tags are said: of a
 * dialog nothing need be known yet. */
bool ng_dialog_key_find(const struct ng_dialog_key *asked,
			const struct ng_dialog_key *w);
/** Is @d one of those that a delete or a query of @w means? */
bool ng_dialog_matches(const struct ng_dialog *d,
		       const struct ng_dialog_key *w);

/** A dialog between @w->from, which may be a side already, and a side that may
 * be unknown yet. @now: realtime. NULL: out of memory. */
struct ng_dialog *ng_dialog_new(struct ng_call *call,
				const struct ng_dialog_key *w, cr_ns now);
/** Free it, and sides that only it has; @gone is told of their endpoints
 * before. */
void ng_dialog_free(struct ng_dialog *d,
		    void (*gone)(void *arg, struct ng_side *s), void *arg);

/** Set the tag of side @i of @d. 0, or -ENOMEM. */
int ng_dialog_tag(struct ng_dialog *d, unsigned i, const char *tag);
/** Side @tag of @d: 0 or 1. */
unsigned ng_dialog_number(const struct ng_dialog *d, const char *tag);

#endif