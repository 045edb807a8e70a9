/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two buffers: one is filled under the lock, while the thread writes the other.
 *
 *     put            swapped           written
 *   ------> filling ---------> writing --------> empty: may be filled again
 *      |
 *      +--> no room: dropped; gap() says so before the next that has room
 */
#define _GNU_SOURCE /* pthread_setname_np() */
#include "observe/async_writer.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "observe/log_crash.h"
#include "observe/cancellable_write.h"

enum { STACK = 256 << 10 };

/* --- filling, under the lock --- */

static struct async_writer_buffer *filling(struct async_writer *s)
{
	return &s->buffer[atomic_load_explicit(&s->filling,
					       memory_order_relaxed)];
}

static size_t used(const struct async_writer_buffer *b)
{
	return atomic_load_explicit(&b->end, memory_order_relaxed);
}

/* The buffer has @n octets more. The thread sleeps only if there were none. */
static void grow(struct async_writer *s, struct async_writer_buffer *b,
		 size_t n)
{
	size_t end = used(b);

	/* release: a crash that sees the end sees the text */
	atomic_store_explicit(&b->end, end + n, memory_order_release);
	if (!end)
		(void)pthread_cond_signal(&s->wake);
}

static bool append(struct async_writer *s, const char *text, size_t n,
		   const char *ending)
{
	struct async_writer_buffer *b = filling(s);
	size_t end = used(b), m = strlen(ending), room = s->size - end;

	if (n > room || m > room - n)
		return false;
	memcpy(b->text + end, text, n);
	memcpy(b->text + end + n, ending, m);
	grow(s, b, n + m);
	return true;
}

/* In the place of what is missing. False: there is no room. */
static bool append_gap(struct async_writer *s)
{
	struct async_writer_buffer *b = filling(s);
	size_t end = used(b), n;

	if (!s->untold || !s->owner->gap)
		return true;
	n = s->owner->gap(s->arg, s->untold, b->text + end, s->size - end);
	if (!n)
		return false;
	s->untold = 0;
	grow(s, b, n);
	return true;
}

bool async_writer_put(struct async_writer *s, const char *text, size_t n,
		      const char *ending)
{
	bool room;

	(void)pthread_mutex_lock(&s->lock);
	room = append_gap(s) && append(s, text, n, ending);
	if (!room) {
		s->untold += s->owner->gap != NULL;
		s->counts.dropped++;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return room;
}

void async_writer_reopen(struct async_writer *s)
{
	(void)pthread_mutex_lock(&s->lock);
	if (!s->turn)
		s->before = used(filling(s));
	s->turn = true;
	(void)pthread_cond_signal(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
}

/* --- the thread --- */

/* What it has to do next. */
struct errand {
	size_t before; /* of what it writes, for the old place */
	bool turn, asked, stop;
};

static struct timespec timespec_of(cr_ns t)
{
	return (struct timespec){ .tv_sec = (time_t)(t / CR_SEC),
				  .tv_nsec = (long)(t % CR_SEC) };
}

/* Under the lock. */
static void sleep_until_woken(struct async_writer *s)
{
	const struct timespec end = timespec_of(s->again);

	(void)pthread_cond_broadcast(&s->idle);
	if (s->again == CR_NEVER)
		(void)pthread_cond_wait(&s->wake, &s->lock);
	else
		(void)pthread_cond_timedwait(&s->wake, &s->lock, &end);
}

/* It writes what was filled; the other one, empty, is filled from now on. */
static void swap(struct async_writer *s)
{
	s->writing = filling(s);
	s->busy = true;
	s->turn = false;
	atomic_store_explicit(&s->filling,
			      s->writing == &s->buffer[0] ? 1u : 0u,
			      memory_order_release);
}

static struct errand wait_for_errand(struct async_writer *s)
{
	struct errand todo;
	size_t n;

	(void)pthread_mutex_lock(&s->lock);
	s->busy = false;
	if (!used(filling(s)))
		(void)append_gap(s);
	while (!used(filling(s)) && !s->turn && !s->stopping &&
	       clock_now() < s->again)
		sleep_until_woken(s);
	n = used(filling(s));
	todo = (struct errand){
		.before = s->turn ? s->before : n,
		.turn = s->turn || clock_now() >= s->again,
		.asked = s->turn,
		.stop = s->stopping && !n,
	};
	swap(s);
	(void)pthread_mutex_unlock(&s->lock);
	return todo;
}

static void write_up_to(struct async_writer *s, size_t end)
{
	struct async_writer_buffer *b = s->writing;
	size_t done = atomic_load_explicit(&b->done, memory_order_relaxed);

	if (done == end)
		return;
	s->owner->write(s->arg, b->text + done, end - done);
	atomic_store_explicit(&b->done, end, memory_order_release);
}

void async_writer_took(struct async_writer *s, size_t n)
{
	/* release: a crash writes what is behind it */
	(void)atomic_fetch_add_explicit(&s->writing->done, n,
					memory_order_release);
}

enum async_writer_pause async_writer_pause(struct async_writer *s, cr_ns time)
{
	const struct timespec end = timespec_of(clock_now() + time);
	enum async_writer_pause why;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->stopping && !s->turn &&
	       pthread_cond_timedwait(&s->wake, &s->lock, &end) != ETIMEDOUT)
		;
	why = s->stopping ? ASYNC_WRITER_STOP
	      : s->turn	  ? ASYNC_WRITER_REOPEN
			  : ASYNC_WRITER_GO_ON;
	s->turn &= why != ASYNC_WRITER_REOPEN;
	(void)pthread_mutex_unlock(&s->lock);
	return why;
}

static void empty(struct async_writer_buffer *b)
{
	atomic_store_explicit(&b->end, 0, memory_order_relaxed);
	atomic_store_explicit(&b->done, 0, memory_order_release);
}

static void *write_thread(void *arg)
{
	struct async_writer *s = arg;
	struct errand todo;

	cancellable_write_begin();
	(void)pthread_setname_np(pthread_self(), s->owner->thread);
	do {
		todo = wait_for_errand(s);
		write_up_to(s, todo.before);
		if (todo.turn)
			s->again = s->owner->turn(s->arg, todo.asked);
		write_up_to(s, used(s->writing));
		empty(s->writing);
	} while (!todo.stop);
	(void)pthread_mutex_lock(&s->lock);
	s->ended = true;
	(void)pthread_cond_broadcast(&s->idle);
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

void async_writer_count(struct async_writer *s, uint64_t written,
			uint64_t failed)
{
	(void)pthread_mutex_lock(&s->lock);
	s->counts.written += written;
	s->counts.failed += failed;
	(void)pthread_mutex_unlock(&s->lock);
}

/* --- its life --- */

void async_writer_init(struct async_writer *s,
		       const struct async_writer_owner *owner, void *arg,
		       char *first, char *second, size_t size)
{
	pthread_condattr_t c;

	s->owner = owner;
	s->arg = arg;
	s->buffer[0].text = first;
	s->buffer[1].text = second;
	s->size = size;
	/* a receiver outranks whom it may have to wait for */
	thread_lock_init(&s->lock);
	(void)pthread_condattr_init(&c);
	(void)pthread_condattr_setclock(&c, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->wake, &c);
	(void)pthread_cond_init(&s->idle, &c);
	(void)pthread_condattr_destroy(&c);
}

void async_writer_fini(struct async_writer *s)
{
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_cond_destroy(&s->idle);
	(void)pthread_mutex_destroy(&s->lock);
}

/* 0 or -errno. */
static int start_thread(struct async_writer *s)
{
	pthread_attr_t attr;
	sigset_t most, old;
	int err;

	log_crash_others(&most);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK);
	(void)pthread_sigmask(SIG_BLOCK, &most, &old);
	err = pthread_create(&s->thread, &attr, write_thread, s);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return -err;
}

int async_writer_start(struct async_writer *s)
{
	s->again = CR_NEVER;
	s->busy = s->turn = s->stopping = s->ended = false;
	s->untold = 0;
	s->counts = (struct async_writer_counts){ 0 };
	empty(&s->buffer[0]);
	empty(&s->buffer[1]);
	return start_thread(s);
}

void async_writer_counts(struct async_writer *s,
			 struct async_writer_counts *out)
{
	(void)pthread_mutex_lock(&s->lock);
	*out = s->counts;
	(void)pthread_mutex_unlock(&s->lock);
}

/* Under the lock. */
static bool is_idle(struct async_writer *s)
{
	return s->ended ||
	       (!s->busy && !used(filling(s)) && !s->untold && !s->turn);
}

/* Under the lock. */
static bool has_ended(struct async_writer *s)
{
	return s->ended;
}

static bool wait_until(struct async_writer *s,
		       bool (*is)(struct async_writer *), cr_ns limit)
{
	const struct timespec end = timespec_of(clock_now() + limit);
	bool so;

	(void)pthread_mutex_lock(&s->lock);
	while (!is(s) &&
	       pthread_cond_timedwait(&s->idle, &s->lock, &end) != ETIMEDOUT)
		;
	so = is(s);
	(void)pthread_mutex_unlock(&s->lock);
	return so;
}

bool async_writer_flush(struct async_writer *s, cr_ns limit)
{
	return wait_until(s, is_idle, limit);
}

enum async_writer_end async_writer_stop(struct async_writer *s, cr_ns limit)
{
	bool ended;

	(void)pthread_mutex_lock(&s->lock);
	s->stopping = true;
	(void)pthread_cond_signal(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
	ended = wait_until(s, has_ended, limit);
	if (!cancellable_write_join(s->thread, ended))
		return ASYNC_WRITER_LEFT;
	return ended ? ASYNC_WRITER_WRITTEN : ASYNC_WRITER_CUT;
}

/* --- a crash: in the handler of its signal --- */

const char *async_writer_rest(const struct async_writer *s, unsigned which,
			      size_t *n)
{
	unsigned now = atomic_load_explicit(&s->filling, memory_order_acquire);
	const struct async_writer_buffer *b = &s->buffer[(now + 1 + which) % 2];
	size_t done = atomic_load_explicit(&b->done, memory_order_acquire);
	size_t end = atomic_load_explicit(&b->end, memory_order_acquire);

	*n = done < end ? end - done : 0;
	return b->text + done;
}
