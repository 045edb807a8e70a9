/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other process of the control tests.
 *
 *   rpc_peer server KIND HOST SCTP_PORT UDP_PORT
 *	the echo server; says "listening", runs until SIGTERM
 *   rpc_peer client KIND HOST SCTP_PORT UDP_PORT N
 *	N pipelined requests, a long list, bye; says "PASS"
 *   rpc_peer hold KIND HOST SCTP_PORT UDP_PORT [FROM_SCTP FROM_UDP]
 *	one request, says "up", then does nothing for ever
 *   rpc_peer stop KIND HOST SCTP_PORT UDP_PORT
 *	asks for long lists, then stops itself (SIGSTOP) without reading
 *   rpc_peer ask KIND HOST SCTP_PORT UDP_PORT
 *	a request ten times a second, for ever; says "reply" for each reply
 *
 * RPC_PEER_TIMEOUT: seconds of silence that it takes for a loss.
 * KIND is kernel, user or auto; or unix: then HOST is a path.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "echo.h"
#include "patience.h"

static int usage(void)
{
	(void)fprintf(stderr,
		      "usage: rpc_peer server|client|hold|stop|ask "
		      "auto|kernel|user|unix HOST SCTP_PORT UDP_PORT ...\n");
	return 2;
}

static int complain(const char *what, const char *why)
{
	(void)fprintf(stderr, "rpc_peer: %s: %s\n", what, why);
	return 1;
}

static void say(const char *what)
{
	(void)puts(what);
	(void)fflush(stdout);
}

static void on_signal(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)event_base_loopbreak(arg);
}

/* Say when a peer has gone, for scripts that wait for it. */
static void on_look(evutil_socket_t fd, short what, void *arg)
{
	static unsigned reported;
	const struct echo *s = arg;

	(void)fd;
	(void)what;
	for (; reported < s->gone; reported++)
		say("peer gone");
}

static cr_ns peer_timeout(void)
{
	const char *s = getenv("RPC_PEER_TIMEOUT");

	return s ? atoi(s) * CR_SEC : 0;
}

static int serve(struct event_base *base, enum transport_kind kind,
		 const struct transport_addr *at)
{
	const struct timeval often = { 0, 20000 };
	struct event *term = evsignal_new(base, SIGTERM, on_signal, base);
	struct cr_err e = { 0 };
	struct echo s;
	struct event *look = event_new(base, -1, EV_PERSIST, on_look, &s);

	(void)event_add(term, NULL);
	if (echo_open_for(&s, base, kind, at, peer_timeout(), &e))
		return complain("server", e.text);
	(void)printf("listening %s\n", rpc_server_transport(s.server));
	(void)fflush(stdout);
	(void)event_add(look, &often);
	(void)event_base_dispatch(base);
	event_free(look);
	rpc_server_close(s.server);
	(void)printf("served %u, gone %u, last by %s\n", s.up, s.gone,
		     s.gone_reason);
	event_free(term);
	return 0;
}

struct tally {
	unsigned replies, wrong;
};

static void count_reply(void *arg, const json_t *result, const json_t *error)
{
	struct tally *t = arg;

	(void)error;
	if (json_integer_value(json_array_get(result, 0)) != t->replies)
		t->wrong++;
	t->replies++;
}

static int expect(struct rpc_client *c, const char *method, json_t *params,
		  const json_t *want)
{
	json_t *result = NULL, *error = NULL;
	struct cr_err e = { 0 };
	int rc = rpc_client_ask(c, method, params, PATIENCE_S * 1000, &result,
				&error, &e);
	bool right = !rc && (!want || json_equal(result, want));

	json_decref(result);
	json_decref(error);
	if (rc < 0)
		return complain(method, e.text);
	return right ? 0 : complain(method, "wrong reply");
}

static int exchange(struct event_base *base, struct rpc_client *c, unsigned n)
{
	struct tally t = { 0 };
	json_t *items = json_array();
	int rc;

	for (unsigned i = 0; i < n; i++)
		(void)rpc_client_call(c, "echo", json_pack("[i]", (int)i),
				      count_reply, &t);
	if (!echo_wait(base, &t.replies, n) || t.wrong)
		return complain("echo", "replies missing or out of order");
	for (unsigned i = 0; i < 10000; i++)
		(void)json_array_append_new(items, echo_item(i));
	rc = expect(c, "list", json_pack("{s:i}", "count", 10000), items);
	json_decref(items);
	if (!rc)
		rc = expect(c, "bye", NULL, NULL);
	return rc;
}

/* Ask for far more than anyone queues, then fall silent. */
static int stop(struct rpc_client *c)
{
	if (expect(c, "echo", json_pack("[]"), NULL))
		return 1;
	for (unsigned i = 0; i < 100; i++)
		(void)rpc_client_call(c, "list",
				      json_pack("{s:i}", "count", 1000),
				      count_reply, NULL);
	(void)raise(SIGSTOP);
	return 0;
}

static void on_replied(void *arg, const json_t *result, const json_t *error)
{
	(void)arg;
	(void)error;
	if (result)
		say("reply");
}

static void on_ask(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)rpc_client_call(arg, "echo", json_pack("[]"), on_replied, NULL);
}

static int ask(struct event_base *base, struct rpc_client *c)
{
	const struct timeval often = { 0, 100000 };
	struct event *timer = event_new(base, -1, EV_PERSIST, on_ask, c);
	int rc = expect(c, "echo", json_pack("[]"), NULL);

	(void)event_add(timer, &often);
	if (!rc)
		(void)event_base_dispatch(base);
	event_free(timer);
	return rc;
}

static void on_down(void *arg, const char *reason)
{
	(void)fprintf(stderr, "rpc_peer: down: %s\n", reason);
	(void)event_base_loopbreak(arg);
}

static int be_client(struct event_base *base, const char *mode,
		     struct rpc_client_config *cfg, const char *count)
{
	struct rpc_client *c = NULL;
	struct cr_err e = { 0 };
	int rc;

	cfg->base = base;
	cfg->arg = base;
	cfg->down = on_down;
	cfg->peer_timeout = peer_timeout();
	if (rpc_client_open(&c, cfg, &e))
		return complain("client", e.text);
	if (!strcmp(mode, "client")) {
		rc = exchange(base, c, (unsigned)atoi(count));
		if (!rc)
			say("PASS");
	} else if (!strcmp(mode, "stop")) {
		rc = stop(c);
	} else if (!strcmp(mode, "ask")) {
		rc = ask(base, c);
	} else {
		rc = expect(c, "echo", json_pack("[i]", 1), NULL);
		say("up");
		if (!rc)
			(void)event_base_dispatch(base);
	}
	rpc_client_close(c);
	return rc;
}

static enum transport_kind kind_of(const char *word)
{
	if (!strcmp(word, "unix"))
		return TRANSPORT_UNIX;
	if (!strcmp(word, "kernel"))
		return TRANSPORT_KERNEL;
	return !strcmp(word, "user") ? TRANSPORT_USER : TRANSPORT_AUTO;
}

int main(int argc, char **argv)
{
	struct rpc_client_config cfg = { 0 };
	struct event_base *base;
	int rc = 0;

	if (argc < 6)
		return usage();
	cfg.kind = kind_of(argv[2]);
	if (cfg.kind == TRANSPORT_UNIX)
		rc = transport_addr_unix(&cfg.to, argv[3]);
	else
		(void)snprintf(cfg.to.host, sizeof(cfg.to.host), "%s", argv[3]);
	cfg.to.sctp_port = (uint16_t)atoi(argv[4]);
	cfg.to.udp_port = (uint16_t)atoi(argv[5]);
	if (rc)
		return usage();
	if (argc > 7) {
		cfg.from = cfg.to;
		cfg.from.sctp_port = (uint16_t)atoi(argv[6]);
		cfg.from.udp_port = (uint16_t)atoi(argv[7]);
	}
	base = event_base_new();
	rc = strcmp(argv[1], "server")
		     ? be_client(base, argv[1], &cfg, argc > 6 ? argv[6] : "1")
		     : serve(base, cfg.kind, &cfg.to);
	event_base_free(base);
	return rc;
}
