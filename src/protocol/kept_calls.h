/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a call that outlives the process (node/restore.h): JSON of what
 * has started it, as changed since, and of the node's part. Of calls that
 * were started by JSON-RPC; those whose endpoints were opened by themselves are
 * not kept.
 *
 * Control thread.
 */
#ifndef PROTOCOL_KEPT_CALLS_H
#define PROTOCOL_KEPT_CALLS_H

#include "node/replicate.h"
#include "node/restore.h"

struct call_spec;
struct node;
struct node_call;

/** @c, which @spec has started, is kept, if anybody keeps calls. */
void keep_call(const struct node *n, struct node_call *c,
	       const struct call_spec *spec);
/** @ask has changed it, one of its streams, or its endpoints. */
void keep_call_change(struct node_call *c, const struct call_spec *ask);

/** Take a call of another machine, times in its records with @shift added, into
 * *@out. 0; or -errno with @e. */
int take_call(struct node *n, const struct replica_call *call, cr_ns shift,
	      enum restore_how how, struct node_call **out, struct cr_err *e);
/** All calls of @got. Returns how many; *@dropped could not be taken. */
unsigned take_calls(struct node *n, const struct replica *got,
		    unsigned *dropped);

/** Go on with all calls that were kept. They belong to no session. */
void restore_calls(struct node *n);

#endif
