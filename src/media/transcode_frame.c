/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of a turn: what it is, what comes of it, and the RTP headers of
 * that.
 */
#include "media/transcode_impl.h"

#include <string.h>

#include "base/clock.h"
#include "rtp/rtcp_session.h"

/* So much of a gap is concealed: then decoders have faded (codecs/conceal.h).
 */
#define CONCEAL_MS 60u

/* Events travel beside speech, and more often where its packets are long. */
#define EVENT_TIME (10 * CR_MS)

/* Count a packet of @time that is not sent; false: it is. The quota comes
 * first: a party on hold, too, is transcoded no faster than it speaks. */
static bool is_refused(const struct transcode *t, cr_ns time)
{
	struct call *c = t->call;

	if (!quota_take(&c->quota, t->worker->quota_burst, c->meta.arrival,
			time))
		call_count(&c->count.excess, 1);
	else if (!c->to.ss_family) /* not heard yet, or on hold */
		call_count(c->held ? &c->count.on_hold
				   : &c->count.no_destination,
			   1);
	else
		return false;
	return true;
}

/* Put a packet of @time into the burst: its payload is behind room for the
 * header. The turn is in the codec. */
static void post(struct transcode *t, const struct rtp_header *header,
		 uint8_t *payload, size_t bytes, cr_ns time)
{
	struct transcode_worker *w = t->worker;
	struct call *c = t->call;
	struct transcode_unsent *unsent;
	uint8_t *packet = payload - PIPELINE_HEADROOM;

	t->coded = clock_now();
	if (!transcode_leave_codec(w))
		return;
	if (is_refused(t, time)) {
		transcode_enter_codec(w);
		return;
	}
	if (burst_full(&w->burst))
		t->sending += transcode_send_all(w);
	if (c->cfg.tally)
		rtcp_sent_rtp(c->cfg.tally, (uint32_t)bytes, header->ts,
			      t->coded);
	c->seq_out++;
	c->last = (struct call_sent){ .at = c->meta.arrival, .ts = header->ts };
	(void)rtp_build(packet, header);
	burst_put(&w->burst, c->fd >= 0 ? c->fd : w->fd, &c->to, w->nunsent,
		  packet, PIPELINE_HEADROOM + bytes);
	unsent = transcode_in_progress(w);
	unsent->packets++;
	unsent->record.job.bytes_out =
		(uint16_t)(unsent->record.job.bytes_out + bytes);
	transcode_enter_codec(w);
}

/* Others have sent before: @ts is where what they said goes on. */
static void resume(struct call *c, uint32_t ts)
{
	uint64_t clock = pipeline_output_clock(c->pipeline);
	struct call_resume *r = &c->resume;

	c->ts_out =
		r->ts + (uint32_t)(r->ahead * clock / CALL_RESUME_CLOCK) - ts;
	r->pending = false;
}

/* Of the output's stream; @ts from its beginning on. */
static struct rtp_header header_of(const struct call *c, uint8_t pt,
				   bool marker, uint32_t ts)
{
	return (struct rtp_header){
		.pt = pt,
		.marker = marker,
		.seq = c->seq_out,
		.ts = c->ts_out + ts,
		.ssrc = c->cfg.ssrc_out,
	};
}

/* Speech, or what stands for it. */
static void emit(void *arg, const struct pipeline_packet *p)
{
	struct transcode *t = arg;
	struct call *c = t->call;
	struct digits *digits;
	struct rtp_header header;

	if (__builtin_expect(c->resume.pending, 0))
		resume(c, p->ts);
	header = header_of(c, p->pt, p->marker, p->ts);
	t->coded = clock_now();
	if (p->silent)
		return;
	digits = call_digits(c);
	if (__builtin_expect(digits != NULL, 0) && digits_mute(digits, p->ts)) {
		call_count(&c->count.muted, 1);
		return;
	}
	if (p->noise)
		call_count(&c->count.cn_out, 1);
	post(t, &header, p->payload, p->bytes,
	     pipeline_output_packet(c->pipeline));
}

/* So much of the input is missing: that shows in the numbers of what follows,
 * but not of what was there before. */
static void skip_numbers(struct transcode *t, uint32_t units)
{
	struct call *c = t->call;

	if (!units)
		return;
	pipeline_flush(c->pipeline, &t->worker->scratch, emit, t);
	c->seq_out += (uint16_t)pipeline_packets(c->pipeline, units);
}

static void follow_input(struct call *c)
{
	if (__builtin_expect(call_input_changes(c), 0))
		call_follow_input(c);
}

/* Those of @gap that were shed in a pause are no loss: the numbers go on. */
static void excuse_pauses(struct call *c, struct gap *gap)
{
	unsigned n = c->pauses < gap->packets ? c->pauses : gap->packets;

	c->pauses = 0;
	if (!n)
		return;
	gap->units -= gap->units / gap->packets * n;
	gap->packets -= n;
}

/* What is missing before the frame @in shows in the output's numbers, or is
 * concealed, but no more of it than anybody would believe. */
static void bridge(struct transcode *t, const struct pipeline_input *in)
{
	struct call *c = t->call;
	const uint32_t clock = pipeline_input_clock(c->pipeline, c->meta.codec);
	const uint32_t most = CONCEAL_MS * clock / 1000;
	const uint32_t length = pipeline_input_length(c->pipeline);
	const uint8_t before = c->codec;
	struct pipeline_lost lost;
	struct gap gap;

	follow_input(c);
	gap = gaps_packet(&c->gaps, c->meta.rtp_seq, in->ts,
			  length ? length : c->ts_step);
	if (__builtin_expect(c->pauses != 0, 0))
		excuse_pauses(c, &gap);
	if (__builtin_expect(!gap.packets, 1))
		return;
	call_count(&c->count.missing, gap.packets);
	lost = (struct pipeline_lost){
		.ts = in->ts - gap.units,
		.units = gap.units < most ? gap.units : most,
		.arrival = in->arrival,
		.codec = before,
		.next = c->meta.what == FRAME_RING_SPEECH && gap.units <= most
				? in
				: NULL,
	};
	if (c->cfg.conceal && !t->excess)
		pipeline_lost(c->pipeline, &t->worker->scratch, &lost, emit, t);
	else
		lost.units = 0;
	skip_numbers(t, gap.units - lost.units);
}

/* The type that the other party knows them by; 0: it takes none. */
static uint8_t event_type(const struct call *c)
{
	return (uint8_t)atomic_load_explicit(&c->event_out,
					     memory_order_acquire);
}

/* Of the event that has come, and those that go. */
static struct digits_clocks event_clocks(const struct call *c)
{
	return (struct digits_clocks){
		.in = c->meta.units * 1000u,
		.out = atomic_load_explicit(&c->event_out,
					    memory_order_acquire) >>
		       8,
		.speech = pipeline_output_clock(c->pipeline),
	};
}

/* Events on their way; nobody may want them any more. */
static void post_events(struct transcode *t,
			const struct telephone_event_burst *out)
{
	struct call *c = t->call;
	uint8_t *payload = t->worker->scratch.packet + PIPELINE_HEADROOM;
	uint8_t pt = event_type(c);

	if (!pt)
		return;
	if (out->n && c->resume.pending)
		resume(c, out->packets[0].ts);
	for (unsigned i = 0; i < out->n; i++) {
		const struct telephone_event_packet *p = &out->packets[i];
		const struct rtp_header header =
			header_of(c, pt, p->marker, p->ts);

		memcpy(payload, p->payload, sizeof(p->payload));
		post(t, &header, payload, sizeof(p->payload),
		     cr_ns_min(pipeline_output_packet(c->pipeline),
			       EVENT_TIME));
	}
	call_count(&c->count.events_out, out->n);
}

static void pass_event(struct transcode *t, const struct pipeline_input *in)
{
	struct call *c = t->call;
	/* before the digits: who finds a clock finds them */
	const struct digits_clocks clocks = event_clocks(c);
	struct digits *digits = call_digits(c);
	struct pipeline_input place = *in;
	struct telephone_event_arrival event = {
		.payload = in->payload,
		.bytes = in->bytes,
		.ts = in->ts,
		.marker = in->marker,
	};
	struct telephone_event_burst out;

	place.apart =
		clocks.in != pipeline_input_clock(c->pipeline, c->meta.codec);
	event.ts_out = pipeline_time(c->pipeline, &place);
	if (!clocks.out || !digits)
		return; /* nobody took events when this was looked at */
	digits_set_clocks(digits, &clocks);
	pipeline_flush(c->pipeline, &t->worker->scratch, emit, t);
	digits_packet(digits, c->meta.arrival, &event, &out);
	post_events(t, &out);
}

/* Whichever of its frames comes first: others may have been dropped. */
static void change_sender(struct transcode *t)
{
	struct call *c = t->call;
	struct digits *digits = call_digits(c);
	struct telephone_event_burst out;

	c->sender = c->meta.sender;
	c->resting = false;
	gaps_again(&c->gaps);
	pipeline_restart(c->pipeline);
	if (!digits)
		return;
	digits_restart(digits, &out);
	pipeline_flush(c->pipeline, &t->worker->scratch, emit, t);
	post_events(t, &out);
}

/* Every frame tells the time, in case the ring has lost the ticks. */
static void tick(struct transcode *t, struct digits *digits)
{
	struct telephone_event_burst out;

	digits_tick(digits, t->call->meta.arrival, &out);
	post_events(t, &out);
}

/* A pause is over with the speech that ends it; and where as many of its frames
 * are served in a row as could be given up, the overload is: then the party's
 * own background is heard again, however long it is silent. */
static int run_resting(struct transcode *t, const struct pipeline_input *in)
{
	struct call *c = t->call;
	struct pipeline_input heard = *in;

	c->resting = c->shed.pause && c->rested++ < SHED_ROW_PAUSE;
	heard.pause = c->resting;
	return pipeline_run(c->pipeline, &t->worker->scratch, &heard, emit, t);
}

static int run_speech(struct transcode *t, const struct pipeline_input *in,
		      bool expired)
{
	struct pipeline *p = t->call->pipeline;
	struct pipeline_scratch *s = &t->worker->scratch;

	if (t->call->meta.decode_only)
		return pipeline_hear(p, s, in);
	if (expired)
		return pipeline_conceal(p, s, in, emit, t);
	if (__builtin_expect(t->call->resting, 0))
		return run_resting(t, in);
	return pipeline_run(p, s, in, emit, t);
}

int transcode_frame(struct transcode *t, const struct pipeline_input *in,
		    bool expired)
{
	struct call *c = t->call;
	struct pipeline_scratch *s = &t->worker->scratch;
	struct digits *digits = call_digits(c);
	const struct pipeline_lost lost = {
		.ts = in->ts,
		.units = c->meta.units,
		.arrival = in->arrival,
		.codec = in->codec,
		.next = in->bytes ? in : NULL,
	};

	if (__builtin_expect(c->meta.sender != c->sender, 0))
		change_sender(t);
	if (__builtin_expect(digits != NULL, 0) &&
	    c->meta.what != FRAME_RING_EVENT)
		tick(t, digits);
	if (turn_is_numbered(c))
		bridge(t, in);
	else
		follow_input(c);
	if (__builtin_expect(t->excess, 0) &&
	    c->meta.what != FRAME_RING_EVENT &&
	    c->meta.what != FRAME_RING_TICK) {
		call_count(&c->count.excess, 1);
		return 0;
	}
	switch ((enum cr_frame_what)c->meta.what) {
	case FRAME_RING_SPEECH:
		return run_speech(t, in, expired);
	case FRAME_RING_NOISE:
		return pipeline_noise(c->pipeline, s, in, c->meta.units,
				      c->meta.decode_only ? NULL : emit, t);
	case FRAME_RING_EVENT:
		pass_event(t, in);
		return 0;
	case FRAME_RING_LOST:
		pipeline_lost(c->pipeline, s, &lost, emit, t);
		return 0;
	case FRAME_RING_SILENCE:
		pipeline_silence(c->pipeline, s, in, c->meta.units, emit, t);
		return 0;
	case FRAME_RING_TICK:
		return 0;
	}
	return 0;
}
