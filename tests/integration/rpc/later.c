/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are answered later: others are answered meanwhile, a batch
 * waits for all of its own, and a peer that has gone gets nothing.
 */
#include <string.h>

#include "cmocka_cr.h"
#include "echo.h"

enum { SCTP_PORT = 5301 };

#define REQUEST(method, id)                                                    \
	"{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"id\":" id "}"
#define RESULT(result, id)                                                     \
	"{\"jsonrpc\":\"2.0\",\"result\":" result ",\"id\":" id "}"
#define NOTE(method) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\"}"

/* A client that sends text and keeps what comes back. */
struct pair {
	struct event_base *base;
	struct echo server;
	struct transport *t;
	uint32_t assoc;
	unsigned up, replies;
	char said[1000]; /* one line each */
};

static void on_event(void *arg, const struct transport_event *ev)
{
	struct pair *p = arg;

	if (ev->kind == TRANSPORT_UP) {
		p->assoc = ev->assoc;
		p->up++;
	}
	if (ev->kind != TRANSPORT_DATA)
		return;
	assert_true(ev->end);
	(void)snprintf(p->said + strlen(p->said),
		       sizeof(p->said) - strlen(p->said), "%.*s\n",
		       (int)ev->bytes, (const char *)ev->data);
	p->replies++;
}

static void open_pair(struct pair *p)
{
	struct transport_addr at = echo_place("127.0.0.1", SCTP_PORT);
	struct transport_config cfg = { .kind = echo_kind,
					.arg = p,
					.event = on_event };
	struct cr_err e = { 0 };

	*p = (struct pair){ .base = event_base_new() };
	cfg.base = p->base;
	if (echo_open(&p->server, p->base, echo_kind, &at, 0, &e))
		fail_msg("%s", e.text);
	rpc_server_local(p->server.server, &at);
	if (transport_open(&p->t, &cfg, &e) || transport_connect(p->t, &at, &e))
		fail_msg("%s", e.text);
	assert_true(echo_wait(p->base, &p->up, 1));
}

static void close_pair(struct pair *p)
{
	if (p->t)
		transport_close(p->t);
	rpc_server_close(p->server.server);
	event_base_free(p->base);
}

static void say(struct pair *p, const char *text)
{
	assert_int_equal(transport_send(p->t, p->assoc, text, strlen(text)), 0);
}

static void others_are_answered_meanwhile(void **state)
{
	struct pair p;

	open_pair(&p);
	say(&p, REQUEST("later", "1"));
	say(&p, REQUEST("later", "\"two\""));
	say(&p, REQUEST("echo", "3"));
	assert_true(echo_wait(p.base, &p.replies, 1));
	echo_answer(&p.server, 1, false);
	echo_answer(&p.server, 0, true);
	assert_true(echo_wait(p.base, &p.replies, 3));
	assert_string_equal(
		p.said,
		RESULT("null", "3") "\n" RESULT(
			"1",
			"\"two\"") "\n"
				   "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,"
				   "\"message\":\"No capacity\"},\"id\":1}\n");
	close_pair(&p);
}

static void a_batch_waits_for_its_own(void **state)
{
	struct pair p;

	open_pair(&p);
	say(&p, "[" REQUEST("later", "1") "," REQUEST("echo", "2") "," REQUEST(
			"later", "3") "," NOTE("later") "]");
	say(&p, REQUEST("echo", "4"));
	assert_true(echo_wait(p.base, &p.replies, 1));
	echo_answer(&p.server, 2, true);
	echo_answer(&p.server, 0, false);
	say(&p, REQUEST("echo", "5"));
	assert_true(echo_wait(p.base, &p.replies, 2));
	echo_answer(&p.server, 1, false);
	assert_true(echo_wait(p.base, &p.replies, 3));
	assert_string_equal(
		p.said,
		RESULT("null", "4") "\n" RESULT("null", "5") "\n[" RESULT(
			"null",
			"2") "," RESULT("0", "1") "," RESULT("1", "3") "]\n");
	close_pair(&p);
}

static void a_notification_is_not_answered(void **state)
{
	struct pair p;

	open_pair(&p);
	say(&p, NOTE("later"));
	say(&p, REQUEST("echo", "1"));
	assert_true(echo_wait(p.base, &p.replies, 1));
	echo_answer(&p.server, 0, false);
	say(&p, REQUEST("echo", "2"));
	assert_true(echo_wait(p.base, &p.replies, 2));
	assert_string_equal(p.said,
			    RESULT("null", "1") "\n" RESULT("null", "2") "\n");
	close_pair(&p);
}

static void who_has_gone_is_not_told(void **state)
{
	struct pair p;
	struct rpc_stats count;

	open_pair(&p);
	say(&p, "[" REQUEST("later", "1") "," REQUEST("later", "2") "]");
	say(&p, REQUEST("echo", "3"));
	assert_true(echo_wait(p.base, &p.replies, 1));
	transport_close(p.t);
	p.t = NULL;
	assert_true(echo_wait(p.base, &p.server.gone, 1));
	echo_answer(&p.server, 0, false);
	echo_answer(&p.server, 1, true);
	rpc_server_stats(p.server.server, &count);
	assert_int_equal(count.replies_lost, 2);
	close_pair(&p);
}

static void bye_waits_for_the_rest_of_its_batch(void **state)
{
	struct pair p;

	open_pair(&p);
	say(&p, REQUEST("echo", "0"));
	assert_true(echo_wait(p.base, &p.replies, 1));
	say(&p, "[" REQUEST("later",
			    "1") "," REQUEST("bye", "2") "," NOTE("later") "]");
	say(&p, REQUEST("echo", "3")); /* after bye: not read */
	assert_true(echo_wait(p.base, &p.server.nlater, 2));
	assert_int_equal(p.server.gone, 0);
	echo_answer(&p.server, 0, false);
	echo_answer(&p.server, 1, false);
	assert_true(echo_wait(p.base, &p.server.gone, 1));
	assert_string_equal(p.server.gone_reason, "bye");
	assert_string_equal(p.said,
			    RESULT("null", "0") "\n[" RESULT(
				    "{}", "2") "," RESULT("0", "1") "]\n");
	close_pair(&p);
}

static void later_may_be_at_once(void **state)
{
	struct pair p;

	open_pair(&p);
	say(&p, REQUEST("at-once", "1"));
	assert_true(echo_wait(p.base, &p.replies, 1));
	say(&p, REQUEST("echo", "2"));
	assert_true(echo_wait(p.base, &p.replies, 2));
	assert_string_equal(p.said,
			    RESULT("{}", "1") "\n" RESULT("null", "2") "\n");
	close_pair(&p);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_are_answered_meanwhile),
		cmocka_unit_test(a_batch_waits_for_its_own),
		cmocka_unit_test(a_notification_is_not_answered),
		cmocka_unit_test(who_has_gone_is_not_told),
		cmocka_unit_test(later_may_be_at_once),
		cmocka_unit_test(bye_waits_for_the_rest_of_its_batch),
	};

	echo_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
