/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Routes, and what keeps other sites out; who may connect; and the last minutes
 * of a node for whoever opens the live page: a ring of HISTORY_SAMPLES samples,
 * one every HISTORY_STEP, and the timer that takes them. The event base's
 * thread.
 *
 * GNU libmicrohttpd reads requests and sends answers: it watches connections by
 * an epoll descriptor of its own, which the event base watches. It does not
 * accept them: of a host that has too many it would refuse the newest one, not
 * close the oldest one, and without descriptors it would spin.
 */
#include "http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <jansson.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "http/metrics.h"
#include "observe/log.h"
#include "observe/store.h"
#include "protocol/field_json.h"
#include "protocol/service.h"
#include "protocol/tables/node_fields.h"
#include "rpc/jsonrpc.h"
#include "schedulers/registry.h"

enum { HISTORY_SAMPLES = 150 };
#define HISTORY_STEP (2 * CR_SEC)

/* page.html as a string, made at build time. */
extern const char http_page[];

struct sample {
	cr_ns at; /* since the node began */
	unsigned calls;
	unsigned long long lost;
	double busy;
};

/* Of a connection: a request, and what was read of the next ones. */
#define HEADERS_MAX 16384
#define BODY_MAX 4096
#define TIMEOUT_S 10
/* Connections that a host may have, where a quarter of all is less: pages in a
 * browser, or a proxy that has asked for many. */
enum { OF_HOST_LEAST = 16 };
/* Time that a connection may stay while others wait for its place. */
enum { STAY_S = 5 };
/* Until it is looked again whether there is room, or a descriptor. */
enum { PAUSE_MS = 100 };

/* A connection: allocated and freed by on_connection(). */
struct connection {
	TAILQ_ENTRY(connection) link;
	int fd; /* the server's */
	struct sockaddr_storage from;
	struct in6_addr host;
	cr_ns since;
	bool asked;    /* it waits for an answer */
	bool answered; /* at least once */
};

struct http {
	struct http_config cfg;
	struct MHD_Daemon *server;
	struct evconnlistener *listener;
	struct event *ready; /* the server has something to do */
	struct event *look;  /* pending while nobody is accepted */
	TAILQ_HEAD(, connection) connections; /* oldest first */
	unsigned most, most_of_host;
	struct http_stats count;
	struct event *sample;
	cr_ns sampled, busy; /* of the sample before */
	unsigned nsamples;   /* ever taken */
	struct sample samples[HISTORY_SAMPLES];
};

/* --- the last minutes --- */

static void sample_node(evutil_socket_t fd, short what, void *arg)
{
	static struct node_stats s; /* no stack's */
	struct http *h = arg;
	cr_ns busy = 0, passed;

	(void)fd, (void)what;
	node_stats(service_node(h->cfg.service), &s);
	for (unsigned i = 0; i < s.nworkers; i++)
		busy += s.workers[i].busy;
	passed = (s.uptime - h->sampled) * s.nworkers;
	h->samples[h->nsamples++ % HISTORY_SAMPLES] = (struct sample){
		.at = s.uptime,
		.calls = s.calls,
		.lost = s.lost,
		.busy = passed > 0 ? (double)(busy - h->busy) / (double)passed
				   : 0,
	};
	h->sampled = s.uptime;
	h->busy = busy;
}

/* --- answers --- */

/* A request while it is read and answered. */
struct request {
	struct http *http;
	struct MHD_Connection *mhd;
	struct connection *connection;
	size_t bytes;
	char body[BODY_MAX];
};

static const char *find_header(const struct request *q, const char *name)
{
	return MHD_lookup_connection_value(q->mhd, MHD_HEADER_KIND, name);
}

static enum MHD_Result answer_text(struct request *q, unsigned code,
				   const char *type, const char *text)
{
	static const char *const headers[][2] = {
		{ "Cache-Control", "no-store" },
		{ "X-Content-Type-Options", "nosniff" },
		{ "X-Frame-Options", "DENY" },
		{ "Content-Security-Policy",
		  "default-src 'none'; style-src 'unsafe-inline'; "
		  "script-src 'unsafe-inline'; connect-src 'self'" },
	};
	struct MHD_Response *r = MHD_create_response_from_buffer(
		strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result done;

	if (!r)
		return MHD_NO;
	done = MHD_add_response_header(r, "Content-Type", type);
	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (done == MHD_YES)
			done = MHD_add_response_header(r, headers[i][0],
						       headers[i][1]);
	if (done == MHD_YES)
		done = MHD_queue_response(q->mhd, code, r);
	MHD_destroy_response(r);
	return done;
}

/* Takes over @o. */
static enum MHD_Result answer_json(struct request *q, unsigned code, json_t *o)
{
	char *text = o ? json_dumps(o, JSONRPC_DUMP) : NULL;
	enum MHD_Result done;

	json_decref(o);
	done = answer_text(q, text ? code : MHD_HTTP_INTERNAL_SERVER_ERROR,
			   "application/json",
			   text ? text : "{\"error\": \"out of memory\"}");
	free(text);
	return done;
}

static enum MHD_Result answer_refusal(struct request *q, unsigned code,
				      const char *why)
{
	return answer_json(q, code, json_pack("{s:s}", "error", why));
}

/* --- what can be read --- */

static enum MHD_Result get_page(struct request *q)
{
	return answer_text(q, MHD_HTTP_OK, "text/html; charset=utf-8",
			   http_page);
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

/* The page shows these in words: paths in the table of stats, with labels,
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

static enum MHD_Result get_state(struct request *q)
{
	const struct http *h = q->http;
	struct node *n = service_node(h->cfg.service);
	struct node_stats stats;

	node_stats(n, &stats);
	return answer_json(q, MHD_HTTP_OK,
			   json_pack("{s:s,s:b,s:b,s:o,s:o,s:o,s:o}", "version",
				     CR_VERSION, "control", (int)h->cfg.control,
				     "draining",
				     (int)service_draining(h->cfg.service),
				     "schedulers", scheduler_names(), "figures",
				     figures_json(), "stats",
				     field_write(node_stats_fields, &stats),
				     "histograms", histograms_json(n)));
}

/* The samples, oldest first; "at" is seconds since the start, "lost" frames
 * since then, "busy" the share of all workers since the sample before. */
static enum MHD_Result get_history(struct request *q)
{
	const struct http *h = q->http;
	unsigned n =
		h->nsamples < HISTORY_SAMPLES ? h->nsamples : HISTORY_SAMPLES;
	json_t *list = json_array();

	for (unsigned i = h->nsamples - n; i != h->nsamples; i++) {
		const struct sample *s = &h->samples[i % HISTORY_SAMPLES];

		(void)json_array_append_new(
			list, json_pack("{s:f,s:I,s:I,s:f}", "at",
					(double)s->at / 1e9, "calls",
					(json_int_t)s->calls, "lost",
					(json_int_t)s->lost, "busy",
					s->busy < 1 ? s->busy : 1.0));
	}
	return answer_json(q, MHD_HTTP_OK, list);
}

static enum MHD_Result get_metrics(struct request *q)
{
	const struct http *h = q->http;
	enum MHD_Result done;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool whole = out;

	if (out) {
		metrics_write(out, h->cfg.service);
		metrics_write_http(out, &h->count);
		if (h->cfg.ng)
			metrics_write_ng(out, h->cfg.ng);
		whole = !ferror(out);
		/* it has no error where there is no memory for @text */
		whole = !fclose(out) && text && whole;
	}
	done = whole ? answer_text(q, MHD_HTTP_OK,
				   "text/plain; version=0.0.4; charset=utf-8",
				   text)
		     : answer_refusal(q, MHD_HTTP_INTERNAL_SERVER_ERROR,
				      "out of memory");
	free(text);
	return done;
}

static enum MHD_Result get_healthz(struct request *q)
{
	return answer_text(q, MHD_HTTP_OK, "text/plain", "ok\n");
}

static enum MHD_Result get_readyz(struct request *q)
{
	bool draining = service_draining(q->http->cfg.service);

	return answer_text(
		q, draining ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK,
		"text/plain", draining ? "draining\n" : "ok\n");
}

/* --- what can be changed --- */

static void audit_post(const struct request *q, const char *what,
		       const char *why)
{
	static struct log_site sites[2]; /* done, refused: as answered() */
	char at[64], who[80];

	(void)snprintf(who, sizeof(who), "http:%s",
		       address_text(&q->connection->from, at, sizeof(at)));
	audit_log(&sites[why != NULL], LOG_INFO,
		  &(struct audit){ .who = who,
				   .did = "POST /scheduler",
				   .what = what,
				   .why = why });
}

static enum MHD_Result post_scheduler(struct request *q)
{
	struct service *service = q->http->cfg.service;
	json_t *params = memory_for_json(q->bytes)
				 ? json_loadb(q->body, q->bytes,
					      JSON_REJECT_DUPLICATES, NULL)
				 : NULL;
	const char *spec =
		json_string_value(json_object_get(params, "scheduler"));
	char now[320];
	struct cr_err e = { "" };
	enum MHD_Result done;
	int err;

	if (!spec) {
		json_decref(params);
		return answer_refusal(
			q, MHD_HTTP_BAD_REQUEST,
			"needs a JSON object {\"scheduler\": NAME}");
	}
	err = service_scheduler_set(service, spec, &e);
	audit_post(q, spec, err ? e.text : NULL);
	if (err) {
		done = answer_refusal(q, MHD_HTTP_CONFLICT, e.text);
	} else {
		node_scheduler(service_node(service), now, sizeof(now));
		done = answer_json(q, MHD_HTTP_OK,
				   json_pack("{s:s}", "scheduler", now));
	}
	json_decref(params);
	return done;
}

/* --- who may ask --- */

/* Is the host of the request an address, or localhost? */
static bool host_is_plain(const struct request *q)
{
	const char *host = find_header(q, "Host");
	char name[80];
	unsigned char bits[16];
	int port;

	return host && !address_split(host, name, sizeof(name), &port) &&
	       (strcmp(name, "localhost") == 0 ||
		inet_pton(AF_INET, name, bits) == 1 ||
		inet_pton(AF_INET6, name, bits) == 1);
}

static bool is_json(const struct request *q)
{
	const char *type = find_header(q, "Content-Type");
	static const char json[] = "application/json";

	return type && strncmp(type, json, sizeof(json) - 1) == 0 &&
	       strchr("; ", type[sizeof(json) - 1]);
}

/* Browsers name the site of the page that posts. A request without that name
 * must have a header that a page of another site cannot send unasked. */
static bool is_own_site(const struct request *q)
{
	const char *origin = find_header(q, "Origin");
	static const char scheme[] = "://";
	const char *site = origin ? strstr(origin, scheme) : NULL;

	if (!origin)
		return find_header(q, "X-Codec-Runner");
	return site &&
	       !strcasecmp(site + sizeof(scheme) - 1, find_header(q, "Host"));
}

struct route {
	const char *path;
	enum MHD_Result (*get)(struct request *q);
	enum MHD_Result (*post)(struct request *q);
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

/* A proxy may ask for the whole address (RFC 9112, section 3.2.2). */
static const struct route *find_route(const char *url)
{
	static const char scheme[] = "http://";
	const char *path = strncasecmp(url, scheme, sizeof(scheme) - 1)
				   ? url
				   : strchr(url + sizeof(scheme) - 1, '/');

	for (size_t i = 0; path && i < sizeof(routes) / sizeof(routes[0]); i++)
		if (strcmp(path, routes[i].path) == 0)
			return &routes[i];
	return NULL;
}

static enum MHD_Result answer_post(struct request *q, const struct route *r)
{
	if (!q->http->cfg.control)
		return answer_refusal(
			q, MHD_HTTP_FORBIDDEN,
			"this node was started without --http-control");
	if (!is_json(q))
		return answer_refusal(q, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE,
				      "needs Content-Type: application/json");
	if (is_own_site(q))
		return r->post(q);
	audit_post(q, "", "another site's, or nobody's");
	return answer_refusal(
		q, MHD_HTTP_FORBIDDEN,
		"it comes from another site, or from none: programs that "
		"are no browsers say \"X-Codec-Runner: 1\"");
}

static enum MHD_Result answer_request(struct request *q, const char *method,
				      const char *url)
{
	const struct route *r = find_route(url);

	if (!host_is_plain(q))
		return answer_refusal(
			q, MHD_HTTP_FORBIDDEN,
			"ask for it by address or as localhost, not by "
			"another name");
	if (!r)
		return answer_refusal(
			q, MHD_HTTP_NOT_FOUND,
			"there are /, /state, /history, /metrics, "
			"/healthz and /readyz");
	if (r->post && strcmp(method, "POST") == 0)
		return answer_post(q, r);
	if (r->get &&
	    (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0))
		return r->get(q);
	return answer_refusal(q, MHD_HTTP_METHOD_NOT_ALLOWED,
			      r->get ? "this can only be read"
				     : "this takes POST only");
}

/* Called for the headers of a request, then for parts of its body, then to
 * answer it. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *mhd,
				  const char *url, const char *method,
				  const char *version, const char *part,
				  size_t *bytes, void **context)
{
	struct connection *c =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
			->socket_context;
	struct request *q = *context;
	const char *length;

	(void)version;
	if (!c) /* it is about to be closed */
		return MHD_NO;
	if (!q) {
		q = *context = calloc(1, sizeof(*q));
		if (!q)
			return MHD_NO;
		q->http = arg;
		q->mhd = mhd;
		q->connection = c;
		c->asked = true;
		/* an answer now ends the connection, and no body is read */
		length = find_header(q, "Content-Length");
		return length && strtoull(length, NULL, 10) > BODY_MAX
			       ? answer_refusal(q, MHD_HTTP_CONTENT_TOO_LARGE,
						"the body is too long")
			       : MHD_YES;
	}
	if (!*bytes)
		return answer_request(q, method, url);
	if (*bytes > sizeof(q->body) - q->bytes) /* chunks */
		return MHD_NO;
	memcpy(q->body + q->bytes, part, *bytes);
	q->bytes += *bytes;
	*bytes = 0;
	return MHD_YES;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **context,
			 enum MHD_RequestTerminationCode why)
{
	struct request *q = *context;

	(void)arg, (void)mhd, (void)why;
	if (q) {
		q->connection->asked = false;
		q->connection->answered = true;
	}
	free(q);
	*context = NULL;
}

/* --- who may connect --- */

static void run_mhd(struct http *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	(void)MHD_run(h->server);
	if (MHD_get_timeout(h->server, &ms) == MHD_YES)
		(void)event_add(
			h->ready,
			&(struct timeval){
				.tv_sec = (time_t)(ms / 1000),
				.tv_usec = (suseconds_t)(ms % 1000 * 1000) });
	else
		(void)event_remove_timer(h->ready);
}

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	run_mhd(arg);
}

static struct connection *note_connection(struct http *h,
					  struct MHD_Connection *mhd)
{
	int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)
			 ->connect_fd;
	const struct sockaddr *from =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)
			->client_addr;
	struct connection *c = calloc(1, sizeof(*c));

	if (!c) {
		(void)shutdown(fd, SHUT_RDWR);
		return NULL;
	}
	c->fd = fd;
	memcpy(&c->from, from,
	       from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					   : sizeof(struct sockaddr_in));
	c->host = address_mapped(&c->from);
	c->since = clock_now();
	TAILQ_INSERT_TAIL(&h->connections, c, link);
	h->count.open++;
	return c;
}

/* It has begun, or ended. */
static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct http *h = arg;
	struct connection *c = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = note_connection(h, mhd);
	} else if (c) {
		TAILQ_REMOVE(&h->connections, c, link);
		h->count.open--;
		free(c);
		if (evtimer_pending(h->look, NULL))
			event_active(h->look, EV_TIMEOUT, 0);
	}
}

/* The server sees the end of a socket, whatever it waits for there. */
static void cut_connection(struct http *h, const struct connection *c)
{
	cr_ns age = clock_now() - c->since;
	char peer[INET6_ADDRSTRLEN] = "?";

	(void)inet_ntop(AF_INET6, &c->host, peer, sizeof(peer));
	h->count.cut++;
	log_event(LOG_WARN, "http-cut", LOG_WORD("peer", peer),
		  LOG_INT("age_s", age / CR_SEC));
	(void)shutdown(c->fd, SHUT_RDWR);
	run_mhd(h);
}

static bool same_host(const struct in6_addr *a, const struct in6_addr *b)
{
	size_t bytes =
		IN6_IS_ADDR_V4MAPPED(a) || IN6_IS_ADDR_V4MAPPED(b) ? 16 : 8;

	return !memcmp(a, b, bytes);
}

/* Close a connection of @host if it has as many as it may have: its oldest one,
 * first one that waits for no answer. */
static void bound_host(struct http *h, const struct in6_addr *host)
{
	const struct connection *least = NULL, *c;
	unsigned n = 0;

	TAILQ_FOREACH (c, &h->connections, link) {
		if (!same_host(&c->host, host))
			continue;
		n++;
		if (!least || (least->asked && !c->asked))
			least = c;
	}
	if (least && n >= h->most_of_host)
		cut_connection(h, least);
}

/* Those that come wait in the kernel. */
static void await_room(struct http *h)
{
	const struct timeval pause = { .tv_usec = PAUSE_MS * 1000 };

	(void)evconnlistener_disable(h->listener);
	(void)event_add(h->look, &pause);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
		      struct sockaddr *from, int size, void *arg)
{
	struct http *h = arg;
	struct sockaddr_storage at = { 0 };
	struct in6_addr host;

	(void)listener;
	memcpy(&at, from, (size_t)size);
	host = address_mapped(&at);
	h->count.came++;
	bound_host(h, &host);
	/* closes it where it cannot be watched */
	(void)MHD_add_connection(h->server, fd, from, (socklen_t)size);
	run_mhd(h);
	if (h->count.open < h->most)
		return;
	h->count.full++;
	log_event(LOG_WARN, "http-full", LOG_INT("connections", h->most));
	await_room(h);
}

/* EMFILE and the like: it would come again at once. */
static void on_no_accept(struct evconnlistener *listener, void *arg)
{
	struct http *h = arg;

	(void)listener;
	h->count.paused++;
	await_room(h);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct http *h = arg;
	const struct connection *oldest = TAILQ_FIRST(&h->connections);
	struct pollfd next = { .fd = (int)evconnlistener_get_fd(h->listener),
			       .events = POLLIN };

	(void)fd, (void)what;
	if (h->count.open >= h->most && poll(&next, 1, 0) > 0 &&
	    clock_now() - oldest->since >= STAY_S * CR_SEC)
		cut_connection(h, oldest);
	if (h->count.open >= h->most || evconnlistener_enable(h->listener))
		await_room(h);
}

/* --- life --- */

static int listen_http(struct http *h, const char *address, struct cr_err *e)
{
	const unsigned flags = LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC |
			       LEV_OPT_CLOSE_ON_FREE;
	struct sockaddr_storage a;
	int fd = -1;

	if (address_parse(address, &a))
		return cr_fail(e, -EINVAL,
			       "--http %s: needs an address with a port, such "
			       "as 127.0.0.1:8080",
			       address);
	errno = 0;
	if (h->cfg.store)
		fd = store_take_listener(h->cfg.store, "listen-http", &a);
	h->listener = fd >= 0 ? evconnlistener_new(h->cfg.base, on_accept, h,
						   flags, -1, fd)
			      : evconnlistener_new_bind(
					h->cfg.base, on_accept, h, flags, -1,
					(struct sockaddr *)&a,
					(int)address_length(&a));
	if (!h->listener)
		return cr_fail(e, errno ? -errno : -EIO, "--http %s: %s",
			       address, strerror(errno ? errno : EIO));
	evconnlistener_set_error_cb(h->listener, on_no_accept);
	if (!h->cfg.store || fd >= 0)
		return 0;
	fd = (int)evconnlistener_get_fd(h->listener);
	(void)store_put(h->cfg.store, "listen-http", &fd, 1);
	return 0;
}

/* Connections are counted here: at a limit of its own libmicrohttpd 0.9.75 may
 * wait for ever. */
static int start_mhd(struct http *h)
{
	const struct timeval step = { HISTORY_STEP / CR_SEC, 0 };
	const union MHD_DaemonInfo *epoll;

	h->server = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
		on_request, h, MHD_OPTION_CONNECTION_LIMIT, UINT_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, h, MHD_OPTION_END);
	if (!h->server)
		return -ENOMEM;
	epoll = MHD_get_daemon_info(h->server, MHD_DAEMON_INFO_EPOLL_FD);
	h->ready = event_new(h->cfg.base, epoll->epoll_fd, EV_READ | EV_PERSIST,
			     on_ready, h);
	h->look = evtimer_new(h->cfg.base, on_look, h);
	h->sample = event_new(h->cfg.base, -1, EV_PERSIST, sample_node, h);
	if (!h->ready || !h->look || !h->sample || event_add(h->ready, NULL) ||
	    event_add(h->sample, &step))
		return -ENOMEM;
	return 0;
}

int http_open(struct http **out, const struct http_config *cfg,
	      struct cr_err *e)
{
	struct http *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return cr_fail(e, -ENOMEM, "out of memory");
	h->cfg = *cfg;
	h->most = descriptors_for_web(cfg->connections);
	h->most_of_host =
		h->most / 4 > OF_HOST_LEAST ? h->most / 4 : OF_HOST_LEAST;
	TAILQ_INIT(&h->connections);
	rc = listen_http(h, cfg->address, e);
	if (!rc && start_mhd(h))
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
	if (h->listener)
		evconnlistener_free(h->listener);
	if (h->ready) /* before the descriptor that it watches */
		event_free(h->ready);
	if (h->server)
		MHD_stop_daemon(h->server);
	if (h->look)
		event_free(h->look);
	if (h->sample)
		event_free(h->sample);
	free(h);
}

static bool owes_answer(const struct http *h)
{
	const struct connection *c;

	TAILQ_FOREACH (c, &h->connections, link)
		if (c->asked || !c->answered)
			return true;
	return false;
}

void http_finish(struct http *h, cr_ns limit)
{
	const cr_ns end = clock_now() + limit;
	struct pollfd server;

	if (!h)
		return;
	server = (struct pollfd){ .fd = event_get_fd(h->ready),
				  .events = POLLIN };
	while (owes_answer(h) && clock_now() < end) {
		(void)poll(&server, 1, 1);
		run_mhd(h);
	}
}

void http_allow_control(struct http *h, bool allowed)
{
	h->cfg.control = allowed;
}

void http_local(const struct http *h, char *buf, size_t size)
{
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
	socklen_t n = sizeof(a);

	(void)getsockname((int)evconnlistener_get_fd(h->listener),
			  (struct sockaddr *)&a, &n);
	(void)address_text(&a, buf, size);
}
