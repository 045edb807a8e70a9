/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One job as the engine sees it: its task, its frames, a worker's turn.
 */
#include "convert/conversion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "convert/conversion_io.h"
#include "convert/writer.h"

/* What a job without a floor gives as its period: it promises no rate, and
 * with the real one it would fill the capacity of policies that admit by the
 * sum of cost / period, whatever the class. */
#define NO_RATE (10 * CR_SEC)

const char *job_state_name(enum job_state s)
{
	static const char *const names[] = { "asked",	 "waiting", "running",
					     "ending",	 "done",    "failed",
					     "cancelled" };

	return names[s];
}

/* How far ahead of its floor a job may count as: no call's deadline is further
 * away, so with this much what it is ahead by delays no call. */
#define AHEAD_MAX (10 * CR_SEC)

/* With a floor of N the job is a soft task of N frames a second, for which
 * admission reserves that much. */
static void fill_task(struct job *j)
{
	struct cr_task *t = &j->lt.core.task;
	unsigned floor = j->cfg.floor;

	t->id = j->cfg.id;
	t->cls = floor ? CR_SOFT : CR_BE;
	t->period = floor ? CR_SEC / floor : NO_RATE;
	t->rel_deadline = t->period;
	t->cost = j->cfg.cost;
	t->weight = 1024;
	memset(&t->cpus, 0xff, sizeof(t->cpus));
	j->lt.core.patient = true;
}

struct job *job_new(const struct job_cfg *cfg)
{
	struct job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->cfg = *cfg;
	j->submitted = clock_now();
	return j;
}

int job_prepare(struct job *j, struct cr_err *e)
{
	struct pipeline_cfg media;

	fill_task(j);
	audio_side(&media.in, &j->cfg.from, 0);
	audio_side(&media.out, &j->cfg.to, j->cfg.mode);
	media.out.cfg.dtx = j->cfg.dtx;
	j->chunk = calloc(2, sizeof(*j->chunk));
	if (!j->chunk)
		return cr_fail(e, -ENOMEM, "out of memory for a job");
	return pipeline_open(&j->pipeline, &media, e);
}

void job_release(struct job *j)
{
	pipeline_close(j->pipeline);
	j->pipeline = NULL;
	free(j->chunk);
	j->chunk = NULL;
}

void job_free(struct job *j)
{
	if (!j)
		return;
	job_release(j);
	free(j);
}

/* The chunk that is the engine's now, or NULL. */
static struct job_chunk *current(struct job *j)
{
	struct job_chunk *c = &j->chunk[j->current];

	/* acquire, pairs with job_io's fill() */
	return atomic_load_explicit(&c->full, memory_order_acquire) ? c : NULL;
}

static cr_ns later(cr_ns a, cr_ns b)
{
	return a > b ? a : b;
}

/*
 * A frame's deadline is 1/N after the one before it had its own, or after it
 * could begin where that is later. So a job that got more than its floor when
 * nobody else wanted the CPU is ahead, and calls overtake it until the floor
 * has caught up: any 1/N after that, one frame of it. Were the deadlines
 * counted from the end of the frame before, its next frame would always be due
 * within 1/N, and the job would run before every call that has longer.
 */
static cr_ns deadline_from(const struct job *j, cr_ns eligible)
{
	cr_ns last = cr_ns_min(j->due, eligible + AHEAD_MAX);

	return later(eligible, last) + j->lt.core.task.rel_deadline;
}

/* The frame to be claimed next: when it could begin. */
static cr_ns eligible_at(const struct job *j, const struct job_chunk *c)
{
	return later(c->filled, j->ready);
}

bool job_peek(struct core_task *t, struct cr_job *job)
{
	struct job *j = job_of_core(t);
	const struct job_chunk *c = current(j);

	if (!c || c->next == c->frames)
		return false;
	job->seq = j->seq;
	job->arrival = c->filled;
	job->eligible = eligible_at(j, c);
	job->deadline = t->task.cls == CR_BE ? CR_NEVER
					     : deadline_from(j, job->eligible);
	return true;
}

bool job_claim(struct core_task *t, uint64_t seq)
{
	struct job *j = job_of_core(t);
	struct job_chunk *c = current(j);

	CR_ASSERT(c && seq == j->seq);
	j->due = deadline_from(j, eligible_at(j, c));
	j->claimed = c->in + c->in_used;
	j->claimed_bytes = c->bytes[c->next++];
	c->in_used += j->claimed_bytes;
	j->seq++;
	return true;
}

static void emit(void *arg, const struct pipeline_packet *p)
{
	struct job *j = arg;
	struct job_chunk *c = &j->chunk[j->current];

	/* 20 ms in are 20 ms out: there is room for as many as came in */
	CR_ASSERT(c->out_used + AUDIO_FRAME_MAX <= sizeof(c->out));
	c->out_used += writer_frame(j->cfg.to.kind, p->payload, p->bytes,
				    c->out + c->out_used);
}

static struct cr_trace_job describe(const struct job *j,
				    const struct live_run *run, cr_ns start)
{
	const struct cr_job *job = &j->lt.core.task.job;

	return (struct cr_trace_job){
		.kind = CR_TRACE_JOB,
		.worker = (uint16_t)run->worker,
		.call = j->cfg.id,
		.seq = (uint32_t)job->seq,
		.bytes_in = j->claimed_bytes,
		.arrival = job->arrival,
		.release = job->release,
		.pick = run->picked,
		.start = start,
		.deadline = job->deadline,
		.rtp_ts = j->ts,
	};
}

/* The chunk is the I/O thread's again. */
static void hand_back(struct job *j, struct job_chunk *c)
{
	j->current ^= 1;
	/* release, pairs with job_io's serve() */
	atomic_store_explicit(&c->full, false, memory_order_release);
	job_io_poke(j->io);
}

void job_run(struct job *j, struct pipeline_scratch *s,
	     const struct live_run *run, union cr_trace_record *record)
{
	struct job_chunk *c = &j->chunk[j->current];
	const struct pipeline_input in = {
		.payload = j->claimed,
		.bytes = j->claimed_bytes,
		.ts = j->ts,
	};
	cr_ns start = clock_now();
	size_t before = c->out_used;
	int err;

	record->job = describe(j, run, start);
	err = pipeline_run(j->pipeline, s, &in, emit, j);
	if (err)
		atomic_store_explicit(&j->refused, err, memory_order_relaxed);
	j->ready = clock_now();
	record->job.outcome = err ? CR_OUT_BAD : CR_OUT_DONE;
	record->job.bytes_out = (uint16_t)(c->out_used - before);
	record->job.end = j->ready;
	record->job.codec_ns = (uint32_t)(j->ready - start);
	j->ts += (uint32_t)(j->cfg.from.rate * AUDIO_FRAME / CR_SEC);
	(void)atomic_fetch_add_explicit(&j->frames, 1, memory_order_relaxed);
	if (c->next == c->frames)
		hand_back(j, c);
}
