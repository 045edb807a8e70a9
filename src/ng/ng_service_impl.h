/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of the NG service, shared by its own files only:
 *
 *   ng_service.c    requests and their answers, waits, time; commands beside
 *                   offers
 *   offer.c         the new offer to the other side, and the endpoints for it;
 *                   what lines mean for the node
 *   answer.c        what both sides have settled on
 *   call_report.c   what a client can know of calls
 *   kept_dialogs.c  dialogs that outlive the process
 */
#ifndef NG_NG_SERVICE_IMPL_H
#define NG_NG_SERVICE_IMPL_H

#include "ng/dialog.h"
#include "ng/message.h"
#include "ng/request.h"
#include "ng/ng_service.h"
#include "node/node_call.h"
#include "node/node.h"

struct ng_service;
struct ng_wait;

/** A description for a side. Zero is none. */
struct ng_draft {
	char *text;
	char *copy; /**< to compare the next one with, or NULL */
	uint64_t version;
};

/** An offer or an answer on its way. */
struct ng_exchange {
	struct ng_service *sv;
	struct ng_dialog *d;
	unsigned by; /**< number of the side that offers */
	struct sdp *sdp;
	bool carried[SDP_LINES_MAX];
	unsigned ncarried;
	/** Endpoints of each line that it has opened, by side. */
	bool opened[SDP_LINES_MAX][2];
	/** The share that the dialog is to have: media lines, and octets for
	 * this description. */
	unsigned due_lines;
	size_t due_octets;
	struct ng_draft draft;
	/** The lines that the other side gets. */
	struct sdp_line_out out[SDP_LINES_MAX];
	/* the rest is not cleared */
	struct sdp_format format[SDP_LINES_MAX][SDP_FORMATS_MAX];
	struct codec_settled settled; /**< of the line at hand */
	struct {
		/* an offer's: what an answer will be to, and what that may
		 * need */
		struct ng_offered offered;
		struct node_call_promise needs;
		bool early; /**< what comes before the answer is passed on */
		/* an answer's */
		struct codec_list *spoken;
		struct node_call_change *change;
		/* what the sides become, by the answer or before it */
		struct endpoint_spec to[2];
	} line[SDP_LINES_MAX]; /**< those that are carried */
};

struct ng_service {
	struct ng_service_config cfg;
	struct node *node;
	struct ng_listener *listener;
	struct ng_calls calls;
	struct ng_host_quota shares;
	/** By offers that were not answered yet. */
	struct node_call_promise promised;
	/** Dialogs that nobody has answered, by when they were offered last. */
	TAILQ_HEAD(, ng_dialog) ringing;
	LIST_HEAD(, ng_wait) waits;
	struct event *tick;
	struct ng_counts count;
	cr_ns started;
	/** Names that were logged as unknown. */
	char unknown[64][NG_UNKNOWN_BYTES];
	unsigned nunknown;
	/* The request that is worked on. One is enough: an answer begins no
	 * other request before its own has ended (ng/listener.h). */
	struct ng_request request;
	const struct ng_client *client;
	struct ng_call *call; /**< that it is about, or NULL */
	json_t *reply;	      /**< an object, to be filled in */
	/** Of an offer that was accepted by another process: the lines that are
	 * carried, SDP_LINES_MAX; else NULL. */
	const bool *repeated;
	struct node_cost_wait lacks; /**< with -EAGAIN */
	struct ng_exchange exchange;
};

/** 0; or -errno with @e, and nothing of a dialog that goes on has changed;
 * -EAGAIN: do it again when what the service lacks is known. */
int ng_offer(struct ng_service *sv, struct cr_err *e);
int ng_answer_to(struct ng_service *sv, struct cr_err *e);
/** The request is an offer in @d that another process has accepted, with the
 * endpoints that @d has, for the lines @carried[SDP_LINES_MAX]: @d waits for
 * its answer. As ng_offer(), and -ENOTSUP: these lines cannot be carried. */
int ng_offer_repeat(struct ng_service *sv, struct ng_dialog *d,
		    const bool *carried, struct cr_err *e);

/** Note a request for @call: it lives. */
void ng_call_signalled(struct ng_call *call);

/** @d was offered (@rings), or is answered. */
void ng_dialog_ring(struct ng_service *sv, struct ng_dialog *d, bool rings);
/** End the oldest of the dialogs that nobody has answered for long, of the host
 * that has most of them, in place of another call than @d. False: none. */
bool ng_end_oldest(struct ng_service *sv, const struct ng_dialog *d);
/** End @d, on the word of @who (NULL: the node's own): its calls, and
 * endpoints that only it has. */
void ng_end_dialog(struct ng_service *sv, struct ng_dialog *d,
		   enum node_end why, const struct node_who *who);
/** Nothing is kept free for @s any more. */
void ng_release(struct ng_service *sv, struct ng_stream *s);

/** Add to the warning of the reply. */
__attribute__((format(printf, 2, 3))) void ng_warn(struct ng_service *sv,
						   const char *fmt, ...);

/* --- an offer or an answer on its way: offer.c --- */

/** Begin that of the request. */
struct ng_exchange *ng_exchange_begin(struct ng_service *sv,
				      struct ng_dialog *d, unsigned by);
void ng_exchange_end(struct ng_exchange *x);

/** Is line @i of the description one that this node can carry? Else the warning
 * says why not. */
bool ng_line_is_carried(const struct ng_exchange *x, unsigned i);

/** May the dialog have so many media lines, and keep an offer (@what 0) or an
 * answer (1) as long as this one? 0; as ng_due_check() with @e. */
int ng_check_room(struct ng_exchange *x, unsigned lines, unsigned what,
		  struct cr_err *e);
/** It has them, which was checked. */
void ng_take_room(const struct ng_exchange *x, unsigned what);

/** The rest of what the other side is told of line @i: @from is what came of
 * it, @endpoint is ours. RTCP is to be sent to the port @rtcp above that of
 * RTP; -1: nothing is said of it. */
int ng_describe_line(struct ng_exchange *x, unsigned i,
		     const struct sdp_line *from,
		     const struct ng_endpoint *endpoint, int rtcp,
		     struct cr_err *e);

/** Write the description for @to, as the draft. 0, or -errno with @e. */
int ng_draft_write(struct ng_exchange *x, const struct ng_side *to,
		   struct cr_err *e);
/** Adopt the draft as the description of @to: until then its version is not
 * used up. Returns the text, the caller's. */
char *ng_draft_report(struct ng_exchange *x, struct ng_side *to);

/** Our address for the party of @l; false: it has ended. */
bool ng_endpoint_local(struct node *n, const struct ng_endpoint *l,
		       struct sockaddr_storage *out);

/** The packet times of a party, ms; 0: unsaid. */
struct ng_packets {
	unsigned ptime;	   /**< of what it is sent; 0: as its line says */
	unsigned in_ptime; /**< that it was offered to send */
	unsigned comes;	   /**< that the other one was offered */
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

/** Return which side may send, with hold by address (RFC 2543) as RFC 3264 has
 * it. */
enum sdp_mode ng_line_mode(const struct sdp_line *line);

/** Close @l, and end the call that has it. */
void ng_endpoint_close(struct node *n, struct ng_endpoint *l);

/** Both sides of line @i of @d, in their order, are to be as @to says: the
 * call begins or goes on with *@change, by ng_stream_commit(), or it is
 * undone by node_call_cancel(). 0; with @e -EINVAL, -ENOSPC, ...; -EAGAIN:
 * what the service lacks has to be known first, then ask again. */
int ng_stream_prepare(struct ng_service *sv, struct ng_dialog *d, unsigned i,
		      const struct endpoint_spec to[2],
		      struct node_call_change **change, struct cr_err *e);
/** Let @change take effect. Returns the call of @s. */
struct node_call *ng_stream_commit(struct ng_stream *s,
				   struct node_call_change *change);
/** The call of @s has been answered; or (@early) has begun before that:
 * what comes of a side is passed on until there is an answer. */
void ng_stream_set_early(struct node *n, struct ng_stream *s, bool early);
/** Has its call not ended? True, too, if it never had one. */
bool ng_stream_runs(struct node *n, const struct ng_stream *s);
/** Its call ends, if there is one, on the word of @who. Its endpoints
 * stay. */
void ng_stream_stop(struct node *n, struct ng_stream *s, enum node_end why,
		    const struct node_who *who);

/** Would the parties of @s be let speak as @to says now, beside those that were
 * @promised something? 0, and what that needs beyond what is there is added; as
 * node_call_weigh() or node_call_weigh_change(), with @e. */
int ng_stream_weigh(struct ng_service *sv, const struct ng_stream *s,
		    const struct endpoint_spec to[2],
		    struct node_call_promise *promised, struct cr_err *e);

/* --- kept_dialogs.c --- */

/** @d, which the request has changed, outlives the process as it is now, if
 * anybody keeps calls. */
void ng_keep_dialog(struct ng_service *sv, struct ng_dialog *d);

/* --- call_report.c --- */

/** All that is known of the dialogs of @call that @key means, into @reply. */
void ng_report_call(struct ng_service *sv, struct ng_call *call,
		    const struct ng_dialog_key *key, json_t *reply);
/** Take a sample of how the parties of @call have sounded since the last one.
 */
void ng_take_samples(struct ng_service *sv, struct ng_call *call);
/** The numbers of the node. */
void ng_report_statistics(struct ng_service *sv, json_t *reply);
/** Packets, of RTP and RTCP, that came of all sides of @call so far. */
unsigned long long ng_call_packets(struct ng_service *sv,
				   const struct ng_call *call);

#endif
