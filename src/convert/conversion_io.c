/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of jobs, on one thread.
 *
 * It sleeps on a semaphore, which workers post without a lock. Each round moves
 * every running job by at most one chunk, so that a fast one does not hold the
 * others up, and looks at one that is asked for, so that many of those do not.
 */
#define _GNU_SOURCE
#include "convert/conversion_io.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "convert/reader.h"
#include "convert/writer.h"
#include "media/payload.h"

/* Calls' threads come first where they share a CPU with this one. */
#define NICE 10

struct job_file {
	int in, out;
	bool ended;	       /* all that is in the input has been read */
	unsigned next, filled; /* chunk to look at; chunks under way */
	struct reader reader;
	struct writer writer;
};

struct job_io {
	struct job_io_config cfg;
	pthread_t thread;
	sem_t pokes;
	struct job_list running; /* the thread's */

	pthread_mutex_t lock;
	struct job_list asked, fresh; /* under lock */
	bool stopping;		      /* under lock */
};

/* --- one job --- */

static int open_input(struct job_io *io, struct job *j)
{
	struct job_file *f = j->file;
	uint64_t bytes = 0;
	int err;

	f->in = spool_read(io->cfg.spool, j->cfg.in, &bytes, &j->why);
	if (f->in < 0)
		return f->in;
	err = reader_open(&f->reader, f->in, j->cfg.from.kind, bytes, &j->why);
	if (!err && f->reader.audio.rate != j->cfg.from.rate)
		return cr_fail(&j->why, -EINVAL,
			       "has another sample rate than when the job was "
			       "submitted");
	return err;
}

static int open_files(struct job_io *io, struct job *j)
{
	struct job_file *f = malloc(sizeof(*f));
	int err;

	j->file = f;
	if (!f)
		return cr_fail(&j->why, -ENOMEM, "out of memory for a job");
	f->in = f->out = -1;
	f->ended = false;
	f->next = f->filled = 0;
	err = open_input(io, j);
	if (err)
		return err;
	f->out = spool_create(io->cfg.spool, j->cfg.id, &j->why);
	return f->out < 0
		       ? f->out
		       : writer_open(&f->writer, f->out, &j->cfg.to, &j->why);
}

/* Read ahead into @c; the task wakes if there was anything. */
static int fill(struct job_io *io, struct job *j, struct job_chunk *c)
{
	struct job_file *f = j->file;
	struct live_task *lt = &j->lt;
	size_t used = 0;
	int n = 0;

	c->frames = c->next = 0;
	c->in_used = c->out_used = 0;
	while (c->frames < JOB_FRAMES) {
		n = reader_next(&f->reader, c->in + used, &j->why);
		if (n <= 0)
			break;
		c->bytes[c->frames++] = (uint16_t)n;
		used += (size_t)n;
	}
	if (n < 0)
		return n;
	f->ended = !n;
	atomic_store_explicit(&j->read, f->reader.at, memory_order_relaxed);
	if (!c->frames)
		return 0;
	c->filled = clock_now();
	f->filled++;
	/* release, pairs with job.c's current() */
	atomic_store_explicit(&c->full, true, memory_order_release);
	if (live_task_wake(lt))
		live_release(io->cfg.live, &lt, 1);
	return 0;
}

static int drain(struct job *j, struct job_chunk *c)
{
	struct job_file *f = j->file;
	int refused = atomic_load_explicit(&j->refused, memory_order_relaxed);

	if (!c->frames)
		return 0;
	f->filled--;
	c->frames = 0;
	if (refused)
		return cr_fail(&j->why, -EINVAL, "a frame is malformed (%s)",
			       payload_reason_name(refused));
	return writer_put(&f->writer, c->out, c->out_used, &j->why);
}

static int finish(struct job_io *io, struct job *j)
{
	struct job_file *f = j->file;
	int err = writer_finish(&f->writer, &j->why);

	if (err)
		return err;
	return spool_commit(io->cfg.spool, j->cfg.id, f->out, j->cfg.out,
			    j->cfg.overwrite, &j->why);
}

/* Returns 0: go on; 1: complete; or -errno, with j->why. */
static int advance(struct job_io *io, struct job *j)
{
	struct job_file *f = j->file;
	struct job_chunk *c;
	int err;

	if (!f) {
		job_io_poke(io);
		return open_files(io, j);
	}
	c = &j->chunk[f->next];
	/* acquire, pairs with job.c's hand_back() */
	if (atomic_load_explicit(&c->full, memory_order_acquire))
		return 0;
	err = drain(j, c);
	if (!err && !f->ended)
		err = fill(io, j, c);
	f->next ^= 1;
	job_io_poke(io); /* and the other one */
	if (err || !f->ended || f->filled)
		return err;
	err = finish(io, j);
	return err ? err : 1;
}

static void close_files(struct job_io *io, struct job *j)
{
	struct job_file *f = j->file;

	if (f && f->in >= 0)
		(void)close(f->in);
	if (f && f->out >= 0) {
		(void)close(f->out);
		if (j->result != JOB_DONE)
			spool_discard(io->cfg.spool, j->cfg.id);
	}
	free(f);
	j->file = NULL;
}

/* True: that was the job's last. */
static bool serve(struct job_io *io, struct job *j)
{
	int rc;

	if (atomic_load_explicit(&j->cancel, memory_order_relaxed)) {
		j->result = JOB_CANCELLED;
	} else {
		rc = advance(io, j);
		if (!rc)
			return false;
		j->result = rc > 0 ? JOB_DONE : JOB_FAILED;
	}
	close_files(io, j);
	return true;
}

/* --- one that is asked for --- */

static int look_at_input(struct job_io *io, struct job *j)
{
	struct cr_err why;
	struct reader r;
	int fd = spool_read(io->cfg.spool, j->cfg.in, &j->bytes, &j->why), err;

	if (fd < 0)
		return fd;
	err = reader_open(&r, fd, j->cfg.from.kind, j->bytes, &why);
	(void)close(fd);
	if (err)
		return cr_fail(&j->why, err, "%s: %s", j->cfg.in, why.text);
	j->cfg.from.rate = r.audio.rate;
	return 0;
}

static void look(struct job_io *io, struct job *j)
{
	j->looked = look_at_input(io, j);
	if (!j->looked)
		j->looked = spool_check(io->cfg.spool, j->cfg.out,
					j->cfg.overwrite, &j->why);
	io->cfg.looked(io->cfg.arg, j);
}

/* --- the thread --- */

static void look_at_one(struct job_io *io)
{
	struct job *j;

	(void)pthread_mutex_lock(&io->lock);
	j = TAILQ_FIRST(&io->asked);
	if (j)
		TAILQ_REMOVE(&io->asked, j, link);
	(void)pthread_mutex_unlock(&io->lock);
	if (!j)
		return;
	job_io_poke(io); /* and the next one */
	look(io, j);
}

static void serve_all(struct job_io *io)
{
	struct job *j, *next;

	for (j = TAILQ_FIRST(&io->running); j; j = next) {
		next = TAILQ_NEXT(j, link);
		if (!serve(io, j))
			continue;
		TAILQ_REMOVE(&io->running, j, link);
		io->cfg.over(io->cfg.arg, j);
	}
}

/* False: stop. */
static bool take_fresh(struct job_io *io)
{
	bool stopping;

	(void)pthread_mutex_lock(&io->lock);
	TAILQ_CONCAT(&io->running, &io->fresh, link);
	stopping = io->stopping;
	(void)pthread_mutex_unlock(&io->lock);
	return !stopping;
}

/* One round answers all pokes so far. */
static void wait_poke(struct job_io *io)
{
	while (sem_wait(&io->pokes) && errno == EINTR)
		;
	while (!sem_trywait(&io->pokes))
		;
}

static void *work(void *arg)
{
	struct job_io *io = arg;

	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	(void)pthread_setname_np(pthread_self(), "job-io");
	do {
		wait_poke(io);
		if (!take_fresh(io))
			break;
		look_at_one(io);
		serve_all(io);
	} while (true);
	CR_ASSERT(TAILQ_EMPTY(&io->running) && TAILQ_EMPTY(&io->asked));
	return NULL;
}

int job_io_open(struct job_io **out, const struct job_io_config *cfg,
		struct cr_err *e)
{
	struct job_io *io = calloc(1, sizeof(*io));
	int err;

	if (!io)
		return cr_fail(e, -ENOMEM, "out of memory for jobs");
	io->cfg = *cfg;
	TAILQ_INIT(&io->running);
	TAILQ_INIT(&io->asked);
	TAILQ_INIT(&io->fresh);
	(void)sem_init(&io->pokes, 0, 0);
	(void)pthread_mutex_init(&io->lock, NULL);
	err = pthread_create(&io->thread, NULL, work, io);
	if (err) {
		(void)pthread_mutex_destroy(&io->lock);
		(void)sem_destroy(&io->pokes);
		free(io);
		return cr_fail(e, -err, "jobs: no thread: %s", strerror(err));
	}
	*out = io;
	return 0;
}

void job_io_close(struct job_io *io)
{
	if (!io)
		return;
	(void)pthread_mutex_lock(&io->lock);
	io->stopping = true;
	(void)pthread_mutex_unlock(&io->lock);
	job_io_poke(io);
	(void)pthread_join(io->thread, NULL);
	(void)pthread_mutex_destroy(&io->lock);
	(void)sem_destroy(&io->pokes);
	free(io);
}

static void append(struct job_io *io, struct job_list *list, struct job *j)
{
	(void)pthread_mutex_lock(&io->lock);
	TAILQ_INSERT_TAIL(list, j, link);
	(void)pthread_mutex_unlock(&io->lock);
	job_io_poke(io);
}

void job_io_look(struct job_io *io, struct job *j)
{
	append(io, &io->asked, j);
}

void job_io_add(struct job_io *io, struct job *j)
{
	append(io, &io->fresh, j);
}

void job_io_poke(struct job_io *io)
{
	(void)sem_post(&io->pokes);
}
