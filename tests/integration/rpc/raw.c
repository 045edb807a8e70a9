/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "raw.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmocka_cr.h"

void world_open(struct world *w)
{
	struct cr_err e = { 0 };

	*w = (struct world){ .base = event_base_new() };
	w->at = echo_place("", 0);
	if (echo_open(&w->server, w->base, TRANSPORT_UNIX, &w->at, RAW_QUEUE,
		      &e))
		fail_msg("%s", e.text);
}

void world_close(struct world *w)
{
	rpc_server_close(w->server.server);
	event_base_free(w->base);
	assert_int_equal(access(w->at.path, F_OK), -1);
}

void raw_open(struct raw *r, const struct world *w)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	*r = (struct raw){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					0) };
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", w->at.path);
	assert_int_equal(connect(r->fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(fcntl(r->fd, F_SETFL, O_NONBLOCK), 0);
}

void raw_say_bytes(struct raw *r, struct world *w, const char *text,
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

void raw_say(struct raw *r, struct world *w, const char *text)
{
	raw_say_bytes(r, w, text, strlen(text));
}

void raw_hear(struct raw *r)
{
	ssize_t n;

	while ((n = recv(r->fd, r->said + r->n, RAW_SAID - 1 - r->n, 0)) > 0)
		r->n += (size_t)n;
	r->said[r->n] = '\0';
	r->eof |= n == 0;
}

unsigned raw_lines(const struct raw *r)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->said[i] == '\n';
	return n;
}

void raw_hear_lines(struct raw *r, struct world *w, unsigned n)
{
	const struct timeval often = { 0, 1000 };

	raw_hear(r);
	while (!r->eof && raw_lines(r) < n) {
		(void)event_base_loopexit(w->base, &often);
		(void)event_base_dispatch(w->base);
		raw_hear(r);
	}
}

void raw_hear_end(struct raw *r, struct world *w)
{
	raw_hear_lines(r, w, ~0u);
	assert_true(r->eof);
}

void raw_close(struct raw *r, struct world *w)
{
	unsigned gone = w->server.gone;

	(void)close(r->fd);
	assert_true(echo_wait(w->base, &w->server.gone, gone + 1));
}
