/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a trace to a plan:
 *
 *   read -> calls to flows -> turns -> costs, overheads -> campaign, plan
 */
#include "sim/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/scheduler.h"
#include "engine/shed.h"
#include "sim/simulation.h"

#define NO_WORKER UINT16_MAX
/* Turns of a kind from which its median is believed. */
#define ENOUGH 50u
/* No job waits longer, if one may get too old. */
#define LONGEST CR_SEC
/* So many medians of its flow are more than a turn. */
#define STOLEN_MEDIANS 3
/* And so much is more than a wake-up. */
#define STOLEN_WAKE CR_MS
/* A call's frames that are still under way when the last one has come. */
#define DRAIN (500 * CR_MS)

/* A worker slept, and was awake at @to for what had come at @from. */
struct wake_up {
	cr_ns from, to;
	unsigned worker;
};

/* What is needed while it is opened only. */
struct reading {
	struct recording *r;
	const struct recording_terms *terms;
	bool own_overheads; /* are played */
	json_t *header;
	size_t call_room;
	size_t ncalls;		      /* records */
	struct cr_trace_call *record; /* [ncalls] as read */
	unsigned *flow;		      /* [replay.ncalls] */
	unsigned nflows;
	struct replay_job **turn; /* [nturns] by worker and pick */
	size_t nturns;
	struct replay_job **coming; /* [njobs] by arrival */
	struct wake_up *wake;	    /* [nwakes] by time */
	size_t nwakes;
	cr_ns *context; /* [nflows] */
	bool *follows;	/* [nturns] the turn before it was of the same call */
};

static int no_memory(struct cr_err *e)
{
	return cr_fail(e, -ENOMEM, "out of memory for the recorded run");
}

/* --- reading --- */

static int read_header(void *arg, const char *text, struct cr_err *e)
{
	struct reading *g = arg;
	json_error_t why;

	g->header = json_loads(text, 0, &why);
	/* of a table (codec-report --import) costs are all that is known */
	g->r->imported = json_is_true(json_object_get(g->header, "imported"));
	g->own_overheads = g->terms->own_overheads && !g->r->imported;
	return json_is_object(g->header)
		       ? 0
		       : cr_fail(e, -EINVAL, "%s: its header is no JSON object",
				 g->r->path);
}

static int keep_call(struct reading *g, const struct cr_trace_call *call,
		     struct cr_err *e)
{
	size_t room = g->call_room ? 2 * g->call_room : 256;
	struct cr_trace_call *grown;

	if (g->ncalls == g->call_room) {
		grown = realloc(g->record, room * sizeof(*grown));
		if (!grown)
			return no_memory(e);
		g->record = grown;
		g->call_room = room;
	}
	g->record[g->ncalls++] = *call;
	return 0;
}

static int add_stretch(struct recording *r, const char *scheduler, cr_ns from,
		       struct cr_err *e)
{
	struct recording_stretch *grown =
		realloc(r->stretch, (r->nstretches + 1) * sizeof(*grown));

	if (!grown)
		return no_memory(e);
	r->stretch = grown;
	if (r->nstretches && !r->blocks)
		grown[r->nstretches - 1].to = from;
	grown[r->nstretches] =
		(struct recording_stretch){ .from = from, .to = CR_NEVER };
	(void)snprintf(grown[r->nstretches].scheduler, sizeof(grown->scheduler),
		       "%s", scheduler);
	r->nstretches++;
	return 0;
}

static int read_note(struct recording *r, const struct cr_trace_note *n,
		     struct cr_err *e)
{
	r->lost += n->code == CR_NOTE_LOST ? n->count : 0;
	r->changes += n->code == CR_NOTE_CHANGED;
	return n->code == CR_NOTE_SWITCHED ? add_stretch(r, n->text, n->at, e)
					   : 0;
}

static int read_other(void *arg, const union cr_trace_record *record,
		      struct cr_err *e)
{
	struct reading *g = arg;

	if (record->kind == CR_TRACE_CALL)
		return keep_call(g, &record->call, e);
	return read_note(g->r, &record->note, e);
}

static const char *header_text(const struct reading *g, const char *key,
			       const char *otherwise)
{
	const char *text = json_string_value(json_object_get(g->header, key));

	return text ? text : otherwise;
}

static int64_t header_number(const struct reading *g, const char *key,
			     int64_t otherwise)
{
	const json_t *n = json_object_get(g->header, key);

	return json_is_integer(n) ? json_integer_value(n) : otherwise;
}

/* blocks.json: where its schedulers were at work, warmed up. */
static int read_block(struct recording *r, const json_t *block, cr_ns warm_up,
		      struct cr_err *e)
{
	const char *name =
		json_string_value(json_object_get(block, "scheduler"));
	const json_t *from = json_object_get(block, "begin_ns");
	const json_t *to = json_object_get(block, "end_ns");
	int rc;

	if (!name || !json_is_integer(from) || !json_is_integer(to))
		return cr_fail(e, -EINVAL,
			       "blocks.json: a block needs scheduler, begin_ns "
			       "and end_ns");
	if (json_integer_value(json_object_get(block, "round")) < 1)
		return 0;
	rc = add_stretch(r, name, json_integer_value(from) + warm_up, e);
	if (rc)
		return rc;
	r->stretch[r->nstretches - 1].to = json_integer_value(to);
	/* a copy under another name is the same policy */
	r->stretch[r->nstretches - 1].scheduler[strcspn(
		r->stretch[r->nstretches - 1].scheduler, "#")] = '\0';
	return 0;
}

static int read_blocks(struct recording *r, const char *dir, struct cr_err *e)
{
	char path[4200];
	json_error_t why;
	json_t *j, *blocks;
	double warm_up;
	int rc = 0;

	(void)snprintf(path, sizeof(path), "%s/blocks.json", dir);
	j = json_load_file(path, 0, &why);
	if (!j && json_error_code(&why) == json_error_cannot_open_file)
		return 0;
	blocks = json_object_get(j, "blocks");
	if (!json_is_array(blocks)) {
		json_decref(j);
		return cr_fail(e, -EINVAL, "%s: holds no blocks", path);
	}
	r->blocks = true;
	r->nstretches = 0; /* the trace's notes have the switches, too */
	warm_up = json_number_value(json_object_get(j, "warm_up_s"));
	for (size_t i = 0; i < json_array_size(blocks) && !rc; i++)
		rc = read_block(r, json_array_get(blocks, i),
				(cr_ns)(warm_up * 1e9), e);
	json_decref(j);
	return rc;
}

/* The path of the trace; true: it is in the folder @path. */
static bool find_trace(struct recording *r, const char *path)
{
	struct stat is;
	bool folder = !stat(path, &is) && S_ISDIR(is.st_mode);

	(void)snprintf(r->path, sizeof(r->path), folder ? "%s/trace.bin" : "%s",
		       path);
	return folder;
}

static int read_all(struct reading *g, const char *path, struct cr_err *e)
{
	struct recording *r = g->r;
	const struct replay_listener l = { read_header, read_other, g };
	bool folder = find_trace(r, path);
	struct recording_stretch *first;
	int rc = add_stretch(r, "", 0, e);

	if (!rc)
		rc = replay_read(&r->replay, r->path, &l, e);
	if (rc)
		return rc;
	first = &r->stretch[0];
	(void)snprintf(
		first->scheduler, sizeof(first->scheduler), "%s",
		header_text(g, "options", header_text(g, "scheduler", "")));
	if (folder)
		rc = read_blocks(r, path, e);
	for (unsigned i = 0; i < r->nstretches; i++) {
		struct recording_stretch *s = &r->stretch[i];

		s->from -= r->replay.begin;
		if (s->to != CR_NEVER)
			s->to -= r->replay.begin;
	}
	return rc;
}

/* --- calls and flows --- */

static int by_id(const void *a, const void *b)
{
	const struct cr_trace_call *x = a, *y = b;

	return (x->call > y->call) - (x->call < y->call);
}

/* What the record of each call that sent a frame says, in the replay's order.
 */
static int match_calls(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;

	r->call = calloc(r->replay.ncalls, sizeof(*r->call));
	if (!r->call)
		return no_memory(e);
	if (g->ncalls)
		qsort(g->record, g->ncalls, sizeof(*g->record), by_id);
	for (size_t i = 0; i < r->replay.ncalls; i++) {
		const struct cr_trace_call key = { .call = r->replay.id[i] };
		const struct cr_trace_call *found =
			g->ncalls ? bsearch(&key, g->record, g->ncalls,
					    sizeof(key), by_id)
				  : NULL;

		if (!found)
			return cr_fail(e, -EINVAL,
				       "%s: has frames of call %" PRIu32
				       ", but no record of that call",
				       r->path, key.call);
		r->call[i] = *found;
		if (!r->call[i].weight)
			r->call[i].weight = 1024;
	}
	return 0;
}

static bool same_terms(const struct cr_trace_call *a,
		       const struct cr_trace_call *b)
{
	return !memcmp(a->codec_in, b->codec_in,
		       sizeof(a->codec_in) + sizeof(a->mode_in) +
			       sizeof(a->codec_out) + sizeof(a->mode_out)) &&
	       a->cls == b->cls && a->weight == b->weight &&
	       a->nice == b->nice && a->rel_deadline == b->rel_deadline &&
	       a->ptime_us_div_250 == b->ptime_us_div_250;
}

/* The flow of each call, and the first call of each; calls of the same terms
 * are neighbours mostly. */
static int find_flows(struct reading *g, struct cr_err *e)
{
	const struct recording *r = g->r;
	size_t *first = malloc(r->replay.ncalls * sizeof(*first));

	g->flow = calloc(r->replay.ncalls, sizeof(*g->flow));
	for (size_t i = 0; first && g->flow && i < r->replay.ncalls; i++) {
		unsigned f = 0;

		while (f < g->nflows &&
		       !same_terms(&r->call[first[f]], &r->call[i]))
			f++;
		if (f == g->nflows)
			first[g->nflows++] = i;
		g->flow[i] = f;
	}
	free(first);
	return g->nflows ? 0 : no_memory(e);
}

/* Those of a flow become neighbours. */
static int group_calls(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;
	size_t n = r->replay.ncalls, next = 0;
	uint32_t *number = malloc(n * sizeof(*number));
	struct cr_trace_call *call = malloc((n + 1) * sizeof(*call));
	unsigned *flow = malloc(n * sizeof(*flow));
	int rc = number && call && flow ? 0 : -ENOMEM;

	for (unsigned f = 0; !rc && f < g->nflows; f++)
		for (size_t i = 0; i < n; i++)
			if (g->flow[i] == f) {
				call[next] = r->call[i];
				flow[next] = f;
				number[i] = (uint32_t)next++;
			}
	if (!rc)
		rc = replay_renumber(&r->replay, number);
	free(number);
	if (rc) {
		free(call);
		free(flow);
		return no_memory(e);
	}
	free(r->call);
	free(g->flow);
	r->call = call;
	g->flow = flow;
	return 0;
}

/* --- turns --- */

static bool is_turn(const struct replay_job *j)
{
	return j->worker != NO_WORKER && j->pick != CR_NEVER &&
	       j->end != CR_NEVER;
}

/* It took what a frame takes. */
static bool is_done(const struct replay_job *j)
{
	return is_turn(j) && j->codec &&
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

static int list_turns(struct reading *g, struct cr_err *e)
{
	struct replay *p = &g->r->replay;

	g->turn = malloc(p->njobs * sizeof(struct replay_job *));
	g->follows = calloc(p->njobs, sizeof(*g->follows));
	g->context = calloc(g->nflows, sizeof(*g->context));
	g->wake = malloc(p->njobs * sizeof(*g->wake));
	g->coming = malloc(p->njobs * sizeof(struct replay_job *));
	if (!g->coming || !g->wake || !g->turn || !g->follows || !g->context)
		return no_memory(e);
	for (size_t i = 0; i < p->njobs; i++)
		if (is_turn(&p->job[i]))
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
	if (is_turn(j - 1) && !(prev && prev->worker == (j - 1)->worker))
		return left_by_predecessor(p, j);
	return j->at;
}

static int by_value(const void *a, const void *b)
{
	const cr_ns *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of @n values, which it sorts; 0: there are none. */
static cr_ns quantile(cr_ns *v, size_t n, unsigned percent)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_value);
	return v[(n - 1) * percent / 100];
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

/* From its arrival until it was a job: known of those that found their call
 * idle. */
static int find_received(struct reading *g, struct cr_err *e)
{
	struct replay *p = &g->r->replay;
	cr_ns *known = malloc(p->njobs * sizeof(*known));
	size_t n = 0;

	for (size_t i = 0; known && i < p->njobs; i++) {
		struct replay_job *j = g->coming[i] = &p->job[i];

		j->known = j->release != CR_NEVER && !is_behind(p, j);
		if (j->known)
			known[n++] = j->received =
				cr_ns_max(j->release - j->at, 0);
	}
	if (!known)
		return no_memory(e);
	qsort(g->coming, p->njobs, sizeof(*g->coming), by_arrival);
	guess_received(g->coming, p->njobs, quantile(known, n, 50));
	free(known);
	return 0;
}

static cr_ns sent_of(const struct replay_job *j)
{
	return j->sent != CR_NEVER ? j->sent : j->end;
}

/* Since when a job waited for the worker that picked @j after @prev: of those
 * that nobody had picked or given up by then, the first. @begin: where the last
 * search in g->coming began. */
static cr_ns waited_since(const struct reading *g,
			  const struct replay_job *prev,
			  const struct replay_job *j, size_t *begin)
{
	const struct replay *p = &g->r->replay;
	cr_ns first = ready_for(p, j, prev);

	if (prev && first <= prev->end)
		return first;
	while (*begin < p->njobs && g->coming[*begin]->at + LONGEST < j->pick)
		++*begin;
	for (size_t i = *begin; i < p->njobs && g->coming[i]->at < first; i++) {
		const struct replay_job *c = g->coming[i];

		/* given up meanwhile: it was too late for that, too */
		if (is_turn(c) ? c->pick >= j->pick : prev && c->at > prev->end)
			first = cr_ns_min(first, c->at + c->received);
	}
	return first;
}

/* The turns: how long each held its worker, and how long that had to wake up
 * before. It does not sleep before what it has gathered is sent. */
static void measure_turns(struct reading *g)
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
		if (prev && (ready <= prev->end || sent_of(prev) > j->pick))
			prev->cost = j->pick - prev->pick;
		else if (ready < j->pick)
			g->wake[g->nwakes++] =
				(struct wake_up){ ready, j->pick, j->worker };
		j->cost = sent_of(j) - j->pick;
		prev = j;
	}
	for (size_t i = 0; i < g->nturns; i++) {
		struct replay_job *j = g->turn[i];

		j->cost = cr_ns_max(j->cost, j->codec + 1);
		j->rest = j->pick + j->cost - sent_of(j);
	}
}

static void find_context(struct reading *g, unsigned flow, cr_ns *scratch)
{
	cr_ns median[2] = { 0 };

	for (unsigned in_row = 0; in_row < 2; in_row++) {
		size_t n = 0;

		for (size_t i = 0; i < g->nturns; i++)
			if (g->flow[g->turn[i]->call] == flow &&
			    is_done(g->turn[i]) && g->follows[i] == in_row)
				scratch[n++] = g->turn[i]->cost;
		if (n < ENOUGH)
			return;
		median[in_row] = quantile(scratch, n, 50);
	}
	g->context[flow] = cr_ns_max(median[0] - median[1], 0);
}

static void sum_overheads(struct reading *g, cr_ns *scratch)
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
	o->median = quantile(scratch, n, 50);
	o->p99 = quantile(scratch, n, 99);
	o->mean = n ? (cr_ns)(sum / (__int128)n) : 0;
	for (n = 0; n < g->nwakes; n++)
		scratch[n] = g->wake[n].to - g->wake[n].from;
	o->wakes = n;
	o->wake_median = quantile(scratch, n, 50);
	o->wake_p99 = quantile(scratch, n, 99);
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
static void find_stolen_turns(struct reading *g, unsigned flow, cr_ns *scratch)
{
	size_t n = 0;
	cr_ns median;

	for (size_t i = 0; i < g->nturns; i++)
		if (g->flow[g->turn[i]->call] == flow && is_done(g->turn[i]))
			scratch[n++] = g->turn[i]->cost;
	median = quantile(scratch, n, 50);
	for (size_t i = 0; i < g->nturns; i++) {
		struct replay_job *j = g->turn[i];

		if (g->flow[j->call] != flow || !is_done(j) ||
		    j->cost <= STOLEN_MEDIANS * median)
			continue;
		add_stolen(g->r, j->worker, j->pick,
			   j->pick + j->cost - median);
		j->cost = median;
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

static int find_stolen(struct reading *g, cr_ns *scratch)
{
	struct recording *r = g->r;

	r->stolen = malloc((g->nturns + g->nwakes + 1) * sizeof(*r->stolen));
	if (!r->stolen)
		return -ENOMEM;
	for (unsigned f = 0; f < g->nflows && !r->imported; f++)
		find_stolen_turns(g, f, scratch);
	for (size_t i = 0; i < g->nwakes; i++)
		if (g->wake[i].to - g->wake[i].from > STOLEN_WAKE)
			add_stolen(r, g->wake[i].worker, g->wake[i].from,
				   g->wake[i].to);
	if (!g->own_overheads)
		r->replayed.nstolen = 0;
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
static void wait_for_wake_ups(struct reading *g)
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
			    (!is_turn(job[i]) || job[i]->pick >= u->to))
				job[i]->received = u->to - job[i]->at;
		}
	}
}

/* One context cost for the machine: the median turn's. The rest of what a
 * flow's turns take more stays with them. */
static int find_overheads(struct reading *g, struct cr_err *e)
{
	cr_ns *scratch = malloc(g->nturns * sizeof(*scratch));
	size_t n = 0;

	if (!scratch)
		return no_memory(e);
	measure_turns(g);
	wait_for_wake_ups(g);
	if (find_stolen(g, scratch)) {
		free(scratch);
		return no_memory(e);
	}
	sum_overheads(g, scratch);
	for (unsigned f = 0; f < g->nflows; f++)
		find_context(g, f, scratch);
	for (size_t i = 0; i < g->nturns; i++)
		if (g->context[g->flow[g->turn[i]->call]])
			scratch[n++] = g->context[g->flow[g->turn[i]->call]];
	g->r->overheads.context = quantile(scratch, n, 50);
	for (size_t i = 0; i < g->nturns; i++)
		if (!g->follows[i])
			g->turn[i]->cost = cr_ns_max(
				g->turn[i]->cost - g->r->overheads.context, 1);
	free(scratch);
	return 0;
}

/* --- what the trace does not say --- */

/* The turns that a lost frame of @flow may be like; all if it has none. */
static size_t examples_of(const struct reading *g, unsigned flow,
			  struct replay_job **example)
{
	size_t n = 0;

	for (size_t i = 0; i < g->nturns; i++)
		if (is_done(g->turn[i]) && g->flow[g->turn[i]->call] == flow)
			example[n++] = g->turn[i];
	for (size_t i = 0; !n && i < g->nturns; i++)
		example[i] = g->turn[i];
	return n ? n : g->nturns;
}

static void draw_lost(struct reading *g, unsigned flow,
		      struct replay_job *const *example, size_t n)
{
	struct replay *p = &g->r->replay;
	struct random random = random_fork(g->terms->seed, flow);

	for (size_t i = 0; i < p->njobs; i++) {
		struct replay_job *j = &p->job[i];
		const struct replay_job *like;

		if (g->flow[j->call] != flow || is_done(j))
			continue;
		like = example[random_time(&random, (cr_ns)n - 1)];
		j->cost = like->cost;
		j->codec = like->codec;
		j->rest = like->rest;
		g->r->overheads.drawn++;
	}
}

static int complete_jobs(struct reading *g, struct cr_err *e)
{
	struct replay *p = &g->r->replay;
	struct replay_job **example = malloc(g->nturns * sizeof(*g->turn));

	if (!example)
		return no_memory(e);
	for (unsigned f = 0; f < g->nflows; f++)
		draw_lost(g, f, example, examples_of(g, f, example));
	free(example);
	for (size_t i = 0; !g->own_overheads && i < p->njobs; i++) {
		p->job[i].cost = cr_ns_max(p->job[i].codec, 1);
		p->job[i].rest = 0;
	}
	return 0;
}

/* --- the campaign --- */

/* The schedulers of the stretches, each once. The kernel's run live only. */
static int list_schedulers(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;

	r->schedulers = calloc(r->nstretches, sizeof(*r->schedulers));
	if (!r->schedulers)
		return no_memory(e);
	for (unsigned i = 0; i < r->nstretches; i++) {
		unsigned k = 0;

		while (k < r->nschedulers &&
		       strcmp(r->schedulers[k], r->stretch[i].scheduler) != 0)
			k++;
		if (k == r->nschedulers && r->stretch[i].scheduler[0] &&
		    strncmp(r->stretch[i].scheduler, "kernel:", 7) != 0)
			r->schedulers[r->nschedulers++] =
				r->stretch[i].scheduler;
	}
	return 0;
}

static void put_schedulers(const struct recording *r, FILE *f)
{
	for (unsigned i = 0; i < r->nschedulers; i++)
		(void)fprintf(f, "%s\"%s\"", i ? ", " : "schedulers: [",
			      r->schedulers[i]);
	(void)fputs(r->nschedulers ? "]\n" : "", f);
}

static cr_ns period_of(const struct cr_trace_call *c)
{
	if (c->ptime_us_div_250)
		return c->ptime_us_div_250 * 250 * CR_US;
	return c->cls == CR_BE ? 20 * CR_MS : cr_ns_max(c->rel_deadline, CR_US);
}

static cr_ns duration_of(const struct recording *r)
{
	cr_ns last = 0;

	for (size_t i = 0; i < r->replay.njobs; i++)
		last = cr_ns_max(last, r->replay.job[i].at);
	return last + DRAIN;
}

static void put_platform(const struct reading *g, FILE *f)
{
	int64_t workers = header_number(g, "workers", 1);
	int64_t per_rq = header_number(g, "cpus_per_rq", 0);
	/* by the deadlines, as the daemon's default, where it does not say */
	int64_t age = header_number(g, "max_age_ns", g->r->imported ? 0 : -1);
	int64_t wait = header_number(g, "shed_wait_ns", 0);
	const char *shed = header_text(g, "shed", "age");

	(void)fprintf(f,
		      "duration: %" PRId64 "ns\nplatform:\n  cpus: %" PRId64
		      "\n  run-queues: %" PRId64 "\n",
		      duration_of(g->r), workers,
		      per_rq ? (workers + per_rq - 1) / per_rq : 1);
	if (g->own_overheads && g->r->overheads.context)
		(void)fprintf(f, "  overhead: {context: %" PRId64 "ns}\n",
			      g->r->overheads.context);
	(void)fprintf(f, "daemon:\n  admission: off\n  max-age: ");
	if (age > 0)
		(void)fprintf(f, "%" PRId64 "ns\n", age);
	else
		(void)fprintf(f, "%s\n", age ? "auto" : "none");
	(void)fprintf(f, "  shed: %s\n", shed);
	if (wait && strcmp(shed, "age"))
		(void)fprintf(f, "  shed-wait: %" PRId64 "ns\n", wait);
}

/* A name may hold what a file's may. */
static void put_name(FILE *f, const struct cr_trace_call *c, unsigned flow)
{
	char name[CAMPAIGN_NAME_MAX];
	bool codecs = strcmp(c->codec_out, "synthetic") != 0;

	(void)snprintf(name, sizeof(name) - 5, "%.12s%s%.12s", c->codec_in,
		       codecs ? "-" : "", codecs ? c->codec_out : "");
	for (char *s = name; *s; s++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
			    "Y"
			    "Z0123456789-_.",
			    *s))
			*s = '_';
	(void)fprintf(f, flow ? "  - name: %s-%u\n" : "  - name: %s\n",
		      *name ? name : "calls", flow + 1);
}

static void put_flow(const struct reading *g, unsigned flow, FILE *f)
{
	static const char *const classes[] = { "hard", "soft", "best-effort" };
	const struct cr_trace_call *c = NULL;
	const char *file = strrchr(g->r->path, '/');
	size_t count = 0;

	for (size_t i = 0; i < g->r->replay.ncalls; i++)
		if (g->flow[i] == flow) {
			c = &g->r->call[i];
			count++;
		}
	if (!c)
		return;
	put_name(f, c, flow);
	(void)fprintf(f,
		      "    count: %zu\n    period: %" PRId64 "ns\n    class: "
		      "%s\n    weight: %" PRIu32 "\n    nice: %d\n",
		      count, period_of(c),
		      classes[c->cls < 3 ? c->cls : CR_SOFT], c->weight,
		      c->nice);
	if (c->cls != CR_BE)
		(void)fprintf(f, "    deadline: %" PRId64 "ns\n",
			      c->rel_deadline);
	if (header_number(g, "ring_frames", 0))
		(void)fprintf(f, "    ring: %" PRId64 "\n",
			      header_number(g, "ring_frames", 0));
	(void)fprintf(f,
		      "    arrival: {model: trace, file: \"%s\"}\n    cost: "
		      "{model: trace, file: \"%s\"}\n",
		      file ? file + 1 : g->r->path,
		      file ? file + 1 : g->r->path);
}

/* As a file would describe it, so that all that can be set of a campaign can
 * be of this one. */
static int make_campaign(struct reading *g, struct cr_err *e)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	bool bad;
	int rc;

	if (!f)
		return no_memory(e);
	(void)fprintf(f, "# a recorded run\n");
	put_schedulers(g->r, f);
	put_platform(g, f);
	(void)fprintf(f, "flows:\n");
	for (unsigned i = 0; i < g->nflows; i++)
		put_flow(g, i, f);
	bad = ferror(f);
	bad |= fclose(f) != 0;
	rc = bad ? no_memory(e)
		 : campaign_parse_with(text, size, g->r->path, g->terms->set,
				       &g->r->campaign, e);
	free(text);
	return rc;
}

/* --- plan and models --- */

static int by_start(const void *a, const void *b)
{
	const struct plan_call *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static int make_plan(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;
	const struct replay *p = &r->replay;
	unsigned index = 0;

	r->plan = (struct plan){
		.campaign = r->campaign,
		.calls = calloc(p->ncalls, sizeof(*r->plan.calls)),
		.count = p->ncalls,
	};
	if (!r->plan.calls)
		return no_memory(e);
	for (size_t i = 0; i < p->ncalls; i++) {
		cr_ns first = p->job[p->first[i]].at;
		cr_ns joined = r->call[i].start - p->begin;
		const struct campaign_flow *f = &r->campaign->flows[g->flow[i]];

		index = i && g->flow[i] == g->flow[i - 1] ? index + 1 : 0;
		joined = cr_ns_max(cr_ns_min(joined, first), 0);
		r->plan.calls[i] = (struct plan_call){
			.flow = g->flow[i],
			.index = index,
			.seed = plan_call_seed(g->terms->seed, g->flow[i],
					       index),
			.start = joined,
			.frames = (uint64_t)(r->campaign->duration / f->ptime) +
				  1,
			.id = p->id[i],
		};
	}
	qsort(r->plan.calls, p->ncalls, sizeof(*r->plan.calls), by_start);
	return 0;
}

/* The part of the calls from @from on, @n of them. */
static struct replay part_of(const struct recording *r, size_t from, size_t n)
{
	struct replay p = r->replay;

	p.first += from;
	p.id += from;
	p.ncalls = n;
	p.recorded = &r->call[from];
	p.borrowed = true;
	return p;
}

/* Declared is what was declared then, if the trace has it. */
static void set_flow_models(struct recording *r, unsigned flow, size_t from,
			    size_t n)
{
	struct cost_model *m = &r->models.costs[flow];
	const struct cr_trace_call *c = &r->call[from];

	r->models.replays[flow] = part_of(r, from, n);
	cost_model_replay(m, &r->campaign->flows[flow],
			  &r->models.replays[flow]);
	if (c->cost_mean <= 0)
		return;
	m->estimate.mean = c->cost_mean;
	m->estimate.p99 = cr_ns_max(c->cost_p99, c->cost_mean);
}

static int make_models(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;
	struct sim_models *m = &r->models;
	size_t n = r->replay.ncalls, from = 0;

	m->costs = calloc(g->nflows, sizeof(*m->costs));
	m->replays = calloc(g->nflows, sizeof(*m->replays));
	m->voices = calloc(g->nflows, sizeof(*m->voices));
	r->replayed.first = r->replay.job;
	r->replayed.per_rq =
		(unsigned)campaign_cpus_per_rq(&r->campaign->platform);
	r->replayed.job = malloc(r->replay.njobs * sizeof(*r->replayed.job));
	if (!m->costs || !m->replays || !m->voices || !r->replayed.job)
		return no_memory(e);
	for (size_t i = 1; i <= n; i++)
		if (i == n || g->flow[i] != g->flow[from]) {
			set_flow_models(r, g->flow[from], from, i - from);
			from = i;
		}
	return 0;
}

static int open_steps(struct reading *g, const char *path, struct cr_err *e)
{
	int (*const step[])(struct reading *, struct cr_err *) = {
		match_calls,   find_flows,     group_calls,   list_turns,
		find_received, find_overheads, complete_jobs, list_schedulers,
		make_campaign, make_plan,      make_models,
	};
	int rc = read_all(g, path, e);

	for (unsigned i = 0; i < sizeof(step) / sizeof(*step) && !rc; i++)
		rc = step[i](g, e);
	return rc;
}

int recording_open(struct recording *r, const char *path,
		   const struct recording_terms *t, struct cr_err *e)
{
	struct reading g = { .r = r, .terms = t };
	int rc;

	*r = (struct recording){ 0 };
	rc = open_steps(&g, path, e);
	json_decref(g.header);
	free(g.record);
	free(g.flow);
	free(g.turn);
	free(g.wake);
	free(g.coming);
	free(g.follows);
	free(g.context);
	return rc;
}

void recording_close(struct recording *r)
{
	if (r->campaign)
		sim_models_close(&r->models, r->campaign);
	plan_fini(&r->plan);
	campaign_free(r->campaign);
	replay_close(&r->replay);
	free(r->replayed.job);
	free(r->call);
	free(r->stretch);
	free(r->stolen);
	free(r->schedulers);
	*r = (struct recording){ 0 };
}

void recording_rewind(const struct recording *r)
{
	for (size_t i = 0; i < r->replay.njobs; i++)
		r->replayed.job[i] = (struct replayed_job){ CR_NEVER, CR_NEVER,
							    CR_OUT_CANCELLED };
}

/* --- then and now --- */

/* Frames of one kind, and what became of them. */
struct became {
	size_t frames, lost;
	cr_ns p50, p99;
};

static bool same_scheduler(const char *recorded, const char *scheduler)
{
	size_t name = strcspn(recorded, ",");
	char options[96], wanted[96];
	char *save = NULL;

	if (name != strcspn(scheduler, ",") ||
	    strncmp(recorded, scheduler, name) != 0)
		return false;
	/* recorded are all options, given are those that differ */
	(void)snprintf(options, sizeof(options), "%s,", recorded + name);
	(void)snprintf(wanted, sizeof(wanted), "%s", scheduler + name);
	for (char *o = strtok_r(wanted, ",", &save); o;
	     o = strtok_r(NULL, ",", &save)) {
		char one[100];

		(void)snprintf(one, sizeof(one), ",%s,", o);
		if (!strstr(options, one))
			return false;
	}
	return true;
}

/* Did it come in time that is compared: in that of @scheduler; NULL: of any? */
static bool is_compared(const struct recording *r, size_t i,
			const char *scheduler)
{
	const struct replay_job *j = &r->replay.job[i];

	if (j->outcome == CR_OUT_CANCELLED ||
	    r->replayed.job[i].outcome == CR_OUT_CANCELLED)
		return false;
	for (unsigned k = 0; k < r->nstretches; k++) {
		const struct recording_stretch *s = &r->stretch[k];

		if (j->at >= s->from && j->at < s->to)
			return !scheduler ||
			       same_scheduler(s->scheduler, scheduler);
	}
	return false;
}

static bool was_lost(uint8_t outcome)
{
	return outcome != CR_OUT_DONE && outcome != CR_OUT_SEND_FAILED &&
	       outcome != CR_OUT_BAD;
}

static struct became sum_frames(const struct recording *r,
				const char *scheduler, bool live)
{
	cr_ns *delay = malloc(r->replay.njobs * sizeof(*delay));
	struct became b = { 0 };
	size_t n = 0;

	for (size_t i = 0; delay && i < r->replay.njobs; i++) {
		const struct replay_job *j = &r->replay.job[i];
		const struct replayed_job *now = &r->replayed.job[i];

		if (!is_compared(r, i, scheduler))
			continue;
		b.frames++;
		b.lost += was_lost(live ? j->outcome : now->outcome);
		if (!was_lost(live ? j->outcome : now->outcome))
			delay[n++] = (live ? sent_of(j) : now->sent) - j->at;
	}
	b.p50 = delay ? quantile(delay, n, 50) : 0;
	b.p99 = delay ? quantile(delay, n, 99) : 0;
	free(delay);
	return b;
}

struct picked {
	cr_ns live, now;
};

static int by_live(const void *a, const void *b)
{
	const struct picked *x = a, *y = b;

	if (x->live != y->live)
		return x->live < y->live ? -1 : 1;
	return (x->now > y->now) - (x->now < y->now);
}

/* The longest row of picks that both have in the same order. @last: as large
 * as @p. */
static size_t longest_row(struct picked *p, size_t n, cr_ns *last)
{
	size_t row = 0;

	if (n)
		qsort(p, n, sizeof(*p), by_live);
	for (size_t i = 0; i < n; i++) {
		size_t low = 0, high = row;

		while (low < high) {
			size_t middle = (low + high) / 2;

			if (last[middle] < p[i].now)
				low = middle + 1;
			else
				high = middle;
		}
		last[low] = p[i].now;
		row += low == row;
	}
	return row;
}

/* Of the picks of whichever has more, the share that both have in the same
 * order; -1: there is none. */
static double same_picks(const struct recording *r, const char *scheduler)
{
	struct picked *p = malloc(r->replay.njobs * sizeof(*p));
	cr_ns *last = malloc(r->replay.njobs * sizeof(*last));
	size_t n = 0, live = 0, now = 0, most;
	double same = -1;

	for (size_t i = 0; p && last && i < r->replay.njobs; i++) {
		const struct replay_job *j = &r->replay.job[i];
		cr_ns again = r->replayed.job[i].pick;

		if (!is_compared(r, i, scheduler))
			continue;
		live += is_turn(j);
		now += again != CR_NEVER;
		if (is_turn(j) && again != CR_NEVER)
			p[n++] = (struct picked){ j->pick, again };
	}
	most = live > now ? live : now;
	if (most)
		same = (double)longest_row(p, n, last) / (double)most;
	free(p);
	free(last);
	return same;
}

static double loss_of(const struct became *b)
{
	return b->frames ? (double)b->lost / (double)b->frames : 0;
}

static json_t *became_json(const struct became *b)
{
	if (!b->frames)
		return json_null();
	return json_pack("{s:I,s:I,s:f,s:I,s:I}", "frames",
			 (json_int_t)b->frames, "lost", (json_int_t)b->lost,
			 "loss", loss_of(b), "p50_ns", (json_int_t)b->p50,
			 "p99_ns", (json_int_t)b->p99);
}

json_t *recording_json(const struct recording *r, const char *scheduler)
{
	const struct recording_overheads *o = &r->overheads;
	struct became live = sum_frames(r, scheduler, true);
	struct became own = sum_frames(r, scheduler, false);
	struct became all = sum_frames(r, NULL, false);
	double same = same_picks(r, scheduler);
	json_t *overheads = json_pack(
		"{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "turns",
		(json_int_t)o->turns, "median_ns", (json_int_t)o->median,
		"p99_ns", (json_int_t)o->p99, "mean_ns", (json_int_t)o->mean,
		"context_ns", (json_int_t)o->context, "in_row",
		(json_int_t)o->in_row, "wakes", (json_int_t)o->wakes,
		"wake_median_ns", (json_int_t)o->wake_median, "wake_p99_ns",
		(json_int_t)o->wake_p99, "drawn", (json_int_t)o->drawn,
		"stolen", (json_int_t)o->stolen, "stolen_ns",
		(json_int_t)o->stolen_sum);

	return json_pack("{s:s,s:b,s:I,s:I,s:o,s:o,s:o,s:o,s:o}", "trace",
			 r->path, "blocks", (int)r->blocks, "changes",
			 (json_int_t)r->changes, "lost_records",
			 (json_int_t)r->lost, "overheads", overheads, "live",
			 became_json(&live), "own", became_json(&own), "all",
			 became_json(&all), "same_picks",
			 same < 0 ? json_null() : json_real(same));
}

static void became_line(FILE *f, const char *name, const struct became *b)
{
	(void)fprintf(f, "  %-26s %9zu %8.2f%% %9.3f %9.3f\n", name, b->frames,
		      100 * loss_of(b), (double)b->p50 / 1e6,
		      (double)b->p99 / 1e6);
}

void recording_compare(const struct recording *r, const char *scheduler,
		       FILE *f)
{
	struct became live = sum_frames(r, scheduler, true);
	struct became own = sum_frames(r, scheduler, false);
	struct became all = sum_frames(r, NULL, false);

	if (r->imported)
		return;
	(void)fprintf(f, "  %-26s %9s %9s %9s %9s\n",
		      "recorded and played again", "frames", "lost", "p50 ms",
		      "p99 ms");
	if (live.frames) {
		became_line(f, "live, its own time", &live);
		became_line(f, "again, its own time", &own);
	}
	if (all.frames != own.frames)
		became_line(f, "again, all of the time", &all);
	if (live.frames)
		(void)fprintf(f, "  %.1f %% of the picks in the same order\n",
			      100 * same_picks(r, scheduler));
}

static void tell_overheads(const struct recording_overheads *o, FILE *f)
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

void recording_tell(const struct recording *r, FILE *f)
{
	(void)fprintf(f, "%s: %zu frames of %zu calls%s\n", r->path,
		      r->replay.njobs, r->replay.ncalls,
		      r->imported ? ", costs as imported" : "");
	if (!r->imported)
		tell_overheads(&r->overheads, f);
	if (r->changes)
		(void)fprintf(
			f, "note: %u changes of calls' terms are not played\n",
			r->changes);
	if (r->lost)
		(void)fprintf(f,
			      "note: the trace lacks %" PRIu64
			      " records; their frames are not played\n",
			      r->lost);
}
