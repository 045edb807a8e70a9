/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Too many clients at a Unix socket: of those who do not read, of those who
 * connect, and of descriptors. The others are served.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cmocka_cr.h"
#include "raw.h"
#include "unwatched.h"

/* Each is within its own bound, all together are not. Who reads is served. */
static void of_many_who_do_not_read_the_worst_is_let_go(void **state)
{
	enum { SLOW = 3, TOTAL = 1 << 20 };
	static const unsigned lists[SLOW] = { 8, 40, 8 };
	struct rpc_stats stats;
	struct raw slow[SLOW], reader;
	uint64_t worst = 0;
	struct cr_err e = { 0 };
	struct world w;

	w = (struct world){ .base = event_base_new(), .at = echo_place("", 0) };
	if (echo_open_within(&w.server, w.base, TRANSPORT_UNIX, &w.at, TOTAL,
			     &e))
		fail_msg("%s", e.text);
	raw_open(&reader, &w);
	for (unsigned i = 0; i < SLOW; i++) {
		raw_open(&slow[i], &w);
		assert_true(echo_wait(w.base, &w.server.up, i + 2));
		worst = lists[i] > 8 ? w.server.up_id : worst;
	}
	for (unsigned i = 0; i < SLOW; i++)
		for (unsigned n = 0; n < lists[i] && !w.server.gone; n++)
			raw_say(&slow[i], &w, LIST);
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, "crowded");
	assert_true(w.server.gone_id == worst);
	raw_say(&reader, &w, ECHO("1"));
	raw_hear_lines(&reader, &w, 1);
	assert_string_equal(reader.said, ECHOED("1"));
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.peers_crowded, 1);
	assert_int_equal(stats.slow_peers, 0);
	assert_int_equal(stats.associations, SLOW);
	assert_in_range(stats.queued, 1, TOTAL);
	for (unsigned i = 0; i < SLOW; i++)
		(void)close(slow[i].fd);
	raw_close(&reader, &w);
	world_close(&w);
}

/* What comes in is counted before its end has come. */
static void a_part_of_a_message_counts(void **state)
{
	enum { PART = 50000 };
	static char text[PART + 1];
	struct rpc_stats stats;
	struct world w;
	struct raw r;

	memset(text, ' ', PART);
	world_open(&w);
	raw_open(&r, &w);
	raw_say(&r, &w, text);
	for (unsigned i = 0; i < 10; i++)
		(void)event_base_loop(w.base, EVLOOP_NONBLOCK);
	rpc_server_stats(w.server.server, &stats);
	assert_in_range(stats.queued, PART, 2 * PART);
	raw_say(&r, &w, ECHO("1"));
	raw_hear_lines(&r, &w, 1);
	assert_string_equal(r.said, ECHOED("1"));
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.queued, 0);
	raw_close(&r, &w);
	world_close(&w);
}

static void the_one_too_many_is_told_so(void **state)
{
	enum { MOST = 1000, MORE = 20 };
	struct raw *r = calloc(1, sizeof(*r));
	struct rlimit files, many;
	int fd[MOST];
	struct world w;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	many = files;
	many.rlim_cur = 8 * MOST + 100; /* one in 8 is for them */
	if (setrlimit(RLIMIT_NOFILE, &many))
		skip();
	world_open(&w);
	for (unsigned i = 0; i < MOST; i++) {
		raw_open(r, &w);
		fd[i] = r->fd;
		(void)event_base_loop(w.base, EVLOOP_NONBLOCK);
	}
	assert_true(echo_wait(w.base, &w.server.up, MOST));
	for (unsigned i = 0; i < MORE; i++) {
		raw_open(r, &w);
		raw_hear_end(r, &w);
		assert_non_null(
			strstr(r->said, "too many connections: 1000 are open"));
		assert_int_equal(raw_lines(r), 1);
		(void)close(r->fd);
	}
	assert_int_equal(w.server.up, MOST);
	r->fd = fd[0];
	raw_close(r, &w); /* who goes makes room */
	raw_open(r, &w);
	raw_say(r, &w, ECHO("1"));
	raw_hear_lines(r, &w, 1);
	assert_string_equal(r->said, ECHOED("1"));
	raw_close(r, &w);
	for (unsigned i = 1; i < MOST; i++)
		(void)close(fd[i]);
	assert_true(echo_wait(w.base, &w.server.gone, MOST + 1));
	world_close(&w);
	(void)setrlimit(RLIMIT_NOFILE, &files);
	free(r);
}

/* An eighth of the descriptors: the others are for calls and files. */
static void few_descriptors_are_not_for_clients_alone(void **state)
{
	enum { LIMIT = 80, MOST = LIMIT / 8 };
	struct raw r[MOST], more;
	struct rlimit files, few;
	struct world w;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	few = files;
	few.rlim_cur = LIMIT;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	world_open(&w);
	for (unsigned i = 0; i < MOST; i++) {
		raw_open(&r[i], &w);
		assert_true(echo_wait(w.base, &w.server.up, i + 1));
	}
	raw_open(&more, &w);
	raw_hear_end(&more, &w);
	assert_non_null(strstr(more.said, "too many connections: 10 are open; "
					  "for more, raise the limit of "
					  "descriptors"));
	(void)close(more.fd);
	for (unsigned i = 0; i < MOST; i++)
		raw_close(&r[i], &w);
	world_close(&w);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
}

enum { FEW = 3 };

/* A server for that many clients, who are there. */
static void open_few(struct world *w, struct raw r[FEW], cr_ns silence)
{
	struct cr_err e = { 0 };

	*w = (struct world){ .base = event_base_new(),
			     .at = echo_place("", 0) };
	if (echo_open_few(&w->server, w->base, TRANSPORT_UNIX, &w->at, FEW,
			  silence, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < FEW; i++) {
		raw_open(&r[i], w);
		assert_true(echo_wait(w->base, &w->server.up, i + 1));
	}
}

static void is_served(struct raw *r, struct world *w)
{
	unsigned before = raw_lines(r);

	raw_say(r, w, ECHO("1"));
	raw_hear_lines(r, w, before + 1);
	assert_non_null(strstr(r->said, ECHOED("1")));
}

/* Who has asked something stays, and who would miss something. */
static void the_silent_one_makes_room(void **state)
{
	struct rpc_stats stats;
	struct raw r[FEW], more[2];
	struct world w;

	open_few(&w, r, 1);
	is_served(&r[0], &w);
	w.server.busy_id = 2; /* r[1] */
	raw_open(&more[0], &w);
	raw_hear_end(&r[2], &w);
	assert_string_equal(w.server.gone_reason, "silent");
	raw_open(&more[1], &w);
	is_served(&more[1], &w);
	raw_hear_end(&more[0], &w);
	is_served(&r[0], &w);
	is_served(&r[1], &w);
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.peers_silent, 2);
	assert_int_equal(stats.peers_refused, 0);
	assert_int_equal(stats.associations, FEW);
	(void)close(r[2].fd);
	(void)close(more[0].fd);
	raw_close(&r[0], &w);
	raw_close(&r[1], &w);
	raw_close(&more[1], &w);
	world_close(&w);
}

static void who_was_just_heard_makes_no_room(void **state)
{
	struct rpc_stats stats;
	struct raw r[FEW], more;
	struct world w;

	open_few(&w, r, 3600 * CR_SEC);
	raw_open(&more, &w);
	raw_hear_end(&more, &w);
	assert_non_null(strstr(more.said, "too many connections: 3 are open"));
	(void)close(more.fd);
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.peers_silent, 0);
	assert_int_equal(stats.peers_refused, 1);
	for (unsigned i = 0; i < FEW; i++) {
		is_served(&r[i], &w);
		raw_close(&r[i], &w);
	}
	world_close(&w);
}

/* Its reply comes later: it is no silent one. */
static void who_waits_for_a_reply_makes_no_room(void **state)
{
	struct raw r[FEW], more;
	struct world w;

	open_few(&w, r, 1);
	for (unsigned i = 0; i < FEW; i++)
		raw_say(&r[i], &w,
			"{\"jsonrpc\":\"2.0\",\"method\":\"later\",\"id\":1}"
			"\n");
	assert_true(echo_wait(w.base, &w.server.nlater, FEW));
	raw_open(&more, &w);
	raw_hear_end(&more, &w);
	assert_non_null(strstr(more.said, "too many connections"));
	(void)close(more.fd);
	for (unsigned i = 0; i < FEW; i++)
		echo_answer(&w.server, i, false);
	for (unsigned i = 0; i < FEW; i++) {
		raw_hear_lines(&r[i], &w, 1);
		raw_close(&r[i], &w);
	}
	world_close(&w);
}

/* One user has half of the places, whatever is free. */
static void a_user_leaves_places_to_others(void **state)
{
	enum { MOST = 5, HALF = 3 };
	struct rpc_server_config cfg = { .kind = TRANSPORT_UNIX,
					 .peers_max = MOST,
					 .halves = true };
	struct raw r[HALF], more;
	struct cr_err e = { 0 };
	char want[80];
	struct world w;

	w = (struct world){ .base = event_base_new(), .at = echo_place("", 0) };
	cfg.base = w.base;
	cfg.listen = w.at;
	if (echo_open_as(&w.server, &cfg, &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < HALF; i++) {
		raw_open(&r[i], &w);
		assert_true(echo_wait(w.base, &w.server.up, i + 1));
	}
	raw_open(&more, &w);
	raw_hear_end(&more, &w);
	(void)snprintf(want, sizeof(want),
		       "too many connections: 3 of uid=%u are open",
		       (unsigned)geteuid());
	assert_non_null(strstr(more.said, want));
	(void)close(more.fd);
	raw_close(&r[0], &w);
	raw_open(&r[0], &w);
	is_served(&r[0], &w);
	for (unsigned i = 0; i < HALF; i++)
		raw_close(&r[i], &w);
	world_close(&w);
}

static void note_down(void *arg, const char *reason)
{
	(void)snprintf(arg, 200, "%s", reason);
}

/* Those of SCTP, whom anybody on the network may be, leave places to those of
 * the socket. */
static void sctp_leaves_places_to_the_socket(void **state)
{
	enum { SCTP = 2 };
	struct rpc_server_config cfg = { .kind = TRANSPORT_USER,
					 .listen = { .host = "127.0.0.1",
						     .sctp_port = 5501 },
					 .peers_max = SCTP + 1,
					 .sctp_max = SCTP };
	struct rpc_client *c[SCTP + 1] = { NULL };
	struct rpc_client_config to = { .kind = TRANSPORT_USER,
					.down = note_down };
	char why[200] = "";
	struct cr_err e = { 0 };
	struct world w;
	struct raw r;

	w = (struct world){ .base = event_base_new(), .at = echo_place("", 0) };
	cfg.base = to.base = w.base;
	to.arg = why;
	if (echo_open_as(&w.server, &cfg, &e) ||
	    rpc_server_listen(w.server.server, TRANSPORT_UNIX, &w.at, &e))
		fail_msg("%s", e.text);
	rpc_server_local(w.server.server, &to.to);
	for (unsigned i = 0; i < SCTP; i++) {
		assert_int_equal(rpc_client_open(&c[i], &to, &e), 0);
		assert_true(echo_wait(w.base, &w.server.up, i + 1));
	}
	assert_int_equal(rpc_client_open(&c[SCTP], &to, &e), 0);
	while (!*why)
		(void)event_base_loop(w.base, EVLOOP_ONCE);
	assert_non_null(
		strstr(why, "too many connections: 2 are open by SCTP"));
	raw_open(&r, &w);
	is_served(&r, &w);
	raw_close(&r, &w);
	for (unsigned i = 0; i <= SCTP; i++)
		rpc_client_close(c[i]);
	world_close(&w);
}

/* Where hosts of both families come by one socket, those of IPv4 are no /64. */
static void a_host_of_ipv4_leaves_places_to_others(void **state)
{
	enum { MOST = 4, HALF = 2 };
	struct rpc_server_config cfg = { .kind = TRANSPORT_USER,
					 .listen = { .host = "::",
						     .sctp_port = 5502 },
					 .peers_max = MOST,
					 .halves = true };
	struct rpc_client *c[HALF + 2] = { NULL };
	struct rpc_client_config to = { .kind = TRANSPORT_USER,
					.down = note_down };
	char why[200] = "";
	struct cr_err e = { 0 };
	struct world w;

	w = (struct world){ .base = event_base_new() };
	cfg.base = to.base = w.base;
	to.arg = why;
	if (echo_open_as(&w.server, &cfg, &e))
		fail_msg("%s", e.text);
	rpc_server_local(w.server.server, &to.to);
	(void)snprintf(to.to.host, sizeof(to.to.host), "127.0.0.1");
	for (unsigned i = 0; i < HALF; i++) {
		assert_int_equal(rpc_client_open(&c[i], &to, &e), 0);
		assert_true(echo_wait(w.base, &w.server.up, i + 1));
	}
	assert_int_equal(rpc_client_open(&c[HALF], &to, &e), 0);
	while (!*why)
		(void)event_base_loop(w.base, EVLOOP_ONCE);
	assert_non_null(strstr(why, "2 of ::ffff:127.0.0.1 are open"));
	(void)snprintf(to.to.host, sizeof(to.to.host), "::1");
	*why = '\0';
	assert_int_equal(rpc_client_open(&c[HALF + 1], &to, &e), 0);
	assert_true(echo_wait(w.base, &w.server.up, HALF + 1));
	assert_string_equal(why, "");
	for (unsigned i = 0; i < HALF + 2; i++)
		rpc_client_close(c[i]);
	world_close(&w);
}

/* Who has not shown who it is makes room for the next one, also if it talks. */
static void strangers_take_no_place_of_others(void **state)
{
	enum { STRANGERS = 64, MORE = 3 };
	struct raw r[STRANGERS + MORE], known;
	struct rpc_stats stats;
	struct world w;

	world_open(&w);
	raw_open(&known, &w);
	is_served(&known, &w);
	w.server.strangers = true;
	for (unsigned i = 0; i < STRANGERS + MORE; i++) {
		raw_open(&r[i], &w);
		assert_true(echo_wait(w.base, &w.server.up, i + 2));
		if (!i)
			is_served(&r[0], &w);
	}
	for (unsigned i = 0; i < MORE; i++) {
		raw_hear_end(&r[i], &w);
		(void)close(r[i].fd);
	}
	assert_string_equal(w.server.gone_reason, "silent");
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.peers_silent, MORE);
	assert_int_equal(stats.associations, STRANGERS + 1);
	is_served(&known, &w);
	for (unsigned i = MORE; i < STRANGERS + MORE; i++)
		raw_close(&r[i], &w);
	raw_close(&known, &w);
	world_close(&w);
}

static void count_round(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	++*(unsigned *)arg;
}

/* Without a descriptor the server waits, it does not spin; with one it goes on.
 */
static void without_descriptors_it_waits(void **state)
{
	struct rlimit files, none;
	const struct timeval t = { 0, 150000 };
	unsigned over = 0, rounds = 0;
	struct event *timer;
	struct world w;
	struct raw r;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	world_open(&w);
	timer = evtimer_new(w.base, count_round, &over);
	raw_open(&r, &w); /* waits to be accepted */
	none = files;
	none.rlim_cur = (rlim_t)r.fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	(void)evtimer_add(timer, &t);
	unwatched = 1; /* the socket that accepts, when it is tried again */
	while (!over || unwatched) {
		(void)event_base_loop(w.base, EVLOOP_ONCE);
		rounds++;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(w.server.up, 0);
	assert_in_range(rounds, 1, 20); /* spinning would be thousands */
	raw_say(&r, &w, ECHO("1"));
	raw_hear_lines(&r, &w, 1);
	assert_string_equal(r.said, ECHOED("1"));
	raw_close(&r, &w);
	event_free(timer);
	world_close(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_many_who_do_not_read_the_worst_is_let_go),
		cmocka_unit_test(a_part_of_a_message_counts),
		cmocka_unit_test(the_one_too_many_is_told_so),
		cmocka_unit_test(few_descriptors_are_not_for_clients_alone),
		cmocka_unit_test(the_silent_one_makes_room),
		cmocka_unit_test(who_was_just_heard_makes_no_room),
		cmocka_unit_test(who_waits_for_a_reply_makes_no_room),
		cmocka_unit_test(a_user_leaves_places_to_others),
		cmocka_unit_test(sctp_leaves_places_to_the_socket),
		cmocka_unit_test(a_host_of_ipv4_leaves_places_to_others),
		cmocka_unit_test(strangers_take_no_place_of_others),
		cmocka_unit_test(without_descriptors_it_waits),
	};
	char word[] = "unix", *over[] = { argv[0], word, NULL };

	(void)argc;
	echo_arguments(2, over);
	return cmocka_run_group_tests_name("unix_many", tests, NULL, NULL);
}
