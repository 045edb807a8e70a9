/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-ctl: the operator's command line over the control protocol. One
 * command, one connection; what it prints is made by the files beside this one.
 *
 * An error of connecting to a control socket says what can be done: the group
 * that may is the socket's, or its folder's, which keeps us from looking at the
 * socket.
 */
#include "app/ctl/ctl.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "protocol/key.h"
#include "protocol/tables/call_fields.h"
#include "rpc/jsonrpc.h"

enum { LIST_PAGE = 100 };

/* The group whose members may connect to the socket at @path, or NULL: no group
 * that people join. */
static const char *group_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	mode_t right = S_IWGRP;
	const struct group *g;
	struct stat st;

	(void)snprintf(folder, sizeof(folder), "%.*s",
		       slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	if (stat(path, &st)) {
		right = S_IXGRP;
		if (errno != EACCES || stat(folder, &st))
			return NULL;
	}
	g = st.st_gid && st.st_mode & right ? getgrgid(st.st_gid) : NULL;
	return g ? g->gr_name : NULL;
}

/* Is the socket at @path closed to us by its rights or those of its folder?
 * Then @remedy is the way out, a sentence's end. */
static bool denied_by(const char *path, char *remedy, size_t size)
{
	const char *group;
	struct stat st;

	if (!access(path, W_OK) || errno != EACCES)
		return false;
	group = group_of(path);
	if (!stat(path, &st) && !S_ISSOCK(st.st_mode))
		(void)snprintf(remedy, size,
			       "it is no socket, name one (%s/...)", path);
	else if (group)
		(void)snprintf(remedy, size,
			       "members of the group %s may: sudo usermod -aG "
			       "%s $USER and log in again, or use sudo",
			       group, group);
	else
		(void)snprintf(remedy, size, "use sudo");
	return true;
}

/* --- options --- */

static struct {
	const char *to, *key_file;
	int64_t udp_port, kind, peer_timeout, timeout, sort, limit;
	bool as_json, once, undo;
} opt;

#define AT(m) FIELD_IN(__typeof__(opt), m)

static const struct field opts[] = {
	OPT(FIELD_TEXT, "to", "HOST[:PORT]|unix:PATH",
	    "SCTP address of codec-runner, or its --control-socket.",
	    .letter = 't', AT(to), .without = "127.0.0.1:5555"),
	OPT(FIELD_INT, "udp-port", "PORT",
	    "UDP port that carries SCTP when the built-in stack is used.",
	    .letter = 'u', AT(udp_port), .dflt = TRANSPORT_UDP_PORT, .min = 1,
	    .max = 65535),
	OPT(FIELD_CHOICE, "sctp", NULL,
	    "SCTP stack: the kernel's, the built-in one over UDP (RFC 6951), "
	    "or "
	    "the first that works. It has to be the one that the server uses.",
	    AT(kind), .names = transport_kind_names),
	OPT(FIELD_TEXT, "key", "FILE",
	    "The node's --control-key, which SCTP needs. Default, for nodes at "
	    "loopback: ~/.codec-runner/control.key, which a daemon of the same "
	    "user has made.",
	    AT(key_file), .without = ""),
	OPT(FIELD_BOOL, "json", NULL, "Print the result as JSON.",
	    .letter = 'j', AT(as_json)),
	OPT(FIELD_TIME, "peer-timeout", NULL,
	    "A server that is silent on SCTP for longer counts as lost.",
	    AT(peer_timeout), .dflt = TRANSPORT_PEER_TIMEOUT,
	    .min = TRANSPORT_PEER_TIMEOUT_MIN,
	    .max = TRANSPORT_PEER_TIMEOUT_MAX),
	OPT(FIELD_TIME, "timeout", NULL,
	    "How long to wait for a reply. Default: 5 s more than "
	    "--peer-timeout.",
	    AT(timeout), .min = CR_MS, .max = 2 * 3600 * CR_SEC, .without = ""),
	OPT(FIELD_CHOICE, "sort", NULL,
	    "Of top: which streams come first: those that lose most frames for "
	    "lack of CPU time, that miss most packets, that take most time of "
	    "workers, or whose frames take longest.",
	    .letter = 's', AT(sort), .dflt = -1, .names = ctl_sorts,
	    .without = "loss"),
	OPT(FIELD_INT, "limit", "N",
	    "Of top: how many streams. Default: as many as the terminal has "
	    "lines, else 20.",
	    AT(limit), .min = 1, .max = PAGE_MAX, .without = ""),
	OPT(FIELD_BOOL, "once", NULL,
	    "Of top: one page, of the time from now to INTERVAL later.",
	    AT(once)),
	OPT(FIELD_BOOL, "undo", NULL,
	    "Of drain: take it back; the server accepts new calls again.",
	    AT(undo)),
	{ .name = NULL },
};

static const struct cli_line examples[] = {
	{ "codec-ctl list", "show the streams of calls" },
	{ "codec-ctl watch 2s", "show rates, every two seconds" },
	{ "codec-ctl top --sort cost", "show the streams that cost most" },
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
	{ "1", "the server refused, a conversion failed or was cancelled, or "
	       "output was lost; the reason is on stderr" },
	{ "2", "wrong usage" },
	{ "3", "cannot connect, or no reply in time" },
	{ 0 },
};

/* Its operands are the commands: main() sets them. */
static struct cli cli = {
	.program = "codec-ctl",
	.synopsis = "[OPTION]... COMMAND [ARGUMENT]...",
	.summary = "control and watch a codec-runner",
	.text = "Every method of the protocol is a command: call.start is call "
		"start. Required parameters come first, in order; all others "
		"are KEY=VALUE, with dots for members of members: "
		"in.codec=pcmu, contract.rate=50/s. A flag's name alone means "
		"yes. codec-ctl help METHOD lists the keys. Calls and "
		"endpoints "
		"last until they are stopped, unless keep=no.",
	.opts = opts,
	.vars = &opt,
	.examples = examples,
	.exits = exits,
	.see_also = "codec-runner(1), codec-feeder(1)",
	.min_args = 1,
	.max_args = -1,
};

/* --- requests --- */

static int ctl_complain(int code, const char *text)
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
	return CTL_UNREACHABLE;
}

/* Longer than a server may stall: only the association shows that it is lost.
 */
static unsigned patience_ms(void)
{
	return (unsigned)((opt.timeout ? opt.timeout
				       : opt.peer_timeout + 5 * CR_SEC) /
			  CR_MS);
}

/* Returns an exit code; on 0 *@result is the caller's. */
static int ask_server(struct rpc_client *c, const char *method, json_t *params,
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
		(void)ctl_complain(0, why ? why : "refused");
	json_decref(error);
	return rc ? CTL_REFUSED : 0;
}

static int say_hello(struct rpc_client *c, const char *key)
{
	json_t *result = NULL;
	int rc = ask_server(
		c, "hello",
		json_pack("{s:s, s:s}", "client", cli.program, "key", key),
		&result);

	json_decref(result);
	return rc;
}

/* Only this shows the server that we did not die. */
static void say_bye(struct rpc_client *c)
{
	json_t *result = NULL, *error = NULL;

	(void)rpc_client_ask(c, "bye", NULL, patience_ms(), &result, &error,
			     NULL);
	json_decref(result);
	json_decref(error);
}

/* As ask_server(); but a list that its method answers page by page comes whole,
 * where no params say which part. */
static int ask_whole(struct rpc_client *c, const char *method, json_t *params,
		     json_t **result)
{
	const struct method *m = method_find(method);
	const struct field *list = m ? m->result : NULL, *id;
	json_t *all, *page = NULL, *last;
	json_int_t after = 0;
	bool more = true;
	int rc = 0;

	if (params || !m || m->params != page_fields)
		return ask_server(c, method, params, result);
	while (list->kind != FIELD_LIST)
		list++;
	for (id = list->members; id->kind == FIELD_INLINE;)
		id = id->members;
	for (all = json_array(); more; json_decref(page)) {
		rc = ask_server(c, method,
				json_pack("{s:I, s:i}", "after", after, "limit",
					  LIST_PAGE),
				&page);
		if (rc)
			break;
		(void)json_array_extend(all, json_object_get(page, list->name));
		last = json_array_get(all, json_array_size(all) - 1);
		after = json_integer_value(json_object_get(last, id->name));
		more = last && json_is_true(json_object_get(page, "more"));
	}
	if (rc)
		json_decref(all);
	else
		*result = json_pack("{s:o}", list->name, all);
	return rc;
}

/* Read --to. Returns an exit code. */
static int read_server(struct transport_addr *a)
{
	char why[80];
	int rc = transport_addr_parse(a, opt.to);

	a->udp_port = (uint16_t)opt.udp_port;
	(void)snprintf(why, sizeof(why),
		       "--to: the path of a socket may have %zu bytes",
		       TRANSPORT_PATH_MAX);
	if (rc == -ENAMETOOLONG)
		return ctl_complain(CTL_USAGE, why);
	return rc ? ctl_complain(CTL_USAGE, "--to: should be HOST, HOST:PORT, "
					    "[IPV6]:PORT or unix:PATH")
		  : 0;
}

/* Connect to the server at --to. Returns an exit code; what has been opened is
 * the caller's also then. */
static int connect_server(struct event_base *base, struct rpc_client **c)
{
	struct rpc_client_config cfg = { .base = base,
					 .kind = (enum transport_kind)opt.kind,
					 .peer_timeout = opt.peer_timeout };
	char key[KEY_SIZE];
	struct cr_err e = { 0 };
	int rc = read_server(&cfg.to);

	if (!rc && key_show(key, opt.key_file, &cfg.to, &e))
		rc = ctl_complain(CTL_USAGE, e.text);
	if (!rc && rpc_client_open(c, &cfg, &e))
		rc = ctl_complain(CTL_UNREACHABLE, e.text);
	if (!rc && *key)
		rc = say_hello(*c, key);
	return rc;
}

/* After @rc. */
static void disconnect_server(struct rpc_client *c, int rc)
{
	if (c && rc != CTL_UNREACHABLE)
		say_bye(c);
	rpc_client_close(c);
}

/* A request about the call of @o. */
static json_t *call_of(const json_t *o)
{
	return json_pack("{s:O}", "call", json_object_get(o, "call"));
}

/* Have the server @there go on with the call that has @state, for good. */
static int take_there(struct rpc_client *there, json_t *state, json_t **result)
{
	json_t *kept = NULL;
	int rc = ask_server(there, "call.take", state, result);

	if (rc)
		return rc;
	rc = ask_server(there, "call.keep", call_of(*result), &kept);
	json_decref(kept);
	if (!rc)
		return 0;
	json_decref(*result);
	*result = NULL;
	return ctl_complain(rc, "the call stays here, and may be there, too: "
				"repeat the command");
}

/* Have the server that @params names go on with the call of @c. What is there
 * and not kept ends with our connection. */
static int move_call(struct event_base *base, struct rpc_client *c,
		     json_t *params, json_t **result)
{
	json_t *state = NULL, *ended = NULL;
	struct rpc_client *there = NULL;
	const char *from = opt.to;
	int rc = ask_server(c, "call.export", call_of(params), &state);

	opt.to = json_string_value(json_object_get(params, "node"));
	if (!rc)
		rc = connect_server(base, &there);
	if (rc)
		json_decref(state);
	else
		rc = take_there(there, state, result);
	if (*result) {
		opt.to = from;
		rc = ask_server(c, "call.moved", call_of(params), &ended);
	}
	if (rc == CTL_UNREACHABLE && *result) {
		(void)ctl_complain(0, "the call is there, as printed; it may "
				      "be here, too: call stop ends it");
	} else if (rc && *result) { /* it has ended here, for its parties */
		(void)ask_server(there, "call.stop", call_of(*result), &ended);
		json_decref(*result);
		*result = NULL;
	}
	disconnect_server(there, *result ? 0 : rc);
	opt.to = from;
	json_decref(ended);
	json_decref(params);
	return rc;
}

/* Do @r, whose params are taken over. Pages have no result. */
static int ask_request(struct event_base *base, struct rpc_client *c,
		       const struct ctl_request *r, json_t **result)
{
	struct ctl_live live = { .base = base,
				 .client = c,
				 .ask = ask_whole,
				 .top = r->action == CTL_TOP,
				 .json = opt.as_json,
				 .interval = r->interval,
				 .times = opt.once ? 1 : r->times,
				 .sort = opt.sort < 0 ? NODE_TOP_LOSS
						      : (int)opt.sort,
				 .limit = (unsigned)opt.limit };

	if (r->interval)
		return ctl_live(&live);
	if (r->action == CTL_FOLLOW)
		return ctl_follow(&live, r->params, result);
	if (r->action == CTL_MOVE)
		return move_call(base, c, r->params, result);
	return ask_whole(c, r->name, r->params, result);
}

static int ask_and_show(struct event_base *base, const struct ctl_request *r)
{
	struct rpc_client *c = NULL;
	json_t *result = NULL;
	int rc = connect_server(base, &c);

	if (rc)
		json_decref(r->params);
	else
		rc = ask_request(base, c, r, &result);
	disconnect_server(c, rc);
	if (result) {
		if (opt.as_json) {
			(void)json_dumpf(result, stdout,
					 JSON_INDENT(2) | JSONRPC_REALS);
			(void)putchar('\n');
		} else {
			ctl_print(r, result, stdout);
		}
		rc = rc ? rc : cli_flush(cli.program);
	}
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
	if (!given || r->action == CTL_TOP || r->action == CTL_HELP)
		return 0;
	(void)snprintf(why, sizeof(why), "--%s goes with the command top only",
		       given);
	return ctl_complain(CTL_USAGE, why);
}

/* Apply --undo to @r. Returns an exit code. */
static int undo_drain(struct ctl_request *r)
{
	if (!opt.undo)
		return 0;
	if (r->params || strcmp(r->name, "drain"))
		return ctl_complain(CTL_USAGE,
				    "--undo goes with the command drain only, "
				    "without a time");
	(void)snprintf(r->name, sizeof(r->name), "drain.cancel");
	return 0;
}

int main(int argc, char **argv)
{
	struct ctl_request r = { 0 };
	struct cr_err e = { 0 };
	int first, rc;
	struct event_base *base;

	cli.operands = ctl_commands();
	if (argc > 2 && !strcmp(argv[argc - 1], "--help"))
		first = parse_help(--argc, argv);
	else
		first = cli_parse_or_exit(&cli, argc, argv);
	rc = ctl_request(&r, (const char *const *)argv + first,
			 (unsigned)(argc - first), &e);
	if (rc)
		return ctl_complain(CTL_USAGE, e.text);
	rc = refuse_tops_own(&r);
	if (!rc)
		rc = undo_drain(&r);
	if (rc)
		json_decref(r.params);
	if (rc)
		return rc;
	if (ctl_print_own(&r, stdout))
		return cli_flush(cli.program);
	base = event_base_new();
	if (!base) {
		json_decref(r.params);
		return ctl_complain(CTL_UNREACHABLE, "no event loop");
	}
	rc = ask_and_show(base, &r);
	event_base_free(base);
	return rc;
}
