/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contracts, and calls that change while they run: no frame is lost, what is
 * refused changes nothing, and what a call counts as follows.
 */
#include "cmocka_cr.h"
#include "desk.h"

#include <stdio.h>
#include <string.h>

#define NEAR 1e-9

static json_t *query(struct client *c, unsigned id)
{
	char json[64];

	(void)snprintf(json, sizeof(json), "{'stream': %u}", id);
	return client_ask(c, "stream.query", json);
}

/* "'call': ID, MEMBERS" */
static const char *with_id(char *buf, size_t size, unsigned id,
			   const char *members)
{
	(void)snprintf(buf, size, "{'call': %u, %s}", id, members);
	return buf;
}

static void change(struct client *c, unsigned id, const char *members)
{
	char json[300];

	client_do(c, "call.change", with_id(json, sizeof(json), id, members));
}

static void change_refused(struct client *c, unsigned id, const char *members,
			   int code, const char *why)
{
	char json[300];

	client_refused(c, "call.change",
		       with_id(json, sizeof(json), id, members), code, why);
}

static double real(const json_t *o, const char *key, const char *member)
{
	return json_number_value(
		json_object_get(json_object_get(o, key), member));
}

static const char *word(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

/* The policy's own figure. */
static json_int_t density_ppm(const json_t *call)
{
	const json_t *v;
	size_t i;

	json_array_foreach (json_object_get(call, "policy"), i, v)
		if (!strcmp(word(v, "name"), "density"))
			return json_integer_value(json_object_get(v, "value"));
	fail_msg("no density");
	return 0;
}

/* --- under load --- */

enum { CALLS = 6, ROUNDS = 8, FRAMES = 5 };

struct load {
	struct scratch *scratch;
	struct client *client;
	unsigned id[CALLS];
	unsigned long long sent; /* by each */
};

static unsigned long long counted(struct load *l, unsigned i,
				  enum stream_counter which)
{
	const struct stream_counters *k =
		&node_stream_find(l->scratch->rig.node, l->id[i])
			 ->stream->account->count;
	const atomic_ullong *all[] = {
		[STREAM_COUNTER_done] = &k->done,
		[STREAM_COUNTER_packets_in] = &k->packets_in,
		[STREAM_COUNTER_packets_out] = &k->packets_out,
		[STREAM_COUNTER_overwritten] = &k->overwritten,
	};

	return atomic_load(all[which]);
}

static bool all_done(void *arg)
{
	struct load *l = arg;
	bool done = true;

	for (unsigned i = 0; i < CALLS; i++)
		done &= counted(l, i, STREAM_COUNTER_done) == l->sent;
	return done;
}

/* While the first frames are worked on and the rest wait in the rings. */
static void change_all(struct load *l, unsigned round)
{
	static const char *const terms[] = {
		"'class': 'hard', 'deadline': '9ms', 'weight': 2048",
		"'class': 'best-effort', 'nice': 7",
		"'contract': {'rate': '50/s', 'burst': 30, 'mean': '80us'}",
		"'class': 'soft', 'contract': {'worst': '4ms'}, 'nice': null",
		"'contract': null, 'deadline': null, 'weight': 1",
	};

	for (unsigned i = 0; i < CALLS; i++)
		change(l->client, l->id[i], terms[(i + round) % 5]);
}

static void no_frame_is_lost_under(const char *scheduler, unsigned workers)
{
	struct fixture_sender s[CALLS];
	struct client c;
	struct scratch d;
	struct load l = { &d, &c, { 0 }, 0 };
	char json[200];

	client_open_desk(&c, &d,
			 &(struct desk_options){ .scheduler = scheduler,
						 .workers = workers });
	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'spin', "
		       "'spin': '300us', 'address': '127.0.0.1:%u'}}",
		       d.rig.port);
	for (unsigned i = 0; i < CALLS; i++) {
		json_t *o = client_ask(&c, "call.start", json);

		l.id[i] = (unsigned)desk_number(o, "call");
		s[i] = desk_sender(&d, l.id[i]);
		json_decref(o);
	}
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned k = 0; k < FRAMES; k++)
			for (unsigned i = 0; i < CALLS; i++)
				desk_send(&s[i]);
		l.sent += FRAMES;
		change_all(&l, round);
		desk_wait(&d, all_done, &l);
	}
	for (unsigned i = 0; i < CALLS; i++) {
		assert_int_equal(counted(&l, i, STREAM_COUNTER_packets_in),
				 ROUNDS * FRAMES);
		assert_int_equal(counted(&l, i, STREAM_COUNTER_overwritten), 0);
	}
	client_close_desk(&c, &d);
}

static void a_change_under_load_loses_no_frame(void **state)
{
	static const char *const schedulers[] = { "edf", "dwa", "edf-hsb",
						  "cfs", "pd2", "rm" };

	for (unsigned i = 0; i < 6; i++)
		no_frame_is_lost_under(schedulers[i], 1 + i % 2);
}

/* --- admission --- */

static void class_and_declared_cost_decide_what_a_call_counts_as(void **state)
{
	struct client c;
	struct scratch d;
	unsigned id;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ .admission = true });
	id = client_start(&c, "'contract': {'mean': '1ms', 'worst': '3ms'},");
	o = query(&c, id);
	assert_float_equal(real(o, "admitted", "load"), 0.05, NEAR);
	json_decref(o);
	change(&c, id, "'class': 'hard'");
	o = query(&c, id);
	assert_string_equal(word(o, "class"), "hard");
	assert_float_equal(real(o, "admitted", "load"), 0.15, NEAR);
	assert_float_equal(real(o, "admitted", "cost_us"), 3000, NEAR);
	assert_int_equal(density_ppm(o), 150000);
	json_decref(o);
	change(&c, id, "'class': 'soft', 'contract': {'mean': '2ms'}");
	o = query(&c, id);
	assert_float_equal(real(o, "admitted", "load"), 0.1, NEAR);
	assert_int_equal(density_ppm(o), 100000);
	assert_float_equal(real(o, "contract", "worst_us"), 3000, NEAR);
	json_decref(o);
	client_close_desk(&c, &d);
}

static void a_refused_change_changes_nothing(void **state)
{
	struct client c;
	struct scratch d;
	struct fixture_sender s;
	unsigned id;
	json_t *before, *after, *o;

	client_open_desk(&c, &d, &(struct desk_options){ .admission = true });
	(void)client_start(&c, "'contract': {'mean': '9ms', 'p99': '9ms'},");
	id = client_start(&c, "'contract': {'mean': '1ms', 'p99': '1ms'},");
	before = query(&c, id);
	change_refused(&c, id,
		       "'contract': {'mean': '8ms', 'p99': '8ms'}, 'nice': 3, "
		       "'weight': 7",
		       RPC_NO_CAPACITY, "no-capacity: need 0.4000");
	change_refused(&c, id, "'class': 'hard', 'contract': {'worst': '8ms'}",
		       RPC_NO_CAPACITY, "under edf");
	after = query(&c, id);
	for (unsigned i = 0; i < 6; i++) {
		static const char *const same[] = { "class",	"contract",
						    "admitted", "nice",
						    "weight",	"deadline_ms" };

		assert_true(json_equal(json_object_get(before, same[i]),
				       json_object_get(after, same[i])));
	}
	json_decref(before);
	json_decref(after);
	s = desk_sender(&d, id);
	desk_echo(&s, 3);
	/* what needs no more is not refused, and calls were started twice */
	change(&c, id, "'nice': 3");
	o = client_ask(&c, "stats", NULL);
	assert_int_equal(desk_number(o, "calls_refused"), 0);
	assert_int_equal(desk_number(o, "calls_started"), 2);
	json_decref(o);
	client_close_desk(&c, &d);
}

static void a_declared_cost_is_admitted_not_the_measured_one(void **state)
{
	struct client c;
	struct scratch d;

	client_open_desk(&c, &d, &(struct desk_options){ .admission = true });
	client_refused(&c, "call.start",
		       "{'contract': {'mean': '19900us'}, 'in': {'codec': "
		       "'pcmu'}, 'out': {'codec': 'pcma', 'address': "
		       "'127.0.0.1:9'}}",
		       RPC_NO_CAPACITY, "need 0.995");
	client_refused(&c, "call.start",
		       "{'contract': {'worst': '19ms'}, 'class': 'hard', "
		       "'in': {'codec': 'pcmu'}, 'out': {'codec': 'pcma', "
		       "'address': '127.0.0.1:9'}}",
		       RPC_NO_CAPACITY, "need 0.95");
	(void)client_start(&c, "'contract': {'worst': '8ms'},");
	client_close_desk(&c, &d);
}

/* As if frames of this kind had turned out to take @mean. */
static void learned(struct scratch *d, unsigned id, cr_ns mean)
{
	struct cr_cost *cost = &node_stream_find(d->rig.node, id)->cost->cost;

	cost->mean = cost->p99 = mean;
}

static void what_turned_out_dearer_is_not_asked_for(void **state)
{
	struct client c;
	struct scratch d;
	unsigned id;

	client_open_desk(&c, &d, &(struct desk_options){ .admission = true });
	id = client_start(&c, "");
	learned(&d, id, 15 * CR_MS); /* it fits, but not twice */
	change(&c, id, "'weight': 7");
	learned(&d, id, 30 * CR_MS); /* it does not fit */
	change(&c, id, "'weight': 8");
	change(&c, id, "'class': 'best-effort'");
	change_refused(&c, id, "'class': 'soft'", RPC_NO_CAPACITY, "under edf");
	change(&c, id, "'contract': {'mean': '9ms', 'p99': '9ms'}");
	change(&c, id, "'class': 'soft'");
	client_close_desk(&c, &d);
}

/* The call counts in the book by what it measures, whatever it declares. */
static void a_declared_cost_is_not_asked_for_again(void **state)
{
	struct client c;
	struct scratch d;
	unsigned id, other;

	client_open_desk(&c, &d, &(struct desk_options){ .admission = true });
	id = client_start(&c, "'contract': {'mean': '6ms', 'p99': '6ms'},");
	other = client_start(&c, "");
	learned(&d, other, 9 * CR_MS); /* of both: one kind */
	change(&c, id, "'weight': 7");
	change_refused(&c, id, "'contract': {'mean': '12ms', 'p99': '12ms'}",
		       RPC_NO_CAPACITY, "measured load");
	client_close_desk(&c, &d);
}

static void a_bad_change_says_the_way_out(void **state)
{
	static const struct {
		const char *members;
		const char *why;
	} wrong[] = {
		{ "'ptime': '12ms'", "ptime: pcmu comes in frames of 5 ms" },
		{ "'release': {}", "release: cannot change while the call" },
		{ "'in': {'codec': 'amr'}", "in: cannot change" },
		{ "'out': {'codec': 'amr'}", "out.codec: cannot change" },
		{ "'out': {'mode': 'x'}", "out.mode: pcma has no mode 'x'" },
		{ "'weight': 0", "from 1 to 100000" },
		{ "'clas': 'hard'", "did you mean 'class'" },
		{ "'contract': {'burst': 3}", "contract.burst: counts jobs" },
		{ "'contract': {'rate': '51/s'}", "contract.rate: 51/s" },
		{ "'contract': {'worst': '1us', 'mean': '2us'}",
		  "contract.mean: 2us is above the worst case of 1us" },
		{ "'class': 'hard', 'contract': {'worst': '21ms'}",
		  "contract.worst: 21ms is above the period of 20ms" },
		{ "'contract': {'rat': 1}", "did you mean 'rate'" },
		{ "'contract': 5", "contract: must be an object" },
	};
	struct client c;
	struct scratch d;
	unsigned id;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	id = client_start(&c, "");
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		change_refused(&c, id, wrong[i].members, RPC_INVALID_PARAMS,
			       wrong[i].why);
	client_refused(&c, "call.change", "{'call': 1}", RPC_INVALID_PARAMS,
		       "nothing to change");
	client_refused(&c, "call.change", "{'nice': 1}", RPC_INVALID_PARAMS,
		       "which call?");
	/* of two streams */
	json_decref(
		client_ask(&c, "call.start",
			   "{'a': {'codec': 'pcmu'}, 'b': {'codec': 'pcma'}}"));
	client_refused(&c, "call.change", "{'call': 2}", RPC_INVALID_PARAMS,
		       "nothing to change: give a or b");
	client_refused(&c, "call.change", "{'call': 77, 'nice': 1}",
		       RPC_NO_SUCH_CALL, "no call 77");
	client_refused(&c, "call.change", "[1]", RPC_INVALID_PARAMS,
		       "must be an object");
	client_close_desk(&c, &d);
}

/* --- what follows --- */

static bool all_in(void *arg)
{
	struct load *l = arg;

	return counted(l, 0, STREAM_COUNTER_done) == l->sent;
}

/* One frame a second and one beyond: of five at once three are too many. */
static void violations_are_counted_by_the_contract_in_force(void **state)
{
	struct client c;
	struct scratch d;
	struct load l = { &d, &c, { 0 }, 5 };
	struct fixture_sender s;
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	l.id[0] = client_start(&c, "'contract': {'rate': '0.01/s', 'burst': "
				   "1},");
	s = desk_sender(&d, l.id[0]);
	for (unsigned i = 0; i < 5; i++)
		desk_send(&s);
	desk_wait(&d, all_in, &l);
	o = query(&c, l.id[0]);
	assert_int_equal(desk_number(o, "count.violations"), 3);
	json_decref(o);
	change(&c, l.id[0], "'contract': {'burst': 1000}");
	l.sent += 5;
	for (unsigned i = 0; i < 5; i++)
		desk_send(&s);
	desk_wait(&d, all_in, &l);
	o = query(&c, l.id[0]);
	assert_int_equal(desk_number(o, "count.violations"), 3);
	assert_int_equal(desk_number(o, "count.done"), 10);
	json_decref(o);
	client_close_desk(&c, &d);
}

/* Frame type of the AMR that the call's next frame becomes. */
static unsigned mode_heard(struct fixture_sender *s)
{
	struct rtp_packet p;
	uint8_t buf[2048];

	desk_send(s);
	assert_true(fixture_receive(s->rig, buf, &p));
	return p.payload[1] >> 3 & 0xf;
}

static void the_encoder_and_the_books_follow_a_new_mode(void **state)
{
	struct fixture_sender s;
	struct client c;
	struct scratch d;
	unsigned id;
	char json[300];
	json_t *o;

	client_open_desk(&c, &d, &(struct desk_options){ 0 });
	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', "
		       "'octet_align': true, 'mode': '12.2', 'address': "
		       "'127.0.0.1:%u'}}",
		       d.rig.port);
	o = client_ask(&c, "call.start", json);
	id = (unsigned)desk_number(o, "call");
	json_decref(o);
	s = desk_sender(&d, id);
	assert_int_equal(mode_heard(&s), 7);
	change(&c, id, "'out': {'mode': '5.90'}");
	assert_int_equal(mode_heard(&s), 2);
	o = query(&c, id);
	assert_string_equal(word(o, "transcoding"), "pcmu>amr/5.90@20ms");
	assert_string_equal(word(json_object_get(o, "out"), "mode"), "5.90");
	json_decref(o);
	change(&c, id, "'nice': 1"); /* and it stays */
	assert_int_equal(mode_heard(&s), 2);
	client_close_desk(&c, &d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_under_load_loses_no_frame),
		cmocka_unit_test(
			class_and_declared_cost_decide_what_a_call_counts_as),
		cmocka_unit_test(a_refused_change_changes_nothing),
		cmocka_unit_test(
			a_declared_cost_is_admitted_not_the_measured_one),
		cmocka_unit_test(what_turned_out_dearer_is_not_asked_for),
		cmocka_unit_test(a_declared_cost_is_not_asked_for_again),
		cmocka_unit_test(a_bad_change_says_the_way_out),
		cmocka_unit_test(
			violations_are_counted_by_the_contract_in_force),
		cmocka_unit_test(the_encoder_and_the_books_follow_a_new_mode),
	};

	return cmocka_run_group_tests_name("change", tests, NULL, NULL);
}
