/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server over a Unix socket, with clients that speak to the socket by
 * themselves: lines of any kind, half lines, ends of all kinds, too many of
 * them. What goes wrong hurts only who did it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "echo.h"
#include "patience.h"

enum { SCTP_PORT = 5401, QUEUE = 256 << 10, SAID = 1 << 16 };

#define ECHO(id)                                                               \
	"{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[1],\"id\":" id   \
	"}\n"
#define ECHOED(id) "{\"jsonrpc\":\"2.0\",\"result\":[1],\"id\":" id "}\n"

struct world {
	struct event_base *base;
	struct echo server;
	struct transport_addr at;
};

static void open_world(struct world *w)
{
	struct cr_err e = { 0 };

	*w = (struct world){ .base = event_base_new() };
	w->at = echo_place("", 0);
	if (echo_open(&w->server, w->base, TRANSPORT_UNIX, &w->at, QUEUE, &e))
		fail_msg("%s", e.text);
}

static void close_world(struct world *w)
{
	rpc_server_close(w->server.server);
	event_base_free(w->base);
	assert_int_equal(access(w->at.path, F_OK), -1);
}

/* A client: a socket and what came by it. */
struct raw {
	int fd;
	size_t n;
	bool eof;
	char said[SAID];
};

static void open_raw(struct raw *r, const struct world *w)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	*r = (struct raw){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					0) };
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", w->at.path);
	assert_int_equal(connect(r->fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(fcntl(r->fd, F_SETFL, O_NONBLOCK), 0);
}

/* All of it, with the server taking it meanwhile. */
static void say_bytes(struct raw *r, struct world *w, const char *text,
		      size_t bytes)
{
	while (bytes) {
		ssize_t n = send(r->fd, text, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			fail_msg("send: %s", strerror(errno));
		(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
		text += n < 0 ? 0 : n;
		bytes -= n < 0 ? 0 : (size_t)n;
	}
}

static void say(struct raw *r, struct world *w, const char *text)
{
	say_bytes(r, w, text, strlen(text));
}

static void hear(struct raw *r)
{
	ssize_t n;

	while ((n = recv(r->fd, r->said + r->n, SAID - 1 - r->n, 0)) > 0)
		r->n += (size_t)n;
	r->said[r->n] = '\0';
	r->eof |= n == 0;
}

static unsigned lines_of(const struct raw *r)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->said[i] == '\n';
	return n;
}

/* Run the server until @r has heard @n lines, or its end. */
static void hear_lines(struct raw *r, struct world *w, unsigned n)
{
	const struct timeval often = { 0, 1000 };

	hear(r);
	while (!r->eof && lines_of(r) < n) {
		(void)event_base_loopexit(w->base, &often);
		(void)event_base_dispatch(w->base);
		hear(r);
	}
}

/* Until the server has closed. */
static void hear_end(struct raw *r, struct world *w)
{
	hear_lines(r, w, ~0u);
	assert_true(r->eof);
}

static void close_raw(struct raw *r, struct world *w)
{
	unsigned gone = w->server.gone;

	(void)close(r->fd);
	assert_true(echo_wait(w->base, &w->server.gone, gone + 1));
}

static void a_peer_is_named_by_its_process_and_user(void **state)
{
	char name[64];
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	assert_true(echo_wait(w.base, &w.server.up, 1));
	(void)snprintf(name, sizeof(name), "unix:pid=%ld,uid=%lu",
		       (long)getpid(), (unsigned long)getuid());
	assert_string_equal(w.server.up_address, name);
	assert_string_equal(w.server.last->transport, "unix");
	close_raw(&r, &w);
	close_world(&w);
}

static void lines_are_answered_by_lines_in_order(void **state)
{
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	say(&r, &w, "\n" ECHO("1") "\n\n" ECHO("\"two\"") ECHO("3"));
	hear_lines(&r, &w, 3);
	assert_string_equal(r.said, ECHOED("1") ECHOED("\"two\"") ECHOED("3"));
	close_raw(&r, &w);
	assert_string_equal(w.server.gone_reason, "shutdown");
	close_world(&w);
}

static void a_batch_is_one_line(void **state)
{
	static const char notes[] =
		"[{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":1},"
		"{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}]\n";
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	say(&r, &w, notes);
	hear_lines(&r, &w, 1);
	assert_string_equal(
		r.said, "[{\"jsonrpc\":\"2.0\",\"result\":null,\"id\":1}]\n");
	close_raw(&r, &w);
	close_world(&w);
}

static void an_octet_at_a_time_is_a_line_too(void **state)
{
	static const char text[] = ECHO("1");
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		say_bytes(&r, &w, text + i, 1);
	hear_lines(&r, &w, 1);
	assert_string_equal(r.said, ECHOED("1"));
	close_raw(&r, &w);
	close_world(&w);
}

static void half_a_line_is_never_a_message(void **state)
{
	struct rpc_stats stats;
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	say(&r, &w, ECHO("1") "{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}");
	hear_lines(&r, &w, 1);
	close_raw(&r, &w);
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.messages_in, 1);
	close_world(&w);
}

/* Neither in memory nor in time: what comes after it is answered. */
static void a_line_too_long_is_refused(void **state)
{
	enum { BYTES = 3 << 20 };
	char *text = malloc(BYTES);
	struct world w;
	struct raw r;

	(void)state;
	memset(text, ' ', BYTES);
	open_world(&w);
	open_raw(&r, &w);
	say_bytes(&r, &w, text, BYTES);
	say(&r, &w, "\n" ECHO("1"));
	hear_lines(&r, &w, 2);
	assert_non_null(strstr(r.said, "longer than 65536 bytes"));
	assert_non_null(strstr(r.said, ECHOED("1")));
	assert_int_equal(lines_of(&r), 2);
	close_raw(&r, &w);
	close_world(&w);
	free(text);
}

static void what_is_not_json_is_a_parse_error(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
	} bad[] = {
		{ "{\"jsonrpc\":\"2.0\",\0\"method\":\"echo\"}\n", 36 },
		{ "\0\n", 2 },
		{ "\xff\xfe\n", 3 },
		{ "\"\xc3\x28\"\n", 5 },
		{ "GET / HTTP/1.1\r\n", 16 },
		{ "{\n", 2 },
	};
	const unsigned n = sizeof(bad) / sizeof(bad[0]);
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	for (unsigned i = 0; i < n; i++) {
		say_bytes(&r, &w, bad[i].text, bad[i].bytes);
		hear_lines(&r, &w, i + 1);
	}
	for (char *at = r.said; *at; at = strchr(at, '\n') + 1)
		assert_non_null(strstr(at, "\"code\":-32700"));
	say(&r, &w, ECHO("1"));
	hear_lines(&r, &w, n + 1);
	assert_non_null(strstr(r.said, ECHOED("1")));
	assert_int_equal(lines_of(&r), n + 1);
	close_raw(&r, &w);
	close_world(&w);
}

static void random_octets_hurt_nobody_else(void **state)
{
	enum { BYTES = 1 << 20 };
	const char *s = getenv("CR_SEED");
	unsigned rnd = s ? (unsigned)strtoul(s, NULL, 10) : 20090413u;
	struct raw bystander, r;
	struct world w;

	(void)state;
	print_message("CR_SEED=%u\n", rnd);
	open_world(&w);
	open_raw(&bystander, &w);
	open_raw(&r, &w);
	for (unsigned i = 0; i < BYTES / 1024; i++) {
		char some[1024];

		for (unsigned b = 0; b < sizeof(some); b++)
			some[b] = (char)rand_r(&rnd);
		say_bytes(&r, &w, some, sizeof(some));
		hear(&r);
		r.n = 0;
	}
	say(&bystander, &w, ECHO("1"));
	hear_lines(&bystander, &w, 1);
	assert_string_equal(bystander.said, ECHOED("1"));
	close_raw(&r, &w);
	close_raw(&bystander, &w);
	close_world(&w);
}

#define LIST                                                                   \
	"{\"jsonrpc\":\"2.0\",\"method\":\"list\",\"params\":{\"count\":"      \
	"200},\"id\":7}\n"
#define LATER "{\"jsonrpc\":\"2.0\",\"method\":\"later\",\"id\":8}\n"

/* As a pipe into "nc -N" does. */
static void who_only_stops_asking_gets_all_replies(void **state)
{
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	say(&r, &w, ECHO("1") LATER LIST ECHO("2"));
	assert_int_equal(shutdown(r.fd, SHUT_WR), 0);
	hear_lines(&r, &w, 3);
	assert_false(r.eof); /* one is not there yet */
	assert_int_equal(w.server.gone, 0);
	echo_answer(&w.server, 0, false);
	hear_end(&r, &w);
	assert_int_equal(lines_of(&r), 4);
	assert_memory_equal(r.said, ECHOED("1"), strlen(ECHOED("1")));
	assert_non_null(strstr(r.said, "\"result\":0,\"id\":8"));
	assert_int_equal(w.server.gone, 1);
	assert_string_equal(w.server.gone_reason, "shutdown");
	(void)close(r.fd);
	close_world(&w);
}

static void who_asks_nothing_and_stops_is_let_go(void **state)
{
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	assert_int_equal(shutdown(r.fd, SHUT_WR), 0);
	hear_end(&r, &w);
	assert_int_equal(r.n, 0);
	(void)close(r.fd);
	close_world(&w);
}

static void who_will_not_read_at_all_is_let_go(void **state)
{
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	assert_int_equal(shutdown(r.fd, SHUT_RD), 0);
	say(&r, &w, ECHO("1"));
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, "lost");
	(void)close(r.fd);
	close_world(&w);
}

static void who_asks_and_vanishes_leaves_nothing(void **state)
{
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	say(&r, &w, ECHO("1") LATER);
	assert_true(echo_wait(w.base, &w.server.nlater, 1));
	close_raw(&r, &w);
	echo_answer(&w.server, 0, false);
	close_world(&w);
}

static void a_bye_is_answered_then_the_server_closes(void **state)
{
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	open_raw(&r, &w);
	say(&r, &w,
	    "{\"jsonrpc\":\"2.0\",\"method\":\"bye\",\"id\":1}\n" ECHO("2"));
	hear_end(&r, &w);
	assert_string_equal(r.said,
			    "{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":1}\n");
	assert_string_equal(w.server.gone_reason, "bye");
	(void)close(r.fd);
	close_world(&w);
}

/* Two associations with the same number, by two transports. */
static void peers_of_two_transports_are_told_apart(void **state)
{
	struct transport_addr sctp = { .host = "127.0.0.1",
				       .sctp_port = SCTP_PORT };
	struct rpc_client_config cfg = { .kind = TRANSPORT_USER };
	json_t *result = NULL, *error = NULL;
	struct rpc_client *c = NULL;
	struct cr_err e = { 0 };
	struct world w;
	struct raw r;

	(void)state;
	w = (struct world){ .base = event_base_new() };
	w.at = echo_place("", 0);
	if (echo_open(&w.server, w.base, TRANSPORT_USER, &sctp, QUEUE, &e) ||
	    rpc_server_listen(w.server.server, TRANSPORT_UNIX, &w.at, &e))
		fail_msg("%s", e.text);
	rpc_server_local(w.server.server, &sctp);
	cfg.base = w.base;
	cfg.to = sctp;
	assert_int_equal(rpc_client_open(&c, &cfg, &e), 0);
	assert_true(echo_wait(w.base, &w.server.up, 1));
	assert_string_equal(w.server.last->transport, "user");
	open_raw(&r, &w);
	assert_true(echo_wait(w.base, &w.server.up, 2));
	assert_string_equal(w.server.last->transport, "unix");
	close_raw(&r, &w);
	assert_int_equal(rpc_client_ask(c, "echo", json_pack("[i]", 1),
					PATIENCE_S * 1000, &result, &error, &e),
			 0);
	json_decref(result);
	assert_int_equal(w.server.gone, 1);
	rpc_client_close(c);
	close_world(&w);
}

static void a_second_server_is_refused_the_first_goes_on(void **state)
{
	struct cr_err e = { 0 };
	struct echo second;
	struct world w;
	struct raw r;

	(void)state;
	open_world(&w);
	assert_int_equal(
		echo_open(&second, w.base, TRANSPORT_UNIX, &w.at, QUEUE, &e),
		-EADDRINUSE);
	assert_non_null(strstr(e.text, "another process listens there"));
	open_raw(&r, &w);
	say(&r, &w, ECHO("1"));
	hear_lines(&r, &w, 1);
	assert_string_equal(r.said, ECHOED("1"));
	close_raw(&r, &w);
	close_world(&w);
}

/* Each is within its own bound, all together are not. Who reads is served. */
static void of_many_who_do_not_read_the_worst_is_let_go(void **state)
{
	enum { SLOW = 3, TOTAL = 1 << 20 };
	static const unsigned lists[SLOW] = { 8, 40, 8 };
	struct rpc_stats stats;
	struct raw slow[SLOW], reader;
	uint64_t worst = 0;
	struct cr_err e = { 0 };
	struct world w;

	(void)state;
	w = (struct world){ .base = event_base_new(), .at = echo_place("", 0) };
	if (echo_open_within(&w.server, w.base, TRANSPORT_UNIX, &w.at, TOTAL,
			     &e))
		fail_msg("%s", e.text);
	open_raw(&reader, &w);
	for (unsigned i = 0; i < SLOW; i++) {
		open_raw(&slow[i], &w);
		assert_true(echo_wait(w.base, &w.server.up, i + 2));
		worst = lists[i] > 8 ? w.server.up_id : worst;
	}
	for (unsigned i = 0; i < SLOW; i++)
		for (unsigned n = 0; n < lists[i] && !w.server.gone; n++)
			say(&slow[i], &w, LIST);
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, "crowded");
	assert_true(w.server.gone_id == worst);
	say(&reader, &w, ECHO("1"));
	hear_lines(&reader, &w, 1);
	assert_string_equal(reader.said, ECHOED("1"));
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.peers_crowded, 1);
	assert_int_equal(stats.slow_peers, 0);
	assert_int_equal(stats.associations, SLOW);
	assert_in_range(stats.queued, 1, TOTAL);
	for (unsigned i = 0; i < SLOW; i++)
		(void)close(slow[i].fd);
	close_raw(&reader, &w);
	close_world(&w);
}

static void the_one_too_many_is_told_so(void **state)
{
	enum { MOST = 1000, MORE = 20 };
	struct raw *r = calloc(1, sizeof(*r));
	struct rlimit files, many;
	int fd[MOST];
	struct world w;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	many = files;
	many.rlim_cur = 2 * MOST + 100;
	if (setrlimit(RLIMIT_NOFILE, &many))
		skip();
	open_world(&w);
	for (unsigned i = 0; i < MOST; i++) {
		open_raw(r, &w);
		fd[i] = r->fd;
		(void)event_base_loop(w.base, EVLOOP_NONBLOCK);
	}
	assert_true(echo_wait(w.base, &w.server.up, MOST));
	for (unsigned i = 0; i < MORE; i++) {
		open_raw(r, &w);
		hear_end(r, &w);
		assert_non_null(
			strstr(r->said, "too many connections: 1000 are open"));
		assert_int_equal(lines_of(r), 1);
		(void)close(r->fd);
	}
	assert_int_equal(w.server.up, MOST);
	r->fd = fd[0];
	close_raw(r, &w); /* who goes makes room */
	open_raw(r, &w);
	say(r, &w, ECHO("1"));
	hear_lines(r, &w, 1);
	assert_string_equal(r->said, ECHOED("1"));
	close_raw(r, &w);
	for (unsigned i = 1; i < MOST; i++)
		(void)close(fd[i]);
	assert_true(echo_wait(w.base, &w.server.gone, MOST + 1));
	close_world(&w);
	(void)setrlimit(RLIMIT_NOFILE, &files);
	free(r);
}

static void count_round(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned *)arg;
}

/* Without a descriptor the server waits, it does not spin; with one it goes on.
 */
static void without_descriptors_it_waits(void **state)
{
	struct rlimit files, none;
	const struct timeval t = { 0, 150000 };
	unsigned over = 0, rounds = 0;
	struct event *timer;
	struct world w;
	struct raw r;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	open_world(&w);
	timer = evtimer_new(w.base, count_round, &over);
	open_raw(&r, &w); /* waits to be accepted */
	none = files;
	none.rlim_cur = (rlim_t)r.fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	(void)evtimer_add(timer, &t);
	while (!over) {
		(void)event_base_loop(w.base, EVLOOP_ONCE);
		rounds++;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(w.server.up, 0);
	assert_in_range(rounds, 1, 20); /* spinning would be thousands */
	say(&r, &w, ECHO("1"));
	hear_lines(&r, &w, 1);
	assert_string_equal(r.said, ECHOED("1"));
	close_raw(&r, &w);
	event_free(timer);
	close_world(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_is_named_by_its_process_and_user),
		cmocka_unit_test(lines_are_answered_by_lines_in_order),
		cmocka_unit_test(a_batch_is_one_line),
		cmocka_unit_test(an_octet_at_a_time_is_a_line_too),
		cmocka_unit_test(half_a_line_is_never_a_message),
		cmocka_unit_test(a_line_too_long_is_refused),
		cmocka_unit_test(what_is_not_json_is_a_parse_error),
		cmocka_unit_test(random_octets_hurt_nobody_else),
		cmocka_unit_test(who_only_stops_asking_gets_all_replies),
		cmocka_unit_test(who_asks_nothing_and_stops_is_let_go),
		cmocka_unit_test(who_will_not_read_at_all_is_let_go),
		cmocka_unit_test(who_asks_and_vanishes_leaves_nothing),
		cmocka_unit_test(a_bye_is_answered_then_the_server_closes),
		cmocka_unit_test(peers_of_two_transports_are_told_apart),
		cmocka_unit_test(a_second_server_is_refused_the_first_goes_on),
		cmocka_unit_test(of_many_who_do_not_read_the_worst_is_let_go),
		cmocka_unit_test(the_one_too_many_is_told_so),
		cmocka_unit_test(without_descriptors_it_waits),
	};
	char word[] = "unix", *over[] = { argv[0], word, NULL };

	(void)argc;
	echo_arguments(2, over);
	return cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
