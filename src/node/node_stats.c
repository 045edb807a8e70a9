/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node tells about itself, as JSON.
 */
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "node/bounds.h"
#include "node/call_terms.h"
#include "node/node_impl.h"

#define KV_MAX 16u

static json_t *integer(unsigned long long n)
{
	return json_integer((json_int_t)n);
}

static unsigned long long relaxed(const atomic_ullong *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static json_t *call_counters_json(const struct call_counters *count)
{
	json_t *o = json_object();

#define SHOW(name, help)                                                       \
	(void)json_object_set_new(o, #name, integer(relaxed(&count->name)));
	CALL_COUNTERS(SHOW)
#undef SHOW
	return o;
}

static json_t *rx_json(const struct node *n)
{
	const struct packet_counters *count = rx_counters(n->rx);
	json_t *o = json_object();

#define SHOW(name, help)                                                       \
	(void)json_object_set_new(o, #name, integer(relaxed(&count->name)));
	PACKET_COUNTERS(SHOW)
#undef SHOW
	(void)json_object_set_new(o, "cpu_ns",
				  integer((unsigned long long)rx_cpu(n->rx)));
	return o;
}

/* Past calls and present ones together. */
static void sum_counters(struct node *n, unsigned long long *sum)
{
	struct node_call *nc;

	memcpy(sum, n->past, CALL_NCOUNTERS * sizeof(*sum));
	RB_FOREACH (nc, node_tree, &n->calls) {
		const struct call_counters *count = &nc->call->count;

#define ADD(name, help) sum[CALL_COUNTER_##name] += relaxed(&count->name);
		CALL_COUNTERS(ADD)
#undef ADD
	}
}

static json_t *totals_json(struct node *n)
{
	unsigned long long sum[CALL_NCOUNTERS];
	json_t *o = json_object();
	unsigned i = 0;

	sum_counters(n, sum);
#define SHOW(name, help)                                                       \
	if (strcmp(#name, "delay_max"))                                        \
		(void)json_object_set_new(o, #name, integer(sum[i]));          \
	i++;
	CALL_COUNTERS(SHOW)
#undef SHOW
	return o;
}

unsigned long long node_lost(struct node *n)
{
	unsigned long long sum[CALL_NCOUNTERS];

	sum_counters(n, sum);
	return sum[CALL_COUNTER_overwritten] + sum[CALL_COUNTER_stale] +
	       sum[CALL_COUNTER_concealed];
}

static json_t *workers_json(struct node *n)
{
	json_t *list = json_array();
	struct live_worker_stats s;

	for (unsigned w = 0; w < n->cfg.workers; w++) {
		live_worker_stats(n->live, w, &s);
		(void)json_array_append_new(
			list,
			json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "busy_ns",
				  (json_int_t)s.busy, "cpu_ns",
				  (json_int_t)s.cpu, "jobs", (json_int_t)s.jobs,
				  "picks", (json_int_t)s.picks, "drops",
				  (json_int_t)s.drops, "wakeups",
				  (json_int_t)s.wakeups, "steals",
				  (json_int_t)s.steals));
	}
	return list;
}

static json_t *histograms_json(struct node *n)
{
	static struct histogram delay, jitter; /* 15 KiB each: no stack's */

	node_histograms(n, &delay, &jitter);
	return json_pack("{s:o,s:o}", "delay", histogram_json(&delay), "jitter",
			 histogram_json(&jitter));
}

/* How often a policy broke its contract, and what it did last. */
static json_t *faults_json(struct node *n, uint64_t count)
{
	char text[sizeof(n->fault)];

	(void)pthread_mutex_lock(&n->gone_lock);
	memcpy(text, n->fault, sizeof(text));
	(void)pthread_mutex_unlock(&n->gone_lock);
	return json_pack("{s:I,s:s}", "count", (json_int_t)count, "last", text);
}

json_t *node_stats(struct node *n)
{
	struct live_load load;
	char spec[320];
	json_t *stats, *times;

	node_learn(n);
	node_scheduler(n, spec, sizeof(spec));
	live_load(n->live, &load);
	stats = json_pack(
		"{s:f,s:s,s:o,s:o,s:i,s:I,s:I,s:i,s:f,s:f,s:f,s:I,s:o,s:o,s:o}",
		"uptime_s", (double)(clock_now() - n->started) / 1e9,
		"scheduler", spec, "scheduler_faults",
		faults_json(n, load.faults), "watchdog", node_watch_json(n),
		"calls", (int)node_calls(n), "calls_started",
		(json_int_t)n->calls_started, "calls_refused",
		(json_int_t)n->calls_refused, "queued", (int)load.queued,
		"load", (double)load.load_ppm / 1e6, "measured_load",
		(double)costs_load_ppm(n->costs) / 1e6, "bound",
		(double)load.bound_ppm / 1e6, "cpu_ns",
		(json_int_t)clock_read(CLOCK_PROCESS_CPUTIME_ID), "totals",
		totals_json(n), "rx", rx_json(n), "workers", workers_json(n));
	times = histograms_json(n);
	(void)json_object_update(stats, times);
	json_decref(times);
	return stats;
}

json_t *node_capacity(struct node *n)
{
	struct live_load load;
	int64_t used, free_ppm;

	live_load(n->live, &load);
	used = costs_load_ppm(n->costs);
	if (load.load_ppm > used)
		used = load.load_ppm;
	free_ppm = load.bound_ppm - used;
	return json_pack(
		"{s:i,s:f,s:f,s:f,s:i,s:i,s:b,s:o}", "workers",
		(int)n->cfg.workers, "bound", (double)load.bound_ppm / 1e6,
		"used", (double)used / 1e6, "free",
		free_ppm > 0 ? (double)free_ppm / 1e6 : 0.0, "calls",
		(int)n->ncalls, "max_calls", (int)n->cfg.max_calls, "admission",
		(int)n->cfg.admission, "costs", costs_json(n->costs));
}

static json_t *side_json(const struct pipeline_side *s, unsigned pt,
			 unsigned mode)
{
	return json_pack("{s:s,s:s,s:i,s:i,s:b,s:b}", "codec", s->codec->name,
			 "mode", s->codec->modes[mode].name, "pt", (int)pt,
			 "rate", (int)pipeline_side_rate(s), "octet_align",
			 (int)s->payload.octet_align, "dtx", (int)s->cfg.dtx);
}

static json_t *policy_json(struct node_call *nc)
{
	struct cr_kv kv[KV_MAX];
	unsigned n = nc->ending ? 0
				: live_explain(nc->node->live, &nc->call->lt,
					       kv, KV_MAX);
	json_t *o = json_object();

	for (unsigned i = 0; i < n; i++)
		(void)json_object_set_new(o, kv[i].key,
					  json_integer(kv[i].value));
	return o;
}

json_t *node_call_json(struct node_call *nc)
{
	const struct call_cfg *cfg = &nc->call->cfg;
	const struct node_call *other = node_call_pair(nc);
	const struct bound bound = bound_of(nc);
	char to[64], here[64];
	json_t *o;

	node_call_address(nc, here, sizeof(here));
	o = json_pack(
		"{s:I,s:s,s:f,s:f,s:f,s:I,s:i,s:o,s:o,s:i,s:s,s:o,s:o,s:s,s:s,"
		"s:I,s:I,s:i,s:I,s:o,s:s,s:o,s:I,s:I}",
		"call", (json_int_t)cfg->id, "class",
		call_class_names[cfg->cls], "age_s",
		(double)(clock_now() - nc->started) / 1e9, "ptime",
		(double)cfg->release.period / 1e6, "deadline",
		(double)cfg->release.rel_deadline / 1e6, "weight",
		(json_int_t)cfg->weight, "nice", cfg->nice, "contract",
		call_contract_json(&cfg->said), "admitted",
		call_admitted_json(cfg), "cmr_over", (int)nc->cmr_over, "pair",
		nc->cost->name, "in",
		side_json(&cfg->media.in, cfg->pt_in, cfg->media.in.cfg.mode),
		"out",
		side_json(&cfg->media.out, cfg->pt_out,
			  pipeline_mode(nc->call->pipeline)),
		"rtp", here, "to", address_text(&cfg->to, to, sizeof(to)),
		"ssrc", (json_int_t)cfg->ssrc_in, "out_ssrc",
		(json_int_t)cfg->ssrc_out, "waiting",
		(int)cr_ring_waiting(nc->call->ring), "bytes",
		(json_int_t)call_bytes(nc->call), "count",
		call_counters_json(&nc->call->count), "scheduler",
		live_policy(nc->node->live)->name, "policy", policy_json(nc),
		"now_ns", (json_int_t)clock_now(), "paired_with",
		(json_int_t)(other ? other->call->cfg.id : 0));
	bound_put(o, &bound);
	return o;
}
