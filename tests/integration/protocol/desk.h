/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service on loopback, clients of it and a peer's UDP socket, all in one
 * process and on one thread.
 */
#ifndef TESTS_PROTOCOL_DESK_H
#define TESTS_PROTOCOL_DESK_H

#include "rpc/client.h"
#include "node_fixture.h"
#include "protocol/service.h"

struct scratch {
	struct service *service;
	struct transport_addr at;     /**< where control listens            */
	struct transport_addr socket; /**< and its Unix socket            */
	struct node_fixture rig;      /**< its node, the peer's UDP socket  */
	unsigned drained;
};

/** What a desk may differ in; zero takes the defaults. */
struct desk_options {
	const char *scheduler, *trace_dir, *plugin_dir, *spool;
	unsigned max_conversions, conversions,
		convert_floor; /**< 0: 1000, 4, none */
	unsigned workers, ring_frames, max_calls;
	bool admission;
	unsigned capacity_ppm; /**< 0: 97 % */
	cr_ns grace;	       /**< 0: an hour */
	cr_ns max_age;
};

void desk_open(struct scratch *d, const struct desk_options *o);
void desk_close(struct scratch *d);

/** Let events happen until @done(@arg); fails the test after a minute. */
void desk_wait(struct scratch *d, bool (*done)(void *arg), void *arg);
/** Wait until @counter has reached @n. */
void desk_wait_for(struct scratch *d, const unsigned *counter, unsigned n);
/** Wait until the node holds @n calls, ending ones included. */
void desk_wait_calls(struct scratch *d, unsigned n);

/** Who speaks in the call @id, which takes 20 ms frames of PCMU. */
struct fixture_sender desk_sender(struct scratch *d, unsigned id);
/** Send one frame of silence. */
void desk_send(struct fixture_sender *s);
/** Send @n, and wait each time for what becomes of it. */
void desk_echo(struct fixture_sender *s, unsigned n);

/** One association and what it was told. */
struct client {
	struct scratch *scratch;
	struct rpc_client *rpc;
	char session[32];
	unsigned up, down, ended, congestion, conversions_ended;
	/** params; owned */
	json_t *last_ended, *last_congestion, *last_conversion;
};

/** Connect and say hello; @resume: an earlier session, or NULL. */
void client_open(struct client *c, struct scratch *d, const char *resume);
/** The same by the Unix socket. */
void client_open_unix(struct client *c, struct scratch *d, const char *resume);
/** Lose the association without a bye. */
void client_close(struct client *c);
/** The only client of a service of its own. */
void client_open_desk(struct client *c, struct scratch *d,
		      const struct desk_options *o);
void client_close_desk(struct client *c, struct scratch *d);

/** Wait until the daemon knows of no other client than @c. */
void client_wait_alone(struct client *c);

/** Ask; fails the test when refused. @json: params with single quotes for
 * double ones, or NULL. The result is the caller's. */
json_t *client_ask(struct client *c, const char *method, const char *json);
/** Ask, dismiss the result. */
void client_do(struct client *c, const char *method, const char *json);
/** Ask for what must be refused: with @code, and @why within the reason. */
void client_refused(struct client *c, const char *method, const char *json,
		    int code, const char *why);
/** Start a call PCMU to PCMA with more members ("" or "'keep': true,"), its
 * output to the desk's socket. Returns its id. */
unsigned client_start(struct client *c, const char *more);

/** A member's number, by a path such as "count.done". */
long long desk_number(const json_t *o, const char *path);

#endif
