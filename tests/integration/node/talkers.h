/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of two streams of a fixture's node, and their parties as they are from
 * outside: each has a socket of its own.
 */
#ifndef TESTS_NODE_TALKERS_H
#define TESTS_NODE_TALKERS_H

#include "node_fixture.h"

/** Start a call of two streams from call.start's JSON (single quotes stand for
 * double ones). 0, or -errno with @e. */
int talk_try(struct node_fixture *r, const char *json, struct node_call **c,
	     struct cr_err *e);
/** The same; fails the test when it is refused. */
struct node_call *talk_start(struct node_fixture *r, const char *json);
/** Stop the only one, and wait until it has gone. */
void talk_stop(struct node_fixture *r, struct node_call *c);
/** call.change, when it is known what it costs. 0, or -errno with @e.
 */
int talk_try_change(struct node_fixture *r, struct node_call *c,
		    const char *json, struct cr_err *e);
/** The same; fails the test when it is refused. */
void talk_change(struct node_fixture *r, struct node_call *c, const char *json);
/** Wait until workers have let go of what was heard: a relay begins at the next
 * packet. */
void talk_rests(const struct node_call *c);
/** For fixture_wait(): the fixture has no calls. */
bool talk_is_over(void *rig);

struct talker {
	int fd;
	struct sockaddr_storage at, to; /**< its own address; its endpoint's */
	struct rtp_packet next;
};

/** One that will be party @i of @c, and speak with the type @pt. */
struct talker talker(const struct node_call *c, unsigned i, uint8_t pt);

void talker_send(const struct talker *p, const void *bytes, size_t n);
/** 160 octets of @value; the header advances. */
void talker_speak(struct talker *p, uint8_t value);
/** Bytes of the next packet in @buf; 0: none came (patience.h). */
size_t talker_hear(const struct talker *p, uint8_t buf[2048]);
bool talker_hears_nothing(const struct talker *p);

/** Each speaks and is heard by its endpoint, so that answers know their way.
 * The first one's packet goes nowhere. */
void talkers_introduce(struct node_call *c, struct talker p[2]);
void talkers_leave(struct talker p[2]);

/** @sent datagrams came to ports of the node's relays, and nothing else came:
 * each counts once, on its way in and on its way out. */
void assert_relay_sums(struct node_fixture *r, unsigned long long sent);

#define A_AND_B(a, b, more) "{'a': " a ", 'b': " b more "}"
#define BOTH_PCMU A_AND_B("{'codec': 'pcmu'}", "{'codec': 'pcmu'}", "")

#endif
