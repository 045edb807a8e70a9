/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between JSON-RPC and a transport: a stream's lines, parts put
 * together on the way in, messages kept on the way out while the transport
 * refuses them.
 */
#ifndef TRANSPORT_MSGQUEUE_H
#define TRANSPORT_MSGQUEUE_H

#include <sys/queue.h>

#include "transport/transport.h"

/** Octets of one line; @end: its last ones. */
struct line_part {
	const char *data;
	size_t bytes;
	bool end;
};

/**
 * Take the next part of the @left octets at @*at, and move both past it.
 * @begun belongs to the stream: its line has begun already; zero at first.
 * Line feeds are not part of lines, and empty lines are skipped; the last part
 * of a line that came earlier may be empty. False: nothing is left.
 */
bool lines_next(bool *begun, const char **at, size_t *left,
		struct line_part *part);

/** A message that comes in parts. Zero is empty. */
struct inbox {
	char *data;
	size_t bytes, size;
	bool too_long; /**< until its end has come */
};

/**
 * Add the part in @ev. Returns 1: *@text, *@bytes is a whole message, valid
 * until the next call or @ev ends; 0: more is to come; -EMSGSIZE: a message
 * longer than @max has ended and was dropped; -ENOMEM likewise.
 */
int inbox_add(struct inbox *in, const struct transport_event *ev, size_t max,
	      const char **text, size_t *bytes);
void inbox_free(struct inbox *in);

struct outmsg {
	STAILQ_ENTRY(outmsg) next;
	size_t bytes;
	char data[];
};

/** Messages waiting for room. Set up by outbox_init(). */
struct outbox {
	STAILQ_HEAD(, outmsg) waiting;
	size_t bytes; /**< of the waiting messages */
};

void outbox_init(struct outbox *out);
void outbox_free(struct outbox *out);
bool outbox_empty(const struct outbox *out);

/** Send @text now, or keep it. The owner looks at out->bytes for the bound.
 * Returns 0 or -errno: the message is dropped. */
int outbox_send(struct outbox *out, struct transport *t, uint32_t assoc,
		const char *text, size_t bytes);

/** Keep @text for a later outbox_flush(). Returns 0 or -ENOMEM. */
int outbox_keep(struct outbox *out, const char *text, size_t bytes);

/** Send what waits. Returns 0: all gone; -EAGAIN: ROOM will follow; or
 * another -errno: all is dropped, the association is going. */
int outbox_flush(struct outbox *out, struct transport *t, uint32_t assoc);

#endif
