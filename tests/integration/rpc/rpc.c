/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server and client in one process: every request gets its own
 * reply, in order; notifications, errors and long messages arrive whole.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "echo.h"
#include "patience.h"

enum { SCTP_PORT = 5101 };

struct pair {
	struct event_base *base;
	struct echo server;
	struct rpc_client *client;
	struct transport_addr at;
	unsigned up, down, replies, errors, ticks, out_of_order;
	char down_reason[128];
};

static void on_up(void *arg)
{
	((struct pair *)arg)->up++;
}

static void on_down(void *arg, const char *reason)
{
	struct pair *p = arg;

	p->down++;
	(void)snprintf(p->down_reason, sizeof(p->down_reason), "%s", reason);
}

static void on_notified(void *arg, const char *method, const json_t *params)
{
	struct pair *p = arg;

	assert_string_equal(method, "tick");
	if (json_integer_value(json_object_get(params, "n")) != p->ticks)
		p->out_of_order++;
	p->ticks++;
}

static struct rpc_client *connect_to(struct pair *p,
				     const struct transport_addr *to)
{
	const struct rpc_client_config cfg = { .base = p->base,
					       .to = *to,
					       .kind = echo_kind,
					       .arg = p,
					       .up = on_up,
					       .down = on_down,
					       .notified = on_notified };
	struct rpc_client *c = NULL;
	struct cr_err e = { 0 };

	if (rpc_client_open(&c, &cfg, &e))
		fail_msg("%s", e.text);
	return c;
}

static void open_pair(struct pair *p, const char *host)
{
	struct transport_addr at = echo_place(host, SCTP_PORT);
	struct cr_err e = { 0 };

	*p = (struct pair){ .base = event_base_new() };
	if (echo_open(&p->server, p->base, echo_kind, &at, 0, &e))
		fail_msg("%s", e.text);
	rpc_server_local(p->server.server, &p->at);
	if (echo_kind == TRANSPORT_USER)
		assert_int_not_equal(p->at.udp_port, 0);
	p->client = connect_to(p, &p->at);
}

static void close_pair(struct pair *p)
{
	rpc_client_close(p->client);
	rpc_server_close(p->server.server);
	event_base_free(p->base);
}

static void count_reply(void *arg, const json_t *result, const json_t *error)
{
	struct pair *p = arg;

	if (error) {
		p->errors++;
	} else {
		if (json_integer_value(json_object_get(result, "i")) !=
		    p->replies)
			p->out_of_order++;
		p->replies++;
	}
}

/* As long as a call.start with all its parameters. */
static json_t *call_params(unsigned i)
{
	return json_pack("{s:i, s:{s:s, s:i, s:s}, s:{s:s, s:s, s:i, s:b, s:s},"
			 " s:i, s:s, s:s}",
			 "i", (int)i, "in", "codec", "pcmu", "pt", 0, "source",
			 "127.0.0.1:4000", "out", "codec", "amr", "mode",
			 "12.2", "pt", 96, "octet_align", 1, "address",
			 "127.0.0.1:5004", "ptime", 20, "class", "soft",
			 "deadline", "20ms");
}

static void thousand_requests_get_their_replies_in_order(void **state)
{
	enum { REQUESTS = 1000 };
	struct pair p;
	cr_ns begin;

	open_pair(&p, "127.0.0.1");
	begin = clock_now();
	for (unsigned i = 0; i < REQUESTS; i++)
		assert_int_equal(rpc_client_call(p.client, "echo",
						 call_params(i), count_reply,
						 &p),
				 0);
	assert_true(echo_wait(p.base, &p.replies, REQUESTS));
	print_message("%d requests in %.1f ms, association included\n",
		      REQUESTS, (double)(clock_now() - begin) / 1e6);
	assert_int_equal(p.out_of_order, 0);
	assert_int_equal(p.errors, 0);
	assert_int_equal(p.up, 1);
	close_pair(&p);
	assert_int_equal(p.server.gone, 1);
	assert_string_equal(p.server.gone_reason, "shutdown");
}

static json_t *ask(struct pair *p, const char *method, json_t *params,
		   json_t **error)
{
	json_t *result = NULL;
	struct cr_err e = { 0 };
	int rc = rpc_client_ask(p->client, method, params, PATIENCE_S * 1000,
				&result, error, &e);

	if (rc < 0)
		fail_msg("%s", e.text);
	return result;
}

static void it_works_over_ipv6(void **state)
{
	json_t *result, *error = NULL;
	struct pair p;

	if (echo_kind == TRANSPORT_UNIX)
		skip();
	open_pair(&p, "::1");
	result = ask(&p, "echo", json_pack("[i]", 6), &error);
	assert_int_equal(json_integer_value(json_array_get(result, 0)), 6);
	assert_memory_equal(p.server.up_address, "[::1]:", 6);
	json_decref(result);
	close_pair(&p);
}

static void notifications_come_in_order(void **state)
{
	json_t *result, *error = NULL;
	struct pair p;

	open_pair(&p, "127.0.0.1");
	result = ask(&p, "notify", json_pack("{s:i}", "count", 500), &error);
	assert_non_null(result);
	json_decref(result);
	assert_int_equal(p.ticks, 500); /* they were sent before the reply */
	assert_int_equal(p.out_of_order, 0);
	close_pair(&p);
}

static void a_refusal_carries_code_reason_and_data(void **state)
{
	json_t *error = NULL;
	struct pair p;

	open_pair(&p, "127.0.0.1");
	assert_null(ask(&p, "fail", NULL, &error));
	assert_int_equal(json_integer_value(json_object_get(error, "code")),
			 RPC_NO_CAPACITY);
	assert_string_equal(
		json_string_value(json_object_get(error, "message")),
		"no-capacity: need 0.0035, free 0.0012");
	assert_non_null(json_object_get(error, "data"));
	json_decref(error);
	assert_null(ask(&p, "no.such", NULL, &error));
	assert_int_equal(json_integer_value(json_object_get(error, "code")),
			 RPC_NO_METHOD);
	json_decref(error);
	close_pair(&p);
}

static void a_list_of_ten_thousand_arrives_whole(void **state)
{
	enum { ITEMS = 10000 };
	json_t *result, *error = NULL;
	struct pair p;

	open_pair(&p, "127.0.0.1");
	result = ask(&p, "list", json_pack("{s:i}", "count", ITEMS), &error);
	assert_int_equal(json_array_size(result), ITEMS);
	for (unsigned i = 0; i < ITEMS; i++) {
		json_t *item = echo_item(i);

		assert_true(json_equal(json_array_get(result, i), item));
		json_decref(item);
	}
	json_decref(result);
	close_pair(&p);
}

static void a_reply_too_long_to_send_is_an_error(void **state)
{
	json_t *result, *error = NULL;
	struct pair p;

	open_pair(&p, "127.0.0.1");
	assert_null(
		ask(&p, "list", json_pack("{s:i}", "count", 30000), &error));
	assert_int_equal(json_integer_value(json_object_get(error, "code")),
			 RPC_TOO_LONG);
	json_decref(error);
	result = ask(&p, "echo", NULL, &error);
	assert_true(json_is_null(result));
	json_decref(result);
	close_pair(&p);
}

static void a_request_longer_than_allowed_is_refused(void **state)
{
	json_t *result, *error = NULL;
	char *text = calloc(1, 200001);
	struct pair p;

	memset(text, 'x', 200000);
	open_pair(&p, "127.0.0.1");
	/* The reply has no id, so it answers nothing; the next one does. */
	assert_int_equal(rpc_client_call(p.client, "echo",
					 json_pack("[s]", text), count_reply,
					 &p),
			 0);
	text[60000] = '\0';
	result = ask(&p, "echo", json_pack("[s]", text), &error);
	assert_string_equal(json_string_value(json_array_get(result, 0)), text);
	json_decref(result);
	result = ask(&p, "stats", NULL, &error);
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(result, "errors"), "-32600")),
			 1);
	json_decref(result);
	free(text);
	close_pair(&p);
	assert_int_equal(p.errors, 1); /* "connection lost", by closing */
}

static void bye_ends_the_association_by_its_name(void **state)
{
	json_t *result, *error = NULL;
	struct pair p;

	open_pair(&p, "127.0.0.1");
	result = ask(&p, "bye", NULL, &error);
	assert_true(json_is_object(result));
	json_decref(result);
	assert_true(echo_wait(p.base, &p.server.gone, 1));
	assert_string_equal(p.server.gone_reason, "bye");
	assert_true(echo_wait(p.base, &p.down, 1));
	assert_int_equal(
		rpc_client_call(p.client, "echo", NULL, count_reply, &p),
		-ENOTCONN);
	close_pair(&p);
}

static void a_closing_server_fails_what_is_pending(void **state)
{
	struct pair p;

	open_pair(&p, "127.0.0.1");
	assert_true(echo_wait(p.base, &p.up, 1));
	assert_true(echo_wait(p.base, &p.server.up, 1));
	rpc_server_close(p.server.server);
	p.server.server = NULL;
	assert_int_equal(p.server.gone, 1);
	if (!p.down)
		(void)rpc_client_call(p.client, "echo", NULL, count_reply, &p);
	assert_true(echo_wait(p.base, &p.down, 1));
	assert_string_equal(p.down_reason, "closed by the server");
	assert_int_equal(p.replies, 0);
	close_pair(&p);
}

/* There is room for one, who is there. */
static void open_full(struct pair *p, cr_ns silence)
{
	struct transport_addr at = echo_place("127.0.0.1", SCTP_PORT);
	struct cr_err e = { 0 };

	*p = (struct pair){ .base = event_base_new() };
	if (echo_open_few(&p->server, p->base, echo_kind, &at, 1, silence, &e))
		fail_msg("%s", e.text);
	rpc_server_local(p->server.server, &p->at);
	p->client = connect_to(p, &p->at);
	assert_true(echo_wait(p->base, &p->server.up, 1));
}

/* Of a Unix socket, the one who has asked is there for sure. */
static void who_may_have_vanished_makes_room(void **state)
{
	bool sure = echo_kind == TRANSPORT_UNIX;
	struct rpc_client *more;
	struct pair p;

	open_full(&p, 1);
	assert_int_equal(rpc_client_call(p.client, "echo",
					 json_pack("{s:i}", "i", 0),
					 count_reply, &p),
			 0);
	assert_true(echo_wait(p.base, &p.replies, 1));
	more = connect_to(&p, &p.at);
	assert_true(echo_wait(p.base, &p.down, 1));
	assert_int_equal(p.server.up, sure ? 1 : 2);
	assert_int_equal(p.server.gone, sure ? 0 : 1);
	if (!sure)
		assert_string_equal(p.server.gone_reason, "silent");
	rpc_client_close(more);
	close_pair(&p);
}

static void who_is_turned_away_is_told_why(void **state)
{
	struct rpc_client *more;
	struct pair p;

	open_full(&p, 3600 * CR_SEC);
	more = connect_to(&p, &p.at);
	assert_true(echo_wait(p.base, &p.down, 1));
	assert_string_equal(p.down_reason,
			    "closed by the server: too many connections: 1 "
			    "are open");
	rpc_client_close(more);
	close_pair(&p);
}

static void nobody_at_the_socket_is_said_soon(void **state)
{
	struct pair p;

	if (echo_kind != TRANSPORT_UNIX)
		skip();
	open_pair(&p, "");
	rpc_client_close(p.client);
	rpc_server_close(p.server.server);
	p.server.server = NULL;
	p.client = connect_to(&p, &p.at);
	assert_true(echo_wait(p.base, &p.down, 1));
	assert_memory_equal(p.down_reason, "there is no socket /", 20);
	close_pair(&p);
}

static void nobody_at_the_port_is_said_soon(void **state)
{
	struct transport_addr at;
	struct rpc_client *c;
	struct pair p;

	if (echo_kind == TRANSPORT_UNIX)
		skip();
	open_pair(&p, "127.0.0.1");
	at = p.at;
	at.sctp_port++;
	c = connect_to(&p, &at);
	assert_true(echo_wait(p.base, &p.down, 1));
	assert_string_equal(p.down_reason, "nothing listens at the SCTP port");
	rpc_client_close(c);

	rpc_client_close(p.client);
	rpc_server_close(p.server.server);
	p.server.server = NULL;
	c = connect_to(&p, &p.at);
	p.client = connect_to(&p, &p.at);
	assert_true(echo_wait(p.base, &p.down, 3));
	assert_string_equal(p.down_reason, "nothing listens at the UDP port");
	rpc_client_close(c);
	close_pair(&p);
}

static void many_clients_come_and_go(void **state)
{
	enum { CLIENTS = 100, ROUNDS = 3 };
	struct rpc_client *c[CLIENTS];
	struct pair p;
	bool all_up;

	open_pair(&p, "127.0.0.1");
	for (unsigned r = 0; r < ROUNDS; r++) {
		for (unsigned i = 0; i < CLIENTS; i++)
			c[i] = connect_to(&p, &p.at);
		all_up = echo_wait(p.base, &p.up, 1 + (r + 1) * CLIENTS);
		if (!all_up)
			fail_msg("round %u: %u up, %u of them at the server, "
				 "%u down (%s)",
				 r, p.up, p.server.up, p.down, p.down_reason);
		for (unsigned i = 0; i < CLIENTS; i++)
			rpc_client_close(c[i]);
		assert_true(
			echo_wait(p.base, &p.server.gone, (r + 1) * CLIENTS));
	}
	assert_int_equal(p.down, 0);
	assert_int_equal(p.server.up, 1 + ROUNDS * CLIENTS);
	close_pair(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thousand_requests_get_their_replies_in_order),
		cmocka_unit_test(it_works_over_ipv6),
		cmocka_unit_test(notifications_come_in_order),
		cmocka_unit_test(a_refusal_carries_code_reason_and_data),
		cmocka_unit_test(a_list_of_ten_thousand_arrives_whole),
		cmocka_unit_test(a_reply_too_long_to_send_is_an_error),
		cmocka_unit_test(a_request_longer_than_allowed_is_refused),
		cmocka_unit_test(bye_ends_the_association_by_its_name),
		cmocka_unit_test(a_closing_server_fails_what_is_pending),
		cmocka_unit_test(who_may_have_vanished_makes_room),
		cmocka_unit_test(who_is_turned_away_is_told_why),
		cmocka_unit_test(nobody_at_the_port_is_said_soon),
		cmocka_unit_test(nobody_at_the_socket_is_said_soon),
		cmocka_unit_test(many_clients_come_and_go),
	};

	echo_arguments(argc, argv);
	return cmocka_run_group_tests_name("rpc", tests, NULL, NULL);
}
