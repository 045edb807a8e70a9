/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node as a JSON-RPC service: methods, sessions, draining.
 *
 * A session owns calls. It begins with an association (a connection). If that
 * is lost, the session goes on for a grace time, in which a new association may
 * take it over (hello with "resume"). Then its calls end.
 *
 * Thread rule: the event base's thread.
 *
 * Audit: a line of the log ("audit") for each request that changes something,
 * by whatever way it came, done or refused.
 *
 * Each method is a call site of the log: of one kind no more than the log's
 * rate is written, and the next line says how many were left out
 * (suppressed=N). So a thousand calls a second do not hide a drain.
 */
#ifndef PROTOCOL_SERVICE_H
#define PROTOCOL_SERVICE_H

#include "node/node.h"
#include "observe/log.h"
#include "rpc/server.h"

struct lines;
struct node_call;
struct replicate;
struct service;

/** The outcome of reading the file of options. */
struct config_state {
	const char *file; /**< NULL: none was read at the start */
	/** The last reading holds, as far as it needs no restart; false: it
	 * was wrong, and all is as it was. */
	bool accepted;
	uint64_t read, refused; /**< times, after the start; of these */
	unsigned needs_restart; /**< options that do, accepted last */
	struct cr_err why;	/**< it was refused the last time; "" */
};

struct service_config {
	struct event_base *base;
	struct node_config node;      /**< ended and arg are the service's    */
	struct transport_addr listen; /**< SCTP; no host: nowhere     */
	/** The key of SCTP clients (key.h). NULL: they need none. Borrowed. */
	const char *key;
	enum transport_kind transport;	  /**< of SCTP                    */
	struct transport_addr listen_too; /**< by its path; "": nowhere   */
	const char
		*trace_dir; /**< where trace.start may write; NULL: nowhere */
	/** The folder from which scheduler.set may load policies; NULL:
	 * built-in ones only. Loading one runs its code. */
	const char *plugin_dir;
	struct lines *records; /**< of calls; NULL: none. Borrowed */
	cr_ns records_interim; /**< between two of one call; 0: at its end */
	const struct config_state *config; /**< NULL: not known. Borrowed */
	/** The copy of calls in a store (node/replicate.h); NULL: none.
	 * Borrowed. */
	struct replicate *replicate;
	cr_ns peer_timeout; /**< a peer silent for longer is lost; 0: 40 s */
	cr_ns grace;	    /**< time that calls outlive their association */
	cr_ns drain_limit;  /**< time that calls may go on in a drain      */
	/** The drain is over: nothing runs any more, or the limit has passed.
	 * May be called from service_drain(). */
	void (*drained)(void *arg);
	/** The number of things that a drain waits for beside those that run.
	 * NULL: none. */
	unsigned (*pending)(void *arg);
	/** Go on with what @note (kept_calls.h), found in @slot, is about; its
	 * calls and endpoints are there. 0: the slot is the user's. Or -errno
	 * with @e: calls and endpoints have been ended; if all @must go on,
	 * they stay. NULL, as the next one: nobody has notes. */
	int (*noted)(void *arg, const json_t *note, struct state_slot *slot,
		     bool must, struct cr_err *e);
	/** Undo noted() for @slot; calls and endpoints stay. Returns the slot;
	 * NULL: noted() has made nothing of it. */
	struct state_slot *(*unnoted)(void *arg, const struct state_slot *slot);
	/** As node_config.deaf(): service_drain() should follow. May be NULL.
	 */
	void (*deaf)(void *arg);
	/** Begin an upgrade to @program (NULL: the same path). 0: then
	 * service_upgraded() answers @asker, once; or -errno with @e. NULL:
	 * unsupported. */
	int (*upgrade)(void *arg, const char *program, void *asker,
		       struct cr_err *e);
	void *arg;
};

int service_open(struct service **s, const struct service_config *cfg,
		 struct cr_err *warn, struct cr_err *e);
/** Ends all calls, tells the peers, flushes the trace. NULL is fine. 0; or
 * -EBUSY: the service is closed, but of its node some is left that a stuck
 * thread may touch, see node_close(): let the process end. */
int service_close(struct service *s);

/** Go on with grace, drain_limit, records_interim, trace_dir and plugin_dir of
 * @to, and with what node_settings_change() takes of its node; texts have to
 * stay. 0, or -ENOTSUP with @e as that: nothing has changed. */
int service_change(struct service *s, const struct service_config *to,
		   struct cr_err *e);

/** No new calls; drained() when the last one has ended or @limit has passed.
 * A second drain only shortens the limit. @final: nobody takes it back. */
void service_drain(struct service *s, cr_ns limit, bool final);
/** Take new calls again, if it drains. 0; or -EBUSY with @e: it ends. */
int service_drain_cancel(struct service *s, struct cr_err *e);

/** The end of an upgrade: with @err 0 another process has all @calls, and this
 * one is to end at once; else it goes on, for the reason @why. */
void service_upgraded(struct service *s, void *asker, int err,
		      const struct cr_err *why, unsigned calls);

/** A client whose connection goes on in another process. */
struct passing_client {
	struct rpc_peer
		*peer; /**< in the old process; NULL: before the first */
	int fd;
	char session[17]; /**< a secret */
	unsigned long long number;
};

/** The next client that an upgrade can pass on as it is: in the old process.
 * Others are disconnected, and come back by "resume". False: there are no
 * more. */
bool service_pass_client(struct service *s, struct passing_client *c);
/** In the new process: note @c, whose descriptor is the service's from now on.
 */
void service_take_client(struct service *s, const struct passing_client *c);
/** All calls have moved: serve the clients that were noted, by their sessions.
 */
void service_serve_clients(struct service *s);

bool service_draining(const struct service *s);

/** Switch the scheduler: a built-in one, or NAME.so of plugin_dir; with options
 * behind a comma. 0, or -errno with @e: paths are refused, for to load a shared
 * object is to run its code. */
int service_scheduler_set(struct service *s, const char *spec,
			  struct cr_err *e);

struct node *service_node(struct service *s);
/** "kernel" or "user": the SCTP stack in use. */
const char *service_transport(const struct service *s);
/** The address of control, with the UDP port chosen by port 0 filled in. */
void service_local(const struct service *s, struct transport_addr *addr);

struct audit {
	const char *who;  /**< "unix:pid=7,uid=1000", "http:192.0.2.1:4000" */
	const char *did;  /**< "call.start", "POST /scheduler"              */
	const char *what; /**< with what: "call=7 out.codec=amr"            */
	const char *why;  /**< it was refused; NULL: it was done            */
};

/** Write @a, unless @site says that there were too many of its kind. Any
 * thread. */
void audit_log(struct log_site *site, enum log_level level,
	       const struct audit *a);

#endif
