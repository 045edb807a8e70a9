/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of a node: from the request to the table, and to free memory.
 *
 *   refusals -> cost -> (an endpoint) -> SSRCs -> admission -> table
 *   out of the table -> grace period (rx lets go) -> out of the engine (a
 *   worker lets go) -> node_gone() -> node_reap() on control's thread
 *
 * A stream of a call of two streams that begins as a relay needs neither costs
 * nor admission, and one that has had no transcoder since is in no table and
 * has no engine to leave. What a call has cost and counted stays with the node.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/random.h"
#include "media/transcode.h"
#include "node/node_impl.h"

/* It starts now; or it did before its process died. */
static void set_start(struct node_stream *st)
{
	const struct call_past *past = st->node->restoring;

	st->started = clock_now();
	st->started_utc = clock_read(CLOCK_REALTIME);
	st->node_utc = st->node->started_utc;
	if (!past)
		return;
	st->started -= cr_ns_max(st->started_utc - past->started_utc, 0);
	st->started_utc = past->started_utc;
	st->node_utc = past->node_utc;
}

/* A new stream of @of. */
static struct node_stream *node_stream_new(struct node_call *of)
{
	struct node_stream *st = calloc(1, sizeof(*st));

	if (!st)
		return NULL;
	st->node = of->node;
	st->call = of;
	st->number = of->stream[0] != NULL;
	set_start(st);
	return st;
}

/** A new stream @st, complete, is one of the node's. */
static void node_stream_enter(struct node *n, struct node_stream *st)
{
	st->call->stream[st->number] = st;
	if (!st->call->live++) {
		n->ncalls++;
		n->calls_started++;
	}
	RB_INSERT(node_stream_tree, &n->streams, st);
	n->nstreams++;
	n->nrelays += node_stream_wants_relay(st);
}

/* Ending ones, too. */
static struct node_stream *stream_with_id(struct node *n, uint32_t id)
{
	struct node_stream key = { .id = id };

	return RB_FIND(node_stream_tree, &n->streams, &key);
}

uint32_t node_next_id(struct node *n)
{
	struct call_past *past = n->restoring;
	uint32_t *last = past && past->how != RESTORE_MOVED ? &past->last_id
							    : &n->ids->stream;
	struct node_call key;

	do
		key.id = ++*last;
	while (!key.id || stream_with_id(n, key.id) ||
	       RB_FIND(node_call_tree, &n->calls, &key) ||
	       converter_find(n->converter, key.id));
	return key.id;
}

/* The id of the next stream of @of: of the first one the call's. */
static uint32_t next_stream_id(const struct node_call *of)
{
	return of->stream[0] ? node_next_id(of->node) : of->id;
}

int node_relay_start(struct node_call *of, struct stream_cfg *cfg,
		     struct cr_err *e)
{
	struct node_stream *st = node_stream_new(of);
	const struct node *n = of->node;
	int err;

	if (!st)
		return cr_fail(e, -ENOMEM, "out of memory for a relay");
	cfg->id = next_stream_id(of);
	cfg->receiver = cfg->in_endpoint->cfg.receiver;
	cfg->ring_frames = n->cfg.ring_frames;
	cfg->shed = n->cfg.shed.kind;
	err = stream_new(&st->stream, cfg, true, e);
	if (err) {
		free(st);
		return err;
	}
	st->id = cfg->id;
	st->stream->owner = st;
	st->stream->cfg.codecs = NULL; /* they were lent */
	if (of->slot)
		node_keep_stream(st);
	endpoint_feed(cfg->in_endpoint, st->stream);
	node_stream_enter(of->node, st);
	return 0;
}

/** The last thread has let go of @st. Any thread. */
static void node_stream_gone(struct node_stream *st)
{
	struct node *n = st->node;
	bool first;

	pthread_mutex_lock(&n->gone_lock);
	first = !n->gone;
	st->next_gone = n->gone;
	n->gone = st;
	pthread_mutex_unlock(&n->gone_lock);
	if (first)
		event_active(n->gone_event, EV_READ, 0);
}

/* On the thread of what is deferred: rx can no longer hold the stream, or a
 * thread that was stuck has let go of its task, which it had when this came
 * first. */
static void leave_engine(struct rcu_later *head)
{
	struct stream *s = caa_container_of(head, struct stream, rcu);
	struct transcoder *c = stream_transcoder(s);
	struct node_stream *st = s->owner;

	rcu_deferred();
	if (c)
		live_remove(st->node->live, &c->lt);
	else
		node_stream_gone(st);
}

void node_back(void *arg, struct live_task *lt)
{
	(void)arg;
	rcu_defer(&transcoder_of(lt)->stream->rcu, leave_engine);
}

void node_stream_end(struct node_stream *st)
{
	struct transcoder *c = node_stream_transcoder(st);

	if (!node_stream_in_endpoint(st))
		receivers_del(st->node->receivers, c);
	if (st->cost)
		st->cost->streams--;
	if (c)
		stream_table_del(st->node->table, c);
	rcu_defer(&st->stream->rcu, leave_engine);
}

void node_gone(void *arg, struct live_task *lt)
{
	struct transcoder *c = transcoder_of(lt);

	(void)arg;
	if (c->stream)
		node_stream_gone(c->stream->owner);
	else
		transcoder_free(c); /* node_drop_transcoder() */
}

void node_stream_counts(const struct node_stream *st,
			struct node_stream_counts *out)
{
	const struct stream_counters *count = &st->stream->account->count;

#define PUT(name, ...)                                                         \
	out->name = atomic_load_explicit(&count->name, memory_order_relaxed);
	STREAM_COUNTERS(PUT)
#undef PUT
}

/** Meter only some of @st's frames if the cost book knows its like. It has a
 * transcoder. */
static void node_meter_less(struct node_stream *st)
{
	if (st->cost->learner.frames >= LEARNER_MEMORY)
		transcode_cost_settle(&node_stream_transcoder(st)->metered,
				      st->id);
}

/* Of a call that does more than RECENT_TIMES frames between two looks only the
 * latest count. */
static void learn_from(struct node_stream *st)
{
	const struct transcoder *c = node_stream_transcoder(st);
	uint32_t ns[RECENT_TIMES];

	/* what several codecs take says nothing of one pair */
	if (!c || !st->cost || st->codecs || st->recoded)
		return;
	costs_learn(st->cost, ns, recent_take(&c->cost, &st->learned, ns));
	node_meter_less(st);
}

void node_learn(struct node *n)
{
	struct node_stream *st;

	RB_FOREACH (st, node_stream_tree, &n->streams)
		learn_from(st);
	n->gave_nothing = false;
}

static void finish_gone(struct node *n, struct node_stream *st)
{
	const unsigned number = st->number;
	struct node_call *of = st->call;
	struct stream *s = st->stream;
	struct node_stream_counts count;

	/* an endpoint that goes on counts itself */
	if (node_stream_is_fed(st) && s->cfg.in_endpoint->port_key)
		rx_count_rest(s->cfg.in_endpoint);
	if (stream_transcoder(s))
		transcoder_count_rest(stream_transcoder(s));
	if (st->hung)
		node_watch_returned(n, st);
	else
		node_notify_ended(n, st);
	node_stream_counts(st, &count);
	for (unsigned i = 0; i < STREAM_NCOUNTERS; i++)
		n->past.all[i] += count.all[i];
	learn_from(st);
	if (st->cost)
		costs_release(n->costs, st->cost);
	RB_REMOVE(node_stream_tree, &n->streams, st);
	n->nstreams--;
	n->nrelays -= node_stream_wants_relay(st);
	stream_free(s);
	free(st->codecs);
	free(st);
	node_call_stream_gone(of, number);
}

void node_reap(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;
	struct node_stream *st, *next;

	(void)fd, (void)what;
	pthread_mutex_lock(&n->gone_lock);
	st = n->gone;
	n->gone = NULL;
	pthread_mutex_unlock(&n->gone_lock);
	for (; st; st = next) {
		const struct transcoder *c = node_stream_transcoder(st);

		next = st->next_gone;
		if (c && !transcoder_unposted(c))
			node_flush(n); /* its last packets wait */
		CR_ASSERT(!c || transcoder_unposted(c));
		finish_gone(n, st);
	}
}

static int node_stream_cmp(struct node_stream *a, struct node_stream *b)
{
	uint32_t x = a->id, y = b->id;

	return (x > y) - (x < y);
}

RB_GENERATE(node_stream_tree, node_stream, by_id, node_stream_cmp)

const char *node_end_name(enum node_end why)
{
	static const char *const names[] = { NODE_END_NAMES };

	return names[why];
}

/* 31 bits: ffmpeg's -ssrc is a signed number. */
uint32_t node_random_ssrc(void)
{
	uint32_t ssrc = 0;

	while (!ssrc) {
		random_fill(&ssrc, sizeof(ssrc));
		ssrc &= INT32_MAX;
	}
	return ssrc;
}

static bool ssrc_free(struct node *n, uint32_t ssrc)
{
	bool free_;

	rcu_read_begin();
	free_ = !stream_table_find(n->table, ssrc);
	rcu_read_end();
	return free_;
}

/* At the shared port the SSRC tells the receiver: one that has fewest calls, if
 * that may be chosen. */
static void choose_receiver(struct node *n, struct stream_cfg *cfg)
{
	unsigned least = receivers_least_shared(n->receivers);

	while (!cfg->ssrc_in || !ssrc_free(n, cfg->ssrc_in)) {
		cfg->ssrc_in = node_random_ssrc();
		if (!cfg->in_endpoint &&
		    receivers_of_ssrc(n->receivers, cfg->ssrc_in) != least)
			cfg->ssrc_in = 0;
	}
	cfg->receiver = cfg->in_endpoint
				? cfg->in_endpoint->cfg.receiver
				: receivers_of_ssrc(n->receivers, cfg->ssrc_in);
}

static void choose_numbers(const struct node *n, struct stream_cfg *cfg)
{
	if (!cfg->ssrc_out)
		cfg->ssrc_out = node_random_ssrc();
	/* RFC 3550 5.1: random first values */
	random_fill(&cfg->ts_out, sizeof(cfg->ts_out));
	random_fill(&cfg->seq_out, sizeof(cfg->seq_out));
	cfg->ring_frames = n->cfg.ring_frames;
	cfg->shed = n->cfg.shed.kind;
}

/* Do all that can fail before anything takes effect. */
static int join_engine(struct node *n, struct node_stream *st, struct cr_err *e)
{
	const struct stream_cfg *cfg = node_stream_settings(st);
	struct transcoder *c = node_stream_transcoder(st);
	struct cr_verdict v = { 0 };
	int err;

	err = node_admit_measured(n, node_load_of(cfg), &v);
	if (!err) {
		/* To the engine; if need be after others have given back. */
		err = live_add(n->live, &c->lt, &v);
		if (err == -ENOSPC &&
		    node_give_back(n, v.need_ppm - v.free_ppm))
			err = live_add(n->live, &c->lt, &v);
	}
	if (err) {
		n->calls_refused++;
		return node_refuse(n, err, &v, e);
	}
	/* from here on packets find it; choose_numbers() saw the SSRC free,
	 * and only this thread adds */
	CR_ASSERT(!stream_table_add(n->table, c));
	if (cfg->in_endpoint)
		endpoint_feed(cfg->in_endpoint, st->stream);
	else
		receivers_add(n->receivers, c);
	return 0;
}

/* The shared port can neither send to nor hear from another family; where a
 * call has its own, its interface can send to out.address. */
static int check_families(const struct node *n, const struct stream_cfg *cfg,
			  bool own_port, struct cr_err *e)
{
	sa_family_t mine = own_port ? cfg->to.ss_family : n->cfg.rtp.ss_family;
	const char *which = mine == AF_INET ? "IPv4" : "IPv6";

	if (cfg->to.ss_family != mine)
		return cr_fail(e, -EINVAL,
			       "out.address: the shared port (--rtp) is %s "
			       "only; ask for port \"own\"",
			       which);
	if (cfg->source.ss_family && cfg->source.ss_family != mine)
		return cr_fail(e, -EINVAL,
			       "in.source: is not %s, as the address is that "
			       "the call listens at",
			       which);
	return 0;
}

struct node_stream *node_stream_pair(const struct node_stream *st)
{
	uint64_t pair;

	if (node_stream_wants_relay(st))
		return st->call->stream[!st->number];
	pair = atomic_load_explicit(&node_stream_transcoder(st)->pair,
				    memory_order_relaxed);
	return node_stream_find(st->node, transcoder_pair_id(pair));
}

static int check_pair(struct node *n, const struct stream_cfg *cfg,
		      struct cr_err *e)
{
	struct node_stream *other = node_stream_find(n, cfg->pair);
	struct node_stream *third;

	if (!cfg->pair)
		return 0;
	if (!other)
		return cr_fail(e, -ESRCH, "pair: there is no call %" PRIu32,
			       cfg->pair);
	third = node_stream_pair(other);
	if (third)
		return cr_fail(e, -EEXIST,
			       "pair: call %" PRIu32 " is paired with call "
			       "%" PRIu32 " already",
			       cfg->pair, third->id);
	if (!node_stream_wants_relay(other) &&
	    (stream_takes_cmr(cfg, node_stream_settings(other)) ||
	     stream_takes_cmr(node_stream_settings(other), cfg)))
		return 0;
	return cr_fail(e, -EINVAL,
		       "pair: neither call sends the AMR or AMR-WB that the "
		       "other receives, so no mode request can pass");
}

void node_join_pair(struct node_stream *a, struct node_stream *b)
{
	struct transcoder *x = node_stream_transcoder(a),
			  *y = node_stream_transcoder(b);

	/* analyzer: who joins them has checked that both are there */
	atomic_store_explicit(&x->pair, transcoder_pair(y),
			      memory_order_relaxed);
	atomic_store_explicit(&y->pair, transcoder_pair(x),
			      memory_order_relaxed);
}

int node_stream_refuse_early(struct node *n, const struct stream_cfg *cfg,
			     const struct call_spec *spec,
			     struct interface **at, struct cr_err *e)
{
	const struct interface_cfg shared = { .local = n->cfg.rtp,
					      .advertised =
						      n->cfg.rtp_advertised };
	const struct interface_request request = {
		.name = spec->end[0].interface,
		.to = cfg->to,
		.path = "",
		.to_path = "out.address",
	};
	bool own = spec->port == CALL_PORT_OWN;
	int err = check_families(n, cfg, own, e);

	if (!err)
		err = check_pair(n, cfg, e);
	if (!err && cfg->ssrc_in && !ssrc_free(n, cfg->ssrc_in))
		err = cr_fail(e, -EEXIST,
			      "ssrc: %" PRIu32 " is another call's; leave it "
			      "out and one is chosen",
			      cfg->ssrc_in);
	if (!err)
		err = own ? node_choose_interface(n, &request, at, e)
			  : node_restore_at_shared(n, e);
	return err ? err
		   : interface_may_send(*at ? &(*at)->cfg : &shared,
					n->cfg.send_to, &cfg->to, 2,
					"out.address", e);
}

/* Cut @text to fit; NUL-terminated. */
static void cut_trace_text(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text);
}

void node_trace_stream(const struct node_stream *st)
{
	struct node *n = st->node;
	const struct stream_cfg *cfg = node_stream_settings(st);
	const struct codec_use *in = &cfg->media.in, *out = &cfg->media.out;
	union cr_trace_record r = {
		.task = {
			.kind = CR_TRACE_TASK,
			.cls = (uint8_t)cfg->terms.cls,
			.ptime_us_div_250 = (uint16_t)(cfg->release.period /
						       (250 * CR_US)),
			.task = cfg->id,
			.start = st->started,
			.rel_deadline = cfg->terms.deadline,
			.weight = cfg->terms.weight,
			.nice = (int8_t)cfg->terms.nice,
			.cost_mean = cfg->declared.cost.mean,
			.cost_p99 = cfg->declared.cost.p99,
		},
	};

	cut_trace_text(r.task.codec_in, sizeof(r.task.codec_in),
		       in->codec->name);
	cut_trace_text(r.task.mode_in, sizeof(r.task.mode_in),
		       in->codec->modes[in->cfg.mode].name);
	cut_trace_text(r.task.codec_out, sizeof(r.task.codec_out),
		       out->codec->name);
	cut_trace_text(r.task.mode_out, sizeof(r.task.mode_out),
		       out->codec->modes[out->cfg.mode].name);
	trace_put(trace_ring(n->trace, node_ring_control(n)), &r);
}

/* @st, whose codecs and numbers are chosen, is to be one of the node's. */
static int enter_stream(struct node_stream *st, struct stream_cfg *cfg,
			struct cr_err *e)
{
	struct node *n = st->node;
	int err = 0;

	if (!cfg->out_endpoint)
		err = loop_check_stream(n, cfg, node_stream_in_endpoint(st), e);
	if (err)
		return err;
	stream_settle(cfg, &st->cost->cost);
	err = stream_new(&st->stream, cfg, false, e);
	if (err == -ENOMEM)
		n->calls_refused++;
	if (err)
		return err;
	st->id = cfg->id;
	st->stream->owner = st;
	stream_transcoder(st->stream)->lt.kind = &node_stream_kind;
	if (st->call->slot)
		node_keep_stream(st);
	node_meter_less(st);
	return join_engine(n, st, e);
}

int node_stream_begin(struct node_call *of, struct stream_cfg *cfg,
		      struct cr_err *e)
{
	const struct stream_codecs *lent = cfg->codecs;
	struct node *n = of->node;
	struct cost_entry *cost;
	struct node_stream *st;
	int err;

	node_restore_end(n, of->stream[0] != NULL);
	err = node_cost_of(n, cfg, &cost, e);
	if (err)
		return err;
	st = node_stream_new(of);
	if (!st)
		return cr_fail(e, -ENOMEM, "out of memory for a stream");
	st->cost = cost;
	st->codecs = node_codecs_copy(cfg->codecs);
	if (cfg->codecs && !st->codecs) {
		free(st);
		return cr_fail(e, -ENOMEM, "out of memory for a stream");
	}
	cfg->codecs = st->codecs;
	choose_receiver(n, cfg);
	choose_numbers(n, cfg);
	cfg->id = next_stream_id(of);
	err = enter_stream(st, cfg, e);
	if (err) {
		stream_free(st->stream); /* nobody has seen it */
		free(st->codecs);
		free(st);
		cfg->codecs = lent;
		return err;
	}
	if (cfg->pair)
		node_join_pair(st, node_stream_find(n, cfg->pair));
	costs_hold(n->costs, cost);
	cost->streams++;
	node_stream_enter(n, st);
	node_trace_stream(st);
	return 0;
}

int node_make_transcoder(struct node_stream *st, struct stream_cfg *cfg,
			 struct transcoder **out, struct cr_err *e)
{
	int err;

	(void)stream_relays_as(st->stream, &cfg->ssrc_out);
	choose_receiver(st->node, cfg);
	choose_numbers(st->node, cfg);
	cfg->id = st->id;
	err = transcoder_new(out, st->stream, cfg, e);
	if (!err)
		(*out)->lt.kind = &node_stream_kind;
	return err;
}

void node_set_transcoder(struct node_stream *st, struct transcoder *c,
			 const struct stream_cfg *cfg, struct cost_entry *cost)
{
	struct stream *s = st->stream;

	s->cfg.ts_out = cfg->ts_out;
	s->cfg.seq_out = cfg->seq_out;
	s->cfg.ssrc_out = cfg->ssrc_out;
	transcoder_set_terms(c, cfg);
	st->cost = cost;
	costs_hold(st->node->costs, cost);
	cost->streams++;
	/* it was free when it was drawn, but the other stream of the
	 * call may have drawn the same; nobody has seen this one */
	while (stream_table_add(st->node->table, c))
		c->ssrc_in = node_random_ssrc();
	s->cfg.ssrc_in = c->ssrc_in;
	stream_set_transcoder(s, c);
	node_trace_stream(st);
}

void node_drop_transcoder(struct node *n, struct transcoder *c)
{
	c->stream = NULL; /* for node_gone() */
	live_remove(n->live, &c->lt);
}

struct node_stream *node_stream_after(struct node *n, uint32_t id)
{
	struct node_stream key = { .id = id + 1 };

	return id == UINT32_MAX ? NULL
				: RB_NFIND(node_stream_tree, &n->streams, &key);
}

struct node_stream *node_stream_find(struct node *n, uint32_t id)
{
	struct node_stream *st = stream_with_id(n, id);

	return st && !st->call->ending ? st : NULL;
}

uint32_t node_stream_id(const struct node_stream *st)
{
	return st->id;
}

struct node_call *node_stream_call(const struct node_stream *st)
{
	return st->call;
}

bool node_stream_ending(const struct node_stream *st)
{
	return st->call->ending;
}

enum node_end node_stream_why(const struct node_stream *st)
{
	return st->call->why;
}

struct stream_cfg node_stream_cfg(const struct node_stream *st)
{
	struct stream_cfg cfg = *node_stream_settings(st);

	if (!node_stream_wants_relay(st))
		cfg.media.out.cfg.mode =
			pipeline_mode(node_stream_transcoder(st)->pipeline);
	return cfg;
}

bool node_stream_hung(struct node *n, uint32_t id)
{
	const struct node_stream *st = stream_with_id(n, id);

	return st && st->hung;
}
