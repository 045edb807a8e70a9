/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC server: from a message to its replies, by the owner's methods.
 * Associations and queues are server.c's.
 */
#include "rpc/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/nearest.h"
#include "rpc/replies.h"
#include "rpc/fair_queue.h"
#include "rpc/weight.h"

/* Of those, a hint names the nearest. */
enum { METHODS_MAX = 64 };

struct rpc_later {
	struct replies *to;
	json_t *id; /* NULL: a notification */
	struct rpc_noted noted;
};

/* Of a request's parameters: no object within one within one is looked into. */
enum { DEPTH_MAX = 2 };

void rpc_count_error(struct rpc_server *s, int code)
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

static const struct rpc_method *method_named(const struct rpc_server *s,
					     const char *name)
{
	const struct rpc_method *m = s->cfg.methods;

	while (m->name && strcmp(m->name, name) != 0)
		m++;
	return m->name ? m : NULL;
}

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
static json_t *bye(struct peer *p, const json_t *params, struct rpc_error *err)
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
static void add_members(char *text, const char *within, const json_t *object,
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
			add_members(text, name, value, depth + 1);
		else
			add_value(text, name, value);
	}
}

static void note(struct rpc_noted *to, const struct peer *p,
		 const struct rpc_method *method, const json_t *params)
{
	to->method = NULL;
	if (!method || !method->changes || !p->server->cfg.answered)
		return;
	to->method = method;
	memcpy(to->peer, p->pub.address, sizeof(to->peer));
	*to->what = '\0';
	add_members(to->what, "", params, 1);
}

static void tell(const struct rpc_server *s, const struct rpc_noted *noted,
		 const json_t *result, const struct rpc_error *err)
{
	if (noted->method)
		s->cfg.answered(s->cfg.arg, noted, result, err);
}

/* --- */

/* The result of calling the owner's method, or NULL with @err. */
static json_t *call(struct peer *p, const struct jsonrpc_message *m,
		    struct rpc_error *err)
{
	struct rpc_server *s = p->server;
	const struct rpc_method *method = method_named(s, m->method);
	json_t *result;

	note(&s->noted, p, method, m->params);
	if (!strcmp(m->method, "bye"))
		return bye(p, m->params, err);
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

/* What is behind a reply that did not fit. Notifications, too: what they build
 * on may not have been run. */
static void pass_over(struct replies *to, const struct jsonrpc_message *m)
{
	if (m->kind == JSONRPC_CALL || m->kind == JSONRPC_INVALID)
		replies_refuse(to, m->id, RPC_NOT_RUN,
			       "not run: the replies before it fill the "
			       "message; ask again",
			       NULL);
}

static void run(struct peer *p, struct replies *to,
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
	s->asked = to;
	s->asked_id = id;
	(void)jsonrpc_lacked();
	result = call(p, m, &err);
	s->asked = NULL;
	if (err.later)
		return;
	tell(s, &s->noted, result, &err);
	add_reply(to, id, result, &err);
}

static void reply_to(struct peer *p, struct replies *to,
		     const struct jsonrpc_message *m)
{
	if (m->kind == JSONRPC_RESULT || m->kind == JSONRPC_ERROR)
		return; /* we never ask */
	if (to->full)
		pass_over(to, m);
	else if (m->kind == JSONRPC_INVALID)
		replies_refuse(to, m->id, RPC_INVALID_REQUEST, m->why, NULL);
	else
		run(p, to, m);
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
	tell(s, &later->noted, result, err);
	add_reply(to, later->id, result, err);
	json_decref(later->id);
	free(later);
	s->nlater--;
	if (p)
		p->nlater--;
	replies_settle(to);
	if (p) {
		weight_look(p);
		fair_queue_wake(p);
	}
	if (!s->asked)
		peers_reap(s);
}

void peer_refuse(struct peer *p, int code, const char *why)
{
	char *text = jsonrpc_text(jsonrpc_error(NULL, code, why, NULL));

	rpc_count_error(p->server, code);
	if (text)
		peer_reply(p, text, strlen(text));
	else
		peer_unanswered(p);
	free(text);
}

void answer_member(struct peer *p)
{
	struct batch *b = &p->batch;
	struct replies *to = b->to;
	struct jsonrpc_message m = jsonrpc_at(&b->doc, b->next++);

	reply_to(p, to, &m);
	if (b->next < b->doc.count) {
		weight_look(p);
		return;
	}
	jsonrpc_doc_free(&b->doc);
	*b = (struct batch){ 0 };
	replies_settle(to);
	weight_look(p);
}

void answer(struct peer *p, const char *text, size_t bytes)
{
	struct batch b = { 0 };
	struct cr_err why = { 0 };
	int code = jsonrpc_parse(&b.doc, text, bytes, &why);

	p->server->count.messages_in++;
	if (code == RPC_INTERNAL) { /* it would wait for its reply */
		peer_unanswered(p);
		return;
	}
	if (code) {
		peer_refuse(p, code, why.text);
		return;
	}
	b.to = replies_new(p, &b.doc);
	if (!b.to) {
		jsonrpc_doc_free(&b.doc);
		return;
	}
	p->batch = b;
	if (b.doc.count == 1) {
		answer_member(p);
		return;
	}
	p->batch.weight = jsonrpc_doc_weight(&b.doc);
	weight_look(p);
}

void answer_too_long(struct peer *p)
{
	struct cr_err why = { 0 };

	(void)cr_fail(&why, 0, "Invalid Request: longer than %zu bytes",
		      p->server->cfg.message_max);
	p->server->count.messages_in++;
	peer_refuse(p, RPC_INVALID_REQUEST, why.text);
}
