/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that move to another process while they run. Both use the same state
 * memory and the same sockets (node/restore.h):
 *
 *   old process                          new process, node_config.arrives
 *   node_unit_slots()  slots and
 *                      descriptors ----> node_move_pass(), restore_slot()
 *                                        (protocol/kept_calls.h)
 *      ... goes on, and sends again what has another version by now
 *   node_unit_pause()  the receiver reads no more of it, packets wait
 *   node_unit_rests()  all that it had read has been sent
 *                      ---------------> node_move_go_on()
 *   node_unit_back()   if that fails
 *
 * A unit is a call with its endpoints, or an endpoint without a call. The
 * shared port is paused as one, and the new process reads it when all go on
 * (node_arrived()). What was paused is as it was but for that; what the
 * other process has sent meanwhile is in its slot. Nothing may start, change or
 * end between the first pause and the last word.
 *
 * Control thread.
 */
#ifndef NODE_NODE_MOVE_H
#define NODE_NODE_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "node/costs.h"
#include "node/restore.h"

/** In the order in which they move. */
enum node_unit_kind {
	NODE_UNIT_ENDPOINT, /**< without a call */
	NODE_UNIT_CALL,
	NODE_UNIT_SHARED, /**< a call at the shared port */
	NODE_UNIT_KINDS
};

struct node_unit {
	uint32_t id; /**< of the call or the endpoint; 0: before the first */
	struct node_call *call; /**< NULL: it is an endpoint */
	struct node_endpoint *endpoint;
};

/** A slot on its way: of a call with its two ends, or of an endpoint. */
struct node_move {
	unsigned slot;	  /**< its number in the state memory */
	uint64_t version; /**< of its text, see struct state_version */
	bool is_call;
	struct node_move_end {
		char name[NODE_HELD_NAME]; /**< of what is held */
		unsigned nfd;		   /**< 0: nothing is */
		int fd[2];		   /**< borrowed */
	} end[2];
};

/** Slots of a unit: two endpoints that were opened by themselves, a call. */
enum { NODE_UNIT_SLOTS = 3 };

/** May all that there is move? 0; or -EBUSY with @e: what cannot. Calls that
 * have ended are freed first. */
int node_may_move(struct node *n, struct cr_err *e);

/** Slot @i, to compare; NULL: there are fewer. */
const struct state_slot *node_slot_at(const struct node *n, unsigned i);
/** Before the first pause of an attempt. */
void node_move_begin(struct node *n);
/** As costs_write_part(). */
bool node_move_cost(const struct node *n, unsigned i, char text[COST_TEXT]);
/** The unit of @kind with the next id. False: there is none. */
bool node_unit_next(struct node *n, enum node_unit_kind kind,
		    struct node_unit *u);
/** Returns the number of its slots that have a text, in the order in which they
 * are to be restored. */
unsigned node_unit_slots(const struct node_unit *u,
			 struct node_move out[NODE_UNIT_SLOTS]);
/** How often a text was kept or forgotten: changes with any version. */
uint64_t node_texts(const struct node *n);
/** The version of the text in @slot now; 0: it has none. */
uint64_t node_slot_version(const struct node *n, unsigned slot);
/** Stop reading at its ports. */
void node_unit_pause(const struct node_unit *u);
/** Stop reading the shared port. */
void node_move_pause_shared(struct node *n);
/** Have the receivers let go of all that was paused? A grace period later,
 * node_unit_rests() means what it says. */
bool node_move_unread(const struct node *n);
/** A grace period after that: have they received what others have read for them
 * from the shared port? One more is needed then. */
bool node_move_received(const struct node *n);
/** Has all that was read of it been sent? */
bool node_unit_rests(const struct node_unit *u);
/** Go on with it: if it was at rest and @given, behind what the other process
 * has sent. 0, or -errno with @e: it hears nothing more. */
int node_unit_back(const struct node_unit *u, bool given, struct cr_err *e);
int node_move_back_shared(struct node *n, struct cr_err *e);

/** As costs_read_part(). */
int node_move_take_cost(struct node *n, const char *text);
/** The descriptors of a slot that is to be restored. They are the node's. */
void node_move_pass(struct node *n, const struct node_move *m);
/** What was restored of @slot has ended in the other process, or changed: it
 * ends; an endpoint with the call that has it, a call without endpoints that
 * have slots. Returns the owner of that call, or NULL. */
void *node_move_drop(struct node *n, unsigned slot);
/** All that was dropped is gone when this returns: ids and ports are free. */
void node_move_dropped(struct node *n);
/** The other process has let go of the unit of @kind with @id, which goes on
 * here. 0, or -ENOENT with @e. */
int node_move_go_on(struct node *n, enum node_unit_kind kind, uint32_t id,
		    struct cr_err *e);
/** All calls are there: as node_restored_all(). */
int node_arrived(struct node *n, struct cr_err *e);

#endif
