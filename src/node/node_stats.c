/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node tells about itself.
 */
#include <string.h>

#include "base/clock.h"
#include "base/descriptors.h"
#include "node/bounds.h"
#include "node/node_impl.h"

static unsigned long long relaxed(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

/* --- sums --- */

/* Past calls and present ones together, and what no call had at an endpoint. */
static void sum_counters(struct node *n, struct node_totals *sum)
{
	unsigned long long count[CALL_NCOUNTERS];
	struct node_call *nc;

#define PAST(name, label, help) sum->name = n->past[CALL_COUNTER_##name];
	CALL_SUMS(PAST)
#undef PAST
	sum->port_drops += relaxed(&n->endpoint_drops);
	sum->unread += relaxed(&n->endpoint_unread);
	RB_FOREACH (nc, node_tree, &n->calls) {
		node_call_counts(nc, count);
#define ADD(name, label, help) sum->name += count[CALL_COUNTER_##name];
		CALL_SUMS(ADD)
#undef ADD
	}
}

/* For want of time, of struct node_totals or node_call_counts. */
#define LOST_OF(c)                                                             \
	((c)->overwritten + (c)->expired + (c)->shed + (c)->concealed)

unsigned long long node_lost(struct node *n)
{
	struct node_totals sum;

	sum_counters(n, &sum);
	return LOST_OF(&sum);
}

/* --- the node --- */

static void receiver_info(const struct node *n, unsigned i,
			  struct node_receiver_info *out)
{
	const struct rx *rx = receivers_at(n->receivers, i);
	const struct packet_counters *count = rx_counters(rx);

#define COPY(name, label, help) out->name = relaxed(&count->name);
	PACKET_COUNTERS(COPY)
#undef COPY
	out->io = udp_io_names[rx_io(rx)];
	out->cpu = rx_cpu(rx);
	out->calls = receivers_calls(n->receivers, i);
}

/* Each, and their sums. */
static void receivers_info(const struct node *n, struct node_stats *out)
{
	out->rx.io = udp_io_names[n->io];
	out->nreceivers = receivers_count(n->receivers);
	for (unsigned i = 0; i < out->nreceivers; i++) {
		struct node_receiver_info *one = &out->receivers[i];

		receiver_info(n, i, one);
#define ADD(name, label, help) out->rx.name += one->name;
		PACKET_COUNTERS(ADD)
#undef ADD
		out->rx.cpu += one->cpu;
	}
}

static void worker_info(struct node *n, unsigned w,
			struct node_worker_info *out)
{
	struct live_worker_stats s;

	live_worker_stats(n->live, w, &s);
	*out = (struct node_worker_info){
		.busy = s.busy,
		.cpu = s.cpu,
		.jobs = s.jobs,
		.picks = s.picks,
		.drops = s.drops,
		.wakeups = s.wakeups,
		.steals = s.steals,
	};
}

static void interfaces_info(const struct node *n, struct node_stats *out)
{
	out->ninterfaces = n->interfaces.n;
	for (unsigned i = 0; i < out->ninterfaces; i++)
		(void)node_interface(n, i, &out->interfaces[i]);
}

/* Its place in the table; others have the last one, which is not told. */
static unsigned codec_number(const struct cr_codec *c)
{
	unsigned i = 0;

	while (i < NODE_CODECS_MAX - 1 && cr_codecs[i] != c)
		i++;
	return i;
}

static void codecs_info(struct node *n, struct node_stats *out)
{
	struct node_call *nc;

	for (out->ncodecs = 0;
	     cr_codecs[out->ncodecs] && out->ncodecs < NODE_CODECS_MAX;
	     out->ncodecs++)
		out->codecs[out->ncodecs] = (struct node_codec_calls){
			.name = cr_codecs[out->ncodecs]->name
		};
	RB_FOREACH (nc, node_tree, &n->calls) {
		const struct pipeline_cfg *media =
			&node_call_settings(nc)->media;

		if (nc->hung)
			continue;
		out->codecs[codec_number(media->in.codec)].from++;
		out->codecs[codec_number(media->out.codec)].to++;
	}
}

static void times(struct node *n, struct node_stats *out)
{
	static struct histogram delay, jitter; /* 15 KiB each: no stack's */

	node_histograms(n, &delay, &jitter);
	histogram_summarise(&delay, &out->delay);
	histogram_summarise(&jitter, &out->jitter);
}

static void faults(struct node *n, uint64_t count, struct node_faults *out)
{
	out->count = count;
	(void)pthread_mutex_lock(&n->gone_lock);
	memcpy(out->last, n->fault, sizeof(out->last));
	(void)pthread_mutex_unlock(&n->gone_lock);
}

void node_stats(struct node *n, struct node_stats *out)
{
	struct live_load load;

	node_learn(n);
	live_load(n->live, &load);
	*out = (struct node_stats){
		.uptime = clock_now() - n->started,
		.started_utc = n->started_utc,
		.calls = node_calls(n),
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
	faults(n, load.faults, &out->faults);
	node_watch_info(n, &out->watchdog);
	sum_counters(n, &out->totals);
	out->lost = LOST_OF(&out->totals);
	receivers_info(n, out);
	interfaces_info(n, out);
	codecs_info(n, out);
	for (unsigned w = 0; w < n->cfg.workers; w++)
		worker_info(n, w, &out->workers[w]);
	times(n, out);
	node_rtcp_stats(n, &out->rtcp);
}

void node_capacity(struct node *n, struct node_capacity *out)
{
	struct live_load load;
	int64_t used, free_ppm;

	live_load(n->live, &load);
	used = costs_load_ppm(n->costs);
	if (load.load_ppm > used)
		used = load.load_ppm;
	free_ppm = load.bound_ppm - used;
	*out = (struct node_capacity){
		.descriptors = descriptors_limit(),
		.workers = n->cfg.workers,
		.bound = (double)load.bound_ppm / 1e6,
		.used = (double)used / 1e6,
		.free = free_ppm > 0 ? (double)free_ppm / 1e6 : 0,
		.calls = n->ncalls,
		.max_calls = n->cfg.max_calls,
		.admission = n->cfg.admission,
	};
}

bool node_cost(const struct node *n, unsigned i, struct node_cost_info *out)
{
	return costs_at(n->costs, i, out);
}

/* --- a call --- */

static struct node_side_info side_info(const struct pipeline_side *s,
				       unsigned pt)
{
	return (struct node_side_info){
		.codec = s->codec->name,
		.mode = s->codec->modes[s->cfg.mode].name,
		.pt = pt,
		.rate = pipeline_side_rate(s),
		.octet_align = s->payload.octet_align,
		.mode_set = s->payload.mode_set,
		.mode_second = s->payload.mode_second,
		.mode_next = s->payload.mode_next,
		.dtx = s->cfg.dtx,
	};
}

static struct node_admitted admitted(const struct call_cfg *cfg)
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

static void counts(const struct node_call *nc, struct node_call_counts *out)
{
	unsigned long long count[CALL_NCOUNTERS];

	node_call_counts(nc, count);
#define COPY(name, label, help) out->name = count[CALL_COUNTER_##name];
	CALL_COUNTERS(COPY)
#undef COPY
}

/* What control has set, and others have not. */
static cr_ns max_age(const struct node_call *nc)
{
	cr_ns limit =
		core_age_limit(nc->node->cfg.max_age, &nc->call->lt.core.task);

	return limit == CR_NEVER ? 0 : limit;
}

static void settings(const struct node_call *nc, struct node_call_info *out)
{
	const struct call_cfg cfg = node_call_cfg(nc);
	const struct node_endpoint *in_endpoint = node_call_in_endpoint(nc);

	*out = (struct node_call_info){
		.id = cfg.id,
		.relay = nc->relays,
		.terms = cfg.terms,
		.ptime = cfg.release.period,
		.in = side_info(&cfg.media.in, cfg.pt_in),
		.out = side_info(&cfg.media.out, cfg.pt_out),
		.ssrc = cfg.ssrc_in,
		.out_ssrc = cfg.ssrc_out,
	};
	if (!nc->relays)
		out->out.ptime = pipeline_side_packet(&cfg.media.out);
	(void)destination_read(nc->call ? nc->call->destination
					: &nc->relay->out_endpoint->to,
			       &out->to);
	node_call_address(nc, out->rtp, sizeof(out->rtp));
	out->interface = in_endpoint ? in_endpoint->interface->cfg.name : NULL;
	if (in_endpoint)
		(void)payload_unknown_text(&in_endpoint->endpoint->unknown,
					   out->unknown, sizeof(out->unknown));
}

/* What only a task of the engine has. */
static void as_task(struct node_call *nc, struct node_call_info *out)
{
	out->max_age = max_age(nc);
	out->admitted = admitted(call_settings(nc->call));
	memcpy(out->transcoding, nc->cost->name, sizeof(out->transcoding));
	out->cmr_over = nc->cmr_over;
	out->waiting = frame_ring_waiting(nc->call->ring);
	out->scheduler = live_scheduler(nc->node->live);
	if (!nc->ending)
		out->npolicy = live_explain(nc->node->live, &nc->call->lt,
					    out->policy, NODE_POLICY_MAX);
}

void node_call_info(struct node_call *nc, struct node_call_info *out)
{
	const struct node_call *other = node_call_pair(nc);

	settings(nc, out);
	if (nc->relays)
		memcpy(out->transcoding, "relay", sizeof("relay"));
	else
		as_task(nc, out);
	out->now = clock_now();
	out->age = out->now - nc->started;
	out->bytes = (nc->relay ? sizeof(*nc->relay) : 0) +
		     (nc->call ? call_bytes(nc->call) : 0);
	counts(nc, &out->count);
	out->lost = LOST_OF(&out->count);
	out->pair = other ? other->id : 0;
	node_call_rtcp(nc, false, &out->rtcp);
	out->bound = bound_of(nc);
	if (nc->conversation)
		out->label = conversation_label(nc->conversation);
}

void node_call_place(struct node_call *nc, struct node_call_place *out)
{
	const struct call_cfg *cfg = call_settings(nc->call);

	*out = (struct node_call_place){
		.id = cfg->id,
		.ssrc_in = cfg->ssrc_in,
		.ssrc_out = cfg->ssrc_out,
		.pt_in = cfg->pt_in,
		.pt_out = cfg->pt_out,
		.ts_base = cfg->ts_out,
		.clock_in = pipeline_side_clock(&cfg->media.in),
		.clock_out = pipeline_side_clock(&cfg->media.out),
		.load = (double)nc->cost->cost.mean / (double)nc->cost->period,
		.bound = bound_of(nc),
	};
	node_call_address(nc, out->rtp, sizeof(out->rtp));
}
