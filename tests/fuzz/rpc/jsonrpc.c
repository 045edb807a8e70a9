/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a JSON-RPC text: what parses is one of the five kinds with the
 * members that kind has, and replies to it can be built and parsed again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "rpc/jsonrpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* @built (taken over) is text that parses to one message of @kind. */
static void check_built(json_t *built, enum jsonrpc_kind kind)
{
	char *text = jsonrpc_text(built);
	struct jsonrpc_doc doc;

	CR_ASSERT(text);
	CR_ASSERT(!jsonrpc_parse(&doc, text, strlen(text), NULL));
	CR_ASSERT(doc.count == 1 && jsonrpc_at(&doc, 0).kind == kind);
	jsonrpc_doc_free(&doc);
	free(text);
}

static void check(const struct jsonrpc_message *m)
{
	switch (m->kind) {
	case JSONRPC_CALL:
		CR_ASSERT(m->method && m->id);
		check_built(jsonrpc_result(m->id, json_object()),
			    JSONRPC_RESULT);
		check_built(
			jsonrpc_error(m->id, RPC_NO_METHOD, m->method, NULL),
			JSONRPC_ERROR);
		break;
	case JSONRPC_NOTIFICATION:
		CR_ASSERT(m->method && !m->id);
		check_built(jsonrpc_request(m->method, NULL, 0),
			    JSONRPC_NOTIFICATION);
		break;
	case JSONRPC_RESULT:
		CR_ASSERT(m->id && m->result && !m->error);
		break;
	case JSONRPC_ERROR:
		CR_ASSERT(m->id && m->error && !m->result);
		break;
	case JSONRPC_INVALID:
		CR_ASSERT(m->why);
		check_built(
			jsonrpc_error(m->id, RPC_INVALID_REQUEST, m->why, NULL),
			JSONRPC_ERROR);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jsonrpc_doc doc;
	struct cr_err why = { 0 };

	if (jsonrpc_parse(&doc, (const char *)data, size, &why)) {
		CR_ASSERT(why.text[0]);
		return 0;
	}
	CR_ASSERT(doc.count >= 1 && doc.count <= JSONRPC_BATCH_MAX);
	for (size_t i = 0; i < doc.count; i++) {
		struct jsonrpc_message m = jsonrpc_at(&doc, i);

		check(&m);
	}
	jsonrpc_doc_free(&doc);
	return 0;
}
