/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a node: what its header says, and the calls in it.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "node/node_impl.h"
#include "observe/trace_writer.h"

/* Cut @text to fit; NUL-terminated. */
static void cut_trace_text(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text);
}

void node_trace_call(const struct node_stream *st)
{
	struct node *n = st->node;
	const struct stream_cfg *cfg = node_stream_settings(st);
	const struct codec_use *in = &cfg->media.in, *out = &cfg->media.out;
	union cr_trace_record r = {
		.call = {
			.kind = CR_TRACE_CALL,
			.cls = (uint8_t)cfg->terms.cls,
			.ptime_us_div_250 = (uint16_t)(cfg->release.period /
						       (250 * CR_US)),
			.call = cfg->id,
			.start = st->started,
			.rel_deadline = cfg->terms.deadline,
			.weight = cfg->terms.weight,
			.nice = (int8_t)cfg->terms.nice,
			.cost_mean = cfg->declared.cost.mean,
			.cost_p99 = cfg->declared.cost.p99,
		},
	};

	cut_trace_text(r.call.codec_in, sizeof(r.call.codec_in),
		       in->codec->name);
	cut_trace_text(r.call.mode_in, sizeof(r.call.mode_in),
		       in->codec->modes[in->cfg.mode].name);
	cut_trace_text(r.call.codec_out, sizeof(r.call.codec_out),
		       out->codec->name);
	cut_trace_text(r.call.mode_out, sizeof(r.call.mode_out),
		       out->codec->modes[out->cfg.mode].name);
	trace_put(trace_ring(n->trace, node_ring_control(n)), &r);
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
			node_trace_call(st);
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
void node_traced(evutil_socket_t fd, short what, void *arg)
{
	(void)fd, (void)what;
	node_trace_settle(arg);
}
