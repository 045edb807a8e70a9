/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that writes for others, as the log's and those of lines: their
 * reader or their disk may stall, and neither they nor the end of the process
 * must wait for that.
 *
 * Two buffers: one is filled under the lock, while the thread writes the other.
 *
 *     put            swapped           written
 *   ------> filling ---------> writing --------> empty: may be filled again
 *      |
 *      +--> no room: dropped; gap() says so before the next that has room
 *
 * Handlers of the signals that end a process by a fault write what is left, as
 * far as it can be written at once. They use only what signal-safety(7) allows,
 * and end the process by the same signal.
 */
#define _GNU_SOURCE
#include "observe/async_writer.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

/* For a thread that must end in the middle of a write. */
#define JOIN_LIMIT (200 * CR_MS)

/* AddressSanitizer's, where it is linked in. */
void __asan_handle_no_return(void) __attribute__((weak));

/* The frames of a thread that is cancelled do not return: what is marked of
 * them must not be taken for that of functions that come there later. */
static void forget_frames(void *arg)
{
	(void)arg;
	if (__asan_handle_no_return)
		__asan_handle_no_return();
}

static ssize_t write_or_end(int fd, const char *text, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	ssize_t k;
	int state, err;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
	k = write(fd, text, n);
	err = errno;
	if (k < 0 && err == EAGAIN) /* it was opened so, or made so */
		(void)poll(&p, 1, -1);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	errno = err;
	return k;
}

ssize_t cancellable_write(int fd, const char *text, size_t n)
{
	ssize_t k;

	pthread_cleanup_push(forget_frames, NULL);
	k = write_or_end(fd, text, n);
	pthread_cleanup_pop(0);
	return k;
}

/* A write that does not return ends, unless the kernel does not let it. */
static bool end_it(pthread_t thread)
{
	cr_ns limit = clock_read(CLOCK_REALTIME) + JOIN_LIMIT;
	const struct timespec end = { .tv_sec = (time_t)(limit / CR_SEC),
				      .tv_nsec = (long)(limit % CR_SEC) };

	(void)pthread_cancel(thread);
	return !pthread_timedjoin_np(thread, NULL, &end);
}

enum {
	PATIENCE_MS = 100 /* for a write that is under way, and for a reader */
};

static const int faults[] = { SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE };

enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

static _Atomic(void (*)(void)) last_words;
static atomic_bool crashed, busy;

/* Sequentially consistent, as crashed and busy cross: either the writer sees
 * that all is over, or the handler sees the writer. */
void log_crash_enter(void)
{
	atomic_store(&busy, true);
	if (!atomic_load(&crashed))
		return;
	atomic_store(&busy, false);
	for (;;)
		(void)pause();
}

void log_crash_leave(void)
{
	atomic_store(&busy, false);
}

bool log_crash_write(int fd, const char *text, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	while (n) {
		ssize_t k;

		if (poll(&p, 1, PATIENCE_MS) <= 0)
			return false;
		k = write(fd, text, n);
		if (k < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		text += k > 0 ? k : 0;
		n -= k > 0 ? (size_t)k : 0;
	}
	return true;
}

static void on_fault(int number)
{
	const struct timespec ms = { 0, 1000000 };
	void (*write_out)(void) = atomic_exchange(&last_words, NULL);

	if (write_out) {
		atomic_store(&crashed, true);
		for (unsigned i = 0; i < PATIENCE_MS && atomic_load(&busy); i++)
			(void)nanosleep(&ms, NULL);
		write_out();
	}
	(void)raise(number); /* by default now, when this returns */
}

void log_crash_catch(void (*write)(void))
{
	struct sigaction a = { .sa_handler = on_fault,
			       .sa_flags = (int)SA_RESETHAND };
	struct sigaction is;

	atomic_store(&busy, false);
	atomic_store(&last_words, write);
	(void)sigemptyset(&a.sa_mask);
	for (unsigned i = 0; write && i < FAULTS; i++)
		if (!sigaction(faults[i], NULL, &is) &&
		    is.sa_handler == SIG_DFL)
			(void)sigaction(faults[i], &a, NULL);
}

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

static bool append_line(struct async_writer *s, const char *text, size_t n,
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
	room = append_gap(s) && append_line(s, text, n, ending);
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

/* The next task of the thread. */
struct errand {
	size_t before; /* of what it writes, for the old place */
	bool turn, asked, stop;
};

static struct timespec timespec_of(cr_ns t)
{
	return (struct timespec){ .tv_sec = (time_t)(t / CR_SEC),
				  .tv_nsec = (long)(t % CR_SEC) };
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
	       clock_now() < s->again) {
		const struct timespec end = timespec_of(s->again);

		(void)pthread_cond_broadcast(&s->idle);
		if (s->again == CR_NEVER)
			(void)pthread_cond_wait(&s->wake, &s->lock);
		else
			(void)pthread_cond_timedwait(&s->wake, &s->lock, &end);
	}
	n = used(filling(s));
	todo = (struct errand){
		.before = s->turn ? s->before : n,
		.turn = s->turn || clock_now() >= s->again,
		.asked = s->turn,
		.stop = s->stopping && !n,
	};
	/* It writes what was filled; the other one, empty, is filled from now
	 * on. */
	s->writing = filling(s);
	s->busy = true;
	s->turn = false;
	atomic_store_explicit(&s->filling,
			      s->writing == &s->buffer[0] ? 1u : 0u,
			      memory_order_release);
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
	int state;

	/* it can be cancelled in cancellable_write() only */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
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

int async_writer_start(struct async_writer *s)
{
	pthread_attr_t attr;
	sigset_t most, old;
	int err;

	s->again = CR_NEVER;
	s->busy = s->turn = s->stopping = s->ended = false;
	s->untold = 0;
	s->counts = (struct async_writer_counts){ 0 };
	empty(&s->buffer[0]);
	empty(&s->buffer[1]);
	/* All signals but those of faults. */
	(void)sigfillset(&most);
	for (unsigned i = 0; i < FAULTS; i++)
		(void)sigdelset(&most, faults[i]);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK);
	(void)pthread_sigmask(SIG_BLOCK, &most, &old);
	err = pthread_create(&s->thread, &attr, write_thread, s);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	return -err;
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
	if (ended ? pthread_join(s->thread, NULL) : !end_it(s->thread)) {
		/* the kernel does not let it end: it is left behind with what
		 * it uses */
		(void)pthread_detach(s->thread);
		return ASYNC_WRITER_LEFT;
	}
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
