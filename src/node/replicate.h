/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that outlive the machine: a thread copies what is kept of calls
 * (media/state_memory.h) to a store (node/replica_store.h), from which another
 * node takes them. It reads the memory every now and then; nobody gives it
 * anything, and nobody waits for it.
 *
 * Of the node NODE the store has
 *
 *   codec-runner:NODE:run           RUN, a number of its process
 *   codec-runner:NODE:alive         the same, gone 2 s after it was last heard
 *   codec-runner:NODE:RUN:calls     hash: number of a slot -> text of its call
 *   codec-runner:NODE:RUN:records   hash: the same -> records of its streams,
 *                                   times by the store's clock
 *   codec-runner:NODE:RUN:taken-over-by
 *                                   the node that has taken over that run's
 *                                   calls, the first one that asked: nothing
 *                                   more is written of them; for a week
 *
 * The others expire an hour after the node was last heard.
 *
 * What is written together is written if neither taken-over-by nor run has been
 * touched (WATCH, MULTI, EXEC): who has marked a run as taken over reads the
 * last of it, and a new process or connection of the node comes behind all that
 * the one before it wrote. A node that is there all the same begins another
 * run, in which the calls that it has at that moment are none.
 */
#ifndef NODE_REPLICATE_H
#define NODE_REPLICATE_H

#include <event2/event.h>
#include <stdbool.h>

#include "cr/error.h"
#include "cr/time.h"

struct replicate;
struct state_memory;

struct replicate_config {
	struct event_base *base;
	const char *url;   /**< replica_url_parse() takes it             */
	const char *node;  /**< its name, unless the URL has another one */
	const char *other; /**< the node whose calls it may take; or NULL */
	struct state_memory *state;
	char *(*text_of)(const char *kept); /**< see struct replica_books */
	cr_ns interval; /**< between two looks at the memory */
	bool paused;	/**< replicate_resume() follows */
};

struct replicate_stats {
	bool up;	/**< the store has answered the last time           */
	bool silent;	/**< the other node has not been heard of for 2 s   */
	unsigned calls; /**< that the store has                          */
	unsigned taken_over; /**< by another node, and run here */
	unsigned long long batches, failures;
	/* of another node: control's */
	unsigned long long calls_restored, calls_dropped;
	char why[200]; /**< the last failure; "" */
};

/** Begin. 0; or -errno with @e. The store need not be there. */
int replicate_open(struct replicate **r, const struct replicate_config *cfg,
		   struct cr_err *e);
/** End: what has ended is still deleted, if that is quick. NULL is fine. */
void replicate_close(struct replicate *r);
/** Another process is to go on with the memory: write nothing, whatever was
 * begun, until replicate_resume(); then calls of another node are taken that
 * were to be. NULL is fine. Control thread. */
void replicate_pause(struct replicate *r);
void replicate_resume(struct replicate *r);
/** Control thread. */
void replicate_stats(struct replicate *r, struct replicate_stats *out);
/** Calls of another node were restored, and could not be. Control thread. */
void replicate_count(struct replicate *r, unsigned restored, unsigned dropped);

/** A call as another node has left it: as call.export says it. */
struct replica_call {
	const char *text, *records; /**< NULL: none              */
	char number[8];		    /**< of its slot there        */
	bool restored;		    /**< set by done()           */
};

/** The calls of another node. */
struct replica {
	char node[256], run[20];
	bool alive;  /**< it was, less than 2 s ago                   */
	cr_ns shift; /**< from times in records to those of this node */
	unsigned n;
	struct replica_call *call;
};

/** Takes them: @got, until it returns; or NULL and @why. From the event
 * loop. */
struct replica_asker {
	void (*done)(void *arg, struct replica *got, const struct cr_err *why);
	void *arg;
};

/** Mark the calls of @node (NULL: of replicate_config.other) as taken over,
 * unless another node has, and read them; when @asker has returned, delete
 * those that it has restored: a repeat takes others, until they expire. 0;
 * -EINVAL: it is another node; -EBUSY: somebody has asked already; with @e.
 * Control thread. */
int replicate_take(struct replicate *r, const char *node,
		   const struct replica_asker *asker, struct cr_err *e);

#endif
