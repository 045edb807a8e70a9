/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC client over one association. Requests may be sent before it is up;
 * it does not reconnect: its owner closes it and opens another.
 *
 * Callbacks may close the client: it is then freed when the event is done.
 */
#include "rpc/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "transport/transport.h"

enum { CLOSE_DEADLINE_MS = 1000 };

/* A timer that is so late was not only waiting for a busy CPU. */
#define STALL CR_SEC

/* Replies come mostly in order, so the one wanted is near the head. */
struct pending {
	TAILQ_ENTRY(pending) next;
	json_int_t id;
	rpc_reply_fn *reply;
	void *arg;
};

enum client_state { CLIENT_CONNECTING, CLIENT_UP, CLIENT_DOWN };

struct rpc_client {
	struct rpc_client_config cfg;
	struct transport *transport;
	enum client_state state;
	uint32_t assoc;
	json_int_t last_id;
	TAILQ_HEAD(, pending) pending;
	struct inbox in;
	struct outbox out;
	bool busy;		/* in on_client_event() */
	bool closed;		/* there: free afterwards */
	struct cr_err why;	/* it is down */
	struct cr_err reported; /* an error that answers no request */
};

static void client_free(struct rpc_client *c)
{
	inbox_free(&c->in);
	outbox_free(&c->out);
	free(c);
}

static void fail_pending(struct rpc_client *c)
{
	struct pending *p;
	json_t *error =
		json_pack("{s:i, s:s}", "code", RPC_CONNECTION_LOST, "message",
			  jsonrpc_code_text(RPC_CONNECTION_LOST));

	while ((p = TAILQ_FIRST(&c->pending))) {
		TAILQ_REMOVE(&c->pending, p, next);
		p->reply(p->arg, NULL, error);
		free(p);
	}
	json_decref(error);
}

static void down(struct rpc_client *c, const char *reason)
{
	if (c->state == CLIENT_DOWN)
		return;
	c->state = CLIENT_DOWN;
	(void)cr_fail(&c->why, 0, "%s", reason);
	outbox_free(&c->out);
	fail_pending(c);
	if (!c->closed && c->cfg.down)
		c->cfg.down(c->cfg.arg, c->why.text);
}

static void closed(struct rpc_client *c)
{
	struct cr_err e;

	(void)cr_fail(&e, 0, "closed by the server%s%s",
		      *c->reported.text ? ": " : "", c->reported.text);
	down(c, e.text);
}

static void replied(struct rpc_client *c, const struct jsonrpc_message *m)
{
	json_int_t id = json_integer_value(m->id);
	struct pending *p;

	TAILQ_FOREACH (p, &c->pending, next) {
		if (p->id == id)
			break;
	}
	if (!p)
		return;
	TAILQ_REMOVE(&c->pending, p, next);
	p->reply(p->arg, m->result, m->error);
	free(p);
}

static void data(struct rpc_client *c, const struct transport_event *ev)
{
	struct jsonrpc_doc doc;
	const char *text = NULL;
	size_t bytes = 0;

	if (inbox_add(&c->in, ev, TRANSPORT_MESSAGE_MAX, &text, &bytes) <= 0 ||
	    jsonrpc_parse(&doc, text, bytes, NULL))
		return;
	for (size_t i = 0; i < doc.count && c->state == CLIENT_UP; i++) {
		struct jsonrpc_message m = jsonrpc_at(&doc, i);

		if (m.kind == JSONRPC_ERROR && !json_is_integer(m.id)) {
			/* why the server will close, mostly */
			text = json_string_value(
				json_object_get(m.error, "message"));
			if (text)
				(void)cr_fail(&c->reported, 0, "%s", text);
		} else if (m.kind == JSONRPC_RESULT ||
			   m.kind == JSONRPC_ERROR) {
			replied(c, &m);
		} else if (m.kind == JSONRPC_NOTIFICATION && c->cfg.notified) {
			c->cfg.notified(c->cfg.arg, m.method, m.params);
		}
	}
	jsonrpc_doc_free(&doc);
}

static void up(struct rpc_client *c, uint32_t assoc)
{
	c->assoc = assoc;
	c->state = CLIENT_UP;
	(void)outbox_flush(&c->out, c->transport, c->assoc);
	if (c->cfg.up)
		c->cfg.up(c->cfg.arg);
}

static void handle(struct rpc_client *c, const struct transport_event *ev)
{
	switch (ev->kind) {
	case TRANSPORT_UP:
		up(c, ev->assoc);
		break;
	case TRANSPORT_DATA:
		data(c, ev);
		break;
	case TRANSPORT_ROOM:
		if (c->state == CLIENT_UP)
			(void)outbox_flush(&c->out, c->transport, c->assoc);
		break;
	case TRANSPORT_RESTART:
		transport_abort(c->transport, ev->assoc);
		down(c, "the server has restarted");
		break;
	case TRANSPORT_DONE: /* half closed is closed */
	case TRANSPORT_SHUTDOWN:
		closed(c);
		break;
	case TRANSPORT_LOST:
	case TRANSPORT_CANT_START:
		down(c, ev->reason);
		break;
	}
}

static void on_client_event(void *arg, const struct transport_event *ev)
{
	struct rpc_client *c = arg;

	bool closing = c->busy; /* in rpc_client_close(), which frees it */

	c->busy = true;
	handle(c, ev);
	c->busy = closing;
	if (c->closed && !closing)
		client_free(c);
}

int rpc_client_open(struct rpc_client **c, const struct rpc_client_config *cfg,
		    struct cr_err *e)
{
	struct rpc_client *n = calloc(1, sizeof(*n));
	struct transport_config tc = { .base = cfg->base,
				       .kind = cfg->to.path[0] ? TRANSPORT_UNIX
							       : cfg->kind,
				       .local = cfg->from,
				       .peer_timeout = cfg->peer_timeout,
				       .event = on_client_event };
	int rc;

	if (!n)
		return cr_fail(e, -ENOMEM, "out of memory");
	n->cfg = *cfg;
	TAILQ_INIT(&n->pending);
	outbox_init(&n->out);
	tc.arg = n;
	rc = transport_open(&n->transport, &tc, e);
	if (!rc)
		rc = transport_connect(n->transport, &cfg->to, e);
	if (rc) {
		transport_close(n->transport);
		free(n);
		return rc;
	}
	*c = n;
	return 0;
}

struct deadline {
	struct event *event;
	cr_ns limit, begun;
	bool late;
};

static void begin_client(struct deadline *d)
{
	const struct timeval t = { d->limit / CR_SEC,
				   d->limit % CR_SEC / CR_US };

	d->begun = clock_now();
	(void)evtimer_add(d->event, &t);
}

/* Far behind its time it shows that we were stopped: what was sent to us in
 * that time shall be heard first. */
static void on_ask_deadline(evutil_socket_t fd, short what, void *arg)
{
	struct deadline *d = arg;

	(void)fd;
	(void)what;
	if (clock_now() - d->begun - d->limit > STALL)
		begin_client(d);
	else
		d->late = true;
}

/* Run the base until @done, the client is down, or @ms have passed. Returns 0,
 * or -ETIMEDOUT, or -EDEADLK from inside a callback. */
static int run_until(struct rpc_client *c, const bool *done, unsigned ms)
{
	struct deadline d = { .limit = ms * CR_MS };
	int rc = 0;

	d.event = evtimer_new(c->cfg.base, on_ask_deadline, &d);
	if (!d.event)
		return -ENOMEM;
	begin_client(&d);
	while (!rc && !*done && c->state != CLIENT_DOWN) {
		if (d.late)
			rc = -ETIMEDOUT;
		else if (event_base_loop(c->cfg.base, EVLOOP_ONCE) < 0)
			rc = -EDEADLK;
	}
	event_free(d.event);
	return rc;
}

void rpc_client_close(struct rpc_client *c)
{
	const bool never = false;

	if (!c || c->closed)
		return;
	c->closed = true;
	fail_pending(c);
	if (c->state == CLIENT_UP && !c->busy &&
	    !transport_shutdown(c->transport, c->assoc)) {
		c->busy = true; /* on_client_event() shall not free it */
		(void)run_until(c, &never, CLOSE_DEADLINE_MS);
		c->busy = false;
	}
	c->state = CLIENT_DOWN;
	transport_close(c->transport);
	c->transport = NULL;
	if (!c->busy)
		client_free(c);
}

int rpc_client_call(struct rpc_client *c, const char *method, json_t *params,
		    rpc_reply_fn *reply, void *arg)
{
	struct pending *p;
	size_t bytes;
	char *text;
	int rc;

	if (c->state == CLIENT_DOWN || c->closed) {
		json_decref(params);
		return -ENOTCONN;
	}
	p = calloc(1, sizeof(*p));
	if (!p) {
		json_decref(params);
		return -ENOMEM;
	}
	*p = (struct pending){ .id = ++c->last_id, .reply = reply, .arg = arg };
	text = jsonrpc_text(jsonrpc_request(method, params, p->id));
	bytes = text ? strlen(text) : 0;
	if (!text)
		rc = -ENOMEM;
	else if (bytes > transport_message_max(c->transport))
		rc = -EMSGSIZE;
	else if (c->state == CLIENT_UP)
		rc = outbox_send(&c->out, c->transport, c->assoc, text, bytes);
	else
		rc = outbox_keep(&c->out, text, bytes);
	free(text);
	if (rc) {
		free(p);
		return rc;
	}
	TAILQ_INSERT_TAIL(&c->pending, p, next);
	return 0;
}

struct asked {
	bool done;
	json_t *result, *error;
};

static void on_reply(void *arg, const json_t *result, const json_t *error)
{
	struct asked *a = arg;

	a->done = true;
	a->result = json_deep_copy(result);
	a->error = json_deep_copy(error);
}

int rpc_client_ask(struct rpc_client *c, const char *method, json_t *params,
		   unsigned timeout_ms, json_t **result, json_t **error,
		   struct cr_err *e)
{
	struct asked a = { 0 };
	struct pending *p;
	int rc = rpc_client_call(c, method, params, on_reply, &a);

	if (!rc)
		rc = run_until(c, &a.done, timeout_ms);
	/* @a goes away: its reply must not be written there */
	TAILQ_FOREACH (p, &c->pending, next)
		if (p->arg == &a)
			break;
	if (p) {
		TAILQ_REMOVE(&c->pending, p, next);
		free(p);
	}
	if (c->state == CLIENT_DOWN && !a.result) {
		json_decref(a.error);
		return cr_fail(e, -ECONNRESET, "%s", c->why.text);
	}
	if (rc == -ETIMEDOUT)
		return cr_fail(e, rc, "%s: no reply within %u ms", method,
			       timeout_ms);
	if (rc)
		return cr_fail(e, rc, "%s: %s", method, strerror(-rc));
	if (a.result)
		*result = a.result;
	else
		*error = a.error;
	return a.result ? 0 : 1;
}
