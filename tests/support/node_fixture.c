/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node on loopback and a peer's UDP socket, in one process.
 */
#define _GNU_SOURCE
#include "node_fixture.h"

#include "loopback.h"

#include <errno.h>
#include <event2/thread.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu.h>

#include "base/clock.h"
#include "json_text.h"
#include "node/call_check.h"
#include "patience.h"
#include "protocol/tables/call_fields.h"
#include "protocol/field_json.h"
#include "protocol/tables/node_fields.h"
#include "udp/socket.h"

static void ended(void *arg, struct node_stream *st)
{
	struct node_fixture *r = arg;

	r->ended++;
	r->why = node_stream_why(st);
	node_stream_counts(st, &r->last);
}

static void recorded(void *arg, const struct node_record *record)
{
	struct node_fixture *r = arg;

	r->recorded++;
	r->record = *record;
}

/* Tests that do not care can be run with several. */
static unsigned receivers_of(const struct fixture_options *o)
{
	const char *text = getenv("CR_RECEIVERS");

	if (o->receivers)
		return o->receivers;
	return text ? (unsigned)atoi(text) : 1;
}

/* The same with ways to receive and send. */
static enum udp_io io_of(const struct fixture_options *o)
{
	const char *text = getenv("CR_IO");

	if (o->io || !text)
		return o->io;
	return strcmp(text, "epoll") ? UDP_IO_AUTO : UDP_IO_EPOLL;
}

/* Set between fixture_enter() and fixture_leave(). */
static bool is_entered;

void fixture_enter(void)
{
	if (is_entered) {
		print_message("not run: the node of a failed test is open\n");
		skip();
	}
	is_entered = true;
	(void)evthread_use_pthreads();
	rcu_register_thread();
}

void fixture_leave(void)
{
	rcu_done();
	rcu_unregister_thread();
	is_entered = false;
}

void fixture_open(struct node_fixture *r, const struct fixture_options *o)
{
	struct node_config cfg = {
		.workers = o->workers ? o->workers : 2,
		.receivers = receivers_of(o),
		.io = io_of(o),
		.cpus_per_rq = o->cpus_per_rq,
		.admission = o->admission,
		.capacity_ppm = 970000,
		.ring_frames = o->ring_frames ? o->ring_frames : 16,
		.max_age = o->max_age,
		.watchdog = o->watchdog,
		.quota_burst = o->paced ? 0 : 3600 * CR_SEC,
		.expired = o->expired,
		.shed = o->shed,
		.trace_records = 1024,
		.max_calls = 100000,
		.scheduler = o->scheduler ? o->scheduler : "fifo",
		.ended = ended,
		.recorded = recorded,
		.name = "rig",
		.arg = r,
	};
	struct cr_err warn = { "" }, e = { "" };
	struct sockaddr_storage at;

	fixture_enter();
	memset(r, 0, sizeof(*r));
	r->base = event_base_new();
	assert_non_null(r->base);
	r->fd = loopback_socket(&at);
	r->port = address_port(&at);
	cfg.base = r->base;
	cfg.rtp = address_at("127.0.0.1:0");
	/* Apart from the tests' own, which the kernel chooses: a report to
	 * the port behind a party's comes to no other port of the node. */
	cfg.rtp_ports = (struct port_range){ 2000, 31999 };
	if (node_open(&r->node, &cfg, &warn, &e))
		fail_msg("node_open: %s", e.text);
}

void fixture_close(struct node_fixture *r)
{
	int err;

	/* a detached thread may have given its call back and not have ended */
	while ((err = node_close(r->node)) == -EBUSY)
		(void)sched_yield();
	assert_int_equal(err, 0);
	event_base_free(r->base);
	(void)close(r->fd);
	fixture_leave();
}

json_t *fixture_stats(const struct node_fixture *r)
{
	struct node_stats stats;

	node_stats(r->node, &stats);
	return field_write(node_stats_fields, &stats);
}

unsigned long long fixture_figure(const struct node_fixture *r,
				  const char *part, const char *name)
{
	json_t *o = fixture_stats(r);
	json_int_t n = json_integer_value(
		json_object_get(json_object_get(o, part), name));

	json_decref(o);
	return (unsigned long long)n;
}

struct measured {
	bool done;
	int err;
	struct cr_err why;
};

static void measured(void *arg, int err, const struct cr_err *why)
{
	struct measured *m = arg;

	*m = (struct measured){ .done = true, .err = err, .why = *why };
}

static bool is_measured(void *arg)
{
	const struct measured *m = arg;

	return m->done;
}

int fixture_know(struct node_fixture *r, struct node_cost_wait *lacks,
		 struct cr_err *e)
{
	struct measured m = { 0 };

	lacks->done = measured;
	lacks->arg = &m;
	assert_int_equal(node_cost_wait(r->node, lacks, e), 0);
	assert_true(fixture_wait(r, is_measured, &m));
	*e = m.why;
	return m.err;
}

int fixture_measure(struct node_fixture *r, const struct stream_cfg *cfg,
		    struct cr_err *e)
{
	struct node_cost_wait w;
	struct cost_entry *entry;
	int err = node_cost_of(r->node, cfg, &entry, e);

	if (err != -EAGAIN)
		return err;
	node_cost_need(&w, cfg, 1);
	return fixture_know(r, &w, e);
}

int fixture_start(struct node_fixture *r, const struct call_spec *spec,
		  struct node_call **c, struct cr_err *e)
{
	struct node_cost_wait lacks;
	int err;

	while ((err = node_call_start(r->node, spec, &lacks, c, e)) == -EAGAIN)
		if ((err = fixture_know(r, &lacks, e)))
			break;
	return err;
}

int fixture_try(struct node_fixture *r, const char *json,
		struct node_stream **st, struct cr_err *e)
{
	struct call_spec spec;
	struct node_call *c;
	json_t *params = json_text(json), *out;
	char to[64];
	int err;

	(void)snprintf(to, sizeof(to), "127.0.0.1:%u", r->port);
	out = json_object_get(params, "out");
	if (out && !json_object_get(out, "address"))
		(void)json_object_set_new(out, "address", json_string(to));
	err = call_params(&spec, params, e);
	if (!err)
		err = fixture_start(r, &spec, &c, e);
	if (!err)
		*st = node_call_stream(c, 0);
	json_decref(params);
	return err;
}

struct node_stream *fixture_call(struct node_fixture *r, const char *json)
{
	struct node_stream *st = NULL;
	struct cr_err e = { "" };

	if (fixture_try(r, json, &st, &e))
		fail_msg("call: %s", e.text);
	return st;
}

struct fixture_sender fixture_sender(struct node_fixture *r,
				     struct node_stream *st, unsigned step)
{
	struct fixture_sender s = { .rig = r, .step = step };
	char text[64];

	node_stream_address(st, text, sizeof(text));
	assert_int_equal(address_parse(text, &s.to), 0);
	s.next = (struct rtp_packet){
		.pt = node_stream_settings(st)->media.in.pt,
		.ssrc = node_stream_settings(st)->ssrc_in,
		.seq = 65530, /* wraps early */
		.ts = UINT32_MAX - 500
	};
	return s;
}

void fixture_send(struct fixture_sender *s, const void *payload, size_t bytes)
{
	uint8_t packet[2048];

	(void)rtp_build(packet, &s->next);
	memcpy(packet + RTP_HEADER_BYTES, payload, bytes);
	assert_true(sendto(s->rig->fd, packet, RTP_HEADER_BYTES + bytes, 0,
			   (struct sockaddr *)&s->to,
			   address_length(&s->to)) > 0);
	s->next.seq++;
	s->next.ts += s->step;
}

bool fixture_receive(struct node_fixture *r, uint8_t *buf, struct rtp_packet *p)
{
	struct pollfd pfd = { .fd = r->fd, .events = POLLIN };
	ssize_t n;

	if (poll(&pfd, 1, (int)(PATIENCE / CR_MS)) != 1)
		return false;
	n = recv(r->fd, buf, 2048, 0);
	return n > 0 && !rtp_parse(buf, (size_t)n, p);
}

struct rtp_packet fixture_hear(struct node_fixture *r, uint8_t *buf)
{
	struct rtp_packet p;

	assert_true(fixture_receive(r, buf, &p));
	return p;
}

bool fixture_wait(struct node_fixture *r, bool (*done)(void *arg), void *arg)
{
	cr_ns end = clock_now() + PATIENCE;
	const struct timeval soon = { 0, 2000 };

	while (!done(arg)) {
		if (clock_now() > end)
			return false;
		(void)event_base_loopexit(r->base, &soon);
		(void)event_base_dispatch(r->base);
	}
	return true;
}

struct end_wait {
	struct node_fixture *rig;
	unsigned before;
};

static bool one_more_ended(void *arg)
{
	const struct end_wait *w = arg;

	return w->rig->ended > w->before;
}

void fixture_end(struct node_fixture *r, struct node_stream *st)
{
	struct end_wait w = { r, r->ended };

	node_call_stop(node_stream_call(st), NODE_END_STOPPED, NULL);
	assert_true(fixture_wait(r, one_more_ended, &w));
}
