/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A service on loopback and clients of it, in one process.
 */
#define _GNU_SOURCE
#include "loopback.h"
#include "desk.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "json_text.h"
#include "patience.h"
#include "scratch.h"
#include "udp/socket.h"

#define SCTP_PORT 5201
#define FRAME 160u /* samples and octets of 20 ms of PCMU */

static void drained(void *arg)
{
	((struct scratch *)arg)->drained++;
}

void desk_open(struct scratch *d, const struct desk_options *o)
{
	struct service_config cfg = {
		.node = {
			.workers = o->workers ? o->workers : 1,
			.admission = o->admission,
			.capacity_ppm = o->capacity_ppm ? o->capacity_ppm
							: 970000,
			.ring_frames = o->ring_frames ? o->ring_frames : 16,
			.max_age = o->max_age,
			.trace_records = 4096,
			.quota_burst = 3600 * CR_SEC, /* echoes at once */
			.max_calls = o->max_calls ? o->max_calls : 100000,
			.scheduler = o->scheduler ? o->scheduler : "edf",
			.convert = {
				.dir = o->spool,
				.max_bytes = 64 << 20,
				.max = o->max_conversions ? o->max_conversions : 1000,
				.running = o->conversions ? o->conversions : 4,
				.floor = o->convert_floor,
			},
		},
		.listen = { .host = "127.0.0.1", .sctp_port = SCTP_PORT },
		.transport = TRANSPORT_USER,
		.trace_dir = o->trace_dir,
		.plugin_dir = o->plugin_dir,
		/* tests wait for the loss of a client */
		.peer_timeout = 5 * CR_SEC,
		.grace = o->grace ? o->grace : 3600 * CR_SEC,
		.drain_limit = 3600 * CR_SEC,
		.drained = drained,
		.arg = d,
	};
	struct cr_err warn = { "" }, e = { "" };
	struct sockaddr_storage at;
	char folder[SCRATCH_MAX];

	fixture_enter();
	*d = (struct scratch){ 0 };
	(void)snprintf(d->socket.path, sizeof(d->socket.path), "%.90s/control",
		       scratch_folder(folder));
	cfg.listen_too = d->socket;
	d->rig.base = event_base_new();
	assert_non_null(d->rig.base);
	d->rig.fd = loopback_socket(&at);
	d->rig.port = address_port(&at);
	cfg.base = d->rig.base;
	cfg.node.rtp = address_at("127.0.0.1:0");
	if (service_open(&d->service, &cfg, &warn, &e))
		fail_msg("service_open: %s", e.text);
	d->rig.node = service_node(d->service);
	service_local(d->service, &d->at);
}

void desk_close(struct scratch *d)
{
	service_close(d->service);
	event_base_free(d->rig.base);
	(void)close(d->rig.fd);
	fixture_leave();
}

struct fixture_sender desk_sender(struct scratch *d, unsigned id)
{
	return fixture_sender(&d->rig, node_stream_find(d->rig.node, id),
			      FRAME);
}

void desk_send(struct fixture_sender *s)
{
	static const uint8_t silence[FRAME] = { 0xff };

	fixture_send(s, silence, FRAME);
}

void desk_echo(struct fixture_sender *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		uint8_t buf[2048];
		struct rtp_packet p;

		desk_send(s);
		assert_true(fixture_receive(s->rig, buf, &p));
	}
}

void desk_wait(struct scratch *d, bool (*done)(void *arg), void *arg)
{
	const struct timeval soon = { 0, 2000 };
	cr_ns end = clock_now() + PATIENCE;

	while (!done(arg)) {
		if (clock_now() > end)
			fail_msg("waited in vain");
		(void)event_base_loopexit(d->rig.base, &soon);
		(void)event_base_dispatch(d->rig.base);
	}
}

struct count_wait {
	const unsigned *counter;
	unsigned n;
};

static bool reached(void *arg)
{
	const struct count_wait *w = arg;

	return *w->counter >= w->n;
}

void desk_wait_for(struct scratch *d, const unsigned *counter, unsigned n)
{
	struct count_wait w = { counter, n };

	desk_wait(d, reached, &w);
}

struct calls_wait {
	struct scratch *scratch;
	unsigned n;
};

static bool that_many_calls(void *arg)
{
	const struct calls_wait *w = arg;

	return node_streams(w->scratch->rig.node) == w->n;
}

void desk_wait_calls(struct scratch *d, unsigned n)
{
	struct calls_wait w = { d, n };

	desk_wait(d, that_many_calls, &w);
}

static void on_up(void *arg)
{
	((struct client *)arg)->up++;
}

static void on_down(void *arg, const char *reason)
{
	(void)reason;
	((struct client *)arg)->down++;
}

static void keep(json_t **slot, const json_t *params)
{
	json_decref(*slot);
	*slot = json_deep_copy(params);
}

static void on_notified(void *arg, const char *method, const json_t *params)
{
	struct client *c = arg;

	if (!strcmp(method, "stream.ended")) {
		keep(&c->last_ended, params);
		c->ended++;
	} else if (!strcmp(method, "convert.ended")) {
		keep(&c->last_conversion, params);
		c->conversions_ended++;
	} else {
		assert_string_equal(method, "congestion");
		keep(&c->last_congestion, params);
		c->congestion++;
	}
}

static void open_to(struct client *c, struct scratch *d, const char *resume,
		    const struct transport_addr *to)
{
	const struct rpc_client_config cfg = { .base = d->rig.base,
					       .to = *to,
					       .kind = TRANSPORT_USER,
					       .arg = c,
					       .up = on_up,
					       .down = on_down,
					       .notified = on_notified };
	char params[100] = "{}";
	struct cr_err e = { "" };
	json_t *hello;

	*c = (struct client){ .scratch = d };
	if (rpc_client_open(&c->rpc, &cfg, &e))
		fail_msg("%s", e.text);
	if (resume)
		(void)snprintf(params, sizeof(params), "{'resume': '%s'}",
			       resume);
	hello = client_ask(c, "hello", params);
	(void)snprintf(c->session, sizeof(c->session), "%s",
		       json_string_value(json_object_get(hello, "session")));
	json_decref(hello);
}

void client_open(struct client *c, struct scratch *d, const char *resume)
{
	open_to(c, d, resume, &d->at);
}

void client_open_unix(struct client *c, struct scratch *d, const char *resume)
{
	open_to(c, d, resume, &d->socket);
}

void client_close(struct client *c)
{
	rpc_client_close(c->rpc);
	json_decref(c->last_ended);
	json_decref(c->last_congestion);
	json_decref(c->last_conversion);
	c->rpc = NULL;
	c->last_ended = c->last_congestion = c->last_conversion = NULL;
}

void client_open_desk(struct client *c, struct scratch *d,
		      const struct desk_options *o)
{
	desk_open(d, o);
	client_open(c, d, NULL);
}

void client_close_desk(struct client *c, struct scratch *d)
{
	client_close(c);
	desk_close(d);
}

long long desk_number(const json_t *o, const char *path)
{
	const char *dot = strchr(path, '.');
	char name[64];

	(void)snprintf(name, sizeof(name), "%.*s",
		       dot ? (int)(dot - path) : (int)strlen(path), path);
	o = json_object_get(o, name);
	if (!o)
		fail_msg("no member %s", path);
	return dot ? desk_number(o, dot + 1) : json_integer_value(o);
}

static int ask(struct client *c, const char *method, const char *json,
	       json_t **result, json_t **error)
{
	struct cr_err e = { "" };
	int rc;

	*result = *error = NULL;
	rc = rpc_client_ask(c->rpc, method, json_text(json),
			    (unsigned)(PATIENCE / CR_MS), result, error, &e);
	if (rc < 0)
		fail_msg("%s: %s", method, e.text);
	return rc;
}

json_t *client_ask(struct client *c, const char *method, const char *json)
{
	json_t *result, *error;

	if (ask(c, method, json, &result, &error))
		fail_msg("%s: %s", method,
			 json_string_value(json_object_get(error, "message")));
	return result;
}

void client_do(struct client *c, const char *method, const char *json)
{
	json_decref(client_ask(c, method, json));
}

void client_refused(struct client *c, const char *method, const char *json,
		    int code, const char *why)
{
	json_t *result, *error;
	const char *text;

	if (!ask(c, method, json, &result, &error))
		fail_msg("%s %s was not refused", method, json ? json : "");
	text = json_string_value(json_object_get(error, "message"));
	if (desk_number(error, "code") != code || !strstr(text, why))
		fail_msg("%s %s: %lld %s", method, json ? json : "",
			 desk_number(error, "code"), text);
	json_decref(error);
}

unsigned client_start(struct client *c, const char *more)
{
	char json[400];
	json_t *o;
	unsigned id;

	(void)snprintf(json, sizeof(json),
		       "{%s 'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		       "'address': '127.0.0.1:%u'}}",
		       more, c->scratch->rig.port);
	o = client_ask(c, "call.start", json);
	id = (unsigned)desk_number(o, "call");
	json_decref(o);
	return id;
}

void client_wait_alone(struct client *c)
{
	long long peers;
	json_t *o;

	do {
		o = client_ask(c, "stats", NULL);
		peers = desk_number(o, "control.associations");
		json_decref(o);
	} while (peers > 1);
}
