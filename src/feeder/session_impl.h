/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a session, shared by session.c (the course of things),
 * session_prepare.c (before the first call), session_call.c (one call's
 * requests and replies) and session_talk.c (those of a conversation).
 */
#ifndef FEEDER_SESSION_IMPL_H
#define FEEDER_SESSION_IMPL_H

#include <event2/event.h>

#include "rpc/client.h"
#include "feeder/session.h"
#include "feeder/talk.h"

/** Requests of calls are sent this long before their first packet. */
#define SESSION_LEAD CR_SEC
/** A call is stopped this long after its last packet. */
#define SESSION_DRAIN (500 * CR_MS)

struct session {
	struct session_cfg cfg;
	struct event_base *base;
	struct rpc_client *rpc;
	struct event *tick, *sigint, *sigterm;
	bool leaving; /**< bye is said: losing the daemon is expected */
	bool up, interrupted;
	int failed; /* -errno: the run is over, why says it */
	struct cr_err why;

	struct source **sources; /* [flow_count]; a later flow may share */
	uint64_t *counts;	 /* [flow_count] */
	struct plan plan;
	struct feeder_call *calls; /* [plan.count] */
	struct talk *talks;	   /* [ntalks], conversations */
	size_t ntalks;
	size_t next_start;     /* calls before it have been asked for */
	unsigned active, open; /* open: asked for and not over */
	unsigned refused;
	char refusal[256];

	struct conversions *conversions; /* NULL: none */
	bool converting;		 /* they are submitted */

	struct ports ports;
	struct pacer *pacer;
	struct receiver *receiver;
	cr_ns epoch, cpu_before, cpu;
	int64_t epoch_realtime;

	json_t *hello, *stats;
	struct tally *flows, *total;
};

/** Ends the run with @code and a message. */
__attribute__((format(printf, 3, 4))) void session_fail(struct session *s,
							int code,
							const char *fmt, ...);

/** Tell the user's callback. */
void session_show(struct session *s, const struct session_progress *p);

/** Speech, socket, connection, hello, counts, plan. 0, or -errno with @e. */
int session_prepare(struct session *s, struct cr_err *e);
/** The part of it that asks the daemon: how many calls each flow means. */
int session_size(struct session *s, struct cr_err *e);

/** Ask and wait. 0 with *@result owned by the caller, or -errno with @e (may
 * be NULL); a refusal is -EPROTO. Takes over @params. */
int session_ask(struct session *s, const char *method, json_t *params,
		json_t **result, struct cr_err *e);

/** Parameters of call.start for a call of @flow; @ts_first: of frame 0;
 * @address: our end, "127.0.0.1:40100". */
json_t *session_call_params(const struct session *s,
			    const struct campaign_flow *flow, uint32_t ts_first,
			    const char *address);

/** One side of a call as the protocol has it. */
json_t *session_leg_json(const struct campaign_leg *leg);

/** What @flow says of ptime (0: nothing), class, deadline, shares and contract,
 * into @o. */
void session_put_terms(json_t *o, const struct campaign_flow *flow,
		       cr_ns ptime);

/** Speech in one packet of the daemon's. */
cr_ns session_out_frame(const struct campaign_flow *f);

/** How answers to calls of @f are compared with what was sent. */
struct match_cfg session_match_cfg(const struct campaign_flow *f);

/** What answers to @c are compared with, and kept in; the voice and the plan of
 * what it says. 0, -ENOMEM. */
int session_make_parts(struct session *s, struct feeder_call *c,
		       const struct match_cfg *m);

/** @c may begin. */
void session_let_run(struct session *s, struct feeder_call *c);

/** The daemon has refused @c, which the error @e says. */
void session_refused(struct session *s, struct feeder_call *c, const json_t *e);

/** Ask for the call; the reply hands it to receiver and pacer. */
void session_call_start(struct session *s, struct feeder_call *c);

/** Stop it; the reply brings the daemon's counters. */
void session_call_stop(struct session *s, struct feeder_call *c);

/* --- conversations: session_talk.c --- */

/** Ask for the conversation @t. */
void session_talk_start(struct session *s, struct talk *t);

/** Tell of addresses that change, stop what is over, close its ports. */
void session_talks_go_on(struct session *s, cr_ns now);

/** call.ended: the daemon's last word on a stream. */
void session_talk_ended(struct session *s, const json_t *params);

/** Judge all that began; pacer and receiver have stopped. */
void session_talks_judge(struct session *s);

#endif
