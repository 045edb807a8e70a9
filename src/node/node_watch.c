/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node does about what src/recovery finds: packets are saved, the call
 * or the conversion that hung is over ("hung"), people are told.
 *
 *   call   running --> hung: out of the table, reported as ended --> gone,
 * freed over()                           its thread comes back
 *
 * What the stuck thread works with (the call's codec state, the frame's bytes,
 * its context) stays with it until then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/node_impl.h"
#include "observe/log.h"

/* For the node's end, which must not wait for ever, if there is no other. */
#define END_LIMIT (10 * CR_SEC)

/* --- findings --- */

/* @fields begin with LOG_WORD("found", ...): into the log, and as text, which
 * the statistics show as what was found last. */
static void report_found(struct node *n, const struct log_field *fields)
{
	char *last = n->watch.last;
	size_t size = sizeof(n->watch.last), len;

	log_list(LOG_ERROR, "watchdog", fields);
	(void)snprintf(last, size, "%s ", fields->text);
	len = strlen(last);
	log_text(fields + 1, last + len, size - len);
}

static void report_stuck(struct node *n, const struct recovery_finding *f)
{
	const char *of = node_kind_of(f->task)->name;

	report_found(n, LOG_FIELDS(LOG_WORD("found", "worker-stuck"),
				   LOG_INT("worker", f->worker),
				   LOG_INT(of, f->task->core.task.id),
				   LOG_INT("for_ms",
					   (clock_now() - f->since) / CR_MS)));
}

static void report_no_spare(struct node *n, const struct recovery_finding *f)
{
	char why[96];

	(void)snprintf(why, sizeof(why), "%s: restart the node",
		       f->err == -EAGAIN ? "too many threads are stuck"
					 : strerror(-f->err));
	report_found(n, LOG_FIELDS(LOG_WORD("found", "worker-stuck"),
				   LOG_INT("worker", f->worker),
				   LOG_WORD("replaced", "no"),
				   LOG_STR("why", why)));
}

static void report_stalled(struct node *n, const struct recovery_finding *f)
{
	const struct transcoder *c = transcoder_of(f->task);
	const char *state = f->state == CR_QUEUED ? "queued" : "asleep";

	report_found(n,
		     LOG_FIELDS(LOG_WORD("found", "stream-stalled"),
				LOG_INT("stream", c->stream->cfg.id),
				LOG_INT("waiting", frame_ring_waiting(c->ring)),
				LOG_WORD("state", state)));
}

static void on_finding(void *arg, const struct recovery_finding *f)
{
	struct node *n = arg;

	switch (f->event) {
	case RECOVERY_STUCK:
		report_stuck(n, f);
		break;
	case RECOVERY_NO_SPARE:
		report_no_spare(n, f);
		break;
	case RECOVERY_VACANT:
		log_event(LOG_ERROR, "worker-vacant",
			  LOG_INT("worker", f->worker), LOG_STR("why", f->why));
		break;
	case RECOVERY_STALLED:
		report_stalled(n, f);
		break;
	case RECOVERY_FORGOTTEN:
		report_found(
			n, LOG_FIELDS(LOG_WORD("found", "stream-forgotten"),
				      LOG_INT("stream", f->task->core.task.id),
				      LOG_WORD("policy", f->why)));
		break;
	}
}

/* --- who hangs --- */

/* The packets of other calls that the stuck thread had ready. */
static void rescue_packets(void *arg, struct recovery_context *stuck,
			   struct live_task *task)
{
	const struct node *n = arg;
	const struct node_task_kind *kind = node_kind_of(task);

	transcode_rescue(&node_context_of(stuck)->turn,
			 kind->transcoder ? kind->transcoder(task) : NULL,
			 trace_ring(n->trace, node_ring_control(n)));
}

void node_hung(void *arg, struct live_task *task)
{
	struct node *n = arg;
	struct node_stream *st = transcoder_of(task)->stream->owner;

	st->hung = true;
	n->nhung++;
	node_call_stop(st->call, NODE_END_HUNG, NULL);
	/* it may have been ending already */
	st->call->why = NODE_END_HUNG;
	st->call->by = NODE_BY_NODE;
	node_notify_ended(n, st);
}

static void on_task_over(void *arg, struct live_task *task)
{
	node_kind_of(task)->hung(arg, task);
}

void node_watch_returned(struct node *n, const struct node_stream *st)
{
	n->nhung--;
	n->watch.returned++;
	log_event(LOG_WARN, "watchdog", LOG_WORD("returned", "stream"),
		  LOG_INT("stream", st->id));
}

/* --- rounds --- */

static uint64_t frames_ended(const struct stream_counters *k)
{
	return atomic_load_explicit(&k->done, memory_order_relaxed) +
	       atomic_load_explicit(&k->expired, memory_order_relaxed) +
	       atomic_load_explicit(&k->shed, memory_order_relaxed) +
	       atomic_load_explicit(&k->concealed, memory_order_relaxed) +
	       atomic_load_explicit(&k->malformed, memory_order_relaxed);
}

static void on_watch_tick(evutil_socket_t fd, short what, void *arg)
{
	struct node *n = arg;
	struct node_stream *st;

	(void)fd, (void)what;
	recovery_round(n->recovery, clock_now());
	RB_FOREACH (st, node_stream_tree, &n->streams) {
		struct transcoder *c = node_stream_transcoder(st);

		if (!st->call->ending && c)
			recovery_task(
				n->recovery, &st->watch, &c->lt,
				frame_ring_waiting(c->ring),
				frames_ended(&st->stream->account->count));
	}
}

static int begin_watch(struct node *n)
{
	cr_ns each = recovery_interval(n->recovery);
	const struct timeval t = { each / CR_SEC, each % CR_SEC / CR_US };

	return event_add(n->watch.event, &t);
}

int node_open_recovery(struct node *n, struct cr_err *e)
{
	const struct recovery_config cfg = {
		.places = n->nplaces,
		.workers = n->cfg.workers,
		.spares = NODE_SPARES,
		.limit = n->cfg.watchdog,
		.client = {
			.context_new = node_context_new,
			.context_free = node_context_free,
			.context_for = node_context_for,
			.rescue = rescue_packets,
			.over = on_task_over,
			.found = on_finding,
			.arg = n,
		},
	};
	int err = recovery_open(&n->recovery, &cfg);

	return err ? cr_fail(e, err, "out of memory for workers") : 0;
}

int node_open_watch(struct node *n, struct cr_err *e)
{
	struct node_watch *w = &n->watch;

	w->event = event_new(n->cfg.base, -1, EV_PERSIST, on_watch_tick, n);
	if (!w->event || (n->cfg.watchdog && begin_watch(n)))
		return cr_fail(e, -ENOMEM, "out of memory for the watchdog");
	return 0;
}

void node_close_watch(struct node *n)
{
	if (n->watch.event)
		event_free(n->watch.event);
}

void node_watch_end(struct node *n)
{
	bool watched;

	if (!n->recovery)
		return;
	watched = recovery_interval(n->recovery);
	recovery_end(n->recovery, END_LIMIT);
	if (n->live && n->watch.event && !watched)
		(void)begin_watch(n);
}

bool node_advances(const struct node *n)
{
	return !recovery_counts(n->recovery).lost;
}

void node_watch_info(const struct node *n, struct node_watch_info *out)
{
	out->found = recovery_counts(n->recovery);
	out->returned = n->watch.returned;
	memcpy(out->last, n->watch.last, sizeof(out->last));
}
