/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener whose requests are answered by the test, in its own thread, and
 * clients with sockets of loopback.
 *
 *   ping              pong at once
 *   hold              is kept, for answer_held()
 *   long  octets=N    an answer with a string of N octets
 *   null              an answer that bencode cannot say
 */
#ifndef TESTS_NG_LISTENING_H
#define TESTS_NG_LISTENING_H

#include <stdbool.h>
#include <sys/socket.h>

#include "cmocka_cr.h"
#include "ng/listener.h"

enum { HELD_MAX = 64, HEARD_MAX = 1 << 20 };

struct listening {
	struct event_base *base;
	struct ng_listener *listener;
	struct sockaddr_storage at;
	unsigned asked;
	unsigned nheld;
	struct ng_asked *held[HELD_MAX];
	char from[64]; /* of the last request */
};

/** @limits: NULL for the usual ones. @address: "127.0.0.1:0". */
void listening_open(struct listening *w, const char *address,
		    const struct ng_limits *limits);
/** Everybody may ask. */
const struct networks *listening_to_all(void);
/** Checks that all is accounted for. */
void listening_close(struct listening *w);
/** Only the listener. */
void listening_shut(struct listening *w);
/** Whatever is to be done now. */
void listening_turn(struct listening *w);
/** Until that many requests are held. */
void listening_hold(struct listening *w, unsigned n);
/** Answer the one that is held longest. */
void answer_held(struct listening *w);
struct ng_listener_stats listening_stats(const struct listening *w);

/** A client and what it has heard. */
struct client {
	int fd;
	size_t n;
	bool eof;
	char heard[HEARD_MAX];
};

void client_udp(struct client *c, const struct listening *w);
/** With a receive buffer of @buffer octets; 0: the usual. */
void client_tcp(struct client *c, const struct listening *w, int buffer);
void client_close(struct client *c);
void client_say(struct client *c, struct listening *w, const char *text);
void client_say_bytes(struct client *c, struct listening *w, const char *text,
		      size_t bytes);
/** Take what is there. */
void client_listen(struct client *c);
/** Run until it has heard exactly @text since the last time. */
void client_hear(struct client *c, struct listening *w, const char *text);
/** Run until the listener has closed. */
void client_hear_end(struct client *c, struct listening *w);

#endif
