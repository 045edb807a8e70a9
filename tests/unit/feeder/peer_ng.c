/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a media proxy, which is a socket of the test: each is answered
 * once, whatever order the answers come in, and asked again while it is not;
 * so many are under way at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loopback.h"
#include "feeder/peer_ng.h"
#include "ng/message.h"
#include "udp/socket.h"

#define QUESTIONS (2 * PEER_NG_WINDOW)

struct stage {
	struct event_base *base;
	struct peer_ng *ng;
	int proxy; /* its socket */
	struct sockaddr_storage asker;
};

/* The answer to a question. */
struct heard {
	unsigned times;
	int64_t number;
	char why[100];
};

static int set_up(void **state)
{
	struct stage *t = calloc(1, sizeof(*t));
	struct sockaddr_storage at;
	struct cr_err e;

	t->proxy = loopback_socket(&at);
	t->base = event_base_new();
	assert_int_equal(peer_ng_open(&t->ng, t->base, &at, &e), 0);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct stage *t = *state;

	peer_ng_close(t->ng);
	event_base_free(t->base);
	(void)close(t->proxy);
	free(t);
	return 0;
}

static void on_reply(void *arg, const json_t *answer, const char *why)
{
	struct heard *h = arg;

	h->times++;
	h->number = json_integer_value(json_object_get(answer, "number"));
	(void)snprintf(h->why, sizeof(h->why), "%s", why ? why : "");
}

static void ask(struct stage *t, struct heard *h, unsigned number)
{
	assert_int_equal(peer_ng_ask(t->ng,
				     json_pack("{s:s,s:i}", "command", "ping",
					       "number", (int)number),
				     on_reply, h),
			 0);
}

/* The next question that has come to the proxy; false: none is there. */
static bool asked(struct stage *t, struct ng_message *m)
{
	char text[2000];
	socklen_t n = sizeof(t->asker);
	struct cr_err e;
	ssize_t got = recvfrom(t->proxy, text, sizeof(text), MSG_DONTWAIT,
			       (struct sockaddr *)&t->asker, &n);

	if (got < 0)
		return false;
	assert_int_equal(ng_message_read(m, text, (size_t)got, &e), 0);
	return true;
}

/* With the question itself: it has the number. */
static void answer(struct stage *t, const struct ng_message *m)
{
	char text[2000];
	long n = ng_message_write(m, m->body, text, sizeof(text));

	assert_true(n > 0);
	assert_int_equal(sendto(t->proxy, text, (size_t)n, 0,
				(struct sockaddr *)&t->asker,
				address_length(&t->asker)),
			 n);
}

static void run_until(struct stage *t, unsigned pending)
{
	while (peer_ng_pending(t->ng) > pending)
		(void)event_base_loop(t->base, EVLOOP_ONCE);
}

static void answers_find_their_questions_in_any_order(void **state)
{
	struct stage *t = *state;
	struct ng_message m[3];
	struct heard h[3] = { { 0 } };

	for (unsigned i = 0; i < 3; i++)
		ask(t, &h[i], 10 + i);
	for (unsigned i = 0; i < 3; i++)
		assert_true(asked(t, &m[i]));
	for (unsigned i = 3; i-- > 0;) {
		answer(t, &m[i]);
		answer(t, &m[i]); /* a network may do that */
		ng_message_free(&m[i]);
	}
	run_until(t, 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(h[i].times, 1);
		assert_int_equal(h[i].number, 10 + i);
	}
}

static void a_question_that_is_lost_comes_again(void **state)
{
	struct stage *t = *state;
	struct ng_message first, again;
	struct heard h = { 0 };

	ask(t, &h, 1);
	assert_true(asked(t, &first));
	while (!asked(t, &again))
		(void)event_base_loop(t->base, EVLOOP_ONCE);
	assert_string_equal(first.cookie, again.cookie);
	assert_true(json_equal(first.body, again.body));
	answer(t, &again);
	run_until(t, 0);
	assert_int_equal(h.times, 1);
	ng_message_free(&first);
	ng_message_free(&again);
}

/* An answer makes room for the next question. */
static void so_many_are_under_way_at_once(void **state)
{
	struct stage *t = *state;
	struct ng_message m[PEER_NG_WINDOW + 1];
	struct heard h[QUESTIONS] = { { 0 } };
	unsigned n = 0, served = 0;

	for (unsigned i = 0; i < QUESTIONS; i++)
		ask(t, &h[i], i);
	while (n <= PEER_NG_WINDOW && asked(t, &m[n]))
		n++;
	assert_int_equal(n, PEER_NG_WINDOW);
	for (unsigned i = 0; i < n; i++) {
		answer(t, &m[i]);
		ng_message_free(&m[i]);
	}
	run_until(t, QUESTIONS - PEER_NG_WINDOW);
	while (served < QUESTIONS - PEER_NG_WINDOW) {
		if (!asked(t, &m[0])) {
			(void)event_base_loop(t->base, EVLOOP_ONCE);
			continue;
		}
		answer(t, &m[0]);
		ng_message_free(&m[0]);
		served++;
	}
	run_until(t, 0);
	for (unsigned i = 0; i < QUESTIONS; i++) {
		assert_int_equal(h[i].times, 1);
		assert_int_equal(h[i].number, i);
	}
}

static void what_is_no_message_is_an_answer_that_says_so(void **state)
{
	struct stage *t = *state;
	struct ng_message m;
	struct heard h = { 0 };
	char text[100];

	ask(t, &h, 1);
	assert_true(asked(t, &m));
	(void)snprintf(text, sizeof(text), "%s hello", m.cookie);
	(void)sendto(t->proxy, text, strlen(text), 0,
		     (struct sockaddr *)&t->asker, address_length(&t->asker));
	run_until(t, 0);
	assert_int_equal(h.times, 1);
	assert_non_null(strstr(h.why, "bencode"));
	ng_message_free(&m);
}

static void where_nobody_listens_nobody_waits(void **state)
{
	struct stage *t = *state;
	struct heard h = { 0 };

	(void)close(t->proxy);
	t->proxy = -1;
	ask(t, &h, 1);
	run_until(t, 0);
	assert_int_equal(h.times, 1);
	assert_string_equal(h.why, "Connection refused");
}

static void what_is_open_at_the_end_is_told_so(void **state)
{
	struct stage *t = *state;
	struct heard h = { 0 };

	ask(t, &h, 1);
	peer_ng_close(t->ng);
	t->ng = NULL;
	assert_int_equal(h.times, 1);
	assert_string_equal(h.why, "closed");
}

/* A proxy remembers answers by their cookies, and process ids come again. */
static void another_asker_has_other_cookies(void **state)
{
	struct stage *t = *state;
	struct sockaddr_storage at;
	struct ng_message first, second;
	struct heard h[2] = { { 0 } };
	socklen_t n = sizeof(at);
	struct cr_err e;

	ask(t, &h[0], 1);
	assert_true(asked(t, &first));
	peer_ng_close(t->ng);
	(void)getsockname(t->proxy, (struct sockaddr *)&at, &n);
	assert_int_equal(peer_ng_open(&t->ng, t->base, &at, &e), 0);
	ask(t, &h[1], 1);
	assert_true(asked(t, &second));
	assert_string_not_equal(first.cookie, second.cookie);
	peer_ng_give_up(t->ng); /* before the tear-down, as the caller does */
	ng_message_free(&first);
	ng_message_free(&second);
}

static void settling_waits_for_answers(void **state)
{
	struct stage *t = *state;
	struct ng_message m;
	struct heard h[2] = { { 0 } };

	ask(t, &h[0], 1);
	ask(t, &h[1], 2);
	assert_true(asked(t, &m));
	answer(t, &m);
	ng_message_free(&m);
	peer_ng_settle(t->ng, 100 * CR_MS);
	assert_int_equal(h[0].times, 1);
	assert_int_equal(h[1].times, 0);
	peer_ng_give_up(t->ng);
	assert_int_equal(h[1].times, 1);
	assert_int_equal(peer_ng_pending(t->ng), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(answers_find_their_questions_in_any_order),
		TEST(a_question_that_is_lost_comes_again),
		TEST(so_many_are_under_way_at_once),
		TEST(what_is_no_message_is_an_answer_that_says_so),
		TEST(where_nobody_listens_nobody_waits),
		TEST(what_is_open_at_the_end_is_told_so),
		TEST(another_asker_has_other_cookies),
		TEST(settling_waits_for_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
