/* SPDX-License-Identifier: Apache-2.0 */
/* Requests by TCP, with real sockets. */
#define _GNU_SOURCE /* syscall() */
#include "listener_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "unwatched.h"

#define PING(cookie) cookie " d7:command4:pinge"
#define PONG(cookie) cookie " d6:result4:ponge"
#define HOLD(cookie) cookie " {\"command\":\"hold\"}"
#define HELD(cookie) cookie " {\"result\":\"ok\"}"
#define LONG(cookie) cookie " {\"command\":\"long\",\"octets\":60000}"

static struct listening w;
static struct client c, other;

static void requests_follow_each_other(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, PING("1") "2 {\"command\":\"ping\"}\n" PING("3"));
	client_hear(&c, &w, PONG("1") "2 {\"result\":\"pong\"}" PONG("3"));
	/* cookies may come again: nothing is lost by TCP */
	client_say(&c, &w, PING("1"));
	client_hear(&c, &w, PONG("1"));
	assert_int_equal(w.asked, 4);
	client_close(&c);
	listening_close(&w);
}

static void octet_by_octet_is_the_same(void **state)
{
	static const char said[] = PING("1") " \r\n2 {\"command\":\"ping\"}";

	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	for (size_t i = 0; i < sizeof(said) - 1; i++)
		client_say_bytes(&c, &w, said + i, 1);
	client_hear(&c, &w, PONG("1") "2 {\"result\":\"pong\"}");
	client_close(&c);
	listening_close(&w);
}

/* More than one turn takes, more than may wait, more than a buffer holds. */
static void thousands_at_once_are_answered_in_order(void **state)
{
	enum { MANY = 3000 };
	static char said[MANY * 32], heard[MANY * 32];
	char *p = said, *q = heard;
	struct ng_limits limits = ng_limits_usual;

	limits.per_second = 1000000;
	for (unsigned i = 0; i < MANY; i++) {
		p += sprintf(p, "%u d7:command4:pinge", i);
		q += sprintf(q, "%u d6:result4:ponge", i);
	}
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, said);
	client_hear(&c, &w, heard);
	client_close(&c);
	listening_close(&w);
}

/* They wait in the kernel; none is dropped. */
static void who_asks_too_much_waits(void **state)
{
	enum { MANY = 200 };
	static char said[MANY * 32], heard[MANY * 32];
	char *p = said, *q = heard;
	struct ng_limits limits = ng_limits_usual;

	limits.per_second = 100;
	for (unsigned i = 0; i < MANY; i++) {
		p += sprintf(p, "%u d7:command4:pinge", i);
		q += sprintf(q, "%u d6:result4:ponge", i);
	}
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, said);
	client_hear(&c, &w, heard);
	assert_int_equal(listening_stats(&w).limited, 0);
	client_close(&c);
	listening_close(&w);
}

static void malformed_messages_do_not_hurt_their_neighbours(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, "1 {\"command\"}" PING("2"));
	while (!strstr((client_listen(&c), c.heard), PONG("2")))
		listening_turn(&w);
	assert_memory_equal(c.heard, "1 {\"result\":\"error\",", 20);
	assert_int_equal(listening_stats(&w).malformed, 1);
	client_close(&c);
	listening_close(&w);
}

static void what_cannot_be_told_apart_ends_the_connection(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, HOLD("1") "GET / HTTP/1.1\r\n\r\n" PING("2"));
	listening_hold(&w, 1);
	answer_held(&w); /* what was asked before is answered yet */
	client_hear_end(&c, &w);
	assert_string_equal(c.heard, "GET d6:result5:error12:error-reason31:no "
				     "dictionary behind the cookiee" HELD("1"));
	assert_int_equal(w.asked, 1);
	assert_int_equal(listening_stats(&w).cut, 1);
	client_close(&c);
	while (listening_stats(&w).connections)
		listening_turn(&w);
	listening_close(&w);
}

static void a_message_that_is_too_long_is_an_error(void **state)
{
	static char text[100000];

	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	memset(text, ' ', sizeof(text));
	memcpy(text, "1 {", 3);
	client_say_bytes(&c, &w, text, sizeof(text));
	client_hear_end(&c, &w);
	assert_string_equal(c.heard, "1 {\"result\":\"error\",\"error-reason\":"
				     "\"a message that is too long\"}");
	client_close(&c);
	listening_close(&w);
}

static void a_client_that_says_no_more_is_still_answered(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, HOLD("1") PING("2"));
	assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
	client_hear(&c, &w, PONG("2"));
	listening_turn(&w);
	assert_int_equal(listening_stats(&w).connections, 1);
	answer_held(&w);
	client_hear_end(&c, &w);
	assert_string_equal(c.heard, HELD("1"));
	assert_int_equal(listening_stats(&w).connections, 0);
	assert_int_equal(listening_stats(&w).cut, 0);
	client_close(&c);
	listening_close(&w);
}

static void a_connection_that_ends_within_a_message_is_counted(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, PING("1") "2 d7:comm");
	client_hear(&c, &w, PONG("1"));
	client_close(&c);
	while (listening_stats(&w).connections)
		listening_turn(&w);
	assert_int_equal(listening_stats(&w).malformed, 1);
	listening_close(&w);
}

static void an_answer_to_who_has_gone_is_dropped(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, HOLD("1") HOLD("2"));
	listening_hold(&w, 2);
	/* with an RST: it does not wait for anything */
	assert_int_equal(setsockopt(c.fd, SOL_SOCKET, SO_LINGER,
				    &(struct linger){ 1, 0 },
				    sizeof(struct linger)),
			 0);
	client_close(&c);
	while (listening_stats(&w).connections)
		listening_turn(&w);
	answer_held(&w);
	answer_held(&w);
	assert_int_equal(listening_stats(&w).unwanted, 2);
	assert_int_equal(listening_stats(&w).waiting, 0);
	listening_close(&w);
}

static void it_closes_while_requests_of_connections_wait(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, HOLD("1") HOLD("2") "3 d");
	listening_hold(&w, 2);
	listening_shut(&w);
	answer_held(&w);
	client_hear_end(&c, &w);
	assert_int_equal(c.n, 0);
	client_close(&c);
	listening_close(&w);
}

/* At once: it may be closed soon after. */
static void say_long(void)
{
	char text[8192] = "";

	for (unsigned i = 0; i < 100; i++)
		strcat(text, LONG("1"));
	client_say(&c, &w, text);
}

/* Answers are more than it may leave. */
static void who_leaves_too_much_unread_is_cut(void **state)
{
	struct ng_limits limits = ng_limits_usual;

	limits.unread = 100000;
	limits.half = CR_SEC; /* longer than it takes to say it */
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&c, &w, 4096);
	say_long();
	while (!listening_stats(&w).cut)
		listening_turn(&w);
	listening_turn(&w);
	assert_int_equal(listening_stats(&w).connections, 0);
	client_close(&c);
	listening_close(&w);
}

/* The one with the most goes, whoever is answered then. */
static void all_that_is_unread_has_a_bound_too(void **state)
{
	struct ng_limits limits = ng_limits_usual;

	limits.unread_all = 1000000;
	limits.unread = 2 * limits.unread_all;
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&other, &w, 0);
	client_say(&other, &w, PING("1"));
	client_hear(&other, &w, PONG("1"));
	client_tcp(&c, &w, 4096);
	say_long();
	while (!listening_stats(&w).cut)
		listening_turn(&w);
	listening_turn(&w);
	assert_int_equal(listening_stats(&w).connections, 1);
	client_say(&other, &w, PING("2"));
	client_hear(&other, &w, PONG("2"));
	assert_int_equal(listening_stats(&w).cut, 1);
	client_close(&c);
	client_close(&other);
	listening_close(&w);
}

/* What has been cut counts no more, though it is freed later. */
static void what_is_cut_is_not_cut_again(void **state)
{
	struct ng_limits limits = ng_limits_usual;

	limits.unread_all = sizeof(HELD("1")) * 3 / 2;
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, HOLD("a-cookie-with-which-one-answer-is-too-much"));
	listening_hold(&w, 1);
	client_tcp(&other, &w, 0);
	client_say(&other, &w, HOLD("1") HOLD("2"));
	listening_hold(&w, 3);
	for (unsigned i = 0; i < 3; i++)
		answer_held(&w);
	assert_int_equal(listening_stats(&w).cut, 2);
	client_close(&c);
	client_close(&other);
	listening_close(&w);
}

/* Requests of a client that reads do not wait for each other. */
static void many_of_a_connection_wait_at_once(void **state)
{
	listening_open(&w, "127.0.0.1:0", NULL);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, HOLD("1") HOLD("2") HOLD("3") PING("4"));
	listening_hold(&w, 3);
	client_hear(&c, &w, PONG("4"));
	for (unsigned i = 0; i < 3; i++)
		answer_held(&w);
	client_hear(&c, &w, HELD("1") HELD("2") HELD("3"));
	client_close(&c);
	listening_close(&w);
}

static void half_a_message_has_its_time_and_so_has_silence(void **state)
{
	struct ng_limits limits = ng_limits_usual;

	limits.half = 20 * CR_MS;
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, "1 d7:comm");
	client_hear_end(&c, &w);
	assert_int_equal(listening_stats(&w).cut, 1);
	assert_int_equal(listening_stats(&w).malformed, 1);
	client_close(&c);
	listening_close(&w);

	limits = ng_limits_usual;
	limits.idle = 20 * CR_MS;
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&c, &w, 0);
	client_hear_end(&c, &w);
	client_close(&c);
	/* but who waits for an answer is not silent */
	client_tcp(&c, &w, 0);
	client_say(&c, &w, HOLD("1"));
	listening_hold(&w, 1);
	for (unsigned i = 0; i < 60; i++)
		listening_turn(&w);
	answer_held(&w);
	client_hear(&c, &w, HELD("1"));
	client_hear_end(&c, &w);
	assert_int_equal(listening_stats(&w).cut, 2);
	client_close(&c);
	listening_close(&w);
}

/* Who always has the begin of another one behind it is not slow. */
static void the_next_half_has_a_time_of_its_own(void **state)
{
	struct ng_limits limits = ng_limits_usual;
	cr_ns end;

	limits.half = 2 * CR_SEC;
	limits.per_second = 1000000;
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, "1 d7:comm");
	end = clock_now() + limits.half + CR_SEC / 2;
	while (clock_now() < end) {
		client_say(&c, &w, "and4:pinge1 d7:comm");
		client_hear(&c, &w, PONG("1"));
	}
	assert_int_equal(listening_stats(&w).cut, 0);
	client_close(&c);
	listening_close(&w);
}

static void connections_have_a_limit(void **state)
{
	struct ng_limits limits = ng_limits_usual;

	limits.of_host = 1;
	listening_open(&w, "127.0.0.1:0", &limits);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, PING("1"));
	client_hear(&c, &w, PONG("1"));
	client_tcp(&other, &w, 0);
	client_hear_end(&other, &w);
	client_close(&other);
	assert_int_equal(listening_stats(&w).refused, 1);
	client_say(&c, &w, PING("2"));
	client_hear(&c, &w, PONG("2"));
	client_close(&c);
	while (listening_stats(&w).connections)
		listening_turn(&w);
	client_tcp(&c, &w, 0);
	client_say(&c, &w, PING("3"));
	client_hear(&c, &w, PONG("3"));
	client_close(&c);
	listening_close(&w);
}

/* It goes on when there are some; meanwhile nothing spins. */
static void without_descriptors_connections_wait(void **state)
{
	struct rlimit before, none;

	listening_open(&w, "127.0.0.1:0", NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	client_tcp(&c, &w, 0);
	none = before;
	none.rlim_cur = (rlim_t)c.fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (unsigned i = 0; i < 20; i++)
		listening_turn(&w);
	assert_int_equal(listening_stats(&w).connections, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	client_say(&c, &w, PING("1"));
	client_hear(&c, &w, PONG("1"));
	client_close(&c);
	listening_close(&w);
}

/* The socket that accepts cannot be watched again at once. */
static void and_when_it_can_be_watched(void **state)
{
	struct rlimit before, none;

	listening_open(&w, "127.0.0.1:0", NULL);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	client_tcp(&c, &w, 0);
	none = before;
	none.rlim_cur = (rlim_t)c.fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (unsigned i = 0; i < 20; i++)
		listening_turn(&w);
	unwatched = 1;
	while (unwatched)
		listening_turn(&w);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	client_say(&c, &w, PING("1"));
	client_hear(&c, &w, PONG("1"));
	client_close(&c);
	listening_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_follow_each_other),
		cmocka_unit_test(octet_by_octet_is_the_same),
		cmocka_unit_test(thousands_at_once_are_answered_in_order),
		cmocka_unit_test(who_asks_too_much_waits),
		cmocka_unit_test(
			malformed_messages_do_not_hurt_their_neighbours),
		cmocka_unit_test(what_cannot_be_told_apart_ends_the_connection),
		cmocka_unit_test(a_message_that_is_too_long_is_an_error),
		cmocka_unit_test(a_client_that_says_no_more_is_still_answered),
		cmocka_unit_test(
			a_connection_that_ends_within_a_message_is_counted),
		cmocka_unit_test(an_answer_to_who_has_gone_is_dropped),
		cmocka_unit_test(it_closes_while_requests_of_connections_wait),
		cmocka_unit_test(who_leaves_too_much_unread_is_cut),
		cmocka_unit_test(all_that_is_unread_has_a_bound_too),
		cmocka_unit_test(what_is_cut_is_not_cut_again),
		cmocka_unit_test(many_of_a_connection_wait_at_once),
		cmocka_unit_test(
			half_a_message_has_its_time_and_so_has_silence),
		cmocka_unit_test(the_next_half_has_a_time_of_its_own),
		cmocka_unit_test(connections_have_a_limit),
		cmocka_unit_test(without_descriptors_connections_wait),
		cmocka_unit_test(and_when_it_can_be_watched),
	};

	return cmocka_run_group_tests_name("ng listener tcp", tests, NULL,
					   NULL);
}
