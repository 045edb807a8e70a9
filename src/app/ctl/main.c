/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl: the operator's command line over the control protocol. One
 * command, one connection; what it prints is made by the files beside this one.
 *
 * "codec-ctl convert" follows a conversion to its end by asking: that works
 * however the server's notifications fare. Who may not connect to a control
 * socket is told what can be done: the group that may is the socket's, or its
 * folder's, which keeps us from looking at the socket.
 */
#include <errno.h>
#include <event2/event.h>
#include <grp.h>
#include <jansson.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/ctl/command.h"
#include "app/ctl/show.h"
#include "app/ctl/top.h"
#include "app/ctl/watch.h"
#include "base/cli.h"
#include "cr/time.h"
#include "protocol/key.h"
#include "protocol/tables/call.h"
#include "rpc/client.h"
#include "rpc/jsonrpc.h"

struct ctl_follow {
	struct event_base *base;
	struct rpc_client *client;
	/** A request; returns an exit code, has said why; takes @params. */
	int (*ask)(struct rpc_client *c, const char *method, json_t *params,
		   json_t **result);
};

static int ctl_follow(const struct ctl_follow *f, json_t *params,
		      json_t **result);

static int look_at_folder(const char *path, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";

	if (slash)
		(void)snprintf(folder, sizeof(folder), "%.*s",
			       (int)(slash - path) + 1, path);
	return stat(folder, st);
}

/* The group whose members may connect, or NULL: no group that people join. */
static const char *group_of(const char *path)
{
	const struct group *g;
	struct stat st;

	mode_t right = S_IWGRP;

	if (stat(path, &st)) {
		right = S_IXGRP;
		if (errno != EACCES || look_at_folder(path, &st))
			return NULL;
	}
	if (!st.st_gid || !(st.st_mode & right))
		return NULL;
	g = getgrgid(st.st_gid);
	return g ? g->gr_name : NULL;
}

/*
 * May we not connect to the socket at @path, by its rights or those of its
 * folder? Then @remedy is the way out, a sentence's end. Looks at files; any
 * thread that no other asks for groups meanwhile.
 */
static bool denied_by(const char *path, char *remedy, size_t size)
{
	const char *group;
	struct stat st;

	if (!access(path, W_OK) || errno != EACCES)
		return false;
	if (!stat(path, &st) && !S_ISSOCK(st.st_mode)) {
		(void)snprintf(remedy, size,
			       "it is no socket, name one (%s/...)", path);
		return true;
	}
	group = group_of(path);
	if (group)
		(void)snprintf(remedy, size,
			       "members of the group %s may: sudo usermod -aG "
			       "%s $USER and log in again, or use sudo",
			       group, group);
	else
		(void)snprintf(remedy, size, "use sudo");
	return true;
}

#define ASK_EVERY (100 * CR_MS)

enum { FAILED = 1, UNREACHABLE = 3 };

struct following {
	const struct ctl_follow *f;
	json_t *last; /* as it was told last */
	unsigned signals;
	bool terminal, cancelled;
};

static void on_signal(evutil_socket_t sig, short what, void *arg)
{
	struct following *w = arg;

	(void)sig, (void)what;
	w->signals++;
	(void)event_base_loopbreak(w->f->base);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct following *w = arg;

	(void)fd, (void)what;
	(void)event_base_loopbreak(w->f->base);
}

static const char *conversion_text(const struct following *w, const char *key)
{
	const char *s = json_string_value(json_object_get(w->last, key));

	return s ? s : "";
}

static bool is_over(const struct following *w)
{
	const char *state = conversion_text(w, "state");

	return !strcmp(state, "done") || !strcmp(state, "failed") ||
	       !strcmp(state, "cancelled");
}

static void show_conversion(const struct following *w)
{
	if (!w->terminal)
		return;
	(void)fprintf(
		stderr, "\r\033[K%s: %s %.0f %%", conversion_text(w, "out"),
		conversion_text(w, "state"),
		100 * json_number_value(json_object_get(w->last, "progress")));
	if (is_over(w))
		(void)fputc('\n', stderr);
	(void)fflush(stderr);
}

static json_t *reference(const struct following *w)
{
	return json_pack("{s:O}", "conversion",
			 json_object_get(w->last, "conversion"));
}

/* The answer of @method about the conversion becomes what was told last. */
static int ask_conversion(struct following *w, const char *method)
{
	json_t *now = NULL;
	int rc = w->f->ask(w->f->client, method, reference(w), &now);

	if (rc)
		return rc;
	json_decref(w->last);
	w->last = now;
	show_conversion(w);
	return 0;
}

/* It may have ended meanwhile: then the refusal is no news. */
static int cancel(struct following *w)
{
	int rc;

	w->cancelled = true;
	rc = ask_conversion(w, "convert.cancel");
	return rc == UNREACHABLE ? rc : 0;
}

static int follow(struct following *w, struct event *timer)
{
	const struct timeval tv = { 0, ASK_EVERY / CR_US };
	int rc = 0;

	while (!rc && !is_over(w)) {
		(void)evtimer_add(timer, &tv);
		(void)event_base_dispatch(w->f->base);
		(void)evtimer_del(timer);
		if (w->signals > 1)
			return FAILED;
		rc = w->signals && !w->cancelled
			     ? cancel(w)
			     : ask_conversion(w, "convert.query");
	}
	return rc;
}

static int follow_with_signals(struct following *w)
{
	struct event_base *base = w->f->base;
	struct event *timer = evtimer_new(base, on_timer, w);
	struct event *interrupt = evsignal_new(base, SIGINT, on_signal, w);
	struct event *terminate = evsignal_new(base, SIGTERM, on_signal, w);
	int rc = UNREACHABLE;

	if (timer && interrupt && terminate && !event_add(interrupt, NULL) &&
	    !event_add(terminate, NULL))
		rc = follow(w, timer);
	if (timer)
		event_free(timer);
	if (interrupt)
		event_free(interrupt);
	if (terminate)
		event_free(terminate);
	return rc;
}

/*
 * Start it with @params (taken over) and wait. SIGINT and SIGTERM cancel the
 * conversion, and its end is waited for; a second one leaves at once. Progress
 * goes to stderr if that is a terminal. Returns an exit code: 0, and *@result
 * is the conversion as it ended, the caller's; 1 when it was refused, failed or
 * cancelled, said on stderr; or what ask() said.
 */
static int ctl_follow(const struct ctl_follow *f, json_t *params,
		      json_t **result)
{
	struct following w = { .f = f, .terminal = isatty(STDERR_FILENO) == 1 };
	int rc = f->ask(f->client, "convert.start", params, &w.last);

	if (rc)
		return rc;
	show_conversion(&w);
	rc = follow_with_signals(&w);
	if (!rc && strcmp(conversion_text(&w, "state"), "done")) {
		(void)fprintf(stderr, "codec-ctl: conversion %lld: %s%s%s\n",
			      (long long)json_integer_value(
				      json_object_get(w.last, "conversion")),
			      conversion_text(&w, "state"),
			      *conversion_text(&w, "why") ? ": " : "",
			      conversion_text(&w, "why"));
		rc = FAILED;
	}
	if (rc)
		json_decref(w.last);
	else
		*result = w.last;
	return rc;
}

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2, EXIT_UNREACHABLE = 3 };

enum { LIST_PAGE = 100 };

static struct {
	const char *to, *key_file;
	int64_t udp_port, kind, peer_timeout, timeout, sort, limit;
	bool as_json, once, undo;
} opt;

static const char *const sorts[] = { NODE_TOP_NAMES };
static const char *const kinds[] = { "auto", "kernel", "user", NULL };

#define AT(m) OPTION_AT(__typeof__(opt), m)

static const struct option_row opts[] = {
	OPT(OPTION_TEXT, "to", "HOST[:PORT]|unix:PATH",
	    "SCTP address of codec-runner, or its --control-socket.",
	    .letter = 't', AT(to), .without = "127.0.0.1:5555"),
	OPT(CR_OPT_INT, "udp-port", "PORT",
	    "UDP port that carries SCTP when the built-in stack is used.",
	    .letter = 'u', AT(udp_port), .dflt = TRANSPORT_UDP_PORT, .min = 1,
	    .max = 65535),
	OPT(CR_OPT_ENUM, "sctp", NULL,
	    "SCTP stack: the kernel's, the built-in one over UDP (RFC 6951), "
	    "or "
	    "the first that works. It has to be the one that the server uses.",
	    AT(kind), .names = kinds),
	OPT(OPTION_TEXT, "key", "FILE",
	    "The node's --control-key, which SCTP needs. Default, for nodes at "
	    "loopback: ~/.codec-runner/control.key, which a daemon of the same "
	    "user has made.",
	    AT(key_file), .without = ""),
	OPT(CR_OPT_BOOL, "json", NULL, "Print the result as JSON.",
	    .letter = 'j', AT(as_json)),
	OPT(CR_OPT_TIME, "peer-timeout", NULL,
	    "A server that is silent on SCTP for longer counts as lost.",
	    AT(peer_timeout), .dflt = TRANSPORT_PEER_TIMEOUT,
	    .min = TRANSPORT_PEER_TIMEOUT_MIN,
	    .max = TRANSPORT_PEER_TIMEOUT_MAX),
	OPT(CR_OPT_TIME, "timeout", NULL,
	    "How long to wait for a reply. Default: 5 s more than "
	    "--peer-timeout.",
	    AT(timeout), .min = CR_MS, .max = 2 * 3600 * CR_SEC, .without = ""),
	OPT(CR_OPT_ENUM, "sort", NULL,
	    "Of top: which calls come first. loss: who lose most frames for "
	    "lack "
	    "of CPU time; missing: of whom most packets do not come; cost: who "
	    "take most time of workers; delay: whose frames take longest.",
	    .letter = 's', AT(sort), .dflt = -1, .names = sorts,
	    .without = "loss"),
	OPT(CR_OPT_INT, "limit", "N",
	    "Of top: how many calls. Default: as many as the terminal has "
	    "lines, "
	    "else 20.",
	    AT(limit), .min = 1, .max = PAGE_MAX, .without = ""),
	OPT(CR_OPT_BOOL, "once", NULL,
	    "Of top: one page, of the time from now to INTERVAL later.",
	    AT(once)),
	OPT(CR_OPT_BOOL, "undo", NULL,
	    "Of drain: take it back; the server accepts new calls again.",
	    AT(undo)),
	{ .name = NULL },
};

static const struct cli_line examples[] = {
	{ "codec-ctl list", "show the calls" },
	{ "codec-ctl watch 2s", "show rates, anew every two seconds" },
	{ "codec-ctl top --sort cost", "show the calls that cost most" },
	{ "codec-ctl call start in.codec=pcmu out.codec=amr out.mode=12.2 "
	  "out.address=127.0.0.1:5004",
	  "start a call from G.711 to AMR" },
	{ "codec-ctl call change 7 class=hard contract.worst=250us",
	  "make call 7 one that must never be late, with its worst case" },
	{ "codec-ctl help call.start",
	  "show the parameters and the result of a method" },
	{ "codec-ctl convert prompt.wav prompt.amr mode=7.95",
	  "convert a file of the spool folder in the time that calls leave" },
	{ "codec-ctl --to unix:/run/codec-runner.sock stats",
	  "show the counters, over a Unix socket" },
	{ "codec-ctl --json stats | jq .totals",
	  "take the counters into a script" },
	{ 0 },
};

static const struct cli_line exits[] = {
	{ "0", "done" },
	{ "1",
	  "the server refused, a conversion failed or was cancelled, or what "
	  "was printed is lost; the reason is on stderr" },
	{ "2", "wrong usage" },
	{ "3", "cannot connect, or no reply in time" },
	{ 0 },
};

/* Its operands are the commands: main() sets them. */
static struct cli cli = {
	.program = "codec-ctl",
	.synopsis = "[OPTION]... COMMAND [ARGUMENT]...",
	.summary = "control and watch a codec-runner",
	.opts = opts,
	.vars = &opt,
	.examples = examples,
	.exits = exits,
	.see_also = "codec-runner(1), codec-feeder(1)",
	.min_args = 1,
	.max_args = -1,
};

/* clang-format off */
#define COLUMN(path)                                                           \
	{ path, NULL, call_result_fields, NULL, NULL }
/* clang-format on */

static const struct ctl_column call_columns[] = {
	COLUMN("call"),
	COLUMN("in.codec"),
	COLUMN("in.mode"),
	COLUMN("out.codec"),
	COLUMN("out.mode"),
	COLUMN("class"),
	COLUMN("age_s"),
	COLUMN("rtp"),
	COLUMN("to"),
	COLUMN("count.packets_in"),
	COLUMN("count.packets_out"),
	COLUMN("lost"),
	COLUMN("count.expired"),
	COLUMN("count.shed"),
	COLUMN("count.late"),
	{ 0 },
};

static int complain(int code, const char *text)
{
	(void)fprintf(stderr, "codec-ctl: %s\n", text);
	return code;
}

static int unreachable(const char *why)
{
	char remedy[200];

	if (strncmp(opt.to, "unix:", 5) != 0)
		(void)snprintf(remedy, sizeof(remedy),
			       "is codec-runner there, with UDP port %d for "
			       "SCTP? See --to, --udp-port, --sctp",
			       (int)opt.udp_port);
	else if (!denied_by(opt.to + 5, remedy, sizeof(remedy)))
		(void)snprintf(remedy, sizeof(remedy),
			       "is codec-runner there, with --control-socket?");
	(void)fprintf(stderr, "codec-ctl: %s: %s; %s\n", opt.to, why, remedy);
	return EXIT_UNREACHABLE;
}

/* Longer than a server may stall: only the association tells that it is lost.
 */
static unsigned patience_ms(void)
{
	return (unsigned)((opt.timeout ? opt.timeout
				       : opt.peer_timeout + 5 * CR_SEC) /
			  CR_MS);
}

/* Returns an exit code; on 0 *@result is the caller's. */
static int ask(struct rpc_client *c, const char *method, json_t *params,
	       json_t **result)
{
	json_t *error = NULL;
	struct cr_err e = { 0 };
	int rc = rpc_client_ask(c, method, params, patience_ms(), result,
				&error, &e);
	const char *why = json_string_value(json_object_get(error, "message"));

	if (rc < 0)
		return unreachable(e.text);
	if (rc)
		(void)complain(0, why ? why : "refused");
	json_decref(error);
	return rc ? EXIT_REFUSED : 0;
}

static int say_hello(struct rpc_client *c, const char *key)
{
	json_t *result = NULL;
	int rc = ask(c, "hello",
		     json_pack("{s:s, s:s}", "client", cli.program, "key", key),
		     &result);

	json_decref(result);
	return rc;
}

/* Only this tells the server that we did not die. */
static void say_bye(struct rpc_client *c)
{
	json_t *result = NULL, *error = NULL;

	(void)rpc_client_ask(c, "bye", NULL, patience_ms(), &result, &error,
			     NULL);
	json_decref(result);
	json_decref(error);
}

/* What comes in pages: what is in them, and its id. */
static const struct list {
	const char *method, *many, *one;
} lists[] = {
	{ "call.list", "calls", "call" },
	{ "endpoint.list", "endpoints", "endpoint" },
	{ "conversation.list", "conversations", "conversation" },
	{ "convert.list", "conversions", "conversion" },
};

/* The one that is asked for as a whole, or NULL. */
static const struct list *list_of(const struct ctl_request *r)
{
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (!r->params && !strcmp(r->method, lists[i].method))
			return &lists[i];
	return NULL;
}

/* All pages of @list as one result. */
static int ask_pages(struct rpc_client *c, const struct list *list,
		     json_t **result)
{
	json_t *all = json_array(), *page = NULL;
	json_int_t after = 0;
	int rc = 0;
	bool more = true;

	while (!rc && more) {
		json_t *part, *last;

		rc = ask(c, list->method,
			 json_pack("{s:I, s:i}", "after", after, "limit",
				   LIST_PAGE),
			 &page);
		if (rc)
			break;
		part = json_object_get(page, list->many);
		last = json_array_get(part, json_array_size(part) - 1);
		more = last && json_is_true(json_object_get(page, "more"));
		after = json_integer_value(json_object_get(last, list->one));
		(void)json_array_extend(all, part);
		json_decref(page);
	}
	if (rc)
		json_decref(all);
	else
		*result = json_pack("{s:o}", list->many, all);
	return rc;
}

static int ask_calls(struct rpc_client *c, json_t **result)
{
	return ask_pages(c, &lists[0], result);
}

static int show_result(const struct ctl_request *r, const json_t *result)
{
	if (opt.as_json) {
		(void)json_dumpf(result, stdout,
				 JSON_INDENT(2) | JSONRPC_REALS);
		(void)putchar('\n');
	} else if (r->view) {
		r->view(result, stdout);
	} else if (!strcmp(r->method, "call.list")) {
		ctl_table(json_object_get(result, "calls"), call_columns,
			  stdout);
	} else {
		ctl_show(result, stdout);
	}
	return cli_flush(cli.program);
}

static int run_watch(struct event_base *base, struct rpc_client *c,
		     const struct ctl_request *r)
{
	struct ctl_watch w = { .base = base,
			       .client = c,
			       .ask = ask,
			       .ask_calls = ask_calls,
			       .interval = r->interval,
			       .times = r->times,
			       .json = opt.as_json };

	return ctl_watch(&w);
}

static int run_top(struct event_base *base, struct rpc_client *c,
		   const struct ctl_request *r)
{
	struct ctl_top t = { .base = base,
			     .client = c,
			     .ask = ask,
			     .interval = r->interval,
			     .times = opt.once ? 1 : r->times,
			     .sort = opt.sort < 0 ? NODE_TOP_LOSS
						  : (int)opt.sort,
			     .limit = (unsigned)opt.limit,
			     .json = opt.as_json };

	return ctl_top(&t);
}

/* --- */

/* Read --to. Returns an exit code. */
static int read_to(struct transport_addr *a)
{
	char why[80];
	int rc = transport_addr_parse(a, opt.to);

	a->udp_port = (uint16_t)opt.udp_port;
	(void)snprintf(why, sizeof(why),
		       "--to: the path of a socket may have %zu bytes",
		       TRANSPORT_PATH_MAX);
	if (rc == -ENAMETOOLONG)
		return complain(EXIT_USAGE, why);
	return rc ? complain(EXIT_USAGE, "--to: should be HOST, HOST:PORT, "
					 "[IPV6]:PORT or unix:PATH")
		  : 0;
}

static int run(struct event_base *base, const struct ctl_request *r)
{
	struct rpc_client_config cfg = { .base = base,
					 .kind = (enum transport_kind)opt.kind,
					 .peer_timeout = opt.peer_timeout };
	struct rpc_client *c = NULL;
	json_t *result = NULL;
	char key[KEY_SIZE];
	struct cr_err e = { 0 };
	int rc;

	rc = read_to(&cfg.to);
	if (rc) {
		json_decref(r->params);
		return rc;
	}
	if (key_show(key, opt.key_file, &cfg.to, &e)) {
		json_decref(r->params);
		return complain(EXIT_USAGE, e.text);
	}
	if (rpc_client_open(&c, &cfg, &e)) {
		json_decref(r->params);
		return complain(EXIT_UNREACHABLE, e.text);
	}
	rc = *key ? say_hello(c, key) : 0;
	if (rc)
		json_decref(r->params);
	else if (r->top)
		rc = run_top(base, c, r);
	else if (r->interval)
		rc = run_watch(base, c, r);
	else if (list_of(r))
		rc = ask_pages(c, list_of(r), &result);
	else if (r->follow)
		rc = ctl_follow(&(struct ctl_follow){ base, c, ask }, r->params,
				&result);
	else
		rc = ask(c, r->method, r->params, &result);
	if (rc != EXIT_UNREACHABLE)
		say_bye(c);
	rpc_client_close(c);
	if (!r->interval && result)
		rc = rc ? rc : show_result(r, result);
	json_decref(result);
	return rc;
}

/* "call start --help" is "help call start". Returns the first operand. */
static int parse_help(int argc, char **argv)
{
	static char help[] = "help";
	int first;

	cli.min_args = 0;
	first = cli_parse_or_exit(&cli, argc, argv);
	if (first == argc) {
		cli_help(&cli, stdout);
		exit(0);
	}
	argv[--first] = help;
	return first;
}

/* An option of top would change nothing. Returns an exit code. */
static int refuse_tops_own(const struct ctl_request *r)
{
	const char *given = opt.once ? "once" : opt.limit ? "limit" : NULL;
	char why[64];

	if (!given && opt.sort >= 0)
		given = "sort";
	if (!given || r->top || r->print)
		return 0;
	(void)snprintf(why, sizeof(why), "--%s goes with the command top only",
		       given);
	return complain(EXIT_USAGE, why);
}

/* What --undo makes of @r. Returns an exit code. */
static int take_back(struct ctl_request *r)
{
	if (!opt.undo)
		return 0;
	if (r->params || strcmp(r->method, "drain"))
		return complain(EXIT_USAGE,
				"--undo goes with the command drain only, "
				"without a time");
	(void)snprintf(r->method, sizeof(r->method), "drain.cancel");
	return 0;
}

static int run_request(const struct ctl_request *r)
{
	struct event_base *base;
	int rc;

	if (r->print) {
		r->print(r->about, stdout);
		return cli_flush(cli.program);
	}
	base = event_base_new();
	if (!base) {
		json_decref(r->params);
		return complain(EXIT_UNREACHABLE, "no event loop");
	}
	rc = run(base, r);
	event_base_free(base);
	return rc;
}

int main(int argc, char **argv)
{
	struct ctl_request r = { 0 };
	struct cr_err e = { 0 };
	int first, rc;

	cli.operands = ctl_commands();
	if (argc > 2 && !strcmp(argv[argc - 1], "--help"))
		first = parse_help(--argc, argv);
	else
		first = cli_parse_or_exit(&cli, argc, argv);
	rc = ctl_request(&r, (const char *const *)argv + first,
			 (unsigned)(argc - first), &e);
	if (rc)
		return complain(EXIT_USAGE, e.text);
	rc = refuse_tops_own(&r);
	if (!rc)
		rc = take_back(&r);
	if (rc)
		json_decref(r.params);
	return rc ? rc : run_request(&r);
}
