/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes, and what keeps other sites out; and the last minutes of a node for
 * who opens the live page: a ring of HISTORY_SAMPLES samples, one every
 * HISTORY_STEP, and the timer that takes them. The event base's thread.
 */
#include "http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/address.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "http/gate.h"
#include "http/metrics.h"
#include "observe/log.h"
#include "protocol/field.h"
#include "protocol/field_text.h"
#include "protocol/service.h"
#include "protocol/tables/node.h"
#include "rpc/jsonrpc.h"
#include "schedulers/registry.h"

enum { HISTORY_SAMPLES = 150 };
#define HISTORY_STEP (2 * CR_SEC)

struct history;

/* page.html as a string, made at build time. */
extern const char http_page[];

static void history_close(struct history *h);

struct sample {
	cr_ns at; /* since the node began */
	unsigned calls;
	unsigned long long lost;
	double busy;
};

struct history {
	struct service *service;
	struct event *timer;
	cr_ns at, busy; /* of the sample before */
	unsigned count; /* ever taken */
	struct sample ring[HISTORY_SAMPLES];
};

static cr_ns busy_of(const struct node_stats *s)
{
	cr_ns sum = 0;

	for (unsigned i = 0; i < s->nworkers; i++)
		sum += s->workers[i].busy;
	return sum;
}

static void take_sample(evutil_socket_t fd, short what, void *arg)
{
	static struct node_stats s; /* no stack's */
	struct history *h = arg;
	cr_ns busy, passed;

	(void)fd, (void)what;
	node_stats(service_node(h->service), &s);
	busy = busy_of(&s);
	passed = (s.uptime - h->at) * s.nworkers;
	h->ring[h->count++ % HISTORY_SAMPLES] = (struct sample){
		.at = s.uptime,
		.calls = s.calls,
		.lost = s.lost,
		.busy = passed > 0 ? (double)(busy - h->busy) / (double)passed
				   : 0,
	};
	h->at = s.uptime;
	h->busy = busy;
}

/* Begin to take samples of @service, which outlives it. 0; -ENOMEM. */
static int history_open(struct history **out, struct event_base *base,
			struct service *service)
{
	const struct timeval step = { HISTORY_STEP / CR_SEC, 0 };
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->service = service;
	h->timer = event_new(base, -1, EV_PERSIST, take_sample, h);
	if (!h->timer || event_add(h->timer, &step)) {
		history_close(h);
		return -ENOMEM;
	}
	*out = h;
	return 0;
}

static void history_close(struct history *h)
{
	if (!h)
		return;
	if (h->timer)
		event_free(h->timer);
	free(h);
}

/*
 * The samples, oldest first: objects with "at" (seconds since the start),
 * "calls", "lost" (frames since the start), "busy" (share of all workers since
 * the sample before, 0 to 1). NULL: no memory.
 */
static json_t *history_json(const struct history *h)
{
	unsigned n = h->count < HISTORY_SAMPLES ? h->count : HISTORY_SAMPLES;
	json_t *list = json_array();

	for (unsigned i = h->count - n; i != h->count; i++) {
		const struct sample *s = &h->ring[i % HISTORY_SAMPLES];

		(void)json_array_append_new(
			list, json_pack("{s:f,s:I,s:I,s:f}", "at",
					(double)s->at / 1e9, "calls",
					(json_int_t)s->calls, "lost",
					(json_int_t)s->lost, "busy",
					s->busy < 1 ? s->busy : 1.0));
	}
	return list;
}

/* Nothing that is asked here is longer. */
#define HEADERS_MAX 16384
#define BODY_MAX 4096
#define TIMEOUT_S 10
/* Of a connection that asks on before it is answered. */
#define UNREAD_MAX (HEADERS_MAX + BODY_MAX)
/* Connections that a host may have, where a quarter of all is less: pages in a
 * browser, or a proxy that has asked for many. */
enum { OF_HOST_LEAST = 16 };

struct http {
	struct http_config cfg;
	struct evhttp *server;
	struct evhttp_bound_socket *bound;
	struct gate *gate;
	struct history *history;
};

/* HEAD has the length of what GET would get (RFC 9110, section 9.3.2). */
static void report_length(struct evkeyvalq *out, const struct evbuffer *body)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%zu",
		       body ? evbuffer_get_length(body) : 0);
	(void)evhttp_add_header(out, "Content-Length", text);
}

static void answer(struct evhttp_request *req, int code, const char *type,
		   struct evbuffer *body)
{
	struct evkeyvalq *out = evhttp_request_get_output_headers(req);
	bool head = evhttp_request_get_command(req) == EVHTTP_REQ_HEAD;

	if (head)
		report_length(out, body);
	(void)evhttp_add_header(out, "Content-Type", type);
	(void)evhttp_add_header(out, "Cache-Control", "no-store");
	(void)evhttp_add_header(out, "X-Content-Type-Options", "nosniff");
	(void)evhttp_add_header(out, "X-Frame-Options", "DENY");
	/* libevent would send it whatever was asked */
	evhttp_send_reply(req, code, NULL, head ? NULL : body);
}

static void answer_text(struct evhttp_request *req, int code, const char *type,
			const char *text)
{
	struct evbuffer *body = evbuffer_new();

	if (body)
		(void)evbuffer_add(body, text, strlen(text));
	answer(req, body ? code : HTTP_INTERNAL, type, body);
	if (body)
		evbuffer_free(body);
}

/* Takes over @o. */
static void answer_json(struct evhttp_request *req, int code, json_t *o)
{
	char *text = o ? json_dumps(o, JSONRPC_DUMP) : NULL;

	json_decref(o);
	answer_text(req, text ? code : HTTP_INTERNAL, "application/json",
		    text ? text : "{\"error\": \"out of memory\"}");
	free(text);
}

static void refuse(struct evhttp_request *req, int code, const char *why)
{
	answer_json(req, code, json_pack("{s:s}", "error", why));
}

/* --- what is told --- */

static void get_page(struct http *h, struct evhttp_request *req)
{
	(void)h;
	(void)evhttp_add_header(
		evhttp_request_get_output_headers(req),
		"Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; "
		"script-src 'unsafe-inline'; connect-src 'self'");
	answer_text(req, HTTP_OK, "text/html; charset=utf-8", http_page);
}

static json_t *cumulated(const struct histogram *h)
{
	uint64_t below[METRICS_BOUNDS];
	json_t *list = json_array();

	metrics_cumulate(h, below);
	for (unsigned i = 0; i < METRICS_BOUNDS; i++)
		(void)json_array_append_new(list,
					    json_integer((json_int_t)below[i]));
	(void)json_array_append_new(
		list, json_integer((json_int_t)histogram_count(h)));
	return list;
}

static json_t *histograms_json(struct node *n)
{
	static struct histogram delay, jitter; /* 15 KiB each */
	json_t *bounds = json_array();

	node_histograms(n, &delay, &jitter);
	for (unsigned i = 0; i < METRICS_BOUNDS; i++)
		(void)json_array_append_new(
			bounds, json_real((double)metrics_bounds[i] / 1e6));
	return json_pack("{s:o,s:o,s:o}", "le_ms", bounds, "delay",
			 cumulated(&delay), "jitter", cumulated(&jitter));
}

static json_t *scheduler_names(void)
{
	json_t *names = json_array();

	for (unsigned i = 0; cr_schedulers[i]; i++)
		(void)json_array_append_new(
			names, json_string(cr_schedulers[i]->name));
	return names;
}

/* What the page shows in words: paths in the table of stats, which has labels,
 * units and help for them; how it is now, or all since the start. */
static const struct {
	const char *path, *when;
} figures[] = {
	{ "calls", "now" },	     { "measured_load", "now" },
	{ "bound", "now" },	     { "totals.done", "start" },
	{ "lost", "start" },	     { "totals.late", "start" },
	{ "delay.p99_ns", "start" }, { "calls_refused", "start" },
};

static json_t *figures_json(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const char *path = figures[i].path;
		const struct field *f =
			field_find_path(node_stats_fields, path);
		char label[FIELD_TEXT_MAX];

		(void)field_text_label(node_stats_fields, path, label,
				       sizeof(label));
		(void)json_array_append_new(
			list, json_pack("{s:s,s:s,s:s,s:s?,s:s?}", "path", path,
					"when", figures[i].when, "label", label,
					"unit", f->unit, "help", f->help));
	}
	return list;
}

static void get_state(struct http *h, struct evhttp_request *req)
{
	struct node *n = service_node(h->cfg.service);
	struct node_stats stats;

	node_stats(n, &stats);
	answer_json(req, HTTP_OK,
		    json_pack("{s:s,s:b,s:b,s:o,s:o,s:o,s:o}", "version",
			      CR_VERSION, "control", (int)h->cfg.control,
			      "draining", (int)service_draining(h->cfg.service),
			      "schedulers", scheduler_names(), "figures",
			      figures_json(), "stats",
			      field_write(node_stats_fields, &stats),
			      "histograms", histograms_json(n)));
}

static void get_history(struct http *h, struct evhttp_request *req)
{
	answer_json(req, HTTP_OK, history_json(h->history));
}

static void get_metrics(struct http *h, struct evhttp_request *req)
{
	struct evbuffer *body = evbuffer_new();
	struct gate_stats gate;

	gate_stats(h->gate, &gate);
	if (body)
		metrics_write(body, h->cfg.service);
	if (body)
		metrics_write_http(body, &gate);
	if (body && h->cfg.ng)
		metrics_write_ng(body, h->cfg.ng);
	answer(req, body ? HTTP_OK : HTTP_INTERNAL,
	       "text/plain; version=0.0.4; charset=utf-8", body);
	if (body)
		evbuffer_free(body);
}

static void get_healthz(struct http *h, struct evhttp_request *req)
{
	(void)h;
	answer_text(req, HTTP_OK, "text/plain", "ok\n");
}

static void get_readyz(struct http *h, struct evhttp_request *req)
{
	bool draining = service_draining(h->cfg.service);

	answer_text(req, draining ? HTTP_SERVUNAVAIL : HTTP_OK, "text/plain",
		    draining ? "draining\n" : "ok\n");
}

/* --- what can be changed --- */

static json_t *body_of(struct evhttp_request *req)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(req);
	size_t n = evbuffer_get_length(in);
	const unsigned char *text = evbuffer_pullup(in, -1);

	return text && memory_for_json(n)
		       ? json_loadb((const char *)text, n,
				    JSON_REJECT_DUPLICATES, NULL)
		       : NULL;
}

static void audit(struct evhttp_request *req, const char *what, const char *why)
{
	static struct log_site sites[2]; /* done, refused: as audit_method() */
	char *host = NULL, who[80];
	ev_uint16_t port = 0;

	evhttp_connection_get_peer(evhttp_request_get_connection(req), &host,
				   &port);
	(void)snprintf(who, sizeof(who),
		       host && strchr(host, ':') ? "http:[%s]:%u"
						 : "http:%s:%u",
		       host ? host : "?", (unsigned)port);
	audit_log(&sites[why != NULL], LOG_INFO,
		  &(struct audit){ .who = who,
				   .did = "POST /scheduler",
				   .what = what,
				   .why = why });
}

static void post_scheduler(struct http *h, struct evhttp_request *req)
{
	json_t *params = body_of(req);
	const char *spec =
		json_string_value(json_object_get(params, "scheduler"));
	char now[320];
	struct cr_err e = { "" };
	int err;

	if (!spec) {
		refuse(req, HTTP_BADREQUEST,
		       "needs a JSON object {\"scheduler\": NAME}");
		json_decref(params);
		return;
	}
	err = service_scheduler_set(h->cfg.service, spec, &e);
	audit(req, spec, err ? e.text : NULL);
	if (err) {
		refuse(req, 409, e.text);
	} else {
		node_scheduler(service_node(h->cfg.service), now, sizeof(now));
		answer_json(req, HTTP_OK, json_pack("{s:s}", "scheduler", now));
	}
	json_decref(params);
}

/* --- who may ask --- */

/* Is the host of the request an address, or localhost? */
static bool host_is_plain(struct evhttp_request *req)
{
	const char *host = evhttp_find_header(
		evhttp_request_get_input_headers(req), "Host");
	char name[80];
	unsigned char bits[16];
	int port;

	return host && !address_split(host, name, sizeof(name), &port) &&
	       (strcmp(name, "localhost") == 0 ||
		inet_pton(AF_INET, name, bits) == 1 ||
		inet_pton(AF_INET6, name, bits) == 1);
}

static bool is_json(struct evhttp_request *req)
{
	const char *type = evhttp_find_header(
		evhttp_request_get_input_headers(req), "Content-Type");
	static const char json[] = "application/json";

	return type && strncmp(type, json, sizeof(json) - 1) == 0 &&
	       strchr("; ", type[sizeof(json) - 1]);
}

/* Browsers say of what site the page is that posts. Who says nothing of it
 * has to say what no page of another site can without being allowed to. */
static bool is_own_site(struct evhttp_request *req)
{
	const struct evkeyvalq *in = evhttp_request_get_input_headers(req);
	const char *origin = evhttp_find_header(in, "Origin");
	const char *host = evhttp_find_header(in, "Host");
	static const char scheme[] = "://";
	const char *site = origin ? strstr(origin, scheme) : NULL;

	if (!origin)
		return evhttp_find_header(in, "X-Codec-Runner");
	return site && !strcasecmp(site + sizeof(scheme) - 1, host);
}

struct route {
	const char *path;
	void (*get)(struct http *h, struct evhttp_request *req);
	void (*post)(struct http *h, struct evhttp_request *req);
};

static const struct route routes[] = {
	{ "/", get_page, NULL },
	{ "/state", get_state, NULL },
	{ "/history", get_history, NULL },
	{ "/metrics", get_metrics, NULL },
	{ "/healthz", get_healthz, NULL },
	{ "/readyz", get_readyz, NULL },
	{ "/scheduler", NULL, post_scheduler },
};

static const struct route *route_of(struct evhttp_request *req)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;

	for (size_t i = 0; path && i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(path, routes[i].path) == 0)
			return &routes[i];
	return NULL;
}

static void on_post(struct http *h, struct evhttp_request *req,
		    const struct route *r)
{
	if (!r->post)
		refuse(req, HTTP_BADMETHOD, "this can only be read");
	else if (!h->cfg.control)
		refuse(req, 403,
		       "this node was started without --http-control");
	else if (!is_json(req))
		refuse(req, 415, "needs Content-Type: application/json");
	else if (!is_own_site(req)) {
		audit(req, "", "another site's, or nobody's");
		refuse(req, 403,
		       "it comes from another site, or from none: programs "
		       "that are no browsers say \"X-Codec-Runner: 1\"");
	} else
		r->post(h, req);
}

static void on_request(struct evhttp_request *req, void *arg)
{
	struct http *h = arg;
	const struct route *r = route_of(req);

	if (!host_is_plain(req))
		refuse(req, 403,
		       "ask for it by address or as localhost, not by another "
		       "name");
	else if (!r)
		refuse(req, HTTP_NOTFOUND,
		       "there are /, /state, /history, /metrics, /healthz and "
		       "/readyz");
	else if (evhttp_request_get_command(req) == EVHTTP_REQ_POST)
		on_post(h, req, r);
	else if (r->get)
		r->get(h, req);
	else
		refuse(req, HTTP_BADMETHOD, "this takes POST only");
}

/* --- life --- */

static int listen_at(struct http *h, const char *address, struct cr_err *e)
{
	struct sockaddr_storage a;
	char host[80];
	int port;

	if (address_parse(address, &a) ||
	    address_split(address, host, sizeof(host), &port))
		return cr_fail(e, -EINVAL,
			       "--http %s: needs an address with a port, such "
			       "as 127.0.0.1:8080",
			       address);
	errno = 0;
	h->bound = evhttp_bind_socket_with_handle(h->server, host,
						  (ev_uint16_t)port);
	if (!h->bound)
		return cr_fail(e, errno ? -errno : -EIO, "--http %s: %s",
			       address, strerror(errno ? errno : EIO));
	return 0;
}

static int open_gate(struct http *h, struct cr_err *e)
{
	unsigned most = descriptors_for_web(h->cfg.connections);
	const struct gate_config cfg = {
		.base = h->cfg.base,
		.server = h->server,
		.bound = h->bound,
		.most = most,
		.most_of_host =
			most / 4 > OF_HOST_LEAST ? most / 4 : OF_HOST_LEAST,
		.unread = UNREAD_MAX,
	};

	return gate_open(&h->gate, &cfg, e);
}

int http_open(struct http **out, const struct http_config *cfg,
	      struct cr_err *e)
{
	struct http *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return cr_fail(e, -ENOMEM, "out of memory");
	h->cfg = *cfg;
	h->server = evhttp_new(cfg->base);
	if (!h->server) {
		http_close(h);
		return cr_fail(e, -ENOMEM, "out of memory");
	}
	evhttp_set_allowed_methods(h->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD |
						      EVHTTP_REQ_POST);
	evhttp_set_max_headers_size(h->server, HEADERS_MAX);
	evhttp_set_max_body_size(h->server, BODY_MAX);
	evhttp_set_timeout(h->server, TIMEOUT_S);
	evhttp_set_gencb(h->server, on_request, h);
	rc = listen_at(h, cfg->address, e);
	if (!rc)
		rc = open_gate(h, e);
	if (!rc && history_open(&h->history, cfg->base, cfg->service))
		rc = cr_fail(e, -ENOMEM, "out of memory");
	if (rc) {
		http_close(h);
		return rc;
	}
	*out = h;
	return 0;
}

void http_close(struct http *h)
{
	if (!h)
		return;
	history_close(h->history);
	gate_close(h->gate);
	if (h->server)
		evhttp_free(h->server);
	free(h);
}

void http_allow_control(struct http *h, bool allowed)
{
	h->cfg.control = allowed;
}

void http_local(const struct http *h, char *buf, size_t size)
{
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof(a);

	(void)getsockname((int)evhttp_bound_socket_get_fd(h->bound),
			  (struct sockaddr *)&a, &n);
	(void)address_text(&a, buf, size);
}
