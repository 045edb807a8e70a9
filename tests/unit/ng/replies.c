/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that come again. */
#define _GNU_SOURCE
#include "loopback.h"

#include <stdio.h>
#include <string.h>

#include "ng/listener_impl.h"

static enum ng_replies_is ask(struct ng_replies *r, const char *from,
			      const char *cookie, cr_ns now, const char *is)
{
	const struct sockaddr_storage at = address_at(from);
	const char *text;
	size_t bytes;
	enum ng_replies_is what =
		ng_replies_ask(r, &at, cookie, now, &text, &bytes);

	if (is) {
		assert_int_equal(what, NG_REPLIES_DONE);
		assert_int_equal(bytes, strlen(is));
		assert_memory_equal(text, is, bytes);
	}
	return what;
}

static void answer(struct ng_replies *r, const char *from, const char *cookie,
		   const char *text)
{
	const struct sockaddr_storage at = address_at(from);

	ng_replies_put(r, &at, cookie, text, strlen(text));
}

static struct ng_replies *open_replies(size_t bytes)
{
	struct ng_replies *r = ng_replies_new(
		&(struct ng_replies_cfg){ .life = 10, .bytes_max = bytes });

	assert_non_null(r);
	return r;
}

#define A "127.0.0.1:5000"
#define B "[::1]:5000"

static void work_is_done_once(void **state)
{
	struct ng_replies *r = open_replies(1 << 20);

	assert_int_equal(ask(r, A, "1", 0, NULL), NG_REPLIES_NEW);
	assert_int_equal(ask(r, A, "1", 1, NULL), NG_REPLIES_WORKING);
	answer(r, A, "1", "pong");
	(void)ask(r, A, "1", 2, "pong");
	/* another answer to the same is not believed */
	answer(r, A, "1", "ping");
	(void)ask(r, A, "1", 3, "pong");
	/* nor is an answer to nothing */
	answer(r, A, "7", "pong");
	assert_int_equal(ask(r, A, "7", 4, NULL), NG_REPLIES_NEW);
	ng_replies_free(r);
}

static void cookies_are_of_their_sender(void **state)
{
	struct ng_replies *r = open_replies(1 << 20);

	assert_int_equal(ask(r, A, "1", 0, NULL), NG_REPLIES_NEW);
	assert_int_equal(ask(r, B, "1", 0, NULL), NG_REPLIES_NEW);
	assert_int_equal(ask(r, "127.0.0.1:5001", "1", 0, NULL),
			 NG_REPLIES_NEW);
	answer(r, B, "1", "b");
	assert_int_equal(ask(r, A, "1", 1, NULL), NG_REPLIES_WORKING);
	(void)ask(r, B, "1", 1, "b");
	ng_replies_free(r);
}

static void answers_are_forgotten_with_time(void **state)
{
	struct ng_replies *r = open_replies(1 << 20);

	assert_int_equal(ask(r, A, "1", 0, NULL), NG_REPLIES_NEW);
	answer(r, A, "1", "pong");
	(void)ask(r, A, "1", 10, "pong");
	assert_int_equal(ask(r, A, "1", 11, NULL), NG_REPLIES_NEW);
	ng_replies_free(r);
}

/* A flood of requests cannot take more. */
static void memory_has_a_limit(void **state)
{
	struct ng_replies *r = open_replies(20000);
	char cookie[16], text[1000] = "";

	memset(text, 'x', sizeof(text) - 1);
	for (unsigned i = 0; i < 1000; i++) {
		(void)snprintf(cookie, sizeof(cookie), "%u", i);
		assert_int_equal(ask(r, A, cookie, 0, NULL), NG_REPLIES_NEW);
		answer(r, A, cookie, text);
	}
	/* the last ones are there, twenty at most */
	(void)ask(r, A, "999", 0, text);
	assert_int_equal(ask(r, A, "979", 0, NULL), NG_REPLIES_NEW);
	assert_int_equal(ask(r, A, "0", 0, NULL), NG_REPLIES_NEW);
	ng_replies_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_done_once),
		cmocka_unit_test(cookies_are_of_their_sender),
		cmocka_unit_test(answers_are_forgotten_with_time),
		cmocka_unit_test(memory_has_a_limit),
	};

	return cmocka_run_group_tests_name("ng replies", tests, NULL, NULL);
}
