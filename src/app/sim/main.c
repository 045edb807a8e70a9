/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-sim: plays a campaign in virtual time. What people see; the command
 * line is in options.c, the work in src/sim.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "app/sim/options.h"
#include "base/cli.h"
#include "base/clock.h"
#include "run/json.h"
#include "engine/scheduler.h"
#include "schedulers/policies.h"
#include "sim/agreement.h"
#include "sim/analyse.h"
#include "sim/models.h"
#include "sim/picks.h"
#include "sim/recording.h"
#include "sim/report.h"

/* Exit codes; codec-sim --help tells them. */
enum { EXIT_BROKEN = 1, EXIT_USAGE = 2, EXIT_MISSED = 3, EXIT_SIGNAL = 130 };

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

static void progress_begin(struct progress *p, const char *scheduler,
			   bool quiet)
{
	*p = (struct progress){ .scheduler = scheduler, .begin = clock_now() };
	p->shown = !quiet && isatty(STDERR_FILENO);
	p->next = p->begin + 200 * CR_MS;
}

static void progress_end(const struct progress *p)
{
	if (p->open)
		(void)fputs("\r\033[K", stderr);
}

/* --- runs --- */

struct job {
	struct sim_options options;
	struct sim_settings settings;
	struct simulation_cfg cfg;
	const struct recording *recording; /* played again; NULL: none */
	json_t *runs;			   /* --json: what each came to */
	int argc;
	char **argv;
};

static int tell(const struct job *j, struct sim_report *r, const char *dir,
		struct cr_err *e)
{
	int rc = 0;

	/* half a run cannot be judged */
	if (!r->result->interrupted && !r->failure)
		rc = sim_report_judge(r, e);
	if (!rc && *dir)
		rc = sim_report_write(r, dir, e);
	if (rc || r->failure) /* nobody's result */
		return rc;
	if (j->options.json) {
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

/* The scheduler broke its contract, and fifo was not to go on. */
static void fail_fault(const struct sim_report *r, struct cr_err *e)
{
	const struct simulation_fault *f = &r->result->fault;

	(void)cr_fail(e, -EPROTO,
		      "%s broke its contract at %.3f s, and its run ends "
		      "there: mend it (schedulers/README.md has the "
		      "contract), or have fifo go on with --stand-in. %s",
		      r->scheduler, (double)f->at / 1e9, f->text);
}

static int exit_code(const struct sim_report *r)
{
	if (r->result->interrupted)
		return EXIT_SIGNAL;
	return verdicts_met(&r->verdicts) ? 0 : EXIT_MISSED;
}

static int simulate(struct job *j, struct sim_report *r, const char *dir,
		    struct cr_err *e)
{
	struct simulation_result result;
	struct progress progress;
	cr_ns begin = clock_now();
	struct cr_err fault;
	int rc;

	if (j->recording)
		recording_rewind(j->recording);
	progress_begin(&progress, r->scheduler, j->options.quiet);
	j->cfg.progress = show_progress;
	j->cfg.arg = &progress;
	rc = simulation_run(&j->cfg, &result, e);
	progress_end(&progress);
	if (rc)
		return complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, e);
	r->seconds = (double)(clock_now() - begin) / 1e9;
	r->result = &result;
	if (j->cfg.trace)
		rc = sim_trace_close(j->cfg.trace, e);
	if (result.fault.count && !j->cfg.stand_in) {
		fail_fault(r, &fault);
		r->failure = fault.text;
	}
	if (!rc)
		rc = tell(j, r, dir, e);
	rc = rc ? complain(EXIT_BROKEN, e) : exit_code(r);
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
	bool several = j->settings.nschedulers > 1;
	const char *path = j->options.trace;
	char inside[RUN_PATH_MAX + 16];
	int rc = 0;

	j->cfg.trace = NULL;
	dir[0] = '\0';
	if (j->options.out)
		rc = sim_folder_make(j->options.out,
				     several ? r->scheduler : NULL, dir, e);
	if (rc || (!path && !*dir))
		return rc;
	(void)snprintf(inside, sizeof(inside), "%s/trace.bin", dir);
	rc = sim_trace_open(r, path ? path : inside, t, e);
	if (!rc)
		j->cfg.trace = t;
	return rc;
}

static int run_one(struct job *j, const char *scheduler)
{
	struct sim_report r = { .cfg = &j->cfg,
				.scheduler = scheduler,
				.seed = j->settings.seed,
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
	unsigned n = j->settings.nschedulers;
	int worst = 0;

	j->runs = json_array();
	for (unsigned i = 0; i < n && worst != EXIT_SIGNAL; i++) {
		int rc = run_one(j, j->settings.schedulers[i]);

		if (rc && (!worst || rc != EXIT_MISSED))
			worst = rc;
	}
	if (j->options.json) /* nothing when the only run failed */
		run_json_print(n == 1 ? json_array_get(j->runs, 0) : j->runs,
			       stdout);
	json_decref(j->runs);
	return close_stdout(worst);
}

/* --- the analysis --- */

/* The options that edf-hsb has in the list of schedulers. */
static const char *hsb_options_in(const struct sim_settings *s)
{
	const struct cr_sched_ops *ops;
	const char *opts;

	for (unsigned i = 0; i < s->nschedulers; i++)
		if (!cr_scheduler_find(s->schedulers[i], &ops, &opts, NULL) &&
		    ops == &cr_sched_edf_hsb)
			return opts;
	return "";
}

static int analyse(const struct job *j, const struct campaign *c,
		   const struct sim_models *m)
{
	const struct sim_settings *s = &j->settings;
	struct analysis a;
	struct cr_err e;
	int rc = analysis_make(&a, c, &s->platform, m, hsb_options_in(s), &e);

	if (rc) {
		rc = complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, &e);
	} else if (j->options.json) {
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

static void set_up(struct job *j, const struct plan *plan,
		   const struct sim_models *m)
{
	j->cfg.platform = j->settings.platform;
	j->cfg.duration = j->settings.duration;
	j->cfg.threads = j->options.threads;
	j->cfg.stand_in = j->options.stand_in;
	j->cfg.plan = plan;
	j->cfg.costs = m->costs;
	j->cfg.replays = m->replays;
	j->cfg.voices = m->voices;
}

static int run(struct job j, const struct campaign *c)
{
	const struct sim_settings *s = &j.settings;
	struct sim_models m = { 0 };
	struct plan plan;
	struct cr_err e = { "" };
	int rc = campaign_check_simulated(c, &e);

	if (!rc)
		rc = sim_options_apply(c, &j.settings, &e);
	if (!rc)
		rc = sim_models_open(&m, c,
				     &(struct sim_terms){ s->platform.cpus,
							  s->seed,
							  s->duration },
				     &e);
	if (!rc && j.options.analyse) {
		rc = analyse(&j, c, &m);
		sim_models_close(&m, c);
		return rc;
	}
	if (!rc)
		rc = plan_make(&plan, c,
			       &(struct plan_options){ s->seed, s->duration,
						       m.counts },
			       &e);
	if (rc) {
		sim_models_close(&m, c);
		return complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, &e);
	}
	set_up(&j, &plan, &m);
	rc = run_all(&j);
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
	struct progress progress;
	int rc;

	if (r->nworked < 2 || !r->switches || cfg.platform.run_queues != 1)
		return 0;
	cfg.ops = r->switches[0].ops;
	cfg.opts = r->switches[0].opts;
	cfg.switches = r->switches + 1;
	cfg.nswitches = r->nworked - 1;
	cfg.stand_in = true; /* as it did then */
	recording_rewind(r);
	progress_begin(&progress, "all, by turns", j->options.quiet);
	cfg.progress = show_progress;
	cfg.arg = &progress;
	rc = simulation_run(&cfg, &result, e);
	progress_end(&progress);
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

/* What is compared with the live run beside a replay of each scheduler in all
 * of the time, if any of those asked for was at work then. */
static int compare_live(struct job *j, struct recording *r, struct cr_err *e)
{
	bool compared = false;

	for (unsigned i = 0; i < j->settings.nschedulers; i++)
		compared |= agreement_has(r, j->settings.schedulers[i]);
	if (compared &&
	    (lacks_memory(play_switches(j, r, e),
			  "compared without the live run's switches", e) ||
	     lacks_memory(picks_ask(r, e), "no live pick is asked about", e)))
		return -ENOMEM;
	return 0;
}

/* A recorded run is its own campaign, plan and models. */
static int replay(struct job j)
{
	const struct recording_terms terms = {
		.set = &j.options.settings,
		.own_overheads = j.options.replay_overheads,
		.seed = j.options.seed,
	};
	struct recording r;
	struct cr_err e = { "" };
	int rc = recording_open(&r, j.options.replay, &terms, &e);

	if (!rc)
		rc = sim_options_apply(r.campaign, &j.settings, &e);
	if (!rc && j.options.analyse)
		rc = cr_fail(&e, -EINVAL, "--analyse needs a campaign");
	if (rc) {
		rc = complain(rc == -ENOMEM ? EXIT_BROKEN : EXIT_USAGE, &e);
	} else {
		if (!j.options.json)
			recording_report(&r, stdout);
		j.recording = &r;
		j.cfg.replayed = &r.replayed;
		set_up(&j, &r.plan, &r.models);
		rc = compare_live(&j, &r, &e) ? complain(EXIT_BROKEN, &e)
					      : run_all(&j);
	}
	recording_close(&r);
	return rc;
}

int main(int argc, char **argv)
{
	struct job j = { .argc = argc, .argv = argv };
	struct campaign *c;
	struct cr_err e;
	int rc;

	sim_options_parse(&j.options, argc, argv);
	if (j.options.replay) {
		catch_signals();
		return replay(j);
	}
	if (campaign_load_with(j.options.campaign, &j.options.settings, &c, &e))
		return complain(EXIT_USAGE, &e);
	catch_signals();
	rc = run(j, c);
	campaign_free(c);
	return rc;
}
