/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the engine of a node calls: frames of calls and of conversions on its
 * workers.
 */
#include <string.h>

#include "node/node_impl.h"

/* What this thread works with; NULL: it is no worker. */
static _Thread_local struct node_context *me;

static void worker_up(void *arg, unsigned worker)
{
	const struct node *n = arg;

	me = node_context_of(recovery_sit(n->recovery, worker));
	rcu_register_thread(); /* it looks up the calls that CMRs are for */
}

static void worker_down(void *arg, unsigned worker)
{
	(void)arg, (void)worker;
	rcu_unregister_thread();
	recovery_leave(&me->seat);
}

static bool is_conversion_core(struct core_task *t)
{
	return node_is_conversion(live_task_of(t));
}

static bool peek(struct core_task *t, struct cr_job *job)
{
	return is_conversion_core(t) ? conversion_peek(t, job)
				     : call_peek(t, job);
}

static bool claim(struct core_task *t, uint64_t seq)
{
	return is_conversion_core(t) ? conversion_claim(t, seq)
				     : call_claim(t, seq);
}

/* The calls' packets do not wait for a frame that no call waits for. */
static void run_conversion(struct transcode_worker *w, struct conversion *cv,
			   const struct live_run *run_)
{
	union cr_trace_record record;

	transcode_flush(w);
	memset(&record, 0, sizeof(record));
	transcode_begin(w);
	transcode_enter_codec(w);
	conversion_run(cv, &w->scratch, run_, &record);
	if (!transcode_leave_codec(w))
		return;
	transcode_end(w);
	trace_put(w->trace, &record);
}

static void run(void *arg, struct live_task *lt, const struct live_run *run_)
{
	(void)arg;
	if (node_is_conversion(lt))
		run_conversion(&me->turn, conversion_of(lt), run_);
	else
		transcode_run(&me->turn, call_of(lt), run_);
}

static void idle(void *arg, unsigned worker)
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

/* A call on the thread of what is deferred, a conversion on control, as at
 * their first attempt. */
static void returned(void *arg, struct live_task *lt)
{
	if (node_is_conversion(lt))
		converter_back(conversion_of(lt));
	else
		node_back(arg, lt);
}

/* --- packets that wait for each other (media/transcode.h) --- */

static bool may_wait(const struct node *n)
{
	return !n->cfg.send_each && live_driver(n->live)->shares &&
	       live_tasks_stay(n->live);
}

/* What may not wait any more leaves now; control. */
static void set_batching(struct node *n, bool may)
{
	struct trace_ring *trace = trace_ring(n->trace, node_ring_control(n));

	for (unsigned w = 0; w < n->nplaces; w++)
		transcode_batching(&node_context_at(n, w)->turn, may, trace);
}

static void after_move(void *arg)
{
	struct node *n = arg;

	set_batching(n, may_wait(n));
}

/* Where a call moves to, its packets would overtake those that wait. */
static void before_move(void *arg)
{
	set_batching(arg, false);
}

void node_flush(struct node *n)
{
	struct trace_ring *trace = trace_ring(n->trace, node_ring_control(n));

	for (unsigned w = 0; w < n->nplaces; w++)
		transcode_flush_for(&node_context_at(n, w)->turn, trace);
}

static void gone(void *arg, struct live_task *lt)
{
	if (node_is_conversion(lt))
		converter_gone(conversion_of(lt));
	else
		node_gone(arg, lt);
}

/* A worker sheds while it picks; the one thread of what is deferred cancels. A
 * conversion's frames are never too old, and those of a cancelled one are
 * nobody's loss. */
static void shed(struct core_task *t, const struct cr_job *job,
		 enum cr_outcome why, cr_ns now)
{
	struct call *c;
	struct node_call *nc;
	struct node *n;

	if (is_conversion_core(t))
		return;
	c = call_of_core(t);
	nc = c->owner;
	n = nc->node;
	transcode_shed(me ? me->turn.trace
			  : trace_ring(n->trace, node_ring_reclaim(n)),
		       c, job, why, now);
}

int node_plan_engine(struct node *n, struct cr_err *e)
{
	unsigned most = n->cfg.max_calls + n->cfg.convert.running;
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

int node_open_engine(struct node *n, struct cr_err *warn, struct cr_err *e)
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
			.backlog = { peek, claim, shed },
			.run = run,
			.gone = gone,
			.idle = idle,
			.may_detach = may_detach,
			.returned = returned,
			.worker_up = worker_up,
			.worker_down = worker_down,
			.faulty = node_faulty,
			.before_move = before_move,
			.after_move = after_move,
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
	after_move(n);
	return 0;
}
