/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-feeder: plays a campaign against a daemon. The command line, what
 * people see of a campaign (progress: one line rewritten on a terminal, a plain
 * line every five seconds elsewhere), and what is printed in place of playing
 * it:
 * --print, for campaigns/run, and --print-schedule. The work is in src/feeder.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/codec_option.h"
#include "base/address.h"
#include "base/cli.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/nearest.h"
#include "base/thread.h"
#include "feeder/output.h"
#include "feeder/session.h"
#include "protocol/key.h"
#include "run/run.h"

struct feeder_progress {
	FILE *out;
	bool terminal, open; /**< open: a line without its end is there */
	cr_ns next;	     /**< show nothing before                   */
};

static void print_packet(const struct plan_packet *k, const char *flow,
			 unsigned index)
{
	(void)printf("%.6f %s-%u frame=%llu seq=%llu%s%s%s",
		     (double)k->at / 1e9, flow, index,
		     (unsigned long long)k->frame, (unsigned long long)k->seq,
		     k->marker ? " marker" : "", k->lost ? " lost" : "",
		     k->copy ? " copy" : "");
	if (k->kind == PLAN_EVENT)
		(void)printf(" digit=%u duration=%.3fms%s", k->digit,
			     (double)k->duration / 1e6, k->end ? " end" : "");
	if (k->kind == PLAN_NOISE)
		(void)printf(" noise");
	if (k->ssrc)
		(void)printf(" ssrc=%u", k->ssrc);
	if (k->port)
		(void)printf(" port=%u", k->port);
	(void)putchar('\n');
}

/*
 * Every packet, when it is due, and a hash of all. @counts[flow_count], 0
 * where the campaign's are to be taken, are filled in. 0, or -errno with @e.
 */
static int feeder_print_schedule(const struct session_cfg *cfg,
				 uint64_t *counts, struct cr_err *e)
{
	const struct campaign *c = cfg->campaign;
	struct plan_options o = { cfg->seed, cfg->duration, counts };
	struct plan_packet k;
	struct plan_stream s;
	struct plan p;
	int rc;

	for (unsigned f = 0; f < c->flow_count; f++)
		if (!counts[f])
			counts[f] = c->flows[f].like < 0
					    ? (uint64_t)c->flows[f].count
					    : counts[c->flows[f].like];
	rc = plan_make(&p, c, &o, e);
	if (rc)
		return rc;
	for (size_t i = 0; i < p.count; i++) {
		plan_stream_init(&s, &p, &p.calls[i]);
		while (plan_stream_next(&s, &k))
			print_packet(&k, c->flows[p.calls[i].flow].name,
				     p.calls[i].index);
	}
	(void)printf("streams=%zu hash=%016llx\n", p.count,
		     (unsigned long long)plan_hash(&p));
	plan_fini(&p);
	return 0;
}

/* The options to start the daemon with. 0. */
static int feeder_print_daemon(const struct campaign *c)
{
	const struct campaign_platform *p = &c->platform;

	(void)printf("--workers=%lld\n", (long long)p->cpus);
	if (p->run_queues == 1)
		(void)printf("--run-queues=global\n");
	else if (p->run_queues == p->cpus)
		(void)printf("--run-queues=partitioned\n");
	else /* there, a number is workers per run queue */
		(void)printf("--run-queues=%lld\n",
			     (long long)campaign_cpus_per_rq(p));
	if (!p->admission)
		(void)printf("--no-admission\n");
	/* the daemon's own default is auto */
	if (p->max_age == CR_NEVER)
		(void)printf("--max-age=none\n");
	else if (p->max_age != CAMPAIGN_AGE_AUTO)
		(void)printf("--max-age=%lldus\n",
			     (long long)(p->max_age / CR_US));
	/* the daemon's own default is quiet */
	if (p->shed != SHED_QUIET)
		(void)printf("--shed=%s\n", shed_names[p->shed]);
	if (p->shed_wait)
		(void)printf("--shed-wait=%lldus\n",
			     (long long)(p->shed_wait / CR_US));
	if (p->convert_floor)
		(void)printf("--convert-floor=%lld\n",
			     (long long)p->convert_floor);
	return 0;
}

/*
 * FLOW=N for every flow whose load becomes a count by what the daemon says,
 * so that every scheduler gets the same calls. 0, or -errno with @e.
 */
static int feeder_print_counts(const struct session_cfg *cfg, struct cr_err *e)
{
	const struct campaign *c = cfg->campaign;
	unsigned loads = 0; /* that have still to become a count */
	uint64_t *got;
	int rc;

	for (unsigned f = 0; f < c->flow_count; f++)
		loads += c->flows[f].load_ppm && !cfg->counts[f];
	if (!loads)
		return 0;
	got = calloc(c->flow_count, sizeof(*got));
	if (!got)
		return cr_fail(e, -ENOMEM, "out of memory");
	rc = session_counts(cfg, got, e);
	for (unsigned f = 0; !rc && f < c->flow_count; f++)
		if (c->flows[f].load_ppm && !cfg->counts[f])
			(void)printf("%s=%llu\n", flow_title(&c->flows[f]),
				     (unsigned long long)got[f]);
	free(got);
	return rc;
}

static bool expects(const struct campaign_expect *e)
{
	bool any = false;

	for (unsigned m = 0; m < NMETRICS; m++)
		any |= e[m].given;
	return any;
}

static json_t *seconds(cr_ns t)
{
	return t == CR_NEVER ? json_null() : json_real((double)t / 1e9);
}

/* As the command line has them: a count takes the place of a load. */
static json_t *flow_json(const struct session_cfg *cfg, unsigned i)
{
	const struct campaign_flow *f = &cfg->campaign->flows[i];
	double scale = (double)cfg->scale_ppm / CR_PPM;
	uint64_t count = cfg->counts[i];

	if (!count)
		count = (uint64_t)((double)f->count * scale + 0.5);
	return json_pack("{s:s,s:I,s:f,s:b,s:b,s:b,s:b,s:b,s:o,s:o}", "flow",
			 f->name, "count", (json_int_t)count, "load",
			 count ? 0.0 : (double)f->load_ppm / CR_PPM * scale,
			 "codecs", !f->synthetic, "like", f->like >= 0,
			 "two_way", flow_is_two_way(f), "poisson",
			 f->start.poisson.rates > 0, "exponential",
			 f->hold.exponential != 0, "at_s", seconds(f->start.at),
			 "hold_s", seconds(f->hold.mean));
}

/* A JSON object: what decides how campaigns/run plays it. 0. */
static int feeder_print_campaign(const struct session_cfg *cfg)
{
	const struct campaign *c = cfg->campaign;
	json_t *flows = json_array();
	bool judged = expects(c->expect) || expects(c->conversions.expect);
	json_t *j;

	for (unsigned i = 0; i < c->flow_count; i++) {
		judged |= expects(c->flows[i].expect);
		(void)json_array_append_new(flows, flow_json(cfg, i));
	}
	j = json_pack("{s:I,s:I,s:b,s:o}", "seed", (json_int_t)cfg->seed,
		      "conversions", (json_int_t)c->conversions.count,
		      "expects", judged, "flows", flows);
	(void)json_dumpf(j, stdout, JSON_COMPACT);
	(void)putchar('\n');
	json_decref(j);
	return 0;
}

#define TERMINAL_EVERY (200 * CR_MS)
#define LOG_EVERY (5 * CR_SEC)

/* For session_cfg.progress; @arg is the struct feeder_progress. */
static void feeder_progress_show(void *arg, const struct session_progress *s)
{
	struct feeder_progress *p = arg;
	cr_ns now = clock_now();
	bool last = s->total && s->done == s->total;

	if (now < p->next && !last)
		return;
	p->next = now + (p->terminal ? TERMINAL_EVERY : LOG_EVERY);
	if (p->terminal)
		(void)fputs("\r\033[K", p->out);
	if (s->total)
		(void)fprintf(p->out, "%s: %u of %u", s->phase, s->done,
			      s->total);
	else
		(void)fprintf(p->out,
			      "%u streams up, %" PRIu64 " sent, %" PRIu64
			      " received, %" PRIu64
			      " lost or under way, %lld s left",
			      s->up, s->sent, s->received, s->lost,
			      (long long)((s->left + CR_SEC - 1) / CR_SEC));
	if (!s->total && s->refused)
		(void)fprintf(p->out, ", %u refused", s->refused);
	if (!p->terminal)
		(void)fputc('\n', p->out);
	p->open = p->terminal;
	(void)fflush(p->out);
}

/* End the line. */
static void feeder_progress_end(struct feeder_progress *p)
{
	if (p->open)
		(void)fputc('\n', p->out);
	p->open = false;
}

/* Exit codes; codec-feeder --help lists them. */
enum { EXIT_BROKEN = 1, EXIT_USAGE = 2, EXIT_MISSED = 3, EXIT_SIGNAL = 130 };
enum print {
	PRINT_NOTHING,
	PRINT_DAEMON,
	PRINT_SCHEDULERS,
	PRINT_COUNTS,
	PRINT_CAMPAIGN
};

static struct {
	const char *to, *key, *out, *dump;
	struct field_texts counts, plugins, settings;
	int64_t seed, print, ports, daemon_ports;
	bool json, quiet, schedule, frames, realtime, speakers;
	struct session_cfg cfg;
} raw;

static const char *const print_names[] = { "nothing", "daemon",	  "schedulers",
					   "counts",  "campaign", NULL };

#define AT(m) FIELD_IN(__typeof__(raw), m)

static const struct field rows[] = {
	OPT_HEADING("Daemon"),
	OPT(FIELD_TEXT, "to", "HOST[:PORT]|unix:PATH",
	    "codec-runner's control address; PORT is the SCTP port (5555), "
	    "PATH its --control-socket.",
	    AT(to), .without = "127.0.0.1"),
	OPT(FIELD_TEXT, "key", "FILE",
	    "Its --control-key, which SCTP needs. Default, for daemons on "
	    "loopback: ~/.codec-runner/control.key, which a daemon of the same "
	    "user has created.",
	    AT(key), .without = ""),
	OPT(FIELD_TEXT, "ng", "ADDR:PORT",
	    "Call a media proxy, by the NG protocol at this address, instead "
	    "of codec-runner. Every call is an offer and an answer, and has "
	    "ports of its own (--ports own). Flows need a count, or --count; "
	    "there are no two-way calls, no conversions and no DTX.",
	    AT(cfg.ng)),
	OPT(FIELD_TEXT, "peer-name", "NAME",
	    "That proxy's name in reports. Default: its address.",
	    AT(cfg.peer)),
	OPT(FIELD_INT, "udp-port", "PORT",
	    "UDP port of the daemon that carries SCTP when the built-in stack "
	    "is used.",
	    AT(cfg.to.udp_port), .dflt = TRANSPORT_UDP_PORT, .min = 1,
	    .max = 65535),
	OPT(FIELD_CHOICE, "sctp", NULL,
	    "SCTP stack: the kernel's, the built-in one over UDP (RFC 6951), "
	    "or the first that works.",
	    AT(cfg.kind), .names = transport_kind_names),
	OPT(FIELD_TIME, "peer-timeout", NULL,
	    "A daemon that is silent on SCTP for longer counts as lost; one "
	    "that stalls for less does not end the run.",
	    AT(cfg.peer_timeout), .dflt = TRANSPORT_PEER_TIMEOUT,
	    .min = TRANSPORT_PEER_TIMEOUT_MIN,
	    .max = TRANSPORT_PEER_TIMEOUT_MAX),
	OPT(FIELD_TEXT, "trace", "NAME",
	    "Make the daemon write its trace to this file in its trace folder.",
	    AT(cfg.trace)),
	OPT(FIELD_TEXT, "spool", "DIR",
	    "The daemon's spool folder, by its path on this machine. A "
	    "campaign's conversions read and write there.",
	    AT(cfg.spool)),
	OPT(FIELD_BOOL, "no-bye", NULL,
	    "Disconnect without bye: for the daemon the client is lost.",
	    AT(cfg.bye), .flags = FIELD_OFF),

	OPT_HEADING("Load"),
	OPT(FIELD_TEXTS, "set", "KEY=VALUE",
	    "Replace a value of the campaign, as codec-sim --set does: "
	    "flows.speech.load=110%, flows[0].network.loss=2%. KEY= removes "
	    "the key. May be repeated. Other options, such as --duration, take "
	    "precedence.",
	    AT(settings)),
	OPT(FIELD_INT, "seed", "N", "Use this in place of the campaign's seed.",
	    AT(seed), .dflt = -1, .min = 0, .max = INT64_MAX, .without = ""),
	OPT(FIELD_TIME, "duration", NULL,
	    "Use this in place of the campaign's duration.", AT(cfg.duration),
	    .min = CR_MS, .max = 2592000 * CR_SEC, .without = ""),
	OPT(FIELD_SHARE, "load-scale", "SHARE",
	    "Multiply every flow's count and load.", AT(cfg.scale_ppm),
	    .dflt = 1000000, .min = 1000, .max = 100000000),
	OPT(FIELD_TEXTS, "count", "[FLOW=]N",
	    "Number of calls of this flow; without FLOW, of every flow.",
	    AT(counts)),
	OPT(FIELD_BOOL, "speakers", NULL,
	    "Read from standard input how many calls of each flow speak, in "
	    "lines FLOW=N [FLOW=N]...: from then on the first N calls of the "
	    "flow do, and the others, although they are up, send nothing "
	    "(withheld). No call speaks before the first line; a flow that a "
	    "line does not name stays unchanged, and so do all when the input "
	    "ends. The line end ends the run. Each valid line is answered by "
	    "one on standard output: the time (CLOCK_MONOTONIC, ns), and the "
	    "line.",
	    AT(speakers)),
	OPT(FIELD_CHOICE, "ports", NULL,
	    "UDP ports of calls, at both ends, instead of the campaign's "
	    "ports: own gives each call one of its own, as real calls have, "
	    "shared gives all the same.",
	    AT(ports), .dflt = -1, .names = campaign_ports_names,
	    .without = ""),
	OPT(FIELD_CHOICE, "daemon-ports", NULL,
	    "The same for the daemon's end alone.", AT(daemon_ports),
	    .dflt = -1, .names = campaign_ports_names, .without = ""),
	OPT(FIELD_TEXTS, "codec", "FILE", CODEC_OPTION_HELP, AT(plugins)),
	OPT(FIELD_CHOICE, "io", NULL,
	    "How to send and receive packets: by io_uring (Linux 6.1 or "
	    "later), by epoll, recvmmsg and sendmmsg, or by the first that "
	    "works.",
	    AT(cfg.io), .names = udp_io_names),
	OPT(FIELD_INT, "cpu", "N",
	    "Pin the sending and the receiving thread to this CPU.",
	    AT(cfg.cpu), .dflt = -1, .min = 0, .max = 1023, .without = ""),
	OPT(FIELD_BOOL, "realtime", NULL,
	    "Run with real-time priority (needs CAP_SYS_NICE), so that this "
	    "program keeps pace on CPUs that it shares with a busy daemon. "
	    "With --print it fails if the priority is not granted.",
	    AT(realtime)),

	OPT_HEADING("Output"),
	{ .kind = FIELD_TEXT,
	  .name = "out",
	  .letter = 'o',
	  .label = "DIR",
	  .help = "Write run.json and streams.csv into this folder.",
	  AT(out) },
	OPT(FIELD_BOOL, "frames", NULL,
	    "With --out, also write frames.bin, with the times at which each "
	    "frame was sent and came back.",
	    AT(frames)),
	OPT(FIELD_TEXT, "dump", "DIR",
	    "Write the speech of every call into this folder: the received "
	    "speech as .amr, .awb, .wav or .g723_1, the same decoded as "
	    ".heard.wav, and the sent speech as .src.wav.",
	    AT(dump)),
	OPT(FIELD_INT, "dump-calls", "N",
	    "With --dump: only of the first N calls of each flow. 0: of all.",
	    AT(cfg.dump_calls), .min = 0, .max = PLAN_CALLS_MAX),
	OPT(FIELD_TIME, "playout", NULL,
	    "With --dump: how long a listener waits. Frames that come later "
	    "than that after they were sent are left out. 0: none is. (Not of "
	    "two-way calls.)",
	    AT(cfg.playout), .min = 0, .max = 10 * CR_SEC),
	OPT(FIELD_BOOL, "json", NULL, "Print run.json in place of the table.",
	    AT(json)),
	{ .kind = FIELD_BOOL,
	  .name = "quiet",
	  .letter = 'q',
	  .help = "Do not show the progress.",
	  AT(quiet) },
	OPT(FIELD_BOOL, "print-schedule", NULL,
	    "Print every packet of the plan and its hash, and send nothing. "
	    "Flows with a load need --count.",
	    AT(schedule)),
	OPT(FIELD_CHOICE, "print", NULL,
	    "Print something about the campaign, one item a line, and play "
	    "nothing: its options for codec-runner (daemon), its schedulers, "
	    "the numbers of calls of its loads on this daemon, as --count "
	    "takes them (counts), or campaigns/run's view of it, as JSON "
	    "(campaign).",
	    AT(print), .names = print_names),
	{ .name = NULL },
};

static const struct cli_line operands[] = {
	{ "CAMPAIGN",
	  "Campaign file (YAML); campaigns/README.md describes it." },
	{ NULL, NULL }
};
static const struct cli_line examples[] = {
	{ "codec-feeder campaigns/demo.yaml --out edf",
	  "Play the demo against the daemon on this machine." },
	{ "codec-feeder demo.yaml --count steady=10 --dump speech",
	  "Ten calls, and keep what they received." },
	{ NULL, NULL }
};
static const struct cli_line exits[] = {
	{ "0", "All went as expected." },
	{ "1", "The run broke off: no daemon, daemon lost, disk full." },
	{ "2", "Wrong command line or campaign." },
	{ "3", "An expectation of the campaign was missed, or a packet of a "
	       "two-way call is not accounted for." },
	{ "130", "Interrupted; results were written." },
	{ NULL, NULL }
};

static const struct cli cli = {
	.program = "codec-feeder",
	.synopsis = "[OPTION]... CAMPAIGN",
	.summary = "play a campaign of speech calls against codec-runner",
	.text = "Starts each call of the campaign at its time, sends RTP of "
		"real speech paced by absolute time, receives the transcoded "
		"speech, matches it with the sent speech, and reports losses, "
		"late frames and delays. The same campaign and seed send the "
		"same packets at the same times. Of two-way calls it plays "
		"both parties, with the campaign's faults of their packets, "
		"and accounts for every packet.",
	.opts = rows,
	.vars = &raw,
	.operands = operands,
	.examples = examples,
	.exits = exits,
	.see_also = "codec-runner(1), codec-report(1), codec-ctl(1)",
	.min_args = 1,
	.max_args = 1,
};

static int complain_of_campaign(int code, const struct cr_err *e)
{
	(void)fprintf(stderr, "codec-feeder: %s\n", e->text);
	return code;
}

static int read_ng(struct transport_addr *to, struct cr_err *e)
{
	struct sockaddr_storage at;
	int port;

	if (address_parse(raw.cfg.ng, &at) || !address_port(&at) ||
	    address_split(raw.cfg.ng, to->host, sizeof(to->host), &port))
		return cr_fail(e, -EINVAL,
			       "--ng %s: needs ADDR:PORT, such as "
			       "127.0.0.1:22222",
			       raw.cfg.ng);
	return 0;
}

static int read_to(struct transport_addr *to, char key[KEY_SIZE],
		   struct cr_err *e)
{
	int rc = transport_addr_parse(to, raw.to);

	if (!rc && *to->path) /* the same machine: its RTP is there, too */
		(void)snprintf(to->host, sizeof(to->host), "127.0.0.1");
	if (rc == -ERANGE)
		return cr_fail(e, rc, "--to %s: the port must be 1..65535",
			       raw.to);
	return rc ? cr_fail(e, rc, "--to %s: needs HOST[:PORT] or unix:PATH",
			    raw.to)
		  : key_show(key, raw.key, to, e);
}

/* "flow=N" or "N" */
static int read_count(const struct campaign *c, const char *text,
		      uint64_t *counts, struct cr_err *e)
{
	const char *eq = strchr(text, '=');
	const char *digits = eq ? eq + 1 : text;
	char name[CAMPAIGN_NAME_MAX + 1], hint[300];
	const char *names[65] = { NULL };
	unsigned long long n;
	bool found = false;
	char *rest;

	(void)snprintf(name, sizeof(name), "%.*s", eq ? (int)(eq - text) : 0,
		       text);
	n = strtoull(digits, &rest, 10);
	if (*rest || rest == digits || !n || n > PLAN_CALLS_MAX)
		return cr_fail(e, -EINVAL,
			       "--count %s: needs [FLOW=]N, N from 1 to %u",
			       text, PLAN_CALLS_MAX);
	for (unsigned i = 0; i < c->flow_count; i++)
		if (!eq || strcmp(flow_title(&c->flows[i]), name) == 0) {
			counts[i] = n;
			found = true;
		}
	if (found)
		return 0;
	for (unsigned i = 0; i < c->flow_count && i < 64; i++)
		names[i] = flow_title(&c->flows[i]);
	return cr_fail(e, -EINVAL, "--count: no flow '%s' in %s; %s", name,
		       c->path, nearest_hint(name, names, hint, sizeof(hint)));
}

static int write_out(const struct output *o, struct cr_err *e)
{
	int rc = raw.out ? output_run(o, raw.out, e) : 0;
	json_t *j;

	if (!rc && raw.out && raw.frames)
		rc = output_frames(o, raw.out, e);
	if (!rc && raw.dump)
		rc = output_dump(o, raw.dump, e);
	if (!raw.json) {
		output_table(o, stdout);
		return rc;
	}
	j = output_json(o);
	run_json_print(j, stdout);
	json_decref(j);
	return rc;
}

/* After the run, whether it broke off or not: judge, write, show. */
static int conclude(struct session *s, struct output *o)
{
	struct session_result r;
	struct cr_err e = { "" };
	int rc = 0;

	session_result(s, &r);
	o->result = &r;
	if (!r.interrupted && !o->failure) /* half a run cannot be judged */
		rc = output_judge(o, &e);
	if (!rc)
		rc = write_out(o, &e);
	if (rc)
		rc = complain_of_campaign(EXIT_BROKEN, &e);
	else if (o->failure && !o->cut_off)
		rc = EXIT_BROKEN;
	else if (o->result->interrupted)
		rc = EXIT_SIGNAL;
	else if (!verdicts_met(&o->verdicts) || !output_balanced(o))
		rc = EXIT_MISSED;
	verdicts_fini(&o->verdicts);
	return rc;
}

static int feed_campaign(struct session_cfg cfg, int argc, char **argv)
{
	struct output o = { .cfg = &cfg, .argc = argc, .argv = argv };
	struct feeder_progress progress = {
		.out = stderr, .terminal = isatty(STDERR_FILENO) == 1
	};
	struct session *s;
	struct cr_err e = { "" };
	int rc;

	if (!raw.quiet) {
		cfg.progress = feeder_progress_show;
		cfg.arg = &progress;
	}
	if ((raw.out && run_folder_make(raw.out, &e)) ||
	    (raw.dump && run_folder_make(raw.dump, &e)))
		return complain_of_campaign(EXIT_BROKEN, &e);
	rc = session_open(&s, &cfg, &e);
	feeder_progress_end(&progress);
	if (rc)
		return complain_of_campaign(EXIT_BROKEN, &e);
	rc = session_play(s, &e);
	feeder_progress_end(&progress);
	if (rc) {
		o.failure = e.text;
		o.cut_off = rc == -EINTR;
		(void)complain_of_campaign(EXIT_BROKEN, &e);
	}
	rc = conclude(s, &o);
	session_close(s);
	return rc;
}

static int check_played(const struct campaign *c, struct cr_err *e)
{
	if (raw.cfg.dump_calls && !raw.dump)
		return cr_fail(e, -EINVAL,
			       "--dump-calls says what --dump keeps: needs "
			       "--dump DIR");
	if (raw.cfg.playout && !raw.dump)
		return cr_fail(e, -EINVAL,
			       "--playout says what --dump keeps: needs --dump "
			       "DIR");
	if (!c->conversions.count || raw.cfg.spool)
		return 0;
	return cr_fail(e, -EINVAL,
		       "%s:%u: conversions need --spool DIR, the daemon's "
		       "spool folder as seen from here",
		       c->path, c->conversions.line);
}

static void answer_speakers(void *arg, cr_ns now, const char *line)
{
	(void)arg;
	(void)printf("%lld %s\n", (long long)now, line);
	(void)fflush(stdout);
}

static int run(struct campaign *c, uint64_t *counts, int argc, char **argv)
{
	struct session_cfg cfg = raw.cfg;
	char key[KEY_SIZE] = "";
	struct cr_err e;
	int rc;

	/* the user's choice, or else the campaign's */
	cfg.ports =
		(enum campaign_ports)(raw.ports >= 0 ? raw.ports : c->ports);
	cfg.daemon_ports =
		(enum campaign_ports)(raw.daemon_ports >= 0 ? raw.daemon_ports
				      : raw.ports >= 0	    ? raw.ports
						       : c->platform.ports);
	cfg.campaign = c;
	cfg.counts = counts;
	cfg.key = key;
	cfg.seed = (uint64_t)(raw.seed < 0 ? c->seed : raw.seed);
	if (!cfg.duration)
		cfg.duration = c->duration;
	cfg.dump = raw.dump != NULL;
	cfg.times = raw.out && raw.frames;
	cfg.speakers = raw.speakers ? answer_speakers : NULL;
	rc = raw.cfg.ng ? read_ng(&cfg.to, &e) : read_to(&cfg.to, key, &e);
	for (unsigned i = 0; i < raw.counts.count && !rc; i++)
		rc = read_count(c, raw.counts.item[i], counts, &e);
	if (!rc && raw.realtime) {
		rc = thread_realtime();
		if (rc)
			(void)cr_fail(&e, rc,
				      "--realtime: %s (needs CAP_SYS_NICE or "
				      "an rtprio limit)",
				      strerror(-rc));
	}
	if (rc)
		return complain_of_campaign(EXIT_USAGE, &e);
	if (raw.print == PRINT_DAEMON)
		return feeder_print_daemon(c);
	if (raw.print == PRINT_SCHEDULERS) {
		for (unsigned i = 0; i < c->schedulers.count; i++)
			(void)printf("%s\n", c->schedulers.item[i]);
		return 0;
	}
	if (raw.print == PRINT_CAMPAIGN)
		return feeder_print_campaign(&cfg);
	if (raw.schedule)
		return feeder_print_schedule(&cfg, counts, &e)
			       ? complain_of_campaign(EXIT_USAGE, &e)
			       : 0;
	if (campaign_check_live(c, &e) || session_check(&cfg, &e))
		return complain_of_campaign(EXIT_USAGE, &e);
	if (raw.print == PRINT_COUNTS)
		return feeder_print_counts(&cfg, &e)
			       ? complain_of_campaign(EXIT_BROKEN, &e)
			       : 0;
	if (check_played(c, &e))
		return complain_of_campaign(EXIT_USAGE, &e);
	return feed_campaign(cfg, argc, argv);
}

int main(int argc, char **argv)
{
	int first = cli_parse_or_exit(&cli, argc, argv);
	struct campaign_settings set;
	struct campaign *c;
	struct cr_err e;
	uint64_t *counts;
	int rc;

	codec_option_use("codec-feeder", &raw.plugins);
	descriptors_raise(); /* calls may have a socket each */
	set = (struct campaign_settings){ raw.settings.item,
					  raw.settings.count };
	if (campaign_load(argv[first], &set, &c, &e))
		return complain_of_campaign(EXIT_USAGE, &e);
	counts = calloc(c->flow_count, sizeof(*counts));
	if (!counts) {
		(void)cr_fail(&e, 0, "out of memory");
		rc = complain_of_campaign(EXIT_BROKEN, &e);
	} else {
		rc = run(c, counts, argc, argv);
	}
	free(counts);
	campaign_free(c);
	return rc;
}
