/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a trace's frames to turns, wake-ups, stolen time, costs:
 *
 *   turns by worker -> when received -> how long each held its worker
 *     -> wake-ups, stolen time -> context cost -> what lost frames cost
 */
#include "sim/worker_time.h"

#include <errno.h>
#include <stdlib.h>

#include "base/random.h"
#include "media/transcode.h"

/* Turns of a kind from which its median is believed. */
#define ENOUGH 50u
/* Turns from which the cost of a frame that was not run is drawn. */
#define NEAR 64u
/* No job waits longer, if one may get too old. */
#define LONGEST CR_SEC
/* So many medians of its flow are more than a turn. */
#define STOLEN_MEDIANS 3
/* And so much is more than a wake-up. */
#define STOLEN_WAKE CR_MS

/* A worker slept, and was awake at @to for what had come at @from. */
struct wake_up {
	cr_ns from, to;
	unsigned worker;
};

/* State of the search. */
struct finding {
	struct recording *r;
	const struct worker_time_terms *terms;
	struct replay_job **turn; /* [nturns] by worker and pick */
	size_t nturns;
	struct replay_job **coming; /* [njobs] by arrival */
	struct wake_up *wake;	    /* [nwakes] by time */
	size_t nwakes;
	cr_ns *context; /* [nflows] */
	bool *follows;	/* [nturns] the turn before it was of the same call */
};

/* --- turns --- */

/* It took what a frame takes. */
static bool is_done(const struct replay_job *j)
{
	return replay_is_turn(j) && j->codec &&
	       (j->outcome == CR_OUT_DONE || j->outcome == CR_OUT_SEND_FAILED);
}

static int by_pick(const void *a, const void *b)
{
	const struct replay_job *x = *(struct replay_job *const *)a;
	const struct replay_job *y = *(struct replay_job *const *)b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->pick > y->pick) - (x->pick < y->pick);
}

static int list_turns(struct finding *g, struct cr_err *e)
{
	struct replay *p = &g->r->replay;

	g->turn = malloc(p->njobs * sizeof(struct replay_job *));
	g->follows = calloc(p->njobs, sizeof(*g->follows));
	g->context = calloc(g->terms->nflows, sizeof(*g->context));
	g->wake = malloc(p->njobs * sizeof(*g->wake));
	g->coming = malloc(p->njobs * sizeof(struct replay_job *));
	if (!g->coming || !g->wake || !g->turn || !g->follows || !g->context)
		return recording_no_memory(e);
	for (size_t i = 0; i < p->njobs; i++)
		if (replay_is_turn(&p->job[i]))
			g->turn[g->nturns++] = &p->job[i];
	if (!g->nturns)
		return cr_fail(e, -EINVAL,
			       "%s: no frame of it was worked on, so nobody "
			       "knows what one takes",
			       g->r->path);
	qsort(g->turn, g->nturns, sizeof(*g->turn), by_pick);
	return 0;
}

/* When the one before @j left its worker, or was given up; before the first:
 * long ago. */
static cr_ns left_by_predecessor(const struct replay *p,
				 const struct replay_job *j)
{
	const struct replay_job *before = j - 1;

	if (j == &p->job[p->first[j->call]])
		return INT64_MIN;
	return before->end != CR_NEVER ? before->end : before->pick;
}

/* Did it wait for the one before of its call? Then it became a job with that
 * one's end, and the trace does not say when it had been received. */
static bool is_behind(const struct replay *p, const struct replay_job *j)
{
	return left_by_predecessor(p, j) >= j->at;
}

/* When a worker could have picked @j, had it come from @prev's turn. */
static cr_ns ready_for(const struct replay *p, const struct replay_job *j,
		       const struct replay_job *prev)
{
	if (!is_behind(p, j))
		return j->release != CR_NEVER ? j->release : j->at;
	/* behind one that another worker had; else its call was queued */
	if (replay_is_turn(j - 1) && !(prev && prev->worker == (j - 1)->worker))
		return left_by_predecessor(p, j);
	return j->at;
}

static int by_arrival(const void *a, const void *b)
{
	const struct replay_job *x = *(struct replay_job *const *)a;
	const struct replay_job *y = *(struct replay_job *const *)b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Of jobs by arrival: packets are received in the order in which they came, so
 * what came before one was received before it, and what came later later;
 * between them as long after its arrival as most. */
static void guess_received(struct replay_job **job, size_t n, cr_ns median)
{
	cr_ns bound = CR_NEVER;

	for (size_t i = n; i--;)
		if (job[i]->known)
			bound = cr_ns_min(bound, job[i]->release);
		else
			job[i]->received = -bound; /* at the latest */
	bound = 0;
	for (size_t i = 0; i < n; i++) {
		cr_ns at;

		if (job[i]->known) {
			bound = cr_ns_max(bound, job[i]->release);
			continue;
		}
		at = cr_ns_min(cr_ns_max(bound, job[i]->at + median),
			       -job[i]->received);
		job[i]->received = cr_ns_max(at - job[i]->at, 0);
	}
}

static int by_release(const void *a, const void *b)
{
	const struct replay_job *x = *(struct replay_job *const *)a;
	const struct replay_job *y = *(struct replay_job *const *)b;

	if (x->release != y->release)
		return x->release < y->release ? -1 : 1;
	return (x->pick > y->pick) - (x->pick < y->pick);
}

/* Packets that were received together are jobs from the same instant, one after
 * another. A trace does not have that order; the one in which they were picked
 * is mostly the same. */
static size_t order_together(struct replay *p, struct replay_job **job)
{
	cr_ns instant = CR_NEVER, behind = 0;
	size_t n = 0;

	for (size_t i = 0; i < p->njobs; i++) {
		struct replay_job *j = &p->job[i];

		j->known = j->release != CR_NEVER && !is_behind(p, j);
		if (j->known)
			job[n++] = j;
	}
	if (n)
		qsort(job, n, sizeof(*job), by_release);
	for (size_t i = 0; i < n; i++) {
		behind = job[i]->release == instant ? behind + 1 : 0;
		instant = job[i]->release;
		job[i]->release =
			cr_ns_min(cr_ns_add(instant, behind), job[i]->pick);
	}
	return n;
}

/* From its arrival until it was a job: known of those that found their call
 * idle. */
static int find_received(struct finding *g, struct cr_err *e)
{
	struct replay *p = &g->r->replay;
	size_t n = order_together(p, g->coming);
	cr_ns *known = malloc((n + 1) * sizeof(*known));

	if (!known)
		return recording_no_memory(e);
	for (size_t i = 0; i < n; i++)
		known[i] = g->coming[i]->received =
			cr_ns_max(g->coming[i]->release - g->coming[i]->at, 0);
	for (size_t i = 0; i < p->njobs; i++)
		g->coming[i] = &p->job[i];
	qsort(g->coming, p->njobs, sizeof(*g->coming), by_arrival);
	guess_received(g->coming, p->njobs, worker_time_quantile(known, n, 50));
	free(known);
	return 0;
}

/* Had @c been picked or given up when the worker picked @j after @prev? What
 * was given up meanwhile was too late for that, too. */
static bool turn_is_over(const struct replay_job *c,
			 const struct replay_job *prev,
			 const struct replay_job *j)
{
	if (c->at + LONGEST < j->pick)
		return true;
	if (replay_is_turn(c))
		return c->pick < j->pick;
	return !prev || c->at <= prev->end;
}

/* Since when a job waited for the worker that picked @j after @prev: of those
 * that were not over by then, the first. @begin: all before it in g->coming
 * were over at the worker's last turn, and so they are now. */
static cr_ns waited_since(const struct finding *g,
			  const struct replay_job *prev,
			  const struct replay_job *j, size_t *begin)
{
	const struct replay *p = &g->r->replay;
	cr_ns first = ready_for(p, j, prev);

	if (prev && first <= prev->end)
		return first;
	while (*begin < p->njobs && g->coming[*begin]->at < first &&
	       turn_is_over(g->coming[*begin], prev, j))
		++*begin;
	for (size_t i = *begin; i < p->njobs && g->coming[i]->at < first; i++) {
		const struct replay_job *c = g->coming[i];

		if (!turn_is_over(c, prev, j))
			first = cr_ns_min(first, c->at + c->received);
	}
	return first;
}

/* The turns: how long each held its worker, and how long that had to wake up
 * before. It does not sleep before what it has gathered is sent. */
static void measure_turns(struct finding *g)
{
	struct replay_job *prev = NULL;
	size_t begin = 0;

	for (size_t i = 0; i < g->nturns; i++) {
		struct replay_job *j = g->turn[i];
		cr_ns ready;

		if (prev && prev->worker != j->worker)
			prev = NULL;
		begin = prev ? begin : 0;
		ready = waited_since(g, prev, j, &begin);
		g->follows[i] = prev && prev->call == j->call;
		if (prev && (ready <= prev->end || replay_sent(prev) > j->pick))
			prev->cost = j->pick - prev->pick;
		else if (ready < j->pick)
			g->wake[g->nwakes++] =
				(struct wake_up){ ready, j->pick, j->worker };
		j->cost = replay_sent(j) - j->pick;
		prev = j;
	}
	for (size_t i = 0; i < g->nturns; i++) {
		struct replay_job *j = g->turn[i];

		/* the record of its worker's next turn has the charge */
		j->charged =
			i + 1 < g->nturns && g->turn[i + 1]->worker == j->worker
				? g->turn[i + 1]->charged
				: 0;
		j->cost =
			cr_ns_max(j->cost, cr_ns_max(j->codec + 1, j->charged));
		j->held = j->cost;
		j->uncharged = j->charged ? j->cost - j->charged : 0;
		j->rest = j->pick + j->cost - replay_sent(j);
	}
}

static void find_context(struct finding *g, unsigned flow, cr_ns *scratch)
{
	cr_ns median[2] = { 0 };

	for (unsigned in_row = 0; in_row < 2; in_row++) {
		size_t n = 0;

		for (size_t i = 0; i < g->nturns; i++)
			if (g->terms->flow[g->turn[i]->call] == flow &&
			    is_done(g->turn[i]) && g->follows[i] == in_row)
				scratch[n++] = g->turn[i]->cost;
		if (n < ENOUGH)
			return;
		median[in_row] = worker_time_quantile(scratch, n, 50);
	}
	g->context[flow] = cr_ns_max(median[0] - median[1], 0);
}

static void sum_overheads(struct finding *g, cr_ns *scratch)
{
	struct recording_overheads *o = &g->r->overheads;
	__int128 sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < g->nturns; i++) {
		const struct replay_job *j = g->turn[i];

		o->in_row += g->follows[i];
		if (!is_done(j))
			continue;
		scratch[n] = j->cost - j->codec;
		sum += scratch[n++];
	}
	o->turns = n;
	o->median = worker_time_quantile(scratch, n, 50);
	o->p99 = worker_time_quantile(scratch, n, 99);
	o->mean = n ? (cr_ns)(sum / (__int128)n) : 0;
	for (n = 0; n < g->nwakes; n++)
		scratch[n] = g->wake[n].to - g->wake[n].from;
	o->wakes = n;
	o->wake_median = worker_time_quantile(scratch, n, 50);
	o->wake_p99 = worker_time_quantile(scratch, n, 99);
}

static void add_stolen(struct recording *r, unsigned worker, cr_ns from,
		       cr_ns to)
{
	r->stolen[r->replayed.nstolen++] =
		(struct replay_stolen){ worker, from, to };
	r->overheads.stolen++;
	r->overheads.stolen_sum += to - from;
}

/* The turns of @flow that something else took part in are its median then, and
 * the rest is stolen, from the begin on. */
static void find_stolen_turns(struct finding *g, unsigned flow, cr_ns *scratch)
{
	size_t n = 0;
	cr_ns median;

	for (size_t i = 0; i < g->nturns; i++)
		if (g->terms->flow[g->turn[i]->call] == flow &&
		    is_done(g->turn[i]))
			scratch[n++] = g->turn[i]->cost;
	median = worker_time_quantile(scratch, n, 50);
	for (size_t i = 0; i < g->nturns; i++) {
		struct replay_job *j = g->turn[i];

		if (g->terms->flow[j->call] != flow || !is_done(j))
			continue;
		/* its packets wait no longer than that for other turns; more
		 * was stolen from those */
		j->rest = cr_ns_max(j->rest,
				    -TRANSCODE_WAIT - STOLEN_MEDIANS * median);
		if (j->cost <= STOLEN_MEDIANS * median)
			continue;
		add_stolen(g->r, j->worker, j->pick,
			   j->pick + j->cost - median);
		j->cost = median;
		j->uncharged = 0;
		j->codec = cr_ns_min(j->codec, median - 1);
		j->rest = cr_ns_min(j->rest, median - 1);
	}
}

static int by_worker(const void *a, const void *b)
{
	const struct replay_stolen *x = a, *y = b;

	if (x->worker != y->worker)
		return x->worker < y->worker ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static int find_stolen(struct finding *g, cr_ns *scratch)
{
	struct recording *r = g->r;

	r->stolen = malloc((g->nturns + g->nwakes + 1) * sizeof(*r->stolen));
	if (!r->stolen)
		return -ENOMEM;
	for (unsigned f = 0; f < g->terms->nflows && !r->imported; f++)
		find_stolen_turns(g, f, scratch);
	for (size_t i = 0; i < g->nwakes; i++)
		if (g->wake[i].to - g->wake[i].from > STOLEN_WAKE)
			add_stolen(r, g->wake[i].worker, g->wake[i].from,
				   g->wake[i].to);
	if (!g->terms->own_overheads) { /* it is not played */
		r->replayed.nstolen = r->overheads.stolen = 0;
		r->overheads.stolen_sum = 0;
	}
	qsort(r->stolen, r->replayed.nstolen, sizeof(*r->stolen), by_worker);
	r->replayed.stolen = r->stolen;
	return 0;
}

static int by_begin(const void *a, const void *b)
{
	const struct wake_up *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Nobody picks while the worker wakes up: what comes meanwhile, and nobody else
 * picks, comes when it is awake. Jobs by arrival are nearly so by the time at
 * which they were received. */
static void wait_for_wake_ups(struct finding *g)
{
	struct replay_job **job = g->coming;
	const size_t n = g->r->replay.njobs;
	const cr_ns slack = 100 * CR_MS;
	size_t begin = 0;

	if (g->nwakes)
		qsort(g->wake, g->nwakes, sizeof(*g->wake), by_begin);
	for (size_t w = 0; w < g->nwakes; w++) {
		const struct wake_up *u = &g->wake[w];

		while (begin < n && job[begin]->at + slack < u->from)
			begin++;
		for (size_t i = begin; i < n && job[i]->at < u->to; i++) {
			cr_ns at = job[i]->at + job[i]->received;

			if (at >= u->from && at < u->to &&
			    (!replay_is_turn(job[i]) || job[i]->pick >= u->to))
				job[i]->received = u->to - job[i]->at;
		}
	}
}

/* One context cost for the machine: the median turn's. The rest of what a
 * flow's turns take more stays with them. */
static int find_overheads(struct finding *g, struct cr_err *e)
{
	cr_ns *scratch = malloc(g->nturns * sizeof(*scratch));
	size_t n = 0;

	if (!scratch)
		return recording_no_memory(e);
	measure_turns(g);
	wait_for_wake_ups(g);
	if (find_stolen(g, scratch)) {
		free(scratch);
		return recording_no_memory(e);
	}
	sum_overheads(g, scratch);
	for (unsigned f = 0; f < g->terms->nflows; f++)
		find_context(g, f, scratch);
	for (size_t i = 0; i < g->nturns; i++)
		if (g->context[g->terms->flow[g->turn[i]->call]])
			scratch[n++] =
				g->context[g->terms->flow[g->turn[i]->call]];
	g->r->overheads.context = worker_time_quantile(scratch, n, 50);
	for (size_t i = 0; i < g->nturns; i++)
		if (!g->follows[i])
			g->turn[i]->cost = cr_ns_max(
				g->turn[i]->cost - g->r->overheads.context, 1);
	free(scratch);
	return 0;
}

/* --- what the trace does not say --- */

static int by_pick_time(const void *a, const void *b)
{
	const struct replay_job *x = *(struct replay_job *const *)a;
	const struct replay_job *y = *(struct replay_job *const *)b;

	return (x->pick > y->pick) - (x->pick < y->pick);
}

/* The turns that a lost frame of @flow may be like, by time; all if it has
 * none. */
static size_t examples_of(const struct finding *g, unsigned flow,
			  struct replay_job **example)
{
	size_t n = 0;

	for (size_t i = 0; i < g->nturns; i++)
		if (is_done(g->turn[i]) &&
		    g->terms->flow[g->turn[i]->call] == flow)
			example[n++] = g->turn[i];
	for (size_t i = 0; !n && i < g->nturns; i++)
		example[i] = g->turn[i];
	n = n ? n : g->nturns;
	for (size_t i = 1; i < n; i++) {
		if (by_pick_time(&example[i - 1], &example[i]) <= 0)
			continue; /* those of one worker are in order */
		qsort(example, n, sizeof(struct replay_job *), by_pick_time);
		break;
	}
	return n;
}

/* One of those NEAR of @n whose turns were next to @at: the speed of a machine
 * may change by a third within seconds. */
static const struct replay_job *draw_near(struct replay_job *const *example,
					  size_t n, cr_ns at,
					  struct random *random)
{
	size_t low = 0, high = n, near = n < NEAR ? n : NEAR;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (example[middle]->pick < at)
			low = middle + 1;
		else
			high = middle;
	}
	low = low < near / 2 ? 0 : low - near / 2;
	low = low + near > n ? n - near : low;
	return example[low + (size_t)random_time(random, (cr_ns)near - 1)];
}

static void draw_lost(struct finding *g, unsigned flow,
		      struct replay_job *const *example, size_t n)
{
	struct replay *p = &g->r->replay;
	struct random random = random_fork(g->terms->seed, flow);

	for (size_t i = 0; i < p->njobs; i++) {
		struct replay_job *j = &p->job[i];
		const struct replay_job *like;

		if (g->terms->flow[j->call] != flow || is_done(j))
			continue;
		like = draw_near(example, n,
				 j->pick != CR_NEVER ? j->pick : j->at,
				 &random);
		j->cost = like->cost;
		j->codec = like->codec;
		j->rest = like->rest;
		j->uncharged = like->uncharged;
		g->r->overheads.drawn++;
	}
}

static int complete_jobs(struct finding *g, struct cr_err *e)
{
	struct replay *p = &g->r->replay;
	struct replay_job **example = malloc(g->nturns * sizeof(*g->turn));

	if (!example)
		return recording_no_memory(e);
	for (unsigned f = 0; f < g->terms->nflows; f++)
		draw_lost(g, f, example, examples_of(g, f, example));
	free(example);
	for (size_t i = 0; !g->terms->own_overheads && i < p->njobs; i++) {
		p->job[i].cost = cr_ns_max(p->job[i].codec, 1);
		p->job[i].rest = 0;
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	const cr_ns *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

cr_ns worker_time_quantile(cr_ns *v, size_t n, unsigned percent)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	return v[(n - 1) * percent / 100];
}

int worker_time_find(struct recording *r, const struct worker_time_terms *t,
		     struct cr_err *e)
{
	struct finding g = { .r = r, .terms = t };
	int rc = list_turns(&g, e);

	if (!rc)
		rc = find_received(&g, e);
	if (!rc)
		rc = find_overheads(&g, e);
	if (!rc)
		rc = complete_jobs(&g, e);
	free(g.turn);
	free(g.wake);
	free(g.coming);
	free(g.follows);
	free(g.context);
	return rc;
}

void worker_time_report(const struct recording_overheads *o, FILE *f)
{
	(void)fprintf(f,
		      "calibrated from %zu turns: beside the codecs median "
		      "%.1f us, p99 %.1f us, mean %.1f us;",
		      o->turns, (double)o->median / 1e3, (double)o->p99 / 1e3,
		      (double)o->mean / 1e3);
	if (o->context)
		(void)fprintf(f, " of it context %.1f us",
			      (double)o->context / 1e3);
	else
		(void)fprintf(f, " no context cost (%zu turns in a row)",
			      o->in_row);
	if (o->wakes)
		(void)fprintf(f, "; wake-up median %.1f us, p99 %.1f us (%zu)",
			      (double)o->wake_median / 1e3,
			      (double)o->wake_p99 / 1e3, o->wakes);
	if (o->stolen)
		(void)fprintf(f, "; other programs %.2f s in %zu pieces",
			      (double)o->stolen_sum / 1e9, o->stolen);
	(void)fprintf(f, "; costs of %zu frames drawn\n", o->drawn);
}
