/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-sim: plays a campaign in virtual time. The command line and what
 * people see; the work is in src/sim.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cli.h"
#include "base/clock.h"
#include "base/options.h"
#include "run/folder.h"
#include "run/json.h"
#include "schedulers/registry.h"
#include "sim/report.h"

/* Exit codes; codec-sim --help tells them. */
enum { EXIT_BROKEN = 1, EXIT_USAGE = 2, EXIT_MISSED = 3, EXIT_SIGNAL = 130 };

#define UNSET INT64_C(-1)

static struct {
	struct cli_list schedulers;
	const char *run_queues, *out, *trace;
	int64_t cpus, preempt, quantum, seed, duration;
	int64_t decision, context, migration, release, lock;
	bool json, quiet;
} raw = {
	.cpus = UNSET,
	.preempt = UNSET,
	.quantum = UNSET,
	.seed = UNSET,
	.duration = UNSET,
	.decision = UNSET,
	.context = UNSET,
	.migration = UNSET,
	.release = UNSET,
	.lock = UNSET,
};

static const char *const preempt_names[] = { "frame", "quantum", "full", NULL };

#define ROW(k, n, a, h, m, ...)                                                \
	{                                                                      \
		.kind = k, .name = n, .arg = a, .help = h, m, __VA_ARGS__      \
	}
#define OVERHEAD(n, h, v)                                                      \
	ROW(CLI_TIME, "overhead-" n, NULL, h, .number = &raw.v, .min = 0,      \
	    .max = CR_SEC, .dflt = "")

static const struct cli_opt rows[] = {
	ROW(CLI_SECTION, NULL, NULL, "Scheduling", .flag = NULL),
	{ .kind = CLI_LIST,
	  .name = "scheduler",
	  .letter = 's',
	  .arg = "NAME[,OPTION=VALUE]...",
	  .help = "Scheduler, in place of the campaign's list (edf where there "
		  "is none); may be repeated: one run each. codec-runner "
		  "--schedulers lists them; a name with a slash is a shared "
		  "object.",
	  .list = &raw.schedulers },
	ROW(CLI_ENUM, "preempt", NULL,
	    "When a job can be interrupted: never, as in live mode; on a grid "
	    "of --quantum; at any moment.",
	    .number = &raw.preempt, .names = preempt_names, .dflt = "frame"),
	ROW(CLI_TIME, "quantum", NULL, "Grid of --preempt quantum.",
	    .number = &raw.quantum, .min = CR_US, .max = 10 * CR_SEC,
	    .dflt = "1ms"),

	ROW(CLI_SECTION, NULL, NULL, "Machine", .flag = NULL),
	ROW(CLI_INT, "cpus", "N", "Processors.", .number = &raw.cpus, .min = 1,
	    .max = CR_MAX_CPUS, .dflt = "1"),
	ROW(CLI_STRING, "run-queues", "global|partitioned|N",
	    "One run queue for all CPUs, one for each, or so many.",
	    .text = &raw.run_queues),
	OVERHEAD("decision", "CPU time of a scheduling decision.", decision),
	OVERHEAD("context", "CPU time when a CPU goes over to another call.",
		 context),
	OVERHEAD("migration", "CPU time when a call comes from another CPU.",
		 migration),
	OVERHEAD("release", "CPU time when a job becomes ready.", release),
	OVERHEAD("lock",
		 "A scheduling decision holds its run queue's lock so long; "
		 "CPUs that want it meanwhile wait. See tests/bench/engine, "
		 "contention.",
		 lock),

	ROW(CLI_SECTION, NULL, NULL, "Load", .flag = NULL),
	ROW(CLI_INT, "seed", "N", "In place of the campaign's seed.",
	    .number = &raw.seed, .min = 0, .max = INT64_MAX, .dflt = ""),
	ROW(CLI_TIME, "duration", NULL, "In place of the campaign's duration.",
	    .number = &raw.duration, .min = CR_MS, .max = 2592000 * CR_SEC,
	    .dflt = ""),

	ROW(CLI_SECTION, NULL, NULL, "What it tells", .flag = NULL),
	{ .kind = CLI_STRING,
	  .name = "out",
	  .letter = 'o',
	  .arg = "DIR",
	  .help = "Run folder: run.json, calls.csv and trace.bin are written "
		  "there; with "
		  "several schedulers a folder in it for each.",
	  .text = &raw.out },
	ROW(CLI_STRING, "trace", "FILE",
	    "Write the trace of every job there; codec-report reads it.",
	    .text = &raw.trace),
	ROW(CLI_FLAG, "json", NULL, "Print run.json in place of the table.",
	    .flag = &raw.json),
	{ .kind = CLI_FLAG,
	  .name = "quiet",
	  .letter = 'q',
	  .help = "No progress.",
	  .flag = &raw.quiet },
	{ .kind = CLI_SECTION },
};

static const struct cli_line operands[] = {
	{ "CAMPAIGN",
	  "Campaign file (YAML); campaigns/README.md describes it." },
	{ NULL, NULL }
};
static const struct cli_line examples[] = {
	{ "codec-sim campaigns/best/exp7.yaml --scheduler best",
	  "One experiment under one scheduler." },
	{ "codec-sim lab.yaml -s edf -s rm --preempt full --out runs/lab",
	  "Two schedulers, with preemption; then: codec-report runs/lab/*." },
	{ "codec-sim lab.yaml --cpus 64 --run-queues partitioned "
	  "--overhead-context 2us",
	  "A machine that is not there." },
	{ NULL, NULL }
};
static const struct cli_line exits[] = {
	{ "0", "All went as expected." },
	{ "1", "The run broke off: disk full, out of memory." },
	{ "2", "Wrong command line or campaign." },
	{ "3", "An expectation of the campaign was missed." },
	{ "130", "Interrupted; results until then were written." },
	{ NULL, NULL }
};

static const struct cli cli = {
	.program = "codec-sim",
	.synopsis = "[OPTION]... CAMPAIGN",
	.summary = "play a campaign in virtual time",
	.text = "Plays the calls of a campaign on a machine of any number of "
		"CPUs that exists only as numbers, under the very schedulers "
		"that codec-runner uses, and says what was late, lost and how "
		"long it took. The same campaign, seed and options give the "
		"same trace, byte for byte, unless costs are measured.\n"
		"Flows may have codecs, and cost what the codecs cost on this "
		"machine, or be synthetic: a period and a cost.",
	.opts = rows,
	.operands = operands,
	.examples = examples,
	.exits = exits,
	.see_also = "codec-runner(1), codec-feeder(1), codec-report(1)",
	.min_args = 1,
	.max_args = 1,
};

static int complain(int code, const struct cr_err *e)
{
	(void)fprintf(stderr, "codec-sim: %s\n", e->text);
	return code;
}

/* --- Ctrl-C and progress --- */

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static void catch_signals(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	(void)sigemptyset(&a.sa_mask);
	a.sa_flags = (int)SA_RESETHAND; /* a second one means at once */
	(void)sigaction(SIGINT, &a, NULL);
	(void)sigaction(SIGTERM, &a, NULL);
}

struct progress {
	const char *scheduler;
	cr_ns begin, next;
	bool shown, open;
};

static bool show_progress(void *arg, const struct simulation_progress *s)
{
	struct progress *p = arg;
	cr_ns now;

	if (stopped || !p->shown)
		return !stopped;
	now = clock_now();
	if (now < p->next)
		return true;
	(void)fprintf(stderr,
		      "\r\033[K%s: %.1f s of %.1f s, %.2f million jobs, %.2f "
		      "million a second",
		      p->scheduler, (double)s->now / 1e9, (double)s->end / 1e9,
		      (double)s->jobs / 1e6,
		      (double)s->jobs * 1e3 / (double)(now - p->begin));
	(void)fflush(stderr);
	p->open = true;
	p->next = now + 200 * CR_MS;
	return true;
}

static void progress_begin(struct progress *p, const char *scheduler)
{
	*p = (struct progress){ .scheduler = scheduler, .begin = clock_now() };
	p->shown = !raw.quiet && isatty(STDERR_FILENO);
	p->next = p->begin + 200 * CR_MS;
}

static void progress_end(const struct progress *p)
{
	if (p->open)
		(void)fputs("\r\033[K", stderr);
}

/* --- from the command line to a configuration --- */

static void override(int64_t *value, int64_t given)
{
	if (given != UNSET)
		*value = given;
}

static int set_run_queues(struct campaign_platform *p, struct cr_err *e)
{
	struct cr_opt opt = { .name = "run-queues",
			      .kind = CR_OPT_INT,
			      .min = 1,
			      .max = p->cpus };

	if (!raw.run_queues) {
		p->run_queues =
			p->run_queues > p->cpus ? p->cpus : p->run_queues;
		return 0;
	}
	if (strcmp(raw.run_queues, "global") == 0)
		p->run_queues = 1;
	else if (strcmp(raw.run_queues, "partitioned") == 0)
		p->run_queues = p->cpus;
	else if (option_parse(&opt, raw.run_queues, &p->run_queues, NULL))
		return cr_fail(e, -EINVAL,
			       "--run-queues %s: needs global, partitioned or "
			       "a number from 1 to the number of CPUs (%lld)",
			       raw.run_queues, (long long)p->cpus);
	return 0;
}

/* What can never come to anything. */
static int check_platform(const struct campaign *c,
			  const struct campaign_platform *p, struct cr_err *e)
{
	for (unsigned i = 0; i < c->flow_count; i++)
		if (c->flows[i].arrival.kind == ARRIVAL_LOOP &&
		    p->preempt == SIM_FRAME)
			return cr_fail(e, -EINVAL,
				       "%s:%u: the job of flow %s never ends "
				       "and, with preempt: frame, never gives "
				       "the CPU back; use --preempt full or "
				       "quantum",
				       c->path, c->flows[i].line,
				       c->flows[i].name);
	return 0;
}

static int set_platform(const struct campaign *c, struct campaign_platform *p,
			struct cr_err *e)
{
	bool partitioned = c->platform.run_queues == c->platform.cpus &&
			   c->platform.cpus > 1;

	*p = c->platform;
	override(&p->cpus, raw.cpus);
	if (partitioned)
		p->run_queues = p->cpus;
	override(&p->preempt, raw.preempt);
	override(&p->quantum, raw.quantum);
	override(&p->overhead.decision, raw.decision);
	override(&p->overhead.context, raw.context);
	override(&p->overhead.migration, raw.migration);
	override(&p->overhead.release, raw.release);
	override(&p->overhead.lock, raw.lock);
	if (raw.quantum != UNSET && p->preempt != SIM_QUANTUM)
		return cr_fail(e, -EINVAL,
			       "--quantum has no effect without --preempt "
			       "quantum");
	return set_run_queues(p, e) ? -EINVAL : check_platform(c, p, e);
}

/* What comes from files and measurements. */
struct models {
	struct cost_model *costs; /* [flow_count] */
	struct replay *replays;	  /* [flow_count] */
	uint64_t *counts;	  /* [flow_count] */
};

static int open_models(const struct campaign *c, struct models *m,
		       struct cr_err *e)
{
	char path[4096];
	int rc = cost_models_open(m->costs, c, e);

	for (unsigned f = 0; f < c->flow_count && !rc; f++) {
		const char *file = c->flows[f].arrival.file;

		if (file)
			rc = replay_open(&m->replays[f],
					 cost_model_path(path, sizeof(path),
							 c->path, file),
					 e);
	}
	return rc;
}

static int models_init(struct models *m, const struct campaign *c,
		       struct cr_err *e)
{
	m->costs = calloc(c->flow_count, sizeof(*m->costs));
	m->replays = calloc(c->flow_count, sizeof(*m->replays));
	m->counts = calloc(c->flow_count, sizeof(*m->counts));
	if (!m->costs || !m->replays || !m->counts)
		return cr_fail(e, -ENOMEM, "out of memory");
	return 0;
}

static void models_fini(struct models *m, const struct campaign *c)
{
	if (m->costs)
		cost_models_close(m->costs, c);
	for (unsigned f = 0; m->replays && f < c->flow_count; f++)
		replay_close(&m->replays[f]);
	free(m->costs);
	free(m->replays);
	free(m->counts);
}

/* Calls of each flow: what load means follows from the cost. */
static int find_counts(const struct campaign *c, const struct cost_model *costs,
		       const struct campaign_platform *p, uint64_t *counts,
		       struct cr_err *e)
{
	for (unsigned i = 0; i < c->flow_count; i++) {
		const struct campaign_flow *f = &c->flows[i];
		__int128 n = (__int128)f->load_ppm * p->cpus * f->ptime /
			     ((__int128)costs[i].estimate.mean * CR_PPM);

		counts[i] = (uint64_t)f->count;
		if (!f->load_ppm)
			continue;
		if (n > PLAN_CALLS_MAX)
			return cr_fail(e, -E2BIG,
				       "flow %s: its load means more than %u "
				       "calls",
				       f->name, PLAN_CALLS_MAX);
		counts[i] = n < 1 ? 1 : (uint64_t)n;
	}
	return 0;
}

/* --- runs --- */

struct job {
	const struct campaign *campaign;
	struct simulation_cfg cfg;
	uint64_t seed;
	int argc;
	char **argv;
	bool several; /* schedulers */
};

/* The run folder of @spec; "" without --out. */
static int find_folder(const struct job *j, const char *spec, char *buf,
		       size_t size, struct cr_err *e)
{
	int rc;

	buf[0] = '\0';
	if (!raw.out)
		return 0;
	rc = run_folder_make(raw.out, e);
	(void)snprintf(buf, size, "%s", raw.out);
	if (rc || !j->several)
		return rc;
	(void)snprintf(buf, size, "%s/%s", raw.out, spec);
	for (char *at = buf + strlen(raw.out) + 1; *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
			    "XYZ0123456789=._-",
			    *at))
			*at = '_';
	return run_folder_make(buf, e);
}

static int open_trace(struct trace_file *t, const struct job *j,
		      const char *spec, const char *dir, struct cr_err *e)
{
	char path[4200];
	json_t *head;
	int rc;

	if (raw.trace)
		(void)snprintf(path, sizeof(path), "%s", raw.trace);
	else
		(void)snprintf(path, sizeof(path), "%s/trace.bin", dir);
	rc = trace_file_create(t, path, true, e);
	if (rc)
		return rc;
	head = sim_report_trace_header(&j->cfg, spec, j->seed);
	rc = trace_file_header(t, head, 0, e);
	json_decref(head);
	if (rc)
		trace_file_close(t);
	return rc;
}

static int close_trace(struct trace_file *t, struct cr_err *e)
{
	trace_file_close(t);
	if (!t->error)
		return 0;
	return cr_fail(e, -t->error, "the trace cannot be written: %s",
		       strerror(t->error));
}

static int tell(struct sim_report *r, const char *dir, json_t *runs,
		struct cr_err *e)
{
	int rc = 0;

	if (!r->result->interrupted) /* half a run cannot be judged */
		rc = sim_report_judge(r, e);
	if (!rc && *dir)
		rc = sim_report_write(r, dir, e);
	if (rc)
		return rc;
	if (raw.json)
		(void)json_array_append_new(runs, sim_report_json(r));
	else
		sim_report_table(r, stdout);
	return 0;
}

static int exit_code(const struct sim_report *r)
{
	if (r->result->interrupted)
		return EXIT_SIGNAL;
	return verdicts_met(&r->verdicts) ? 0 : EXIT_MISSED;
}

static int simulate(struct job *j, const char *spec, const char *dir,
		    json_t *runs, struct cr_err *e)
{
	struct simulation_result result;
	struct progress progress;
	struct sim_report r = { .cfg = &j->cfg,
				.result = &result,
				.scheduler = spec,
				.seed = j->seed,
				.argc = j->argc,
				.argv = j->argv };
	cr_ns begin = clock_now();
	int rc;

	progress_begin(&progress, spec);
	j->cfg.progress = show_progress;
	j->cfg.arg = &progress;
	rc = simulation_run(&j->cfg, &result, e);
	progress_end(&progress);
	if (rc)
		return complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, e);
	r.seconds = (double)(clock_now() - begin) / 1e9;
	if (j->cfg.trace)
		rc = close_trace(j->cfg.trace, e);
	if (!rc)
		rc = tell(&r, dir, runs, e);
	rc = rc ? complain(EXIT_BROKEN, e) : exit_code(&r);
	verdicts_fini(&r.verdicts);
	simulation_result_fini(&result);
	return rc;
}

static int run_one(struct job *j, const char *spec, json_t *runs)
{
	struct trace_file trace = { 0 };
	char dir[2200];
	struct cr_err e = { "" };
	int rc = cr_scheduler_find(spec, &j->cfg.ops, &j->cfg.opts, &e);

	if (rc)
		return complain(EXIT_USAGE, &e);
	rc = find_folder(j, spec, dir, sizeof(dir), &e);
	if (!rc && (raw.trace || *dir)) {
		rc = open_trace(&trace, j, spec, dir, &e);
		j->cfg.trace = &trace;
	}
	if (rc)
		return complain(EXIT_BROKEN, &e);
	rc = simulate(j, spec, dir, runs, &e);
	trace_file_close(&trace);
	return rc;
}

static int run_all(struct job *j)
{
	const char *const *specs = raw.schedulers.item;
	static const char *const fallback[] = { "edf" };
	unsigned n = raw.schedulers.count;
	json_t *runs = json_array();
	struct cr_err e;
	int worst = 0;

	if (!n && j->campaign->scheduler_count) {
		specs = (const char *const *)j->campaign->schedulers;
		n = j->campaign->scheduler_count;
	} else if (!n) {
		specs = fallback;
		n = 1;
	}
	j->several = n > 1;
	if (raw.trace && j->several) {
		(void)cr_fail(&e, 0, "--trace with %u schedulers: use --out",
			      n);
		json_decref(runs);
		return complain(EXIT_USAGE, &e);
	}
	for (unsigned i = 0; i < n && worst != EXIT_SIGNAL; i++) {
		int rc = run_one(j, specs[i], runs);

		if (rc && (!worst || rc != EXIT_MISSED))
			worst = rc;
	}
	if (raw.json) /* nothing when the only run failed */
		run_json_print(n == 1 ? json_array_get(runs, 0) : runs, stdout);
	json_decref(runs);
	return worst;
}

static int run(const struct campaign *c, struct models *m, int argc,
	       char **argv)
{
	struct job j = { .campaign = c, .argc = argc, .argv = argv };
	struct plan plan;
	struct plan_options o;
	struct cr_err e = { "" };
	int rc = set_platform(c, &j.cfg.platform, &e);

	j.seed = (uint64_t)(raw.seed == UNSET ? c->seed : raw.seed);
	j.cfg.duration = raw.duration == UNSET ? c->duration : raw.duration;
	if (!rc)
		rc = open_models(c, m, &e);
	if (!rc)
		rc = find_counts(c, m->costs, &j.cfg.platform, m->counts, &e);
	o = (struct plan_options){ j.seed, j.cfg.duration, m->counts };
	if (!rc)
		rc = plan_make(&plan, c, &o, &e);
	if (rc)
		return complain(EXIT_USAGE, &e);
	j.cfg.plan = &plan;
	j.cfg.costs = m->costs;
	j.cfg.replays = m->replays;
	rc = run_all(&j);
	plan_fini(&plan);
	return rc;
}

int main(int argc, char **argv)
{
	int first = cli_parse_or_exit(&cli, argc, argv);
	struct models m = { 0 };
	struct campaign *c;
	struct cr_err e;
	int rc;

	if (campaign_load(argv[first], &c, &e))
		return complain(EXIT_USAGE, &e);
	catch_signals();
	if (models_init(&m, c, &e))
		rc = complain(EXIT_BROKEN, &e);
	else
		rc = run(c, &m, argc, argv);
	models_fini(&m, c);
	campaign_free(c);
	return rc;
}
