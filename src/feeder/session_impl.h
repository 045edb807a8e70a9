/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a session, shared by session.c (the course of things),
 * session_prepare.c (before the first call) and session_call.c (one call's
 * requests and replies).
 */
#ifndef FEEDER_SESSION_IMPL_H
#define FEEDER_SESSION_IMPL_H

#include <event2/event.h>

#include "rpc/client.h"
#include "feeder/session.h"

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
	size_t next_start;	   /* calls before it have been asked for */
	unsigned active, open;	   /* open: asked for and not over */
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

/** Ask for the call; the reply hands it to receiver and pacer. */
void session_call_start(struct session *s, struct feeder_call *c);

/** Stop it; the reply brings the daemon's counters. */
void session_call_stop(struct session *s, struct feeder_call *c);

#endif
