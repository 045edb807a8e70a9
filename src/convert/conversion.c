/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One conversion as the engine sees it: its task, its frames, a worker's turn.
 */
#include "convert/conversion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "convert/conversion_io.h"
#include "convert/writer.h"

/* What a conversion without a floor gives as its period: it promises no rate,
 * and with the real one it would fill the capacity of policies that admit by
 * the sum of cost / period, whatever the class. */
#define NO_RATE (10 * CR_SEC)

const char *conversion_state_name(enum conversion_state s)
{
	static const char *const names[] = { "asked",	 "waiting", "running",
					     "ending",	 "done",    "failed",
					     "cancelled" };

	return names[s];
}

/* How far ahead of its floor a conversion may count as: no call's deadline is
 * further away, so with this much what it is ahead by delays no call. */
#define AHEAD_MAX (10 * CR_SEC)

/* With a floor of N the conversion is a soft task of N frames a second, for
 * which admission reserves that much. */
static void fill_task(struct conversion *cv)
{
	struct cr_task *t = &cv->lt.core.task;
	unsigned floor = cv->cfg.floor;

	t->id = cv->cfg.id;
	t->period = floor ? CR_SEC / floor : NO_RATE;
	core_set_terms(t, &(struct core_terms){
				  .cls = floor ? CR_SOFT : CR_BE,
				  .rel_deadline = t->period,
				  .cost = cv->cfg.cost,
				  .weight = 1024,
			  });
	memset(&t->cpus, 0xff, sizeof(t->cpus));
	cv->lt.core.patient = true;
}

struct conversion *conversion_new(const struct conversion_cfg *cfg)
{
	struct conversion *cv = calloc(1, sizeof(*cv));

	if (!cv)
		return NULL;
	cv->cfg = *cfg;
	cv->submitted = clock_now();
	return cv;
}

int conversion_prepare(struct conversion *cv, struct cr_err *e)
{
	struct pipeline_cfg media = { .pt_noise = 0 }; /* a file has none */

	fill_task(cv);
	audio_side(&media.in, &cv->cfg.from, 0);
	audio_side(&media.out, &cv->cfg.to, cv->cfg.mode);
	media.out.cfg.dtx = cv->cfg.dtx;
	cv->chunk = calloc(2, sizeof(*cv->chunk));
	if (!cv->chunk)
		return cr_fail(e, -ENOMEM, "out of memory for a conversion");
	return pipeline_open(&cv->pipeline, &media, e);
}

void conversion_release(struct conversion *cv)
{
	pipeline_close(cv->pipeline);
	cv->pipeline = NULL;
	free(cv->chunk);
	cv->chunk = NULL;
}

void conversion_free(struct conversion *cv)
{
	if (!cv)
		return;
	conversion_release(cv);
	free(cv);
}

/* The chunk that is the engine's now, or NULL. */
static struct conversion_chunk *current(struct conversion *cv)
{
	struct conversion_chunk *c = &cv->chunk[cv->current];

	/* acquire, pairs with conversion_io's fill() */
	return atomic_load_explicit(&c->full, memory_order_acquire) ? c : NULL;
}

static cr_ns later(cr_ns a, cr_ns b)
{
	return a > b ? a : b;
}

/*
 * A frame's deadline is 1/N after the one before it had its own, or after it
 * could begin where that is later. So a conversion that got more than its floor
 * when nobody else wanted the CPU is ahead, and calls overtake it until the
 * floor has caught up: any 1/N after that, one frame of it. Were the deadlines
 * counted from the end of the frame before, its next frame would always be due
 * within 1/N, and the conversion would run before every call that has longer.
 */
static cr_ns deadline_from(const struct conversion *cv, cr_ns eligible)
{
	cr_ns last = cr_ns_min(cv->due, eligible + AHEAD_MAX);

	return later(eligible, last) + cv->lt.core.task.rel_deadline;
}

/* The frame to be claimed next: when it could begin. */
static cr_ns eligible_at(const struct conversion *cv,
			 const struct conversion_chunk *c)
{
	return later(c->filled, cv->ready);
}

bool conversion_peek(struct core_task *t, struct cr_job *job)
{
	struct conversion *cv = conversion_of_core(t);
	const struct conversion_chunk *c = current(cv);

	if (!c || c->next == c->frames)
		return false;
	job->seq = cv->seq;
	/* a chunk is no backlog: its frames come one after the other, or all
	 * of them would go before a call's next one by arrival */
	job->arrival = job->eligible = eligible_at(cv, c);
	job->deadline = t->task.cls == CR_BE ? CR_NEVER
					     : deadline_from(cv, job->eligible);
	return true;
}

bool conversion_claim(struct core_task *t, uint64_t seq)
{
	struct conversion *cv = conversion_of_core(t);
	struct conversion_chunk *c = current(cv);

	CR_ASSERT(c && seq == cv->seq);
	cv->due = deadline_from(cv, eligible_at(cv, c));
	cv->claimed = c->in + c->in_used;
	cv->claimed_bytes = c->bytes[c->next++];
	c->in_used += cv->claimed_bytes;
	cv->seq++;
	return true;
}

static void emit(void *arg, const struct pipeline_packet *p)
{
	struct conversion *cv = arg;
	struct conversion_chunk *c = &cv->chunk[cv->current];

	/* 20 ms in are 20 ms out: there is room for as many as came in */
	CR_ASSERT(c->out_used + AUDIO_FRAME_MAX <= sizeof(c->out));
	c->out_used += writer_frame(cv->cfg.to.kind, p->payload, p->bytes,
				    c->out + c->out_used);
}

static struct cr_trace_job describe(const struct conversion *cv,
				    const struct live_run *run, cr_ns start)
{
	const struct cr_job *job = &cv->lt.core.task.job;

	return (struct cr_trace_job){
		.kind = CR_TRACE_JOB,
		.worker = (uint16_t)run->worker,
		.call = cv->cfg.id,
		.seq = (uint32_t)job->seq,
		.bytes_in = cv->claimed_bytes,
		.arrival = cv->chunk[cv->current].filled,
		.release = job->release,
		.pick = run->picked,
		.start = start,
		.deadline = job->deadline,
		.rtp_ts = cv->ts,
		.charged_before =
			live_charged_before(run) & CR_TRACE_CHARGE_MAX,
	};
}

/* The chunk is the I/O thread's again. */
static void hand_back(struct conversion *cv, struct conversion_chunk *c)
{
	cv->current ^= 1;
	/* release, pairs with conversion_io's serve() */
	atomic_store_explicit(&c->full, false, memory_order_release);
	conversion_io_poke(cv->io);
}

void conversion_run(struct conversion *cv, struct pipeline_scratch *s,
		    const struct live_run *run, union cr_trace_record *record)
{
	struct conversion_chunk *c = &cv->chunk[cv->current];
	const struct pipeline_input in = {
		.payload = cv->claimed,
		.bytes = cv->claimed_bytes,
		.ts = cv->ts,
	};
	cr_ns start = clock_now();
	size_t before = c->out_used;
	int err;

	record->job = describe(cv, run, start);
	err = pipeline_run(cv->pipeline, s, &in, emit, cv);
	if (err)
		atomic_store_explicit(&cv->refused, err, memory_order_relaxed);
	cv->ready = clock_now();
	record->job.outcome = err ? CR_OUT_BAD : CR_OUT_DONE;
	record->job.bytes_out = (uint16_t)(c->out_used - before);
	record->job.end = cv->ready;
	record->job.codec_ns = (uint32_t)(cv->ready - start);
	cv->ts += (uint32_t)(cv->cfg.from.rate * AUDIO_FRAME / CR_SEC);
	(void)atomic_fetch_add_explicit(&cv->frames, 1, memory_order_relaxed);
	if (c->next == c->frames)
		hand_back(cv, c);
}
