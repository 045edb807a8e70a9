/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC server: from a message to its replies, by the owner's methods.
 * Associations and queues are server.c's.
 */
#include "rpc/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

/* What goes back for one message. */
struct replies {
	struct rpc_server *server;
	uint64_t peer; /* its id: it may go before the last reply is there */
	bool batch;
	bool bye; /* among the requests: the peer leaves when all are out */
	unsigned pending; /* later ones, and one while methods are called */
	json_t *all;	  /* array */
};

struct rpc_later {
	struct replies *to;
	json_t *id; /* NULL: a notification */
};

static void count_error(struct rpc_server *s, int code)
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

static json_t *refuse(struct rpc_server *s, const json_t *id, int code,
		      const char *message, json_t *details)
{
	count_error(s, code);
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
		s->asked->bye = true;
		return json_object();
	}
	if (!method) {
		err->code = RPC_NO_METHOD;
		(void)cr_fail(&err->why, 0, "Method not found: '%.100s'",
			      m->method);
		return NULL;
	}
	result = method->handle(s->cfg.arg, &p->pub, m->params, err);
	if (!result && !err->code && !err->later)
		err->code = RPC_INTERNAL;
	return result;
}

/* @result, or else @err, as the reply to @id, which notifications have not. */
static void add_reply(struct replies *to, const json_t *id, json_t *result,
		      struct rpc_error *err)
{
	json_t *one;

	if (!id) {
		json_decref(result);
		json_decref(err->data);
		return;
	}
	one = result ? jsonrpc_result(id, result)
		     : refuse(to->server, id, err->code, err->why.text,
			      err->data);
	(void)json_array_append_new(to->all, one);
}

static void reply_to(struct peer *p, struct replies *to,
		     const struct jsonrpc_message *m)
{
	struct rpc_server *s = p->server;
	const json_t *id = m->kind == JSONRPC_CALL ? m->id : NULL;
	struct rpc_error err = { 0 };
	json_t *result;

	if (m->kind == JSONRPC_INVALID) {
		(void)json_array_append_new(
			to->all,
			refuse(s, m->id, RPC_INVALID_REQUEST, m->why, NULL));
		return;
	}
	if (m->kind == JSONRPC_RESULT || m->kind == JSONRPC_ERROR)
		return; /* we never ask */
	if (id)
		s->count.requests++;
	else
		s->count.notifications++;
	s->asked = to;
	s->asked_id = id;
	result = call(p, m, &err);
	s->asked = NULL;
	if (!err.later)
		add_reply(to, id, result, &err);
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

	if (text && strlen(text) <= transport_message_max(p->transport))
		peer_reply(p, text, strlen(text));
	else if (text)
		send_text(p,
			  refuse(p->server, id, RPC_INTERNAL,
				 "reply too long: ask for a part (\"limit\")",
				 NULL));
	else
		p->server->count.replies_lost++;
	free(text);
	json_decref(id);
}

static struct replies *replies_new(struct peer *p, bool batch)
{
	struct replies *to = malloc(sizeof(*to));

	if (!to)
		return NULL;
	*to = (struct replies){
		.server = p->server,
		.peer = p->pub.id,
		.batch = batch,
		.pending = 1,
		.all = json_array(),
	};
	p->pending++;
	return to;
}

/* One that was pending is there. The last one sends them all to @p, who may
 * have gone: NULL. */
static void settle(struct replies *to, struct peer *p)
{
	if (--to->pending)
		return;
	if (!p)
		to->server->count.replies_lost += json_array_size(to->all);
	else if (to->batch && json_array_size(to->all))
		send_reply(p, json_incref(to->all));
	else if (json_array_size(to->all))
		send_reply(p, json_incref(json_array_get(to->all, 0)));
	if (p && to->bye && !p->gone && !p->leaving)
		peer_leave(p);
	if (p)
		peer_settled(p);
	json_decref(to->all);
	free(to);
}

struct rpc_later *rpc_later(struct rpc_peer *peer, struct rpc_error *err)
{
	struct rpc_server *s = peer->server;
	struct rpc_later *later = malloc(sizeof(*later));

	CR_ASSERT(s->asked);
	if (!later) {
		err->code = RPC_INTERNAL;
		(void)cr_fail(&err->why, 0, "out of memory");
		return NULL;
	}
	later->to = s->asked;
	later->id = s->asked_id ? json_deep_copy(s->asked_id) : NULL;
	later->to->pending++;
	s->nlater++;
	err->later = true;
	return later;
}

void rpc_later_reply(struct rpc_later *later, json_t *result,
		     struct rpc_error *err)
{
	struct replies *to = later->to;
	struct rpc_server *s = to->server;

	if (!result && !err->code)
		err->code = RPC_INTERNAL;
	add_reply(to, later->id, result, err);
	json_decref(later->id);
	free(later);
	s->nlater--;
	settle(to, peer_by_id(s, to->peer));
	if (!s->asked)
		peers_reap(s);
}

/* The replies to all that @doc asks, but those that come later. */
static void reply_to_all(struct peer *p, const struct jsonrpc_doc *doc)
{
	struct replies *to = replies_new(p, doc->batch);

	if (!to) {
		p->server->count.replies_lost++;
		return;
	}
	for (size_t i = 0; i < doc->count; i++) {
		struct jsonrpc_message m = jsonrpc_at(doc, i);

		reply_to(p, to, &m);
	}
	settle(to, p);
}

void answer(struct peer *p, const char *text, size_t bytes)
{
	struct jsonrpc_doc doc;
	struct cr_err why = { 0 };
	int code = jsonrpc_parse(&doc, text, bytes, &why);

	p->server->count.messages_in++;
	if (code) {
		send_text(p, refuse(p->server, NULL, code, why.text, NULL));
		return;
	}
	reply_to_all(p, &doc);
	jsonrpc_doc_free(&doc);
}

void answer_too_long(struct peer *p)
{
	struct cr_err why = { 0 };

	(void)cr_fail(&why, 0, "Invalid Request: longer than %zu bytes",
		      p->server->cfg.message_max);
	p->server->count.messages_in++;
	send_text(p,
		  refuse(p->server, NULL, RPC_INVALID_REQUEST, why.text, NULL));
}
