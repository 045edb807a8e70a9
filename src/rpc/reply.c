/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC server: from a message to its replies, by the owner's methods; the
 * text that goes back, made piece by piece. Associations, queues and what all
 * peers hold are server.c's.
 */
#include "rpc/reply.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"

/*
 * The answer to one message, as text: of a request its reply, of a batch
 * the replies to all its members. It never grows beyond what the transport
 * takes. Room for a short error is kept for every member that has not been
 * answered yet, so that each of them is answered, whatever the others say.
 */
struct replies {
	struct rpc_server *server;
	struct peer *peer; /**< NULL: it has gone */
	LIST_ENTRY(replies) link;
	bool batch;
	bool bye;  /**< among the requests: the peer leaves when all are out */
	bool full; /**< one did not fit: no other member is run     */
	bool lost; /**< there was no memory for one                 */
	unsigned pending; /**< later ones, and one while methods are called */
	unsigned count;	  /**< replies that are there                       */
	char *text;	  /**< of these: "[one,two" of a batch              */
	size_t bytes, size;
	size_t reserved; /**< for those that are not there  */
	size_t max;	 /**< for all                       */
	size_t weight;	 /**< of it in peer->unfinished     */
};

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

/** One more error reply for the statistics. */
static void rpc_count_error(struct rpc_server *s, int code)
{
	unsigned i = 0;

	while (i < s->count.nerrors && i < RPC_ERROR_KINDS - 1 &&
	       s->count.errors[i].code != code)
		i++;
	if (i == s->count.nerrors)
		s->count.nerrors++;
	s->count.errors[i].code = code;
	s->count.errors[i].count++;
}

/** Answer a message that cannot be taken apart: an error without an id. */
static void peer_refuse(struct peer *p, int code, const char *why)
{
	char *text = jsonrpc_text(jsonrpc_error(NULL, code, why, NULL));

	rpc_count_error(p->server, code);
	if (text)
		peer_reply(p, text, strlen(text));
	else
		peer_unanswered(p);
	free(text);
}

/** For the message @doc of @p, which @p lists. NULL: out of memory, or not even
 * the short errors fit; @p has been answered. */
static struct replies *replies_new(struct peer *p,
				   const struct jsonrpc_doc *doc)
{
	struct replies *to = malloc(sizeof(*to));
	size_t reserved = 0, max = transport_message_max(p->transport);

	if (!to) {
		peer_unanswered(p);
		return NULL;
	}
	/* the room that the shortest replies to all of @doc take */
	for (size_t i = 0; i < doc->count; i++) {
		struct jsonrpc_message m = jsonrpc_at(doc, i);

		if (m.kind == JSONRPC_CALL || m.kind == JSONRPC_INVALID)
			reserved += short_bytes(m.id);
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
	return to;
}

/* With a mark before it in a batch, and room for the one behind it. */
static void append_reply(struct replies *to, const char *one)
{
	size_t bytes = strlen(one);
	size_t size = to->size ? to->size : 256;

	while (size < to->bytes + bytes + 2)
		size *= 2;
	if (size > to->size) {
		char *text = realloc(to->text, size);

		if (!text) {
			to->lost = true;
			return;
		}
		to->text = text;
		to->size = size;
	}
	if (to->batch)
		to->text[to->bytes++] = to->count ? ',' : '[';
	memcpy(to->text + to->bytes, one, bytes);
	to->bytes += bytes;
	to->count++;
}

static bool reply_fits(const struct replies *to, const char *one)
{
	return to->bytes + strlen(one) + 2 + to->reserved <= to->max;
}

/** The reply @one (taken over) to @id (NULL: null). When it does not fit, it
 * gives way to RPC_TOO_LONG, and @to is full. */
static void replies_add(struct replies *to, const json_t *id, json_t *one)
{
	char *text = jsonrpc_text(one);

	to->reserved -= short_bytes(id);
	if (!to->peer) { /* no client gets it */
		to->count++;
		free(text);
		return;
	}
	if (text && !reply_fits(to, text)) {
		free(text);
		to->full = true;
		rpc_count_error(to->server, RPC_TOO_LONG);
		text = jsonrpc_text(
			jsonrpc_error(id, RPC_TOO_LONG, too_long, NULL));
		CR_ASSERT(!text || reply_fits(to, text));
	}
	if (text)
		append_reply(to, text);
	else
		to->lost = true;
	free(text);
}

/** An error as the reply to @id; counts it. @details is taken over. */
static void replies_refuse(struct replies *to, const json_t *id, int code,
			   const char *message, json_t *details)
{
	rpc_count_error(to->server, code);
	replies_add(to, id, jsonrpc_error(id, code, message, details));
}

/** One that was pending is there. The last one sends them all, if the peer is
 * still there, and frees @to. A peer that would wait in vain for one that is
 * lost is cut off instead. */
static void replies_settle(struct replies *to)
{
	struct peer *p = to->peer;

	to->pending--;
	if (p) {
		p->unfinished -= to->weight;
		to->weight = to->pending ? to->size + to->reserved : 0;
		p->unfinished += to->weight;
	}
	if (to->pending)
		return;
	if (p)
		LIST_REMOVE(to, link);
	if (!p || p->gone || p->leaving) {
		to->server->count.replies_lost += to->count;
	} else if (to->lost) {
		to->server->count.replies_lost += to->count;
		peer_unanswered(p);
	} else {
		if (to->count) {
			if (to->batch)
				to->text[to->bytes++] = ']';
			peer_reply(p, to->text, to->bytes);
		}
		if (!p->gone &&
		    (to->bye || (p->done && LIST_EMPTY(&p->replies))))
			peer_leave(p);
	}
	free(to->text);
	free(to);
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

/* Of those, a hint names the nearest. */
enum { METHODS_MAX = 64 };

struct rpc_later {
	struct replies *to;
	json_t *id; /* NULL: a notification */
	struct rpc_noted noted;
};

/* Of a request's parameters: no object within one within one is looked into. */
enum { DEPTH_MAX = 2 };

static json_t *refuse_method(const struct rpc_server *s, const char *name,
			     struct rpc_error *err)
{
	const char *names[METHODS_MAX + 2] = { "bye" };
	char hint[400];

	for (unsigned i = 0; s->cfg.methods[i].name && i < METHODS_MAX; i++)
		names[i + 1] = s->cfg.methods[i].name;
	err->code = RPC_NO_METHOD;
	(void)cr_fail(&err->why, 0, "Method not found: '%.100s'; %s", name,
		      nearest_hint(name, names, hint, sizeof(hint)));
	return NULL;
}

/* The peer leaves when it has its reply. */
static json_t *answer_bye(struct peer *p, const json_t *params,
			  struct rpc_error *err)
{
	if (json_object_size(params) || json_array_size(params)) {
		err->code = RPC_INVALID_PARAMS;
		(void)cr_fail(&err->why, 0,
			      "bye: unknown member; it takes no parameters");
		return NULL;
	}
	p->said_bye = true;
	p->server->asked->bye = true;
	return json_object();
}

/* --- what is noted of requests that change something --- */

static void add_value(char *text, const char *name, const json_t *value)
{
	size_t n = strlen(text), left = RPC_WHAT_MAX - n;

	text += n;
	n = (size_t)snprintf(text, left, "%s%s=", n ? " " : "", name);
	if (n >= left)
		return;
	text += n;
	left -= n;
	if (json_is_string(value))
		(void)snprintf(text, left, "%s", json_string_value(value));
	else if (json_is_integer(value))
		(void)snprintf(text, left, "%lld",
			       (long long)json_integer_value(value));
	else if (json_is_real(value))
		(void)snprintf(text, left, "%g", json_real_value(value));
	else if (json_is_boolean(value))
		(void)snprintf(text, left, "%s",
			       json_is_true(value) ? "true" : "false");
	else
		(void)snprintf(text, left, "%s",
			       json_is_null(value) ? "null" : "...");
}

/* As much of them as there is room for, "call=7 out.codec=amr". */
static void note_members(char *text, const char *within, const json_t *object,
			 unsigned depth)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, key, value) {
		char name[80];

		if (strlen(text) >= RPC_WHAT_MAX - 1)
			return;
		(void)snprintf(name, sizeof(name), "%s%s%s", within,
			       *within ? "." : "", key);
		if (json_is_object(value) && depth < DEPTH_MAX)
			note_members(text, name, value, depth + 1);
		else
			add_value(text, name, value);
	}
}

static void note_request(struct rpc_noted *to, const struct peer *p,
			 const struct rpc_method *method, const json_t *params)
{
	to->method = NULL;
	if (!method || !method->changes || !p->server->cfg.answered)
		return;
	to->method = method;
	memcpy(to->peer, p->pub.address, sizeof(to->peer));
	*to->what = '\0';
	note_members(to->what, "", params, 1);
}

static void report_change(const struct rpc_server *s,
			  const struct rpc_noted *noted, const json_t *result,
			  const struct rpc_error *err)
{
	if (noted->method)
		s->cfg.answered(s->cfg.arg, noted, result, err);
}

/* The result of calling the owner's method, or NULL with @err. */
static json_t *call_method(struct peer *p, const struct jsonrpc_message *m,
			   struct rpc_error *err)
{
	struct rpc_server *s = p->server;
	const struct rpc_method *method = s->cfg.methods;
	json_t *result;

	while (method->name && strcmp(method->name, m->method) != 0)
		method++;
	if (!method->name)
		method = NULL;
	note_request(&s->noted, p, method, m->params);
	if (!strcmp(m->method, "bye"))
		return answer_bye(p, m->params, err);
	if (s->cfg.may && !s->cfg.may(s->cfg.arg, &p->pub, m->method, err))
		return NULL;
	if (!method)
		return refuse_method(s, m->method, err);
	result = method->handle(s->cfg.arg, &p->pub, m->params, err);
	if (!result && !err->code && !err->later)
		err->code = RPC_INTERNAL;
	return result;
}

/* @result, or else @err, as the reply to @id, which notifications have not. */
static void add_reply(struct replies *to, const json_t *id, json_t *result,
		      struct rpc_error *err)
{
	if (result && jsonrpc_lacked()) { /* it is not whole */
		json_decref(result);
		result = NULL;
		err->code = RPC_INTERNAL;
		(void)cr_fail(&err->why, 0,
			      "no memory for the result; what was asked may "
			      "have been done");
	}
	if (!id) {
		json_decref(result);
		json_decref(err->data);
	} else if (result) {
		replies_add(to, id, jsonrpc_result(id, result));
	} else {
		replies_refuse(to, id, err->code, err->why.text, err->data);
	}
}

static void run_method(struct peer *p, struct replies *to,
		       const struct jsonrpc_message *m)
{
	struct rpc_server *s = p->server;
	const json_t *id = m->kind == JSONRPC_CALL ? m->id : NULL;
	struct rpc_error err = { 0 };
	json_t *result;

	if (id)
		s->count.requests++;
	else
		s->count.notifications++;
	s->asked_id = id;
	(void)jsonrpc_lacked();
	result = call_method(p, m, &err);
	if (err.later)
		return;
	report_change(s, &s->noted, result, &err);
	add_reply(to, id, result, &err);
}

struct rpc_later *rpc_later(struct rpc_peer *peer, struct rpc_error *err)
{
	struct rpc_server *s = peer->server;
	struct rpc_later *later = malloc(sizeof(*later));
	json_t *id = s->asked_id ? json_deep_copy(s->asked_id) : NULL;

	CR_ASSERT(s->asked);
	if (!later || (s->asked_id && !id)) {
		json_decref(id);
		free(later);
		err->code = RPC_NO_CAPACITY;
		(void)cr_fail(&err->why, 0, "out of memory");
		return NULL;
	}
	later->to = s->asked;
	later->id = id;
	later->noted = s->noted;
	later->to->pending++;
	later->to->peer->nlater++;
	s->nlater++;
	err->later = true;
	return later;
}

void rpc_later_begin(void)
{
	(void)jsonrpc_lacked();
}

void rpc_later_reply(struct rpc_later *later, json_t *result,
		     struct rpc_error *err)
{
	struct replies *to = later->to;
	struct rpc_server *s = to->server;
	struct peer *p = to->peer;

	if (!result && !err->code)
		err->code = RPC_INTERNAL;
	report_change(s, &later->noted, result, err);
	add_reply(to, later->id, result, err);
	json_decref(later->id);
	free(later);
	s->nlater--;
	if (p)
		p->nlater--;
	replies_settle(to);
	if (p)
		weight_look(p);
}

void answer_message(struct peer *p, const char *text, size_t bytes)
{
	struct rpc_server *s = p->server;
	struct jsonrpc_doc doc;
	struct cr_err why = { 0 };
	struct replies *to;
	int code;

	s->count.messages_in++;
	code = text ? jsonrpc_parse(&doc, text, bytes, &why)
		    : RPC_INVALID_REQUEST;
	if (!text)
		(void)cr_fail(&why, 0, "Invalid Request: longer than %zu bytes",
			      s->cfg.message_max);
	if (code == RPC_INTERNAL) { /* it would wait for its reply */
		peer_unanswered(p);
		return;
	}
	if (code) {
		peer_refuse(p, code, why.text);
		return;
	}
	to = replies_new(p, &doc);
	s->asked = to;
	for (size_t i = 0; to && i < doc.count && !p->gone; i++) {
		struct jsonrpc_message m = jsonrpc_at(&doc, i);

		if (m.kind == JSONRPC_RESULT || m.kind == JSONRPC_ERROR)
			continue; /* we never ask */
		/* Messages behind a reply that did not fit. Notifications, too:
		 * what they build on may not have been run. */
		if (to->full && m.kind != JSONRPC_NOTIFICATION)
			replies_refuse(
				to, m.id, RPC_NOT_RUN,
				"not run: the replies before it fill the "
				"message; ask again",
				NULL);
		if (to->full)
			continue;
		if (m.kind == JSONRPC_INVALID)
			replies_refuse(to, m.id, RPC_INVALID_REQUEST, m.why,
				       NULL);
		else
			run_method(p, to, &m);
	}
	s->asked = NULL;
	jsonrpc_doc_free(&doc);
	if (to)
		replies_settle(to);
}
