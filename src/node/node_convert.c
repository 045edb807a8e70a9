/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node's jobs: how they join the engine beside calls, and what it tells about
 * them.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "node/node_impl.h"

static int price(void *arg, struct job *j, struct cr_err *e)
{
	struct node *n = arg;
	struct pipeline_cfg media;
	const struct cost_entry *cost;

	audio_side(&media.in, &j->cfg.from, 0);
	audio_side(&media.out, &j->cfg.to, j->cfg.mode);
	media.out.cfg.dtx = j->cfg.dtx;
	cost = costs_get(n->costs, &media, AUDIO_FRAME, e);
	if (!cost)
		return -EINVAL;
	j->cfg.cost = cost->cost;
	return 0;
}

static void set_text(char *to, size_t size, const char *text)
{
	(void)snprintf(to, size, "%s", text);
}

static void started(void *arg, const struct job *j)
{
	struct node *n = arg;
	const struct cr_codec *in = audio_codec(j->cfg.from.kind);
	const struct cr_codec *out = audio_codec(j->cfg.to.kind);
	union cr_trace_record r = {
		.call = {
			.kind = CR_TRACE_CALL,
			.cls = (uint8_t)j->lt.core.task.cls,
			.ptime_us_div_250 = AUDIO_FRAME / (250 * CR_US),
			.call = j->cfg.id,
			.start = j->started,
			.rel_deadline = j->lt.core.task.rel_deadline,
			.weight = j->lt.core.task.weight,
		},
	};

	set_text(r.call.codec_in, sizeof(r.call.codec_in), in->name);
	set_text(r.call.codec_out, sizeof(r.call.codec_out), out->name);
	set_text(r.call.mode_out, sizeof(r.call.mode_out),
		 out->modes[j->cfg.mode].name);
	trace_put(trace_ring(n->trace, node_ring_control(n)), &r);
}

static void ended(void *arg, const struct job *j)
{
	struct node *n = arg;

	if (n->cfg.job_ended)
		n->cfg.job_ended(n->cfg.arg, j);
}

int node_open_jobs(struct node *n, struct cr_err *e)
{
	const struct node_jobs *jobs = &n->cfg.jobs;
	const struct jobs_config cfg = {
		.base = n->cfg.base,
		.live = n->live,
		.kind = NODE_TASK_JOB,
		.dir = jobs->dir,
		.max_bytes = jobs->max_bytes,
		.max = jobs->max,
		.running = jobs->running,
		.floor = jobs->floor,
		.price = price,
		.started = started,
		.ended = ended,
		.arg = n,
	};

	return jobs->dir ? jobs_open(&n->jobs, &cfg, e) : 0;
}

int node_job_submit(struct node *n, const struct job_cfg *cfg,
		    const char *owner, const struct job_asker *asker,
		    struct cr_err *e)
{
	struct job_cfg numbered = *cfg;

	if (!n->jobs)
		return cr_fail(e, -ENOTSUP,
			       "this node was started without --spool, so it "
			       "converts no files");
	numbered.id = ++n->last_id;
	return jobs_submit(n->jobs, &numbered, owner, asker, e);
}

int node_job_cancel(struct node *n, struct job *j)
{
	return jobs_cancel(n->jobs, j);
}

struct job *node_job_find(struct node *n, uint32_t id)
{
	return n->jobs ? jobs_find(n->jobs, id) : NULL;
}

struct job *node_job_after(struct node *n, uint32_t id)
{
	return n->jobs ? jobs_after(n->jobs, id) : NULL;
}

unsigned node_jobs_active(const struct node *n)
{
	struct jobs_counts count = { 0 };

	if (n->jobs)
		count = jobs_counts(n->jobs);
	return count.waiting + count.running - count.hung;
}

/* "amr/12.2", "wav/16000". */
static void format_text(const struct audio *a, const struct job_cfg *mode,
			char *buf, size_t size)
{
	const char *name = audio_kind_name(a->kind);

	if (a->kind == AUDIO_WAV)
		(void)snprintf(buf, size, "%s/%u", name, a->rate);
	else if (mode)
		(void)snprintf(buf, size, "%s/%s", name,
			       audio_codec(a->kind)->modes[mode->mode].name);
	else
		(void)snprintf(buf, size, "%s", name);
}

/* Of the input, read; what is read ahead is at most two seconds. */
static double progress(const struct job *j)
{
	unsigned long long read =
		atomic_load_explicit(&j->read, memory_order_relaxed);

	if (j->state == JOB_DONE)
		return 1;
	return read < j->bytes ? (double)read / (double)j->bytes : 1;
}

json_t *node_job_json(const struct job *j)
{
	cr_ns until = job_is_over(j->state) ? j->ended : clock_now();
	bool told = job_is_over(j->state) || j->state == JOB_WAITING;
	char from[32], to[32];

	format_text(&j->cfg.from, NULL, from, sizeof(from));
	format_text(&j->cfg.to, &j->cfg, to, sizeof(to));
	return json_pack("{s:I,s:s,s:s,s:s,s:s,s:s,s:I,s:f,s:f,s:f,s:s}", "job",
			 (json_int_t)j->cfg.id, "state",
			 job_state_name(j->state), "in", j->cfg.in, "out",
			 j->cfg.out, "from", from, "to", to, "frames",
			 (json_int_t)atomic_load_explicit(&j->frames,
							  memory_order_relaxed),
			 "progress", progress(j), "age_s",
			 (double)(until - j->submitted) / 1e9, "running_s",
			 j->started ? (double)(until - j->started) / 1e9 : 0.0,
			 "why", told ? j->why.text : "");
}

json_t *node_jobs_json(const struct node *n)
{
	struct jobs_counts c;

	if (!n->jobs)
		return json_null();
	c = jobs_counts(n->jobs);
	return json_pack(
		"{s:i,s:i,s:I,s:I,s:I,s:I,s:I,s:I}", "waiting", (int)c.waiting,
		"running", (int)c.running, "submitted", (json_int_t)c.submitted,
		"refused", (json_int_t)c.refused, "done", (json_int_t)c.done,
		"failed", (json_int_t)c.failed, "cancelled",
		(json_int_t)c.cancelled, "frames", (json_int_t)c.frames);
}
