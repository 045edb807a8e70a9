/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transcoding node: making and unmaking it, the scheduler and the trace.
 * What the engine calls is in node_engine.c, calls are in node_call.c, figures
 * in node_stats.c.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "node/node_impl.h"
#include "observe/log.h"
#include "udp/socket.h"

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;

	node_learn(n);
	node_follow(n);
	node_recover(fd, what, n); /* when memory was short */
	if (n->converter)
		converter_tick(n->converter);
}

static void on_deaf(evutil_socket_t fd, short what, void *arg)
{
	const struct node *n = arg;

	(void)fd, (void)what;
	if (n->cfg.deaf)
		n->cfg.deaf(n->cfg.arg);
}

/* On the receiver's thread, its last word. */
static void receiver_failed(void *arg, unsigned receiver, int err)
{
	struct node *n = arg;

	log_event(LOG_ERROR, "receiver-failed",
		  "receiver=%u errno=%d why=\"receiving: %s; calls of this "
		  "receiver hear nothing more. Start the daemon again, with "
		  "--io epoll if this comes back\"",
		  receiver, -err, strerror(-err));
	event_active(n->deaf_event, 0, 0);
}

static int open_events(struct node *n, struct cr_err *e)
{
	const struct timeval second = { 1, 0 };

	n->gone_event = event_new(n->cfg.base, -1, 0, node_reap, n);
	n->fault_event = event_new(n->cfg.base, -1, 0, node_recover, n);
	n->deaf_event = event_new(n->cfg.base, -1, 0, on_deaf, n);
	n->traced_event = event_new(n->cfg.base, -1, 0, node_traced, n);
	n->tick = event_new(n->cfg.base, -1, EV_PERSIST, on_tick, n);
	if (!n->gone_event || !n->fault_event || !n->deaf_event ||
	    !n->traced_event || !n->tick || event_add(n->tick, &second))
		return cr_fail(e, -ENOMEM, "out of memory for events");
	return 0;
}

/* On the drain thread, once per file. */
static void trace_failed(void *arg, int err)
{
	(void)arg;
	log_event(LOG_ERROR, "trace-failed", "why=\"%s\"", strerror(err));
}

/* On the drain thread, its last word. */
static void trace_closed(void *arg)
{
	const struct node *n = arg;

	event_active(n->traced_event, 0, 0);
}

static int open_trace(struct node *n, struct cr_err *e)
{
	int err = trace_open(&n->trace, node_rings(n), n->place_records);

	/* the other threads write for all calls */
	for (unsigned i = n->nplaces; i < node_rings(n) && !err; i++)
		err = trace_resize(n->trace, i, n->cfg.trace_records);
	if (err)
		return cr_fail(e, err, "trace: %s", strerror(-err));
	trace_on_error(n->trace, trace_failed, NULL);
	trace_on_closed(n->trace, trace_closed, n);
	return 0;
}

/* Threads that the kernel schedules must not keep frames from arriving: the
 * thesis found that all its schedulers look alike then (6.1). */
static int rx_priority(const struct node *n)
{
	if (live_driver(n->live)->kernel_priorities)
		return sched_get_priority_max(SCHED_FIFO);
	return n->cfg.realtime ? NODE_RX_PRIORITY : 0;
}

/* Threads that are not pinned are everywhere. */
static bool rx_shares_cpu(const struct node_config *cfg, unsigned receiver)
{
	int cpu = cfg->rx_cpu ? cfg->rx_cpu[receiver] : -1;

	if (cpu < 0 || !cfg->pin)
		return true;
	for (unsigned i = 0; i < cfg->workers; i++)
		if (cfg->pin[i] == (unsigned)cpu)
			return true;
	return false;
}

static int open_rtp(struct node *n, struct cr_err *e)
{
	struct cr_err warn = { "" };
	int nfd = udp_socket_group(&n->cfg.rtp, n->cfg.receivers, RECEIVERS_KEY,
				   n->fd, &warn, e);

	if (*warn.text)
		log_event(LOG_WARN, "port-not-shared", "why=\"%s\"", warn.text);
	if (nfd < 0)
		return nfd;
	n->nfd = (unsigned)nfd;
	for (unsigned i = 0; i < n->nfd && n->cfg.tos; i++)
		(void)tos_set(n->fd[i], n->cfg.rtp.ss_family, n->cfg.tos);
	if (udp_socket_is_short(n->fd[0], &warn))
		log_event(LOG_INFO, "small-buffer", "why=\"%s\"", warn.text);
	return 0;
}

static int open_receivers(struct node *n, struct cr_err *warn, struct cr_err *e)
{
	struct receivers_place place[NODE_RECEIVERS_MAX];
	const struct receivers_config cfg = {
		.each = {
			.table = n->table,
			.endpoints = &n->endpoints,
			.live = n->live,
			/* AUTO: one of many may still have to do without */
			.io = n->io == UDP_IO_EPOLL ? n->io : n->cfg.io,
			.coalesce = n->cfg.coalesce,
			.rt_priority = rx_priority(n),
			.failed = receiver_failed,
			.arg = n,
		},
		.count = n->cfg.receivers,
		.fd = n->fd,
		.nfd = n->nfd,
		.place = place,
		.trace = n->trace,
		.first_ring = node_ring_receivers(n),
	};

	for (unsigned i = 0; i < n->cfg.receivers; i++)
		place[i] = (struct receivers_place){
			.cpu = n->cfg.rx_cpu ? n->cfg.rx_cpu[i] : -1,
			.shares_cpu = rx_shares_cpu(&n->cfg, i),
		};
	return receivers_open(&n->receivers, &cfg, warn, e);
}

static int choose_io(struct node *n, struct cr_err *e)
{
	int err = udp_io_choose(n->cfg.io, &n->io, &n->io_why);

	if (err)
		return cr_fail(e, err, "%s; --io auto does without it",
			       n->io_why.text);
	return 0;
}

enum udp_io node_io(const struct node *n, const char **why)
{
	*why = n->io_why.text;
	return n->io;
}

static int open_parts(struct node *n, struct cr_err *warn, struct cr_err *e)
{
	int err = rcu_start(e);

	if (!err)
		err = choose_io(n, e);
	if (!err)
		err = open_rtp(n, e);
	if (!err)
		err = node_open_interfaces(n, e);
	if (err)
		return err;
	n->table = call_table_new(n->cfg.max_calls);
	n->costs = costs_new();
	n->past = calloc(CALL_NCOUNTERS, sizeof(*n->past));
	if (!n->table || !n->costs || !n->past)
		return cr_fail(e, -ENOMEM, "out of memory for the node");
	err = measuring_open(&n->measuring, n->cfg.base, n->costs, e);
	if (!err)
		err = node_plan_engine(n, e);
	if (!err)
		err = open_trace(n, e);
	if (!err)
		err = node_open_recovery(n, e);
	if (!err)
		err = open_events(n, e);
	if (!err)
		err = node_open_watch(n, e);
	if (!err)
		err = node_open_engine(n, warn, e);
	if (!err)
		err = open_receivers(n, warn, e);
	if (!err)
		err = node_open_places(n, e);
	return err ? err : node_open_converter(n, e);
}

int node_open(struct node **out, const struct node_config *cfg,
	      struct cr_err *warn, struct cr_err *e)
{
	struct node *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return cr_fail(e, -ENOMEM, "out of memory for the node");
	n->cfg = *cfg;
	if (!n->cfg.receivers)
		n->cfg.receivers = 1;
	n->started = clock_now();
	n->started_utc = clock_read(CLOCK_REALTIME);
	thread_lock_init(&n->gone_lock);
	err = open_parts(n, warn, e);
	if (err) {
		(void)node_close(n);
		return err;
	}
	*out = n;
	return 0;
}

void node_end_calls(struct node *n)
{
	struct node_call *nc;

	if (!n)
		return;
	RB_FOREACH (nc, node_tree, &n->calls)
		node_call_stop(nc, NODE_END_DRAINED, NULL);
	node_watch_end(n);
	converter_end(n->converter);
	while (n->ncalls > n->nhung)
		(void)event_base_loop(n->cfg.base, EVLOOP_ONCE);
}

static void close_parts(struct node *n)
{
	converter_close(n->converter);
	trace_close(n->trace);
	node_close_watch(n);
	if (n->gone_event)
		event_free(n->gone_event);
	if (n->fault_event)
		event_free(n->fault_event);
	if (n->deaf_event)
		event_free(n->deaf_event);
	if (n->traced_event)
		event_free(n->traced_event);
	if (n->tick)
		event_free(n->tick);
	recovery_close(n->recovery);
	measuring_close(n->measuring);
	free(n->places.row);
	free(n->past);
	costs_free(n->costs);
	call_table_free(n->table);
	endpoints_fini(&n->endpoints);
	interfaces_close(&n->interfaces);
	while (n->nfd)
		(void)close(n->fd[--n->nfd]);
	pthread_mutex_destroy(&n->gone_lock);
	free(n);
}

/* Threads that were stuck have come back: so do their calls and conversions. */
static void end_returned(struct node *n)
{
	converter_end_all(n->converter);
	while (n->ncalls)
		(void)event_base_loop(n->cfg.base, EVLOOP_ONCE);
}

void node_gather(struct node *n)
{
	receivers_gather(n->receivers);
}

void node_notify(struct node *n)
{
	receivers_notify(n->receivers);
}

int node_close(struct node *n)
{
	int err;

	if (!n)
		return 0;
	node_end_calls(n);
	party_close_all(n);
	rcu_done(); /* a hung call may not have been told to leave yet */
	receivers_close(n->receivers);
	n->receivers = NULL;
	if (n->trace)
		(void)node_trace_stop(n, NULL);
	err = live_stop(n->live);
	if (err)
		return err;
	end_returned(n);
	rcu_done(); /* their endpoints */
	live_close(n->live);
	close_parts(n);
	return 0;
}

unsigned node_calls(const struct node *n)
{
	return n->ncalls - n->nhung;
}

void node_scheduler(const struct node *n, char *buf, size_t size)
{
	char opts[256];

	live_scheduler_opts(n->live, opts, sizeof(opts));
	if (snprintf(buf, size, "%s%s%s", live_scheduler(n->live),
		     *opts ? "," : "", opts) < 0)
		buf[0] = '\0';
}

static void trace_note(struct node *n, enum cr_trace_note_code code, cr_ns at,
		       const char *text)
{
	union cr_trace_record r = {
		.note = { .kind = CR_TRACE_NOTE,
			  .code = (uint8_t)code,
			  .worker = 0xffff,
			  .at = at },
	};

	(void)snprintf(r.note.text, sizeof(r.note.text), "%.*s",
		       (int)sizeof(r.note.text) - 1, text);
	trace_put(trace_ring(n->trace, node_ring_control(n)), &r);
}

static void trace_switch(struct node *n, cr_ns at)
{
	char spec[sizeof(((struct cr_trace_note *)0)->text)];

	node_scheduler(n, spec, sizeof(spec));
	trace_note(n, CR_NOTE_SWITCHED, at, spec);
}

int node_scheduler_set(struct node *n, const char *spec, struct cr_err *e)
{
	struct scheduler to;
	int err = scheduler_find(spec, &to, e);

	if (!err)
		err = live_switch_to(n->live, &to, e);
	if (!err)
		trace_switch(n, live_switched_at(n->live));
	return err;
}

int node_scheduler_tune(struct node *n, const char *opts, struct cr_err *e)
{
	int err = live_tune(n->live, opts, e);

	if (!err)
		trace_switch(n, live_switched_at(n->live));
	return err;
}

void node_faulty(void *arg, const struct core_fault *fault)
{
	struct node *n = arg;
	char text[sizeof(n->fault)], said[sizeof(n->fault)];

	core_fault_text(fault, text, sizeof(text));
	core_fault_said(fault, said, sizeof(said));
	log_event(LOG_ERROR, "scheduler-fault", CORE_FAULT_FIELDS,
		  CORE_FAULT_VALUES(fault, said));
	(void)pthread_mutex_lock(&n->gone_lock);
	memcpy(n->fault, text, sizeof(text));
	if (!n->fault_at)
		n->fault_at = clock_now();
	(void)pthread_mutex_unlock(&n->gone_lock);
	event_active(n->fault_event, 0, 0);
}

void node_recover(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;
	char text[sizeof(n->fault)];
	struct cr_err e = { "" };
	int rc = live_recover(n->live, &e);
	cr_ns at;

	(void)fd, (void)what;
	(void)pthread_mutex_lock(&n->gone_lock);
	memcpy(text, n->fault, sizeof(text));
	at = n->fault_at;
	n->fault_at = 0;
	(void)pthread_mutex_unlock(&n->gone_lock);
	if (rc < 0)
		log_event(LOG_ERROR, "scheduler-stuck", "why=\"%s\"", e.text);
	if (rc <= 0)
		return;
	log_event(LOG_WARN, "scheduler-replaced", "now=%s",
		  live_scheduler(n->live));
	/* from the first run queue on in which fifo stood in */
	trace_note(n, CR_NOTE_FAULT, at, text);
	trace_switch(n, at);
}
