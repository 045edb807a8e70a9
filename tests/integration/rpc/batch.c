/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: what they answer is bounded while it is made, every member is
 * answered, and what was not run is said. What a peer holds is bounded.
 */
#include <stdlib.h>
#include <string.h>

#include "asker.h"
#include "cmocka_cr.h"
#include "echo.h"

enum { SCTP_PORT = 5501, MOST = JSONRPC_BATCH_MAX };

#define REQUEST(method, params, id)                                            \
	"{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params    \
	",\"id\":" id "}"
#define NOTE(method, params)                                                   \
	"{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"

struct world {
	struct event_base *base;
	struct echo server;
	struct transport_addr at;
	struct asker a;
};

static void open_asker(struct world *w, struct asker *a)
{
	struct cr_err e = { 0 };

	if (asker_open(a, w->base, &w->at, &e))
		fail_msg("%s", e.text);
	assert_true(echo_wait(w->base, &a->up, 1));
}

static void open_world_with(struct world *w, size_t queue_max)
{
	struct transport_addr at = echo_place("127.0.0.1", SCTP_PORT);
	struct cr_err e = { 0 };

	*w = (struct world){ .base = event_base_new() };
	if (echo_open(&w->server, w->base, echo_kind, &at, queue_max, &e))
		fail_msg("%s", e.text);
	rpc_server_local(w->server.server, &w->at);
	open_asker(w, &w->a);
}

static void open_world(struct world *w)
{
	open_world_with(w, 0);
}

static void close_world(struct world *w)
{
	asker_close(&w->a);
	rpc_server_close(w->server.server);
	event_base_free(w->base);
}

/* The message with number @i that comes back to @text. */
static const json_t *answer_to(struct world *w, const char *text, unsigned i)
{
	asker_say(&w->a, text);
	assert_true(echo_wait(w->base, &w->a.replies, i + 1));
	return asker_heard(&w->a, i);
}

/* Of 256 lists of 190 KB each 22 fit. */
static void a_reply_is_cut_off_while_it_is_made(void **state)
{
	char *text = asker_batch(MOST, "list", "{\"count\":1000}");
	const json_t *all;
	unsigned fit = 0;
	struct world w;

	open_world(&w);
	all = answer_to(&w, text, 0);
	assert_int_equal(json_array_size(all), MOST);
	while (fit < MOST && !asker_code(json_array_get(all, fit)))
		fit++;
	assert_in_range(fit, 10, 40);
	for (unsigned i = 0; i < MOST; i++) {
		const json_t *r = json_array_get(all, i);

		assert_int_equal(asker_id(r), i);
		if (i < fit)
			assert_int_equal(
				json_array_size(json_object_get(r, "result")),
				1000);
		else
			assert_int_equal(asker_code(r),
					 i == fit ? RPC_TOO_LONG : RPC_NOT_RUN);
	}
	/* what was not run built nothing */
	assert_int_equal(w.server.lists, fit + 1);
	assert_in_range(w.a.longest, TRANSPORT_MESSAGE_MAX / 2,
			TRANSPORT_MESSAGE_MAX);
	free(text);
	close_world(&w);
}

static void what_is_behind_is_not_run(void **state)
{
	static const char text[] =
		"[" REQUEST("list", "{\"count\":30000}", "1") "," NOTE(
			"list",
			"{\"count\":1}") "," REQUEST("list", "{\"count\":1}",
						     "2") ",7," REQUEST("bye",
									"[]",
									"3") "]";
	const json_t *all;
	struct world w;

	open_world(&w);
	all = answer_to(&w, text, 0);
	assert_int_equal(json_array_size(all), 4);
	assert_int_equal(asker_code(json_array_get(all, 0)), RPC_TOO_LONG);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(asker_code(json_array_get(all, i)),
				 RPC_NOT_RUN);
	assert_int_equal(w.server.lists, 1);
	/* bye neither */
	all = answer_to(&w, REQUEST("list", "{\"count\":1}", "4"), 1);
	assert_int_equal(asker_code(all), 0);
	assert_int_equal(w.server.gone, 0);
	close_world(&w);
}

static void what_comes_later_has_its_room(void **state)
{
	const json_t *all;
	struct world w;

	open_world(&w);
	asker_say(&w.a, "[" REQUEST("later", "[]", "1") "," REQUEST(
				"list", "{\"count\":20000}",
				"2") "," REQUEST("list", "{\"count\":20000}",
						 "3") "," REQUEST("later", "[]",
								  "4") "]");
	/* the batch has been run */
	(void)answer_to(&w, REQUEST("echo", "[]", "5"), 0);
	assert_int_equal(w.server.lists, 2);
	assert_int_equal(w.server.nlater, 1);
	echo_answer(&w.server, 0, false);
	assert_true(echo_wait(w.base, &w.a.replies, 2));
	all = asker_heard(&w.a, 1);
	assert_int_equal(asker_id(json_array_get(all, 0)), 2);
	assert_int_equal(asker_code(json_array_get(all, 0)), 0);
	assert_int_equal(asker_id(json_array_get(all, 1)), 3);
	assert_int_equal(asker_code(json_array_get(all, 1)), RPC_TOO_LONG);
	assert_int_equal(asker_id(json_array_get(all, 2)), 4);
	assert_int_equal(asker_code(json_array_get(all, 2)), RPC_NOT_RUN);
	assert_int_equal(asker_id(json_array_get(all, 3)), 1);
	assert_int_equal(asker_code(json_array_get(all, 3)), 0);
	close_world(&w);
}

/* Ids are the client's, and may be long: room is kept for them, too. Alone the
 * list would fit, with 19 KB to spare. */
static void every_id_comes_back(void **state)
{
	enum { ID = 1000, N = 9, FITS = 22750 };
	char id[ID + 1], *text;
	json_t *all = json_array();
	const json_t *back;
	struct world w;

	memset(id, '\x01', ID); /* six octets each */
	id[ID] = '\0';
	for (unsigned i = 0; i < N; i++) {
		id[ID - 1] = (char)('a' + i);
		(void)json_array_append_new(
			all, json_pack("{s:s, s:s, s:{s:i}, s:s}", "jsonrpc",
				       "2.0", "method", "list", "params",
				       "count", FITS, "id", id));
	}
	text = json_dumps(all, JSON_COMPACT);
	open_world(&w);
	back = answer_to(&w, text, 0);
	assert_int_equal(json_array_size(back), N);
	for (unsigned i = 0; i < N; i++) {
		const json_t *r = json_array_get(back, i);

		assert_true(json_equal(
			json_object_get(r, "id"),
			json_object_get(json_array_get(all, i), "id")));
		assert_int_equal(asker_code(r), i ? RPC_NOT_RUN : RPC_TOO_LONG);
	}
	assert_in_range(w.a.longest, N * ID, TRANSPORT_MESSAGE_MAX);
	(void)answer_to(&w, REQUEST("list", "{\"count\":22750}", "1"), 1);
	assert_int_equal(asker_code(asker_heard(&w.a, 1)), 0);
	free(text);
	json_decref(all);
	close_world(&w);
}

/* --- what a peer holds --- */

static void what_a_peer_says_is_run_in_order(void **state)
{
	char *text = asker_batch(20, "echo", "[]");
	struct world w;

	open_world(&w);
	asker_say(&w.a, text);
	asker_say(&w.a, REQUEST("list", "{\"count\":1}", "100"));
	asker_say(&w.a, text);
	asker_say(&w.a, "{");
	(void)answer_to(&w, REQUEST("list", "{\"count\":1}", "101"), 4);
	assert_int_equal(json_array_size(asker_heard(&w.a, 0)), 20);
	assert_int_equal(asker_id(asker_heard(&w.a, 1)), 100);
	assert_int_equal(json_array_size(asker_heard(&w.a, 2)), 20);
	assert_int_equal(asker_code(asker_heard(&w.a, 3)), RPC_PARSE_ERROR);
	assert_int_equal(asker_id(asker_heard(&w.a, 4)), 101);
	free(text);
	close_world(&w);
}

static void who_closes_in_order_has_all_of_it_run(void **state)
{
	char *text = asker_batch(MOST, "list", "{\"count\":1}");
	struct world w;

	open_world(&w);
	asker_say(&w.a, text);
	asker_say(&w.a, REQUEST("list", "{\"count\":1}", "1"));
	assert_int_equal(transport_shutdown(w.a.t, w.a.assoc), 0);
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, "shutdown");
	assert_int_equal(w.server.lists, MOST + 1);
	free(text);
	close_world(&w);
}

/* A batch and 6 MB behind it: nothing waits. */
static void what_is_behind_a_batch_does_not_wait(void **state)
{
	enum { QUEUE = 256 << 10, MORE = 100, LONG = 60000 };
	char *batch = asker_batch(MOST, "list", "{\"count\":1}");
	char *text = malloc(LONG + 1);
	struct world w;

	memset(text, ' ', LONG);
	text[LONG] = '\0';
	memcpy(text, "{}", 2);
	open_world_with(&w, QUEUE);
	asker_say(&w.a, batch);
	assert_true(echo_wait(w.base, &w.server.lists, 1));
	for (unsigned i = 0; i < MORE; i++)
		asker_say(&w.a, text);
	assert_true(echo_wait(w.base, &w.a.replies, 1 + MORE));
	assert_int_equal(w.server.gone, 0);
	free(text);
	free(batch);
	close_world(&w);
}

static uint64_t queued(const struct world *w)
{
	struct rpc_stats stats;

	rpc_server_stats(w->server.server, &stats);
	return stats.queued;
}

/* Its replies so far. */
static void a_batch_counts_until_it_is_answered(void **state)
{
	enum { ITEM = 150 };
	static const char text[] = "[" REQUEST("later", "[]", "1") "," REQUEST(
		"list", "{\"count\":1000}", "2") "]";
	struct world w;

	open_world(&w);
	assert_int_equal(queued(&w), 0);
	for (unsigned n = 1; n <= 4; n++) {
		asker_say(&w.a, text);
		assert_true(echo_wait(w.base, &w.server.lists, n));
		assert_in_range(queued(&w), (size_t)n * 1000 * ITEM, 4 << 20);
	}
	for (unsigned i = 0; i < 4; i++)
		echo_answer(&w.server, i, false);
	assert_true(echo_wait(w.base, &w.a.replies, 4));
	assert_int_equal(queued(&w), 0);
	close_world(&w);
}

/* Each holds 1 MiB of replies, which wait for another one: no queue has them.
 */
static void of_many_unfinished_batches_the_worst_are_let_go(void **state)
{
	enum { ASKERS = 8, FIT = 4, TOTAL = (FIT << 20) + (1 << 19) };
	static const char text[] = "[" REQUEST("later", "[]", "1") "," REQUEST(
		"list", "{\"count\":5000}", "2") "]";
	struct transport_addr at = echo_place("127.0.0.1", SCTP_PORT);
	struct rpc_stats stats;
	struct asker a[ASKERS];
	struct cr_err e = { 0 };
	struct world w = { .base = event_base_new() };

	if (echo_open_within(&w.server, w.base, echo_kind, &at, TOTAL, &e))
		fail_msg("%s", e.text);
	rpc_server_local(w.server.server, &w.at);
	open_asker(&w, &w.a);
	for (unsigned i = 0; i < ASKERS; i++) {
		open_asker(&w, &a[i]);
		asker_say(&a[i], text);
		assert_true(echo_wait(w.base, &w.server.lists, i + 1));
		rpc_server_stats(w.server.server, &stats);
		assert_in_range(stats.queued, 1 << 20, TOTAL);
	}
	assert_true(echo_wait(w.base, &w.server.gone, ASKERS - FIT));
	assert_string_equal(w.server.gone_reason, "crowded");
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.peers_crowded, ASKERS - FIT);
	assert_int_equal(stats.associations, 1 + FIT);
	/* who asks for little is served */
	(void)answer_to(&w, REQUEST("echo", "[]", "5"), 0);
	for (unsigned i = 0; i < ASKERS; i++)
		echo_answer(&w.server, i, false);
	for (unsigned i = 0; i < ASKERS; i++)
		while (!a[i].down && !a[i].replies)
			(void)event_base_loop(w.base, EVLOOP_ONCE);
	for (unsigned i = 0; i < ASKERS; i++)
		asker_close(&a[i]);
	close_world(&w);
}

/* A socket is not read meanwhile. */
static void replies_to_come_are_waited_for(void **state)
{
	char *text;
	struct world w;

	if (echo_kind != TRANSPORT_UNIX)
		skip();
	text = asker_batch(MOST, "later", "[]");
	open_world(&w);
	asker_say(&w.a, text);
	assert_true(echo_wait(w.base, &w.server.nlater, MOST));
	asker_say(&w.a, REQUEST("later", "[]", "300"));
	for (unsigned i = 0; i < 10; i++)
		(void)event_base_loop(w.base, EVLOOP_NONBLOCK);
	assert_int_equal(w.server.nlater, MOST);
	echo_answer(&w.server, 0, false);
	assert_true(echo_wait(w.base, &w.server.nlater, MOST + 1));
	for (unsigned i = 1; i <= MOST; i++)
		echo_answer(&w.server, i, false);
	assert_true(echo_wait(w.base, &w.a.replies, 2));
	assert_int_equal(json_array_size(asker_heard(&w.a, 0)), MOST);
	assert_int_equal(asker_id(asker_heard(&w.a, 1)), 300);
	free(text);
	close_world(&w);
}

/* What the node keeps for them counts, as does their room. */
static void replies_to_come_are_bounded(void **state)
{
	enum { QUEUE = 64 << 10, FIT = QUEUE / 2048 };
	char *few = asker_batch(FIT, "later", "[]");
	char *more = asker_batch(MOST - FIT, "later", "[]");
	struct rpc_stats stats;
	struct world w;

	open_world_with(&w, QUEUE);
	asker_say(&w.a, few);
	assert_true(echo_wait(w.base, &w.server.nlater, FIT));
	assert_in_range(queued(&w), FIT * 1024, QUEUE);
	asker_say(&w.a, more);
	assert_true(echo_wait(w.base, &w.server.gone, 1));
	assert_string_equal(w.server.gone_reason, "flooding");
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.slow_peers, 1);
	assert_int_equal(stats.queued, 0);
	for (unsigned i = 0; i < w.server.nlater; i++)
		echo_answer(&w.server, i, false);
	rpc_server_stats(w.server.server, &stats);
	assert_int_equal(stats.replies_lost, w.server.nlater);
	free(few);
	free(more);
	close_world(&w);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_is_cut_off_while_it_is_made),
		cmocka_unit_test(what_is_behind_is_not_run),
		cmocka_unit_test(what_comes_later_has_its_room),
		cmocka_unit_test(every_id_comes_back),
		cmocka_unit_test(what_a_peer_says_is_run_in_order),
		cmocka_unit_test(who_closes_in_order_has_all_of_it_run),
		cmocka_unit_test(what_is_behind_a_batch_does_not_wait),
		cmocka_unit_test(a_batch_counts_until_it_is_answered),
		cmocka_unit_test(
			of_many_unfinished_batches_the_worst_are_let_go),
		cmocka_unit_test(replies_to_come_are_waited_for),
		cmocka_unit_test(replies_to_come_are_bounded),
	};

	echo_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
