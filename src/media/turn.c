/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One turn of a call on a worker.
 *
 * The packet is sent before the job is stopped, so the frames of a call leave
 * in order without a reorder queue.
 */
#include "media/turn.h"

#include <errno.h>
#include <string.h>

#include "base/address.h"
#include "base/clock.h"
#include "media/call_table.h"

/* The turn in progress. */
struct turn {
	struct turn_worker *worker;
	struct call *call;
	cr_ns coded;   /* when the codec handed over its last packet */
	cr_ns sent;    /* when the socket had taken it; 0: nothing sent */
	cr_ns sending; /* time inside the socket so far */
	cr_ns busy;    /* from the start to the last of the two above */
	size_t bytes_out;
	bool failed;
};

static void send_packet(struct turn *t, const struct pipeline_packet *p)
{
	struct call *c = t->call;
	const struct rtp_header header = {
		.pt = c->cfg.pt_out,
		.marker = p->marker,
		.seq = c->seq_out++,
		.ts = c->cfg.ts_out + p->ts,
		.ssrc = c->cfg.ssrc_out,
	};
	uint8_t *packet = p->payload - PIPELINE_HEADROOM;
	int fd = c->cfg.port_fd >= 0 ? c->cfg.port_fd : t->worker->fd;
	ssize_t n;

	(void)rtp_build(packet, &header);
	n = sendto(fd, packet, PIPELINE_HEADROOM + p->bytes,
		   MSG_DONTWAIT | MSG_NOSIGNAL,
		   (const struct sockaddr *)&c->cfg.to,
		   address_length(&c->cfg.to));
	if (n < 0) {
		call_count(&c->count.send_failed, 1);
		t->failed = true;
		return;
	}
	call_count(&c->count.packets_out, 1);
	call_count(&c->count.octets_out, p->bytes);
	t->bytes_out += p->bytes;
}

static void emit(void *arg, const struct pipeline_packet *p)
{
	struct turn *t = arg;

	t->coded = clock_now();
	if (p->silent)
		return;
	send_packet(t, p);
	t->sent = clock_now();
	t->sending += t->sent - t->coded;
}

static void count_delay(struct turn *t)
{
	struct call *c = t->call;
	cr_ns done = t->sent ? t->sent : t->coded;
	cr_ns delay = done - c->meta.arrival;

	if (done > c->meta.deadline)
		call_count(&c->count.late, 1);
	if (delay > (cr_ns)atomic_load_explicit(&c->count.delay_max,
						memory_order_relaxed))
		atomic_store_explicit(&c->count.delay_max,
				      (unsigned long long)delay,
				      memory_order_relaxed);
	histogram_add(&t->worker->delay, delay);
}

/* The peer asks for another mode of what is sent to it: that is the encoder of
 * the paired call, which may end at any moment (RFC 4867, 4.3.1). */
static void pass_cmr(struct turn_worker *w, struct call *c)
{
	uint64_t pair = atomic_load_explicit(&c->pair, memory_order_relaxed);
	unsigned cmr = pipeline_cmr(c->pipeline);
	struct call *other;

	if (cmr == PAYLOAD_NO_CMR)
		return;
	call_count(&c->count.cmr, 1);
	if (!pair)
		return;
	rcu_read_lock();
	other = call_table_find(w->table, call_pair_ssrc(pair));
	if (other && other->cfg.id == call_pair_id(pair) &&
	    call_takes_cmr(&c->cfg, &other->cfg))
		pipeline_set_mode(other->pipeline, cmr);
	rcu_read_unlock();
	/* release, pairs with turn_forget() */
	atomic_fetch_add_explicit(&w->passed, 1, memory_order_release);
}

void turn_forget(struct turn_worker *w)
{
	/* acquire, pairs with pass_cmr() */
	(void)atomic_load_explicit(&w->passed, memory_order_acquire);
}

/* Everything of a turn but the socket is the codec's. */
static cr_ns codec_time(const struct turn *t)
{
	return t->busy - t->sending;
}

static enum cr_outcome account(struct turn *t, int err, bool stale)
{
	struct call *c = t->call;

	call_count(&c->count.busy_ns, (unsigned long long)t->busy);
	call_count(&c->count.codec_ns, (unsigned long long)codec_time(t));
	if (err) {
		call_count(&c->count.malformed, 1);
		return CR_OUT_BAD;
	}
	if (stale) {
		call_count(&c->count.concealed, 1);
		return CR_OUT_CONCEALED;
	}
	count_delay(t);
	call_count(&c->count.done, 1);
	return t->failed ? CR_OUT_SEND_FAILED : CR_OUT_DONE;
}

static void trace_turn(const struct turn *t, const struct live_run *run,
		       cr_ns start, enum cr_outcome outcome)
{
	const struct call *c = t->call;
	const struct cr_job *job = &c->lt.core.task.job;
	const union cr_trace_record r = {
		.job = {
			.kind = CR_TRACE_JOB,
			.outcome = (uint8_t)outcome,
			.worker = (uint16_t)run->worker,
			.call = c->cfg.id,
			.seq = (uint32_t)job->seq,
			.bytes_in = c->meta.bytes,
			.bytes_out = (uint16_t)t->bytes_out,
			.arrival = job->arrival,
			.release = job->release,
			.pick = run->picked,
			.start = start,
			.end = t->coded,
			.sent = t->sent,
			.deadline = job->deadline,
			.rtp_ts = c->meta.rtp_ts,
			.codec_ns = (uint32_t)codec_time(t),
		},
	};

	trace_put(t->worker->trace, &r);
}

void turn_run(struct turn_worker *w, struct call *c, const struct live_run *run)
{
	struct turn t = { .worker = w, .call = c };
	const struct pipeline_input in = {
		.payload = c->claimed,
		.bytes = c->meta.bytes,
		.ts = c->meta.rtp_ts,
		.marker = c->meta.marker,
	};
	enum cr_outcome outcome;
	cr_ns start = clock_now();
	int err;

	err = run->stale
		      ? pipeline_conceal(c->pipeline, &w->scratch, &in, emit,
					 &t)
		      : pipeline_run(c->pipeline, &w->scratch, &in, emit, &t);
	if (!err)
		pass_cmr(w, c);
	if (!t.coded)
		t.coded = clock_now(); /* nothing came out of this packet */
	t.busy = cr_ns_max(t.coded, t.sent) - start;
	outcome = account(&t, err, run->stale);
	trace_turn(&t, run, start, outcome);
}

void turn_shed(struct trace_ring *trace, struct call *c,
	       const struct cr_job *job, enum cr_outcome why, cr_ns now)
{
	const union cr_trace_record r = {
		.job = {
			.kind = CR_TRACE_JOB,
			.outcome = (uint8_t)why,
			.worker = 0xffff,
			.call = c->cfg.id,
			.seq = (uint32_t)job->seq,
			.bytes_in = c->meta.bytes,
			.arrival = job->arrival,
			.release = job->release,
			.pick = now,
			.deadline = job->deadline,
			.rtp_ts = c->meta.rtp_ts,
		},
	};

	call_count(why == CR_OUT_CANCELLED ? &c->count.cancelled
					   : &c->count.stale,
		   1);
	trace_put(trace, &r);
}
