/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of the signals that end a process by a fault. They use only what
 * signal-safety(7) allows, and end it by the same signal.
 */
#include "observe/log_crash.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

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

static void install(void)
{
	struct sigaction a = { .sa_handler = on_fault,
			       .sa_flags = (int)SA_RESETHAND };
	struct sigaction is;

	(void)sigemptyset(&a.sa_mask);
	for (unsigned i = 0; i < FAULTS; i++)
		if (!sigaction(faults[i], NULL, &is) &&
		    is.sa_handler == SIG_DFL)
			(void)sigaction(faults[i], &a, NULL);
}

void log_crash_catch(void (*write)(void))
{
	atomic_store(&busy, false);
	atomic_store(&last_words, write);
	if (write)
		install();
}

void log_crash_others(sigset_t *set)
{
	(void)sigfillset(set);
	for (unsigned i = 0; i < FAULTS; i++)
		(void)sigdelset(set, faults[i]);
}
