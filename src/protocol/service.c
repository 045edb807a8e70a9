/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node as a JSON-RPC service: sessions, notifications, draining; records of
 * calls as lines of JSON, and lines of the log about who did what (audit); the
 * common parts of requests, and those that are deferred.
 *
 *            peer up            peer lost              grace over, or bye
 *   (none) ----------> attached ---------> in grace --------------------> over
 *                          ^      hello {resume} |                         |
 *                          +---------------------+                         |
 *                                                      last call over: freed
 */
#include "protocol/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/util.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "node/node_endpoint.h"
#include "node/info.h"
#include "observe/line_file.h"
#include "observe/log.h"
#include "protocol/field_json.h"
#include "protocol/kept_calls.h"
#include "protocol/methods.h"
#include "protocol/results.h"
#include "protocol/tables/call_fields.h"
#include "protocol/tables/record_fields.h"
#include "rpc/jsonrpc.h"

/* Records that lack room or memory are dropped. */
static void recorded(void *arg, const struct node_record *r)
{
	const struct service *sv = arg;
	json_t *object = field_write(record_fields, r);
	char *text = object ? json_dumps(object, JSONRPC_DUMP) : NULL;

	if (!text || !lines_put(sv->cfg.records, text))
		log_event(LOG_WARN, "record-dropped", LOG_STR("id", r->id),
			  LOG_STR("why",
				  text ? "the disk is slow" : "out of memory"));
	free(text);
	json_decref(object);
}

void audit_log(struct log_site *site, enum log_level level,
	       const struct audit *a)
{
	if (!log_wants(level))
		return;
	if (a->why)
		log_write(site, level, "audit",
			  LOG_FIELDS(LOG_STR("who", a->who),
				     LOG_STR("did", a->did),
				     LOG_STR("what", a->what),
				     LOG_WORD("result", "refused"),
				     LOG_STR("why", a->why)));
	else
		log_write(site, level, "audit",
			  LOG_FIELDS(LOG_STR("who", a->who),
				     LOG_STR("did", a->did),
				     LOG_STR("what", a->what),
				     LOG_WORD("result", "done")));
}

/* The number that what was made has got: it is in no parameter. */
static void add_made(char *what, size_t size, const json_t *result)
{
	static const char *const ids[] = { "call", "endpoint", "conversion" };
	size_t n = strlen(what);

	for (unsigned i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		const json_t *id = json_object_get(result, ids[i]);
		char text[40];

		(void)snprintf(text, sizeof(text), "%s=%lld", ids[i],
			       (long long)json_integer_value(id));
		if (!json_is_integer(id) || strstr(what, text))
			continue;
		(void)snprintf(what + n, size - n, "%s%s", n ? " " : "", text);
		return;
	}
}

static struct timeval timeval_of(cr_ns t)
{
	return (struct timeval){ t / CR_SEC, t % CR_SEC / CR_US };
}

static void session_free(struct session *s)
{
	/* analyzer: who frees one gets the next one anew */
	LIST_REMOVE(s, link);
	if (s->grace)
		event_free(s->grace);
	free(s);
}

static void end_calls(const struct session *s)
{
	const struct node_who who = {
		.by = s->why == NODE_END_BYE ? NODE_BY_CLIENT : NODE_BY_NODE,
		.peer = s->last,
	};
	struct node *n = s->service->node;
	struct node_call *c;
	uint32_t id = 0;

	while ((c = node_call_after(n, id))) {
		id = node_call_id(c);
		if (node_call_owner(c) == s)
			node_call_stop(c, s->why, &who);
	}
}

static void session_end(struct session *s)
{
	struct node_endpoint *ep;

	s->over = true;
	if (s->calls)
		end_calls(s);
	while ((ep = node_endpoint_of_owner(s->service->node, s))) {
		bool stays = ep->call;

		node_endpoint_disown(ep);
		if (stays)
			keep_endpoint(ep);
	}
	if (!s->calls)
		session_free(s);
}

static void on_grace(evutil_socket_t fd, short what, void *arg)
{
	struct session *s = arg;

	(void)fd, (void)what;
	log_event(LOG_INFO, "session-over", LOG_INT("session", s->number),
		  LOG_INT("calls", s->calls));
	session_end(s);
}

static bool refuse_peer(const struct rpc_peer *peer)
{
	log_event(LOG_ERROR, "peer-refused", LOG_WORD("peer", peer->address),
		  LOG_STR("why", "out of memory for a session"));
	return false;
}

static struct session *session_new(struct service *sv)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->service = sv;
	s->grace = evtimer_new(sv->cfg.base, on_grace, s);
	if (!s->grace) {
		free(s);
		return NULL;
	}
	LIST_INSERT_HEAD(&sv->sessions, s, link);
	return s;
}

static bool peer_up(void *arg, struct rpc_peer *peer)
{
	struct service *sv = arg;
	struct session *s = session_new(sv);
	uint64_t id;

	if (!s)
		return refuse_peer(peer);
	s->peer = peer;
	evutil_secure_rng_get_bytes(&id, sizeof(id));
	(void)snprintf(s->id, sizeof(s->id), "%016llx", (unsigned long long)id);
	s->number = peer->id;
	peer->stranger = sv->cfg.key && strcmp(peer->transport, "unix") != 0;
	peer->owner = s;
	log_event(LOG_INFO, "peer-up", LOG_WORD("peer", peer->address),
		  LOG_INT("session", s->number));
	return true;
}

static bool may(void *arg, const struct rpc_peer *peer, const char *method,
		struct rpc_error *err)
{
	(void)arg;
	if (!peer->stranger || !strcmp(method, "hello"))
		return true;
	(void)cr_fail(&err->why, 0, "%s: %s", method, SERVICE_KEY_NEEDED);
	return request_refuse(err, RPC_DENIED);
}

static void answered(void *arg, const struct rpc_noted *noted,
		     const json_t *result, const struct rpc_error *err)
{
	/* Of each method: done, refused. What strangers try hides nothing. */
	static struct log_site sites[64][2];
	char what[RPC_WHAT_MAX + 40];
	size_t i = (size_t)(noted->method - service_methods);

	(void)arg;
	(void)snprintf(what, sizeof(what), "%s", noted->what);
	if (result)
		add_made(what, sizeof(what), result);
	audit_log(&sites[i % (sizeof(sites) / sizeof(*sites))][!result],
		  LOG_INFO,
		  &(struct audit){ .who = noted->peer,
				   .did = noted->method->name,
				   .what = what,
				   .why = result ? NULL : err->why.text });
}

/* Does it own no call, no endpoint and no conversion whose end is to be
 * reported? A conversion goes on without it, but the end is reported to the
 * peer that takes the session over. */
static bool peer_idle(void *arg, const struct rpc_peer *peer)
{
	const struct session *s = peer->owner;

	(void)arg;
	return !s ||
	       (!s->calls && !node_endpoint_of_owner(s->service->node, s) &&
		!converter_has(node_converter(s->service->node), s->id));
}

static void peer_gone(void *arg, struct rpc_peer *peer, const char *reason)
{
	struct service *sv = arg;
	struct session *s = peer->owner;
	bool bye = !strcmp(reason, "bye"), idle = peer_idle(arg, peer), no_loss;
	struct timeval grace = timeval_of(sv->cfg.grace);

	if (!s)
		return;
	peer->owner = NULL;
	s->peer = NULL;
	(void)snprintf(s->last, sizeof(s->last), "%s", peer->address);
	deferred_drop(sv, s, RPC_CONNECTION_LOST,
		      "the client has disconnected");
	s->why = bye ? NODE_END_BYE : NODE_END_LOST;
	/* a client that only asks need not say bye */
	no_loss = bye || (idle && !strcmp(reason, "shutdown"));
	log_event(no_loss ? LOG_INFO : LOG_WARN, "peer-gone",
		  LOG_WORD("peer", peer->address),
		  LOG_INT("session", s->number), LOG_WORD("reason", reason),
		  LOG_INT("calls", s->calls));
	if (bye || idle)
		session_end(s);
	else
		(void)evtimer_add(s->grace, &grace);
}

struct session *session_of(struct rpc_peer *peer, struct rpc_error *err)
{
	if (!peer->owner)
		(void)cr_fail(&err->why, 0,
			      "no session: it was taken over by another "
			      "association (hello with \"resume\"); connect "
			      "anew");
	return peer->owner;
}

/* The session that may be taken over: waiting, or still held by an association
 * whose death has not been noticed yet. Its id is a secret. */
static struct session *session_named(struct service *sv, const char *id)
{
	struct session *s;

	LIST_FOREACH(s, &sv->sessions, link)
	if (!s->over && !strcmp(s->id, id))
		return s;
	return NULL;
}

struct session *session_restore(struct service *sv, const char *id)
{
	struct timeval grace = timeval_of(sv->cfg.grace);
	struct session *s = session_named(sv, id);

	if (s || strlen(id) >= sizeof(s->id) || !(s = session_new(sv)))
		return s;
	(void)snprintf(s->id, sizeof(s->id), "%s", id);
	s->why = NODE_END_LOST;
	(void)evtimer_add(s->grace, &grace);
	return s;
}

bool session_resume(struct session *to, const char *id)
{
	struct service *sv = to->service;
	struct session *old = session_named(sv, id);
	struct node_endpoint *ep;

	if (!old || old == to)
		return old;
	log_event(LOG_INFO, "session-resumed", LOG_INT("session", old->number),
		  LOG_WORD("peer", to->peer->address),
		  LOG_INT("instead", to->number),
		  LOG_WORD("from", old->peer ? old->peer->address : "none"),
		  LOG_INT("calls", old->calls));
	if (old->peer)
		old->peer->owner = NULL;
	deferred_drop(sv, old, RPC_CONFLICT,
		      "the session was taken over by another association");
	node_calls_pass(sv->node, old, to);
	while ((ep = node_endpoint_of_owner(sv->node, old)))
		ep->owner = to;
	converter_pass(node_converter(sv->node), to->id, old->id);
	to->calls += old->calls;
	memcpy(to->id, old->id, sizeof(to->id));
	to->number = old->number;
	session_free(old);
	return true;
}

bool service_pass_client(struct service *sv, struct passing_client *c)
{
	const struct session *s;

	do {
		c->peer = rpc_peer_passing(sv->server, c->peer, &c->fd);
		if (!c->peer)
			return false;
		s = c->peer->owner;
	} while (!s);
	memcpy(c->session, s->id, sizeof(c->session));
	c->number = s->number;
	return true;
}

void service_take_client(struct service *sv, const struct passing_client *c)
{
	struct passing_client *more =
		realloc(sv->passed, (sv->npassed + 1) * sizeof(*sv->passed));

	if (!more) { /* its client comes back */
		(void)close(c->fd);
		return;
	}
	sv->passed = more;
	sv->passed[sv->npassed++] = *c;
}

static void serve_client(struct service *sv, const struct passing_client *c)
{
	struct rpc_peer *peer = rpc_server_adopt(sv->server, c->fd, c->number);
	struct session *s = peer ? peer->owner : NULL;

	if (!s) /* its client comes back */
		return;
	if (!session_resume(s, c->session)) /* it has no calls */
		memcpy(s->id, c->session, sizeof(s->id));
	s->number = c->number;
}

void service_serve_clients(struct service *sv)
{
	for (unsigned i = 0; i < sv->npassed; i++)
		serve_client(sv, &sv->passed[i]);
	free(sv->passed);
	sv->passed = NULL;
	sv->npassed = 0;
}

static void check_drained(struct service *sv)
{
	if (!sv->draining || sv->drained || node_calls(sv->node) ||
	    converter_active(node_converter(sv->node)) ||
	    (sv->cfg.pending && sv->cfg.pending(sv->cfg.arg)))
		return;
	sv->drained = true;
	sv->cfg.drained(sv->cfg.arg);
}

/* Engine and receiver have let go of @st for good; or it is hung: then a stuck
 * thread still has it, and its session hears nothing of its end. */
static void stream_ended(void *arg, struct node_stream *st)
{
	struct node_call *c = node_stream_call(st);
	struct session *s = node_call_owner(c);
	struct stream_ended result;

	(void)arg;
	if (!s)
		return; /* kept: nobody's */
	if (s->peer) {
		node_stream_info(st, &result.info);
		result.reason = node_end_name(node_stream_why(st));
		rpc_notify(s->peer, "stream.ended",
			   field_write(stream_ended_fields, &result));
	}
	if (!node_call_is_over(c))
		return;
	node_call_set_owner(c, NULL);
	s->calls--;
	if (s->over && !s->calls)
		session_free(s);
}

/* A conversion outlives its session; the session that has it now is notified.
 */
static void conversion_ended(void *arg, const struct conversion *cv)
{
	struct session *s = session_named(arg, cv->owner);

	log_event(cv->state == CONVERSION_FAILED ? LOG_WARN : LOG_INFO,
		  "conversion-ended", LOG_INT("conversion", cv->cfg.id),
		  LOG_STR("in", cv->cfg.in), LOG_STR("out", cv->cfg.out),
		  LOG_WORD("state", conversion_state_name(cv->state)),
		  LOG_STR("why", cv->why.text));
	if (s && s->peer)
		rpc_notify(s->peer, "convert.ended",
			   result_conversion_json(cv));
}

static void on_limit(evutil_socket_t fd, short what, void *arg)
{
	struct service *sv = arg;

	(void)fd, (void)what;
	if (sv->drained)
		return;
	log_event(LOG_WARN, "drain-limit",
		  LOG_INT("calls", node_calls(sv->node)));
	sv->drained = true;
	sv->cfg.drained(sv->cfg.arg);
}

void service_drain(struct service *sv, cr_ns limit, bool final)
{
	struct timeval t = timeval_of(limit);
	cr_ns end = clock_now() + limit;

	sv->final |= final;
	if (sv->draining && end >= sv->drain_end)
		return;
	sv->drain_end = end;
	log_event(LOG_INFO, "drain", LOG_INT("calls", node_calls(sv->node)),
		  LOG_INT("limit_ms", limit / CR_MS));
	sv->draining = true;
	(void)evtimer_add(sv->limit, &t);
	check_drained(sv);
}

int service_drain_cancel(struct service *sv, struct cr_err *e)
{
	if (sv->final || sv->drained)
		return cr_fail(
			e, -EBUSY,
			"this node ends: it has drained, or got a signal");
	if (!sv->draining)
		return 0;
	sv->draining = false;
	(void)evtimer_del(sv->limit);
	log_event(LOG_INFO, "drain-cancelled",
		  LOG_INT("calls", node_calls(sv->node)));
	return 0;
}

static void report_congestion(struct service *sv, unsigned long long lost)
{
	struct congestion result = { .lost_per_s = lost };
	struct session *s;

	log_event(LOG_WARN, "congestion", LOG_INT("lost_per_s", lost));
	result_capacity(sv->node, &result.capacity);
	LIST_FOREACH(s, &sv->sessions, link)
	if (s->peer && !s->peer->stranger)
		rpc_notify(s->peer, "congestion",
			   field_write(congestion_fields, &result));
}

static void on_service_tick(evutil_socket_t fd, short what, void *arg)
{
	struct service *sv = arg;
	unsigned long long lost = node_lost(sv->node);

	(void)fd, (void)what;
	if (lost > sv->lost)
		report_congestion(sv, lost - sv->lost);
	sv->lost = lost;
	if (sv->cfg.records_interim)
		node_records_interim(sv->node, sv->cfg.records_interim);
	check_drained(sv);
}

static void on_deaf_node(void *arg)
{
	struct service *sv = arg;

	if (sv->cfg.deaf)
		sv->cfg.deaf(sv->cfg.arg);
}

static int open_timers(struct service *sv, struct cr_err *e)
{
	const struct timeval second = { 1, 0 };

	sv->tick = event_new(sv->cfg.base, -1, EV_PERSIST, on_service_tick, sv);
	sv->limit = evtimer_new(sv->cfg.base, on_limit, sv);
	if (!sv->tick || !sv->limit || event_add(sv->tick, &second))
		return cr_fail(e, -ENOMEM, "out of memory for events");
	return 0;
}

static int open_server(struct service *sv, struct cr_err *e)
{
	const struct service_config *cfg = &sv->cfg;
	struct rpc_server_config rpc = {
		.base = cfg->base,
		.listen = cfg->listen,
		.kind = cfg->transport,
		.peer_timeout = cfg->peer_timeout,
		.store = cfg->node.store,
		.methods = service_methods,
		.arg = sv,
		.peer_up = peer_up,
		.peer_gone = peer_gone,
		.may = may,
		.answered = answered,
		.peer_idle = peer_idle,
		.sockets_max = descriptors_for_control(RPC_PEERS_USUAL),
		.halves = true,
	};
	size_t kept = rpc.sockets_max < RPC_PEERS_USUAL / 4
			      ? rpc.sockets_max
			      : RPC_PEERS_USUAL / 4;
	int err;

	if (*cfg->listen_too.path)
		rpc.sctp_max = RPC_PEERS_USUAL - kept;
	err = rpc_server_open(&sv->server, &rpc, e);
	if (!err && *cfg->listen_too.path)
		err = rpc_server_listen(sv->server, TRANSPORT_UNIX,
					&cfg->listen_too, e);
	return err;
}

int service_open(struct service **out, const struct service_config *cfg,
		 struct cr_err *warn, struct cr_err *e)
{
	struct service *sv = calloc(1, sizeof(*sv));
	int err;

	if (!sv)
		return cr_fail(e, -ENOMEM, "out of memory");
	sv->cfg = *cfg;
	sv->cfg.node.base = cfg->base;
	sv->cfg.node.ended = stream_ended;
	if (cfg->records)
		sv->cfg.node.recorded = recorded;
	sv->cfg.node.deaf = on_deaf_node;
	sv->cfg.node.conversion_ended = conversion_ended;
	sv->cfg.node.arg = sv;
	LIST_INIT(&sv->sessions);
	LIST_INIT(&sv->deferred);
	err = node_open(&sv->node, &sv->cfg.node, warn, e);
	if (!err)
		err = open_server(sv, e);
	if (!err)
		err = open_timers(sv, e);
	if (err) {
		(void)service_close(sv);
		return err;
	}
	sv->lost = node_lost(sv->node); /* what was lost before is no news */
	*out = sv;
	return 0;
}

int service_change(struct service *sv, const struct service_config *to,
		   struct cr_err *e)
{
	int err = node_settings_change(sv->node, &to->node, e);

	if (err)
		return err;
	sv->cfg.grace = to->grace;
	sv->cfg.drain_limit = to->drain_limit;
	sv->cfg.records_interim = to->records_interim;
	sv->cfg.trace_dir = to->trace_dir;
	sv->cfg.plugin_dir = to->plugin_dir;
	return 0;
}

int service_close(struct service *sv)
{
	struct session *s;
	int err;

	if (!sv)
		return 0;
	/* nothing begins any more, and no end is reported */
	sv->draining = sv->drained = true;
	/* calls first: their owners still get stream.ended */
	node_end_calls(sv->node);
	deferred_drop(sv, NULL, RPC_DRAINING, "draining: this node ends");
	takeover_drop(sv);
	node_trace_settle(sv->node);
	rpc_server_close(sv->server);
	err = node_close(sv->node);
	while ((s = LIST_FIRST(&sv->sessions)))
		/* The analyzer believes that the one freed is still first.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		session_free(s);
	if (sv->tick)
		event_free(sv->tick);
	if (sv->limit)
		event_free(sv->limit);
	if (!err) /* the node calls it */
		free(sv);
	return err;
}

bool service_draining(const struct service *sv)
{
	return sv->draining;
}

struct node *service_node(struct service *sv)
{
	return sv->node;
}

const char *service_transport(const struct service *sv)
{
	return rpc_server_transport(sv->server);
}

void service_local(const struct service *sv, struct transport_addr *addr)
{
	rpc_server_local(sv->server, addr);
}

/* --- requests --- */

json_t *request_refuse(struct rpc_error *err, int code)
{
	err->code = code;
	return NULL;
}

int request_code(int err)
{
	switch (err) {
	case -EINVAL:
		return RPC_INVALID_PARAMS;
	case -EEXIST:
	case -EBUSY:
		return RPC_CONFLICT;
	case -ESRCH:
		return RPC_NO_SUCH_CALL;
	case -ENOSPC:
	case -ENOMEM:
	case -EMFILE:
	case -ENFILE:
	case -EADDRINUSE: /* out of ports */
		return RPC_NO_CAPACITY;
	case -ENOTSUP:
		return RPC_UNSUPPORTED;
	default:
		return RPC_INTERNAL;
	}
}

bool request_read(const struct field *table, void *out, const json_t *params,
		  struct rpc_error *err)
{
	field_defaults(table, out);
	if (!field_read(table, params, out, &err->why) &&
	    !field_complete(table, out, &err->why))
		return true;
	err->code = RPC_INVALID_PARAMS;
	return false;
}

/* A part of a list. Nothing ends while it is written. */
struct page {
	const struct list_kind *kind;
	unsigned n;
	void *one[PAGE_MAX];
};

static bool page_at(void *arg, unsigned i, void *item)
{
	const struct page *page = arg;

	if (i >= page->n)
		return false;
	page->kind->describe(page->one[i], item);
	return true;
}

json_t *request_list(struct service *sv, const struct list_kind *kind,
		     const json_t *params, struct rpc_error *err)
{
	struct page page = { .kind = kind };
	struct list_result result = { .items = { page_at, &page } };
	struct page_request ask;
	void *one;

	if (!request_read(page_fields, &ask, params, err))
		return NULL;
	while (page.n < ask.limit && (one = kind->after(sv->node, &ask.after)))
		page.one[page.n++] = one;
	result.more = kind->after(sv->node, &ask.after) != NULL;
	return field_write(kind->table, &result);
}

bool request_begins(const struct service *sv, struct rpc_error *err)
{
	if (!sv->draining)
		return true;
	(void)cr_fail(&err->why, 0, "draining: this node takes no new calls");
	err->code = RPC_DRAINING;
	return false;
}

json_t *request_wait(int ret, struct rpc_error *err)
{
	return ret == -EAGAIN ? NULL : request_refuse(err, request_code(ret));
}

static void answer_deferred(struct deferred *p, json_t *result,
			    struct rpc_error *err)
{
	LIST_REMOVE(p, link);
	rpc_later_reply(p->later, result, err);
	json_decref((json_t *)p->asked.params);
	free(p);
}

static void on_known_cost(void *arg, int err, const struct cr_err *why)
{
	struct deferred *p = arg;
	struct node_cost_wait lacks;
	struct rpc_error e = { 0 };
	json_t *result = NULL;

	lacks.n = 0;
	rpc_later_begin();
	if (err) {
		e.code = request_code(err);
		e.why = *why;
	} else {
		result = p->asked.run(p->service, &p->asked, &lacks, &e);
		if (lacks.n) /* a cost was forgotten while another was measured
			      */
			e.code = RPC_INTERNAL;
	}
	answer_deferred(p, result, &e);
}

json_t *request_run(struct service *sv, struct rpc_peer *peer,
		    const struct service_request *a, struct rpc_error *err)
{
	struct rpc_error e = { .code = RPC_NO_CAPACITY };
	struct node_cost_wait lacks;
	struct deferred *p;
	json_t *result;

	lacks.n = 0;
	result = a->run(sv, a, &lacks, err);
	if (!lacks.n)
		return result;
	p = malloc(sizeof(*p));
	if (!p) {
		(void)cr_fail(&err->why, 0, "out of memory");
		return request_refuse(err, RPC_NO_CAPACITY);
	}
	p->service = sv;
	p->asked = *a;
	p->later = rpc_later(peer, err);
	p->wait = lacks;
	p->wait.done = on_known_cost;
	p->wait.arg = p;
	if (!p->later) {
		free(p);
		return NULL;
	}
	(void)json_incref((json_t *)a->params);
	LIST_INSERT_HEAD(&sv->deferred, p, link);
	if (node_cost_wait(sv->node, &p->wait, &e.why))
		answer_deferred(p, NULL, &e);
	return NULL;
}

/* A reply may disconnect a peer that does not read, and that calls
 * deferred_drop() again. So first move all that is refused here to a list of
 * our own. */
void deferred_drop(struct service *sv, const struct session *s, int code,
		   const char *why)
{
	LIST_HEAD(, deferred) refused = LIST_HEAD_INITIALIZER(refused);
	struct rpc_error e = { .code = code };
	struct deferred *p, *next;

	for (p = LIST_FIRST(&sv->deferred); p; p = next) {
		next = LIST_NEXT(p, link);
		if (s && p->asked.session != s)
			continue;
		node_cost_forget(sv->node, &p->wait);
		LIST_REMOVE(p, link);
		LIST_INSERT_HEAD(&refused, p, link);
	}
	(void)cr_fail(&e.why, 0, "%s", why);
	while ((p = LIST_FIRST(&refused)))
		/* The analyzer believes that the one freed is still first.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		answer_deferred(p, NULL, &e);
}
