/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test server's methods and record. Checks nothing itself.
 */
#include "echo.h"

#include <stdio.h>
#include <string.h>

#include "protocol/field_json.h"
#include "protocol/tables/node_fields.h"
#include "scratch.h"
#include "patience.h"

enum transport_kind echo_kind = TRANSPORT_USER;

static char folder[SCRATCH_MAX];

void echo_arguments(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "unix"))
		return;
	echo_kind = TRANSPORT_UNIX;
	(void)scratch_folder(folder);
}

struct transport_addr echo_place(const char *host, uint16_t port)
{
	static unsigned n;
	struct transport_addr at = { .sctp_port = port };

	if (echo_kind == TRANSPORT_UNIX)
		(void)snprintf(at.path, sizeof(at.path), "%.90s/%u", folder,
			       n++);
	else
		(void)snprintf(at.host, sizeof(at.host), "%s", host);
	return at;
}

const char *echo_vanished(void)
{
	return echo_kind == TRANSPORT_UNIX ? "shutdown" : "lost";
}

static json_t *echo(void *arg, struct rpc_peer *peer, const json_t *params,
		    struct rpc_error *err)
{
	(void)arg;
	(void)peer;
	(void)err;
	return params ? json_deep_copy(params) : json_null();
}

static unsigned count_in(const json_t *params)
{
	return (unsigned)json_integer_value(json_object_get(params, "count"));
}

json_t *echo_item(unsigned i)
{
	char pad[161];

	memset(pad, 'a' + (int)(i % 26), sizeof(pad) - 1);
	pad[sizeof(pad) - 1] = '\0';
	return json_pack("{s:i, s:s}", "call", (int)i, "pad", pad);
}

static json_t *list(void *arg, struct rpc_peer *peer, const json_t *params,
		    struct rpc_error *err)
{
	json_t *items = json_array();
	struct echo *s = arg;

	(void)peer;
	(void)err;
	s->lists++;
	for (unsigned i = 0; i < count_in(params); i++)
		(void)json_array_append_new(items, echo_item(i));
	return items;
}

static json_t *fail(void *arg, struct rpc_peer *peer, const json_t *params,
		    struct rpc_error *err)
{
	(void)arg;
	(void)peer;
	(void)params;
	err->code = RPC_NO_CAPACITY;
	(void)cr_fail(&err->why, 0, "no-capacity: need 0.0035, free 0.0012");
	err->data = json_pack("{s:f}", "free", 0.0012);
	return NULL;
}

static json_t *notify(void *arg, struct rpc_peer *peer, const json_t *params,
		      struct rpc_error *err)
{
	(void)arg;
	(void)err;
	for (unsigned i = 0; i < count_in(params); i++)
		rpc_notify(peer, "tick", json_pack("{s:i}", "n", (int)i));
	return json_object();
}

static json_t *later(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	struct echo *s = arg;

	(void)params;
	s->later[s->nlater++] = rpc_later(peer, err);
	return NULL;
}

static json_t *at_once(void *arg, struct rpc_peer *peer, const json_t *params,
		       struct rpc_error *err)
{
	struct rpc_error none = { 0 };

	(void)arg;
	(void)params;
	rpc_later_reply(rpc_later(peer, err), json_object(), &none);
	return NULL;
}

void echo_answer(struct echo *s, unsigned i, bool refused)
{
	struct rpc_error err = { 0 };

	if (refused)
		err.code = RPC_NO_CAPACITY;
	rpc_later_reply(s->later[i], refused ? NULL : json_integer((int)i),
			&err);
}

static json_t *stats(void *arg, struct rpc_peer *peer, const json_t *params,
		     struct rpc_error *err)
{
	const struct echo *s = arg;
	struct rpc_stats count;

	(void)peer;
	(void)params;
	(void)err;
	rpc_server_stats(s->server, &count);
	return field_write(rpc_stats_fields, &count);
}

static const struct rpc_method methods[] = {
	{ "echo", "return the parameters", echo, false },
	{ "list", "return many items", list, false },
	{ "fail", "refuse", fail, false },
	{ "notify", "send notifications", notify, false },
	{ "later", "answer on request", later, false },
	{ "at-once", "answer as if later, but at once", at_once, false },
	{ "stats", "counters of the server", stats, false },
	{ NULL, NULL, NULL, false },
};

static bool peer_up(void *arg, struct rpc_peer *peer)
{
	struct echo *s = arg;

	s->up++;
	peer->stranger = s->strangers;
	s->up_id = peer->id;
	s->last = peer;
	(void)snprintf(s->up_address, sizeof(s->up_address), "%s",
		       peer->address);
	return true;
}

static void peer_gone(void *arg, struct rpc_peer *peer, const char *reason)
{
	struct echo *s = arg;

	s->gone++;
	s->gone_id = peer->id;
	if (s->last == peer)
		s->last = NULL;
	(void)snprintf(s->gone_reason, sizeof(s->gone_reason), "%s", reason);
}

int echo_open_as(struct echo *s, struct rpc_server_config *cfg,
		 struct cr_err *e)
{
	cfg->methods = methods;
	cfg->arg = s;
	cfg->peer_up = peer_up;
	cfg->peer_gone = peer_gone;
	*s = (struct echo){ .base = cfg->base };
	return rpc_server_open(&s->server, cfg, e);
}

int echo_open(struct echo *s, struct event_base *base, enum transport_kind kind,
	      const struct transport_addr *at, size_t queue_max,
	      struct cr_err *e)
{
	struct rpc_server_config cfg = { .base = base,
					 .listen = *at,
					 .kind = kind,
					 .peer_timeout = ECHO_PEER_TIMEOUT,
					 .queue_max = queue_max };

	return echo_open_as(s, &cfg, e);
}

int echo_open_within(struct echo *s, struct event_base *base,
		     enum transport_kind kind, const struct transport_addr *at,
		     size_t total_max, struct cr_err *e)
{
	struct rpc_server_config cfg = { .base = base,
					 .listen = *at,
					 .kind = kind,
					 .peer_timeout = ECHO_PEER_TIMEOUT,
					 .total_max = total_max };

	return echo_open_as(s, &cfg, e);
}

int echo_open_for(struct echo *s, struct event_base *base,
		  enum transport_kind kind, const struct transport_addr *at,
		  cr_ns peer_timeout, struct cr_err *e)
{
	struct rpc_server_config cfg = { .base = base,
					 .listen = *at,
					 .kind = kind,
					 .peer_timeout = peer_timeout };

	return echo_open_as(s, &cfg, e);
}

static bool peer_idle(void *arg, const struct rpc_peer *peer)
{
	const struct echo *s = arg;

	return peer->id != s->busy_id;
}

int echo_open_few(struct echo *s, struct event_base *base,
		  enum transport_kind kind, const struct transport_addr *at,
		  size_t peers, cr_ns silence, struct cr_err *e)
{
	struct rpc_server_config cfg = { .base = base,
					 .listen = *at,
					 .kind = kind,
					 .peer_idle = peer_idle,
					 .peers_max = peers,
					 .silence = silence };

	return echo_open_as(s, &cfg, e);
}

static void on_patience(evutil_socket_t fd, short what, void *arg)
{
	bool *late = arg;

	(void)fd;
	(void)what;
	*late = true;
}

bool echo_wait(struct event_base *base, const unsigned *count,
	       unsigned at_least)
{
	const struct timeval limit = { .tv_sec = PATIENCE_S };
	bool late = false;
	struct event *timer = evtimer_new(base, on_patience, &late);

	(void)evtimer_add(timer, &limit);
	while (*count < at_least && !late)
		(void)event_base_loop(base, EVLOOP_ONCE);
	event_free(timer);
	return *count >= at_least;
}
