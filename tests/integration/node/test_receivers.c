/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several receivers: each call is with one of them, and nothing else about a
 * call shows how many there are.
 */
#define _GNU_SOURCE
#include "cmocka_cr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "node_fixture.h"
#include "traffic.h"
#include "udp/burst.h"

enum { RECEIVERS = 3, CALLS = 120, ROUNDS = 20, NB = 160 };

/* A kernel that does not choose by SSRC. */
static bool no_choice;

int __real_setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len);

int __wrap_setsockopt(int fd, int level, int name, const void *value,
		      socklen_t len)
{
	if (no_choice && level == SOL_SOCKET &&
	    name == SO_ATTACH_REUSEPORT_CBPF) {
		errno = ENOPROTOOPT;
		return -1;
	}
	return __real_setsockopt(fd, level, name, value, len);
}

static const uint8_t silence[NB] = { 0xff };

struct load {
	struct node_stream *call[CALLS];
	struct fixture_sender sender[CALLS];
	unsigned came[CALLS]; /* packets that came back */
};

static struct load load;

static unsigned long long figure(struct node_fixture *r, unsigned receiver,
				 const char *name)
{
	json_t *o = fixture_stats(r);
	json_t *list = json_object_get(o, "receivers");
	unsigned long long n;

	assert_int_equal(json_array_size(list), RECEIVERS);
	n = (unsigned long long)json_integer_value(
		json_object_get(json_array_get(list, receiver), name));
	json_decref(o);
	return n;
}

static const struct stream_cfg *settings(unsigned i)
{
	return node_stream_settings(load.call[i]);
}

/* Every fourth one brings its SSRC. */
static void start(struct node_fixture *r, unsigned i, bool own_port)
{
	static uint32_t next = 7;
	char json[160], ssrc[32] = "";

	if (i % 4 == 0)
		(void)snprintf(ssrc, sizeof(ssrc), ", 'ssrc': %u", next++);
	(void)snprintf(json, sizeof(json),
		       "{'in': {'codec': 'pcmu'}%s, 'port': '%s', "
		       "'out': {'codec': 'pcma'}}",
		       ssrc, own_port ? "own" : "shared");
	load.call[i] = fixture_call(r, json);
	load.sender[i] = fixture_sender(r, load.call[i], NB);
	load.came[i] = 0;
}

static unsigned who(uint32_t ssrc_out)
{
	unsigned i = 0;

	while (i < CALLS && settings(i)->ssrc_out != ssrc_out)
		i++;
	assert_true(i < CALLS);
	return i;
}

/* One packet of each call, and all of them back, each the next of its call. */
static void one_round(struct node_fixture *r)
{
	struct rtp_packet p;
	uint8_t buf[2048];

	for (unsigned i = 0; i < CALLS; i++)
		fixture_send(&load.sender[i], silence, NB);
	for (unsigned n = 0; n < CALLS; n++) {
		unsigned i;

		assert_true(fixture_receive(r, buf, &p));
		i = who(p.ssrc);
		assert_int_equal(
			p.seq, (uint16_t)(settings(i)->seq_out + load.came[i]));
		assert_int_equal(p.ts, settings(i)->ts_out + NB * load.came[i]);
		load.came[i]++;
	}
}

static void start_all(struct node_fixture *r, bool own_port)
{
	fixture_open(r, &(struct fixture_options){ .receivers = RECEIVERS });
	assert_int_equal(r->node->nfd, RECEIVERS);
	for (unsigned i = 0; i < CALLS; i++)
		start(r, i, own_port);
}

/* Some calls end, with all their frames done, and others take their places. */
static void replace_some(struct node_fixture *r, unsigned round, bool own_port)
{
	for (unsigned i = round % 5; i < CALLS; i += 5) {
		fixture_end(r, load.call[i]);
		assert_int_equal(r->last.packets_in, load.came[i]);
		assert_int_equal(r->last.done, load.came[i]);
		start(r, i, own_port);
	}
}

static void the_ssrc_tells_the_receiver_of_the_shared_port(void **state)
{
	unsigned long long sent[RECEIVERS] = { 0 };
	struct node_fixture r;

	start_all(&r, false);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < CALLS; i++) {
			uint32_t ssrc = settings(i)->ssrc_in;

			assert_int_equal(settings(i)->receiver,
					 ssrc % RECEIVERS);
			sent[ssrc % RECEIVERS]++;
		}
		one_round(&r);
		replace_some(&r, round, false);
	}
	for (unsigned i = 0; i < RECEIVERS; i++)
		assert_int_equal(figure(&r, i, "packets"), sent[i]);
	assert_int_equal(fixture_figure(&r, "rx", "packets"), ROUNDS * CALLS);
	assert_int_equal(fixture_figure(&r, "rx", "unknown_ssrc"), 0);
	assert_int_equal(fixture_figure(&r, "totals", "packets_in"),
			 ROUNDS * CALLS);
	fixture_close(&r);
}

static void own_ports_are_dealt_out_evenly(void **state)
{
	struct node_fixture r;

	start_all(&r, true);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < RECEIVERS; i++)
			assert_int_equal(figure(&r, i, "streams"),
					 CALLS / RECEIVERS);
		one_round(&r);
		replace_some(&r, round, true);
	}
	assert_int_equal(fixture_figure(&r, "rx", "packets"), ROUNDS * CALLS);
	assert_int_equal(fixture_figure(&r, "rx", "unknown_ssrc"), 0);
	/* all that one has end; the next calls are its */
	for (unsigned i = 0; i < CALLS; i++)
		if (settings(i)->receiver == 1)
			node_call_stop(node_stream_call(load.call[i]),
				       NODE_END_STOPPED, NULL);
	assert_int_equal(figure(&r, 1, "streams"), 0);
	for (unsigned i = 0; i < CALLS / RECEIVERS; i++) {
		struct node_stream *st = fixture_call(
			&r, "{'in': {'codec': 'pcmu'}, 'port': 'own', "
			    "'out': {'codec': 'pcma'}}");

		assert_int_equal(node_stream_settings(st)->receiver, 1);
	}
	fixture_close(&r);
}

/* An SSRC that the node chooses is one of a receiver that has fewest calls. */
static void chosen_ssrcs_fill_the_receivers_evenly(void **state)
{
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .receivers = RECEIVERS });
	for (unsigned i = 0; i < CALLS; i++)
		(void)fixture_call(&r, "{'in': {'codec': 'pcmu'}, "
				       "'out': {'codec': 'pcma'}}");
	for (unsigned i = 0; i < RECEIVERS; i++)
		assert_int_equal(figure(&r, i, "streams"), CALLS / RECEIVERS);
	fixture_close(&r);
}

static void what_has_no_ssrc_is_told_by_the_first(void **state)
{
	struct sockaddr_storage to;
	struct node_fixture r;

	start_all(&r, false);
	to = load.sender[0].to;
	for (unsigned n = 1; n < 12; n++)
		assert_int_equal(sendto(r.fd, silence, n, 0,
					(struct sockaddr *)&to, sizeof(to)),
				 n);
	one_round(&r);
	assert_int_equal(figure(&r, 0, "malformed"), 11);
	assert_int_equal(fixture_figure(&r, "rx", "malformed"), 11);
	fixture_close(&r);
}

/* The kernel gives a train to the receiver of its first packet. */
static void a_train_is_sorted(void **state)
{
	static struct burst train;
	struct rtp_packet p;
	uint8_t buf[2048];
	struct node_fixture r;

	start_all(&r, false);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < CALLS; i++) {
			struct rtp_packet *h = &load.sender[i].next;

			(void)rtp_build(buf, h);
			memcpy(buf + RTP_HEADER_BYTES, silence, NB);
			burst_put(&train, r.fd, &load.sender[i].to, 0, buf,
				  RTP_HEADER_BYTES + NB);
			h->seq++;
			h->ts += NB;
			if (i % 30 == 29) {
				burst_send(&train);
				burst_clear(&train);
			}
		}
		for (unsigned n = 0; n < CALLS; n++) {
			unsigned i;

			assert_true(fixture_receive(&r, buf, &p));
			i = who(p.ssrc);
			assert_int_equal(p.ts, settings(i)->ts_out +
						       NB * load.came[i]++);
		}
	}
	assert_true(fixture_figure(&r, "rx", "handed_over") > 0);
	assert_int_equal(fixture_figure(&r, "rx", "handover_drops"), 0);
	assert_int_equal(fixture_figure(&r, "rx", "unknown_ssrc"), 0);
	assert_int_equal(fixture_figure(&r, "rx", "packets"), ROUNDS * CALLS);
	assert_int_equal(fixture_figure(&r, "totals", "packets_in"),
			 ROUNDS * CALLS);
	fixture_close(&r);
}

/* The first has the shared port; calls with ports of their own are dealt out
 * so that all have the same. */
static void where_the_kernel_cannot_choose_the_first_has_the_port(void **state)
{
	struct node_fixture r;

	no_choice = true;
	fixture_open(&r, &(struct fixture_options){ .receivers = RECEIVERS });
	no_choice = false;
	assert_int_equal(r.node->nfd, 1);
	for (unsigned i = 0; i < CALLS; i++)
		start(&r, i, i >= CALLS / RECEIVERS);
	for (unsigned round = 0; round < ROUNDS; round++)
		one_round(&r);
	for (unsigned i = 0; i < CALLS / RECEIVERS; i++)
		assert_int_equal(settings(i)->receiver, 0);
	for (unsigned i = 0; i < RECEIVERS; i++) {
		assert_int_equal(figure(&r, i, "streams"), CALLS / RECEIVERS);
		assert_int_equal(figure(&r, i, "packets"),
				 ROUNDS * CALLS / RECEIVERS);
	}
	assert_int_equal(fixture_figure(&r, "totals", "packets_in"),
			 ROUNDS * CALLS);
	fixture_close(&r);
}

static void terms_change_under_load(void **state)
{
	struct cr_err e = { "" };
	struct traffic t;
	struct node_fixture r;

	fixture_open(&r, &(struct fixture_options){ .receivers = RECEIVERS,
						    .scheduler = "edf" });
	traffic_begin(&t, &r, 30);
	for (unsigned round = 0; round < 60; round++) {
		struct node_stream *st = t.call[round % 30];
		struct stream_cfg to = node_stream_cfg(st);

		to.terms.deadline = (10 + round % 7) * CR_MS;
		if (node_stream_change(st, &to, false, &e))
			fail_msg("%s", e.text);
		traffic_flows(&t, 30);
	}
	traffic_end(&t);
	traffic_balance(&t);
	fixture_close(&r);
}

/* The node ends while packets still come to all receivers. */
static void all_calls_end_with_their_packets_counted(void **state)
{
	struct node_fixture r;

	start_all(&r, true);
	for (unsigned n = 0; n < 4 * CALLS; n++)
		fixture_send(&load.sender[n % CALLS], silence, NB);
	node_end_calls(r.node);
	assert_int_equal(r.ended, CALLS);
	assert_int_equal(fixture_figure(&r, "totals", "packets_in"),
			 fixture_figure(&r, "totals", "done") +
				 fixture_figure(&r, "totals", "overwritten") +
				 fixture_figure(&r, "totals", "cancelled"));
	for (unsigned i = 0; i < RECEIVERS; i++)
		assert_int_equal(figure(&r, i, "streams"), 0);
	fixture_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_ssrc_tells_the_receiver_of_the_shared_port),
		cmocka_unit_test(own_ports_are_dealt_out_evenly),
		cmocka_unit_test(chosen_ssrcs_fill_the_receivers_evenly),
		cmocka_unit_test(what_has_no_ssrc_is_told_by_the_first),
		cmocka_unit_test(a_train_is_sorted),
		cmocka_unit_test(
			where_the_kernel_cannot_choose_the_first_has_the_port),
		cmocka_unit_test(terms_change_under_load),
		cmocka_unit_test(all_calls_end_with_their_packets_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
