/* SPDX-License-Identifier: Apache-2.0 */
#include "listener_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/address.h"

static json_t *long_answer(const json_t *body)
{
	size_t n = (size_t)json_integer_value(json_object_get(body, "octets"));
	char *text = malloc(n);
	json_t *o;

	assert_non_null(text);
	memset(text, 'x', n);
	o = json_pack("{s:s,s:s%}", "result", "ok", "text", text, n);
	free(text);
	return o;
}

static void on_ask(void *arg, struct ng_asked *a, const json_t *body)
{
	struct listening *w = arg;
	const char *is = json_string_value(json_object_get(body, "command"));

	w->asked++;
	(void)snprintf(w->from, sizeof(w->from), "%s",
		       ng_asked_client(a)->text);
	assert_non_null(is);
	if (!strcmp(is, "hold")) {
		assert_true(w->nheld < HELD_MAX);
		w->held[w->nheld++] = a;
	} else if (!strcmp(is, "long")) {
		ng_answer(a, long_answer(body));
	} else if (!strcmp(is, "null")) {
		ng_answer(a, json_pack("{s:n}", "result"));
	} else {
		ng_answer(a, json_pack("{s:s}", "result", "pong"));
	}
}

const struct networks *listening_to_all(void)
{
	static struct networks all;
	struct cr_err e;

	assert_int_equal(networks_read(&all, "0.0.0.0/0,::/0", &e), 0);
	return &all;
}

void listening_open(struct listening *w, const char *address,
		    const struct ng_limits *limits)
{
	const struct ng_listener_config cfg = { .base = event_base_new(),
						.address = address,
						.acl = listening_to_all(),
						.ask = on_ask,
						.arg = w,
						.limits = limits };
	struct cr_err e = { "" };
	char at[64];

	*w = (struct listening){ .base = cfg.base };
	if (ng_listener_open(&w->listener, &cfg, &e))
		fail_msg("%s", e.text);
	ng_listener_local(w->listener, at, sizeof(at));
	assert_int_equal(address_parse(at, &w->at), 0);
}

struct ng_listener_stats listening_stats(const struct listening *w)
{
	struct ng_listener_stats s;

	ng_listener_stats(w->listener, &s);
	return s;
}

void listening_shut(struct listening *w)
{
	struct ng_listener_stats s = listening_stats(w);

	assert_int_equal(s.received, s.limited + s.malformed + s.repeated +
					     s.ignored + s.overloaded +
					     s.asked);
	assert_int_equal(s.asked,
			 s.answered + s.unsent + s.unwanted + s.waiting);
	assert_int_equal(s.asked, w->asked);
	ng_listener_close(w->listener);
	w->listener = NULL;
}

void listening_close(struct listening *w)
{
	if (w->listener)
		listening_shut(w);
	while (w->nheld)
		answer_held(w);
	event_base_free(w->base);
}

void listening_turn(struct listening *w)
{
	const struct timeval soon = { 0, 1000 };

	(void)event_base_loopexit(w->base, &soon);
	(void)event_base_dispatch(w->base);
}

void listening_hold(struct listening *w, unsigned n)
{
	while (w->nheld < n)
		listening_turn(w);
	assert_int_equal(w->nheld, n);
}

void answer_held(struct listening *w)
{
	struct ng_asked *a = w->held[0];

	assert_true(w->nheld > 0);
	w->nheld--;
	memmove(w->held, w->held + 1, w->nheld * sizeof(*w->held));
	ng_answer(a, json_pack("{s:s}", "result", "ok"));
}

/* --- clients --- */

static void open_client(struct client *c, const struct listening *w, int type,
			int buffer)
{
	c->fd = socket(w->at.ss_family, type | SOCK_CLOEXEC, 0);
	c->n = 0;
	c->eof = false;
	assert_true(c->fd >= 0);
	if (buffer)
		assert_int_equal(setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF,
					    &buffer, sizeof(buffer)),
				 0);
	assert_int_equal(connect(c->fd, (const struct sockaddr *)&w->at,
				 address_length(&w->at)),
			 0);
	assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
}

void client_udp(struct client *c, const struct listening *w)
{
	open_client(c, w, SOCK_DGRAM, 0);
}

void client_tcp(struct client *c, const struct listening *w, int buffer)
{
	open_client(c, w, SOCK_STREAM, buffer);
}

void client_close(struct client *c)
{
	(void)close(c->fd);
}

void client_say_bytes(struct client *c, struct listening *w, const char *text,
		      size_t bytes)
{
	while (bytes) {
		ssize_t n = send(c->fd, text, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			fail_msg("send: %s", strerror(errno));
		(void)event_base_loop(w->base, EVLOOP_NONBLOCK);
		text += n < 0 ? 0 : n;
		bytes -= n < 0 ? 0 : (size_t)n;
	}
}

void client_say(struct client *c, struct listening *w, const char *text)
{
	client_say_bytes(c, w, text, strlen(text));
}

void client_listen(struct client *c)
{
	ssize_t n;

	while ((n = recv(c->fd, c->heard + c->n, HEARD_MAX - 1 - c->n, 0)) > 0)
		c->n += (size_t)n;
	c->heard[c->n] = '\0';
	c->eof |= n == 0 || (n < 0 && errno != EAGAIN);
}

void client_hear(struct client *c, struct listening *w, const char *text)
{
	client_listen(c);
	while (c->n < strlen(text) && !c->eof) {
		listening_turn(w);
		client_listen(c);
	}
	assert_string_equal(c->heard, text);
	c->n = 0;
}

void client_hear_end(struct client *c, struct listening *w)
{
	client_listen(c);
	while (!c->eof) {
		listening_turn(w);
		client_listen(c);
	}
}
