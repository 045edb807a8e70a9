/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-runner: the daemon. Reads the command line, gives up rights, starts the
 * service, waits for signals. What it does is in src/node.
 *
 * The configuration is read again while the daemon runs. All of it is accepted,
 * or nothing: then the log says why. Rows with FIELD_LIVE change; of the rest
 * the log says that it needs a restart. A value set by a client since, as the
 * scheduler, stays as long as the configuration says what it said before.
 *
 * Thread rule: the event base's thread, which is the control thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <urcu.h>

#include "app/runner/options.h"
#include "app/runner/capacity_plan.h"
#include "app/runner/service_manager.h"
#include "app/runner/supervise.h"
#include "app/runner/upgrade.h"
#include "base/address.h"
#include "base/topology.h"
#include "base/descriptors.h"
#include "base/memory.h"
#include "base/own_hosts.h"
#include "base/random.h"
#include "base/thread.h"
#include "base/trust.h"
#include "codecs/kernels/kernels.h"
#include "http/http.h"
#include "media/state_memory.h"
#include "ng/listener.h"
#include "ng/ng_service.h"
#include "node/node_move.h"
#include "node/replicate.h"
#include "observe/line_file.h"
#include "observe/log.h"
#include "observe/store.h"
#include "protocol/kept_calls.h"
#include "protocol/service.h"
#include "rpc/server.h"
#include "sandbox/sandbox.h"
#include "udp/socket.h"

enum { EXIT_STUCK = 3 };

/* A running daemon. */
struct daemon {
	struct runner_options opt;  /* as started; drain_limit follows */
	struct runner_options *now; /* read again and accepted; NULL: opt */
	struct config_state config;
	struct event_base *base;
	struct service *service;
	struct http *http;     /* or NULL */
	struct ng_service *ng; /* or NULL */
	struct lines *records; /* or NULL */
	struct own_hosts *here;
	struct event *term, *intr, *hup, *again, *hosts;
	bool serving; /* the configuration can be read again */
	unsigned signals;
	int exit_code;

	struct service_manager manager;
	struct state_memory *state;  /* of calls; NULL: nobody holds it */
	struct replicate *replicate; /* or NULL */

	/* an upgrade to another process, or from one */
	int hand_over; /* -1: this one has not been started by one */
	struct upgrade *upgrade;
	void *asker; /* NULL: SIGHUP */
	struct upgrade_program program;
};

/* Give up the rights that @o says. 0; or -errno with @e: what has to be
 * refused. Without a filter the daemon goes on: @filtered is false, and
 * @why_not says why if it was asked for. */
static int give_up_rights(const struct runner_options *o, bool *filtered,
			  struct cr_err *why_not, struct cr_err *e)
{
	bool priorities = o->service.node.realtime || runner_uses_kernel(o);
	bool uring = o->service.node.io != UDP_IO_EPOLL;
	int err = 0;

	*filtered = false;
	if (*o->user.name)
		err = user_become(&o->user, priorities, e);
	if (err)
		return err;
	err = filter_no_new_privileges();
	if (err)
		return cr_fail(e, err, "no_new_privs: %s", strerror(-err));
	if (o->sandbox != SANDBOX_OFF)
		*filtered = !filter_enter(uring, o->sandbox == SANDBOX_STRICT,
					  why_not);
	return 0;
}

/* Another user has read @path: SIGHUP will find the same. */
static void report_writers(const char *path)
{
	struct cr_err who = { "" };

	if (path && trust_of_path(path, &who) != TRUST_OWN)
		log_event(LOG_WARN, "writable-by-others", LOG_STR("path", path),
			  LOG_STR("why", who.text));
}

/* Log the rights that are left, and what they mean for the configuration. */
static void report_rights(const struct runner_options *o, bool filtered,
			  const struct cr_err *why_not)
{
	const char *path = o->from.path;

	log_event(LOG_INFO, "rights", LOG_INT("uid", geteuid()),
		  LOG_INT("gid", getegid()),
		  LOG_WORD("sandbox", filtered ? "on" : "off"));
	if (o->sandbox != SANDBOX_OFF && !filtered)
		log_event(LOG_WARN, "no-sandbox",
			  LOG_STR("why", why_not->text));
	if (!geteuid())
		log_event(
			LOG_WARN, "root",
			LOG_STR("why",
				"--user gives rights up that are not needed"));
	report_writers(path);
	report_writers(o->service.plugin_dir);
	if (path && access(path, R_OK))
		log_event(LOG_WARN, "config-not-readable",
			  LOG_WORD("file", path), LOG_INT("uid", geteuid()),
			  LOG_STR("error", strerror(errno)),
			  LOG_STR("why", "SIGHUP cannot read it again"));
}

/* --- what outlives the process --- */

/* The state of calls: that of a process that has died or gives them, or a new
 * one. Without it, calls end with this process. 0; or -EINVAL with @why: a
 * process gives calls, and its state is of another kind. */
static int open_state_memory(struct daemon *d, struct cr_err *why)
{
	struct cr_err e = { "" };
	int fd;

	if (!store_on(&d->manager.notify) && !d->opt.replicate)
		return 0;
	if (store_take(&d->manager.notify, UPGRADE_NAME, &fd, 1) == 1)
		d->hand_over = fd;
	if (store_take(&d->manager.notify, "state", &fd, 1) == 1) {
		d->state = state_memory_adopt(fd, &e);
		if (!d->state && d->hand_over >= 0)
			return cr_fail(why, -EINVAL, "%s", e.text);
		if (!d->state)
			log_event(LOG_WARN, "state-not-adopted",
				  LOG_STR("why", e.text));
	}
	if (!d->state && d->hand_over >= 0)
		return cr_fail(why, -EINVAL, "the state of calls did not come");
	if (!d->state) {
		int err = 0;

		d->state = state_memory_new(&e);
		fd = d->state ? state_memory_fd(d->state) : -1;
		if (d->state)
			err = store_put(&d->manager.notify, "state", &fd, 1);
		if (err)
			(void)cr_fail(&e, err, "%s", strerror(-err));
		if (!d->state || err) {
			log_event(LOG_WARN, "state-not-kept",
				  LOG_STR("why", e.text));
			state_memory_free(d->state);
			d->state = NULL;
			return 0;
		}
	}
	d->opt.service.node.state = d->state;
	d->opt.service.node.store = &d->manager.notify;
	d->opt.service.node.arrives = d->hand_over >= 0;
	return 0;
}

/* Ids begin somewhere else in each process: a node that comes back has none
 * that another one has taken. */
static int open_replicate(struct daemon *d, struct cr_err *e)
{
	const struct replicate_config cfg = {
		.base = d->base,
		.url = d->opt.replicate,
		.node = d->opt.service.node.name,
		.other = d->opt.standby_of,
		.state = d->state,
		.text_of = kept_text_public,
		.interval = d->opt.replicate_interval,
		.paused = d->hand_over >= 0,
	};
	int err;

	if (!cfg.url)
		return 0;
	if (!cfg.state)
		return cr_fail(e, -ENOMEM,
			       "--replicate: there is no memory for the state "
			       "of calls");
	random_fill(&d->opt.service.node.first_id, sizeof(uint32_t));
	d->opt.service.node.first_id >>= 1;
	udp_socket_foreign(cfg.other != NULL);
	err = replicate_open(&d->replicate, &cfg, e);
	d->opt.service.replicate = d->replicate;
	return err;
}

/* --- the configuration, read again --- */

static const struct runner_options *options_now(const struct daemon *d)
{
	return d->now ? d->now : &d->opt;
}

/* The steps that may fail come first. */
static int take_options(struct daemon *d, const struct runner_options *to,
			struct cr_err *e)
{
	struct node *n = service_node(d->service);
	int err = 0;

	if (d->ng)
		err = ng_listener_check(d->opt.ng.address, to->ng.acl, e);
	if (!err && !config_same(&options_now(d)->from, &to->from,
				 config_row(&to->from, "scheduler")))
		err = node_scheduler_set(n, to->service.node.scheduler, e);
	if (!err)
		err = service_change(d->service, &to->service, e);
	if (!err && d->ng)
		err = ng_service_change(d->ng, &to->ng, e);
	if (err)
		return err;
	if (d->http)
		http_allow_control(d->http, to->http_control);
	d->opt.service.drain_limit = to->service.drain_limit;
	log_set_level((enum log_level)to->log_level);
	return 0;
}

/* The values of @o, with blanks between. Returns @buf. */
static const char *option_values(const struct config *c, const struct field *o,
				 char *buf, size_t size)
{
	char one[CONFIG_VALUE];
	const char *text;
	size_t n = 0;

	buf[0] = '\0';
	if (o->flags & FIELD_SECRET)
		return strncat(buf, "(not shown)", size - 1);
	for (unsigned i = 0; n < size && (text = config_text(c, o, i, one));
	     i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? " " : "",
				      text);
	return buf;
}

/* The rows that changed: from the last time, or, of rows that stay, from the
 * start. */
static void report_changes(struct daemon *d, const struct runner_options *to)
{
	const struct config *c = &to->from;
	unsigned changes = 0, stay = 0;

	for (const struct field *o = c->cli->opts; !field_is_end(o); o++) {
		bool live = o->flags & FIELD_LIVE;
		const struct config *before =
			live ? &options_now(d)->from : &d->opt.from;
		char was[512], is[512];

		if (o->flags & FIELD_COMMAND_LINE || config_same(before, c, o))
			continue;
		changes += live;
		stay += !live;
		(void)option_values(before, o, was, sizeof(was));
		(void)option_values(c, o, is, sizeof(is));
		if (live)
			log_event(LOG_INFO, "option-changed",
				  LOG_WORD("name", o->name),
				  LOG_STR("from", was), LOG_STR("to", is));
		else
			log_event(LOG_WARN, "needs-restart",
				  LOG_WORD("name", o->name),
				  LOG_STR("now", was),
				  LOG_STR("configured", is));
	}
	log_event(LOG_INFO, "config-read",
		  LOG_WORD("file", c->path ? c->path : "none"),
		  LOG_INT("changed", changes), LOG_INT("needs-restart", stay));
	d->config.accepted = true;
	d->config.needs_restart = stay;
	d->config.why.text[0] = '\0';
}

static void refuse_config(struct daemon *d, const char *why)
{
	d->config.accepted = false;
	d->config.refused++;
	(void)cr_fail(&d->config.why, 0, "%s", why);
}

static void discard_options(struct runner_options *o)
{
	if (o)
		runner_options_free(o);
	free(o);
}

static void reread_config(struct daemon *d)
{
	struct runner_options *to = calloc(1, sizeof(*to));
	struct config_faults *f;
	struct cr_err e = { "" };

	d->config.read++;
	if (!to) {
		log_event(LOG_ERROR, "config-refused",
			  LOG_STR("why", "out of memory"));
		refuse_config(d, "out of memory");
		return;
	}
	f = &to->from.faults;
	if (!runner_options_again(to)) {
		if (!take_options(d, to, &e)) {
			report_changes(d, to);
			discard_options(d->now);
			d->now = to;
			return;
		}
		config_blame(&to->from, NULL, 0, e.text);
	}
	for (unsigned i = 0; i < f->n; i++)
		log_event(LOG_ERROR, "config-wrong",
			  LOG_STR("why", f->text[i].text));
	log_event(LOG_ERROR, "config-refused",
		  LOG_INT("faults", f->n + f->more));
	refuse_config(d, f->text[0].text);
	discard_options(to);
}

/* --- signals --- */

/* Before libraries are begun, which may open files then. */
static int no_standard;

static void have_standard(void)
{
	no_standard = descriptors_standard();
}

/* clang-format off */
__attribute__((section(".preinit_array"), used))
static void (*const before_libraries)(void) = have_standard;
/* clang-format on */

static void drained(void *arg)
{
	struct daemon *d = arg;

	(void)event_base_loopbreak(d->base);
}

/* Calls that ring: nothing runs for them yet. */
static unsigned pending(void *arg)
{
	const struct daemon *d = arg;

	return d->ng ? ng_service_pending(d->ng) : 0;
}

static int noted(void *arg, const json_t *note, struct state_slot *slot,
		 bool must, struct cr_err *e)
{
	const struct daemon *d = arg;

	return d->ng ? ng_restore_dialog(d->ng, note, slot, must, e)
		     : cr_fail(e, -ENOTSUP, "dialogs of NG need --ng");
}

static struct state_slot *unnoted(void *arg, const struct state_slot *slot)
{
	const struct daemon *d = arg;

	return d->ng ? ng_drop_dialog(d->ng, slot) : NULL;
}

/* Calls that a receiver does not hear any more are of no use to anybody. Other
 * ways to receive are for a new start to try: it probes what works. */
static void deaf(void *arg)
{
	struct daemon *d = arg;

	d->exit_code = 1;
	service_drain(d->service, 0, true);
}

/* First signal: drain. Second one: end now. */
static void on_end_signal(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;
	cr_ns limit = d->signals++ ? 0 : d->opt.service.drain_limit;

	(void)what;
	log_event(LOG_INFO, "signal", LOG_INT("number", sig));
	manager_stopping(&d->manager, limit);
	service_drain(d->service, limit, true);
}

/* The log, which somebody has moved away. Where it cannot be opened, all goes
 * into the old file, and it is tried again: nobody sends a second signal. */
static void reopen_log(struct daemon *d, bool asked)
{
	const struct timeval second = { 1, 0 };
	struct cr_err e = { "" };
	int err = log_reopen(&e);

	if (err && asked)
		log_event(LOG_ERROR, "not-reopened", LOG_STR("why", e.text));
	if (err) {
		(void)evtimer_add(d->again, &second);
		return;
	}
	(void)evtimer_del(d->again);
	if (d->opt.log_file)
		log_event(LOG_INFO, "reopened",
			  LOG_STR("path", d->opt.log_file));
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	reopen_log(arg, false);
}

/* --- upgrades --- */

/* For the requests of connections that were accepted before the calls move. */
#define HTTP_FINISH (200 * CR_MS)

static int refuse_upgrade(void *arg, struct cr_err *e)
{
	const struct daemon *d = arg;

	if (service_draining(d->service))
		return cr_fail(e, -EBUSY,
			       "this node drains: its calls end with it");
	return d->ng ? ng_service_may_move(d->ng, e) : 0;
}

/* What comes from now on is the new process's to accept, and to copy. */
static void finish_requests(void *arg)
{
	const struct daemon *d = arg;

	http_finish(d->http, HTTP_FINISH);
	replicate_pause(d->replicate);
}

/* All that this process has is another one's: it ends and leaves it alone. */
_Noreturn static void leave_to_other(struct daemon *d)
{
	lines_close(d->records, LINES_CLOSE_LIMIT);
	(void)node_trace_stop(service_node(d->service), NULL);
	log_event(LOG_INFO, "exit", LOG_INT("code", d->exit_code));
	(void)log_flush(CR_SEC);
	(void)fflush(NULL);
	_exit(d->exit_code);
}

static void on_upgraded(void *arg, int err, const struct cr_err *why,
			unsigned calls)
{
	struct daemon *d = arg;
	const bool asked = d->asker;

	d->upgrade = NULL;
	if (asked)
		service_upgraded(d->service, d->asker, err, why, calls);
	d->asker = NULL;
	if (!err)
		leave_to_other(d);
	replicate_resume(d->replicate);
	if (asked)
		return;
	reread_config(d); /* as SIGHUP wanted */
	(void)manager_ready(&d->manager, d->service);
}

static int start_upgrade(struct daemon *d, const char *program,
			 struct cr_err *e)
{
	const struct upgrade_config cfg = {
		.base = d->base,
		.manager = &d->manager.notify,
		.node = service_node(d->service),
		.service = d->service,
		.scheduler = options_now(d)->service.node.scheduler,
		.refuse = refuse_upgrade,
		.moves = finish_requests,
		.done = on_upgraded,
		.arg = d
	};

	if (d->upgrade)
		return cr_fail(e, -EBUSY, "an upgrade is under way");
	if (!d->state)
		return cr_fail(e, -ENOTSUP,
			       "nobody holds the calls: start codec-runner "
			       "with --supervise");
	return upgrade_start(&d->upgrade, &cfg, program, e);
}

static int on_upgrade(void *arg, const char *program, void *asker,
		      struct cr_err *e)
{
	struct daemon *d = arg;
	int err = start_upgrade(d, program ? program : d->program.path, e);

	if (!err)
		d->asker = asker;
	return err;
}

/* Somebody has moved the files away, or changed the configuration, or the
 * program, which reads the configuration anew. */
static void on_hangup(evutil_socket_t sig, short what, void *arg)
{
	struct daemon *d = arg;
	struct cr_err e = { "" };

	(void)sig, (void)what;
	manager_reloading(&d->manager);
	if (d->records)
		lines_reopen(d->records);
	reopen_log(d, true);
	if (d->upgrade) { /* the next daemon's, if there is one */
		manager_hangup_later(&d->manager);
		return;
	}
	if (d->serving && upgrade_program_replaced(&d->program) &&
	    store_on(&d->manager.notify)) {
		if (!start_upgrade(d, d->program.path, &e))
			return; /* on_upgraded() */
		log_event(LOG_ERROR, "upgrade-failed", LOG_STR("why", e.text));
	}
	if (d->serving)
		reread_config(d);
	(void)manager_ready(&d->manager, d->service);
}

/* Only this thread handles signals; the others inherit the blocked set. Their
 * faults are their own: the log has a word left to say. */
static void block_signals(sigset_t *old)
{
	static const int faults[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL,
				      SIGFPE };
	sigset_t most;

	(void)sigfillset(&most);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		(void)sigdelset(&most, faults[i]);
	(void)pthread_sigmask(SIG_BLOCK, &most, old);
}

static int open_signals(struct daemon *d)
{
	d->term = evsignal_new(d->base, SIGTERM, on_end_signal, d);
	d->intr = evsignal_new(d->base, SIGINT, on_end_signal, d);
	d->hup = evsignal_new(d->base, SIGHUP, on_hangup, d);
	d->again = evtimer_new(d->base, on_again, d);
	return d->term && d->intr && d->hup && d->again &&
			       !event_add(d->term, NULL) &&
			       !event_add(d->intr, NULL) &&
			       !event_add(d->hup, NULL)
		       ? 0
		       : -ENOMEM;
}

static void announce(struct daemon *d)
{
	const char *kernels = cr_kernels_names[cr_kernels_active()];
	const char *socket = d->opt.service.listen_too.path;
	const char *sctp = *d->opt.service.listen.host
				   ? service_transport(d->service)
				   : "off";
	struct node *n = service_node(d->service);
	char rtp[64], spec[320], http[64] = "", ng[64] = "";
	const char *why;
	enum udp_io io = node_io(n, &why);

	node_address(n, rtp, sizeof(rtp));
	node_scheduler(n, spec, sizeof(spec));
	if (d->http)
		http_local(d->http, http, sizeof(http));
	if (d->ng)
		ng_service_local(d->ng, ng, sizeof(ng));
	/* scripts wait for this line */
	printf("ready rtp=%s control=%s sctp=%s scheduler=%s workers=%u "
	       "kernels=%s%s%s%s%s%s%s\n",
	       rtp, d->opt.control, sctp, spec, d->opt.service.node.workers,
	       kernels, *http ? " http=" : "", http, *ng ? " ng=" : "", ng,
	       *socket ? " socket=" : "", socket);
	(void)fflush(stdout);
	log_event(LOG_INFO, "ready", LOG_WORD("rtp", rtp),
		  LOG_WORD("control", d->opt.control), LOG_WORD("sctp", sctp),
		  LOG_WORD("scheduler", spec), LOG_WORD("kernels", kernels),
		  LOG_WORD("io", udp_io_names[io]));
	if (d->ng)
		log_event(LOG_INFO, "ng", LOG_WORD("address", ng));
	if (*why)
		log_event(LOG_INFO, "no-io-uring",
			  LOG_WORD("io", udp_io_names[io]),
			  LOG_STR("why", why));
}

/* The machine's addresses are others by now, or could not be read last time. */
static void on_hosts(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval second = { 1, 0 };
	struct daemon *d = arg;
	struct cr_err e = { "" };

	(void)fd, (void)what;
	if (!own_hosts_read(d->here, &e)) {
		(void)event_remove_timer(d->hosts);
		return;
	}
	log_event(LOG_ERROR, "hosts-unread", LOG_STR("why", e.text));
	(void)event_add(d->hosts, &second);
}

/* Before anybody names an address: which ones are ours. */
static int open_hosts(struct daemon *d, struct cr_err *e)
{
	int err = own_hosts_open(&d->here, e);

	if (err)
		return err;
	d->opt.send_to.here = d->here;
	d->opt.service.node.here = d->here;
	d->hosts = event_new(d->base, own_hosts_fd(d->here),
			     EV_READ | EV_PERSIST, on_hosts, d);
	return d->hosts && !event_add(d->hosts, NULL) ? 0 : -ENOMEM;
}

/* No call has begun, nor goes on. */
static void keep_from_control(struct daemon *d)
{
	struct transport_addr control;
	struct sockaddr_storage at;
	char text[64];

	service_local(d->service, &control);
	if (*d->opt.service.listen.host &&
	    !address_parse_host(control.host, &at)) {
		address_set_port(&at, control.udp_port);
		send_to_keep_from(&d->opt.send_to, &at);
	}
	if (d->ng) {
		ng_service_local(d->ng, text, sizeof(text));
		if (!address_parse(text, &at))
			send_to_keep_from(&d->opt.send_to, &at);
	}
}

static int open_http(struct daemon *d, struct cr_err *e)
{
	const struct http_config cfg = { .base = d->base,
					 .store = d->opt.service.node.store,
					 .service = d->service,
					 .ng = d->ng,
					 .address = d->opt.http,
					 .connections = d->opt.http_connections,
					 .control = d->opt.http_control };

	return d->opt.http ? http_open(&d->http, &cfg, e) : 0;
}

static int open_ng(struct daemon *d, struct cr_err *e)
{
	struct ng_service_config cfg = d->opt.ng;
	struct cr_err why = { "" };
	int err = 0;

	cfg.base = d->base;
	cfg.store = d->opt.service.node.store;
	cfg.service = d->service;
	if (cfg.address)
		err = ng_service_open(&d->ng, &cfg, &why);
	return err ? cr_fail(e, err, "--ng %s: %s", cfg.address, why.text) : 0;
}

/* Descriptors of calls that could not be restored. */
static void close_rest(struct daemon *d)
{
	unsigned closed = store_close_rest(&d->manager.notify);

	if (closed)
		log_event(LOG_WARN, "store-rest", LOG_INT("closed", closed));
}

/* The calls of a process that has died. */
static int take_up_calls(struct daemon *d, struct cr_err *e)
{
	int err = restore_calls(d->service, e);

	if (err)
		return err;
	close_rest(d);
	return 0;
}

static int start_daemon(struct daemon *d, struct cr_err *e)
{
	struct cr_err warn = { "" };
	sigset_t old;
	int err;

	block_signals(&old);
	d->opt.service.base = d->base;
	d->opt.service.drained = drained;
	d->opt.service.pending = pending;
	d->opt.service.noted = noted;
	d->opt.service.unnoted = unnoted;
	d->opt.service.deaf = deaf;
	d->opt.service.upgrade = on_upgrade;
	d->config = (struct config_state){ .file = d->opt.from.path,
					   .accepted = true };
	d->opt.service.config = &d->config;
	d->opt.service.arg = d;
	err = manager_open(&d->manager, d->base, &d->config, e);
	if (!err)
		err = open_hosts(d, e);
	if (!err && d->opt.records)
		err = lines_open(&d->records, d->opt.records, LINES_BUFFER, e);
	d->opt.service.records = d->records;
	if (!err)
		err = open_state_memory(d, e);
	if (!err)
		err = open_replicate(d, e);
	if (!err)
		err = service_open(&d->service, &d->opt.service, &warn, e);
	if (*warn.text)
		log_event(LOG_WARN, "not-granted", LOG_STR("why", warn.text));
	if (!err && d->opt.trace)
		err = node_trace_start(service_node(d->service), d->opt.trace,
				       TRACE_OVER_NOTHING, e);
	if (!err)
		err = open_ng(d, e);
	if (!err)
		err = open_http(d, e);
	if (!err)
		err = open_signals(d);
	if (!err)
		keep_from_control(d);
	if (!err && d->hand_over < 0)
		err = take_up_calls(d, e);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

/* Threads cannot be killed; what they use cannot be freed. */
_Noreturn static void leave_behind(void)
{
	log_event(LOG_ERROR, "exit", LOG_INT("code", EXIT_STUCK),
		  LOG_STR("why",
			  "a worker is stuck in a codec and was left behind; "
			  "calls and trace are complete but for its own"));
	(void)log_flush(CR_SEC);
	(void)fflush(NULL);
	_exit(EXIT_STUCK);
}

static void stop_daemon(struct daemon *d)
{
	struct event *const events[] = { d->term, d->intr, d->hup, d->again,
					 d->hosts };
	sigset_t old;
	int err;

	/* a second request to end does not kill the process while it ends, nor
	 * when no thread handles signals any more */
	block_signals(&old);
	d->serving = false;
	http_close(d->http);
	ng_service_close(d->ng);
	err = service_close(d->service);
	/* all calls have ended, or are hung */
	lines_close(d->records, LINES_CLOSE_LIMIT);
	if (err)
		leave_behind();
	discard_options(d->now);
	runner_options_free(&d->opt);
	for (unsigned i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		if (events[i])
			event_free(events[i]);
	own_hosts_close(d->here);
	replicate_close(d->replicate);
	state_memory_free(d->state);
	manager_close(&d->manager);
	if (d->base)
		event_base_free(d->base);
	libevent_global_shutdown();
}

/* Calls may have a socket each: take as many as the administrator allows. */
static void raise_file_limit(void)
{
	uint64_t before = descriptors_limit();

	descriptors_raise();
	log_event(LOG_INFO, "descriptors",
		  LOG_INT("limit", descriptors_limit()),
		  LOG_INT("before", before),
		  LOG_STR("why", "a call with a port of its own takes one"));
}

/* Its own words, at the rate that ours have. */
static void libevent_says(int severity, const char *text)
{
	enum log_level level = severity >= EVENT_LOG_ERR    ? LOG_ERROR
			       : severity == EVENT_LOG_WARN ? LOG_WARN
							    : LOG_DEBUG;

	log_event(level, "libevent", LOG_STR("says", text));
}

/* Of descriptors, the most that those have who connect. */
static unsigned connections_most(const struct runner_options *o)
{
	unsigned most = 0;

	if (*o->service.listen_too.path)
		most += descriptors_for_control(RPC_PEERS_USUAL);
	if (o->http)
		most += descriptors_for_web(o->http_connections);
	if (o->ng.address)
		most += descriptors_for_ng(ng_limits_usual.connections);
	return most;
}

/* Take the calls of the process that runs; or end, and leave it alone. */
static void take_over_calls(struct daemon *d, int err, struct cr_err *e)
{
	if (!err)
		err = upgrade_arrive(d->hand_over, d->service,
				     d->opt.service.node.scheduler, e);
	if (!err && d->ng)
		ng_claim_dialogs(d->ng);
	if (!err)
		err = node_arrived(service_node(d->service), e);
	if (!err)
		err = upgrade_arrived(d->hand_over, e);
	if (err) {
		upgrade_fail(d->hand_over, *e->text ? e->text : strerror(-err));
		log_event(LOG_ERROR, "not-upgraded",
			  LOG_STR("why", *e->text ? e->text : strerror(-err)));
		(void)log_flush(CR_SEC);
		_exit(1);
	}
	(void)close(d->hand_over);
	d->hand_over = -1;
	service_serve_clients(d->service);
	replicate_resume(d->replicate);
	close_rest(d);
}

static int serve(struct daemon *d)
{
	struct cr_err e = { "" };
	int err;

	event_set_log_callback(libevent_says);
	if (evthread_use_pthreads())
		return 1;
	rcu_register_thread();
	d->base = event_base_new();
	err = d->base ? start_daemon(d, &e) : -ENOMEM;
	if (d->hand_over >= 0)
		take_over_calls(d, err, &e);
	if (err) {
		(void)fprintf(stderr, "codec-runner: %s\n",
			      *e.text ? e.text : strerror(-err));
		d->exit_code = 1;
	} else {
		d->serving = true;
		node_opened_all(service_node(d->service),
				connections_most(&d->opt));
		announce(d);
		/* packets do not wait for calls that are set up */
		thread_long_turns();
		if (manager_ready(&d->manager, d->service))
			log_event(LOG_ERROR, "manager",
				  LOG_STR("why",
					  "out of memory: it will not be fed"));
		(void)event_base_dispatch(d->base);
		manager_stopping(&d->manager, 0);
	}
	stop_daemon(d);
	rcu_stop();
	rcu_unregister_thread();
	log_event(LOG_INFO, "exit", LOG_INT("code", d->exit_code));
	return d->exit_code;
}

/* Nobody is let in by SCTP without a key: where a file of its own cannot be had
 * for it, that is off, with @why. 0; or -errno with @e: of one that was named.
 */
static int have_key(struct runner_options *o, struct cr_err *why,
		    struct cr_err *e)
{
	struct cr_err text = { "" };
	int err;

	if (!*o->service.listen.host)
		return 0;
	err = key_serve(o->key, o->control_key, &text);
	o->service.key = o->key;
	if (!err)
		return 0;
	if (o->control_key)
		return cr_fail(e, err, "--control-key: %.400s", text.text);
	(void)cr_fail(why, 0,
		      "SCTP clients would need a key: %.300s; see "
		      "--control-key, --control-socket",
		      text.text);
	(void)snprintf(o->control, sizeof(o->control), "off");
	*o->service.listen.host = '\0';
	return 0;
}

/* The exit code of what has only printed. */
static int printed(int err)
{
	return cli_flush("codec-runner") ? 1 : err;
}

int main(int argc, char **argv)
{
	static struct daemon d = { .manager = { .notify = { .fd = -1 } },
				   .hand_over = -1 };
	struct cr_err e = { "" }, why = { "" }, why_not = { "" };
	struct log_config log = { 0 };
	const char *upgrade_to;
	bool filtered;

	if (no_standard) {
		(void)fprintf(stderr, "codec-runner: /dev/null: %s\n",
			      strerror(-no_standard));
		return 1;
	}
	if (runner_supervised(argc, argv, &upgrade_to))
		return supervise(argv, upgrade_to);
	upgrade_program(&d.program);
	runner_options_parse(&d.opt, argc, argv);
	if (d.opt.show_schedulers)
		return printed(runner_show_schedulers(stdout, &d.opt));
	if (d.opt.show_codecs)
		return printed(runner_show_codecs(stdout, &d.opt));
	if (d.opt.plan)
		return printed(runner_show_plan(stdout, &d.opt));
	/* a pinned worker's calls would wait for control messages and the log:
	 * before the first thread */
	cpu_list_avoid(&d.opt.placement.pin);
	log.path = d.opt.log_file;
	log.format = (enum log_format)d.opt.log_format;
	log.level = (enum log_level)d.opt.log_level;
	/* files that are opened as the other user can be opened again by
	 * SIGHUP; the key is for clients of the user who has started it */
	if (have_key(&d.opt, &why, &e) ||
	    give_up_rights(&d.opt, &filtered, &why_not, &e) ||
	    log_open(&log, &e)) {
		(void)fprintf(stderr, "codec-runner: %s\n", e.text);
		return 1;
	}
	log_event(LOG_INFO, "config",
		  LOG_WORD("file", d.opt.from.path ? d.opt.from.path : "none"));
	report_rights(&d.opt, filtered, &why_not);
	if (*why.text)
		log_event(LOG_WARN, "control-off", LOG_STR("why", why.text));
	/* whoever reads the log may go away */
	(void)signal(SIGPIPE, SIG_IGN);
	/* a request to read files again means no end: not before the loop runs,
	 * nor after it */
	(void)signal(SIGHUP, SIG_IGN);
	/* and a trace may grow too large */
	(void)signal(SIGXFSZ, SIG_IGN);
	raise_file_limit();
	memory_keep();
	return serve(&d);
}
