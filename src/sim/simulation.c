/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The course of a simulation, on a grid of 10 ms:
 *
 *   open -> calls leave, calls join, time goes on until more do -> end, sums
 */
#include "sim/simulation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/assert.h"
#include "base/memory.h"
#include "campaign/plan.h"
#include "schedulers/registry.h"
#include "sim/receivers.h"
#include "sim/workload.h"

static int open_model_files(struct sim_models *m, const struct campaign *c,
			    const struct sim_terms *terms, struct cr_err *e)
{
	char path[4096];
	int rc = cost_models_open(m->costs, c, e);

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		const char *file = c->flows[f].arrival.file;

		rc = voice_model_open(&m->voices[f],
				      &(struct voice_cfg){ c, &c->flows[f],
							   terms->seed,
							   terms->duration },
				      e);
		if (file && !rc)
			rc = replay_open(&m->replays[f],
					 cost_model_path(path, sizeof(path),
							 c->path, file),
					 e);
	}
	return rc;
}

int sim_models_open(struct sim_models *m, const struct campaign *c,
		    const struct sim_terms *terms, struct cr_err *e)
{
	double *share;
	int rc;

	m->costs = calloc(c->flow_count, sizeof(*m->costs));
	m->replays = calloc(c->flow_count, sizeof(*m->replays));
	m->voices = calloc(c->flow_count, sizeof(*m->voices));
	m->counts = calloc(c->flow_count, sizeof(*m->counts));
	if (!m->costs || !m->replays || !m->voices || !m->counts)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = open_model_files(m, c, terms, e);
	if (rc)
		return rc;
	/* Calls of each flow: what load means follows from the cost. */
	share = calloc(c->flow_count, sizeof(*share));
	if (!share)
		return cr_fail(e, -ENOMEM, "out of memory");
	for (unsigned f = 0; f < c->flow_count; f++)
		if (campaign_needs_share(c, f))
			share[f] = (double)m->costs[f].estimate.mean /
				   (double)c->flows[f].ptime;
	rc = campaign_counts(c, share, (double)terms->cpus, 1, m->counts, e);
	free(share);
	return rc;
}

void sim_models_close(struct sim_models *m, const struct campaign *c)
{
	if (m->costs)
		cost_models_close(m->costs, c);
	for (unsigned f = 0; m->replays && f < c->flow_count; f++)
		replay_close(&m->replays[f]);
	for (unsigned f = 0; m->voices && f < c->flow_count; f++)
		voice_model_close(&m->voices[f]);
	free(m->voices);
	free(m->costs);
	free(m->replays);
	free(m->counts);
	*m = (struct sim_models){ 0 };
}

/* Calls join and leave on this grid. */
#define STEP (10 * CR_MS)
/* How far time goes between two looks at the user. A run queue goes so far at a
 * time, and its calls stay in the cache; but a trace is put in order of time
 * over all run queues, step by step. */
#define STRIDE (20 * STEP)
/* A call leaves so long after its last job, as under codec-feeder. */
#define DRAIN (500 * CR_MS)

struct simulation {
	const struct simulation_cfg *cfg;
	struct workload w;
	struct sim *sim;
	struct sim_call *calls;	  /* [plan->count] */
	union call_model *models; /* [plan->count] theirs */
	size_t joined;		  /* calls before it have been asked in */
	uint32_t *leavers;     /* [plan->count] calls by the time they leave */
	size_t nleavers, left; /* before left: gone */
	size_t switched;       /* so many switches are done */
	struct simulation_result *result;
};

/* --- leaving --- */

static cr_ns leave_time(const struct plan_call *c, const struct plan *p)
{
	const struct campaign_flow *f = &p->campaign->flows[c->flow];

	return plan_frame_time(c, f->ptime, c->frames) + DRAIN;
}

struct leaver {
	cr_ns at;
	uint32_t call;
};

static int compare_leave_times(const void *a, const void *b)
{
	const struct leaver *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static void leave_calls(struct simulation *s, cr_ns now)
{
	const struct plan *p = s->cfg->plan;

	for (; s->left < s->nleavers; s->left++) {
		uint32_t i = s->leavers[s->left];

		if (leave_time(&p->calls[i], p) > now)
			break;
		if (s->calls[i].here)
			workload_end(&s->calls[i]);
		workload_fini(&s->calls[i]);
	}
}

/* --- joining --- */

/* Calls that begin before @until. 0 or -ENOMEM. */
static int join_calls(struct simulation *s, cr_ns until)
{
	const struct plan *p = s->cfg->plan;
	struct simulation_result *r = s->result;
	struct cr_verdict v = { 0 };

	for (; s->joined < p->count; s->joined++) {
		const struct plan_call *c = &p->calls[s->joined];
		struct flow_stats *stats = &r->flows[c->flow];
		int rc;

		if (c->start >= until)
			break;
		stats->planned++;
		s->calls[s->joined].model = &s->models[s->joined];
		rc = workload_begin(&s->w, &s->calls[s->joined], c,
				    PLAN_CALL_ID(p, s->joined), &v);
		if (rc == -ENOMEM)
			return rc;
		stats->admitted += !rc;
		stats->refused += rc != 0;
		if (rc && !r->refusal[0])
			core_refusal(sim_core(s->sim), rc, &v, r->refusal,
				     sizeof(r->refusal));
	}
	return 0;
}

/* --- from begin to end --- */

static bool report_sim_progress(struct simulation *s, cr_ns now)
{
	const struct simulation_progress p = {
		.now = now,
		.end = s->cfg->duration,
		.jobs = workload_jobs(&s->w),
	};

	if (s->cfg->progress && !s->cfg->progress(s->cfg->arg, &p))
		s->result->interrupted = true;
	return !s->result->interrupted;
}

/* When calls join or leave next, or the user is looked at: behind @now, on the
 * grid. */
static cr_ns next_look(const struct simulation *s, cr_ns now)
{
	const struct plan *p = s->cfg->plan;
	cr_ns next = now + (s->cfg->trace ? STEP : STRIDE), at;

	if (s->joined < p->count) {
		at = p->calls[s->joined].start / STEP * STEP;
		next = cr_ns_min(next, at);
	}
	if (s->left < s->nleavers) {
		at = leave_time(&p->calls[s->leavers[s->left]], p);
		next = cr_ns_min(next, (at + STEP - 1) / STEP * STEP);
	}
	if (s->switched < s->cfg->nswitches)
		next = cr_ns_min(next, s->cfg->switches[s->switched].at);
	return cr_ns_min(next, s->cfg->duration);
}

static void trace_note(const struct simulation *s, enum cr_trace_note_code code,
		       const char *text)
{
	union cr_trace_record r = {
		.note = { .kind = CR_TRACE_NOTE,
			  .code = (uint8_t)code,
			  .worker = UINT16_MAX,
			  .at = cr_ns_add(s->w.fault.at, WORKLOAD_EPOCH) },
	};

	(void)snprintf(r.note.text, sizeof(r.note.text), "%.*s",
		       (int)sizeof(r.note.text) - 1, text);
	trace_file_put(s->cfg->trace, &r);
}

/* The scheduler has broken its contract. Return whether fifo is to go on. */
static bool meet_fault(struct simulation *s)
{
	const struct workload_fault *f = &s->w.fault;
	struct simulation_fault *reported = &s->result->fault;

	bool met = reported->count > 0;

	reported->count = f->count; /* another scheduler may break it, too */
	if (met)
		return s->cfg->stand_in;
	reported->at = f->at;
	core_fault_text(&f->what, reported->text, sizeof(reported->text));
	if (s->cfg->trace) {
		trace_note(s, CR_NOTE_FAULT, reported->text);
		if (s->cfg->stand_in)
			trace_note(s, CR_NOTE_SWITCHED,
				   cr_sched_fallback->name);
	}
	return s->cfg->stand_in;
}

/* Jobs that end with the campaign still count: time goes on for 1 ns, in which
 * nothing arrives. */
static int play_campaign(struct simulation *s, struct cr_err *e)
{
	const struct simulation_switch *to = s->cfg->switches;
	cr_ns end = s->cfg->duration, now = 0;
	int rc = 0;

	while (now < end && !rc && report_sim_progress(s, now) &&
	       (!s->w.fault.count || meet_fault(s))) {
		leave_calls(s, now);
		/* a scheduler that cannot serve what is there ends the run */
		for (; !rc && s->switched < s->cfg->nswitches &&
		       to[s->switched].at <= now;
		     s->switched++)
			rc = sim_switch(s->sim, to[s->switched].ops,
					to[s->switched].opts, e);
		if (rc)
			break;
		rc = join_calls(s, cr_ns_min(now + STEP, end));
		now = next_look(s, now);
		if (!rc)
			rc = workload_run(&s->w, now == end ? end + 1 : now);
		if (rc)
			(void)cr_fail(e, rc, "out of memory after %.3f s",
				      (double)now / 1e9);
	}
	if (s->w.fault.count)
		(void)meet_fault(s);
	s->result->end = now;
	return rc;
}

static void conclude_simulation(struct simulation *s)
{
	struct simulation_result *r = s->result;

	for (size_t i = 0; i < s->joined; i++) {
		if (s->calls[i].here)
			workload_end(&s->calls[i]);
		workload_fini(&s->calls[i]);
		r->calls[i] = s->calls[i].sum;
		flow_stats_add_call(&r->flows[s->cfg->plan->calls[i].flow],
				    &r->calls[i]);
	}
	for (unsigned f = 0; f < s->cfg->plan->campaign->flow_count; f++) {
		workload_sum(&s->w, f, &r->flows[f]);
		flow_stats_merge(r->total, &r->flows[f]);
	}
	for (unsigned c = 0; c < r->ncpu; c++)
		r->cpu[c] = sim_cpu_stats(s->sim, c);
	for (unsigned i = 0; i < r->nreceivers; i++)
		r->receiver[i] = receivers_stats(s->w.receivers, i, r->end);
}

static bool is_plugin(const struct cr_sched_ops *ops)
{
	for (unsigned i = 0; cr_schedulers[i]; i++)
		if (cr_schedulers[i] == ops)
			return false;
	return true;
}

static struct sim_config config_of(struct simulation *s)
{
	const struct campaign_platform *p = &s->cfg->platform;
	struct sim_config cfg = {
		.core = { .ops = s->cfg->ops,
			  .opts = s->cfg->opts,
			  .ncpu = (unsigned)p->cpus,
			  .cpus_per_rq = (unsigned)campaign_cpus_per_rq(p),
			  .admission = p->admission,
			  .shed = { (enum shed_kind)p->shed, p->shed_wait },
			  .lenient = true, /* the result has faults */
			  .check = is_plugin(s->cfg->ops) },
		.preempt = (enum sim_preempt)p->preempt,
		.quantum = p->quantum,
		.overhead = { p->overhead.decision, p->overhead.context,
			      p->overhead.migration, p->overhead.release,
			      p->overhead.lock },
		.client = workload_client(&s->w),
		.threads = s->cfg->threads,
	};

	for (unsigned c = 0; c < CR_NCLASSES; c++)
		cfg.core.max_age[c] = p->max_age == CAMPAIGN_AGE_AUTO
					      ? CORE_AGE_AUTO
				      : p->max_age == CR_NEVER ? 0
							       : p->max_age;
	return cfg;
}

static int allocate_simulation(struct simulation *s)
{
	const struct plan *p = s->cfg->plan;
	struct simulation_result *r = s->result;
	struct leaver *l;
	size_t n = 0;

	s->calls = pages_map(p->count * sizeof(*s->calls));
	s->models = pages_map(p->count * sizeof(*s->models));
	s->leavers = calloc(p->count, sizeof(*s->leavers));
	r->flows = calloc(p->campaign->flow_count, sizeof(*r->flows));
	r->total = calloc(1, sizeof(*r->total));
	r->calls = calloc(p->count, sizeof(*r->calls));
	if (!s->calls || !s->models || !s->leavers || !r->calls || !r->flows ||
	    !r->total)
		return -ENOMEM;
	/* Calls of flows with holding times that are over before the campaign
	 * is, in the order of leaving. */
	l = calloc(p->count, sizeof(*l));
	if (!l)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		const struct plan_call *c = &p->calls[i];
		cr_ns at = leave_time(c, p);

		if (p->campaign->flows[c->flow].hold.mean != CR_NEVER &&
		    at < s->cfg->duration)
			l[n++] = (struct leaver){ at, (uint32_t)i };
	}
	qsort(l, n, sizeof(*l), compare_leave_times);
	for (size_t i = 0; i < n; i++)
		s->leavers[i] = l[i].call;
	s->nleavers = n;
	free(l);
	return 0;
}

static int open_simulation(struct simulation *s, struct cr_err *e)
{
	const struct plan *p = s->cfg->plan;
	const struct campaign_receivers *rx = &s->cfg->platform.receivers;
	struct sim_config cfg = config_of(s);
	int rc = sim_open(&s->sim, &cfg, 0, e);

	if (rc)
		return rc;
	s->result->ncpu = cfg.core.ncpu;
	s->w = (struct workload){ .cfg = s->cfg,
				  .fault_lock = PTHREAD_MUTEX_INITIALIZER };
	s->result->nreceivers = (unsigned)rx->count;
	if (workload_open(&s->w, s->sim) || allocate_simulation(s) ||
	    (rx->count && sim_receivers_open(&s->w.receivers, rx, p->count)))
		return cr_fail(e, -ENOMEM, "out of memory for %zu calls",
			       p->count);
	return 0;
}

int simulation_run(const struct simulation_cfg *cfg,
		   struct simulation_result *out, struct cr_err *e)
{
	struct simulation_result r = { 0 };
	struct simulation s = { .cfg = cfg, .result = &r };
	int rc = open_simulation(&s, e);

	if (!rc) {
		rc = play_campaign(&s, e);
		conclude_simulation(&s);
	}
	workload_close(&s.w);
	sim_receivers_close(s.w.receivers);
	sim_close(s.sim);
	pages_unmap(s.calls, cfg->plan->count * sizeof(*s.calls));
	pages_unmap(s.models, cfg->plan->count * sizeof(*s.models));
	free(s.leavers);
	if (rc)
		simulation_result_fini(&r);
	else
		*out = r;
	return rc;
}

void simulation_result_fini(struct simulation_result *r)
{
	free(r->flows);
	free(r->total);
	free(r->calls);
	*r = (struct simulation_result){ 0 };
}
