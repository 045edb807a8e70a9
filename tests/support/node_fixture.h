/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node on loopback and a peer's UDP socket, in one process: what the tests
 * of the frame path stand on. One thread (the test's) is the control thread.
 */
#ifndef TESTS_NODE_FIXTURE_H
#define TESTS_NODE_FIXTURE_H

#include <jansson.h>

#include "rtp/rtp.h"
#include "media/rx.h"
#include "node/node_impl.h"

struct node_fixture {
	struct event_base *base;
	struct node *node;
	int fd;	       /**< the peer's socket */
	unsigned port; /**< its port         */
	unsigned ended;
	/** counters of the call that ended last */
	struct node_stream_counts last;
	enum node_end why;
	unsigned recorded;
	/** Of these the last one; pointers to what is not static lead nowhere.
	 */
	struct node_record record;
};

/** What a fixture may differ in; zero takes the defaults. */
struct fixture_options {
	const char *scheduler;
	unsigned workers, ring_frames, cpus_per_rq;
	unsigned receivers; /**< 0: CR_RECEIVERS of the environment, else 1 */
	bool admission;
	/** A stream may be sent no more than struct quota says. Else tests may
	 * speak faster than time passes. */
	bool paced;
	cr_ns max_age, watchdog;
	enum core_expired expired;
	struct shed_rule shed;
	enum udp_io
		io; /**< AUTO: CR_IO of the environment ("epoll"), else AUTO */
};

/** Register this thread for the one node that a test may have open; leave when
 * it is closed. A test that failed has left its own open: those behind it are
 * skipped. */
void fixture_enter(void);
void fixture_leave(void);

void fixture_open(struct node_fixture *r, const struct fixture_options *o);
void fixture_close(struct node_fixture *r);

/** The node's figures, as stats has them. */
json_t *fixture_stats(const struct node_fixture *r);
/** One of them: @name of @part. */
unsigned long long fixture_figure(const struct node_fixture *r,
				  const char *part, const char *name);

/** Wait until @lacks is known. 0, or -errno with @e. */
int fixture_know(struct node_fixture *r, struct node_cost_wait *lacks,
		 struct cr_err *e);
/** Start @spec, when it is known what that costs. Returns as
 * node_call_start() does. */
int fixture_start(struct node_fixture *r, const struct call_spec *spec,
		  struct node_call **c, struct cr_err *e);
/** Wait until it is known what a call with @cfg costs. 0, or -errno with @e. */
int fixture_measure(struct node_fixture *r, const struct stream_cfg *cfg,
		    struct cr_err *e);

/** Start a call from call.start's JSON (single quotes stand for double ones),
 * output to the fixture's socket unless it says otherwise. Fails the test when
 * it is refused. */
struct node_stream *fixture_call(struct node_fixture *r, const char *json);
/** The same, but returns the error code; *@st only with 0. */
int fixture_try(struct node_fixture *r, const char *json,
		struct node_stream **st, struct cr_err *e);

/** A sender of RTP for one call, from the fixture's socket. */
struct fixture_sender {
	struct node_fixture *rig;
	struct sockaddr_storage to;
	struct rtp_packet next;
	unsigned step; /**< timestamp units per packet */
};
struct fixture_sender fixture_sender(struct node_fixture *r,
				     struct node_stream *st, unsigned step);
/** Send one payload; the header advances. */
void fixture_send(struct fixture_sender *s, const void *payload, size_t bytes);

/** Receive one packet; false: none came (patience.h). @buf: 2048 bytes, holds
 * what *@p points into. */
bool fixture_receive(struct node_fixture *r, uint8_t *buf,
		     struct rtp_packet *p);
/** The same, where one has to come. */
struct rtp_packet fixture_hear(struct node_fixture *r, uint8_t *buf);

/** Let control-thread events happen until @done(@arg); false: in vain
 * (patience.h). */
bool fixture_wait(struct node_fixture *r, bool (*done)(void *arg), void *arg);
/** Stop @st and wait until it has gone; its counters are in r->last. */
void fixture_end(struct node_fixture *r, struct node_stream *st);

#endif
