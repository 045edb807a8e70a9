/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One conversion as the engine sees it: its task, its frames, a worker's part;
 * and the files of conversions, on one thread.
 *
 * That thread sleeps on a semaphore, which workers post without a lock. Each
 * round moves every running conversion by at most one chunk, so that a fast one
 * does not hold the others up, and looks at one that is asked for, so that many
 * of those do not.
 */
#define _GNU_SOURCE

#include "convert/conversion.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/thread.h"
#include "convert/audio.h"
#include "media/payload.h"

/* The period of a conversion without a floor: it promises no rate,
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

/* The lead over its floor that a conversion may count as: no call's deadline is
 * further away, so with this much what it is ahead by delays no call. */
#define AHEAD_MAX (10 * CR_SEC)

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
	struct cr_task *t = &cv->lt.core.task;
	unsigned floor = cv->cfg.floor;

	/* With a floor of N the conversion is a soft task of N frames a second,
	 * for which admission reserves that much. */
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
static struct conversion_chunk *current_chunk(struct conversion *cv)
{
	struct conversion_chunk *c = &cv->chunk[cv->current];

	/* acquire, pairs with fill_chunk() */
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
static cr_ns conversion_eligible_at(const struct conversion *cv,
				    const struct conversion_chunk *c)
{
	return later(c->filled, cv->ready);
}

bool conversion_peek(struct core_task *t, struct cr_job *job)
{
	struct conversion *cv = conversion_of_core(t);
	const struct conversion_chunk *c = current_chunk(cv);

	if (!c || c->next == c->frames)
		return false;
	job->seq = cv->seq;
	/* a chunk is no backlog: its frames come one after the other, or all
	 * of them would go before a call's next one by arrival */
	job->arrival = job->eligible = conversion_eligible_at(cv, c);
	job->deadline = t->task.cls == CR_BE ? CR_NEVER
					     : deadline_from(cv, job->eligible);
	return true;
}

bool conversion_claim(struct core_task *t, uint64_t seq)
{
	struct conversion *cv = conversion_of_core(t);
	struct conversion_chunk *c = current_chunk(cv);

	CR_ASSERT(c && seq == cv->seq);
	cv->due = deadline_from(cv, conversion_eligible_at(cv, c));
	cv->claimed = c->in + c->in_used;
	cv->claimed_bytes = c->bytes[c->next++];
	c->in_used += cv->claimed_bytes;
	cv->seq++;
	return true;
}

static void store_frame(void *arg, const struct pipeline_packet *p)
{
	struct conversion *cv = arg;
	struct conversion_chunk *c = &cv->chunk[cv->current];

	/* 20 ms in are 20 ms out: there is room for as many as came in */
	CR_ASSERT(c->out_used + AUDIO_FRAME_MAX <= sizeof(c->out));
	c->out_used += writer_frame(cv->cfg.to.kind, p->payload, p->bytes,
				    c->out + c->out_used);
}

static struct cr_trace_job describe_conversion_job(const struct conversion *cv,
						   const struct live_run *run,
						   cr_ns start)
{
	const struct cr_job *job = &cv->lt.core.task.job;

	return (struct cr_trace_job){
		.kind = CR_TRACE_JOB,
		.worker = (uint16_t)run->worker,
		.task = cv->cfg.id,
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

void conversion_run(struct conversion *cv, struct pipeline_scratch *s,
		    const struct live_run *run, union cr_trace_record *record)
{
	struct conversion_chunk *c = &cv->chunk[cv->current];
	const struct pipeline_input in = {
		.payload = cv->claimed,
		.meta.bytes = cv->claimed_bytes,
		.meta.rtp_ts = cv->ts,
	};
	cr_ns start = clock_now();
	size_t before = c->out_used;
	int err;

	record->job = describe_conversion_job(cv, run, start);
	err = pipeline_run(cv->pipeline, s, &in, store_frame, cv);
	if (err)
		atomic_store_explicit(&cv->refused, err, memory_order_relaxed);
	cv->ready = clock_now();
	record->job.outcome = err ? CR_OUT_BAD : CR_OUT_DONE;
	record->job.bytes_out = (uint16_t)(c->out_used - before);
	record->job.end = cv->ready;
	record->job.codec_ns = (uint32_t)(cv->ready - start);
	cv->ts += (uint32_t)(cv->cfg.from.rate * AUDIO_FRAME / CR_SEC);
	(void)atomic_fetch_add_explicit(&cv->frames, 1, memory_order_relaxed);
	if (c->next == c->frames) {
		/* The chunk is the I/O thread's again. */
		cv->current ^= 1;
		/* release, pairs with advance_files() */
		atomic_store_explicit(&c->full, false, memory_order_release);
		conversion_io_wake(cv->io);
	}
}

/* Calls' threads come first where they share a CPU with this one. */
#define NICE 10

struct conversion_file {
	int in, out;
	bool ended;	       /* all that is in the input has been read */
	unsigned next, filled; /* chunk to look at; chunks under way */
	struct reader reader;
	struct writer writer;
};

struct conversion_io {
	struct conversion_io_config cfg;
	pthread_t thread;
	sem_t wakes;
	struct conversion_list running; /* the thread's */

	pthread_mutex_t lock;
	struct conversion_list asked, fresh; /* under lock */
	bool stopping;			     /* under lock */
};

/* --- one conversion --- */

static int open_input(struct conversion_io *io, struct conversion *cv)
{
	struct conversion_file *f = cv->file;
	uint64_t bytes = 0;
	int err;

	f->in = spool_read(io->cfg.spool, cv->cfg.in, &bytes, &cv->why);
	if (f->in < 0)
		return f->in;
	err = reader_open(&f->reader, f->in, cv->cfg.from.kind, bytes,
			  &cv->why);
	if (!err && f->reader.audio.rate != cv->cfg.from.rate)
		return cr_fail(
			&cv->why, -EINVAL,
			"has another sample rate than when the conversion was "
			"submitted");
	return err;
}

static int open_conversion_files(struct conversion_io *io,
				 struct conversion *cv)
{
	struct conversion_file *f = malloc(sizeof(*f));
	int err;

	cv->file = f;
	if (!f)
		return cr_fail(&cv->why, -ENOMEM,
			       "out of memory for a conversion");
	f->in = f->out = -1;
	f->ended = false;
	f->next = f->filled = 0;
	err = open_input(io, cv);
	if (err)
		return err;
	f->out = spool_create(io->cfg.spool, cv->cfg.id, &cv->why);
	return f->out < 0
		       ? f->out
		       : writer_open(&f->writer, f->out, &cv->cfg.to, &cv->why);
}

/* Read ahead into @c; the task wakes if there was anything. */
static int fill_chunk(struct conversion_io *io, struct conversion *cv,
		      struct conversion_chunk *c)
{
	struct conversion_file *f = cv->file;
	struct live_task *lt = &cv->lt;
	size_t used = 0;
	int n = 0;

	c->frames = c->next = 0;
	c->in_used = c->out_used = 0;
	while (c->frames < CHUNK_FRAMES) {
		n = reader_next(&f->reader, c->in + used, &cv->why);
		if (n <= 0)
			break;
		c->bytes[c->frames++] = (uint16_t)n;
		used += (size_t)n;
	}
	if (n < 0)
		return n;
	f->ended = !n;
	atomic_store_explicit(&cv->read, f->reader.at, memory_order_relaxed);
	if (!c->frames)
		return 0;
	c->filled = clock_now();
	f->filled++;
	/* release, pairs with current_chunk() */
	atomic_store_explicit(&c->full, true, memory_order_release);
	if (live_task_wake(lt))
		live_release(io->cfg.live, &lt, 1);
	return 0;
}

static int write_chunk(struct conversion *cv, struct conversion_chunk *c)
{
	struct conversion_file *f = cv->file;
	int refused = atomic_load_explicit(&cv->refused, memory_order_relaxed);

	if (!c->frames)
		return 0;
	f->filled--;
	c->frames = 0;
	if (refused)
		return cr_fail(&cv->why, -EINVAL, "a frame is malformed (%s)",
			       payload_reason_name(refused));
	return writer_put(&f->writer, c->out, c->out_used, &cv->why);
}

/* Returns 0: go on; 1: complete; or -errno, with cv->why. */
static int advance_files(struct conversion_io *io, struct conversion *cv)
{
	struct conversion_file *f = cv->file;
	struct conversion_chunk *c;
	int err;

	if (!f) {
		conversion_io_wake(io);
		return open_conversion_files(io, cv);
	}
	c = &cv->chunk[f->next];
	/* acquire, pairs with conversion_run() */
	if (atomic_load_explicit(&c->full, memory_order_acquire))
		return 0;
	err = write_chunk(cv, c);
	if (!err && !f->ended)
		err = fill_chunk(io, cv, c);
	f->next ^= 1;
	conversion_io_wake(io); /* and the other one */
	if (err || !f->ended || f->filled)
		return err;
	err = writer_finish(&f->writer, &cv->why);
	if (!err)
		err = spool_commit(io->cfg.spool, cv->cfg.id, f->out,
				   cv->cfg.out, cv->cfg.overwrite, &cv->why);
	return err ? err : 1;
}

/* True: that was the conversion's last. */
static bool serve_conversion(struct conversion_io *io, struct conversion *cv)
{
	int rc;
	struct conversion_file *f;

	if (atomic_load_explicit(&cv->cancel, memory_order_relaxed)) {
		cv->result = CONVERSION_CANCELLED;
	} else {
		rc = advance_files(io, cv);
		if (!rc)
			return false;
		cv->result = rc > 0 ? CONVERSION_DONE : CONVERSION_FAILED;
	}
	f = cv->file;
	if (f && f->in >= 0)
		(void)close(f->in);
	if (f && f->out >= 0) {
		(void)close(f->out);
		if (cv->result != CONVERSION_DONE)
			spool_discard(io->cfg.spool, cv->cfg.id);
	}
	free(f);
	cv->file = NULL;
	return true;
}

/* --- one that is asked for --- */

static int look_at_input(struct conversion_io *io, struct conversion *cv)
{
	struct cr_err why;
	struct reader r;
	int fd = spool_read(io->cfg.spool, cv->cfg.in, &cv->bytes, &cv->why),
	    err;

	if (fd < 0)
		return fd;
	err = reader_open(&r, fd, cv->cfg.from.kind, cv->bytes, &why);
	(void)close(fd);
	if (err)
		return cr_fail(&cv->why, err, "%s: %s", cv->cfg.in, why.text);
	cv->cfg.from.rate = r.audio.rate;
	return 0;
}

/* --- the thread --- */

static void look_at_one(struct conversion_io *io)
{
	struct conversion *cv;

	(void)pthread_mutex_lock(&io->lock);
	cv = TAILQ_FIRST(&io->asked);
	if (cv)
		TAILQ_REMOVE(&io->asked, cv, link);
	(void)pthread_mutex_unlock(&io->lock);
	if (!cv)
		return;
	conversion_io_wake(io); /* and the next one */
	cv->looked = look_at_input(io, cv);
	if (!cv->looked)
		cv->looked = spool_check(io->cfg.spool, cv->cfg.out,
					 cv->cfg.overwrite, &cv->why);
	io->cfg.looked(io->cfg.arg, cv);
}

static void *run_io(void *arg)
{
	struct conversion_io *io = arg;

	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	thread_long_turns();
	(void)pthread_setname_np(pthread_self(), "convert-io");
	do {
		bool stopping;
		struct conversion *cv, *next;

		/* One round answers all of them so far. */
		while (sem_wait(&io->wakes) && errno == EINTR)
			;
		while (!sem_trywait(&io->wakes))
			;
		(void)pthread_mutex_lock(&io->lock);
		TAILQ_CONCAT(&io->running, &io->fresh, link);
		stopping = io->stopping;
		(void)pthread_mutex_unlock(&io->lock);
		if (stopping)
			break;
		look_at_one(io);
		for (cv = TAILQ_FIRST(&io->running); cv; cv = next) {
			next = TAILQ_NEXT(cv, link);
			if (!serve_conversion(io, cv))
				continue;
			TAILQ_REMOVE(&io->running, cv, link);
			io->cfg.over(io->cfg.arg, cv);
		}
	} while (true);
	CR_ASSERT(TAILQ_EMPTY(&io->running) && TAILQ_EMPTY(&io->asked));
	return NULL;
}

int conversion_io_open(struct conversion_io **out,
		       const struct conversion_io_config *cfg, struct cr_err *e)
{
	struct conversion_io *io = calloc(1, sizeof(*io));
	int err;

	if (!io)
		return cr_fail(e, -ENOMEM, "out of memory for conversions");
	io->cfg = *cfg;
	TAILQ_INIT(&io->running);
	TAILQ_INIT(&io->asked);
	TAILQ_INIT(&io->fresh);
	(void)sem_init(&io->wakes, 0, 0);
	(void)pthread_mutex_init(&io->lock, NULL);
	err = pthread_create(&io->thread, NULL, run_io, io);
	if (err) {
		(void)pthread_mutex_destroy(&io->lock);
		(void)sem_destroy(&io->wakes);
		free(io);
		return thread_fail(e, -err, "conversions");
	}
	*out = io;
	return 0;
}

void conversion_io_close(struct conversion_io *io)
{
	if (!io)
		return;
	(void)pthread_mutex_lock(&io->lock);
	io->stopping = true;
	(void)pthread_mutex_unlock(&io->lock);
	conversion_io_wake(io);
	(void)pthread_join(io->thread, NULL);
	(void)pthread_mutex_destroy(&io->lock);
	(void)sem_destroy(&io->wakes);
	free(io);
}

static void append_conversion(struct conversion_io *io,
			      struct conversion_list *list,
			      struct conversion *cv)
{
	(void)pthread_mutex_lock(&io->lock);
	TAILQ_INSERT_TAIL(list, cv, link);
	(void)pthread_mutex_unlock(&io->lock);
	conversion_io_wake(io);
}

void conversion_io_look(struct conversion_io *io, struct conversion *cv)
{
	append_conversion(io, &io->asked, cv);
}

void conversion_io_add(struct conversion_io *io, struct conversion *cv)
{
	append_conversion(io, &io->fresh, cv);
}

void conversion_io_wake(struct conversion_io *io)
{
	(void)sem_post(&io->wakes);
}
