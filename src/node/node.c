/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transcoding node: making and unmaking it, the engine's callbacks, the
 * scheduler and the trace. Calls are in node_call.c, figures in node_stats.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "node/node_impl.h"
#include "observe/log.h"
#include "schedulers/registry.h"
#include "udp/socket.h"

/* Real-time priorities: rx above workers, both below the kernel's watchdogs.
 * Workers that never sleep would meet real-time throttling, so they get none;
 * the rx thread is the one that must win. */
#define RX_RT_PRIORITY 20

/* Which trace ring belongs to this thread: its worker number, or none. */
static _Thread_local struct trace_ring *my_ring;

static void worker_up(void *arg, unsigned worker)
{
	struct node *n = arg;

	my_ring = n->workers[worker].trace;
	rcu_register_thread(); /* it looks up the calls that CMRs are for */
}

static void worker_down(void *arg, unsigned worker)
{
	(void)arg, (void)worker;
	rcu_unregister_thread();
}

static bool is_job(const struct live_task *lt)
{
	return lt->kind == NODE_TASK_JOB;
}

static bool is_job_core(struct core_task *t)
{
	return is_job(live_task_of(t));
}

static bool peek(struct core_task *t, struct cr_job *job)
{
	return is_job_core(t) ? job_peek(t, job) : call_peek(t, job);
}

static bool claim(struct core_task *t, uint64_t seq)
{
	return is_job_core(t) ? job_claim(t, seq) : call_claim(t, seq);
}

/* The calls' packets do not wait for a frame that no call waits for. */
static void run_job(struct turn_worker *w, struct job *j,
		    const struct live_run *run_)
{
	union cr_trace_record record;

	turn_flush(w);
	memset(&record, 0, sizeof(record));
	job_run(j, &w->scratch, run_, &record);
	trace_put(w->trace, &record);
}

static void run(void *arg, struct live_task *lt, const struct live_run *run_)
{
	struct node *n = arg;

	if (is_job(lt)) {
		run_job(&n->workers[run_->worker], job_of(lt), run_);
		return;
	}
	turn_run(&n->workers[run_->worker], call_of(lt), run_);
}

static void idle(void *arg, unsigned worker)
{
	struct node *n = arg;

	turn_flush(&n->workers[worker]);
}

/* Packets may wait for each other where one worker serves a call (turn.h). */
static void allow_together(struct node *n)
{
	bool alone = n->cfg.workers == 1 ||
		     (n->cfg.cpus_per_rq == 1 && !live_policy(n->live)->steal);

	for (unsigned w = 0; w < n->cfg.workers; w++)
		atomic_store_explicit(&n->workers[w].together,
				      alone && !n->cfg.send_each,
				      memory_order_relaxed);
}

static void gone(void *arg, struct live_task *lt)
{
	if (is_job(lt))
		jobs_gone(job_of(lt));
	else
		node_gone(arg, lt);
}

/* A worker sheds while it picks; liburcu's one thread cancels. A job's frames
 * are never too old, and those of a cancelled one are nobody's loss. */
static void shed(struct core_task *t, const struct cr_job *job,
		 enum cr_outcome why, cr_ns now)
{
	struct call *c;
	struct node_call *nc;
	struct node *n;

	if (is_job_core(t))
		return;
	c = call_of_core(t);
	nc = c->owner;
	n = nc->node;
	turn_shed(my_ring ? my_ring
			  : trace_ring(n->trace, node_ring_reclaim(n)),
		  c, job, why, now);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;

	node_learn(n);
	node_recover(fd, what, n); /* when memory was short */
	if (n->jobs)
		jobs_tick(n->jobs);
}

static int open_events(struct node *n, struct cr_err *e)
{
	const struct timeval second = { 1, 0 };

	n->gone_event = event_new(n->cfg.base, -1, 0, node_reap, n);
	n->fault_event = event_new(n->cfg.base, -1, 0, node_recover, n);
	n->tick = event_new(n->cfg.base, -1, EV_PERSIST, on_tick, n);
	if (!n->gone_event || !n->fault_event || !n->tick ||
	    event_add(n->tick, &second))
		return cr_fail(e, -ENOMEM, "out of memory for events");
	return 0;
}

/* On the drain thread, once per file. */
static void trace_failed(void *arg, int err)
{
	(void)arg;
	log_event(LOG_ERROR, "trace-failed", "why=\"%s\"", strerror(err));
}

static int open_trace(struct node *n, struct cr_err *e)
{
	int err = trace_open(&n->trace, node_rings(n), n->cfg.trace_records);

	if (err)
		return cr_fail(e, err, "trace: %s", strerror(-err));
	trace_on_error(n->trace, trace_failed, NULL);
	for (unsigned w = 0; w < n->cfg.workers; w++) {
		n->workers[w].fd = n->fd;
		n->workers[w].table = n->table;
		n->workers[w].trace = trace_ring(n->trace, w);
	}
	return 0;
}

static int open_live(struct node *n, struct cr_err *warn, struct cr_err *e)
{
	const struct node_config *cfg = &n->cfg;
	struct live_config live = {
		.core = {
			.ncpu = cfg->workers,
			.cpus_per_rq = cfg->cpus_per_rq,
			.admission = cfg->admission,
			.capacity_ppm = cfg->capacity_ppm,
		},
		.pin = cfg->pin,
		.poll = cfg->poll,
		.client = {
			.backlog = { peek, claim, shed },
			.run = run,
			.gone = gone,
			.idle = idle,
			.worker_up = worker_up,
			.worker_down = worker_down,
			.faulty = node_faulty,
			.arg = n,
		},
	};
	int err = cr_scheduler_find(cfg->scheduler, &live.core.ops,
				    &live.core.opts, e);

	for (unsigned c = 0; c < CR_NCLASSES; c++) {
		live.core.max_age[c] = cfg->max_age;
		live.core.stale[c] = cfg->stale;
	}
	if (!err)
		err = live_open(&n->live, &live, warn, e);
	if (!err)
		allow_together(n);
	return err;
}

static int open_rx(struct node *n, struct cr_err *warn, struct cr_err *e)
{
	struct rx_config rx = {
		.fd = n->fd,
		.table = n->table,
		.live = n->live,
		.trace = trace_ring(n->trace, node_ring_rx(n)),
		.coalesce = n->cfg.coalesce,
		.rt_priority = n->cfg.realtime ? RX_RT_PRIORITY : 0,
		.cpu = n->cfg.rx_cpu,
	};

	return rx_open(&n->rx, &rx, warn, e);
}

static int open_parts(struct node *n, struct cr_err *warn, struct cr_err *e)
{
	int err;

	n->fd = udp_socket(&n->cfg.rtp, e);
	if (n->fd < 0)
		return n->fd;
	n->table = call_table_new();
	n->costs = costs_new();
	n->past = calloc(CALL_NCOUNTERS, sizeof(*n->past));
	n->workers = calloc(n->cfg.workers, sizeof(*n->workers));
	if (!n->table || !n->costs || !n->past || !n->workers)
		return cr_fail(e, -ENOMEM, "out of memory for the node");
	err = open_trace(n, e);
	if (!err)
		err = open_events(n, e);
	if (!err)
		err = open_live(n, warn, e);
	if (!err)
		err = open_rx(n, warn, e);
	return err ? err : node_open_jobs(n, e);
}

int node_open(struct node **out, const struct node_config *cfg,
	      struct cr_err *warn, struct cr_err *e)
{
	struct node *n = calloc(1, sizeof(*n));
	int err;

	if (!n)
		return cr_fail(e, -ENOMEM, "out of memory for the node");
	n->cfg = *cfg;
	n->fd = -1;
	n->started = clock_now();
	pthread_mutex_init(&n->gone_lock, NULL);
	err = open_parts(n, warn, e);
	if (err) {
		node_close(n);
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
		node_call_stop(nc, NODE_END_DRAINED);
	jobs_end(n->jobs);
	while (n->ncalls)
		(void)event_base_loop(n->cfg.base, EVLOOP_ONCE);
}

void node_close(struct node *n)
{
	if (!n)
		return;
	node_end_calls(n);
	rx_close(n->rx);
	live_close(n->live);
	jobs_close(n->jobs);
	if (n->trace)
		json_decref(node_trace_stop(n));
	trace_close(n->trace);
	if (n->gone_event)
		event_free(n->gone_event);
	if (n->fault_event)
		event_free(n->fault_event);
	if (n->tick)
		event_free(n->tick);
	free(n->workers);
	free(n->past);
	costs_free(n->costs);
	call_table_free(n->table);
	if (n->fd >= 0)
		(void)close(n->fd);
	pthread_mutex_destroy(&n->gone_lock);
	free(n);
}

unsigned node_calls(const struct node *n)
{
	return n->ncalls;
}

void node_scheduler(const struct node *n, char *buf, size_t size)
{
	char opts[256];

	live_policy_opts(n->live, opts, sizeof(opts));
	(void)snprintf(buf, size, "%s%s%s", live_policy(n->live)->name,
		       *opts ? "," : "", opts);
}

static void trace_switch(struct node *n)
{
	union cr_trace_record r = {
		.note = { .kind = CR_TRACE_NOTE,
			  .code = 1,
			  .worker = 0xffff,
			  .at = clock_now() },
	};

	node_scheduler(n, r.note.text, sizeof(r.note.text));
	trace_put(trace_ring(n->trace, node_ring_control(n)), &r);
}

int node_scheduler_set(struct node *n, const char *spec, struct cr_err *e)
{
	const struct cr_sched_ops *ops;
	const char *opts;
	int err = cr_scheduler_find(spec, &ops, &opts, e);

	if (!err)
		err = live_switch(n->live, ops, opts, e);
	if (!err) {
		allow_together(n);
		trace_switch(n);
	}
	return err;
}

int node_scheduler_tune(struct node *n, const char *opts, struct cr_err *e)
{
	int err = live_tune(n->live, opts, e);

	if (!err)
		trace_switch(n);
	return err;
}

void node_faulty(void *arg, const struct core_fault *fault)
{
	struct node *n = arg;
	char text[sizeof(n->fault)];

	core_fault_text(fault, text, sizeof(text));
	log_event(LOG_ERROR, "scheduler-fault", "%s", text);
	(void)pthread_mutex_lock(&n->gone_lock);
	memcpy(n->fault, text, sizeof(text));
	(void)pthread_mutex_unlock(&n->gone_lock);
	event_active(n->fault_event, 0, 0);
}

void node_recover(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;
	struct cr_err e = { "" };
	int rc = live_recover(n->live, &e);

	(void)fd, (void)what;
	if (rc < 0)
		log_event(LOG_ERROR, "scheduler-stuck", "why=\"%s\"", e.text);
	if (rc <= 0)
		return;
	log_event(LOG_WARN, "scheduler-replaced", "now=%s",
		  live_policy(n->live)->name);
	allow_together(n);
	trace_switch(n);
}
