/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the methods have in common.
 */
#include "protocol/request.h"

#include <errno.h>

#include "protocol/field_json.h"
#include "protocol/tables/node.h"

json_t *request_refuse(struct rpc_error *err, int code)
{
	err->code = code;
	return NULL;
}

int request_code(int err)
{
	switch (err) {
	case -EINVAL:
		return RPC_INVALID_PARAMS;
	case -EEXIST:
	case -EBUSY:
		return RPC_CONFLICT;
	case -ESRCH:
		return RPC_NO_SUCH_CALL;
	case -ENOSPC:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -EADDRINUSE: /* out of ports */
		return RPC_NO_CAPACITY;
	case -ENOTSUP:
		return RPC_UNSUPPORTED;
	default:
		return RPC_INTERNAL;
	}
}

bool request_read(const struct field *table, void *out, const json_t *params,
		  struct rpc_error *err)
{
	field_defaults(table, out);
	if (!field_read(table, params, out, &err->why) &&
	    !field_complete(table, out, &err->why))
		return true;
	err->code = RPC_INVALID_PARAMS;
	return false;
}

bool request_is_empty(const json_t *params, struct rpc_error *err)
{
	struct nothing nothing;

	return request_read(nothing_fields, &nothing, params, err);
}
