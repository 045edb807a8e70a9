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

	(void)state;
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

static void the_one_too_many_is_told_so(void **state)
{
	enum { MOST = 1000, MORE = 20 };
	struct raw *r = calloc(1, sizeof(*r));
	struct rlimit files, many;
	int fd[MOST];
	struct world w;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	many = files;
	many.rlim_cur = 2 * MOST + 100;
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

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	world_open(&w);
	timer = evtimer_new(w.base, count_round, &over);
	raw_open(&r, &w); /* waits to be accepted */
	none = files;
	none.rlim_cur = (rlim_t)r.fd + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	(void)evtimer_add(timer, &t);
	while (!over) {
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
		cmocka_unit_test(the_one_too_many_is_told_so),
		cmocka_unit_test(without_descriptors_it_waits),
	};
	char word[] = "unix", *over[] = { argv[0], word, NULL };

	(void)argc;
	echo_arguments(2, over);
	return cmocka_run_group_tests_name("unix_many", tests, NULL, NULL);
}
