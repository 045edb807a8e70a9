/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any message as a request: what is refused is said in words that every reader
 * of JSON takes, and what is read keeps to its bounds.
 */
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "ng/message.h"
#include "ng/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const char *text)
{
	json_t *words = ng_result("error", "error-reason", text);

	CR_ASSERT(words &&
		  json_string_length(json_object_get(words, "error-reason")));
	json_decref(words);
}

static void check_name(const char *name)
{
	CR_ASSERT(!name || strlen(name) <= NG_NAME_MAX);
}

static void check_read(const struct ng_request *r)
{
	CR_ASSERT(r->command < NG_COMMANDS);
	CR_ASSERT(r->nunknown <= NG_UNKNOWN_MAX);
	CR_ASSERT(r->ptime <= 1000 && r->ptime_reverse <= 1000);
	check_name(r->call_id);
	check_name(r->key.from);
	check_name(r->key.to);
	check_name(r->key.branch);
	CR_ASSERT(r->codecs.n <= CODEC_RULES_MAX);
	if (*r->warning.text)
		check_words(r->warning.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ng_request r;
	struct ng_message m;
	struct cr_err e;

	if (ng_message_read(&m, (const char *)data, size, &e)) {
		check_words(e.text);
		return 0;
	}
	if (ng_request_read(&r, m.body, &e))
		check_words(e.text);
	else
		check_read(&r);
	ng_message_free(&m);
	return 0;
}
