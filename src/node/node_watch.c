/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's watchdog: looks at its calls and workers, and helps those that do
 * not advance (node/watchdog.h judges).
 *
 *   a call is stalled     its task is released once more, idle workers look
 *                         again; if that does not help, its policy is to blame
 *                         and another takes over (engine/core_guard.c)
 *   a worker is stuck     in the codec of a call or a conversion: that one
 *                         is over ("hung") and the worker's place gets another
 *                         thread (engine/live_watch.c)
 *
 * What the stuck thread works with (the call's codec state, the frame's
 * bytes, the worker's scratch memory) stays with it until it comes back:
 *
 *   call     running --> hung: out of the table, told as ended --> gone, freed
 *                    found                            thread comes back
 *   thread   at work --> away, at the lowest priority -----------> joined
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/node_impl.h"
#include "observe/log.h"

/* For the node's end, which must not wait for ever, if there is no other. */
#define END_LIMIT (10 * CR_SEC)

__attribute__((format(printf, 3, 4))) static void found(struct node *n,
							const char *event,
							const char *fmt, ...)
{
	char text[sizeof(n->watch.last)];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_event(LOG_ERROR, "watchdog", "found=%s %s", event, text);
	if (snprintf(n->watch.last, sizeof(n->watch.last), "%s %s", event,
		     text) < 0)
		n->watch.last[0] = '\0';
}

/* --- workers --- */

/* The packets of other calls that the stuck thread had ready. */
static void rescue(struct node *n, struct node_context *stuck,
		   struct live_task *task)
{
	turn_rescue(&stuck->turn,
		    node_is_conversion(task) ? NULL : call_of(task),
		    trace_ring(n->trace, node_ring_control(n)));
}

static void start_worker(struct node *n, unsigned worker)
{
	struct watch_worker *w = &n->watch.worker[worker];
	struct cr_err e = { "" };

	if (n->watch.ending || !live_start_worker(n->live, worker, &e))
		return;
	if (!w->told)
		log_event(LOG_ERROR, "worker-vacant", "worker=%u why=\"%s\"",
			  worker, e.text);
	w->told = true;
}

static void end_call(struct node *n, struct node_call *nc)
{
	nc->hung = true;
	n->nhung++;
	node_call_stop(nc, NODE_END_HUNG);
	nc->why = NODE_END_HUNG; /* it may have been ending already */
	n->cfg.ended(n->cfg.arg, nc);
	nc->owner = NULL;
}

static void end_task(struct node *n, struct live_task *task)
{
	if (node_is_conversion(task))
		converter_hung(n->converter, conversion_of(task));
	else
		end_call(n, call_of(task)->owner);
}

static void no_spare(struct node *n, unsigned worker, int why)
{
	found(n, "worker-stuck",
	      "worker=%u replaced=no why=\"%s\": restart the node", worker,
	      why == -EAGAIN ? "too many threads are stuck" : strerror(-why));
}

static void replace(struct node *n, unsigned worker,
		    const struct live_worker_look *look)
{
	struct node_context *stuck = node_context_at(n, worker);
	struct watch_worker *w = &n->watch.worker[worker];
	int spare = n->watch.ending ? 0 : node_spare(n);

	if (spare < 0) {
		if (!w->told)
			no_spare(n, worker, spare);
		w->told = true;
		return;
	}
	if (!live_detach(n->live, worker, look))
		return; /* it is back, or about to be */
	n->watch.hung++;
	n->watch.away++;
	found(n, "worker-stuck", "worker=%u %s=%" PRIu32 " for_ms=%lld", worker,
	      node_is_conversion(look->task) ? "conversion" : "call",
	      look->task->core.task.id,
	      (long long)((clock_now() - look->picked) / CR_MS));
	rescue(n, stuck, look->task);
	if (!n->watch.ending) {
		node_context_replace(n, worker, (unsigned)spare);
		start_worker(n, worker);
	}
	end_task(n, look->task);
}

static void look_at_worker(struct node *n, unsigned worker)
{
	struct watch_worker *w = &n->watch.worker[worker];
	struct live_worker_look look = { 0 };
	struct live_worker_use use;
	bool at_work = live_look_worker(n->live, worker, &look);

	if (!at_work)
		start_worker(n, worker); /* if that has failed before */
	if (!watch_worker_suspect(w, at_work, look.picked))
		return;
	live_look_use(n->live, worker, &use);
	if (watch_worker(w, &n->watch.dog, use.runnable, use.cpu))
		replace(n, worker, &look);
}

void node_watch_returned(struct node *n, const struct node_call *nc)
{
	n->nhung--;
	n->watch.returned++;
	log_event(LOG_WARN, "watchdog", "returned=call call=%" PRIu32, nc->id);
}

/* --- calls --- */

static uint64_t frames_done(const struct call *c)
{
	const struct call_counters *k = &c->count;

	return atomic_load_explicit(&k->done, memory_order_relaxed) +
	       atomic_load_explicit(&k->stale, memory_order_relaxed) +
	       atomic_load_explicit(&k->concealed, memory_order_relaxed) +
	       atomic_load_explicit(&k->malformed, memory_order_relaxed);
}

static struct watch_look look_inside(struct node *n, struct node_call *nc)
{
	struct live_task_look in;

	live_look_task(n->live, &nc->call->lt, &in);
	return (struct watch_look){ .now = n->watch.dog.last,
				    .state = in.state,
				    .release = in.release,
				    .eligible = in.eligible,
				    .idle = in.idle,
				    .idles = in.idles };
}

static void wake_again(struct node *n, struct node_call *nc,
		       const struct watch_look *look)
{
	found(n, "call-stalled", "call=%" PRIu32 " waiting=%u state=%s", nc->id,
	      cr_ring_waiting(nc->call->ring),
	      look->state == CR_QUEUED ? "queued" : "asleep");
	n->watch.stalled++;
	live_wake_again(n->live, &nc->call->lt);
}

/* When the fallback has it already there is nobody else to try: the next round
 * finds it again. */
static void blame_policy(struct node *n, struct node_call *nc)
{
	const char *policy = live_scheduler(n->live);

	if (!live_blame_policy(n->live, &nc->call->lt))
		return;
	n->watch.forgotten++;
	found(n, "call-forgotten", "call=%" PRIu32 " policy=%s", nc->id,
	      policy);
}

static void look_at_call(struct node *n, struct node_call *nc)
{
	struct watch_look look;

	if (nc->ending ||
	    !watch_call_suspect(&nc->watch, cr_ring_waiting(nc->call->ring),
				frames_done(nc->call)))
		return;
	look = look_inside(n, nc);
	switch (watch_call(&nc->watch, &n->watch.dog, &look)) {
	case WATCH_FINE:
		break;
	case WATCH_STARVED:
		n->watch.starved++;
		break;
	case WATCH_STALLED:
		wake_again(n, nc, &look);
		break;
	case WATCH_FORGOTTEN:
		blame_policy(n, nc);
		break;
	}
}

/* --- */

static void on_watch(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;
	struct node_call *nc;

	(void)fd, (void)what;
	watchdog_begin(&n->watch.dog, clock_now());
	n->watch.away = live_join_detached(n->live);
	for (unsigned w = 0; w < n->cfg.workers; w++)
		look_at_worker(n, w);
	n->watch.starved = 0;
	RB_FOREACH (nc, node_tree, &n->calls)
		look_at_call(n, nc);
}

static int begin(struct node *n, cr_ns limit)
{
	cr_ns each = watchdog_interval(limit);
	const struct timeval t = { each / CR_SEC, each % CR_SEC / CR_US };

	n->watch.dog.limit = limit;
	return event_add(n->watch.event, &t);
}

int node_open_watch(struct node *n, struct cr_err *e)
{
	struct node_watch *w = &n->watch;

	w->worker = calloc(n->cfg.workers, sizeof(*w->worker));
	w->event = event_new(n->cfg.base, -1, EV_PERSIST, on_watch, n);
	if (!w->worker || !w->event ||
	    (n->cfg.watchdog && begin(n, n->cfg.watchdog)))
		return cr_fail(e, -ENOMEM, "out of memory for the watchdog");
	return 0;
}

void node_close_watch(struct node *n)
{
	if (n->watch.event)
		event_free(n->watch.event);
	free(n->watch.worker);
}

void node_watch_end(struct node *n)
{
	n->watch.ending = true;
	if (n->live && n->watch.event && !n->watch.dog.limit)
		(void)begin(n, END_LIMIT);
}

void node_watch_info(const struct node *n, struct node_watch_info *out)
{
	const struct node_watch *w = &n->watch;

	*out = (struct node_watch_info){
		.limit = w->dog.limit,
		.starved = w->starved,
		.stalled = w->stalled,
		.forgotten = w->forgotten,
		.hung = w->hung,
		.returned = w->returned,
		.stuck_now = w->away,
	};
	memcpy(out->last, w->last, sizeof(out->last));
}
