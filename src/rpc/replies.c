/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text that goes back for a message, made piece by piece. Which method
 * answers what is answer.c's.
 */
#include "rpc/replies.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

/* An error without data and with one of the texts below, but for its id; and
 * what stands between two replies. */
enum { SHORT_BYTES = 160 };

static const char too_long[] = "reply too long: ask for a part (\"limit\")";

static size_t short_bytes(const json_t *id)
{
	char none[1];

	return SHORT_BYTES +
	       (id ? json_dumpb(id, none, 0, JSON_ENCODE_ANY) : 4);
}

/* The room that the shortest replies to all of @doc take. */
static size_t shortest(const struct jsonrpc_doc *doc)
{
	size_t bytes = 0;

	for (size_t i = 0; i < doc->count; i++) {
		struct jsonrpc_message m = jsonrpc_at(doc, i);

		if (m.kind == JSONRPC_CALL || m.kind == JSONRPC_INVALID)
			bytes += short_bytes(m.id);
	}
	return bytes;
}

struct replies *replies_new(struct peer *p, const struct jsonrpc_doc *doc)
{
	struct replies *to = malloc(sizeof(*to));
	size_t reserved = shortest(doc);
	size_t max = transport_message_max(p->transport);

	if (!to) {
		peer_unanswered(p);
		return NULL;
	}
	if (reserved > max) {
		peer_refuse(p, RPC_TOO_LONG, "reply too long: ask for less");
		free(to);
		return NULL;
	}
	*to = (struct replies){
		.server = p->server,
		.peer = p,
		.batch = doc->batch,
		.pending = 1,
		.reserved = reserved,
		.max = max,
	};
	LIST_INSERT_HEAD(&p->replies, to, link);
	p->pending++;
	return to;
}

static bool reserve(struct replies *to, size_t more)
{
	size_t size = to->size ? to->size : 256;
	char *text;

	if (to->bytes + more <= to->size)
		return true;
	while (size < to->bytes + more)
		size *= 2;
	text = realloc(to->text, size);
	if (!text)
		return false;
	to->text = text;
	to->size = size;
	return true;
}

/* With a mark before it in a batch, and room for the one behind it. */
static void append(struct replies *to, const char *one)
{
	size_t bytes = strlen(one);

	if (!reserve(to, bytes + 2)) {
		to->lost = true;
		return;
	}
	if (to->batch)
		to->text[to->bytes++] = to->count ? ',' : '[';
	memcpy(to->text + to->bytes, one, bytes);
	to->bytes += bytes;
	to->count++;
}

static bool fits(const struct replies *to, const char *one)
{
	return to->bytes + strlen(one) + 2 + to->reserved <= to->max;
}

void replies_add(struct replies *to, const json_t *id, json_t *one)
{
	char *text = jsonrpc_text(one);

	to->reserved -= short_bytes(id);
	if (!to->peer) { /* nobody hears it */
		to->count++;
		free(text);
		return;
	}
	if (text && !fits(to, text)) {
		free(text);
		to->full = true;
		rpc_count_error(to->server, RPC_TOO_LONG);
		text = jsonrpc_text(
			jsonrpc_error(id, RPC_TOO_LONG, too_long, NULL));
		CR_ASSERT(!text || fits(to, text));
	}
	if (text)
		append(to, text);
	else
		to->lost = true;
	free(text);
}

void replies_refuse(struct replies *to, const json_t *id, int code,
		    const char *message, json_t *details)
{
	rpc_count_error(to->server, code);
	replies_add(to, id, jsonrpc_error(id, code, message, details));
}

static void send_all(struct replies *to)
{
	if (!to->count)
		return;
	if (to->batch)
		to->text[to->bytes++] = ']';
	peer_reply(to->peer, to->text, to->bytes);
}

void replies_settle(struct replies *to)
{
	struct peer *p = to->peer;

	if (--to->pending)
		return;
	if (!p || p->gone || p->leaving) {
		to->server->count.replies_lost += to->count;
	} else if (to->lost) {
		to->server->count.replies_lost += to->count;
		peer_unanswered(p);
	} else {
		send_all(to);
		if (to->bye && !p->gone)
			peer_leave(p);
	}
	if (p) {
		LIST_REMOVE(to, link);
		peer_settled(p);
	}
	free(to->text);
	free(to);
}

size_t replies_weight(const struct peer *p)
{
	const struct replies *to;
	size_t bytes = 0;

	LIST_FOREACH(to, &p->replies, link)
	bytes += to->size +
		 (to->batch || to != p->server->asked ? to->reserved : 0);
	return bytes;
}

void replies_forget(struct peer *p)
{
	struct replies *to;

	while ((to = LIST_FIRST(&p->replies))) {
		LIST_REMOVE(to, link);
		to->peer = NULL;
		free(to->text);
		to->text = NULL;
		to->bytes = to->size = 0;
	}
}
