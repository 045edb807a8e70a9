/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC server: from a message to its replies, by the owner's methods.
 * Associations and queues are rpc_server.c's.
 */
#include "control/rpc_answer.h"

#include <stdlib.h>
#include <string.h>

static void count_error(struct rpc_server *s, int code)
{
	unsigned i = 0;

	while (i < RPC_ERROR_KINDS - 1 && s->count.error[i].count &&
	       s->count.error[i].code != code)
		i++;
	s->count.error[i].code = code;
	s->count.error[i].count++;
}

static json_t *refuse(struct peer *p, const json_t *id, int code,
		      const char *message, json_t *details)
{
	count_error(p->server, code);
	return jsonrpc_error(id, code, message, details);
}

static const struct rpc_method *method_named(const struct rpc_server *s,
					     const char *name)
{
	const struct rpc_method *m = s->cfg.methods;

	while (m->name && strcmp(m->name, name) != 0)
		m++;
	return m->name ? m : NULL;
}

/* The result of calling the owner's method, or NULL with @err. */
static json_t *call(struct peer *p, const struct jsonrpc_message *m,
		    struct rpc_error *err)
{
	struct rpc_server *s = p->server;
	const struct rpc_method *method = method_named(s, m->method);
	json_t *result;

	if (!strcmp(m->method, "bye")) {
		p->said_bye = true;
		return json_object();
	}
	if (!method) {
		err->code = RPC_NO_METHOD;
		(void)cr_fail(&err->why, 0, "Method not found: '%.100s'",
			      m->method);
		return NULL;
	}
	result = method->handle(s->cfg.arg, &p->pub, m->params, err);
	if (!result && !err->code)
		err->code = RPC_INTERNAL;
	return result;
}

/* The reply to one message; NULL: it gets none. */
static json_t *reply_to(struct peer *p, const struct jsonrpc_message *m)
{
	struct rpc_error err = { 0 };
	json_t *result;

	if (m->kind == JSONRPC_INVALID)
		return refuse(p, m->id, RPC_INVALID_REQUEST, m->why, NULL);
	if (m->kind == JSONRPC_RESULT || m->kind == JSONRPC_ERROR)
		return NULL; /* we never ask */
	if (m->kind == JSONRPC_CALL)
		p->server->count.requests++;
	else
		p->server->count.notifications++;
	result = call(p, m, &err);
	if (m->kind == JSONRPC_NOTIFICATION) {
		json_decref(result);
		json_decref(err.data);
		return NULL;
	}
	if (result)
		return jsonrpc_result(m->id, result);
	return refuse(p, m->id, err.code, err.why.text, err.data);
}

static json_t *replies_to(struct peer *p, const struct jsonrpc_doc *doc)
{
	struct jsonrpc_message m = jsonrpc_at(doc, 0);
	json_t *all, *one;

	if (!doc->batch)
		return reply_to(p, &m);
	all = json_array();
	for (size_t i = 0; i < doc->count; i++) {
		m = jsonrpc_at(doc, i);
		one = reply_to(p, &m);
		if (one)
			(void)json_array_append_new(all, one);
	}
	if (json_array_size(all))
		return all;
	json_decref(all);
	return NULL;
}

static void send_text(struct peer *p, json_t *reply)
{
	char *text = jsonrpc_text(reply);

	if (text)
		peer_reply(p, text, strlen(text));
	else
		p->server->count.replies_lost++;
	free(text);
}

/* Send @reply (taken over); too long a reply gives way to an error. */
static void send_reply(struct peer *p, json_t *reply)
{
	json_t *id = json_incref(json_object_get(reply, "id"));
	char *text = jsonrpc_text(reply);

	if (text && strlen(text) <= transport_message_max(p->server->transport))
		peer_reply(p, text, strlen(text));
	else if (text)
		send_text(p,
			  refuse(p, id, RPC_INTERNAL,
				 "reply too long: ask for a part (\"limit\")",
				 NULL));
	else
		p->server->count.replies_lost++;
	free(text);
	json_decref(id);
}

void answer(struct peer *p, const char *text, size_t bytes)
{
	struct jsonrpc_doc doc;
	struct cr_err why = { 0 };
	int code = jsonrpc_parse(&doc, text, bytes, &why);
	json_t *reply;

	p->server->count.messages_in++;
	if (code) {
		send_text(p, refuse(p, NULL, code, why.text, NULL));
		return;
	}
	reply = replies_to(p, &doc);
	jsonrpc_doc_free(&doc);
	if (reply)
		send_reply(p, reply);
	if (p->said_bye && !p->leaving && !p->gone)
		peer_leave(p);
}

void answer_too_long(struct peer *p)
{
	struct cr_err why = { 0 };

	(void)cr_fail(&why, 0, "Invalid Request: longer than %zu bytes",
		      p->server->cfg.message_max);
	p->server->count.messages_in++;
	send_text(p, refuse(p, NULL, RPC_INVALID_REQUEST, why.text, NULL));
}
