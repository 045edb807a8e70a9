/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate of the live page, where the kernel cannot watch another connection:
 * each is served or closed, and those that come later are. And who makes room
 * for them.
 */
#define _GNU_SOURCE /* syscall() */
#include <arpa/inet.h>
#include <event2/buffer.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "cmocka_cr.h"
#include "http/gate.h"
#include "patience.h"
#include "unwatched.h"

/* As long as it is not read, evhttp itself closes what cannot be watched. */
enum { BEGUN = 3 };

/* Time that has passed for the gate, and not for others. */
static cr_ns passed;

int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	int err = __real_clock_gettime(id, t);

	t->tv_sec += passed / CR_SEC;
	return err;
}

struct world {
	struct event_base *base;
	struct evhttp *server;
	struct evhttp_bound_socket *bound;
	struct gate *gate;
};

static void on_request(struct evhttp_request *req, void *arg)
{
	struct evbuffer *body = evbuffer_new();

	(void)arg;
	assert_int_equal(evbuffer_add(body, "here", 4), 0);
	evhttp_send_reply(req, 200, NULL, body);
	evbuffer_free(body);
}

static void world_open(struct world *w, unsigned most)
{
	struct gate_config cfg = { .most = most, .unread = 1000 };
	struct cr_err e = { 0 };

	w->base = event_base_new();
	w->server = evhttp_new(w->base);
	evhttp_set_gencb(w->server, on_request, NULL);
	w->bound = evhttp_bind_socket_with_handle(w->server, "127.0.0.1", 0);
	assert_non_null(w->bound);
	cfg.base = w->base;
	cfg.server = w->server;
	cfg.bound = w->bound;
	assert_int_equal(gate_open(&w->gate, &cfg, &e), 0);
}

static void world_close(struct world *w)
{
	gate_close(w->gate);
	evhttp_free(w->server);
	event_base_free(w->base);
}

/* A client that has not asked. */
static int acl_entry(const struct world *w)
{
	struct sockaddr_in at;
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(getsockname(evhttp_bound_socket_get_fd(w->bound),
				     (struct sockaddr *)&at, &size),
			 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, size), 0);
	return fd;
}

/* One that has said this. */
static int speaker(const struct world *w, const char *said)
{
	int fd = acl_entry(w);

	assert_int_equal(send(fd, said, strlen(said), 0), strlen(said));
	return fd;
}

/* One that has asked. */
static int client(const struct world *w)
{
	return speaker(w, "GET / HTTP/1.0\r\n\r\n");
}

/* One that evhttp answers by itself. */
static int babbler(const struct world *w)
{
	return speaker(w, "what?\r\n\r\n");
}

/* Run the server until it closes @fd. What it said has @what? */
static bool is_reported(const struct world *w, int fd, const char *what)
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
		(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
	}
	(void)close(fd);
	return strstr(said, what);
}

/* Run the server until it closes @fd; was there an answer? */
static bool is_answered(const struct world *w, int fd)
{
	return is_reported(w, fd, "\r\n\r\nhere");
}

static unsigned still_open(const struct world *w)
{
	struct gate_stats stats;

	gate_stats(w->gate, &stats);
	return stats.open;
}

static void who_cannot_be_watched_at_first_is_served(void **state)
{
	struct world w;
	int fd;

	(void)state;
	world_open(&w, 4);
	fd = client(&w);
	watched = BEGUN;
	unwatched = 1;
	assert_true(is_answered(&w, fd));
	assert_int_equal(unwatched, 0);
	assert_int_equal(still_open(&w), 0);
	world_close(&w);
}

static void who_cannot_be_watched_is_closed(void **state)
{
	struct world w;
	int fd;

	(void)state;
	world_open(&w, 4);
	fd = client(&w);
	watched = BEGUN;
	unwatched = 2;
	assert_false(is_answered(&w, fd));
	assert_int_equal(unwatched, 0);
	assert_int_equal(still_open(&w), 0);
	assert_true(is_answered(&w, client(&w)));
	world_close(&w);
}

/* An answer takes two requests to watch: for what is said, and to say it. */
static void an_error_that_cannot_be_watched_at_first_is_told(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, 4);
	for (unsigned later = 0; later < 2; later++) {
		int fd = babbler(&w);

		watched = BEGUN + later;
		unwatched = 1;
		assert_true(is_reported(&w, fd, " 400 "));
		assert_int_equal(unwatched, 0);
		assert_int_equal(still_open(&w), 0);
	}
	world_close(&w);
}

static void an_error_that_cannot_be_watched_is_closed(void **state)
{
	struct world w;
	int fd;

	(void)state;
	world_open(&w, 4);
	fd = babbler(&w);
	watched = BEGUN;
	unwatched = 2;
	assert_false(is_reported(&w, fd, " 400 "));
	assert_int_equal(unwatched, 0);
	assert_int_equal(still_open(&w), 0);
	assert_true(is_answered(&w, client(&w)));
	world_close(&w);
}

/* There is room for one. While that one is there, nobody is waited for. */
static void it_opens_again_when_it_can(void **state)
{
	struct world w;
	int fd;

	(void)state;
	world_open(&w, 1);
	assert_true(is_answered(&w, client(&w)));
	fd = client(&w);
	unwatched = 1; /* who waits */
	assert_true(is_answered(&w, fd));
	assert_int_equal(unwatched, 0);
	world_close(&w);
}

/* They come in one turn of the loop, and say nothing. */
static void who_came_first_makes_room(void **state)
{
	enum { ACL_MAX = 5 };
	int fd[ACL_MAX];
	struct world w;
	char octet;

	(void)state;
	world_open(&w, ACL_MAX);
	for (unsigned i = 0; i < ACL_MAX; i++)
		fd[i] = acl_entry(&w);
	while (still_open(&w) < ACL_MAX)
		(void)event_base_loop(w.base, EVLOOP_NONBLOCK);
	passed = (GATE_STAY_S + 1) * CR_SEC;
	assert_true(is_answered(&w, client(&w)));
	assert_int_equal(recv(fd[0], &octet, 1, MSG_DONTWAIT), 0);
	for (unsigned i = 1; i < ACL_MAX; i++) {
		assert_int_equal(recv(fd[i], &octet, 1, MSG_DONTWAIT), -1);
		assert_int_equal(errno, EAGAIN);
	}
	for (unsigned i = 0; i < ACL_MAX; i++)
		(void)close(fd[i]);
	passed = 0;
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_cannot_be_watched_at_first_is_served),
		cmocka_unit_test(who_cannot_be_watched_is_closed),
		cmocka_unit_test(
			an_error_that_cannot_be_watched_at_first_is_told),
		cmocka_unit_test(an_error_that_cannot_be_watched_is_closed),
		cmocka_unit_test(it_opens_again_when_it_can),
		cmocka_unit_test(who_came_first_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
