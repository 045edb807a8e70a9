/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0 on jansson: parse, classify, build; and the protocol's error
 * codes. Says what is wrong with a message, never what to do about it.
 */
#include "rpc/jsonrpc.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"

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
	  "a parameter is missing, unknown, out of range or contradicts "
	  "another; the message names it and the remedy" },
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

static _Thread_local bool lacked;

static void *noted_malloc(size_t bytes)
{
	void *p = malloc(bytes);

	lacked |= !p;
	return p;
}

void jsonrpc_note_memory(void)
{
	json_set_alloc_funcs(noted_malloc, free);
}

bool jsonrpc_lacked(void)
{
	bool was = lacked;

	lacked = false;
	return was;
}

int jsonrpc_parse(struct jsonrpc_doc *doc, const char *text, size_t bytes,
		  struct cr_err *why)
{
	json_error_t error;
	json_t *root;
	size_t count;
	bool batch;

	if (!memory_for_json(bytes))
		return cr_fail(why, RPC_INTERNAL, "out of memory");
	root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			  &error);
	batch = json_is_array(root);
	count = batch ? json_array_size(root) : 1;
	if (!root)
		return cr_fail(why, RPC_PARSE_ERROR,
			       "Parse error: line %d column %d: %s", error.line,
			       error.column, error.text);
	if (count > 0 && count <= JSONRPC_BATCH_MAX) {
		*doc = (struct jsonrpc_doc){ root, batch, count };
		return 0;
	}
	json_decref(root);
	if (!count)
		return cr_fail(why, RPC_INVALID_REQUEST,
			       "Invalid Request: empty batch");
	return cr_fail(why, RPC_INVALID_REQUEST,
		       "Invalid Request: batch of %zu, at most %d allowed",
		       count, JSONRPC_BATCH_MAX);
}

void jsonrpc_doc_free(struct jsonrpc_doc *doc)
{
	json_decref(doc->root);
	doc->root = NULL;
}

static struct jsonrpc_message invalid(struct jsonrpc_message m, const char *why)
{
	m.kind = JSONRPC_INVALID;
	m.why = why;
	return m;
}

static struct jsonrpc_message request_of(struct jsonrpc_message m,
					 const json_t *object)
{
	const json_t *method = json_object_get(object, "method");

	m.method = json_string_value(method);
	m.params = json_object_get(object, "params");
	if (!m.method)
		return invalid(m, "Invalid Request: 'method' must be a string");
	if (m.params && !json_is_object(m.params) && !json_is_array(m.params))
		return invalid(m, "Invalid Request: 'params' must be an object "
				  "or an array");
	m.kind = m.id ? JSONRPC_CALL : JSONRPC_NOTIFICATION;
	return m;
}

static struct jsonrpc_message response(struct jsonrpc_message m,
				       const json_t *object)
{
	m.result = json_object_get(object, "result");
	m.error = json_object_get(object, "error");
	if (!m.result && !m.error)
		return invalid(m, "Invalid Request: no 'method'");
	if (m.result && m.error)
		return invalid(m, "Invalid Request: both 'result' and 'error'");
	if (!m.id)
		return invalid(m, "Invalid Request: response without 'id'");
	if (m.error && (!json_is_integer(json_object_get(m.error, "code")) ||
			!json_is_string(json_object_get(m.error, "message"))))
		return invalid(m, "Invalid Request: 'error' must have 'code' "
				  "and 'message'");
	m.kind = m.error ? JSONRPC_ERROR : JSONRPC_RESULT;
	return m;
}

struct jsonrpc_message jsonrpc_at(const struct jsonrpc_doc *doc, size_t i)
{
	const json_t *object =
		doc->batch ? json_array_get(doc->root, i) : doc->root;
	const json_t *id = json_object_get(object, "id");
	const char *version =
		json_string_value(json_object_get(object, "jsonrpc"));
	struct jsonrpc_message m = { .kind = JSONRPC_INVALID };

	if (!json_is_object(object))
		return invalid(m, "Invalid Request: not an object");
	if (id && !json_is_string(id) && !json_is_number(id) &&
	    !json_is_null(id))
		return invalid(m, "Invalid Request: 'id' must be a string, a "
				  "number or null");
	m.id = id;
	if (!version || strcmp(version, "2.0") != 0)
		return invalid(m, "Invalid Request: 'jsonrpc' must be \"2.0\"");
	return json_object_get(object, "method") ? request_of(m, object)
						 : response(m, object);
}

json_t *jsonrpc_request(const char *method, json_t *params, json_int_t id)
{
	json_t *m = json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method",
			      method, "params", params);

	if (m && id && json_object_set_new(m, "id", json_integer(id))) {
		json_decref(m);
		return NULL;
	}
	return m;
}

/* A reference of our own to a borrowed id; null for none. */
static json_t *id_of(const json_t *id)
{
	return id ? json_deep_copy(id) : json_null();
}

json_t *jsonrpc_result(const json_t *id, json_t *result)
{
	return json_pack("{s:s, s:o, s:o}", "jsonrpc", "2.0", "result", result,
			 "id", id_of(id));
}

json_t *jsonrpc_error(const json_t *id, int code, const char *message,
		      json_t *data)
{
	char *whole = message[0] ? strdup(message) : NULL;
	json_t *text = NULL;

	if (whole) { /* a quoted value may be cut within a character */
		utf8_mark(whole);
		text = json_string(whole);
	}
	free(whole);
	if (!text)
		text = json_string(jsonrpc_code_text(code));
	return json_pack("{s:s, s:{s:i, s:o, s:o*}, s:o}", "jsonrpc", "2.0",
			 "error", "code", code, "message", text, "data", data,
			 "id", id_of(id));
}

char *jsonrpc_text(json_t *message)
{
	char *text = message ? json_dumps(message, JSONRPC_DUMP) : NULL;

	json_decref(message);
	return text;
}

const char *jsonrpc_code_text(int code)
{
	for (const struct rpc_code_row *r = rpc_codes; r->name; r++)
		if (r->code == code)
			return r->name;
	return "Server error";
}
