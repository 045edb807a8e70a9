/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codec mode requests (RFC 4867): what a peer asks for in what it sends
 * changes the encoder of the other direction, whoever ends first.
 */
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "node_fixture.h"

#define NB 160u
#define NO_DATA (15u << 3 | 4u)

static const uint8_t silence[NB] = { 0xff };

static unsigned long long requests(const struct node_stream *st)
{
	return atomic_load_explicit(&st->stream->account->count.cmr,
				    memory_order_relaxed);
}

/* What the peer hears, AMR, and what it sends, asking for modes. */
struct talk {
	struct node_fixture *rig;
	struct node_stream *from, *to;
	struct fixture_sender amr, pcmu;
};

static struct talk open_talk(struct node_fixture *r)
{
	struct talk t = { .rig = r };
	char json[200];

	t.from =
		fixture_call(r, "{'in': {'codec': 'amr', 'octet_align': true}, "
				"'out': {'codec': 'pcmu'}}");
	(void)snprintf(json, sizeof(json),
		       "{'pair': %u, 'in': {'codec': 'pcmu'}, 'out': {'codec': "
		       "'amr', 'mode': '12.2', 'octet_align': true}}",
		       t.from->stream->cfg.id);
	t.to = fixture_call(r, json);
	t.amr = fixture_sender(r, t.from, NB);
	t.pcmu = fixture_sender(r, t.to, NB);
	return t;
}

struct wait {
	const struct node_stream *st;
	unsigned long long n;
};

static bool asked(void *arg)
{
	const struct wait *w = arg;

	return requests(w->st) >= w->n;
}

static void ask(struct talk *t, unsigned cmr)
{
	const uint8_t payload[] = { (uint8_t)(cmr << 4), NO_DATA };
	struct wait w = { t->from, requests(t->from) + 1 };

	fixture_send(&t->amr, payload, sizeof(payload));
	assert_true(fixture_wait(t->rig, asked, &w));
}

/* Frame type of the next frame that call @to sends. */
static unsigned hear(struct talk *t)
{
	struct rtp_packet p;
	uint8_t buf[2048];

	fixture_send(&t->pcmu, silence, NB);
	do
		assert_true(fixture_receive(t->rig, buf, &p));
	while (p.ssrc != t->to->stream->cfg.ssrc_out);
	return p.payload[1] >> 3 & 0xf;
}

static void a_request_changes_the_other_directions_mode(void **state)
{
	struct talk t;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	t = open_talk(&r);
	assert_int_equal(hear(&t), 7);
	for (unsigned mode = 0; mode < 8; mode++) {
		ask(&t, mode);
		assert_int_equal(hear(&t), mode);
	}
	ask(&t, 3);
	assert_int_equal(hear(&t), 3);
	assert_int_equal(hear(&t), 3); /* it stays */
	assert_int_equal(requests(t.from), 9);
	assert_int_equal(requests(t.to), 0);
	fixture_close(&r);
}

static void no_request_and_reserved_ones_change_nothing(void **state)
{
	static const uint8_t none[] = { 0xf0, NO_DATA },
			     reserved[] = { 0x90, NO_DATA };
	struct talk t;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .workers = 1 });
	t = open_talk(&r);
	fixture_send(&t.amr, none, sizeof(none));
	fixture_send(&t.amr, reserved, sizeof(reserved));
	assert_int_equal(hear(&t), 7);
	fixture_end(&r, t.from);
	assert_int_equal(r.last.cmr, 0);
	assert_int_equal(r.last.malformed, 0);
	fixture_close(&r);
}

static void a_request_for_a_call_that_has_ended_is_counted_only(void **state)
{
	struct talk t;
	struct node_fixture r;
	char json[200];

	fixture_open(&r, &(struct fixture_options){ 0 });
	t = open_talk(&r);
	(void)snprintf(json, sizeof(json),
		       "{'ssrc': %u, 'in': {'codec': 'pcmu'}, 'out': {'codec': "
		       "'amr', 'octet_align': true}}",
		       t.to->stream->cfg.ssrc_in);
	fixture_end(&r, t.to);
	ask(&t, 0);
	/* another call has the name of the one that ended, but not its id */
	t.to = fixture_call(&r, json);
	t.pcmu = fixture_sender(&r, t.to, NB);
	ask(&t, 0);
	assert_int_equal(hear(&t), 7);
	fixture_close(&r);
}

static void a_wrong_pair_is_refused_with_a_reason(void **state)
{
	static const struct {
		const char *json;
		int code;
		const char *why;
	} wrong[] = {
		{ "{'pair': 77, 'in': {'codec': 'pcmu'}, 'out': {'codec': "
		  "'amr'}}",
		  -ESRCH, "pair: there is no call 77" },
		{ "{'pair': 1, 'in': {'codec': 'pcmu'}, 'out': {'codec': "
		  "'amr'}}",
		  -EEXIST, "paired with call 2 already" },
		{ "{'pair': 3, 'in': {'codec': 'pcmu'}, 'out': {'codec': "
		  "'amr-wb'}}",
		  -EINVAL, "no mode request can pass" },
		{ "{'pair': 0, 'in': {'codec': 'pcmu'}, 'out': {'codec': "
		  "'amr'}}",
		  -EINVAL, "pair" },
	};
	struct node_stream *st;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	(void)open_talk(&r);
	(void)fixture_call(
		&r, "{'in': {'codec': 'amr'}, 'out': {'codec': 'pcmu'}}");
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct cr_err e = { "" };

		assert_int_equal(fixture_try(&r, wrong[i].json, &st, &e),
				 wrong[i].code);
		assert_non_null(strstr(e.text, wrong[i].why));
	}
	assert_int_equal(node_streams(r.node), 3);
	fixture_close(&r);
}

/* Sanitizers look on. */
static void pairs_come_and_go_while_requests_pour_in(void **state)
{
	const char *text = getenv("CR_SEED");
	unsigned seed = text ? (unsigned)atoi(text) : 1;
	struct talk t[8];
	bool up[8] = { false };
	struct node_fixture r;

	printf("CR_SEED=%u\n", seed);
	srand(seed);
	fixture_open(&r, &(struct fixture_options){ .scheduler = "fifo" });
	for (unsigned i = 0; i < 4000; i++) {
		unsigned k = (unsigned)rand() % 8;
		const uint8_t payload[] = { (uint8_t)(i % 8 << 4), NO_DATA };
		uint8_t buf[2048];

		if (!up[k]) {
			t[k] = open_talk(&r);
			up[k] = true;
		}
		fixture_send(&t[k].amr, payload, sizeof(payload));
		fixture_send(&t[k].pcmu, silence, NB);
		if (rand() % 4 == 0) {
			/* the one that is asked, and the one that asks */
			node_call_stop(node_stream_call(t[k].to),
				       NODE_END_STOPPED, NULL);
			fixture_send(&t[k].amr, payload, sizeof(payload));
			node_call_stop(node_stream_call(t[k].from),
				       NODE_END_STOPPED, NULL);
			up[k] = false;
		}
		while (recv(r.fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
			;
		(void)event_base_loop(r.base, EVLOOP_NONBLOCK);
	}
	fixture_close(&r);
}

/* --- the books --- */

struct entered {
	const struct node_stream *st;
	const char *mode;
};

static bool entered(void *arg)
{
	const struct entered *w = arg;

	return strstr(w->st->cost->name, w->mode) != NULL;
}

static void must_enter(struct talk *t, const char *mode)
{
	struct entered w = { t->to, mode };

	assert_true(fixture_wait(t->rig, entered, &w));
}

static void a_request_beyond_the_capacity_is_obeyed_and_noted(void **state)
{
	static const char any[] = "{'in': {'codec': 'pcmu'}, 'out': {'codec': "
				  "'pcma'}, 'contract': {'mean': '5ms'}}";
	struct node_stream *dear, *none = NULL;
	struct cr_err e = { "" };
	struct talk t;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .admission = true,
						    .scheduler = "edf",
						    .workers = 1 });
	t = open_talk(&r);
	/* as if that mode had turned out to take nearly all of a CPU */
	dear = fixture_call(&r,
			    "{'in': {'codec': 'pcmu'}, 'out': {'codec': 'amr', "
			    "'mode': '4.75', 'octet_align': true}, 'contract': "
			    "{'mean': '1us', 'p99': '1us'}}");
	dear->cost->cost.mean = dear->cost->cost.p99 = 19 * CR_MS;
	fixture_end(&r, dear);
	ask(&t, 0);
	must_enter(&t, "amr/4.75");
	assert_int_equal(hear(&t), 0);
	assert_int_equal(t.to->cmr_over, 1);
	assert_int_equal(t.to->stream->cfg.declared.cost.mean, 19 * CR_MS);
	assert_int_equal(fixture_try(&r, any, &none, &e), -ENOSPC);
	ask(&t, 7);
	must_enter(&t, "amr/12.2");
	assert_int_equal(t.to->cmr_over, 1);
	assert_int_equal(fixture_try(&r, any, &none, &e), 0);
	fixture_close(&r);
}

/* Whatever the mode: the call counts as what it declared. */
static void a_declared_cost_holds_in_every_mode(void **state)
{
	struct talk t;
	struct node_fixture r;
	char json[300];

	fixture_open(&r, &(struct fixture_options){ .admission = true });
	t = open_talk(&r);
	fixture_end(&r, t.to);
	(void)snprintf(json, sizeof(json),
		       "{'pair': %u, 'contract': {'mean': '2ms', 'p99': '2ms', "
		       "'worst': '2ms'}, 'in': {'codec': 'pcmu'}, 'out': "
		       "{'codec': 'amr', 'octet_align': true}}",
		       t.from->stream->cfg.id);
	t.to = fixture_call(&r, json);
	t.pcmu = fixture_sender(&r, t.to, NB);
	ask(&t, 3);
	must_enter(&t, "amr/6.7");
	assert_int_equal(t.to->stream->cfg.declared.cost.mean, 2 * CR_MS);
	fixture_close(&r);
}

/* The peer asks for another mode while control works on a change, which began
 * with the mode of then. */
static void a_request_during_a_change_is_not_undone(void **state)
{
	struct stream_cfg to;
	struct cr_err e = { "" };
	struct talk t;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ 0 });
	t = open_talk(&r);
	to = t.to->stream->cfg;
	to.terms.weight = 7;
	ask(&t, 3);
	assert_int_equal(node_stream_change(t.to, &to, false, &e), 0);
	assert_int_equal(hear(&t), 3);
	must_enter(&t, "amr/6.7");
	assert_int_equal(hear(&t), 3);
	to = t.to->stream->cfg;
	to.media.out.cfg.mode = 5;
	assert_int_equal(fixture_measure(&r, &to, &e), 0);
	assert_int_equal(node_stream_change(t.to, &to, true, &e), 0);
	assert_int_equal(hear(&t), 5);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_request_beyond_the_capacity_is_obeyed_and_noted),
		cmocka_unit_test(a_declared_cost_holds_in_every_mode),
		cmocka_unit_test(a_request_during_a_change_is_not_undone),
		cmocka_unit_test(a_request_changes_the_other_directions_mode),
		cmocka_unit_test(no_request_and_reserved_ones_change_nothing),
		cmocka_unit_test(
			a_request_for_a_call_that_has_ended_is_counted_only),
		cmocka_unit_test(a_wrong_pair_is_refused_with_a_reason),
		cmocka_unit_test(pairs_come_and_go_while_requests_pour_in),
	};

	return cmocka_run_group_tests_name("cmr", tests, NULL, NULL);
}
