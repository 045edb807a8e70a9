/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that outlive the process. While a call runs, its state is kept in a
 * slot (media/state_memory.h), and its sockets are held (observe/store.h):
 * under "rtp" those of the shared port, under "call-ID-0" and "call-ID-1" those
 * of the call's ends, under "end-ID" those of an endpoint that was opened by
 * itself, which has a slot of its own. A process that finds both goes on with
 * the call.
 *
 *   start    slot taken; streams write their records from the first packet on
 *            -> node_call_keep(): the text, the sockets
 *   end      the text goes first, then the sockets; the slot is free when the
 *            last thread has let go
 *   restore  node_restore_next() -> the call is started as it was, by
 *            node->restoring: sockets, numbers, what was learned
 *            -> node_restored()
 *
 * The text is the user's; what else a new process needs of it is a struct
 * call_past. What the user knows of several calls, or before there is one, is a
 * note, in a slot of its own without a socket. Without a store, nothing is
 * kept.
 *
 * Control thread.
 */
#ifndef NODE_RESTORE_H
#define NODE_RESTORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cr/sched.h"
#include "media/state_memory.h"

struct cr_err;
struct endpoint;
struct node;
struct node_call;
struct node_stream;
struct node_endpoint;

/** How a call goes on. */
enum restore_how {
	RESTORE_HELD,	  /**< with the sockets that were held              */
	RESTORE_TAKEOVER, /**< of a machine that died: at the same ports    */
	RESTORE_MOVED	  /**< of another node: at any ports, with new ids  */
};

/** A stream whose process has died. */
struct stream_past {
	struct sockaddr_storage at; /**< where its packets came in */
	uint32_t ssrc_in, ssrc_out;
	uint32_t terms;	   /**< how often those of its input had changed */
	cr_ns mean, p99;   /**< of its cost */
	uint32_t endpoint; /**< where it comes in; 0: no name */
};

/** A call whose process has died; or, with id 0, the endpoint of stream[0]. */
struct call_past {
	enum restore_how how;
	uint32_t id; /**< of its first stream */
	cr_ns started_utc;
	cr_ns node_utc;	   /**< of the process that has begun it */
	uint32_t from;	   /**< its id before it has moved; 0: it has not */
	unsigned crashes;  /**< of a process, in a frame of it */
	cr_ns crashed_utc; /**< the last one */
	struct stream_past stream[2];
	struct state_slot *slot;
	/* the node's */
	bool slot_owned;  /**< else node_restored() frees it */
	unsigned end;	  /**< that is being opened, or its stream */
	uint32_t last_id; /**< of its streams, so far */
};

/** Is there a store that outlives the process? */
bool node_keeps(const struct node *n);

/** The call that has moved here as @past says, or NULL. */
struct node_call *node_call_moved_here(struct node *n,
				       const struct call_past *past);
/** What a new process has to know of @c. */
void node_call_past(const struct node_call *c, struct call_past *out);
/** The text of @c, into @out[STATE_TEXT_MAX + 1]. False: it has none. */
bool node_call_kept(const struct node_call *c, char *out);
/** Its records, with @shift added to their times. It has a text. */
void node_call_records(const struct node_call *c, cr_ns shift,
		       char out[STATE_RECORDS_TEXT]);
/** Keep it under @text. 0; -ENOENT: there is no slot; -EMSGSIZE; or as
 * store_put(). */
int node_call_keep(struct node_call *c, const char *text, size_t bytes);
/** The same of @ep, which was opened by itself. */
void node_endpoint_past(const struct node_endpoint *ep, struct call_past *out);
int node_endpoint_keep(struct node_endpoint *ep, const char *text,
		       size_t bytes);

/** Keep @text, of what the calls are about (a note), in *@slot; NULL: in one
 * that it takes. 0; -ENOENT: there is none; -EMSGSIZE, and the former stays. */
int node_note_keep(struct node *n, struct state_slot **slot, const char *text,
		   size_t bytes);
/** End the note in @slot, which is free then. NULL is fine. */
void node_note_forget(struct node *n, struct state_slot *slot);
/** Leave the note in @slot to the process that has written it. */
void node_note_leave(struct node *n, struct state_slot *slot);

/** The text of the next slot that has one ("": it is damaged), from *@at on,
 * into @out[STATE_TEXT_MAX + 1], with its @slot. False: there are no more. */
bool node_restore_next(struct node *n, unsigned *at, struct state_slot **slot,
		       char *out);
/** Look at slot @i, which is another process's still: its text into
 * @out[STATE_TEXT_MAX + 1], and *@version of that; 0: it has none. False: there
 * are fewer. */
bool node_restore_look(const struct node *n, unsigned i, uint64_t *version,
		       char *out);
/** That slot, for what is restored of it. */
struct state_slot *node_restore_at(struct node *n, unsigned i);
/** A slot for a call that comes from another machine, with its @records (NULL:
 * none), whose times have @shift added; NULL: there is none. */
struct state_slot *node_foreign_slot(struct node *n, const char *records,
				     cr_ns shift);
/** The call started next continues @past, with its crash counted. 0; or -EEXIST
 * with @e: one of its ids is in use; node_restored() follows anyway. */
int node_restore_as(struct node *n, struct call_past *past, struct cr_err *e);
/** It does, or (@is false) cannot: its slot is free. Its ports are read from
 * node_call_hear() on: what has come meanwhile is for its streams. If another
 * process has it still (node_config.arrives), it touches neither its slot nor
 * its ports before node_call_go_on(). */
void node_restored(struct node *n, const struct call_past *past, bool is);
void node_call_hear(const struct node_call *c);
/** Close the endpoints that no call and nobody else has gone on with. */
void node_close_unclaimed(struct node *n);
/** All are restored: listen at the shared port and those of endpoints without
 * a call; close those that are nobody's. -errno with @e: it cannot be listened
 * to. */
int node_restored_all(struct node *n, struct cr_err *e);

/* --- the node's --- */

enum { NODE_HELD_NAME = 32 };
/** The names under which the sockets of end @i of @call, and of an endpoint
 * that was opened by itself, are held. They return @buf. */
const char *node_call_name(char buf[NODE_HELD_NAME], uint32_t call, unsigned i);
const char *node_endpoint_name(char buf[NODE_HELD_NAME], uint32_t endpoint);

/** The call is ending: nobody is to go on with it, but for the process that
 * still has it (node_config.arrives). */
void node_call_forget(const struct node_call *c);
/** The same of an endpoint. */
void node_endpoint_forget(const struct node_endpoint *ep);

/** End @i is being opened, or its stream begins; if a call is restored. */
void node_restore_end(struct node *n, unsigned i);
/** May the call that is being restored be at the shared port? 0; or
 * -EADDRNOTAVAIL with @e: its packets do not come there. */
int node_restore_at_shared(const struct node *n, struct cr_err *e);
/** The sockets of the end of node->restoring that is being opened, with @rtcp
 * two, into @ep->ports. 0; -ENOENT, or as port_pair_open(), with @e. */
int node_restore_ports(struct node_endpoint *ep, bool rtcp, struct cr_err *e);
/** @endpoint, of the end that is being opened, has heard before. */
void node_restore_heard(const struct node *n, struct endpoint *endpoint);
/** The sockets of the shared port, if its address is as it was. Returns how
 * many. */
unsigned node_restore_shared(struct node *n, int *fd);
/** @st, whose call has a slot, has its transcoder or types, and nobody sees it
 * yet: it writes to the slot, and goes on by node->restoring. */
void node_keep_stream(const struct node_stream *st);
/** @c, which was restored ahead, goes on: another process has let go of it. */
void node_call_go_on(struct node_call *c);
/** The same of an endpoint that was opened by itself. */
void node_endpoint_go_on(struct node_endpoint *ep);

#endif
