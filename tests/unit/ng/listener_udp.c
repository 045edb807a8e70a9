/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by UDP, with real sockets. */
#include "listener_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"

#define PING(cookie) cookie " d7:command4:pinge"
#define PONG(cookie) cookie " d6:result4:ponge"
#define HOLD(cookie) cookie " {\"command\":\"hold\"}"
#define HELD(cookie) cookie " {\"result\":\"ok\"}"

static struct listening w;
static struct client c, other;

static void both_encodings_are_answered_in_kind(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	client_say(&c, &w, PING("1_2"));
	client_hear(&c, &w, PONG("1_2"));
	client_say(&c, &w, "3 {\"command\":\"ping\"}");
	client_hear(&c, &w, "3 {\"result\":\"pong\"}");
	/* typed by a person */
	client_say(&c, &w, PING("4") "\r\n");
	client_hear(&c, &w, PONG("4"));
	assert_memory_equal(w.from, "127.0.0.1:", 10);
	assert_int_equal(listening_stats(&w).answered, 3);
	client_close(&c);
	listening_close(&w);
}

static void a_lost_answer_comes_again_and_the_work_is_done_once(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	client_udp(&other, &w);
	for (unsigned i = 0; i < 3; i++) {
		client_say(&c, &w, PING("1"));
		client_hear(&c, &w, PONG("1"));
	}
	assert_int_equal(w.asked, 1);
	assert_int_equal(listening_stats(&w).repeated, 2);
	/* the same cookie of another one is another request */
	client_say(&other, &w, PING("1"));
	client_hear(&other, &w, PONG("1"));
	assert_int_equal(w.asked, 2);
	client_close(&other);
	client_close(&c);
	listening_close(&w);
}

static void what_is_worked_on_is_answered_once(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	for (unsigned i = 0; i < 3; i++)
		client_say(&c, &w, HOLD("1"));
	listening_hold(&w, 1);
	while (listening_stats(&w).ignored < 2)
		listening_turn(&w);
	client_say(&c, &w, PING("2"));
	client_hear(&c, &w, PONG("2"));
	answer_held(&w);
	client_hear(&c, &w, HELD("1"));
	/* lost again */
	client_say(&c, &w, HOLD("1"));
	client_hear(&c, &w, HELD("1"));
	assert_int_equal(w.asked, 2);
	client_close(&c);
	listening_close(&w);
}

static const char *const malformed[][2] = {
	{ "1 {\"command\":", "1 {\"result\":\"error\"," },
	{ "2 d7:command", "2 d6:result5:error" },
	{ "3 li1ee", "3 d6:result5:error" },
	{ "4 {\"\xff\": 1}", "4 {\"result\":\"error\"," },
	{ "5 x", "5 d6:result5:error" },
};

static void what_is_malformed_is_an_error_if_it_has_a_cookie(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); i++) {
		client_say(&c, &w, malformed[i][0]);
		while (!c.n) {
			listening_turn(&w);
			client_listen(&c);
		}
		assert_memory_equal(c.heard, malformed[i][1],
				    strlen(malformed[i][1]));
		assert_non_null(strstr(c.heard, "error-reason"));
		c.n = 0;
	}
	assert_int_equal(listening_stats(&w).malformed, 5);
	client_say(&c, &w, "d7:command4:pinge");
	client_say(&c, &w, " " PING("1"));
	client_say(&c, &w, "\n");
	client_say(&c, &w, PING("\x01"));
	/* errors that answer errors would never end */
	client_say(&c, &w, "6 d6:result5:error12:error-reason1:xe");
	client_say(&c, &w, PING("7"));
	client_hear(&c, &w, PONG("7")); /* and nothing else */
	assert_int_equal(listening_stats(&w).malformed, 10);
	assert_int_equal(w.asked, 1);
	client_close(&c);
	listening_close(&w);
}

static void an_empty_datagram_is_no_end(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	assert_int_equal(send(c.fd, "", 0, 0), 0);
	client_say(&c, &w, PING("1"));
	client_hear(&c, &w, PONG("1"));
	assert_int_equal(listening_stats(&w).malformed, 1);
	client_close(&c);
	listening_close(&w);
}

static void answers_that_cannot_be_said_are_errors(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	client_say(&c, &w, "1 d7:command4:nulle");
	client_hear(
		&c, &w,
		"1 d6:result5:error12:error-reason33:the answer has no form in "
		"bencodee");
	client_say(&c, &w, "2 {\"command\":\"long\",\"octets\":70000}");
	client_hear(&c, &w,
		    "2 {\"result\":\"error\",\"error-reason\":\"the answer is "
		    "too long for a message\"}");
	client_close(&c);
	listening_close(&w);
}

/* As large as datagrams are. */
static void large_messages_go_both_ways(void **state)
{
	static char text[65507];

	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	memset(text, ' ', sizeof(text));
	memcpy(text, "1 {\"command\":\"long\",\"octets\":65000",
	       strlen("1 {\"command\":\"long\",\"octets\":65000"));
	text[sizeof(text) - 1] = '}';
	client_say_bytes(&c, &w, text, sizeof(text));
	while (!c.n) {
		listening_turn(&w);
		client_listen(&c);
	}
	assert_in_range(c.n, 65000, 65507);
	client_close(&c);
	listening_close(&w);
}

static void who_sends_too_many_is_dropped_and_counted(void **state)
{
	struct ng_limits limits = ng_limits_usual;
	unsigned heard = 0;
	char text[64];

	limits.per_second = 1;
	listening_open(&w, "127.0.0.1:0", &limits);
	client_udp(&c, &w);
	for (unsigned i = 0; i < 100; i++) {
		(void)snprintf(text, sizeof(text), "%u d7:command4:pinge", i);
		client_say(&c, &w, text);
	}
	while (listening_stats(&w).received < 100)
		listening_turn(&w);
	client_listen(&c);
	for (size_t i = 0; i + 4 <= c.n; i++)
		heard += !memcmp(c.heard + i, "pong", 4);
	assert_int_equal(heard, w.asked);
	assert_in_range(w.asked, 1, 99);
	assert_int_equal(listening_stats(&w).limited, 100 - w.asked);
	client_close(&c);
	listening_close(&w);
}

static void too_many_that_wait_are_refused_by_load_limit(void **state)
{
	struct ng_limits limits = ng_limits_usual;

	limits.waiting = 2;
	listening_open(&w, "127.0.0.1:0", &limits);
	client_udp(&c, &w);
	client_say(&c, &w, HOLD("1"));
	client_say(&c, &w, HOLD("2"));
	client_say(&c, &w, HOLD("3"));
	client_hear(&c, &w,
		    "3 {\"result\":\"load limit\",\"message\":\"too many "
		    "requests wait for their answers\"}");
	answer_held(&w);
	client_hear(&c, &w, HELD("1"));
	client_say(&c, &w, HOLD("4"));
	listening_hold(&w, 2);
	assert_int_equal(listening_stats(&w).overloaded, 1);
	client_close(&c);
	listening_close(&w);
}

static void who_has_gone_is_answered_into_the_void(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	client_say(&c, &w, HOLD("1"));
	listening_hold(&w, 1);
	client_close(&c);
	answer_held(&w);
	client_udp(&c, &w);
	client_say(&c, &w, PING("2"));
	client_hear(&c, &w, PONG("2"));
	client_close(&c);
	listening_close(&w);
}

static void it_closes_while_requests_wait(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	client_say(&c, &w, HOLD("1"));
	client_say(&c, &w, HOLD("2"));
	listening_hold(&w, 2);
	answer_held(&w);
	listening_shut(&w);
	assert_memory_equal(ng_asked_client(w.held[0])->text, "127.0.0.1:", 10);
	answer_held(&w);
	client_close(&c);
	listening_close(&w);
}

/* The answer comes from the address that was asked: a connected socket would
 * not hear it otherwise. */
static void answer_from(const char *listens, const char *asked)
{
	unsigned port;

	listening_open(&w, listens, NULL);
	port = address_port(&w.at);
	assert_int_equal(address_parse(asked, &w.at), 0);
	address_set_port(&w.at, port);
	client_udp(&c, &w);
	client_say(&c, &w, PING("1"));
	client_hear(&c, &w, PONG("1"));
	client_close(&c);
	listening_close(&w);
}

static void the_answer_comes_from_where_it_was_asked(void **state)
{
	answer_from("0.0.0.0:0", "127.0.0.5:0");
	answer_from("[::1]:0", "[::1]:0");
	answer_from("[::]:0", "[::1]:0");
}

static void wrong_addresses_are_named(void **state)
{
	static const char *const wrong[] = { "here", "127.0.0.1",
					     "1.2.3.4:70000", "localhost:5",
					     "192.0.2.77:5" };
	struct ng_listener_config cfg = { .base = event_base_new(),
					  .acl = listening_to_all() };
	struct ng_listener *l = NULL;
	char taken[64];
	struct cr_err e;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		e.text[0] = '\0';
		cfg.address = wrong[i];
		assert_true(ng_listener_open(&l, &cfg, &e) < 0);
		assert_non_null(strstr(e.text, wrong[i]));
		assert_null(l);
	}
	listening_open(&w, "127.0.0.1:0", NULL);
	ng_listener_local(w.listener, taken, sizeof(taken));
	cfg.address = taken;
	assert_true(ng_listener_open(&l, &cfg, &e) < 0);
	assert_non_null(strstr(e.text, taken));
	assert_non_null(strstr(e.text, "in use"));
	listening_close(&w);
	event_base_free(cfg.base);
}

static void who_may_ask_changes(void **state)
{
	struct networks some;
	struct cr_err e = { "" };
	uint64_t denied;

	listening_open(&w, "127.0.0.1:0", NULL);
	client_udp(&c, &w);
	client_say(&c, &w, PING("1"));
	client_hear(&c, &w, PONG("1"));
	denied = listening_stats(&w).denied;
	assert_int_equal(networks_read(&some, "127.0.0.2", &e), 0);
	assert_int_equal(ng_listener_admit(w.listener, &some, &e), 0);
	client_say(&c, &w, PING("2"));
	while (listening_stats(&w).denied == denied)
		listening_turn(&w);
	/* nobody is named: who is at loopback */
	assert_int_equal(ng_listener_admit(w.listener, NULL, &e), 0);
	client_say(&c, &w, PING("3"));
	client_hear(&c, &w, PONG("3"));
	assert_int_equal(listening_stats(&w).asked, 2);
	client_close(&c);
	listening_close(&w);
}

static void what_could_not_listen_is_told_before(void **state)
{
	struct networks some;
	struct cr_err e = { "" };

	assert_int_equal(networks_read(&some, "192.0.2.0/24", &e), 0);
	assert_int_equal(ng_listener_check("22222", NULL, &e), 0);
	assert_int_equal(ng_listener_check("[::1]:5", NULL, &e), 0);
	assert_int_equal(ng_listener_check("192.0.2.7:5", &some, &e), 0);
	assert_int_equal(ng_listener_check("192.0.2.7:5", NULL, &e), -EINVAL);
	assert_non_null(strstr(e.text, "--ng-allow"));
	assert_int_equal(ng_listener_check("here", &some, &e), -EINVAL);
	assert_non_null(strstr(e.text, "needs an address with a port"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_may_ask_changes),
		cmocka_unit_test(what_could_not_listen_is_told_before),
		cmocka_unit_test(both_encodings_are_answered_in_kind),
		cmocka_unit_test(
			a_lost_answer_comes_again_and_the_work_is_done_once),
		cmocka_unit_test(what_is_worked_on_is_answered_once),
		cmocka_unit_test(
			what_is_malformed_is_an_error_if_it_has_a_cookie),
		cmocka_unit_test(an_empty_datagram_is_no_end),
		cmocka_unit_test(answers_that_cannot_be_said_are_errors),
		cmocka_unit_test(large_messages_go_both_ways),
		cmocka_unit_test(who_sends_too_many_is_dropped_and_counted),
		cmocka_unit_test(too_many_that_wait_are_refused_by_load_limit),
		cmocka_unit_test(who_has_gone_is_answered_into_the_void),
		cmocka_unit_test(it_closes_while_requests_wait),
		cmocka_unit_test(the_answer_comes_from_where_it_was_asked),
		cmocka_unit_test(wrong_addresses_are_named),
	};

	return cmocka_run_group_tests_name("ng listener udp", tests, NULL,
					   NULL);
}
