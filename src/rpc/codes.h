/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error codes of the protocol.
 */
#ifndef RPC_CODES_H
#define RPC_CODES_H

/** Error codes: JSON-RPC 2.0 section 5.1, and ours. */
enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL = -32603,
	RPC_CONNECTION_LOST = -32000, /**< made up by the client's side */
	RPC_NO_CAPACITY = 1, /**< admission refused; no memory, ports ...  */
	RPC_NO_SUCH_CALL = 2,
	RPC_UNSUPPORTED = 3, /**< codec, mode, scheduler not known         */
	RPC_DRAINING = 4,    /**< no new calls                             */
	RPC_CONFLICT = 5,    /**< SSRC or port in use, state does not fit  */
	RPC_NO_SUCH_CONVERSION = 6,
	RPC_BAD_FILE = 7, /**< missing, broken, too large, not to be written */
	RPC_TOO_LONG = 8, /**< it was run, but the reply does not fit */
	RPC_NOT_RUN = 9,  /**< of a batch: the replies before it fill it */
	RPC_DENIED = 10	  /**< SCTP, and the key has not been shown */
};

/** One code for people. */
struct rpc_code_row {
	int code;
	const char *name; /**< NULL ends the table */
	const char *help; /**< when it comes, and what to do */
};

/** All of enum rpc_code, in its order. */
extern const struct rpc_code_row rpc_codes[];

#endif
