/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server where the kernel cannot watch another descriptor: what cannot
 * be watched is closed, and those that come later are served.
 */
#define _GNU_SOURCE /* syscall() */
#include "cmocka_cr.h"
#include "desk.h"

#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "http/http.h"
#include "patience.h"
#include "unwatched.h"

struct web {
	struct scratch desk;
	struct http *http;
	struct sockaddr_storage at;
};

static void web_open(struct web *w, unsigned connections)
{
	struct http_config cfg = { .address = "127.0.0.1:0",
				   .connections = connections };
	struct cr_err e = { "" };
	char at[64];

	desk_open(&w->desk, &(struct desk_options){ 0 });
	cfg.base = w->desk.rig.base;
	cfg.service = w->desk.service;
	assert_int_equal(http_open(&w->http, &cfg, &e), 0);
	http_local(w->http, at, sizeof(at));
	assert_int_equal(address_parse(at, &w->at), 0);
}

static void web_close(struct web *w)
{
	http_close(w->http);
	desk_close(&w->desk);
}

/* A client that says nothing. */
static int connect_to(const struct web *w)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&w->at,
				 address_length(&w->at)),
			 0);
	return fd;
}

/* One that has asked. */
static int ask(const struct web *w)
{
	static const char request[] =
		"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n";
	int fd = connect_to(w);

	assert_int_equal(send(fd, request, sizeof(request) - 1, 0),
			 sizeof(request) - 1);
	return fd;
}

/* Run the server until it closes @fd; was there an answer? */
static bool is_answered(const struct web *w, int fd)
{
	cr_ns end = clock_now() + PATIENCE;
	char said[4096] = "";
	size_t n = 0;
	ssize_t more;

	while ((more = recv(fd, said + n, sizeof(said) - 1 - n,
			    MSG_DONTWAIT))) {
		if (more > 0)
			n += (size_t)more;
		else if (errno == ECONNRESET)
			break;
		if (clock_now() > end)
			fail_msg("neither answered nor closed");
		(void)event_base_loop(w->desk.rig.base, EVLOOP_NONBLOCK);
	}
	(void)close(fd);
	return strstr(said, "\r\n\r\nok\n");
}

static void a_connection_that_cannot_be_watched_is_closed(void **state)
{
	struct web w;

	web_open(&w, 4);
	unwatched = 1;
	assert_false(is_answered(&w, ask(&w)));
	assert_int_equal(unwatched, 0);
	assert_true(is_answered(&w, ask(&w)));
	web_close(&w);
}

/* There is room for one, and as long as it is there nobody is accepted. */
static void it_accepts_again_when_it_can(void **state)
{
	struct web w;
	int fd;

	web_open(&w, 1);
	fd = connect_to(&w);
	watched = 1; /* the connection; what accepts is not */
	unwatched = 1;
	while (watched)
		(void)event_base_loop(w.desk.rig.base, EVLOOP_NONBLOCK);
	(void)close(fd);
	assert_true(is_answered(&w, ask(&w)));
	assert_int_equal(unwatched, 0);
	web_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_that_cannot_be_watched_is_closed),
		cmocka_unit_test(it_accepts_again_when_it_can),
	};

	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
