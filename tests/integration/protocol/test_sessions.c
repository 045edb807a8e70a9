/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who owns calls, and what becomes of them when the owner goes: bye, loss,
 * grace, takeover, keep; what owners are told; and how a node drains.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"
#include "desk.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "protocol/methods.h"

#define SOON (50 * CR_MS)

/* The next session finds no memory. */
static bool no_session;

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	if (!no_session || n != 1 || size != sizeof(struct session))
		return __real_calloc(n, size);
	no_session = false;
	errno = ENOMEM;
	return NULL;
}

struct down {
	unsigned n;
	char why[100];
};

static void on_down(void *arg, const char *reason)
{
	struct down *down = arg;

	down->n++;
	(void)snprintf(down->why, sizeof(down->why), "%s", reason);
}

/* By both ways: it is not told that somebody took over what it never had. */
static void who_finds_no_memory_for_a_session_is_told_so(void **state)
{
	struct down down = { 0 };
	struct scratch d;

	desk_open(&d, &(struct desk_options){ 0 });
	for (unsigned i = 0; i < 2; i++) {
		const struct rpc_client_config cfg = { .base = d.rig.base,
						       .to = i ? d.socket
							       : d.at,
						       .kind = TRANSPORT_USER,
						       .arg = &down,
						       .down = on_down };
		struct rpc_client *rpc;
		struct cr_err e = { "" };
		struct client c;

		no_session = true;
		assert_int_equal(rpc_client_open(&rpc, &cfg, &e), 0);
		desk_wait_for(&d, &down.n, i + 1);
		assert_string_equal(down.why, "closed by the server: out of "
					      "memory for a session");
		rpc_client_close(rpc);
		client_open(&c, &d, NULL); /* then there is some */
		(void)client_start(&c, "");
		client_do(&c, "bye", NULL);
		desk_wait_calls(&d, 0);
		client_close(&c);
	}
	desk_close(&d);
}

static void a_bye_ends_the_sessions_calls(void **state)
{
	struct client c, other;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	client_open(&other, &d, NULL);
	(void)client_start(&c, "");
	(void)client_start(&c, "");
	(void)client_start(&other, "");
	client_do(&c, "bye", NULL);
	desk_wait_calls(&d, 1); /* the other's */
	assert_int_equal(other.ended, 0);
	client_close(&c);
	client_close(&other);
	desk_close(&d);
}

static void a_lost_clients_calls_end_when_grace_is_over(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ .grace = SOON });
	(void)client_start(&c, "");
	(void)client_start(&c, "'keep': true,");
	client_close(&c);
	desk_wait_calls(&d, 1); /* the kept one */
	client_open(&c, &d, NULL);
	client_do(&c, "call.stop", "{'call': 2}");
	desk_wait_calls(&d, 0);
	client_close_desk(&c, &d);
}

struct line {
	int fd;
	size_t n;
	char text[4096];
};

/* One octet at a time: what the event base does meanwhile is the point. */
static bool line_is_whole(void *arg)
{
	struct line *l = arg;

	while (l->n < sizeof(l->text) - 1 &&
	       read(l->fd, l->text + l->n, 1) == 1)
		if (l->text[l->n++] == '\n')
			return true;
	return false;
}

/* Start the peer and let it start a call; it then waits to be killed. */
static pid_t spawn_peer(struct scratch *d, const char *params)
{
	char sctp[8], udp[8],
		*argv[] = { (char *)PEER,	  d->at.host,	  sctp, udp,
			    (char *)"call.start", (char *)params, NULL };
	posix_spawn_file_actions_t to;
	struct line line = { .n = 0 };
	int ends[2];
	json_t *reply;
	pid_t pid;

	(void)snprintf(sctp, sizeof(sctp), "%u", d->at.sctp_port);
	(void)snprintf(udp, sizeof(udp), "%u", d->at.udp_port);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(posix_spawn_file_actions_init(&to), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&to, ends[1], 1), 0);
	assert_int_equal(posix_spawn(&pid, PEER, &to, NULL, argv, environ), 0);
	(void)posix_spawn_file_actions_destroy(&to);
	(void)close(ends[1]);
	line.fd = ends[0];
	desk_wait(d, line_is_whole, &line);
	(void)close(ends[0]);
	reply = json_loads(line.text, 0, NULL);
	assert_int_equal(desk_number(reply, "call"), 1);
	json_decref(reply);
	return pid;
}

static void a_killed_clients_calls_end_too(void **state)
{
	struct client watcher;
	struct scratch d;
	pid_t pid;

	desk_open(&d, &(struct desk_options){ .grace = SOON });
	client_open(&watcher, &d, NULL);
	pid = spawn_peer(&d, "{\"in\": {\"codec\": \"pcmu\"}, \"out\": "
			     "{\"codec\": \"pcma\", \"address\": "
			     "\"127.0.0.1:9\"}}");
	(void)client_start(&watcher, "");
	assert_int_equal(node_streams(d.rig.node), 2);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	desk_wait_calls(&d, 1);
	assert_int_equal(watcher.ended, 0); /* its own goes on */
	client_close(&watcher);
	desk_close(&d);
}

static void a_session_is_taken_over_within_its_grace_time(void **state)
{
	struct client c, next;
	struct scratch d;
	unsigned id;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	id = client_start(&c, "");
	client_close(&c);
	client_open(&next, &d, c.session);
	assert_string_equal(next.session, c.session);
	o = client_ask(&next, "hello", NULL);
	assert_int_equal(desk_number(o, "calls"), 1);
	json_decref(o);
	/* now they are its own: it is told of their ends */
	(void)client_start(&next, "");
	client_do(&next, "call.stop", "{'call': 1}");
	assert_int_equal(id, 1);
	desk_wait_for(&d, &next.ended, 1);
	client_do(&next, "bye", NULL);
	desk_wait_calls(&d, 0);
	client_close(&next);
	desk_close(&d);
}

static void says_hello_by(struct client *c, const char *transport)
{
	json_t *o = client_ask(c, "hello", NULL);

	assert_string_equal(json_string_value(json_object_get(o, "transport")),
			    transport);
	json_decref(o);
}

/* The session is who knows its name, however it comes. */
static void a_session_is_taken_over_by_another_transport(void **state)
{
	struct client c, next, back;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	says_hello_by(&c, "user");
	(void)client_start(&c, "");
	(void)client_start(&c, "");
	client_close(&c);
	client_open_unix(&next, &d, c.session);
	says_hello_by(&next, "unix");
	assert_string_equal(next.session, c.session);
	client_do(&next, "call.stop", "{'call': 1}");
	desk_wait_for(&d, &next.ended, 1);
	client_open(&back, &d, c.session); /* still connected there */
	client_refused(&next, "call.start", NULL, RPC_CONFLICT, "taken over");
	client_close(&next);
	client_do(&back, "call.stop", "{'call': 2}");
	desk_wait_for(&d, &back.ended, 1);
	client_close(&back);
	desk_close(&d);
}

static void a_unix_clients_calls_end_when_grace_is_over(void **state)
{
	struct client c, other;
	struct scratch d;

	desk_open(&d, &(struct desk_options){ .grace = SOON });
	client_open_unix(&c, &d, NULL);
	client_open_unix(&other, &d, NULL);
	(void)client_start(&c, "");
	(void)client_start(&other, "");
	client_close(&c);
	desk_wait_calls(&d, 1);
	client_do(&other, "bye", NULL);
	desk_wait_calls(&d, 0);
	client_close(&other);
	desk_close(&d);
	assert_int_equal(access(d.socket.path, F_OK), -1);
}

/* A client that crashed and came back before its loss was noticed. */
static void a_session_is_taken_over_from_a_dead_association(void **state)
{
	struct client c, next;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	(void)client_start(&c, "");
	client_open(&next, &d, c.session);
	client_refused(&c, "call.start", NULL, RPC_CONFLICT, "taken over");
	client_close(&c); /* its loss ends nothing */
	client_do(&next, "call.stop", "{'call': 1}");
	desk_wait_for(&d, &next.ended, 1);
	client_close(&next);
	desk_close(&d);
}

static void a_session_that_is_over_cannot_be_taken_over(void **state)
{
	struct client c, next;
	struct scratch d;
	char json[64];

	client_open_desk(&c, &d, &(struct desk_options){ .grace = SOON });
	(void)client_start(&c, "");
	client_close(&c);
	desk_wait_calls(&d, 0);
	client_open(&next, &d, NULL);
	(void)snprintf(json, sizeof(json), "{'resume': '%s'}", c.session);
	client_refused(&next, "hello", json, RPC_CONFLICT, "no session");
	client_close(&next);
	desk_close(&d);
}

static void the_end_of_a_call_is_told_with_its_last_figures(void **state)
{
	struct fixture_sender s;
	struct client c;
	struct scratch d;
	unsigned id;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	id = client_start(&c, "");
	s = desk_sender(&d, id);
	desk_echo(&s, 10);
	client_do(&c, "call.stop", "{'call': 1}");
	desk_wait_for(&d, &c.ended, 1);
	assert_int_equal(desk_number(c.last_ended, "call"), id);
	assert_string_equal(
		json_string_value(json_object_get(c.last_ended, "reason")),
		"stopped");
	assert_int_equal(desk_number(c.last_ended, "count.packets_in"), 10);
	assert_int_equal(desk_number(c.last_ended, "count.done"), 10);
	assert_int_equal(desk_number(c.last_ended, "count.packets_out"), 10);
	client_close_desk(&c, &d);
}

static void overload_is_told_to_every_session_with_the_key(void **state)
{
	struct client c, other, stranger;
	struct fixture_sender s;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ .ring_frames = 2 });
	client_open(&other, &d, NULL);
	client_open(&stranger, &d, NULL);
	LIST_FIRST(&d.service->sessions)->peer->stranger = true;
	client_do(&c, "call.start",
		  "{'ssrc': 1, 'in': {'codec': 'pcmu'}, 'out': {'codec': "
		  "'spin', 'spin': '20ms', 'address': '127.0.0.1:9'}}");
	s = desk_sender(&d, 1);
	for (unsigned i = 0; i < 50; i++)
		desk_send(&s);
	desk_wait_for(&d, &c.congestion, 1);
	desk_wait_for(&d, &other.congestion, 1);
	assert_true(desk_number(c.last_congestion, "lost_per_s") >= 1);
	assert_int_equal(desk_number(c.last_congestion, "capacity.calls"), 1);
	/* its reply would come behind that */
	client_refused(&stranger, "stats", NULL, RPC_DENIED, "key");
	assert_int_equal(stranger.congestion, 0);
	client_close(&stranger);
	client_close(&c);
	client_close(&other);
	desk_close(&d);
}

static void a_draining_node_takes_no_call_and_waits_for_the_last(void **state)
{
	struct client c;
	struct scratch d;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	(void)client_start(&c, "");
	(void)client_start(&c, "");
	o = client_ask(&c, "drain", NULL);
	assert_int_equal(desk_number(o, "calls"), 2);
	json_decref(o);
	client_refused(&c, "call.start", NULL, RPC_DRAINING, "draining");
	client_do(&c, "call.stop", "{'call': 1}");
	desk_wait_calls(&d, 1);
	assert_int_equal(d.drained, 0);
	client_do(&c, "call.stop", "{'call': 2}");
	desk_wait_for(&d, &d.drained, 1);
	assert_int_equal(node_streams(d.rig.node), 0);
	client_close_desk(&c, &d);
	assert_int_equal(d.drained, 1);
}

static void a_drain_that_is_taken_back_has_no_limit_any_more(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	(void)client_start(&c, "");
	client_do(&c, "drain.cancel", NULL); /* of none: no harm */
	client_do(&c, "drain", "{'limit': '1h'}");
	client_do(&c, "drain.cancel", NULL);
	assert_false(service_draining(d.service));
	assert_false(evtimer_pending(d.service->limit, NULL));
	(void)client_start(&c, "");
	/* a longer one than before counts again */
	client_do(&c, "drain", "{'limit': '2h'}");
	assert_true(evtimer_pending(d.service->limit, NULL));
	client_do(&c, "drain.cancel", NULL);
	client_do(&c, "call.stop", "{'call': 1}");
	client_do(&c, "call.stop", "{'call': 2}");
	desk_wait_calls(&d, 0);
	assert_int_equal(d.drained, 0);
	service_drain(d.service, 0, true);
	client_refused(&c, "drain.cancel", NULL, RPC_CONFLICT, "ends");
	client_close_desk(&c, &d);
}

static void an_idle_node_has_drained_at_once(void **state)
{
	struct scratch d;

	desk_open(&d, &(struct desk_options){ 0 });
	service_drain(d.service, CR_SEC, false);
	assert_int_equal(d.drained, 1);
	desk_close(&d);
}

static void a_second_drain_only_shortens_the_limit(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	(void)client_start(&c, "");
	client_do(&c, "drain", "{'limit': '1h'}");
	client_do(&c, "drain", "{'limit': '50ms'}");
	client_do(&c, "drain", "{'limit': '1h'}"); /* longer: no effect */
	desk_wait_for(&d, &d.drained, 1);
	assert_int_equal(node_streams(d.rig.node), 1);
	client_close_desk(&c, &d);
}

static void closing_tells_the_owners(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	(void)client_start(&c, "");
	(void)client_start(&c, "");
	service_close(d.service);
	d.service = NULL;
	desk_wait_for(&d, &c.ended, 2);
	assert_string_equal(
		json_string_value(json_object_get(c.last_ended, "reason")),
		"drained");
	client_close_desk(&c, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_finds_no_memory_for_a_session_is_told_so),
		cmocka_unit_test(a_bye_ends_the_sessions_calls),
		cmocka_unit_test(a_lost_clients_calls_end_when_grace_is_over),
		cmocka_unit_test(a_killed_clients_calls_end_too),
		cmocka_unit_test(a_session_is_taken_over_within_its_grace_time),
		cmocka_unit_test(
			a_session_is_taken_over_from_a_dead_association),
		cmocka_unit_test(a_session_is_taken_over_by_another_transport),
		cmocka_unit_test(a_unix_clients_calls_end_when_grace_is_over),
		cmocka_unit_test(a_session_that_is_over_cannot_be_taken_over),
		cmocka_unit_test(
			the_end_of_a_call_is_told_with_its_last_figures),
		cmocka_unit_test(
			overload_is_told_to_every_session_with_the_key),
		cmocka_unit_test(
			a_draining_node_takes_no_call_and_waits_for_the_last),
		cmocka_unit_test(
			a_drain_that_is_taken_back_has_no_limit_any_more),
		cmocka_unit_test(an_idle_node_has_drained_at_once),
		cmocka_unit_test(a_second_drain_only_shortens_the_limit),
		cmocka_unit_test(closing_tells_the_owners),
	};

	return cmocka_run_group_tests_name("sessions", tests, NULL, NULL);
}
