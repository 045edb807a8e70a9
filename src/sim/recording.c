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

#include <jansson.h>

#include "engine/scheduler.h"
#include "engine/shed.h"
#include "sim/simulation.h"
#include "sim/worker_time.h"

/* A call's frames that are still under way when the last one has come. */
#define DRAIN (500 * CR_MS)

/* State of opening one. */
struct reading {
	struct recording *r;
	const struct recording_terms *terms;
	bool own_overheads; /* are played */
	json_t *header;
	size_t call_room;
	size_t ncalls;		      /* records */
	struct cr_trace_task *record; /* [ncalls] as read */
	unsigned *flow;		      /* [replay.ncalls] */
	unsigned nflows;
};

int recording_no_memory(struct cr_err *e)
{
	return cr_fail(e, -ENOMEM, "out of memory for the recorded run");
}

/* --- reading --- */

static int read_recording_header(void *arg, const char *text, struct cr_err *e)
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

static int add_stretch(struct recording *r, const char *scheduler, cr_ns from,
		       struct cr_err *e)
{
	struct recording_stretch *grown =
		realloc(r->stretch, (r->nstretches + 1) * sizeof(*grown));

	if (!grown)
		return recording_no_memory(e);
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

static int read_other_record(void *arg, const union cr_trace_record *record,
			     struct cr_err *e)
{
	struct reading *g = arg;
	size_t room = g->call_room;
	struct cr_trace_task *grown;

	if (record->kind == CR_TRACE_TASK) {
		if (g->ncalls == g->call_room) {
			room = room ? 2 * room : 256;
			grown = realloc(g->record, room * sizeof(*grown));
			if (!grown)
				return recording_no_memory(e);
			g->record = grown;
			g->call_room = room;
		}
		g->record[g->ncalls++] = record->task;
		return 0;
	}
	g->r->lost +=
		record->note.code == CR_NOTE_LOST ? record->note.count : 0;
	g->r->changes += record->note.code == CR_NOTE_CHANGED;
	return record->note.code == CR_NOTE_SWITCHED
		       ? add_stretch(g->r, record->note.text, record->note.at,
				     e)
		       : 0;
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
	if (r->nstretches &&
	    json_integer_value(from) < r->stretch[r->nstretches - 1].to)
		return cr_fail(e, -EINVAL,
			       "blocks.json: a block begins before the one "
			       "before it has ended");
	rc = add_stretch(r, name, json_integer_value(from) + warm_up, e);
	if (rc)
		return rc;
	r->stretch[r->nstretches - 1].to = json_integer_value(to);
	/* a copy under another name is the same policy */
	r->stretch[r->nstretches - 1].scheduler[strcspn(
		r->stretch[r->nstretches - 1].scheduler, "#")] = '\0';
	return 0;
}

static void count_from_begin(const struct recording *r,
			     struct recording_stretch *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		s[i].from -= r->replay.begin;
		if (s[i].to != CR_NEVER)
			s[i].to -= r->replay.begin;
	}
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

static int check_workers(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;
	int64_t workers = header_number(g, "workers", 1);

	if (workers < 1 || workers > CR_MAX_CPUS)
		return cr_fail(e, -EINVAL,
			       "%s: its header says %" PRId64
			       " workers; there are 1 to %u",
			       r->path, workers, CR_MAX_CPUS);
	for (size_t i = 0; i < r->replay.njobs; i++) {
		const struct replay_job *j = &r->replay.job[i];

		if (replay_is_turn(j) && j->worker >= workers)
			return cr_fail(e, -EINVAL,
				       "%s: has a turn of worker %u, and its "
				       "header says %" PRId64
				       " workers, counted from 0",
				       r->path, j->worker, workers);
	}
	r->workers = (unsigned)workers;
	return 0;
}

static int read_records(struct reading *g, const char *path, struct cr_err *e)
{
	struct recording *r = g->r;
	const struct replay_listener l = { read_recording_header,
					   read_other_record, g };
	struct stat is;
	bool folder = !stat(path, &is) && S_ISDIR(is.st_mode);
	struct recording_stretch *first;
	int rc = add_stretch(r, "", 0, e);

	(void)snprintf(r->path, sizeof(r->path), folder ? "%s/trace.bin" : "%s",
		       path);
	if (!rc)
		rc = replay_read(&r->replay, r->path, &l, e);
	if (!rc)
		rc = check_workers(g, e);
	if (rc)
		return rc;
	first = &r->stretch[0];
	(void)snprintf(
		first->scheduler, sizeof(first->scheduler), "%s",
		header_text(g, "options", header_text(g, "scheduler", "")));
	/* the schedulers at work are known from the trace's notes, and are
	 * compared but where blocks.json says it */
	r->worked = calloc(r->nstretches, sizeof(*r->worked));
	if (!r->worked)
		return recording_no_memory(e);
	memcpy(r->worked, r->stretch, r->nstretches * sizeof(*r->worked));
	r->nworked = r->nstretches;
	if (folder)
		rc = read_blocks(r, path, e);
	count_from_begin(r, r->stretch, r->nstretches);
	count_from_begin(r, r->worked, r->nworked);
	return rc;
}

/* --- calls and flows --- */

static int by_id(const void *a, const void *b)
{
	const struct cr_trace_task *x = a, *y = b;

	return (x->task > y->task) - (x->task < y->task);
}

/* Match each call that sent a frame with its record, in the replay's order. */
static int match_calls(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;

	r->call = calloc(r->replay.ncalls, sizeof(*r->call));
	if (!r->call)
		return recording_no_memory(e);
	if (g->ncalls)
		qsort(g->record, g->ncalls, sizeof(*g->record), by_id);
	for (size_t i = 0; i < r->replay.ncalls; i++) {
		const struct cr_trace_task key = { .task = r->replay.id[i] };
		const struct cr_trace_task *found =
			g->ncalls ? bsearch(&key, g->record, g->ncalls,
					    sizeof(key), by_id)
				  : NULL;

		if (!found)
			return cr_fail(e, -EINVAL,
				       "%s: has frames of task %" PRIu32
				       ", but no record of that task",
				       r->path, key.task);
		r->call[i] = *found;
		if (!r->call[i].weight)
			r->call[i].weight = 1024;
	}
	return 0;
}

static bool same_terms(const struct cr_trace_task *a,
		       const struct cr_trace_task *b)
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
	return g->nflows ? 0 : recording_no_memory(e);
}

/* Those of a flow become neighbours. */
static int group_calls(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;
	size_t n = r->replay.ncalls, next = 0;
	uint32_t *number = malloc(n * sizeof(*number));
	struct cr_trace_task *call = malloc((n + 1) * sizeof(*call));
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
		return recording_no_memory(e);
	}
	free(r->call);
	free(g->flow);
	r->call = call;
	g->flow = flow;
	return 0;
}

/* --- the campaign --- */

/* The schedulers of the stretches, each once. The kernel's run live only. */
static int list_schedulers(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;

	r->schedulers = calloc(r->nstretches, sizeof(*r->schedulers));
	if (!r->schedulers)
		return recording_no_memory(e);
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

/* For a simulation in which the schedulers are switched as they were. */
static int list_switches(struct reading *g, struct cr_err *e)
{
	struct recording *r = g->r;

	r->switches = calloc(r->nworked, sizeof(*r->switches));
	if (!r->switches)
		return recording_no_memory(e);
	for (unsigned i = 0; i < r->nworked; i++) {
		struct scheduler s;
		struct cr_err why;

		if (scheduler_find(r->worked[i].scheduler, &s, &why) ||
		    s.kernel) {
			free(r->switches);
			r->switches = NULL;
			return 0;
		}
		r->switches[i] = (struct simulation_switch){
			.at = cr_ns_max(r->worked[i].from, 0),
			.ops = s.policy,
			.opts = s.opts,
		};
	}
	return 0;
}

static cr_ns period_of(const struct cr_trace_task *c)
{
	if (c->ptime_us_div_250)
		return c->ptime_us_div_250 * 250 * CR_US;
	return c->cls == CR_BE ? 20 * CR_MS : cr_ns_max(c->rel_deadline, CR_US);
}

static void put_platform(const struct reading *g, FILE *f)
{
	int64_t workers = g->r->workers;
	int64_t per_rq = header_number(g, "cpus_per_rq", 0);
	/* by the deadlines, as the daemon's default, where it does not say */
	int64_t age = header_number(g, "max_age_ns", g->r->imported ? 0 : -1);
	int64_t wait = header_number(g, "shed_wait_ns", 0);
	const char *shed = header_text(g, "shed", "age");
	cr_ns last = 0;

	for (size_t i = 0; i < g->r->replay.njobs; i++)
		last = cr_ns_max(last, g->r->replay.job[i].at);
	(void)fprintf(f,
		      "duration: %" PRId64 "ns\nplatform:\n  cpus: %" PRId64
		      "\n  run-queues: %" PRId64 "\n",
		      last + DRAIN, workers,
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
static void put_name(FILE *f, const struct cr_trace_task *c, unsigned flow)
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
	const struct cr_trace_task *c = NULL;
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
		return recording_no_memory(e);
	(void)fprintf(f, "# a recorded run\n");
	for (unsigned i = 0; i < g->r->nschedulers; i++)
		(void)fprintf(f, "%s\"%s\"", i ? ", " : "schedulers: [",
			      g->r->schedulers[i]);
	(void)fputs(g->r->nschedulers ? "]\n" : "", f);
	put_platform(g, f);
	(void)fprintf(f, "flows:\n");
	for (unsigned i = 0; i < g->nflows; i++)
		put_flow(g, i, f);
	bad = ferror(f);
	bad |= fclose(f) != 0;
	rc = bad ? recording_no_memory(e)
		 : campaign_parse(text, size, g->r->path, g->terms->set,
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
		return recording_no_memory(e);
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

/* Declared is what was declared then, if the trace has it. */
static void set_flow_models(struct recording *r, unsigned flow, size_t from,
			    size_t n)
{
	struct cost_model *m = &r->models.costs[flow];
	const struct cr_trace_task *c = &r->call[from];
	struct replay p = r->replay;

	p.first += from;
	p.id += from;
	p.ncalls = n;
	p.recorded = &r->call[from];
	p.borrowed = true;
	r->models.replays[flow] = p;
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
		return recording_no_memory(e);
	for (size_t i = 1; i <= n; i++)
		if (i == n || g->flow[i] != g->flow[from]) {
			set_flow_models(r, g->flow[from], from, i - from);
			from = i;
		}
	return 0;
}

static int find_time(struct reading *g, struct cr_err *e)
{
	const struct worker_time_terms t = {
		.flow = g->flow,
		.nflows = g->nflows,
		.own_overheads = g->own_overheads,
		.seed = g->terms->seed,
	};

	return worker_time_find(g->r, &t, e);
}

int recording_open(struct recording *r, const char *path,
		   const struct recording_terms *t, struct cr_err *e)
{
	int (*const step[])(struct reading *, struct cr_err *) = {
		match_calls,   find_flows,    group_calls,
		find_time,     list_switches, list_schedulers,
		make_campaign, make_plan,     make_models,
	};
	struct reading g = { .r = r, .terms = t };
	int rc;

	*r = (struct recording){ 0 };
	rc = read_records(&g, path, e);
	for (unsigned i = 0; i < sizeof(step) / sizeof(*step) && !rc; i++)
		rc = step[i](&g, e);
	json_decref(g.header);
	free(g.record);
	r->flow = g.flow;
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
	free(r->worked);
	free(r->switches);
	free(r->own);
	free(r->flow);
	free(r->answer);
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

int recording_keep_own(struct recording *r, struct cr_err *e)
{
	size_t size = r->replay.njobs * sizeof(*r->own);

	r->own = malloc(size);
	if (!r->own)
		return recording_no_memory(e);
	memcpy(r->own, r->replayed.job, size);
	return 0;
}

void recording_report(const struct recording *r, FILE *f)
{
	(void)fprintf(f, "%s: %zu frames of %zu calls%s\n", r->path,
		      r->replay.njobs, r->replay.ncalls,
		      r->imported ? ", costs as imported" : "");
	if (!r->imported)
		worker_time_report(&r->overheads, f);
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
