/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls: what a client starts and stops. One has a label, an owner, and one
 * stream, or two.
 *
 *   one   packets come in at the shared port, or at one of the call's own, and
 *         are sent from there to the address that the request says
 *   two   two parties, an endpoint towards each, and a stream in each
 *         direction: its packets come in at one endpoint, and leave from the
 *         other one to the address of that one's party (symmetric RTP)
 *
 * A stream is scheduled, admitted, counted and listed as one. A call ends as a
 * whole, with the endpoints that it has opened; those that were opened by
 * themselves stay.
 *
 * Control thread.
 */
#ifndef NODE_NODE_CALL_H
#define NODE_NODE_CALL_H

#include "media/rtp_stream.h"
#include "node/requests.h"
#include "node/info.h"

enum node_end;
struct node;
struct node_stream;
struct node_cost_wait;
struct node_who;
struct node_call;
struct node_endpoint;

/** Start what @spec asks for; of ends that are named by an open endpoint, that
 * one says the rest. 0 and *@out; -ESRCH, -EBUSY: of these endpoints, or a
 * pair; -ENOSPC when there is no capacity; -EEXIST when the SSRC is taken;
 * -EINVAL, -ENOMEM, -EMFILE, -ENFILE, -EADDRINUSE (no descriptor or port of its
 * own; some descriptors are kept for control); each with @e. -EAGAIN: @lacks
 * has to be known first (node_cost_wait()), then ask again. */
int node_call_start(struct node *n, const struct call_spec *spec,
		    struct node_cost_wait *lacks, struct node_call **out,
		    struct cr_err *e);

/** Resources reserved for calls that are being set up. */
struct node_call_promise {
	unsigned calls;
	int64_t ppm; /**< of a CPU */
};

/** Would the call @spec, which names no open endpoint, be let in now,
 * beside those that were @promised? 0 with what it needs, *@ppm of a CPU;
 * -EINVAL, -ENOSPC with @e; -EAGAIN with @lacks. It does not start. */
int node_call_weigh(struct node *n, const struct call_spec *spec,
		    const struct node_call_promise *promised, int64_t *ppm,
		    struct node_cost_wait *lacks, struct cr_err *e);

/** The one with this id that is not ending, or NULL. */
struct node_call *node_call_find(struct node *n, uint32_t id);

/** The first one with an id above @id that is not ending, or NULL: walks in
 * order of id. */
struct node_call *node_call_after(struct node *n, uint32_t id);

uint32_t node_call_id(const struct node_call *c);
/** 1 or 2. */
unsigned node_call_streams(const struct node_call *c);

/** Its owner: the user's, NULL at first. */
void *node_call_owner(const struct node_call *c);
void node_call_set_owner(struct node_call *c, void *owner);
/** Let @to have all calls of @from, ending ones, too. */
void node_calls_pass(struct node *n, const void *from, void *to);
/** Has node_config.ended() been called for all its streams? */
bool node_call_is_over(const struct node_call *c);
/** The label of its request, or NULL; of NG, the call-id. */
const char *node_call_label(const struct node_call *c);
/** The endpoint of party @i, of two. */
struct node_endpoint *node_call_endpoint(const struct node_call *c, unsigned i);
/** Are its streams relays? */
bool node_call_relays(const struct node_call *c);
/** The stream from end @i; NULL: it has gone. */
struct node_stream *node_call_stream(const struct node_call *c, unsigned i);

/** New offers or answers of the parties of a call of two streams: other
 * addresses, other codecs. Where they come to speak the same, or to differ, the
 * streams become relays, or cease to be. No packet is lost. 0; -EINVAL,
 * -ENOSPC, -EBUSY, -ENOMEM with @e and both as they were; -EAGAIN: so, too,
 * until @lacks is known. */
int node_call_change(struct node_call *c, const struct endpoint_spec to[2],
		     struct node_cost_wait *lacks, struct cr_err *e);
/** The same of one party, which may have no call. */
int node_call_change_party(struct node_endpoint *ep,
			   const struct endpoint_spec *to,
			   struct node_cost_wait *lacks, struct cr_err *e);

/** Would @c be let go on as @to says now? 0 with what it needs beyond what it
 * has, *@ppm of a CPU; else as node_call_change(), and as
 * node_call_weigh(). Nothing changes. */
int node_call_weigh_change(struct node_call *c,
			   const struct endpoint_spec to[2],
			   const struct node_call_promise *promised,
			   int64_t *ppm, struct node_cost_wait *lacks,
			   struct cr_err *e);
struct node_call_change;
/** The same in two steps: what can fail, and the change, which cannot; or
 * nothing of it. Other changes of @c come after that. */
int node_call_prepare(struct node_call *c, const struct endpoint_spec to[2],
		      struct node_cost_wait *lacks,
		      struct node_call_change **out, struct cr_err *e);
/** As node_call_start(), of two open endpoints that are to be as @to says:
 * they are as they were until the change. A call of two streams whose change is
 * cancelled ends, and nobody is told. */
int node_call_prepare_start(struct node *n, const struct call_spec *spec,
			    const struct endpoint_spec to[2],
			    struct node_cost_wait *lacks,
			    struct node_call_change **out, struct cr_err *e);
/** Returns the call. */
struct node_call *node_call_commit(struct node_call_change *ch);
void node_call_cancel(struct node_call_change *ch);

/** It has begun before it was agreed on, or (@early false) that is so no more:
 * until then it counts as no call that was started, and nobody is told when it
 * ends. */
void node_call_set_early(struct node_call *c, bool early);

/** Let @c end, on the word of @who (NULL: the node's own); for each of its
 * streams node_config.ended() follows. Does nothing when it is ending. */
void node_call_stop(struct node_call *c, enum node_end why,
		    const struct node_who *who);

/** Names of the parties in signalling, and the number of the media line (from
 * 1), for records; NULL: none. Without memory, records have none. */
void node_call_set_tags(struct node_call *c, const char *const tag[2],
			unsigned line);

/** Party @i: where it sends to, where it is sent to, what was refused. */
void node_call_party(const struct node_call *c, unsigned i,
		     struct node_endpoint_info *out);

#endif
