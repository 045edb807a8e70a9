/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's work on one frame of a stream, from top to bottom:
 *
 *   claim      the oldest frame leaves the frame buffer, or is dropped
 *   decode     what the frame is decides what the pipeline makes of it: it
 *              decodes, resamples and encodes (pipeline.c, which is by itself
 *              because conversions and tests run it without a worker)
 *   packetize  what comes out becomes packets of the turn
 *   hand over  under the lock of the worker: the turn's packets go to those
 *              that wait to be sent
 *   send       all that wait, in one burst
 *   account    counters, costs and record of each turn
 *
 * transcode_run() is all of it but the claim, which the engine makes before.
 */
#include "media/transcode.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/thread.h"
#include "media/rtp_stream.h"
#include "rtp/rtcp_session.h"

/* The turn in progress. */
struct transcode {
	struct transcode_worker *worker;
	struct transcoder *transcoder;
	cr_ns start;
	cr_ns coded;   /* when the codec handed over its last packet */
	cr_ns sending; /* time inside the socket before that */
	bool excess;   /* no packet of speech may be sent: no codec runs */
};

static void post_speech(void *arg, const struct pipeline_packet *p);
static void post_events(struct transcode *t,
			const struct telephone_event_burst *out);
static bool send_early(struct transcode *t);
static cr_ns transcode_send_all(struct transcode_worker *w);
static void flush_unsent(struct transcode_worker *w, struct trace_ring *trace);

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

/* --- claim: the engine's view of a stream --- */

/* Fetch into the cache what this transcode uses. */
static void fetch_for_transcode(const struct transcoder *c)
{
	const struct stream *s = c->stream;

	cache_fetch(&c->pending, sizeof(c->pending));
	cache_fetch(&c->pipeline,
		    offsetof(struct transcoder, cost) -
			    offsetof(struct transcoder, pipeline));
	cache_fetch(&s->cfg.tally, sizeof(s->cfg.tally));
	cache_fetch(&s->out, sizeof(s->out));
	cache_fetch(&s->out.destination->version,
		    sizeof(s->out.destination->version));
	cache_fetch(&s->account->count.done,
		    offsetof(struct stream_counters, delay_max_ns) +
			    sizeof(s->account->count.delay_max_ns) -
			    offsetof(struct stream_counters, done));
}

void transcoder_take_terms(const struct transcoder *c, struct release *release,
			   unsigned *taken)
{
	const struct transcoder_terms *from = &c->terms;
	unsigned version =
		atomic_load_explicit(&from->version, memory_order_acquire);
	struct release_cfg r = release->cfg;

	if (version == *taken)
		return;
	r.kind = (enum release_kind)atomic_load_explicit(&from->kind,
							 memory_order_relaxed);
	r.burst = atomic_load_explicit(&from->burst, memory_order_relaxed);
	r.period = atomic_load_explicit(&from->period, memory_order_relaxed);
	r.rel_deadline =
		atomic_load_explicit(&from->rel_deadline, memory_order_relaxed);
	r.spacing = atomic_load_explicit(&from->spacing, memory_order_relaxed);
	if (r.ahead_max)
		r.ahead_max = atomic_load_explicit(&from->ahead_max,
						   memory_order_relaxed);
	release_change(release, &r);
	*taken = version;
}

bool transcode_peek(struct core_task *t, struct cr_job *job)
{
	struct transcoder *c = transcoder_of_core(t);
	struct release_times when;
	struct cr_frame_meta meta;

	if (!frame_ring_peek(c->ring, &meta))
		return false;
	if (c->claimed_arrival != CR_NEVER) {
		(void)release_arrival(&c->served, c->claimed_arrival);
		c->claimed_arrival = CR_NEVER;
	}
	transcoder_take_terms(c, &c->served, &c->served_terms);
	job->seq = meta.seq;
	job->arrival = meta.arrival;
	job->importance = meta.importance;
	job->must_keep = frame_must_be_kept(&meta);
	when = release_next(&c->served, meta.arrival);
	job->eligible = when.eligible;
	job->deadline = when.deadline;
	return true;
}

bool transcode_claim(struct core_task *t, uint64_t seq)
{
	struct transcoder *c = transcoder_of_core(t);

	c->claimed = frame_ring_claim(c->ring, seq, &c->meta);
	if (!c->claimed)
		return false;
	fetch_for_transcode(c);
	c->claimed_arrival = c->meta.arrival;
	return true;
}

/* Has the frame of @c a number in which gaps show? Behind a jitter buffer,
 * which has told already of those that never came, all that takes time; else
 * what has come by RTP. */
static inline bool frame_is_numbered(const struct transcoder *c)
{
	return c->buffers ? cr_frame_takes_time(&c->meta)
			  : c->meta.what == FRAME_RING_SPEECH ||
				    c->meta.what == FRAME_RING_NOISE ||
				    c->meta.what == FRAME_RING_EVENT;
}

/* The frame of a pause leaves no gap: time passes, and what comes next begins a
 * talk spurt (RFC 3551, 4.1). So a listener's buffer takes it for silence, and
 * conceals nothing. What is still heard of the pause leaves as comfort noise,
 * where that is sent: then the listener has something to fill it with. */
static void count_shed(struct transcoder *c)
{
	counter_add(&c->stream->account->count.shed, 1);
	counter_add(&c->stream->account->count.given_up,
		    c->lt.core.task.give_up);
	if (!c->shed.pause)
		return;
	counter_add(&c->stream->account->count.pauses, 1);
	c->pauses = (uint16_t)(c->pauses + frame_is_numbered(c));
	c->resting = true;
	c->rested = 0;
	pipeline_begin_spurt(c->pipeline);
}

void transcode_drop(struct trace_ring *trace, struct transcoder *c,
		    const struct cr_job *job, enum cr_outcome why, cr_ns now)
{
	const union cr_trace_record r = {
		.job = {
			.kind = CR_TRACE_JOB,
			.outcome = (uint8_t)why,
			.worker = 0xffff,
			.task = c->stream->cfg.id,
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

	c->claimed_arrival = CR_NEVER;
	if (why == CR_OUT_CANCELLED)
		counter_add(&c->stream->account->count.cancelled, 1);
	else if (why == CR_OUT_SHED)
		count_shed(c);
	else
		counter_add(&c->stream->account->count.expired, 1);
	trace_put(trace, &r);
}

/* --- decode: the frame, and what was before it --- */

/* So much of a gap is concealed: then decoders have faded (codecs/conceal.h).
 */
#define CONCEAL_MS 60u

/* So much of the input is missing: that shows in the numbers of what follows,
 * but not of what was there before. */
static void skip_numbers(struct transcode *t, uint32_t rtp_ticks)
{
	struct transcoder *c = t->transcoder;

	if (!rtp_ticks)
		return;
	pipeline_flush(c->pipeline, &t->worker->scratch, post_speech, t);
	c->stream->out.seq =
		(uint16_t)(c->stream->out.seq +
			   pipeline_packets(c->pipeline, rtp_ticks));
}

/* The frame may be of another codec or packet time than the one before. Control
 * may count packets of @c that have left, at this moment. */
static void follow_input(struct transcode_worker *w, struct transcoder *c)
{
	cr_ns clock, period = transcoder_period(c);
	bool other;

	if (__builtin_expect(c->meta.codec == c->codec && period == c->period,
			     1))
		return;
	clock = pipeline_input_clock(c->pipeline, c->meta.codec);
	(void)pthread_mutex_lock(&w->lock);
	other = (uint32_t)(c->period * clock / CR_SEC) != c->ts_step;
	c->codec = c->meta.codec;
	c->period = period;
	c->ts_step = (uint32_t)(period * clock / CR_SEC);
	if (other) {
		/* timestamps of two clocks say nothing of each other */
		gaps_again(&c->gaps);
		c->arrivals.any = false;
		c->sent.at = 0;
	}
	(void)pthread_mutex_unlock(&w->lock);
}

/* Count frames of @gap that were shed in a pause as no loss: the numbers go on.
 */
static void excuse_pauses(struct transcoder *c, struct gap *gap)
{
	unsigned n = c->pauses < gap->packets ? c->pauses : gap->packets;

	c->pauses = 0;
	if (!n)
		return;
	gap->rtp_ticks -= gap->rtp_ticks / gap->packets * n;
	gap->packets -= n;
}

/* Frames missing before @in show in the output's numbers, or are concealed, but
 * no more of them than anybody would believe. */
static void bridge_gap_before(struct transcode *t,
			      const struct pipeline_input *in)
{
	struct transcoder *c = t->transcoder;
	const uint32_t clock = pipeline_input_clock(c->pipeline, c->meta.codec);
	const uint32_t most = CONCEAL_MS * clock / 1000;
	const uint32_t length = pipeline_input_length(c->pipeline);
	struct pipeline_input lost = {
		.meta.arrival = in->meta.arrival,
		.meta.codec = c->codec,
	};
	struct gap gap;

	follow_input(t->worker, c);
	gap = gaps_packet(&c->gaps, c->meta.rtp_seq, in->meta.rtp_ts,
			  length ? length : c->ts_step);
	if (__builtin_expect(c->pauses != 0, 0))
		excuse_pauses(c, &gap);
	if (__builtin_expect(!gap.packets, 1))
		return;
	counter_add(&c->stream->account->count.missing, gap.packets);
	lost.meta.rtp_ts = in->meta.rtp_ts - gap.rtp_ticks;
	if (c->stream->cfg.conceal && !t->excess) {
		lost.meta.rtp_ticks =
			(uint16_t)(gap.rtp_ticks < most ? gap.rtp_ticks : most);
		pipeline_lost(c->pipeline, &t->worker->scratch, &lost,
			      c->meta.what == FRAME_RING_SPEECH &&
					      gap.rtp_ticks <= most
				      ? in
				      : NULL,
			      post_speech, t);
	}
	skip_numbers(t, gap.rtp_ticks - lost.meta.rtp_ticks);
}

static void pass_event(struct transcode *t, const struct pipeline_input *in)
{
	struct transcoder *c = t->transcoder;
	/* of the event that has come, and those that go; read before the
	 * digits, which are there once a clock is */
	const struct digits_clocks clocks = {
		.in = c->meta.rtp_ticks * 1000u,
		.out = atomic_load_explicit(&c->event_out,
					    memory_order_acquire) >>
		       8,
		.speech = pipeline_output_clock(c->pipeline),
	};
	struct digits *digits = transcoder_digits(c);
	struct pipeline_input place = *in;
	struct telephone_event_arrival event = {
		.payload = in->payload,
		.bytes = in->meta.bytes,
		.ts = in->meta.rtp_ts,
		.marker = in->meta.marker,
	};
	struct telephone_event_burst out;

	place.apart =
		clocks.in != pipeline_input_clock(c->pipeline, c->meta.codec);
	event.ts_out = pipeline_time(c->pipeline, &place);
	if (!clocks.out || !digits)
		return; /* nobody took events when this was looked at */
	digits_set_clocks(digits, &clocks);
	pipeline_flush(c->pipeline, &t->worker->scratch, post_speech, t);
	digits_packet(digits, c->meta.arrival, &event, &out);
	post_events(t, &out);
}

/* Whichever of its frames comes first: others may have been dropped. */
static void change_sender(struct transcode *t)
{
	struct transcoder *c = t->transcoder;
	struct digits *digits = transcoder_digits(c);
	struct telephone_event_burst out;

	c->sender = c->meta.sender;
	c->resting = false;
	gaps_again(&c->gaps);
	pipeline_restart(c->pipeline);
	if (!digits)
		return;
	digits_restart(digits, &out);
	pipeline_flush(c->pipeline, &t->worker->scratch, post_speech, t);
	post_events(t, &out);
}

/* Every frame has the time, in case the buffer has dropped the ticks. */
static void tick_digits(struct transcode *t, struct digits *digits)
{
	struct telephone_event_burst out;

	digits_tick(digits, t->transcoder->meta.arrival, &out);
	post_events(t, &out);
}

/* A pause is over with the speech that ends it; and where as many of its frames
 * are served in a row as could be given up, the overload is: then the party's
 * own background is heard again, however long it is silent. */
static enum pipeline_use use_of_speech(struct transcoder *c, bool expired)
{
	if (c->meta.decode_only)
		return PIPELINE_LEARN;
	if (expired)
		return PIPELINE_CONCEAL;
	if (__builtin_expect(!c->resting, 1))
		return PIPELINE_SPEECH;
	c->resting = c->shed.pause && c->rested++ < SHED_ROW_PAUSE;
	return c->resting ? PIPELINE_PAUSE : PIPELINE_SPEECH;
}

/* Run the claimed frame of the turn's stream, within the codec; put what comes
 * of it into the burst. 0, or negative: the packet is malformed. */
static int transcode_frame(struct transcode *t, struct pipeline_input *in,
			   bool expired)
{
	struct transcoder *c = t->transcoder;
	struct pipeline_scratch *s = &t->worker->scratch;
	struct digits *digits = transcoder_digits(c);

	if (__builtin_expect(c->meta.sender != c->sender, 0))
		change_sender(t);
	if (__builtin_expect(digits != NULL, 0) &&
	    c->meta.what != FRAME_RING_EVENT)
		tick_digits(t, digits);
	if (frame_is_numbered(c))
		bridge_gap_before(t, in);
	else
		follow_input(t->worker, c);
	if (__builtin_expect(t->excess, 0) &&
	    c->meta.what != FRAME_RING_EVENT &&
	    c->meta.what != FRAME_RING_TICK) {
		counter_add(&c->stream->account->count.excess, 1);
		return 0;
	}
	switch ((enum frame_ring_what)c->meta.what) {
	case FRAME_RING_SPEECH:
		in->use = (uint8_t)use_of_speech(c, expired);
		return pipeline_run(c->pipeline, s, in, post_speech, t);
	case FRAME_RING_NOISE:
		return pipeline_noise(c->pipeline, s, in,
				      c->meta.decode_only ? NULL : post_speech,
				      t);
	case FRAME_RING_EVENT:
		pass_event(t, in);
		return 0;
	case FRAME_RING_LOST:
		pipeline_lost(c->pipeline, s, in, in->meta.bytes ? in : NULL,
			      post_speech, t);
		return 0;
	case FRAME_RING_SILENCE:
		pipeline_silence(c->pipeline, s, in, post_speech, t);
		return 0;
	case FRAME_RING_TICK:
		return 0;
	}
	return 0;
}

/* The peer asks for another mode of what is sent to it: that is the encoder of
 * the paired stream, which may end at any moment (RFC 4867, 4.3.1). */
static void pass_cmr(struct transcode_worker *w, struct transcoder *c)
{
	uint64_t pair = atomic_load_explicit(&c->pair, memory_order_relaxed);
	unsigned cmr = pipeline_cmr(c->pipeline);
	struct transcoder *other;

	if (cmr == PAYLOAD_NO_CMR)
		return;
	counter_add(&c->stream->account->count.cmr, 1);
	if (!pair)
		return;
	rcu_read_begin();
	other = stream_table_find(w->table, (uint32_t)pair);
	if (other && other->stream->cfg.id == transcoder_pair_id(pair))
		pipeline_ask_mode(other->pipeline, pipeline_kind(c->pipeline),
				  cmr);
	rcu_read_end();
}

/* --- packetize --- */

/* Events travel beside speech, and more often where its packets are long. */
#define EVENT_TIME (10 * CR_MS)

/* Count a packet of @time that is not sent; false: it is. The quota comes
 * first: a party on hold, too, is transcoded no faster than it speaks. */
static bool is_refused(const struct transcode *t, cr_ns time)
{
	struct transcoder *c = t->transcoder;

	if (!quota_take(&c->quota, t->worker->quota_burst, c->meta.arrival,
			time))
		counter_add(&c->stream->account->count.excess, 1);
	else if (!c->stream->out.to.ss_family) /* not heard yet, or on hold */
		stream_out_refuse(&c->stream->out, &c->stream->account->count);
	else
		return false;
	return true;
}

/* Note the last packet made for a process that may have to go on. */
static void note_made(const struct transcoder *c)
{
	const struct stream_out *out = &c->stream->out;

	state_put_sent(
		out->state,
		&(struct state_sent){ .ssrc = out->ssrc,
				      .ts = out->ts,
				      .in_ts = c->meta.rtp_ts - c->meta.shift,
				      .seq = out->seq,
				      .in_seq = c->meta.rtp_seq,
				      .at = out->at });
}

/* Make the packet @p, of @time, behind those that were sent. Called within the
 * codec. It waits with the turn's own until that is over. */
static void make_packet(struct transcode *t, const struct pipeline_packet *p,
			cr_ns time)
{
	struct transcode_worker *w = t->worker;
	struct stream_out *out = &t->transcoder->stream->out;
	struct transcode_packet *made;

	if (__builtin_expect(w->nmade == TRANSCODE_MADE, 0) && !send_early(t))
		return;
	t->coded = clock_now();
	if (is_refused(t, time))
		return;
	out->at = t->transcoder->meta.arrival;
	out->ts = t->transcoder->ts_out + p->ts;
	out->seq++;
	made = &w->made[w->nmade++];
	made->ts = out->ts;
	made->at = t->coded;
	made->bytes = RTP_HEADER_BYTES + p->bytes;
	(void)rtp_build(made->data, &(struct rtp_packet){ .pt = p->pt,
							  .marker = p->marker,
							  .seq = out->seq,
							  .ts = out->ts,
							  .ssrc = out->ssrc });
	memcpy(made->data + RTP_HEADER_BYTES, p->payload, p->bytes);
	/* before it is sent: no number is used twice */
	if (__builtin_expect(out->state != NULL, 0))
		note_made(t->transcoder);
}

/* So much less has the sender's clock to say than ours, to be believed. */
#define RESUME_SLACK (2 * CR_SEC)

/* From the last packet of a process that has died to the frame that runs: by
 * the sender's timestamps, unless it is another one; else by the time between
 * them. In 1/STREAM_AHEAD_CLOCK s. */
static int64_t ticks_since_crash(const struct transcoder *c)
{
	const struct stream_out *out = &c->stream->out;
	const int64_t clock = pipeline_input_clock(c->pipeline, c->meta.codec);
	const cr_ns passed = c->meta.arrival - out->at;
	const int32_t rtp_ticks = (int32_t)(c->meta.rtp_ts - out->resumes_ts);
	const cr_ns said = rtp_ticks * CR_SEC / clock;

	if (rtp_ticks > 0 && said <= passed + RESUME_SLACK &&
	    passed <= said + RESUME_SLACK)
		return (int64_t)rtp_ticks * STREAM_AHEAD_CLOCK / clock;
	return cr_ns_max(passed, c->period) / 1000 * STREAM_AHEAD_CLOCK /
	       (CR_SEC / 1000);
}

/* A relay, or a process that has died, has sent before: what begins at @ts goes
 * on behind that. */
static void resume_after(struct transcoder *c, uint32_t ts)
{
	struct stream_out *out = &c->stream->out;
	int64_t clock = pipeline_output_clock(c->pipeline);

	if (out->resumes)
		out->ahead = ticks_since_crash(c);
	out->resumes = false;
	c->ts_out = out->ts - ts +
		    (uint32_t)(out->ahead * clock / STREAM_AHEAD_CLOCK);
	out->ahead = -1;
}

/* Speech, or what stands for it. */
static void post_speech(void *arg, const struct pipeline_packet *p)
{
	struct transcode *t = arg;
	struct transcoder *c = t->transcoder;
	struct digits *digits = transcoder_digits(c);

	if (__builtin_expect(c->stream->out.ahead >= 0, 0))
		resume_after(c, p->ts);
	if (p->silent) {
		t->coded = clock_now();
		return;
	}
	if (__builtin_expect(digits != NULL, 0) && digits_mute(digits, p->ts)) {
		t->coded = clock_now();
		counter_add(&c->stream->account->count.muted, 1);
		return;
	}
	if (p->noise)
		counter_add(&c->stream->account->count.cn_out, 1);
	make_packet(t, p, pipeline_output_packet(c->pipeline));
}

/* Events on their way; nobody may want them any more. */
static void post_events(struct transcode *t,
			const struct telephone_event_burst *out)
{
	struct transcoder *c = t->transcoder;
	uint8_t pt = (uint8_t)atomic_load_explicit(&c->event_out,
						   memory_order_acquire);

	if (!pt)
		return;
	if (out->n && c->stream->out.ahead >= 0)
		resume_after(c, out->packets[0].ts);
	for (unsigned i = 0; i < out->n; i++) {
		const struct telephone_event_packet *p = &out->packets[i];
		const struct pipeline_packet packet = {
			.payload = p->payload,
			.bytes = sizeof(p->payload),
			.ts = p->ts,
			.pt = pt,
			.marker = p->marker,
		};

		make_packet(t, &packet,
			    cr_ns_min(pipeline_output_packet(c->pipeline),
				      EVENT_TIME));
	}
	counter_add(&c->stream->account->count.events_out, out->n);
}

/* --- hand over --- */

/* Begin the record of the turn. */
static void open_record(const struct transcode *t, const struct live_run *run)
{
	struct transcode_worker *w = t->worker;
	struct transcoder *c = t->transcoder;
	bool in_row = transcode_row_next(&w->row, c->stream->cfg.id);
	const struct cr_job *job = &c->lt.core.task.job;
	const bool speech =
		c->meta.what == FRAME_RING_SPEECH && !c->meta.decode_only;
	/* the worker's clock may have been read before the receiver's, whose
	 * frame it found all the same */
	const cr_ns release = cr_ns_max(job->release, job->arrival);

	atomic_fetch_add_explicit(&c->pending, 1, memory_order_relaxed);
	w->nmade = 0;
	w->turn = (struct transcode_unsent){
		.transcoder = c,
		.speech = speech,
		.begun = !in_row && speech && !t->excess &&
					 transcode_cost_due(&c->metered)
				 ? transcode_cost_begin()
				 : 0,
		.record.job = {
			.kind = CR_TRACE_JOB,
			.worker = (uint16_t)run->worker,
			.task = c->stream->cfg.id,
			.seq = (uint32_t)job->seq,
			.bytes_in = cr_frame_packet_bytes(&c->meta),
			.arrival = job->arrival,
			.release = release,
			.pick = cr_ns_max(run->picked, release),
			.start = t->start,
			.deadline = job->deadline,
			.rtp_ts = c->meta.rtp_ts,
			.buffered_ns = c->meta.waited,
			.importance = c->meta.importance,
			.charged_before = live_charged_before(run) &
					  CR_TRACE_CHARGE_MAX,
		},
	};
}

/* End the record of the turn @run, but for what sending its packets brings.
 * @overflowed: more was sent meanwhile than this turn's packets. */
static void close_record(const struct transcode *t, const struct live_run *run,
			 int err, bool overflowed)
{
	struct transcode_unsent *turn = &t->worker->turn;
	struct cr_trace_job *job = &turn->record.job;

	if (turn->begun && !overflowed)
		turn->cost =
			transcode_cost_end(turn->begun, t->start - job->pick,
					   t->worker->clock_cost);
	job->outcome = err	      ? CR_OUT_BAD
		       : run->expired ? CR_OUT_CONCEALED
				      : CR_OUT_DONE;
	job->end = t->coded;
	job->codec_ns = (uint32_t)(t->coded - t->start - t->sending);
	if (run->cpu) {
		cr_ns away =
			job->end - job->pick - (clock_thread_cpu() - run->cpu);

		/* The kernel may have taken the CPU away meanwhile: nearly
		 * always from the codec, where nearly all of the time goes. */
		job->away = cr_ns_max(away, 0);
		job->codec_ns -= (uint32_t)cr_ns_min(job->away, job->codec_ns);
	}
}

/* Put the packets that the turn has made into the burst, sending what is there
 * when it is full. Returns how long that took. Lock held. */
static cr_ns put_packets(struct transcode_worker *w)
{
	const struct stream *s = w->turn.transcoder->stream;
	struct transcode_unsent *turn = &w->turn;
	cr_ns sending = 0;

	for (unsigned i = 0; i < w->nmade; i++) {
		const struct transcode_packet *p = &w->made[i];
		const size_t bytes = p->bytes - RTP_HEADER_BYTES;

		if (burst_full(&w->burst))
			sending += transcode_send_all(w);
		if (s->cfg.tally)
			rtcp_sent_rtp(s->cfg.tally, (uint32_t)bytes, p->ts,
				      p->at);
		burst_put(&w->burst, s->out.fd >= 0 ? s->out.fd : w->fd,
			  &s->out.to, w->nunsent, p->data, p->bytes);
		turn->packets++;
		turn->record.job.bytes_out =
			(uint16_t)(turn->record.job.bytes_out + bytes);
	}
	w->nmade = 0;
	return sending;
}

/* The critical section of unsent packets, once a turn: its packets and its
 * record go to those that wait, and all leave if they may not wait any longer.
 * Control takes the lock, too, to send what waits. So no codec is under it:
 * one that never returns would keep the packets of other streams. */
static void hand_over(const struct transcode *t, const struct live_run *run,
		      int err)
{
	struct transcode_worker *w = t->worker;
	cr_ns sending;

	(void)pthread_mutex_lock(&w->lock);
	sending = put_packets(w);
	w->overflow += sending;
	close_record(t, run, err, sending || t->sending);
	w->unsent[w->nunsent] = w->turn;
	if (!w->nunsent++)
		w->oldest = t->coded;
	if (!w->batching || w->nunsent == TRANSCODE_BATCH ||
	    t->coded - w->oldest >= TRANSCODE_WAIT)
		flush_unsent(w, w->trace);
	(void)pthread_mutex_unlock(&w->lock);
}

/* The turn makes more packets than there is room for: they leave before it is
 * over. Called within the codec. False: control has taken the unsent packets.
 */
static bool send_early(struct transcode *t)
{
	struct transcode_worker *w = t->worker;
	cr_ns sending;

	if (!transcode_leave_codec(w))
		return false;
	(void)pthread_mutex_lock(&w->lock);
	sending = put_packets(w);
	sending += transcode_send_all(w);
	w->overflow += sending;
	(void)pthread_mutex_unlock(&w->lock);
	t->sending += sending;
	transcode_enter_codec(w);
	return true;
}

/* --- send --- */

/* When packets were sent, and each turn's share of the time that took. */
struct sent {
	cr_ns at, share;
	cr_ns cpu; /* CPU time, if a turn was metered */
};

static void finish_unsent(struct transcode_worker *w,
			  struct transcode_unsent *unsent,
			  const struct sent *sent, struct trace_ring *trace);

/* Send the burst; a packet's tag is its turn's place among the unsent. Returns
 * how long that took. Lock held. */
static cr_ns transcode_send_all(struct transcode_worker *w)
{
	cr_ns start = clock_now();

	burst_send(&w->burst);
	for (unsigned i = 0; i < w->burst.count; i++) {
		const struct burst_packet *p = &w->burst.packet[i];
		struct transcode_unsent *unsent =
			p->tag < w->nunsent ? &w->unsent[p->tag] : &w->turn;

		if (!p->failed)
			continue;
		unsent->failed++;
		unsent->failed_octets += p->bytes - RTP_HEADER_BYTES;
	}
	burst_clear(&w->burst);
	return clock_now() - start;
}

/* Send, and divide what that took among the turns that are over. */
static struct sent send_metered(struct transcode_worker *w)
{
	bool metered = false;
	cr_ns begun, took, away = 0;

	for (unsigned i = 0; i < w->nunsent && !metered; i++)
		metered = w->unsent[i].cost;
	begun = metered ? clock_thread_cpu() : 0;
	took = transcode_send_all(w);
	if (metered)
		away = took - (clock_thread_cpu() - begun - w->clock_cost);
	took += w->overflow;
	w->overflow = 0;
	return (struct sent){
		.at = clock_now(),
		.share = took / w->nunsent,
		.cpu = (took - cr_ns_max(away, 0)) / w->nunsent,
	};
}

/* Send for the turns that are over; lock held. */
static void flush_unsent(struct transcode_worker *w, struct trace_ring *trace)
{
	struct sent sent;

	if (!w->nunsent)
		return;
	sent = send_metered(w);
	for (unsigned i = 0; i < w->nunsent; i++)
		finish_unsent(w, &w->unsent[i], &sent, trace);
	w->nunsent = 0;
}

/* --- account --- */

static void count_send_delay(struct transcode_worker *w,
			     const struct transcode_unsent *unsent)
{
	struct transcoder *c = unsent->transcoder;
	const struct cr_trace_job *job = &unsent->record.job;
	cr_ns done = job->sent ? job->sent : job->end;
	cr_ns delay = done - job->arrival;

	if (done > job->deadline)
		counter_add(&c->stream->account->count.late, 1);
	if (delay > 0)
		counter_add(&c->stream->account->count.delay_ns,
			    (unsigned long long)delay);
	if (delay >
	    (cr_ns)atomic_load_explicit(&c->stream->account->count.delay_max_ns,
					memory_order_relaxed))
		atomic_store_explicit(&c->stream->account->count.delay_max_ns,
				      (unsigned long long)delay,
				      memory_order_relaxed);
	histogram_add(&w->delay, delay);
	sketch_add(&c->stream->account->delay, delay);
	if (unsent->speech)
		arrivals_add(&c->arrivals, job->arrival - job->buffered_ns,
			     job->rtp_ts, c->ts_step, c->period);
}

static void count_packets(struct transcoder *c,
			  const struct transcode_unsent *unsent)
{
	counter_add(&c->stream->account->count.send_failed, unsent->failed);
	counter_add(&c->stream->account->count.packets_out,
		    unsent->packets - unsent->failed);
	counter_add(&c->stream->account->count.octets_out,
		    unsent->record.job.bytes_out - unsent->failed_octets);
}

/* A turn's last touch of the stream. */
static void end_transcode_of(struct transcoder *c)
{
	/* release, pairs with transcoder_unposted() */
	atomic_fetch_sub_explicit(&c->pending, 1, memory_order_release);
}

/* The turn's packets are on their way, or refused. */
static void finish_unsent(struct transcode_worker *w,
			  struct transcode_unsent *unsent,
			  const struct sent *sent, struct trace_ring *trace)
{
	struct transcoder *c = unsent->transcoder;
	struct cr_trace_job *job = &unsent->record.job;

	counter_add(&c->stream->account->count.codec_ns, job->codec_ns);
	counter_add(&c->stream->account->count.busy_ns,
		    job->codec_ns + (unsigned long long)sent->share);
	job->sent = unsent->packets ? sent->at : 0;
	count_packets(c, unsent);
	if (job->outcome == CR_OUT_DONE) {
		count_send_delay(w, unsent);
		if (job->sent && unsent->speech) {
			if (c->sent.at &&
			    job->rtp_ts - c->sent.rtp_ts == c->ts_step)
				histogram_add(&w->jitter,
					      llabs(job->sent - c->sent.at -
						    c->period));
			c->sent.at = job->sent;
			c->sent.rtp_ts = job->rtp_ts;
		}
		counter_add(&c->stream->account->count.done, 1);
		if (unsent->speech && unsent->cost)
			recent_put(&c->cost, unsent->cost + sent->cpu);
		if (unsent->failed)
			job->outcome = CR_OUT_SEND_FAILED;
	} else {
		counter_add(job->outcome == CR_OUT_BAD
				    ? &c->stream->account->count.malformed
				    : &c->stream->account->count.concealed,
			    1);
	}
	trace_put(trace, &unsent->record);
	end_transcode_of(c);
}

/* --- all of it --- */

/* Look where packets go to now. True: its party was on hold, and is
 * not any more. Packets that wait borrow the address, and control may be
 * sending them. */
static bool look_for_destination(struct transcode_worker *w,
				 struct stream_out *out)
{
	bool resumed;

	if (!destination_changed(out->destination, out->version))
		return false;
	(void)pthread_mutex_lock(&w->lock);
	resumed = stream_out_look(out);
	(void)pthread_mutex_unlock(&w->lock);
	return resumed;
}

void transcode_run(struct transcode_worker *w, struct transcoder *c,
		   const struct live_run *run)
{
	struct transcode t = {
		.worker = w,
		.transcoder = c,
		.start = clock_now(),
		.excess =
			!quota_fits(&c->quota, w->quota_burst, c->meta.arrival,
				    pipeline_output_packet(c->pipeline)),
	};
	struct pipeline_input in = {
		.meta = c->meta,
		.payload = c->claimed,
	};
	int err;

	pipeline_fetch(c->pipeline);
	open_record(&t, run);
	/* what is sent again begins a talk spurt: nobody has sent before it for
	 * a while (RFC 3551, 4.1) */
	if (look_for_destination(w, &c->stream->out))
		pipeline_begin_spurt(c->pipeline);
	transcode_enter_codec(w);
	state_begin_frame(c->stream->out.state, in.payload, in.meta.bytes,
			  c->meta.what == FRAME_RING_SPEECH && !c->meta.codec &&
				  c->meta.sender == c->sender);
	err = transcode_frame(&t, &in, run->expired);
	state_end_frame(c->stream->out.state);
	if (!transcode_leave_codec(w)) {
		end_transcode_of(c);
		return;
	}
	if (!err && !t.excess && c->meta.what == FRAME_RING_SPEECH)
		pass_cmr(w, c);
	if (!t.coded)
		t.coded = clock_now(); /* nothing came out of this packet */
	hand_over(&t, run, err);
}

/* --- what waits, sent by others --- */

void transcode_flush(struct transcode_worker *w)
{
	w->row = (struct transcode_row){ 0 };
	transcode_flush_for(w, w->trace);
}

void transcode_flush_for(struct transcode_worker *w, struct trace_ring *trace)
{
	(void)pthread_mutex_lock(&w->lock);
	flush_unsent(w, trace);
	(void)pthread_mutex_unlock(&w->lock);
}

void transcode_batching(struct transcode_worker *w, bool may,
			struct trace_ring *trace)
{
	(void)pthread_mutex_lock(&w->lock);
	w->batching = may;
	if (!may)
		flush_unsent(w, trace);
	(void)pthread_mutex_unlock(&w->lock);
}

bool transcode_take(struct transcode_worker *w)
{
	enum transcode_state state = TRANSCODE_IN_CODEC;

	/* acquire, pairs with transcode_enter_codec() */
	return atomic_compare_exchange_strong_explicit(
		&w->state, &state, TRANSCODE_TAKEN, memory_order_acquire,
		memory_order_relaxed);
}

void transcode_rescue(struct transcode_worker *w, struct transcoder *stuck,
		      struct trace_ring *trace)
{
	(void)pthread_mutex_lock(&w->lock);
	CR_ASSERT(atomic_load_explicit(&w->state, memory_order_relaxed) ==
		  TRANSCODE_TAKEN);
	/* The count of pending turns stays up: the thread has the stream. */
	if (stuck) {
		CR_ASSERT(w->turn.transcoder == stuck);
		count_packets(stuck, &w->turn); /* what was sent early */
		counter_add(&stuck->stream->account->count.cancelled, 1);
		w->turn.record.job.outcome = CR_OUT_CANCELLED;
		w->turn.record.job.end = clock_now();
		trace_put(trace, &w->turn.record);
	}
	flush_unsent(w, trace);
	(void)pthread_mutex_unlock(&w->lock);
}
