/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of a node: what its header says, and the calls in it.
 */
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/clock.h"
#include "node/node_impl.h"

static json_t *header(struct node *n)
{
	struct utsname u = { 0 };
	char spec[320];

	(void)uname(&u);
	node_scheduler(n, spec, sizeof(spec));
	return json_pack("{s:s,s:s,s:s,s:s,s:{s:s,s:s,s:s},s:i,s:i,s:b}",
			 "program", "codec-runner", "version", CR_VERSION,
			 "scheduler", live_policy(n->live)->name, "options",
			 spec, "machine", "node", u.nodename, "kernel",
			 u.release, "arch", u.machine, "workers",
			 (int)n->cfg.workers, "cpus_per_rq",
			 (int)n->cfg.cpus_per_rq, "live", 1);
}

/* Cut @text to fit; NUL-terminated. */
static void set_text(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text);
}

void node_trace_call(const struct node_call *nc)
{
	struct node *n = nc->node;
	const struct call_cfg *cfg = &nc->call->cfg;
	const struct pipeline_side *in = &cfg->media.in, *out = &cfg->media.out;
	union cr_trace_record r = {
		.call = {
			.kind = CR_TRACE_CALL,
			.cls = (uint8_t)cfg->cls,
			.ptime_us_div_250 = (uint16_t)(cfg->release.period /
						       (250 * CR_US)),
			.call = cfg->id,
			.start = nc->started,
			.rel_deadline = cfg->release.rel_deadline,
			.weight = cfg->weight,
		},
	};

	set_text(r.call.codec_in, sizeof(r.call.codec_in), in->codec->name);
	set_text(r.call.mode_in, sizeof(r.call.mode_in),
		 in->codec->modes[in->cfg.mode].name);
	set_text(r.call.codec_out, sizeof(r.call.codec_out), out->codec->name);
	set_text(r.call.mode_out, sizeof(r.call.mode_out),
		 out->codec->modes[out->cfg.mode].name);
	trace_put(trace_ring(n->trace, node_ring_control(n)), &r);
}

int node_trace_start(struct node *n, const char *path, bool overwrite,
		     struct cr_err *e)
{
	json_t *head = header(n);
	struct node_call *nc;
	int err;

	if (!head)
		return cr_fail(e, -ENOMEM, "out of memory");
	trace_set_overwrite(n->trace, overwrite);
	err = trace_start(n->trace, path, head, e);
	json_decref(head);
	if (err)
		return err;
	RB_FOREACH (nc, node_tree, &n->calls)
		node_trace_call(nc);
	return 0;
}

json_t *node_trace_stop(struct node *n)
{
	struct trace_totals t;

	if (trace_stop(n->trace, &t))
		return NULL;
	return json_pack("{s:I,s:I,s:I,s:I,s:s*}", "records",
			 (json_int_t)t.written, "lost", (json_int_t)t.lost,
			 "unwritten", (json_int_t)t.unwritten, "bytes",
			 (json_int_t)t.bytes, "error",
			 t.error ? strerror(t.error) : NULL);
}
