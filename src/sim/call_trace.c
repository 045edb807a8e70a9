/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated call's records. Apart from what counts jobs, which most runs do
 * without a trace.
 */
#include "sim/call_trace.h"

#include <string.h>

/* In a trace, 0 means never. */
static int64_t stamp(cr_ns t)
{
	return cr_ns_add(t, WORKLOAD_EPOCH);
}

static void put_record(struct sim_call *c, const struct cr_job *job,
		       struct cr_trace_job r)
{
	union cr_trace_record record;

	r.kind = CR_TRACE_JOB;
	r.call = c->st.core.task.id;
	r.seq = (uint32_t)job->seq;
	r.arrival = stamp(job->arrival);
	r.deadline = stamp(job->deadline);
	r.rtp_ts = (uint32_t)job->seq * c->rtp_step;
	if (c->part->w->replayed) {
		r.seq = c->arrival.replay[job->seq].seq;
		r.rtp_ts = c->arrival.replay[job->seq].rtp_ts;
	}
	r.importance = job->importance;
	memset(&record, 0, sizeof(record));
	record.job = r;
	workload_trace(c->part, &record);
}

void call_trace_undone(struct sim_call *c, const struct cr_job *job,
		       cr_ns waited, enum cr_outcome why, cr_ns now)
{
	put_record(c, job,
		   (struct cr_trace_job){ .outcome = (uint8_t)why,
					  .buffered_ns = (uint32_t)waited,
					  .worker = UINT16_MAX,
					  .pick = stamp(now) });
}

/* Of a turn that was recorded as a whole, its codecs' part. */
static cr_ns in_codec(const struct sim_call *c, const struct cr_job *job)
{
	if (!c->part->w->replayed)
		return c->total;
	return cr_ns_min(c->arrival.replay[job->seq].codec, c->total);
}

void call_trace_done(struct sim_call *c, const struct cr_job *job, unsigned cpu,
		     cr_ns now)
{
	cr_ns first = c->st.first;

	put_record(c, job,
		   (struct cr_trace_job){
			   .outcome = CR_OUT_DONE,
			   .worker = (uint16_t)cpu,
			   .release = stamp(job->release),
			   .pick = stamp(first),
			   .start = stamp(first),
			   .end = stamp(now),
			   .sent = stamp(now),
			   /* it is sent before a recorded turn ends */
			   .away = cr_ns_max(now - first - job->ran, 0),
			   .buffered_ns = (uint32_t)c->waited,
			   .codec_ns = (uint32_t)cr_ns_min(in_codec(c, job),
							   UINT32_MAX),
		   });
}

static void set_text(char *to, size_t size, const char *text)
{
	size_t n = strlen(text);

	n = n < size ? n : size - 1;
	memcpy(to, text, n);
	to[n] = '\0';
}

static void set_codecs(struct cr_trace_call *r, const struct campaign_flow *f)
{
	const struct campaign_endpoint *in = &f->in, *out = &f->out;

	if (f->synthetic) {
		set_text(r->codec_in, sizeof(r->codec_in), f->name);
		set_text(r->codec_out, sizeof(r->codec_out), "synthetic");
		return;
	}
	set_text(r->codec_in, sizeof(r->codec_in), in->codec->name);
	set_text(r->mode_in, sizeof(r->mode_in),
		 in->codec->modes[in->cfg.mode].name);
	set_text(r->codec_out, sizeof(r->codec_out), out->codec->name);
	set_text(r->mode_out, sizeof(r->mode_out),
		 out->codec->modes[out->cfg.mode].name);
}

void call_trace_begin(const struct sim_call *c, cr_ns now)
{
	const struct cr_task *t = &c->st.core.task;
	union cr_trace_record r;
	cr_ns units = t->period / (250 * CR_US);

	memset(&r, 0, sizeof(r));
	if (c->part->w->replayed) {
		r.call = c->part->w->replays[c->plan->flow]
				 .recorded[c->plan->index];
		r.call.start = stamp(now);
		workload_trace(c->part, &r);
		return;
	}
	r.call.kind = CR_TRACE_CALL;
	r.call.cls = (uint8_t)t->cls;
	/* 0, unknown: what the field cannot say */
	if (units <= UINT16_MAX && t->period % (250 * CR_US) == 0)
		r.call.ptime_us_div_250 = (uint16_t)units;
	r.call.call = t->id;
	r.call.start = stamp(now);
	r.call.rel_deadline = t->rel_deadline;
	r.call.weight = t->weight;
	r.call.nice = (int8_t)t->nice;
	r.call.cost_mean = t->cost.mean;
	r.call.cost_p99 = t->cost.p99;
	set_codecs(&r.call, c->flow);
	workload_trace(c->part, &r);
}
