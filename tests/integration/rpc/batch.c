/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: what they answer is bounded while it is made, every member is
 * answered, and what was not run is said.
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

static void open_world(struct world *w)
{
	struct transport_addr at = echo_place("127.0.0.1", SCTP_PORT);
	struct cr_err e = { 0 };

	*w = (struct world){ .base = event_base_new() };
	if (echo_open(&w->server, w->base, echo_kind, &at, 0, &e))
		fail_msg("%s", e.text);
	rpc_server_local(w->server.server, &w->at);
	open_asker(w, &w->a);
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

	(void)state;
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

	(void)state;
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

	(void)state;
	open_world(&w);
	asker_say(&w.a, "[" REQUEST("later", "[]", "1") "," REQUEST(
				"list", "{\"count\":20000}",
				"2") "," REQUEST("list", "{\"count\":20000}",
						 "3") "," REQUEST("later", "[]",
								  "4") "]");
	assert_true(echo_wait(w.base, &w.server.lists, 2));
	assert_int_equal(w.server.nlater, 1);
	echo_answer(&w.server, 0, false);
	assert_true(echo_wait(w.base, &w.a.replies, 1));
	all = asker_heard(&w.a, 0);
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

	(void)state;
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_is_cut_off_while_it_is_made),
		cmocka_unit_test(what_is_behind_is_not_run),
		cmocka_unit_test(what_comes_later_has_its_room),
		cmocka_unit_test(every_id_comes_back),
	};

	echo_arguments(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
