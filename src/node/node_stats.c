/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node tells about itself and its calls.
 *
 * Bounds of the calls: asked of the policy, or computed from what it says about
 * servers. Nothing is kept, for every call that comes or goes changes the
 * bounds of all.
 *
 * Which calls stand out: what each did between two samples of its counters.
 * Samples are of all calls at once, whoever asks: many who ask take no more of
 * them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/hsb.h"
#include "base/clock.h"
#include "base/counter.h"
#include "cr/promise.h"
#include "media/endpoint.h"
#include "node/info.h"
#include "node/node_impl.h"

/* Calls that come one after the other are alike; of several kinds in turn, so
 * many are recognised. */
#define KINDS_IN_TURN 8u

static const struct cr_task *task_of_stream(const struct node_stream *st)
{
	return &node_stream_transcoder(st)->lt.core.task;
}

static struct cr_promise promise_of(struct node_stream *st)
{
	struct cr_promise p;

	live_promise(st->node->live, &node_stream_transcoder(st)->lt, &p);
	return p;
}

static struct bound no_bound(const char *why)
{
	return (struct bound){ .why = why };
}

/* None of its frames is done later than the deadline and the promised bound. */
static struct bound by_lateness(const struct node_stream *st,
				const struct cr_promise *p)
{
	const struct cr_task *t = task_of_stream(st);

	return (struct bound){
		.rule = p->rule,
		.tardiness = (double)p->bound,
		.lateness = (double)p->bound,
		.frames = fmax(1, ceil((double)p->bound / (double)t->period)),
		.buffer = (double)t->rel_deadline + (double)p->bound,
		.cost = (double)p->cost,
	};
}

/* --- servers --- */

/* The calls of one run queue, grouped, as the theory sees them. */
struct crowd {
	struct node_stream *me;
	size_t mine; /* which of soft[] */
	struct hsb_flow *hard, *soft;
	struct node_stream **first; /* [nsoft]: one of each group, hard[]'s from
				     the other end */
	size_t room;
	struct hsb_system system;
};

static bool are_alike(const struct cr_task *a, const struct cr_task *b)
{
	return a->period == b->period && a->rel_deadline == b->rel_deadline &&
	       a->cost.mean == b->cost.mean && a->cost.p99 == b->cost.p99 &&
	       a->cost.variance_ns2 == b->cost.variance_ns2 &&
	       a->contract.largest == b->contract.largest;
}

static struct node_stream **first_of_class(struct crowd *c, enum cr_class cls,
					   size_t i)
{
	return &c->first[cls == CR_SOFT ? i : c->room - 1 - i];
}

/* The group among the last of its class that @st belongs to; @n: none of them.
 */
static size_t group_of_stream(struct crowd *c, const struct node_stream *st,
			      size_t n)
{
	const struct cr_task *t = task_of_stream(st);
	size_t oldest = n > KINDS_IN_TURN ? n - KINDS_IN_TURN : 0;

	for (size_t i = n; i-- > oldest;)
		if (are_alike(t, task_of_stream(*first_of_class(c, t->cls, i))))
			return i;
	return n;
}

static struct hsb_flow flow_of_stream(struct node_stream *st)
{
	const struct cr_task *t = task_of_stream(st);
	bool soft = t->cls == CR_SOFT;

	return (struct hsb_flow){
		.period = (double)t->period,
		.deadline = (double)t->rel_deadline,
		.worst = (double)cr_task_worst(t),
		.mean = (double)t->cost.mean,
		.sd = sqrt((double)t->cost.variance_ns2),
		.budget = soft ? (double)promise_of(st).servers.budget : 0,
	};
}

static void count_stream(struct crowd *c, struct node_stream *st)
{
	enum cr_class cls = task_of_stream(st)->cls;
	struct hsb_flow *flow = cls == CR_HARD ? c->hard : c->soft;
	size_t *n = cls == CR_HARD ? &c->system.nhard : &c->system.nsoft;
	size_t i = group_of_stream(c, st, *n);

	if (i == *n) {
		flow[i] = flow_of_stream(st);
		*first_of_class(c, cls, i) = st;
		++*n;
	}
	flow[i].count++;
	if (st == c->me)
		c->mine = i;
}

/* Those that have left their sockets are still in the engine for a moment, but
 * send no more. */
static void count_streams(struct crowd *c)
{
	const struct cr_rq *rq = task_of_stream(c->me)->rq;
	struct node_stream *st;

	RB_FOREACH (st, node_stream_tree, &c->me->node->streams)
		if (!st->call->ending && !node_stream_wants_relay(st) &&
		    task_of_stream(st)->cls != CR_BE &&
		    task_of_stream(st)->rq == rq)
			count_stream(c, st);
}

static struct bound by_theory(struct crowd *c, const char *rule)
{
	const struct hsb_report r = hsb_analyse(&c->system);
	const struct hsb_bound b = hsb_bound_of(&c->system, &r, c->mine);

	if (!r.constraint[1].met)
		return no_bound("more is reserved than there is: hard calls, "
				"budgets and best effort's servers");
	if (!r.constraint[2].met)
		return no_bound("a server has too large a share of a CPU for "
				"its run queue");
	if (isinf(b.tardiness))
		return no_bound("its budget is not above its mean cost");
	return (struct bound){
		.rule = rule,
		.tardiness = b.tardiness,
		.lateness = b.lateness,
		.frames = b.frames,
		.buffer = b.lateness + c->system.soft[c->mine].deadline,
	};
}

static struct bound by_servers(struct node_stream *st,
			       const struct cr_promise *p)
{
	struct node *n = st->node;
	const struct cr_rq *rq = task_of_stream(st)->rq;
	const struct cr_servers *of = &p->servers;
	struct crowd c = {
		.me = st,
		.room = n->nstreams,
		.hard = malloc(n->nstreams * sizeof(*c.hard)),
		.soft = malloc(n->nstreams * sizeof(*c.soft)),
		.first = malloc(n->nstreams * sizeof(*c.first)),
		.system = { .ncpu = rq->ncpu,
			    .be = { .servers = of->best_effort,
				    .period = (double)of->be_period,
				    .budget = (double)of->be_period *
					      (double)of->be_share_ppm / 1e6 },
			    .frame = (double)of->longest },
	};
	struct bound b = no_bound("out of memory");

	if (c.hard && c.soft && c.first) {
		c.system.hard = c.hard;
		c.system.soft = c.soft;
		count_streams(&c);
		b = by_theory(&c, p->rule);
	}
	free(c.hard);
	free(c.soft);
	free(c.first);
	return b;
}

/* --- which it is --- */

/** The bound of @st. Takes time in proportion to the calls where these have
 * servers, next to none else. */
static struct bound bound_of(struct node_stream *st)
{
	struct cr_promise p;

	if (st->call->ending)
		return no_bound("it is ending");
	if (node_stream_wants_relay(st))
		return no_bound("it is relayed, and not scheduled");
	p = promise_of(st);
	switch (p.kind) {
	case CR_PROMISE_LATENESS:
		return by_lateness(st, &p);
	case CR_PROMISE_SERVERS:
		return by_servers(st, &p);
	case CR_PROMISE_NOTHING:
		break;
	}
	return no_bound(p.rule);
}

/* --- sums --- */

/* Past calls and present ones together, and what no call had at an endpoint. */
static void sum_counters(struct node *n, struct node_stream_counts *sum)
{
	struct node_stream_counts one;
	struct node_stream *st;

	*sum = n->past;
	sum->port_drops += counter_read(&n->endpoint_drops);
	sum->unread += counter_read(&n->endpoint_unread);
	RB_FOREACH (st, node_stream_tree, &n->streams) {
		node_stream_counts(st, &one);
		for (unsigned i = 0; i < STREAM_NCOUNTERS; i++)
			sum->all[i] += one.all[i];
	}
}

/* For want of time. */
static unsigned long long lost_of(const struct node_stream_counts *c)
{
	return c->overwritten + c->expired + c->shed + c->concealed;
}

unsigned long long node_lost(struct node *n)
{
	struct node_stream_counts sum;

	sum_counters(n, &sum);
	return lost_of(&sum);
}

/* --- the node --- */

static void receiver_info(const struct node *n, unsigned i,
			  struct node_receiver_info *out)
{
	const struct rx *rx = receivers_at(n->receivers, i);
	const struct packet_counters *count = rx_counters(rx);

#define COPY(name, ...) out->name = counter_read(&count->name);
	PACKET_COUNTERS(COPY)
#undef COPY
	out->io = udp_io_names[rx_io(rx)];
	out->cpu = rx_cpu(rx);
	out->streams = receivers_streams(n->receivers, i);
}

/* Each, and their sums. */
static void receivers_info(const struct node *n, struct node_stats *out)
{
	out->rx.io = udp_io_names[n->io];
	out->nreceivers = receivers_count(n->receivers);
	for (unsigned i = 0; i < out->nreceivers; i++) {
		struct node_receiver_info *one = &out->receivers[i];

		receiver_info(n, i, one);
#define ADD(name, ...) out->rx.name += one->name;
		PACKET_COUNTERS(ADD)
#undef ADD
		out->rx.cpu += one->cpu;
	}
}

/* Its place in the table; others have the last one, which is not reported. */
static unsigned codec_number(const struct cr_codec *c)
{
	unsigned i = 0;

	while (i < NODE_CODECS_MAX - 1 && cr_codecs[i] != c)
		i++;
	return i;
}

static void codecs_info(struct node *n, struct node_stats *out)
{
	struct node_stream *st;

	for (out->ncodecs = 0;
	     cr_codecs[out->ncodecs] && out->ncodecs < NODE_CODECS_MAX;
	     out->ncodecs++)
		out->codecs[out->ncodecs] = (struct node_codec_streams){
			.name = cr_codecs[out->ncodecs]->name
		};
	RB_FOREACH (st, node_stream_tree, &n->streams) {
		const struct pipeline_cfg *media =
			&node_stream_settings(st)->media;

		if (st->hung)
			continue;
		out->codecs[codec_number(media->in.codec)].from++;
		out->codecs[codec_number(media->out.codec)].to++;
	}
}

void node_stats(struct node *n, struct node_stats *out)
{
	static struct histogram delay, jitter; /* 15 KiB each: no stack's */
	struct live_load load;

	node_learn(n);
	live_load(n->live, &load);
	*out = (struct node_stats){
		.uptime = clock_now() - n->started,
		.started_utc = n->started_utc,
		.calls = node_calls(n),
		.streams = node_streams(n),
		.relays = n->nrelays,
		.calls_started = n->calls_started,
		.calls_refused = n->calls_refused,
		.queued = load.queued,
		.load = (double)load.load_ppm / 1e6,
		.measured_load = (double)costs_load_ppm(n->costs) / 1e6,
		.bound = (double)load.bound_ppm / 1e6,
		.cpu = clock_read(CLOCK_PROCESS_CPUTIME_ID),
		.nworkers = n->cfg.workers,
	};
	node_scheduler(n, out->scheduler, sizeof(out->scheduler));
	out->faults.count = load.faults;
	(void)pthread_mutex_lock(&n->gone_lock);
	memcpy(out->faults.last, n->fault, sizeof(out->faults.last));
	(void)pthread_mutex_unlock(&n->gone_lock);
	node_watch_info(n, &out->watchdog);
	sum_counters(n, &out->totals);
	out->lost = lost_of(&out->totals);
	receivers_info(n, out);
	out->ninterfaces = n->interfaces.n;
	for (unsigned i = 0; i < out->ninterfaces; i++)
		(void)node_interface(n, i, &out->interfaces[i]);
	codecs_info(n, out);
	for (unsigned w = 0; w < n->cfg.workers; w++)
		live_worker_stats(n->live, w, &out->workers[w]);
	node_histograms(n, &delay, &jitter);
	histogram_summarise(&delay, &out->delay);
	histogram_summarise(&jitter, &out->jitter);
	node_rtcp_stats(n, &out->rtcp);
}

bool node_cost(const struct node *n, unsigned i, struct node_cost_info *out)
{
	return costs_at(n->costs, i, out);
}

/* --- a call --- */

static struct node_side_info side_info(const struct codec_use *s)
{
	return (struct node_side_info){
		.codec = s->codec->name,
		.mode = s->codec->modes[s->cfg.mode].name,
		.pt = s->pt,
		.rate = codec_use_rate(s),
		.amr = s->amr,
		.dtx = s->cfg.dtx,
	};
}

static struct node_admitted admitted_of(const struct stream_cfg *cfg)
{
	struct cr_task t = { 0 };
	cr_ns demand;

	core_set_terms(&t, &cfg->declared);
	demand = cr_task_demand(&t);
	return (struct node_admitted){
		.load = (double)demand / (double)cfg->release.period,
		.cost = demand,
		.mean = t.cost.mean,
		.p99 = t.cost.p99,
		.worst = cr_task_worst(&t),
	};
}

/* The maximum age that control has set. */
static cr_ns max_age(const struct node_stream *st)
{
	cr_ns limit = core_age_limit(st->node->cfg.max_age, task_of_stream(st));

	return limit == CR_NEVER ? 0 : limit;
}

static void fill_settings(const struct node_stream *st,
			  struct node_stream_info *out)
{
	const struct stream_cfg cfg = node_stream_cfg(st);
	const struct node_endpoint *in_endpoint = node_stream_in_endpoint(st);

	*out = (struct node_stream_info){
		.id = cfg.id,
		.relay = node_stream_wants_relay(st),
		.terms = cfg.terms,
		.ptime = cfg.release.period,
		.in = side_info(&cfg.media.in),
		.out = side_info(&cfg.media.out),
		.ssrc = cfg.ssrc_in,
		.out_ssrc = cfg.ssrc_out,
	};
	if (!node_stream_wants_relay(st))
		out->out.ptime = codec_use_packet(&cfg.media.out);
	(void)destination_read(st->stream->out.destination, &out->to);
	node_stream_address(st, out->rtp, sizeof(out->rtp));
	out->interface = in_endpoint ? in_endpoint->interface->cfg.name : NULL;
	if (in_endpoint)
		(void)payload_unknown_text(&in_endpoint->endpoint->unknown,
					   out->unknown, sizeof(out->unknown));
}

void node_stream_info(struct node_stream *st, struct node_stream_info *out)
{
	const struct node_stream *other = node_stream_pair(st);
	struct transcoder *c = node_stream_transcoder(st);

	fill_settings(st, out);
	if (node_stream_wants_relay(st)) {
		memcpy(out->transcoding, "relay", sizeof("relay"));
	} else {
		out->max_age = max_age(st);
		out->admitted = admitted_of(node_stream_settings(st));
		memcpy(out->transcoding, st->cost->name,
		       sizeof(out->transcoding));
		out->cmr_over = st->cmr_over;
		out->waiting = frame_ring_waiting(c->ring);
		out->scheduler = live_scheduler(st->node->live);
		if (!st->call->ending)
			out->npolicy =
				live_explain(st->node->live, &c->lt,
					     out->policy, NODE_POLICY_MAX);
	}
	out->now = clock_now();
	out->age = out->now - st->started;
	out->bytes = stream_bytes(st->stream);
	node_stream_counts(st, &out->count);
	out->lost = lost_of(&out->count);
	out->pair = other ? other->id : 0;
	node_stream_rtcp(st, false, &out->rtcp);
	out->bound = bound_of(st);
	out->promised = out->bound.rule ? &out->bound : NULL;
	out->call = st->call->id;
	out->label = st->call->label;
}

void node_stream_place(struct node_stream *st, struct node_stream_place *out)
{
	const struct stream_cfg *cfg = node_stream_settings(st);

	*out = (struct node_stream_place){
		.id = cfg->id,
		.ssrc_in = cfg->ssrc_in,
		.ssrc_out = cfg->ssrc_out,
		.pt_in = cfg->media.in.pt,
		.pt_out = cfg->media.out.pt,
		.ts_base = cfg->ts_out,
		.clock_in = codec_use_clock(&cfg->media.in),
		.clock_out = codec_use_clock(&cfg->media.out),
		.load = (double)st->cost->cost.mean / (double)st->cost->period,
		.bound = bound_of(st),
	};
	out->promised = out->bound.rule ? &out->bound : NULL;
	node_stream_address(st, out->rtp, sizeof(out->rtp));
}

/* Below that rates say little: 20 packets. Who asks every 500 ms, by a clock
 * that has ticks, has another window each time. */
#define WINDOW_MIN (400 * CR_MS)

/* --- samples --- */

static void sample_all(struct node *n)
{
	cr_ns now = clock_now();
	struct node_stream *st;

	if (n->top_at[1] && now - n->top_at[1] < WINDOW_MIN)
		return;
	n->top_at[0] = n->top_at[1] ? n->top_at[1] : n->started;
	n->top_at[1] = now;
	RB_FOREACH (st, node_stream_tree, &n->streams) {
		struct node_stream_counts c;

		st->was = st->is;
		node_stream_counts(st, &c);
		st->is = (struct node_top_sample){
			.in = c.packets_in,
			.lost = lost_of(&c),
			.missing = c.missing,
			.late = c.late,
			.done = c.done,
			.delay = c.delay_ns,
			.busy = c.busy_ns,
		};
	}
}

/* --- what they did --- */

void node_top_rates(const struct node_stream *st, struct node_top_rates *out)
{
	const struct node_top_sample *a = &st->was, *b = &st->is;
	cr_ns from = cr_ns_max(st->node->top_at[0], st->started);
	double ns = (double)cr_ns_max(st->node->top_at[1] - from, WINDOW_MIN);
	double s = ns / 1e9;
	unsigned long long done = b->done - a->done;

	*out = (struct node_top_rates){
		.in = (double)(b->in - a->in) / s,
		.late = (double)(b->late - a->late) / s,
		.lost = (double)(b->lost - a->lost) / s,
		.missing = (double)(b->missing - a->missing) / s,
		.load = (double)(b->busy - a->busy) / ns,
		.delay = done ? (cr_ns)((b->delay - a->delay) / done) : 0,
	};
}

/* --- RTCP --- */

void node_rtcp_report(struct endpoint *in_endpoint,
		      struct endpoint *out_endpoint, bool last,
		      struct node_rtcp_info *out)
{
	struct endpoint_rtcp_info far = { 0 };

	*out = (struct node_rtcp_info){ 0 };
	if (in_endpoint && in_endpoint->rtcp)
		endpoint_rtcp_report(in_endpoint, last, &out->leads);
	if (out_endpoint && out_endpoint->rtcp)
		endpoint_rtcp_report(out_endpoint, last, &far);
	/* reports of a stream's listener arrive at the endpoint that sends it
	 */
	out->leads.reports = far.reports;
	out->leads.lost_share = far.lost_share;
	out->leads.lost_mean = far.lost_mean;
	out->leads.lost_total = far.lost_total;
	out->leads.far_jitter = far.far_jitter;
	out->leads.round_trips = far.round_trips;
	out->leads.rtt = far.rtt;
	out->leads.rtt_mean = far.rtt_mean;
	out->leads.rtt_min = far.rtt_min;
	out->leads.rtt_max = far.rtt_max;
	if ((in_endpoint && in_endpoint->rtcp) ||
	    (out_endpoint && out_endpoint->rtcp))
		out->is = &out->leads;
}

void node_stream_rtcp(const struct node_stream *st, bool last,
		      struct node_rtcp_info *out)
{
	const struct node_endpoint *in = node_stream_in_endpoint(st);
	const struct node_endpoint *to =
		node_call_out_endpoint(st->call, st->number);

	node_rtcp_report(in ? in->endpoint : NULL, to ? to->endpoint : NULL,
			 last, out);
}

void node_rtcp_histograms(const struct node *n, struct histogram *round_trip,
			  struct histogram *jitter)
{
	memset(round_trip, 0, sizeof(*round_trip));
	memset(jitter, 0, sizeof(*jitter));
	for (unsigned i = 0; i < receivers_count(n->receivers); i++) {
		const struct endpoint_rtcp_sums *s =
			rx_rtcp(receivers_at(n->receivers, i));

		histogram_merge(round_trip, &s->round_trip);
		histogram_merge(jitter, &s->jitter);
	}
}

void node_rtcp_stats(const struct node *n, struct node_rtcp_stats *out)
{
	static struct histogram round_trip, jitter; /* 15 KiB each */

	*out = (struct node_rtcp_stats){ 0 };
	for (unsigned i = 0; i < receivers_count(n->receivers); i++) {
		const struct endpoint_rtcp_sums *s =
			rx_rtcp(receivers_at(n->receivers, i));

		out->sent +=
			atomic_load_explicit(&s->sent, memory_order_relaxed);
		out->reports +=
			atomic_load_explicit(&s->reports, memory_order_relaxed);
		out->lost += (double)atomic_load_explicit(
				     &s->lost_256, memory_order_relaxed) /
			     256;
	}
	node_rtcp_histograms(n, &round_trip, &jitter);
	histogram_summarise(&round_trip, &out->round_trip);
	histogram_summarise(&jitter, &out->jitter);
}

/* --- the first of them --- */

/* Does @a come behind @b? */
static bool is_behind_top(const struct node_top *a, const struct node_top *b)
{
	if (a->value < b->value || a->value > b->value)
		return a->value < b->value;
	if (a->load < b->load || a->load > b->load)
		return a->load < b->load;
	return a->call->id > b->call->id;
}

/* Put @e in its place among the first @n, of @limit. Returns how many then. */
static unsigned put_top(struct node_top *out, unsigned n, unsigned limit,
			const struct node_top *e)
{
	if (n == limit) {
		if (!is_behind_top(&out[n - 1], e))
			return n;
		n--;
	}
	out[n] = *e;
	for (unsigned i = n; i && is_behind_top(&out[i - 1], e); i--) {
		out[i] = out[i - 1];
		out[i - 1] = *e;
	}
	return n + 1;
}

unsigned node_top(struct node *n, enum node_top_key by, struct node_top *out,
		  unsigned limit, cr_ns *window)
{
	struct node_stream *st;
	unsigned found = 0;

	sample_all(n);
	RB_FOREACH (st, node_stream_tree, &n->streams) {
		struct node_top e;
		struct node_top_rates r;
		double value[4];

		if (st->call->ending || st->started > n->top_at[1])
			continue;
		node_top_rates(st, &r);
		value[NODE_TOP_LOSS] = r.lost;
		value[NODE_TOP_MISSING] = r.missing;
		value[NODE_TOP_COST] = r.load;
		value[NODE_TOP_DELAY] = (double)r.delay;
		e = (struct node_top){ value[by], r.load, st };
		found = put_top(out, found, limit, &e);
	}
	*window = n->top_at[1] - n->top_at[0];
	return found;
}
