/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-sim's command line: the table, and what it puts in place of what the
 * campaign says.
 */
#define _GNU_SOURCE /* sched_getaffinity() */
#include "app/sim/options.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/codec_option.h"
#include "app/kernels_option.h"
#include "base/cli.h"
#include "engine/scheduler.h"
#include "sim/report.h"
#include "sim/sim.h"

#define UNSET INT64_C(-1)

static struct {
	struct cli_list schedulers;
	const char *run_queues, *out, *trace, *replay;
	int64_t cpus, preempt, quantum, seed, duration;
	int64_t decision, context, migration, release, lock;
	int64_t receivers, receiver_cost, receiver_wake, receiver_waiting;
	int64_t threads, kernels, shed, shed_wait;
	struct cli_list plugins, settings;
	bool json, quiet, analyse, stand_in;
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
	.receivers = UNSET,
	.receiver_cost = UNSET,
	.receiver_wake = UNSET,
	.receiver_waiting = UNSET,
	.threads = UNSET,
	.shed = UNSET,
	.shed_wait = UNSET,
};

static const char *const preempt_names[] = { "frame", "quantum", "full", NULL };

/* clang-format off */
#define ROW(k, n, a, h, m, ...)                                                \
	{ .kind = k, .name = n, .arg = a, .help = h, m, __VA_ARGS__ }
/* clang-format on */
#define OVERHEAD(n, h, v)                                                      \
	ROW(CLI_TIME, "overhead-" n, NULL, h, .number = &raw.v, .min = 0,      \
	    .max = CR_SEC, .dflt = "")

static const struct cli_opt rows[] = {
	ROW(CLI_SECTION, NULL, NULL, "Scheduling", .flag = NULL),
	{ .kind = CLI_LIST,
	  .name = "scheduler",
	  .letter = 's',
	  .arg = "NAME[,OPTION=VALUE]...",
	  .help = "Scheduler, in place of those that the campaign lists (edf "
		  "if it lists none). Repeat it for several, or put commas "
		  "between them (edf,rr,quantum=5ms,bfs: what has no = begins "
		  "the next one); each gets a run. codec-runner --schedulers "
		  "lists all schedulers. A name "
		  "with a slash is a shared object.",
	  .list = &raw.schedulers },
	ROW(CLI_FLAG, "stand-in", NULL,
	    "When a scheduler breaks its contract, have fifo go on, as "
	    "codec-runner does. The result is fifo's, and its name says after "
	    "whom and since when. Without it, the run ends there, with exit "
	    "code 1 and no result.",
	    .flag = &raw.stand_in),
	ROW(CLI_ENUM, "preempt", NULL,
	    "When a job can be interrupted: never, as in live mode (frame); "
	    "on a grid of --quantum (quantum); at any moment (full).",
	    .number = &raw.preempt, .names = preempt_names, .dflt = "frame"),
	ROW(CLI_TIME, "quantum", NULL, "The grid for --preempt=quantum.",
	    .number = &raw.quantum, .min = CR_US, .max = 10 * CR_SEC,
	    .dflt = "1ms"),
	ROW(CLI_ENUM, "shed", NULL,
	    "Which frames are given up in overload before they are too old, "
	    "as codec-runner's --shed has it. How loud frames are is what the "
	    "campaign says of their flow (voice).",
	    .number = &raw.shed, .names = shed_names, .dflt = "age"),
	ROW(CLI_TIME, "shed-wait", NULL,
	    "How long a frame waits before --shed may give it up.",
	    .number = &raw.shed_wait, .min = SHED_WAIT_MIN,
	    .max = SHED_WAIT_MAX, .dflt = "auto"),

	ROW(CLI_SECTION, NULL, NULL, "Machine", .flag = NULL),
	ROW(CLI_INT, "cpus", "N", "Number of CPUs.", .number = &raw.cpus,
	    .min = 1, .max = CR_MAX_CPUS, .dflt = "1"),
	ROW(CLI_STRING, "run-queues", "global|partitioned|N",
	    "One run queue for all CPUs (global), one for each (partitioned), "
	    "or N of them.",
	    .text = &raw.run_queues),
	OVERHEAD("decision", "CPU time of a scheduling decision.", decision),
	OVERHEAD("context", "CPU time when a CPU goes over to another call.",
		 context),
	OVERHEAD("migration", "CPU time when a call comes from another CPU.",
		 migration),
	OVERHEAD("release", "CPU time when a job becomes ready.", release),
	OVERHEAD("lock",
		 "How long a scheduling decision holds its run queue's lock. "
		 "Other CPUs that want the lock wait. "
		 "build/release/tests/bench/engine/bench_contention "
		 "measures it.",
		 lock),
	ROW(CLI_INT, "receivers", "N",
	    "Number of receivers, each with a CPU beside --cpus. Calls are "
	    "dealt out to them. A packet becomes a job when its receiver has "
	    "done with it. With 0, it does so when it comes.",
	    .number = &raw.receivers, .min = 0, .max = CR_MAX_CPUS,
	    .dflt = "0"),
	ROW(CLI_TIME, "receiver-cost", NULL,
	    "CPU time that a receiver takes for a packet.",
	    .number = &raw.receiver_cost, .min = 0, .max = CR_SEC, .dflt = "0"),
	ROW(CLI_TIME, "receiver-wake", NULL,
	    "CPU time that a receiver takes to wake up. It sleeps when there "
	    "is no packet.",
	    .number = &raw.receiver_wake, .min = 0, .max = CR_SEC, .dflt = "0"),
	ROW(CLI_INT, "receiver-waiting", "N",
	    "Packets that may wait for a receiver. Those that come when so "
	    "many wait are dropped.",
	    .number = &raw.receiver_waiting, .min = 1,
	    .max = CAMPAIGN_WAITING_MAX, .dflt = "20000"),
	ROW(CLI_LIST, "codec", "FILE", CODEC_OPTION_HELP, .list = &raw.plugins),
	ROW(CLI_ENUM, "codec-kernels", NULL,
	    "With which functions the cost of a flow with codecs is measured: "
	    "the codec libraries' own (stock), ours for CPUs with AVX2 "
	    "(avx2), or the fastest that the CPU can run (auto). See "
	    "codec-runner(1).",
	    .number = &raw.kernels, .names = cr_kernels_names),

	ROW(CLI_SECTION, NULL, NULL, "Load", .flag = NULL),
	ROW(CLI_STRING, "replay", "FOLDER|TRACE",
	    "In place of a campaign, play a recorded run: the arrivals, costs, "
	    "classes, deadlines, weights and importance of its frames, as its "
	    "trace has them, under its own schedulers or those of --scheduler, "
	    "and compare. What its turns took beside the codecs is "
	    "played, too, and printed; with --overhead-..., what these say in "
	    "place of it. --set works as on a campaign that describes it.",
	    .text = &raw.replay),
	ROW(CLI_LIST, "set", "KEY=VALUE",
	    "Put VALUE in place of what the campaign says to KEY, or where it "
	    "says nothing. Dots part sections from keys, and a flow is told by "
	    "its name or its number: platform.cpus=4, "
	    "flows.speech.load=110%, flows[0].network.loss=2%. VALUE is "
	    "written as in the file, so a list is [fifo,edf], and is checked "
	    "as the file is. KEY= takes the key away. May be repeated. "
	    "Where another option says the same, such as --cpus, that one "
	    "holds.",
	    .list = &raw.settings),
	ROW(CLI_INT, "seed", "N", "Use this in place of the campaign's seed.",
	    .number = &raw.seed, .min = 0, .max = INT64_MAX, .dflt = ""),
	ROW(CLI_TIME, "duration", NULL,
	    "Use this in place of the campaign's duration.",
	    .number = &raw.duration, .min = CR_MS, .max = 2592000 * CR_SEC,
	    .dflt = ""),

	ROW(CLI_SECTION, NULL, NULL, "Speed", .flag = NULL),
	ROW(CLI_INT, "jobs", "N",
	    "Number of threads that simulate. Default: one for each CPU that "
	    "codec-sim may use. Each run queue is simulated by one thread, so "
	    "more threads help only with several run queues. The result and "
	    "the trace are the same with any number.",
	    .number = &raw.threads, .min = 1, .max = CR_MAX_CPUS, .dflt = ""),

	ROW(CLI_SECTION, NULL, NULL, "What it tells", .flag = NULL),
	{ .kind = CLI_STRING,
	  .name = "out",
	  .letter = 'o',
	  .arg = "DIR",
	  .help = "Write run.json, calls.csv and trace.bin into this folder. "
		  "With several schedulers, each has a folder in it.",
	  .text = &raw.out },
	ROW(CLI_STRING, "trace", "FILE",
	    "Write a trace of every job to this file; codec-report reads it.",
	    .text = &raw.trace),
	ROW(CLI_FLAG, "json", NULL, "Print run.json in place of the table.",
	    .flag = &raw.json),
	ROW(CLI_FLAG, "analyse", NULL,
	    "Do not play the campaign, but print what is known beforehand "
	    "about its calls under edf-hsb (with the options that the list of "
	    "schedulers gives it): whether its constraints are met, the "
	    "budgets, how late each call can be, and the play-out buffer that "
	    "it needs. With --json it is JSON.",
	    .flag = &raw.analyse),
	{ .kind = CLI_FLAG,
	  .name = "quiet",
	  .letter = 'q',
	  .help = "No progress.",
	  .flag = &raw.quiet },
	{ .kind = CLI_SECTION },
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
	  "What edf, rr and bfs would have made of a live run." },
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
	.min_args = 0,
	.max_args = 1,
};

static void override(int64_t *value, int64_t given)
{
	if (given != UNSET)
		*value = given;
}

/* The campaign's are for the campaign's number of CPUs. */
static int set_run_queues(struct campaign_platform *p, struct cr_err *e)
{
	if (raw.run_queues)
		return campaign_set_run_queues(p, raw.run_queues, e);
	if (p->partitioned || p->run_queues > p->cpus)
		p->run_queues = p->cpus;
	return campaign_check_run_queues(p, e);
}

/* Receivers are simulated ahead of the jobs. */
static int check_receivers(const struct campaign *c,
			   const struct campaign_platform *p, struct cr_err *e)
{
	bool given = raw.receiver_cost != UNSET || raw.receiver_wake != UNSET ||
		     raw.receiver_waiting != UNSET;

	if (!p->receivers.count)
		return given ? cr_fail(e, -EINVAL,
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
	return check_receivers(c, p, e);
}

static int set_platform(const struct campaign *c, struct campaign_platform *p,
			struct cr_err *e)
{
	*p = c->platform;
	override(&p->cpus, raw.cpus);
	override(&p->preempt, raw.preempt);
	override(&p->quantum, raw.quantum);
	override(&p->shed, raw.shed);
	override(&p->shed_wait, raw.shed_wait);
	override(&p->overhead.decision, raw.decision);
	override(&p->overhead.context, raw.context);
	override(&p->overhead.migration, raw.migration);
	override(&p->overhead.release, raw.release);
	override(&p->overhead.lock, raw.lock);
	override(&p->receivers.count, raw.receivers);
	override(&p->receivers.cost, raw.receiver_cost);
	override(&p->receivers.wake, raw.receiver_wake);
	override(&p->receivers.waiting, raw.receiver_waiting);
	if (raw.quantum != UNSET && p->preempt != SIM_QUANTUM)
		return cr_fail(e, -EINVAL,
			       "--quantum has no effect without --preempt "
			       "quantum");
	return set_run_queues(p, e) ? -EINVAL : check_platform(c, p, e);
}

/* One would write over the other. */
static int check_folders(const struct sim_settings *s, struct cr_err *e)
{
	char a[RUN_PATH_MAX], b[RUN_PATH_MAX];

	for (unsigned i = 0; raw.out && i < s->nschedulers; i++)
		for (unsigned k = 0; k < i; k++) {
			sim_folder_name(s->schedulers[k], a);
			sim_folder_name(s->schedulers[i], b);
			if (!strcmp(a, b))
				return cr_fail(e, -EINVAL,
					       "schedulers %.128s and %.128s "
					       "would share the folder %.128s; "
					       "give one another name",
					       s->schedulers[k],
					       s->schedulers[i], a);
		}
	return 0;
}

/* The last one may be hours away. */
static int check_schedulers(const struct sim_settings *s, struct cr_err *e)
{
	for (unsigned i = 0; i < s->nschedulers; i++) {
		int rc = scheduler_check(s->schedulers[i], e);

		if (rc)
			return rc;
		for (unsigned k = 0; k < i; k++)
			if (!strcmp(s->schedulers[k], s->schedulers[i]))
				return cr_fail(e, -EINVAL,
					       "scheduler %s is given twice",
					       s->schedulers[i]);
	}
	return 0;
}

/* "edf,rr,quantum=5ms" is edf, and rr with an option: what has no value is a
 * name. The texts are @list's for the process's life. */
static int split_schedulers(const struct cli_list *given, struct cli_list *list,
			    struct cr_err *e)
{
	for (unsigned i = 0; i < given->count; i++) {
		char *text = strdup(given->item[i]), *save = NULL;
		char *item = text ? strtok_r(text, ",", &save) : NULL;

		if (!text)
			return cr_fail(e, -ENOMEM, "out of memory");
		for (; item; item = strtok_r(NULL, ",", &save)) {
			if (strchr(item, '=') && item != text) {
				item[-1] = ','; /* it is the last one's */
				continue;
			}
			if (list->count == CLI_MAX_LIST)
				return cr_fail(e, -EINVAL,
					       "more than %u schedulers",
					       CLI_MAX_LIST);
			list->item[list->count++] = item;
		}
	}
	return 0;
}

static int set_schedulers(const struct campaign *c, struct sim_settings *s,
			  struct cr_err *e)
{
	static const char *const fallback[] = { "edf" };
	static struct cli_list named;

	s->schedulers = fallback;
	s->nschedulers = 1;
	if (split_schedulers(&raw.schedulers, &named, e))
		return -EINVAL;
	if (named.count) {
		s->schedulers = named.item;
		s->nschedulers = named.count;
	} else if (c->scheduler_count) {
		s->schedulers = (const char *const *)c->schedulers;
		s->nschedulers = c->scheduler_count;
	}
	if (raw.trace && s->nschedulers > 1)
		return cr_fail(e, -EINVAL,
			       "--trace with %u schedulers: use --out",
			       s->nschedulers);
	return check_schedulers(s, e) ? -EINVAL : check_folders(s, e);
}

int sim_options_apply(const struct campaign *c, struct sim_settings *s,
		      struct cr_err *e)
{
	int64_t seed = c->seed;
	int rc = set_platform(c, &s->platform, e);

	s->duration = c->duration;
	override(&seed, raw.seed);
	override(&s->duration, raw.duration);
	s->seed = (uint64_t)seed;
	return rc ? rc : set_schedulers(c, s, e);
}

/* As many as this process may use. */
static unsigned usable_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1; /* more than the set holds */
	return (unsigned)CPU_COUNT(&set);
}

void sim_options_parse(struct sim_options *o, int argc, char **argv)
{
	int first = cli_parse_or_exit(&cli, argc, argv);

	if (!raw.replay == (first == argc)) {
		(void)fprintf(stderr,
			      "codec-sim: %s\nTry 'codec-sim --help'.\n",
			      raw.replay ? "--replay takes the place of a "
					   "campaign: leave one of them out"
					 : "CAMPAIGN is missing: the file of a "
					   "campaign, or --replay");
		exit(2);
	}
	codec_option_use("codec-sim", &raw.plugins);
	kernels_option_use("codec-sim", (enum cr_kernels)raw.kernels);
	*o = (struct sim_options){
		.campaign = raw.replay ? NULL : argv[first],
		.replay = raw.replay,
		.replay_overheads = raw.decision == UNSET &&
				    raw.context == UNSET &&
				    raw.migration == UNSET &&
				    raw.release == UNSET && raw.lock == UNSET,
		.seed = raw.seed == UNSET ? 1 : (uint64_t)raw.seed,
		.settings = { raw.settings.item, raw.settings.count },
		.out = raw.out,
		.trace = raw.trace,
		.json = raw.json,
		.quiet = raw.quiet,
		.analyse = raw.analyse,
		.stand_in = raw.stand_in,
		.threads = raw.threads == UNSET ? usable_cpus()
						: (unsigned)raw.threads,
	};
}
