/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One transcoding node: making and unmaking it, what its engine calls, the
 * scheduler, the trace, and what may change while it runs. Calls are in
 * node_streams.c, figures in node_stats.c.
 *
 * What a worker's thread works with is a context: scratch memory, packets that
 * wait, the trace ring of its place. Who has which is src/recovery's business.
 * They are never freed while the node lives: the histograms in them count.
 *
 * The table of which CPUs do what is made once: threads stay where they are.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/topology.h"
#include "node/node_impl.h"
#include "observe/log.h"
#include "observe/store.h"
#include "udp/socket.h"

struct recovery_context *node_context_new(void *arg)
{
	const struct node *n = arg;
	struct node_context *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	transcode_init(&ctx->turn, n->send_io);
	ctx->turn.table = n->table;
	if (n->cfg.quota_burst)
		ctx->turn.quota_burst = n->cfg.quota_burst;
	return &ctx->slot;
}

void node_context_free(void *arg, struct recovery_context *slot)
{
	struct node_context *ctx = node_context_of(slot);

	(void)arg;
	transcode_fini(&ctx->turn);
	free(ctx);
}

/* Packets may wait as before: control alone writes that. */
void node_context_for(void *arg, struct recovery_context *slot, unsigned place,
		      const struct recovery_context *before)
{
	const struct node *n = arg;
	const struct node_context *was = (const void *)before;
	struct transcode_worker *w = &node_context_of(slot)->turn;

	w->fd = n->fd[place % n->nfd]; /* any has the address */
	w->trace = trace_ring(n->trace, place);
	atomic_store_explicit(&w->state, TRANSCODE_AT_WORK,
			      memory_order_relaxed);
	w->batching = was && was->turn.batching;
}

void node_histograms(const struct node *n, struct histogram *delay,
		     struct histogram *jitter)
{
	memset(delay, 0, sizeof(*delay));
	memset(jitter, 0, sizeof(*jitter));
	for (unsigned i = 0; i < recovery_ncontexts(n->recovery); i++) {
		struct recovery_context *slot = recovery_used(n->recovery, i);

		if (!slot)
			continue;
		histogram_merge(delay, &node_context_of(slot)->turn.delay);
		histogram_merge(jitter, &node_context_of(slot)->turn.jitter);
	}
}

/* The state of this thread; NULL: it is no worker. */
static _Thread_local struct node_context *me;

static void worker_up(void *arg, unsigned worker)
{
	const struct node *n = arg;

	me = node_context_of(recovery_take_slot(n->recovery, worker));
	rcu_register_thread(); /* it looks up the calls that CMRs are for */
}

static void worker_down(void *arg, unsigned worker)
{
	(void)arg, (void)worker;
	rcu_unregister_thread();
	recovery_leave_slot(&me->slot);
}

static bool peek_frame(struct core_task *t, struct cr_job *job)
{
	return node_kind_of(live_task_of(t))->peek(t, job);
}

static bool claim_frame(struct core_task *t, uint64_t seq)
{
	return node_kind_of(live_task_of(t))->claim(t, seq);
}

static void run_task(void *arg, struct live_task *lt,
		     const struct live_run *run_)
{
	(void)arg;
	node_kind_of(lt)->run(&me->turn, lt, run_);
}

static void run_stream_task(struct transcode_worker *w, struct live_task *lt,
			    const struct live_run *run_)
{
	transcode_run(w, transcoder_of(lt), run_);
}

static void worker_idle(void *arg, unsigned worker)
{
	(void)arg, (void)worker;
	transcode_flush(&me->turn);
}

/* Only from a codec: anything else comes back by itself. */
static bool may_detach(void *arg, struct live_task *lt, unsigned worker)
{
	(void)lt;
	return transcode_take(&node_context_at(arg, worker)->turn);
}

static void task_returned(void *arg, struct live_task *lt)
{
	node_kind_of(lt)->returned(arg, lt);
}

/* --- packets that wait for each other (media/transcode.h) --- */

/* Packets that may not wait any more leave now; control. */
static void set_batching(struct node *n, bool may)
{
	struct trace_ring *trace = trace_ring(n->trace, node_ring_control(n));

	for (unsigned w = 0; w < n->nplaces; w++)
		transcode_batching(&node_context_at(n, w)->turn, may, trace);
}

static void after_task_move(void *arg)
{
	struct node *n = arg;

	set_batching(n, !n->cfg.send_each && live_driver(n->live)->shares &&
				live_tasks_stay(n->live));
}

/* Where a call moves to, its packets would overtake those that wait. */
static void before_task_move(void *arg)
{
	set_batching(arg, false);
}

void node_flush(struct node *n)
{
	struct trace_ring *trace = trace_ring(n->trace, node_ring_control(n));

	for (unsigned w = 0; w < n->nplaces; w++)
		transcode_flush_for(&node_context_at(n, w)->turn, trace);
}

static void task_gone(void *arg, struct live_task *lt)
{
	node_kind_of(lt)->gone(arg, lt);
}

static void note_dropped(struct core_task *t, const struct cr_job *job,
			 enum cr_outcome why, cr_ns now)
{
	const struct node_task_kind *kind = node_kind_of(live_task_of(t));

	if (kind->dropped)
		kind->dropped(t, job, why, now);
}

/* A worker drops frames while it picks; the thread of deferred work cancels. */
static void drop_frame(struct core_task *t, const struct cr_job *job,
		       enum cr_outcome why, cr_ns now)
{
	struct transcoder *c = transcoder_of_core(t);
	const struct node_stream *st = c->stream->owner;
	const struct node *n = st->node;

	transcode_drop(me ? me->turn.trace
			  : trace_ring(n->trace, node_ring_reclaim(n)),
		       c, job, why, now);
}

const struct node_task_kind node_stream_kind = {
	.name = "stream",
	.peek = transcode_peek,
	.claim = transcode_claim,
	.run = run_stream_task,
	.dropped = drop_frame,
	.gone = node_gone,
	.returned = node_back,
	.hung = node_hung,
	.transcoder = transcoder_of,
};

/** How many threads there will be, by the scheduler: n->nplaces. 0, or -errno
 * with @e. */
static int node_plan_engine(struct node *n, struct cr_err *e)
{
	unsigned most = 2 * n->cfg.max_calls + n->cfg.convert.running;
	const struct live_driver *driver;
	struct scheduler s;
	int err = scheduler_find(n->cfg.scheduler, &s, e);

	if (err)
		return err;
	driver = live_driver_for(&s);
	n->nplaces = n->cfg.workers;
	n->place_records = n->cfg.trace_records;
	n->send_io = n->io;
	if (driver->thread_per_task) {
		n->nplaces = most < NODE_THREADS ? most : NODE_THREADS;
		n->place_records = NODE_THREAD_RECORDS;
		n->send_io = UDP_IO_EPOLL; /* one call, one socket */
	}
	if (!driver->watched)
		n->cfg.watchdog = 0;
	return 0;
}

/** Copy the rules that the engine decides by from @from to @to. */
static void node_rules(struct core_config *to, const struct node_config *from)
{
	to->admission = from->admission;
	to->capacity_ppm = from->capacity_ppm;
	to->shed = from->shed;
	for (unsigned c = 0; c < CR_NCLASSES; c++) {
		to->max_age[c] = from->max_age;
		to->expired[c] = from->expired;
	}
}

/** engine callback: the policy broke its contract; any thread. */
static void node_faulty(void *arg, const struct core_fault *fault)
{
	struct node *n = arg;
	char text[sizeof(n->fault)], said[sizeof(n->fault)];

	core_fault_text(fault, text, sizeof(text));
	core_fault_said(fault, said, sizeof(said));
	log_event(LOG_ERROR, "scheduler-fault",
		  LOG_WORD("policy", fault->policy),
		  LOG_WORD("callback", fault->callback),
		  LOG_STR("what", fault->what), LOG_INT("rq", fault->rq),
		  LOG_INT("cpu", fault->cpu), LOG_INT("task", fault->task),
		  LOG_STR("said", said));
	(void)pthread_mutex_lock(&n->gone_lock);
	memcpy(n->fault, text, sizeof(text));
	if (!n->fault_at)
		n->fault_at = clock_now();
	(void)pthread_mutex_unlock(&n->gone_lock);
	event_active(n->fault_event, 0, 0);
}

/** Start the engine. 0, or -errno with @e; @warn: what was not granted. */
static int node_open_engine(struct node *n, struct cr_err *warn,
			    struct cr_err *e)
{
	const struct node_config *cfg = &n->cfg;
	struct live_config live = {
		.core = {
			.ncpu = cfg->workers,
			.cpus_per_rq = cfg->cpus_per_rq,
			.rq_cpus = cfg->rq_cpus,
			.nrq = cfg->nrq,
		},
		.pin = cfg->pin,
		.poll = cfg->poll,
		.rt_priority = cfg->realtime_workers ? NODE_WORKER_PRIORITY : 0,
		.max_threads = n->nplaces,
		.client = {
			.backlog = { peek_frame, claim_frame, note_dropped },
			.run = run_task,
			.gone = task_gone,
			.idle = worker_idle,
			.may_detach = may_detach,
			.returned = task_returned,
			.worker_up = worker_up,
			.worker_down = worker_down,
			.faulty = node_faulty,
			.before_move = before_task_move,
			.after_move = after_task_move,
			.arg = n,
		},
	};
	struct scheduler s;
	int err = scheduler_find(cfg->scheduler, &s, e);

	if (err)
		return err;
	live_choose(&live, &s);
	node_rules(&live.core, cfg);
	err = live_open(&n->live, &live, warn, e);
	if (err)
		return err;
	recovery_of(n->recovery, n->live);
	after_task_move(n);
	return 0;
}

/* The table as it grows; its last row is not complete. */
struct making {
	struct node_places *places;
	const struct topology *topology;
	struct cpu_list cpus; /* of the last row */
	bool failed;
};

static struct node_place_info *last_row(struct making *m)
{
	return m->places->n ? &m->places->row[m->places->n - 1] : NULL;
}

static void end_place_row(struct making *m)
{
	struct node_place_info *row = last_row(m);

	if (row)
		cpu_list_text(&m->cpus, row->cpus, sizeof(row->cpus));
	m->cpus.count = 0;
}

static void begin_place_row(struct making *m,
			    const struct node_place_info *like)
{
	struct node_places *p = m->places;
	struct node_place_info *row;

	end_place_row(m);
	row = realloc(p->row, (p->n + 1) * sizeof(*row));
	if (!row) {
		m->failed = true;
		return;
	}
	p->row = row;
	row[p->n++] = *like;
}

/* Those of streams, where each has its own, come and go: their row has none. */
static const char role_streams[] = "streams";

/* Threads that are not pinned run where the control thread does. */
static void add_place(struct making *m, const char *role, int cpu,
		      int run_queue)
{
	const struct topology_cpu *at =
		m->topology && cpu >= 0
			? topology_find(m->topology, (unsigned)cpu)
			: NULL;
	const struct node_place_info like = {
		.role = role,
		.cache = at ? (int)at->cache : -1,
		.run_queue = run_queue,
	};
	struct node_place_info *row = last_row(m);

	if (!row || row->role != role || row->cache != like.cache ||
	    row->run_queue != run_queue)
		begin_place_row(m, &like);
	if (m->failed)
		return;
	/* analyzer: without failure there is one now */
	last_row(m)->threads += role != role_streams;
	if (cpu < 0)
		cpu_list_allowed(&m->cpus);
	else if (!cpu_list_has(&m->cpus, (unsigned)cpu))
		m->cpus.cpu[m->cpus.count++] = (unsigned)cpu;
}

static void add_workers(struct making *m, const struct node *n)
{
	const struct node_config *cfg = &n->cfg;
	bool own = live_driver(n->live)->thread_per_task;
	unsigned queue = 0, end = live_queue_cpus(n->live, 0);

	for (unsigned i = 0; i < cfg->workers; i++) {
		int cpu = cfg->pin ? (int)cfg->pin[i] : -1;

		if (i == end)
			end += live_queue_cpus(n->live, ++queue);
		if (own)
			add_place(m, role_streams, cpu, -1);
		else
			add_place(m, "worker", cpu, (int)queue);
	}
}

/** Make n->places, once engine and receivers are there. 0, or -ENOMEM with @e.
 */
static int node_open_places(struct node *n, struct cr_err *e)
{
	const struct node_config *cfg = &n->cfg;
	struct making m = { .places = &n->places, .topology = cfg->topology };

	for (unsigned i = 0; i < cfg->receivers; i++)
		add_place(&m, "receiver", cfg->rx_cpu ? cfg->rx_cpu[i] : -1,
			  -1);
	add_workers(&m, n);
	add_place(&m, "control", -1, -1);
	end_place_row(&m);
	return m.failed ? cr_fail(e, -ENOMEM, "out of memory for the node") : 0;
}

const struct node_place_info *node_place(const struct node *n, unsigned i)
{
	return i < n->places.n ? &n->places.row[i] : NULL;
}

static int change_rules(struct node *n, const struct node_config *to,
			struct cr_err *e)
{
	struct core_config rules = { .ncpu = 0 };
	const struct node_config *is = &n->cfg;

	if (is->admission == to->admission &&
	    is->capacity_ppm == to->capacity_ppm &&
	    is->max_age == to->max_age && is->expired == to->expired &&
	    is->shed.kind == to->shed.kind && is->shed.wait == to->shed.wait)
		return 0;
	node_rules(&rules, to);
	if (live_set_rules(n->live, &rules))
		return cr_fail(e, -ENOTSUP,
			       "under %s, admission, capacity and what happens "
			       "to old frames stay until a restart",
			       live_scheduler(n->live));
	n->cfg.admission = to->admission;
	n->cfg.capacity_ppm = to->capacity_ppm;
	n->cfg.max_age = to->max_age;
	n->cfg.expired = to->expired;
	n->cfg.shed = to->shed;
	return 0;
}

int node_settings_change(struct node *n, const struct node_config *to,
			 struct cr_err *e)
{
	const struct converter_config convert = { .max = to->convert.max,
						  .running =
							  to->convert.running,
						  .floor = to->convert.floor };
	int err = change_rules(n, to, e);

	if (err)
		return err;
	n->cfg.ring_frames = to->ring_frames;
	n->cfg.rtcp_interval = to->rtcp_interval;
	n->cfg.max_calls = to->max_calls;
	n->cfg.memory_reserve = to->memory_reserve;
	if (n->converter)
		converter_change(n->converter, &convert);
	return 0;
}

static void trace_node_note(struct node *n, enum cr_trace_note_code code,
			    cr_ns at, const char *text)
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
	trace_node_note(n, CR_NOTE_SWITCHED, at, spec);
}

/** event callback: make the fallback the policy of all run queues, where it
 * stands in for a broken one. */
static void node_recover(evutil_socket_t fd, short what, void *arg)
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
		log_event(LOG_ERROR, "scheduler-stuck", LOG_STR("why", e.text));
	if (rc <= 0)
		return;
	log_event(LOG_WARN, "scheduler-replaced",
		  LOG_WORD("now", live_scheduler(n->live)));
	/* from the first run queue on in which fifo stood in */
	trace_node_note(n, CR_NOTE_FAULT, at, text);
	trace_switch(n, at);
}

static void on_node_tick(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;

	node_learn(n);
	node_follow(n);
	node_recover(fd, what, n); /* when memory was short */
	if (n->converter)
		converter_tick(n->converter);
}

static void on_receiver_failed(evutil_socket_t fd, short what, void *arg)
{
	const struct node *n = arg;

	(void)fd, (void)what;
	if (n->cfg.deaf)
		n->cfg.deaf(n->cfg.arg);
}

/* On the receiver's thread, as its last act. */
static void receiver_failed(void *arg, unsigned receiver, int err)
{
	struct node *n = arg;

	log_event(LOG_ERROR, "receiver-failed", LOG_INT("receiver", receiver),
		  LOG_INT("errno", -err), LOG_STR("receiving", strerror(-err)),
		  LOG_STR("why", "calls of this receiver hear nothing more. "
				 "Start the daemon again, with --io epoll if "
				 "this comes back"));
	event_active(n->receiver_failed_event, 0, 0);
}

/* As core_config has it; of run queues that differ, the largest. */
static unsigned cpus_per_rq(const struct node *n)
{
	unsigned largest = n->cfg.cpus_per_rq;

	if (n->cfg.nrq > 1)
		for (unsigned i = 0; i < n->cfg.nrq; i++)
			if (n->cfg.rq_cpus[i] > largest)
				largest = n->cfg.rq_cpus[i];
	return largest;
}

int node_trace_start(struct node *n, const char *path, enum trace_over over,
		     struct cr_err *e)
{
	char spec[NODE_SPEC_MAX];
	const struct trace_head head = {
		.program = "codec-runner",
		.version = CR_VERSION,
		.scheduler = live_scheduler(n->live),
		.options = spec,
		.workers = n->cfg.workers,
		.cpus_per_rq = cpus_per_rq(n),
		.ring_frames = n->cfg.ring_frames,
		.max_age = n->cfg.max_age,
		.shed = shed_names[n->cfg.shed.kind],
		.shed_wait = n->cfg.shed.wait,
	};
	struct node_stream *st;
	int err;

	node_scheduler(n, spec, sizeof(spec));
	trace_set_over(n->trace, over);
	err = trace_start_live(n->trace, path, &head, e);
	if (err)
		return err;
	RB_FOREACH (st, node_stream_tree, &n->streams)
		if (node_stream_transcoder(st))
			node_trace_stream(st);
	return 0;
}

int node_trace_end(struct node *n, const struct node_trace_asker *asker,
		   struct cr_err *e)
{
	if (n->trace_asker.notify)
		return cr_fail(e, -EALREADY,
			       "the trace is being stopped already, and on its "
			       "way to the disk");
	if (trace_end(n->trace))
		return cr_fail(e, -EALREADY, "no trace is running");
	n->trace_asker = *asker;
	return 0;
}

int node_trace_stop(struct node *n, struct trace_totals *out)
{
	const struct node_trace_asker asker = n->trace_asker;
	struct trace_totals totals;
	int err = trace_stop(n->trace, &totals);

	if (err)
		return err;
	/* what the thread has said is of this trace, not of the next one */
	(void)event_del(n->traced_event);
	n->trace_asker = (struct node_trace_asker){ NULL, NULL };
	if (out)
		*out = totals;
	if (asker.notify)
		asker.notify(asker.arg, &totals);
	return 0;
}

void node_trace_settle(struct node *n)
{
	if (n && n->trace_asker.notify)
		(void)node_trace_stop(n, NULL);
}

/* The thread has nothing left to do: to wait for it takes no time. */
static void on_traced(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	node_trace_settle(arg);
}

static int open_node_events(struct node *n, struct cr_err *e)
{
	const struct timeval second = { 1, 0 };

	n->gone_event = event_new(n->cfg.base, -1, 0, node_reap, n);
	n->fault_event = event_new(n->cfg.base, -1, 0, node_recover, n);
	n->receiver_failed_event =
		event_new(n->cfg.base, -1, 0, on_receiver_failed, n);
	n->traced_event = event_new(n->cfg.base, -1, 0, on_traced, n);
	n->tick = event_new(n->cfg.base, -1, EV_PERSIST, on_node_tick, n);
	if (!n->gone_event || !n->fault_event || !n->receiver_failed_event ||
	    !n->traced_event || !n->tick || event_add(n->tick, &second))
		return cr_fail(e, -ENOMEM, "out of memory for events");
	return 0;
}

/* On the drain thread, once per file. */
static void trace_failed(void *arg, int err)
{
	(void)arg;
	log_event(LOG_ERROR, "trace-failed", LOG_STR("why", strerror(err)));
}

/* On the drain thread, as its last act. */
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
	int nfd = (int)node_restore_shared(n, n->fd);
	bool restored = nfd > 0;

	if (!restored)
		nfd = udp_socket_group(&n->cfg.rtp, n->cfg.receivers,
				       RECEIVERS_KEY, n->fd, &warn, e);
	if (*warn.text)
		log_event(LOG_WARN, "port-not-shared",
			  LOG_STR("why", warn.text));
	if (nfd < 0)
		return nfd;
	n->nfd = (unsigned)nfd;
	/* packets wait there: no socket of a group can be closed or added
	 * without some going to another one */
	if (restored && n->nfd != n->cfg.receivers)
		log_event(LOG_WARN, "port-as-it-was",
			  LOG_INT("sockets", n->nfd),
			  LOG_INT("receivers", n->cfg.receivers),
			  LOG_STR("why",
				  "the shared port takes another number of "
				  "them at a restart"));
	if (n->nfd > n->cfg.receivers)
		n->cfg.receivers = n->nfd;
	if (n->cfg.store && !restored &&
	    store_put(n->cfg.store, "rtp", n->fd, n->nfd))
		log_event(LOG_WARN, "port-not-held",
			  LOG_STR("why", "a new process will have another"));
	for (unsigned i = 0; i < n->nfd && n->cfg.tos; i++)
		(void)tos_set(n->fd[i], n->cfg.rtp.ss_family, n->cfg.tos);
	if (udp_socket_is_short(n->fd[0], &warn))
		log_event(LOG_INFO, "small-buffer", LOG_STR("why", warn.text));
	return 0;
}

static int open_node_receivers(struct node *n, struct cr_err *warn,
			       struct cr_err *e)
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
		/* packets wait for calls that are restored */
		.fd = node_keeps(n) ? NULL : n->fd,
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

enum udp_io node_io(const struct node *n, const char **why)
{
	*why = n->io_why.text;
	return n->io;
}

static int open_node_parts(struct node *n, struct cr_err *warn,
			   struct cr_err *e)
{
	int err = rcu_start(e);

	if (!err) {
		err = udp_io_choose(n->cfg.io, &n->io, &n->io_why);
		if (err)
			(void)cr_fail(e, err, "%s; --io auto does without it",
				      n->io_why.text);
	}
	if (!err)
		err = open_rtp(n, e);
	if (!err)
		err = node_open_interfaces(n, e);
	if (err)
		return err;
	n->table = stream_table_new(2 * n->cfg.max_calls);
	n->costs = costs_new();
	if (!n->table || !n->costs)
		return cr_fail(e, -ENOMEM, "out of memory for the node");
	err = measuring_open(&n->measuring, n->cfg.base, n->costs, e);
	if (!err)
		err = node_plan_engine(n, e);
	if (!err)
		err = open_trace(n, e);
	if (!err)
		err = node_open_recovery(n, e);
	if (!err)
		err = open_node_events(n, e);
	if (!err)
		err = node_open_watch(n, e);
	if (!err)
		err = node_open_engine(n, warn, e);
	if (!err)
		err = open_node_receivers(n, warn, e);
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
	n->ids = cfg->state ? state_memory_ids(cfg->state) : &n->own_ids;
	/* memory of a process before has the last ones */
	if (cfg->first_id && !n->ids->stream && !n->ids->endpoint)
		n->ids->stream = n->ids->endpoint = cfg->first_id;
	n->started = clock_now();
	n->started_utc = clock_read(CLOCK_REALTIME);
	thread_lock_init(&n->gone_lock);
	err = open_node_parts(n, warn, e);
	if (err) {
		(void)node_close(n);
		return err;
	}
	*out = n;
	return 0;
}

void node_end_calls(struct node *n)
{
	struct node_call *c;

	if (!n)
		return;
	RB_FOREACH (c, node_call_tree, &n->calls)
		node_call_stop(c, NODE_END_DRAINED, NULL);
	node_watch_end(n);
	converter_end(n->converter);
	while (n->ncalls)
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
	if (n->receiver_failed_event)
		event_free(n->receiver_failed_event);
	if (n->traced_event)
		event_free(n->traced_event);
	if (n->tick)
		event_free(n->tick);
	recovery_close(n->recovery);
	measuring_close(n->measuring);
	free(n->places.row);
	costs_free(n->costs);
	stream_table_free(n->table);
	endpoints_fini(&n->endpoints);
	interfaces_close(&n->interfaces);
	while (n->nfd)
		(void)close(n->fd[--n->nfd]);
	pthread_mutex_destroy(&n->gone_lock);
	free(n);
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
	node_endpoint_close_all(n);
	rcu_done(); /* a hung call may not have left yet */
	receivers_close(n->receivers);
	n->receivers = NULL;
	if (n->trace)
		(void)node_trace_stop(n, NULL);
	err = live_stop(n->live);
	if (err)
		return err;
	/* Threads that were stuck have come back: so do their calls and
	 * conversions. */
	converter_end_all(n->converter);
	while (n->nstreams)
		(void)event_base_loop(n->cfg.base, EVLOOP_ONCE);
	rcu_done(); /* their endpoints */
	live_close(n->live);
	close_parts(n);
	return 0;
}

unsigned node_calls(const struct node *n)
{
	return n->ncalls;
}

unsigned node_streams(const struct node *n)
{
	return n->nstreams - n->nhung;
}

void node_scheduler(const struct node *n, char *buf, size_t size)
{
	char opts[256];

	live_scheduler_opts(n->live, opts, sizeof(opts));
	if (snprintf(buf, size, "%s%s%s", live_scheduler(n->live),
		     *opts ? "," : "", opts) < 0)
		buf[0] = '\0';
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
