/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-sim: plays a campaign in virtual time. The command line (the table, and
 * what it puts in place of what the campaign says) and what people see; the
 * work is in src/sim. Main thread.
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/codec_option.h"
#include "base/cli.h"
#include "base/clock.h"
#include "campaign/campaign.h"
#include "codecs/kernels/kernels.h"
#include "engine/scheduler.h"
#include "run/run.h"
#include "schedulers/policies.h"
#include "sim/agreement.h"
#include "sim/analyse.h"
#include "sim/simulation.h"
#include "sim/recording.h"
#include "sim/sim_report.h"
#include "sim/sim.h"

#define UNSET INT64_C(-1)

/* The command line; all text is argv's. */
static struct {
	struct field_texts schedulers, plugins, settings;
	const char *run_queues, *replay, *out, *trace;
	bool json, quiet, analyse, stand_in;
	int64_t threads, kernels;
	/* UNSET, or in place of what the campaign says */
	int64_t seed, duration;
	struct campaign_platform platform; /* members that rows have */
} given;

static const char *const preempt_names[] = { "frame", "quantum", "full", NULL };

#define OVERHEAD(n, h, v)                                                      \
	OPT(FIELD_TIME, "overhead-" n, NULL, h, AT(platform.overhead.v),       \
	    .dflt = UNSET, .min = 0, .max = CR_SEC, .without = "")

#define AT(m) FIELD_IN(__typeof__(given), m)

static const struct field rows[] = {
	OPT_HEADING("Scheduling"),
	{ .kind = FIELD_TEXTS,
	  .name = "scheduler",
	  .letter = 's',
	  .label = "NAME[,OPTION=VALUE]...",
	  .help = "Scheduler, instead of those that the campaign lists (edf if "
		  "it lists none). Repeat it for several, or put commas "
		  "between them (edf,rr,quantum=5ms,bfs: a word without = "
		  "begins the next one); each gets a run. codec-runner "
		  "--schedulers lists all schedulers. A name with a slash is a "
		  "shared object.",
	  AT(schedulers) },
	OPT(FIELD_BOOL, "stand-in", NULL,
	    "When a scheduler breaks its contract, warn and continue with "
	    "fifo, as codec-runner does. The result is fifo's, and its name "
	    "has the scheduler and the time; the exit code does not change. "
	    "Without it, the run ends there, with exit code 1; its folder "
	    "(--out) has what was played, and codec-report compares it with "
	    "nothing.",
	    AT(stand_in)),
	OPT(FIELD_CHOICE, "preempt", NULL,
	    "When a job can be interrupted: never, as in live mode (frame); "
	    "on a grid of --quantum (quantum); at any moment (full).",
	    AT(platform.preempt), .dflt = UNSET, .names = preempt_names,
	    .without = "frame"),
	OPT(FIELD_TIME, "quantum", NULL, "The grid for --preempt=quantum.",
	    AT(platform.quantum), .dflt = UNSET, .min = CR_US,
	    .max = 10 * CR_SEC, .without = "1ms"),
	OPT(FIELD_CHOICE, "shed", NULL,
	    "Which frames are dropped in overload before they are too old, as "
	    "codec-runner's --shed. The campaign's flow sets their loudness "
	    "(voice).",
	    AT(platform.shed), .dflt = UNSET, .names = shed_names,
	    .without = "age"),
	OPT(FIELD_TIME, "shed-wait", NULL,
	    "How long a frame waits before --shed may drop it.",
	    AT(platform.shed_wait), .dflt = UNSET, .min = SHED_WAIT_MIN,
	    .max = SHED_WAIT_MAX, .without = "auto"),

	OPT_HEADING("Machine"),
	OPT(FIELD_INT, "cpus", "N", "Number of CPUs.", AT(platform.cpus),
	    .dflt = UNSET, .min = 1, .max = CR_MAX_CPUS, .without = "1"),
	OPT(FIELD_TEXT, "run-queues", "global|partitioned|N",
	    "One run queue for all CPUs (global), one for each (partitioned), "
	    "or N of them.",
	    AT(run_queues)),
	OVERHEAD("decision", "CPU time of a scheduling decision.", decision),
	OVERHEAD("context", "CPU time when a CPU changes to another call.",
		 context),
	OVERHEAD("migration", "CPU time when a call comes from another CPU.",
		 migration),
	OVERHEAD("release", "CPU time when a job becomes ready.", release),
	OVERHEAD("lock",
		 "How long a scheduling decision holds its run queue's lock. "
		 "Other CPUs wait for it. "
		 "build/release/tests/bench/engine/bench_contention measures "
		 "it.",
		 lock),
	OPT(FIELD_INT, "receivers", "N",
	    "Number of receivers, each with a CPU beside --cpus, which share "
	    "the calls in turn. A packet becomes a job when its receiver has "
	    "finished with it; with 0, when it comes.",
	    AT(platform.receivers.count), .dflt = UNSET, .min = 0,
	    .max = CR_MAX_CPUS, .without = "0"),
	OPT(FIELD_TIME, "receiver-cost", NULL,
	    "CPU time that a receiver takes for a packet.",
	    AT(platform.receivers.cost), .dflt = UNSET, .min = 0, .max = CR_SEC,
	    .without = "0"),
	OPT(FIELD_TIME, "receiver-wake", NULL,
	    "CPU time that a receiver takes to wake up. It sleeps when there "
	    "is no packet.",
	    AT(platform.receivers.wake), .dflt = UNSET, .min = 0, .max = CR_SEC,
	    .without = "0"),
	OPT(FIELD_INT, "receiver-waiting", "N",
	    "Packets that may wait for a receiver. Further ones are dropped.",
	    AT(platform.receivers.waiting), .dflt = UNSET, .min = 1,
	    .max = CAMPAIGN_WAITING_MAX, .without = "20000"),
	OPT(FIELD_TEXTS, "codec", "FILE", CODEC_OPTION_HELP, AT(plugins)),
	OPT(FIELD_CHOICE, "codec-kernels", NULL,
	    "Functions with which the cost of a flow with codecs is measured: "
	    "the codec libraries' own (stock), ours for CPUs with AVX2 (avx2), "
	    "or the fastest that the CPU can run (auto). See codec-runner(1).",
	    AT(kernels), .names = cr_kernels_names),

	OPT_HEADING("Load"),
	OPT(FIELD_TEXT, "replay", "FOLDER|TRACE",
	    "Instead of a campaign, play a recorded run: the arrivals, costs, "
	    "classes, deadlines, weights and importance of its frames, as its "
	    "trace has them, under its own schedulers or those of --scheduler, "
	    "and compare. Its turns' time outside the codecs is played, too, "
	    "and printed; --overhead-... replaces it. --set works as on a "
	    "campaign that describes it.",
	    AT(replay)),
	OPT(FIELD_TEXTS, "set", "KEY=VALUE",
	    "Set KEY of the campaign to VALUE. Dots separate sections from "
	    "keys, and a flow has its name or its number: platform.cpus=4, "
	    "flows.speech.load=110%, flows[0].network.loss=2%. VALUE is "
	    "written as in the file, so a list is [fifo,edf], and is checked "
	    "like the file. KEY= removes the key. May be repeated. Other "
	    "options, such as --cpus, take precedence.",
	    AT(settings)),
	OPT(FIELD_INT, "seed", "N", "Use this in place of the campaign's seed.",
	    AT(seed), .dflt = UNSET, .min = 0, .max = INT64_MAX, .without = ""),
	OPT(FIELD_TIME, "duration", NULL,
	    "Use this in place of the campaign's duration.", AT(duration),
	    .dflt = UNSET, .min = CR_MS, .max = 2592000 * CR_SEC,
	    .without = ""),

	OPT_HEADING("Speed"),
	OPT(FIELD_INT, "jobs", "N",
	    "Number of threads that simulate. Default: one for each CPU that "
	    "codec-sim may use. Each run queue is simulated by one thread, so "
	    "more threads help only with several run queues. The result and "
	    "the trace are the same with any number.",
	    AT(threads), .dflt = UNSET, .min = 1, .max = CR_MAX_CPUS,
	    .without = ""),

	OPT_HEADING("Output"),
	{ .kind = FIELD_TEXT,
	  .name = "out",
	  .letter = 'o',
	  .label = "DIR",
	  .help = "Write run.json, streams.csv and trace.bin into this folder. "
		  "With several schedulers, each has a folder in it.",
	  AT(out) },
	OPT(FIELD_TEXT, "trace", "FILE",
	    "Write a trace of every job to this file; codec-report reads it.",
	    AT(trace)),
	OPT(FIELD_BOOL, "json", NULL, "Print run.json in place of the table.",
	    AT(json)),
	OPT(FIELD_BOOL, "analyse", NULL,
	    "Do not play the campaign, but print the analysis of its calls "
	    "under edf-hsb (with the options of the list of schedulers): "
	    "whether its constraints are met, the budgets, the bound on each "
	    "call's lateness, and the play-out buffer that it needs. With "
	    "--json it is JSON.",
	    AT(analyse)),
	{ .kind = FIELD_BOOL,
	  .name = "quiet",
	  .letter = 'q',
	  .help = "No progress.",
	  AT(quiet) },
	{ .name = NULL },
};

static const struct cli_line operands[] = {
	{ "CAMPAIGN",
	  "Campaign file (YAML); campaigns/README.md describes it. None with "
	  "--replay." },
	{ NULL, NULL }
};
static const struct cli_line examples[] = {
	{ "codec-sim campaigns/best/exp7.yaml --scheduler best",
	  "One experiment under one scheduler." },
	{ "codec-sim lab.yaml -s edf -s rm --preempt full --out lab",
	  "Two schedulers, with preemption; then: codec-report lab." },
	{ "codec-sim lab.yaml --cpus 64 --run-queues partitioned "
	  "--overhead-context 2us",
	  "A machine that is not there." },
	{ "codec-sim lab.yaml --cpus 64 --receivers 2 --receiver-cost 2us "
	  "--receiver-wake 5us",
	  "How much delay two receivers add." },
	{ "codec-sim calls.yaml --set flows.speech.count=300 --set "
	  "platform.cpus=4",
	  "The campaign, but for some values." },
	{ "codec-sim --replay out/demo/fifo -s edf,rr,bfs",
	  "A live run's load under edf, rr and bfs." },
	{ "codec-sim calls.yaml --analyse -s edf-hsb,be-share=20%",
	  "Deadlines, budgets and buffers by analysis." },
	{ NULL, NULL }
};
static const struct cli_line exits[] = {
	{ "0", "All went as expected." },
	{ "1", "A run broke off: a scheduler broke its contract, disk full, "
	       "out of memory." },
	{ "2", "Wrong command line or campaign." },
	{ "3", "An expectation of the campaign was missed; --analyse: a "
	       "constraint was." },
	{ "130", "Interrupted; results until then were written." },
	{ NULL, NULL }
};

static const struct cli cli = {
	.program = "codec-sim",
	.synopsis = "[OPTION]... CAMPAIGN|--replay=FOLDER",
	.summary = "play a campaign in virtual time",
	.text = "Plays the calls of a campaign on a simulated machine of any "
		"number of CPUs, under the same schedulers as codec-runner, "
		"and reports late and lost frames and delays. The same "
		"campaign, seed and options give the same trace, byte for "
		"byte, unless costs are measured.\nFlows may have codecs, with "
		"their measured cost on this machine, or be synthetic: a "
		"period and a cost.",
	.opts = rows,
	.vars = &given,
	.operands = operands,
	.examples = examples,
	.exits = exits,
	.see_also = "codec-runner(1), codec-feeder(1), codec-report(1)",
	.min_args = 0,
	.max_args = 1,
};

/* Exit codes; codec-sim --help lists them. */
enum { EXIT_BROKEN = 1, EXIT_USAGE = 2, EXIT_MISSED = 3, EXIT_SIGNAL = 130 };

static int complain(int code, const struct cr_err *e)
{
	(void)fprintf(stderr, "codec-sim: %s\n", e->text);
	return code;
}

/* All runs of a campaign, or of a recorded run. */
struct job {
	uint64_t seed;
	const char *const *schedulers; /* [nschedulers >= 1] "rr,quantum=5ms" */
	unsigned nschedulers;
	struct simulation_cfg cfg;
	const struct recording *recording; /* played again; NULL: none */
	json_t *runs;			   /* --json: what each came to */
	int argc;
	char **argv;
};

/* --- what is simulated: the campaign's settings, or the command line's --- */

/* Receivers are simulated ahead of the jobs. */
static int check_receivers(const struct campaign *c,
			   const struct campaign_platform *p, struct cr_err *e)
{
	const struct campaign_receivers *r = &given.platform.receivers;

	if (!p->receivers.count)
		return r->cost != UNSET || r->wake != UNSET ||
				       r->waiting != UNSET
			       ? cr_fail(e, -EINVAL,
					 "--receiver-cost, --receiver-wake and "
					 "--receiver-waiting have no effect "
					 "without receivers; use --receivers N")
			       : 0;
	for (unsigned i = 0; i < c->flow_count; i++)
		if (c->flows[i].arrival.kind == ARRIVAL_CLOSED)
			return cr_fail(
				e, -EINVAL,
				"%s:%u: the jobs of flow %s come when "
				"others have ended (arrival: closed), so "
				"they are no packets; leave receivers "
				"out (--receivers 0)",
				c->path, c->flows[i].line, c->flows[i].name);
	return 0;
}

static int set_platform(const struct campaign *c, struct campaign_platform *p,
			struct cr_err *e)
{
	*p = c->platform;
	for (const struct field *o = rows; !field_is_end(o); o++) {
		size_t at = o->offset - offsetof(__typeof__(given), platform);
		int64_t value;

		if (at >= sizeof(*p))
			continue;
		memcpy(&value, (const char *)&given.platform + at,
		       sizeof(value));
		if (value != UNSET)
			memcpy((char *)p + at, &value, sizeof(value));
	}
	if (given.platform.quantum != UNSET && p->preempt != SIM_QUANTUM)
		return cr_fail(e, -EINVAL,
			       "--quantum has no effect without --preempt "
			       "quantum");
	/* the campaign's run queues are for the campaign's number of CPUs */
	if (!given.run_queues && (p->partitioned || p->run_queues > p->cpus))
		p->run_queues = p->cpus;
	if (given.run_queues ? campaign_set_run_queues(p, given.run_queues, e)
			     : campaign_check_run_queues(p, e))
		return -EINVAL;
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
	return check_receivers(c, p, e);
}

/* None twice, none unknown, for the last one may be hours away; and none that
 * would write over another one's folder. */
static int check_schedulers(const struct job *j, struct cr_err *e)
{
	char a[RUN_PATH_MAX], b[RUN_PATH_MAX];

	for (unsigned i = 0; i < j->nschedulers; i++) {
		const char *name = j->schedulers[i];
		int rc = scheduler_check(name, e);

		if (rc)
			return rc;
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(j->schedulers[k], name))
				return cr_fail(e, -EINVAL,
					       "scheduler %s is given twice",
					       name);
	}
	for (unsigned i = 0; given.out && i < j->nschedulers; i++)
		for (unsigned k = 0; k < i; k++) {
			sim_folder_name(j->schedulers[k], a);
			sim_folder_name(j->schedulers[i], b);
			if (!strcmp(a, b))
				return cr_fail(e, -EINVAL,
					       "schedulers %.128s and %.128s "
					       "would share the folder %.128s; "
					       "give one another name",
					       j->schedulers[k],
					       j->schedulers[i], a);
		}
	return 0;
}

/* "edf,rr,quantum=5ms" is edf, and rr with an option: what has no value is a
 * name. The texts are @list's for the process's life. */
static int split_schedulers(struct field_texts *list, struct cr_err *e)
{
	for (unsigned i = 0; i < given.schedulers.count; i++) {
		char *text = strdup(given.schedulers.item[i]), *save = NULL;
		char *item = text ? strtok_r(text, ",", &save) : NULL;

		if (!text)
			return cr_fail(e, -ENOMEM, "out of memory");
		for (; item; item = strtok_r(NULL, ",", &save)) {
			if (strchr(item, '=') && item != text) {
				item[-1] = ','; /* it is the last one's */
				continue;
			}
			if (list->count == FIELD_TEXTS_MAX)
				return cr_fail(e, -EINVAL,
					       "more than %u schedulers",
					       FIELD_TEXTS_MAX);
			list->item[list->count++] = item;
		}
	}
	return 0;
}

static int set_schedulers(const struct campaign *c, struct job *j,
			  struct cr_err *e)
{
	static const char *const fallback[] = { "edf" };
	static struct field_texts named;

	j->schedulers = fallback;
	j->nschedulers = 1;
	if (split_schedulers(&named, e))
		return -EINVAL;
	if (named.count) {
		j->schedulers = named.item;
		j->nschedulers = named.count;
	} else if (c->schedulers.count) {
		j->schedulers = c->schedulers.item;
		j->nschedulers = c->schedulers.count;
	}
	if (given.trace && j->nschedulers > 1)
		return cr_fail(e, -EINVAL,
			       "--trace with %u schedulers: use --out",
			       j->nschedulers);
	return check_schedulers(j, e) ? -EINVAL : 0;
}

/* Into @j, from @c, which must outlive it, and the command line. 0, or -EINVAL
 * with @e. */
static int apply_settings(const struct campaign *c, struct job *j,
			  struct cr_err *e)
{
	int rc = set_platform(c, &j->cfg.platform, e);

	j->seed = (uint64_t)(given.seed == UNSET ? c->seed : given.seed);
	j->cfg.duration =
		given.duration == UNSET ? c->duration : given.duration;
	j->cfg.stand_in = given.stand_in;
	j->cfg.threads = (unsigned)given.threads;
	return rc ? rc : set_schedulers(c, j, e);
}

/* Parse; exits with 2 and a message when something is wrong, with 0 after
 * --help and --version. Returns the campaign's file, or NULL: --replay. */
static const char *parse_command_line(int argc, char **argv)
{
	int first = cli_parse_or_exit(&cli, argc, argv);
	struct cr_err e;
	cpu_set_t set;

	if (!given.replay == (first == argc)) {
		(void)fprintf(
			stderr, "codec-sim: %s\nTry 'codec-sim --help'.\n",
			given.replay ? "--replay takes the place of a "
				       "campaign: leave one of them out"
				     : "CAMPAIGN is missing: the file of a "
				       "campaign, or --replay");
		exit(2);
	}
	codec_option_use("codec-sim", &given.plugins);
	if (cr_kernels_choose((enum cr_kernels)given.kernels, &e)) {
		(void)fprintf(stderr, "codec-sim: --codec-kernels: %s\n",
			      e.text);
		exit(2);
	}
	/* as many as this process may use; 1: more than the set holds */
	if (given.threads == UNSET)
		given.threads = sched_getaffinity(0, sizeof(set), &set)
					? 1
					: CPU_COUNT(&set);
	return given.replay ? NULL : argv[first];
}

/* --- Ctrl-C and progress --- */

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
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

/* Play @cfg, with progress under the name @what. As simulation_run(). */
static int play(const struct job *j, struct simulation_cfg *cfg,
		const char *what, struct simulation_result *result,
		struct cr_err *e)
{
	cr_ns now = clock_now();
	struct progress p = {
		.scheduler = what,
		.begin = now,
		.next = now + 200 * CR_MS,
		.shown = !given.quiet && isatty(STDERR_FILENO),
	};
	int rc;

	if (j->recording)
		recording_rewind(j->recording);
	cfg->progress = show_progress;
	cfg->arg = &p;
	rc = simulation_run(cfg, result, e);
	if (p.open)
		(void)fputs("\r\033[K", stderr);
	return rc;
}

/* --- runs --- */

static int report_run(const struct job *j, struct sim_report *r,
		      const char *dir, struct cr_err *e)
{
	int rc = 0;

	/* half a run cannot be judged */
	if (!r->result->interrupted && !r->failure)
		rc = sim_report_judge(r, e);
	if (!rc && *dir)
		rc = sim_report_write(r, dir, e);
	if (rc || r->failure) /* nobody's result */
		return rc;
	if (given.json) {
		json_t *run = sim_report_json(r);

		if (j->recording)
			run_put(run, "replay",
				agreement_json(j->recording, r->scheduler));
		(void)json_array_append_new(j->runs, run);
		return 0;
	}
	sim_report_table(r, stdout);
	if (j->recording)
		agreement_report(j->recording, r->scheduler, stdout);
	return 0;
}

static int simulate(struct job *j, struct sim_report *r, const char *dir,
		    struct cr_err *e)
{
	struct simulation_result result;
	cr_ns begin = clock_now();
	struct cr_err fault;
	int rc = play(j, &j->cfg, r->scheduler, &result, e);

	if (rc)
		return complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, e);
	r->seconds = (double)(clock_now() - begin) / 1e9;
	r->result = &result;
	if (j->cfg.trace)
		rc = sim_trace_close(j->cfg.trace, e);
	if (result.fault.count) {
		(void)cr_fail(&fault, -EPROTO,
			      "%s broke its contract at %.3f s, and %s. %s",
			      r->scheduler, (double)result.fault.at / 1e9,
			      given.stand_in
				      ? "fifo went on"
				      : "its run ends there: mend it "
					"(cr/sched.h is the contract), or have "
					"fifo go on with --stand-in",
			      result.fault.text);
		if (given.stand_in)
			(void)fprintf(stderr, "codec-sim: warning: %s\n",
				      fault.text);
		else
			r->failure = fault.text;
	}
	if (!rc)
		rc = report_run(j, r, dir, e);
	if (rc)
		rc = complain(EXIT_BROKEN, e);
	else if (result.interrupted)
		rc = EXIT_SIGNAL;
	else if (!verdicts_met(&r->verdicts))
		rc = EXIT_MISSED;
	if (r->failure)
		rc = complain(EXIT_BROKEN, &fault);
	verdicts_fini(&r->verdicts);
	simulation_result_fini(&result);
	return rc;
}

/* The folder @dir, "" without --out, and the trace, if one is written. */
static int open_outputs(struct job *j, const struct sim_report *r, char *dir,
			struct trace_file *t, struct cr_err *e)
{
	const char *one_of = j->nschedulers > 1 ? r->scheduler : NULL;
	char inside[RUN_PATH_MAX + 16];
	int rc = 0;

	j->cfg.trace = NULL;
	dir[0] = '\0';
	if (given.out)
		rc = sim_folder_make(given.out, one_of, dir, e);
	if (rc || (!given.trace && !*dir))
		return rc;
	(void)snprintf(inside, sizeof(inside), "%s/trace.bin", dir);
	rc = sim_trace_open(r, given.trace ? given.trace : inside, t, e);
	if (!rc)
		j->cfg.trace = t;
	return rc;
}

static int run_one(struct job *j, const char *scheduler)
{
	struct sim_report r = { .cfg = &j->cfg,
				.scheduler = scheduler,
				.seed = j->seed,
				.argc = j->argc,
				.argv = j->argv };
	struct trace_file trace = { 0 };
	char dir[RUN_PATH_MAX];
	struct cr_err e = { "" };
	struct scheduler s;
	int rc = scheduler_find(scheduler, &s, &e);

	if (!rc && s.kernel)
		rc = cr_fail(&e, -ENOTSUP,
			     "scheduler %s is the kernel's: it runs live only, "
			     "under codec-runner",
			     s.kernel->name);
	if (rc)
		return complain(EXIT_USAGE, &e);
	j->cfg.ops = s.policy;
	j->cfg.opts = s.opts;
	if (open_outputs(j, &r, dir, &trace, &e))
		return complain(EXIT_BROKEN, &e);
	rc = simulate(j, &r, dir, &e);
	trace_file_close(&trace);
	return rc;
}

/* A result that nobody gets is none. */
static int close_stdout(int code)
{
	return cli_flush("codec-sim") ? EXIT_BROKEN : code;
}

static int run_all(struct job *j)
{
	int worst = 0;

	j->runs = json_array();
	for (unsigned i = 0; i < j->nschedulers && worst != EXIT_SIGNAL; i++) {
		int rc = run_one(j, j->schedulers[i]);

		if (rc && (!worst || rc != EXIT_MISSED))
			worst = rc;
	}
	if (given.json) /* nothing when the only run failed */
		run_json_print(j->nschedulers == 1 ? json_array_get(j->runs, 0)
						   : j->runs,
			       stdout);
	json_decref(j->runs);
	return close_stdout(worst);
}

/* --- the analysis --- */

/* The options that edf-hsb has in the list of schedulers. */
static const char *hsb_options_in(const struct job *j)
{
	const struct cr_sched_ops *ops;
	const char *opts;

	for (unsigned i = 0; i < j->nschedulers; i++)
		if (!cr_scheduler_find(j->schedulers[i], &ops, &opts, NULL) &&
		    ops == &cr_sched_edf_hsb)
			return opts;
	return "";
}

static int analyse(const struct job *j, const struct campaign *c,
		   const struct sim_models *m)
{
	struct analysis a;
	struct cr_err e;
	int rc = analysis_make(&a, c, &j->cfg.platform, m, hsb_options_in(j),
			       &e);

	if (rc) {
		rc = complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, &e);
	} else if (given.json) {
		json_t *o = analysis_json(&a);

		run_json_print(o, stdout);
		json_decref(o);
	} else {
		analysis_table(&a, stdout);
	}
	if (!rc)
		rc = close_stdout(a.report.schedulable ? 0 : EXIT_MISSED);
	analysis_fini(&a);
	return rc;
}

/* --- a campaign; a recorded run --- */

static void set_models(struct job *j, const struct plan *plan,
		       const struct sim_models *m)
{
	j->cfg.plan = plan;
	j->cfg.costs = m->costs;
	j->cfg.replays = m->replays;
	j->cfg.voices = m->voices;
}

static int run_campaign(struct job *j, const struct campaign *c)
{
	struct sim_models m = { 0 };
	struct plan plan = { 0 };
	struct cr_err e = { "" };
	int rc = campaign_check_simulated(c, &e);

	if (!rc)
		rc = apply_settings(c, j, &e);
	if (!rc)
		rc = sim_models_open(&m, c,
				     &(struct sim_terms){ j->cfg.platform.cpus,
							  j->seed,
							  j->cfg.duration },
				     &e);
	if (!rc && !given.analyse)
		rc = plan_make(&plan, c,
			       &(struct plan_options){ j->seed, j->cfg.duration,
						       m.counts },
			       &e);
	if (rc) {
		rc = complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, &e);
	} else if (given.analyse) {
		rc = analyse(j, c, &m);
	} else {
		set_models(j, &plan, &m);
		rc = run_all(j);
	}
	plan_fini(&plan);
	sim_models_close(&m, c);
	return rc;
}

/* A run whose schedulers were switched is compared with one in which they are
 * switched then, too: what one leaves waiting, the next one meets. Between
 * several run queues a switch may move calls, which the simulator does not. */
static int play_switches(struct job *j, struct recording *r, struct cr_err *e)
{
	struct simulation_cfg cfg = j->cfg;
	struct simulation_result result;
	int rc;

	if (r->nworked < 2 || !r->switches || cfg.platform.run_queues != 1)
		return 0;
	cfg.ops = r->switches[0].ops;
	cfg.opts = r->switches[0].opts;
	cfg.switches = r->switches + 1;
	cfg.nswitches = r->nworked - 1;
	cfg.stand_in = true; /* as it did then */
	rc = play(j, &cfg, "all, by turns", &result, e);
	if (rc)
		return rc;
	rc = recording_keep_own(r, e);
	simulation_result_fini(&result);
	return rc;
}

/* True: out of memory. Without anything else that has failed the replay goes
 * on. */
static bool lacks_memory(int rc, const char *what, const struct cr_err *e)
{
	if (rc && rc != -ENOMEM)
		(void)fprintf(stderr, "codec-sim: warning: %s: %s\n", what,
			      e->text);
	return rc == -ENOMEM;
}

/* A recorded run is its own campaign, plan and models. */
static int run_recording(struct job *j)
{
	const struct campaign_platform *p = &given.platform;
	const struct campaign_settings set = { given.settings.item,
					       given.settings.count };
	const struct recording_terms terms = {
		.set = &set,
		.own_overheads = p->overhead.decision == UNSET &&
				 p->overhead.context == UNSET &&
				 p->overhead.migration == UNSET &&
				 p->overhead.release == UNSET &&
				 p->overhead.lock == UNSET,
		.seed = given.seed == UNSET ? 1 : (uint64_t)given.seed,
	};
	struct recording r;
	struct cr_err e = { "" };
	bool compared = false;
	int rc = recording_open(&r, given.replay, &terms, &e);

	if (!rc)
		rc = apply_settings(r.campaign, j, &e);
	if (!rc && given.analyse)
		rc = cr_fail(&e, -EINVAL, "--analyse needs a campaign");
	if (rc) {
		rc = complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, &e);
	} else {
		if (!given.json)
			recording_report(&r, stdout);
		j->recording = &r;
		j->cfg.replayed = &r.replayed;
		set_models(j, &r.plan, &r.models);
		/* compared with the live run beside a replay of each scheduler
		 * in all of the time, if any of those asked for was at work
		 * then */
		for (unsigned i = 0; i < j->nschedulers; i++)
			compared |= agreement_has(&r, j->schedulers[i]);
		if (compared &&
		    (lacks_memory(play_switches(j, &r, &e),
				  "compared without the live run's switches",
				  &e) ||
		     lacks_memory(picks_ask(&r, &e),
				  "no live pick is asked about", &e)))
			rc = complain(EXIT_BROKEN, &e);
		else
			rc = run_all(j);
	}
	recording_close(&r);
	return rc;
}

int main(int argc, char **argv)
{
	struct job j = { .argc = argc, .argv = argv };
	const char *path = parse_command_line(argc, argv);
	const struct campaign_settings set = { given.settings.item,
					       given.settings.count };
	/* a second signal means at once */
	struct sigaction stop = { .sa_handler = on_signal,
				  .sa_flags = (int)SA_RESETHAND };
	struct campaign *c = NULL;
	struct cr_err e;
	int rc;

	if (path && campaign_load(path, &set, &c, &e))
		return complain(EXIT_USAGE, &e);
	(void)sigemptyset(&stop.sa_mask);
	(void)sigaction(SIGINT, &stop, NULL);
	(void)sigaction(SIGTERM, &stop, NULL);
	rc = c ? run_campaign(&j, c) : run_recording(&j);
	campaign_free(c);
	return rc;
}
