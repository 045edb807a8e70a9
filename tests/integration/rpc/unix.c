/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server over a Unix socket, with clients that speak to the socket by
 * themselves: lines of any kind, half lines, ends of all kinds. What goes wrong
 * hurts only who did it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "patience.h"
#include "raw.h"

enum { SCTP_PORT = 5401 };

static void a_peer_is_named_by_its_process_and_user(void **state)
{
	char name[64];
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	assert_true(echo_wait(w.base, &w.server.up, 1));
	(void)snprintf(name, sizeof(name), "unix:pid=%ld,uid=%lu",
		       (long)getpid(), (unsigned long)getuid());
	assert_string_equal(w.server.up_address, name);
	assert_string_equal(w.server.last->transport, "unix");
	raw_close(&r, &w);
	world_close(&w);
}

static void lines_are_answered_by_lines_in_order(void **state)
{
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	raw_say(&r, &w, "\n" ECHO("1") "\n\n" ECHO("\"two\"") ECHO("3"));
	raw_hear_lines(&r, &w, 3);
	assert_string_equal(r.said, ECHOED("1") ECHOED("\"two\"") ECHOED("3"));
	raw_close(&r, &w);
	assert_string_equal(w.server.gone_reason, "shutdown");
	world_close(&w);
}

static void a_batch_is_one_line(void **state)
{
	static const char notes[] =
		"[{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"id\":1},"
		"{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}]\n";
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	raw_say(&r, &w, notes);
	raw_hear_lines(&r, &w, 1);
	assert_string_equal(
		r.said, "[{\"jsonrpc\":\"2.0\",\"result\":null,\"id\":1}]\n");
	raw_close(&r, &w);
	world_close(&w);
}

static void an_octet_at_a_time_is_a_line_too(void **state)
{
	static const char text[] = ECHO("1");
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		raw_say_bytes(&r, &w, text + i, 1);
	raw_hear_lines(&r, &w, 1);
	assert_string_equal(r.said, ECHOED("1"));
	raw_close(&r, &w);
	world_close(&w);
}

static void half_a_line_is_never_a_message(void **state)
{
	struct rpc_stats stats;
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	raw_say(&r, &w, ECHO("1") "{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}");
	raw_hear_lines(&r, &w, 1);
	raw_close(&r, &w);
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.messages_in, 1);
	world_close(&w);
}

/* Neither in memory nor in time: what comes after it is answered. */
static void a_line_too_long_is_refused(void **state)
{
	enum { BYTES = 3 << 20 };
	char *text = malloc(BYTES);
	struct world w;
	struct raw r;

	memset(text, ' ', BYTES);
	world_open(&w);
	raw_open(&r, &w);
	raw_say_bytes(&r, &w, text, BYTES);
	raw_say(&r, &w, "\n" ECHO("1"));
	raw_hear_lines(&r, &w, 2);
	assert_non_null(strstr(r.said, "longer than 65536 bytes"));
	assert_non_null(strstr(r.said, ECHOED("1")));
	assert_int_equal(raw_lines(&r), 2);
	raw_close(&r, &w);
	world_close(&w);
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

	world_open(&w);
	raw_open(&r, &w);
	for (unsigned i = 0; i < n; i++) {
		raw_say_bytes(&r, &w, bad[i].text, bad[i].bytes);
		raw_hear_lines(&r, &w, i + 1);
	}
	for (char *at = r.said; *at; at = strchr(at, '\n') + 1)
		assert_non_null(strstr(at, "\"code\":-32700"));
	raw_say(&r, &w, ECHO("1"));
	raw_hear_lines(&r, &w, n + 1);
	assert_non_null(strstr(r.said, ECHOED("1")));
	assert_int_equal(raw_lines(&r), n + 1);
	raw_close(&r, &w);
	world_close(&w);
}

static void random_octets_hurt_nobody_else(void **state)
{
	enum { BYTES = 1 << 20 };
	const char *s = getenv("CR_SEED");
	unsigned rnd = s ? (unsigned)strtoul(s, NULL, 10) : 20090413u;
	struct raw bystander, r;
	struct world w;

	print_message("CR_SEED=%u\n", rnd);
	world_open(&w);
	raw_open(&bystander, &w);
	raw_open(&r, &w);
	for (unsigned i = 0; i < BYTES / 1024; i++) {
		char some[1024];

		for (unsigned b = 0; b < sizeof(some); b++)
			some[b] = (char)rand_r(&rnd);
		raw_say_bytes(&r, &w, some, sizeof(some));
		raw_hear(&r);
		r.n = 0;
	}
	raw_say(&bystander, &w, ECHO("1"));
	raw_hear_lines(&bystander, &w, 1);
	assert_string_equal(bystander.said, ECHOED("1"));
	raw_close(&r, &w);
	raw_close(&bystander, &w);
	world_close(&w);
}

#define LATER "{\"jsonrpc\":\"2.0\",\"method\":\"later\",\"id\":8}\n"

/* As a pipe into "nc -N" does. */
static void who_only_stops_asking_gets_all_replies(void **state)
{
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	raw_say(&r, &w, ECHO("1") LATER LIST ECHO("2"));
	assert_int_equal(shutdown(r.fd, SHUT_WR), 0);
	raw_hear_lines(&r, &w, 3);
	assert_false(r.eof); /* one is not there yet */
	assert_int_equal(w.server.gone, 0);
	echo_answer(&w.server, 0, false);
	raw_hear_end(&r, &w);
	assert_int_equal(raw_lines(&r), 4);
	assert_memory_equal(r.said, ECHOED("1"), strlen(ECHOED("1")));
	assert_non_null(strstr(r.said, "\"result\":0,\"id\":8"));
	assert_int_equal(w.server.gone, 1);
	assert_string_equal(w.server.gone_reason, "shutdown");
	(void)close(r.fd);
	world_close(&w);
}

static void who_asks_nothing_and_stops_is_let_go(void **state)
{
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	assert_int_equal(shutdown(r.fd, SHUT_WR), 0);
	raw_hear_end(&r, &w);
	assert_int_equal(r.n, 0);
	(void)close(r.fd);
	world_close(&w);
}

static void who_will_not_read_at_all_is_let_go(void **state)
{
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	assert_int_equal(shutdown(r.fd, SHUT_RD), 0);
	raw_say(&r, &w, ECHO("1"));
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, "lost");
	(void)close(r.fd);
	world_close(&w);
}

static void who_asks_and_vanishes_leaves_nothing(void **state)
{
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	raw_say(&r, &w, ECHO("1") LATER);
	assert_true(echo_wait(w.base, &w.server.nlater, 1));
	raw_close(&r, &w);
	echo_answer(&w.server, 0, false);
	world_close(&w);
}

static void a_bye_is_answered_then_the_server_closes(void **state)
{
	struct world w;
	struct raw r;

	world_open(&w);
	raw_open(&r, &w);
	raw_say(&r, &w,
		"{\"jsonrpc\":\"2.0\",\"method\":\"bye\",\"id\":1}\n" ECHO(
			"2"));
	raw_hear_end(&r, &w);
	assert_string_equal(r.said,
			    "{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":1}\n");
	assert_string_equal(w.server.gone_reason, "bye");
	(void)close(r.fd);
	world_close(&w);
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

	w = (struct world){ .base = event_base_new() };
	w.at = echo_place("", 0);
	if (echo_open(&w.server, w.base, TRANSPORT_USER, &sctp, RAW_QUEUE,
		      &e) ||
	    rpc_server_listen(w.server.server, TRANSPORT_UNIX, &w.at, &e))
		fail_msg("%s", e.text);
	rpc_server_local(w.server.server, &sctp);
	cfg.base = w.base;
	cfg.to = sctp;
	assert_int_equal(rpc_client_open(&c, &cfg, &e), 0);
	assert_true(echo_wait(w.base, &w.server.up, 1));
	assert_string_equal(w.server.last->transport, "user");
	raw_open(&r, &w);
	assert_true(echo_wait(w.base, &w.server.up, 2));
	assert_string_equal(w.server.last->transport, "unix");
	raw_close(&r, &w);
	assert_int_equal(rpc_client_ask(c, "echo", json_pack("[i]", 1),
					PATIENCE_S * 1000, &result, &error, &e),
			 0);
	json_decref(result);
	assert_int_equal(w.server.gone, 1);
	rpc_client_close(c);
	world_close(&w);
}

static void a_second_server_is_refused_the_first_goes_on(void **state)
{
	struct cr_err e = { 0 };
	struct echo second;
	struct world w;
	struct raw r;

	world_open(&w);
	assert_int_equal(echo_open(&second, w.base, TRANSPORT_UNIX, &w.at,
				   RAW_QUEUE, &e),
			 -EADDRINUSE);
	assert_non_null(strstr(e.text, "another process listens there"));
	raw_open(&r, &w);
	raw_say(&r, &w, ECHO("1"));
	raw_hear_lines(&r, &w, 1);
	assert_string_equal(r.said, ECHOED("1"));
	raw_close(&r, &w);
	world_close(&w);
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
	};
	char word[] = "unix", *over[] = { argv[0], word, NULL };

	(void)argc;
	echo_arguments(2, over);
	return cmocka_run_group_tests_name("unix", tests, NULL, NULL);
}
