/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No request holds others up. What a codec costs is measured behind the
 * control protocol; who asks for a call waits for that alone.
 */
#define _GNU_SOURCE /* usleep */
#include "cmocka_cr.h"
#include "desk.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asker.h"
#include "node/measuring.h"
#include "node/node_impl.h"
#include "protocol/methods.h"
#include "transport/ops.h"

enum { MOST = JSONRPC_BATCH_MAX };

/* A desk with one client that asks text, and one that must not notice. */
struct office {
	struct scratch d;
	struct asker a;
	struct client b;
	unsigned call; /* of b's */
	struct fixture_sender speaker;
};

static void open_asker(struct office *o)
{
	struct cr_err e = { "" };

	if (asker_open(&o->a, o->d.rig.base, &o->d.at, &e))
		fail_msg("%s", e.text);
	desk_wait_for(&o->d, &o->a.up, 1);
}

static void open_office(struct office *o)
{
	desk_open(&o->d, &(struct desk_options){ 0 });
	client_open(&o->b, &o->d, NULL);
	open_asker(o);
	o->call = client_start(&o->b, "");
	o->speaker = desk_sender(&o->d, o->call);
}

static void close_office(struct office *o)
{
	asker_close(&o->a);
	client_close(&o->b);
	desk_close(&o->d);
}

static unsigned measured(const struct office *o)
{
	return measuring_count(o->d.rig.node->measuring);
}

/* --- requests --- */

static json_t *request(int id, const char *method, json_t *params)
{
	return json_pack("{s:s, s:s, s:o, s:i}", "jsonrpc", "2.0", "method",
			 method, "params", params, "id", id);
}

/* call.start from @in to @out in its mode number @mode. */
static json_t *start(int id, const struct cr_codec *in,
		     const struct cr_codec *out, unsigned mode)
{
	json_t *to = json_pack("{s:s, s:s, s:s}", "codec", out->name, "mode",
			       out->modes[mode].name, "address", "127.0.0.1:9");
	json_t *from = json_pack("{s:s}", "codec", in->name);

	if (out->declares_cost)
		(void)json_object_set_new(to, "spin", json_string("100ms"));
	if (in->declares_cost)
		(void)json_object_set_new(from, "spin",
					  json_sprintf("%dus", 90000 + id));
	return request(id, "call.start",
		       json_pack("{s:o, s:o}", "in", from, "out", to));
}

/* To AMR, which is dear and in nobody's book. */
static json_t *start_amr(int id)
{
	return start(id, cr_codec_find("pcmu"), cr_codec_find("amr"), 7);
}

static void say(struct office *o, json_t *message)
{
	char *text = json_dumps(message, JSON_COMPACT);

	asker_say(&o->a, text);
	free(text);
	json_decref(message);
}

/* The message with this number that comes. */
static const json_t *hear(struct office *o, unsigned i)
{
	desk_wait_for(&o->d, &o->a.replies, i + 1);
	return asker_heard(&o->a, i);
}

static unsigned started(const json_t *reply)
{
	if (asker_code(reply))
		fail_msg("%s", json_dumps(reply, 0));
	return (unsigned)desk_number(json_object_get(reply, "result"), "call");
}

/* --- a batch of everything --- */

static bool both_ways(const struct cr_codec *c)
{
	return c->encoder_open && c->decoder_open;
}

/* Pairs of codecs and modes, over and over until there are @n. */
static void add_pairs(json_t *batch, unsigned n)
{
	for (const struct cr_codec *const *in = cr_codecs; *in; in++)
		for (const struct cr_codec *const *out = cr_codecs; *out; out++)
			for (unsigned m = 0; m < (*out)->nmodes; m++) {
				size_t id = json_array_size(batch);

				if (id < n && both_ways(*in) && both_ways(*out))
					(void)json_array_append_new(
						batch,
						start((int)id, *in, *out, m));
			}
	if (json_array_size(batch) < n)
		add_pairs(batch, n);
}

static json_t *query_b(struct office *o)
{
	char json[64];

	(void)snprintf(json, sizeof(json), "{'stream': %u}", o->call);
	return client_ask(&o->b, "stream.query", json);
}

/* Every round: an answer at once, and a frame of the call that is not lost. */
static void a_batch_of_starts_holds_nobody_up(void **state)
{
	json_t *batch = json_array(), *counts;
	const json_t *all;
	struct office o;
	unsigned rounds = 0;

	add_pairs(batch, MOST);
	open_office(&o);
	say(&o, batch);
	for (; !o.a.replies; rounds++) {
		client_do(&o.b, "hello", "{}");
		desk_echo(&o.speaker, 1);
	}
	print_message("%u rounds, %u parts measured\n", rounds, measured(&o));
	assert_true(rounds >= 20);
	all = asker_heard(&o.a, 0);
	assert_int_equal(json_array_size(all), MOST);
	for (unsigned i = 0; i < MOST; i++)
		(void)started(json_array_get(all, i));
	assert_int_equal(node_streams(o.d.rig.node), MOST + 1);
	counts = query_b(&o);
	assert_int_equal(desk_number(counts, "count.packets_in"), rounds);
	/* the last one is counted when it was sent, and heard by then */
	while (desk_number(counts, "count.packets_out") + 1 == rounds) {
		json_decref(counts);
		counts = query_b(&o);
	}
	assert_int_equal(desk_number(counts, "count.packets_out"), rounds);
	json_decref(counts);
	close_office(&o);
}

/* 2.8 KB that would burn 25 s if anybody ran them. */
static void spin_is_never_run(void **state)
{
	const struct cr_codec *spin = cr_codec_find("spin");
	json_t *batch = json_array();
	struct office o;
	unsigned before;

	open_office(&o);
	before = measured(&o);
	for (int i = 0; i < MOST; i++)
		(void)json_array_append_new(batch, start(i, spin, spin, 0));
	say(&o, batch);
	assert_int_equal(json_array_size(hear(&o, 0)), MOST);
	for (unsigned i = 0; i < MOST; i++)
		(void)started(json_array_get(asker_heard(&o.a, 0), i));
	assert_int_equal(measured(&o), before);
	close_office(&o);
}

static void those_who_need_the_same_share_it(void **state)
{
	struct office o;
	unsigned before;

	open_office(&o);
	before = measured(&o);
	for (int i = 0; i < 10; i++)
		say(&o, start_amr(i));
	for (unsigned i = 0; i < 10; i++)
		(void)started(hear(&o, i));
	assert_int_equal(measured(&o), before + 1); /* pcmu was there */
	say(&o, start_amr(10));
	(void)started(hear(&o, 10));
	assert_int_equal(measured(&o), before + 1);
	close_office(&o);
}

/* --- what happens meanwhile --- */

static void refusals_come_first(void **state)
{
	json_t *bad = start_amr(2);
	struct office o;

	(void)json_object_set_new(json_object_get(bad, "params"), "pair",
				  json_integer(77));
	open_office(&o);
	say(&o, start_amr(1));
	say(&o, bad);
	assert_int_equal(asker_id(hear(&o, 0)), 2);
	assert_int_equal(asker_code(asker_heard(&o.a, 0)), RPC_NO_SUCH_CALL);
	assert_int_equal(asker_id(hear(&o, 1)), 1);
	(void)started(asker_heard(&o.a, 1));
	close_office(&o);
}

static void who_has_gone_starts_no_call(void **state)
{
	json_t *kept = start_amr(2);
	struct office o;

	(void)json_object_set_new(json_object_get(kept, "params"), "keep",
				  json_true());
	open_office(&o);
	say(&o, start_amr(1));
	say(&o, kept);
	/* an association that is closed may lose what was not read yet */
	say(&o, request(3, "hello", json_object()));
	assert_int_equal(asker_id(hear(&o, 0)), 3);
	asker_close(&o.a);
	client_do(&o.b, "call.start",
		  "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', 'mode': "
		  "'12.2', 'address': '127.0.0.1:9'}}");
	/* b's two, and the one that belongs to nobody */
	desk_wait_calls(&o.d, 3);
	open_asker(&o);
	close_office(&o);
}

static void bye_lets_no_call_begin(void **state)
{
	struct office o;

	open_office(&o);
	say(&o, start_amr(1));
	say(&o, request(2, "bye", json_object()));
	assert_int_equal(asker_id(hear(&o, 0)), 2);
	client_do(&o.b, "call.start",
		  "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', 'mode': "
		  "'12.2', 'address': '127.0.0.1:9'}}");
	assert_int_equal(node_streams(o.d.rig.node), 2);
	close_office(&o);
}

static void bye_in_the_same_batch_waits_for_the_call(void **state)
{
	struct office o;

	open_office(&o);
	say(&o, json_pack("[o, o]", start_amr(1),
			  request(2, "bye", json_object())));
	assert_int_equal(json_array_size(hear(&o, 0)), 2);
	(void)started(json_array_get(asker_heard(&o.a, 0), 1));
	desk_wait_for(&o.d, &o.a.down, 1);
	desk_wait_calls(&o.d, 1);
	close_office(&o);
}

static void a_drain_meanwhile_refuses(void **state)
{
	struct office o;

	open_office(&o);
	say(&o, json_pack("[o, o]", start_amr(1),
			  request(2, "drain", json_object())));
	assert_int_equal(asker_code(json_array_get(hear(&o, 0), 1)),
			 RPC_DRAINING);
	assert_int_equal(node_streams(o.d.rig.node), 1);
	close_office(&o);
}

static void a_service_closes_while_it_measures(void **state)
{
	json_t *batch = json_array();
	struct office o;

	add_pairs(batch, MOST);
	open_office(&o);
	say(&o, batch);
	client_do(&o.b, "hello", "{}");
	client_do(&o.b, "hello", "{}");
	service_close(o.d.service);
	o.d.service = NULL;
	close_office(&o);
}

static atomic_bool held;

static int encode_when_let(void *enc, unsigned mode, const int16_t *pcm,
			   struct cr_frame *out)
{
	while (atomic_load(&held))
		(void)usleep(1000);
	return cr_codec_find("pcma")->encode(enc, mode, pcm, out);
}

/* Until @held is false nothing else is measured. */
static void hold_measuring(struct scratch *d)
{
	static struct cr_codec slow;
	struct codec_use side = {
		.codec = &slow, .cfg = { .sample_rate = 8000, .samples = 160 }
	};
	struct stream_cfg cfg = { .media = { .in = side, .out = side },
				  .release.period = 20 * CR_MS };

	slow = *cr_codec_find("pcma");
	slow.encode = encode_when_let;
	atomic_store(&held, true);
	node_cost_ask(d->rig.node, &cfg);
}

/* A connection to the Unix socket that is never read. */
static int connect_deaf(const struct scratch *d)
{
	struct sockaddr_un at;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(unix_address(&at, d->socket.path, NULL), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* @n hellos, and @last unless it is NULL, in one batch. */
static void say_deaf(int fd, unsigned n, json_t *last)
{
	json_t *batch = json_array();
	char *text;

	for (unsigned i = 0; i < n; i++)
		(void)json_array_append_new(
			batch, request((int)i, "hello", json_object()));
	if (last)
		(void)json_array_append_new(batch, last);
	text = json_dumps(batch, JSON_COMPACT);
	assert_true(dprintf(fd, "%s\n", text) > 0);
	free(text);
	json_decref(batch);
}

struct asked {
	struct rpc_server *server;
	unsigned n;
};

static bool has_asked(void *arg)
{
	const struct asked *a = arg;
	struct rpc_stats count;

	rpc_server_stats(a->server, &count);
	return count.requests >= a->n;
}

/* A peer that does not read is closed while two of its requests wait; then the
 * service ends with both. */
static void a_service_closes_on_who_does_not_read(void **state)
{
	enum { FEW = 200, MORE = 250 };
	const size_t kept = (size_t)8 << 20; /* for a peer */
	struct rpc_stats count;
	struct client c;
	struct asked all;
	struct scratch d;
	json_t *hello;
	size_t reply;
	unsigned n;
	int fd;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	hello = client_ask(&c, "hello", NULL);
	reply = json_dumpb(hello, NULL, 0, JSON_COMPACT) + 60;
	n = (unsigned)(kept / (FEW * reply));
	json_decref(hello);
	hold_measuring(&d);
	fd = connect_deaf(&d);
	/* the first ones are kept, the last is too much */
	for (unsigned i = 0; i < n; i++)
		say_deaf(fd, FEW, NULL);
	say_deaf(fd, 0, start_amr(1));
	say_deaf(fd, MORE, start_amr(2));
	all = (struct asked){ d.service->server, 2 + n * FEW + MORE + 2 };
	desk_wait(&d, has_asked, &all);
	rpc_server_stats(d.service->server, &count);
	assert_int_equal(count.slow_peers, 1);
	atomic_store(&held, false);
	service_close(d.service);
	d.service = NULL;
	(void)close(fd);
	client_close_desk(&c, &d);
}

static void a_call_that_ends_is_not_changed(void **state)
{
	struct office o;
	unsigned id, i = 2;

	open_office(&o);
	say(&o, start_amr(1));
	id = started(hear(&o, 0));
	say(&o, request(2, "call.change",
			json_pack("{s:i, s:{s:s}}", "call", (int)id, "out",
				  "mode", "4.75")));
	say(&o, request(3, "call.stop", json_pack("{s:i}", "call", (int)id)));
	assert_int_equal(asker_id(hear(&o, 1)), 3);
	/* stream.ended comes before it or behind, or at the same moment */
	while (asker_id(hear(&o, i)) != 2)
		i++;
	assert_int_equal(asker_code(asker_heard(&o.a, i)), RPC_NO_SUCH_CALL);
	close_office(&o);
}

static void a_change_of_mode_waits_for_its_cost(void **state)
{
	struct office o;
	const json_t *r;
	unsigned id;

	open_office(&o);
	say(&o, start_amr(1));
	id = started(hear(&o, 0));
	say(&o, request(2, "call.change",
			json_pack("{s:i, s:{s:s}}", "call", (int)id, "out",
				  "mode", "4.75")));
	say(&o,
	    request(3, "stream.query", json_pack("{s:i}", "stream", (int)id)));
	assert_int_equal(asker_id(hear(&o, 1)), 3);
	r = hear(&o, 2);
	assert_int_equal(asker_id(r), 2);
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(
				json_array_get(
					json_object_get(
						json_object_get(r, "result"),
						"streams"),
					0),
				"out"),
			"mode")),
		"4.75");
	close_office(&o);
}

static const char *text_of(const json_t *o, const char *member)
{
	return json_string_value(json_object_get(o, member));
}

/* What it does not say is as it is when it is done. */
static void what_has_waited_is_done_as_it_was_asked_for(void **state)
{
	struct office o;
	const json_t *r;
	unsigned id;

	open_office(&o);
	say(&o, start_amr(1));
	id = started(hear(&o, 0));
	say(&o, request(2, "call.change",
			json_pack("{s:i, s:{s:s}, s:i}", "call", (int)id, "out",
				  "mode", "4.75", "weight", 77)));
	say(&o, request(3, "call.change",
			json_pack("{s:i, s:s, s:i}", "call", (int)id, "class",
				  "hard", "deadline_ms", 15)));
	assert_int_equal(asker_id(hear(&o, 1)), 3);
	r = json_object_get(hear(&o, 2), "result");
	r = json_array_get(json_object_get(r, "streams"), 0);
	assert_string_equal(text_of(json_object_get(r, "out"), "mode"), "4.75");
	assert_string_equal(text_of(r, "class"), "hard");
	assert_int_equal(json_number_value(json_object_get(r, "deadline_ms")),
			 15);
	assert_int_equal(desk_number(r, "weight"), 77);
	say(&o,
	    request(4, "call.start",
		    json_pack("{s:s, s:{s:s, s:s}, s:{s:s, s:s, s:[{s:s, s:i}]"
			      "}}",
			      "label", "it waits", "a", "codec", "pcma",
			      "interface", "default", "b", "codec", "amr-wb",
			      "mode", "8.85", "also", "codec", "pcmu", "pt",
			      0)));
	say(&o, request(5, "stream.list", json_object()));
	assert_int_equal(asker_id(hear(&o, 3)), 5);
	r = json_object_get(hear(&o, 4), "result");
	assert_string_equal(text_of(r, "label"), "it waits");
	assert_string_equal(text_of(json_object_get(r, "a"), "interface"),
			    "default");
	say(&o,
	    request(6, "call.change",
		    json_pack("{s:I, s:i}", "call",
			      json_integer_value(json_object_get(r, "call")),
			      "ptime_ms", 20)));
	assert_int_equal(asker_code(hear(&o, 5)), RPC_INVALID_PARAMS);
	close_office(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_batch_of_starts_holds_nobody_up),
		cmocka_unit_test(spin_is_never_run),
		cmocka_unit_test(those_who_need_the_same_share_it),
		cmocka_unit_test(refusals_come_first),
		cmocka_unit_test(who_has_gone_starts_no_call),
		cmocka_unit_test(bye_lets_no_call_begin),
		cmocka_unit_test(bye_in_the_same_batch_waits_for_the_call),
		cmocka_unit_test(a_drain_meanwhile_refuses),
		cmocka_unit_test(a_service_closes_while_it_measures),
		cmocka_unit_test(a_service_closes_on_who_does_not_read),
		cmocka_unit_test(a_call_that_ends_is_not_changed),
		cmocka_unit_test(a_change_of_mode_waits_for_its_cost),
		cmocka_unit_test(what_has_waited_is_done_as_it_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
