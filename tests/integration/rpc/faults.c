/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on the wire hurt only the peer that made them: killed and silent
 * clients, malformed messages, random packets.
 */
#define _GNU_SOURCE /* posix_spawn, kill */

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "echo.h"
#include "patience.h"

enum { SCTP_PORT = 5201, QUEUE = 256 << 10 };

extern char **environ;

struct world {
	struct event_base *base;
	struct echo server;
	struct transport_addr at;
	struct rpc_client *bystander; /* must never notice anything */
	unsigned bystander_down;
};

static void on_down(void *arg, const char *reason)
{
	struct world *w = arg;

	print_message("bystander: %s\n", reason);
	w->bystander_down++;
}

static void open_world(struct world *w)
{
	struct transport_addr at = echo_place("127.0.0.1", SCTP_PORT);
	struct rpc_client_config cfg = { .kind = echo_kind,
					 .arg = w,
					 .down = on_down };
	struct cr_err e = { 0 };

	*w = (struct world){ .base = event_base_new() };
	if (echo_open(&w->server, w->base, echo_kind, &at, QUEUE, &e))
		fail_msg("%s", e.text);
	rpc_server_local(w->server.server, &w->at);
	cfg.base = w->base;
	cfg.to = w->at;
	if (rpc_client_open(&w->bystander, &cfg, &e))
		fail_msg("%s", e.text);
	assert_true(echo_wait(w->base, &w->server.up, 1));
}

static json_t *bystander_asks(struct world *w, const char *method,
			      json_t *params)
{
	json_t *result = NULL, *error = NULL;
	struct cr_err e = { 0 };

	if (rpc_client_ask(w->bystander, method, params, PATIENCE_S * 1000,
			   &result, &error, &e))
		fail_msg("bystander: %s: %s", method, e.text);
	return result;
}

static void close_world(struct world *w)
{
	json_decref(bystander_asks(w, "echo", json_pack("[s]", "still here")));
	assert_int_equal(w->bystander_down, 0);
	rpc_client_close(w->bystander);
	rpc_server_close(w->server.server);
	event_base_free(w->base);
}

/* Another process: rpc_peer @mode, from the given ports if not 0. */
static pid_t spawn(const struct world *w, const char *mode, unsigned from_sctp,
		   unsigned from_udp)
{
	bool by_path = echo_kind == TRANSPORT_UNIX;
	char sctp[8], udp[8], fsctp[8], fudp[8], kind[8], host[120];
	char *argv[] = { (char *)(uintptr_t)RPC_PEER,
			 (char *)(uintptr_t)mode,
			 kind,
			 host,
			 sctp,
			 udp,
			 fsctp,
			 fudp,
			 NULL };
	pid_t pid = -1;

	(void)snprintf(kind, sizeof(kind), "%s", by_path ? "unix" : "user");
	(void)snprintf(host, sizeof(host), "%s",
		       by_path ? w->at.path : "127.0.0.1");
	(void)snprintf(sctp, sizeof(sctp), "%u", (unsigned)w->at.sctp_port);
	(void)snprintf(udp, sizeof(udp), "%u", (unsigned)w->at.udp_port);
	(void)snprintf(fsctp, sizeof(fsctp), "%u", from_sctp);
	(void)snprintf(fudp, sizeof(fudp), "%u", from_udp);
	if (!from_udp)
		argv[6] = NULL;
	assert_int_equal(posix_spawn(&pid, RPC_PEER, NULL, NULL, argv, environ),
			 0);
	return pid;
}

static void kill_9(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_killed_client_is_missed(void **state)
{
	struct world w;
	uint64_t id;
	pid_t pid;

	open_world(&w);
	pid = spawn(&w, "hold", 0, 0);
	assert_true(echo_wait(w.base, &w.server.up, 2));
	id = w.server.up_id;
	kill_9(pid);
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, echo_vanished());
	assert_true(w.server.gone_id == id);
	close_world(&w);
}

static unsigned free_udp_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &size), 0);
	(void)close(fd);
	return ntohs(a.sin_port);
}

static void a_client_back_on_its_ports_is_a_restart(void **state)
{
	unsigned udp = free_udp_port();
	struct world w;
	pid_t pid;

	if (echo_kind == TRANSPORT_UNIX)
		skip();
	open_world(&w);
	pid = spawn(&w, "hold", 20001, udp);
	assert_true(echo_wait(w.base, &w.server.up, 2));
	kill_9(pid);
	pid = spawn(&w, "hold", 20001, udp);
	assert_true(echo_wait(w.base, &w.server.up, 3));
	assert_int_equal(w.server.gone, 1);
	assert_string_equal(w.server.gone_reason, "restart");
	assert_true(w.server.gone_id != w.server.up_id);
	kill_9(pid);
	close_world(&w);
}

static void who_does_not_read_is_let_go(void **state)
{
	struct world w;
	pid_t pid;
	json_t *stats;

	open_world(&w);
	pid = spawn(&w, "stop", 0, 0);
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, "not reading");
	stats = bystander_asks(&w, "stats", NULL);
	assert_int_equal(
		json_integer_value(json_object_get(stats, "slow_peers")), 1);
	json_decref(stats);
	kill_9(pid);
	close_world(&w);
}

/* Nobody runs the base here, so nothing leaves this process: the stack's
 * buffer fills, then the queue, then notifications are dropped, not kept. */
static void notifications_to_a_deaf_peer_are_dropped(void **state)
{
	enum { NOTES = 100, BYTES = 100000 };
	char *text = calloc(1, BYTES + 1);
	struct world w;
	json_t *stats;

	memset(text, 'n', BYTES);
	open_world(&w);
	for (unsigned i = 0; i < NOTES; i++)
		rpc_notify(w.server.last, "tick", json_pack("[s]", text));
	free(text);
	stats = bystander_asks(&w, "stats", NULL);
	/* At most 4 MiB in the stack and 128 KiB in the queue were kept. */
	assert_in_range(json_integer_value(json_object_get(
				stats, "notifications_dropped")),
			NOTES / 2, NOTES - 1);
	json_decref(stats);
	close_world(&w);
}

/* A client that sends any text. */
struct raw {
	struct transport *t;
	uint32_t assoc;
	unsigned up, replies, parse_errors, invalid, others;
};

static void raw_event(void *arg, const struct transport_event *ev)
{
	struct raw *r = arg;
	json_t *reply, *first;
	json_int_t code;

	if (ev->kind == TRANSPORT_UP) {
		r->assoc = ev->assoc;
		r->up++;
	}
	if (ev->kind != TRANSPORT_DATA)
		return;
	assert_true(ev->end);
	reply = json_loadb(ev->data, ev->bytes, 0, NULL);
	first = json_is_array(reply) ? json_array_get(reply, 0) : reply;
	code = json_integer_value(
		json_object_get(json_object_get(first, "error"), "code"));
	r->replies++;
	r->parse_errors += code == RPC_PARSE_ERROR;
	r->invalid += code == RPC_INVALID_REQUEST;
	r->others += !json_object_get(first, "error");
	json_decref(reply);
}

static void open_raw(struct raw *r, struct world *w)
{
	const struct transport_config cfg = {
		.base = w->base, .kind = echo_kind, .arg = r, .event = raw_event
	};
	struct cr_err e = { 0 };

	*r = (struct raw){ 0 };
	if (transport_open(&r->t, &cfg, &e) ||
	    transport_connect(r->t, &w->at, &e))
		fail_msg("%s", e.text);
	assert_true(echo_wait(w->base, &r->up, 1));
}

static void say(struct raw *r, const char *text)
{
	assert_int_equal(transport_send(r->t, r->assoc, text, strlen(text)), 0);
}

static void malformed_messages_get_error_replies(void **state)
{
	static const char *const garbage[] = {
		"{",
		"\"",
		"{\"jsonrpc\": \"2.0\", \"method\": \"echo\", \"id\": 1",
		"\xff\xfe\x01",
		"{\"a\": 1, \"a\": 2}",
		"nonsense",
	};
	static const char *const invalid[] = {
		"[]",
		"7",
		"{}",
		"{\"jsonrpc\": \"1.0\", \"method\": \"echo\", \"id\": 1}",
		"{\"jsonrpc\": \"2.0\", \"method\": 7, \"id\": 1}",
		"{\"jsonrpc\": \"2.0\", \"method\": \"m\", \"params\": 1}",
		"{\"jsonrpc\": \"2.0\", \"method\": \"echo\", \"id\": {}}",
		"[1]",
	};
	const unsigned ngarbage = sizeof(garbage) / sizeof(garbage[0]);
	const unsigned ninvalid = sizeof(invalid) / sizeof(invalid[0]);
	struct world w;
	struct raw r;

	open_world(&w);
	open_raw(&r, &w);
	for (unsigned i = 0; i < ngarbage; i++)
		say(&r, garbage[i]);
	for (unsigned i = 0; i < ninvalid; i++)
		say(&r, invalid[i]);
	say(&r, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}"); /* no reply */
	say(&r, "{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}");	/* nor here */
	say(&r, "[{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":null}]");
	assert_true(echo_wait(w.base, &r.replies, ngarbage + ninvalid + 1));
	assert_int_equal(r.parse_errors, ngarbage);
	assert_int_equal(r.invalid, ninvalid);
	assert_int_equal(r.others, 1);
	assert_int_equal(w.server.gone, 0);
	transport_close(r.t);
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, echo_vanished());
	close_world(&w);
}

static unsigned seed(void)
{
	const char *s = getenv("CR_SEED");

	return s ? (unsigned)strtoul(s, NULL, 10) : 20090413u;
}

/* Random bytes; every second packet has a plausible SCTP header before. */
static void random_packets_are_ignored(void **state)
{
	enum { PACKETS = 20000, LONGEST = 1400 };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	unsigned rnd = seed();
	unsigned char packet[LONGEST];
	struct world w;
	int fd = -1;

	if (echo_kind == TRANSPORT_UNIX)
		skip(); /* see unix.c */
	print_message("CR_SEED=%u\n", rnd);
	open_world(&w);
	to.sin_port = htons(w.at.udp_port);
	for (unsigned i = 0; i < PACKETS; i++) {
		size_t bytes = (size_t)rand_r(&rnd) % LONGEST;

		for (size_t b = 0; b < bytes; b++)
			packet[b] = (unsigned char)rand_r(&rnd);
		if (i % 2 && bytes > 13) {
			packet[2] = SCTP_PORT >> 8;
			packet[3] = SCTP_PORT & 0xff;
			packet[12] %= 16; /* chunk type */
		}
		fd = i % 100 ? fd : socket(AF_INET, SOCK_DGRAM, 0);
		(void)sendto(fd, packet, bytes, 0, (struct sockaddr *)&to,
			     sizeof(to));
		if (i % 100 == 99)
			(void)close(fd);
		if (i % 20 == 0)
			(void)event_base_loop(w.base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(w.server.up, 1);
	assert_int_equal(w.server.gone, 0);
	close_world(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_client_is_missed),
		cmocka_unit_test(a_client_back_on_its_ports_is_a_restart),
		cmocka_unit_test(who_does_not_read_is_let_go),
		cmocka_unit_test(notifications_to_a_deaf_peer_are_dropped),
		cmocka_unit_test(malformed_messages_get_error_replies),
		cmocka_unit_test(random_packets_are_ignored),
	};

	echo_arguments(argc, argv);
	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
