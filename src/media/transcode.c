/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of a call on a worker.
 */
#include "media/transcode_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/thread.h"
#include "media/call_table.h"
#include "media/transcode_cost.h"

void transcode_init(struct transcode_worker *w, enum udp_io io)
{
	burst_open(&w->burst, io);
	w->clock_cost = transcode_cost_of_clock();
	w->quota_burst = QUOTA_BURST;
	thread_lock_init(&w->lock); /* control sends, too */
}

void transcode_fini(struct transcode_worker *w)
{
	burst_close(&w->burst);
	(void)pthread_mutex_destroy(&w->lock);
}

cr_ns transcode_send_all(struct transcode_worker *w)
{
	cr_ns start = clock_now();

	burst_send(&w->burst);
	for (unsigned i = 0; i < w->burst.count; i++) {
		const struct burst_packet *p = &w->burst.packet[i];
		struct transcode_unsent *unsent = &w->unsent[p->tag];

		if (!p->failed)
			continue;
		unsent->failed++;
		unsent->failed_octets += p->bytes - PIPELINE_HEADROOM;
	}
	burst_clear(&w->burst);
	return clock_now() - start;
}

static void count_delay(struct transcode_worker *w,
			const struct transcode_unsent *unsent)
{
	struct call *c = unsent->call;
	const struct cr_trace_job *job = &unsent->record.job;
	cr_ns done = job->sent ? job->sent : job->end;
	cr_ns delay = done - job->arrival;

	if (done > job->deadline)
		call_count(&c->count.late, 1);
	if (delay > 0)
		call_count(&c->count.delay_ns, (unsigned long long)delay);
	if (delay > (cr_ns)atomic_load_explicit(&c->count.delay_max_ns,
						memory_order_relaxed))
		atomic_store_explicit(&c->count.delay_max_ns,
				      (unsigned long long)delay,
				      memory_order_relaxed);
	histogram_add(&w->delay, delay);
	sketch_add(&c->delay, delay);
	if (unsent->speech)
		arrivals_add(&c->arrivals, job->arrival - job->buffered_ns,
			     job->rtp_ts, c->ts_step, c->period);
}

static void count_jitter(struct transcode_worker *w, struct call *c,
			 const struct cr_trace_job *job)
{
	if (c->sent.at && job->rtp_ts - c->sent.rtp_ts == c->ts_step)
		histogram_add(&w->jitter,
			      llabs(job->sent - c->sent.at - c->period));
	c->sent.at = job->sent;
	c->sent.rtp_ts = job->rtp_ts;
}

static void count_packets(struct call *c, const struct transcode_unsent *unsent)
{
	call_count(&c->count.send_failed, unsent->failed);
	call_count(&c->count.packets_out, unsent->packets - unsent->failed);
	call_count(&c->count.octets_out,
		   unsent->record.job.bytes_out - unsent->failed_octets);
}

/* A turn's last touch of the call. */
static void let_go(struct call *c)
{
	/* release, pairs with call_unposted() */
	atomic_fetch_sub_explicit(&c->pending, 1, memory_order_release);
}

/* When packets were sent, and each turn's share of the time that took. */
struct sent {
	cr_ns at, share;
	cr_ns cpu; /* CPU time, if a turn was metered */
};

/* The turn's packets are on their way, or refused. */
static void finish(struct transcode_worker *w, struct transcode_unsent *unsent,
		   const struct sent *sent, struct trace_ring *trace)
{
	struct call *c = unsent->call;
	struct cr_trace_job *job = &unsent->record.job;

	call_count(&c->count.codec_ns, job->codec_ns);
	call_count(&c->count.busy_ns,
		   job->codec_ns + (unsigned long long)sent->share);
	job->sent = unsent->packets ? sent->at : 0;
	count_packets(c, unsent);
	if (job->outcome == CR_OUT_DONE) {
		count_delay(w, unsent);
		if (job->sent && unsent->speech)
			count_jitter(w, c, job);
		call_count(&c->count.done, 1);
		if (unsent->speech && unsent->cost)
			recent_put(&c->cost, unsent->cost + sent->cpu);
		if (unsent->failed)
			job->outcome = CR_OUT_SEND_FAILED;
	} else {
		call_count(job->outcome == CR_OUT_BAD ? &c->count.malformed
						      : &c->count.concealed,
			   1);
	}
	trace_put(trace, &unsent->record);
	let_go(c);
}

static bool any_metered(const struct transcode_worker *w)
{
	for (unsigned i = 0; i < w->nunsent; i++)
		if (w->unsent[i].cost)
			return true;
	return false;
}

static struct sent send_metered(struct transcode_worker *w)
{
	cr_ns begun = any_metered(w) ? clock_thread_cpu() : 0;
	cr_ns took = transcode_send_all(w), away = 0;
	struct sent sent;

	if (begun)
		away = took - (clock_thread_cpu() - begun - w->clock_cost);
	took += w->overflow;
	w->overflow = 0;
	sent = (struct sent){
		.at = clock_now(),
		.share = took / w->nunsent,
		.cpu = (took - cr_ns_max(away, 0)) / w->nunsent,
	};
	return sent;
}

/* The turns that are over; lock held. The one in progress, if there is one,
 * has its packets of this far sent with them, and goes on at the first place.
 */
static void flush(struct transcode_worker *w, struct trace_ring *trace)
{
	struct sent sent;

	if (!w->nunsent)
		return;
	sent = send_metered(w);
	for (unsigned i = 0; i < w->nunsent; i++)
		finish(w, &w->unsent[i], &sent, trace);
	if (w->nunsent < TRANSCODE_BATCH)
		w->unsent[0] = *transcode_in_progress(w);
	w->nunsent = 0;
}

void transcode_flush(struct transcode_worker *w)
{
	w->row = (struct transcode_row){ 0 };
	transcode_flush_for(w, w->trace);
}

void transcode_flush_for(struct transcode_worker *w, struct trace_ring *trace)
{
	(void)pthread_mutex_lock(&w->lock);
	flush(w, trace);
	(void)pthread_mutex_unlock(&w->lock);
}

void transcode_batching(struct transcode_worker *w, bool may,
			struct trace_ring *trace)
{
	(void)pthread_mutex_lock(&w->lock);
	w->batching = may;
	if (!may)
		flush(w, trace);
	(void)pthread_mutex_unlock(&w->lock);
}

/* The peer asks for another mode of what is sent to it: that is the encoder of
 * the paired call, which may end at any moment (RFC 4867, 4.3.1). */
static void pass_cmr(struct transcode_worker *w, struct call *c)
{
	uint64_t pair = atomic_load_explicit(&c->pair, memory_order_relaxed);
	unsigned cmr = pipeline_cmr(c->pipeline);
	struct call *other;

	if (cmr == PAYLOAD_NO_CMR)
		return;
	call_count(&c->count.cmr, 1);
	if (!pair)
		return;
	rcu_read_begin();
	other = call_table_find(w->table, call_pair_ssrc(pair));
	if (other && other->cfg.id == call_pair_id(pair))
		pipeline_ask_mode(other->pipeline, pipeline_kind(c->pipeline),
				  cmr);
	rcu_read_end();
}

/* What the turn that begins will leave to be sent. */
static void open_unsent(const struct transcode *t, const struct live_run *run,
			cr_ns start)
{
	struct transcode_worker *w = t->worker;
	struct call *c = t->call;
	struct transcode_unsent *unsent = transcode_in_progress(w);
	bool in_row = transcode_row_next(&w->row, c->cfg.id);
	const struct cr_job *job = &c->lt.core.task.job;
	/* the worker's clock may have been read before the receiver's, whose
	 * frame it found all the same */
	const cr_ns release = cr_ns_max(job->release, job->arrival);

	atomic_fetch_add_explicit(&c->pending, 1, memory_order_relaxed);
	unsent->call = c;
	unsent->packets = 0;
	unsent->failed = 0;
	unsent->failed_octets = 0;
	unsent->speech =
		c->meta.what == FRAME_RING_SPEECH && !c->meta.decode_only;
	unsent->cost = 0;
	unsent->begun = !in_row && unsent->speech && !t->excess &&
					transcode_cost_due(&c->metered)
				? transcode_cost_begin()
				: 0;
	unsent->record.job = (struct cr_trace_job){
		.kind = CR_TRACE_JOB,
		.worker = (uint16_t)run->worker,
		.call = c->cfg.id,
		.seq = (uint32_t)job->seq,
		.bytes_in = cr_frame_packet_bytes(&c->meta),
		.arrival = job->arrival,
		.release = release,
		.pick = cr_ns_max(run->picked, release),
		.start = start,
		.deadline = job->deadline,
		.rtp_ts = c->meta.rtp_ts,
		.buffered_ns = c->meta.waited,
		.importance = c->meta.importance,
		.charged_before =
			live_charged_before(run) & CR_TRACE_CHARGE_MAX,
	};
}

/* Its address may be written at this moment: then the last one is as good. What
 * is sent again begins a talk spurt: nobody has sent before it for a while (RFC
 * 3551, 4.1). */
static void take_destination(struct call *c)
{
	bool before = c->held;

	if (destination_try(c->destination, &c->destination_version, &c->held,
			    &c->to) &&
	    before && !c->held)
		pipeline_begin_spurt(c->pipeline);
}

static bool must_flush(const struct transcode_worker *w, cr_ns now)
{
	return !w->batching || w->nunsent == TRANSCODE_BATCH ||
	       now - w->oldest >= TURN_WAIT;
}

static enum cr_outcome outcome_of(int err, bool expired)
{
	if (err)
		return CR_OUT_BAD;
	return expired ? CR_OUT_CONCEALED : CR_OUT_DONE;
}

/* The kernel may have taken the CPU away meanwhile: nearly always from the
 * codec, where nearly all of the time goes. */
static void count_away(struct cr_trace_job *job, const struct live_run *run)
{
	cr_ns away = job->end - job->pick - (clock_thread_cpu() - run->cpu);

	job->away = cr_ns_max(away, 0);
	job->codec_ns -= (uint32_t)cr_ns_min(job->away, job->codec_ns);
}

/* The turn is over, but for its packets. */
static void close_unsent(struct transcode *t, const struct live_run *run,
			 cr_ns start, int err)
{
	struct transcode_worker *w = t->worker;
	struct transcode_unsent *unsent = transcode_in_progress(w);
	struct cr_trace_job *job = &unsent->record.job;

	/* what was sent meanwhile was more than this turn's packets */
	if (unsent->begun && !t->sending)
		unsent->cost = transcode_cost_end(
			unsent->begun, start - job->pick, w->clock_cost);
	if (!t->coded)
		t->coded = clock_now(); /* nothing came out of this packet */
	job->outcome = (uint8_t)outcome_of(err, run->expired);
	job->end = t->coded;
	job->codec_ns = (uint32_t)(t->coded - start - t->sending);
	w->overflow += t->sending;
	if (run->cpu)
		count_away(job, run);
	if (!w->nunsent++)
		w->oldest = t->coded;
}

void transcode_run(struct transcode_worker *w, struct call *c,
		   const struct live_run *run)
{
	struct transcode t = { .worker = w, .call = c };
	const struct pipeline_input in = {
		.payload = c->claimed,
		.bytes = c->meta.bytes,
		.ts = c->meta.rtp_ts,
		.marker = c->meta.marker,
		.codec = c->meta.codec,
		.arrival = c->meta.arrival,
	};
	cr_ns start = clock_now();
	int err;

	pipeline_fetch(c->pipeline);
	transcode_begin(w);
	t.excess = !quota_fits(&c->quota, w->quota_burst, c->meta.arrival,
			       pipeline_output_packet(c->pipeline));
	open_unsent(&t, run, start);
	if (__builtin_expect(
		    destination_changed(c->destination, c->destination_version),
		    0))
		take_destination(c);
	transcode_enter_codec(w);
	err = transcode_frame(&t, &in, run->expired);
	if (!transcode_leave_codec(w)) {
		let_go(c);
		return;
	}
	if (!err && !t.excess && c->meta.what == FRAME_RING_SPEECH)
		pass_cmr(w, c);
	close_unsent(&t, run, start, err);
	if (must_flush(w, t.coded))
		flush(w, w->trace);
	transcode_end(w);
}

/* The frame of a pause leaves no gap: time passes, and what comes next begins a
 * talk spurt (RFC 3551, 4.1). So a listener's buffer takes it for silence, and
 * conceals nothing. What is still heard of the pause leaves as comfort noise,
 * where that is sent: then the listener has something to fill it with. */
static void count_shed(struct call *c)
{
	call_count(&c->count.shed, 1);
	call_count(&c->count.given_up, c->lt.core.task.give_up);
	if (!c->shed.pause)
		return;
	call_count(&c->count.pauses, 1);
	c->pauses = (uint16_t)(c->pauses + turn_is_numbered(c));
	c->resting = true;
	c->rested = 0;
	pipeline_begin_spurt(c->pipeline);
}

void transcode_shed(struct trace_ring *trace, struct call *c,
		    const struct cr_job *job, enum cr_outcome why, cr_ns now)
{
	const union cr_trace_record r = {
		.job = {
			.kind = CR_TRACE_JOB,
			.outcome = (uint8_t)why,
			.worker = 0xffff,
			.call = c->cfg.id,
			.seq = (uint32_t)job->seq,
			.bytes_in = cr_frame_packet_bytes(&c->meta),
			.arrival = job->arrival,
			.release = job->release,
			.pick = now,
			.deadline = job->deadline,
			.rtp_ts = c->meta.rtp_ts,
			.buffered_ns = c->meta.waited,
			.importance = c->meta.importance,
		},
	};

	c->uncounted = CR_NEVER;
	if (why == CR_OUT_CANCELLED)
		call_count(&c->count.cancelled, 1);
	else if (why == CR_OUT_SHED)
		count_shed(c);
	else
		call_count(&c->count.expired, 1);
	trace_put(trace, &r);
}

bool transcode_take(struct transcode_worker *w)
{
	bool take;

	if (pthread_mutex_trylock(&w->lock))
		return false; /* it, or who flushes, is at the packets */
	take = w->state == TRANSCODE_IN_CODEC;
	if (take)
		w->state = TURN_TAKEN;
	(void)pthread_mutex_unlock(&w->lock);
	return take;
}

/* The turn that was at work. Its call's count of pending ones stays up:
 * the thread has the call. */
static void cancel(struct transcode_unsent *unsent, struct trace_ring *trace)
{
	struct call *c = unsent->call;

	count_packets(c, unsent); /* what the frame had to say so far */
	call_count(&c->count.cancelled, 1);
	unsent->record.job.outcome = CR_OUT_CANCELLED;
	unsent->record.job.end = clock_now();
	trace_put(trace, &unsent->record);
}

void transcode_rescue(struct transcode_worker *w, struct call *stuck,
		      struct trace_ring *trace)
{
	(void)pthread_mutex_lock(&w->lock);
	CR_ASSERT(w->state == TURN_TAKEN);
	if (stuck) {
		w->overflow += transcode_send_all(w); /* its own, too */
		CR_ASSERT(transcode_in_progress(w)->call == stuck);
		cancel(transcode_in_progress(w), trace);
	}
	flush(w, trace);
	(void)pthread_mutex_unlock(&w->lock);
}
