/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager that has started the daemon, if one has (systemd, or
 * codec-runner --supervise), is notified when the daemon is ready, of what it
 * does, and, for WatchdogSec=, that its workers advance:
 *
 *   manager_ready()      READY=1, then every few seconds STATUS=, and
 *                        WATCHDOG=1 unless a worker is lost: stuck, and without
 *                        another thread for its place
 *   manager_reloading()  RELOADING=1; manager_ready() follows
 *   manager_stopping()   STOPPING=1; no watchdog from then on
 *
 * Control thread. Without a manager nothing is done.
 */
#ifndef APP_RUNNER_SERVICE_MANAGER_H
#define APP_RUNNER_SERVICE_MANAGER_H

#include <stdbool.h>

#include "cr/error.h"
#include "cr/time.h"
#include "observe/notify.h"

struct config_state;
struct event;
struct event_base;
struct service;

struct service_manager {
	struct notify notify; /**< fd -1: there is none */
	struct service *service;
	struct event_base *base;
	const struct config_state *config;
	struct event *tick, *store;
	cr_ns store_each; /**< until what waits for the store is sent again */
	cr_ns tick_each, status_at; /**< between ticks; of the last STATUS= */
	bool stopping;
};

/** Of the environment. @config is borrowed. 0, or -errno with @e. */
int manager_open(struct service_manager *m, struct event_base *base,
		 const struct config_state *config, struct cr_err *e);
/** @service serves. 0, or -ENOMEM: the manager hears nothing later on. */
int manager_ready(struct service_manager *m, struct service *service);
/** The configuration is read again. */
void manager_reloading(struct service_manager *m);
/** A SIGHUP is for the process that is left of an upgrade. */
void manager_hangup_later(struct service_manager *m);
/** The daemon ends, and may take @limit for that. */
void manager_stopping(struct service_manager *m, cr_ns limit);
void manager_close(struct service_manager *m);

#endif
