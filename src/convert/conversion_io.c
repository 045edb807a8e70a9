/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of conversions, on one thread.
 *
 * It sleeps on a semaphore, which workers post without a lock. Each round moves
 * every running conversion by at most one chunk, so that a fast one does not
 * hold the others up, and looks at one that is asked for, so that many of those
 * do not.
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
#include "base/thread.h"
#include "convert/reader.h"
#include "convert/writer.h"
#include "media/payload.h"

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
	sem_t pokes;
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

static int open_files(struct conversion_io *io, struct conversion *cv)
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
static int fill(struct conversion_io *io, struct conversion *cv,
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
	/* release, pairs with conversion.c's current() */
	atomic_store_explicit(&c->full, true, memory_order_release);
	if (live_task_wake(lt))
		live_release(io->cfg.live, &lt, 1);
	return 0;
}

static int drain(struct conversion *cv, struct conversion_chunk *c)
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

static int finish(struct conversion_io *io, struct conversion *cv)
{
	struct conversion_file *f = cv->file;
	int err = writer_finish(&f->writer, &cv->why);

	if (err)
		return err;
	return spool_commit(io->cfg.spool, cv->cfg.id, f->out, cv->cfg.out,
			    cv->cfg.overwrite, &cv->why);
}

/* Returns 0: go on; 1: complete; or -errno, with cv->why. */
static int advance(struct conversion_io *io, struct conversion *cv)
{
	struct conversion_file *f = cv->file;
	struct conversion_chunk *c;
	int err;

	if (!f) {
		conversion_io_poke(io);
		return open_files(io, cv);
	}
	c = &cv->chunk[f->next];
	/* acquire, pairs with conversion.c's hand_back() */
	if (atomic_load_explicit(&c->full, memory_order_acquire))
		return 0;
	err = drain(cv, c);
	if (!err && !f->ended)
		err = fill(io, cv, c);
	f->next ^= 1;
	conversion_io_poke(io); /* and the other one */
	if (err || !f->ended || f->filled)
		return err;
	err = finish(io, cv);
	return err ? err : 1;
}

static void close_files(struct conversion_io *io, struct conversion *cv)
{
	struct conversion_file *f = cv->file;

	if (f && f->in >= 0)
		(void)close(f->in);
	if (f && f->out >= 0) {
		(void)close(f->out);
		if (cv->result != CONVERSION_DONE)
			spool_discard(io->cfg.spool, cv->cfg.id);
	}
	free(f);
	cv->file = NULL;
}

/* True: that was the conversion's last. */
static bool serve(struct conversion_io *io, struct conversion *cv)
{
	int rc;

	if (atomic_load_explicit(&cv->cancel, memory_order_relaxed)) {
		cv->result = CONVERSION_CANCELLED;
	} else {
		rc = advance(io, cv);
		if (!rc)
			return false;
		cv->result = rc > 0 ? CONVERSION_DONE : CONVERSION_FAILED;
	}
	close_files(io, cv);
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

static void look(struct conversion_io *io, struct conversion *cv)
{
	cv->looked = look_at_input(io, cv);
	if (!cv->looked)
		cv->looked = spool_check(io->cfg.spool, cv->cfg.out,
					 cv->cfg.overwrite, &cv->why);
	io->cfg.looked(io->cfg.arg, cv);
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
	conversion_io_poke(io); /* and the next one */
	look(io, cv);
}

static void serve_all(struct conversion_io *io)
{
	struct conversion *cv, *next;

	for (cv = TAILQ_FIRST(&io->running); cv; cv = next) {
		next = TAILQ_NEXT(cv, link);
		if (!serve(io, cv))
			continue;
		TAILQ_REMOVE(&io->running, cv, link);
		io->cfg.over(io->cfg.arg, cv);
	}
}

/* False: stop. */
static bool take_fresh(struct conversion_io *io)
{
	bool stopping;

	(void)pthread_mutex_lock(&io->lock);
	TAILQ_CONCAT(&io->running, &io->fresh, link);
	stopping = io->stopping;
	(void)pthread_mutex_unlock(&io->lock);
	return !stopping;
}

/* One round answers all pokes so far. */
static void wait_poke(struct conversion_io *io)
{
	while (sem_wait(&io->pokes) && errno == EINTR)
		;
	while (!sem_trywait(&io->pokes))
		;
}

static void *work(void *arg)
{
	struct conversion_io *io = arg;

	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	thread_long_turns();
	(void)pthread_setname_np(pthread_self(), "convert-io");
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
	(void)sem_init(&io->pokes, 0, 0);
	(void)pthread_mutex_init(&io->lock, NULL);
	err = pthread_create(&io->thread, NULL, work, io);
	if (err) {
		(void)pthread_mutex_destroy(&io->lock);
		(void)sem_destroy(&io->pokes);
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
	conversion_io_poke(io);
	(void)pthread_join(io->thread, NULL);
	(void)pthread_mutex_destroy(&io->lock);
	(void)sem_destroy(&io->pokes);
	free(io);
}

static void append(struct conversion_io *io, struct conversion_list *list,
		   struct conversion *cv)
{
	(void)pthread_mutex_lock(&io->lock);
	TAILQ_INSERT_TAIL(list, cv, link);
	(void)pthread_mutex_unlock(&io->lock);
	conversion_io_poke(io);
}

void conversion_io_look(struct conversion_io *io, struct conversion *cv)
{
	append(io, &io->asked, cv);
}

void conversion_io_add(struct conversion_io *io, struct conversion *cv)
{
	append(io, &io->fresh, cv);
}

void conversion_io_poke(struct conversion_io *io)
{
	(void)sem_post(&io->pokes);
}
