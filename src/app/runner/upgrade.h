/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upgrade: a new process takes over all calls and addresses while they go
 * on. The supervisor (app/runner/supervise.h) starts it, with one end of a
 * socket pair, the hand-over; the old process has the other end.
 *
 *   old                                 supervisor                        new
 *    | FDSTORE=1 hand-over, UPGRADE=PROGRAM |                              |
 *    |------------------------------------->|--- all that is held -------->|
 *    |<------------------------ ready, or failed WHY ----------------------|
 *    |---- scheduler CONFIGURED, CHOSEN ---------------------------------->|
 *    |---- slot K VERSION, with its sockets ------------------------------>|
 *    |---- drop K K ... (calls that have ended since, or changed) -------->|
 *    |<------------------------ moved, or failed WHY ----------------------|
 *    | (stops control, and the ports of some calls)                        |
 *    |---- on KIND ID ID ... (they go on) -------------------------------->|
 *    |<------------------------ moved, or failed WHY ----------------------|
 *    | (in the end, the shared port)                                       |
 *    |---- client NUMBER SESSION, a connection --------------------------->|
 *    |---- cost ... (what codecs cost, each) ----------------------------->|
 *    |---- end ----------------------------------------------------------->|
 *    |<------------------------ alive -------------------------------------|
 *    |--- UPGRADED=1 ---------------------->|                              |
 *    closes hand-over, exits                |<--- READY=1 -----------------|
 *
 * The old process stops control when it has looked again for calls that have
 * begun, changed or ended since they were sent, and there are none. Until
 * UPGRADED=1 the supervisor believes the old process: if that dies, it kills
 * the new one and starts another, as after any crash. Until "alive", whatever
 * goes wrong with the new one, the old one has it killed (UPGRADE= without a
 * program), and goes on. Only the old process decides, once.
 *
 * Control thread.
 */
#ifndef APP_RUNNER_UPGRADE_H
#define APP_RUNNER_UPGRADE_H

#include <event2/event.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "cr/error.h"

struct node;
struct notify;
struct service;
struct upgrade;

/** The name of the hand-over among what is held. */
#define UPGRADE_NAME "hand-over"

struct upgrade_config {
	struct event_base *base;
	struct notify *manager;
	struct node *node;
	struct service *service; /**< whose node it is */
	/** As the options say. A new process whose options say the same takes
	 * the one that the node has, which a client may have chosen. */
	const char *scheduler;
	/** 0; or -errno with @e: it cannot be now. NULL is not allowed. */
	int (*refuse)(void *arg, struct cr_err *e);
	/** Calls are about to move: nothing is accepted any more. */
	void (*moves)(void *arg);
	/** It is over, and freed. @err 0: another process has @calls calls, all
	 * there were; else @why, and this process has them. */
	void (*done)(void *arg, int err, const struct cr_err *why,
		     unsigned calls);
	void *arg;
};

/** The program that this process runs. */
struct upgrade_program {
	char path[PATH_MAX]; /**< as it was at the start; "": not known */
	struct stat file;    /**< what was there */
};

void upgrade_program(struct upgrade_program *p);
/** Is another file at its path by now? */
bool upgrade_program_replaced(const struct upgrade_program *p);

/** Begin an upgrade to @program. 0: done() follows; or -errno with @e. */
int upgrade_start(struct upgrade **out, const struct upgrade_config *cfg,
		  const char *program, struct cr_err *e);

/** The new process, which is complete but for calls, takes them by @fd.
 * @scheduler: as its options say. 0, and
 * upgrade_arrived() follows; or -errno with @e: it should end, without touching
 * what it shares. */
int upgrade_arrive(int fd, struct service *sv, const char *scheduler,
		   struct cr_err *e);
/** It is complete: wait until the old one has said that this one is the daemon,
 * or has died. -errno with @e, as that. The caller closes @fd. */
int upgrade_arrived(int fd, struct cr_err *e);
/** The new process cannot be: say @why by @fd. */
void upgrade_fail(int fd, const char *why);

#endif
