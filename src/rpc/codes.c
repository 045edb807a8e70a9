/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error codes of the protocol.
 */
#include "rpc/codes.h"

#include <stddef.h>

const struct rpc_code_row rpc_codes[] = {
	{ RPC_PARSE_ERROR, "Parse error",
	  "the message is not JSON, or has a member twice" },
	{ RPC_INVALID_REQUEST, "Invalid Request",
	  "the message is not a JSON-RPC 2.0 request, or is too "
	  "long" },
	{ RPC_NO_METHOD, "Method not found",
	  "there is no such method; the message gives the nearest "
	  "name" },
	{ RPC_INVALID_PARAMS, "Invalid params",
	  "a parameter is missing, unknown, out of range or "
	  "contradicts another; the message names it and says "
	  "what to do" },
	{ RPC_INTERNAL, "Internal error",
	  "the node has a fault, or no memory for a result; the log says "
	  "which" },
	{ RPC_CONNECTION_LOST, "Connection lost",
	  "the node never sends this; the client library reports it "
	  "for requests without a reply when the connection "
	  "ended" },
	{ RPC_NO_CAPACITY, "No capacity",
	  "admission refused the call, or the node is out of memory, threads, "
	  "file descriptors or ports; the message has the figures. End calls, "
	  "ask another node, or choose a cheaper codec or mode" },
	{ RPC_NO_SUCH_CALL, "No such call",
	  "there is no call with this id, or it has ended" },
	{ RPC_UNSUPPORTED, "Not supported",
	  "the scheduler does not exist or does not load, or the "
	  "node was started without the feature" },
	{ RPC_DRAINING, "Draining",
	  "the node is about to exit; use another one" },
	{ RPC_CONFLICT, "Conflict",
	  "an SSRC, a pair or a file is already in use, or the "
	  "present state does not allow the request" },
	{ RPC_NO_SUCH_CONVERSION, "No such conversion",
	  "there is no conversion with this id, or it is "
	  "no longer kept" },
	{ RPC_BAD_FILE, "Bad file",
	  "a file is missing, broken or too large, or cannot be "
	  "written" },
	{ RPC_TOO_LONG, "Reply too long",
	  "the request was carried out, but its reply does not fit "
	  "into a message; ask for fewer entries (\"limit\")" },
	{ RPC_NOT_RUN, "Not run",
	  "the request was part of a batch and was not carried out, "
	  "because the replies before it fill the message; send "
	  "it again" },
	{ RPC_DENIED, "Denied",
	  "control by SCTP needs the key of the node: send it in hello "
	  "(\"key\"), before anything else" },
	{ 0, NULL, NULL },
};
