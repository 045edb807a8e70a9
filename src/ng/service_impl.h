/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of the NG service, shared by its own files only:
 *
 *   service.c   requests and their answers, waits, time; commands beside offers
 *   offer.c     what is passed on of an offer, and the endpoints for it
 *   answer.c    what both sides have settled on, and their conversations
 *   terms.c     what offers and answers have in common
 *   report.c    what is told of calls
 */
#ifndef NG_SERVICE_IMPL_H
#define NG_SERVICE_IMPL_H

#include "ng/dialog.h"
#include "ng/request.h"
#include "ng/service.h"
#include "ng/stream.h"
#include "node/node.h"

struct ng_wait;
struct ng_scratch;
struct offering;
struct answering;

struct ng_service {
	struct ng_service_config cfg;
	struct node *node;
	struct ng_listener *listener;
	struct ng_calls calls;
	struct ng_host_quota shares;
	/** By offers that were not answered yet. */
	struct conversation_promise promised;
	/** Dialogs that nobody has answered, by when they were offered last. */
	TAILQ_HEAD(, ng_dialog) ringing;
	LIST_HEAD(, ng_wait) waits;
	struct ng_scratch *scratch; /**< what a request is worked on with */
	struct event *tick;
	struct ng_counts count;
	cr_ns started;
	/** Names that were logged as unknown. */
	char unknown[64][NG_UNKNOWN_BYTES];
	unsigned nunknown;
};

/** A command that is being done. */
struct ng_work {
	struct ng_service *service;
	const struct ng_request *request;
	const struct sockaddr_storage *from; /**< who asks */
	bool datagram;			     /**< by UDP */
	json_t *reply;			     /**< an object, to be filled in */
	struct conversation_plan *plan;	     /**< with -EAGAIN: what it needs */
	/** What an offer and an answer are worked on with; they begin by
	 * clearing what they need clear. */
	struct offering *offering;
	struct answering *answering;
	struct cr_err *warning;
};

/** By enum ng_command; as ng_offer(). */
extern int (*const ng_commands[NG_COMMANDS])(const struct ng_work *w,
					     struct cr_err *e);

/** 0; or -errno with @e; -EAGAIN: do it again when it is known what
 * @w->plan->stream cost. Nothing has changed then but that endpoints are open.
 */
int ng_offer(const struct ng_work *w, struct cr_err *e);
int ng_answer_to(const struct ng_work *w, struct cr_err *e);

/** Memory for one offer at a time, and for one answer; free() frees it. NULL:
 * there is none. */
struct offering *ng_offering_new(void);
struct answering *ng_answering_new(void);

/** Somebody has said something of @call: it lives. */
void ng_call_signalled(struct ng_call *call);

/** @d was offered (@rings), or is answered. */
void ng_dialog_ring(struct ng_service *sv, struct ng_dialog *d, bool rings);
/** End the oldest of the dialogs that nobody has answered for long, of the host
 * that has most of them, in place of another call than @d. False: none. */
bool ng_end_oldest(struct ng_service *sv, const struct ng_dialog *d);
/** End @d, on the word of @who (NULL: the node's own): its conversations, and
 * endpoints that only it has. */
void ng_end_dialog(struct ng_service *sv, struct ng_dialog *d,
		   enum node_end why, const struct node_who *who);
/** What was promised to line @i of @d is not any more. */
void ng_release(struct ng_service *sv, struct ng_stream *s);

/** @d may have so many media lines, and keep an offer (@what 0) or an answer
 * (1) of @bytes. 0; as ng_due_change() with @e. */
int ng_take_room(struct ng_service *sv, struct ng_dialog *d, unsigned lines,
		 unsigned what, size_t bytes, struct cr_err *e);

/** Add to the warning of a reply. */
__attribute__((format(printf, 2, 3))) void ng_warn(struct cr_err *warning,
						   const char *fmt, ...);

/** A description on its way. */
struct ng_text {
	struct sdp_line_out line[SDP_LINES_MAX];
	struct sdp_format format[SDP_LINES_MAX][SDP_FORMATS_MAX];
};

/** Is line @i of a description one that this node can carry? Else why not goes
 * to @warning. */
bool ng_line_is_carried(const struct sdp_line *l, unsigned i,
			struct cr_err *warning);
/** Let @out, whose address is known, tell where RTCP is to be sent, as @r wants
 * it: where RTP is with @mux, else to the port above. */
void ng_line_report_rtcp(struct sdp_line_out *out, const struct ng_request *r,
			 bool mux);

/** Refused lines of @t are where the endpoints towards @to are, or the node's
 * first interface: a description in which all are refused says so. All are
 * where @r wants them to be said to be. */
void ng_text_place(struct ng_text *t, struct node *n, const struct ng_side *to,
		   const struct ng_request *r);

/** A description that a side may be told. Zero is none. */
struct ng_draft {
	char *text;
	char *copy; /**< to compare the next one with, or NULL */
	uint64_t version;
};

/** Write @sdp with @t in it for side @to, as @r wants it: *@d, which has to be
 * told or dropped. 0, or -errno with @e. */
int ng_draft_write(const struct sdp *sdp, const struct ng_text *t,
		   const struct ng_request *r, const struct ng_side *to,
		   struct ng_draft *d, struct cr_err *e);
/** It is what @to is told: until then its version is not spent, which rises by
 * one from each description to the next that is another one (RFC 3264, 8), or,
 * where the request wants that, to any. Returns the text, the caller's. */
char *ng_draft_report(struct ng_draft *d, struct ng_side *to);
/** It is not wanted. */
void ng_draft_drop(struct ng_draft *d);

/** All that is known of the dialogs of @call that @key means, into @reply. */
void ng_report_call(struct ng_service *sv, struct ng_call *call,
		    const struct ng_dialog_key *key, json_t *reply);
/** How the parties of @call have sounded since the last time. */
void ng_take_samples(struct ng_service *sv, struct ng_call *call);
/** The numbers of the node. */
void ng_report_statistics(struct ng_service *sv, json_t *reply);
/** Packets, of RTP and RTCP, that came of all sides of @call so far. */
unsigned long long ng_call_packets(struct ng_service *sv,
				   const struct ng_call *call);

#endif
