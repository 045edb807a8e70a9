/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the methods have in common: the parameters that several have, and
 * refusals.
 *
 * Thread rule: the event base's thread.
 */
#ifndef PROTOCOL_REQUEST_H
#define PROTOCOL_REQUEST_H

#include "rpc/server.h"

/** Refuse with @code; err->why has been filled. Always NULL. */
json_t *request_refuse(struct rpc_error *err, int code);

/** -errno of the node as a code of the protocol. */
int request_code(int err);

/** For methods without parameters: false, with @err, when @params says
 * anything. */
bool request_is_empty(const json_t *params, struct rpc_error *err);

/** The number that the only member, @key, gives; 0, with @err: none. */
uint32_t request_id(const json_t *params, const char *key,
		    struct rpc_error *err);

/** The number that @key, one of several members, gives; as request_id(). */
uint32_t request_id_among(const json_t *params, const char *key,
			  struct rpc_error *err);

/** A part of a list: @limit entries with ids above @after. */
struct request_page {
	uint32_t after;
	unsigned limit;
};

/** The page that @params asks for. False, with @err: nonsense. */
bool request_page(struct request_page *page, const json_t *params,
		  struct rpc_error *err);

#endif
