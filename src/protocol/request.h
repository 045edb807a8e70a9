/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the methods have in common: parameters read by their tables, and
 * refusals.
 *
 * Thread rule: the event base's thread.
 */
#ifndef PROTOCOL_REQUEST_H
#define PROTOCOL_REQUEST_H

#include "protocol/field.h"
#include "rpc/server.h"

/** Refuse with @code; err->why has been filled. Always NULL. */
json_t *request_refuse(struct rpc_error *err, int code);

/** -errno of the node as a code of the protocol. */
int request_code(int err);

/** @params into the struct at @out by @table: what is missing has its default,
 * what is required is there. False, with @err: they are no good. */
bool request_read(const struct field *table, void *out, const json_t *params,
		  struct rpc_error *err);

/** For methods without parameters: false, with @err, when @params says
 * anything. */
bool request_is_empty(const json_t *params, struct rpc_error *err);

#endif
