/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of two streams of a real node that cannot begin, that hang, or that end
 * while both parties speak: nothing is left of them, and each datagram counts
 * once. So it does at the port of an endpoint that no call listens to.
 */
#include "cmocka_cr.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "protocol/field_json.h"
#include "protocol/tables/endpoint_fields.h"
#include "sticky.h"

/* Start one of the parties PCMU and PCMA; of a hard class in which each packet
 * takes up to @worst us of 20 ms. @codec: what A's speech is encoded by, if not
 * PCMA's. */
static int start_with(struct node_fixture *r, const struct cr_codec *codec,
		      int worst, struct node_call **c, struct cr_err *e)
{
	json_t *params = json_pack("{s{ss}s{ss}sss{si}}", "a", "codec", "pcmu",
				   "b", "codec", "pcma", "class", "hard",
				   "contract", "worst_us", worst);
	struct node_call_streams s;
	struct call_spec spec;
	int err;

	assert_non_null(params);
	err = call_params(&spec, params, e);
	if (!err)
		err = node_call_check(&s, &spec, e);
	if (codec)
		s.stream[0].media.out.codec = codec;
	for (unsigned i = 0; i < 2 && !err; i++)
		err = fixture_measure(r, &s.stream[i], e);
	if (!err)
		err = node_call_begin(r->node, &s, &spec, c, e);
	json_decref(params);
	return err;
}

static int start(struct node_fixture *r, int worst, struct node_call **c,
		 struct cr_err *e)
{
	return start_with(r, NULL, worst, c, e);
}

static bool has_no_calls(void *arg)
{
	const struct node_fixture *r = arg;

	return !r->node->nstreams && RB_EMPTY(&r->node->calls);
}

/* It was refused, and the only thing left is that. */
static void assert_refused_without_trace(struct node_fixture *r)
{
	struct node_stats stats;

	assert_true(fixture_wait(r, has_no_calls, r));
	rcu_done(); /* the endpoints, if there was no stream */
	node_stats(r->node, &stats);
	assert_int_equal(stats.calls_started, 0);
	assert_int_equal(stats.calls_refused, 1);
	assert_int_equal(r->ended, 0);
	for (unsigned i = 0; i < stats.nreceivers; i++)
		assert_int_equal(stats.receivers[i].streams, 0);
	assert_int_equal(stats.interfaces[0].used, 0);
}

/* Not two. */
static void a_call_of_two_streams_takes_one_place(void **state)
{
	const struct fixture_options o = { .workers = 1 };
	struct node_call *c, *second;
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	r.node->cfg.max_calls = 0;
	assert_int_equal(start(&r, 100, &c, &e), -ENOSPC);
	assert_non_null(strstr(e.text, "--max-calls"));
	assert_refused_without_trace(&r);
	r.node->cfg.max_calls = 1;
	assert_int_equal(start(&r, 100, &c, &e), 0);
	assert_int_equal(node_calls(r.node), 1);
	assert_int_equal(node_streams(r.node), 2);
	assert_int_equal(start(&r, 100, &second, &e), -ENOSPC);
	node_call_stop(c, NODE_END_STOPPED, NULL);
	assert_true(fixture_wait(&r, has_no_calls, &r));
	assert_int_equal(r.ended, 2);
	fixture_close(&r);
}

/* There is room for one of the streams. */
static void one_stream_of_two_is_refused(void **state)
{
	const struct fixture_options o = { .scheduler = "edf",
					   .workers = 1,
					   .admission = true };
	struct node_call *c;
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	assert_int_equal(start(&r, 8000, &c, &e), -ENOSPC);
	assert_int_equal(r.node->ids->stream, 2); /* it is the second one */
	assert_refused_without_trace(&r);
	assert_int_equal(start(&r, 5000, &c, &e), 0);
	fixture_close(&r);
	assert_int_equal(r.ended, 2);
	assert_int_equal(r.recorded, 1); /* none of what was refused */
	assert_int_equal(r.record.nstreams, 2);
	assert_string_equal(r.record.type, "end");
	assert_string_equal(r.record.why, "drained");
}

static bool has_one_call(void *arg)
{
	const struct node_fixture *r = arg;

	return r->node->nstreams == 1;
}

/* Both streams end; what the stuck thread has stays until it comes back. */
static void a_stream_that_hangs_ends_both(void **state)
{
	const struct fixture_options o = { .workers = 1,
					   .watchdog = 100 * CR_MS };
	const uint8_t silence[160] = { 0xff };
	struct port_pairs_info ports;
	struct node_call *c;
	struct cr_err e = { "" };
	struct fixture_sender s;
	struct node_fixture r;

	fixture_open(&r, &o);
	assert_int_equal(start_with(&r, sticky_codec(), 100, &c, &e), 0);
	atomic_store(&sticky_held, true);
	s = fixture_sender(&r, node_call_stream(c, 0), sizeof(silence));
	fixture_send(&s, silence, sizeof(silence));
	assert_true(fixture_wait(&r, has_one_call, &r));
	assert_int_equal(r.ended, 2);
	assert_int_equal(r.why, NODE_END_HUNG);
	assert_int_equal(r.recorded, 1); /* of both */
	assert_string_equal(r.record.why, "hung");
	assert_string_equal(r.record.by, "node");
	assert_null(r.record.stream[0].heard);
	assert_non_null(r.record.stream[1].heard);
	assert_int_equal(node_streams(r.node), 0);
	assert_null(node_call_find(r.node, 1));
	port_pairs_info(r.node->interfaces.one[0].ports, &ports);
	assert_int_equal(ports.used, 2);
	atomic_store(&sticky_held, false);
	assert_true(fixture_wait(&r, has_no_calls, &r));
	assert_int_equal(r.ended, 2);
	assert_int_equal(r.recorded, 1);
	port_pairs_info(r.node->interfaces.one[0].ports, &ports);
	assert_int_equal(ports.used, 0);
	fixture_close(&r);
}

enum { ROUNDS = 40, FRAMES = 25 };

static bool has_new_terms(struct node_call *c, struct node_fixture *r)
{
	struct node_cost_wait lacks;
	struct endpoint_spec to[2] = { 0 };
	struct cr_err e = { "" };
	char text[64];

	for (unsigned i = 0; i < 2; i++)
		field_defaults(party_change_fields, &to[i]);
	to[0].learn = LEARN_DELAYED;
	(void)snprintf(text, sizeof(text), "127.0.0.1:%u", r->port);
	assert_int_equal(address_parse(text, &to[1].address), 0);
	return !node_call_change(c, to, &lacks, &e);
}

/* Both parties speak while it ends: every packet counts once. */
static void packets_at_the_end_count_once(void **state)
{
	const struct fixture_options o = { .workers = 2 };
	const uint8_t silence[160] = { 0xff };
	struct node_stats stats;
	unsigned long long there;
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct node_call *c;
		struct fixture_sender s[2];

		assert_int_equal(start(&r, 100, &c, &e), 0);
		for (unsigned k = 0; k < 2; k++)
			s[k] = fixture_sender(&r, node_call_stream(c, k),
					      sizeof(silence));
		for (unsigned n = 0; n < 2 * FRAMES; n++) {
			fixture_send(&s[n % 2], silence, sizeof(silence));
			if (n == FRAMES)
				assert_true(has_new_terms(c, &r));
		}
		node_call_stop(c, NODE_END_STOPPED, NULL);
		for (unsigned n = 0; n < 2 * FRAMES; n++)
			fixture_send(&s[n % 2], silence, sizeof(silence));
		assert_true(fixture_wait(&r, has_no_calls, &r));
	}
	node_stats(r.node, &stats);
	there = stats.rx.packets + stats.totals.port_drops +
		stats.totals.unread;
	assert_int_equal(there, ROUNDS * 4 * FRAMES);
	assert_int_equal(
		stats.rx.packets - stats.rx.no_listener,
		stats.totals.packets_in + stats.totals.duplicates +
			stats.totals.reordered + stats.totals.seq_jumps +
			stats.totals.wrong_pt + stats.totals.wrong_source +
			stats.totals.wrong_ssrc + stats.totals.probation);
	assert_int_equal(stats.totals.packets_in,
			 stats.totals.done + stats.totals.overwritten +
				 stats.totals.expired + stats.totals.concealed +
				 stats.totals.malformed +
				 stats.totals.cancelled);
	assert_int_equal(r.ended, 2 * ROUNDS);
	fixture_close(&r);
}

enum { SENT = 2000 }; /* more than a port holds */

/* To a port that receivers have left. */
static void what_no_call_has_counted_is_in_the_sums(void **state)
{
	const struct endpoint_cfg cfg = { .terms.mode = LEARN_IMMEDIATE };
	const struct fixture_options o = { .workers = 1 };
	struct sockaddr_storage to;
	struct node_stats stats;
	struct node_endpoint *l;
	char text[64];
	struct cr_err e = { "" };
	struct node_fixture r;

	fixture_open(&r, &o);
	assert_int_equal(node_endpoint_new(r.node, &r.node->interfaces.one[0],
					   &cfg, NULL, &l, &e),
			 0);
	node_endpoint_join(l, NULL);
	node_endpoint_address(l, text, sizeof(text));
	assert_int_equal(address_parse(text, &to), 0);
	node_endpoint_leave(l);
	synchronize_rcu();
	for (unsigned i = 0; i < SENT; i++)
		assert_int_equal(sendto(r.fd, text, 12, 0, (void *)&to,
					address_length(&to)),
				 12);
	node_endpoint_release(l);
	node_stats(r.node, &stats);
	/* the receiver may leave the port a moment later: it drops, too */
	assert_int_equal(stats.rx.no_listener, stats.rx.packets);
	assert_int_equal(stats.rx.packets + stats.totals.unread +
				 stats.totals.port_drops,
			 SENT);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_of_two_streams_takes_one_place),
		cmocka_unit_test(one_stream_of_two_is_refused),
		cmocka_unit_test(a_stream_that_hangs_ends_both),
		cmocka_unit_test(packets_at_the_end_count_once),
		cmocka_unit_test(what_no_call_has_counted_is_in_the_sums),
	};

	return cmocka_run_group_tests_name("two_way", tests, NULL, NULL);
}
