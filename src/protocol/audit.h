/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did what: a line of the log ("audit") for each request that changes
 * something, whichever way it came by, done or refused.
 *
 * Each method is a call site of the log: of one kind no more than the log's
 * rate is written, and the next line says how many were left out
 * (suppressed=N). So a thousand calls a second do not hide a drain.
 */
#ifndef PROTOCOL_AUDIT_H
#define PROTOCOL_AUDIT_H

#include "observe/log.h"
#include "rpc/server.h"

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

/** Tell of a method of control, as rpc_server_config.answered(). The event
 * base's thread. */
void audit_method(const struct rpc_noted *noted, const json_t *result,
		  const struct rpc_error *err);

#endif
