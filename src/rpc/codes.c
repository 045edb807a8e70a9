/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error codes of the protocol.
 */
#include "rpc/codes.h"

#include <stddef.h>

const struct rpc_code_row rpc_codes[] = {
	{ RPC_PARSE_ERROR, "Parse error",
	  "the message is no JSON, or has a member twice" },
	{ RPC_INVALID_REQUEST, "Invalid Request",
	  "the message is no request of JSON-RPC 2.0, or is too long" },
	{ RPC_NO_METHOD, "Method not found",
	  "there is no such method; the message has the nearest name" },
	{ RPC_INVALID_PARAMS, "Invalid params",
	  "a parameter is missing, unknown, out of range or contradicts "
	  "another; the message names it and the way out" },
	{ RPC_INTERNAL, "Internal error",
	  "out of memory, or a fault: the log says which" },
	{ RPC_CONNECTION_LOST, "Connection lost",
	  "never sent: the client library says so of what was still asked when "
	  "the connection ended" },
	{ RPC_NO_CAPACITY, "No capacity",
	  "admission refused, the message has the figures: end calls, ask "
	  "another node, or take a cheaper codec or mode" },
	{ RPC_NO_SUCH_CALL, "No such call",
	  "there is no call with this id, or no longer" },
	{ RPC_UNSUPPORTED, "Not supported",
	  "a scheduler that is not there or does not load; something that "
	  "this node was started without" },
	{ RPC_DRAINING, "Draining",
	  "the node is about to end: take another one" },
	{ RPC_CONFLICT, "Conflict",
	  "an SSRC, a pair or a file is taken, or the state does not fit" },
	{ RPC_NO_SUCH_CONVERSION, "No such conversion",
	  "there is no conversion with this id, or no longer" },
	{ RPC_BAD_FILE, "Bad file",
	  "a file is missing, broken, too large or not to be written" },
	{ RPC_TOO_LONG, "Reply too long",
	  "the request was run, but its reply does not fit the message: ask "
	  "for a part (\"limit\")" },
	{ RPC_NOT_RUN, "Not run",
	  "of a batch: the replies before it fill the message, so it was not "
	  "run; ask again" },
	{ 0, NULL, NULL },
};
