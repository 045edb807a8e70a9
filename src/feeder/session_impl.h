/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a session, shared by session.c (the course of things, and our
 * end of calls), and those it calls, who are peers: session_control.c (a
 * codec-runner, by its own protocol, docs/protocol.md) and session_ng.c (a
 * media proxy, by the NG protocol). Main thread only.
 */
#ifndef FEEDER_SESSION_IMPL_H
#define FEEDER_SESSION_IMPL_H

#include <event2/event.h>

#include "feeder/session.h"
#include "feeder/speakers.h"
#include "feeder/feeder_call.h"
#include "rpc/client.h"

/** Requests of calls are sent this long before their first packet. */
#define SESSION_LEAD CR_SEC
/** A call is stopped this long after its last packet. */
#define SESSION_DRAIN (500 * CR_MS)

struct session;

/**
 * How those who are called are asked, in their protocol. Main thread; errors
 * are -errno with the message.
 */
struct session_peer {
	/** Reach them. They may be asked from then on. */
	int (*greet)(struct session *s, struct cr_err *e);
	/** Put the share of a worker that one call of @flow takes into *@share,
	 * and the number of workers into *@workers. */
	int (*take_of)(struct session *s, const struct campaign_flow *flow,
		       double *share, double *workers, struct cr_err *e);
	/** Begin a run. */
	int (*begin)(struct session *s, struct cr_err *e);
	/** Ask for @c, with our end at its streams' addresses;
	 * session_call_admitted() or session_call_refused() follows, soon or
	 * later, or session_fail(). */
	void (*start)(struct session *s, struct feeder_call *c);
	/** Have @c ended; session_call_over() or session_fail() follows. */
	void (*stop)(struct session *s, struct feeder_call *c);
	/** Now and then, of a two-way call that is up or being stopped; NULL:
	 * they have none. */
	void (*go_on)(struct session *s, struct feeder_call *c, cr_ns now);
	/** End a run: the peer's statistics go to s->stats. */
	void (*leave)(struct session *s);
	/** Let go of everything, also of what greet() has begun. */
	void (*hang_up)(struct session *s);
};

struct session {
	struct session_cfg cfg;
	const struct session_peer *peer;
	struct event_base *base;
	struct rpc_client *rpc; /* of session_control */
	struct peer_ng *ng;	/* of session_ng */
	struct event *tick, *sigint, *sigterm;
	bool leaving; /**< bye is said: losing the daemon is expected */
	bool up, interrupted;
	bool ended; /* by speakers: in order, though before its time */
	int failed; /* -errno: the run is over, why says it */
	struct cr_err why;

	struct source **sources; /* [flow_count]; a later flow may share */
	uint64_t *counts;	 /* [flow_count] */
	struct plan plan;
	struct feeder_stream *streams; /* [plan.count] */
	struct feeder_call *calls;     /* [ncalls], in order of start */
	size_t ncalls;
	size_t next_start; /* calls before it have been asked for */
	/* streams; open: asked for and not over */
	unsigned active, open, refused;
	char refusal[256];

	struct conversions *conversions; /* NULL: none */
	bool converting;		 /* they are submitted */

	struct speakers *speakers; /* NULL: all speak */
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

/** Ends the run for @why of @c's. */
void session_call_fail(struct session *s, const struct feeder_call *c, int code,
		       const char *why);

/** @c, whose address, numbers and payload types are known, begins: receive and
 * send. */
void session_call_admitted(struct session *s, struct feeder_call *c);

/** They refuse @c, and @why. */
void session_call_refused(struct session *s, struct feeder_call *c,
			  const char *why);

/** @c has ended. */
void session_call_over(struct session *s, struct feeder_call *c);

/** Owner of an answer. */
struct session_request {
	struct session *session;
	struct feeder_call *call;
};

/* --- a codec-runner as a peer: session_control.c --- */

extern const struct session_peer session_control;

/** Parameters of call.start for @c: by its streams' flows, addresses and (of
 * one stream) ts_first. */
json_t *session_call_params(const struct session *s,
			    const struct feeder_call *c);

/* --- a media proxy as a peer: session_ng.c --- */

extern const struct session_peer session_ng;

/** Can @cfg be played by NG? 0, or -ENOTSUP with @e: what cannot. */
int session_ng_check(const struct session_cfg *cfg, struct cr_err *e);

#endif
