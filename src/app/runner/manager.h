/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager that has started the daemon, if one has (systemd): it is
 * told when the daemon is ready, what it does, and, for WatchdogSec=, that its
 * workers advance.
 *
 *   manager_ready()      READY=1, then every few seconds STATUS=, and
 *                        WATCHDOG=1 unless a worker is lost: stuck, and without
 *                        another thread for its place
 *   manager_reloading()  RELOADING=1; manager_ready() follows
 *   manager_stopping()   STOPPING=1; no watchdog from then on
 *
 * Thread rule: the event base's thread.
 */
#ifndef APP_RUNNER_MANAGER_H
#define APP_RUNNER_MANAGER_H

#include "observe/notify.h"
#include "protocol/service.h"

struct event;
struct event_base;

/** Zero: nobody is told. */
struct manager {
	bool open;
	struct notify notify;
	const struct config_state *config; /**< set first */
	struct service *service;
	struct event *tick;
	cr_ns each, told; /**< between ticks; when STATUS= was last */
	bool stopping;
};

/** Read the environment. As notify_open(). */
int manager_open(struct manager *m, struct cr_err *e);
/** NULL members are fine. */
void manager_close(struct manager *m);

/** The daemon serves. 0, or -ENOMEM: nothing is told later on. */
int manager_ready(struct manager *m, struct event_base *base,
		  struct service *s);
/** It reads its configuration again. */
void manager_reloading(struct manager *m);
/** It ends, and may take @limit for that. */
void manager_stopping(struct manager *m, cr_ns limit);

#endif
