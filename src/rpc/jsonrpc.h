/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0 (jsonrpc.org/specification): text to messages and back; and the
 * protocol's error codes.
 *
 * Pure: no input or output, no state. Stricter than the standard where that
 * hurts nobody: a key given twice is a parse error, a batch is bounded.
 */
#ifndef RPC_JSONRPC_H
#define RPC_JSONRPC_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "cr/error.h"

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

/** The form of JSON: reals as 0.1, without digits that say nothing. */
#define JSONRPC_REALS JSON_REAL_PRECISION(15)
#define JSONRPC_DUMP (JSON_COMPACT | JSONRPC_REALS)

/** Most messages in one batch. */
enum { JSONRPC_BATCH_MAX = 256 };

enum jsonrpc_kind {
	JSONRPC_CALL,	      /**< method, id; params or NULL     */
	JSONRPC_NOTIFICATION, /**< method; params or NULL         */
	JSONRPC_RESULT,	      /**< id, result                     */
	JSONRPC_ERROR,	      /**< id, error (an error object)    */
	JSONRPC_INVALID	      /**< why; id where it could be read */
};

/** One message; all pointers are borrowed from its document. */
struct jsonrpc_message {
	enum jsonrpc_kind kind;
	const char *method;
	const json_t *params, *id, *result, *error;
	const char *why;
};

/** The messages of one text. */
struct jsonrpc_doc {
	json_t *root;
	bool batch;
	size_t count; /**< messages, at least 1 */
};

/**
 * Parse @text. Returns 0 (then free @doc by jsonrpc_doc_free()), or
 * RPC_PARSE_ERROR, RPC_INVALID_REQUEST or RPC_INTERNAL (no memory) with @why;
 * @doc is untouched then.
 */
int jsonrpc_parse(struct jsonrpc_doc *doc, const char *text, size_t bytes,
		  struct cr_err *why);

/** Have jansson's allocations noted, of the whole process: who builds a value
 * does not look at each of its members. */
void jsonrpc_note_memory(void);

/** Has this thread had no memory for some of a value since it last asked? */
bool jsonrpc_lacked(void);

/** Message @i of @doc, checked as section 4 and 5 demand. */
struct jsonrpc_message jsonrpc_at(const struct jsonrpc_doc *doc, size_t i);

void jsonrpc_doc_free(struct jsonrpc_doc *doc);

/** A request; @id 0: a notification. Takes over @params (may be NULL).
 * NULL: no memory. */
json_t *jsonrpc_request(const char *method, json_t *params, json_int_t id);

/** A reply; @id is borrowed (NULL: null), @result taken over. NULL: no
 * memory. */
json_t *jsonrpc_result(const json_t *id, json_t *result);

/** An error reply; @id is borrowed (NULL: null), @message empty: the code's
 * own, @data taken over (may be NULL). NULL: no memory. */
json_t *jsonrpc_error(const json_t *id, int code, const char *message,
		      json_t *data);

/** The compact text of @message, which is taken over; free() it. NULL: no
 * memory. */
char *jsonrpc_text(json_t *message);

/** "Method not found" and the like; "Server error" for unknown ones. */
const char *jsonrpc_code_text(int code);

#endif
