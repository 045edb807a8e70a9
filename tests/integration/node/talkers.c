/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parties of a call of two streams, from outside.
 */
#include "talkers.h"

#include "loopback.h"

#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "json_text.h"
#include "patience.h"
#include "protocol/field_json.h"
#include "protocol/tables/endpoint_fields.h"
#include "udp/socket.h"

int talk_try(struct node_fixture *r, const char *json, struct node_call **c,
	     struct cr_err *e)
{
	json_t *params = json_text(json);
	struct call_spec spec;
	int err = call_params(&spec, params, e);

	if (!err)
		err = fixture_start(r, &spec, c, e);
	json_decref(params);
	return err;
}

struct node_call *talk_start(struct node_fixture *r, const char *json)
{
	struct node_call *c = NULL;
	struct cr_err e = { "" };

	if (talk_try(r, json, &c, &e))
		fail_msg("call: %s", e.text);
	return c;
}

int talk_try_change(struct node_fixture *r, struct node_call *c,
		    const char *json, struct cr_err *e)
{
	struct call_spec ask;
	struct node_cost_wait lacks;
	json_t *params = json_text(json);
	int err;

	(void)json_object_set_new(params, "call",
				  json_integer(node_call_id(c)));
	assert_int_equal(
		call_change_params(&ask, call_change_fields, params, e), 0);
	while ((err = node_call_change(c, ask.end, &lacks, e)) == -EAGAIN)
		assert_int_equal(fixture_know(r, &lacks, e), 0);
	json_decref(params);
	return err;
}

void talk_change(struct node_fixture *r, struct node_call *c, const char *json)
{
	struct cr_err e = { "" };

	if (talk_try_change(r, c, json, &e))
		fail_msg("%s: %s", json, e.text);
}

void talk_rests(const struct node_call *c)
{
	for (unsigned i = 0; i < 2; i++) {
		struct transcoder *call =
			node_stream_transcoder(node_call_stream(c, i));

		while (call && (atomic_load(&call->lt.active) ||
				!transcoder_unposted(call)))
			(void)sched_yield();
	}
}

bool talk_is_over(void *arg)
{
	const struct node_fixture *r = arg;

	return !r->node->nstreams && RB_EMPTY(&r->node->calls);
}

void talk_stop(struct node_fixture *r, struct node_call *c)
{
	node_call_stop(c, NODE_END_STOPPED, NULL);
	assert_true(fixture_wait(r, talk_is_over, r));
}

/* --- parties --- */

/* It is party @i of @c. */
struct talker talker(const struct node_call *c, unsigned i, uint8_t pt)
{
	struct talker p = { .next = { .pt = pt,
				      .ssrc = 0x80000000u + i,
				      .seq = 65530,
				      .ts = UINT32_MAX - 500 } };
	struct node_endpoint_info info;

	p.fd = loopback_socket(&p.at);
	node_call_party(c, i, &info);
	p.to = address_at(info.address);
	return p;
}

void talker_send(const struct talker *p, const void *bytes, size_t n)
{
	assert_int_equal(sendto(p->fd, bytes, n, 0, (const void *)&p->to,
				address_length(&p->to)),
			 n);
}

void talker_speak(struct talker *p, uint8_t value)
{
	uint8_t packet[RTP_HEADER_BYTES + 160];

	memset(packet, value, sizeof(packet));
	(void)rtp_build(packet, &p->next);
	talker_send(p, packet, sizeof(packet));
	p->next.seq++;
	p->next.ts += 160;
}

/* Bytes of the next packet, or 0: none has come for long. */
size_t talker_hear(const struct talker *p, uint8_t buf[2048])
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };
	ssize_t n;

	if (poll(&pfd, 1, (int)(PATIENCE / CR_MS)) != 1)
		return 0;
	n = recv(p->fd, buf, 2048, 0);
	return n > 0 ? (size_t)n : 0;
}

bool talker_hears_nothing(const struct talker *p)
{
	struct pollfd pfd = { .fd = p->fd, .events = POLLIN };

	return !poll(&pfd, 1, 0);
}

/* Each is heard by its endpoint, so that answers know their way. The first
 * one's packet goes nowhere. */
void talkers_introduce(struct node_call *c, struct talker p[2])
{
	atomic_ullong *first =
		&node_call_stream(c, 0)->stream->account->count.no_destination;
	uint8_t buf[2048];

	talker_speak(&p[0], 0);
	while (!atomic_load(first))
		(void)sched_yield();
	talker_speak(&p[1], 0);
	assert_true(talker_hear(&p[0], buf) > 0);
}

void talkers_leave(struct talker p[2])
{
	(void)close(p[0].fd);
	(void)close(p[1].fd);
}

/* --- sums --- */

/* What came to ports of the node's relays: nothing else did. */
void assert_relay_sums(struct node_fixture *r, unsigned long long sent)
{
	struct node_stats stats;
	const struct node_stream_counts *t = &stats.totals;

	node_stats(r->node, &stats);
	assert_int_equal(stats.rx.packets + t->port_drops + t->unread, sent);
	assert_int_equal(stats.rx.packets,
			 stats.rx.no_listener + stats.rx.malformed +
				 stats.rx.rtcp + stats.rx.oversized +
				 t->packets_in + t->wrong_source +
				 t->wrong_ssrc + t->probation + t->wrong_pt);
	assert_int_equal(t->packets_in, t->relayed);
	assert_int_equal(t->relayed, t->packets_out + t->send_failed +
					     t->no_destination + t->on_hold);
	assert_int_equal(t->done + t->duplicates + t->reordered + t->seq_jumps,
			 0);
}
